//! What each device and what lives on it did over time, on one time axis.

use crate::analysis::findings::{SubjectFindings, Timeline, TimelineBin};
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::domain::units::{MemoryBytes, Seconds};
use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::figure::{Axis, Figure, RowSeries, SeriesColour, TimelineFigure, TimelineRow};
use crate::report::sections::{Section, device_heading, gathered, title};
use crate::report::view::{
    DeviceView, UNFOLDED_DEVICES, activity_metric, level, percent_factor, places, profile,
};
use crate::report::wording::{clean, count, is_instant, percent, span};

/// So many residents get a row, and so many a line in the row of memory.
const MOST_RESIDENTS: usize = 5;
/// So many phases are drawn, the longest ones.
const MOST_PHASES: usize = 24;

/// Timelines.
pub(super) struct Timelines;

impl Section for Timelines {
    fn id(&self) -> &'static str {
        "timeline"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = places(input);
        if devices.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "What happened when")];
        let parts = devices.iter().map(|device| {
            let heading = device_heading(self, &device.slug, &device.name);
            (format!("{}: timeline", device.name), vec![heading, picture(input, device)])
        });
        blocks.extend(gathered(parts.collect(), UNFOLDED_DEVICES));
        blocks
    }
}

fn picture(input: &ReportInput<'_>, device: &DeviceView<'_>) -> Block {
    let shown: Vec<(usize, &SubjectFindings)> = device
        .residents
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, it)| activity(it).is_some())
        .take(MOST_RESIDENTS)
        .collect();
    let mut rows: Vec<TimelineRow> = device.own.and_then(own_row).into_iter().collect();
    let own_metric = device.own.and_then(activity_metric);
    rows.extend(shown.iter().filter_map(|(rank, it)| resident_row(it, *rank, own_metric)));
    rows.extend(memory_row(device));
    let Some(whole) = hull(&rows) else {
        let name = &device.name;
        return Block::Text(format!(
            "Neither activity nor memory of {name} was recorded over time."
        ));
    };
    let all = device.residents.iter().filter(|it| activity(it).is_some()).count();
    let figure = TimelineFigure { span: whole, rows, phases: phases(input, device, whole) };
    Block::Figure {
        id: format!("timeline-{}", device.slug),
        caption: caption(device, all - shown.len()),
        key: key(&figure),
        alt: format!(
            "Timeline of {} with {}, {}. {}",
            device.name,
            loads_drawn(shown.len()),
            span(whole),
            what_to_see(device)
        ),
        figure: Figure::Timeline(figure),
    }
}

/// How many loads are drawn, for those who cannot see the picture.
fn loads_drawn(number: usize) -> String {
    match number {
        0 => "no load on it".to_owned(),
        some => count(some, "load on it", "loads on it"),
    }
}

/// The metric that stands for the activity of a subject, and its picture.
fn activity(subject: &SubjectFindings) -> Option<(Metric, &Timeline)> {
    let metric = activity_metric(subject)?;
    let timeline = subject.timeline(metric)?;
    (!timeline.bins.is_empty()).then_some((metric, timeline))
}

pub(super) fn own_row(subject: &SubjectFindings) -> Option<TimelineRow> {
    let (metric, timeline) = activity(subject)?;
    let own = percent_series(metric, timeline, SeriesColour::Device, true);
    let mut series = vec![RowSeries { mean: mean_of(subject, metric), ..own }];
    let other = if metric == Metric::SmActive { Metric::GpuUtilization } else { Metric::SmActive };
    if let Some(second) = subject.timeline(other).filter(|it| !it.bins.is_empty()) {
        series.push(percent_series(other, second, SeriesColour::DeviceSecond, false));
    }
    Some(percent_row(clean(&subject.label), series))
}

fn resident_row(
    subject: &SubjectFindings,
    rank: usize,
    own_metric: Option<Metric>,
) -> Option<TimelineRow> {
    let (metric, timeline) = activity(subject)?;
    let mut series = percent_series(metric, timeline, SeriesColour::Resident(rank), true);
    series.mean = mean_of(subject, metric);
    if own_metric == Some(metric) {
        series.name.clear();
    }
    Some(percent_row(clean(&subject.label), vec![series]))
}

/// Mean activity from the first sign to the last in percent: idle time counts, which a process is not listed in.
fn mean_of(subject: &SubjectFindings, metric: Metric) -> Option<f64> {
    profile(subject).filter(|it| it.metric == metric).map(|it| 100.0 * it.mean_ratio)
}

fn percent_row(name: String, series: Vec<RowSeries>) -> TimelineRow {
    TimelineRow { name, axis: Axis::Percent, top: 100.0, limit: None, series }
}

fn percent_series(
    metric: Metric,
    timeline: &Timeline,
    colour: SeriesColour,
    shows_range: bool,
) -> RowSeries {
    let factor = percent_factor(metric);
    let scaled = |it: &TimelineBin| TimelineBin {
        at: it.at,
        low: it.low * factor,
        mean: it.mean * factor,
        high: it.high * factor,
    };
    RowSeries {
        mean: None,
        name: metric.spec().label.to_owned(),
        colour,
        shows_range,
        bin_s: timeline.bin_s,
        bins: timeline.bins.iter().map(scaled).collect(),
    }
}

/// Memory in use by the device and by those residents that use most of it.
fn memory_row(device: &DeviceView<'_>) -> Option<TimelineRow> {
    let picture = |subject: &SubjectFindings, name: String, colour: SeriesColour| {
        let timeline = subject.timeline(Metric::FramebufferUsed)?;
        let bins = timeline.bins.clone();
        (!bins.is_empty()).then_some(RowSeries {
            mean: None,
            name,
            colour,
            shows_range: false,
            bin_s: timeline.bin_s,
            bins,
        })
    };
    let own = device.own.and_then(|it| picture(it, "GPU".to_owned(), SeriesColour::Device));
    let residents = device
        .residents
        .iter()
        .enumerate()
        .filter_map(|(rank, it)| picture(it, clean(&it.label), SeriesColour::Resident(rank)));
    let mut residents: Vec<RowSeries> = residents.collect();
    residents.sort_by(|a, b| peak(b).total_cmp(&peak(a)));
    residents.truncate(MOST_RESIDENTS);
    let name = match (&own, residents.as_slice()) {
        (Some(_), _) => "Memory".to_owned(),
        (None, [only]) => format!("Memory of {}", only.name),
        (None, _) => "Memory of loads".to_owned(),
    };
    let series: Vec<RowSeries> = own.into_iter().chain(residents).collect();
    let highest = series.iter().map(peak).reduce(f64::max)?;
    let total = device.own.and_then(|it| level(it, Metric::FramebufferTotal)).map(|it| it.max);
    let limit = total.and_then(|it| Some((it, format!("{} in all", MemoryBytes::from_f64(it)?))));
    let top = limit.as_ref().map_or(highest, |it| it.0.max(highest)) * 1.06;
    Some(TimelineRow { name, axis: Axis::Bytes, top, limit, series })
}

fn peak(series: &RowSeries) -> f64 {
    series.bins.iter().map(|it| it.high).fold(0.0, f64::max)
}

/// From the first to the last bin of all rows.
fn hull(rows: &[TimelineRow]) -> Option<TimeSpan> {
    let series = rows.iter().flat_map(|it| it.series.iter());
    let spans = series.filter_map(|it| {
        let last = it.bins.last()?.at.plus_micros((it.bin_s.max(0.0) * 1e6) as i64);
        Some(TimeSpan::covering(it.bins.first()?.at, last))
    });
    spans.reduce(TimeSpan::hull)
}

/// The longest phases of the device, by start.
fn phases(
    input: &ReportInput<'_>,
    device: &DeviceView<'_>,
    whole: TimeSpan,
) -> Vec<(String, TimeSpan)> {
    let gpu = device.own.and_then(|it| it.subject.gpu());
    let mut phases: Vec<(String, TimeSpan)> = input
        .outline
        .phases
        .iter()
        .filter(|it| it.gpu.is_none() || it.gpu.as_ref() == gpu)
        .filter_map(|it| Some((clean(&it.label), it.span.overlap(whole)?)))
        .collect();
    phases.sort_by(|a, b| b.1.seconds().total_cmp(&a.1.seconds()));
    phases.truncate(MOST_PHASES);
    phases.sort_by_key(|it| it.1);
    phases
}

/// What the device's own trace shows, in one sentence with its numbers.
fn what_to_see(device: &DeviceView<'_>) -> String {
    let name = &device.name;
    let Some(profile) = device.own.and_then(profile) else {
        return without_shape(device);
    };
    let (mean, full) = (percent(profile.mean_ratio), percent(profile.duty.at_95_pct));
    let variation = profile.demand_cv.first().map(|it| it.value);
    if profile.duty.at_95_pct >= 0.02 {
        format!("{name} is at 95 % or more for {full} of the time, at a mean of {mean}.")
    } else if variation.is_some_and(|it| it < 0.4) {
        let rest = if device.leaves_room() {
            "and leaves room at any moment".to_owned()
        } else {
            format!("and is at 95 % or more for {full} of the time")
        };
        format!("{name} stays close to its mean of {mean} {rest}.")
    } else {
        let used = percent(profile.duty.at_5_pct);
        format!("{name} is in use for {used} of the time, at a mean of {mean}; full for {full}.")
    }
}

/// Words about a device whose activity has no shape: a single sample, or nothing at all.
fn without_shape(device: &DeviceView<'_>) -> String {
    let value = device.own.and_then(|it| {
        let metric = activity_metric(it)?;
        let level = level(it, metric).filter(|it| it.samples == 1)?;
        Some(percent(level.mean * percent_factor(metric) / 100.0))
    });
    match value {
        Some(value) => format!("{} has one sample of activity only: {value}.", device.name),
        None => "The GPU itself has no reading of activity here.".to_owned(),
    }
}

fn caption(device: &DeviceView<'_>, left_out: usize) -> String {
    let see = what_to_see(device);
    if left_out == 0 {
        return see;
    }
    format!(
        "{see} The {MOST_RESIDENTS} most active loads are drawn, {left_out} more are in the tables."
    )
}

fn key(figure: &TimelineFigure) -> String {
    let ranged = figure.rows.iter().flat_map(|it| it.series.iter()).find(|it| it.shows_range);
    let ranged = ranged.filter(|it| !is_instant(it.bin_s));
    ranged.map_or_else(String::new, |series| {
        format!(
            "Line: mean. Darker shade: from the least to the greatest sample within {}. No line: no \
             samples.",
            Seconds(series.bin_s)
        )
    })
}
