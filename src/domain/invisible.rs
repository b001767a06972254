//! Letters that names from outside may hold and that no place that shows them should obey.

/// Whether a letter steers a terminal, ends a line, is not seen, or turns the direction of what is read.
///
/// Control characters (line ends too), format characters, marks and overrides of direction, variation selectors, tags, and what is no
/// character. Source: Unicode Technical Report 36 (spoofing), section 2.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}' | '\u{FFFE}' | '\u{FFFF}')
}

/// The text with `instead` in the place of each such letter; length in letters is kept.
pub fn harmless(text: &str, instead: char) -> String {
    text.chars().map(|it| if is_invisible(it) { instead } else { it }).collect()
}

/// [`harmless`] for text of several lines: line ends stay.
pub fn harmless_lines(text: &str, instead: char) -> String {
    text.chars().map(|it| if it != '\n' && is_invisible(it) { instead } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_turn_a_line_around_or_steer_a_terminal() {
        for letter in
            ['\u{1b}', '\r', '\n', '\u{202e}', '\u{2066}', '\u{200b}', '\u{2028}', '\u{61c}']
        {
            assert_eq!(harmless(&format!("node{letter}7"), '?'), "node?7", "{letter:?}");
        }
        assert_eq!(harmless("nœud-７ é", '?'), "nœud-７ é");
        assert_eq!(harmless_lines("a\nb\u{202e}", '?'), "a\nb?");
    }
}
