//! Standard output carries the result, standard error everything else.

use crate::cli::error::CliError;
use crate::domain::invisible::harmless_lines;
use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Width of text when the terminal does not say.
const PLAIN_WIDTH: usize = 80;

/// Writes the result to standard output; a reader that went away is no error.
pub(crate) fn result(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::failed("cannot write the result", &error))
        }
        _ => Ok(()),
    }
}

/// Writes a file that the user asked for.
pub(crate) fn file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|it| CliError::file(folder, "creating", &it))?;
    }
    std::fs::write(path, bytes).map_err(|it| CliError::file(path, "writing", &it))
}

/// Whether text on standard output may be coloured.
pub(crate) fn has_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
        && std::io::stdout().is_terminal()
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Columns of text on standard output.
pub(crate) fn width() -> usize {
    PLAIN_WIDTH
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
