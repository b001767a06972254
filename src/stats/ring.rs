//! A series turned against another around a ring: every rotation at once.

use crate::stats::fourier::{comfortable_length, forward, inverse};
use realfft::num_complex::Complex;

/// Lags up to which products are summed one by one before they are transformed.
const FEW_LAGS: usize = 40;

/// Correlation sums around a ring of samples.
pub(crate) struct Ring {
    samples: usize,
    /// The samples, or more than twice as many, so that the transform is fast whatever factors their number has.
    padded: usize,
}

impl Ring {
    /// A ring of so many samples.
    pub(crate) fn of(samples: usize) -> Self {
        let padded = if is_smooth(samples) { samples } else { comfortable_length(2 * samples) };
        Self { samples, padded }
    }

    /// The transform of a series, ready for products.
    pub(crate) fn transform(&self, values: &[f64]) -> Vec<Complex<f64>> {
        let mut padded = vec![0.0; self.padded];
        padded[..values.len()].copy_from_slice(values);
        forward(padded)
    }

    /// Σ_t x(t−s) y(t) for every s, where what lies before the start is the end.
    pub(crate) fn products(&self, x: &[Complex<f64>], y: &[Complex<f64>]) -> Vec<f64> {
        let spectrum = x.iter().zip(y).map(|(x, y)| x.conj() * y).collect();
        let mut products = inverse(spectrum, self.padded);
        if self.padded > self.samples {
            for shift in 1..self.samples {
                products[shift] += products[self.padded - self.samples + shift];
            }
            products.truncate(self.samples);
        }
        products
    }

    /// For every s, at how many t both x(t−s) and y(t) are true.
    ///
    /// Each pair of runs gives a trapezoid over s; they are added up by their corners. Time O(samples + runs of x × runs of y),
    /// and that of a transform where runs are many.
    pub(crate) fn overlaps(&self, x: &[bool], y: &[bool]) -> Vec<f64> {
        let (of_x, of_y) = (runs(x), runs(y));
        if of_x.len() * of_y.len() > self.samples {
            let number = |it: &bool| f64::from(u8::from(*it));
            let [x, y] =
                [x, y].map(|it| self.transform(&it.iter().map(number).collect::<Vec<_>>()));
            return self.products(&x, &y);
        }
        let n = self.samples;
        // Second differences of the count at shifts from −n to n, which stand at 0 to 2n.
        let mut bends = vec![0_i64; 2 * n + 1];
        for (a, b) in &of_x {
            for (p, q) in &of_y {
                for (corner, bend) in
                    [(p + n - b, 1), (p + n - a, -1), (q + n - b, -1), (q + n - a, 1)]
                {
                    bends[corner] += bend;
                }
            }
        }
        let mut counts = vec![0.0; n];
        let (mut count, mut slope) = (0, 0);
        for half in bends.chunks(n).take(2) {
            for (total, bend) in counts.iter_mut().zip(half) {
                *total += count as f64;
                slope += bend;
                count += slope;
            }
        }
        counts
    }

    /// The decorrelation lag of a series around the ring, or `most` if it is not below that.
    pub(crate) fn decorrelation_lag(&self, values: &[f64], most: usize) -> usize {
        let product = |lag: usize| {
            let (early, late) = values.split_at(values.len() - lag);
            let (rest, ahead) = values.split_at(lag);
            dot(early, ahead) + dot(late, rest)
        };
        let limit = product(0) * (-1.0_f64).exp();
        match (0..most.min(FEW_LAGS)).find(|lag| product(*lag) < limit) {
            Some(lag) => lag,
            None if most <= FEW_LAGS => most,
            None => {
                let spectrum = self.transform(values);
                decorrelation_lag(&self.products(&spectrum, &spectrum)).min(most)
            }
        }
    }
}

/// Whether a transform of so many samples is fast as it is.
fn is_smooth(mut samples: usize) -> bool {
    for factor in [2, 3, 5] {
        while samples > 1 && samples.is_multiple_of(factor) {
            samples /= factor;
        }
    }
    samples == 1
}

/// First and one past the last of every run of trues.
fn runs(values: &[bool]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut at = 0;
    for run in values.chunk_by(|a, b| a == b) {
        if run[0] {
            runs.push((at, at + run.len()));
        }
        at += run.len();
    }
    runs
}

/// Σxy, in eight sums that do not wait for each other.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (x, y) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in x.zip(y) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}

/// First lag at which a series has forgotten itself to 1/e, from its products with itself.
pub(crate) fn decorrelation_lag(products: &[f64]) -> usize {
    let limit = products[0] * (-1.0_f64).exp();
    products.iter().position(|product| *product < limit).unwrap_or(products.len())
}

/// Largest value of every stretch of `width` neighbours; none where there are fewer values.
///
/// Stretches grow by doubling, each the larger of two that it is made of: time O(n log width).
pub(crate) fn sliding_maxima(values: &[f64], width: usize) -> Vec<f64> {
    if values.len() < width {
        return Vec::new();
    }
    let mut maxima = values.to_vec();
    let mut reached = 1;
    while reached < width {
        let step = reached.min(width - reached);
        let count = maxima.len() - step;
        for place in 0..count {
            maxima[place] = maxima[place].max(maxima[place + step]);
        }
        maxima.truncate(count);
        reached += step;
    }
    maxima
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn overlaps_are_counted_right_for_few_runs_and_for_many(
            lengths in prop::collection::vec((1..30_usize, 1..30_usize), 1..12),
            scattered in prop::collection::vec(any::<bool>(), 1..200),
        ) {
            let runs = |it: &(usize, usize)| [vec![true; it.0], vec![false; it.1]].concat();
            let long: Vec<bool> = lengths.iter().flat_map(runs).collect();
            let n = long.len();
            let other: Vec<bool> = scattered.iter().copied().cycle().take(n).collect();
            let ring = Ring::of(n);
            for (x, y) in [(&long, &long), (&long, &other), (&other, &other)] {
                let found = ring.overlaps(x, y);
                for (shift, found) in found.iter().enumerate() {
                    let by_hand = (0..n).filter(|t| x[(t + n - shift) % n] && y[*t]).count();
                    prop_assert!((found - by_hand as f64).abs() < 1e-6, "{}: {} {}", shift, found, by_hand);
                }
            }
        }

        #[test]
        fn the_decorrelation_lag_is_that_of_the_transform(
            values in prop::collection::vec(-1.0..1.0_f64, 80..200),
            memory in 0..70_usize,
        ) {
            let smooth: Vec<f64> = (0..values.len())
                .map(|it| (0..=memory).map(|back| values[(it + values.len() - back) % values.len()]).sum())
                .collect();
            let ring = Ring::of(smooth.len());
            let spectrum = ring.transform(&smooth);
            let expected = decorrelation_lag(&ring.products(&spectrum, &spectrum));
            for most in [1, 7, 60, 1000] {
                prop_assert_eq!(ring.decorrelation_lag(&smooth, most), expected.min(most));
            }
        }
    }
}
