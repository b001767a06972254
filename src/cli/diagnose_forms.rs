//! A diagnosis, or the result of an experiment, in the form that was asked for.

use crate::analysis::diagnosis_findings::ExperimentResult;
use crate::cli::diagnose_args::{DiagnoseArgs, DiagnosisForm};
use crate::cli::ending::form_of;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::report::Report;
use crate::report::diagnosis::{DiagnosisInput, experiment_report, picture, report};
use crate::report::plot::theme::Theme;
use crate::report::plot::{Format, render};
use crate::report::render::{html, json, text};
use std::path::Path;

/// Pixels of a PNG for each point of the figure.
const PNG_SCALE: u32 = 2;

/// The form: the one that was named, or that of the file's ending, or text.
pub(crate) fn form(arguments: &DiagnoseArgs) -> Result<DiagnosisForm, CliError> {
    let known = [
        ("json", DiagnosisForm::Json),
        ("html", DiagnosisForm::Html),
        ("htm", DiagnosisForm::Html),
        ("png", DiagnosisForm::Png),
        ("svg", DiagnosisForm::Svg),
    ];
    let form = form_of(arguments.output, arguments.out.as_deref(), (DiagnosisForm::Text, &known))?;
    let is_picture = matches!(form, DiagnosisForm::Png | DiagnosisForm::Svg);
    if is_picture && arguments.experiment.experiment.is_some() {
        return Err(CliError::usage(
            "the result of an experiment has no picture",
            "choose -o text, json or html",
        ));
    }
    if form == DiagnosisForm::Png && arguments.out.is_none() && output::is_terminal() {
        return Err(CliError::usage(
            "a terminal cannot show a PNG",
            "name a file for it: --out FILE",
        ));
    }
    Ok(form)
}

/// A diagnosis as bytes.
pub(crate) fn diagnosis(
    input: &DiagnosisInput<'_>,
    form: DiagnosisForm,
) -> Result<Vec<u8>, CliError> {
    let format = match form {
        DiagnosisForm::Json => {
            return json::diagnosis(input.diagnosis, input.tool_version, input.command)
                .map(String::into_bytes)
                .map_err(|it| CliError::failed("cannot write the result as JSON", &it));
        }
        DiagnosisForm::Text | DiagnosisForm::Html => return Ok(page(&report(input), form)),
        DiagnosisForm::Png => Format::Png { scale: PNG_SCALE },
        DiagnosisForm::Svg => Format::Svg,
    };
    let figure = picture(input.diagnosis);
    render(&figure, figure.natural_size(), Theme::Light, format)
        .map_err(|it| CliError::failed("cannot draw the picture", &it))
}

/// The result of an experiment as bytes.
pub(crate) fn experiment(
    result: &ExperimentResult,
    form: DiagnosisForm,
    command: &str,
) -> Result<Vec<u8>, CliError> {
    let version = env!("CARGO_PKG_VERSION");
    match form {
        DiagnosisForm::Json => json::experiment(result, version, command)
            .map(String::into_bytes)
            .map_err(|it| CliError::failed("cannot write the result as JSON", &it)),
        _ => Ok(page(&experiment_report(result, version, command), form)),
    }
}

fn page(report: &Report, form: DiagnosisForm) -> Vec<u8> {
    match form {
        DiagnosisForm::Html => html::page(report).into_bytes(),
        _ => text::text(report, output::width(), output::has_colour()).into_bytes(),
    }
}

/// Writes the result to its file, or to standard output.
pub(crate) fn deliver(bytes: &[u8], out: Option<&Path>) -> Result<(), CliError> {
    match out {
        None => output::result(bytes),
        Some(path) => {
            output::file(path, bytes)?;
            output::info(&format!("wrote {}", path.display()));
            Ok(())
        }
    }
}
