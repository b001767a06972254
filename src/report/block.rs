//! What a report is made of, before it becomes HTML or text.

use crate::recommender::suitability::SharingWord;
use crate::report::figure::Figure;

/// One piece of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading; sections are level 2, devices inside them level 3.
    Heading {
        /// From 2 to 4.
        level: u8,
        /// Where links point to, unique in the report, in kebab case.
        anchor: String,
        /// The heading.
        text: String,
    },
    /// The one sentence to remember.
    Lead(String),
    /// A paragraph.
    Text(String),
    /// How many devices got which word.
    Tally(Vec<(SharingWord, usize)>),
    /// The verdict on one device.
    Verdict(VerdictCard),
    /// A table.
    Table(Table),
    /// A picture.
    Figure {
        /// Unique in the report, in kebab case; also a good file name.
        id: String,
        /// What is drawn.
        figure: Figure,
        /// What to see in it.
        caption: String,
        /// How its marks are to be read, where they are drawn; may be empty.
        key: String,
        /// What it shows, for those who cannot see it.
        alt: String,
    },
    /// A statement with a mark that says how firm it is.
    Statement(Statement),
    /// Something that could not be seen.
    Caveat(Caveat),
    /// What to do, step by step.
    Steps(Vec<String>),
    /// Blocks of second rank, folded away where the medium can fold.
    Details {
        /// What is inside.
        summary: String,
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// Text to be copied, such as a command line.
    Code(String),
    /// A term of the glossary.
    Term {
        /// The term.
        term: String,
        /// What it means.
        meaning: String,
    },
}

/// The verdict on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictCard {
    /// Part of anchors, unique among the cards, in kebab case.
    pub anchor: String,
    /// Name of the device.
    pub name: String,
    /// Its model; `None` when it is not known.
    pub model: Option<String>,
    /// What to do with it.
    pub action: String,
    /// What kind of answer that is.
    pub mark: Mark,
    /// From 0 to 1; `None` when nothing is proposed.
    pub confidence: Option<f64>,
    /// Reasons, the weightiest first.
    pub reasons: Vec<String>,
    /// What lowered the confidence.
    pub caveats: Vec<String>,
    /// Its activity at a glance; `None` when it was not recorded over time.
    pub glance: Option<Figure>,
    /// A few numbers: name and value.
    pub facts: Vec<(String, Cell)>,
}

/// A statement with a mark that says how firm it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// How firm it is.
    pub mark: Mark,
    /// The mark in words; empty when the text says it.
    pub tag: String,
    /// The statement; what stands between two backticks is a name.
    pub text: String,
    /// What else belongs to it, each in a sentence.
    pub notes: Vec<String>,
}

/// How firm a statement is; every mark differs from the others in form, not only in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Shown.
    Firm,
    /// Shown, but in a roundabout way.
    Indirect,
    /// Probable.
    Probable,
    /// Shown, and neither good nor bad.
    Neutral,
    /// Looked for and not found.
    Absent,
    /// Cannot be told.
    Unknown,
    /// Fine: looked for, and surely not there.
    Fine,
}

/// Something that could not be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Caveat {
    /// Why, in a few words.
    pub kind: String,
    /// About whom, which field and when; empty when about everything.
    pub about: String,
    /// What happened.
    pub detail: String,
    /// What would let it be seen; empty when nothing can.
    pub remedy: String,
}

/// A table; every row is as long as `columns`.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Headings.
    pub columns: Vec<Column>,
    /// Cells, row by row.
    pub rows: Vec<Vec<Cell>>,
}

/// Head of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What stands in it.
    pub title: String,
    /// Where the cells stand.
    pub align: Align,
}

/// Where a cell stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A name, which may be long: shortened where it has to be.
    Name(String),
    /// A number.
    Number {
        /// In `unit`.
        value: f64,
        /// Empty when it has none.
        unit: &'static str,
        /// Digits after the point.
        decimals: usize,
    },
    /// A quantity that is only told in words, such as `3 of 8`; see `Measure`.
    Quantity(String),
    /// A quantity with the unit that suits its size, such as `3.20 ms`.
    Measure {
        /// What is shown.
        text: String,
        /// The same in one unit for the whole column, such as seconds, by which it is sorted.
        value: f64,
    },
    /// The word on sharing.
    Word(SharingWord),
    /// A mark with its words.
    Marked(Mark, String),
    /// From 0 to 1.
    Confidence(f64),
    /// No value, with the reason; never shown as a number.
    Missing(String),
}

/// The blocks without those terms of the glossary that no other block uses.
pub(crate) fn without_unused_terms(blocks: Vec<Block>) -> Vec<Block> {
    let mut used = String::new();
    for block in &blocks {
        block.collect_words(&mut used);
    }
    let used = used.to_lowercase();
    let is_used = |block: &Block| match block {
        Block::Term { term, .. } => is_word(&used, &term.to_lowercase()),
        _ => true,
    };
    blocks.into_iter().filter(is_used).collect()
}

/// Whether the text holds the term as words of its own, in the singular or the plural.
fn is_word(text: &str, term: &str) -> bool {
    text.match_indices(term).any(|(at, _)| {
        let rest = &text[at + term.len()..];
        let ends = |it: &str| !it.starts_with(|it: char| it.is_alphanumeric());
        ends(rest) || rest.strip_prefix('s').is_some_and(ends)
    } && !text[..at].ends_with(|it: char| it.is_alphanumeric()))
}

impl Block {
    /// Adds all words that a reader sees, except those of the glossary.
    fn collect_words(&self, words: &mut String) {
        let mut add = |text: &str| {
            words.push_str(text);
            words.push('\n');
        };
        match self {
            Self::Heading { text, .. } | Self::Lead(text) | Self::Text(text) => add(text),
            Self::Figure { caption, key, figure, .. } => {
                add(caption);
                add(key);
                figure.words().into_iter().for_each(add);
            }
            Self::Caveat(it) => add(&[&*it.about, &*it.detail, &*it.remedy].join("\n")),
            Self::Verdict(card) => {
                add(&card.action);
                if card.confidence.is_some() {
                    add("confidence");
                }
                card.reasons.iter().chain(&card.caveats).for_each(|it| add(it));
                card.facts.iter().for_each(|it| add(&it.0));
            }
            Self::Table(table) => {
                table.columns.iter().for_each(|it| add(&it.title));
                add(&table.caption);
                table.rows.iter().flatten().for_each(|it| add(&it.plain()));
            }
            Self::Details { blocks, .. } => {
                blocks.iter().for_each(|it| it.collect_words(words));
            }
            Self::Statement(it) => {
                add(&it.tag);
                add(&it.text);
                it.notes.iter().for_each(|it| add(it));
            }
            Self::Steps(steps) => steps.iter().for_each(|it| add(it)),
            Self::Tally(_) | Self::Code(_) | Self::Term { .. } => {}
        }
    }
}
