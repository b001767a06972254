//! Single figures of a report as files: chosen by name, at any size, on a light or a dark ground.

use crate::cli::error::CliError;
use crate::cli::figure_args::{FigureArgs, FigureKind, Ground};
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::report::Report;
use crate::report::plot::theme::Theme;
use crate::report::plot::{FileKind, NamedFigure, figures, single};
use std::path::{Path, PathBuf};

/// The name that stands for naming all figures.
const LIST: &str = "list";
/// The name that stands for every figure.
const ALL: &str = "all";

/// Refuses places of figures that are inputs, before anything is computed.
pub(crate) fn check_place(arguments: &FigureArgs, protected: &Protected) -> Result<(), CliError> {
    if arguments.figure.is_empty() {
        return Ok(());
    }
    match place(arguments)? {
        Place::File(path, _) => protected.check_file(&path),
        Place::Folder(folder, _) => protected.check_pictures(&folder),
    }
}

/// Writes the chosen figures of a report, or names all that there are.
///
/// Errors: a name that no figure has; several figures for one file; a size that is too small for one of them.
pub(crate) fn write(report: &Report, arguments: &FigureArgs) -> Result<(), CliError> {
    if arguments.figure.is_empty() {
        return Ok(());
    }
    let all = figures(report);
    if arguments.figure.iter().any(|it| it == LIST) {
        return output::result(listed(&all).as_bytes());
    }
    let chosen = chosen(&all, &arguments.figure)?;
    let place = place(arguments)?;
    if let (Place::File(path, _), [_, _, ..]) = (&place, chosen.as_slice()) {
        let names: Vec<&str> = chosen.iter().map(|it| it.id).collect();
        return Err(CliError::usage(
            format!("{}: one file cannot hold {} figures", path.display(), chosen.len()),
            format!("name a folder, or one figure: {}", names.join(", ")),
        ));
    }
    // All are drawn before the first is written, so that an error leaves no half of them.
    let mut drawn: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for named in &chosen {
        drawn.push((place.of(named.id), bytes(named, arguments, place.kind())?));
    }
    for (path, bytes) in &drawn {
        output::file(path, bytes)?;
        output::info(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn bytes(
    named: &NamedFigure<'_>,
    arguments: &FigureArgs,
    kind: FigureKind,
) -> Result<Vec<u8>, CliError> {
    let theme = match arguments.theme {
        Some(Ground::Dark) => Theme::Dark,
        Some(Ground::Light) | None => Theme::Light,
    };
    let kind = match kind {
        FigureKind::Png => FileKind::Png,
        FigureKind::Svg => FileKind::Svg,
    };
    single(named, arguments.size, theme, kind).map_err(|it| {
        let message = format!("cannot draw the figure {}: {it}", named.id);
        match arguments.size {
            Some(_) => CliError::usage(message, "give a --size that it fits into, or none"),
            None => CliError::failed(message, &it),
        }
    })
}

/// One line for each figure: its name and what to see in it.
fn listed(all: &[NamedFigure<'_>]) -> String {
    let widest = all.iter().map(|it| it.id.chars().count()).max().unwrap_or(0);
    all.iter().map(|it| format!("{:<widest$}  {}\n", it.id, it.caption)).collect()
}

/// The figures of these names, in the order of the report: by the whole name, or else by how it begins.
fn chosen<'a>(all: &[NamedFigure<'a>], names: &[String]) -> Result<Vec<NamedFigure<'a>>, CliError> {
    let mut is_chosen = vec![false; all.len()];
    for name in names {
        let wanted = |it: &NamedFigure<'_>| match all.iter().any(|it| it.id == name) {
            true => it.id == name,
            false => name == ALL || (!name.is_empty() && it.id.starts_with(name.as_str())),
        };
        let before = is_chosen.clone();
        let found: Vec<bool> = all.iter().map(wanted).collect();
        if !found.contains(&true) {
            return Err(unknown(all, name));
        }
        is_chosen = before.iter().zip(&found).map(|it| *it.0 || *it.1).collect();
    }
    Ok(all.iter().zip(is_chosen).filter(|it| it.1).map(|it| *it.0).collect())
}

fn unknown(all: &[NamedFigure<'_>], name: &str) -> CliError {
    let known: Vec<&str> = all.iter().map(|it| it.id).collect();
    let remedy = match known.as_slice() {
        [] => "this result has no figures".to_owned(),
        _ => format!("figures of this result: {}; or `all` of them", known.join(", ")),
    };
    CliError::usage(format!("no figure is called `{name}`, and no name begins so"), remedy)
}

/// Refuses a folder for every figure that is an input, or looks like a file.
pub(crate) fn check_pictures(folder: &Path, protected: &Protected) -> Result<(), CliError> {
    check_folder(
        folder,
        "--png takes a folder; --figure NAME --figure-out FILE writes one picture",
    )?;
    protected.check_pictures(folder)
}

/// Errors: the place looks like a file; nobody who types `x.pdf` wants a folder of that name.
fn check_folder(path: &Path, instead: &str) -> Result<(), CliError> {
    let ending = path.extension().and_then(|it| it.to_str());
    match ending.filter(|_| !is_folder(path)) {
        None => Ok(()),
        Some(ending) => Err(CliError::usage(
            format!("{}: nothing that is written here ends in `.{ending}`", path.display()),
            format!(
                "{instead}; for a folder of that name, end it with a slash: {}/",
                path.display()
            ),
        )),
    }
}

/// Whether the path is a folder that is there, or says by its last letter that it is meant as one.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Where figures go, and as what.
#[derive(Debug)]
enum Place {
    File(PathBuf, FigureKind),
    Folder(PathBuf, FigureKind),
}

impl Place {
    fn kind(&self) -> FigureKind {
        match self {
            Self::File(_, kind) | Self::Folder(_, kind) => *kind,
        }
    }

    fn of(&self, id: &str) -> PathBuf {
        match self {
            Self::File(path, _) => path.clone(),
            Self::Folder(folder, FigureKind::Png) => folder.join(format!("{id}.png")),
            Self::Folder(folder, FigureKind::Svg) => folder.join(format!("{id}.svg")),
        }
    }
}

fn place(arguments: &FigureArgs) -> Result<Place, CliError> {
    let path = arguments.figure_out.clone().unwrap_or_else(|| PathBuf::from("."));
    let ending = Path::extension(&path).and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    let of_file = match ending.as_deref() {
        Some("png") => Some(FigureKind::Png),
        Some("svg") => Some(FigureKind::Svg),
        _ => None,
    };
    match (of_file.filter(|_| !is_folder(&path)), arguments.figure_format) {
        (None, kind) => {
            check_folder(&path, "figures are .png or .svg files")?;
            Ok(Place::Folder(path, kind.unwrap_or(FigureKind::Png)))
        }
        (Some(kind), None) => Ok(Place::File(path, kind)),
        (Some(kind), Some(named)) if kind == named => Ok(Place::File(path, kind)),
        (Some(_), Some(_)) => Err(CliError::usage(
            format!("{}: its ending and --figure-format disagree", path.display()),
            "leave --figure-format out, or name a folder",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(out: &str) -> Result<Place, CliError> {
        place(&FigureArgs {
            figure: vec![ALL.to_owned()],
            figure_out: Some(PathBuf::from(out)),
            figure_format: None,
            size: None,
            theme: None,
        })
    }

    #[test]
    fn an_ending_that_no_picture_has_makes_no_folder_of_that_name() {
        for out in ["x.pdf", "a/x.jpg", "shots.2026"] {
            let error = placed(out).expect_err(out);
            let remedy = error.remedy().unwrap_or_default();
            assert!(
                remedy.contains(".png or .svg") && remedy.contains(&format!("{out}/")),
                "{remedy}"
            );
            assert_eq!(error.exit_code(), 2);
        }
        for out in ["slides", "shots.2026/", "x.png/", "."] {
            assert!(matches!(placed(out), Ok(Place::Folder(..))), "{out}");
        }
        for out in ["x.png", "a/X.SVG"] {
            assert!(matches!(placed(out), Ok(Place::File(..))), "{out}");
        }
    }
}
