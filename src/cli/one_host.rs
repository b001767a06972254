//! Files of several hosts that call their GPUs by the same index must not become one recording.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::{Source, SourceId};
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;

/// A sink that refuses two files of one format that speak about one nameless GPU at the same time.
///
/// Only GPUs known by index are watched: a UUID cannot mean two of them.
pub(crate) struct OneHost<'a> {
    inner: &'a mut dyn Sink,
    is_active: bool,
    sources: BTreeMap<SourceId, (String, String)>,
    spoken: BTreeMap<Subject, Vec<Spoken>>,
}

/// What one source said about one subject.
#[derive(Debug, Clone, Copy)]
struct Spoken {
    source: SourceId,
    first: Timestamp,
    last: Timestamp,
    metrics: u128,
}

impl Spoken {
    /// More than the touch of two files that follow each other.
    fn collides(&self, other: &Self) -> bool {
        let is_overlap = self.first < other.last && other.first < self.last;
        (is_overlap || self.first == other.first) && self.metrics & other.metrics != 0
    }
}

impl<'a> OneHost<'a> {
    /// Watches on the way to `inner` when there are several files.
    pub(crate) fn new(inner: &'a mut dyn Sink, files: usize) -> Self {
        let (sources, spoken) = (BTreeMap::new(), BTreeMap::new());
        Self { inner, is_active: files > 1, sources, spoken }
    }

    fn watch(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        if !self.spoken.contains_key(subject) {
            self.spoken.insert(subject.clone(), Vec::new());
        }
        let Some(all) = self.spoken.get_mut(subject) else { return Ok(()) };
        let place = all.iter().position(|it| it.source == source).unwrap_or_else(|| {
            all.push(Spoken { source, first: at, last: at, metrics: 0 });
            all.len() - 1
        });
        let mine = &mut all[place];
        mine.first = mine.first.min(at);
        mine.last = mine.last.max(at);
        mine.metrics |= readings.iter().fold(0, |mask, it| mask | bit(it.0));
        let mine = *mine;
        let format = |it: SourceId| self.sources.get(&it).map(|it| it.0.as_str());
        let rival = all.iter().find(|it| {
            it.source != source && format(it.source) == format(source) && it.collides(&mine)
        });
        match rival.map(|it| it.source) {
            None => Ok(()),
            Some(rival) => Err(self.refusal(subject, rival, source)),
        }
    }

    fn refusal(&self, subject: &Subject, first: SourceId, second: SourceId) -> SinkError {
        let file = |it: SourceId| self.sources.get(&it).map_or("a file", |it| it.1.as_str());
        let (first, second) = (file(first), file(second));
        SinkError {
            message: format!(
                "two files speak about {subject} at the same time: {first} and {second}"
            ),
            remedy: "import the hosts apart, or record the uuid of the GPUs".to_owned(),
        }
    }
}

fn bit(metric: Metric) -> u128 {
    1_u128.checked_shl(metric as u32).unwrap_or(0)
}

impl Sink for OneHost<'_> {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        if self.is_active && subject.gpu().is_some_and(|it| it.as_str().starts_with("gpu")) {
            self.watch(at, subject, source, readings)?;
        }
        self.inner.row(at, subject, source, readings)
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        if let Fact::Source(Source { id, format, file, .. }) = &fact {
            let file = file.clone().unwrap_or_else(|| format.clone());
            self.sources.insert(*id, (format.clone(), file));
        }
        self.inner.fact(fact)
    }
}

#[cfg(test)]
mod tests {
    use super::bit;
    use crate::domain::metric::Metric;

    #[test]
    fn every_metric_has_a_bit_of_its_own() {
        let all = Metric::all().fold(0, |mask, it| mask | bit(it));
        assert_eq!(all.count_ones() as usize, Metric::all().count());
    }
}
