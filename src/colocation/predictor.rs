//! How much a workload slows beside another that it was never seen with: learned from every co-location that was measured.
//!
//! log slowdown = base(utilisation of both) + sensitivity of the one + pressure of the other.

use crate::colocation::conformal::Residuals;
use crate::colocation::observation::{Observation, Side};
use crate::colocation::range::Range;
use crate::stats::ridge::ridge;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Shrinkage of the base, in observations.
const BASE_SHRINKAGE: f64 = 1.0;
/// Shrinkage of sensitivities and pressures: as if each had been seen once more, without an effect.
const EFFECT_SHRINKAGE: f64 = 1.0;
/// Rounds of alternating updates.
const ROUNDS: usize = 30;
/// Parts into which co-locations are dealt to get residuals of what was not fitted.
const FOLDS: u64 = 5;
/// Observations from which on the base is one's own.
const LEAST_OBSERVATIONS: usize = 20;
/// Groups into which families of workloads are dealt; residuals of strangers come from pairs of groups that were both left out.
const FAMILY_GROUPS: usize = 12;
/// A slowdown is not predicted below this: co-located work that runs faster is noise.
const LEAST_LOG: f64 = -0.05;

/// Base without any co-location of one's own, on driver utilisation: intercept, max(0, u₁+u₂−1), u₁u₂, m₁u₂, m₂u₁, m₁m₂.
///
/// Source: ridge on four fifths of 832 co-located pairs of training jobs on an RTX 3090 (S-Lab-System-Group/Lucid at 63685a3,
/// ASPLOS '23), speeds relative to solo, NVML utilisation u and memory utilisation m.
pub const DEFAULT_BASE: [f64; 6] = [-0.0062, 0.2300, 0.2673, -0.1969, 0.1517, 0.0163];

/// Ends of the 90 % interval of the logarithm around the default base, by predicted band.
///
/// Source: residuals of the same pairs with the families of both tenants left out.
const DEFAULT_ENDS: [(f64, (f64, f64)); 4] = [
    (0.03, (-0.147, 0.129)),
    (0.12, (-0.156, 0.154)),
    (0.35, (-0.247, 0.264)),
    (f64::INFINITY, (-0.409, 0.214)),
];

/// What was learned from co-locations under one mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    base: Vec<f64>,
    sensitivity: BTreeMap<String, f64>,
    pressure: BTreeMap<String, f64>,
    /// Of pairs of which both tenants were known, and of pairs with an unknown one.
    known: Residuals,
    unknown: Residuals,
}

/// A predicted slowdown and on what it rests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown {
    /// With the 90 % interval.
    pub slowdown: Range,
    /// How many of the two tenants had been seen in co-locations.
    pub tenants_known: usize,
}

impl Default for Predictor {
    /// Nothing of one's own: published coefficients.
    fn default() -> Self {
        Self {
            base: DEFAULT_BASE.to_vec(),
            sensitivity: BTreeMap::new(),
            pressure: BTreeMap::new(),
            known: Residuals::default(),
            unknown: Residuals::default(),
        }
    }
}

impl Predictor {
    /// Learns from co-locations, which should be of one mechanism and one model of GPU.
    ///
    /// Intervals come from residuals of folds that were not fitted: pairs for tenants that are known, whole families of workloads for
    /// those that are not. With fewer than twenty observations the published base is kept, and only sensitivities and pressures are learned.
    pub fn learned(observations: &[Observation]) -> Self {
        let all: Vec<&Observation> = observations.iter().collect();
        let mut predictor = Self::fitted(&all);
        let pair_fold = |it: &Observation| {
            let (a, b) = (&it.own.tenant, &it.other.tenant);
            fold(if a < b { [a, b] } else { [b, a] })
        };
        let mut known = Vec::new();
        let mut unknown = Vec::new();
        for held in 0..FOLDS {
            let (out, fit): (Vec<_>, Vec<_>) = all.iter().partition(|it| pair_fold(it) == held);
            let part = Self::fitted(&fit);
            let both = |it: &&Observation| part.tenants_known(&it.own, &it.other) == 2;
            known.extend(out.into_iter().filter(both).map(|it| part.checked(it)));
        }
        let families: BTreeSet<&str> =
            all.iter().flat_map(|it| [it.own.family(), it.other.family()]).collect();
        let families: Vec<&str> = families.into_iter().collect();
        let group = |name: &str| families.binary_search(&name).unwrap_or(0) % FAMILY_GROUPS;
        let groups = |it: &Observation| {
            let (a, b) = (group(it.own.family()), group(it.other.family()));
            (a.min(b), a.max(b))
        };
        let met: BTreeSet<(usize, usize)> = all.iter().map(|it| groups(it)).collect();
        for held in met {
            let is_free = |it: &&&Observation| {
                let (a, b) = groups(it);
                [a, b].iter().all(|it| *it != held.0 && *it != held.1)
            };
            let fit: Vec<&Observation> = all.iter().filter(is_free).copied().collect();
            let part = Self::of_base(&fit);
            let out = all.iter().filter(|it| groups(it) == held);
            unknown.extend(out.map(|it| part.checked(it)));
        }
        predictor.known = Residuals::of(known);
        predictor.unknown = Residuals::of(unknown);
        predictor
    }

    fn fitted(observations: &[&Observation]) -> Self {
        let mut predictor = Self::of_base(observations);
        let left: Vec<f64> = observations
            .iter()
            .map(|it| it.slowdown.ln() - predictor.base(&it.own, &it.other))
            .collect();
        let (sensitivity, pressure) = effects(observations, &left);
        (predictor.sensitivity, predictor.pressure) = (sensitivity, pressure);
        predictor
    }

    /// The base alone, without any tenant's own effect.
    fn of_base(observations: &[&Observation]) -> Self {
        let rows: Vec<Vec<f64>> =
            observations.iter().map(|it| features(&it.own, &it.other).to_vec()).collect();
        let targets: Vec<f64> = observations.iter().map(|it| it.slowdown.ln()).collect();
        let weights = vec![1.0; rows.len()];
        let base = ridge(&rows, &targets, &weights, BASE_SHRINKAGE)
            .filter(|_| rows.len() >= LEAST_OBSERVATIONS);
        Self { base: base.unwrap_or(DEFAULT_BASE.to_vec()), ..Self::default() }
    }

    fn base(&self, own: &Side, other: &Side) -> f64 {
        features(own, other).iter().zip(&self.base).map(|(x, b)| x * b).sum()
    }

    /// Logarithm of the slowdown, expected.
    fn log_slowdown(&self, own: &Side, other: &Side) -> f64 {
        let sensitivity = self.sensitivity.get(&own.tenant).copied().unwrap_or(0.0);
        let pressure = self.pressure.get(&other.tenant).copied().unwrap_or(0.0);
        (self.base(own, other) + sensitivity + pressure).max(LEAST_LOG)
    }

    fn checked(&self, it: &Observation) -> (f64, f64) {
        (self.log_slowdown(&it.own, &it.other), it.slowdown.ln())
    }

    fn tenants_known(&self, own: &Side, other: &Side) -> usize {
        usize::from(self.sensitivity.contains_key(&own.tenant))
            + usize::from(self.pressure.contains_key(&other.tenant))
    }

    /// Slowdown of `own` beside `other`, with the interval that holds nine of ten.
    pub fn slowdown(&self, own: &Side, other: &Side) -> Slowdown {
        let log = self.log_slowdown(own, other);
        let tenants_known = self.tenants_known(own, other);
        let residuals = if tenants_known == 2 { &self.known } else { &self.unknown };
        let (low, high) = residuals.ends(log, 0.9).unwrap_or_else(|| default_ends(log));
        let slowdown = Range::new(log.exp(), (log + low).exp(), (log + high).exp());
        Slowdown { slowdown, tenants_known }
    }
}

fn default_ends(log: f64) -> (f64, f64) {
    DEFAULT_ENDS.iter().find(|it| log < it.0).map_or((-0.5, 0.5), |it| it.1)
}

/// Intercept, max(0, u₁+u₂−1), u₁u₂, m₁u₂, m₂u₁, m₁m₂; without utilisation only the intercept.
fn features(own: &Side, other: &Side) -> [f64; 6] {
    let Some(((u, m), (v, n))) = own.utilisation.zip(other.utilisation) else {
        return [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    };
    [1.0, (u + v - 1.0).max(0.0), u * v, m * v, n * u, m * n]
}

/// Sensitivities and pressures, in turn, each the shrunk mean of what is left.
fn effects(
    observations: &[&Observation],
    left: &[f64],
) -> (BTreeMap<String, f64>, BTreeMap<String, f64>) {
    let names: BTreeSet<&str> = observations
        .iter()
        .flat_map(|it| [it.own.tenant.as_str(), it.other.tenant.as_str()])
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let place = |side: &Side| names.binary_search(&side.tenant.as_str()).unwrap_or(0);
    let own: Vec<usize> = observations.iter().map(|it| place(&it.own)).collect();
    let other: Vec<usize> = observations.iter().map(|it| place(&it.other)).collect();
    let (mut sensitivity, mut pressure) = (vec![0.0; names.len()], vec![0.0; names.len()]);
    let rest = |effect: &[f64], of: &[usize]| -> Vec<f64> {
        left.iter().zip(of).map(|(left, it)| left - effect[*it]).collect()
    };
    for _ in 0..ROUNDS {
        sensitivity = shrunk_means(&own, &rest(&pressure, &other), names.len());
        pressure = shrunk_means(&other, &rest(&sensitivity, &own), names.len());
    }
    let told = |of: &[usize], effect: &[f64]| {
        of.iter().map(|it| (names[*it].to_owned(), effect[*it])).collect()
    };
    (told(&own, &sensitivity), told(&other, &pressure))
}

fn shrunk_means(places: &[usize], values: &[f64], count: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, EFFECT_SHRINKAGE); count];
    for (place, value) in places.iter().zip(values) {
        sums[*place] = (sums[*place].0 + value, sums[*place].1 + 1.0);
    }
    sums.into_iter().map(|(sum, count)| sum / count).collect()
}

/// A fold that follows from names and nothing else.
fn fold<const N: usize>(names: [&String; N]) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = names.iter().flat_map(|it| it.bytes()).fold(0xcbf2_9ce4_8422_2325, mix);
    (hash >> 17) % FOLDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::draw::Draw;

    fn side(number: usize) -> Side {
        let busy = 0.2 + 0.07 * number as f64;
        Side { tenant: format!("job {number}"), utilisation: Some((busy, 0.5 * busy)) }
    }

    fn world(noise: f64) -> Vec<Observation> {
        let mut draw = Draw::new(3);
        let effects: Vec<(f64, f64)> =
            (0..10).map(|_| (0.1 * draw.normal(), 0.1 * draw.normal())).collect();
        let mut found = Vec::new();
        for (a, b) in (0..10).flat_map(|a| (0..10).map(move |b| (a, b))).filter(|it| it.0 != it.1) {
            let log = 0.1 + effects[a].0 + effects[b].1 + noise * draw.normal();
            found.push(Observation {
                gpu: "any".to_owned(),
                mechanism: "time-slicing".to_owned(),
                own: side(a),
                other: side(b),
                slowdown: log.exp(),
            });
        }
        found
    }

    #[test]
    fn a_pair_that_was_never_seen_is_predicted_from_others_of_both() {
        let all = world(0.01);
        let (seen, unseen): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| it.own.tenant != "job 3" || it.other.tenant != "job 7");
        let predictor = Predictor::learned(&seen);
        let found = predictor.slowdown(&unseen[0].own, &unseen[0].other);
        assert_eq!(found.tenants_known, 2);
        assert!((found.slowdown.expected / unseen[0].slowdown - 1.0).abs() < 0.05, "{found:?}");
        assert!(found.slowdown.contains(unseen[0].slowdown), "{found:?}");
    }

    #[test]
    fn a_tenant_that_was_never_seen_gets_a_wider_interval() {
        let predictor = Predictor::learned(&world(0.01));
        let stranger = Side { tenant: "stranger".to_owned(), ..side(4) };
        let width = |it: Slowdown| (it.slowdown.high / it.slowdown.low).ln();
        let known = predictor.slowdown(&side(4), &side(5));
        let unknown = predictor.slowdown(&stranger, &side(5));
        assert_eq!((known.tenants_known, unknown.tenants_known), (2, 1));
        assert!(width(unknown) > 1.5 * width(known));
    }

    #[test]
    fn without_data_a_busy_pair_is_slower_than_an_idle_one_and_the_interval_says_how_little_is_known()
     {
        let side =
            |busy: f64| Side { tenant: String::new(), utilisation: Some((busy, 0.4 * busy)) };
        let predictor = Predictor::default();
        let busy = predictor.slowdown(&side(0.9), &side(0.9)).slowdown;
        let idle = predictor.slowdown(&side(0.1), &side(0.1)).slowdown;
        assert!(busy.expected > 1.4 && idle.expected < 1.05, "{busy:?} {idle:?}");
        assert!(busy.high / busy.low > 1.3);
    }
}
