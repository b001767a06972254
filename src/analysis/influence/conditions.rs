//! What the whole board does to everybody on it: clock, limits, heat, PCIe, faults.

use crate::analysis::influence::findings::Channel;
use crate::analysis::influence::grid::Grid;
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::time::Timestamp;
use crate::stats::moments::Moments;
use crate::stats::quantile::quantile;

/// Clock held back by the software power cap.
pub(crate) const POWER_CAP_BITS: u64 = 0x4;
/// Clock held back by heat, in software or hardware.
pub(crate) const HEAT_BITS: u64 = 0x20 | 0x40;
/// Clock held back by the hardware: slowdown signal or power brake.
pub(crate) const HARDWARE_BITS: u64 = 0x8 | 0x80;
/// Share of the limit from which power counts as at its limit where reasons were not recorded.
const AT_LIMIT: f64 = 0.97;
/// Spread of a condition below which it did not change.
const STILL: f64 = 0.002;
/// Bytes per second that a PCIe link of sixteen lanes really carries, by words of the product name; the first that fits.
const LINKS: [(&[&str], f64); 3] = [
    (&["H100", "H200", "H800", "H20", "B100", "B200", "B300", "GB200", "RTX PRO 6000"], 50e9),
    (
        &[
            "A100", "A800", "A40", "A30", "A10", "A16", "A2", "L4", "L40", "RTX 30", "RTX 40",
            "RTX A", "Ada",
        ],
        24e9,
    ),
    (&["V100", "T4", "P100", "P40", "P4", "RTX 20", "Quadro"], 12e9),
];
/// The slowest of them, for boards that are not listed.
const UNKNOWN_LINK: f64 = 12e9;
/// Part of what a link carries from which it is in the way.
const IN_THE_WAY: f64 = 0.7;
/// Bins around a fault that it may have touched, in seconds.
const AFTER_FAULT_S: f64 = 30.0;

/// What the board did, bin by bin; NaN where it was not seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    /// Logarithm of the greatest usual clock over the clock: 0 at full speed.
    pub(crate) clock_lag: Option<Vec<f64>>,
    /// Share of the bin at the power cap.
    pub(crate) power_cap: Option<Vec<f64>>,
    /// Share of the bin held back by heat.
    pub(crate) heat: Option<Vec<f64>>,
    /// Share of the bin held back by the hardware.
    pub(crate) hardware: Option<Vec<f64>>,
    /// Traffic on the link over its usual greatest, the busier direction.
    pub(crate) link: Option<Vec<f64>>,
    /// Usual greatest traffic, in bytes per second.
    pub(crate) link_top: f64,
    /// What the link can carry, in bytes per second.
    pub(crate) link_carries: f64,
    /// Whether a fault may have touched the bin.
    pub(crate) fault: Option<Vec<f64>>,
    /// Faults, with what they were.
    pub(crate) faults: Vec<(Timestamp, String)>,
    /// Whether the device was saturated: its utilisation.
    pub(crate) utilisation: Option<Vec<f64>>,
}

impl Conditions {
    /// What a device's trace says; nothing without one.
    pub(crate) fn of(device: Option<&Trace>, model: Option<&str>, grid: &Grid) -> Self {
        let Some(device) = device else { return Self::default() };
        let series = |metric: Metric| device.get(metric).filter(|it| it.len() > 1);
        let share_of = |bits: u64| {
            series(Metric::ThrottleReasons)
                .map(|it| grid.means(it, None, 0, |it| f64::from(u8::from(it as u64 & bits != 0))))
        };
        let counted = |metric: Metric| series(metric).and_then(|it| growth(it, grid));
        let mut conditions = Self {
            clock_lag: series(Metric::SmClock).and_then(|it| clock_lag(it, grid)),
            power_cap: larger(share_of(POWER_CAP_BITS), counted(Metric::PowerViolation))
                .or_else(|| at_power_limit(device, grid)),
            heat: larger(share_of(HEAT_BITS), counted(Metric::ThermalViolation)),
            hardware: share_of(HARDWARE_BITS),
            utilisation: series(Metric::GpuUtilization)
                .map(|it| grid.means(it, None, 0, |it| it / 100.0))
                .or_else(|| {
                    series(Metric::GraphicsEngineActive).map(|it| grid.means(it, None, 0, |it| it))
                }),
            link_carries: link_carries(model),
            ..Self::default()
        };
        conditions.take_link(series(Metric::PcieReceive), series(Metric::PcieTransmit), grid);
        conditions.take_faults(series(Metric::Xid), series(Metric::EccUncorrected), grid);
        conditions
    }

    fn take_link(&mut self, receive: Option<&Series>, transmit: Option<&Series>, grid: &Grid) {
        let means = |it: &Series| grid.means(it, None, 0, |it| it);
        let Some(mut link) = larger(receive.map(means), transmit.map(means)) else { return };
        let seen: Vec<f64> = link.iter().copied().filter(|it| it.is_finite()).collect();
        self.link_top = quantile(&seen, 0.995).unwrap_or(0.0);
        if self.link_top > 0.0 {
            link.iter_mut().for_each(|it| *it /= self.link_top);
        }
        self.link = Some(link);
    }

    fn take_faults(&mut self, xid: Option<&Series>, ecc: Option<&Series>, grid: &Grid) {
        if xid.is_none() && ecc.is_none() {
            return;
        }
        let mut faults: Vec<(Timestamp, String)> = Vec::new();
        let changes = |series: &Series| -> Vec<(Timestamp, f64, f64)> {
            let steps = series.values().windows(2).zip(&series.times()[1..]);
            steps.filter(|it| it.0[0] != it.0[1]).map(|it| (*it.1, it.0[0], it.0[1])).collect()
        };
        for (at, _, code) in xid.map(changes).unwrap_or_default() {
            if code > 0.0 {
                faults.push((at, format!("Xid {code:.0}")));
            }
        }
        for (at, before, after) in ecc.map(changes).unwrap_or_default() {
            if after > before {
                faults.push((at, format!("{:.0} uncorrected memory errors", after - before)));
            }
        }
        faults.sort_by_key(|it| it.0);
        let mut touched = vec![0.0; grid.bins];
        let bins = (AFTER_FAULT_S / grid.step_s()).ceil().max(1.0) as usize;
        for (at, _) in &faults {
            if let Some(bin) = grid.bin_of(*at) {
                let first = bin.saturating_sub(bins / 3 + 1);
                let end = (bin + bins).min(grid.bins);
                touched[first..end].iter_mut().for_each(|it| *it = 1.0);
            }
        }
        self.fault = Some(touched);
        self.faults = faults;
    }

    /// What to hold fixed for the clock, in the order in which a channel is named; only what changed.
    pub(crate) fn clock_columns(&self) -> Vec<Vec<f64>> {
        [&self.clock_lag, &self.power_cap, &self.heat, &self.hardware]
            .into_iter()
            .flatten()
            .filter(|it| moves(it))
            .cloned()
            .collect()
    }

    /// What to hold fixed for the link; only if it was ever near full.
    pub(crate) fn link_columns(&self) -> Vec<Vec<f64>> {
        self.link.iter().filter(|it| self.is_link_busy() && moves(it)).cloned().collect()
    }

    /// Whether the link was ever busy enough to be in anybody's way.
    pub(crate) fn is_link_busy(&self) -> bool {
        self.link_top >= IN_THE_WAY * self.link_carries
    }

    /// What holds the clock back on this board, if anything.
    pub(crate) fn clock_channel(&self) -> Option<Channel> {
        let time = |it: &Option<Vec<f64>>| {
            it.iter().flatten().copied().filter(|it| it.is_finite()).sum::<f64>()
        };
        let (cap, heat) = (time(&self.power_cap), time(&self.heat));
        let hardware = time(&self.hardware);
        if cap > 0.0 && cap >= heat && cap >= hardware {
            Some(Channel::PowerCap)
        } else if heat > 0.0 && heat >= hardware {
            Some(Channel::Heat)
        } else {
            self.clock_lag.as_ref().filter(|it| moves(it)).map(|_| Channel::Clock)
        }
    }
}

fn link_carries(model: Option<&str>) -> f64 {
    let fits = |words: &[&str]| {
        let name = model.unwrap_or_default();
        let parts = || name.split([' ', '-', '_']);
        words.iter().any(|word| {
            name.contains(&format!("{word} "))
                || parts().any(|it| it == *word)
                || word.contains(' ') && name.contains(word)
        })
    };
    LINKS.iter().find(|it| fits(it.0)).map_or(UNKNOWN_LINK, |it| it.1)
}

/// Whether a condition changes.
fn moves(values: &[f64]) -> bool {
    let seen: Vec<f64> = values.iter().copied().filter(|it| it.is_finite()).collect();
    Moments::of(&seen).variance().is_some_and(|it| it.sqrt() > STILL)
}

/// The larger of two, bin by bin; one of them is enough.
fn larger(first: Option<Vec<f64>>, second: Option<Vec<f64>>) -> Option<Vec<f64>> {
    match (first, second) {
        // `f64::max` takes the one that is a number.
        (Some(first), Some(second)) => {
            Some(first.into_iter().zip(second).map(|it| it.0.max(it.1)).collect())
        }
        (first, second) => first.or(second),
    }
}

fn clock_lag(clock: &Series, grid: &Grid) -> Option<Vec<f64>> {
    let top = quantile(clock.values(), 0.95).filter(|it| *it > 0.0)?;
    let lag = |it: f64| if it > 0.0 { (top / it).ln().max(0.0) } else { f64::NAN };
    Some(grid.means(clock, None, 0, lag))
}

/// Growth of a counter of nanoseconds as a share of time; a fall is a restart and counts for nothing.
fn growth(counter: &Series, grid: &Grid) -> Option<Vec<f64>> {
    let steps = counter.values().windows(2).zip(counter.times().windows(2));
    let shares: Vec<f64> = steps
        .map(|(values, times)| {
            let length_ns = times[1].micros_since(times[0]) as f64 * 1e3;
            ((values[1] - values[0]).max(0.0) / length_ns).min(1.0)
        })
        .collect();
    let times = counter.times().get(1..)?.to_vec();
    let shares = Series::new(std::sync::Arc::new(times), shares)?;
    Some(grid.means(&shares, None, 0, |it| it))
}

fn at_power_limit(device: &Trace, grid: &Grid) -> Option<Vec<f64>> {
    let power = device.get(Metric::Power).or_else(|| device.get(Metric::PowerInstant))?;
    let limit = quantile(device.get(Metric::PowerLimit)?.values(), 0.5).filter(|it| *it > 0.0)?;
    let is_at = |it: f64| f64::from(u8::from(it >= AT_LIMIT * limit));
    (power.len() > 1).then(|| grid.means(power, None, 0, is_at))
}
