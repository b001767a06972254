//! `dcgmi dmon`: one row for each GPU or MIG instance at each tick, without stamps.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, MigInstanceId, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::{Device, MigInstance};
use crate::domain::sink::Fact;
use crate::import::cells::{is_missing, number};
use crate::import::clock::{MADE, Ticks, report_made_stamps};
use crate::import::error::ImportError;
use crate::import::lines::{Lines, head_lines};
use crate::import::run::ImportRun;
use crate::import::seen::{MetricSet, Seen, Silence};
use crate::import::{Importer, Likeness};
use std::collections::BTreeSet;
use std::io::BufRead;

/// What to do when a MIG instance does not say which GPU it is cut from.
const NAME_THE_GPU: &str =
    "name the GPU: --gpu gpu0, or record one GPU together with its instances";

/// Reads `dcgmi dmon`.
pub struct DcgmiDmon;

impl Importer for DcgmiDmon {
    fn id(&self) -> &'static str {
        "dcgmi-dmon"
    }

    fn about(&self) -> &'static str {
        "text of `dcgmi dmon`, whole GPUs and MIG instances"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        match head_lines(head).iter().any(|it| column_names(it).is_some()) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = DcgmiFile::default();
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, line)?;
        }
        file.finish(run)
    }
}

/// Short names of the fields in a line `#Entity …`; `None` for any other line.
fn column_names(line: &str) -> Option<Vec<&str>> {
    let mut words = line.trim_start().strip_prefix('#')?.split_whitespace();
    words.next().filter(|it| it.eq_ignore_ascii_case("entity"))?;
    Some(words.collect())
}

/// A GPU or a part of one, as a row names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Entity {
    /// A whole GPU.
    Gpu(u32),
    /// A GPU instance; `None` where DCGM's number does not say on which GPU.
    GpuInstance(Option<u32>, u32),
    /// A compute instance in a GPU instance on a GPU.
    ComputeInstance(u32, u32, u32),
}

impl Entity {
    /// Reads `GPU 0`, `GPU-I 3`, `GPU-I 0/3` or `GPU-CI 0/3/0`.
    fn parse(kind: &str, id: &str) -> Option<Self> {
        let numbers: Option<Vec<u32>> = id.split('/').map(|it| it.parse().ok()).collect();
        match (kind.to_ascii_uppercase().as_str(), numbers?.as_slice()) {
            ("GPU", [gpu]) => Some(Self::Gpu(*gpu)),
            ("GPU-I" | "I", [instance]) => Some(Self::GpuInstance(None, *instance)),
            ("GPU-I" | "I", [gpu, instance]) => Some(Self::GpuInstance(Some(*gpu), *instance)),
            ("GPU-CI" | "CI", [gpu, instance, compute]) => {
                Some(Self::ComputeInstance(*gpu, *instance, *compute))
            }
            _ => None,
        }
    }

    /// Whom the rows of this entity are about; `None` when the GPU of an instance is not known.
    fn subject(&self, parent: Option<GpuId>) -> Option<Subject> {
        let (gpu, gpu_instance, compute_instance) = match self {
            Self::Gpu(index) => return Some(Subject::Device { gpu: GpuId::from_index(*index) }),
            Self::GpuInstance(Some(gpu), it) => (GpuId::from_index(*gpu), *it, None),
            Self::GpuInstance(None, it) => (parent?, *it, None),
            Self::ComputeInstance(gpu, it, compute) => {
                (GpuId::from_index(*gpu), *it, Some(*compute))
            }
        };
        let instance = MigInstanceId { gpu, gpu_instance, compute_instance, generation: 0 };
        Some(Subject::MigInstance { instance })
    }
}

/// A file that is being read.
#[derive(Default)]
struct DcgmiFile {
    columns: Option<Vec<Option<(Metric, f64)>>>,
    ticks: Ticks<Entity>,
    gpus: BTreeSet<u32>,
    described: BTreeSet<Subject>,
    has_homeless: bool,
    seen: Seen,
}

impl DcgmiFile {
    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if let Some(names) = column_names(line) {
            self.columns = Some(known_columns(run, &names));
            return Ok(());
        }
        let cells: Vec<&str> = line.split_whitespace().collect();
        let is_unit_line = cells.first().is_none_or(|it| it.eq_ignore_ascii_case("id"));
        if is_unit_line || cells[0].starts_with('#') {
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            run.reject("", "a line `#Entity …`", line);
            return Ok(());
        };
        if cells.len() != columns.len() + 2 {
            run.reject("", &format!("an entity and {} cells", columns.len()), line);
            return Ok(());
        }
        match Entity::parse(cells[0], cells[1]) {
            Some(entity) => self.row(run, entity, line, &cells[2..]),
            None => {
                run.reject("entity", "a GPU or a MIG instance on a GPU", line);
                Ok(())
            }
        }
    }

    fn row(
        &mut self,
        run: &mut ImportRun<'_>,
        entity: Entity,
        line: &str,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        if let Entity::Gpu(index) = entity {
            self.gpus.insert(index);
        }
        let at = self.ticks.stamp(run, entity.clone(), false)?;
        let Some(subject) = entity.subject(self.parent(run)) else {
            self.has_homeless = true;
            run.reject("entity", "an instance whose GPU can be told", line);
            return Ok(());
        };
        run.describe_source("dcgmi dmon", None, run.options.interval, MADE)?;
        self.describe(run, &subject)?;
        let Some(columns) = &self.columns else {
            return Ok(());
        };
        let asked: MetricSet = columns.iter().flatten().map(|it| it.0).collect();
        let readings = readings(run, columns, cells);
        self.seen.row(run, at, &subject, asked, &readings)
    }

    /// The GPU of an instance that names none: as the user said, or the only one in the file so far.
    fn parent(&self, run: &ImportRun<'_>) -> Option<GpuId> {
        let named = run.options.gpu.as_ref().map(|it| GpuId::new(it.as_str()));
        let only = self.gpus.first().filter(|_| self.gpus.len() == 1);
        named.or_else(|| only.map(|it| GpuId::from_index(*it)))
    }

    fn describe(&mut self, run: &mut ImportRun<'_>, subject: &Subject) -> Result<(), ImportError> {
        if !self.described.insert(subject.clone()) {
            return Ok(());
        }
        match subject {
            Subject::Device { gpu } => {
                let index = gpu.as_str().trim_start_matches("gpu").parse().ok();
                run.fact(Fact::Device(Device { index, ..Device::named(gpu.clone()) }))
            }
            Subject::MigInstance { instance } => {
                let gpu = instance.gpu.clone();
                run.fact(Fact::Device(Device { is_mig: Some(true), ..Device::named(gpu) }))?;
                let instance = instance.clone();
                run.fact(Fact::MigInstance(MigInstance { instance, profile: None }))
            }
            _ => Ok(()),
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.columns.is_none() && run.line > 0 {
            let remedy = "keep the line `#Entity …` when you record: it names the columns";
            return Err(run.structure_error("a line `#Entity …`", "none", remedy));
        }
        if self.has_homeless {
            if run.rows() == 0 {
                let expected = "instances whose GPU can be told";
                return Err(run.structure_error(expected, "GPU-I without GPU", NAME_THE_GPU));
            }
            let detail =
                "MIG instances were left out: several GPUs, and nothing says on which they are";
            run.warn(format!("{detail}; {NAME_THE_GPU}"));
            run.blind_spot(BlindSpotKind::Ambiguous, None, None, detail.to_owned(), NAME_THE_GPU)?;
        }
        if run.rows() > 0 {
            report_made_stamps(run, "an entity that returns")?;
        }
        self.seen.report_silence(run, |_, metric| Silence {
            kind: BlindSpotKind::NotReported,
            detail: format!("{}: the column is there but is N/A throughout", metric.spec().label),
            remedy: "profiling fields need DCGM's profiling module, and nobody else holding the counters".to_owned(),
        })
    }
}

/// The metric of each column; unknown ones are named once in a warning.
fn known_columns(run: &mut ImportRun<'_>, names: &[&str]) -> Vec<Option<(Metric, f64)>> {
    let columns: Vec<_> = names.iter().map(|it| Metric::from_foreign(Dialect::Dcgmi, it)).collect();
    let is_unknown = |it: &(&&str, &Option<_>)| it.1.is_none();
    let unknown: Vec<&str> =
        names.iter().zip(&columns).filter(is_unknown).map(|it| *it.0).collect();
    if !unknown.is_empty() {
        run.warn(format!("columns not known here were left out: {}", unknown.join(", ")));
    }
    columns
}

fn readings(
    run: &mut ImportRun<'_>,
    columns: &[Option<(Metric, f64)>],
    cells: &[&str],
) -> Vec<(Metric, f64)> {
    let mut readings = Vec::with_capacity(columns.len());
    for (column, cell) in columns.iter().zip(cells) {
        let Some((metric, factor)) = column.filter(|_| !is_missing(cell)) else {
            continue;
        };
        match number(cell) {
            Ok(value) => readings.extend(value.map(|it| (metric, it * factor))),
            Err(found) => run.reject(metric.key(), "a number", &found),
        }
    }
    readings
}
