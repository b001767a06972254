//! Subjects by number.

use crate::domain::ident::Subject;
use std::collections::BTreeMap;

/// Subjects by number, so that rows need not carry them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Subjects in the order of their numbers.
    pub(crate) all: Vec<Subject>,
    numbers: BTreeMap<Subject, usize>,
}

impl Places {
    /// The number of a subject, a new one where it has none.
    pub(crate) fn number(&mut self, subject: Subject) -> usize {
        let next = self.all.len();
        *self.numbers.entry(subject).or_insert_with_key(|it| {
            self.all.push(it.clone());
            next
        })
    }
}
