//! Loads of known shape, and what an analysis would find in them.

use crate::analysis::findings::{
    BurstProfile, Bursts, Duty, LengthBin, Lengths, Level, PeriodFinding, PeriodMethod, Regime,
    Resolution, ResolutionVerdict, ScaleValue, Timeline, TimelineBin,
};
use crate::domain::metric::Metric;
use crate::report::specimen::{at, span};

/// A load of 600 s at ten samples a second.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    /// About 30 % all the time.
    Steady,
    /// Everything for 3 s out of 10.
    Bursty,
    /// 60 % in the second half, with a hole of a minute.
    Late,
}

const SAMPLES: usize = 6000;

pub(super) fn samples(load: Load) -> Vec<(f64, f64)> {
    let mut seed = 7u64;
    let mut noise = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 31) as f64
    };
    (0..SAMPLES)
        .map(|it| it as f64 / 10.0)
        .filter(|it| !matches!(load, Load::Late) || !(400.0..460.0).contains(it))
        .map(|second| {
            let value = match load {
                Load::Steady => 0.26 + 0.08 * noise(),
                Load::Bursty if second % 10.0 < 3.0 => 0.985 + 0.015 * noise(),
                Load::Bursty => 0.01 * noise(),
                Load::Late if second > 300.0 => 0.55 + 0.1 * noise(),
                Load::Late => 0.02 * noise(),
            };
            (second, value)
        })
        .collect()
}

pub(super) fn level(values: &[f64], scale: f64) -> Level {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize] * scale;
    Level {
        samples: values.len() as u64,
        mean: mean * scale,
        standard_deviation: variance.sqrt() * scale,
        min: quantile(0.0),
        p50: quantile(0.5),
        p95: quantile(0.95),
        max: quantile(1.0),
        saturated_ratio: None,
    }
}

pub(super) fn timeline(metric: Metric, samples: &[(f64, f64)], scale: f64) -> Timeline {
    let bins = samples
        .chunk_by(|a, b| a.0.floor() == b.0.floor())
        .map(|chunk| {
            let values: Vec<f64> = chunk.iter().map(|it| it.1).collect();
            let level = level(&values, scale);
            TimelineBin {
                at: at(chunk[0].0.floor()),
                low: level.min,
                mean: level.mean,
                high: level.max,
            }
        })
        .collect();
    Timeline { metric, bins, bin_s: 1.0 }
}

pub(super) fn demand_cv(values: &[f64]) -> Vec<ScaleValue> {
    let scale = |power: u32| {
        let window = 1usize << power;
        let means: Vec<f64> =
            values.chunks_exact(window).map(|it| it.iter().sum::<f64>() / window as f64).collect();
        let level = level(&means, 1.0);
        ScaleValue { scale_s: window as f64 / 10.0, value: level.standard_deviation / level.mean }
    };
    (0..9).map(scale).collect()
}

pub(super) fn bursts() -> Bursts {
    let lengths = |p50: f64, p90: f64, max: f64| Lengths {
        count: 60,
        censored: 1,
        p50_s: Some(p50),
        p90_s: Some(p90),
        max_s: Some(max),
    };
    let counts = [3, 0, 2, 6, 37, 11, 1];
    let histogram = counts
        .iter()
        .enumerate()
        .map(|(power, count)| {
            let from_s = 0.2 * f64::powi(2.0, power as i32);
            LengthBin {
                from_s,
                until_s: 2.0 * from_s,
                count: *count,
                time_ratio: 0.0,
                height_ratio: None,
            }
        })
        .collect();
    Bursts {
        on_ratio: 0.5,
        off_ratio: 0.25,
        burst_lengths: lengths(3.0, 3.1, 3.4),
        gap_lengths: lengths(7.0, 7.1, 7.3),
        height_p50_ratio: 0.99,
        height_max_ratio: 1.0,
        mass_p50_s: 2.97,
        on_ratio_of_time: 0.3,
        burstiness: Some(-0.94),
        memory: None,
        index_of_dispersion: Some(0.1),
        histogram,
        extents: Vec::new(),
    }
}

pub(super) fn resolution(load: Load) -> Resolution {
    let (verdict, sentence) = match load {
        Load::Steady => (
            ResolutionVerdict::SteadyAtThisScale,
            "Steady at this scale: windows of 100 ms differ by 7 %; bursts, if any, are far shorter.",
        ),
        Load::Bursty | Load::Late => (
            ResolutionVerdict::Resolved,
            "Bursts last at least three windows of 100 ms: lengths are as measured.",
        ),
    };
    Resolution {
        verdict,
        sentence: sentence.to_owned(),
        estimated_burst: None,
        needed_interval_s: None,
        miss_probability: None,
    }
}

pub(super) fn profile(metric: Metric, load: Load) -> BurstProfile {
    let samples = samples(load);
    let values: Vec<f64> = samples.iter().map(|it| it.1).collect();
    let whole = level(&values, 1.0);
    let share =
        |least: f64| values.iter().filter(|it| **it >= least).count() as f64 / values.len() as f64;
    let is_bursty = matches!(load, Load::Bursty);
    let period =
        PeriodFinding { period_s: 10.0, strength: 0.97, method: PeriodMethod::Autocorrelation };
    BurstProfile {
        metric,
        samples: whole.samples,
        span: span(0.0, 600.0),
        stride_s: 0.1,
        window_s: 0.1,
        window_is_stated: true,
        segments: if matches!(load, Load::Late) { 2 } else { 1 },
        mean_ratio: whole.mean,
        standard_deviation_ratio: whole.standard_deviation,
        duty: Duty { at_5_pct: share(0.05), at_50_pct: share(0.5), at_95_pct: share(0.95) },
        peak_to_mean: Some(whole.max / whole.mean),
        p95_to_mean: Some(whole.p95 / whole.mean),
        crest_factor: None,
        bursts: is_bursty.then(bursts),
        demand_cv: demand_cv(&values),
        allan_factor: Vec::new(),
        allan_slope: None,
        period: is_bursty.then_some(period),
        lag1_correlation: Some(0.9),
        blur_index: is_bursty.then_some(0.98),
        resolution: resolution(load),
        regimes: vec![Regime { span: span(0.0, 600.0), mean_ratio: whole.mean }],
    }
}

pub(super) const GIB: f64 = 1_073_741_824.0;

pub(super) fn memory(used_gib: f64, load: Load) -> (Level, Timeline) {
    let samples: Vec<(f64, f64)> =
        samples(load).iter().map(|it| (it.0, used_gib * (0.9 + 0.1 * it.1))).collect();
    let values: Vec<f64> = samples.iter().map(|it| it.1).collect();
    (level(&values, GIB), timeline(Metric::FramebufferUsed, &samples, GIB))
}
