//! What the exporter says about itself.

use crate::exporter::text::{Kind, LabelText, Text};

/// How the exporter fares; whoever runs it says so before it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Own {
    /// When it began, seconds since the Unix epoch; counters count from then.
    pub start_s: f64,
    /// GPUs that are seen.
    pub gpus: usize,
    /// Looks at GPUs.
    pub looks: u64,
    /// Looks that came too late and were left out.
    pub missed: u64,
    /// Processor time used, seconds.
    pub cpu_s: f64,
    /// Resident memory, bytes; `None` where the system does not tell.
    pub memory_bytes: Option<u64>,
    /// Requests answered with a page.
    pub scrapes: u64,
    /// Requests refused: too large, too slow, too many, or not understood.
    pub refused: u64,
}

impl Own {
    pub(crate) fn show(&self, rows: u64, text: &mut Text) {
        let none = LabelText::default();
        text.family("cotenant_build", Kind::Info, "", "The exporter's version.");
        text.sample(&none.clone().with("version", env!("CARGO_PKG_VERSION")), 1.0);
        let mut gauge = |name, unit, help, value: f64| {
            text.family(name, Kind::Gauge, unit, help);
            text.sample(&none, value);
        };
        let help = "When the exporter began, since the Unix epoch; all counters count from then.";
        gauge("cotenant_start_time_seconds", "seconds", help, self.start_s);
        gauge("cotenant_gpus", "", "GPUs that are seen at present.", self.gpus as f64);
        if let Some(bytes) = self.memory_bytes {
            let help = "Memory that the exporter holds (resident set).";
            gauge("cotenant_exporter_resident_memory_bytes", "bytes", help, bytes as f64);
        }
        let mut counter = |name, unit, help, value: f64| {
            text.family(name, Kind::Counter, unit, help);
            text.sample(&none, value);
        };
        let help = "Processor time that the exporter used.";
        counter("cotenant_exporter_cpu_seconds", "seconds", help, self.cpu_s);
        counter("cotenant_exporter_looks", "", "Looks at GPUs.", self.looks as f64);
        let help = "Looks at GPUs that came too late and were left out.";
        counter("cotenant_exporter_missed_looks", "", help, self.missed as f64);
        counter("cotenant_exporter_rows", "", "Rows of readings that were counted.", rows as f64);
        counter(
            "cotenant_exporter_scrapes",
            "",
            "Requests that were answered with metrics.",
            self.scrapes as f64,
        );
        let help =
            "Requests that were refused: too large, too slow, too many at once, or not understood.";
        counter("cotenant_exporter_refused_requests", "", help, self.refused as f64);
    }
}
