//! Regressions of one victim that share their sums.

use crate::stats::granger::{Conditioned, Panel, keep_seen};
use crate::stats::lagged::{Products, Term};
use std::sync::OnceLock;

/// Everything that may enter a regression of one victim, read once.
///
/// A regression whose rows are those of the pool takes its sums from it; any other reads the record itself. Both give the same
/// numbers but for the last digits.
#[derive(Debug)]
pub struct Pool<'a> {
    core: Conditioned<'a>,
    terms: Vec<Term<'a>>,
    rows: usize,
    products: OnceLock<Products>,
}

impl<'a> Pool<'a> {
    /// A pool with the rows of `core`, and whatever of `others` was seen in all of them.
    pub fn new(core: Panel<'a>, others: &[&'a [f64]], reach: usize) -> Self {
        let core = Conditioned::unworked(core, reach);
        let rows = count(core.is_row());
        let mut terms = core.terms();
        for series in others {
            let mut with = core.is_row().to_vec();
            keep_seen(&mut with, series, core.lags().reach);
            if count(&with) == rows {
                terms.extend((0..=core.lags().reach).map(|lag| Term::of(series, lag)));
            }
        }
        Self { core, terms, rows, products: OnceLock::new() }
    }

    /// The same as [`Conditioned::new`], without reading the record again where that can be.
    pub fn conditioned(&self, panel: Panel<'a>, reach: usize) -> Option<Conditioned<'a>> {
        let it = Conditioned::unworked(panel, reach);
        let terms = it.terms();
        let place = |term: &Term<'_>| self.terms.iter().position(|it| it.is(term));
        let places: Option<Vec<usize>> = terms.iter().map(place).collect();
        // All that enters was seen in every row of the pool, so these are among its own rows.
        match places.filter(|_| count(it.is_row()) == self.rows) {
            Some(places) => it.worked(self.products(), &places),
            None => {
                let products = Products::of(&terms, it.stretches(), it.is_row());
                it.worked(&products, &(0..terms.len()).collect::<Vec<_>>())
            }
        }
    }

    fn products(&self) -> &Products {
        let (stretches, is_row) = (self.core.stretches(), self.core.is_row());
        self.products.get_or_init(|| Products::of(&self.terms, stretches, is_row))
    }
}

fn count(is_row: &[bool]) -> usize {
    is_row.iter().filter(|it| **it).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::granger::MOST_REACH;
    use crate::stats::specimen::{Noise, Windows};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pool_gives_the_regressions_that_the_record_gives(
            seed in 0..1000_u64,
            bins in 250..900_usize,
            holes in prop::collection::vec((0..5_usize, 0..900_usize), 0..4),
        ) {
            let mut noise = Noise::new(seed);
            let windows = Windows { width: 1.0, stride: 1.0, count: bins };
            let mut series = [
                noise.autoregression(0.6, bins),
                noise.autoregression(0.4, bins),
                windows.telegraph(8.0, 20.0, seed + 1),
                windows.telegraph(4.0, 9.0, seed + 2),
                noise.autoregression(0.8, bins),
            ];
            for (which, bin) in holes {
                series[which][bin % bins] = f64::NAN;
            }
            let [victim, load, a, b, clock] = [0, 1, 2, 3, 4].map(|it| series[it].as_slice());
            let core = Panel { victim, load: Some(load), suspects: vec![a], conditions: Vec::new() };
            let pool = Pool::new(core.clone(), &[b, clock], MOST_REACH);
            let of = |load, suspects: [usize; 2], count: usize, conditions: Vec<_>| Panel {
                victim,
                load,
                suspects: suspects[..count].iter().map(|it| series[*it].as_slice()).collect(),
                conditions,
            };
            for panel in [
                core,
                of(Some(load), [2, 3], 2, vec![]),
                of(Some(load), [3, 2], 2, vec![clock]),
                of(None, [2, 3], 1, vec![clock]),
                of(None, [3, 2], 1, vec![]),
            ] {
                let found = pool.conditioned(panel.clone(), MOST_REACH).unwrap();
                let expected = Conditioned::new(panel, MOST_REACH).unwrap();
                prop_assert_eq!((found.lags(), found.rows()), (expected.lags(), expected.rows()));
                let (found, expected) = (found.test(0).unwrap(), expected.test(0).unwrap());
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1e-3 + b.abs());
                prop_assert!(close(found.p_value, expected.p_value), "{:?} {:?}", found, expected);
                prop_assert!(close(found.long_run, expected.long_run), "{:?} {:?}", found, expected);
                prop_assert!(close(found.inflation, expected.inflation), "{:?} {:?}", found, expected);
            }
        }
    }
}
