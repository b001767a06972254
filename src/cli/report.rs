//! `cotenant report`: one HTML file, and every figure as PNG.

use crate::cli::analyze::exit_code;
use crate::cli::args::ReportArgs;
use crate::cli::compare;
use crate::cli::ending::check_page;
use crate::cli::error::{CliError, NOT_ENOUGH_DATA};
use crate::cli::figures;
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::cli::results::{answer_and_weigh, title_of};
use crate::report::Report;
use crate::report::plot::theme::Theme;
use crate::report::plot::{self, Format};
use crate::report::render;
use std::path::{Path, PathBuf};

/// Where the page goes when nobody says.
const PAGE: &str = "report.html";
/// Pixels of a PNG for each point of the figure.
const PNG_SCALE: u32 = 2;

pub(crate) fn run(arguments: &ReportArgs, command: &str) -> Result<u8, CliError> {
    if !arguments.comparison.compare.is_empty() {
        return compare::run(arguments, command);
    }
    let protected = Protected::question(&arguments.question);
    let place = arguments.output.clone().unwrap_or_else(|| PathBuf::from(PAGE));
    protected.check_file(&place)?;
    check_page(&place)?;
    figures::check_place(&arguments.figures, &protected)?;
    arguments.png.iter().try_for_each(|it| figures::check_pictures(it, &protected))?;
    let (results, weighed) = answer_and_weigh(&arguments.question)?;
    let title = arguments.title.clone().unwrap_or_else(|| title_of(&arguments.question.inputs));
    let report = results.report(&weighed, &title, command);
    figures::write(&report, &arguments.figures)?;
    if arguments.figures.leaves_result(arguments.output.is_some()) {
        output::file(&place, render::html::page(&report).as_bytes())?;
        output::info(&format!("wrote {}", place.display()));
    }
    if let Some(folder) = &arguments.png {
        let count = pictures(&report, folder)?;
        output::info(&format!("wrote {count} figures into {}", folder.display()));
    }
    let code = exit_code(&results, None);
    if code == NOT_ENOUGH_DATA {
        output::warning("nothing could be judged, so the exit code is 3; the report says why");
    }
    Ok(code)
}

/// Writes every figure of a report as PNG; returns how many there were.
pub(crate) fn pictures(report: &Report, folder: &Path) -> Result<usize, CliError> {
    let figures = plot::figures(report);
    for named in &figures {
        let size = named.figure.natural_size();
        let format = Format::Png { scale: PNG_SCALE };
        let bytes = plot::render(named.figure, size, Theme::Light, format)
            .map_err(|it| CliError::failed(format!("cannot draw the figure {}", named.id), &it))?;
        output::file(&folder.join(format!("{}.png", named.id)), &bytes)?;
    }
    Ok(figures.len())
}
