//! Correlation sums of one long series at many lags, block by block: exact, in memory that follows
//! the lags and not the series.

use crate::stats::fourier::{forward, inverse};
use realfft::num_complex::Complex;
use std::collections::VecDeque;

/// Blocks into which a series is cut, about: few make long transforms, many make many products.
const BLOCKS: usize = 96;
/// Shortest block.
const SHORTEST_BLOCK: usize = 64;

/// Σ_t (x(t)−c) (x(t+k)−c) for k = 0..=max_lag, without wrapping around.
///
/// With blocks of B samples, the sums at lags mB, …, mB+B−1 are what block i and blocks i+m, i+m+1
/// have in common, added up over i. Each such product is one of spectra of 2B samples, of which the
/// first half does not wrap around; the sum over i is taken of spectra, so there is one inverse
/// transform for each m. Memory: 32 bytes for each lag. Time: O(n log B + n·max_lag/B).
///
/// Source: T. G. Stockham, Proc. AFIPS 28 (1966), 229–233, for sections that are added up; C. M.
/// Rader, IEEE Trans. Audio Electroacoust. 18 (1970), 439–441, for sums of spectra.
pub(crate) fn lagged_products_in_blocks(values: &[f64], centre: f64, max_lag: usize) -> Vec<f64> {
    let block = (values.len() / BLOCKS).next_power_of_two().max(SHORTEST_BLOCK);
    let count = values.len().div_ceil(block);
    let ahead = max_lag / block + 1;
    let mut sums = vec![vec![Complex::new(0.0, 0.0); block + 1]; ahead];
    // Spectra of two blocks each, of which the first is block i and those after it.
    let mut pairs: VecDeque<Vec<Complex<f64>>> = VecDeque::with_capacity(ahead);
    let mut next = 0;
    for i in 0..count {
        while next < count && next < i + ahead {
            pairs.push_back(forward(padded(values, centre, next * block, 2 * block, block)));
            next += 1;
        }
        let own = forward(padded(values, centre, i * block, block, block));
        for (sum, pair) in sums.iter_mut().zip(&pairs) {
            for ((sum, a), b) in sum.iter_mut().zip(&own).zip(pair) {
                *sum += a.conj() * b;
            }
        }
        pairs.pop_front();
    }
    let mut products = Vec::with_capacity(ahead * block);
    for sum in sums {
        products.extend_from_slice(&inverse(sum, 2 * block)[..block]);
    }
    products.truncate(max_lag + 1);
    products
}

/// So many samples from a place on, less the centre, followed by zeros up to two blocks.
fn padded(values: &[f64], centre: f64, from: usize, length: usize, block: usize) -> Vec<f64> {
    let mut padded = vec![0.0; 2 * block];
    let until = values.len().min(from + length);
    for (place, value) in padded.iter_mut().zip(&values[from..until]) {
        *place = value - centre;
    }
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fourier::lagged_products;
    use crate::stats::specimen::Noise;
    use proptest::prelude::*;

    #[test]
    fn a_long_series_has_the_same_products_as_by_one_transform() {
        let mut noise = Noise::new(3);
        let values: Vec<f64> =
            (0..50_000).map(|it| noise.uniform() + f64::from(it / 700 % 2)).collect();
        let centre = 0.75;
        let centred: Vec<f64> = values.iter().map(|it| it - centre).collect();
        let whole = lagged_products(&centred, 12_501);
        let in_blocks = lagged_products_in_blocks(&values, centre, 12_501);
        assert_eq!(whole.len(), in_blocks.len());
        for (a, b) in whole.iter().zip(&in_blocks) {
            assert!((a - b).abs() < 1e-10 * whole[0], "{a} {b}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn products_in_blocks_equal_products_by_hand(
            values in prop::collection::vec(-5.0..5.0_f64, 2..400), part in 0.0..1.0_f64,
        ) {
            let max_lag = ((values.len() - 1) as f64 * part) as usize;
            let found = lagged_products_in_blocks(&values, 0.5, max_lag);
            prop_assert_eq!(found.len(), max_lag + 1);
            for (lag, product) in found.iter().enumerate() {
                let pairs = values.iter().zip(&values[lag..]);
                let by_hand: f64 = pairs.map(|(a, b)| (a - 0.5) * (b - 0.5)).sum();
                prop_assert!((product - by_hand).abs() < 1e-8, "{}: {} {}", lag, product, by_hand);
            }
        }
    }
}
