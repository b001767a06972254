//! What is known of processes that may come again: of the last ones, for of millions few do.

use crate::domain::ident::ProcessKey;
use std::collections::BTreeMap;

/// Something about each of the last processes, as many as asked for at least and twice as many at most.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    least: usize,
    late: BTreeMap<ProcessKey, T>,
    early: BTreeMap<ProcessKey, T>,
}

impl<T> Remembered<T> {
    pub(super) fn at_least(least: usize) -> Self {
        Self { least, late: BTreeMap::new(), early: BTreeMap::new() }
    }

    pub(super) fn insert(&mut self, process: ProcessKey, it: T) {
        if self.late.len() >= self.least {
            self.early = std::mem::take(&mut self.late);
        }
        self.early.remove(&process);
        self.late.insert(process, it);
    }

    pub(super) fn get(&self, process: ProcessKey) -> Option<&T> {
        self.late.get(&process).or_else(|| self.early.get(&process))
    }

    pub(super) fn remove(&mut self, process: ProcessKey) -> Option<T> {
        self.late.remove(&process).or_else(|| self.early.remove(&process))
    }

    pub(super) fn clear(&mut self) {
        self.late.clear();
        self.early.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known_and_the_first_forgotten() {
        let key = |pid| ProcessKey { pid, started: None };
        let mut held = Remembered::at_least(10);
        for pid in 0..95 {
            held.insert(key(pid), pid);
            let first = pid.saturating_sub(9);
            assert!((first..=pid).all(|it| held.get(key(it)) == Some(&it)), "{pid}");
        }
        assert!(held.late.len() + held.early.len() <= 20);
        assert_eq!(held.get(key(60)), None);
        held.insert(key(85), 1);
        assert_eq!((held.remove(key(85)), held.remove(key(85))), (Some(1), None));
    }
}
