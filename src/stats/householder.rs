//! The triangular factor of a tall matrix, by reflections that are applied several at a time.

use nalgebra::DMatrix;

/// Columns whose reflections are gathered before the rest of the matrix sees them.
const PANEL: usize = 8;

/// R of A = QR with as many rows as columns, or as A has where it has fewer; Q is not kept.
///
/// Signs of its rows are not defined. Reflections of a panel are applied to all later columns by matrix products, which is
/// faster than one by one and as exact. Time O(rows × columns²).
///
/// Source: compact WY form of R. Schreiber and C. Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989), 53–57.
pub(crate) fn triangular_factor(mut matrix: DMatrix<f64>) -> DMatrix<f64> {
    let (rows, columns) = matrix.shape();
    let steps = rows.min(columns);
    for first in (0..steps).step_by(PANEL) {
        let width = PANEL.min(steps - first);
        let (vectors, factors) = reduce_panel(&mut matrix, first, width);
        let rest = columns - first - width;
        if rest == 0 {
            continue;
        }
        let mut later = matrix.view_mut((first, first + width), (rows - first, rest));
        let shares = factors.transpose() * (vectors.transpose() * &later);
        later.gemm(-1.0, &vectors, &shares, 1.0);
    }
    let mut factor = matrix.resize_vertically(steps, 0.0);
    factor.fill_lower_triangle(0.0, 1);
    factor
}

/// Brings columns `first..first + width` to triangular form; the reflections as V and T of I − VTVᵀ.
fn reduce_panel(
    matrix: &mut DMatrix<f64>,
    first: usize,
    width: usize,
) -> (DMatrix<f64>, DMatrix<f64>) {
    let height = matrix.nrows() - first;
    let mut vectors = DMatrix::zeros(height, width);
    let mut factors = DMatrix::zeros(width, width);
    for place in 0..width {
        let column = first + place;
        let mut vector = vectors.column_mut(place);
        vector
            .rows_mut(place, height - place)
            .copy_from(&matrix.view((column, column), (height - place, 1)));
        let norm = vector.norm();
        // A column of zeros needs no reflection: its vector and factor stay zero.
        if norm > 0.0 {
            let head = if vector[place] > 0.0 { -norm } else { norm };
            vector[place] -= head;
            let factor = 2.0 / vector.norm_squared();
            for later in column..first + width {
                let mut whole = matrix.column_mut(later);
                let mut target = whole.rows_mut(column, height - place);
                let own = vector.rows(place, height - place);
                let share = factor * own.dot(&target);
                target.axpy(-share, &own, 1.0);
            }
            factors[(place, place)] = factor;
        }
        for earlier in 0..place {
            let share: f64 = (earlier..place)
                .map(|it| factors[(earlier, it)] * vectors.column(it).dot(&vectors.column(place)))
                .sum();
            factors[(earlier, place)] = -factors[(place, place)] * share;
        }
    }
    (vectors, factors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::specimen::Noise;
    use proptest::prelude::*;

    /// Largest difference between AᵀA and RᵀR, over the largest entry.
    fn error(matrix: &DMatrix<f64>, factor: &DMatrix<f64>) -> f64 {
        let whole = matrix.transpose() * matrix;
        (&whole - factor.transpose() * factor).amax() / whole.amax().max(f64::MIN_POSITIVE)
    }

    proptest! {
        #[test]
        fn the_factor_has_the_same_products_of_columns_and_nothing_below_its_diagonal(
            seed in 0..1000_u64,
            rows in 1..90_usize,
            columns in 1..50_usize,
            zeros in 0..50_usize,
        ) {
            let mut noise = Noise::new(seed);
            let matrix = DMatrix::from_fn(rows, columns, |_, column| {
                if column == zeros { 0.0 } else { noise.normal() }
            });
            let factor = triangular_factor(matrix.clone());
            prop_assert_eq!(factor.shape(), (rows.min(columns), columns));
            prop_assert!(error(&matrix, &factor) < 1e-13);
            for column in 0..columns {
                prop_assert!((column + 1..factor.nrows()).all(|row| factor[(row, column)] == 0.0));
            }
        }
    }

    #[test]
    fn columns_that_nearly_agree_keep_what_sets_them_apart() {
        let mut noise = Noise::new(1);
        let mut matrix = DMatrix::from_fn(500, 40, |_, _| noise.normal());
        for column in 1..40 {
            let near = matrix.column(0) + 1e-9 * matrix.column(column);
            matrix.set_column(column, &near);
        }
        let (found, expected) = (triangular_factor(matrix.clone()), matrix.qr().unpack_r());
        for column in 0..40 {
            let (found, expected) =
                (found[(column, column)].abs(), expected[(column, column)].abs());
            assert!((found / expected - 1.0).abs() < 1e-5, "{column}: {found:e} {expected:e}");
        }
    }
}
