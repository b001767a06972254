//! The command line as a report may repeat it: file names without folders, values of secrets left out.

use std::ffi::OsString;
use std::path::Path;

/// The arguments on one line, without folders.
pub(crate) fn redacted(arguments: &[OsString]) -> String {
    let shown = arguments.iter().enumerate().map(|(position, argument)| {
        let text = argument.to_string_lossy();
        let name = Path::new(argument).file_name().map(|it| it.to_string_lossy().into_owned());
        match (position, name) {
            (0, _) => "cotenant".to_owned(),
            (_, Some(name)) if text.contains('/') => name,
            _ => text.into_owned(),
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}
