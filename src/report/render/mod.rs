//! Blocks become a page or a text.

pub mod csv;
pub mod html;
pub mod json;
pub mod openmetrics;
pub mod text;
pub mod trace;

use crate::recommender::suitability::SharingWord;
use crate::report::block::{Cell, Mark, Table};
use crate::report::wording::count;

/// Distinct reasons for missing values of a table, in order; at most `most`, then how many more.
fn reasons(table: &Table, most: usize) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for cell in table.rows.iter().flatten() {
        if let Cell::Missing(reason) = cell {
            let reason = reason.trim_end_matches('.').to_owned();
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    let more = reasons.len().saturating_sub(most);
    reasons.truncate(most);
    if more > 0 {
        reasons.push(count(more, "other reason", "other reasons"));
    }
    reasons
}

/// Name of a word in style sheets and for marks; `None` stands for what was not judged.
fn word_key(word: Option<SharingWord>) -> &'static str {
    match word {
        Some(SharingWord::SharesWell) => "well",
        Some(SharingWord::SharesWithCare) => "care",
        Some(SharingWord::DoNotShare) => "no",
        Some(SharingWord::CannotTell) | None => "unknown",
    }
}

/// Name of a mark in style sheets: the hue of the word on sharing that weighs the same.
fn mark_key(mark: Mark) -> &'static str {
    match mark {
        Mark::Firm | Mark::Indirect => "no",
        Mark::Probable => "care",
        Mark::Neutral | Mark::Absent | Mark::Unknown => "unknown",
        Mark::Fine => "well",
    }
}
