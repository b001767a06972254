//! The shape of each load in numbers: level and rhythm, bursts and gaps, variation at every scale.

use crate::analysis::findings::{BurstProfile, Lengths, ResolutionVerdict, SubjectFindings};
use crate::domain::metric::Metric;
use crate::domain::units::Seconds;
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Column, Table};
use crate::report::cells::{
    count, missing, number_or, numbers, percent, percent_or, seconds_or, words,
};
use crate::report::figure::{CvCurve, Figure, HistogramPanel};
use crate::report::sections::shape::{Shaped, shaped};
use crate::report::sections::{Section, device_heading, gathered, title};
use crate::report::view::{
    DeviceView, UNFOLDED_DEVICES, estimated_burst, has_shape, places, profile, why_no_bursts,
    why_no_profile,
};
use crate::report::wording::{clean, count as in_words, list, name};
use std::collections::BTreeSet;

/// So many subjects are drawn as curves and as histograms.
const MOST_CURVES: usize = 6;
const MOST_HISTOGRAMS: usize = 3;
/// So many loads without a shape are named.
const MOST_NAMED: usize = 5;

/// Shapes in numbers.
pub(super) struct ShapeNumbers;

impl Section for ShapeNumbers {
    fn id(&self) -> &'static str {
        "shape-numbers"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = places(input);
        let told = devices.iter().filter_map(|device| {
            let mut mine = of_device(device);
            if mine.is_empty() {
                return None;
            }
            mine.insert(0, device_heading(self, &device.slug, &device.name));
            Some((format!("{}: shape in numbers", device.name), mine))
        });
        let parts: Vec<(String, Vec<Block>)> = told.collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Level, rhythm, bursts and gaps of every load")];
        blocks.extend(gathered(parts, UNFOLDED_DEVICES));
        blocks
    }
}

fn of_device(device: &DeviceView<'_>) -> Vec<Block> {
    let shaped = shaped(device);
    if shaped.is_empty() {
        return Vec::new();
    }
    let mut blocks: Vec<Block> = demand_cv(device, &shaped).into_iter().collect();
    blocks.extend(histogram(device, &shaped));
    blocks.push(Block::Table(levels(device, &shaped)));
    blocks.extend(lengths(device, &shaped).map(Block::Table));
    blocks.extend(left_out(device).map(Block::Text));
    blocks
}

/// Who is left out of the tables, for they would be rows of dashes; `None` when nobody is.
fn left_out(device: &DeviceView<'_>) -> Option<String> {
    let absent = device.everyone().filter(|it| !has_shape(it));
    let mut names: Vec<String> = absent.map(|it| name(&it.label)).collect();
    let number = names.len();
    if number > MOST_NAMED {
        names.truncate(MOST_NAMED);
        names.push(format!("{} more", number - MOST_NAMED));
    }
    (number > 0).then(|| {
        format!(
            "{} left out, with neither activity nor memory recorded: {}.",
            in_words(number, "load is", "loads are"),
            list(&names)
        )
    })
}

fn demand_cv(device: &DeviceView<'_>, shaped: &[Shaped<'_>]) -> Option<Block> {
    let curves: Vec<CvCurve> = shaped
        .iter()
        .filter(|it| it.1.demand_cv.len() > 1)
        .take(MOST_CURVES)
        .map(|(subject, profile, colour)| CvCurve {
            name: clean(&subject.label),
            colour: *colour,
            points: profile.demand_cv.clone(),
        })
        .collect();
    let first = |it: &CvCurve| it.points.first().copied();
    let wildest = curves.iter().max_by(|a, b| {
        let height = |it: &CvCurve| first(it).map_or(0.0, |it| it.value);
        height(a).total_cmp(&height(b))
    })?;
    let (start, end) = (first(wildest)?, wildest.points.last()?);
    let see = if start.value < 0.4 {
        "All curves lie low: demand hardly varies at any scale shown here.".to_owned()
    } else {
        format!(
            "{} varies by {:.2} times its mean within {}, and by {:.2} within {}.",
            name(&wildest.name),
            start.value,
            Seconds(start.scale_s),
            end.value,
            Seconds(end.scale_s)
        )
    };
    Some(Block::Figure {
        id: format!("demand-cv-{}", device.slug),
        caption: see.clone(),
        key: "The longer a curve stays high, the longer the bursts and the wait.".to_owned(),
        alt: format!("Variation of demand over averaging windows on {}. {see}", device.name),
        figure: Figure::DemandCv(curves),
    })
}

fn histogram(device: &DeviceView<'_>, shaped: &[Shaped<'_>]) -> Option<Block> {
    let panels: Vec<HistogramPanel> = shaped
        .iter()
        .filter_map(|(subject, profile, colour)| {
            let bursts = profile.bursts.as_ref()?;
            bursts.histogram.iter().any(|it| it.count > 0).then(|| HistogramPanel {
                name: clean(&subject.label),
                colour: *colour,
                bins: bursts.histogram.clone(),
                p50_s: bursts.burst_lengths.p50_s,
                window_s: profile.window_s,
            })
        })
        .take(MOST_HISTOGRAMS)
        .collect();
    let first = panels.first()?;
    let see = match first.p50_s {
        Some(median) => {
            format!("Half of the bursts of {} last {} or less.", name(&first.name), Seconds(median))
        }
        None => format!("All bursts of {} are cut off by the recording's ends.", name(&first.name)),
    };
    let window = Seconds(first.window_s);
    Some(Block::Figure {
        id: format!("burst-lengths-{}", device.slug),
        caption: see.clone(),
        key: format!("Grey: shorter than one sample of {window}, which cannot be seen."),
        alt: format!("Histogram of burst lengths on {}. {see}", device.name),
        figure: Figure::BurstHistogram(panels),
    })
}

fn levels(device: &DeviceView<'_>, shaped: &[Shaped<'_>]) -> Table {
    // What is the same in every row is said once, above the table.
    let metrics: BTreeSet<Metric> = shaped.iter().map(|it| it.1.metric).collect();
    let (by, is_mixed) = match metrics.first() {
        Some(only) if metrics.len() == 1 => (format!(", by {}", only.spec().label), false),
        _ => (String::new(), true),
    };
    let mut columns = vec![
        words("Load"),
        numbers("Mean"),
        numbers("≥\u{a0}5\u{a0}%"),
        numbers("≥\u{a0}50\u{a0}%"),
        numbers("≥\u{a0}95\u{a0}%"),
        numbers("Peak to mean"),
        numbers("Demand CV"),
        numbers("Blur index"),
        numbers("Period"),
        numbers("Regimes"),
    ];
    if is_mixed {
        columns.push(words("Measured by"));
    }
    Table {
        caption: format!("Level and rhythm of each load on {}{by}", device.name),
        rows: device
            .everyone()
            .filter(|it| has_shape(it))
            .map(|it| level_row(it, columns.len()))
            .collect(),
        columns,
    }
}

fn level_row(subject: &SubjectFindings, columns: usize) -> Vec<Cell> {
    let mut row = vec![Cell::Name(clean(&subject.label))];
    match profile(subject) {
        None => row.extend((1..columns).map(|_| missing(why_no_profile(subject.whole())))),
        Some(it) => {
            let variation = it.demand_cv.first().map(|it| it.value);
            let why = Absent::of(it);
            row.extend([
                percent(it.mean_ratio),
                percent(it.duty.at_5_pct),
                percent(it.duty.at_50_pct),
                percent(it.duty.at_95_pct),
                number_or(it.peak_to_mean, 1, why.peak),
                number_or(variation, 2, why.variation),
                number_or(it.blur_index, 2, why.blur),
                seconds_or(it.period.map(|it| it.period_s), why.rhythm),
                count(it.regimes.len() as u64),
                Cell::Text(it.metric.spec().label.to_owned()),
            ]);
            row.truncate(columns);
        }
    }
    row
}

/// Why numbers about a load are absent, as far as they are.
struct Absent {
    peak: &'static str,
    variation: &'static str,
    blur: &'static str,
    rhythm: &'static str,
}

impl Absent {
    fn of(profile: &BurstProfile) -> Self {
        if profile.resolution.verdict == ResolutionVerdict::TooFewSamples {
            let few = "too few samples";
            return Self { peak: few, variation: few, blur: few, rhythm: few };
        }
        let is_zero = profile.mean_ratio == 0.0;
        let zero_or = |other| if is_zero { "the mean is zero" } else { other };
        Self {
            peak: zero_or("bursts shorter than the window hide the peak"),
            variation: zero_or("too few samples for a variation"),
            blur: "no blur index for a trace that hardly moves",
            rhythm: "no rhythm stands out",
        }
    }
}

/// Bursts and gaps; `None` when nobody has any.
fn lengths(device: &DeviceView<'_>, shaped: &[Shaped<'_>]) -> Option<Table> {
    let has_lengths = |it: &BurstProfile| it.bursts.is_some() || estimated_burst(it).is_some();
    shaped.iter().any(|it| has_lengths(it.1)).then(|| Table {
        caption: format!("Bursts and gaps on {}", device.name),
        columns: length_columns(),
        rows: device.everyone().filter(|it| has_shape(it)).map(length_row).collect(),
    })
}

fn length_columns() -> Vec<Column> {
    vec![
        words("Load"),
        numbers("Bursts"),
        numbers("Median"),
        numbers("90th pct"),
        numbers("Longest"),
        numbers("Gap median"),
        numbers("Gap longest"),
        numbers("Height"),
        words("Lengths are"),
    ]
}

fn length_row(subject: &SubjectFindings) -> Vec<Cell> {
    let profile = profile(subject);
    let bursts = profile.and_then(|it| it.bursts.as_ref());
    let reason = why_no_bursts(subject.whole());
    let cut_off =
        if bursts.is_some() { "all are cut off by the recording's ends" } else { &reason };
    let burst = |of: fn(&Lengths) -> Option<f64>| bursts.and_then(|it| of(&it.burst_lengths));
    let gap = |of: fn(&Lengths) -> Option<f64>| bursts.and_then(|it| of(&it.gap_lengths));
    let estimate = profile.and_then(estimated_burst);
    vec![
        Cell::Name(clean(&subject.label)),
        bursts.map_or_else(|| missing(&reason), |it| count(it.burst_lengths.count)),
        match estimate {
            Some(it) => {
                Cell::Measure { text: format!("≈ {}", Seconds(it.about_s)), value: it.about_s }
            }
            None => seconds_or(burst(|it| it.p50_s), cut_off),
        },
        seconds_or(burst(|it| it.p90_s), cut_off),
        seconds_or(burst(|it| it.max_s), cut_off),
        seconds_or(gap(|it| it.p50_s), cut_off),
        seconds_or(gap(|it| it.max_s), cut_off),
        percent_or(bursts.map(|it| it.height_p50_ratio), &reason),
        match profile {
            Some(it) => Cell::Text(reading(it.resolution.verdict).to_owned()),
            None => missing(why_no_profile(subject.whole())),
        },
    ]
}

/// How lengths are to be taken, in a few words.
fn reading(verdict: ResolutionVerdict) -> &'static str {
    match verdict {
        ResolutionVerdict::Constant => "constant load",
        ResolutionVerdict::Resolved => "as measured",
        ResolutionVerdict::PartlyResolved => "upper limits",
        ResolutionVerdict::ShorterThanWindow => "estimated",
        ResolutionVerdict::SteadyAtThisScale => "steady load",
        ResolutionVerdict::Sparse => "unknown: sparse samples",
        ResolutionVerdict::TooFewSamples => "unknown: few samples",
    }
}
