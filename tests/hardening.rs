//! Inputs that nobody means and somebody sends; `docs/HARDENING.md` says how they were found.

use cotenant::analysis::{Question, compute};
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::sink::Sink;
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::import::mapping::{Mapping, MappingImporter};
use cotenant::import::{ImportOptions, import};
use std::convert::Infallible;

/// Half a minute of stamps from each of these on.
fn from_there(starts: &[i64]) -> Vec<i64> {
    let seconds = 0..30_i64;
    let after = |start: &i64| {
        let start = *start;
        seconds.clone().map(move |it| start.saturating_add(it * 1_000_000))
    };
    starts.iter().flat_map(after).collect()
}

#[test]
fn readings_from_both_ends_of_time_are_analysed() {
    analyse(&from_there(&[i64::MIN + 1, -1, i64::MAX - 40_000_000]));
}

/// A clock that was not set when the recorder began: half a century of seconds lies in between.
#[test]
fn readings_from_before_the_clock_was_set_take_no_memory_for_the_time_between() {
    analyse(&from_there(&[0, 1_767_225_600_000_000]));
}

fn analyse(stamps: &[i64]) {
    let gpu = GpuId::new("GPU-1");
    let process = ProcessKey { pid: 7, started: None };
    let subjects = [
        Subject::device(&gpu),
        Subject::Process { gpu: gpu.clone(), process },
        Subject::Tenant { gpu: Some(gpu.clone()), tenant: TenantId::new("chat") },
        Subject::Tenant { gpu: Some(gpu.clone()), tenant: TenantId::new("train") },
    ];
    let mut collector = Collector::new();
    for (place, micros) in stamps.iter().enumerate() {
        let busy = if place % 7 < 3 { 90.0 } else { 5.0 };
        let readings = [
            (Metric::GpuUtilization, busy),
            (Metric::FramebufferUsed, 1000.0 + busy),
            (Metric::LatencyP99, busy / 100.0),
        ];
        for subject in &subjects {
            let at = Timestamp::from_micros(*micros);
            collector.row(at, subject, SourceId(0), &readings).expect("a row is taken");
        }
    }
    let recording = collector.into_recording();
    let load = |_: Option<&GpuId>| Ok::<_, Infallible>(recording.clone());
    let Ok(findings) = compute(&recording.outline, &Question::default(), load);
    assert_eq!(findings.devices.len(), 1);
}

#[test]
fn a_mapped_table_with_phases_at_both_ends_of_time_is_imported() {
    let mapping = "name = \"test\"\nabout = \"a test\"\n[time]\ncolumn = \"t\"\nunit = \"microseconds\"\n\
        [phase]\ncolumn = \"phase\"\n[[metric]]\ncolumn = \"u\"\nmetric = \"gpu_utilization_pct\"\nunit = \"%\"\n";
    let table =
        "t,phase,u\n-9223372036854775807,a,1\n9223372036854775806,a,1\n-9223372036854775807,b,1\n";
    let mapping = Mapping::from_toml(mapping).expect("it is a mapping");
    let mut sink = Collector::new();
    let options = ImportOptions::default();
    let importer = MappingImporter { mapping };
    let summary =
        import(&importer, &mut table.as_bytes(), "t.csv", &options, SourceId(0), &mut sink);
    assert_eq!(summary.expect("it is imported").rows, 3);
}
