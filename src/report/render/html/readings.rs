//! What a picture can be asked for, as one attribute that the script of the page reads.
//!
//! Times are milliseconds after the start of the axis, places are units of the picture, values are
//! whole steps of the row's `step`, each bin as a difference to the one before. `docs/REPORT.md`
//! describes the form.

use crate::analysis::findings::TimelineBin;
use crate::domain::metric::Unit;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::plot::readings::{Chart, ChartRow, ChartSeries, Reading, Spot};
use crate::report::wording::shorten;
use serde_json::{Value, json};

/// Amounts of memory are told in steps of a mebibyte, shares in tenths of a percent.
const MEBIBYTE: f64 = 1_048_576.0;
const TENTH: f64 = 0.1;
/// Longest name, in characters; the full one stands in the tables.
const LONGEST_NAME: usize = 100;
/// Longest words of a place, in characters.
const LONGEST_WORDS: usize = 300;
/// Digits of a value of any other unit, counted from the greatest and from the least one.
const DIGITS: (i32, i32) = (5, 3);
/// More steps than this to the greatest value would be digits that nobody measured.
const MOST_STEPS: f64 = 1e9;

/// The values of a chart; `axis` names the figures that move together.
pub(super) fn chart(chart: &Chart, axis: &str, factor: f64) -> String {
    let from = chart.span.from();
    let phases =
        chart.phases.iter().map(|(name, it)| json!([shorten(name, LONGEST_NAME), ms(from, *it)]));
    let moments = chart.moments.iter().map(|it| after(from, *it));
    json!({
        "axis": axis,
        "from": from.as_micros() as f64 / 1e3,
        "length": tidy(1e3 * chart.span.seconds()),
        "sides": [at(chart.sides.0, factor), at(chart.sides.1, factor)],
        "ends": [at(chart.ends.0, factor), at(chart.ends.1, factor)],
        "days": at(chart.days_at, factor),
        "phases": phases.collect::<Vec<Value>>(),
        "moments": moments.collect::<Vec<Value>>(),
        "rows": chart.rows.iter().map(|it| row(it, from, factor)).collect::<Vec<Value>>(),
    })
    .to_string()
}

/// Places with their words.
pub(super) fn spots(spots: &[Spot], factor: f64) -> String {
    let spot = |it: &Spot| {
        let (a, b) = (it.corner, it.opposite);
        let ends = [a.0.min(b.0), a.1.min(b.1), a.0.max(b.0), a.1.max(b.1)];
        json!([ends.map(|it| at(it, factor)), shorten(&it.words, LONGEST_WORDS)])
    };
    Value::Array(spots.iter().map(spot).collect()).to_string()
}

fn row(row: &ChartRow, from: Timestamp, factor: f64) -> Value {
    let step = step(row);
    json!({
        "name": shorten(&row.name, LONGEST_NAME),
        "ends": [at(row.ends.0, factor), at(row.ends.1, factor)],
        "values": [row.values.0, row.values.1],
        "log": row.is_logarithmic,
        "unit": unit(row.unit),
        "step": step,
        "shades": row.shades.iter().map(|it| ms(from, *it)).collect::<Vec<Value>>(),
        "series": row.series.iter().map(|it| series(it, from, step)).collect::<Vec<Value>>(),
    })
}

fn series(it: &ChartSeries, from: Timestamp, step: f64) -> Value {
    let start = it.bins.first().map_or(from, |it| it.at);
    json!({
        "name": shorten(&it.name, LONGEST_NAME),
        "hue": it.hue,
        "kind": match it.reading {
            Reading::Range => "range",
            Reading::Mean => "mean",
            Reading::Value => "value",
            Reading::Layer => "layer",
            Reading::Least => "least",
        },
        "at": after(from, start),
        "bin": tidy(1e3 * it.bin_s),
        "runs": runs(it, start, step),
    })
}

/// Bins that follow each other, as one list: the place of the first, then mean, how far the least
/// is below and the greatest above it; means as differences. One value stands alone.
fn runs(it: &ChartSeries, start: Timestamp, step: f64) -> Vec<Vec<i64>> {
    let bin_s = if it.bin_s > 0.0 { it.bin_s } else { 1e-6 };
    let is_plain = !matches!(it.reading, Reading::Range | Reading::Mean);
    let steps = |value: f64| (value / step).round() as i64;
    let is_known = |it: &&TimelineBin| [it.low, it.mean, it.high].iter().all(|it| it.is_finite());
    let mut runs: Vec<Vec<i64>> = Vec::new();
    let (mut next, mut before) = (i64::MIN, 0);
    for bin in it.bins.iter().filter(is_known) {
        let place = (bin.at.seconds_since(start) / bin_s).round() as i64;
        let mean = steps(bin.mean);
        if place != next {
            runs.push(vec![place]);
            before = 0;
        }
        if let Some(run) = runs.last_mut() {
            run.push(mean - before);
            if !is_plain {
                run.extend([mean - steps(bin.low), steps(bin.high) - mean]);
            }
        }
        (next, before) = (place.saturating_add(1), mean);
    }
    runs
}

/// The unit as people read it behind a number.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => "/s",
        Unit::Ratio | Unit::Count => "",
        other => other.symbol(),
    }
}

/// How much one step of a row's values is, in the row's unit.
fn step(row: &ChartRow) -> f64 {
    let values =
        || row.series.iter().flat_map(|it| it.bins.iter()).flat_map(|it| [it.low, it.high]);
    let most = values().map(f64::abs).filter(|it| it.is_finite()).fold(0.0, f64::max);
    let least = values().map(f64::abs).filter(|it| *it > 0.0).fold(f64::INFINITY, f64::min);
    let fixed = match row.unit {
        Unit::Percent => TENTH,
        Unit::Bytes => MEBIBYTE,
        _ if most > 0.0 && least.is_finite() => {
            let decade = |value: f64, digits: i32| value.log10().floor() as i32 + 1 - digits;
            10f64.powi(decade(most, DIGITS.0).min(decade(least, DIGITS.1)))
        }
        _ => 1.0,
    };
    fixed.max(most / MOST_STEPS)
}

fn at(px: f64, factor: f64) -> i64 {
    (px * factor).round() as i64
}

fn ms(from: Timestamp, span: TimeSpan) -> Value {
    json!([after(from, span.from()), after(from, span.until())])
}

fn after(from: Timestamp, at: Timestamp) -> Value {
    tidy(at.micros_since(from) as f64 / 1e3)
}

/// The number, to the microsecond, without a point where it is whole.
fn tidy(milliseconds: f64) -> Value {
    let micros = (1e3 * milliseconds).round();
    if micros % 1e3 == 0.0 { json!((micros / 1e3) as i64) } else { json!(micros / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(second: i64, low: f64, mean: f64, high: f64) -> TimelineBin {
        TimelineBin { at: Timestamp::from_micros(second * 1_000_000), low, mean, high }
    }

    fn one(reading: Reading, bins: Vec<TimelineBin>) -> ChartSeries {
        ChartSeries { name: String::new(), hue: "ink", reading, bin_s: 1.0, bins }
    }

    #[test]
    fn a_bin_keeps_its_least_and_greatest_value_and_a_gap_stays_a_gap() {
        let bins = vec![bin(5, 1.0, 2.0, 4.0), bin(6, 0.5, 1.5, 1.5), bin(9, 3.0, 3.0, 3.0)];
        let start = Timestamp::from_micros(5_000_000);
        let told = runs(&one(Reading::Range, bins), start, 0.5);
        assert_eq!(told, [vec![0, 4, 2, 4, -1, 2, 0], vec![4, 6, 0, 0]]);
    }

    #[test]
    fn a_value_that_is_not_there_is_never_told_as_a_number() {
        let bins =
            vec![bin(0, 1.0, 1.0, 1.0), bin(1, f64::NAN, f64::NAN, 0.0), bin(2, 2.0, 2.0, 2.0)];
        let told = runs(&one(Reading::Value, bins), Timestamp::from_micros(0), 1.0);
        assert_eq!(told, [vec![0, 1], vec![2, 2]]);
    }

    #[test]
    fn small_and_large_values_of_one_row_both_keep_three_digits() {
        let series = one(Reading::Value, vec![bin(0, 0.004, 0.004, 0.004), bin(1, 9.0, 9.0, 9.0)]);
        let row = ChartRow {
            name: String::new(),
            ends: (0.0, 1.0),
            values: (0.001, 10.0),
            is_logarithmic: true,
            unit: Unit::Seconds,
            series: vec![series],
            shades: Vec::new(),
        };
        assert!((step(&row) / 1e-5 - 1.0).abs() < 1e-9, "{}", step(&row));
    }
}
