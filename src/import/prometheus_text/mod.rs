//! Scrapes of dcgm-exporter, nvidia_gpu_exporter, vLLM and `cotenant serve` in the text exposition format.
//!
//! A file is one scrape or several in a row; a sample that comes again begins the next one. Stamps
//! are those behind the samples, else those of remarks `# cotenant-scrape-time: <RFC 3339>`, else
//! made from the user's start and interval. One scrape is in memory at a time; of a dump that lists
//! one series after the other, also whatever could be a pod's own.

pub(crate) mod cards;
pub(crate) mod contended;
pub(crate) mod line;
pub(crate) mod owner;
mod reader;
mod scrape;
pub(crate) mod shapes;
pub(crate) mod share;
pub(crate) mod unseen;

use crate::import::error::ImportError;
use crate::import::prometheus_text::line::{PromLine, parse};
use crate::import::prometheus_text::owner::{Meaning, meaning};
use crate::import::prometheus_text::reader::Reader;
use crate::import::run::ImportRun;
use crate::import::text::lines::Lines;
use crate::import::{Importer, Likeness};
use std::io::BufRead;

/// Remark that gives the samples behind it their stamp.
const TIME_REMARK: &str = "cotenant-scrape-time:";

/// Reads the text exposition format.
#[derive(Debug, Clone, Copy)]
pub struct PrometheusText;

impl Importer for PrometheusText {
    fn id(&self) -> &'static str {
        "prometheus-text"
    }

    fn about(&self) -> &'static str {
        "scrapes of dcgm-exporter, nvidia_gpu_exporter, vLLM or `cotenant serve` in Prometheus text format"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let head = String::from_utf8_lossy(head);
        let mut likeness = Likeness::No;
        let mut scratch = String::new();
        for line in head.lines() {
            match parse(line, &mut scratch) {
                PromLine::Sample(it) if meaning(it.name) != Meaning::Unknown => {
                    return Likeness::Sure;
                }
                PromLine::Sample(it) if it.value.parse::<f64>().is_ok() => {
                    likeness = Likeness::Maybe;
                }
                PromLine::Comment(it) if it.starts_with("HELP ") || it.starts_with("TYPE ") => {
                    likeness = Likeness::Maybe;
                }
                PromLine::Comment(it) if it.starts_with(TIME_REMARK) => return Likeness::Sure,
                PromLine::Blank | PromLine::Comment(_) => {}
                PromLine::Sample(_) | PromLine::Broken => break,
            }
        }
        likeness
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut lines = Lines::new(input);
        let mut reader = Reader::new(run);
        let mut scratch = String::new();
        loop {
            let text = match lines.next(run) {
                Ok(Some(text)) => text,
                Ok(None) => return reader.finish(run),
                Err(error) => {
                    reader.finish(run)?;
                    return Err(error);
                }
            };
            match parse(&text, &mut scratch) {
                PromLine::Blank => {}
                PromLine::Broken => run.reject("", "a sample", &text),
                PromLine::Sample(sample) => reader.sample(&sample, run)?,
                PromLine::Comment("EOF") => reader.end_scrape(run)?,
                PromLine::Comment(remark) => {
                    if let Some(stamp) = remark.strip_prefix(TIME_REMARK) {
                        reader.begin_scrape_at(stamp, run)?;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
