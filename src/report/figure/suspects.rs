//! A victim and those who are suspected.

use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::report::figure::SeriesColour;

/// A victim over those who are suspected, on one time axis.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspectsFigure {
    /// The time axis.
    pub span: TimeSpan,
    /// Name of the victim.
    pub victim: String,
    /// What is shown of it.
    pub metric: Metric,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// The victim's metric in its own unit; `None` where it was not seen.
    pub values: Vec<Option<f64>>,
    /// The window in question; `None` when it is everything.
    pub window: Option<TimeSpan>,
    /// The suspects, the most suspicious first.
    pub lanes: Vec<SuspectLane>,
}

/// One suspect below its victim.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspectLane {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub colour: SeriesColour,
    /// Its activity, 0 to 1; `None` where it was not seen.
    pub activity: Vec<Option<f64>>,
    /// Its bursts.
    pub bursts: Vec<TimeSpan>,
    /// Whether its bursts are shaded through the victim.
    pub is_guilty: bool,
}

impl SuspectsFigure {
    /// From this ratio of the greatest to the least value on the axis is logarithmic.
    const WIDE: f64 = 5.0;

    /// Least and greatest value; `None` when the victim was never seen.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let seen = || self.values.iter().flatten().copied().filter(|it| it.is_finite());
        Some((seen().reduce(f64::min)?, seen().reduce(f64::max)?))
    }

    /// Whether the victim's axis is logarithmic.
    pub(crate) fn is_logarithmic(&self) -> bool {
        self.range().is_some_and(|(least, most)| least > 0.0 && most > Self::WIDE * least)
    }
}
