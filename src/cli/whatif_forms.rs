//! The answer to a what-if in the form that was asked for.

use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::terminal;
use crate::cli::whatif_args::{WhatIfArgs, WhatIfForm};
use crate::report::plot::theme::Theme;
use crate::report::plot::{Format, render};
use crate::report::render::csv::whatif as lines;
use crate::report::render::{html, json};
use crate::report::whatif::{WhatIf, picture, report};
use std::path::Path;

/// Pixels of a PNG for each point of the figure.
const PNG_SCALE: u32 = 2;

/// The form: the one that was named, or that of the file's ending, or text.
pub(crate) fn form(arguments: &WhatIfArgs) -> Result<WhatIfForm, CliError> {
    let ending = arguments.out.as_deref().and_then(Path::extension).and_then(|it| it.to_str());
    let of_file = match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("json") => WhatIfForm::Json,
        Some("csv") => WhatIfForm::Csv,
        Some("html" | "htm") => WhatIfForm::Html,
        Some("png") => WhatIfForm::Png,
        Some("svg") => WhatIfForm::Svg,
        _ => WhatIfForm::Table,
    };
    let form = arguments.output.unwrap_or(of_file);
    if form == WhatIfForm::Png && arguments.out.is_none() && output::is_terminal() {
        let message = "a terminal cannot show a PNG";
        return Err(CliError::usage(message, "name a file for it: --out FILE"));
    }
    Ok(form)
}

/// The answer as bytes.
pub(crate) fn bytes(result: &WhatIf<'_>, form: WhatIfForm) -> Result<Vec<u8>, CliError> {
    let format = match form {
        WhatIfForm::Json => {
            return json::whatif(result)
                .map(String::into_bytes)
                .map_err(|it| CliError::failed("cannot write the result as JSON", &it));
        }
        WhatIfForm::Csv => {
            return lines(result)
                .map(String::into_bytes)
                .map_err(|it| CliError::failed("cannot write the result as CSV", &it));
        }
        WhatIfForm::Html => return Ok(html::page(&report(result)).into_bytes()),
        WhatIfForm::Table => {
            let report = report(result);
            return Ok(terminal::shown(&report).into_bytes());
        }
        WhatIfForm::Png => Format::Png { scale: PNG_SCALE },
        WhatIfForm::Svg => Format::Svg,
    };
    let figure = picture(result);
    render(&figure, figure.natural_size(), Theme::Light, format)
        .map_err(|it| CliError::failed("cannot draw the picture", &it))
}
