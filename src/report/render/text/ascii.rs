//! The same words and pictures in letters of ASCII, for terminals that know no others.

use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// The text with signs that need more than one letter of ASCII written out.
///
/// It comes before lines are broken: what it returns may be wider than what it was given.
pub(super) fn spelled(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '…' => spelled.push_str("..."),
            '→' => spelled.push_str("->"),
            '±' => spelled.push_str("+/-"),
            '≥' => spelled.push_str(">="),
            '≤' => spelled.push_str("<="),
            '°' => spelled.push_str("deg "),
            'Σ' => spelled.push_str("sum "),
            other => spelled.push(other),
        }
    }
    Cow::Owned(spelled)
}

/// The text in ASCII, as wide as before; a letter that has no like becomes `?`.
pub(super) fn narrow(text: &str) -> String {
    let mut narrow = String::with_capacity(text.len());
    for letter in text.chars() {
        match like(letter) {
            Some(it) => narrow.push(it),
            None => narrow.extend(std::iter::repeat_n('?', letter.width().unwrap_or(0))),
        }
    }
    narrow
}

/// The letter of ASCII that looks most like it, one column wide; `None` when there is none.
const fn like(letter: char) -> Option<char> {
    Some(match letter {
        it if it.is_ascii() => it,
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' => ' ',
        '─' | '–' | '—' | '▔' | '−' | '‐' | '‑' | '░' | '▃' => '-',
        '▁' => '_',
        '▂' => ',',
        '▄' => ':',
        '▅' | '▓' | '▥' => '=',
        '▆' | '✓' => '+',
        '▇' | '●' => '*',
        '█' => '#',
        '▒' => '%',
        '·' | '•' => '.',
        '…' | '≈' => '~',
        '▲' => '^',
        '○' => 'o',
        '◆' => '@',
        '✗' | '×' => 'x',
        '│' | '┊' => '|',
        '■' => '&',
        '÷' => '/',
        '→' | '›' | '»' | '≥' => '>',
        '‹' | '«' | '≤' => '<',
        'µ' | 'μ' => 'u',
        '‘' | '’' | '′' => '\'',
        '“' | '”' | '„' | '″' => '"',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn a_letter_of_ascii_takes_as_much_room_as_what_it_stands_for() {
        for text in ["▁▂▃▄▅▆▇█", "● ▲ ○ · ✓ ✗ ~", "推論 (pid 7)", "3\u{a0}µs — 4 × 5"]
        {
            assert_eq!(narrow(text).width(), text.width(), "{text}");
            assert!(narrow(text).is_ascii());
        }
    }

    #[test]
    fn heights_and_marks_stay_apart() {
        let shown: std::collections::BTreeSet<char> = narrow("▁▂▃▄▅▆▇█").chars().collect();
        assert_eq!(shown.len(), 8, "every height has a letter of its own");
        let marks: std::collections::BTreeSet<char> = narrow("●▲○·?✓✗").chars().collect();
        assert_eq!(marks.len(), 7, "every mark has a letter of its own");
        assert_eq!(spelled("a → b, ≥ 50 %, 3…"), "a -> b, >= 50 %, 3...");
    }
}
