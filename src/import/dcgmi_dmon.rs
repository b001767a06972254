//! `dcgmi dmon`: one row for each GPU or MIG instance at each tick, without stamps.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, MigInstanceId, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::{Device, MigInstance};
use crate::domain::sink::Fact;
use crate::import::error::ImportError;
use crate::import::gpu_names::given;
use crate::import::run::ImportRun;
use crate::import::run::seen::{MetricSet, Seen, Silence};
use crate::import::text::cells::{is_missing, number};
use crate::import::text::clock::RowClock;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::BTreeSet;
use std::io::BufRead;

/// What to do when a MIG instance does not say which GPU it is cut from.
const NAME_THE_GPU: &str =
    "name the GPU: --gpu gpu0, or record one GPU together with its instances";

/// What to do about stamps.
const DCGMI_HAS_NO_STAMPS: &str = "dcgmi prints none: take --start and --interval from the command that ran, or record with dcgm-exporter";

/// DCGM's first profiling field; they need hardware counters.
const FIRST_PROFILING_FIELD: u16 = 1001;

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
        let mut file = DcgmiFile {
            columns: None,
            clock: RowClock::new(run, None),
            gpus: BTreeSet::new(),
            described: BTreeSet::new(),
            has_homeless: false,
            seen: Seen::default(),
        };
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
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
struct DcgmiFile {
    columns: Option<Vec<Option<(Metric, f64)>>>,
    clock: RowClock<Entity>,
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
        let at = self.clock.make(run, entity.clone(), |_| false)?;
        let Some(subject) = entity.subject(self.parent(run)) else {
            self.has_homeless = true;
            run.reject("entity", "an instance whose GPU can be told", line);
            return Ok(());
        };
        run.describe_source(|options| self.clock.origin(options, "dcgmi dmon"))?;
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
        let named = run.options.gpu.as_deref().map(given);
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
                let (profile, tenants) = (None, Vec::new());
                run.fact(Fact::MigInstance(MigInstance { instance, profile, tenants }))
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
            self.clock.finish(run, "an entity that returns", DCGMI_HAS_NO_STAMPS)?;
        }
        self.seen.report_silence(run, |_, metric| silence(metric))
    }
}

fn silence(metric: Metric) -> Silence {
    let needs_counters = metric.spec().dcgm_id.is_some_and(|it| it >= FIRST_PROFILING_FIELD);
    let remedy = match needs_counters {
        true => {
            "profiling fields need DCGM's profiling module, and nobody else holding the counters"
        }
        false => "",
    };
    Silence {
        kind: BlindSpotKind::NotReported,
        detail: format!("{}: the column is there but is N/A throughout", metric.spec().label),
        remedy: remedy.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, gpu, read};

    fn import(text: &str) -> Outcome {
        read(&DcgmiDmon, text, &every_second())
    }

    fn instance(gpu: &str, gpu_instance: u32, compute_instance: Option<u32>) -> Subject {
        let gpu = GpuId::new(gpu);
        let instance = MigInstanceId { gpu, gpu_instance, compute_instance, generation: 0 };
        Subject::MigInstance { instance }
    }

    #[test]
    fn two_header_lines_a_blank_in_the_key_and_a_first_sample_without_reading_are_read() {
        let text = "#Entity   GRACT        SMACT        POWER       TOTEC\nID                                  W           mJ\nGPU 0     N/A          N/A          70.1        5\nGPU 0     0.250        0.125        71.0        9223372036854775794\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::SmActive), [0.125]);
        assert_eq!(it.millis(&gpu("gpu0"), Metric::SmActive), [1000]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [70_100.0, 71_000.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Energy), [5.0]);
        assert_eq!(it.summary().rejections.count(), 0);
    }

    #[test]
    fn gpus_in_falling_order_share_a_tick() {
        let text = "# Entity  GRACT\n      Id\nGPU 1  0.1\nGPU 0  0.2\nGPU 1  0.3\nGPU 0  0.4\n";
        let it = import(text);
        assert_eq!(it.millis(&gpu("gpu0"), Metric::GraphicsEngineActive), [0, 1000]);
        assert_eq!(it.values(&gpu("gpu1"), Metric::GraphicsEngineActive), [0.1, 0.3]);
    }

    #[test]
    fn ratios_stay_ratios_and_percents_stay_percents() {
        let it = import("#Entity GRACT GPUTL FBUSD\nID\nGPU 0 0.97 98 2\n");
        assert_eq!(it.values(&gpu("gpu0"), Metric::GraphicsEngineActive), [0.97]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [98.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [2_097_152.0]);
    }

    #[test]
    fn instances_are_subjects_of_their_own_where_their_gpu_can_be_told() {
        let text = "#Entity GRACT\nID\nGPU 2 0.5\nGPU-I 3 0.7\nGPU-I 2/4 0.8\nGPU-CI 2/4/1 0.9\n";
        let it = import(text);
        let active = Metric::GraphicsEngineActive;
        assert_eq!(it.values(&instance("gpu2", 3, None), active), [0.7]);
        assert_eq!(it.values(&instance("gpu2", 4, None), active), [0.8]);
        assert_eq!(it.values(&instance("gpu2", 4, Some(1)), active), [0.9]);
        assert_eq!(it.recording.outline.devices[0].is_mig, Some(true));
        assert_eq!(it.recording.outline.mig_instances.len(), 3);
    }

    #[test]
    fn instances_whose_gpu_cannot_be_told_are_left_out_or_named_by_the_user() {
        let alone = "#Entity GRACT\nID\nGPU-I 3 0.7\n";
        assert!(import(alone).error().1.contains("--gpu"));
        let options = ImportOptions { gpu: Some("gpu5".to_owned()), ..every_second() };
        let it = read(&DcgmiDmon, alone, &options);
        assert_eq!(it.values(&instance("gpu5", 3, None), Metric::GraphicsEngineActive), [0.7]);
        let several = import("#Entity GRACT\nID\nGPU 0 0.1\nGPU 1 0.2\nGPU-I 3 0.7\nSwitch 1 0\n");
        assert_eq!((several.summary().rows, several.summary().rejections.count()), (2, 2));
        assert!(several.blind_spots().contains(&"Ambiguous all all".to_owned()));
    }

    #[test]
    fn a_column_that_is_never_there_is_one_blind_spot_and_an_unknown_one_a_warning() {
        let text = "#Entity GRACT WOBBL\nID\nGPU 0 N/A 1\nGPU 0 N/A 2\nGPU 1 0.5 3\nGPU 1 0.5\n";
        let it = import(text);
        assert_eq!(
            it.blind_spots()[1..],
            ["NotReported gpu0 graphics_engine_active_ratio", "Rejected all all"]
        );
        assert!(it.summary().warnings[0].contains("WOBBL"));
    }

    #[test]
    fn a_log_without_stamps_needs_a_start_and_one_without_header_is_refused() {
        let text = "#Entity GRACT\nID\nGPU 0 0.5\n";
        let error = read(&DcgmiDmon, text, &ImportOptions::default()).error();
        assert_eq!(error.0, "log: has no time stamps");
        assert!(import("GPU 0 0.5\n").error().0.contains("#Entity"));
        assert_eq!(DcgmiDmon.recognise(text.as_bytes()), Likeness::Sure);
        assert_eq!(DcgmiDmon.recognise(b"# gpu sm\n"), Likeness::No);
    }
}
