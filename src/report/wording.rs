//! How names, times and counts become words that are safe to show.

use crate::domain::invisible::is_invisible;
pub(crate) use crate::domain::shares::share as percent;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::domain::units::Seconds;
use crate::recommender::reason::Times;

/// Longest sentence that a report shows; recordings may carry anything.
const LONGEST_SENTENCE: usize = 600;

/// The text without control characters, direction marks and other invisible characters.
///
/// Names come from processes that anyone may start, so they may try to move the cursor of a
/// terminal or to turn a line around.
pub(crate) fn clean(text: &str) -> String {
    let visible =
        text.chars().map(|it| if it.is_whitespace() || is_line_end(it) { ' ' } else { it });
    let mut cleaned = String::with_capacity(text.len().min(LONGEST_SENTENCE));
    for letter in visible.filter(|it| !is_invisible(*it)) {
        if letter != ' ' || !cleaned.ends_with(' ') {
            cleaned.push(letter);
        }
    }
    let cleaned = cleaned.trim();
    if cleaned.is_empty() { "(no name)".to_owned() } else { cleaned.to_owned() }
}

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A sentence from elsewhere, cleaned and kept to a length that a page can bear.
pub(crate) fn sentence(text: &str) -> String {
    shorten(&clean(text), LONGEST_SENTENCE)
}

/// At most `most` characters; what is left out of the middle becomes `…`.
///
/// The end stays because it tells processes apart by their pid.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let tail = most / 3;
    let head = most.saturating_sub(tail + 1);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{}…{}", start.trim_end(), end.trim_start())
}

/// Longest name inside a sentence, in characters.
const LONGEST_NAME: usize = 48;

/// A name from elsewhere as a part of a sentence.
pub(crate) fn name(text: &str) -> String {
    shorten(&clean(text), LONGEST_NAME)
}

/// The text as an anchor: lower case letters and digits, the rest as single hyphens.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars().take(60) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// An instant in UTC, to the second: `2026-11-28 09:00:00 UTC`.
pub(crate) fn stamp(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(it) => it.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => format!("{} µs after 1970 (UTC)", at.as_micros()),
    }
}

/// A span with its length: `2026-11-28 09:00:00 to 21:00:00 UTC (12.0 h)`.
pub(crate) fn span(span: TimeSpan) -> String {
    let (from, until) = (stamp(span.from()), stamp(span.until()));
    let length = Seconds(span.seconds());
    if is_instant(span.seconds()) {
        return format!("{from} (one instant)");
    }
    let starts = from.trim_end_matches(" UTC");
    match (from.split_once(' '), until.split_once(' ')) {
        (Some((day, _)), Some((last_day, time))) if day == last_day => {
            format!("{starts} to {time} ({length})")
        }
        _ => format!("{starts} to {until} ({length})"),
    }
}

/// Whether a length is that of a single sample, which a recording holds as one microsecond.
pub(crate) fn is_instant(seconds: f64) -> bool {
    seconds < 1.5e-6
}

/// A number of things: `1 GPU`, `3 GPUs`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A list in words: `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Items that a sentence names at most; of more the first three are named and the rest counted.
const MOST_NAMED: usize = 4;

/// The same for a sentence that may be about many: `a, b, c and 28 others`.
pub(crate) fn some(items: &[String]) -> String {
    match items.len() {
        few if few <= MOST_NAMED => list(items),
        many => {
            let rest = MOST_NAMED - 1;
            format!("{} and {}", items[..rest].join(", "), count(many - rest, "other", "others"))
        }
    }
}

/// Units that belong to the number before them.
const UNITS: &[&str] = &["%", "s", "ms", "µs", "min", "h", "GiB", "MiB", "GPUs", "GPU", "/s"];

/// The text with a space that does not break between a number and its unit.
pub(crate) fn glued(text: &str) -> String {
    let mut glued = String::with_capacity(text.len());
    let mut after_number = false;
    for (position, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        if position > 0 {
            glued.push(if after_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        glued.push_str(word);
        after_number = word.ends_with(|it: char| it.is_ascii_digit());
    }
    glued
}

/// The text with a full stop, unless it ends a sentence already.
pub(crate) fn stopped(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['.', '!', '?', '…']) {
        return text.to_owned();
    }
    format!("{text}.")
}

/// The text with a capital first letter, as a line of its own needs it.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// A chance for people, from 0 to 1: never 0 % for what may happen, never 100 % for what may not.
pub(crate) fn chance(ratio: f64) -> String {
    match 100.0 * ratio {
        it if it <= 0.0 => "0 %".to_owned(),
        it if it > 99.9 => "above 99.9 %".to_owned(),
        _ => percent(ratio),
    }
}

/// A factor for people: `1.23`, `12.3`, `more than 100`.
pub(crate) fn times(factor: f64) -> String {
    Times(factor).to_string()
}

/// The upper end of a factor: `1.00x`, `up to 1.23x`, `more than 100x`.
pub(crate) fn times_at_most(factor: f64) -> String {
    match factor {
        it if it <= 1.0 => "1.00x".to_owned(),
        it => match times(it) {
            great if great.starts_with("more") => format!("{great}x"),
            some => format!("up to {some}x"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_move_the_cursor_or_turn_the_line_around() {
        let hostile = "\u{1b}[2Jevil\u{202e}gpj.exe\r\n\tnext\u{0}\u{feff}";
        assert_eq!(clean(hostile), "[2Jevilgpj.exe next");
        assert_eq!(clean("\u{200b}\u{7f}"), "(no name)");
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_pid() {
        let name = format!("python {} (pid 4242)", "x".repeat(10_000));
        let short = shorten(&name, 30);
        assert_eq!(short.chars().count(), 30);
        assert!(short.starts_with("python x") && short.ends_with("(pid 4242)"), "{short}");
    }

    #[test]
    fn times_are_shown_in_utc_and_the_day_is_said_once() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let day = TimeSpan::new(at(1_795_856_400), at(1_795_899_600)).unwrap();
        assert_eq!(span(day), "2026-11-28 09:00:00 to 21:00:00 UTC (12.0 h)");
        assert!(stamp(Timestamp::from_micros(i64::MAX)).contains("1970"));
    }

    #[test]
    fn a_single_sample_lasts_an_instant() {
        let at = Timestamp::from_micros(1_795_856_400_000_000);
        assert_eq!(span(TimeSpan::covering(at, at)), "2026-11-28 09:00:00 UTC (one instant)");
    }

    #[test]
    fn a_sentence_gets_one_full_stop_and_no_more() {
        assert_eq!(["", "a", "a."].map(stopped), ["", "a.", "a."]);
    }

    #[test]
    fn a_number_and_its_unit_stay_on_one_line() {
        assert_eq!(glued("3.0 s at 95 %, of 3 GPUs"), "3.0\u{a0}s at 95\u{a0}%, of 3\u{a0}GPUs");
        assert_eq!(glued(" a  s"), " a  s");
    }

    #[test]
    fn a_factor_that_no_prediction_can_tell_is_only_said_to_be_great() {
        let shown = [1.0, 1.234, 12.34, 348.51, f64::INFINITY, f64::NAN].map(times);
        let great = "more than 100";
        assert_eq!(shown, ["1.00", "1.23", "12.3", great, great, great]);
        assert_eq!(
            [1.0, 1.5, 348.51].map(times_at_most),
            ["1.00x", "up to 1.50x", "more than 100x"]
        );
    }
}
