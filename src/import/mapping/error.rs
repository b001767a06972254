//! What is wrong with a mapping file, where, and what to write instead.

use crate::domain::spelling::suggestion;
use std::fmt;

/// What is wrong with a mapping file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingError {
    /// Line in the mapping file, from 1; `None` where it is about the file as a whole.
    pub line: Option<usize>,
    /// What is wrong, in one sentence.
    pub problem: String,
    /// What to do now; empty when the sentence says it all.
    pub advice: String,
}

impl MappingError {
    /// An error at a byte of the text.
    pub(crate) fn at(text: &str, byte: usize, problem: String, advice: String) -> Self {
        let before = text.as_bytes().iter().take(byte);
        let line = 1 + before.filter(|it| **it == b'\n').count();
        Self { line: Some(line), problem, advice }
    }

    /// An error about the file as a whole.
    pub(crate) fn whole(problem: &str, advice: &str) -> Self {
        Self { line: None, problem: problem.to_owned(), advice: advice.to_owned() }
    }

    /// From what the TOML reader says, with a suggestion for a misspelt key.
    pub(crate) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let byte = error.span().map_or(0, |it| it.start);
        let message = error.message().lines().next().unwrap_or_default();
        let mut quoted = message.split('`').skip(1).step_by(2);
        let is_misspelt =
            message.starts_with("unknown field") || message.starts_with("unknown variant");
        match quoted.next().filter(|_| is_misspelt) {
            Some(found) => {
                let known: Vec<&str> = quoted.collect();
                let problem = format!("there is no key or value `{found}` here");
                Self::at(text, byte, problem, suggestion(found, &known))
            }
            None => Self::at(text, byte, message.to_owned(), String::new()),
        }
    }

    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> String {
        match self.advice.as_str() {
            "" => "correct the mapping file; `cotenant import --mapping PRESET` shows how one is written"
                .to_owned(),
            advice => advice.to_owned(),
        }
    }
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "mapping file, line {line}: {}", self.problem),
            None => write!(f, "mapping file: {}", self.problem),
        }
    }
}

impl std::error::Error for MappingError {}
