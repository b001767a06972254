//! What is read is never written over.

use crate::cli::args::{ForeignArgs, QuestionArgs};
use crate::cli::error::CliError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const REMEDY: &str = "choose another place for the output";

/// The files and folders that a command reads, without links and detours.
pub(crate) struct Protected {
    inputs: Vec<PathBuf>,
}

impl Protected {
    /// Everything that answering a question reads.
    pub(crate) fn question(arguments: &QuestionArgs) -> Self {
        let mut protected = Self::inputs(&arguments.inputs, &arguments.foreign);
        protected.add(arguments.policy.as_deref());
        protected
    }

    /// Inputs, and the mapping that says how to read them.
    pub(crate) fn inputs(inputs: &[PathBuf], foreign: &ForeignArgs) -> Self {
        let mut protected = Self { inputs: Vec::new() };
        protected.add(inputs.iter().map(PathBuf::as_path));
        protected.add(foreign.mapping.as_deref().map(Path::new));
        protected
    }

    /// Another file that is read.
    pub(crate) fn add<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) {
        let known = paths.into_iter().filter_map(|it| it.canonicalize().ok());
        self.inputs.extend(known.filter(|it| it.is_file() || it.is_dir()));
    }

    /// Errors: writing this file would overwrite an input, or change a recording that is read.
    pub(crate) fn check_file(&self, output: &Path) -> Result<(), CliError> {
        let place = resolved(output);
        if self.inputs.contains(&place) {
            let message = format!("{}: is an input and would be written over", output.display());
            return Err(CliError::usage(message, REMEDY));
        }
        match self.inputs.iter().find(|it| it.is_dir() && place.starts_with(it)) {
            None => Ok(()),
            Some(folder) => {
                let (output, folder) = (output.display(), folder.display());
                let message = format!("{output}: lies inside the input {folder}");
                Err(CliError::usage(message, REMEDY))
            }
        }
    }

    /// Errors: pictures in this folder would overwrite an input, or change a recording that is read.
    pub(crate) fn check_pictures(&self, folder: &Path) -> Result<(), CliError> {
        self.check_file(folder)?;
        let place = resolved(folder);
        let is_picture = |it: &&PathBuf| {
            it.parent() == Some(&place) && it.extension().is_some_and(|it| it == "png")
        };
        match self.inputs.iter().find(is_picture) {
            None => Ok(()),
            Some(input) => {
                let message = format!("{}: is an input among the pictures", input.display());
                Err(CliError::usage(message, REMEDY))
            }
        }
    }
}

/// A path without links and detours, as far as it exists; the rest is kept.
fn resolved(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    let mut present = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    loop {
        if let Ok(known) = present.canonicalize() {
            return missing.iter().rev().fold(known, |it, name| it.join(name));
        }
        let Some(name) = present.file_name().map(OsString::from) else { return path.to_owned() };
        missing.push(name);
        present.pop();
    }
}
