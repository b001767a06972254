//! Names that a file uses and the table of metrics does not have: counted, the first few told.

use crate::import::run::rejection::quoted;
use std::collections::BTreeSet;

/// How many names the warning quotes.
const QUOTED: usize = 5;
/// How many names are told apart; more are not needed for a warning.
const REMEMBERED: usize = 10_000;

/// Names without a metric.
#[derive(Debug, Default)]
pub struct UnknownNames {
    all: BTreeSet<String>,
    first: Vec<String>,
}

impl UnknownNames {
    /// Takes note of a name; a name that comes again changes nothing.
    pub fn add(&mut self, name: &str) {
        if self.all.contains(name) || self.all.len() >= REMEMBERED {
            return;
        }
        if self.first.len() < QUOTED {
            self.first.push(quoted(name));
        }
        self.all.insert(name.to_owned());
    }

    /// One sentence for the user; `None` when every name was known.
    pub fn warning(&self) -> Option<String> {
        let count = self.all.len();
        let names = self.first.join(", ");
        match count {
            0 => None,
            1 => {
                Some(format!("1 metric name has no place in a recording and was left out: {names}"))
            }
            _ if count <= QUOTED => Some(format!(
                "{count} metric names have no place in a recording and were left out: {names}"
            )),
            _ => Some(format!(
                "{count} metric names have no place in a recording and were left out: {names}, …"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_counted_once_and_the_first_five_are_told() {
        let mut names = UnknownNames::default();
        assert_eq!(names.warning(), None);
        for name in ["a", "b", "a", "c", "d", "e", "f", "g"] {
            names.add(name);
        }
        let warning = names.warning().unwrap();
        assert!(warning.starts_with("7 metric names") && warning.ends_with("a, b, c, d, e, …"));
    }
}
