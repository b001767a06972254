//! What an importer knows about the tool behind a file.

use crate::domain::metric::Metric;
use crate::domain::source::Reading;
use crate::domain::time::SampleInterval;
use std::collections::BTreeMap;

/// What an importer knows about the tool behind a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Origin {
    /// Id of the preset that read the file; `None` where the id of the importer says it all.
    pub preset: Option<&'static str>,
    /// Tool that wrote the data, for example `dcgm-exporter`.
    pub tool: String,
    /// Version of the tool; `None` where the data does not say.
    pub tool_version: Option<String>,
    /// Interval that the tool was asked for; `None` where the data does not say.
    pub asked_interval: Option<SampleInterval>,
    /// How the stamps are read, for example `UTC`.
    pub clock: String,
    /// What one reading stands for, where it differs from the metric's own rule.
    pub readings: BTreeMap<Metric, Reading>,
}
