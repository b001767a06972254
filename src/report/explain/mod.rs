//! What a word means: terms, metrics, verdicts, look-alikes, blind spots and words of `--fail-on`.
//!
//! One list for `cotenant explain`; the words themselves live where they are used.

mod metrics;
mod show;
#[cfg(test)]
mod tests;
mod words;

pub use show::{list, report};

use crate::domain::spelling::distance;
use crate::report::block::Block;
use crate::report::sections::glossary;

/// So many near names are told to whoever misspelt one.
const MOST_NEAR: usize = 5;

/// What kind of word it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A term of the glossary.
    Term,
    /// A verdict on sharing.
    Verdict,
    /// Something that makes a tenant slow and is no neighbour.
    LookAlike,
    /// Why something could not be seen.
    BlindSpot,
    /// A word that `--fail-on` takes.
    FailOn,
    /// A metric of a recording.
    Metric,
}

impl Kind {
    /// Every kind, in the order of the list.
    pub const ALL: [Self; 6] =
        [Self::Term, Self::Verdict, Self::LookAlike, Self::BlindSpot, Self::FailOn, Self::Metric];

    /// The kind with its article, as the end of a sentence.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Term => "a term",
            Self::Verdict => "a verdict on sharing",
            Self::LookAlike => "a look-alike: it makes a tenant slow and is no neighbour",
            Self::BlindSpot => "a blind spot: why something could not be seen",
            Self::FailOn => "a word of --fail-on",
            Self::Metric => "a metric",
        }
    }

    /// Its key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Term => "term",
            Self::Verdict => "verdict",
            Self::LookAlike => "look_alike",
            Self::BlindSpot => "blind_spot",
            Self::FailOn => "fail_on",
            Self::Metric => "metric",
        }
    }

    /// Heading of all of this kind.
    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::Term => "Terms",
            Self::Verdict => "Verdicts on sharing",
            Self::LookAlike => "Look-alikes",
            Self::BlindSpot => "Blind spots",
            Self::FailOn => "Words of --fail-on",
            Self::Metric => "Metrics",
        }
    }
}

/// A word with its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The word; of a metric, its key.
    pub name: String,
    /// What kind of word it is.
    pub kind: Kind,
    /// What it means, in a sentence or two.
    pub meaning: String,
    /// Everything else about a metric; `None` for other words.
    pub metric: Option<MetricFacts>,
}

/// What is known about a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFacts {
    /// Name for people.
    pub label: &'static str,
    /// Unit of every value.
    pub unit: &'static str,
    /// About whom a reading can be.
    pub about: &'static str,
    /// What one value stands for unless its source says otherwise.
    pub reading: &'static str,
    /// Least believable value, in the unit.
    pub least: f64,
    /// Greatest believable value, in the unit.
    pub greatest: f64,
    /// DCGM field id; `None` when it has none.
    pub dcgm_field: Option<u16>,
    /// Names in other tools.
    pub names: Vec<ForeignWord>,
}

/// A metric's name in another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignWord {
    /// The tool.
    pub tool: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What turns its values into the unit.
    pub factor: f64,
}

impl Entry {
    pub(crate) fn new(kind: Kind, name: &str, meaning: &str) -> Self {
        Self { name: name.to_owned(), kind, meaning: meaning.to_owned(), metric: None }
    }

    /// A word that `--fail-on` of this command takes.
    pub fn fail_on(word: &str, command: &str, meaning: &str) -> Self {
        let meaning = meaning.trim_end_matches('.');
        let meaning =
            format!("`cotenant {command} --fail-on {word}` ends with exit code 4 on: {meaning}.");
        Self::new(Kind::FailOn, word, &meaning)
    }

    /// Every name that finds it.
    fn names(&self) -> impl Iterator<Item = &str> {
        let facts = self.metric.iter();
        let foreign =
            facts.flat_map(|it| it.names.iter().map(|it| it.name).chain(std::iter::once(it.label)));
        std::iter::once(self.name.as_str()).chain(foreign)
    }
}

/// Every word, kind by kind; of `--fail-on` those that the command line gives.
pub fn entries(fail_on: Vec<Entry>) -> Vec<Entry> {
    let term = |it: Block| match it {
        Block::Term { term, meaning } => Some(Entry::new(Kind::Term, &term, &meaning)),
        _ => None,
    };
    let mut terms: Vec<Entry> = glossary::terms().filter_map(term).collect();
    let is_new = |it: &&(&str, &str)| !terms.iter().any(|term| folded(&term.name) == folded(it.0));
    let more: Vec<Entry> =
        words::TERMS.iter().filter(is_new).map(|it| Entry::new(Kind::Term, it.0, it.1)).collect();
    terms.extend(more);
    terms.sort_by_key(|it| it.name.to_lowercase());
    terms.extend(words::entries());
    terms.extend(fail_on);
    terms.extend(metrics::entries());
    terms
}

/// Those that are called so, in any case of letters, with hyphens or underscores, also in the
/// plural; else those whose name holds all of these words, if they are few.
pub fn find<'a>(all: &'a [Entry], asked: &str) -> Vec<&'a Entry> {
    let wanted = folded(asked);
    if wanted.is_empty() {
        return Vec::new();
    }
    let is_meant = |name: &str| {
        let name = folded(name);
        name == wanted || wanted.strip_suffix('s').is_some_and(|it| it == name)
    };
    let exact: Vec<&Entry> = all.iter().filter(|it| it.names().any(is_meant)).collect();
    // A name of its own says more than that of another tool: `mem` is a column of several.
    let own: Vec<&Entry> = exact.iter().copied().filter(|it| is_meant(&it.name)).collect();
    if !own.is_empty() {
        return own;
    }
    if !exact.is_empty() {
        return exact;
    }
    let holds = |name: &str| {
        let name = folded(name);
        let words: Vec<&str> = name.split(' ').collect();
        wanted.split(' ').all(|it| words.contains(&it))
    };
    let near: Vec<&Entry> = all.iter().filter(|it| holds(&it.name)).collect();
    if near.len() <= MOST_NEAR { near } else { Vec::new() }
}

/// The names nearest to one that nothing has, the nearest first.
pub fn nearest(all: &[Entry], asked: &str) -> Vec<String> {
    let wanted = folded(asked);
    let cost = |it: &Entry| {
        let name = folded(&it.name);
        let shares = wanted.len() > 2 && (name.contains(&wanted) || wanted.contains(&name));
        let away = distance(&wanted, &name);
        (if shares { 0 } else { away }, away)
    };
    let mut near: Vec<(&Entry, (usize, usize))> = all.iter().map(|it| (it, cost(it))).collect();
    near.sort_by(|one, other| one.1.cmp(&other.1).then(one.0.name.cmp(&other.0.name)));
    let mut names: Vec<String> = near.into_iter().map(|it| it.0.name.clone()).collect();
    names.dedup();
    names.truncate(MOST_NEAR);
    names
}

/// The name in small letters with single spaces between its words.
fn folded(name: &str) -> String {
    let words = name.split(|it: char| it.is_whitespace() || matches!(it, '_' | '-' | '`'));
    let words: Vec<String> = words.filter(|it| !it.is_empty()).map(str::to_lowercase).collect();
    words.join(" ")
}
