//! Least squares over rows that come in blocks, for as many sub-models as wanted afterwards.

use crate::stats::householder::triangular_factor;
use nalgebra::DMatrix;
use nalgebra::linalg::ColPivQR;

/// A column whose part not explained by those chosen before it is smaller than this, relative to
/// itself, adds nothing but rounding.
const COLLINEAR: f64 = 1e-8;

/// The triangular factor of a tall matrix that was never held as a whole.
///
/// Rows are taken in blocks; memory does not depend on their number. Every regression of one column
/// on some of the others can be had from it afterwards, as exactly as from the rows themselves.
///
/// Source: G. H. Golub and C. F. Van Loan, Matrix Computations (2013), section 5.2 and 6.5.3.
#[derive(Debug, Clone)]
pub struct Triangle {
    factor: DMatrix<f64>,
    rows: usize,
}

impl Triangle {
    /// No row yet, of so many columns.
    pub fn new(columns: usize) -> Self {
        Self { factor: DMatrix::zeros(0, columns), rows: 0 }
    }

    /// The factor of so many rows, worked out elsewhere.
    pub(crate) fn of_factor(factor: DMatrix<f64>, rows: usize) -> Self {
        Self { factor, rows }
    }

    /// Takes rows; the block must have as many columns as the triangle, all finite.
    pub fn add(&mut self, block: &DMatrix<f64>) {
        let (held, columns) = self.factor.shape();
        let mut stacked = DMatrix::zeros(held + block.nrows(), columns);
        stacked.rows_mut(0, held).copy_from(&self.factor);
        stacked.rows_mut(held, block.nrows()).copy_from(block);
        self.rows += block.nrows();
        self.factor = if stacked.nrows() > columns { triangular_factor(stacked) } else { stacked };
    }

    /// Rows taken so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Regression of the column `target` on the columns `predictors`, without an intercept.
    ///
    /// Columns that the others explain already are dropped, by QR with column pivoting and a relative tolerance of 1e-8. Which
    /// of several that explain each other is kept is not defined; the residual is. Columns are numbered from 0 and must exist.
    pub fn fit(&self, predictors: &[usize], target: usize) -> Fit {
        let mut wanted = self.factor.select_columns(predictors);
        let norms: Vec<f64> = wanted.column_iter().map(|it| it.norm()).collect();
        for (mut column, norm) in wanted.column_iter_mut().zip(&norms) {
            if *norm > 0.0 {
                column /= *norm;
            }
        }
        let mut explained = DMatrix::from_column_slice(
            self.factor.nrows(),
            1,
            self.factor.column(target).as_slice(),
        );
        let columns = predictors.len();
        let mut places: DMatrix<f64> = DMatrix::from_fn(1, columns, |_, column| column as f64);
        let decomposition = ColPivQR::new(wanted);
        decomposition.p().permute_columns(&mut places);
        let triangle = decomposition.r();
        let most = triangle.nrows().min(columns);
        let rank = (0..most).take_while(|it| triangle[(*it, *it)].abs() > COLLINEAR).count();
        decomposition.q_tr_mul(&mut explained);
        let inner = triangle.view((0, 0), (rank, rank)).into_owned();
        let solved = inner.solve_upper_triangular(&explained.view((0, 0), (rank, 1)));
        let kept: Vec<usize> = (0..rank).map(|it| places[(0, it)] as usize).collect();
        let mut coefficients = vec![0.0; columns];
        if let Some(solved) = &solved {
            for (place, column) in kept.iter().enumerate() {
                coefficients[*column] = solved[(place, 0)] / norms[*column];
            }
        }
        // What the reflections leave below the kept rows; total less explained would lose its digits where the fit is good.
        let left = explained.view((rank, 0), (explained.nrows() - rank, 1));
        let residual_square = left.norm_squared();
        let scales = kept.iter().map(|it| norms[*it]).collect();
        Fit { coefficients, residual_square, rank, kept, inner, scales }
    }
}

/// A regression by least squares.
#[derive(Debug, Clone)]
pub struct Fit {
    /// One for each predictor, in the order in which they were named; 0 for those that were dropped.
    pub coefficients: Vec<f64>,
    /// Sum of squared residuals.
    pub residual_square: f64,
    /// Predictors that were kept.
    pub rank: usize,
    kept: Vec<usize>,
    inner: DMatrix<f64>,
    scales: Vec<f64>,
}

impl Fit {
    /// wᵀ(XᵀX)⁻¹w for weights on the predictors: the variance of Σ w b over that of the noise.
    ///
    /// Weights on dropped predictors count as 0. `None` if nothing was kept.
    pub fn variance_factor(&self, weights: &[f64]) -> Option<f64> {
        let scaled =
            DMatrix::from_fn(self.rank, 1, |row, _| weights[self.kept[row]] / self.scales[row]);
        let solved = self.inner.transpose().solve_lower_triangular(&scaled)?;
        (self.rank > 0).then(|| solved.norm_squared())
    }

    /// Whether the predictor was kept.
    pub fn keeps(&self, predictor: usize) -> bool {
        self.kept.contains(&predictor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, indices, numbers, rows, value};
    use crate::stats::specimen::Noise;
    use proptest::prelude::*;

    fn matrix(rows: &[Vec<f64>]) -> DMatrix<f64> {
        DMatrix::from_fn(rows.len(), rows[0].len(), |row, column| rows[row][column])
    }

    fn triangle(rows: &[Vec<f64>], block: usize) -> Triangle {
        let mut it = Triangle::new(rows[0].len());
        rows.chunks(block).for_each(|block| it.add(&matrix(block)));
        it
    }

    #[test]
    fn numpy_finds_the_same_fit_whatever_the_blocks() {
        for case in case("least_squares") {
            let (x, predictors) = (rows(case, "x"), indices(case, "predictors"));
            for block in [1, 2, 7, 64, 1000] {
                let it = triangle(&x, block);
                let fit = it.fit(&predictors, x[0].len() - 1);
                assert_eq!((it.rows(), fit.rank), (x.len(), value(case, "rank") as usize));
                close(Some(fit.residual_square), value(case, "residual_square"), 1e-10);
                for (row, fitted) in x.iter().zip(numbers(case, "fitted")) {
                    let terms = predictors.iter().zip(&fit.coefficients);
                    close(Some(terms.map(|(it, b)| row[*it] * b).sum()), fitted, 1e-9);
                }
                if case["expected"].is_null() {
                    continue;
                }
                for (found, expected) in fit.coefficients.iter().zip(numbers(case, "expected")) {
                    close(Some(*found), expected, 1e-9);
                }
                let factor = fit.variance_factor(&numbers(case, "weights"));
                close(factor, value(case, "variance"), 1e-9);
                assert!((0..predictors.len()).all(|it| fit.keeps(it)));
            }
        }
    }

    #[test]
    fn a_column_of_zeros_and_a_copy_are_dropped_whatever_their_scale() {
        let mut noise = Noise::new(1);
        let x: Vec<Vec<f64>> = (0..50)
            .map(|_| {
                let (a, b) = (noise.normal(), noise.normal());
                vec![0.0, 1e-9 * a, 1e9 * a, b, a + b]
            })
            .collect();
        let fit = triangle(&x, 20).fit(&[0, 1, 2, 3], 4);
        assert_eq!(fit.rank, 2);
        assert!(!fit.keeps(0) && fit.keeps(3) && (fit.keeps(1) != fit.keeps(2)));
        assert!(fit.residual_square < 1e-24, "{}", fit.residual_square);
    }

    #[test]
    fn no_predictor_explains_nothing_and_no_row_is_no_error() {
        let it = triangle(&[vec![3.0], vec![4.0]], 1);
        let fit = it.fit(&[], 0);
        assert!((fit.residual_square - 25.0).abs() < 1e-12);
        assert_eq!((fit.rank, fit.variance_factor(&[])), (0, None));
        let fit = Triangle::new(3).fit(&[0, 1], 2);
        assert_eq!((fit.rank, fit.residual_square), (0, 0.0));
        assert_eq!(fit.coefficients, [0.0, 0.0]);
    }

    #[test]
    fn what_is_left_of_a_nearly_perfect_fit_keeps_its_digits() {
        let mut noise = Noise::new(2);
        let dust: Vec<f64> = (0..200).map(|_| 1e-9 * noise.normal()).collect();
        let x: Vec<Vec<f64>> = dust
            .iter()
            .map(|it| {
                let a = noise.normal();
                vec![a, 1e3 * a + it]
            })
            .collect();
        let left = triangle(&x, 30).fit(&[0], 1).residual_square;
        let planted: f64 = dust.iter().map(|it| it * it).sum();
        assert!((left / planted - 1.0).abs() < 0.03, "{left:e} of {planted:e}");
    }

    proptest! {
        #[test]
        fn how_the_rows_are_cut_into_blocks_does_not_matter(
            seed in 0..1000_u64,
            count in 1..60_usize,
            block in 1..70_usize,
        ) {
            let mut noise = Noise::new(seed);
            let x: Vec<Vec<f64>> =
                (0..count).map(|_| (0..5).map(|_| noise.normal()).collect()).collect();
            let (whole, cut) = (triangle(&x, count).fit(&[0, 1, 2, 3], 4), triangle(&x, block).fit(&[0, 1, 2, 3], 4));
            prop_assert_eq!(whole.rank, cut.rank);
            prop_assert!((whole.residual_square - cut.residual_square).abs() < 1e-9);
        }
    }
}
