//! The common currency of analyses: a sentence with its numbers, and how sure it is.

use crate::domain::ident::Subject;
use serde::{Deserialize, Serialize};

/// How sure a statement is, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Confidence(f64);

impl From<f64> for Confidence {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        confidence.value()
    }
}

impl Confidence {
    /// A confidence; what lies outside 0 to 1 is moved to the nearer end.
    pub fn new(value: f64) -> Self {
        Self(value.clamp(0.0, 1.0))
    }

    /// From 0 to 1.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Both must hold.
    pub fn and(self, other: Confidence) -> Self {
        Self(self.0 * other.0)
    }
}

/// One sentence with its numbers; every analysis speaks in these.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Name of the analysis that says so, in kebab case.
    pub analysis: &'static str,
    /// About whom; `None` means the whole recording.
    pub subject: Option<Subject>,
    /// The sentence.
    pub sentence: String,
    /// How sure it is.
    pub confidence: Confidence,
}
