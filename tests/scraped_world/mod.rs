//! One load seen three ways: every sample kept, counted by the exporter and scraped, and as plain gauges.

#![allow(dead_code, reason = "each user of this module takes what it needs")]

use cotenant::analysis::findings::{BurstProfile, Findings};
use cotenant::analysis::{Question, compute};
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::recording::Recording;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::{Reading, Source, SourceId};
use cotenant::domain::time::{SampleInterval, Timestamp};
use cotenant::exporter::{Exposition, Format, Limits};
use cotenant::import::prometheus_text::PrometheusText;
use cotenant::import::{ImportOptions, import};
use cotenant::recommender::policy::Policy;
use cotenant::recommender::suitability::{SharingWord, judge};
use cotenant_scenario::{Quantity, Row, RowSubject, Scenario};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write;

/// Seconds from one scrape to the next.
pub(crate) const SCRAPE_S: i64 = 15;

/// One load, seen three ways.
pub(crate) struct Ways {
    /// Every sample.
    pub(crate) full: Recording,
    /// The exporter's counts, scraped every 15 s and imported.
    pub(crate) scraped: Recording,
    /// The last sample of every 15 s, as a plain gauge shows it.
    pub(crate) plain: Recording,
    /// The scrapes as they were imported.
    pub(crate) text: String,
}

/// Plays a scenario and looks at it three ways.
pub(crate) fn three_ways(scenario: &Scenario) -> Ways {
    let (mut full, mut plain) = (Collector::new(), Collector::new());
    let mut exposition = Exposition::new(Limits::default());
    for fact in facts(scenario) {
        for sink in [&mut full as &mut dyn Sink, &mut plain, &mut exposition] {
            sink.fact(fact.clone()).unwrap();
        }
    }
    let boards = scenario.device_infos();
    let mut last: BTreeMap<Subject, (Timestamp, Vec<(Metric, f64)>)> = BTreeMap::new();
    let mut text = String::new();
    let mut due_us = scenario.start_us + SCRAPE_S * 1_000_000;
    cotenant_scenario::generate(scenario, &mut |row| {
        while row.time_us > due_us {
            let stamp = due_us as f64 / 1e6;
            write!(text, "{}", stamped(&exposition.render(Format::OpenMetrics), stamp)).unwrap();
            for (subject, (at, readings)) in std::mem::take(&mut last) {
                plain.row(at, &subject, source_of(&subject), &readings).unwrap();
            }
            due_us += SCRAPE_S * 1_000_000;
        }
        let Some((subject, readings)) = read(row, &boards) else { return };
        let at = Timestamp::from_micros(row.time_us);
        full.row(at, &subject, source_of(&subject), &readings).unwrap();
        exposition.row(at, &subject, source_of(&subject), &readings).unwrap();
        let shown = last.entry(subject).or_insert_with(|| (at, Vec::new()));
        shown.0 = at;
        for reading in readings {
            shown.1.retain(|it| it.0 != reading.0);
            shown.1.push(reading);
        }
    })
    .unwrap();
    let scraped = imported(&text);
    Ways { full: full.into_recording(), scraped, plain: plain.into_recording(), text }
}

/// A scrape with the stamp of the scrape behind every sample, as a server's dump has it.
fn stamped(text: &str, stamp_s: f64) -> String {
    let line = |line: &str| match line.starts_with('#') {
        true => format!("{line}\n"),
        false => format!("{line} {stamp_s:.3}\n"),
    };
    text.lines().map(line).collect()
}

/// Scrapes as a recording.
pub(crate) fn imported(text: &str) -> Recording {
    let mut collector = Collector::new();
    let options = ImportOptions::default();
    let mut input = text.as_bytes();
    let outcome =
        import(&PrometheusText, &mut input, "scrapes", &options, SourceId(0), &mut collector);
    let summary = outcome.unwrap();
    assert_eq!(summary.rejections.count(), 0, "{:?}", summary.rejections.first());
    collector.into_recording()
}

fn source_of(subject: &Subject) -> SourceId {
    SourceId(u16::from(!subject.is_device()))
}

fn facts(scenario: &Scenario) -> Vec<Fact> {
    let boards = scenario.device_infos();
    let window = boards.first().and_then(|it| u64::try_from(it.window_us).ok());
    let window = Reading::WindowAverage { window: window.and_then(SampleInterval::from_micros) };
    let source = |id, readings| {
        Fact::Source(Source {
            id: SourceId(id),
            format: "scenario".to_owned(),
            tool: "test".to_owned(),
            tool_version: None,
            file: None,
            asked_interval: None,
            clock: "UTC".to_owned(),
            readings,
        })
    };
    let stated = BTreeMap::from([(Metric::GpuUtilization, window)]);
    let mut facts = vec![source(0, stated), source(1, BTreeMap::new())];
    for board in &boards {
        facts.push(Fact::Device(Device {
            index: u32::try_from(board.index).ok(),
            model: Some(board.name.clone()),
            ..Device::named(GpuId::new(board.uuid.clone()))
        }));
    }
    for tenant in scenario.tenant_infos() {
        facts.push(Fact::Process(Process {
            gpu: GpuId::new(boards[tenant.device].uuid.clone()),
            process: ProcessKey { pid: tenant.pid, started: None },
            name: Some(tenant.name.clone()),
            tenant: Some(TenantId::new(tenant.name.clone())),
        }));
    }
    facts
}

fn read(
    row: &Row,
    boards: &[cotenant_scenario::DeviceInfo],
) -> Option<(Subject, Vec<(Metric, f64)>)> {
    let gpu = |index: usize| GpuId::new(boards[index].uuid.clone());
    let subject = match row.subject {
        RowSubject::Device { index } => Subject::Device { gpu: gpu(index) },
        RowSubject::Process { device, pid, .. } => {
            let process = ProcessKey { pid, started: None };
            Subject::Process { gpu: gpu(device), process }
        }
        _ => return None,
    };
    let metric = |quantity| match quantity {
        Quantity::GpuUtilPercent | Quantity::ProcessSmUtilPercent => Some(Metric::GpuUtilization),
        Quantity::FbUsedBytes | Quantity::ProcessFbUsedBytes => Some(Metric::FramebufferUsed),
        Quantity::FbTotalBytes => Some(Metric::FramebufferTotal),
        Quantity::PowerMilliwatts => Some(Metric::Power),
        _ => None,
    };
    let readings = row.values.iter().filter_map(|it| Some((metric(it.0)?, it.1))).collect();
    Some((subject, readings))
}

/// What a recording means.
pub(crate) fn findings(recording: &Recording) -> Findings {
    let load = |gpu: Option<&GpuId>| {
        let outline = recording.outline.clone();
        let mine = recording.traces.iter().filter(|it| it.0.gpu() == gpu);
        let traces = mine.map(|it| (it.0.clone(), it.1.clone())).collect();
        Ok::<_, Infallible>(Recording { outline, traces })
    };
    match compute(&recording.outline, &Question::default(), load) {
        Ok(findings) => findings,
        Err(never) => match never {},
    }
}

/// Name of a subject that is the same in all recordings: `GPU 0`, or the tenant.
fn name(recording: &Recording, subject: &Subject) -> String {
    match subject {
        Subject::Process { process, .. } => {
            let processes = &recording.outline.processes;
            let known = processes.iter().find(|it| it.process == *process);
            known.and_then(|it| it.tenant.clone()).map_or(subject.to_string(), |it| it.to_string())
        }
        other => recording.outline.label(other),
    }
}

/// The word on every subject over the whole recording.
pub(crate) fn words(recording: &Recording) -> BTreeMap<String, SharingWord> {
    let findings = findings(recording);
    let judged = judge(&findings, &Policy::default());
    judged.iter().map(|it| (name(recording, &it.subject), it.word)).collect()
}

/// The burst profile of every subject over the whole recording.
pub(crate) fn profiles(recording: &Recording) -> BTreeMap<String, BurstProfile> {
    let findings = findings(recording);
    let of = |it: &cotenant::analysis::findings::SubjectFindings| {
        Some((name(recording, &it.subject), it.whole()?.profile.clone()?))
    };
    findings.subjects().filter_map(of).collect()
}

/// Numbers that follow from a seed: `splitmix64` of G. Steele, D. Lea and C. Flood, OOPSLA 2014.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Between two limits, evenly on a logarithmic scale.
    pub(crate) fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[((self.unit() * all.len() as f64) as usize).min(all.len() - 1)]
    }
}

/// A load of any kind and time scale.
fn load(dice: &mut Dice) -> String {
    let vary = *dice.of(&[
        "\"exponential\"",
        "{ lognormal = 0.6 }",
        "{ heavy = 1.8 }",
        "{ jitter = 0.4 }",
        "\"fixed\"",
    ]);
    let duty = dice.log(0.02, 0.9);
    match (dice.unit() * 10.0) as u32 {
        0 => {
            let period = dice.log(5.0, 40.0);
            format!("{{ steady = {{ busy_ms = {:.3}, period_ms = {period:.3} }} }}", duty * period)
        }
        1 | 2 => {
            let work = dice.log(2.0, 200.0);
            let rate = 1e3 * duty.min(0.8) / work;
            format!(
                "{{ server = {{ per_second = {rate:.4}, work_ms = {work:.3}, vary = {vary} }} }}"
            )
        }
        3 => {
            let compute = dice.log(20.0, 2_000.0);
            let pause = compute * (1.0 - duty) / duty;
            format!(
                "{{ trainer = {{ compute_ms = {compute:.3}, pause_ms = {pause:.3}, vary = {vary} }} }}"
            )
        }
        kind => {
            let on = dice.log(2.0, 20_000.0);
            let off = on * (1.0 - duty) / duty;
            let height = if kind < 8 { 1.0 } else { 0.2 + 0.7 * dice.unit() };
            format!(
                "{{ on-off = {{ on_ms = {on:.3}, off_ms = {off:.3}, vary = {vary}, height = {height:.2}, kernel_ms = {:.3} }} }}",
                (on / 20.0).clamp(0.2, 2.0)
            )
        }
    }
}

/// A GPU with one to three tenants, looked at ten times a second for ten minutes.
pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed);
    let window = dice.of(&[100.0, 100.0, 166.0]);
    let mut text = format!(
        "name = \"made-{seed}\"\ndescription = \"Made.\"\nseed = {seed}\nduration_s = 600\ncounterfactuals = false\n\
         [observe]\nservices = false\nstride_ms = 100\nwindow_ms = {window}\nstride_jitter = {:.3}\n\
         [[devices]]\nname = \"NVIDIA H100 80GB HBM3\"\nsms = 132\nmemory_mib = 81559\nidle_w = 70\ncap_w = 700\nsm_clock_mhz = 1980\nmem_clock_mhz = 2619\nsharing = {{ time-slicing = {{ quantum_ms = 2 }} }}\n",
        dice.unit() * 0.02,
    );
    for tenant in 0..1 + (dice.unit() * dice.unit() * 3.0) as usize {
        let memory = dice.log(500.0, 30_000.0);
        let load = load(&mut dice);
        write!(text, "[[tenants]]\nname = \"tenant-{tenant}\"\ndevice = 0\nmemory_mib = {memory:.0}\npower_w = 300\nload = {load}\n").unwrap();
    }
    Scenario::from_toml(&text).unwrap_or_else(|it| panic!("{it}:\n{text}"))
}
