//! Least squares over rows that come in blocks, for as many sub-models as wanted afterwards.

use nalgebra::DMatrix;
use nalgebra::linalg::{ColPivQR, QR};

/// A column whose part not explained by those before it is smaller than this, relative to itself,
/// adds nothing but rounding.
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

    /// Takes rows; the block must have as many columns as the triangle.
    pub fn add(&mut self, block: &DMatrix<f64>) {
        let (held, columns) = self.factor.shape();
        let mut stacked = DMatrix::zeros(held + block.nrows(), columns);
        stacked.rows_mut(0, held).copy_from(&self.factor);
        stacked.rows_mut(held, block.nrows()).copy_from(block);
        self.rows += block.nrows();
        self.factor = if stacked.nrows() > columns { QR::new(stacked).unpack_r() } else { stacked };
    }

    /// Rows taken so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Regression of the column `target` on the columns `predictors`, without an intercept.
    ///
    /// Columns that the others explain already are dropped, by QR with column pivoting and a relative tolerance of 1e-8.
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
        let total = explained.norm_squared();
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
        let residual_square = (total - explained.view((0, 0), (rank, 1)).norm_squared())
            .max(explained.view((rank, 0), (explained.nrows() - rank, 1)).norm_squared());
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
