//! The recordings of the GPU day beside what was played: who was named, which bursts were seen, what was foretold.
//!
//! `cargo bench --bench gpu_day` judges what stands in `fixtures/gpu-day/recordings` and writes
//! `reports/gpu-day.md`; `-- --results FOLDER` judges the packs of that folder and writes nothing.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[path = "gpu_day/ask.rs"]
mod ask;
#[path = "gpu_day/blame.rs"]
mod blame;
#[path = "gpu_day/forecast.rs"]
mod forecast;
#[path = "gpu_day/observer.rs"]
mod observer;
#[path = "gpu_day/page.rs"]
mod page;
#[path = "gpu_day/results.rs"]
mod results;
#[path = "gpu_day/sample.rs"]
mod sample;

use crate::results::{Results, packs};
use std::path::{Path, PathBuf};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|it| it == "--test") {
        return Ok(());
    }
    let place = arguments.iter().position(|it| it == "--results");
    let given = place.and_then(|it| arguments.get(it + 1)).map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = given.clone().unwrap_or(root.join("fixtures/gpu-day/recordings"));
    if packs(&folder).is_empty() {
        println!("skipped: no packs of a GPU day stand in {}", folder.display());
        return Ok(());
    }
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu-day");
    let results = Results::unpacked(&folder, &unpacked)?;
    let parts = [
        observer::calls(&results),
        observer::overhead(&results),
        forecast::shapes(&results),
        blame::influences(&results),
        forecast::slowdowns(&results),
        blame::memory(&results),
    ];
    let what = match results.is_rehearsal() {
        true => {
            "A rehearsal: tenants were stand-ins on the CPU and the driver was simulated, so nothing here was measured on a GPU."
        }
        false => {
            "Made by `cargo bench --bench gpu_day`; what was played stands in `fixtures/gpu-day`."
        }
    };
    let text = page::text_of(&parts, what);
    println!("{text}");
    if given.is_none() {
        let path = root.join("reports/gpu-day.md");
        std::fs::write(&path, text).map_err(|it| format!("{}: {it}", path.display()))?;
    }
    Ok(())
}
