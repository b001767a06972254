//! Samples as OpenMetrics: one family after the other, one series in memory at a time.

use crate::cli::export::Stop;
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::report::render::openmetrics::{OpenMetricsWriter, SubjectLabels};
use crate::storage::{Selection, StoredRecording};
use std::io::Write;

pub(crate) fn write(
    recording: &StoredRecording,
    asked: Option<TimeSpan>,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    let outline = recording.outline();
    let Some(span) = asked.or(outline.span) else { return Ok(()) };
    let mut text = OpenMetricsWriter::begin(out, outline, span)?;
    let labels = SubjectLabels::of(outline);
    let metrics = recording.metrics();
    for metric in Metric::all().filter(|it| metrics.contains(it)) {
        let mut is_begun = false;
        for subject in &outline.subjects {
            let selection = Selection {
                subjects: Some([subject.clone()].into()),
                span: asked,
                metrics: Some(vec![metric]),
                ..Selection::default()
            };
            let traces = recording.traces(&selection)?;
            let series = traces.get(subject).and_then(|it| it.get(metric));
            let Some(series) = series.filter(|it| !it.is_empty()) else { continue };
            if !std::mem::replace(&mut is_begun, true) {
                text.family(metric)?;
            }
            text.series(metric, subject, &labels, series)?;
        }
    }
    Ok(text.finish()?)
}
