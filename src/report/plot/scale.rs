//! From values to positions, and the values that an axis names.

use crate::domain::time::{TimeSpan, Timestamp};
use crate::domain::units::Seconds;

/// A linear or logarithmic map from values to logical pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    from: f64,
    until: f64,
    start_px: f64,
    end_px: f64,
}

impl Scale {
    /// `from` falls on `start_px`, `until` on `end_px`.
    pub(crate) fn new((from, until): (f64, f64), (start_px, end_px): (f64, f64)) -> Self {
        let until = if until > from { until } else { from + 1.0 };
        Self { from, until, start_px, end_px }
    }

    /// Where the value falls; what lies outside is moved to the nearer end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.until - self.from)).clamp(0.0, 1.0);
        self.start_px + share * (self.end_px - self.start_px)
    }

    /// Where a positive value falls when the scale was made from logarithms.
    pub(crate) fn at_log(&self, value: f64) -> f64 {
        self.at(value.max(f64::MIN_POSITIVE).log10())
    }
}

/// Round values from 0 to at least `top`, at most `most` steps.
pub(crate) fn round_steps(top: f64, most: usize) -> Vec<f64> {
    if !(top.is_finite() && top > 0.0) {
        return vec![0.0, 1.0];
    }
    let rough = top / most.max(1) as f64;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .iter()
        .map(|it| it * decade)
        .find(|it| top / it <= most as f64 * (1.0 + 1e-9))
        .unwrap_or(10.0 * decade);
    let steps = (top / step - 1e-9).ceil() as usize;
    (0..=steps).map(|it| it as f64 * step).collect()
}

/// The value without the dust of binary fractions.
pub(crate) fn tidy(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

/// Amounts of memory up to `top` bytes that an axis names; the last one says the unit.
pub(crate) fn byte_marks(top: f64, most: usize) -> Vec<(f64, String)> {
    let gibibyte = f64::from(1u32 << 30);
    let (unit, name) =
        if top >= gibibyte { (gibibyte, "GiB") } else { (f64::from(1u32 << 20), "MiB") };
    let steps = round_steps(top / unit, most).into_iter();
    let inside: Vec<f64> = steps.filter(|it| it * unit <= top * 1.001).collect();
    let last = inside.len().saturating_sub(1);
    let named = |(position, it): (usize, f64)| match position == last {
        true => (it * unit, format!("{} {name}", tidy(it))),
        false => (it * unit, tidy(it)),
    };
    inside.into_iter().enumerate().map(named).collect()
}

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// Steps between names on a time axis, in seconds.
const TIME_STEPS: &[f64] = &[
    1e-6,
    1e-5,
    1e-4,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    15.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    90.0 * DAY,
    365.0 * DAY,
];

/// Instants that a time axis names, with their names in UTC; at most `most` and one.
pub(crate) fn time_marks(span: TimeSpan, most: usize) -> Vec<(Timestamp, String)> {
    let fits = |step: &&f64| span.seconds() / **step <= most as f64;
    let step = TIME_STEPS.iter().find(fits).copied().unwrap_or(3650.0 * DAY);
    let step_micros = ((step * 1e6) as i64).max(1);
    let first = span.from().as_micros().div_euclid(step_micros).saturating_mul(step_micros);
    let pattern = match step {
        it if it < 1.0 => "%H:%M:%S%.3f",
        it if it < MINUTE => "%H:%M:%S",
        it if it < DAY => "%H:%M",
        _ => "%-d %b",
    };
    (0..=most as i64 + 1)
        .map(|it| Timestamp::from_micros(first.saturating_add(it.saturating_mul(step_micros))))
        .filter(|it| span.from() <= *it && *it <= span.until())
        .map(|it| (it, named(it, pattern)))
        .collect()
}

fn named(at: Timestamp, pattern: &str) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(stamp) => stamp.strftime(pattern).to_string(),
        Err(_) => String::new(),
    }
}

/// The day or days that a time axis lies on, with the zone.
pub(crate) fn days(span: TimeSpan) -> String {
    let day = |it: Timestamp| named(it, "%-d %b %Y");
    let (first, last) = (day(span.from()), day(span.until().plus_micros(-1)));
    if first == last { format!("{first}, UTC") } else { format!("{first} to {last}, UTC") }
}

/// Lengths that a logarithmic axis names, in seconds.
const LENGTHS: &[f64] = &[
    1e-6,
    1e-5,
    1e-4,
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
    MINUTE,
    10.0 * MINUTE,
    HOUR,
    10.0 * HOUR,
    100.0 * HOUR,
    1000.0 * HOUR,
];

/// Lengths between two limits that a logarithmic axis names, with their names.
pub(crate) fn length_marks(from_s: f64, until_s: f64) -> Vec<(f64, String)> {
    let inside = |it: &f64| from_s * 0.999 <= *it && *it <= until_s * 1.001;
    let mut marks: Vec<f64> = LENGTHS.iter().copied().filter(inside).collect();
    if marks.len() < 3 {
        marks = LENGTHS
            .iter()
            .flat_map(|it| [1.0, 2.0, 5.0].map(|by| it * by))
            .filter(inside)
            .collect();
        marks.dedup_by(|a, b| *a <= *b * 1.25);
    }
    marks.into_iter().map(|it| (it, length(it))).collect()
}

fn length(seconds: f64) -> String {
    let (value, unit) = match seconds {
        it if it < 0.000_999 => (it * 1e6, "µs"),
        it if it < 0.999 => (it * 1e3, "ms"),
        it if it < 59.9 => (it, "s"),
        it if it < 3599.0 => (it / MINUTE, "min"),
        it => (it / HOUR, "h"),
    };
    if (value - value.round()).abs() < 1e-6 {
        format!("{value:.0} {unit}")
    } else {
        Seconds(seconds).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_names_round_values_that_reach_its_top() {
        assert_eq!(round_steps(1.51, 4), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(round_steps(80.0, 2), [0.0, 50.0, 100.0]);
        assert_eq!(round_steps(0.0, 4), [0.0, 1.0]);
    }

    #[test]
    fn a_time_axis_names_round_instants_in_utc() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let span = TimeSpan::new(at(1_795_856_410), at(1_795_857_010)).unwrap();
        let names: Vec<String> = time_marks(span, 6).into_iter().map(|it| it.1).collect();
        assert_eq!(names, ["09:02", "09:04", "09:06", "09:08", "09:10"]);
        assert_eq!(days(span), "28 Nov 2026, UTC");
    }

    #[test]
    fn a_length_axis_names_at_least_two_lengths() {
        for (from, until) in [(0.1, 100.0), (0.166, 0.9), (15.0, 3600.0), (1.0, 2.0)] {
            let marks = length_marks(from, until);
            assert!(marks.len() >= 2, "{from} {until} {marks:?}");
        }
    }
}
