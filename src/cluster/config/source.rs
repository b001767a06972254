//! One configuration while it is read: its tree, and where a line of it stands in the file.

use crate::cluster::facts::{NodeWords, Origin, Severity};
use crate::cluster::tree::{Tree, Value};

/// Where a configuration stands.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    /// Lines above it, if it is a block in another file; `None` if its lines say nothing about the file.
    pub(super) above: Option<u64>,
    /// Its key in a config map.
    pub(super) key: Option<&'a str>,
}

impl Source<'_> {
    /// The place of a value.
    pub(super) fn origin(&self, tree: &Tree) -> Origin {
        self.at(tree.line)
    }

    /// The place of a line of the configuration.
    pub(super) fn at(&self, line: Option<u64>) -> Origin {
        let line = line.zip(self.above).map(|(line, above)| line + above);
        Origin::new(self.file, line)
    }

    /// Notes that the tool refuses the file.
    pub(super) fn refused(&self, at: &Tree, text: String, words: &mut NodeWords) {
        words.remark(self.origin(at), Severity::Refused, self.named(text));
    }

    /// Notes that the tool reads past something.
    pub(super) fn ineffective(&self, at: &Tree, text: String, words: &mut NodeWords) {
        words.remark(self.origin(at), Severity::Ineffective, self.named(text));
    }

    /// The message with the key of the config map, which a line of JSON does not show.
    pub(super) fn named(&self, text: String) -> String {
        match (self.key, self.above) {
            (Some(key), None) => format!("in `{key}`: {text}"),
            _ => text,
        }
    }

    /// A flag; one that is none is refused.
    pub(super) fn flag(&self, tree: &Tree, key: &str, words: &mut NodeWords) -> Option<bool> {
        let found = tree.get(key)?;
        // The tools read YAML 1.1, which has more words for the two.
        let flag = match found.text() {
            Some("y" | "yes" | "Yes" | "on" | "On") => Some(true),
            Some("n" | "no" | "No" | "off" | "Off") => Some(false),
            _ => found.is_true(),
        };
        if flag.is_none() {
            self.refused(found, format!("`{key}` is neither true nor false"), words);
        }
        flag
    }

    /// Whether `version` is `v1`; another one is refused, and a missing one is what `missing` says.
    pub(super) fn version(&self, tree: &Tree, missing: Severity, words: &mut NodeWords) -> bool {
        match tree.get("version") {
            None => {
                let text = match missing {
                    Severity::Refused => "`version: v1` is missing, and without it nothing is read",
                    _ => "`version: v1` is missing, and is assumed; write it",
                };
                words.remark(self.origin(tree), missing, self.named(text.to_owned()));
                missing != Severity::Refused
            }
            Some(found) if found.text() == Some("v1") => true,
            Some(found) => {
                let said = found.printed().unwrap_or_default();
                self.refused(found, format!("version `{said}` is unknown; write `v1`"), words);
                false
            }
        }
    }

    /// Notes every key that is not among the known ones.
    pub(super) fn known(
        &self,
        tree: &Tree,
        keys: &[&str],
        severity: Severity,
        words: &mut NodeWords,
    ) {
        for (key, value) in tree.entries() {
            if !keys.contains(&key.as_str()) {
                let what = match severity {
                    Severity::Refused => "refused",
                    _ => "read past, so it has no effect",
                };
                let text =
                    format!("unknown field `{key}` is {what}; known are {}", keys.join(", "));
                words.remark(self.origin(value), severity, self.named(text));
            }
        }
    }
}

/// A whole number that is not negative.
pub(super) fn natural(tree: &Tree) -> Option<u64> {
    match tree.value {
        Value::Whole(it) => u64::try_from(it).ok(),
        _ => None,
    }
}
