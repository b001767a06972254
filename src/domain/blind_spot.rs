//! What a recording could not show.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use serde::{Deserialize, Serialize};

/// Why something could not be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlindSpotKind {
    /// The source names the field and says that it has no reading.
    NotReported,
    /// The source never mentions the field.
    NotRecorded,
    /// MIG hides the field.
    HiddenByMig,
    /// The samples are too far apart, or averaged over too long a window.
    TooCoarse,
    /// Samples are missing for a while.
    Gap,
    /// Cells or rows were not readable and were left out.
    Rejected,
    /// The stamps carry no zone, or there are none, and something was assumed.
    ClockAssumed,
    /// The source cannot tell two subjects apart.
    Ambiguous,
    /// The recording is too short for the question.
    TooShort,
}

/// Something that a recording could not show, with the reason and the remedy; it lowers confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlindSpot {
    /// Why it could not be seen.
    pub kind: BlindSpotKind,
    /// About whom; `None` means the whole recording.
    pub subject: Option<Subject>,
    /// About which field; `None` means all of them.
    pub metric: Option<Metric>,
    /// When; `None` means throughout.
    pub span: Option<TimeSpan>,
    /// What happened, in one sentence with its numbers.
    pub detail: String,
    /// What would let it be seen; empty when nothing can.
    pub remedy: String,
}

impl BlindSpot {
    /// What happened without the name of the metric in front, and that name; `None` where the sentence does not begin with it.
    pub fn parts(&self) -> (Option<&'static str>, &str) {
        let label = self.metric.map(|it| it.spec().label);
        let told = label.and_then(|it| self.detail.strip_prefix(it)?.strip_prefix(": "));
        match told {
            Some(rest) => (label, rest),
            None => (None, &self.detail),
        }
    }
}
