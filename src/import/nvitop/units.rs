//! Metrics of nvitop in the unit that a column's name states.

use crate::domain::metric::{Dialect, Metric};
use crate::import::text::cells::factor_to;

/// Units in which nvitop's own columns stand.
const USUAL_UNITS: [&str; 4] = ["MiB", "%", "W", "C"];

/// A metric of nvitop by its name without the unit.
fn without_unit(name: &str) -> Option<(Metric, &str)> {
    let (stem, unit) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let usual = |it: &&str| Metric::from_foreign(Dialect::Nvitop, &format!("{stem} ({it})"));
    USUAL_UNITS.iter().find_map(usual).map(|it| (it.0, unit))
}

/// A metric and the factor to its unit: nvitop's own, or one that a script made of it, such as `memory_used (GiB)`.
pub(crate) fn in_unit(name: &str) -> Option<(Metric, f64)> {
    Metric::from_foreign(Dialect::Nvitop, name).or_else(|| {
        let (metric, unit) = without_unit(name)?;
        Some((metric, factor_to(metric.spec().unit, unit)?))
    })
}

/// A column of a known metric of a GPU whose unit does not fit it.
pub(crate) fn is_in_strange_unit(name: &str) -> bool {
    let mut parts = name.rsplit('/');
    let is_statistic = parts.next().is_some_and(|it| it == "last" || it == "mean");
    let metric = parts.next().unwrap_or_default();
    is_statistic
        && name.contains("gpu:")
        && without_unit(metric).is_some()
        && in_unit(metric).is_none()
}
