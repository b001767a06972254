//! Regimes: where the mean of a series changes for good, as opposed to bursting.

use crate::stats::quantile::quantile;

/// Median of |N(0,1)|: turns a median absolute value into a standard deviation.
const NORMAL_QUARTILE: f64 = 0.674_489_750_196_081_7;
/// Fewest blocks from which the noise at a scale is still estimated.
const FEWEST_BLOCKS: usize = 24;
/// Default penalty per change, over ln n and the noise variance.
const PENALTY: f64 = 3.0;

/// Starts of all regimes after the first, for a series that is constant plus noise within each.
///
/// Minimises Σ over regimes of Σ(x−x̄)² plus `penalty` per change, with at least `min_segment`
/// samples in each regime. Exact; pruned candidates can never be optimal again.
///
/// - `penalty`: in squared units of the values; by default 3 σ² ln n. σ² is the *long-run*
///   variance, see [`long_run_variance`], so that the bursts of a correlated series are not cut
///   into regimes.
/// - Empty if there is no change, no noise and no change at all, or room for less than two regimes.
/// - With the default penalty, bursts up to about a hundredth of the record are not taken for
///   regimes, and regimes are found that fill a tenth of it; between the two, what is a regime is a
///   matter of taste.
/// - Time: O(n) if changes come at a rate, O(n²) without any; the caller passes at most about 8000
///   samples.
///
/// Source: R. Killick, P. Fearnhead and I. A. Eckley, J. Am. Stat. Assoc. 107 (2012), 1590–1598.
pub fn pelt_mean(values: &[f64], penalty: Option<f64>, min_segment: usize) -> Vec<usize> {
    let min_segment = min_segment.max(1);
    if values.len() < 2 * min_segment {
        return Vec::new();
    }
    let by_default = || {
        let variance = long_run_variance(values, min_segment);
        PENALTY * (values.len() as f64).ln() * variance
    };
    let penalty = penalty.unwrap_or_else(by_default);
    // Without noise every rounding error would be worth a regime.
    if penalty.is_nan() || penalty <= 0.0 {
        return Vec::new();
    }
    starts(&last_changes(&Costs::of(values), penalty, min_segment))
}

/// Variance of the noise as a change of the mean has to overcome it.
///
/// For a correlated series that is not the variance of one sample but b·Var(mean of b samples) for
/// a long block b. For b = 1, and b = `shortest`·2^k while at least 24 blocks fit, the variance of
/// block means is estimated from the median of |differences of neighbouring means|, which a few
/// changes of regime do not move: b (median/0.6745)²/2. The largest of these counts; as the largest
/// of several noisy estimates it is rather too large, up to twice, which spares regimes. If every
/// median is zero (half of all neighbours are equal), the mean square of the differences at
/// `shortest` takes its place. Zero for a constant series.
///
/// Source: definition, after the difference estimator of J. von Neumann, Ann. Math. Stat. 12
/// (1941), 367–395.
pub fn long_run_variance(values: &[f64], shortest: usize) -> f64 {
    let shortest = shortest.max(1);
    let mut variance: f64 = 0.0;
    let scales = std::iter::successors(Some(shortest), |block| block.checked_mul(2))
        .take_while(|block| values.len() / block >= FEWEST_BLOCKS);
    for block in std::iter::once(1).chain(scales) {
        let steps = steps(values, block);
        let deviation = quantile(&steps, 0.5).unwrap_or(0.0) / NORMAL_QUARTILE;
        variance = variance.max(0.5 * block as f64 * deviation * deviation);
    }
    if variance > 0.0 {
        return variance;
    }
    let steps = steps(values, shortest);
    let square: f64 = steps.iter().map(|step| step * step).sum();
    0.5 * shortest as f64 * square / steps.len().max(1) as f64
}

/// Absolute differences between the means of neighbouring blocks.
fn steps(values: &[f64], block: usize) -> Vec<f64> {
    let means: Vec<f64> =
        values.chunks_exact(block).map(|it| it.iter().sum::<f64>() / block as f64).collect();
    means.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect()
}

/// Running sums from which the cost of any regime follows in constant time.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Costs {
    fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            // Around the mean, so that the difference of two sums keeps its digits.
            sum += value - mean;
            square += (value - mean) * (value - mean);
            sums.push(sum);
            squares.push(square);
        }
        Self { sums, squares }
    }

    fn count(&self) -> usize {
        self.sums.len() - 1
    }
}

/// Possible starts of the last regime, each list in the same order: lists of numbers are gone through faster than a list of lists.
#[derive(Default)]
struct Candidates {
    starts: Vec<usize>,
    /// Cost of the best cut up to the start.
    best: Vec<f64>,
    /// Running sums at the start.
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// From this end on it cannot be optimal; it still is before, as a better start is too young.
    hopeless_from: Vec<usize>,
}

impl Candidates {
    fn push(&mut self, start: usize, best: f64, costs: &Costs) {
        self.starts.push(start);
        self.best.push(best);
        self.sums.push(costs.sums[start]);
        self.squares.push(costs.squares[start]);
        self.hopeless_from.push(usize::MAX);
    }

    /// Drops those that cannot be optimal any more, in place.
    fn drop_hopeless(&mut self, end: usize) {
        if self.hopeless_from.iter().all(|it| end < *it) {
            return;
        }
        let mut kept = 0;
        for place in 0..self.starts.len() {
            if end < self.hopeless_from[place] {
                self.starts[kept] = self.starts[place];
                self.best[kept] = self.best[place];
                self.sums[kept] = self.sums[place];
                self.squares[kept] = self.squares[place];
                self.hopeless_from[kept] = self.hopeless_from[place];
                kept += 1;
            }
        }
        self.starts.truncate(kept);
        self.best.truncate(kept);
        self.sums.truncate(kept);
        self.squares.truncate(kept);
        self.hopeless_from.truncate(kept);
    }

    /// Cost up to an end of each, without the penalty of its change: Σ(x−x̄)² from the start on comes on top.
    fn costs_up_to(&self, end: usize, costs: &Costs, into: &mut Vec<f64>) {
        let (sum_at, square_at) = (costs.sums[end], costs.squares[end]);
        into.clear();
        let starts = self.starts.iter().zip(&self.best);
        let running = self.sums.iter().zip(&self.squares);
        into.extend(starts.zip(running).map(|((start, best), (sum, square))| {
            let (sum, square) = (sum_at - sum, square_at - square);
            best + (square - sum * sum / (end - start) as f64).max(0.0)
        }));
    }
}

/// For every end, the start of the last regime of the best cut up to there.
fn last_changes(costs: &Costs, penalty: f64, min_segment: usize) -> Vec<usize> {
    let mut best = vec![f64::INFINITY; costs.count() + 1];
    best[0] = -penalty;
    let mut last = vec![0; costs.count() + 1];
    let mut candidates = Candidates::default();
    candidates.push(0, best[0], costs);
    let mut without: Vec<f64> = Vec::new();
    for end in min_segment..=costs.count() {
        let start = end - min_segment;
        if start >= min_segment {
            candidates.push(start, best[start], costs);
        }
        candidates.drop_hopeless(end);
        candidates.costs_up_to(end, costs, &mut without);
        for (cost, start) in without.iter().zip(&candidates.starts) {
            let total = cost + penalty;
            if total < best[end] {
                (best[end], last[end]) = (total, *start);
            }
        }
        let best_here = best[end];
        for (cost, hopeless_from) in without.iter().zip(&mut candidates.hopeless_from) {
            if *cost >= best_here && *hopeless_from == usize::MAX {
                *hopeless_from = end + min_segment;
            }
        }
    }
    last
}

fn starts(last: &[usize]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut end = last.len() - 1;
    while last[end] > 0 {
        end = last[end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, indices, numbers, value};
    use crate::stats::specimen::{Noise, Windows, in_percent};
    use proptest::prelude::*;

    impl Costs {
        /// Σ(x−x̄)² over `from..until`.
        fn between(&self, from: usize, until: usize) -> f64 {
            let sum = self.sums[until] - self.sums[from];
            let square = self.squares[until] - self.squares[from];
            (square - sum * sum / (until - from) as f64).max(0.0)
        }
    }

    /// The best cut without pruning.
    fn by_trying_all(values: &[f64], penalty: f64, min_segment: usize) -> f64 {
        let costs = Costs::of(values);
        let mut best = vec![f64::INFINITY; values.len() + 1];
        best[0] = -penalty;
        for end in min_segment..=values.len() {
            for start in 0..=end - min_segment {
                best[end] = best[end].min(best[start] + costs.between(start, end) + penalty);
            }
        }
        best[values.len()]
    }

    fn cost_of(values: &[f64], starts: &[usize], penalty: f64) -> f64 {
        let costs = Costs::of(values);
        let mut edges = vec![0];
        edges.extend(starts);
        edges.push(values.len());
        let cost: f64 = edges.windows(2).map(|pair| costs.between(pair[0], pair[1])).sum();
        cost + penalty * starts.len() as f64
    }

    #[test]
    fn optimal_partitioning_finds_the_same_changes() {
        for case in case("pelt") {
            let found = pelt_mean(
                &numbers(case, "x"),
                Some(value(case, "penalty")),
                value(case, "min_segment") as usize,
            );
            assert_eq!(found, indices(case, "expected"));
        }
    }

    #[test]
    fn a_step_in_noise_is_found_where_it_is() {
        let mut noise = Noise::new(2);
        let values: Vec<f64> =
            (0..600).map(|t| if t < 350 { 0.2 } else { 0.5 } + 0.1 * noise.normal()).collect();
        let found = pelt_mean(&values, None, 5);
        assert_eq!(found.len(), 1);
        assert!(found[0].abs_diff(350) <= 3, "{found:?}");
    }

    #[test]
    fn steps_without_any_noise_are_found_exactly() {
        let values: Vec<f64> = (0..600).map(|t| f64::from(t / 100 % 2)).collect();
        assert_eq!(pelt_mean(&values, None, 5), [100, 200, 300, 400, 500]);
    }

    #[test]
    fn a_constant_series_has_one_regime_and_a_short_one_too() {
        assert!(pelt_mean(&[0.3; 600], None, 5).is_empty());
        assert!(pelt_mean(&[0.0, 1.0, 0.0], None, 2).is_empty());
        assert!(pelt_mean(&[], None, 0).is_empty());
        assert!(pelt_mean(&[0.0, 1.0], Some(f64::NAN), 1).is_empty());
    }

    #[test]
    fn the_bursts_of_a_steady_regime_are_not_cut_to_confetti() {
        let mut cuts = 0;
        for seed in 1..=20 {
            for (on, count) in [(0.3, 600), (3.0, 600), (3.0, 3600), (20.0, 3600)] {
                let windows = Windows { width: 1.0, stride: 1.0, count };
                let values = in_percent(&windows.telegraph(on, on * 7.0 / 3.0, seed));
                cuts += pelt_mean(&values, None, 5).len();
            }
            cuts += pelt_mean(&Noise::new(seed).autoregression(0.9, 1000), None, 5).len();
        }
        assert!(cuts <= 3, "{cuts} cuts in 100 records");
    }

    #[test]
    fn a_tenant_that_triples_its_duty_starts_a_regime() {
        for seed in 1..=10 {
            let windows = Windows { width: 1.0, stride: 1.0, count: 1800 };
            let before = windows.telegraph(2.0, 18.0, seed);
            let after = windows.telegraph(4.0, 4.0, seed + 100);
            let found = pelt_mean(&[before, after].concat(), None, 5);
            assert!(found.iter().any(|start| start.abs_diff(1800) < 300), "{found:?}");
            assert!(found.len() <= 3, "{found:?}");
        }
    }

    #[test]
    fn regimes_of_a_few_minutes_that_alternate_are_found() {
        let windows = Windows { width: 1.0, stride: 1.0, count: 450 };
        let regimes: Vec<Vec<f64>> = (0..8)
            .map(|index| windows.telegraph(2.0, if index % 2 == 0 { 18.0 } else { 2.0 }, index + 1))
            .collect();
        let found = pelt_mean(&regimes.concat(), None, 5);
        assert!((6..=8).contains(&found.len()), "{found:?}");
        assert!(found.iter().all(|start| start % 450 < 45 || start % 450 > 405), "{found:?}");
    }

    #[test]
    fn the_long_run_variance_of_an_autoregression_is_that_of_its_sum() {
        // 1/(1−φ)² for unit innovations.
        let values = Noise::new(8).autoregression(0.8, 8000);
        let found = long_run_variance(&values, 5);
        assert!((20.0..60.0).contains(&found), "{found}");
        close(Some(long_run_variance(&[0.3; 100], 5)), 0.0, 0.0);
    }

    proptest! {
        #[test]
        fn pruning_never_loses_the_best_cut(
            values in prop::collection::vec(0.0..1.0_f64, 2..80),
            penalty in 0.01..1.0_f64, min_segment in 1..6_usize,
        ) {
            let found = pelt_mean(&values, Some(penalty), min_segment);
            if values.len() >= 2 * min_segment {
                let best = by_trying_all(&values, penalty, min_segment);
                prop_assert!((cost_of(&values, &found, penalty) - best).abs() < 1e-9);
            }
            let mut edges = vec![0];
            edges.extend(&found);
            edges.push(values.len());
            let shortest = edges.windows(2).map(|pair| pair[1] - pair[0]).min();
            prop_assert!(found.is_empty() || shortest >= Some(min_segment));
        }
    }
}
