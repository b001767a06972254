//! `nvidia-smi dmon`: one row for each GPU at each tick; columns are known by their header only.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Device;
use crate::domain::sink::Fact;
use crate::import::clock::Ticks;
use crate::import::error::ImportError;
use crate::import::lines::{Lines, head_lines};
use crate::import::monitor::{Columns, MonitorClock, column_names, no_columns};
use crate::import::run::ImportRun;
use crate::import::seen::{Answers, Seen, Silence, is_hidden_by_mig};
use crate::import::{Importer, Likeness};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// Reads `nvidia-smi dmon`.
pub struct Dmon;

impl Importer for Dmon {
    fn id(&self) -> &'static str {
        "smi-dmon"
    }

    fn about(&self) -> &'static str {
        "text of `nvidia-smi dmon`, with `-o DT` or without stamps"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let is_dmon = |names: Vec<String>| {
            let has_metric =
                names.iter().any(|it| Metric::from_foreign(Dialect::Dmon, it).is_some());
            has_metric && !names.iter().any(|it| it == "pid")
        };
        match head_lines(head).iter().filter_map(|it| column_names(it)).any(is_dmon) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = DmonFile {
            columns: None,
            clock: MonitorClock::new(run),
            devices: BTreeSet::new(),
            seen: Seen::default(),
        };
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, line)?;
        }
        file.finish(run)
    }
}

struct DmonFile {
    columns: Option<Columns>,
    clock: MonitorClock<u32>,
    devices: BTreeSet<u32>,
    seen: Seen,
}

impl DmonFile {
    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if line.trim().is_empty() {
            return Ok(());
        }
        if line.trim_start().starts_with('#') {
            match (column_names(line), &mut self.columns) {
                (Some(names), _) => self.columns = Some(Columns::new(run, names, Dialect::Dmon)),
                (None, Some(columns)) => columns.take_units(line),
                (None, None) => {}
            }
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            run.reject("", "a line `# gpu …`", line);
            return Ok(());
        };
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.len() != columns.names().len() {
            run.reject("", &format!("{} cells", columns.names().len()), line);
            return Ok(());
        }
        self.row(run, &cells)
    }

    fn row(&mut self, run: &mut ImportRun<'_>, cells: &[&str]) -> Result<(), ImportError> {
        let Some(columns) = &self.columns else {
            return Ok(());
        };
        let Some(index) = columns.gpu(run, cells) else {
            return Ok(());
        };
        let begins = |ticks: &Ticks<u32>| ticks.has_seen(|it| *it > index);
        let Some(at) = self.clock.stamp(run, columns, cells, index, begins)? else {
            return Ok(());
        };
        self.clock.describe_source(run, "nvidia-smi dmon")?;
        let gpu = GpuId::from_index(index);
        if self.devices.insert(index) {
            run.fact(Fact::Device(Device { index: Some(index), ..Device::named(gpu.clone()) }))?;
        }
        let readings = columns.readings(run, cells);
        self.seen.row(run, at, &Subject::Device { gpu }, columns.asked(), &readings)
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.columns.is_none() && run.line > 0 {
            return Err(no_columns(run, "nvidia-smi dmon"));
        }
        self.clock.finish(run, "a GPU that returns")?;
        let hidden: BTreeMap<&Subject, bool> =
            self.seen.subjects().map(|(subject, it)| (subject, looks_like_mig(it))).collect();
        self.seen.report_silence(run, |subject, metric| {
            silence(metric, hidden.get(subject) == Some(&true))
        })
    }
}

/// Whether a GPU that answers otherwise is silent about all of its engines, as under MIG.
fn looks_like_mig(answers: &Answers) -> bool {
    let mut engines = answers.asked.iter().filter(|it| is_hidden_by_mig(*it)).peekable();
    engines.peek().is_some()
        && !answers.answered.is_empty()
        && engines.all(|it| !answers.answered.contains(it))
        && answers.asked.contains(Metric::GpuUtilization)
}

fn silence(metric: Metric, looks_like_mig: bool) -> Silence {
    let label = metric.spec().label;
    if looks_like_mig && is_hidden_by_mig(metric) {
        return Silence {
            kind: BlindSpotKind::HiddenByMig,
            detail: format!("{label}: dmon prints `-` for every engine of the GPU, as in MIG mode"),
            remedy: "record the instances: dcgmi dmon -e 1001,1002,1005".to_owned(),
        };
    }
    Silence {
        kind: BlindSpotKind::NotReported,
        detail: format!("{label}: the column is there but never has a reading"),
        remedy: String::new(),
    }
}
