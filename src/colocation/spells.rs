//! From busy fractions of bins to spells of work: exact where bursts are longer than a bin, drawn where they are shorter.

use crate::colocation::draw::Draw;
use crate::stats::telegraph::{blur_index, blur_index_of, invert_unless_periodic};

/// From here on a bin counts as full, from there down as idle.
const FULL: f64 = 0.985;
const IDLE: f64 = 0.005;
/// Blur index from which on bursts are longer than the window.
const RESOLVED: f64 = 0.6;
/// Share of a window that a burst is taken to last where nothing tells, with both ends.
const UNKNOWN: [f64; 3] = [0.01, 0.05, 0.3];
/// Shortest burst that is played, seconds: shorter ones act alike, and a train of kernels is one burst.
const SHORTEST_S: f64 = 0.5e-3;
/// Inferred bursts below this share of a window are not believed: a regular train varies less than chance and looks like that.
const LEAST_BELIEVED: f64 = 0.03;
/// Factor within which an inferred length is right.
const INFERRED: f64 = 3.0;

/// What the fractions tell about the length of bursts, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BurstLength {
    /// Longer than a bin: edges are seen.
    Seen,
    /// Shorter, inferred from the variance of the fractions.
    Inferred([f64; 3]),
    /// Shorter, and nothing tells how much.
    Unknown([f64; 3]),
}

impl BurstLength {
    /// What busy fractions over windows tell; `quantum` is the step of the values.
    pub(crate) fn of(fractions: &[f64], window_s: f64, quantum: f64) -> Self {
        let blur = blur_index_of(fractions, quantum);
        let inferred = || invert_unless_periodic(&[fractions], window_s, quantum).map(|it| it.on);
        Self::of_blur(blur, window_s, inferred)
    }

    /// What the mean and variance of such fractions tell; `inferred` is the length that they imply, asked only if it is needed.
    pub(crate) fn of_moments(
        mean: f64,
        variance: f64,
        (window_s, quantum): (f64, f64),
        inferred: impl FnOnce() -> Option<f64>,
    ) -> Self {
        Self::of_blur(blur_index(variance - quantum * quantum / 12.0, mean), window_s, inferred)
    }

    fn of_blur(blur: Option<f64>, window_s: f64, inferred: impl FnOnce() -> Option<f64>) -> Self {
        if blur.is_none_or(|it| it >= RESOLVED) {
            return Self::Seen;
        }
        let floor = |lengths: [f64; 3]| lengths.map(|it| it.max(SHORTEST_S));
        match inferred() {
            Some(on) if on >= LEAST_BELIEVED * window_s => {
                Self::Inferred(floor([on / INFERRED, on, on * INFERRED]))
            }
            _ => Self::Unknown(floor(UNKNOWN.map(|it| it * window_s))),
        }
    }
}

/// How many spells each bin becomes, about.
pub(crate) fn pieces_of(fractions: &[f64], bin_s: f64, burst_s: f64) -> Vec<f64> {
    let is_long = burst_s >= 0.5 * bin_s;
    let pieces = |fraction: f64| match fraction {
        it if it <= IDLE => 0.0,
        it if it >= FULL || is_long => 1.0,
        it => (it * bin_s / burst_s).max(1.0),
    };
    fractions.iter().map(|it| pieces(*it)).collect()
}

/// Spells of work that give the bins their busy fractions.
///
/// Full bins join. A partial bin beside a busier one continues it, as far as bursts are at least half a bin long; otherwise it is cut
/// into bursts of about `burst_s`, with gaps between them, in random order and lengths.
///
/// - Shape: `fractions[bin]`, 0 to 1; spells are `(begin, length)` in seconds, in order, never overlapping.
/// - `burst_s`: typical length of a burst; infinite where edges are seen.
pub(crate) fn spells(
    fractions: &[f64],
    bin_s: f64,
    burst_s: f64,
    draw: &mut Draw,
) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    let mut push = |begin: f64, length: f64| match found.last_mut() {
        Some((from, long)) if begin - (*from + *long) < 1e-9 => *long = begin + length - *from,
        _ => found.push((begin, length)),
    };
    let at = |bin: Option<usize>| bin.and_then(|it| fractions.get(it)).copied().unwrap_or(0.0);
    let is_long = burst_s >= 0.5 * bin_s;
    let mut ends_busy = false;
    for (bin, &fraction) in fractions.iter().enumerate() {
        let (begin, busy) = (bin as f64 * bin_s, fraction.clamp(0.0, 1.0) * bin_s);
        let continues_next = is_long && at(Some(bin + 1)) > IDLE;
        if fraction <= IDLE {
            ends_busy = false;
        } else if fraction >= FULL {
            push(begin, bin_s);
            ends_busy = true;
        } else if is_long && (ends_busy || continues_next) {
            // At the side where the burst goes on; at both if it dips in between.
            let is_dip = ends_busy
                && continues_next
                && at(bin.checked_sub(1)) >= FULL
                && at(Some(bin + 1)) >= FULL;
            if is_dip {
                push(begin, 0.5 * busy);
                push(begin + bin_s - 0.5 * busy, 0.5 * busy);
                ends_busy = true;
            } else if ends_busy {
                push(begin, busy);
                ends_busy = false;
            } else {
                push(begin + bin_s - busy, busy);
                ends_busy = true;
            }
        } else {
            cut(begin, bin_s, busy, burst_s, draw, &mut push);
            ends_busy = false;
        }
    }
    found
}

/// A partial bin as bursts and gaps of random lengths.
fn cut(
    begin: f64,
    bin_s: f64,
    busy: f64,
    burst_s: f64,
    draw: &mut Draw,
    push: &mut impl FnMut(f64, f64),
) {
    let count = (busy / burst_s + draw.uniform()).floor().max(1.0) as usize;
    let mut parts = |count: usize, total: f64| -> Vec<f64> {
        let parts: Vec<f64> = (0..count).map(|_| 0.2 + draw.exponential()).collect();
        let sum: f64 = parts.iter().sum();
        parts.into_iter().map(|it| it * total / sum).collect()
    };
    let bursts = parts(count, busy);
    let gaps = parts(count + 1, bin_s - busy);
    let mut now = begin;
    for (gap, burst) in gaps.into_iter().zip(bursts) {
        push(now + gap, burst);
        now += gap + burst;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_over_several_bins_is_one_spell_with_its_edges() {
        let found = spells(&[0.0, 0.3, 1.0, 1.0, 0.6, 0.0], 0.1, f64::INFINITY, &mut Draw::new(1));
        assert_eq!(found.len(), 1);
        assert!((found[0].0 - 0.17).abs() < 1e-9 && (found[0].1 - 0.29).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_bin_of_short_bursts_is_cut_into_about_as_many() {
        let found = spells(&[0.5; 100], 0.1, 0.005, &mut Draw::new(1));
        assert!((800..1200).contains(&found.len()), "{}", found.len());
    }

    proptest! {
        #[test]
        fn spells_keep_the_busy_time_and_never_overlap(
            fractions in prop::collection::vec(0.0..=1.0_f64, 1..50),
            burst in 0.001..1.0_f64, seed in 0..100_u64,
        ) {
            let found = spells(&fractions, 0.1, burst, &mut Draw::new(seed));
            let busy: f64 = found.iter().map(|it| it.1).sum();
            let expected: f64 = fractions.iter().map(|it| {
                0.1 * if *it >= FULL { 1.0 } else if *it <= IDLE { 0.0 } else { *it }
            }).sum();
            prop_assert!((busy - expected).abs() < 1e-6, "{busy} {expected}");
            prop_assert!(found.windows(2).all(|it| it[0].0 + it[0].1 <= it[1].0 + 1e-9));
        }
    }
}
