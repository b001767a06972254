//! Slowdowns of tenants under each way to share, as data of a picture.

/// Slowdowns on one logarithmic axis.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowdownsFigure {
    /// The ways to share, from top to bottom.
    pub groups: Vec<SlowdownGroup>,
    /// A slowdown not to be crossed, with its name.
    pub limit: Option<(f64, String)>,
}

/// The tenants under one way to share.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowdownGroup {
    /// Name of the way.
    pub name: String,
    /// The tenants.
    pub rows: Vec<SlowdownRow>,
}

/// One tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowdownRow {
    /// Its name.
    pub name: String,
    /// Of the median; `None` when there is no number.
    pub p50: Option<Whisker>,
    /// Of the 99th percentile.
    pub p99: Option<Whisker>,
    /// Whether they are lower limits only.
    pub is_at_least: bool,
    /// Why there is no number; empty when there is one.
    pub note: String,
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whisker {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl SlowdownsFigure {
    /// Height of a tenant's row, in pixels.
    pub(crate) const ROW: u32 = 30;
    /// Room above the rows of a way for its name.
    pub(crate) const HEAD: u32 = 24;
    /// Room below everything for the axis.
    pub(crate) const BOTTOM: u32 = 44;

    /// Height of one way, in pixels.
    pub(crate) fn height_of(group: &SlowdownGroup) -> u32 {
        Self::HEAD + Self::ROW * group.rows.len() as u32 + 6
    }

    /// Height of all, in pixels.
    pub(crate) fn height(&self) -> u32 {
        34 + Self::BOTTOM + self.groups.iter().map(Self::height_of).sum::<u32>()
    }

    /// The greatest number that is shown; the axis ends at or above it.
    ///
    /// Ends of intervals count up to three times the greatest number inside one.
    pub(crate) fn most(&self) -> f64 {
        let rows = || self.groups.iter().flat_map(|it| &it.rows);
        let all = || rows().flat_map(|it| [it.p50, it.p99]).flatten();
        let is_sane = |it: &f64| it.is_finite() && *it >= 1.0;
        let values = all().map(|it| it.value).filter(is_sane);
        let value = values.fold(1.0, f64::max);
        let ends = all().map(|it| it.high).filter(is_sane).fold(value, f64::max);
        let limit = self.limit.as_ref().map_or(1.0, |it| it.0);
        ends.min(3.0 * value).max(limit.min(3.0 * value))
    }
}
