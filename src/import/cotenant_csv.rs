//! What `cotenant export --to csv` writes, read back: values, stamps and gaps as they were.

use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, MigInstance, Process};
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::mapping::cells::{Cells, Splitter};
use crate::import::run::ImportRun;
use crate::import::run::unknown_names::UnknownNames;
use crate::import::text::cells::number;
use crate::import::text::clock::RowClock;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Columns that say when and who.
const WHEN_AND_WHO: [&str; 8] =
    ["time", "gpu", "gpu_instance", "compute_instance", "pid", "started", "program", "tenant"];
/// Those that a file may lack: of earlier versions, or where no process id came twice.
const LATER: [&str; 2] = ["started", "program"];

/// So many subjects are remembered to have been described.
const MOST_TOLD: usize = 1 << 14;

/// Reads what `cotenant export --to csv` writes.
pub struct CotenantCsv;

impl Importer for CotenantCsv {
    fn id(&self) -> &'static str {
        "cotenant-csv"
    }

    fn about(&self) -> &'static str {
        "CSV of `cotenant export --to csv`"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let lines = head_lines(head);
        let header = lines.first().map(String::as_str).unwrap_or_default();
        if Header::of(header).is_some() { Likeness::Sure } else { Likeness::No }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut lines = Lines::new(input);
        let Some(first) = lines.next(run)? else {
            return Err(ImportError::Empty { file: run.file().to_owned() });
        };
        let Some(header) = Header::of(&first) else {
            let remedy = "describe the columns in a mapping file: --mapping FILE";
            return Err(run.structure_error("the header of a CSV of cotenant", &first, remedy));
        };
        drop(first);
        let mut table = Table {
            header,
            clock: RowClock::new(run, None),
            who: Vec::new(),
            subject: None,
            told: BTreeMap::new(),
            readings: Vec::new(),
        };
        let mut splitter = Splitter::default();
        while let Some(line) = lines.next(run)? {
            if !line.trim().is_empty() {
                table.line(run, &splitter.split(&line, b','))?;
            }
        }
        table.finish(run)
    }
}

/// Where the columns stand.
struct Header {
    /// Place of each column of [`WHEN_AND_WHO`]; `None` for one that the file lacks.
    who: [Option<usize>; 8],
    metrics: Vec<(usize, Metric)>,
    unknown: Vec<String>,
}

impl Header {
    /// `None` unless it begins as ours does and has a metric of ours.
    fn of(line: &str) -> Option<Self> {
        let names: Vec<&str> =
            line.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
        let is_there = |it: &&&str| !LATER.contains(*it) || names.contains(*it);
        let expected = WHEN_AND_WHO.iter().filter(is_there);
        let count = expected.clone().count();
        if !names.iter().take(count).eq(expected) {
            return None;
        }
        let place = |name: &str| names.iter().take(count).position(|it| *it == name);
        let behind = || names.iter().enumerate().skip(count);
        let known = |it: (usize, &&str)| Some((it.0, Metric::from_key(it.1)?));
        let metrics: Vec<(usize, Metric)> = behind().filter_map(known).collect();
        let unknown = behind().filter(|it| Metric::from_key(it.1).is_none());
        let unknown = unknown.map(|it| (*it.1).to_owned()).collect();
        (!metrics.is_empty()).then(|| Self { who: WHEN_AND_WHO.map(place), metrics, unknown })
    }
}

/// A table under way.
struct Table {
    header: Header,
    clock: RowClock<()>,
    /// The cells of the row before that say who, and whom they named.
    who: Vec<String>,
    subject: Option<Subject>,
    /// What was said of each subject.
    told: BTreeMap<Subject, (Option<String>, Option<TenantId>)>,
    readings: Vec<(Metric, f64)>,
}

impl Table {
    fn line(&mut self, run: &mut ImportRun<'_>, cells: &Cells<'_>) -> Result<(), ImportError> {
        let cell =
            |column: usize| self.header.who[column].map(|it| cells.get(it)).unwrap_or_default();
        let Some(at) = self.clock.read(run, "time", cell(0)) else { return Ok(()) };
        run.describe_source(|options| self.clock.origin(options, "cotenant"))?;
        let is_same = self.who.len() == 7 && (1..8).all(|it| self.who[it - 1] == cell(it));
        if !is_same {
            self.who = (1..8).map(|it| cell(it).to_owned()).collect();
            self.subject = self.settle(run)?;
        }
        let Some(subject) = self.subject.clone() else { return Ok(()) };
        self.readings.clear();
        for (place, metric) in &self.header.metrics {
            match number(cells.get(*place)) {
                Ok(value) => self.readings.extend(value.map(|it| (*metric, it))),
                Err(found) => run.reject(metric.key(), "a number", &found),
            }
        }
        run.row(at, &subject, &self.readings)
    }

    /// Whom the row names; what else it says of them goes to the sink once.
    fn settle(&mut self, run: &mut ImportRun<'_>) -> Result<Option<Subject>, ImportError> {
        let [gpu, instance, compute, pid, started, program, tenant] = self.who.as_slice() else {
            return Ok(None);
        };
        let gpu = Some(unguarded(gpu)).filter(|it| !it.is_empty()).map(GpuId::new);
        let tenant = Some(unguarded(tenant)).filter(|it| !it.is_empty()).map(TenantId::new);
        let mut whole = |column: &str, text: &str| match text {
            "" => Ok(None),
            text => text
                .parse::<u32>()
                .map(Some)
                .map_err(|_| run.reject(column, "a whole number", text)),
        };
        let numbers = (
            whole("gpu_instance", instance),
            whole("compute_instance", compute),
            whole("pid", pid),
        );
        let (Ok(gpu_instance), Ok(compute_instance), Ok(pid)) = numbers else { return Ok(None) };
        let instance = gpu.clone().zip(gpu_instance).map(|(gpu, gpu_instance)| MigInstanceId {
            gpu,
            gpu_instance,
            compute_instance,
            generation: 0,
        });
        let started = match started.as_str() {
            "" => None,
            text => match text.parse::<jiff::Timestamp>() {
                Ok(it) => Some(Timestamp::from_micros(it.as_microsecond())),
                Err(_) => {
                    run.reject("started", "a time such as 2026-01-31T12:00:00Z", text);
                    return Ok(None);
                }
            },
        };
        let subject = match (gpu.clone(), pid, &tenant, &instance) {
            (Some(gpu), Some(pid), ..) => {
                Subject::Process { gpu, process: ProcessKey { pid, started } }
            }
            (_, _, Some(tenant), _) => Subject::Tenant { gpu: gpu.clone(), tenant: tenant.clone() },
            (_, _, _, Some(instance)) => Subject::MigInstance { instance: instance.clone() },
            (Some(gpu), ..) => Subject::Device { gpu },
            _ => {
                run.reject("", "a row that names a GPU or a tenant", "");
                return Ok(None);
            }
        };
        if self.told.len() >= MOST_TOLD {
            // To describe one again changes nothing.
            self.told.clear();
        }
        let program = Some(unguarded(program)).filter(|it| !it.is_empty());
        let told = (program.clone(), tenant.clone());
        // A process id comes again under another program.
        if self.told.get(&subject) != Some(&told) {
            self.told.insert(subject.clone(), told);
            tell(run, &subject, (instance, program, tenant))?;
        }
        Ok(Some(subject))
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut unknown = UnknownNames::default();
        self.header.unknown.iter().for_each(|it| unknown.add(it));
        unknown.warning().into_iter().for_each(|it| run.warn(it));
        self.clock.report_assumptions(run)
    }
}

/// Describes a subject, and the instance and the GPU that it lives on.
fn tell(
    run: &mut ImportRun<'_>,
    subject: &Subject,
    (instance, program, tenant): (Option<MigInstanceId>, Option<String>, Option<TenantId>),
) -> Result<(), ImportError> {
    if let Some(gpu) = subject.gpu() {
        let index = gpu.as_str().strip_prefix("gpu").and_then(|it| it.parse().ok());
        let is_mig = instance.is_some().then_some(true);
        run.fact(Fact::Device(Device { index, is_mig, ..Device::named(gpu.clone()) }))?;
    }
    if let Some(instance) = instance {
        let tenants = tenant.iter().cloned().collect();
        run.fact(Fact::MigInstance(MigInstance { instance, profile: None, tenants }))?;
    }
    if let Subject::Process { gpu, process } = subject {
        let (gpu, process) = (gpu.clone(), *process);
        run.fact(Fact::Process(Process { gpu, process, name: program, tenant }))?;
    }
    Ok(())
}

/// A name without the apostrophe that keeps spreadsheets from running it.
fn unguarded(cell: &str) -> String {
    let begins_like = cell.trim_start_matches('\'');
    let was_guarded =
        cell.starts_with('\'') && begins_like.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if was_guarded { cell[1..].to_owned() } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::read;

    #[test]
    fn a_row_is_about_the_narrowest_that_it_names_and_says_where_that_lives() {
        let text = "time,gpu,gpu_instance,compute_instance,pid,program,tenant,power_mw,framebuffer_used_bytes\n\
            2026-01-31T12:00:00.000001Z,gpu0,,,,,,70500,\n\
            2026-01-31T12:00:00.000001Z,gpu0,3,,,,,,11\n\
            2026-01-31T12:00:00.000001Z,gpu0,3,,42,train,'=team,,7\n\
            2026-01-31T12:00:00.000001Z,,,,,,web,,\n";
        let it = read(&CotenantCsv, text, &ImportOptions::default());
        let outline = &it.recording.outline;
        let labels: Vec<String> = it.recording.traces.keys().map(|it| outline.label(it)).collect();
        assert_eq!(labels, ["GPU 0", "GPU 0 instance 3", "=team: train (pid 42)"]);
        assert_eq!(outline.mig_instances[0].tenants, [TenantId::new("=team")]);
        let times = it.recording.traces.values().flat_map(|it| it.series.values());
        assert!(times.flat_map(|it| it.times()).all(|it| it.as_micros() % 1_000_000 == 1));
    }

    #[test]
    fn an_export_of_an_earlier_version_is_read_too_and_any_other_table_is_not_ours() {
        let old = "time,gpu,gpu_instance,compute_instance,pid,tenant,gpu_utilization_pct\n";
        assert_eq!(CotenantCsv.recognise(old.as_bytes()), Likeness::Sure);
        let twice = "time,gpu,gpu_instance,compute_instance,pid,started,program,tenant,power_mw\n\
            2026-01-31T12:00:00Z,gpu0,,,42,,bash,,1\n\
            2026-01-31T12:00:00Z,gpu0,,,42,2026-01-31T11:59:59.5Z,bash,,2\n\
            2026-01-31T12:00:00Z,gpu0,,,42,noon,bash,,3\n";
        let it = read(&CotenantCsv, twice, &ImportOptions::default());
        assert_eq!(it.recording.traces.len(), 2, "a process id that came twice");
        for other in [
            "time,gpu,gpu_utilization_pct\n",
            "time,gpu,gpu_instance,compute_instance,pid,tenant,x\n",
            "",
        ] {
            assert_eq!(CotenantCsv.recognise(other.as_bytes()), Likeness::No, "{other}");
        }
    }
}
