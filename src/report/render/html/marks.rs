//! Marks as HTML: how firm a statement is, in form and hue.

use crate::report::block::Mark;
use crate::report::render::mark_key;
use maud::{Markup, html};

/// The mark alone.
pub(super) fn mark(mark: Mark) -> Markup {
    html! {
        svg.sign viewBox="0 0 24 24" aria-hidden="true" {
            @match mark {
                Mark::Firm => { circle.full cx="12" cy="12" r="9" {} }
                Mark::Indirect => { path.full d="M12 2.5l10.4 18H1.6z" {} }
                Mark::Probable => { circle.line cx="12" cy="12" r="7.5" {} }
                Mark::Neutral => { rect.full x="5" y="5" width="14" height="14" {} }
                Mark::Absent => { circle.full cx="12" cy="12" r="3.4" {} }
                Mark::Unknown => { path.line d="M8.2 8.6a3.9 3.9 0 1 1 5.7 3.5c-1.4.7-1.9 1.5-1.9 2.9M12 18.9v.7" {} }
                Mark::Fine => { path.line d="M4.5 12.8l4.9 4.9 10-11" {} }
            }
        }
    }
}

/// The mark with its words, as a small badge.
pub(super) fn badge(sign: Mark, words: &str) -> Markup {
    html! { span class={ "badge " (mark_key(sign)) } { (mark(sign)) (words) } }
}
