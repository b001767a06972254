//! A recording and its findings as a timeline for Perfetto and `chrome://tracing`.
//!
//! One process for each GPU, one track for each subject on it with its bursts as spans, further
//! tracks for findings, and a counter for each metric. Written GPU by GPU, so that no more than one
//! is in memory; the same input gives the same bytes.

mod counters;
mod json;
mod lanes;
mod marks;

use crate::analysis::events::{SubjectEvents, events};
use crate::analysis::findings::{DeviceFindings, Findings, Resolution, SubjectFindings};
use crate::analysis::influence::findings::InfluenceFindings;
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::{Metric, Precision};
use crate::domain::outline::Outline;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::time::TimeSpan;
use crate::recommender::suitability::Suitability;
use crate::report::render::trace::json::{Events, Mark};
use crate::report::render::trace::lanes::{lanes, sort};
use crate::report::render::trace::marks::Clock;
use crate::report::wording::{clean, count, shorten};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Longest name of a track, in characters.
const LONGEST_TRACK: usize = 120;
/// Process of what is about the whole recording; GPUs follow it.
const RECORDING: u32 = 1;
/// First number of tracks that are not the first of their process.
const FIRST_TRACK: u32 = 10_000;

/// Everything that a timeline is made from, besides the samples.
#[derive(Debug, Clone, Copy)]
pub struct TraceInput<'a> {
    /// What the recording holds.
    pub outline: &'a Outline,
    /// What the analyses found in the part that is shown.
    pub findings: &'a Findings,
    /// The words on it.
    pub suitability: &'a [Suitability],
    /// The part of the time that is shown; stamps count from its start.
    pub shown: TimeSpan,
    /// Values of one counter and bursts of one track at most; `None` keeps all.
    pub most: Option<usize>,
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceCount {
    /// Samples of the metrics that are drawn.
    pub samples: u64,
    /// Values of counters that were written for them.
    pub values: u64,
    /// Counters of which some values were left out that a step line shows.
    pub thinned: u64,
}

/// A timeline under way.
#[derive(Debug)]
pub struct TraceWriter<'a, W> {
    input: TraceInput<'a>,
    clock: Clock,
    events: Events<W>,
    next_track: u32,
    written: TraceCount,
}

impl<'a, W: Write> TraceWriter<'a, W> {
    /// Begins a timeline with what is about the whole recording.
    ///
    /// Errors: those of `out`.
    pub fn begin(out: W, input: TraceInput<'a>) -> io::Result<Self> {
        let clock = Clock { origin: input.shown.from(), shown: input.shown };
        let events = Events::begin(out, &head(&input))?;
        let written = TraceCount::default();
        let mut writer = Self { input, clock, events, next_track: FIRST_TRACK, written };
        writer.recording()?;
        Ok(writer)
    }

    /// The GPUs of a timeline in their order, then those whose GPU is not known.
    pub fn parts(input: &TraceInput<'a>) -> Vec<Option<&'a GpuId>> {
        let unplaced = (!input.findings.unplaced.is_empty()).then_some(None);
        input.findings.devices.iter().map(|it| Some(&it.gpu)).chain(unplaced).collect()
    }

    fn recording(&mut self) -> io::Result<()> {
        let Self { clock, input, .. } = *self;
        self.events.process(RECORDING, "Recording")?;
        let is_about_all = |it: &&BlindSpot| it.subject.as_ref().and_then(Subject::gpu).is_none();
        let spots =
            marks::blind_spots(clock, input.outline, blind_spots(&input).filter(is_about_all));
        let phases = marks::phases(clock, input.outline, None);
        self.group(RECORDING, &mut true, "phases", phases)?;
        self.group(RECORDING, &mut true, "blind spots", spots)
    }

    /// Writes a GPU (`None`: tenants of which no GPU is known) with its samples in that part of the time.
    ///
    /// Errors: those of the output. Samples of others in `part` are left out.
    pub fn gpu(&mut self, gpu: Option<&GpuId>, part: &Recording) -> io::Result<()> {
        let input = self.input;
        let position = Self::parts(&input).iter().position(|it| *it == gpu);
        let Some(pid) = position.and_then(|it| u32::try_from(it).ok()).map(|it| it + RECORDING + 1)
        else {
            return Ok(());
        };
        let device = input.findings.devices.iter().find(|it| Some(&it.gpu) == gpu);
        let subjects = device.map_or(&input.findings.unplaced, |it| &it.subjects);
        let influences = device.map_or(&input.findings.unplaced_influences, |it| &it.influences);
        self.events.process(pid, &process_name(device))?;
        let mut is_first = true;
        let mut limits = Vec::new();
        for subject in subjects {
            let found = events(subject, part);
            limits.extend(marks::limits(self.clock, &subject.label, &found));
            let marks = self.of_subject(subject, &found);
            self.track(pid, &mut is_first, &subject.label, &marks)?;
        }
        self.findings(pid, &mut is_first, (device, influences, limits))?;
        let mut names = BTreeSet::new();
        for subject in subjects {
            if let Some(trace) = part.traces.get(&subject.subject) {
                self.counters(pid, subject, trace, &mut names)?;
            }
        }
        Ok(())
    }

    fn of_subject(&self, subject: &SubjectFindings, found: &SubjectEvents) -> Vec<Mark> {
        let resolution = resolution(subject);
        let words: Vec<&Suitability> =
            self.input.suitability.iter().filter(|it| it.subject == subject.subject).collect();
        let mut marks = marks::bursts(self.clock, found, resolution, self.input.most);
        marks.extend(marks::holes(self.clock, found));
        marks.extend(marks::words(self.clock, &words, &self.input.outline.phases, resolution));
        sort(&mut marks);
        marks
    }

    fn findings(
        &mut self,
        pid: u32,
        is_first: &mut bool,
        (device, influences, limits): (Option<&DeviceFindings>, &InfluenceFindings, Vec<Mark>),
    ) -> io::Result<()> {
        let Self { clock, input, .. } = *self;
        let gpu = device.map(|it| &it.gpu);
        let outline = input.outline;
        let is_here =
            |it: &&BlindSpot| gpu.is_some() && it.subject.as_ref().and_then(Subject::gpu) == gpu;
        let memory: Vec<Mark> = device
            .iter()
            .flat_map(|it| &it.memory)
            .flat_map(|it| marks::memory(clock, it))
            .collect();
        let spots = marks::blind_spots(clock, outline, blind_spots(&input).filter(is_here));
        let shown = marks::influences(clock, influences, &outline.phases, gpu);
        let phases = if gpu.is_some() { marks::phases(clock, outline, gpu) } else { Vec::new() };
        for (name, marks) in [
            ("who slows whom", shown),
            ("memory", memory),
            ("limits and faults", limits),
            ("phases", phases),
            ("blind spots", spots),
        ] {
            self.group(pid, is_first, name, marks)?;
        }
        Ok(())
    }

    /// Marks that may overlap, on as many tracks as they need; none without marks.
    fn group(
        &mut self,
        pid: u32,
        is_first: &mut bool,
        name: &str,
        marks: Vec<Mark>,
    ) -> io::Result<()> {
        for (number, lane) in lanes(marks).into_iter().enumerate() {
            let name = if number == 0 { name.to_owned() } else { format!("{name} {}", number + 1) };
            self.track(pid, is_first, &name, &lane)?;
        }
        Ok(())
    }

    /// A track; the first of a process has the number of the process, which viewers show on top.
    fn track(
        &mut self,
        pid: u32,
        is_first: &mut bool,
        name: &str,
        marks: &[Mark],
    ) -> io::Result<()> {
        let tid = if std::mem::take(is_first) { pid } else { self.next_track };
        self.next_track += u32::from(tid != pid);
        self.events.track((pid, tid), &track_name(name))?;
        marks.iter().try_for_each(|it| self.events.mark((pid, tid), it))
    }

    fn counters(
        &mut self,
        pid: u32,
        subject: &SubjectFindings,
        trace: &Trace,
        names: &mut BTreeSet<String>,
    ) -> io::Result<()> {
        for (metric, series) in trace.series.iter().filter(|it| counters::is_drawn(*it.0)) {
            let label = metric.spec().label;
            let name = match subject.subject.is_device() {
                true => label.to_owned(),
                false => format!("{}: {label}", track_name(&subject.label)),
            };
            let name = unlike_others(name, names);
            self.counter(pid, &name, *metric, &series.cut(self.input.shown))?;
        }
        Ok(())
    }

    fn counter(&mut self, pid: u32, name: &str, metric: Metric, series: &Series) -> io::Result<()> {
        let needed = counters::kept(series, None).len();
        let kept = counters::kept(series, self.input.most);
        self.written.samples += series.len() as u64;
        self.written.values += kept.len() as u64;
        self.written.thinned += u64::from(kept.len() < needed);
        let (name, unit) = (json::text(name), json::text(metric.spec().unit.symbol()));
        for position in kept {
            let at = self.clock.at(series.times()[position]);
            let value = shown(metric, series.value(position));
            self.events.counter(pid, (&name, &unit), at, &value)?;
        }
        Ok(())
    }

    /// Ends the timeline.
    ///
    /// Errors: those of the output.
    pub fn finish(self) -> io::Result<TraceCount> {
        self.events.finish()?;
        Ok(self.written)
    }
}

/// What stands before the events: whence, when, and what was left out.
fn head(input: &TraceInput<'_>) -> Vec<(&'static str, String)> {
    let origin = input.shown.from();
    let utc = match jiff::Timestamp::from_microsecond(origin.as_micros()) {
        Ok(it) => format!("{it:.6}"),
        Err(_) => format!("{} us after 1970", origin.as_micros()),
    };
    let thinning = match input.most {
        None => "none: every sample that changes a step line".to_owned(),
        Some(most) => format!(
            "a counter with more than {most} values keeps the least and the greatest of each stretch, a track with more bursts puts neighbours together; nothing is averaged"
        ),
    };
    let mut head = vec![
        ("origin_utc", utc),
        ("origin_unix_us", origin.as_micros().to_string()),
        ("ts_unit", "microseconds after origin_utc".to_owned()),
        ("tool", format!("cotenant {}", input.tool_version)),
        ("thinning", thinning),
    ];
    head.extend((!input.command.is_empty()).then(|| ("command", input.command.to_owned())));
    let clocks: BTreeSet<String> =
        input.outline.sources.iter().map(|it| clean(&it.clock)).collect();
    let clocks: Vec<String> = clocks.into_iter().collect();
    head.extend((!clocks.is_empty()).then(|| ("clocks", clocks.join("; "))));
    head
}

fn blind_spots<'a>(input: &TraceInput<'a>) -> impl Iterator<Item = &'a BlindSpot> {
    input.outline.blind_spots.iter().chain(&input.findings.blind_spots)
}

fn resolution(subject: &SubjectFindings) -> Option<&Resolution> {
    subject.whole().and_then(|it| it.profile.as_ref()).map(|it| &it.resolution)
}

fn process_name(device: Option<&DeviceFindings>) -> String {
    let Some(device) = device else { return "Services of which no GPU is known".to_owned() };
    let model = device.model.as_deref().map(|it| format!(" ({it})")).unwrap_or_default();
    track_name(&format!("{}{model}", device.label))
}

fn track_name(label: &str) -> String {
    shorten(&clean(label), LONGEST_TRACK)
}

/// The name, or with a number behind it where another counter of the process has it already.
fn unlike_others(name: String, names: &mut BTreeSet<String>) -> String {
    let mut unlike = name.clone();
    let mut number = 2;
    while !names.insert(unlike.clone()) {
        unlike = format!("{name} [{number}]");
        number += 1;
    }
    unlike
}

/// As many digits as were stored.
fn shown(metric: Metric, value: f64) -> String {
    match metric.spec().precision {
        Precision::Single => (value as f32).to_string(),
        Precision::Whole => value.to_string(),
    }
}

impl TraceCount {
    /// What was left out, in one sentence; `None` when nothing was.
    pub fn remark(&self) -> Option<String> {
        (self.thinned > 0).then(|| {
            format!(
                "{} of the timeline hold the least and the greatest value of each stretch, not every sample: {} values stand for {} samples",
                count(self.thinned as usize, "counter", "counters"),
                self.values,
                self.samples
            )
        })
    }
}
