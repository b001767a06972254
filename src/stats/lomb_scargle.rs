//! The periodogram of a series whose samples are not evenly spaced.

use crate::stats::correlate::centred;
use crate::stats::fourier::{comfortable_length, forward};
use crate::stats::moments::Moments;
use crate::stats::period::FEWEST_PERIODS;
use crate::stats::period::Period;
use crate::stats::period::top_of_parabola;
use crate::stats::quantile::quantile;
use realfft::num_complex::Complex;
use std::ops::Range;

/// Fewest samples, and fewest pairs of neighbours, from which a rhythm is believed.
const FEWEST_SAMPLES: usize = 16;
/// Most cells of the time grid; a longer record is judged by its beginning.
const MOST_CELLS: usize = 1 << 18;
/// Cells per sample interval if the samples do not keep to a common beat.
const CELLS_PER_INTERVAL: f64 = 4.0;
/// How far a sample may be off the beat, in intervals, to count as on it.
const ON_THE_BEAT: f64 = 0.05;
/// Bins that share one noise level, about as many as a parametric spectrum changes little over.
const BINS_PER_LEVEL: usize = 128;
/// Probability of a false alarm per series.
const FALSE_ALARM: f64 = 1e-4;
/// The z that one frequency of pure noise exceeds in less than one of a hundred series.
const ONE_LOOK: f64 = 5.0;
/// Highest harmonic for which a fundamental is sought.
const HARMONICS: usize = 5;
/// Intervals that skip no sample, in units of the usual one.
const NEIGHBOURS: Range<f64> = 0.5..1.5;
/// Least share of the variance that the rhythm's sine must explain.
const LEAST_STRENGTH: f64 = 0.1;

/// Lomb–Scargle periodogram: share of the variance that a sine of each frequency explains, 0 to 1.
///
/// P(f) = \[(Σ y cos ω(t−τ))²/Σ cos² ω(t−τ) + (Σ y sin ω(t−τ))²/Σ sin² ω(t−τ)\] / Σ y²,
/// y the values minus their mean, ω = 2πf, tan 2ωτ = Σ sin 2ωt / Σ cos 2ωt; equal to
/// `scipy.signal.lombscargle(times, y, 2πf, normalize=True)`.
///
/// - `frequencies`: cycles per unit of `times` (not radians), each above zero.
/// - Time: O(samples × frequencies); the caller keeps the product in bounds.
/// - `None`: slices of different length, under three samples, constant values, a frequency not
///   above zero.
///
/// Sources: N. R. Lomb, Astrophys. Space Sci. 39 (1976), 447–462; J. D. Scargle, Astrophys. J. 263
/// (1982), 835–853.
pub fn lomb_scargle(times: &[f64], values: &[f64], frequencies: &[f64]) -> Option<Vec<f64>> {
    let usable = times.len() == values.len() && values.len() >= 3;
    if !usable || frequencies.iter().any(|it| it.is_nan() || *it <= 0.0) {
        return None;
    }
    let y = centred(values)?;
    let total: f64 = y.iter().map(|y| y * y).sum();
    let power = |&frequency: &f64| {
        let omega = std::f64::consts::TAU * frequency;
        let (mut once, mut twice) = (Complex::default(), Complex::default());
        for (&time, &y) in times.iter().zip(&y) {
            let (sin, cos) = (omega * (time - times[0])).sin_cos();
            once += Complex::new(y * cos, y * sin);
            twice += Complex::new(cos * cos - sin * sin, 2.0 * sin * cos);
        }
        explained(once, twice, y.len() as f64) / total
    };
    Some(frequencies.iter().map(power).collect())
}

/// Sum of squares explained by a sine, from Σ y e^{iωt}, Σ e^{2iωt} and the number of samples.
fn explained(once: Complex<f64>, twice: Complex<f64>, count: f64) -> f64 {
    // Half the phase of `twice` is the shift ωτ; the sums of squares are then (n ± |twice|)/2.
    let (size, phase) = twice.to_polar();
    let turned = once * Complex::from_polar(1.0, -0.5 * phase);
    let (cosines, sines) = (0.5 * (count + size), 0.5 * (count - size));
    let of_sines = if sines > 1e-9 * count { turned.im * turned.im / sines } else { 0.0 };
    turned.re * turned.re / cosines + of_sines
}

/// The period of a series with gaps, from a line in its Lomb–Scargle periodogram.
///
/// Red noise raises the low frequencies, so the series is prewhitened by a first-order
/// autoregression over neighbouring samples. A frequency is significant if 1 − (1 − e^{−z})^{n/2} <
/// 10⁻⁴, where z is the whitened power over its noise level; the level is the median of the bins
/// around (over ln 2), not the whole variance, so that a line and its harmonics do not hide each
/// other. Of the significant frequencies the one with the highest power before whitening is the
/// period, or the frequency of which it is a harmonic if that has more power still; its strength is
/// that power, which must reach 0.1.
///
/// - `times`: ascending, any unit; the period comes in samples, that is, in units of the mean
///   interval between samples that follow each other without a gap.
/// - Frequencies go from four periods per record to one period in two samples.
/// - Work: four transforms; times are rounded to a quarter of an interval unless they keep a common
///   beat, and of a record over 2¹⁸ such cells only the beginning is used.
/// - `None`: no significant frequency, under 16 samples or pairs of neighbours, constant values,
///   slices of different length, times that do not ascend.
///
/// Sources: as [`lomb_scargle`]; W. H. Press and G. B. Rybicki, Astrophys. J. 338 (1989), 277–280,
/// for the transform.
pub fn period_by_lomb_scargle(times: &[f64], values: &[f64]) -> Option<Period> {
    if times.len() != values.len() || times.len() < FEWEST_SAMPLES {
        return None;
    }
    let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let interval = usual(&intervals)?;
    let grid = Grid::over(times, interval);
    let used = times.partition_point(|&time| grid.cell(time) < MOST_CELLS);
    let y = centred(&values[..used])?;
    let (rest_cells, rest) = whitened(&grid, &times[..used], &intervals, interval, &y);
    if rest.len() < FEWEST_SAMPLES {
        return None;
    }
    let cells: Vec<usize> = times[..used].iter().map(|&time| grid.cell(time)).collect();
    let raw = grid.powers(&cells, &y);
    let z = over_noise_level(&grid.powers(&rest_cells, &centred(&rest)?));
    let limit = significant(rest.len());
    let in_range = grid.range(times[used - 1] - times[0], interval, raw.len());
    let best = fundamental(&raw, &z, in_range, limit)?;
    let around = |bin: usize| raw.get(bin).copied().unwrap_or(0.0);
    let offset = top_of_parabola(around(best - 1), raw[best], around(best + 1));
    let samples = 1.0 / ((best as f64 + offset) * grid.frequency_step() * interval);
    let period = Period { samples: samples.max(2.0), strength: raw[best].min(1.0) };
    (period.strength >= LEAST_STRENGTH).then_some(period)
}

/// Mean of the intervals that skip no sample; `None` unless times ascend.
fn usual(intervals: &[f64]) -> Option<f64> {
    let middle = quantile(intervals, 0.5)?;
    if middle <= 0.0 || intervals.iter().any(|it| *it < 0.0) {
        return None;
    }
    let mut unbroken = Moments::default();
    intervals
        .iter()
        .filter(|it| NEIGHBOURS.contains(&(*it / middle)))
        .for_each(|it| unbroken.insert(*it));
    unbroken.mean()
}

/// The significant bin with the most power, or the bin of which it is a harmonic.
///
/// Whitening favours harmonics, so that of a train of short pulses the fundamental itself may not
/// be significant; it is taken if it has more power and stands out as far as one look allows.
fn fundamental(raw: &[f64], z: &[f64], range: Range<usize>, limit: f64) -> Option<usize> {
    let by_power = |a: &usize, b: &usize| raw[*a].total_cmp(&raw[*b]);
    let best = range.clone().filter(|&bin| z[bin] > limit).max_by(by_power)?;
    (2..=HARMONICS)
        .flat_map(|harmonic| {
            let near = best / harmonic;
            near.saturating_sub(2)..=near + 2
        })
        .filter(|bin| range.contains(bin) && z[*bin] > ONE_LOOK)
        .chain([best])
        .max_by(by_power)
}

/// Residuals x_t − φ x_{t−1} of neighbouring samples, with the cells they fall into.
fn whitened(
    grid: &Grid,
    times: &[f64],
    intervals: &[f64],
    interval: f64,
    y: &[f64],
) -> (Vec<usize>, Vec<f64>) {
    let neighbours =
        || (1..y.len()).filter(|&at| NEIGHBOURS.contains(&(intervals[at - 1] / interval)));
    let (mut product, mut square) = (0.0, 0.0);
    for at in neighbours() {
        product += y[at - 1] * y[at];
        square += 0.5 * (y[at - 1] * y[at - 1] + y[at] * y[at]);
    }
    let memory = if square > 0.0 { product / square } else { 0.0 };
    neighbours().map(|at| (grid.cell(times[at]), y[at] - memory * y[at - 1])).unzip()
}

/// The z beyond which a sample of pure noise reaches anywhere in its spectrum only by false alarm.
fn significant(count: usize) -> f64 {
    // Solves 1 − (1 − e^{−z})^{n/2} = α for z.
    let per_frequency = -((-FALSE_ALARM).ln_1p() / (0.5 * count as f64)).exp_m1();
    -per_frequency.ln()
}

/// Powers divided by the level of noise around them.
fn over_noise_level(powers: &[f64]) -> Vec<f64> {
    let everywhere = quantile(powers, 0.5).unwrap_or(0.0);
    let mut z = Vec::with_capacity(powers.len());
    for bins in powers.chunks(BINS_PER_LEVEL) {
        let here = quantile(bins, 0.5).unwrap_or(0.0).max(everywhere);
        // The tiny addend keeps a spectrum of rounding errors from standing out against itself.
        let level = here / std::f64::consts::LN_2 + f64::MIN_POSITIVE;
        z.extend(bins.iter().map(|power| power / level));
    }
    z
}

/// Time rounded to cells, so that a transform does the work of the sums.
struct Grid {
    start: f64,
    step: f64,
    length: usize,
}

impl Grid {
    fn over(times: &[f64], interval: f64) -> Self {
        let start = times[0];
        let beat = |time: &f64| {
            let place = (time - start) / interval;
            (place - place.round()).abs() < ON_THE_BEAT
        };
        let step = if times.iter().all(beat) { interval } else { interval / CELLS_PER_INTERVAL };
        let span = (times[times.len() - 1] - start) / step;
        let cells = (span.round() as usize).min(MOST_CELLS - 1) + 1;
        // Twice the span, so that no line falls between two frequencies.
        Self { start, step, length: comfortable_length(2 * cells) }
    }

    fn cell(&self, time: f64) -> usize {
        ((time - self.start) / self.step).round() as usize
    }

    fn frequency_step(&self) -> f64 {
        1.0 / (self.length as f64 * self.step)
    }

    /// Bins from [`FEWEST_PERIODS`] per record to half a period per sample.
    fn range(&self, span: f64, interval: f64, bins: usize) -> Range<usize> {
        let step = self.frequency_step();
        let first = (FEWEST_PERIODS as f64 / (span * step)).ceil() as usize;
        let last = (0.5 / (interval * step)).floor() as usize;
        first.max(1)..(last + 1).min(bins)
    }

    /// The normalised periodogram at all multiples of the frequency step up to half a period per
    /// interval.
    fn powers(&self, cells: &[usize], y: &[f64]) -> Vec<f64> {
        let (mut sums, mut counts) = (vec![0.0; self.length], vec![0.0; self.length]);
        for (&cell, &y) in cells.iter().zip(y) {
            sums[cell] += y;
            counts[cell] += 1.0;
        }
        let total: f64 = y.iter().map(|y| y * y).sum();
        let (once, twice) = (forward(sums), forward(counts));
        let count = y.len() as f64;
        (0..once.len())
            .map(|bin| {
                // The library's transform turns the other way than the sums of the periodogram.
                let doubled = 2 * bin;
                let twice = match twice.get(doubled) {
                    Some(value) => value.conj(),
                    None => twice[self.length - doubled],
                };
                explained(once[bin].conj(), twice, count) / total
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers};
    use crate::stats::specimen::{Noise, Windows, in_percent};

    fn indices(count: usize) -> Vec<f64> {
        (0..count).map(|index| index as f64).collect()
    }

    /// Drops a third of the samples, partly in one long gap.
    fn with_gaps(values: &[f64], seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut noise = Noise::new(seed);
        let hole = values.len() / 4..values.len() * 2 / 5;
        (0..values.len())
            .filter(|at| !hole.contains(at) && noise.uniform() < 0.8)
            .map(|at| (at as f64, values[at]))
            .unzip()
    }

    #[test]
    fn scipy_finds_the_same_periodogram() {
        for case in case("lomb_scargle") {
            let found = lomb_scargle(
                &numbers(case, "t"),
                &numbers(case, "y"),
                &numbers(case, "frequencies"),
            );
            for (found, expected) in found.unwrap().into_iter().zip(numbers(case, "expected")) {
                close(Some(found), expected, 1e-9);
            }
        }
    }

    #[test]
    fn the_transform_gives_the_powers_of_the_sums() {
        for (jitter, tolerance) in [(0.0, 1e-9), (0.25, 1e-9)] {
            let mut noise = Noise::new(3);
            let times: Vec<f64> = (0..60)
                .filter(|t| t % 7 != 2)
                .map(|t| f64::from(t) + jitter * f64::from(t % 3))
                .collect();
            let values: Vec<f64> = times.iter().map(|_| noise.uniform()).collect();
            let grid = Grid::over(&times, 1.0);
            let cells: Vec<usize> = times.iter().map(|&time| grid.cell(time)).collect();
            let powers = grid.powers(&cells, &centred(&values).unwrap());
            let bins: Vec<usize> = (1..40).collect();
            let frequencies: Vec<f64> =
                bins.iter().map(|&bin| bin as f64 * grid.frequency_step()).collect();
            let direct = lomb_scargle(&times, &values, &frequencies).unwrap();
            for (&bin, direct) in bins.iter().zip(direct) {
                close(Some(powers[bin]), direct, tolerance);
            }
        }
    }

    #[test]
    fn a_cron_job_is_found_through_gaps_and_jitter() {
        for (on, off) in [(4.0, 36.0), (12.0, 28.0), (20.0, 20.0)] {
            let values = Windows { width: 1.0, stride: 1.0, count: 900 }.periodic(on, off);
            let (mut times, values) = with_gaps(&in_percent(&values), 4);
            let period = period_by_lomb_scargle(&times, &values).unwrap();
            assert!((period.samples - 40.0).abs() < 0.5, "{period:?}");
            let mut noise = Noise::new(9);
            times.iter_mut().for_each(|time| *time = 15.0 * (*time + 0.3 * noise.uniform()));
            let period = period_by_lomb_scargle(&times, &values).unwrap();
            assert!((period.samples - 40.0).abs() < 0.8, "{period:?}");
        }
    }

    #[test]
    fn random_loads_with_gaps_have_no_period() {
        let mut found = 0;
        for seed in 0..60 {
            for on in [0.03, 0.5, 3.0, 20.0] {
                let windows = Windows { width: 1.0, stride: 1.0, count: 600 };
                let values = windows.telegraph(on, on * 7.0 / 3.0, seed);
                let (times, kept) = with_gaps(&values, seed);
                found += usize::from(period_by_lomb_scargle(&times, &kept).is_some());
                found += usize::from(period_by_lomb_scargle(&indices(600), &values).is_some());
            }
            for memory in [0.0, 0.5, 0.9, 0.98] {
                let values = Noise::new(1000 + seed).autoregression(memory, 600);
                let (times, kept) = with_gaps(&values, seed);
                found += usize::from(period_by_lomb_scargle(&times, &kept).is_some());
            }
        }
        assert!(found <= 4, "{found} of 720");
    }

    #[test]
    fn what_cannot_be_judged_has_no_period() {
        let wave: Vec<f64> = (0..100).map(|t| (f64::from(t) * 0.7).sin()).collect();
        assert!(period_by_lomb_scargle(&indices(100), &wave).is_some());
        assert_eq!(period_by_lomb_scargle(&indices(99), &wave), None);
        assert_eq!(period_by_lomb_scargle(&indices(12), &wave[..12]), None);
        assert_eq!(period_by_lomb_scargle(&indices(100), &[0.3; 100]), None);
        assert_eq!(period_by_lomb_scargle(&[0.0; 100], &wave), None);
        let backwards: Vec<f64> = indices(100).into_iter().rev().collect();
        assert_eq!(period_by_lomb_scargle(&backwards, &wave), None);
        assert_eq!(lomb_scargle(&indices(100), &wave, &[0.0]), None);
        assert_eq!(lomb_scargle(&indices(100), &[0.3; 100], &[0.1]), None);
        assert_eq!(lomb_scargle(&indices(2), &[0.0, 1.0], &[0.1]), None);
    }
}
