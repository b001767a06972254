//! Names from outside, made harmless for the place that they are written to.

use crate::domain::invisible::is_invisible;
use std::fmt::Write;

/// Longest comment of one reason, in characters.
const LONGEST_COMMENT: usize = 200;

/// Longest value of a label, and longest part of a name, of Kubernetes.
const LONGEST_NAME: usize = 63;

/// A text as it may stand in a comment: one line, without what could end or hide it.
pub fn comment(text: &str) -> String {
    let plain: String = text.chars().map(|it| if is_invisible(it) { ' ' } else { it }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let line = words.join(" ");
    match line.chars().count() > LONGEST_COMMENT {
        true => line.chars().take(LONGEST_COMMENT).chain(['…']).collect(),
        false => line,
    }
}

/// Reasons as lines of comment, each with its `# `; those that say nothing are left out.
pub fn comments(reasons: &[String]) -> String {
    let lines = reasons.iter().map(|it| comment(it)).filter(|it| !it.is_empty());
    lines.fold(String::new(), |all, it| all + "# " + &it + "\n")
}

/// A YAML scalar in double quotes that reads back as exactly this text.
pub fn scalar(text: &str) -> String {
    let mut quoted = String::from('"');
    for it in text.chars() {
        match it {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            it if is_invisible(it) => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\U{:08X}", u32::from(it));
            }
            it => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

/// A word of the shell in single quotes.
pub fn shell_word(text: &str) -> String {
    let plain: String = text.chars().filter(|it| !is_invisible(*it)).collect();
    format!("'{}'", plain.replace('\'', "'\\''"))
}

/// The value of a label, and the name of a layout: `+` becomes `.`, anything else that may not stand in
/// one becomes `-`. `plan` if nothing is left.
pub fn label_value(text: &str) -> String {
    let allowed = |it: char| match it {
        '+' => '.',
        it if it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-') => it,
        _ => '-',
    };
    let ends = |it: char| !it.is_ascii_alphanumeric();
    let value: String = text.chars().map(allowed).collect();
    let value: String = value.trim_start_matches(ends).chars().take(LONGEST_NAME).collect();
    let value = value.trim_end_matches(ends);
    if value.is_empty() { "plan".to_owned() } else { value.to_owned() }
}

/// The name of an object of Kubernetes: a label of a domain name. `plan` if nothing is left.
pub fn object_name(text: &str) -> String {
    let value = label_value(text).to_ascii_lowercase();
    value.replace(['.', '_'], "-")
}

/// Names of objects for several tenants, no two alike: a name that was taken gets a number.
pub fn object_names<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for text in texts {
        let wanted = object_name(text);
        let mut name = wanted.clone();
        let mut number = 2;
        while names.contains(&name) {
            let suffix = format!("-{number}");
            let room = LONGEST_NAME - suffix.len();
            name = wanted.chars().take(room).chain(suffix.chars()).collect();
            number += 1;
        }
        names.push(name);
    }
    names
}

/// A UUID that may be written as it is; `None` for one that holds anything but letters, digits and dashes.
pub(super) fn uuid(text: Option<&str>) -> Option<&str> {
    text.filter(|it| !it.is_empty() && it.chars().all(|it| it.is_ascii_alphanumeric() || it == '-'))
}
