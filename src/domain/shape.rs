//! The shape of an activity as sums that can be added and subtracted.
//!
//! `cotenant serve` counts them at the rate of its sampler. Two scrapes give by difference what
//! happened between them, however far apart they lie, and differences of neighbours add up. What
//! sums cannot hold is the order of things within the time between two scrapes.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::time::{SampleInterval, TimeSpan};
use serde::{Deserialize, Serialize};

/// Upper bounds of the height classes, as shares of the device; the last class has none.
///
/// Twentieths, each half a percent low: the driver prints whole percents, so `le="0.945"` parts
/// exactly those samples that are at or above 95 % from those that are not.
pub const HEIGHT_BOUNDS: [f64; HEIGHTS - 1] = [
    0.045, 0.095, 0.145, 0.195, 0.245, 0.295, 0.345, 0.395, 0.445, 0.495, 0.545, 0.595, 0.645,
    0.695, 0.745, 0.795, 0.845, 0.895, 0.945,
];
/// Number of height classes.
pub const HEIGHTS: usize = 20;

/// Upper bounds of the length classes, in seconds; the last class has none.
///
/// 0.1 s times powers of two, divided by √2: a length that is a whole number of samples lies
/// within a class and not on its edge.
pub const LENGTH_BOUNDS_S: [f64; LENGTHS - 1] =
    [0.035, 0.071, 0.14, 0.28, 0.57, 1.13, 2.26, 4.53, 9.05, 18.1, 36.2, 72.4, 145.0, 290.0];
/// Number of length classes.
pub const LENGTHS: usize = 15;

/// Levels at which bursts are cut, as shares of the device.
pub const LEVELS: [f64; 5] = [0.15, 0.3, 0.5, 0.65, 0.8];

const BUSY: usize = HEIGHTS;
const SQUARES: usize = BUSY + 1;
const PRODUCTS: usize = SQUARES + 1;
const PAIRS: usize = PRODUCTS + 1;
const OBSERVED: usize = PAIRS + 1;
const EXAMINED: usize = OBSERVED + 1;
const REGULAR: usize = EXAMINED + 1;
const FIRST_LEVEL: usize = REGULAR + 1;
const LEVEL_SLOTS: usize = LENGTHS + 2;
const GAPS: usize = FIRST_LEVEL + LEVELS.len() * LEVEL_SLOTS;
const MEMORY: usize = GAPS + LENGTHS + 1;

/// Number of sums.
pub const SLOTS: usize = MEMORY + HEIGHTS + 1;

/// One of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Samples of this height class.
    Height(usize),
    /// Sum of the samples, each a busy fraction.
    Busy,
    /// Sum of their squares.
    Squares,
    /// Sum of products of samples that share no window and are next to each other.
    Products,
    /// Number of those products.
    Pairs,
    /// Seconds that samples stand for; what was not seen is not in it.
    Observed,
    /// Stretches of samples that were looked at for a rhythm.
    Examined,
    /// Those of them that had a rhythm or drifted, so that no burst length can be inferred from them.
    Regular,
    /// Bursts at this level whose length is of this class.
    Bursts(usize, usize),
    /// Seconds of those bursts that ended.
    BurstSeconds(usize),
    /// Seconds inside bursts at this level, ended or not.
    ActiveSeconds(usize),
    /// Stretches below 5 % whose length is of this class.
    Gaps(usize),
    /// Seconds of those that ended.
    GapSeconds,
    /// Samples of memory in use of this height class, as shares of the device's memory.
    Memory(usize),
    /// Sum of those shares.
    MemorySum,
}

impl Slot {
    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Height(class) => class,
            Self::Busy => BUSY,
            Self::Squares => SQUARES,
            Self::Products => PRODUCTS,
            Self::Pairs => PAIRS,
            Self::Observed => OBSERVED,
            Self::Examined => EXAMINED,
            Self::Regular => REGULAR,
            Self::Bursts(level, class) => FIRST_LEVEL + level * LEVEL_SLOTS + class,
            Self::BurstSeconds(level) => FIRST_LEVEL + level * LEVEL_SLOTS + LENGTHS,
            Self::ActiveSeconds(level) => FIRST_LEVEL + level * LEVEL_SLOTS + LENGTHS + 1,
            Self::Gaps(class) => GAPS + class,
            Self::GapSeconds => GAPS + LENGTHS,
            Self::Memory(class) => MEMORY + class,
            Self::MemorySum => MEMORY + HEIGHTS,
        }
    }
}

/// The class of a value: the first bound that it does not exceed, or the last class.
pub fn class_of(bounds: &[f64], value: f64) -> usize {
    bounds.iter().position(|it| value <= *it).unwrap_or(bounds.len())
}

/// Sums about one subject, since the start of an exporter or over a stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape {
    sums: Vec<f64>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { sums: vec![0.0; SLOTS] }
    }
}

impl Shape {
    /// A sum; zero where a stored shape holds fewer.
    pub fn get(&self, slot: Slot) -> f64 {
        self.sums.get(slot.place()).copied().unwrap_or(0.0)
    }

    /// Sets a sum.
    pub fn set(&mut self, slot: Slot, value: f64) {
        if let Some(sum) = self.sums.get_mut(slot.place()) {
            *sum = value;
        }
    }

    /// Adds to a sum.
    pub fn add(&mut self, slot: Slot, value: f64) {
        self.set(slot, self.get(slot) + value);
    }

    /// Adds all sums of another shape: of the stretch of time beside it, or of another subject.
    pub fn merge(&mut self, other: &Shape) {
        self.sums.resize(self.sums.len().max(other.sums.len()), 0.0);
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine += theirs;
        }
    }

    /// What was added since an earlier state; `None` where a sum fell, so that counting began anew.
    pub fn since(&self, before: &Shape) -> Option<Shape> {
        // Sums of shares may lose their last digits on the way through text.
        let grown = |(now, then): (&f64, &f64)| {
            let grown = now - then;
            (grown >= -1e-6 * then.abs()).then_some(grown.max(0.0))
        };
        let sums: Option<Vec<f64>> = self.sums.iter().zip(&before.sums).map(grown).collect();
        sums.map(|sums| Shape { sums })
    }

    fn classes(&self, of: impl Fn(usize) -> Slot, count: usize) -> Vec<f64> {
        (0..count).map(|it| self.get(of(it))).collect()
    }

    /// Samples in each height class.
    pub fn heights(&self) -> Vec<f64> {
        self.classes(Slot::Height, HEIGHTS)
    }

    /// Bursts at a level in each length class.
    pub fn bursts(&self, level: usize) -> Vec<f64> {
        self.classes(|class| Slot::Bursts(level, class), LENGTHS)
    }

    /// Idle gaps in each length class.
    pub fn gaps(&self) -> Vec<f64> {
        self.classes(Slot::Gaps, LENGTHS)
    }

    /// Samples of memory in each class of shares of the device's memory.
    pub fn memory(&self) -> Vec<f64> {
        self.classes(Slot::Memory, HEIGHTS)
    }

    /// Bounds of the highest class in which memory was seen, as shares of the device's; `None` when none was counted.
    pub fn memory_top(&self) -> Option<(f64, f64)> {
        let class = self.memory().iter().rposition(|it| *it > 0.0)?;
        let lower = class.checked_sub(1).map_or(0.0, |it| HEIGHT_BOUNDS[it]);
        Some((lower, HEIGHT_BOUNDS.get(class).copied().unwrap_or(1.0)))
    }

    /// Number of samples.
    pub fn samples(&self) -> f64 {
        self.heights().iter().sum()
    }

    /// Mean busy fraction; `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        let samples = self.samples();
        (samples > 0.0).then(|| self.get(Slot::Busy) / samples)
    }

    /// Variance of the samples (population); `None` without samples.
    pub fn variance(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.get(Slot::Squares) / self.samples() - mean * mean).max(0.0))
    }

    /// Correlation of neighbours that share no window; `None` without pairs or when all samples are equal.
    pub fn correlation(&self) -> Option<f64> {
        let (mean, variance, pairs) = (self.mean()?, self.variance()?, self.get(Slot::Pairs));
        let joint = self.get(Slot::Products) / pairs;
        (pairs > 0.0 && variance > 1e-12)
            .then(|| ((joint - mean * mean) / variance).clamp(-1.0, 1.0))
    }

    /// Share of samples from a height class on; `None` without samples.
    pub fn share_from(&self, class: usize) -> Option<f64> {
        let samples = self.samples();
        let above: f64 = self.heights().iter().skip(class).sum();
        (samples > 0.0).then(|| above / samples)
    }
}

/// The value that a share `q` of counted values stays under, even within its class.
///
/// `bounds` are the upper bounds of all classes but the last, which ends at `end`. `None` when
/// nothing was counted.
pub fn quantile_of(counts: &[f64], bounds: &[f64], end: f64, q: f64) -> Option<f64> {
    let total: f64 = counts.iter().sum();
    let rank = q * total;
    let (mut below, mut lower) = (0.0, 0.0);
    let mut found = None;
    for (place, count) in counts.iter().enumerate() {
        let upper = bounds.get(place).copied().unwrap_or(end).max(lower);
        if *count > 0.0 {
            let part = ((rank - below) / count).clamp(0.0, 1.0);
            found = Some(lower + (upper - lower) * part);
            if below + count >= rank {
                return found;
            }
        }
        below += count;
        lower = upper;
    }
    found
}

/// The shape of one subject's activity over a stretch of time, as somebody else counted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeSpan {
    /// Whose.
    pub subject: Subject,
    /// The metric that stood for activity.
    pub metric: Metric,
    /// Which time it covers.
    pub span: TimeSpan,
    /// Time between two samples that were counted.
    #[serde(rename = "interval_us")]
    pub interval: SampleInterval,
    /// Time that one of those samples averages over.
    #[serde(rename = "window_us")]
    pub window: SampleInterval,
    /// The sums.
    pub sums: Shape,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_sum_has_a_place_of_its_own() {
        let mut places = vec![0; SLOTS];
        let per_level = |level| {
            let bursts = (0..LENGTHS).map(move |it| Slot::Bursts(level, it));
            bursts.chain([Slot::BurstSeconds(level), Slot::ActiveSeconds(level)])
        };
        let heights = (0..HEIGHTS).flat_map(|it| [Slot::Height(it), Slot::Memory(it)]);
        let single = [
            Slot::Busy,
            Slot::Squares,
            Slot::Products,
            Slot::Pairs,
            Slot::Observed,
            Slot::Examined,
            Slot::Regular,
            Slot::GapSeconds,
            Slot::MemorySum,
        ];
        let all = heights.chain((0..LEVELS.len()).flat_map(per_level));
        for slot in all.chain((0..LENGTHS).map(Slot::Gaps)).chain(single) {
            places[slot.place()] += 1;
        }
        assert_eq!(places, vec![1; SLOTS]);
    }

    #[test]
    fn a_whole_percent_lies_inside_a_class_and_never_on_its_edge() {
        for percent in 0..=100 {
            let class = class_of(&HEIGHT_BOUNDS, f64::from(percent) / 100.0);
            assert_eq!(class, (percent as usize / 5).min(HEIGHTS - 1), "{percent} %");
        }
        for samples in 1..100 {
            let length = f64::from(samples) * 0.1;
            assert!(LENGTH_BOUNDS_S.iter().all(|it| (it - length).abs() > 1e-3), "{length}");
        }
    }

    #[test]
    fn a_quantile_lies_in_the_class_that_holds_it() {
        let counts = [50.0, 0.0, 50.0];
        let at = |q| quantile_of(&counts, &[0.1, 0.2], 1.0, q).unwrap();
        for (q, expected) in [(0.25, 0.05), (0.5, 0.1), (0.75, 0.6), (1.0, 1.0)] {
            assert!((at(q) - expected).abs() < 1e-12, "{q}: {}", at(q));
        }
        assert_eq!(quantile_of(&[0.0; 3], &[0.1, 0.2], 1.0, 0.5), None);
    }

    proptest! {
        #[test]
        fn differences_add_up_to_the_whole(steps in prop::collection::vec(
            prop::collection::vec(0..1000_u32, SLOTS), 1..8)) {
            let mut now = Shape::default();
            let mut states = vec![now.clone()];
            for step in &steps {
                let grown = Shape { sums: step.iter().map(|it| f64::from(*it)).collect() };
                now.merge(&grown);
                states.push(now.clone());
            }
            let mut sum = Shape::default();
            for pair in states.windows(2) {
                sum.merge(&pair[1].since(&pair[0]).unwrap());
            }
            prop_assert_eq!(&sum, &now);
            prop_assert_eq!(now.since(&Shape::default()), Some(now.clone()));
        }

        #[test]
        fn a_counter_that_fell_began_anew(place in 0..SLOTS, fall in 1..100_u32) {
            let mut before = Shape::default();
            before.sums[place] = f64::from(fall);
            prop_assert_eq!(Shape::default().since(&before), None);
        }
    }
}
