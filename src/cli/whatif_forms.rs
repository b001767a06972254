//! The answer to a what-if in the form that was asked for.

use crate::cli::ending::form_of;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::whatif_args::{WhatIfArgs, WhatIfForm};
use crate::report::plot::theme::Theme;
use crate::report::plot::{Format, render};
use crate::report::render::csv::whatif as lines;
use crate::report::render::{html, json, text};
use crate::report::whatif::{WhatIf, picture, report};

/// Pixels of a PNG for each point of the figure.
const PNG_SCALE: u32 = 2;

/// The form: the one that was named, or that of the file's ending, or text.
pub(crate) fn form(arguments: &WhatIfArgs) -> Result<WhatIfForm, CliError> {
    let known = [
        ("json", WhatIfForm::Json),
        ("csv", WhatIfForm::Csv),
        ("html", WhatIfForm::Html),
        ("htm", WhatIfForm::Html),
        ("png", WhatIfForm::Png),
        ("svg", WhatIfForm::Svg),
    ];
    let form = form_of(arguments.output, arguments.out.as_deref(), (WhatIfForm::Table, &known))?;
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
            return Ok(text::text(&report, output::width(), output::has_colour()).into_bytes());
        }
        WhatIfForm::Png => Format::Png { scale: PNG_SCALE },
        WhatIfForm::Svg => Format::Svg,
    };
    let figure = picture(result);
    render(&figure, figure.natural_size(), Theme::Light, format)
        .map_err(|it| CliError::failed("cannot draw the picture", &it))
}
