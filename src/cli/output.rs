//! Standard output carries the result, standard error everything else.

use crate::cli::error::CliError;
use crate::cli::whole_file::WholeFile;
use crate::domain::invisible::harmless_lines;
use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// What to do when standard output takes no more.
const ROOM: &str =
    "standard output leads to a place that takes no more: check its disk, or another file";

/// Writes the result to standard output; a reader that went away is no error.
pub(crate) fn result(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::failed("cannot write the result", &error).try_this(ROOM))
        }
        _ => Ok(()),
    }
}

/// Standard output for what is written piece by piece.
pub(crate) fn stream() -> Box<dyn std::io::Write> {
    Box::new(std::io::stdout().lock())
}

/// Text that was coloured for a terminal, as a file keeps it; a picture stays as it is.
pub(crate) fn without_styles(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => anstream::adapter::strip_str(text).to_string().into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

/// Writes a file that the user asked for; where that fails, what was there before stays.
pub(crate) fn file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|it| CliError::file(folder, "creating", &it))?;
    }
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes).map_err(|it| CliError::file(path, "writing", &it))?;
    file.finish()
}

/// Whether text on standard output may be coloured: `NO_COLOR`, `CLICOLOR_FORCE` and `TERM` decide.
pub(crate) fn has_colour() -> bool {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    !matches!(choice, anstream::ColorChoice::Never)
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Columns and rows of the terminal on standard output; `None` when it is none, or does not say.
pub(crate) fn terminal_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some((columns, rows))
}

/// Writes one of several results; whether anybody still reads.
pub(crate) fn one_of_many(text: &str) -> Result<bool, CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError::failed("cannot write the result", &error).try_this(ROOM)),
    }
}

/// Tells the user something that is no error.
pub(crate) fn warning(text: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    note(style, "warning:", text);
}

/// Tells the user what happens.
pub(crate) fn info(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", printable(text));
}

/// Prints an error with its causes and its remedy.
pub(crate) fn error(error: &CliError) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let green = Style::new().bold().fg_color(Some(AnsiColor::Green.into()));
    note(red, "error:", error.message());
    for cause in error.causes() {
        note(Style::new(), "caused by:", cause);
    }
    if let Some(remedy) = error.remedy() {
        note(green, "help:", remedy);
    }
}

fn note(style: Style, word: &str, text: &str) {
    let _ = writeln!(anstream::stderr(), "{style}{word}{style:#} {}", printable(text));
}

/// Text from files and names may hold letters that would steer a terminal or turn its lines around.
fn printable(text: &str) -> String {
    harmless_lines(text, '\u{fffd}')
}
