//! One scrape: what stands between two repetitions of a sample, kept until its rows can be told apart.

use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use crate::import::prometheus_text::cards::Details;
use crate::import::prometheus_text::contended::ScrapedPairs;
use crate::import::prometheus_text::owner::{Card, Owner};
use crate::import::prometheus_text::shapes::ScrapedShapes;
use std::collections::{BTreeMap, BTreeSet};

/// One reading as the text has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Whom it is about.
    pub(crate) owner: Owner,
    /// MIG profile that its labels name.
    pub(crate) profile: Option<String>,
    /// Its own stamp; `None` where the line has none.
    pub(crate) at: Option<Timestamp>,
    /// What.
    pub(crate) metric: Metric,
    /// How much, in our unit.
    pub(crate) value: f64,
}

/// One scrape under way.
#[derive(Debug, Default)]
pub(crate) struct Scrape {
    /// Stamp that a remark gave to the scrape.
    pub(crate) at: Option<Timestamp>,
    /// Readings.
    pub(crate) rows: Vec<Row>,
    /// What labels say about cards.
    pub(crate) cards: BTreeSet<(Card, Details)>,
    /// Parts of shapes.
    pub(crate) shapes: ScrapedShapes,
    /// Sums of pairs of tenants.
    pub(crate) pairs: ScrapedPairs,
    /// Stamp behind those parts and sums; `None` where they carry none.
    pub(crate) shape_at: Option<Timestamp>,
    /// Names of processes by card and pid.
    pub(crate) processes: BTreeMap<(Card, u32), Option<String>>,
    seen: BTreeSet<String>,
    last: String,
}

impl Scrape {
    /// Whether this sample was seen in the scrape before; then a new scrape has begun.
    pub(crate) fn repeats(&self, identity: &str) -> bool {
        self.seen.contains(identity)
    }

    /// Takes note of a sample.
    pub(crate) fn note(&mut self, identity: &str) {
        self.seen.insert(identity.to_owned());
        self.last.clear();
        self.last.push_str(identity);
    }

    /// Whether this sample was the last one; then the text lists one series after the other.
    pub(crate) fn ends_with(&self, identity: &str) -> bool {
        self.last == identity
    }

    /// Whether nothing was read since the last scrape ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Indices of cards whose UUID is masked.
    pub(crate) fn masked(&self) -> BTreeSet<u32> {
        self.cards.iter().filter(|it| it.0.is_masked).filter_map(|it| it.0.index).collect()
    }
}
