//! What is asked of a GPU, how often, at what cost, and what to do when it is refused.

use crate::domain::time::Timestamp;
use crate::sampler::source::{LISTS, Pace, ProcessList, QUESTIONS, Question, RINGS, Refusal, Ring};

/// Performance counters need samples that are more than 100 ms apart.
pub(crate) const LEAST_COUNTERS_US: u64 = 110_000;
/// So much sooner they may come, to get back onto their grid.
const EARLY_US: i64 = 3_000;
/// How often rings are drained: so often that a crash loses less than a second of them.
const DRAIN_US: u64 = 500_000;
/// How often lists are read.
const SLOW_US: u64 = 2_000_000;
/// A failing question is asked again after so long at most.
const LONGEST_BACKOFF_US: u64 = 5_000_000;
/// Weight of a new cost in the running mean.
const NEW_COST: f64 = 0.2;

/// Something that is asked of a GPU again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Ask(Question),
    Ring(Ring),
    ProcessRing,
    List(ProcessList),
    Instances,
    Counters,
}

impl Task {
    /// The function behind it, for messages.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Self::Ask(question) => question.spec().function,
            Self::Ring(_) => "nvmlDeviceGetSamples",
            Self::ProcessRing => "nvmlDeviceGetProcessesUtilizationInfo",
            Self::List(ProcessList::Compute) => "nvmlDeviceGetComputeRunningProcesses",
            Self::List(ProcessList::Graphics) => "nvmlDeviceGetGraphicsRunningProcesses",
            Self::List(ProcessList::Mps) => "nvmlDeviceGetMPSComputeRunningProcesses",
            Self::Instances => "nvmlDeviceGetMigDeviceHandleByIndex",
            Self::Counters => "nvmlGpmMetricsGet",
        }
    }

    fn pace(self) -> Pace {
        match self {
            Self::Ask(question) => question.spec().pace,
            Self::Ring(_) | Self::ProcessRing => Pace::Drain,
            Self::List(_) | Self::Instances => Pace::Slow,
            Self::Counters => Pace::Counters,
        }
    }

    /// The longest time between two calls that a budget may force, microseconds.
    ///
    /// A ring is lost after ten seconds.
    fn longest_us(self) -> u64 {
        match self.pace() {
            Pace::Fast | Pace::Counters => 2_000_000,
            Pace::Drain => 4_000_000,
            Pace::Slow => 60_000_000,
        }
    }
}

/// Whether a task is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Untried,
    Open,
    /// It stays refused until the layout or the driver changes.
    Refused(Refusal),
}

/// A task with its clock, its cost and its luck.
#[derive(Debug)]
pub(crate) struct Gauge {
    pub(crate) task: Task,
    pub(crate) pace: Pace,
    pub(crate) state: State,
    pub(crate) period_us: u64,
    pub(crate) due_us: i64,
    /// Mean time of a call, microseconds.
    pub(crate) cost_us: f64,
    /// Since when it fails, if it does.
    pub(crate) failing: Option<(Timestamp, Refusal)>,
    /// Whether something better answers the same, so that it is not asked.
    pub(crate) is_idle: bool,
    failures: u32,
    calls: u32,
}

impl Gauge {
    fn new(task: Task, interval_us: u64, start_us: i64) -> Self {
        let pace = task.pace();
        let period_us = match pace {
            Pace::Fast => interval_us,
            Pace::Counters => interval_us.max(LEAST_COUNTERS_US),
            Pace::Drain => interval_us.max(DRAIN_US),
            Pace::Slow => interval_us.max(SLOW_US),
        };
        Self {
            task,
            pace,
            state: State::Untried,
            period_us,
            due_us: start_us,
            cost_us: 0.0,
            failing: None,
            is_idle: false,
            failures: 0,
            calls: 0,
        }
    }

    /// Notes what a call cost.
    pub(crate) fn paid(&mut self, cost_us: i64) {
        let cost = cost_us.max(0) as f64;
        self.cost_us = match self.calls {
            0 => cost,
            _ => self.cost_us + NEW_COST * (cost - self.cost_us),
        };
        self.calls = self.calls.saturating_add(1);
    }

    /// Share of time that the task takes.
    pub(crate) fn share(&self) -> f64 {
        match self.state {
            State::Open if !self.is_idle => self.cost_us / self.period_us as f64,
            _ => 0.0,
        }
    }

    /// Puts the next call one period on, and returns how many were missed.
    pub(crate) fn advance(&mut self, now_us: i64) -> u64 {
        let period = i64::try_from(self.period_us).unwrap_or(i64::MAX);
        if self.pace == Pace::Counters {
            // On one grid for all GPUs, so that they are looked at together; one that was late comes
            // back to it in steps, for two looks must not be too close.
            let half_us = now_us + period / 2;
            let next_us = half_us + (-half_us).rem_euclid(period);
            self.due_us = next_us.max(now_us + LEAST_COUNTERS_US as i64 - EARLY_US);
            return 0;
        }
        let late = (now_us - self.due_us).max(0) / period;
        self.due_us += (late + 1) * period;
        late.unsigned_abs()
    }

    /// A call was answered: since when it had failed, if it had.
    pub(crate) fn succeeded(&mut self) -> Option<(Timestamp, Refusal)> {
        self.state = State::Open;
        self.failures = 0;
        self.failing.take()
    }

    /// A call failed in passing: the next ones wait longer and longer.
    pub(crate) fn failed(&mut self, at: Timestamp, refusal: Refusal, now_us: i64) {
        self.failing = self.failing.or(Some((at, refusal)));
        self.failures = self.failures.saturating_add(1);
        let wait = self.period_us.saturating_mul(1 << self.failures.min(16));
        let wait = wait.min(LONGEST_BACKOFF_US.max(self.period_us));
        self.due_us = now_us.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX));
    }

    /// Whether its mean cost can be trusted.
    fn is_weighed(&self) -> bool {
        self.calls >= 3
    }
}

/// Every task of a GPU.
pub(crate) fn gauges(interval_us: u64, start_us: i64) -> Vec<Gauge> {
    let asks = QUESTIONS.iter().map(|it| Task::Ask(it.question));
    let rings = RINGS.iter().map(|it| Task::Ring(*it));
    let lists = LISTS.iter().map(|it| Task::List(*it));
    let tasks =
        asks.chain(rings).chain([Task::ProcessRing, Task::Instances, Task::Counters]).chain(lists);
    tasks.map(|it| Gauge::new(it, interval_us, start_us)).collect()
}

/// A task that was slowed down to keep within the budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Demoted {
    pub(crate) task: Task,
    pub(crate) cost_us: f64,
    pub(crate) before_us: u64,
    pub(crate) period_us: u64,
}

/// Slows the dearest task down until all together take no more than `budget`, a share of time.
///
/// `None` when they do, or when nothing can be slowed down any more.
pub(crate) fn demote(gauges: &mut [Gauge], budget: f64) -> Option<Demoted> {
    let total: f64 = gauges.iter().map(Gauge::share).sum();
    if total <= budget {
        return None;
    }
    let may = |it: &&mut Gauge| it.is_weighed() && it.period_us < it.task.longest_us();
    let dearest = gauges.iter_mut().filter(may).max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let before_us = dearest.period_us;
    // What is left of the budget for it, but never less than half of what it takes now.
    let left = (budget - (total - dearest.share())).max(dearest.share() / 8.0);
    let needed = (dearest.cost_us / left.max(1e-9)) as u64;
    let periods = needed.div_ceil(before_us).max(2).next_power_of_two();
    dearest.period_us = before_us.saturating_mul(periods).min(dearest.task.longest_us());
    let (task, cost_us, period_us) = (dearest.task, dearest.cost_us, dearest.period_us);
    Some(Demoted { task, cost_us, before_us, period_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dearest_task_is_slowed_down_until_the_budget_holds() {
        let mut all = gauges(100_000, 0);
        for gauge in &mut all {
            gauge.state = State::Open;
            let cost = if gauge.task == Task::List(ProcessList::Graphics) { 45_000 } else { 20 };
            (0..3).for_each(|_| gauge.paid(cost));
        }
        let demoted = demote(&mut all, 0.01).expect("over the budget");
        assert_eq!(demoted.task, Task::List(ProcessList::Graphics));
        assert!(demoted.period_us >= 4 * demoted.before_us);
        while demote(&mut all, 0.01).is_some() {}
        assert!(all.iter().map(Gauge::share).sum::<f64>() <= 0.01);
        let fast = all.iter().find(|it| it.task == Task::Ask(Question::MemoryUsed));
        assert_eq!(fast.expect("a task").period_us, 100_000);
    }

    #[test]
    fn a_late_look_counts_what_it_missed_and_keeps_to_the_grid() {
        let mut gauge = Gauge::new(Task::Ask(Question::Clocks), 100_000, 0);
        assert_eq!(gauge.advance(10), 0);
        assert_eq!((gauge.advance(350_000), gauge.due_us), (2, 400_000));
    }

    #[test]
    fn counters_are_never_closer_than_they_may_be() {
        let all = gauges(20_000, 0);
        let counters = all.iter().find(|it| it.task == Task::Counters).expect("a task");
        assert_eq!(counters.period_us, LEAST_COUNTERS_US);
    }

    #[test]
    fn counters_of_all_gpus_fall_into_step_however_late_a_look_was() {
        let grid = LEAST_COUNTERS_US as i64;
        for late in [0, 900, 40_000, 109_000, 5_000_000] {
            let mut gauge = Gauge::new(Task::Counters, 100_000, 0);
            let mut at = 7 * grid + late;
            for _ in 0..60 {
                gauge.advance(at);
                assert!(gauge.due_us - at >= grid - EARLY_US, "{late}: too close");
                assert!(gauge.due_us - at <= grid + grid / 2, "{late}: too far");
                at = gauge.due_us + 60;
            }
            assert_eq!(gauge.due_us % grid, 0, "{late}: back on the grid");
        }
    }
}
