//! `cotenant report --compare`: two recordings, before and after a change.

use crate::analysis::compare::findings::{ChangeVerdict, Comparison, ComparisonAnswer};
use crate::analysis::compare::{ComparedSide, compare, of_one_recording};
use crate::cli::args::{QuestionArgs, ReportArgs};
use crate::cli::compare_args::Worsening;
use crate::cli::ending::check_page;
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::figures;
use crate::cli::input::open;
use crate::cli::node_files::policy;
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::cli::progress::during;
use crate::cli::report::pictures;
use crate::cli::results::{Results, analyse, question, title_of};
use crate::cli::same_input::is_same;
use crate::cli::terminal;
use crate::domain::ident::Subject;
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;
use crate::report::compare::{ComparisonInput, report};
use crate::report::render::text::{Look, sheet};
use crate::report::render::{html, json};
use crate::storage::{Selection, StoredRecording};
use std::path::{Path, PathBuf};

/// Where the page goes when nobody says.
const PAGE: &str = "report.html";

/// One of the two, opened and analysed.
struct Opened {
    name: String,
    results: Results,
    window: Option<TimeSpan>,
    series: Recording,
}

pub(crate) fn run(arguments: &ReportArgs, command: &str) -> Result<u8, CliError> {
    let (before, after) = places(arguments)?;
    let form = Form::of(arguments.output.as_deref())?;
    check_places(arguments, &form)?;
    let mut sides = [opened(&before, &arguments.question)?, opened(&after, &arguments.question)?];
    tell_apart(&mut sides, &before, &after);
    let [first, second] = &sides;
    let found = during("comparing", || compare(&side(first), &side(second)));
    let found = if is_same(&before, &after)? { of_one_recording(found) } else { found };
    let input = ComparisonInput {
        comparison: &found,
        suitability_before: &first.results.suitability,
        suitability_after: &second.results.suitability,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    let mut page = report(&input);
    if let Some(title) = &arguments.title {
        page.title.clone_from(title);
    }
    figures::write(&page, &arguments.figures)?;
    if arguments.figures.leaves_result(arguments.output.is_some()) {
        form.deliver(&input, &page)?;
    }
    if let Some(folder) = &arguments.png {
        let count = pictures(&page, folder)?;
        output::info(&format!("wrote {count} figures into {}", folder.display()));
    }
    Ok(exit_code(&found, arguments.comparison.fail_on))
}

/// Two recordings of one name are told apart by the folders that they lie in.
fn tell_apart(sides: &mut [Opened; 2], before: &[PathBuf], after: &[PathBuf]) {
    if sides[0].name != sides[1].name {
        return;
    }
    for (side, paths) in sides.iter_mut().zip([before, after]) {
        let folder = paths.first().and_then(|it| it.parent()).and_then(Path::file_name);
        if let Some(folder) = folder {
            side.name = format!("{}/{}", folder.to_string_lossy(), side.name);
        }
    }
}

/// The inputs before and after.
///
/// Errors: fewer or more than two sides.
fn places(arguments: &ReportArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CliError> {
    let inputs = &arguments.question.inputs;
    match (inputs.as_slice(), arguments.comparison.compare.as_slice()) {
        ([], [before, after]) => Ok((vec![before.clone()], vec![after.clone()])),
        ([_, ..], [after]) => Ok((inputs.clone(), vec![after.clone()])),
        _ => Err(CliError::usage(
            "a comparison needs two recordings, one before and one after",
            "cotenant report BEFORE --compare AFTER; import logs that belong together first",
        )),
    }
}

fn check_places(arguments: &ReportArgs, form: &Form) -> Result<(), CliError> {
    let mut protected = Protected::question(&arguments.question);
    protected.add(arguments.comparison.compare.iter().map(PathBuf::as_path));
    if let Some(path) = form.file() {
        protected.check_file(path)?;
    }
    figures::check_place(&arguments.figures, &protected)?;
    arguments.png.iter().try_for_each(|it| figures::check_pictures(it, &protected))
}

fn opened(inputs: &[PathBuf], question_of: &QuestionArgs) -> Result<Opened, CliError> {
    let (policy, _) = policy(question_of.policy.as_deref())?;
    let input = open(inputs, &question_of.foreign)?;
    let asked = question(question_of, input.recording.outline())?;
    let results = analyse(&input.recording, &asked, policy)?;
    let selection = Selection { span: asked.span, ..wanted(input.recording.outline()) };
    let series = series(&input.recording, &selection)?;
    Ok(Opened { name: title_of(inputs), results, window: asked.span, series })
}

/// Devices and tenants; of processes only the shape counts, which is known by now.
fn wanted(outline: &Outline) -> Selection {
    let is_compared = |it: &&Subject| matches!(it, Subject::Device { .. } | Subject::Tenant { .. });
    let subjects = outline.subjects.iter().filter(is_compared).cloned().collect();
    Selection { subjects: Some(subjects), ..Selection::default() }
}

fn series(recording: &StoredRecording, selection: &Selection) -> Result<Recording, CliError> {
    Ok(during("reading", || recording.load(selection))?)
}

fn side(it: &Opened) -> ComparedSide<'_> {
    ComparedSide {
        name: &it.name,
        outline: &it.results.outline,
        findings: &it.results.findings,
        window: it.window,
        recording: &it.series,
    }
}

/// In which form, and where to.
enum Form {
    /// A page, and the text on standard output.
    Both(PathBuf),
    Html(PathBuf),
    JsonFile(PathBuf),
    TextFile(PathBuf),
    Json,
    Text,
}

impl Form {
    /// `table` and `json` are printed, a file has the form of its ending.
    ///
    /// Errors: an ending that none of them has.
    fn of(output: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = output else { return Ok(Self::Both(PathBuf::from(PAGE))) };
        let ending = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
        Ok(match (path.to_str(), ending.as_deref()) {
            (Some("table" | "text"), _) => Self::Text,
            (Some("json"), _) => Self::Json,
            (_, Some("json")) => Self::JsonFile(path.to_owned()),
            (_, Some("txt")) => Self::TextFile(path.to_owned()),
            _ => {
                check_page(path)?;
                Self::Html(path.to_owned())
            }
        })
    }

    fn file(&self) -> Option<&Path> {
        match self {
            Self::Both(it) | Self::Html(it) | Self::JsonFile(it) | Self::TextFile(it) => Some(it),
            Self::Json | Self::Text => None,
        }
    }

    fn deliver(
        &self,
        input: &ComparisonInput<'_>,
        page: &crate::report::Report,
    ) -> Result<(), CliError> {
        let as_json = || {
            json::comparison(input)
                .map_err(|it| CliError::failed("cannot write the result as JSON", &it))
        };
        let shown = || terminal::shown(page);
        match self {
            Self::Json => return output::result(as_json()?.as_bytes()),
            Self::Text => return output::result(shown().as_bytes()),
            Self::JsonFile(path) => output::file(path, as_json()?.as_bytes())?,
            Self::TextFile(path) => {
                let look = Look { has_colour: false, ..terminal::look() };
                output::file(path, sheet(page, look).as_bytes())?;
            }
            Self::Html(path) => output::file(path, html::page(page).as_bytes())?,
            Self::Both(path) => {
                output::file(path, html::page(page).as_bytes())?;
                output::result(shown().as_bytes())?;
            }
        }
        if let Some(path) = self.file() {
            output::info(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// 4 when what was asked about came up; 3 when no service could be compared.
fn exit_code(found: &Comparison, fail_on: Option<Worsening>) -> u8 {
    let is_worse = |it: &crate::analysis::compare::findings::ServiceChange| {
        it.verdict == ChangeVerdict::Worse && !it.is_small
    };
    let is_alarm = match fail_on {
        None => false,
        Some(Worsening::Regression) => found.is_regression(),
        Some(Worsening::LikelyRegression) => found.services.iter().any(is_worse),
    };
    match found.answer {
        _ if is_alarm => FINDINGS,
        ComparisonAnswer::CannotTell => NOT_ENOUGH_DATA,
        _ => 0,
    }
}
