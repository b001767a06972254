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
