//! Series at several lags as the columns of a regression: one pass over the record serves every choice among them.

use crate::stats::drift::Drift;
use crate::stats::least_squares::Triangle;
use nalgebra::DMatrix;
use nalgebra::linalg::Cholesky;

/// 1/(1−R²) of a column on the others from which products have lost too many digits.
const MOST_INFLATION: f64 = 1e6;
/// Share of a column's squares that drift must leave, for the same reason.
const LEAST_LEFT: f64 = 1e-6;

/// A column of the regression: a series so many bins ago, or its square.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<'a> {
    pub(crate) series: &'a [f64],
    pub(crate) lag: usize,
    pub(crate) is_square: bool,
}

impl<'a> Term<'a> {
    /// The series itself, so many bins ago.
    pub(crate) fn of(series: &'a [f64], lag: usize) -> Self {
        Self { series, lag, is_square: false }
    }

    /// Its value in a row.
    pub(crate) fn at(&self, row: usize) -> f64 {
        self.scaled(self.series[row - self.lag])
    }

    /// Whether both are the same column of the very same series, and not of an equal one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.lag == other.lag && self.is_beside(other)
    }

    /// Adds its value in each row, so many times, to what stands at that row's place; rows rise.
    pub(crate) fn add_to(&self, sums: &mut [f64], times: f64, rows: &[usize]) {
        match follow(rows) {
            Some((first, count)) => {
                let values = &self.series[first - self.lag..][..count];
                let both = sums.iter_mut().zip(values);
                if self.is_square {
                    both.for_each(|(sum, value)| *sum += times * value * value);
                } else {
                    both.for_each(|(sum, value)| *sum += times * value);
                }
            }
            None => sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum += times * self.at(*row)),
        }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.is_square { value * value } else { value }
    }

    fn is_beside(&self, other: &Self) -> bool {
        std::ptr::eq(self.series, other.series) && self.is_square == other.is_square
    }
}

/// The first of rows and their number where they follow each other without a hole.
fn follow(rows: &[usize]) -> Option<(usize, usize)> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    (last - first + 1 == rows.len()).then_some((first, rows.len()))
}

/// The rows of a stretch.
pub(crate) fn rows_of(drift: &Drift, is_row: &[bool]) -> Vec<usize> {
    drift.bins.clone().filter(|row| is_row[*row]).collect()
}

/// Sums over all rows of the products of every two columns, after drift was taken out of each stretch.
#[derive(Debug, Clone)]
pub(crate) struct Products {
    sums: DMatrix<f64>,
    /// Squares before that, less the level in each stretch: the greatest that went into those of a column, which are made
    /// of the squares of the same series at shorter lags.
    squares: Vec<f64>,
    rows: usize,
    spent_on_drift: usize,
}

impl Products {
    /// The products of columns over some of the bins; each series, and each square, is there at every lag from 0 to its longest.
    ///
    /// Where the rows of a stretch follow each other without a hole, Σx(t−a)y(t−b) is Σx(t−a+1)y(t−b+1) but for the ends, so
    /// only products with columns of lag 0 are worked out: time O(rows × columns × series) there, O(rows × columns²) elsewhere.
    /// Drift is taken out by XᵀX − (QᵀX)ᵀ(QᵀX).
    pub(crate) fn of(terms: &[Term<'_>], stretches: &[Drift], is_row: &[bool]) -> Self {
        let mut pass = Pass::new(terms, stretches);
        let (mut rows, mut spent_on_drift) = (0, 0);
        for drift in stretches {
            let own = rows_of(drift, is_row);
            rows += own.len();
            match drift.basis(&own) {
                Some(basis) => {
                    spent_on_drift += basis.ncols();
                    pass.take(&own, &basis);
                }
                None => spent_on_drift += own.len(),
            }
        }
        let (sums, squares) = pass.finish();
        Self { sums, squares, rows, spent_on_drift }
    }

    /// Dimensions that drift cost.
    pub(crate) fn spent_on_drift(&self) -> usize {
        self.spent_on_drift
    }

    /// The triangular factor of some of the columns, in their order; `None` where products have lost too many digits for it:
    /// where the others explain a column nearly, or where it is nearly all drift.
    ///
    /// With 1/(1−R²) up to 10⁶ for every column, about nine digits of each residual are right.
    ///
    /// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), chapters 10 and 20.
    pub(crate) fn triangle(&self, columns: &[usize]) -> Option<Triangle> {
        // A series that never changes has a column of exact zeros, and so has the factor.
        let live: Vec<(usize, usize)> =
            columns.iter().copied().enumerate().filter(|it| self.squares[it.1] != 0.0).collect();
        let is_left = |it: usize| self.sums[(it, it)] > LEAST_LEFT * self.squares[it];
        if live.is_empty() || !live.iter().all(|it| is_left(it.1)) {
            return None;
        }
        let scales: Vec<f64> = live.iter().map(|it| self.sums[(it.1, it.1)].sqrt()).collect();
        let scaled = DMatrix::from_fn(live.len(), live.len(), |row, column| {
            self.sums[(live[row].1, live[column].1)] / (scales[row] * scales[column])
        });
        let lower = Cholesky::new(scaled)?.unpack();
        let inverse = lower.solve_lower_triangular(&DMatrix::identity(live.len(), live.len()))?;
        if !inverse.column_iter().all(|it| it.norm_squared() <= MOST_INFLATION) {
            return None;
        }
        let mut factor = DMatrix::zeros(live.len(), columns.len());
        for (place, ((column, _), scale)) in live.iter().zip(&scales).enumerate() {
            for row in 0..=place {
                factor[(row, *column)] = lower[(place, row)] * scale;
            }
        }
        Some(Triangle::of_factor(factor, self.rows))
    }
}

/// The triangular factor of columns by reflections, exact to the last digits whatever the columns are, and what drift cost.
///
/// Time O(rows × columns²).
pub(crate) fn triangle_of(
    terms: &[Term<'_>],
    stretches: &[Drift],
    is_row: &[bool],
) -> (Triangle, usize) {
    let mut triangle = Triangle::new(terms.len());
    let mut spent = 0;
    for drift in stretches {
        let rows = rows_of(drift, is_row);
        let mut block = DMatrix::zeros(rows.len(), terms.len());
        for (mut column, term) in block.column_iter_mut().zip(terms) {
            term.add_to(column.as_mut_slice(), 1.0, &rows);
        }
        spent += drift.remove(&rows, &mut block);
        triangle.add(&block);
    }
    (triangle, spent)
}

/// What is summed while stretch after stretch is read.
struct Pass<'a> {
    terms: &'a [Term<'a>],
    /// For each term, the place of the same series at lag 0 and one bin later.
    origins: Vec<usize>,
    /// Places of the terms of lag 0.
    bases: Vec<usize>,
    /// Columns of a stretch, and its columns of lag 0 and its drift as rows.
    block: DMatrix<f64>,
    across: DMatrix<f64>,
    /// Products of columns of lag 0 with all.
    leading: DMatrix<f64>,
    /// Products over stretches with holes.
    whole: DMatrix<f64>,
    /// For each stretch without holes: the row before its first, and its last.
    before: Vec<f64>,
    last: Vec<f64>,
    /// Products of drift with all columns, wave by wave.
    waves: Vec<f64>,
}

impl<'a> Pass<'a> {
    fn new(terms: &'a [Term<'a>], stretches: &[Drift]) -> Self {
        let bases: Vec<usize> = (0..terms.len()).filter(|it| terms[*it].lag == 0).collect();
        let origin = |term: &Term<'_>| bases.iter().position(|it| terms[*it].is_beside(term));
        let origins = terms.iter().filter_map(origin).collect();
        let longest = stretches.iter().map(|it| it.bins.len()).max().unwrap_or(0);
        let waves = stretches.iter().map(|it| it.cosines + 1).max().unwrap_or(0);
        let count = terms.len();
        Self {
            terms,
            origins,
            block: DMatrix::zeros(longest, count),
            across: DMatrix::zeros(bases.len() + waves, longest),
            leading: DMatrix::zeros(bases.len(), count),
            whole: DMatrix::zeros(count, count),
            before: Vec::new(),
            last: Vec::new(),
            waves: Vec::new(),
            bases,
        }
    }

    /// Takes the rows of a stretch, with what is orthonormal to its drift's complement.
    fn take(&mut self, rows: &[usize], basis: &DMatrix<f64>) {
        let Some(first) = rows.first().copied() else { return };
        // Less a level, which is drift: digits are kept, and what never changes is exactly 0.
        let levels: Vec<f64> = self.bases.iter().map(|it| self.terms[*it].at(first)).collect();
        for ((mut column, term), origin) in
            self.block.column_iter_mut().zip(self.terms).zip(&self.origins)
        {
            let column = &mut column.as_mut_slice()[..rows.len()];
            column.fill(-levels[*origin]);
            term.add_to(column, 1.0, rows);
        }
        let (bases, count) = (self.bases.len(), rows.len());
        for (row, base) in self.bases.iter().enumerate() {
            let column = self.block.column(*base);
            (0..count).for_each(|it| self.across[(row, it)] = column[it]);
        }
        for (row, wave) in basis.column_iter().enumerate() {
            (0..count).for_each(|it| self.across[(bases + row, it)] = wave[it]);
        }
        let block = self.block.rows(0, count);
        let products = self.across.view((0, 0), (bases + basis.ncols(), count)) * block;
        let waves = products.rows(bases, basis.ncols());
        self.waves.extend(waves.row_iter().flat_map(|it| it.iter().copied().collect::<Vec<_>>()));
        if follow(rows).is_none() {
            self.whole.gemm(1.0, &block.transpose(), &block, 1.0);
            return;
        }
        self.leading += products.rows(0, bases);
        self.last.extend(block.row(count - 1).iter());
        let before = self.terms.iter().zip(&self.origins).map(|(term, origin)| {
            // The longest lag has nobody after it, and may reach before the record.
            let place = first.checked_sub(1 + term.lag);
            place.map_or(0.0, |it| term.scaled(term.series[it]) - levels[*origin])
        });
        self.before.extend(before.map(|it| if it.is_finite() { it } else { 0.0 }));
    }

    /// Products without drift, and squares with it.
    fn finish(self) -> (DMatrix<f64>, Vec<f64>) {
        let count = self.terms.len();
        let squared = |rows: &[f64]| {
            let rows = DMatrix::from_column_slice(count, rows.len() / count.max(1), rows);
            &rows * rows.transpose()
        };
        let ends = squared(&self.before) - squared(&self.last);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|it| self.terms[*it].lag);
        let later: Vec<Option<usize>> = (0..count).map(|it| self.later(it)).collect();
        let mut sums = DMatrix::zeros(count, count);
        for a in order.iter().copied() {
            for b in 0..count {
                sums[(a, b)] = match (later[a], later[b]) {
                    (None, _) => self.leading[(self.origins[a], b)],
                    (_, None) => self.leading[(self.origins[b], a)],
                    (Some(c), Some(d)) => sums[(c, d)] + ends[(c, d)],
                };
            }
        }
        sums += self.whole;
        let mut squares: Vec<f64> = sums.diagonal().iter().copied().collect();
        for place in order {
            squares[place] =
                later[place].map_or(squares[place], |it| squares[place].max(squares[it]));
        }
        (sums - squared(&self.waves), squares)
    }

    /// The place of the same series one bin later; `None` at lag 0.
    fn later(&self, place: usize) -> Option<usize> {
        let term = &self.terms[place];
        let wanted = Term { lag: term.lag.checked_sub(1)?, ..*term };
        self.terms.iter().position(|it| it.is(&wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::drift::stretches;
    use crate::stats::specimen::Noise;
    use proptest::prelude::*;

    /// Lags 0 to 4 of a series with memory, lags 0 to 2 of its square, lags 0 to 5 of another, and one that never changes.
    fn terms<'a>([a, b, still]: [&'a [f64]; 3]) -> Vec<Term<'a>> {
        let squares = (0..=2).map(|lag| Term { is_square: true, ..Term::of(a, lag) });
        let plain = (0..=4).map(|lag| Term::of(a, lag)).chain(squares);
        plain.chain((0..=5).map(|lag| Term::of(b, lag))).chain([Term::of(still, 0)]).collect()
    }

    proptest! {
        #[test]
        fn products_give_the_factor_that_reflections_give(
            seed in 0..1000_u64,
            bins in 120..1500_usize,
            memory in 0.0..0.95_f64,
            level in -100.0..100.0_f64,
            holes in prop::collection::vec(0..1500_usize, 0..6),
        ) {
            let mut noise = Noise::new(seed);
            let a: Vec<f64> = noise.autoregression(memory, bins).iter().map(|it| it + level).collect();
            let (b, still) = (noise.autoregression(0.3, bins), vec![0.7; bins]);
            let is_row: Vec<bool> = (0..bins).map(|it| it >= 5 && !holes.contains(&it)).collect();
            let (terms, stretches) = (terms([&a, &b, &still]), stretches(bins));
            let (expected, spent) = triangle_of(&terms, &stretches, &is_row);
            let products = Products::of(&terms, &stretches, &is_row);
            prop_assert_eq!(products.spent_on_drift(), spent);
            let all: Vec<usize> = (0..terms.len()).collect();
            // The square of what lies far from 0 is nearly a straight line of it: then there is no answer.
            let Some(found) = products.triangle(&all) else {
                prop_assert!(level.abs() > 3.0);
                return Ok(());
            };
            prop_assert_eq!(found.rows(), expected.rows());
            for target in [0, 8, 14] {
                let rest: Vec<usize> = all.iter().copied().filter(|it| *it != target).collect();
                let (found, expected) = (found.fit(&rest, target), expected.fit(&rest, target));
                let (square, wanted) = (found.residual_square, expected.residual_square);
                prop_assert!((square - wanted).abs() <= 1e-7 * wanted, "{} {}", square, wanted);
            }
        }
    }

    #[test]
    fn a_series_that_is_at_work_only_at_the_very_end_leaves_no_rounding_in_its_longer_lags() {
        let mut noise = Noise::new(11);
        let (bins, lags) = (900, 6);
        let other = noise.autoregression(0.5, bins);
        // Lag 5 has none of the work at the end, and all of its rounding.
        let late: Vec<f64> = (0..bins)
            .map(|it| if it >= bins - 5 { 1e6 + noise.normal() } else { 1e-4 * noise.normal() })
            .collect();
        let mut terms: Vec<Term<'_>> = (0..lags).map(|lag| Term::of(&late, lag)).collect();
        terms.push(Term::of(&other, 0));
        let (all, is_row) = (stretches(bins), (0..bins).map(|it| it >= lags).collect::<Vec<_>>());
        let columns = [lags - 1, lags];
        let found = Products::of(&terms, &all, &is_row).triangle(&columns);
        let chosen: Vec<Term<'_>> = columns.iter().map(|it| terms[*it]).collect();
        let (expected, _) = triangle_of(&chosen, &all, &is_row);
        let wanted = expected.fit(&[0], 1).residual_square;
        if let Some(found) = found {
            let square = found.fit(&[0], 1).residual_square;
            assert!((square - wanted).abs() <= 1e-7 * wanted, "{square} {wanted}");
        }
        assert!(wanted > 0.0);
    }

    #[test]
    fn columns_that_nearly_agree_and_columns_of_drift_are_left_to_reflections() {
        let mut noise = Noise::new(3);
        let a = noise.autoregression(0.5, 900);
        let near: Vec<f64> = a.iter().map(|it| it + 1e-5 * noise.normal()).collect();
        let ramp: Vec<f64> = (0..900).map(f64::from).collect();
        let all = stretches(900);
        for (other, has_answer) in [(&near, false), (&a, false), (&ramp, true)] {
            let terms = [Term::of(&a, 0), Term::of(other, 0)];
            let found = Products::of(&terms, &all, &[true; 900]).triangle(&[0, 1]);
            assert_eq!(found.is_some(), has_answer);
        }
        let wave: Vec<f64> = all
            .iter()
            .flat_map(|it| it.bins.clone().map(|bin| (bin - it.bins.start, it.bins.len())))
            .map(|(bin, count)| (std::f64::consts::PI * (bin as f64 + 0.5) / count as f64).cos())
            .collect();
        let terms = [Term::of(&a, 0), Term::of(&wave, 0)];
        assert!(Products::of(&terms, &all, &[true; 900]).triangle(&[0, 1]).is_none());
    }
}
