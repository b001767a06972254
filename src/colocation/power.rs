//! The power cap, which all tenants of a GPU share whatever else they share.

use crate::colocation::range::Range;
use serde::Serialize;

/// The cap of a GPU and how it lowers the clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PowerCap {
    /// Power when nothing runs, W.
    pub idle_w: f64,
    /// Power that the regulator does not let be exceeded, W.
    pub cap_w: f64,
    /// Share of the clock that is lost for each share of the cap that is wanted above it.
    pub sensitivity: Range,
    /// Time over which the regulator averages, seconds.
    pub window_s: f64,
    /// Lowest clock as a share of the highest.
    pub lowest_clock: f64,
}

impl PowerCap {
    /// A cap with the usual regulator: 0.25 (0.15 to 0.4) of the clock per unit of overshoot, averaged over 0.2 s.
    ///
    /// Source: iGniter artifact (icloud-ecnu/igniter at b1ff2ab), hardware.power and frequency of one to five co-located
    /// inferences on a V100; the overshoot is extrapolated from the watts that each added. The window is *not checked*.
    pub fn new(idle_w: f64, cap_w: f64) -> Self {
        let sensitivity = Range::new(0.25, 0.15, 0.4);
        Self { idle_w, cap_w, sensitivity, window_s: 0.2, lowest_clock: 0.3 }
    }

    /// Clock as a share of the highest when `wanted_w` over idle is wanted.
    ///
    /// max(lowest, 1 − a (P − cap)/cap) above the cap, 1 below it.
    pub fn clock(&self, wanted_w: f64, sensitivity: f64) -> f64 {
        let over = (self.idle_w + wanted_w - self.cap_w) / self.cap_w;
        if over > 0.0 { (1.0 - sensitivity * over).max(self.lowest_clock).min(1.0) } else { 1.0 }
    }
}

/// Speed at a lowered clock: the share of the work that waits for memory does not mind.
///
/// 1 − (1 − d/B) (1 − f), with bandwidth d while active, B = `attainable`, clock f.
pub fn speed_at_clock(clock: f64, bandwidth: f64, attainable: f64) -> f64 {
    let bound = if attainable > 0.0 { 1.0 - (bandwidth / attainable).clamp(0.0, 1.0) } else { 1.0 };
    1.0 - bound * (1.0 - clock)
}

/// The regulator of a GPU that is being replayed.
#[derive(Debug, Clone)]
pub(crate) struct Regulator {
    cap: PowerCap,
    sensitivity: f64,
    /// Power over idle of each tenant at full speed, W.
    power_w: Vec<f64>,
    bandwidth: Vec<f64>,
    attainable: f64,
    wanted_j: f64,
    /// When it looks again, seconds.
    pub(crate) due_s: f64,
    /// Factor on each tenant's speed now.
    pub(crate) factors: Vec<f64>,
}

impl Regulator {
    /// `None` when all together cannot reach the cap, so that nothing need be played.
    pub(crate) fn new(
        cap: PowerCap,
        sensitivity: f64,
        tenants: &[(f64, f64)],
        attainable: f64,
    ) -> Option<Self> {
        let (power_w, bandwidth): (Vec<f64>, Vec<f64>) = tenants.iter().copied().unzip();
        let most: f64 = power_w.iter().sum();
        (cap.idle_w + most > cap.cap_w && cap.window_s > 0.0).then(|| Self {
            cap,
            sensitivity,
            factors: vec![1.0; power_w.len()],
            power_w,
            bandwidth,
            attainable,
            wanted_j: 0.0,
            due_s: cap.window_s,
        })
    }

    /// Tenants ran at these speeds for so many seconds; what they want is what they would draw at full clock.
    pub(crate) fn pass(&mut self, seconds: f64, speeds: impl Iterator<Item = f64>) {
        let at_full = self.power_w.iter().zip(&self.factors).map(|(power, factor)| power / factor);
        let wanted_w: f64 = at_full.zip(speeds).map(|(power, speed)| power * speed).sum();
        self.wanted_j += wanted_w * seconds;
    }

    /// Sets the clock for the next window by what was wanted in the last one.
    pub(crate) fn look(&mut self) {
        let clock = self.cap.clock(self.wanted_j / self.cap.window_s, self.sensitivity);
        self.wanted_j = 0.0;
        self.due_s += self.cap.window_s;
        for (factor, bandwidth) in self.factors.iter_mut().zip(&self.bandwidth) {
            *factor = speed_at_clock(clock, *bandwidth, self.attainable);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_cap_nothing_happens_and_above_it_compute_slows_more_than_memory() {
        let cap = PowerCap::new(50.0, 300.0);
        assert_eq!(cap.clock(250.0, 0.25), 1.0);
        let clock = cap.clock(350.0, 0.25);
        assert!((clock - (1.0 - 0.25 / 3.0)).abs() < 1e-12);
        assert_eq!(speed_at_clock(clock, 0.9, 0.9), 1.0);
        assert_eq!(speed_at_clock(clock, 0.0, 0.9), clock);
    }

    #[test]
    fn five_inferences_on_a_v100_lose_the_clock_that_was_measured() {
        // 118, 185, 259, 296 and 295 W under a cap of 300 W; each adds about 70 W, so 4 want 329 and 5 want 399.
        let cap = PowerCap::new(47.0, 300.0);
        for (wanted, mhz) in [(329.0, 1485.6), (399.0, 1431.4)] {
            let clock = cap.clock(wanted - cap.idle_w, cap.sensitivity.expected);
            assert!((clock - mhz / 1530.0).abs() < 0.03, "{clock}");
        }
    }

    #[test]
    fn tenants_that_cannot_reach_the_cap_need_no_regulator() {
        let cap = PowerCap::new(50.0, 300.0);
        assert!(Regulator::new(cap, 0.25, &[(100.0, 0.0), (100.0, 0.0)], 0.9).is_none());
        assert!(Regulator::new(cap, 0.25, &[(200.0, 0.0), (100.0, 0.0)], 0.9).is_some());
    }
}
