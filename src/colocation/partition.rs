//! What a part of a GPU costs a tenant, and what another GPU would change.

use crate::colocation::demand::{Assumption, Demand, DriverView, Timeline};
use crate::colocation::range::Range;
use crate::colocation::share::Slice;
use crate::stats::ridge::ridge;
use std::sync::Arc;

/// Slowdown of MIG slices against the whole GPU: b₀ + b₁u + b₂√m + b₃ P/400 W, and the ends of its relative error.
///
/// u utilisation, m memory utilisation, P mean power, all of the whole GPU with the job alone on it. Weighted by 1/slowdown².
///
/// Source: fitted to 32 training jobs on an A100-40GB (boringlee24/socc22-miso at 39b1ee6, SoCC '22). The root of m was chosen among
/// five forms on the same jobs, with models left out: errors in `reports/whatif.md`. 1g was left to a lower limit: it errs by a quarter.
const SLICES: [(u32, [f64; 4], (f64, f64)); 4] = [
    (4, [0.8218, -0.0542, 0.8740, 0.3466], (-0.10, 0.10)),
    (3, [0.7489, 0.0201, 1.0635, 0.4967], (-0.13, 0.15)),
    (2, [0.4360, 1.2098, 2.8634, -1.0757], (-0.21, 0.23)),
    (1, [-0.6535, 1.7561, 3.0422, 5.1092], (-0.25, 0.85)),
];
/// Power that the coefficients are relative to, W.
const SLICE_POWER_W: f64 = 400.0;
/// Ridge of the MPS model, in observations, on standardised columns.
const MPS_SHRINKAGE: f64 = 30.0;

/// The slice features of a job, in the order of the coefficients.
pub fn slice_features(view: DriverView) -> Option<[f64; 4]> {
    let power_w = view.power_w?;
    Some([1.0, view.utilisation, view.memory_utilisation.max(0.0).sqrt(), power_w / SLICE_POWER_W])
}

/// Slowdown of a job in a MIG slice, from what the driver shows of it on the whole GPU.
///
/// Never below 1. `None` without power, or for a slice that nobody measured; of a 1g slice the number is a lower limit at best.
pub fn slice_slowdown(view: DriverView, slice: Slice) -> Option<Range> {
    let features = slice_features(view)?;
    let (_, coefficients, (low, high)) = SLICES.iter().find(|it| it.0 == slice.compute_slices)?;
    let expected: f64 = features.iter().zip(coefficients).map(|(x, b)| x * b).sum();
    let expected = expected.max(1.0);
    Some(Range::new(expected, (expected * low.exp()).max(1.0), expected * high.exp()))
}

/// Time of work on a share p of the SMs: fixed + divisible/p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// What no SM makes faster.
    pub fixed: f64,
    /// What is dealt out among the SMs.
    pub divisible: f64,
}

impl Scaling {
    /// The line through two measurements `(share, time)`; `None` for equal or impossible shares.
    pub fn through(one: (f64, f64), other: (f64, f64)) -> Option<Self> {
        let (p, q) = (one.0, other.0);
        if !(p > 0.0 && q > 0.0 && (p - q).abs() > 1e-9) {
            return None;
        }
        let divisible = (one.1 - other.1) / (1.0 / p - 1.0 / q);
        Some(Self { fixed: one.1 - divisible / p, divisible })
    }

    /// Time on a share of the SMs.
    pub fn time(self, share: f64) -> f64 {
        self.fixed + self.divisible / share
    }

    /// Speed on a share of the SMs relative to all of them, 0 to 1.
    pub fn speed(self, share: f64) -> f64 {
        (self.time(1.0) / self.time(share)).clamp(0.0, 1.0)
    }
}

/// A pair under MPS with thread percentages that do not overlap: what was counted alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MpsPair {
    /// Use of L2 and DRAM by the other, 0 to 1.
    pub other_l2: f64,
    /// See `other_l2`.
    pub other_dram: f64,
    /// Time of a request alone on its share of the SMs, ms.
    pub own_ms: f64,
    /// Its share of the SMs, 0 to 1.
    pub own_share: f64,
}

/// Slowdown of MPS partitions: a constant and a linear part.
///
/// log slowdown = b₀ + b₁ L2 + b₂ DRAM of the other + b₃/time + b₄ share of its own. Nothing else that was counted helps; the constant
/// is most of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MpsModel {
    centre: Vec<f64>,
    scale: Vec<f64>,
    coefficients: Vec<f64>,
}

impl MpsModel {
    /// Learns from measured pairs and their slowdowns; `None` for fewer than ten.
    pub fn learned(measured: &[(MpsPair, f64)]) -> Option<Self> {
        if measured.len() < 10 {
            return None;
        }
        let rows: Vec<[f64; 4]> = measured.iter().map(|it| Self::columns(it.0)).collect();
        let count = rows.len() as f64;
        let mean = |column: usize| rows.iter().map(|it| it[column]).sum::<f64>() / count;
        let centre: Vec<f64> = (0..4).map(mean).collect();
        let deviation = |column: usize| {
            let square = |it: &[f64; 4]| (it[column] - centre[column]).powi(2);
            (rows.iter().map(square).sum::<f64>() / count).sqrt().max(1e-12)
        };
        let scale: Vec<f64> = (0..4).map(deviation).collect();
        let mut model = Self { centre, scale, coefficients: Vec::new() };
        let standard: Vec<Vec<f64>> = rows.iter().map(|it| model.standardised(it)).collect();
        let targets: Vec<f64> = measured.iter().map(|it| it.1.ln()).collect();
        model.coefficients = ridge(&standard, &targets, &vec![1.0; rows.len()], MPS_SHRINKAGE)?;
        Some(model)
    }

    fn columns(pair: MpsPair) -> [f64; 4] {
        [pair.other_l2, pair.other_dram, 1.0 / pair.own_ms.max(1e-6), pair.own_share]
    }

    fn standardised(&self, row: &[f64; 4]) -> Vec<f64> {
        let value = |column: usize| (row[column] - self.centre[column]) / self.scale[column];
        std::iter::once(1.0).chain((0..4).map(value)).collect()
    }

    /// Expected slowdown.
    pub fn slowdown(&self, pair: MpsPair) -> f64 {
        let row = self.standardised(&Self::columns(pair));
        row.iter().zip(&self.coefficients).map(|(x, b)| x * b).sum::<f64>().exp()
    }
}

/// What makes one model of GPU faster than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuModel {
    /// Streaming multiprocessors.
    pub sms: f64,
    /// Their clock, MHz.
    pub clock_mhz: f64,
    /// Peak memory bandwidth, GB/s.
    pub bandwidth_gb_s: f64,
}

impl Demand {
    /// The same work on another model of GPU; its intervals become twice as wide.
    ///
    /// Work is scaled by SMs times clock, and the share of it that waits for memory (bandwidth over what can be had) by the
    /// bandwidth. Generations differ in more than that, which is what the widening is for. `None` for numbers that are not positive.
    pub fn on_another(&self, from: GpuModel, to: GpuModel, attainable: f64) -> Option<Self> {
        let positive = |it: GpuModel| it.sms > 0.0 && it.clock_mhz > 0.0 && it.bandwidth_gb_s > 0.0;
        if !(positive(from) && positive(to) && attainable > 0.0) {
            return None;
        }
        let waiting = (self.bandwidth.expected / attainable).clamp(0.0, 1.0);
        let by_compute = from.sms * from.clock_mhz / (to.sms * to.clock_mhz);
        let by_memory = from.bandwidth_gb_s / to.bandwidth_gb_s;
        let factor = (1.0 - waiting) * by_compute + waiting * by_memory;
        let mut moved = self.clone();
        moved.timeline = Arc::new(stretched(&self.timeline, factor, self.pace)?);
        moved.doubts = match &self.doubts {
            Some([short, long]) => Some([
                Arc::new(stretched(short, factor, self.pace)?),
                Arc::new(stretched(long, factor, self.pace)?),
            ]),
            None => None,
        };
        let traffic = by_memory / factor;
        let scaled = |it: f64| (it * traffic).clamp(0.0, 1.0);
        let Range { expected, low, high } = self.bandwidth;
        moved.bandwidth = Range::new(scaled(expected), scaled(low), scaled(high));
        moved.assume(Assumption::OtherGpu);
        Some(moved)
    }
}

/// Work that takes `factor` times as long; what begins after a pause begins later.
fn stretched(
    timeline: &Timeline,
    factor: f64,
    pace: crate::colocation::demand::Pace,
) -> Option<Timeline> {
    use crate::colocation::demand::Pace;
    let pieces = timeline.at_s().iter().zip(timeline.work_s());
    if pace == Pace::Open {
        return Timeline::new(pieces.map(|(at, work)| (*at, work * factor)), timeline.span_s());
    }
    let mut later = 0.0;
    let moved: Vec<(f64, f64)> = pieces
        .map(|(at, work)| {
            let begin = at + later;
            later += work * (factor - 1.0);
            (begin, work * factor)
        })
        .collect();
    Timeline::new(moved, timeline.span_s() + later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;

    #[test]
    fn two_measurements_give_the_time_between_them() {
        let it = Scaling::through((0.2, 5.5), (0.8, 2.5)).unwrap();
        assert!((it.time(0.2) - 5.5).abs() < 1e-12 && (it.time(0.8) - 2.5).abs() < 1e-12);
        assert!(it.speed(1.0) == 1.0 && it.speed(0.1) < 0.4);
        assert_eq!(Scaling::through((0.5, 1.0), (0.5, 2.0)), None);
    }

    #[test]
    fn a_smaller_slice_costs_more_and_what_hardly_uses_memory_hardly_loses() {
        let slice = |compute_slices| Slice { compute_slices, memory_slices: 4 };
        let busy = DriverView { utilisation: 0.9, memory_utilisation: 0.6, power_w: Some(220.0) };
        let light = DriverView { utilisation: 0.4, memory_utilisation: 0.02, power_w: Some(70.0) };
        let at = |view, slices| slice_slowdown(view, slice(slices)).unwrap().expected;
        assert!(at(busy, 4) < at(busy, 3) && at(busy, 3) < at(busy, 2));
        assert!(at(light, 4) < 1.1 && at(light, 3) < 1.1);
        assert!(slice_slowdown(DriverView { power_w: None, ..busy }, slice(4)).is_none());
        assert!(slice_slowdown(busy, slice(7)).is_none());
    }

    #[test]
    fn a_gpu_twice_as_fast_halves_the_work_and_says_so() {
        let demand = Demand::bursts("job", 0.5, (1.0, Spread::Fixed), 100.0).unwrap();
        let from = GpuModel { sms: 100.0, clock_mhz: 1000.0, bandwidth_gb_s: 1000.0 };
        let to = GpuModel { clock_mhz: 2000.0, ..from };
        let moved = demand.on_another(from, to, 0.9).unwrap();
        let work = |it: &Demand| it.timeline.work_s().iter().sum::<f64>();
        assert!((work(&moved) / work(&demand) - 0.5).abs() < 1e-9);
        assert!(moved.assumptions.contains(&Assumption::OtherGpu));
        assert!(demand.on_another(from, GpuModel { sms: 0.0, ..to }, 0.9).is_none());
    }
}
