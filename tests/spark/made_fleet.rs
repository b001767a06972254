//! Writes a fleet of recordings: hosts of eight GPUs, one tenant each, at one sample a second.
//!
//! `cargo run --example made_fleet -- lake --gpus 64 --hours 24` makes `lake/host=node-000` and so on. What a GPU holds follows from
//! its number, so that two runs make the same bytes.

#[path = "../../benches/made/mod.rs"]
mod made;

use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::{Source, SourceId};
use cotenant::storage::{Mode, RecordingWriter};
use made::{PER_HOST, recording};
use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str, otherwise: f64| {
        let place = arguments.iter().position(|it| it == name);
        let text = place.and_then(|it| arguments.get(it + 1));
        text.and_then(|it| it.parse().ok()).unwrap_or(otherwise)
    };
    let lake = arguments.first().filter(|it| !it.starts_with("--")).expect("a folder to write");
    let (gpus, hours) = (after("--gpus", 64.0) as usize, after("--hours", 24.0));
    let places: Vec<usize> = (0..gpus).collect();
    for host in places.chunks(PER_HOST) {
        let name = format!("host=node-{:03}", host[0] / PER_HOST);
        write(&Path::new(lake).join(name), host, hours / 24.0);
    }
}

/// One host.
fn write(folder: &Path, places: &[usize], days: f64) {
    let parent = folder.parent().expect("a folder above");
    std::fs::create_dir_all(parent).expect("a place to write");
    let mut writer = RecordingWriter::open(folder, Mode::Create).expect("a new folder");
    let source = Source {
        id: SourceId(0),
        format: "sampler".to_owned(),
        tool: "made_fleet".to_owned(),
        tool_version: None,
        file: None,
        asked_interval: None,
        clock: "UTC".to_owned(),
        readings: BTreeMap::new(),
    };
    writer.fact(Fact::Source(source)).expect("a fact");
    for place in places {
        let (part, _) = recording(*place, days);
        for it in part.outline.devices {
            writer.fact(Fact::Device(it)).expect("a fact");
        }
        for it in part.outline.processes.iter() {
            writer.fact(Fact::Process(it.clone())).expect("a fact");
        }
        for (subject, trace) in &part.traces {
            let Some(first) = trace.series.values().next() else { continue };
            for (row, at) in first.times().iter().enumerate() {
                let readings: Vec<_> =
                    trace.series.iter().map(|it| (*it.0, it.1.value(row))).collect();
                writer.row(*at, subject, SourceId(0), &readings).expect("a row");
            }
        }
    }
    writer.finish().expect("a whole recording");
}
