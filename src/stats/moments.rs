//! Count, mean, variance and extremes as one small state that can be merged.

/// Values that are summed before they are merged: they stay in the nearest cache.
const BLOCK: usize = 1024;

/// What is left of a sample once its order is forgotten, in constant memory.
///
/// Two states merge into the state of both samples together, so a long recording may be read in
/// pieces and on several threads. Merging agrees with inserting one by one up to rounding.
///
/// Sources: B. P. Welford, Technometrics 4 (1962), 419–420, for one value; T. F. Chan, G. H. Golub
/// and R. J. LeVeque, The American Statistician 37 (1983), 242–247, for the merge.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    scatter: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// The state after every value of a slice.
    ///
    /// Two passes over one block after the other, which are then merged: as exact as taking the
    /// values one by one, and without a division for each.
    pub fn of(values: &[f64]) -> Self {
        let mut moments = Self::default();
        for block in values.chunks(BLOCK) {
            moments.merge(&Self::of_block(block));
        }
        moments
    }

    /// The state after values of which each is there so often, in whatever order they are given.
    pub fn of_counts(counts: &[(f64, u64)]) -> Self {
        let mut counts: Vec<(f64, u64)> = counts.iter().copied().filter(|it| it.1 > 0).collect();
        counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (Some(first), Some(last)) = (counts.first(), counts.last()) else {
            return Self::default();
        };
        let (min, max) = (first.0, last.0);
        let count: u64 = counts.iter().map(|it| it.1).sum();
        let over: f64 = counts.iter().map(|it| (it.0 - min) * it.1 as f64).sum();
        let mean = min + over / count as f64;
        let scatter = counts.iter().map(|it| (it.0 - mean) * (it.0 - mean) * it.1 as f64).sum();
        Self { count, mean, scatter, min, max }
    }

    fn of_block(block: &[f64]) -> Self {
        // Counted from the first value, so that a constant has exactly itself as its mean.
        let first = block[0];
        let mean = first + block.iter().map(|it| it - first).sum::<f64>() / block.len() as f64;
        Self {
            count: block.len() as u64,
            mean,
            scatter: block.iter().map(|it| (it - mean) * (it - mean)).sum(),
            min: block.iter().copied().fold(f64::INFINITY, f64::min),
            max: block.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// Takes one more value.
    pub fn insert(&mut self, value: f64) {
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        }
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.scatter += before * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Takes everything another state has seen.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (left, right) = (self.count as f64, other.count as f64);
        let between = other.mean - self.mean;
        self.count += other.count;
        self.mean += between * right / (left + right);
        self.scatter += other.scatter + between * between * left * right / (left + right);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values were taken.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Arithmetic mean; `None` without a value.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Population variance, Σ(x−x̄)²/n; `None` without a value.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 0).then(|| self.scatter / self.count as f64)
    }

    /// Unbiased sample variance, Σ(x−x̄)²/(n−1); `None` under two values.
    pub fn sample_variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.scatter / (self.count - 1) as f64)
    }

    /// Smallest value; `None` without a value.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value; `None` without a value.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// √(Σx²/n), the denominator of a crest factor; `None` without a value.
    pub fn root_mean_square(&self) -> Option<f64> {
        self.variance().map(|variance| (variance + self.mean * self.mean).sqrt())
    }
}

/// [`Moments::of`] of values that come one by one: the same state to the last bit.
#[derive(Debug, Clone, Default)]
pub struct BlockMoments {
    block: Vec<f64>,
    moments: Moments,
}

impl BlockMoments {
    /// Takes one more value.
    pub fn insert(&mut self, value: f64) {
        self.block.push(value);
        if self.block.len() == BLOCK {
            self.moments.merge(&Moments::of_block(&self.block));
            self.block.clear();
        }
    }

    /// The state after all values.
    pub fn finish(mut self) -> Moments {
        if !self.block.is_empty() {
            self.moments.merge(&Moments::of_block(&self.block));
        }
        self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers, value};
    use proptest::prelude::*;

    #[test]
    fn numpy_finds_the_same_moments() {
        for case in case("moments") {
            let moments = Moments::of(&numbers(case, "x"));
            close(moments.mean(), value(case, "mean"), 1e-12);
            close(moments.variance(), value(case, "variance"), 1e-9);
            close(moments.sample_variance(), value(case, "sample_variance"), 1e-9);
            close(moments.root_mean_square(), value(case, "rms"), 1e-12);
            close(moments.min(), value(case, "min"), 0.0);
            close(moments.max(), value(case, "max"), 0.0);
        }
    }

    #[test]
    fn an_empty_state_knows_nothing_and_one_value_has_no_sample_variance() {
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(Moments::default().max(), None);
        assert_eq!(Moments::default().root_mean_square(), None);
        assert_eq!(Moments::of(&[0.3]).variance(), Some(0.0));
        assert_eq!(Moments::of(&[0.3]).sample_variance(), None);
    }

    #[test]
    fn a_constant_has_a_variance_of_exactly_zero() {
        assert_eq!(Moments::of(&[0.3; 1000]).variance(), Some(0.0));
    }

    #[test]
    fn values_that_come_one_by_one_give_the_same_state_to_the_last_bit() {
        for count in [0, 1, 1023, 1024, 1025, 5000] {
            let values: Vec<f64> = (0..count).map(|it| f64::from(it % 97) / 7.0).collect();
            let mut moments = BlockMoments::default();
            values.iter().for_each(|it| moments.insert(*it));
            assert_eq!(moments.finish(), Moments::of(&values));
            let equal = vec![0.3; values.len()];
            assert_eq!(Moments::of_counts(&[(0.3, equal.len() as u64)]), Moments::of(&equal));
        }
    }

    proptest! {
        #[test]
        fn counted_values_give_what_they_give_one_by_one_in_whatever_order(
            counts in prop::collection::vec((-100..100_i32, 0..50_u64), 0..40),
        ) {
            let counts: Vec<(f64, u64)> =
                counts.into_iter().map(|it| (f64::from(it.0) / 7.0, it.1)).collect();
            let listed: Vec<f64> =
                counts.iter().flat_map(|it| vec![it.0; it.1 as usize]).collect();
            let (found, expected) = (Moments::of_counts(&counts), Moments::of(&listed));
            prop_assert_eq!(found.count(), expected.count());
            prop_assert_eq!((found.min(), found.max()), (expected.min(), expected.max()));
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9,
                (a, b) => a == b,
            };
            prop_assert!(near(found.mean(), expected.mean()));
            prop_assert!(near(found.variance(), expected.variance()));
            let mut turned = counts.clone();
            turned.reverse();
            prop_assert_eq!(Moments::of_counts(&turned), found);
        }

        #[test]
        fn merging_two_halves_equals_taking_the_whole(
            values in prop::collection::vec(-1e3..1e3_f64, 0..200), cut in 0..200_usize,
        ) {
            let cut = cut.min(values.len());
            let mut merged = Moments::of(&values[..cut]);
            merged.merge(&Moments::of(&values[cut..]));
            let whole = Moments::of(&values);
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert_eq!(merged.min(), whole.min());
            prop_assert_eq!(merged.max(), whole.max());
            let near = |a: Option<f64>, b: Option<f64>, scale: f64| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-10 * scale,
                (a, b) => a == b,
            };
            prop_assert!(near(merged.mean(), whole.mean(), 1e3));
            prop_assert!(near(merged.variance(), whole.variance(), 1e6));
        }
    }
}
