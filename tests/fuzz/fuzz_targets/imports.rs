//! Every importer over arbitrary bytes: as recognised, and as a format that somebody named.

#![no_main]

use cotenant::domain::collector::Collector;
use cotenant::domain::source::SourceId;
use cotenant::domain::time::{SampleInterval, Timestamp};
use cotenant::import::identify::{Recognised, identify};
use cotenant::import::refusal::explain_file;
use cotenant::import::text::decompress::{decompressed, head};
use cotenant::import::{IMPORTERS, ImportOptions, Importer, import};
use libfuzzer_sys::fuzz_target;
use std::io::{BufRead, Cursor};

fuzz_target!(|bytes: &[u8]| {
    let options = options(bytes.len() / IMPORTERS.len());
    if let Some((start, mut input)) = opened(bytes) {
        let _ = explain_file(&start, "log");
        match identify(&start, "log") {
            Recognised::Format(it) => run(it, &mut input, &options),
            Recognised::Preset(it) => run(it.as_ref(), &mut input, &options),
            Recognised::Ambiguous(_) | Recognised::Unknown => {}
        }
    }
    if let Some((_, mut input)) = opened(bytes) {
        run(IMPORTERS[bytes.len() % IMPORTERS.len()], &mut input, &options);
    }
});

fn opened(bytes: &[u8]) -> Option<(Vec<u8>, Box<dyn BufRead>)> {
    let plain = decompressed(Box::new(Cursor::new(bytes.to_vec()))).ok()?;
    head(plain).ok()
}

fn options(number: usize) -> ImportOptions {
    match number % 3 {
        0 => ImportOptions::default(),
        1 => ImportOptions {
            start: Some(Timestamp::from_micros(1_767_225_600_000_000)),
            interval: SampleInterval::from_micros(1_000_000),
            ..ImportOptions::default()
        },
        _ => ImportOptions {
            time_zone: Some(jiff::tz::TimeZone::fixed(jiff::tz::offset(2))),
            fields: Some(["timestamp", "utilization.gpu", "memory.used"].map(Into::into).to_vec()),
            gpu: Some("3".to_owned()),
            ..ImportOptions::default()
        },
    }
}

fn run(importer: &dyn Importer, input: &mut dyn BufRead, options: &ImportOptions) {
    let mut sink = Collector::new();
    match import(importer, input, "log", options, SourceId(0), &mut sink) {
        Ok(summary) => assert!(summary.warnings.iter().all(|it| !it.is_empty())),
        Err(error) => assert!(!error.to_string().is_empty() && !error.remedy().is_empty()),
    }
    let recording = sink.into_recording();
    for trace in recording.traces.values() {
        for series in trace.series.values() {
            assert!(series.values().iter().all(|it| it.is_finite()), "a reading that is no number");
            assert!(series.times().windows(2).all(|it| it[0] < it[1]), "stamps out of order");
        }
    }
}
