//! Lines of limited width, with or without ANSI styles.

use crate::recommender::suitability::SharingWord;
use crate::report::block::Mark;
use crate::report::render::text::ascii;
use crate::report::render::text::look::Look;
use crate::report::wording::glued;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How words look where colour is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Faint,
    Strong,
    Title,
    Well,
    Care,
    No,
    Unknown,
}

impl Style {
    /// The look of a word on sharing.
    pub(super) fn of_word(word: Option<SharingWord>) -> Self {
        match word {
            Some(SharingWord::SharesWell) => Self::Well,
            Some(SharingWord::SharesWithCare) => Self::Care,
            Some(SharingWord::DoNotShare) => Self::No,
            Some(SharingWord::CannotTell) | None => Self::Unknown,
        }
    }

    /// The look of a mark.
    pub(super) fn of_mark(mark: Mark) -> Self {
        match mark {
            Mark::Firm | Mark::Indirect => Self::No,
            Mark::Probable => Self::Care,
            Mark::Neutral | Mark::Absent | Mark::Unknown => Self::Unknown,
            Mark::Fine => Self::Well,
        }
    }

    /// Parameters of the ANSI sequence that switches it on; the sixteen colours follow the
    /// reader's own light or dark scheme.
    const fn parameters(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Faint => "2",
            Self::Strong | Self::Unknown => "1",
            Self::Title => "1;36",
            Self::Well => "1;32",
            Self::Care => "1;33",
            Self::No => "1;31",
        }
    }
}

/// A sign of one column for each mark.
pub(super) fn mark_sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Firm => "●",
        Mark::Indirect => "▲",
        Mark::Probable => "○",
        Mark::Neutral => "■",
        Mark::Absent => "·",
        Mark::Unknown => "?",
        Mark::Fine => "✓",
    }
}

/// Columns that a text needs beside what it hangs from.
const LEAST_BESIDE: usize = 12;

/// Writes lines that are never wider than asked for.
pub(super) struct Pen {
    text: String,
    look: Look,
}

impl Pen {
    pub(super) fn new(look: Look) -> Self {
        Self { text: String::new(), look }
    }

    pub(super) fn width(&self) -> usize {
        self.look.width
    }

    /// Whether what is folded away is told too.
    pub(super) fn is_full(&self) -> bool {
        self.look.is_full
    }

    /// The text in letters that can be shown, where that takes more room; before lines are broken.
    pub(super) fn spelled<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.look.is_ascii { ascii::spelled(text) } else { Cow::Borrowed(text) }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// An empty line, but never more than two in a row.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n\n") {
            self.text.push('\n');
        }
    }

    /// One line of differently styled pieces; what does not fit is cut off.
    pub(super) fn line(&mut self, pieces: &[(&str, Style)]) {
        let mut room = self.width();
        let shown =
            pieces.iter().rposition(|it| !it.0.trim_end().is_empty()).map_or(0, |it| it + 1);
        for (position, (piece, style)) in pieces.iter().take(shown).enumerate() {
            let piece = cut(piece, room);
            room -= piece.width();
            let piece = if position + 1 == shown { piece.trim_end() } else { piece };
            self.write(piece, *style);
        }
        self.text.push('\n');
    }

    /// Words broken into lines, each after the same indent.
    pub(super) fn paragraph(&mut self, indent: &str, text: &str, style: Style) {
        self.hanging(indent, Style::Plain, &" ".repeat(indent.width()), text, style);
    }

    /// Words broken into lines: the first after `start`, the others after `indent`.
    pub(super) fn hanging(
        &mut self,
        start: &str,
        start_style: Style,
        indent: &str,
        text: &str,
        style: Style,
    ) {
        let (start, text) = (self.spelled(start), self.spelled(text));
        if start.width() + LEAST_BESIDE > self.width() && !start.trim().is_empty() {
            let before = " ".repeat(start.width() - start.trim_start().width());
            self.paragraph(&before, start.trim(), start_style);
            self.paragraph(indent, &text, style);
            return;
        }
        let first = self.width().saturating_sub(start.width());
        let others = self.width().saturating_sub(indent.width());
        for (position, line) in wrapped(&glued(&text), first, others).iter().enumerate() {
            let (before, look) =
                if position == 0 { (&*start, start_style) } else { (indent, Style::Plain) };
            self.line(&[(before, look), (line, style)]);
        }
    }

    fn write(&mut self, words: &str, style: Style) {
        let parameters = style.parameters();
        let words = match self.look.is_ascii {
            true => ascii::narrow(words),
            false => words.replace('\u{a0}', " "),
        };
        if !self.look.has_colour || parameters.is_empty() || words.trim().is_empty() {
            self.text.push_str(&words);
            return;
        }
        self.text.push_str("\u{1b}[");
        self.text.push_str(parameters);
        self.text.push('m');
        self.text.push_str(&words);
        self.text.push_str("\u{1b}[0m");
    }
}

/// The longest start of the text that fits into so many columns.
pub(super) fn cut(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (position, letter) in text.char_indices() {
        taken += letter.width().unwrap_or(0);
        if taken > columns {
            return text.get(..position).unwrap_or_default();
        }
    }
    text
}

/// The text in lines; words longer than a line are cut up.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> Vec<String> {
    let (first, others) = (first.max(1), others.max(1));
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        loop {
            let room = if lines.len() == 1 { first } else { others };
            let line = lines.last_mut().map_or(0, |it| it.width());
            let space = usize::from(line > 0);
            if line + space + word.width() <= room {
                push(&mut lines, word, space);
                break;
            }
            if line > 0 {
                lines.push(String::new());
                continue;
            }
            let piece = cut(word, room);
            // A letter wider than the line is dropped, or the loop would never end.
            let piece_len = piece.len().max(word.chars().next().map_or(0, char::len_utf8));
            push(&mut lines, piece, 0);
            word = word.get(piece_len..).unwrap_or_default();
            if word.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    lines
}

fn push(lines: &mut [String], words: &str, spaces: usize) {
    if let Some(line) = lines.last_mut() {
        line.push_str(&" ".repeat(spaces));
        line.push_str(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::wording::clean;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn long_words_and_wide_letters_are_broken_within_the_width() {
        let text = format!("a {} 推論サーバー推論サーバー end", "x".repeat(25));
        let lines = wrapped(&text, 10, 8);
        assert!(lines[0].width() <= 10);
        assert!(lines[1..].iter().all(|it| it.width() <= 8), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked_for(text in ".{0,200}", first in 2..40usize, others in 2..40usize) {
            let text = clean(&text);
            for (position, line) in wrapped(&text, first, others).iter().enumerate() {
                let room = if position == 0 { first } else { others };
                prop_assert!(line.width() <= room, "{line:?} in {room}");
            }
        }
    }
}
