//! How much of the time bursts of one length spend at which height.

use crate::analysis::findings::Bursts;

/// Height classes of a [`BurstExtent`]: twentieths of the device.
pub const HEIGHT_CLASSES: usize = 20;

/// How much of the time bursts of one length spend at which height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstExtent {
    /// Length of the bursts, in seconds.
    pub length_s: f64,
    /// Share of all time at each twentieth of the device; the last class holds full use.
    pub time_at_height: [f64; HEIGHT_CLASSES],
}

impl Bursts {
    /// Share of all time in samples of at least this height, inside bursts of at least this length.
    ///
    /// The height is rounded down to a twentieth.
    pub fn time_at_least(&self, height_ratio: f64, length_s: f64) -> f64 {
        let first =
            ((height_ratio * HEIGHT_CLASSES as f64 + 1e-9) as usize).min(HEIGHT_CLASSES - 1);
        let long = self.extents.iter().filter(|it| it.length_s >= length_s * (1.0 - 1e-9));
        long.flat_map(|it| &it.time_at_height[first..]).fold(0.0, |sum, it| sum + it)
    }
}
