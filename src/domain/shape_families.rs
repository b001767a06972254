//! The metric families in which `cotenant serve` shows shapes, and how they are read back.

use crate::domain::shape::{
    HEIGHT_BOUNDS, HEIGHTS, LENGTH_BOUNDS_S, LENGTHS, LEVELS, SLOTS, Shape, Slot,
};

/// What the names of all our families begin with.
pub const PREFIX: &str = "cotenant_";

/// Label that names a GPU by its UUID, as OpenTelemetry's `hw.id` does.
pub const HW_ID: &str = "hw_id";
/// Label of a GPU's index on its host.
pub const HW_INDEX: &str = "hw_index";
/// Label of a MIG instance's number.
pub const MIG_INSTANCE: &str = "mig_instance";
/// Label of a tenant.
pub const TENANT: &str = "tenant";
/// Label of the level at which bursts are cut.
pub const LEVEL: &str = "level";
/// Label of the metric that stands for activity.
pub const ACTIVITY_METRIC: &str = "metric";

/// Tells which metric stands for activity.
pub const ACTIVITY_INFO: &str = "cotenant_activity_info";
/// Time between two samples, in seconds.
pub const INTERVAL: &str = "cotenant_activity_interval_seconds";
/// Time that a sample averages over, in seconds.
pub const WINDOW: &str = "cotenant_activity_window_seconds";

/// How the sums of a family are laid out.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// A histogram of heights and the sum of what was counted.
    Heights(fn(usize) -> Slot, Slot),
    /// A histogram of lengths for each level and the seconds that were counted.
    LevelLengths,
    /// A histogram of lengths and the seconds that were counted.
    Lengths(fn(usize) -> Slot, Slot),
    /// A counter for each level.
    LevelCounter(fn(usize) -> Slot),
    /// A counter.
    Counter(Slot),
}

/// A family of shapes.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Name without the endings that its kind adds.
    pub name: &'static str,
    /// Unit at the end of the name, as OpenMetrics states it; empty for plain counts.
    pub unit: &'static str,
    /// How its sums are laid out.
    pub layout: Layout,
    /// What it means, in one sentence.
    pub help: &'static str,
}

/// Every family of shapes.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "cotenant_activity_ratio",
        unit: "ratio",
        layout: Layout::Heights(Slot::Height, Slot::Busy),
        help: "Samples of activity by height, each a busy fraction from 0 to 1; a bound lies half a percent low so that whole percents fall on one side.",
    },
    Family {
        name: "cotenant_activity_squares",
        unit: "",
        layout: Layout::Counter(Slot::Squares),
        help: "Sum of the squares of those samples; with sum and count it gives their variance.",
    },
    Family {
        name: "cotenant_activity_neighbour_products",
        unit: "",
        layout: Layout::Counter(Slot::Products),
        help: "Sum of products of neighbouring samples that share no window.",
    },
    Family {
        name: "cotenant_activity_neighbour_pairs",
        unit: "",
        layout: Layout::Counter(Slot::Pairs),
        help: "Number of those products.",
    },
    Family {
        name: "cotenant_activity_observed_seconds",
        unit: "seconds",
        layout: Layout::Counter(Slot::Observed),
        help: "Time that samples of activity stand for; time that was not seen is not in it and is not idle.",
    },
    Family {
        name: "cotenant_activity_examined_stretches",
        unit: "",
        layout: Layout::Counter(Slot::Examined),
        help: "Stretches of samples that were searched for a rhythm.",
    },
    Family {
        name: "cotenant_activity_regular_stretches",
        unit: "",
        layout: Layout::Counter(Slot::Regular),
        help: "Those of them that had a rhythm or drifted, so that no burst length can be inferred from them.",
    },
    Family {
        name: "cotenant_burst_seconds",
        unit: "seconds",
        layout: Layout::LevelLengths,
        help: "Bursts that ended, by length: from at or above the level to below 60 % of it.",
    },
    Family {
        name: "cotenant_burst_active_seconds",
        unit: "seconds",
        layout: Layout::LevelCounter(Slot::ActiveSeconds),
        help: "Time inside bursts at the level, of those that go on as well.",
    },
    Family {
        name: "cotenant_idle_gap_seconds",
        unit: "seconds",
        layout: Layout::Lengths(Slot::Gaps, Slot::GapSeconds),
        help: "Stretches below 5 % that ended, by length.",
    },
    Family {
        name: "cotenant_memory_used_ratio",
        unit: "ratio",
        layout: Layout::Heights(Slot::Memory, Slot::MemorySum),
        help: "Samples of memory in use as a share of the device's memory.",
    },
];

/// A label's value for a level or a bound: as short as it can be read back.
pub fn label_of(bound: f64) -> String {
    format!("{bound}")
}

/// The sum that a sample holds: by name with its ending, level and bound.
///
/// Values of buckets are cumulative over their bounds; [`Reader`] parts them. `None` for samples
/// that say nothing new, and for all other names.
fn slot(name: &str, level: Option<&str>, le: Option<&str>) -> Option<Slot> {
    let family = FAMILIES.iter().find(|it| {
        name.strip_prefix(it.name).is_some_and(|end| ["_bucket", "_sum", "_total"].contains(&end))
    })?;
    let end = name.strip_prefix(family.name)?;
    let level = || {
        let wanted: f64 = level?.parse().ok()?;
        LEVELS.iter().position(|it| (it - wanted).abs() < 1e-9)
    };
    match (family.layout, end) {
        (Layout::Counter(slot), "_total") => Some(slot),
        (Layout::LevelCounter(slot), "_total") => Some(slot(level()?)),
        (Layout::Heights(slot, _), "_bucket") => Some(slot(class(&HEIGHT_BOUNDS, le?)?)),
        (Layout::Lengths(slot, _), "_bucket") => Some(slot(class(&LENGTH_BOUNDS_S, le?)?)),
        (Layout::LevelLengths, "_bucket") => {
            Some(Slot::Bursts(level()?, class(&LENGTH_BOUNDS_S, le?)?))
        }
        (Layout::LevelLengths, "_sum") => Some(Slot::BurstSeconds(level()?)),
        (Layout::Heights(_, sum) | Layout::Lengths(_, sum), "_sum") => Some(sum),
        _ => None,
    }
}

/// The class whose bound a label spells; Prometheus may spell numbers anew.
fn class(bounds: &[f64], le: &str) -> Option<usize> {
    let bound: f64 = le.trim_start_matches('+').parse().ok()?;
    if bound.is_infinite() {
        return Some(bounds.len());
    }
    bounds.iter().position(|it| (it - bound).abs() < 1e-9)
}

/// Whether a sample is part of a shape or describes one.
pub fn is_part(name: &str) -> bool {
    name.starts_with(PREFIX)
        && ([ACTIVITY_INFO, INTERVAL, WINDOW].contains(&name)
            || FAMILIES.iter().any(|it| name.starts_with(it.name)))
}

/// Puts the samples of one scrape together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reader {
    sums: Shape,
    seen: [u64; SLOTS.div_ceil(64)],
}

impl Reader {
    /// Takes a sample; `false` when it is no part of the sums.
    pub fn take(&mut self, name: &str, level: Option<&str>, le: Option<&str>, value: f64) -> bool {
        let Some(slot) = slot(name, level, le) else { return false };
        self.sums.set(slot, value);
        self.seen[slot.place() / 64] |= 1 << (slot.place() % 64);
        true
    }

    /// The sums; `None` where a part is missing, which a relabelling may have dropped.
    ///
    /// Memory may be missing as a whole: not every tenant's is known.
    pub fn finish(mut self) -> Option<Shape> {
        let is_seen = |place: usize| self.seen[place / 64] & (1 << (place % 64)) != 0;
        let first_of_memory = Slot::Memory(0).place();
        let memory = (first_of_memory..SLOTS).filter(|it| is_seen(*it)).count();
        if !(0..first_of_memory).all(is_seen) || (memory != 0 && memory != HEIGHTS + 1) {
            return None;
        }
        part(&mut self.sums, Slot::Height, HEIGHTS);
        part(&mut self.sums, Slot::Memory, HEIGHTS);
        part(&mut self.sums, Slot::Gaps, LENGTHS);
        for level in 0..LEVELS.len() {
            part(&mut self.sums, |it| Slot::Bursts(level, it), LENGTHS);
        }
        Some(self.sums)
    }
}

/// Counts up to each bound become counts of each class.
fn part(sums: &mut Shape, of: impl Fn(usize) -> Slot, count: usize) {
    for class in (1..count).rev() {
        let inside = sums.get(of(class)) - sums.get(of(class - 1));
        sums.set(of(class), inside.max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_spelled_anew_is_the_same_bound() {
        let bucket = |le| slot("cotenant_activity_ratio_bucket", None, Some(le));
        assert_eq!(bucket("0.945"), Some(Slot::Height(18)));
        assert_eq!(bucket("9.45e-01"), Some(Slot::Height(18)));
        assert_eq!(bucket("+Inf"), Some(Slot::Height(19)));
        assert_eq!(bucket("0.5"), None);
        let bursts = slot("cotenant_burst_seconds_bucket", Some("0.50"), Some("0.14"));
        assert_eq!(bursts, Some(Slot::Bursts(2, 2)));
    }

    #[test]
    fn counts_and_creation_times_say_nothing_new() {
        assert_eq!(slot("cotenant_activity_ratio_count", None, None), None);
        assert_eq!(slot("cotenant_activity_squares_created", None, None), None);
        assert_eq!(slot("node_cpu_seconds_total", None, None), None);
        assert!(is_part("cotenant_activity_ratio_count") && !is_part("cotenant_power_watts"));
    }

    #[test]
    fn a_scrape_of_which_a_part_was_dropped_gives_no_shape() {
        let mut reader = Reader::default();
        assert!(reader.take("cotenant_activity_squares_total", None, None, 1.0));
        assert_eq!(reader.finish(), None);
    }
}
