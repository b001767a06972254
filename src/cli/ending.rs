//! The form of a result, told by the ending of the file that it is written to.

use crate::cli::error::CliError;
use std::path::Path;

/// The form that the ending names; the first of `forms` without a file, without an ending, and for `.txt`.
///
/// - `named`: the form that the user named with `-o`; it goes before any ending.
/// - `forms`: endings without dot, in lower case, each with its form.
///
/// Errors: an ending that is none of them, which nobody would find a table in.
pub(crate) fn form_of<F: Copy>(
    named: Option<F>,
    out: Option<&Path>,
    forms: (F, &[(&str, F)]),
) -> Result<F, CliError> {
    let (plain, known) = forms;
    let ending = out.and_then(Path::extension).and_then(|it| it.to_str()).map(str::to_lowercase);
    let (Some(path), Some(ending), None) = (out, ending, named) else {
        return Ok(named.unwrap_or(plain));
    };
    if ending == "txt" {
        return Ok(plain);
    }
    if let Some((_, form)) = known.iter().find(|it| it.0 == ending) {
        return Ok(*form);
    }
    let endings: Vec<String> = known.iter().map(|it| format!(".{}", it.0)).collect();
    Err(CliError::usage(
        format!("{}: no form has the ending `.{ending}`", path.display()),
        format!("known endings: {}, .txt; or name the form with -o", endings.join(", ")),
    ))
}

/// Refuses a place for a page whose ending is another form's: the wrong program would open it.
pub(crate) fn check_page(place: &Path) -> Result<(), CliError> {
    let ending = place.extension().and_then(|it| it.to_str()).map(str::to_lowercase);
    match ending.as_deref() {
        None | Some("html" | "htm") => Ok(()),
        Some(ending) => Err(CliError::usage(
            format!(
                "{}: a report is a page, and no page has the ending `.{ending}`",
                place.display()
            ),
            "give a file that ends in .html; `analyze -o json` has the same as JSON, --figure a picture",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(named: Option<u8>, out: &str) -> Result<u8, CliError> {
        let out = Some(Path::new(out)).filter(|_| !out.is_empty());
        form_of(named, out, (0, &[("json", 1), ("html", 2), ("htm", 2)]))
    }

    #[test]
    fn an_ending_names_the_form_and_an_unknown_one_is_refused() {
        for (out, expected) in [("a.json", 1), ("a.HTM", 2), ("a", 0), ("a.txt", 0), ("", 0)] {
            assert_eq!(form(None, out).unwrap(), expected, "{out}");
        }
        let error = form(None, "h.xyz").unwrap_err();
        assert_eq!(error.message(), "h.xyz: no form has the ending `.xyz`");
        assert!(error.remedy().unwrap().contains(".json, .html, .htm, .txt"));
        assert_eq!(error.exit_code(), 2);
        assert_eq!(form(Some(1), "h.xyz").unwrap(), 1, "the form was named");
    }
}
