//! Did a mean change from one record to another, although neighbouring values resemble each other?

use crate::stats::multiple::LEAST_CHANCE;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::f64::consts::PI;

/// Fewest values of a record; of fewer no memory can be told from chance.
pub const FEWEST: usize = 120;
/// Most cosines: slower movements than these count as chance, whatever the values at hand look like from one to the next.
const MOST_COSINES: usize = 8;
/// Fewest cosines; with fewer the spread of the mean is a guess.
const FEWEST_COSINES: usize = 2;
/// Cosines reach up to this share of the frequency at which a memory of first order begins to fade.
const REACH: f64 = 0.5;
/// Share of their standard deviation beyond which a covariate is carried further than it was seen, both ways.
pub const FURTHEST_DEVIATIONS: f64 = 2.0;

/// Why nothing can be said about the mean of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    /// Fewer than [`FEWEST`] values.
    TooFew,
    /// The values remember longer than the record allows to be averaged out.
    TooMuchMemory,
}

/// The mean of a record, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Mean of the values that were seen.
    pub mean: f64,
    /// Variance of that mean, the memory of the values included.
    pub variance: f64,
    /// Degrees of freedom of the variance: the number of cosines.
    pub freedom: f64,
    /// Correlation of neighbours, with its bias taken off.
    pub memory: f64,
    /// Values that were seen.
    pub seen: usize,
}

impl Level {
    /// The mean of evenly spaced values; NaN was not seen.
    ///
    /// With u the values less their mean (0 where not seen), n their number with holes and m without: the variance of the mean
    /// is n/m² Σⱼ cⱼ²/ν, cⱼ = √(2/n) Σₜ uₜ cos(πj(t+½)/n), j = 1…ν. ν is the least of 0.4 n^⅔, of 8, and of ½(1−φ)n/π with φ
    /// the correlation of neighbours plus (1+3φ)/n.
    ///
    /// Source: E. Lazarus, D. J. Lewis, J. H. Stock and M. W. Watson, J. Bus. Econ. Stat. 36 (2018), 541–559, for the cosines and
    /// the first limit; the other limits are ours, set by simulation.
    pub fn of(values: &[f64]) -> Result<Self, Unclear> {
        let number = values.len() as f64;
        let seen = values.iter().filter(|it| it.is_finite()).count();
        if seen < FEWEST {
            return Err(Unclear::TooFew);
        }
        let mean = values.iter().filter(|it| it.is_finite()).sum::<f64>() / seen as f64;
        let rest: Vec<f64> =
            values.iter().map(|it| if it.is_finite() { it - mean } else { 0.0 }).collect();
        let memory = memory(values, &rest, seen);
        let limits = [0.4 * number.powf(2.0 / 3.0), REACH * (1.0 - memory) * number / PI];
        let cosines = limits.iter().fold(MOST_COSINES as f64, |least, it| least.min(*it)) as usize;
        if cosines < FEWEST_COSINES {
            return Err(Unclear::TooMuchMemory);
        }
        let power: f64 = (1..=cosines).map(|it| projection(&rest, it).powi(2)).sum();
        let variance = number / (seen as f64).powi(2) * power / cosines as f64;
        Ok(Self { mean, variance, freedom: cosines as f64, memory, seen })
    }

    /// The logarithm of a mean of positive values, to first order; `None` unless the mean is positive.
    pub fn in_logarithms(self) -> Option<Self> {
        let is_positive = self.mean > 0.0 && self.mean.is_finite();
        let variance = self.variance / (self.mean * self.mean);
        is_positive.then(|| Self { mean: self.mean.ln(), variance, ..self })
    }
}

/// Correlation of neighbours that were both seen, plus (1+3r)/n for its bias, from 0 to 0.999.
fn memory(values: &[f64], rest: &[f64], seen: usize) -> f64 {
    let squares: f64 = rest.iter().map(|it| it * it).sum();
    let is_pair = |it: &&[f64]| it[0].is_finite() && it[1].is_finite();
    let pairs = values.windows(2).filter(is_pair).count();
    if squares <= 0.0 || pairs == 0 {
        return 0.0;
    }
    let products: f64 = rest.windows(2).map(|it| it[0] * it[1]).sum();
    let plain = (products / pairs as f64) / (squares / seen as f64);
    (plain + (1.0 + 3.0 * plain) / values.len() as f64).clamp(0.0, 0.999)
}

/// √(2/n) Σ uₜ cos(πj(t+½)/n).
fn projection(rest: &[f64], order: usize) -> f64 {
    let number = rest.len() as f64;
    let step = PI * order as f64 / number;
    let sum: f64 =
        rest.iter().enumerate().map(|(at, it)| it * (step * (at as f64 + 0.5)).cos()).sum();
    (2.0 / number).sqrt() * sum
}

/// How much a mean changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// After less before.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of Student's t.
    pub freedom: f64,
}

impl Change {
    /// The change between two records that know nothing of each other.
    ///
    /// Source: B. L. Welch, Biometrika 34 (1947), 28–35, for the degrees of freedom.
    pub fn between(before: &Level, after: &Level) -> Self {
        let parts = [(before.variance, before.freedom), (after.variance, after.freedom)];
        Self::of(after.mean - before.mean, &parts)
    }

    fn of(difference: f64, parts: &[(f64, f64)]) -> Self {
        let variance: f64 = parts.iter().map(|it| it.0).sum();
        let spread: f64 = parts.iter().map(|it| it.0 * it.0 / it.1).sum();
        let least = parts.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        let freedom = if spread > 0.0 { variance * variance / spread } else { least };
        Self { difference, standard_error: variance.sqrt(), freedom }
    }

    /// Chance of such a difference, in either direction, without any change.
    pub fn p_value(&self) -> f64 {
        if self.standard_error <= 0.0 {
            return if self.difference == 0.0 { 1.0 } else { LEAST_CHANCE };
        }
        let size = (self.difference / self.standard_error).abs();
        let tail = StudentsT::new(0.0, 1.0, self.freedom).map_or(0.5, |it| it.sf(size));
        (2.0 * tail).clamp(LEAST_CHANCE, 1.0)
    }

    /// Interval that covers the change with this chance.
    pub fn interval(&self, coverage: f64) -> (f64, f64) {
        let reach = self.quantile(0.5 + coverage / 2.0) * self.standard_error;
        (self.difference - reach, self.difference + reach)
    }

    /// Least difference that would have been shown at 5 %, both ways, with a chance of 80 %.
    pub fn detectable(&self) -> f64 {
        (self.quantile(0.975) + self.quantile(0.8)) * self.standard_error
    }

    fn quantile(&self, share: f64) -> f64 {
        StudentsT::new(0.0, 1.0, self.freedom).map_or(f64::INFINITY, |it| it.inverse_cdf(share))
    }
}

/// A change with a covariate held fixed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// What is left of the change.
    pub change: Change,
    /// Change of the value for each unit of the covariate, within the records.
    pub slope: f64,
    /// How far the covariate itself moved, in standard deviations within the records.
    pub distance: f64,
}

/// One record: values and covariate, bin by bin; NaN was not seen.
pub type Pairs<'a> = (&'a [f64], &'a [f64]);

/// The change of y less what the change of x explains, by the slope that both records show within themselves.
///
/// b = Σ x̃ỹ/Σ x̃² with x̃ and ỹ less the means of their record; the change of y − bx, whose variance is that of both means and of
/// (x̄₂ − x̄₁) b. `None` where x never varies or a part is [`Unclear`]. A line is all that is fitted: far from what was seen
/// ([`FURTHEST_DEVIATIONS`]) it is a guess.
pub fn adjusted(before: Pairs<'_>, after: Pairs<'_>) -> Option<Adjusted> {
    let sides = [centred(before)?, centred(after)?];
    let sum = |of: fn(&Centred) -> f64| sides.iter().map(of).sum::<f64>();
    let squares = sum(|it| it.x.iter().filter(|it| it.is_finite()).map(|it| it * it).sum());
    if squares <= 0.0 {
        return None;
    }
    let slope = sum(Centred::products) / squares;
    let seen = sum(|it| it.seen as f64);
    let moved = sides[1].mean_x - sides[0].mean_x;
    let mut parts = Vec::new();
    let (mut slope_variance, mut slope_spread) = (0.0, 0.0);
    let mut means = [0.0; 2];
    for (place, side) in sides.iter().enumerate() {
        let rest: Vec<f64> = side.y.iter().zip(&side.x).map(|(y, x)| y - slope * x).collect();
        let own = Level::of(&rest).ok()?;
        parts.push((own.variance, own.freedom));
        means[place] = side.mean_y - slope * side.mean_x;
        let scores: Vec<f64> = rest.iter().zip(&side.x).map(|(e, x)| e * x).collect();
        let score = Level::of(&scores).ok()?;
        let variance = score.variance * (score.seen as f64 / squares).powi(2);
        slope_variance += variance;
        slope_spread += variance * variance / score.freedom;
    }
    if slope_variance > 0.0 {
        let freedom = slope_variance * slope_variance / slope_spread;
        parts.push((moved * moved * slope_variance, freedom));
    }
    let change = Change::of(means[1] - means[0], &parts);
    Some(Adjusted { change, slope, distance: moved.abs() / (squares / seen).sqrt() })
}

/// A record less its means, where both were seen.
struct Centred {
    y: Vec<f64>,
    x: Vec<f64>,
    mean_y: f64,
    mean_x: f64,
    seen: usize,
}

impl Centred {
    fn products(&self) -> f64 {
        let both = self.y.iter().zip(&self.x).filter(|it| it.0.is_finite());
        both.map(|(y, x)| y * x).sum()
    }
}

fn centred((y, x): Pairs<'_>) -> Option<Centred> {
    let is_seen = |it: &(&f64, &f64)| it.0.is_finite() && it.1.is_finite();
    let seen = y.iter().zip(x).filter(is_seen).count();
    if seen < FEWEST || y.len() != x.len() {
        return None;
    }
    let both = || y.iter().zip(x).filter(is_seen);
    let mean_y = both().map(|it| it.0).sum::<f64>() / seen as f64;
    let mean_x = both().map(|it| it.1).sum::<f64>() / seen as f64;
    let less = |(mine, other): (&f64, &f64), mean: f64| {
        if mine.is_finite() && other.is_finite() { mine - mean } else { f64::NAN }
    };
    Some(Centred {
        y: y.iter().zip(x).map(|it| less(it, mean_y)).collect(),
        x: x.iter().zip(y).map(|it| less(it, mean_x)).collect(),
        mean_y,
        mean_x,
        seen,
    })
}

#[cfg(test)]
mod tests;
