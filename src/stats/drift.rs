//! Slow drift as a few cosines in every stretch of time.
//!
//! What changes over minutes for reasons of its own must not count as an effect of anybody. Taking
//! drift out stretch by stretch keeps the number of cosines in step with the record and the cost linear.

use nalgebra::DMatrix;
use nalgebra::linalg::QR;
use std::borrow::Cow;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

/// Drift within a stretch: cosines of 0, 1, 2, … half periods over it.
///
/// For a stretch of n bins these are cos(πk(t+½)/n), k = 0..=max(2, n/100): everything slower than
/// about 200 bins. A long record is cut into stretches, so that the cost stays linear.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// Bins of the stretch.
    pub bins: Range<usize>,
    /// Cosines besides the constant.
    pub cosines: usize,
    waves: Arc<Waves>,
}

/// The constant and the cosines of a stretch of one length.
#[derive(Debug, PartialEq)]
struct Waves {
    /// A row for each bin.
    values: DMatrix<f64>,
    /// The same space by columns of length 1 that are at right angles.
    orthonormal: DMatrix<f64>,
}

impl Waves {
    fn of(bins: usize, cosines: usize) -> Arc<Self> {
        let values = DMatrix::from_fn(bins, cosines + 1, |bin, k| {
            (PI * k as f64 * (bin as f64 + 0.5) / bins as f64).cos()
        });
        let orthonormal = QR::new(values.clone()).q();
        Arc::new(Self { values, orthonormal })
    }
}

/// Longest stretch, in bins.
const STRETCH: usize = 600;
/// Bins for each cosine.
const BINS_PER_COSINE: usize = 100;
/// Fewest cosines, besides the constant.
const FEWEST_COSINES: usize = 2;
/// A column of which less than this share is left was all drift; what is left is rounding.
const DUST: f64 = 1e-12;

/// Cuts a record of so many bins into stretches of equal length.
pub fn stretches(bins: usize) -> Vec<Drift> {
    let count = bins.div_ceil(STRETCH).max(1);
    let mut all: Vec<Drift> = Vec::with_capacity(count);
    for place in 0..count {
        let bins = bins * place / count..bins * (place + 1) / count;
        let cosines = (bins.len() / BINS_PER_COSINE).max(FEWEST_COSINES);
        // Lengths differ by one at most, so one of the last two has the waves already.
        let same = all.iter().rev().take(2).find(|it| it.bins.len() == bins.len());
        let waves = same.map_or_else(|| Waves::of(bins.len(), cosines), |it| Arc::clone(&it.waves));
        all.push(Drift { bins, cosines, waves });
    }
    all
}

impl Drift {
    /// Takes the drift out of all columns, whose rows are these bins; returns how many dimensions that cost.
    ///
    /// The rows must lie in the stretch. With no more rows than cosines and the constant nothing would be left, so they become
    /// 0, and every row is spent; a column that is all drift, such as a constant, becomes 0 exactly.
    ///
    /// Source: the cosines of N. Ahmed, T. Natarajan and K. R. Rao, IEEE Trans. Comput. 23 (1974), 90–93; regression on them
    /// by the theorem of R. Frisch and F. V. Waugh, Econometrica 1 (1933), 387–401.
    pub(crate) fn remove(&self, rows: &[usize], columns: &mut DMatrix<f64>) -> usize {
        let Some(basis) = self.basis(rows) else {
            columns.fill(0.0);
            return rows.len();
        };
        let before: Vec<f64> = columns.column_iter().map(|it| it.norm()).collect();
        let explained = basis.transpose() * &*columns;
        columns.gemm(-1.0, &basis, &explained, 1.0);
        for (mut column, before) in columns.column_iter_mut().zip(before) {
            if column.norm() <= DUST * before {
                column.fill(0.0);
            }
        }
        basis.ncols()
    }

    /// Whether anything is left of so many bins once drift is taken out.
    pub(crate) fn leaves_any(&self, rows: usize) -> bool {
        rows > self.cosines + 1
    }

    /// Columns of length 1 at right angles that span the drift over these bins; `None` where there are no more bins than that.
    pub(crate) fn basis(&self, rows: &[usize]) -> Option<Cow<'_, DMatrix<f64>>> {
        if !self.leaves_any(rows.len()) {
            return None;
        }
        if rows.len() == self.bins.len() {
            return Some(Cow::Borrowed(&self.waves.orthonormal));
        }
        let places: Vec<usize> = rows.iter().map(|it| it - self.bins.start).collect();
        Some(Cow::Owned(QR::new(self.waves.values.select_rows(&places)).q()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_cover_every_bin_once_and_none_is_longer_than_six_hundred() {
        for bins in [1, 90, 600, 601, 3600, 86_400] {
            let all = stretches(bins);
            assert_eq!(all.first().map(|it| it.bins.start), Some(0));
            assert_eq!(all.last().map(|it| it.bins.end), Some(bins));
            assert!(all.windows(2).all(|pair| pair[0].bins.end == pair[1].bins.start));
            assert!(all.iter().all(|it| it.bins.len() <= 600 && it.cosines >= 2));
        }
    }

    #[test]
    fn a_slow_wave_goes_and_a_fast_one_stays() {
        let drift = &stretches(600)[0];
        let rows: Vec<usize> = (0..600).filter(|it| it % 7 != 3).collect();
        let wave = |period: f64| {
            DMatrix::from_fn(rows.len(), 1, |row, _| (rows[row] as f64 * 2.0 * PI / period).sin())
        };
        let (mut slow, mut fast) = (wave(1200.0), wave(20.0));
        let (before, spent) = (slow.norm(), drift.remove(&rows, &mut slow));
        assert_eq!(spent, 7);
        assert!(slow.norm() < 0.05 * before, "{} of {before}", slow.norm());
        let before = fast.norm();
        drift.remove(&rows, &mut fast);
        assert!(fast.norm() > 0.99 * before);
    }

    #[test]
    fn what_never_changes_is_all_drift_and_leaves_exactly_nothing() {
        let drift = &stretches(600)[0];
        let rows: Vec<usize> = (0..600).filter(|it| it % 5 != 0).collect();
        let mut columns = DMatrix::from_fn(rows.len(), 3, |row, column| match column {
            0 => 0.3,
            1 => 1980.0,
            _ => 1980.0 + 1e-6 * (row % 2) as f64,
        });
        drift.remove(&rows, &mut columns);
        assert_eq!((columns.column(0).norm(), columns.column(1).norm()), (0.0, 0.0));
        assert!(columns.column(2).norm() > 1e-6);
    }

    #[test]
    fn fewer_rows_than_cosines_leave_nothing() {
        let drift = &stretches(600)[0];
        let mut column = DMatrix::from_element(3, 1, 5.0);
        assert_eq!(drift.remove(&[1, 2, 3], &mut column), 3);
        assert_eq!(column.norm(), 0.0);
    }
}
