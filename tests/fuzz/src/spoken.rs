//! A command of the program, run here, and what it printed.

use crate::folder::folder;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The real standard error.
static KEPT_ERR: OnceLock<OwnedFd> = OnceLock::new();

/// The exit codes that docs/CLI.md promises.
pub const DOCUMENTED_CODES: [u8; 6] = [0, 1, 2, 3, 4, 5];

/// How a command ended.
#[derive(Debug)]
pub struct Answer {
    /// One of [`DOCUMENTED_CODES`].
    pub code: u8,
    /// What stood on standard output.
    pub stdout: Vec<u8>,
    /// What stood on standard error.
    pub stderr: Vec<u8>,
}

/// Runs a command line, without the name of the program.
///
/// Panics when the exit code is none that is documented.
pub fn command<T: Into<OsString>>(arguments: impl IntoIterator<Item = T>) -> Answer {
    let line: Vec<OsString> = std::iter::once(OsString::from("cotenant"))
        .chain(arguments.into_iter().map(Into::into))
        .collect();
    let (mut out, mut err) = (catch("stdout"), catch("stderr"));
    let kept_out = rustix::io::dup(rustix::stdio::stdout()).expect("standard output is open");
    let kept_err = KEPT_ERR.get_or_init(show_panics);
    rustix::stdio::dup2_stdout(&out).expect("standard output can be caught");
    rustix::stdio::dup2_stderr(&err).expect("standard error can be caught");
    let ended = cotenant::cli::main(line.clone());
    rustix::stdio::dup2_stdout(&kept_out).expect("standard output can be given back");
    rustix::stdio::dup2_stderr(kept_err).expect("standard error can be given back");
    let code = DOCUMENTED_CODES.into_iter().find(|it| ended == ExitCode::from(*it));
    let code = code.unwrap_or_else(|| panic!("undocumented exit code {ended:?}: {line:?}"));
    Answer { code, stdout: whole(&mut out), stderr: whole(&mut err) }
}

/// Lets a panic be seen although standard error is caught; returns the real one.
fn show_panics() -> OwnedFd {
    let real = || rustix::io::dup(rustix::stdio::stderr()).expect("standard error is open");
    let (kept, for_panics) = (real(), real());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = rustix::stdio::dup2_stderr(&for_panics);
        hook(panic);
    }));
    kept
}

fn catch(name: &str) -> File {
    let path = folder().join(name);
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(true);
    options.open(path).expect("a file can be made")
}

fn whole(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).expect("a file can be read from its start");
    file.read_to_end(&mut bytes).expect("a file can be read");
    bytes
}
