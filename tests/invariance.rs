//! What must not matter to findings: the order of rows and of GPUs, the unit of a column, and somebody who never does anything.

use cotenant::analysis::findings::{DeviceFindings, Findings};
use cotenant::analysis::influence::findings::InfluenceVerdict;
use cotenant::analysis::{Question, compute};
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::Device;
use cotenant::domain::recording::Recording;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::import::mapping::{Mapping, MappingImporter};
use cotenant::import::{ImportOptions, import};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::convert::Infallible;

const START_US: i64 = 1_772_366_400_000_000;
const STEP_US: i64 = 200_000;
const ROWS: i64 = 6_000;

/// What was read of somebody at an instant.
#[derive(Clone)]
struct Row {
    at_us: i64,
    subject: Subject,
    readings: Vec<(Metric, f64)>,
}

fn gpu(number: u32) -> GpuId {
    GpuId::new(format!("GPU-{number}"))
}

fn tenant(number: u32, name: &str) -> Subject {
    Subject::Tenant { gpu: Some(gpu(number)), tenant: TenantId::new(name) }
}

/// Twenty minutes of two GPUs: on the first `batch` doubles the latency of `chat` in bursts, on the second it does nothing to it.
fn story() -> Vec<Row> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut rows = Vec::new();
    for number in [1, 2] {
        let (mut is_on, mut left) = (false, 0);
        for place in 0..ROWS {
            if left == 0 {
                is_on = !is_on;
                left = rng.random_range(10..60);
            }
            left -= 1;
            let at_us = START_US + place * STEP_US;
            let noise: f64 = rng.random_range(0.9..1.1);
            let slower = if is_on && number == 1 { 2.0 } else { 1.0 };
            let busy = if is_on { 96.0 } else { 20.0 };
            let held = if is_on { 30e9 } else { 10e9 };
            let mut row = |subject, readings| rows.push(Row { at_us, subject, readings });
            row(
                Subject::device(&gpu(number)),
                vec![(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, held + 8e9)],
            );
            row(
                tenant(number, "chat"),
                vec![
                    (Metric::LatencyP99, 0.02 * slower * noise),
                    (Metric::GpuUtilization, 20.0),
                    (Metric::FramebufferUsed, 8e9),
                ],
            );
            row(
                tenant(number, "batch"),
                vec![(Metric::GpuUtilization, busy - 20.0), (Metric::FramebufferUsed, held)],
            );
        }
    }
    rows
}

/// The rows as a recording; GPUs become known in this order.
fn recorded(rows: &[Row], gpus: [u32; 2]) -> Recording {
    let mut collector = Collector::new();
    for number in gpus {
        collector.fact(Fact::Device(Device::named(gpu(number)))).expect("a fact is taken");
    }
    for it in rows {
        let at = Timestamp::from_micros(it.at_us);
        collector.row(at, &it.subject, SourceId(0), &it.readings).expect("a row is taken");
    }
    collector.into_recording()
}

fn found(recording: &Recording) -> Findings {
    let load = |gpu: Option<&GpuId>| {
        let is_meant = |it: &Subject| it.gpu() == gpu;
        let traces = recording.traces.iter().filter(|it| is_meant(it.0));
        let traces = traces.map(|(subject, trace)| (subject.clone(), trace.clone())).collect();
        Ok::<_, Infallible>(Recording { outline: recording.outline.clone(), traces })
    };
    let Ok(findings) = compute(&recording.outline, &Question::default(), load);
    findings
}

fn json(it: &DeviceFindings) -> Value {
    serde_json::to_value(it).expect("findings can be written")
}

fn of_gpu(findings: &Findings, number: u32) -> &DeviceFindings {
    findings.devices.iter().find(|it| it.gpu == gpu(number)).expect("the GPU was seen")
}

/// Who was shown to slow whom on a GPU, and what could not be shown.
fn accusations(findings: &DeviceFindings) -> Vec<(String, String, Metric, InfluenceVerdict)> {
    let pairs = findings.influences.pairs.iter();
    pairs.map(|it| (it.suspect.clone(), it.victim.clone(), it.metric, it.verdict)).collect()
}

#[test]
fn the_story_has_something_to_find() {
    let findings = found(&recorded(&story(), [1, 2]));
    let shown = |number: u32| {
        let all = accusations(of_gpu(&findings, number));
        let is_shown = |it: &&(String, String, Metric, InfluenceVerdict)| {
            matches!(it.3, InfluenceVerdict::Confirmed | InfluenceVerdict::Likely)
        };
        all.iter().filter(is_shown).map(|it| (it.0.clone(), it.1.clone())).collect::<Vec<_>>()
    };
    assert_eq!(shown(1), [("batch".to_owned(), "chat".to_owned())]);
    assert_eq!(shown(2), []);
}

#[test]
fn the_order_of_rows_and_of_gpus_changes_nothing() {
    let mut rows = story();
    let before = found(&recorded(&rows, [1, 2]));
    for seed in 0..3 {
        rows.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let after = found(&recorded(&rows, [2, 1]));
        for number in [1, 2] {
            assert_eq!(json(of_gpu(&after, number)), json(of_gpu(&before, number)), "{number}");
        }
        assert_eq!(after.blind_spots, before.blind_spots);
    }
}

#[test]
fn somebody_who_never_does_anything_changes_nothing_for_others() {
    let rows = story();
    let before = found(&recorded(&rows, [1, 2]));
    let mut more = rows;
    let idle = (0..ROWS).map(|place| Row {
        at_us: START_US + place * STEP_US,
        subject: tenant(1, "idle"),
        readings: vec![(Metric::GpuUtilization, 0.0), (Metric::FramebufferUsed, 1e9)],
    });
    more.extend(idle);
    let after = found(&recorded(&more, [1, 2]));
    let (with, without) = (of_gpu(&after, 1), of_gpu(&before, 1));
    assert_eq!(json(of_gpu(&after, 2)), json(of_gpu(&before, 2)));
    for it in &without.subjects {
        let same = with.subjects.iter().find(|other| other.subject == it.subject);
        assert_eq!(same, Some(it));
    }
    let mut all = accusations(with);
    let of_idle = all.extract_if(.., |it| it.0 == "idle" || it.1 == "idle").collect::<Vec<_>>();
    assert_eq!(all, accusations(without));
    let is_accused = |it: &(String, String, Metric, InfluenceVerdict)| {
        matches!(
            it.3,
            InfluenceVerdict::Confirmed | InfluenceVerdict::Likely | InfluenceVerdict::Through
        )
    };
    assert!(!of_idle.iter().any(is_accused), "{of_idle:?}");
}

/// The same readings in another unit: powers of two and whole thousands, so that not a digit is lost.
#[test]
fn the_unit_of_a_column_changes_nothing() {
    let table = |memory: f64, time: i64| {
        let mut text = "t,u,m\n".to_owned();
        for place in 0..600_i64 {
            let busy = if place / 20 % 2 == 0 { 90 } else { 10 };
            let mib = if place / 50 % 2 == 0 { 1024.0 } else { 20_480.0 };
            text.push_str(&format!(
                "{},{busy},{}\n",
                (START_US / 1_000_000 + place) * time,
                mib * memory
            ));
        }
        text
    };
    let read = |text: String, memory: &str, time: &str| {
        let mapping = format!(
            "name = \"test\"\nabout = \"a test\"\n[time]\ncolumn = \"t\"\nunit = \"{time}\"\n[[metric]]\ncolumn = \"u\"\n\
             metric = \"gpu_utilization_pct\"\nunit = \"%\"\n[[metric]]\ncolumn = \"m\"\nmetric = \"framebuffer_used_bytes\"\nunit = \"{memory}\"\n"
        );
        let importer =
            MappingImporter { mapping: Mapping::from_toml(&mapping).expect("it is a mapping") };
        let mut sink = Collector::new();
        let options = ImportOptions::default();
        let summary =
            import(&importer, &mut text.as_bytes(), "t.csv", &options, SourceId(0), &mut sink);
        assert_eq!(summary.expect("it is imported").rows, 600);
        let findings = found(&sink.into_recording());
        json(&findings.devices[0])
    };
    let expected = read(table(1.0, 1), "MiB", "seconds");
    assert_eq!(read(table(1024.0, 1000), "KiB", "milliseconds"), expected);
    assert_eq!(read(table(1.0 / 1024.0, 1_000_000), "GiB", "microseconds"), expected);
    assert_eq!(read(table(1_048_576.0, 1), "B", "seconds"), expected);
}
