//! Weighted least squares with coefficients drawn towards zero.

use nalgebra::{DMatrix, DVector};

/// Coefficients of a weighted ridge regression; the first column is not shrunk.
///
/// Minimises Σ w (y − xβ)² + λ Σ_{j>0} β_j². The first column is the intercept by convention.
///
/// - Shape: `rows[i]` has one number for each coefficient; `targets` and `weights` one for each row.
/// - `None`: no row, rows of unequal length, or a system that cannot be solved.
///
/// Source: A. E. Hoerl and R. W. Kennard, Technometrics 12 (1970), 55–67 (*not checked*).
pub fn ridge(rows: &[Vec<f64>], targets: &[f64], weights: &[f64], lambda: f64) -> Option<Vec<f64>> {
    let columns = rows.first()?.len();
    let is_even = rows.iter().all(|it| it.len() == columns);
    if !is_even || rows.len() != targets.len() || rows.len() != weights.len() {
        return None;
    }
    let mut square = DMatrix::zeros(columns, columns);
    let mut product = DVector::zeros(columns);
    for ((row, target), weight) in rows.iter().zip(targets).zip(weights) {
        for (one, left) in row.iter().enumerate() {
            product[one] += weight * left * target;
            for (other, right) in row.iter().enumerate() {
                square[(one, other)] += weight * left * right;
            }
        }
    }
    for column in 1..columns {
        square[(column, column)] += lambda;
    }
    let solved = square.cholesky()?.solve(&product);
    solved.iter().all(|it: &f64| it.is_finite()).then(|| solved.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_shrinkage_a_line_is_found_and_with_much_of_it_only_the_mean_is_left() {
        let rows: Vec<Vec<f64>> = (0..10).map(|it| vec![1.0, f64::from(it) - 4.5]).collect();
        let targets: Vec<f64> = rows.iter().map(|it| 3.0 + 2.0 * it[1]).collect();
        let found = ridge(&rows, &targets, &[1.0; 10], 0.0).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-9 && (found[1] - 2.0).abs() < 1e-9);
        let shrunk = ridge(&rows, &targets, &[1.0; 10], 1e9).unwrap();
        assert!((shrunk[0] - 3.0).abs() < 1e-6 && shrunk[1].abs() < 1e-6);
    }

    #[test]
    fn a_row_of_no_weight_does_not_count_and_nonsense_is_refused() {
        let rows = vec![vec![1.0], vec![1.0]];
        assert_eq!(ridge(&rows, &[1.0, 5.0], &[1.0, 0.0], 0.0), Some(vec![1.0]));
        assert_eq!(ridge(&rows, &[1.0], &[1.0, 1.0], 0.0), None);
        assert_eq!(ridge(&[], &[], &[], 0.0), None);
        assert_eq!(ridge(&[vec![0.0]], &[1.0], &[1.0], 0.0), None);
    }
}
