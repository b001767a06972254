//! The inputs of a command; those that can be read only once are kept in temporary files.

use crate::cli::error::CliError;
use crate::cli::input::ELSEWHERE;
use std::fs::File;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// An input that may be opened as often as needed.
pub(crate) struct InputFile {
    /// File name for messages and for the recording.
    pub(crate) name: String,
    given: PathBuf,
    spooled: Option<NamedTempFile>,
}

impl InputFile {
    /// Where to read it.
    pub(crate) fn path(&self) -> &Path {
        self.spooled.as_ref().map_or(&self.given, |it| it.path())
    }

    /// The path that the user gave, for messages.
    pub(crate) fn shown(&self) -> &Path {
        &self.given
    }
}

/// Opens the way to every input; pipes and other streams are read to their end.
pub(crate) fn gather(paths: &[PathBuf]) -> Result<Vec<InputFile>, CliError> {
    paths.iter().map(|it| input_file(it)).collect()
}

/// Name of an input for people, without folders.
pub(crate) fn name_of(path: &Path) -> String {
    match path.file_name() {
        _ if is_standard_input(path) => "stdin".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    }
}

/// The same, where a folder called `recording` goes by the folder around it.
pub(crate) fn title(path: &Path) -> String {
    let around = path.parent().and_then(Path::file_name);
    match (around, name_of(path)) {
        (Some(around), name) if name == "recording" => around.to_string_lossy().into_owned(),
        (_, name) => name,
    }
}

/// That title without its ending.
pub(crate) fn called(path: &Path) -> String {
    let title = title(path);
    let stem = Path::new(&title).file_stem();
    stem.map_or(title.clone(), |it| it.to_string_lossy().into_owned())
}

/// Whether a path is the argument for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

fn input_file(path: &Path) -> Result<InputFile, CliError> {
    let failed = |it: std::io::Error| CliError::file(path, "opening", &it);
    let spooled = if is_standard_input(path) {
        Some(spool(path, &mut std::io::stdin().lock())?)
    } else {
        let kind = std::fs::metadata(path).map_err(failed)?.file_type();
        match kind.is_file() || kind.is_dir() {
            true => None,
            false => Some(spool(path, &mut File::open(path).map_err(failed)?)?),
        }
    };
    Ok(InputFile { name: name_of(path), given: path.to_owned(), spooled })
}

fn spool(path: &Path, stream: &mut dyn std::io::Read) -> Result<NamedTempFile, CliError> {
    let mut file = NamedTempFile::new()
        .map_err(|it| CliError::failed("cannot make a temporary file", &it).try_this(ELSEWHERE))?;
    std::io::copy(stream, &mut file)
        .map_err(|it| CliError::file(path, "copying into a temporary file", &it))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_called_recording_goes_by_the_one_around_it() {
        assert_eq!(title(Path::new("runs/night/recording")), "night");
        assert_eq!(title(Path::new("recording")), "recording");
        assert_eq!(called(Path::new("runs/night/recording")), "night");
        assert_eq!(called(Path::new("runs/smi.csv")), "smi");
    }
}
