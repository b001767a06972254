//! A small world with a known truth, from which the tests of this folder make reports.
//!
//! GPU 0 is steady, GPU 1 has full-device bursts by a tenant of equal mean, `gpu2` was never read.

mod advice;
pub(crate) mod case;
mod load;
pub(crate) mod quarrel;

use crate::analysis::evidence::{Confidence, Evidence};
use crate::analysis::findings::{
    DeviceFindings, Findings, Scope, ScopeFindings, SubjectFindings, UtilisationTrap,
};
use crate::analysis::influence::findings::InfluenceFindings;
use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, Outline, Phase};
use crate::domain::source::{Source, SourceId};
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::recommender::configuration::Configuration;
use crate::recommender::suitability::{SharingWord, Suitability};
use crate::recommender::verdict::Verdict;
use crate::report::recommend::Recommendation;
use crate::report::specimen::load::{GIB, Load, level, memory, profile, samples, timeline};
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
    /// One verdict for each device.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        advice::verdicts(&self.findings)
    }

    pub(crate) fn report(&self) -> Report {
        let verdicts = self.verdicts();
        let recommendation = recommendation(&verdicts, &NO_FILES);
        Report::build(&ReportInput {
            recommendation: &recommendation,
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

/// Nothing to apply.
pub(crate) static NO_FILES: Configuration =
    Configuration { files: Vec::new(), resources: Vec::new(), cautions: Vec::new() };

/// Verdicts as `recommend` shows them.
pub(crate) fn recommendation<'a>(
    verdicts: &'a [Verdict],
    configuration: &'a Configuration,
) -> Recommendation<'a> {
    Recommendation {
        title: "node-07",
        verdicts,
        together: None,
        configuration,
        extent: None,
        notes: &[],
        tool_version: "0.1.0",
        command: "",
    }
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_micros(START + (seconds * 1e6) as i64)
}

fn span(from: f64, until: f64) -> TimeSpan {
    TimeSpan::new(at(from), at(until)).unwrap()
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
        counted_together: Vec::new(),
        memory: Vec::new(),
        influences: InfluenceFindings::default(),
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
        remedy: "Record SM activity too: dcgmi dmon -e 1002.".to_owned(),
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
        findings: Findings { devices, ..Findings::default() },
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
