//! What the sampling allows to be said about bursts: the verdict table of METHODS, section resolution.

use crate::analysis::findings::{Bursts, Duty, EstimatedLength, Resolution, ResolutionVerdict};
use crate::domain::shares::share;
use crate::domain::units::Seconds;
use crate::stats::telegraph::miss_probability;

/// Fewer samples than this allow no statement about shape.
const FEWEST_SAMPLES: u64 = 30;
/// Below this blur index the windows hardly differ: steady at this scale.
const STEADY_BLUR: f64 = 0.02;
/// Above this blur index bursts are longer than the window.
const RESOLVED_BLUR: f64 = 0.6;
/// Windows that a burst must last to be measured.
const RESOLVED_WINDOWS: f64 = 3.0;
/// Below this correlation neighbouring windows know nothing of each other.
const UNRELATED: f64 = 0.2;
/// A stride longer than this many windows leaves time unseen.
pub(crate) const SPARSE_WINDOWS: f64 = 1.5;
/// Limits of the inferred burst length: a factor either way, by simulation on loads that are no telegraph.
const ESTIMATE_FACTOR: f64 = 3.0;
/// Mean activity below and above which a trace that hardly moves is called idle or full.
const IDLE_OR_FULL: (f64, f64) = (0.01, 0.95);

impl ResolutionVerdict {
    /// Whether burst lengths were seen and may be shown.
    pub fn shows_bursts(self) -> bool {
        matches!(self, Self::Resolved | Self::PartlyResolved)
    }

    /// Whether the greatest sample says something about the peak of demand.
    pub fn shows_peak(self) -> bool {
        !matches!(self, Self::ShorterThanWindow | Self::TooFewSamples)
    }
}

/// What was observed of an activity, as far as the verdict needs it.
pub(crate) struct Observed<'a> {
    /// Time between samples, in seconds.
    pub(crate) stride_s: f64,
    /// Time that a sample averages over, in seconds.
    pub(crate) window_s: f64,
    pub(crate) samples: u64,
    pub(crate) mean: f64,
    pub(crate) duty: Duty,
    pub(crate) blur_index: Option<f64>,
    pub(crate) bursts: Option<&'a Bursts>,
    /// Correlation of samples that share no window.
    pub(crate) neighbours: f64,
    /// Mean length of a burst, in seconds, where windows hide it; asked only if it is needed.
    pub(crate) inferred_s: &'a dyn Fn() -> Option<f64>,
    /// Who looked, where the samples themselves were not kept.
    pub(crate) observer: Option<&'a str>,
}

/// The verdict, its sentence and what would settle it.
pub(crate) fn resolution(seen: &Observed<'_>) -> Resolution {
    let verdict = verdict(seen);
    let estimated_burst = estimate(seen, verdict);
    let stride = seen.stride_s;
    let is_sparse = verdict == ResolutionVerdict::Sparse;
    let miss = estimated_burst
        .filter(|_| is_sparse)
        .map(|it| miss_probability(it.about_s, seen.window_s, stride));
    Resolution {
        verdict,
        sentence: match seen.observer {
            Some(observer) => {
                format!("{observer}: {}", sentence(seen, verdict, estimated_burst, miss))
            }
            None => sentence(seen, verdict, estimated_burst, miss),
        },
        estimated_burst,
        needed_interval_s: needed_interval(seen, verdict, estimated_burst),
        miss_probability: miss,
    }
}

fn verdict(seen: &Observed<'_>) -> ResolutionVerdict {
    use ResolutionVerdict::{
        Constant, PartlyResolved, Resolved, ShorterThanWindow, Sparse, SteadyAtThisScale,
        TooFewSamples,
    };
    let window = seen.window_s;
    if seen.samples < FEWEST_SAMPLES {
        return TooFewSamples;
    }
    if seen.stride_s > SPARSE_WINDOWS * window {
        return Sparse;
    }
    let is_flat = seen.bursts.is_none();
    if is_flat && !(IDLE_OR_FULL.0..IDLE_OR_FULL.1).contains(&seen.mean) {
        return Constant;
    }
    let blur = seen.blur_index.unwrap_or(0.0);
    let is_blurred = blur < RESOLVED_BLUR && seen.neighbours < UNRELATED;
    if blur < STEADY_BLUR && (is_flat || is_blurred) {
        return SteadyAtThisScale;
    }
    if is_blurred {
        return ShorterThanWindow;
    }
    let typical = seen.bursts.and_then(|it| it.burst_lengths.p50_s.or(it.burst_lengths.max_s));
    match typical {
        None => SteadyAtThisScale,
        Some(length) if length >= RESOLVED_WINDOWS * window => Resolved,
        Some(_) => PartlyResolved,
    }
}

fn estimate(seen: &Observed<'_>, verdict: ResolutionVerdict) -> Option<EstimatedLength> {
    match verdict {
        ResolutionVerdict::ShorterThanWindow | ResolutionVerdict::Sparse => {
            let about_s = (seen.inferred_s)()?;
            let (low_s, high_s) = (about_s / ESTIMATE_FACTOR, about_s * ESTIMATE_FACTOR);
            Some(EstimatedLength { about_s, low_s, high_s })
        }
        _ => None,
    }
}

fn needed_interval(
    seen: &Observed<'_>,
    verdict: ResolutionVerdict,
    estimate: Option<EstimatedLength>,
) -> Option<f64> {
    let window = seen.window_s;
    match verdict {
        ResolutionVerdict::ShorterThanWindow => {
            Some(estimate.map_or(window / RESOLVED_WINDOWS, |it| it.about_s / RESOLVED_WINDOWS))
        }
        ResolutionVerdict::Sparse => {
            Some(estimate.map_or(window, |it| it.about_s / RESOLVED_WINDOWS).min(window))
        }
        _ => None,
    }
}

fn sentence(
    seen: &Observed<'_>,
    verdict: ResolutionVerdict,
    estimate: Option<EstimatedLength>,
    miss: Option<f64>,
) -> String {
    let window = Seconds(seen.window_s);
    let stride = Seconds(seen.stride_s);
    let blur = seen.blur_index.map_or("none".to_owned(), |it| format!("{it:.3}"));
    let typical = seen.bursts.and_then(|it| it.burst_lengths.p50_s.or(it.burst_lengths.max_s));
    let typical = Seconds(typical.unwrap_or(0.0));
    let busy = share(seen.mean);
    match verdict {
        ResolutionVerdict::Constant if seen.duty.at_50_pct > 0.5 => {
            format!("busy throughout at {busy}: there are no bursts to resolve")
        }
        ResolutionVerdict::Constant => {
            format!("idle nearly throughout at {busy}: there are no bursts to resolve")
        }
        ResolutionVerdict::Resolved => {
            let exact = match seen.observer {
                Some(_) => "counted in classes, each twice as long as the one before",
                None => "right to within one window",
            };
            format!(
                "resolved: a typical burst lasts {typical}, at least three windows of {window}; lengths are {exact}"
            )
        }
        ResolutionVerdict::PartlyResolved => format!(
            "partly resolved: a typical burst lasts {typical}, less than three windows of {window}; lengths are upper limits"
        ),
        ResolutionVerdict::ShorterThanWindow => match estimate {
            Some(it) => format!(
                "bursts are shorter than the window of {window} (blur index {blur}): they last about {}, within a factor of three",
                Seconds(it.about_s)
            ),
            None => format!(
                "bursts are shorter than the window of {window} (blur index {blur}), and too regular for their length to be inferred"
            ),
        },
        ResolutionVerdict::SteadyAtThisScale => format!(
            "bursts shorter than the window, steady at this scale: windows of {window} hardly differ (blur index {blur})"
        ),
        ResolutionVerdict::Sparse => {
            let chance = miss.map_or(String::new(), |it| {
                format!("; a typical burst is missed with probability {it:.2}")
            });
            format!(
                "one window of {window} every {stride}: shares and heights are good, lengths and what happens together are not{chance}"
            )
        }
        ResolutionVerdict::TooFewSamples => format!(
            "{} samples are too few to speak of shape; {FEWEST_SAMPLES} are the least",
            seen.samples
        ),
    }
}
