//! How well the GPU was watched, and what that cost: kept beside what was seen.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::metric::Metric;
use crate::domain::units::Seconds;
use crate::sampler::clock::Moment;
use crate::sampler::gauge::{Demoted, demote};
use crate::sampler::message::{Notice, Origin, blind};
use crate::sampler::watch::Watch;

/// How often it is told, microseconds.
const PERIOD_US: i64 = 1_000_000;
/// Budgets are judged over so many periods in a row: one slow call is no habit.
const PATIENCE: u32 = 2;

/// Counts about the watching.
#[derive(Debug)]
pub(super) struct Own {
    since: Moment,
    looks: u32,
    first_look: Option<Moment>,
    last_look: Option<Moment>,
    calls: u32,
    total_us: i64,
    longest_us: i64,
    missed: u64,
    over_budget: u32,
}

impl Own {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            since: now,
            looks: 0,
            first_look: None,
            last_look: None,
            calls: 0,
            total_us: 0,
            longest_us: 0,
            missed: 0,
            over_budget: 0,
        }
    }

    /// A look was made, and so many before it were missed.
    pub(super) fn looked(&mut self, now: Moment, missed: u64) {
        self.missed += missed;
        self.looks += 1;
        self.first_look = self.first_look.or(Some(now));
        self.last_look = Some(now);
    }

    /// A call took so long.
    pub(super) fn called(&mut self, took_us: i64) {
        self.calls += 1;
        self.total_us += took_us;
        self.longest_us = self.longest_us.max(took_us);
    }

    /// Leaves out what was before: the first look asks more than the later ones.
    pub(super) fn skip(&mut self, now: Moment) {
        let missed = self.missed;
        *self = Self { missed, ..Self::new(now) };
    }

    fn readings(&mut self, now: Moment) -> Vec<(Metric, f64)> {
        let seconds = |us: i64| us as f64 / 1e6;
        let passed_us = (now.monotonic_us - self.since.monotonic_us).max(1);
        let mut readings = vec![(Metric::ObserverMissedTicks, self.missed as f64)];
        if let (Some(first), Some(last)) = (self.first_look, self.last_look)
            && self.looks > 1
        {
            let between = seconds(last.monotonic_us - first.monotonic_us);
            readings.push((Metric::ObserverInterval, between / f64::from(self.looks - 1)));
        }
        if self.calls > 0 {
            readings
                .push((Metric::ObserverCallMean, seconds(self.total_us) / f64::from(self.calls)));
            readings.push((Metric::ObserverCallLongest, seconds(self.longest_us)));
        }
        let share = (self.total_us as f64 / passed_us as f64).min(1.0);
        readings.push((Metric::ObserverDriverTime, share));
        let last_look = self.last_look;
        let over_budget = self.over_budget;
        self.skip(now);
        // The next window begins with the last look of this one.
        self.first_look = last_look;
        self.looks = u32::from(last_look.is_some());
        self.over_budget = over_budget;
        readings
    }
}

impl Watch {
    /// Once a second: how well it went, and whether it costs too much.
    pub(super) fn own_rows(&mut self) {
        let now = self.now();
        if now.monotonic_us - self.own.since.monotonic_us < PERIOD_US {
            return;
        }
        let mut readings = self.own.readings(now);
        let dropped =
            self.sieve.dropped() + self.parts.values().map(|it| it.dropped()).sum::<u64>();
        readings.push((Metric::ObserverDropped, dropped as f64));
        self.tell_row(now.stamp(), Origin::Own, readings);
        self.keep_budget();
    }

    fn keep_budget(&mut self) {
        let share: f64 = self.gauges.iter().map(|it| it.share()).sum();
        if share <= self.shared.budget {
            self.own.over_budget = 0;
            return;
        }
        self.own.over_budget += 1;
        if self.own.over_budget < PATIENCE {
            return;
        }
        if let Some(demoted) = demote(&mut self.gauges, self.shared.budget) {
            self.tell_demoted(&demoted);
        }
    }

    fn tell_demoted(&self, it: &Demoted) {
        let shown = |us: f64| Seconds(us / 1e6).to_string();
        let detail = format!(
            "{}: {} takes {} a call, so it is asked every {} instead of every {}",
            self.label,
            it.task.function(),
            shown(it.cost_us),
            shown(it.period_us as f64),
            shown(it.before_us as f64),
        );
        self.tell(Notice::warning(detail.clone()));
        let remedy = "raise --budget, or choose a longer --interval";
        let (kind, subject) = (BlindSpotKind::TooCoarse, self.subject.clone());
        self.tell(blind(kind, subject, None, None, detail, remedy));
    }
}
