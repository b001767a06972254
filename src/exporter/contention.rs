//! How long pairs of tenants were busy at the same time; a bounded number of pairs by name.

use crate::domain::contended::OTHERS;
use crate::exporter::tenant::Busy;
use std::collections::BTreeMap;

/// Two tenants of one GPU, by name.
type Pair = (String, String);

/// Seconds in which two tenants of one GPU were busy at once.
#[derive(Debug)]
pub(crate) struct Contention {
    most: usize,
    seconds: BTreeMap<Pair, f64>,
    /// Times that a pair had no place of its own.
    pub(crate) folded: u64,
}

impl Contention {
    /// Room for so many pairs.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, seconds: BTreeMap::new(), folded: 0 }
    }

    /// Compares a stretch that became known with those of another tenant that were known before.
    ///
    /// The later of two stretches finds the earlier one, so each overlap counts once.
    pub(crate) fn compare<'a>(
        &mut self,
        names: (&str, &str),
        stretch: Busy,
        others: impl IntoIterator<Item = &'a Busy>,
    ) {
        let overlap = |it: &Busy| (stretch.1.min(it.1) - stretch.0.max(it.0)).max(0);
        let shared_us: i64 = others.into_iter().map(overlap).sum();
        if shared_us > 0 {
            self.add(names, shared_us as f64 / 1e6);
        }
    }

    fn add(&mut self, names: (&str, &str), seconds: f64) {
        let (one, two) = (names.0.min(names.1), names.0.max(names.1));
        let mut pair = (one.to_owned(), two.to_owned());
        if !self.seconds.contains_key(&pair) && self.seconds.len() >= self.most {
            self.folded += 1;
            pair = (OTHERS.to_owned(), OTHERS.to_owned());
        }
        *self.seconds.entry(pair).or_default() += seconds;
    }

    /// Every pair with its seconds, in order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.seconds.iter().map(|it| (it.0.0.as_str(), it.0.1.as_str(), *it.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overlap_of_two_stretches_counts_once_and_in_either_order() {
        let mut contention = Contention::new(4);
        contention.compare(
            ("b", "a"),
            (0, 1_000_000),
            &[(500_000, 1_500_000), (2_000_000, 3_000_000)],
        );
        contention.compare(("a", "b"), (0, 1_000_000), &[(900_000, 1_000_000)]);
        let pairs: Vec<_> = contention.pairs().collect();
        assert_eq!(pairs.len(), 1);
        assert_eq!((pairs[0].0, pairs[0].1), ("a", "b"));
        assert!((pairs[0].2 - 0.6).abs() < 1e-9);
    }

    #[test]
    fn pairs_without_a_place_are_counted_together() {
        let mut contention = Contention::new(2);
        for name in ["b", "c", "d", "e"] {
            contention.compare(("a", name), (0, 1_000_000), &[(0, 1_000_000)]);
        }
        let pairs: Vec<_> = contention.pairs().collect();
        assert_eq!(pairs, [("a", "b", 1.0), ("a", "c", 1.0), (OTHERS, OTHERS, 2.0)]);
        assert_eq!(contention.folded, 2);
    }
}
