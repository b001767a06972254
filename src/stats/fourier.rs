//! Correlation sums by fast Fourier transform, for the kernels that need many lags at once.

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// Plans, which cost as much as a transform. Three lengths in every doubling are used, so they are few.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

fn forward_plan(length: usize) -> Arc<dyn RealToComplex<f64>> {
    PLANNER.with_borrow_mut(|it| it.plan_fft_forward(length))
}

fn inverse_plan(length: usize) -> Arc<dyn ComplexToReal<f64>> {
    PLANNER.with_borrow_mut(|it| it.plan_fft_inverse(length))
}

/// The transform of a real series: bins 0..=n/2.
pub(crate) fn forward(mut values: Vec<f64>) -> Vec<Complex<f64>> {
    let plan = forward_plan(values.len());
    let mut spectrum = plan.make_output_vec();
    plan.process(&mut values, &mut spectrum).expect("both buffers were made for this length");
    spectrum
}

/// The series of `length` samples whose transform is `spectrum`.
pub(crate) fn inverse(mut spectrum: Vec<Complex<f64>>, length: usize) -> Vec<f64> {
    let plan = inverse_plan(length);
    let mut values = plan.make_output_vec();
    // A real series has real ends; the library refuses the last rounding error there.
    if let Some(first) = spectrum.first_mut() {
        first.im = 0.0;
    }
    if length.is_multiple_of(2)
        && let Some(last) = spectrum.last_mut()
    {
        last.im = 0.0;
    }
    plan.process(&mut spectrum, &mut values).expect("the spectrum is that of a real series");
    let scale = 1.0 / length as f64;
    values.iter_mut().for_each(|value| *value *= scale);
    values
}

/// Σ_t x(t) x(t+k) for k = 0..=max_lag, without wrapping around.
///
/// The series must be longer than `max_lag`.
pub(crate) fn lagged_products(values: &[f64], max_lag: usize) -> Vec<f64> {
    let length = comfortable_length(values.len() + max_lag);
    let mut padded = vec![0.0; length];
    padded[..values.len()].copy_from_slice(values);
    let mut spectrum = forward(padded);
    spectrum.iter_mut().for_each(|bin| *bin = Complex::new(bin.norm_sqr(), 0.0));
    let mut products = inverse(spectrum, length);
    products.truncate(max_lag + 1);
    products
}

/// The smallest even 2^a·3^b, b ≤ 2, that is not below `least`; transforms of such lengths are
/// fast.
pub(crate) fn comfortable_length(least: usize) -> usize {
    let least = least.max(2);
    [1, 3, 9]
        .into_iter()
        .map(|odd| odd * least.div_ceil(odd).next_power_of_two().max(2))
        .min()
        .unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_transform_equal_products_by_hand() {
        let x = [1.0, -2.0, 0.5, 3.0, -1.0];
        let found = lagged_products(&x, 3);
        for (lag, product) in found.iter().enumerate() {
            let by_hand: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum();
            assert!((product - by_hand).abs() < 1e-12);
        }
    }

    #[test]
    fn a_series_comes_back_from_its_spectrum_whether_its_length_is_even_odd_or_prime() {
        for length in [1, 2, 7, 12, 97] {
            let series: Vec<f64> = (0..length).map(|t| (t * t % 11) as f64).collect();
            let spectrum = forward(series.clone());
            let back = inverse(spectrum, length);
            assert!(series.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    #[test]
    fn a_comfortable_length_is_never_too_short_nor_a_quarter_too_long() {
        for least in 2..5000 {
            let length = comfortable_length(least);
            assert!(length >= least && length.is_multiple_of(2));
            assert!(least < 8 || (length as f64) < least as f64 * 1.34, "{least} -> {length}");
        }
    }
}
