//! One service that is asked again and again: readings, gaps, and what could not be seen.

mod tell;

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::source::{Source, SourceId};
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::domain::units::Seconds;
use crate::sampler::services::clock::{self, Middle, Stopwatch};
use crate::sampler::services::exposition::{is_whole, names};
use crate::sampler::services::fetch::{Answer, Client, FetchError};
use crate::sampler::services::plan::Plan;
use crate::sampler::services::post::{Post, Reading};
use crate::sampler::services::scrape::tell::Told;
use crate::sampler::services::snapshot::{Growth, Snapshot};
use crate::sampler::services::stop::Stop;
use crate::sampler::services::target::{ScrapeTarget, Settings};
use std::collections::BTreeSet;
use std::time::Duration;

/// A service that is down is asked at least this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// After more failures in a row, what grew is no longer shared out over the time in between.
const MOST_MISSED: u32 = 1;

/// One service that is asked again and again.
#[derive(Debug)]
pub(crate) struct Scraper {
    target: ScrapeTarget,
    subject: Subject,
    source: SourceId,
    settings: Settings,
    post: Post,
    plan: Option<Plan>,
    before: Option<Snapshot>,
    has_source: bool,
    failures: u32,
    down: Option<Down>,
    /// Stamp of the last answer.
    answered: Option<Timestamp>,
    told: BTreeSet<Told>,
    falls: u32,
    calm: u32,
    few: u64,
}

#[derive(Debug, Clone)]
struct Down {
    since: Timestamp,
    error: FetchError,
}

impl Scraper {
    pub(crate) fn new(
        target: ScrapeTarget,
        source: SourceId,
        settings: Settings,
        post: Post,
    ) -> Self {
        Self {
            subject: target.owner.subject(),
            target,
            source,
            settings,
            post,
            plan: None,
            before: None,
            has_source: false,
            failures: 0,
            down: None,
            answered: None,
            told: BTreeSet::new(),
            falls: 0,
            calm: 0,
            few: 0,
        }
    }

    /// Asks until it is told to end.
    pub(crate) fn run(mut self, stop: &Stop) {
        let client = Client::new(self.target.endpoint.clone(), self.settings);
        loop {
            let watch = Stopwatch::start();
            let answer = client.get();
            self.take(answer, watch.middle());
            if stop.within(watch.left_of(self.pause())) {
                break;
            }
        }
        self.close(clock::now());
    }

    /// Time from one question to the next: twice as long after each failure.
    fn pause(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.failures.min(16));
        let longest = LONGEST_PAUSE.max(self.settings.interval);
        self.settings.interval.saturating_mul(factor).min(longest)
    }

    /// Takes one answer, or the reason why there is none.
    pub(crate) fn take(&mut self, answer: Result<Answer, FetchError>, taken: Middle) {
        let at = taken.at;
        let read = answer.and_then(|it| {
            let snapshot = self.read(&it, taken)?;
            Ok((snapshot, it.date))
        });
        match read {
            Ok((snapshot, date)) => {
                self.returned(at);
                self.answered = Some(at);
                self.compare_clocks(date.as_deref(), at);
                self.send(snapshot, at);
            }
            Err(error) => self.failed(error, at),
        }
    }

    fn read(&mut self, answer: &Answer, taken: Middle) -> Result<Snapshot, FetchError> {
        let body = answer.body.as_str();
        if names(body).next().is_some() && !is_whole(body, answer.is_open_metrics) {
            return Err(FetchError::Broken("its end is missing".to_owned()));
        }
        let plan = match &self.plan {
            Some(plan) => plan,
            None => {
                let shown: BTreeSet<&str> = names(body).collect();
                if shown.is_empty() {
                    let problem = "its answer holds no metric of Prometheus";
                    return Err(FetchError::Meaningless(problem.to_owned()));
                }
                let chosen = Plan::choose(&shown, self.target.metric.as_deref());
                self.plan.insert(chosen.map_err(FetchError::Meaningless)?)
            }
        };
        let mut snapshot = Snapshot::read(body, plan, taken);
        if snapshot.is_empty() {
            let problem = match self.answered {
                _ if snapshot.odd > 0 => "its histograms have no count, or no bucket `+Inf`",
                Some(_) => "its answer has lost the metrics that it had before",
                None => "the metrics that are read of it have no number for a value yet",
            };
            return Err(FetchError::Meaningless(problem.to_owned()));
        }
        if let Some(before) = &self.before {
            snapshot.remember(before);
        }
        Ok(snapshot)
    }

    fn send(&mut self, snapshot: Snapshot, at: Timestamp) {
        self.describe();
        let Some(plan) = &self.plan else { return };
        let mut outcome = plan.read(self.before.as_ref(), &snapshot, self.settings.least_requests);
        let growth = self.before.as_ref().and_then(|it| Growth::between(it, &snapshot));
        let has_fallen = growth.is_some_and(|it| it.has_fallen());
        let readings = std::mem::take(&mut outcome.readings);
        let (subject, source) = (self.subject.clone(), self.source);
        self.post.reading(Reading { at, subject, source, readings });
        self.tell(outcome, snapshot.odd);
        self.count_falls(has_fallen);
        self.before = Some(snapshot);
    }

    /// Describes the source, once it is known.
    fn describe(&mut self) {
        if self.has_source {
            return;
        }
        self.has_source = true;
        let remark = self.plan.as_mut().and_then(|it| it.remark.take());
        let interval = u64::try_from(self.settings.interval.as_micros()).unwrap_or(u64::MAX);
        self.post.fact(Fact::Source(Source {
            id: self.source,
            format: "scrape".to_owned(),
            tool: self.plan.as_ref().map_or("prometheus", |it| it.tool).to_owned(),
            tool_version: None,
            file: Some(self.target.endpoint.shown()),
            asked_interval: SampleInterval::from_micros(interval),
            clock: "this host's; stamps are the middles of the scrapes".to_owned(),
            readings: std::collections::BTreeMap::new(),
        }));
        if let Some(remark) = remark {
            self.post.notice(format!("{}: {remark}", self.name()));
        }
    }

    fn name(&self) -> String {
        format!("{} ({})", self.target.owner.name, self.target.endpoint.shown())
    }

    fn failed(&mut self, error: FetchError, at: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        if self.failures > MOST_MISSED {
            self.before = None;
        }
        if self.down.is_none() {
            let text = format!(
                "{}: {error}; its readings have a gap until it answers. {}",
                self.name(),
                capital(error.remedy())
            );
            self.post.notice(text);
            self.down = Some(Down { since: self.answered.unwrap_or(at), error });
        }
    }

    /// Ends a gap.
    fn returned(&mut self, at: Timestamp) {
        self.failures = 0;
        let Some(down) = self.down.take() else { return };
        let length = Seconds(at.seconds_since(down.since));
        self.post.notice(format!("{} answers again, after {length}", self.name()));
        self.gap(&down, at);
    }

    fn gap(&mut self, down: &Down, until: Timestamp) {
        let detail = format!("{}: {}", self.name(), down.error);
        let span = TimeSpan::new(down.since, until);
        self.blind_spot(BlindSpotKind::Gap, None, span, detail, down.error.remedy());
    }

    fn blind_spot(
        &mut self,
        kind: BlindSpotKind,
        metric: Option<Metric>,
        span: Option<TimeSpan>,
        detail: String,
        remedy: &str,
    ) {
        let subject = Some(self.subject.clone());
        let remedy = remedy.to_owned();
        self.post.fact(Fact::BlindSpot(BlindSpot { kind, subject, metric, span, detail, remedy }));
    }

    /// Says at the end what was left open.
    pub(crate) fn close(&mut self, at: Timestamp) {
        if let Some(down) = self.down.take() {
            self.describe();
            self.gap(&down, at);
        }
        if self.few > 0 {
            let detail = format!(
                "{}: scrapes with fewer than {} requests since the one before give no quantile: {}",
                self.name(),
                self.settings.least_requests,
                self.few
            );
            let remedy =
                "scrape less often with --scrape-interval, so that more requests fall between";
            self.blind_spot(
                BlindSpotKind::TooCoarse,
                Some(Metric::LatencyP99),
                None,
                detail,
                remedy,
            );
        }
        if self.post.lost > 0 {
            let detail = format!("{}: {} rows found the writer busy", self.name(), self.post.lost);
            self.blind_spot(BlindSpotKind::Gap, None, None, detail, "write to a faster disk");
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
