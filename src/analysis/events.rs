//! What happened when on one subject, with its stamps: bursts, holes, held-back clocks and Xids.
//!
//! Findings sum up; a timeline shows each event where it lies. Bursts are exactly those that the
//! finding counted.

use crate::analysis::activity::Activity;
use crate::analysis::bursts::runs;
use crate::analysis::findings::SubjectFindings;
use crate::analysis::idle::filled;
use crate::analysis::influence::conditions::{HARDWARE_BITS, HEAT_BITS, POWER_CAP_BITS};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use std::ops::Range;

/// A step longer than this many typical ones is a hole, as for [`Activity`].
const HOLE_STEPS: f64 = 2.5;

/// Why a clock was held back: the bits of the mask and their words.
const LIMITS: [(u64, &str); 3] =
    [(POWER_CAP_BITS, "power cap"), (HEAT_BITS, "heat"), (HARDWARE_BITS, "hardware slowdown")];

/// Everything that has a stamp on one subject, each list in time order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubjectEvents {
    /// Bursts of activity; empty where the sampling does not resolve them.
    pub bursts: Vec<BurstEvent>,
    /// Stretches in which nothing was sampled.
    pub holes: Vec<TimeSpan>,
    /// Stretches in which the clock was held back.
    pub limits: Vec<LimitEvent>,
    /// Xid errors that came up.
    pub xids: Vec<XidEvent>,
}

/// One burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstEvent {
    /// From the start of the first window in it to the stamp of the last.
    pub span: TimeSpan,
    /// Length as it was counted: samples in it times the typical interval, in seconds.
    pub length_s: f64,
    /// 95th percentile of the activity inside, 0 to 1.
    pub height_ratio: f64,
    /// Busy time inside, in seconds.
    pub busy_s: f64,
    /// Whether a hole or an end of the recording cut it off, so that it may have been longer.
    pub is_cut_off: bool,
    /// Number of the stretch without a hole that it lies in.
    pub segment: usize,
}

/// A stretch in which the clock was held back for the same reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitEvent {
    /// When.
    pub span: TimeSpan,
    /// Why, in words: `power cap`, `heat`, `hardware slowdown`.
    pub reasons: Vec<&'static str>,
}

/// An Xid error that came up between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XidEvent {
    /// Stamp of the first sample that shows it.
    pub at: Timestamp,
    /// Its number.
    pub code: u32,
}

/// The events of a subject in the part of the recording that the finding is about.
///
/// Bursts are left out where the finding has none, and where somebody else counted them
/// ([`crate::domain::shape`]): then nobody knows when each was.
pub fn events(found: &SubjectFindings, part: &Recording) -> SubjectEvents {
    let Some(trace) = part.traces.get(&found.subject) else { return SubjectEvents::default() };
    let filled = filled(&found.subject, trace, part);
    let trace = filled.as_ref().map_or(trace, |it| &it.trace);
    let activity = Activity::of(trace, &part.outline.sources);
    SubjectEvents {
        bursts: activity.as_ref().map(|it| bursts(it, found, part)).unwrap_or_default(),
        holes: holes(activity.as_ref(), trace),
        limits: trace.get(Metric::ThrottleReasons).map(limits).unwrap_or_default(),
        xids: trace.get(Metric::Xid).map(xids).unwrap_or_default(),
    }
}

fn bursts(activity: &Activity<'_>, found: &SubjectFindings, part: &Recording) -> Vec<BurstEvent> {
    let is_counted_elsewhere = |it: &Subject| part.outline.shapes.iter().any(|s| s.subject == *it);
    let profile = found.whole().and_then(|it| it.profile.as_ref());
    let Some(profile) = profile.filter(|it| it.bursts.is_some()) else { return Vec::new() };
    if is_counted_elsewhere(&found.subject) {
        return Vec::new();
    }
    let segments = activity.segments(&[profile.span]);
    let all = activity.joined(&segments);
    let Some((_, runs)) = runs(activity, &segments, &all) else { return Vec::new() };
    let stride_us = (activity.stride_s * 1e6).round() as i64;
    let event = |it: &crate::stats::bursts::Burst| {
        let segment: &Range<usize> = segments.get(it.segment)?;
        let (first, last) = (segment.start + it.first, segment.start + it.end - 1);
        let before = activity.at(first).plus_micros(-stride_us.max(1));
        // The window of the first sample does not reach behind the sample before it.
        let from = if it.first > 0 { before.max(activity.at(first - 1)) } else { before };
        Some(BurstEvent {
            span: TimeSpan::new(from, activity.at(last))?,
            length_s: (it.end - it.first) as f64 * activity.stride_s,
            height_ratio: it.height,
            busy_s: it.mass * activity.stride_s,
            is_cut_off: it.censored,
            segment: it.segment,
        })
    };
    runs.bursts.iter().filter_map(event).collect()
}

/// Stretches without samples of the activity, or else of the metric that was seen most often.
fn holes(activity: Option<&Activity<'_>>, trace: &Trace) -> Vec<TimeSpan> {
    let most = || trace.series.values().max_by_key(|it| it.len());
    let Some(series) = activity.map(|it| it.series).or_else(most) else { return Vec::new() };
    let Some(step_us) = step_us(series) else { return Vec::new() };
    let pairs = series.times().windows(2);
    let long = pairs.filter(|it| is_hole(it[1].micros_since(it[0]), step_us));
    long.filter_map(|it| TimeSpan::new(it[0], it[1].plus_micros(-step_us))).collect()
}

fn step_us(series: &Series) -> Option<i64> {
    let step = series.typical_interval().map(SampleInterval::as_micros)?;
    i64::try_from(step).ok()
}

fn is_hole(step_us: i64, typical_us: i64) -> bool {
    step_us as f64 > HOLE_STEPS * typical_us as f64
}

/// Runs of samples with the same limiting reasons; each lasts until the sample after it.
fn limits(series: &Series) -> Vec<LimitEvent> {
    let Some(typical_us) = step_us(series) else { return Vec::new() };
    let all = LIMITS.iter().fold(0, |mask, it| mask | it.0);
    let mut events: Vec<LimitEvent> = Vec::new();
    let mut open: Option<(u64, Timestamp)> = None;
    let close = |(mask, from): (u64, Timestamp), until, events: &mut Vec<LimitEvent>| {
        let reasons = LIMITS.iter().filter(|it| it.0 & mask != 0).map(|it| it.1).collect();
        let span = TimeSpan::new(from, until);
        events.extend(span.map(|span| LimitEvent { span, reasons }));
    };
    let mut last: Option<Timestamp> = None;
    for (position, at) in series.times().iter().enumerate() {
        if let Some(before) = last.filter(|it| is_hole(at.micros_since(*it), typical_us)) {
            let until = before.plus_micros(typical_us);
            open.take().into_iter().for_each(|it| close(it, until, &mut events));
        }
        let mask = series.value(position) as u64 & all;
        if open.is_some_and(|it| it.0 != mask) {
            open.take().into_iter().for_each(|it| close(it, *at, &mut events));
        }
        if mask != 0 && open.is_none() {
            open = Some((mask, *at));
        }
        last = Some(*at);
    }
    if let (Some(it), Some(last)) = (open, last) {
        close(it, last.plus_micros(typical_us), &mut events);
    }
    events
}

/// Changes to a code; the first sample may show an old one, and a value that stays is no new error.
fn xids(series: &Series) -> Vec<XidEvent> {
    let code = |position: usize| series.value(position);
    (1..series.len())
        .filter(|it| code(it - 1) != code(*it) && code(*it) > 0.0)
        .map(|it| XidEvent { at: series.times()[it], code: code(it) as u32 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Question, compute};
    use crate::domain::collector::Collector;
    use crate::domain::ident::GpuId;
    use crate::domain::sink::Sink;
    use crate::domain::source::SourceId;
    use proptest::prelude::*;

    const GPU: u32 = 0;

    fn subject() -> Subject {
        Subject::device(&GpuId::from_index(GPU))
    }

    fn recorded(rows: impl IntoIterator<Item = (i64, Metric, f64)>) -> Recording {
        let mut sink = Collector::new();
        for (at_ms, metric, value) in rows {
            let at = Timestamp::from_micros(at_ms * 1000);
            sink.row(at, &subject(), SourceId(0), &[(metric, value)]).unwrap();
        }
        sink.into_recording()
    }

    fn found(part: &Recording) -> (SubjectFindings, SubjectEvents) {
        let load = |_: Option<&GpuId>| Ok::<_, ()>(part.clone());
        let findings = compute(&part.outline, &Question::default(), load).unwrap();
        let found = findings.devices[0].subjects[0].clone();
        let events = events(&found, part);
        (found, events)
    }

    #[test]
    fn the_clock_is_held_back_until_the_sample_that_says_otherwise_and_not_across_a_hole() {
        let masks = [(0, 0x0), (1, 0x4), (2, 0x4 | 0x1), (3, 0x1), (4, 0x20 | 0x8), (60, 0x80)];
        let rows = masks.map(|(at, it)| (at * 1000, Metric::ThrottleReasons, f64::from(it)));
        let events = found(&recorded(rows)).1;
        let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
        let seen: Vec<_> = events
            .limits
            .iter()
            .map(|it| (it.span.from(), it.span.until(), it.reasons.join("+")))
            .collect();
        assert_eq!(
            seen,
            [
                (at(1), at(3), "power cap".to_owned()),
                (at(4), at(5), "heat+hardware slowdown".to_owned()),
                (at(60), at(61), "hardware slowdown".to_owned()),
            ]
        );
        assert_eq!(events.holes, [TimeSpan::new(at(4), at(59)).unwrap()]);
    }

    #[test]
    fn an_xid_that_stays_is_one_and_the_one_that_was_there_before_is_none() {
        let codes = [13.0, 13.0, 31.0, 31.0, 0.0, 31.0];
        let rows = (0..).zip(codes).map(|(second, it)| (second * 1000, Metric::Xid, it));
        let xids: Vec<_> = found(&recorded(rows)).1.xids;
        let seen: Vec<_> = xids.iter().map(|it| (it.at.as_micros() / 1_000_000, it.code)).collect();
        assert_eq!(seen, [(2, 31), (5, 31)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn events_are_the_bursts_that_the_finding_counted_and_do_not_overlap(
            lengths in prop::collection::vec((4_u32..30, 4_u32..30, 40.0_f64..100.0), 4..20),
            hole in 0_usize..200,
        ) {
            let mut values = Vec::new();
            for (on, off, height) in lengths {
                values.extend(std::iter::repeat_n(0.0, off as usize));
                values.extend(std::iter::repeat_n(height.round(), on as usize));
            }
            let stamp = |it: usize| it as i64 * 1000 + if it > hole { 20_000 } else { 0 };
            let rows = values.iter().enumerate().map(|(it, value)| (stamp(it), Metric::GpuUtilization, *value));
            let (found, events) = found(&recorded(rows));
            let profile = found.whole().and_then(|it| it.profile.clone()).unwrap();
            let Some(bursts) = profile.bursts else {
                prop_assert!(events.bursts.is_empty());
                return Ok(());
            };
            prop_assert_eq!(events.bursts.len() as u64, bursts.burst_lengths.count);
            let inside: f64 = events.bursts.iter().map(|it| it.length_s).sum();
            let counted = bursts.on_ratio_of_time * profile.samples as f64 * profile.stride_s;
            prop_assert!((inside - counted).abs() < 1e-6 * counted, "{} {}", inside, counted);
            for it in &events.bursts {
                prop_assert!((it.span.seconds() - it.length_s).abs() < 1e-6, "{:?}", it);
            }
            let mut all: Vec<TimeSpan> = events.bursts.iter().map(|it| it.span).chain(events.holes).collect();
            all.sort();
            prop_assert!(all.windows(2).all(|it| it[0].until() <= it[1].from()), "{:?}", all);
        }
    }
}
