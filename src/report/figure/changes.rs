//! Changes from one recording to another with their intervals, as data of a picture.

use crate::report::figure::Whisker;

/// Changes on one axis, on which twice as much stands as far from no change as half as much.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangesFigure {
    /// The tenants, from top to bottom.
    pub groups: Vec<ChangeGroup>,
}

/// The changes of one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeGroup {
    /// Its name.
    pub name: String,
    /// Its metrics.
    pub rows: Vec<ChangeRow>,
}

/// The change of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRow {
    /// What it is called.
    pub name: String,
    /// As factors: after over before; `None` when it cannot be told.
    pub change: Option<Whisker>,
    /// The same at equal load; `None` when the load is not known or did not move.
    pub adjusted: Option<Whisker>,
    /// What was shown.
    pub kind: ChangeKind,
    /// In words, right of the interval.
    pub note: String,
}

/// What was shown; kinds differ in form as well as in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// A change for the worse.
    Worse,
    /// A change for the better.
    Better,
    /// A change that is neither.
    Different,
    /// Nothing.
    NotShown,
}

impl ChangeKind {
    /// Every kind with its words in the legend.
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Worse, "worse"),
        (Self::Better, "better"),
        (Self::Different, "changed"),
        (Self::NotShown, "not shown"),
    ];
}

impl ChangesFigure {
    /// Height of a row, in pixels.
    pub(crate) const ROW: u32 = 30;
    /// Room above the rows of a tenant for its name.
    pub(crate) const HEAD: u32 = 24;
    /// Room above everything for the legend.
    pub(crate) const TOP: u32 = 34;
    /// Room below everything for the axis.
    pub(crate) const BOTTOM: u32 = 44;

    /// Height of one tenant, in pixels.
    pub(crate) fn height_of(group: &ChangeGroup) -> u32 {
        Self::HEAD + Self::ROW * group.rows.len() as u32 + 6
    }

    /// Height of all, in pixels.
    pub(crate) fn height(&self) -> u32 {
        let groups = self.groups.iter().map(Self::height_of).sum::<u32>();
        Self::TOP + Self::BOTTOM + groups
    }

    /// Kinds that are drawn, with their words.
    pub(crate) fn legend(&self) -> Vec<(ChangeKind, &'static str)> {
        let rows = || self.groups.iter().flat_map(|it| &it.rows);
        let is_drawn = |kind| rows().any(|it| it.kind == kind && it.change.is_some());
        ChangeKind::ALL.into_iter().filter(|it| is_drawn(it.0)).collect()
    }

    /// Whether a change at equal load is drawn.
    pub(crate) fn has_adjusted(&self) -> bool {
        self.groups.iter().flat_map(|it| &it.rows).any(|it| it.adjusted.is_some())
    }

    /// The factor at which the axis ends, and one over which it begins.
    ///
    /// Ends of intervals count up to the square of the greatest change itself, or up to twice.
    pub(crate) fn most(&self) -> f64 {
        let rows = || self.groups.iter().flat_map(|it| &it.rows);
        let all = || rows().flat_map(|it| [it.change, it.adjusted]).flatten();
        let size = |it: f64| if it > 0.0 && it.is_finite() { it.ln().abs() } else { 0.0 };
        let value = all().map(|it| size(it.value)).fold(0.05, f64::max);
        let end = all().flat_map(|it| [size(it.low), size(it.high)]).fold(value, f64::max);
        (end.min((2.0 * value).max(0.7)) * 1.08).exp()
    }
}
