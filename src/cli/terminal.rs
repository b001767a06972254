//! What text for standard output looks like: as wide as is good, in letters and colours that can be shown.

use crate::cli::output;
use crate::report::Report;
use crate::report::render::text::{Look, brief, sheet};
use std::sync::OnceLock;

/// Width of text where nothing narrower is there.
const WIDTH: usize = 80;

/// What the user wants of all text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wish {
    pub(crate) is_full: bool,
    pub(crate) width: Option<usize>,
}

/// Options of the whole program, which every command that prints text obeys.
static WISH: OnceLock<Wish> = OnceLock::new();

/// Sets what the command line said; only the first time counts.
pub(crate) fn set(wish: Wish) {
    let _ = WISH.set(wish);
}

/// A report as text for standard output.
pub(crate) fn shown(report: &Report) -> String {
    sheet(report, look())
}

/// The report of a recording on one or two screens; everything where the user wants it.
pub(crate) fn in_brief(report: &Report) -> String {
    brief(report, look())
}

/// The same with everything, for what a reader asked for by name.
pub(crate) fn whole(report: &Report) -> String {
    sheet(report, Look { is_full: true, ..look() })
}

/// The look of text on standard output.
///
/// A file gets what the terminal gets, without colour: 80 columns unless the terminal is narrower
/// or the user wants others.
pub(crate) fn look() -> Look {
    let wish = WISH.get().copied().unwrap_or_default();
    let terminal = output::terminal_size().map_or(WIDTH, |it| it.0);
    Look {
        width: wish.width.unwrap_or(WIDTH.min(terminal)),
        has_colour: output::has_colour(),
        is_ascii: is_ascii(&variable),
        is_full: wish.is_full,
    }
}

#[expect(clippy::disallowed_methods, reason = "the locale and the kind of terminal stand there")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether standard output is a terminal that can be cleared.
pub(crate) fn is_screen() -> bool {
    output::is_terminal() && variable("TERM").is_some_and(|it| it != "dumb")
}

/// Whether the place says that it cannot show Unicode.
///
/// A locale that is not set says nothing: containers set none, and terminals of today show Unicode.
fn is_ascii(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let said = |name: &&str| variable(name).is_some_and(|it| !it.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find(|it| said(it));
    let locale = locale.and_then(|it| variable(it)).map(|it| it.to_ascii_lowercase());
    let is_utf8 = locale.is_none_or(|it| it.contains("utf-8") || it.contains("utf8"));
    !is_utf8 || variable("TERM").is_some_and(|it| it == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascii(set: &[(&str, &str)]) -> bool {
        let found = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
        is_ascii(&found)
    }

    #[test]
    fn only_a_place_that_says_so_gets_ascii() {
        assert!(!ascii(&[]), "a container that sets no locale shows Unicode");
        assert!(!ascii(&[("LANG", "de_DE.UTF-8")]));
        assert!(!ascii(&[("LC_ALL", ""), ("LANG", "C.utf8")]), "an empty one is not set");
        assert!(ascii(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), "LC_ALL goes before LANG");
        assert!(ascii(&[("LANG", "en_US.ISO-8859-1")]));
        assert!(ascii(&[("LANG", "C.UTF-8"), ("TERM", "dumb")]));
    }
}
