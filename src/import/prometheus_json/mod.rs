//! Answers of Prometheus' HTTP API as JSON: `query` and `query_range`, of Prometheus and of whatever speaks like it.
//!
//! Names and labels mean what `prometheus_text` says; servers of models are read by
//! `domain::service_table`. Series are held until a downloader's remark says that a slice of time is
//! complete, until there are many, or until the file ends; then those that say the same are merged
//! (`merge`), whose they are is settled, and rows are passed on in time order, past `watch`, which
//! notices what a scraped series can get wrong.

mod answer;
mod gather;
pub mod interest;
mod merge;
mod places;
mod services;
mod unfit;
mod watch;

use crate::import::error::ImportError;
use crate::import::prometheus_json::answer::{Broken, read};
use crate::import::prometheus_json::gather::Gatherer;
use crate::import::run::ImportRun;
use crate::import::{Importer, Likeness};
use std::io::BufRead;

/// Reads answers of Prometheus' HTTP API.
#[derive(Debug, Clone, Copy)]
pub struct PrometheusJson;

impl Importer for PrometheusJson {
    fn id(&self) -> &'static str {
        "prometheus-json"
    }

    fn about(&self) -> &'static str {
        "answers of Prometheus' /api/v1/query and query_range, also of Thanos, Mimir and VictoriaMetrics"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let head = String::from_utf8_lossy(head);
        let head = head.trim_start_matches('\u{feff}').trim_start();
        if !head.starts_with(['{', '[']) {
            return Likeness::No;
        }
        let has = |key: &str| head.contains(key);
        let is_answer = has("\"resultType\"") && (has("\"result\"") || has("\"metric\""));
        let is_export = has("\"metric\"") && has("\"__name__\"") && has("\"values\"");
        let is_refusal = has("\"errorType\"") && has("\"status\"");
        match is_answer || is_export || is_refusal || has("{\"cotenant\":") {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut gatherer = Gatherer::default();
        run.line = 1;
        match read(input, &mut |piece| gatherer.take(piece, run)) {
            Ok(()) => gatherer.finish(run),
            Err(Broken::Taker(error)) => Err(error),
            Err(Broken::Json(error)) => {
                gatherer.finish(run)?;
                let (line, source) = (error.line() as u64, std::io::Error::from(error));
                Err(ImportError::Read { file: run.file().to_owned(), line, source })
            }
        }
    }
}

#[cfg(test)]
mod tests;
