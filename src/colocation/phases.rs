//! A replay over many relative phases, until the answer is steady or the budget is spent.
//!
//! How two loads will meet is not known, so each replay begins every tenant at a random place of its own trace and lasts a window:
//! a quarter of the longest trace if that is affordable, else the longest that is.

use crate::colocation::demand::Pace;
use crate::colocation::demand::Timeline;
use crate::colocation::draw::Draw;
use crate::colocation::power::Regulator;
use crate::colocation::range::Quantiles;
use crate::colocation::replay::{Replay, Sharing, Times};
use crate::stats::moments::Moments;
use crate::stats::quantile::quantiles;

/// Groups of windows among which the spread is taken.
const GROUPS: usize = 12;
/// Share of a window that is left out because its queues began empty.
const WARM_UP: f64 = 0.03;
/// Pieces of each tenant's work that a window holds at least, on average, as far as there are so many.
const LEAST_PIECES: f64 = 60.0;
/// Longest window as a share of the trace: the spread among windows then holds what a finite trace leaves to chance.
const LONGEST_WINDOW: f64 = 0.25;
/// How many times the budget may be exceeded so that windows hold that many.
const MOST_OVERDRAFT: f64 = 3.0;
/// Normal quantile of the 5-95 % range, a little wider for the few groups it is taken from.
const TO_95: f64 = 1.8;
/// Standard deviation of the logarithm that the model itself is off by, with measured inputs: see `reports/whatif.md`.
const MODEL_ERROR: f64 = 0.02;

/// How much work a prediction may cost, and when it may stop early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Events to replay, about; a request or a burst is two.
    pub events: u64,
    /// Windows at most, or groups of windows where they are short.
    pub phases: usize,
    /// Relative standard error of the p99 at which more phases are not worth it.
    pub settled: f64,
}

impl Default for Budget {
    /// 100,000 events, 200 windows, 1 %: a few milliseconds for a pair.
    fn default() -> Self {
        Self { events: 100_000, phases: 200, settled: 0.01 }
    }
}

impl Budget {
    /// Half of it, for what is played only to widen an answer.
    pub(crate) fn halved(self) -> Self {
        Self { events: self.events / 2, settled: 2.0 * self.settled, ..self }
    }
}

/// How the tenants' bursts meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Nothing is known about their relative phase: each begins anywhere.
    AnyPhase,
    /// They follow a common trigger, and were recorded at the same time: their phase is kept.
    AsRecorded,
}

/// One tenant as it takes part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) name: &'a str,
    pub(crate) timeline: &'a Timeline,
    pub(crate) pace: Pace,
    pub(crate) host_s: f64,
}

/// What the phases say about one tenant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// Slowdown of the quantiles: shared over solo.
    pub(crate) slowdown: Quantiles<f64>,
    /// Standard deviation of the logarithm of each over phases, for a stretch as long as the trace.
    pub(crate) spread: Quantiles<f64>,
    /// Times with company, seconds, host included.
    pub(crate) shared_s: Quantiles<f64>,
    /// Solo time that passed per second, 1 when nothing is lost.
    pub(crate) progress: f64,
    /// Share of the requests that were not done in time.
    pub(crate) unfinished: f64,
}

/// Replays the tenants over random phases; `None` for each that had nothing to time.
pub(crate) fn over_phases(
    parts: &[Part<'_>],
    sharing: &Sharing,
    regulator: Option<&Regulator>,
    meeting: Meeting,
    budget: Budget,
) -> Vec<Option<Outcome>> {
    let plan = Plan::of(parts, budget);
    let mut draws: Vec<Draw> = parts.iter().map(|it| Draw::named(it.name, 3)).collect();
    let mut tallies: Vec<Tally> = parts.iter().map(|_| Tally::default()).collect();
    let mut spent = 0;
    for window in 0..plan.windows {
        let mut places: Vec<f64> = draws.iter_mut().map(Draw::uniform).collect();
        if meeting == Meeting::AsRecorded {
            let first = places.first().copied().unwrap_or(0.0);
            places.fill(first);
        }
        let starts = places.iter().zip(parts).map(|(place, part)| place * part.timeline.span_s());
        let tenants =
            parts.iter().zip(starts).map(|(part, start)| (part.timeline, part.pace, start));
        let replay = Replay::new(tenants, sharing.clone(), regulator.cloned());
        let (times, events) = replay.play(WARM_UP * plan.window_s, plan.window_s);
        spent += events;
        for ((tally, times), part) in tallies.iter_mut().zip(times).zip(parts) {
            tally.add(times, part.host_s, window % plan.per_group == plan.per_group - 1);
        }
        let is_group = (window + 1) % plan.per_group == 0;
        let groups = (window + 1) / plan.per_group;
        if is_group && groups >= GROUPS {
            let is_settled = tallies.iter().all(|it| it.standard_error() <= budget.settled);
            if is_settled || spent > budget.events {
                break;
            }
        }
    }
    tallies.into_iter().zip(parts).map(|(it, part)| it.outcome(part, &plan)).collect()
}

/// How many windows of what length.
#[derive(Debug)]
struct Plan {
    window_s: f64,
    windows: usize,
    /// Windows that are one observation of the quantiles.
    per_group: usize,
}

impl Plan {
    fn of(parts: &[Part<'_>], budget: Budget) -> Self {
        let spans = parts.iter().map(|it| it.timeline.span_s());
        let whole_s = spans.fold(f64::MIN_POSITIVE, f64::max);
        let rate = |it: &Part<'_>| it.timeline.len() as f64 / it.timeline.span_s();
        let per_second: f64 = parts.iter().map(|it| 2.0 * rate(it)).sum();
        let events = budget.events.max(1) as f64;
        let phases = budget.phases.max(GROUPS);
        let longest_s = whole_s * LONGEST_WINDOW;
        let slowest = parts.iter().map(|it| LEAST_PIECES / rate(it).max(f64::MIN_POSITIVE));
        let least_s = slowest.fold(0.0, f64::max);
        let affordable_s = events / per_second / (2 * GROUPS) as f64;
        let window_s = affordable_s.max(least_s.min(affordable_s * MOST_OVERDRAFT)).min(longest_s);
        let windows = (events / (per_second * window_s)).ceil() as usize;
        let per_group = (windows / GROUPS).max(1);
        let windows = (per_group * phases.min(windows / per_group)).max(per_group * GROUPS);
        Self { window_s, windows, per_group }
    }
}

/// What was seen of one tenant so far.
#[derive(Debug, Default)]
struct Tally {
    shared: Vec<f64>,
    solo: Vec<f64>,
    /// Where the group under way began.
    group_from: usize,
    /// Logarithm of the slowdown of the quantiles, group by group.
    groups: [Moments; 3],
    count: usize,
    unfinished: usize,
    elapsed_s: f64,
    progress_s: f64,
}

const LEVELS: [f64; 3] = [0.50, 0.95, 0.99];

impl Tally {
    fn add(&mut self, times: Times, host_s: f64, ends_group: bool) {
        self.shared.extend(times.shared.iter().map(|it| f64::from(*it) + host_s));
        self.solo.extend(times.solo.iter().map(|it| f64::from(*it) + host_s));
        self.unfinished += times.unfinished;
        self.elapsed_s += times.elapsed_s;
        self.progress_s += times.progress_s;
        if ends_group {
            let from = std::mem::replace(&mut self.group_from, self.shared.len());
            let ratios = ratios(&self.shared[from..], &self.solo[from..]);
            if let Some(ratios) = ratios {
                for (moments, ratio) in self.groups.iter_mut().zip(ratios) {
                    moments.insert(ratio.ln());
                }
                self.count += 1;
            }
        }
    }

    fn standard_error(&self) -> f64 {
        let p99 = &self.groups[2];
        let count = self.count;
        p99.variance().map_or(0.0, |it| (it / count.max(1) as f64).sqrt())
    }

    fn outcome(self, part: &Part<'_>, plan: &Plan) -> Option<Outcome> {
        let pooled = ratios(&self.shared, &self.solo)?;
        let groups = self.count;
        let of_group_s = plan.window_s * plan.per_group as f64;
        // As long as the trace: a longer stretch varies less, by the root of its length.
        let horizon = (of_group_s / part.timeline.span_s()).min(1.0) + 1.0 / groups.max(1) as f64;
        let spread = |level: usize| {
            let deviation = self.groups[level].variance().map_or(0.0, f64::sqrt);
            TO_95 * (deviation * deviation * horizon + MODEL_ERROR * MODEL_ERROR).sqrt()
        };
        let shared = quantiles(&self.shared, &LEVELS)?;
        let all = (self.shared.len() + self.unfinished).max(1);
        Some(Outcome {
            slowdown: Quantiles { p50: pooled[0], p95: pooled[1], p99: pooled[2] },
            spread: Quantiles { p50: spread(0), p95: spread(1), p99: spread(2) },
            shared_s: Quantiles { p50: shared[0], p95: shared[1], p99: shared[2] },
            progress: if self.elapsed_s > 0.0 { self.progress_s / self.elapsed_s } else { 1.0 },
            unfinished: self.unfinished as f64 / all as f64,
        })
    }
}

/// Quantiles with company over quantiles alone.
fn ratios(shared: &[f64], solo: &[f64]) -> Option<[f64; 3]> {
    let (with, without) = (quantiles(shared, &LEVELS)?, quantiles(solo, &LEVELS)?);
    let ratio = |level: usize| with[level] / without[level].max(f64::MIN_POSITIVE);
    Some([ratio(0), ratio(1), ratio(2)])
}
