//! Where readings come from, and what one reading of each field stands for.

use crate::domain::metric::Metric;
use crate::domain::time::SampleInterval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of a source inside one recording.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SourceId(pub u16);

/// Which tool, version, format, interval and clock a part of a recording came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Number by which rows name this source.
    pub id: SourceId,
    /// Id of the importer or of its preset, or `sampler`, `scrape`, `tail` or `scenario`.
    pub format: String,
    /// Tool that wrote the data, for example `nvidia-smi` or `dcgm-exporter`.
    pub tool: String,
    /// Version of the tool; `None` where the data does not say.
    pub tool_version: Option<String>,
    /// File name without its folders, or endpoint without credentials; `None` for a live source.
    pub file: Option<String>,
    /// Interval that the tool was asked for; `None` where the data does not say.
    #[serde(rename = "asked_interval_us")]
    pub asked_interval: Option<SampleInterval>,
    /// How the stamps were read, for example `UTC`, `Europe/Berlin`, `assumed UTC`, `made from --start and --interval`.
    pub clock: String,
    /// What one reading of a field stands for, where it differs from the metric's own rule.
    pub readings: BTreeMap<Metric, Reading>,
}

/// Formats whose stamps a recorder makes itself, on the clock of its host.
const STAMPED_BY_RECORDER: [&str; 2] = ["sampler", "scrape"];

impl Source {
    /// Whether its stamps are of the clock of the host that recorded it, and so agree with each other.
    pub fn is_stamped_by_recorder(&self) -> bool {
        STAMPED_BY_RECORDER.contains(&self.format.as_str())
    }
}

/// What one reading stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reading {
    /// The value at the stamp.
    Instant,
    /// The mean over a window that ends at the stamp.
    WindowAverage {
        /// Length of the window; `None` means that it lasts from the sample before.
        #[serde(rename = "window_us")]
        window: Option<SampleInterval>,
    },
    /// A count that only grows; differences carry the meaning, and a fall is a restart.
    Counter,
    /// The last event; a value that stays is not a new event.
    LastEvent,
}
