//! One line becomes its cells without an allocation; quotes are undone where there are any.

use std::ops::Range;

/// Powers of ten that a float holds exactly, as far as fifteen digits need them.
const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Splits lines, and lends its memory from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    ranges: Vec<Range<usize>>,
    unquoted: String,
}

/// The cells of one line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells<'a> {
    text: &'a str,
    ranges: &'a [Range<usize>],
}

impl<'a> Cells<'a> {
    /// A cell without blanks around it; empty where the line is too short.
    pub(crate) fn get(&self, position: usize) -> &'a str {
        let cell = self.ranges.get(position).map_or("", |it| &self.text[it.clone()]);
        cell.trim_ascii()
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }
}

impl Splitter {
    /// The cells of a line. A run of blanks separates once if the delimiter is a blank.
    ///
    /// A quoted cell ends with its line, so a quote that is never closed costs one line.
    pub(crate) fn split<'a>(&'a mut self, line: &'a str, delimiter: u8) -> Cells<'a> {
        self.ranges.clear();
        if line.contains('"') {
            self.split_quoted(line, delimiter);
            return Cells { text: &self.unquoted, ranges: &self.ranges };
        }
        if delimiter == b' ' {
            let start = line.as_ptr() as usize;
            let cells = line.split_ascii_whitespace();
            let range = |cell: &str| {
                let from = cell.as_ptr() as usize - start;
                from..from + cell.len()
            };
            self.ranges.extend(cells.map(range));
            return Cells { text: line, ranges: &self.ranges };
        }
        let mut from = 0;
        for (position, letter) in line.bytes().enumerate() {
            if letter == delimiter {
                self.ranges.push(from..position);
                from = position + 1;
            }
        }
        self.ranges.push(from..line.len());
        Cells { text: line, ranges: &self.ranges }
    }

    fn split_quoted(&mut self, line: &str, delimiter: u8) {
        self.unquoted.clear();
        let delimiter = char::from(delimiter);
        let mut letters = line.chars().peekable();
        let (mut from, mut is_quoted) = (0, false);
        while let Some(letter) = letters.next() {
            match letter {
                '"' if is_quoted && letters.peek() == Some(&'"') => {
                    letters.next();
                    self.unquoted.push('"');
                }
                '"' if is_quoted => is_quoted = false,
                '"' if self.unquoted[from..].trim_ascii().is_empty() => is_quoted = true,
                _ if letter == delimiter && !is_quoted => {
                    let is_run = delimiter == ' ' && self.unquoted.len() == from;
                    if !is_run {
                        self.ranges.push(from..self.unquoted.len());
                        from = self.unquoted.len();
                    }
                }
                _ => self.unquoted.push(letter),
            }
        }
        self.ranges.push(from..self.unquoted.len());
    }
}

/// Reads a plain decimal of up to fifteen digits; `None` leaves every other cell to the slow way.
///
/// Exact: digits and the power of ten are both whole numbers below 2^53, so their quotient is
/// rounded once.
///
/// Source: W. D. Clinger, How to read floating point numbers accurately, PLDI 1990, 92–101.
pub(crate) fn plain_decimal(cell: &str) -> Option<f64> {
    let bytes = cell.as_bytes();
    let (is_negative, digits) = match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() || digits.len() > TENS.len() {
        return None;
    }
    let (mut whole, mut below) = (0_u64, None);
    for (position, letter) in digits.iter().enumerate() {
        match letter {
            b'0'..=b'9' => whole = whole * 10 + u64::from(letter - b'0'),
            b'.' if below.is_none() && position > 0 => below = Some(digits.len() - position - 1),
            _ => return None,
        }
    }
    if below.is_none() && digits.len() == TENS.len() {
        return None;
    }
    let value = whole as f64 / TENS[below.unwrap_or(0)];
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(line: &str, delimiter: u8) -> Vec<String> {
        let mut splitter = Splitter::default();
        let cells = splitter.split(line, delimiter);
        (0..cells.len()).map(|it| cells.get(it).to_owned()).collect()
    }

    #[test]
    fn cells_lose_the_blanks_around_them_and_nothing_else() {
        assert_eq!(cells("a, b c ,,d", b','), ["a", "b c", "", "d"]);
        assert_eq!(cells("a,", b','), ["a", ""]);
        assert_eq!(cells("  1   2 3", b' '), ["1", "2", "3"]);
        assert_eq!(cells("a\tb", b'\t'), ["a", "b"]);
    }

    #[test]
    fn a_quoted_cell_may_hold_the_delimiter_and_quotes() {
        assert_eq!(cells("1,\"a,b\",\"say \"\"hi\"\"\",2", b','), ["1", "a,b", "say \"hi\"", "2"]);
        assert_eq!(cells("1, \"a,b\" ,2", b','), ["1", "a,b", "2"]);
        assert_eq!(cells("\"é\";x", b';'), ["é", "x"]);
        assert_eq!(cells("5\" pipe,2", b','), ["5\" pipe", "2"]);
    }

    #[test]
    fn a_quote_that_is_never_closed_takes_the_rest_of_its_line_only() {
        assert_eq!(cells("1,\"a,b", b','), ["1", "a,b"]);
    }

    #[test]
    fn a_plain_decimal_is_what_the_standard_parser_says() {
        for text in [
            "0",
            "70.0",
            "-0.5",
            "1292765194675",
            "0.000005",
            "999999999999999",
            "12345678.1234567",
        ] {
            assert_eq!(plain_decimal(text), text.parse().ok(), "{text}");
        }
        for text in ["", "-", ".", ".5", "1e3", "1234567890123456", "1.2.3", "+1", "12 MiB", "N/A"]
        {
            assert_eq!(plain_decimal(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_decimals_are_exact(whole in 0_u64..1_000_000_000, below in 0_u32..1_000_000) {
            let text = format!("{whole}.{below}");
            if let Some(value) = plain_decimal(&text) {
                prop_assert_eq!(value, text.parse::<f64>().unwrap());
            }
        }

        #[test]
        fn no_line_makes_the_splitter_panic(line in "[a,\" ;é\t]{0,30}") {
            for delimiter in [b',', b' ', b'\t', b';'] {
                let _ = cells(&line, delimiter);
            }
        }
    }
}
