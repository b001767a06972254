//! What is told once of a service that is scraped.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use crate::domain::units::Seconds;
use crate::sampler::services::date::sure_offset_s;
use crate::sampler::services::plan::Outcome;
use crate::sampler::services::scrape::{Scraper, capital};

/// Histograms that begin anew this often, with less than `CALM` scrapes in between, are those of
/// several servers behind one address.
const MANY_FALLS: u32 = 3;
const CALM: u32 = 20;

/// What is told once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Clock,
    Above(Metric),
    Several,
    Coarse,
    Odd,
    Rejected(Metric),
}

impl Scraper {
    /// Tells what a scrape could not say.
    pub(super) fn tell(&mut self, outcome: Outcome, odd: usize) {
        self.few += u64::from(outcome.has_few);
        outcome.above.into_iter().for_each(|(metric, bound)| self.tell_above(metric, bound));
        outcome.rejected.into_iter().for_each(|it| self.tell_rejected(it));
        if outcome.is_coarse {
            self.tell_coarse();
        }
        if odd > 0 {
            self.tell_odd(odd);
        }
    }

    fn tell_coarse(&mut self) {
        if self.told.insert(Told::Coarse) {
            let detail = format!(
                "{}: it took more than a fifth of the time between two scrapes to answer, so nobody knows what grew in a second; rates are left out then",
                self.name()
            );
            let remedy = "scrape less often with --scrape-interval";
            self.blind_spot(BlindSpotKind::TooCoarse, None, None, detail, remedy);
        }
    }

    fn tell_odd(&mut self, sets: usize) {
        if self.told.insert(Told::Odd) {
            let detail = format!(
                "{}: label sets of histograms that have no count, no bucket `+Inf`, or other bounds than most, and are left out: {sets}",
                self.name()
            );
            let remedy = "let the service give all label sets of a histogram the same buckets";
            self.blind_spot(BlindSpotKind::Rejected, None, None, detail, remedy);
        }
    }

    fn tell_rejected(&mut self, metric: Metric) {
        if self.told.insert(Told::Rejected(metric)) {
            let detail = format!(
                "{}: {} has values that are no number or cannot be, and that are left out",
                self.name(),
                metric.spec().label
            );
            let remedy = "look at what the service shows";
            self.blind_spot(BlindSpotKind::Rejected, Some(metric), None, detail, remedy);
        }
    }

    pub(super) fn compare_clocks(&mut self, date: Option<&str>, at: Timestamp) {
        let Some(offset) = date.and_then(|it| sure_offset_s(it, at)) else { return };
        if self.told.insert(Told::Clock) {
            let side = if offset > 0.0 { "behind" } else { "ahead of" };
            let detail = format!(
                "{}: its clock is {} {side} ours; stamps are ours, so its own logs do not fit them",
                self.name(),
                Seconds(offset.abs())
            );
            let remedy = "let both hosts follow one time server";
            self.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, remedy);
        }
    }

    fn tell_above(&mut self, metric: Metric, bound: f64) {
        if self.told.insert(Told::Above(metric)) {
            let detail = format!(
                "{}: {} lies above the last bound of its histogram, {}, and has no value then",
                self.name(),
                metric.spec().label,
                Seconds(bound)
            );
            let remedy = "give the histogram of the service more buckets at its end";
            self.blind_spot(BlindSpotKind::TooCoarse, Some(metric), None, detail, remedy);
        }
    }

    pub(super) fn count_falls(&mut self, has_fallen: bool) {
        match has_fallen {
            true => (self.falls, self.calm) = (self.falls + 1, 0),
            false => self.calm += 1,
        }
        if self.calm >= CALM {
            self.falls = 0;
        }
        if self.falls >= MANY_FALLS && self.told.insert(Told::Several) {
            let detail = format!(
                "{}: its histograms begin anew again and again, as those of several servers behind one address do",
                self.name()
            );
            let remedy = "scrape each replica by its own address, under a name of its own";
            self.post.notice(format!("{detail}. {}", capital(remedy)));
            self.blind_spot(BlindSpotKind::Ambiguous, None, None, detail, remedy);
        }
    }
}
