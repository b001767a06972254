//! Stretches from all of a long record, where it would take too long to play it whole.

use std::ops::Range;

/// Parts of the time from each of which a stretch is taken.
const STRATA: usize = 24;
/// Step of the place of the stretch in its part, so that no rhythm of the day is met always at the same hour.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Pieces of work of one tenant that are played at most: 64 MB, and a second of time for each way of sharing.
pub(crate) const MOST_PIECES: f64 = 4e6;

/// Stretches that together are a share of a span: one in each of 24 equal parts of it, at a place that differs from part to part.
///
/// - Shape: `(from_s, until_s)`, rising; all of the span for a share of 1 and more.
pub fn stretches(span_s: f64, share: f64) -> Vec<(f64, f64)> {
    if share >= 1.0 || span_s <= 0.0 {
        return vec![(0.0, span_s)];
    }
    let part_s = span_s / STRATA as f64;
    let length_s = part_s * share.max(0.0);
    let stretch = |part: usize| {
        let place = (0.5 + part as f64 * GOLDEN).fract();
        let from = part as f64 * part_s + place * (part_s - length_s);
        (from, from + length_s)
    };
    (0..STRATA).map(stretch).collect()
}

/// Which bins of a record are played, and how much of each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Played {
    /// Ranges of bins, rising.
    pub(crate) bins: Vec<Range<usize>>,
    /// Share of each bin that is played, above 0 and at most 1: under 1 where one bin alone holds too much.
    pub(crate) of_bin: f64,
    /// Whether that is all.
    pub(crate) is_all: bool,
}

impl Played {
    /// Bins that together hold at most [`MOST_PIECES`]; `pieces` says how many each of them holds.
    pub(crate) fn of(pieces: &[f64]) -> Self {
        let count = pieces.len();
        let total: f64 = pieces.iter().sum();
        if total <= MOST_PIECES {
            return Self { bins: std::iter::once(0..count).collect(), of_bin: 1.0, is_all: true };
        }
        let mut share = MOST_PIECES / total;
        let mut bins = whole_bins(count, share);
        // Stretches may hold more than others of their length.
        while held(pieces, &bins) > MOST_PIECES && share * count as f64 > 0.5 {
            share *= 0.9;
            bins = whole_bins(count, share);
        }
        if held(pieces, &bins) <= 0.0 {
            let most = (0..count).max_by(|a, b| pieces[*a].total_cmp(&pieces[*b])).unwrap_or(0);
            bins = std::iter::once(most..most + 1).collect();
        }
        let of_bin = (MOST_PIECES / held(pieces, &bins)).min(1.0);
        Self { bins, of_bin, is_all: false }
    }

    /// The values of the bins that are played.
    pub(crate) fn taken<T: Clone>(&self, values: &[T]) -> Vec<T> {
        self.bins.iter().flat_map(|it| values[it.clone()].iter().cloned()).collect()
    }
}

fn held(pieces: &[f64], bins: &[Range<usize>]) -> f64 {
    bins.iter().flat_map(|it| &pieces[it.clone()]).sum()
}

fn whole_bins(count: usize, share: f64) -> Vec<Range<usize>> {
    let place = |it: f64| (it.round() as usize).min(count);
    let bins = stretches(count as f64, share);
    bins.into_iter().map(|it| place(it.0)..place(it.1)).filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_record_is_played_whole() {
        let played = Played::of(&[1e3; 100]);
        assert_eq!((played.bins.len(), played.is_all, played.of_bin), (1, true, 1.0));
        assert_eq!(played.taken(&[7; 100]).len(), 100);
        assert!(Played::of(&[]).is_all);
    }

    #[test]
    fn one_bin_that_holds_too_much_is_played_in_part() {
        let played = Played::of(&[0.0, 0.0, 4e9, 0.0]);
        assert_eq!((played.bins.first(), played.of_bin), (Some(&(2..3)), 1e-3));
    }

    proptest! {
        #[test]
        fn whatever_the_bins_hold_no_more_is_played_and_of_an_even_record_nearly_as_much(
            rate in 1.0_f64..1e7, count in 1_usize..20_000, uneven in 0.0_f64..1.0,
        ) {
            let pieces: Vec<f64> =
                (0..count).map(|it| rate * (1.0 + uneven * (it as f64 * 0.7).sin())).collect();
            let played = Played::of(&pieces);
            let total: f64 = pieces.iter().sum();
            let kept = held(&pieces, &played.bins) * played.of_bin;
            prop_assert!(kept <= MOST_PIECES * 1.000_001);
            prop_assert_eq!(played.is_all, total <= MOST_PIECES);
            prop_assert!(kept > 0.0);
            if total > MOST_PIECES && rate < 1e3 {
                prop_assert!(kept > 0.5 * MOST_PIECES, "{}", kept);
            }
        }
    }
}
