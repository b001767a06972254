//! A series turned against another around a ring: every rotation at once.

use crate::stats::fourier::{comfortable_length, forward, inverse};
use realfft::num_complex::Complex;
use std::collections::VecDeque;

/// Correlation sums around a ring of samples.
pub(crate) struct Ring {
    samples: usize,
    /// Twice the samples, so that the transform is fast whatever factors their number has.
    padded: usize,
}

impl Ring {
    /// A ring of so many samples.
    pub(crate) fn of(samples: usize) -> Self {
        let padded = comfortable_length(2 * samples);
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
        for shift in 1..self.samples {
            products[shift] += products[self.padded - self.samples + shift];
        }
        products.truncate(self.samples);
        products
    }
}

/// First lag at which a series has forgotten itself to 1/e, from its products with itself.
pub(crate) fn decorrelation_lag(products: &[f64]) -> usize {
    let limit = products[0] * (-1.0_f64).exp();
    products.iter().position(|product| *product < limit).unwrap_or(products.len())
}

/// Largest value of every stretch of `width` neighbours.
pub(crate) fn sliding_maxima(values: &[f64], width: usize) -> Vec<f64> {
    let mut maxima = Vec::with_capacity(values.len().saturating_sub(width) + 1);
    // Indices whose values fall: the front is the largest of the current stretch.
    let mut falling: VecDeque<usize> = VecDeque::with_capacity(width);
    for (index, &value) in values.iter().enumerate() {
        while falling.back().is_some_and(|&last| values[last] <= value) {
            falling.pop_back();
        }
        falling.push_back(index);
        if falling.front().is_some_and(|&first| first + width <= index) {
            falling.pop_front();
        }
        if index + 1 >= width {
            maxima.extend(falling.front().map(|&first| values[first]));
        }
    }
    maxima
}
