//! How long a quantity stands at each level, how often it rises, and how often a sum of several crosses a limit.

use std::collections::BTreeMap;

/// Levels of a staircase at most; finer steps are rounded up to the next one.
const MOST_LEVELS: usize = 512;

/// A series as stairs: shares of time at each level, and the rates of its rises between them.
///
/// It is all that is needed to say how often a sum of independent series crosses a limit, and it
/// stays small however long the series was.
#[derive(Debug, Clone, PartialEq)]
pub struct Staircase {
    /// Levels, ascending; never empty.
    pub levels: Vec<f64>,
    /// Share of time at each level; they add up to 1.
    pub shares: Vec<f64>,
    /// Rises from one level to a higher one.
    pub rises: Vec<Rise>,
    /// Time that was seen, in samples.
    pub samples: u64,
}

/// A rise from one level to a higher one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rise {
    /// Position of the level before.
    pub from: usize,
    /// Position of the level after.
    pub to: usize,
    /// How often, per sample.
    pub rate: f64,
}

impl Staircase {
    /// The stairs of a series of even segments; `None` without a sample.
    ///
    /// Up to 512 different values are kept as they are; more are rounded up to the next of 512 even
    /// steps, so that a peak is never made smaller.
    pub fn of(segments: &[&[f64]]) -> Option<Self> {
        let steps = Steps::of(segments)?;
        let mut counts = vec![0_u64; steps.levels.len()];
        let mut rises: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for segment in segments {
            let mut before = None;
            for value in *segment {
                let level = steps.place(*value);
                counts[level] += 1;
                if let Some(from) = before.filter(|it| *it < level) {
                    *rises.entry((from, level)).or_default() += 1;
                }
                before = Some(level);
            }
        }
        let samples: u64 = counts.iter().sum();
        let share = |count: u64| count as f64 / samples as f64;
        let rises = rises.into_iter().map(|((from, to), it)| Rise { from, to, rate: share(it) });
        Some(Self {
            shares: counts.iter().map(|it| share(*it)).collect(),
            rises: rises.collect(),
            levels: steps.levels,
            samples,
        })
    }

    /// A quantity that always stands at one level.
    pub fn constant(level: f64) -> Self {
        Self { levels: vec![level], shares: vec![1.0], rises: Vec::new(), samples: 0 }
    }

    /// The highest level.
    pub fn peak(&self) -> f64 {
        self.levels.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// Mean over time.
    pub fn mean(&self) -> f64 {
        self.levels.iter().zip(&self.shares).map(|(level, share)| level * share).sum()
    }

    /// The same, but never above a cap: a rise beyond it ends there.
    pub fn capped(&self, cap: f64) -> Self {
        let mut capped = Self { levels: Vec::new(), shares: Vec::new(), ..self.clone() };
        let mut places = Vec::with_capacity(self.levels.len());
        for (level, share) in self.levels.iter().zip(&self.shares) {
            let level = level.min(cap);
            match capped.levels.last() {
                Some(last) if *last >= level => {
                    let place = capped.levels.len() - 1;
                    capped.shares[place] += share;
                }
                _ => {
                    capped.levels.push(level);
                    capped.shares.push(*share);
                }
            }
            places.push(capped.levels.len() - 1);
        }
        for rise in &mut capped.rises {
            (rise.from, rise.to) = (places[rise.from], places[rise.to]);
        }
        capped.rises.retain(|it| it.from < it.to);
        capped
    }

    /// How often it rises above a level from at or below it, per sample.
    pub fn rises_above(&self, level: f64) -> f64 {
        let crosses = |it: &&Rise| self.levels[it.from] <= level && level < self.levels[it.to];
        self.rises.iter().filter(crosses).map(|it| it.rate).sum()
    }
}

/// The levels to which values are rounded up.
struct Steps {
    levels: Vec<f64>,
    /// Lowest value and width of a step; `None` where every value is a level.
    even: Option<(f64, f64)>,
}

impl Steps {
    fn of(segments: &[&[f64]]) -> Option<Self> {
        let values = || segments.iter().flat_map(|it| it.iter().copied());
        let mut levels: Vec<f64> = Vec::new();
        for value in values() {
            if let Err(place) = levels.binary_search_by(|it| it.total_cmp(&value)) {
                levels.insert(place, value);
                if levels.len() > MOST_LEVELS {
                    break;
                }
            }
        }
        if levels.len() <= MOST_LEVELS {
            return (!levels.is_empty()).then_some(Self { levels, even: None });
        }
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        let width = (high - low) / (MOST_LEVELS - 1) as f64;
        let levels = (0..MOST_LEVELS)
            .map(|it| if it + 1 == MOST_LEVELS { high } else { low + width * it as f64 });
        Some(Self { levels: levels.collect(), even: Some((low, width)) })
    }

    fn place(&self, value: f64) -> usize {
        let last = self.levels.len() - 1;
        match self.even {
            None => self.levels.partition_point(|it| *it < value).min(last),
            // Rounding must not lift a value that stands on a step.
            Some((low, width)) => {
                (((value - low) / width - 1e-9).ceil().max(0.0) as usize).min(last)
            }
        }
    }
}

/// How a sum of independent quantities is distributed.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    levels: Vec<f64>,
    /// Share of time at or below each level.
    at_most: Vec<f64>,
}

impl Distribution {
    /// The sum of these stairs, each at a phase of its own; of none, the constant 0.
    ///
    /// Convolution in turn; sums beyond 4096 different values are rounded up to even steps.
    pub fn of_sum<'a>(stairs: impl IntoIterator<Item = &'a Staircase>) -> Self {
        let mut sum = vec![(0.0, 1.0)];
        for stair in stairs {
            let own = stair.levels.iter().copied().zip(stair.shares.iter().copied());
            let own: Vec<(f64, f64)> = own.filter(|it| it.1 > 0.0).collect();
            sum = convolved(&sum, &own);
        }
        let mut below = 0.0;
        let at_most = sum.iter().map(|it| {
            below += it.1;
            below
        });
        Self { at_most: at_most.collect(), levels: sum.into_iter().map(|it| it.0).collect() }
    }

    /// Share of time at or below a level.
    pub fn share_at_most(&self, level: f64) -> f64 {
        match self.levels.partition_point(|it| *it <= level) {
            0 => 0.0,
            place => self.at_most[place - 1],
        }
    }

    /// Share of time above a level.
    pub fn share_above(&self, level: f64) -> f64 {
        let above = self.levels.partition_point(|it| *it <= level);
        if above == self.levels.len() { 0.0 } else { (1.0 - self.share_at_most(level)).max(0.0) }
    }

    /// The lowest level at or below which it stands for this share of the time.
    pub fn quantile(&self, share: f64) -> f64 {
        let place = self.at_most.partition_point(|it| *it < share - 1e-12);
        self.levels[place.min(self.levels.len() - 1)]
    }
}

/// Sums with more different values than this are rounded up to as many even steps.
const MOST_SUMS: usize = 4096;

fn convolved(a: &[(f64, f64)], b: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let ends = |it: &[(f64, f64)]| Some((it.first()?.0, it.last()?.0));
    let (Some(a_ends), Some(b_ends)) = (ends(a), ends(b)) else { return a.to_vec() };
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x.0 + y.0, x.1 * y.1)));
    if a.len() * b.len() <= MOST_SUMS {
        let mut sums: Vec<(f64, f64)> = pairs.collect();
        sums.sort_by(|x, y| x.0.total_cmp(&y.0));
        sums.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        return sums;
    }
    let (low, high) = (a_ends.0 + b_ends.0, a_ends.1 + b_ends.1);
    let width = (high - low) / (MOST_SUMS - 1) as f64;
    let mut shares = vec![0.0; MOST_SUMS];
    for (sum, share) in pairs {
        let place = ((sum - low) / width - 1e-9).ceil().max(0.0) as usize;
        shares[place.min(MOST_SUMS - 1)] += share;
    }
    let level = |it: usize| if it + 1 == MOST_SUMS { high } else { low + width * it as f64 };
    shares
        .into_iter()
        .enumerate()
        .map(|(it, share)| (level(it), share))
        .filter(|it| it.1 > 0.0)
        .collect()
}

/// How often the sum of independent, stationary quantities crosses a limit upwards, per sample.
///
/// ν = Σ_i Σ_rises rate(v → v + j) · P(C − v − j < Σ_{k≠i} m_k ≤ C − v): the time of each rise is
/// independent of where the others stand. Work: rises times the logarithm of levels.
///
/// Source: S. O. Rice, Bell System Technical Journal 24 (1945), 46–156, for processes that jump.
pub fn crossing_rate(stairs: &[&Staircase], limit: f64) -> f64 {
    let mut rate = 0.0;
    // Sums that are equal on paper must not cross by their last bit.
    let limit = limit + 1e-9 * limit.abs();
    for (position, stair) in stairs.iter().enumerate() {
        let others = stairs.iter().enumerate().filter(|it| it.0 != position).map(|it| *it.1);
        let rest = Distribution::of_sum(others);
        for rise in &stair.rises {
            let (from, to) = (stair.levels[rise.from], stair.levels[rise.to]);
            let reach = rest.share_at_most(limit - from) - rest.share_at_most(limit - to);
            rate += rise.rate * reach.max(0.0);
        }
    }
    rate
}

/// How often a series crosses a limit upwards, and in how many samples it lies above.
pub fn crossings(segments: &[&[f64]], limit: f64) -> (u64, u64) {
    let mut found = (0, 0);
    for segment in segments {
        let mut was_over = None;
        for value in *segment {
            let is_over = *value > limit;
            found.0 += u64::from(is_over && was_over == Some(false));
            found.1 += u64::from(is_over);
            was_over = Some(is_over);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Base with spikes of `hold` samples whose gaps wander around `gap`.
    fn spikes(
        samples: usize,
        (base, spike): (f64, f64),
        hold: usize,
        gap: usize,
        seed: u64,
    ) -> Vec<f64> {
        let mut values = Vec::with_capacity(samples);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        while values.len() < samples {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let wander = (state >> 33) as usize % (gap / 2) + gap * 3 / 4;
            values.extend(std::iter::repeat_n(base, wander));
            values.extend(std::iter::repeat_n(base + spike, hold));
        }
        values.truncate(samples);
        values
    }

    /// Mean over all rotations of how often the sum crosses, and of the time above.
    fn by_force(a: &[f64], b: &[f64], limit: f64) -> (f64, f64) {
        let n = a.len();
        let (mut crossed, mut over) = (0_u64, 0_u64);
        for shift in 0..n {
            let sum: Vec<f64> = (0..n).map(|it| a[it] + b[(it + shift) % n]).collect();
            let found = crossings(&[&sum], limit);
            crossed += found.0;
            over += found.1;
        }
        let all = (n * n) as f64;
        (crossed as f64 / all, over as f64 / all)
    }

    #[test]
    fn crossings_of_all_rotations_are_those_of_the_formula() {
        for (seed, limit) in [(1, 60.0), (2, 60.0), (3, 45.0)] {
            let a = spikes(4000, (18.0, 16.0), 20, 180, seed);
            let b = spikes(4000, (18.0, 16.0), 25, 230, seed + 50);
            let (forced, time) = by_force(&a, &b, limit);
            let (a, b) = (Staircase::of(&[&a]).unwrap(), Staircase::of(&[&b]).unwrap());
            let found = crossing_rate(&[&a, &b], limit);
            assert!((found / forced - 1.0).abs() < 0.05, "{found} {forced}");
            let over = Distribution::of_sum([&a, &b]).share_above(limit);
            assert!((over - time).abs() < 1e-9, "{over} {time}");
        }
    }

    #[test]
    fn two_models_that_fit_on_average_run_out_within_ten_minutes() {
        // 18 GB and spikes of 16 GB for 0.5 s every 9.25 and 10 s, on 60 GB, at ten samples a second.
        let of = |period: usize, at: usize| -> Vec<f64> {
            (0..37_000).map(|it| if (it + at) % period < 10 { 34.0 } else { 18.0 }).collect()
        };
        let (a, b) = (of(185, 0), of(200, 7));
        let (a, b) = (Staircase::of(&[&a]).unwrap(), Staircase::of(&[&b]).unwrap());
        assert!((a.mean() - 18.86).abs() < 0.02 && (b.mean() - 18.8).abs() < 0.02);
        let over = Distribution::of_sum([&a, &b]).share_above(60.0);
        assert!((over / 0.002_70 - 1.0).abs() < 0.02, "{over}");
        // A sample lasts 50 ms.
        let per_second = crossing_rate(&[&a, &b], 60.0) / 0.05;
        let risk = 1.0 - (-per_second * 600.0_f64).exp();
        assert!((risk / 0.997 - 1.0).abs() < 0.02, "{risk}");
    }

    #[test]
    fn many_levels_are_rounded_up_and_a_cap_ends_a_rise() {
        let values: Vec<f64> = (0..5000).map(|it| f64::from(it % 977) / 977.0).collect();
        let stairs = Staircase::of(&[&values]).unwrap();
        assert_eq!(stairs.levels.len(), 512);
        assert_eq!(stairs.peak(), 976.0 / 977.0);
        let mean = values.iter().sum::<f64>() / 5000.0;
        assert!(stairs.mean() >= mean && stairs.mean() - mean < 1.0 / 500.0);
        let square: Vec<f64> = (0..100).map(|it| if it % 10 < 5 { 1.0 } else { 9.0 }).collect();
        let stairs = Staircase::of(&[&square]).unwrap().capped(4.0);
        assert_eq!((stairs.peak(), stairs.rises.len()), (4.0, 1));
        assert_eq!(stairs.rises_above(3.0), 0.1);
        assert_eq!(Staircase::of(&[]), None);
        assert_eq!(Staircase::constant(3.0).capped(2.0).rises_above(1.0), 0.0);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_a_sum_is_never_above_the_sum_of_peaks(
            a in prop::collection::vec(0.0..100.0_f64, 1..60),
            b in prop::collection::vec(0.0..100.0_f64, 1..60),
            limit in 0.0..200.0_f64,
        ) {
            let (a, b) = (Staircase::of(&[&a]).unwrap(), Staircase::of(&[&b]).unwrap());
            prop_assert!((a.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let sum = Distribution::of_sum([&a, &b]);
            prop_assert_eq!(sum.share_above(a.peak() + b.peak()), 0.0);
            prop_assert!((sum.share_above(limit) + sum.share_at_most(limit) - 1.0).abs() < 1e-9);
            prop_assert!(crossing_rate(&[&a, &b], limit) >= 0.0);
            prop_assert_eq!(crossing_rate(&[&a, &b], a.peak() + b.peak()), 0.0);
        }
    }
}
