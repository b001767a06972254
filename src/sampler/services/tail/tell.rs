//! What is told of a followed file: what was left out, not seen, or assumed.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::domain::units::Seconds;
use crate::sampler::services::tail::Tail;
use crate::sampler::services::tail::stamp::Stamp;

/// A stamp further behind now is of another clock.
const MOST_AHEAD_S: f64 = 300.0;

/// A stamp further in front of the beginning is of another clock, or of another time.
const MOST_BEFORE_S: f64 = 600.0;

/// A file that is away for less was rotated.
const SHORTEST_GAP_S: f64 = 1.0;

impl Tail {
    /// Whether a stamp can be of a line that was written since the beginning; tells where not.
    pub(super) fn fits(&mut self, stamp: Stamp, now: Timestamp) -> bool {
        let began = *self.began.get_or_insert(now);
        let (ahead, before) = (stamp.at.seconds_since(now), began.seconds_since(stamp.at));
        let place = match () {
            () if ahead > MOST_AHEAD_S => format!("{} after now", Seconds(ahead)),
            () if before > MOST_BEFORE_S => {
                format!("{} before the recording began", Seconds(before))
            }
            () => return true,
        };
        self.misdated += 1;
        if self.first_misdated.is_none() {
            let cause = match stamp.is_assumed {
                true => "it has no zone and was read as UTC, and is local time as it seems",
                false => "the clock of the tenant is wrong, or its zone",
            };
            let text = format!("a stamp lies {place}: {cause}");
            self.post
                .notice(format!("{}: {text}; such lines are left out and counted", self.name()));
            self.first_misdated = Some(text);
        }
        false
    }

    /// Notices that the file is away, and tells when it is back how long nothing was seen.
    pub(super) fn watch_gap(&mut self, now: Timestamp, has_lines: bool) {
        if self.follower.is_gone {
            // Who has the file open may still write.
            let since = self.gone_since.filter(|_| !has_lines).unwrap_or(now);
            self.gone_since = Some(since);
        } else if self.gone_since.is_some() && self.tell_gap(now) {
            self.requests.interrupt();
        }
    }

    /// Tells the gap that ends now; says whether there was one.
    fn tell_gap(&mut self, now: Timestamp) -> bool {
        let since = self.gone_since.take();
        let Some(since) = since.filter(|it| now.seconds_since(*it) >= SHORTEST_GAP_S) else {
            return false;
        };
        let length = Seconds(now.seconds_since(since));
        let detail = format!("{}: the file was not there for {length}", self.name());
        let span = TimeSpan::new(since, now);
        self.blind_spot(BlindSpotKind::Gap, span, detail, "let the tenant keep its file");
        true
    }

    /// Tells what was left out.
    pub(super) fn tell_refused(&mut self) {
        if self.bad > 0 {
            let first = self.first_bad.clone().unwrap_or_default();
            let detail =
                format!("{}: lines that could not be read: {}; {first}", self.name(), self.bad);
            self.blind_spot(
                BlindSpotKind::Rejected,
                None,
                detail,
                "correct what the tenant writes",
            );
        }
        if self.requests.late > 0 {
            let detail = format!(
                "{}: requests that were written late, or whose stamps do not fit the others, and left out: {}",
                self.name(),
                self.requests.late
            );
            self.blind_spot(
                BlindSpotKind::Rejected,
                None,
                detail,
                "write requests when they are answered",
            );
        }
        if self.misdated > 0 {
            let first = self.first_misdated.clone().unwrap_or_default();
            let detail = format!(
                "{}: lines whose stamps cannot be: {}; {first}",
                self.name(),
                self.misdated
            );
            let remedy = "write stamps with a zone, such as 2026-01-31T12:00:00Z, and let all hosts follow one time server";
            self.blind_spot(BlindSpotKind::Rejected, None, detail, remedy);
        }
    }

    /// Tells what could not be seen.
    pub(super) fn tell_gaps(&mut self) {
        if self.is_missing {
            let detail = format!("{}: the file could not be read", self.name());
            self.blind_spot(
                BlindSpotKind::Gap,
                None,
                detail,
                "check the path of --tail, and who may read it",
            );
        }
        if let Some(now) = self.looked {
            self.tell_gap(now);
        }
        if self.post.lost > 0 {
            let detail = format!("{}: {} rows found the writer busy", self.name(), self.post.lost);
            self.blind_spot(BlindSpotKind::Gap, None, detail, "write to a faster disk");
        }
    }

    /// Tells what was assumed.
    pub(super) fn tell_assumed(&mut self) {
        if self.made_stamps > 0 {
            let detail = format!(
                "{}: lines without a stamp, which got the time of reading: {}",
                self.name(),
                self.made_stamps
            );
            self.blind_spot(BlindSpotKind::ClockAssumed, None, detail, "write a column `time`");
        }
        if self.assumed_zones > 0 {
            let detail = format!(
                "{}: stamps without a zone, read as UTC: {}",
                self.name(),
                self.assumed_zones
            );
            let remedy =
                "write stamps with a zone, such as 2026-01-31T12:00:00Z, or seconds since 1970";
            self.blind_spot(BlindSpotKind::ClockAssumed, None, detail, remedy);
        }
    }

    fn blind_spot(
        &mut self,
        kind: BlindSpotKind,
        span: Option<TimeSpan>,
        detail: String,
        remedy: &str,
    ) {
        let subject = Some(self.subject.clone());
        let (metric, remedy) = (None, remedy.to_owned());
        self.post.fact(Fact::BlindSpot(BlindSpot { kind, subject, metric, span, detail, remedy }));
    }
}
