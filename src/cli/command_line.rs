//! The command line as a report may repeat it: file names without their folders.

use crate::domain::secrets::masked_url;
use std::ffi::OsString;
use std::path::Path;

/// The arguments on one line, without folders.
pub(crate) fn redacted(arguments: &[OsString]) -> String {
    let texts: Vec<String> = arguments.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let mut shown = vec!["cotenant".to_owned()];
    for (position, text) in texts.iter().enumerate().skip(1) {
        let is_prose = texts[position - 1] == "--title" || text.starts_with("--title=");
        shown.push(match text.split_once('=') {
            _ if is_prose => text.clone(),
            // An address may hold a password, wherever it stands.
            _ if text.contains("://") => masked_url(text).unwrap_or_default(),
            Some((option, value)) if option.starts_with("--") => {
                format!("{option}={}", without_folders(value))
            }
            _ => without_folders(text),
        });
    }
    shown.join(" ")
}

fn without_folders(text: &str) -> String {
    let name = Path::new(text).file_name().map(|it| it.to_string_lossy().into_owned());
    name.filter(|_| text.contains('/')).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_and_options_and_titles_stay() {
        let arguments =
            ["/opt/cotenant", "report", "/mnt/a/x.csv", "--policy=/etc/p.toml", "--title", "A/B"];
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        assert_eq!(redacted(&arguments), "cotenant report x.csv --policy=p.toml --title A/B");
    }

    #[test]
    fn passwords_in_addresses_are_left_out() {
        let arguments = [
            "cotenant",
            "record",
            "--scrape=a=http://u:s3@h",
            "--scrape",
            "b=http://u:s3@h/m?t=s3",
        ];
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let shown = "cotenant record --scrape=a=http://…@h --scrape b=http://…@h/m?…";
        assert_eq!(redacted(&arguments), shown);
    }
}
