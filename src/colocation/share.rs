//! Who gets how much of a GPU while who is active: speeds under each way to share it.
//!
//! A speed is relative to the tenant alone on the whole GPU: 1 is undisturbed.

use crate::colocation::range::Range;
use serde::Serialize;

/// Most tenants for which the speeds of every line-up are kept in a table.
const MOST_TABLED: usize = 8;

/// How tenants share a GPU; each number may be in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Each has a GPU of its own.
    Exclusive,
    /// One context at a time, round robin.
    TimeSlicing {
        /// Length of a turn, seconds.
        quantum_s: Range,
        /// Lost at each change of turns, seconds.
        switch_s: Range,
    },
    /// All at once; SMs and bandwidth are filled up together.
    Mps {
        /// Cost of company: every speed is divided by one plus this while two or more are active.
        floor: Range,
    },
    /// Hardware partitions; only the power cap is in common.
    Mig,
}

impl Mechanism {
    /// Time slicing where nobody measured it: turns of 2 ms (0.5 to 6), a change costs 0.11 of a turn (0.02 to 0.2).
    ///
    /// The quantum differs by driver and setting and has to be measured on the device; 0.11 is what back-to-back
    /// inference of 3, 5 and 7 identical pods lost.
    ///
    /// Source: nebuly-ai/nos, demos/gpu-sharing-comparison, at 14a194e (0.11); the quantum is *not checked*.
    pub fn time_slicing() -> Self {
        Self::TimeSlicing {
            quantum_s: Range::new(2e-3, 0.5e-3, 6e-3),
            switch_s: Range::new(0.22e-3, 0.04e-3, 0.4e-3),
        }
    }

    /// MPS where nobody measured its cost: 0.09 (0.01 to 0.17), median and ends of 450 pairs of published measurements.
    ///
    /// Source: iGniter artifact (icloud-ecnu/igniter at b1ff2ab), slowdowns of MPS pairs whose SMs do not overlap.
    pub fn mps() -> Self {
        Self::Mps { floor: Range::new(0.09, 0.01, 0.17) }
    }
}

/// A MIG instance as shares of the whole GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slice {
    /// Compute slices of seven.
    pub compute_slices: u32,
    /// Memory slices of eight; they bring bandwidth and cache.
    pub memory_slices: u32,
}

impl Slice {
    /// Share of the SMs.
    pub fn compute(self) -> f64 {
        f64::from(self.compute_slices) / 7.0
    }

    /// Share of the memory bandwidth.
    pub fn bandwidth(self) -> f64 {
        f64::from(self.memory_slices) / 8.0
    }
}

/// What a tenant claims of a GPU while it is active.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Share of the SMs at full speed.
    pub width: f64,
    /// Share of the peak memory bandwidth at full speed.
    pub bandwidth: f64,
    /// Highest speed that its thread percentage or its slice allows, 0 to 1.
    pub limit: f64,
}

/// Speeds of the active under MPS, before its floor: all rise together until a limit stops some of them.
///
/// x_i ≤ limit_i, Σ width_i x_i ≤ 1, Σ bandwidth_i x_i ≤ `bandwidth`. At the limit of the SMs all stop, at that of the bandwidth
/// those that use it. Two that are active and unlimited: x = 1/max(1, a₁+a₂, (d₁+d₂)/B). One alone is never limited by bandwidth,
/// since its solo speed has that limit in it.
///
/// - Shape: one speed for each claim, in order; 0 for those that are not active.
///
/// Source: progressive filling, D. Bertsekas and R. Gallager, Data Networks (1992), section 6.5.2 (*not checked*).
pub fn filled(claims: &[Claim], is_active: impl Fn(usize) -> bool, bandwidth: f64) -> Vec<f64> {
    let mut speeds = vec![0.0; claims.len()];
    let mut rising: Vec<usize> = (0..claims.len()).filter(|it| is_active(*it)).collect();
    let is_alone = rising.len() < 2;
    let (mut level, mut sms_left, mut bandwidth_left) = (0.0_f64, 1.0_f64, bandwidth);
    while !rising.is_empty() {
        let sum =
            |of: fn(&Claim) -> f64| rising.iter().map(|it| of(&claims[*it])).sum::<f64>().max(0.0);
        let (width, traffic) = (sum(|it| it.width), sum(|it| it.bandwidth));
        let limit = rising.iter().map(|it| claims[*it].limit).fold(f64::INFINITY, f64::min);
        let room = |left: f64, need: f64| if need > 0.0 { left / need } else { f64::INFINITY };
        let by_sms = if is_alone { f64::INFINITY } else { level + room(sms_left, width) };
        let by_traffic =
            if is_alone { f64::INFINITY } else { level + room(bandwidth_left, traffic) };
        let next = limit.min(by_sms).min(by_traffic).max(level);
        sms_left = (sms_left - (next - level) * width).max(0.0);
        bandwidth_left = (bandwidth_left - (next - level) * traffic).max(0.0);
        level = next;
        for it in &rising {
            speeds[*it] = level;
        }
        rising.retain(|it| {
            let claim = &claims[*it];
            let stopped = claim.limit <= level
                || by_sms <= level
                || (by_traffic <= level && claim.bandwidth > 0.0);
            !stopped
        });
    }
    speeds
}

/// Speed in a slice: min(1, (g/7)/width, B (m/8)/bandwidth).
///
/// Solo time is max(t_compute 7/g, t_memory 8/m) on the slice; work that uses fewer SMs than the slice has loses nothing.
///
/// Source: slices of NVIDIA's MIG user guide; the roofline of S. Williams et al., CACM 52 (2009), 65–76 (*not checked*).
pub fn slice_speed(width: f64, bandwidth: f64, slice: Slice, attainable: f64) -> f64 {
    let room = |have: f64, need: f64| if need > 0.0 { have / need } else { f64::INFINITY };
    let by_compute = room(slice.compute(), width);
    let by_memory = room(attainable * slice.bandwidth(), bandwidth);
    by_compute.min(by_memory).min(1.0)
}

/// Mean slowdown of a tenant that waits for each piece of work, in a mix of others that are busy u_j of the time.
///
/// 1 + Σ u_j (c_j − 1), c_j the slowdown while both are active: the others are met with their own busy share, whatever the phase.
///
/// Source: arrival theorem, S. Lavenberg and M. Reiser, J. Appl. Prob. 17 (1980), 1048–1061 (*not checked*).
pub fn waiting_slowdown(others: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    1.0 + others
        .into_iter()
        .map(|(busy_share, slowdown)| busy_share * (slowdown - 1.0))
        .sum::<f64>()
}

/// Mean slowdown of a tenant whose work is queued ahead: max(1, Σ u), all tenants counted, itself too.
pub fn pipelined_slowdown(busy_shares: impl IntoIterator<Item = f64>) -> f64 {
    busy_shares.into_iter().sum::<f64>().max(1.0)
}

/// Speeds of every line-up of active tenants.
#[derive(Debug, Clone)]
pub(crate) struct Speeds {
    tenants: usize,
    /// `table[mask · tenants + tenant]`.
    table: Vec<f64>,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    /// Nobody disturbs anybody.
    Own(Vec<f64>),
    Filling {
        claims: Vec<Claim>,
        bandwidth: f64,
        floor: f64,
    },
}

impl Speeds {
    /// Everybody at a speed of its own.
    pub(crate) fn own(speeds: Vec<f64>) -> Self {
        Self::tabled(speeds.len(), Rule::Own(speeds))
    }

    /// Progressive filling with the cost of company.
    pub(crate) fn filling(claims: Vec<Claim>, bandwidth: f64, floor: f64) -> Self {
        Self::tabled(claims.len(), Rule::Filling { claims, bandwidth, floor })
    }

    fn tabled(tenants: usize, rule: Rule) -> Self {
        let mut speeds = Self { tenants, table: Vec::new(), rule };
        if tenants <= MOST_TABLED {
            speeds.table = (0..1_u32 << tenants).flat_map(|mask| speeds.worked_out(mask)).collect();
        }
        speeds
    }

    fn worked_out(&self, mask: u32) -> Vec<f64> {
        match &self.rule {
            Rule::Own(own) => own.clone(),
            Rule::Filling { claims, bandwidth, floor } => {
                let mut speeds = filled(claims, |it| mask >> it & 1 == 1, *bandwidth);
                if mask.count_ones() > 1 {
                    speeds.iter_mut().for_each(|it| *it /= 1.0 + floor);
                }
                speeds
            }
        }
    }

    /// Puts the speeds of a line-up into `speeds`.
    pub(crate) fn of(&self, mask: u32, speeds: &mut [f64]) {
        let first = mask as usize * self.tenants;
        match self.table.get(first..first + self.tenants) {
            Some(known) => speeds.copy_from_slice(known),
            None => speeds.copy_from_slice(&self.worked_out(mask)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDE: Claim = Claim { width: 1.0, bandwidth: 0.0, limit: 1.0 };

    fn pair(one: Claim, other: Claim) -> Vec<f64> {
        filled(&[one, other], |_| true, 0.9)
    }

    #[test]
    fn two_that_fill_the_gpu_get_half_each_and_one_alone_all_of_it() {
        assert_eq!(pair(WIDE, WIDE), [0.5, 0.5]);
        assert_eq!(filled(&[WIDE, WIDE], |it| it == 1, 0.9), [0.0, 1.0]);
    }

    #[test]
    fn narrow_tenants_fit_beside_each_other_until_bandwidth_runs_out() {
        let narrow = Claim { width: 0.4, bandwidth: 0.3, limit: 1.0 };
        assert_eq!(pair(narrow, narrow), [1.0, 1.0]);
        let thirsty = Claim { bandwidth: 0.6, ..narrow };
        let speeds = pair(thirsty, thirsty);
        assert!((speeds[0] - 0.75).abs() < 1e-12 && speeds[0] == speeds[1], "{speeds:?}");
    }

    #[test]
    fn a_thread_percentage_stops_its_tenant_and_leaves_the_rest_to_others() {
        let limited = Claim { limit: 0.3, ..WIDE };
        let speeds = pair(limited, WIDE);
        assert!((speeds[0] - 0.3).abs() < 1e-12 && (speeds[1] - 0.7).abs() < 1e-12, "{speeds:?}");
    }

    #[test]
    fn a_slice_slows_only_what_it_has_too_little_of() {
        let slice = Slice { compute_slices: 3, memory_slices: 4 };
        assert_eq!(slice_speed(0.4, 0.3, slice, 0.9), 1.0);
        assert!((slice_speed(1.0, 0.3, slice, 0.9) - 3.0 / 7.0).abs() < 1e-12);
        assert!((slice_speed(0.4, 0.9, slice, 0.9) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn identical_pods_under_mps_slow_each_other_as_was_published() {
        // nebuly-ai/nos: 3, 5 and 7 pods that infer back to back; the pair's slowdown 1.43 follows from the 3.
        let c = 1.0 + (1.86 - 1.0) / 2.0;
        for (pods, published) in [(5, 2.732), (7, 3.628)] {
            let found = waiting_slowdown((1..pods).map(|_| (1.0, c)));
            assert!((found / published - 1.0).abs() < 0.02, "{pods}: {found}");
            let formula = 1.0 + 0.44 * f64::from(pods - 1);
            assert!((formula / published - 1.0).abs() < 0.02);
        }
    }

    fn claims() -> impl Strategy<Value = Vec<Claim>> {
        let claim = (0.05..1.0_f64, 0.0..0.9_f64, 0.1..1.0_f64)
            .prop_map(|(width, bandwidth, limit)| Claim { width, bandwidth, limit });
        prop::collection::vec(claim, 1..6)
    }

    proptest! {
        #[test]
        fn no_limit_is_ever_exceeded_and_nobody_is_left_without(claims in claims()) {
            let speeds = filled(&claims, |_| true, 0.9);
            let sum = |of: fn(&Claim) -> f64| -> f64 {
                claims.iter().zip(&speeds).map(|(it, x)| of(it) * x).sum()
            };
            prop_assert!(claims.iter().zip(&speeds).all(|(it, x)| *x > 0.0 && *x <= it.limit + 1e-12));
            if claims.len() > 1 {
                prop_assert!(sum(|it| it.width) <= 1.0 + 1e-9 && sum(|it| it.bandwidth) <= 0.9 + 1e-9);
            }
        }

        #[test]
        fn the_order_of_tenants_does_not_matter(claims in claims()) {
            let mut backwards = claims.clone();
            backwards.reverse();
            let mut found = filled(&backwards, |_| true, 0.9);
            found.reverse();
            for (one, other) in filled(&claims, |_| true, 0.9).iter().zip(&found) {
                prop_assert!((one - other).abs() < 1e-12);
            }
        }
    }
}
