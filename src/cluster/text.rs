//! What all text shares: marks, ends of lines, cells that say nothing.

/// A line and its number, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) text: &'a str,
}

/// The text without a byte order mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The lines of a text, whatever ends them.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().zip(1..).map(|(text, number)| Line { number, text: text.trim_end_matches('\r') })
}

/// The start of a text for a message, on one line.
pub(super) fn first_words(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
    let start: String = line.chars().filter(|it| !it.is_control()).take(40).collect();
    if start.len() < line.len() { format!("{start}…") } else { start }
}

/// A cell that says something; `None` for the spellings of "no reading".
pub(super) fn said(cell: &str) -> Option<&str> {
    let cell = cell.trim();
    let is_silent = matches!(
        cell,
        "" | "-"
            | "N/A"
            | "[N/A]"
            | "[Not Supported]"
            | "Not Supported"
            | "[Unknown Error]"
            | "ERR!"
    ) || cell.contains("Function Not Found")
        || cell.contains("has been deprecated");
    (!is_silent).then_some(cell)
}

/// A size such as `40448 MiB` or `40448MiB`, MiB.
pub(super) fn mebibytes(cell: &str) -> Option<u64> {
    said(cell)?.strip_suffix("MiB")?.trim_end().parse().ok()
}

/// A plain count.
pub(super) fn count(cell: &str) -> Option<u32> {
    said(cell)?.parse().ok()
}
