//! A small world with a known truth, from which the tests of this folder make reports.
//!
//! GPU 0 is steady, GPU 1 has full-device bursts by a tenant of equal mean, `gpu2` was never read.

use crate::analysis::evidence::{Confidence, Evidence};
use crate::analysis::findings::{
    BurstProfile, Bursts, DeviceFindings, Duty, Findings, LengthBin, Lengths, Level, PeriodFinding,
    PeriodMethod, Regime, Resolution, ResolutionVerdict, ScaleValue, Scope, ScopeFindings,
    SubjectFindings, Timeline, TimelineBin, UtilisationTrap,
};
use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, Outline, Phase};
use crate::domain::source::{Source, SourceId};
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::recommender::suitability::{SharingWord, Suitability};
use crate::report::{Report, ReportInput};
use std::collections::BTreeMap;

/// A name that tries everything: markup, a cursor movement, a turned line and great length.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[2J\u{202e}\"'&\u{0}evil";

/// Start of the specimen: 28 Nov 2026, 09:00 UTC.
const START: i64 = 1_795_856_400_000_000;

/// The owned parts of a report's input.
pub(crate) struct Specimen {
    pub outline: Outline,
    pub findings: Findings,
    pub suitability: Vec<Suitability>,
    pub settings: Vec<(String, String)>,
}

impl Specimen {
    pub(crate) fn report(&self) -> Report {
        Report::build(&ReportInput {
            title: "Sharing report for gpu-node-07",
            outline: &self.outline,
            findings: &self.findings,
            suitability: &self.suitability,
            settings: &self.settings,
            tool_version: "0.1.0",
            command: "cotenant report node-07.parquet --html report.html",
        })
    }
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_micros(START + (seconds * 1e6) as i64)
}

fn span(from: f64, until: f64) -> TimeSpan {
    TimeSpan::new(at(from), at(until)).unwrap()
}

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

fn samples(load: Load) -> Vec<(f64, f64)> {
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

fn level(values: &[f64], scale: f64) -> Level {
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

fn timeline(metric: Metric, samples: &[(f64, f64)], scale: f64) -> Timeline {
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

fn demand_cv(values: &[f64]) -> Vec<ScaleValue> {
    let scale = |power: u32| {
        let window = 1usize << power;
        let means: Vec<f64> =
            values.chunks_exact(window).map(|it| it.iter().sum::<f64>() / window as f64).collect();
        let level = level(&means, 1.0);
        ScaleValue { scale_s: window as f64 / 10.0, value: level.standard_deviation / level.mean }
    };
    (0..9).map(scale).collect()
}

fn bursts() -> Bursts {
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
    }
}

fn resolution(load: Load) -> Resolution {
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

fn profile(metric: Metric, load: Load) -> BurstProfile {
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

const GIB: f64 = 1_073_741_824.0;

fn memory(used_gib: f64, load: Load) -> (Level, Timeline) {
    let samples: Vec<(f64, f64)> =
        samples(load).iter().map(|it| (it.0, used_gib * (0.9 + 0.1 * it.1))).collect();
    let values: Vec<f64> = samples.iter().map(|it| it.1).collect();
    (level(&values, GIB), timeline(Metric::FramebufferUsed, &samples, GIB))
}

/// A subject with one load, and with memory where it is given.
pub(crate) fn subject(
    subject: Subject,
    label: &str,
    load: Load,
    memory_gib: Option<f64>,
) -> SubjectFindings {
    let metric = Metric::GpuUtilization;
    let samples = samples(load);
    let values: Vec<f64> = samples.iter().map(|it| it.1).collect();
    let mut levels = BTreeMap::from([(metric, level(&values, 100.0))]);
    let mut timelines = vec![timeline(metric, &samples, 100.0)];
    if let Some((used, picture)) = memory_gib.map(|it| memory(it, load)) {
        levels.insert(Metric::FramebufferUsed, used);
        timelines.push(picture);
    }
    if subject.is_device() {
        levels.insert(Metric::FramebufferTotal, level(&[80.0], GIB));
    }
    let evidence = vec![Evidence {
        analysis: "burst-shape",
        subject: Some(subject.clone()),
        sentence: format!("{label} uses {:.0} % on average.", 100.0 * level(&values, 1.0).mean),
        confidence: Confidence::new(0.93),
    }];
    let whole = ScopeFindings {
        scope: Scope::Whole,
        levels,
        profile: Some(profile(metric, load)),
        utilisation_trap: None,
        evidence,
    };
    let phase = ScopeFindings {
        scope: Scope::Phase { label: "warm-up".to_owned() },
        evidence: Vec::new(),
        ..whole.clone()
    };
    SubjectFindings { subject, label: label.to_owned(), scopes: vec![whole, phase], timelines }
}

/// A subject of which nothing was measured.
fn unread(subject: Subject, label: &str) -> SubjectFindings {
    SubjectFindings { subject, label: label.to_owned(), scopes: Vec::new(), timelines: Vec::new() }
}

fn process(gpu: &GpuId, pid: u32) -> Subject {
    Subject::Process { gpu: gpu.clone(), process: ProcessKey { pid, started: None } }
}

fn tenant(gpu: &GpuId, name: &str) -> Subject {
    Subject::Tenant { gpu: Some(gpu.clone()), tenant: TenantId::new(name) }
}

fn device(gpu: &GpuId, label: &str, subjects: Vec<SubjectFindings>) -> DeviceFindings {
    let model = Some("NVIDIA H100 80GB HBM3".to_owned());
    DeviceFindings {
        gpu: gpu.clone(),
        label: label.to_owned(),
        model,
        subjects,
        co_activations: Vec::new(),
    }
}

fn judged(subject: Subject, label: &str, word: SharingWord, reasons: &[&str]) -> Suitability {
    Suitability {
        subject,
        label: label.to_owned(),
        scope: Scope::Whole,
        word,
        reasons: reasons.iter().map(|it| (*it).to_owned()).collect(),
        caveats: vec!["Utilisation counts time with a kernel, not SMs in use.".to_owned()],
        confidence: Confidence::new(if word == SharingWord::CannotTell { 0.2 } else { 0.91 }),
        needed_interval_s: (word == SharingWord::CannotTell).then_some(0.1),
    }
}

fn verdicts(gpus: &[GpuId; 3]) -> Vec<Suitability> {
    let steady = ["spread evenly: demand CV 0.08 at 100 ms", "never above 95 %"];
    let bursty = [
        "takes the whole device for 3.0 s at a time, 30 % of the time, although its mean is only 30 %",
        "a neighbour waits up to 3.4 s",
        "regular: every 10.0 s",
    ];
    vec![
        judged(Subject::device(&gpus[0]), "GPU 0", SharingWord::SharesWell, &steady),
        judged(Subject::device(&gpus[1]), "GPU 1", SharingWord::DoNotShare, &bursty),
        judged(
            Subject::device(&gpus[2]),
            "gpu2",
            SharingWord::CannotTell,
            &["no activity metric was recorded"],
        ),
        judged(process(&gpus[0], 4711), "embed (pid 4711)", SharingWord::SharesWell, &steady),
        judged(tenant(&gpus[1], HOSTILE), HOSTILE, SharingWord::DoNotShare, &bursty),
        judged(
            process(&gpus[1], 4712),
            "chat-api (pid 4712)",
            SharingWord::SharesWithCare,
            &steady,
        ),
    ]
}

fn outline(gpus: &[GpuId; 3]) -> Outline {
    let source = Source {
        id: SourceId(0),
        format: "sampler".to_owned(),
        tool: "cotenant".to_owned(),
        tool_version: None,
        file: Some("node-07.parquet".to_owned()),
        asked_interval: SampleInterval::from_micros(100_000),
        clock: "UTC".to_owned(),
        readings: BTreeMap::new(),
    };
    let spot = BlindSpot {
        kind: BlindSpotKind::NotReported,
        subject: Some(Subject::device(&gpus[2])),
        metric: Some(Metric::GpuUtilization),
        span: None,
        detail: "nvidia-smi printed [N/A] in all 6000 rows.".to_owned(),
        remedy: "Sample with `cotenant record`, which reads GPM counters.".to_owned(),
    };
    let gap = BlindSpot {
        kind: BlindSpotKind::Gap,
        subject: Some(process(&gpus[1], 4712)),
        metric: None,
        span: Some(span(400.0, 460.0)),
        detail: "No samples for 60 s.".to_owned(),
        remedy: String::new(),
    };
    Outline {
        devices: gpus.iter().map(|it| Device::named(it.clone())).collect(),
        sources: vec![source],
        phases: vec![
            Phase { label: "warm-up".to_owned(), span: span(0.0, 120.0), gpu: None },
            Phase { label: "serving <b>".to_owned(), span: span(120.0, 600.0), gpu: None },
        ],
        blind_spots: vec![spot, gap],
        span: Some(span(0.0, 600.0)),
        readings: 48_000,
        ..Outline::default()
    }
}

/// Two devices with the same mean and different shapes, and one that was never read.
pub(crate) fn specimen() -> Specimen {
    let gpus = [GpuId::from_index(0), GpuId::from_index(1), GpuId::from_index(2)];
    let mut bursty = subject(Subject::device(&gpus[1]), "GPU 1", Load::Bursty, Some(70.0));
    bursty.scopes[0].utilisation_trap =
        Some(UtilisationTrap { gpu_utilization_ratio: 0.3, sm_active_ratio: 0.08 });
    let long = format!("{HOSTILE}{}", "x".repeat(10_000));
    let devices = vec![
        device(
            &gpus[0],
            "GPU 0",
            vec![
                subject(Subject::device(&gpus[0]), "GPU 0", Load::Steady, Some(20.0)),
                subject(process(&gpus[0], 4711), "embed (pid 4711)", Load::Steady, Some(18.0)),
            ],
        ),
        device(
            &gpus[1],
            "GPU 1",
            vec![
                bursty,
                subject(tenant(&gpus[1], HOSTILE), HOSTILE, Load::Bursty, Some(40.0)),
                subject(process(&gpus[1], 4712), "chat-api (pid 4712)", Load::Late, Some(24.0)),
                unread(process(&gpus[1], 4713), &long),
            ],
        ),
        DeviceFindings {
            model: None,
            ..device(&gpus[2], "gpu2", vec![unread(Subject::device(&gpus[2]), "gpu2")])
        },
    ];
    Specimen {
        outline: outline(&gpus),
        findings: Findings { devices, unplaced: Vec::new(), blind_spots: Vec::new() },
        suitability: verdicts(&gpus),
        settings: vec![
            ("on threshold".to_owned(), "50 %".to_owned()),
            ("seed".to_owned(), "42".to_owned()),
        ],
    }
}

/// Many devices with many processes, to see what stays readable.
pub(crate) fn crowd(devices: u32, processes: u32) -> Specimen {
    let mut crowd = specimen();
    crowd.findings.devices.clear();
    crowd.suitability.clear();
    for index in 0..devices {
        let gpu = GpuId::from_index(index);
        let label = format!("GPU {index} on node-{:02}", index / 8);
        let load = [Load::Steady, Load::Bursty, Load::Late][index as usize % 3];
        let mut subjects = vec![subject(Subject::device(&gpu), &label, load, Some(60.0))];
        for pid in 0..processes {
            let load = [Load::Late, Load::Bursty, Load::Steady][pid as usize % 3];
            let name = format!("worker-{pid} (pid {pid})");
            subjects.push(subject(process(&gpu, pid), &name, load, Some(2.0)));
        }
        let word = [SharingWord::SharesWell, SharingWord::DoNotShare, SharingWord::SharesWithCare];
        let word = word[index as usize % 3];
        crowd.suitability.push(judged(Subject::device(&gpu), &label, word, &["as its shape says"]));
        crowd.findings.devices.push(device(&gpu, &label, subjects));
    }
    crowd
}
