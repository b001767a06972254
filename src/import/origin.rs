//! What an importer knows about the tool behind a file.

use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::source::{Reading, Source};
use crate::domain::time::SampleInterval;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use std::collections::BTreeMap;

/// What an importer knows about the tool behind a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Id of the importer or of the preset.
    pub format: String,
    /// Tool that wrote the data, for example `dcgm-exporter`.
    pub tool: String,
    /// Interval that the tool was asked for; `None` where the data does not say.
    pub asked_interval: Option<SampleInterval>,
    /// How the stamps are read, for example `UTC`.
    pub clock: String,
    /// What one reading stands for, where it differs from the metric's own rule.
    pub readings: BTreeMap<Metric, Reading>,
}

impl Origin {
    /// Tells the sink where the readings of this file come from; precedes the first row.
    pub fn tell(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let file = run.file().rsplit(['/', '\\']).next().map(str::to_owned);
        run.fact(Fact::Source(Source {
            id: run.source,
            format: self.format,
            tool: self.tool,
            tool_version: None,
            file,
            asked_interval: self.asked_interval,
            clock: self.clock,
            readings: self.readings,
        }))
    }
}
