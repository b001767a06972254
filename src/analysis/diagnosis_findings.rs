//! What happened to one victim in one window: the result types.

use crate::analysis::influence::findings::{ClockOffset, Influence, LookAlike};
use crate::analysis::memory_findings::OutOfMemory;
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::time::{TimeSpan, Timestamp};
use serde::Serialize;

/// What made one victim slow in one window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The answer in one sentence.
    pub headline: String,
    /// What kind of answer it is.
    pub outcome: Outcome,
    /// Short name of the victim.
    pub victim: String,
    /// The same as a subject.
    pub victim_subject: Subject,
    /// The GPU that it lives on; `None` where it is not known.
    pub gpu: Option<GpuId>,
    /// The metric.
    pub metric: Metric,
    /// The window.
    pub window: TimeSpan,
    /// How slow the victim was in it.
    pub slowness: Slowness,
    /// Everybody who may have done it, the most suspicious first.
    pub suspects: Vec<Suspicion>,
    /// What else was checked: found, ruled out, or not to be seen.
    pub look_alikes: Vec<LookAlike>,
    /// Moments of the window at which memory ran out, in time order.
    pub out_of_memory: Vec<OutOfMemory>,
    /// How far the victim's clock is from the GPU's.
    pub clock_offset: Option<ClockOffset>,
    /// What was drawn.
    pub picture: Picture,
    /// The experiment that would prove it; `None` when there is nobody to suspect.
    pub experiment: Option<ExperimentPlan>,
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
}

/// Kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A neighbour did it.
    Neighbour,
    /// A neighbour probably did it.
    ProbablyNeighbour,
    /// Something else did it.
    SomethingElse,
    /// The victim was no slower than usual.
    NotSlow,
    /// Nothing was shown.
    NothingShown,
    /// The recording does not allow an answer.
    CannotTell,
}

/// How slow the victim was in the window, in the metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slowness {
    /// Median over the bins of the window; `None` without any.
    pub window_p50: Option<f64>,
    /// 95th percentile over the bins of the window.
    pub window_p95: Option<f64>,
    /// Median over the other bins, the normal; `None` when the window is the whole recording.
    pub normal_p50: Option<f64>,
    /// 95th percentile over the other bins.
    pub normal_p95: Option<f64>,
    /// Relative change of the medians for the worse: 0.5 is 50 % slower.
    pub change_ratio: Option<f64>,
    /// Bins of the window in which the victim was seen.
    pub window_bins: u64,
    /// Other bins in which it was seen.
    pub normal_bins: u64,
}

/// One suspect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspicion {
    /// Place in the ranking, from 1.
    pub rank: u64,
    /// Short name.
    pub suspect: String,
    /// What was shown over the whole recording.
    pub influence: Influence,
    /// The suspect's mean activity in the window, from its first sign to its last, 0 to 1; `None` where it was not there or not seen.
    pub window_activity_ratio: Option<f64>,
    /// The same outside of the window; `None` also when the window is the whole recording.
    pub normal_activity_ratio: Option<f64>,
    /// How much of the victim's change in the window its activity explains: 0.2 is 20 % slower; `None` when nothing was shown.
    pub explained_ratio: Option<f64>,
    /// Whether an influence of it was shown, and it was in no burst in the window: it did nothing to it.
    pub is_idle_in_window: bool,
    /// One sentence with its numbers.
    pub sentence: String,
}

/// The victim over the suspects, bin by bin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Picture {
    /// Start of the first bin.
    pub from: Timestamp,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// The victim's metric in its own unit; `None` where it was not seen.
    pub victim: Vec<Option<f64>>,
    /// The suspects, in the order of the ranking, at most five.
    pub suspects: Vec<PictureRow>,
}

/// One suspect of a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PictureRow {
    /// Short name.
    pub suspect: String,
    /// Activity, 0 to 1; `None` where it was not seen.
    pub activity: Vec<Option<f64>>,
    /// Its bursts.
    pub bursts: Vec<TimeSpan>,
    /// Whether the verdict is one of guilt, so that the bursts are shaded.
    pub is_guilty: bool,
}

/// An experiment that would prove an influence: the suspect pauses in blocks drawn by lot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentPlan {
    /// Who pauses.
    pub suspect: String,
    /// Who is watched.
    pub victim: String,
    /// What is watched.
    pub metric: Metric,
    /// Length of a block, in seconds.
    pub block_s: f64,
    /// Seconds at the start of each block that do not count, so that the change has come through.
    pub settle_s: f64,
    /// For each block in order, whether the suspect may run.
    pub blocks: Vec<bool>,
    /// Least probability that the test can give with so many blocks.
    pub least_p: f64,
    /// The steps, ready to be followed.
    pub steps: Vec<String>,
}

/// What an experiment showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentResult {
    /// Who paused.
    pub suspect: String,
    /// Who was watched.
    pub victim: String,
    /// What was watched.
    pub metric: Metric,
    /// The answer in one sentence.
    pub headline: String,
    /// Whether the experiment proves the influence at 5 %.
    pub is_proven: bool,
    /// Change of the victim in blocks with the suspect against blocks without: 0.5 is 50 % slower.
    pub effect_ratio: f64,
    /// Lower end of the 95 % interval of the effect; `None` with too few blocks for one.
    pub effect_low: Option<f64>,
    /// Upper end of the 95 % interval of the effect.
    pub effect_high: Option<f64>,
    /// Share of all ways to deal out the labels that give at least such a difference, one-sided.
    pub p_value: f64,
    /// How many ways there are.
    pub arrangements: u64,
    /// Every block with what was measured.
    pub blocks: Vec<ExperimentBlock>,
    /// What weakens the answer, for example load that differed between blocks.
    pub caveats: Vec<String>,
}

/// One block of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentBlock {
    /// When.
    pub span: TimeSpan,
    /// Whether the suspect ran.
    pub suspect_runs: bool,
    /// Geometric mean of the victim's metric, in its own unit; `None` when it was not seen.
    pub victim_mean: Option<f64>,
    /// The suspect's mean activity, 0 to 1, to see whether it really paused; `None` when it was not seen.
    pub suspect_activity_ratio: Option<f64>,
    /// Bins in which the victim was seen.
    pub bins: u64,
}
