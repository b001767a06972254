//! A played scenario becomes a recording.

use crate::cli::error::CliError;
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, MigInstance, Phase, Process};
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::{Reading, Source, SourceId};
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use cotenant_scenario::{DeviceInfo, Quantity, RowSubject, Scenario, ScenarioError, Summary};
use std::collections::BTreeMap;

/// Format of the sources of a recording that was played.
pub(crate) const FORMAT: &str = "scenario";

/// Plays a scenario into a sink and returns the truth about it.
pub(crate) fn play(scenario: &Scenario, sink: &mut dyn Sink) -> Result<Summary, CliError> {
    let refused = |it: &SinkError| CliError::failed("cannot write the recording", it);
    let wrong = |it: &ScenarioError| {
        CliError::usage(format!("scenario: {it}"), "correct the scenario file")
    };
    scenario.check().map_err(|it| wrong(&it))?;
    facts(scenario).into_iter().try_for_each(|it| sink.fact(it)).map_err(|it| refused(&it))?;
    let mut readings = Vec::new();
    let mut failure: Option<SinkError> = None;
    let subjects = Subjects::of(scenario);
    let summary = cotenant_scenario::generate(scenario, &mut |row| {
        readings.clear();
        readings.extend(row.values.iter().map(|(quantity, value)| (metric(*quantity), *value)));
        let at = Timestamp::from_micros(row.time_us);
        if let (None, Some((subject, source))) = (&failure, subjects.get(row.subject)) {
            failure = sink.row(at, subject, *source, &readings).err();
        }
    })
    .map_err(|it| wrong(&it))?;
    match failure {
        Some(error) => Err(refused(&error)),
        None => Ok(summary),
    }
}

/// Source of a board's own rows; the one after it is that of its processes and tenants.
fn source_of(device: usize) -> SourceId {
    SourceId(u16::try_from(2 * device).unwrap_or(u16::MAX - 1))
}

fn source_of_tenants(device: usize) -> SourceId {
    SourceId(source_of(device).0 + 1)
}

/// Everything that is known before the first row.
fn facts(scenario: &Scenario) -> Vec<Fact> {
    let boards = scenario.device_infos();
    let gpu = |device: usize| boards.get(device).map(|it| GpuId::new(it.uuid.clone()));
    let mut facts = Vec::new();
    for board in &boards {
        facts.extend(sources(scenario, board).map(Fact::Source));
        facts.push(Fact::Device(Device {
            index: u32::try_from(board.index).ok(),
            model: Some(board.name.clone()),
            is_mig: Some(!board.instances.is_empty()),
            ..Device::named(GpuId::new(board.uuid.clone()))
        }));
        for instance in &board.instances {
            facts.push(Fact::MigInstance(MigInstance {
                instance: mig_instance(GpuId::new(board.uuid.clone()), instance.gi, instance.ci),
                profile: Some(instance.profile.clone()),
                tenants: scenario
                    .tenant_infos()
                    .into_iter()
                    .filter(|it| it.device == board.index)
                    .filter(|it| it.instance == Some((instance.gi, instance.ci)))
                    .map(|it| TenantId::new(it.name))
                    .collect(),
            }));
        }
    }
    for tenant in scenario.tenant_infos() {
        facts.extend(gpu(tenant.device).map(|gpu| {
            Fact::Process(Process {
                gpu,
                process: ProcessKey { pid: tenant.pid, started: None },
                name: Some(tenant.name.clone()),
                tenant: Some(TenantId::new(tenant.name.clone())),
            })
        }));
    }
    for phase in scenario.phase_list() {
        let (from, until) = (phase.from_us, phase.until_us);
        let span = TimeSpan::new(Timestamp::from_micros(from), Timestamp::from_micros(until));
        facts.extend(span.map(|span| Fact::Phase(Phase { label: phase.label, span, gpu: None })));
    }
    facts
}

fn sources(scenario: &Scenario, board: &DeviceInfo) -> impl Iterator<Item = Source> {
    let interval = |micros: i64| u64::try_from(micros).ok().and_then(SampleInterval::from_micros);
    let window = Reading::WindowAverage { window: interval(board.window_us) };
    let averaged =
        [Metric::GpuUtilization, Metric::MemoryUtilization, Metric::SmActive, Metric::DramActive];
    let readings: BTreeMap<Metric, Reading> = averaged.into_iter().map(|it| (it, window)).collect();
    let source = |id, readings, asked_interval| Source {
        id,
        format: FORMAT.to_owned(),
        tool: "cotenant-scenario".to_owned(),
        tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        file: Some(scenario.name.clone()),
        asked_interval,
        clock: "UTC".to_owned(),
        readings,
    };
    let own = source(source_of(board.index), readings, interval(board.stride_us));
    [own, source(source_of_tenants(board.index), BTreeMap::new(), None)].into_iter()
}

fn mig_instance(gpu: GpuId, gi: u32, ci: u32) -> MigInstanceId {
    MigInstanceId { gpu, gpu_instance: gi, compute_instance: Some(ci), generation: 0 }
}

/// The subject and source of every kind of row, made once.
struct Subjects {
    by_row: BTreeMap<RowSubject, (Subject, SourceId)>,
}

impl Subjects {
    fn of(scenario: &Scenario) -> Self {
        let mut by_row = BTreeMap::new();
        let boards = scenario.device_infos();
        for board in &boards {
            let (gpu, index) = (GpuId::new(board.uuid.clone()), board.index);
            for it in &board.instances {
                let subject =
                    Subject::MigInstance { instance: mig_instance(gpu.clone(), it.gi, it.ci) };
                let row = RowSubject::MigInstance { device: index, gi: it.gi, ci: it.ci };
                by_row.insert(row, (subject, source_of(index)));
            }
            let row = RowSubject::Device { index };
            by_row.insert(row, (Subject::Device { gpu }, source_of(index)));
        }
        for tenant in scenario.tenant_infos() {
            let (device, index) = (tenant.device, tenant.index);
            let Some(board) = boards.get(device) else { continue };
            let gpu = GpuId::new(board.uuid.clone());
            let process = ProcessKey { pid: tenant.pid, started: None };
            let row = RowSubject::Process { device, pid: tenant.pid, tenant: index };
            let subject = Subject::Process { gpu: gpu.clone(), process };
            by_row.insert(row, (subject, source_of_tenants(device)));
            let subject = Subject::Tenant { gpu: Some(gpu), tenant: TenantId::new(tenant.name) };
            let row = RowSubject::Tenant { device, tenant: index };
            by_row.insert(row, (subject, source_of_tenants(device)));
        }
        Self { by_row }
    }

    fn get(&self, row: RowSubject) -> Option<&(Subject, SourceId)> {
        self.by_row.get(&row)
    }
}

/// Our metric for a quantity of the generator; the units are the same.
fn metric(quantity: Quantity) -> Metric {
    match quantity {
        Quantity::GpuUtilPercent | Quantity::ProcessSmUtilPercent => Metric::GpuUtilization,
        Quantity::MemUtilPercent | Quantity::ProcessMemUtilPercent => Metric::MemoryUtilization,
        Quantity::SmActiveRatio => Metric::SmActive,
        Quantity::DramActiveRatio => Metric::DramActive,
        Quantity::FbUsedBytes | Quantity::ProcessFbUsedBytes => Metric::FramebufferUsed,
        Quantity::FbTotalBytes => Metric::FramebufferTotal,
        Quantity::PowerMilliwatts => Metric::Power,
        Quantity::EnergyMillijoules => Metric::Energy,
        Quantity::SmClockMhz => Metric::SmClock,
        Quantity::MemClockMhz => Metric::MemoryClock,
        Quantity::TemperatureCelsius => Metric::GpuTemperature,
        Quantity::ThrottleReasons => Metric::ThrottleReasons,
        Quantity::Xid => Metric::Xid,
        Quantity::EccUncorrected => Metric::EccUncorrected,
        Quantity::PcieTxBytesPerSecond => Metric::PcieTransmit,
        Quantity::PcieRxBytesPerSecond => Metric::PcieReceive,
        Quantity::LatencyMeanSeconds => Metric::LatencyMean,
        Quantity::LatencyP50Seconds => Metric::LatencyP50,
        Quantity::LatencyP95Seconds => Metric::LatencyP95,
        Quantity::LatencyP99Seconds => Metric::LatencyP99,
        Quantity::RequestsPerSecond => Metric::Throughput,
        Quantity::OfferedRequestsPerSecond => Metric::OfferedLoad,
        Quantity::QueueDepth => Metric::QueueDepth,
        Quantity::IterationsPerSecond => Metric::IterationRate,
    }
}
