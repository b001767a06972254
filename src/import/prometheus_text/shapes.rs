//! Shapes that `cotenant serve` counted: what they grew by from one scrape to the next.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::shape::{Shape, ShapeSpan};
use crate::domain::shape_families::{
    ACTIVITY_INFO, ACTIVITY_METRIC, INTERVAL, LEVEL, Reader, WINDOW,
};
use crate::domain::sink::Fact;
use crate::domain::source::Reading;
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::domain::units::Seconds;
use crate::import::error::ImportError;
use crate::import::prometheus_text::line::Labels;
use crate::import::prometheus_text::owner::Owner;
use crate::import::run::ImportRun;
use std::collections::BTreeMap;

/// Parts that are kept of one subject; more are joined two by two, which loses no sum.
const MOST_PARTS: usize = 480;

/// What one scrape says about one subject's shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scraped {
    reader: Reader,
    metric: Option<Metric>,
    interval_s: Option<f64>,
    window_s: Option<f64>,
}

/// What one scrape says about shapes.
pub(crate) type ScrapedShapes = BTreeMap<Owner, Scraped>;

impl Scraped {
    /// Takes a sample that is part of a shape.
    pub(crate) fn take(&mut self, name: &str, labels: &Labels<'_>, value: f64) {
        match name {
            ACTIVITY_INFO => self.metric = labels.get(ACTIVITY_METRIC).and_then(Metric::from_key),
            INTERVAL => self.interval_s = Some(value),
            WINDOW => self.window_s = Some(value),
            _ => {
                self.reader.take(name, labels.get(LEVEL), labels.get("le"), value);
            }
        }
    }
}

/// What is known of one subject.
#[derive(Debug, Default)]
struct Followed {
    before: Option<(Timestamp, Shape)>,
    parts: Vec<Part>,
}

/// What grew between two scrapes.
#[derive(Debug, Clone)]
struct Part {
    span: TimeSpan,
    metric: Metric,
    interval: SampleInterval,
    window: SampleInterval,
    sums: Shape,
}

/// The shapes of a file.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    followed: BTreeMap<Owner, Followed>,
    incomplete: u64,
    restarts: u64,
}

/// Mean activity of a subject since the scrape before, in the unit of its metric.
pub(crate) type Mean = (Owner, Metric, f64);

impl Shapes {
    /// What readings of a recording stand for beside shapes: means since the scrape before.
    pub(crate) fn readings(&self) -> BTreeMap<Metric, Reading> {
        let average = Reading::WindowAverage { window: None };
        let metrics = [Metric::GpuUtilization, Metric::GraphicsEngineActive, Metric::SmActive];
        let is_counted = !self.followed.is_empty();
        metrics.into_iter().filter(|_| is_counted).map(|it| (it, average)).collect()
    }

    /// Takes one scrape; the mean activity since the one before is what a series can show.
    pub(crate) fn settle(&mut self, at: Timestamp, scraped: ScrapedShapes) -> Vec<Mean> {
        let mut means = Vec::new();
        for (owner, it) in scraped {
            let interval = |it: Option<f64>| {
                SampleInterval::from_micros((it? * 1e6).round().clamp(0.0, 1e12) as u64)
            };
            let whole =
                (it.metric, interval(it.interval_s), interval(it.window_s), it.reader.finish());
            let (Some(metric), Some(interval), Some(window), Some(now)) = whole else {
                self.incomplete += 1;
                continue;
            };
            let followed = self.followed.entry(owner.clone()).or_default();
            let Some((then, before)) = &followed.before else {
                followed.before = Some((at, now));
                continue;
            };
            let Some(span) = TimeSpan::new(*then, at) else { continue };
            let grown = now.since(before);
            self.restarts += u64::from(grown.is_none());
            // What began anew counted from zero, so that is all it can say.
            let sums = grown.unwrap_or_else(|| now.clone());
            followed.before = Some((at, now));
            if sums.samples() < 1.0 {
                continue;
            }
            let full = if metric == Metric::GpuUtilization { 100.0 } else { 1.0 };
            means.extend(sums.mean().map(|mean| (owner, metric, (mean * full).clamp(0.0, full))));
            followed.parts.push(Part { span, metric, interval, window, sums });
            if followed.parts.len() > MOST_PARTS {
                followed.parts = joined(std::mem::take(&mut followed.parts));
            }
        }
        means
    }

    /// Gives every shape to the recording; `place` says whose it is.
    pub(crate) fn report(
        self,
        run: &mut ImportRun<'_>,
        mut place: impl FnMut(&Owner, &mut ImportRun<'_>) -> Result<Option<Subject>, ImportError>,
    ) -> Result<(), ImportError> {
        let mut longest_s = 0.0_f64;
        let mut shortest_s = f64::INFINITY;
        for (owner, followed) in self.followed {
            let Some(subject) = place(&owner, run)? else { continue };
            for part in followed.parts {
                longest_s = longest_s.max(part.span.seconds());
                shortest_s = shortest_s.min(part.interval.as_seconds());
                let Part { span, metric, interval, window, sums } = part;
                let subject = subject.clone();
                run.fact(Fact::Shape(ShapeSpan { subject, metric, span, interval, window, sums }))?;
            }
        }
        if longest_s > 0.0 {
            let detail = format!(
                "shapes were counted by `cotenant serve` every {}, and read in parts of up to {}: what came first within a part was not kept",
                Seconds(shortest_s),
                Seconds(longest_s),
            );
            let remedy = "run `cotenant record` on the node for the time that matters";
            run.blind_spot(BlindSpotKind::TooCoarse, None, None, detail, remedy)?;
        }
        if self.restarts > 0 {
            run.warn(format!(
                "the exporter began to count anew {} times; what it counted between the scrape before and its end is lost",
                self.restarts
            ));
        }
        if self.incomplete > 0 {
            let detail = format!(
                "{} times a part of a shape was missing, so it was left out",
                self.incomplete
            );
            let remedy =
                "keep every `cotenant_` series: look for metric_relabel_configs that drop some";
            run.blind_spot(BlindSpotKind::NotRecorded, None, None, detail, remedy)?;
        }
        Ok(())
    }
}

/// Neighbours become one, two by two, where no time lies between them.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len() / 2 + 1);
    let mut may_join = false;
    for part in parts {
        match joined.last_mut().filter(|last| {
            may_join
                && last.span.until() == part.span.from()
                && (last.metric, last.window) == (part.metric, part.window)
        }) {
            Some(last) => {
                last.sums.merge(&part.sums);
                last.span = last.span.hull(part.span);
                may_join = false;
            }
            None => {
                joined.push(part);
                may_join = true;
            }
        }
    }
    joined
}
