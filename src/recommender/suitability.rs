//! Whether a load suits sharing, judged by its shape over time and not by its average.

use crate::analysis::evidence::Confidence;
use crate::analysis::findings::Scope;
use crate::domain::ident::Subject;
use serde::Serialize;

/// Whether a load suits sharing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SharingWord {
    /// A neighbour will hardly notice it.
    SharesWell,
    /// A neighbour with a latency target will notice it at times.
    SharesWithCare,
    /// A neighbour would be hurt, or there is nothing left to share.
    DoNotShare,
    /// The recording does not allow an answer.
    CannotTell,
}

impl SharingWord {
    /// The words that people read.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::SharesWell => "shares well",
            Self::SharesWithCare => "shares with care",
            Self::DoNotShare => "do not share",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Whether one subject suits sharing in one part of the time, with reasons in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suitability {
    /// The subject.
    pub subject: Subject,
    /// Short name for people.
    pub label: String,
    /// Which part of the time.
    pub scope: Scope,
    /// The word.
    pub word: SharingWord,
    /// Reasons with their numbers, the weightiest first.
    pub reasons: Vec<String>,
    /// What lowered the confidence or could not be seen.
    pub caveats: Vec<String>,
    /// How sure the word is.
    pub confidence: Confidence,
    /// Interval between samples that would settle it, in seconds; `None` when none is needed.
    pub needed_interval_s: Option<f64>,
}
