//! Units of mapping files, and the factor from each to the unit of a metric.
//!
//! A mapping file says exactly what it means: `MB` is 10^6 bytes and `MiB` is 2^20. NVIDIA's own
//! tools print mebibytes as `MB`; who maps their output writes `MiB`.

use crate::domain::metric::Unit;

/// What can be converted into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Share,
    Memory,
    DataRate,
    Power,
    Energy,
    Frequency,
    Temperature,
    Time,
    Rate,
    Count,
    Mask,
    Code,
}

const KIB: f64 = 1024.0;

/// Every unit: its name, what it measures, and how many of the family's smallest step it holds.
///
/// Smallest steps: percent, byte, byte per second, milliwatt, millijoule, hertz, degree,
/// nanosecond, one per hour.
const UNITS: &[(&str, Family, f64)] = &[
    ("%", Family::Share, 1.0),
    ("ratio", Family::Share, 100.0),
    ("B", Family::Memory, 1.0),
    ("kB", Family::Memory, 1e3),
    ("MB", Family::Memory, 1e6),
    ("GB", Family::Memory, 1e9),
    ("KiB", Family::Memory, KIB),
    ("MiB", Family::Memory, KIB * KIB),
    ("GiB", Family::Memory, KIB * KIB * KIB),
    ("B/s", Family::DataRate, 1.0),
    ("kB/s", Family::DataRate, 1e3),
    ("MB/s", Family::DataRate, 1e6),
    ("GB/s", Family::DataRate, 1e9),
    ("KiB/s", Family::DataRate, KIB),
    ("MiB/s", Family::DataRate, KIB * KIB),
    ("GiB/s", Family::DataRate, KIB * KIB * KIB),
    ("mW", Family::Power, 1.0),
    ("W", Family::Power, 1e3),
    ("kW", Family::Power, 1e6),
    ("mJ", Family::Energy, 1.0),
    ("J", Family::Energy, 1e3),
    ("kJ", Family::Energy, 1e6),
    ("Wh", Family::Energy, 3.6e6),
    ("kWh", Family::Energy, 3.6e9),
    ("Hz", Family::Frequency, 1.0),
    ("kHz", Family::Frequency, 1e3),
    ("MHz", Family::Frequency, 1e6),
    ("GHz", Family::Frequency, 1e9),
    ("C", Family::Temperature, 1.0),
    ("°C", Family::Temperature, 1.0),
    ("ns", Family::Time, 1.0),
    ("us", Family::Time, 1e3),
    ("µs", Family::Time, 1e3),
    ("ms", Family::Time, 1e6),
    ("s", Family::Time, 1e9),
    ("min", Family::Time, 6e10),
    ("h", Family::Time, 3.6e12),
    ("1/s", Family::Rate, 3600.0),
    ("1/min", Family::Rate, 60.0),
    ("1/h", Family::Rate, 1.0),
    ("count", Family::Count, 1.0),
    ("mask", Family::Mask, 1.0),
    ("code", Family::Code, 1.0),
];

/// The name that a mapping file would give to a unit of ours.
fn ours(unit: Unit) -> &'static str {
    match unit {
        Unit::Percent => "%",
        Unit::Ratio => "ratio",
        Unit::Bytes => "B",
        Unit::BytesPerSecond => "B/s",
        Unit::Milliwatts => "mW",
        Unit::Millijoules => "mJ",
        Unit::Megahertz => "MHz",
        Unit::Celsius => "C",
        Unit::Nanoseconds => "ns",
        Unit::Seconds => "s",
        Unit::PerSecond => "1/s",
        Unit::Count => "count",
        Unit::Bitmask => "mask",
        Unit::Code => "code",
    }
}

/// What turns a value into a metric's unit: times one number, over another, both exact where they can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Conversion {
    /// To multiply by.
    pub(crate) times: f64,
    /// To divide by.
    pub(crate) over: f64,
}

impl Conversion {
    /// Leaves a value as it is.
    pub(crate) const NONE: Self = Self { times: 1.0, over: 1.0 };

    /// The value in the metric's unit.
    pub(crate) fn apply(self, value: f64) -> f64 {
        value * self.times / self.over
    }
}

/// What turns values in a written unit into a metric's unit; `None` when they do not measure the same.
pub(crate) fn conversion(written: &str, unit: Unit) -> Option<Conversion> {
    let find = |name: &str| UNITS.iter().find(|it| it.0 == name);
    let (_, family, size) = find(written)?;
    let (_, our_family, our_size) = find(ours(unit))?;
    if family != our_family {
        return None;
    }
    Some(match size >= our_size {
        true => Conversion { times: size / our_size, over: 1.0 },
        false => Conversion { times: 1.0, over: our_size / size },
    })
}

/// Names of the units that fit a metric; of all units when `unit` is `None`.
pub(crate) fn names(unit: Option<Unit>) -> Vec<&'static str> {
    let fits = |name: &str| unit.is_none_or(|it| conversion(name, it).is_some());
    UNITS.iter().map(|it| it.0).filter(|it| fits(it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::metric::Metric;

    #[test]
    fn every_unit_is_what_its_name_says() {
        let convert = |value: f64, written, unit| conversion(written, unit).unwrap().apply(value);
        assert_eq!(convert(1.0, "MiB", Unit::Bytes), 1_048_576.0);
        assert_eq!(convert(1.0, "MB", Unit::Bytes), 1_000_000.0);
        assert_eq!(convert(70.1, "W", Unit::Milliwatts), 70_100.0);
        assert_eq!(convert(2.0, "J", Unit::Millijoules), 2000.0);
        assert_eq!(convert(425.0, "ms", Unit::Seconds), 0.425);
        assert_eq!(convert(1.98e9, "Hz", Unit::Megahertz), 1980.0);
        assert_eq!(convert(0.08, "ratio", Unit::Percent), 8.0);
        assert_eq!(convert(50.0, "%", Unit::Ratio), 0.5);
        assert_eq!(convert(30.0, "1/min", Unit::PerSecond), 0.5);
    }

    #[test]
    fn units_of_different_things_do_not_convert() {
        assert_eq!(conversion("W", Unit::Bytes), None);
        assert_eq!(conversion("mW ", Unit::Milliwatts), None);
        assert!(names(Some(Unit::Milliwatts)).contains(&"W"));
        assert!(!names(Some(Unit::Milliwatts)).contains(&"s"));
    }

    #[test]
    fn every_metric_can_be_mapped_in_its_own_unit() {
        for metric in Metric::all() {
            let unit = metric.spec().unit;
            assert_eq!(conversion(ours(unit), unit), Some(Conversion::NONE), "{}", metric.key());
        }
    }
}
