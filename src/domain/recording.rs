//! What was seen: all series of one observation, or of the part of it that fits in memory.

use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::series::Series;
use crate::domain::source::SourceId;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// All series of one subject.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// One series for each metric that was seen.
    pub series: BTreeMap<Metric, Series>,
    /// Sources that the series come from.
    pub sources: BTreeSet<SourceId>,
}

impl Trace {
    /// The series of a metric; `None` when it was never seen.
    pub fn get(&self, metric: Metric) -> Option<&Series> {
        self.series.get(&metric)
    }
}

/// All series of one observation, with its outline: the narrow waist between inputs and analyses.
///
/// A long recording is opened, not loaded: what is in memory is one GPU and one window of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    /// What the whole recording holds.
    pub outline: Outline,
    /// The series in memory, by subject.
    pub traces: BTreeMap<Subject, Trace>,
}

impl Recording {
    /// The traces of a GPU, and of whatever lives on it.
    pub fn on_gpu<'a>(
        &'a self,
        gpu: &'a GpuId,
    ) -> impl Iterator<Item = (&'a Subject, &'a Trace)> + 'a {
        self.traces.iter().filter(move |(subject, _)| subject.gpu() == Some(gpu))
    }

    /// One series; `None` when it was never seen.
    pub fn series(&self, subject: &Subject, metric: Metric) -> Option<&Series> {
        self.traces.get(subject)?.get(metric)
    }
}
