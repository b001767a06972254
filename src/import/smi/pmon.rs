//! `nvidia-smi pmon`: one row for each process on each GPU at each tick.
//!
//! A process that holds memory but runs nothing gets `-` in every utilisation column. That is a
//! gap, not zero: the driver has no sample of it. The process is still described to the sink.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::seen::{Seen, Silence, is_hidden_by_mig};
use crate::import::smi::monitor::{Columns, Rows, column_names, take_heading};
use crate::import::smi::program::{Programs, short_name};
use crate::import::text::cells::is_missing;
use crate::import::text::clock::Ticks;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Reads `nvidia-smi pmon`.
pub struct Pmon;

impl Importer for Pmon {
    fn id(&self) -> &'static str {
        "smi-pmon"
    }

    fn about(&self) -> &'static str {
        "text of `nvidia-smi pmon`, with `-o DT` or without stamps"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let is_pmon = |names: Vec<String>| names.iter().any(|it| it == "pid");
        match head_lines(head).iter().filter_map(|it| column_names(it)).any(is_pmon) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = PmonFile {
            columns: None,
            rows: Rows::new(run, "nvidia-smi pmon"),
            programs: Programs::default(),
            gpus: BTreeMap::new(),
            seen: Seen::default(),
        };
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
        }
        file.finish(run)
    }
}

/// GPU and process of a row; no process where the GPU has none.
type Key = (u32, Option<u32>);

/// What is known of the processes of one GPU as a whole.
#[derive(Debug, Clone, Copy, Default)]
struct GpuState {
    has_compute: bool,
    has_utilisation: bool,
}

struct PmonFile {
    columns: Option<Columns>,
    rows: Rows<Key>,
    programs: Programs,
    gpus: BTreeMap<GpuId, GpuState>,
    seen: Seen,
}

impl PmonFile {
    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if take_heading(&mut self.columns, run, line, Dialect::Pmon) {
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            run.reject("", "a line `# gpu pid …`", line);
            return Ok(());
        };
        let Some(cells) = cells(columns, line) else {
            run.reject("", &format!("{} cells", columns.names().len()), line);
            return Ok(());
        };
        let Some(index) = columns.gpu(run, &cells) else {
            return Ok(());
        };
        let pid_cell = columns.position("pid").map_or("-", |it| cells[it]);
        let pid: Option<u32> = pid_cell.parse().ok();
        if pid.is_none() && !is_missing(pid_cell) {
            run.reject("pid", "a process id", pid_cell);
            return Ok(());
        }
        let key = (index, pid);
        let begins = |ticks: &Ticks<Key>| ticks.has_seen(|it| ends_tick(*it, key));
        let Some(at) = self.rows.begin(run, columns, &cells, (index, key), begins)? else {
            return Ok(());
        };
        let Some(pid) = pid else { return Ok(()) };
        let gpu = GpuId::from_index(index);
        let command = columns.position("command").and_then(|it| cells.get(it));
        self.programs.tell(run, &gpu, pid, command.and_then(|it| short_name(it)))?;
        let readings = columns.readings(run, &cells);
        let state = self.gpus.entry(gpu.clone()).or_default();
        let kind = columns.position("type").and_then(|it| cells.get(it));
        state.has_compute |= kind.is_some_and(|it| *it == "C");
        state.has_utilisation |= readings.iter().any(|it| is_hidden_by_mig(it.0));
        let subject = Subject::Process { gpu, process: ProcessKey { pid, started: None } };
        self.seen.row(run, at, &subject, columns.asked(), &readings)
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let tick_end = "a process that returns, or a GPU with a lower index,";
        self.rows.finish(run, self.columns.as_ref(), tick_end)?;
        self.seen.report_silence(run, |subject, metric| {
            let state = subject.gpu().and_then(|it| self.gpus.get(it)).copied().unwrap_or_default();
            silence(metric, state)
        })
    }
}

/// Whether a row ends the tick that an earlier row of it belongs to.
///
/// Rows come by GPU, and a GPU without processes has one row with `-`.
fn ends_tick(earlier: Key, row: Key) -> bool {
    earlier.0 > row.0 || (earlier.0 == row.0 && (earlier.1.is_none() || row.1.is_none()))
}

/// Splits a row at blanks as far as its fixed columns go; the rest is the command, blanks and all.
///
/// `None` for a row that lacks cells; only the command may be missing.
fn cells<'a>(columns: &Columns, line: &'a str) -> Option<Vec<&'a str>> {
    let fixed = columns.position("command").unwrap_or(columns.names().len());
    let mut cells = Vec::with_capacity(fixed + 1);
    let mut rest = line.trim();
    for _ in 0..fixed {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        cells.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    cells.push(rest);
    Some(cells)
}

/// Why a process never had a reading.
///
/// pmon does not say whether MIG is on. Of compute processes of which none ever had a reading,
/// MIG is the likelier explanation by far, and the sentence names the other one.
fn silence(metric: Metric, state: GpuState) -> Silence {
    if is_hidden_by_mig(metric) && state.has_compute && !state.has_utilisation {
        return Silence::hidden_by_mig(
            metric,
            "pmon prints `-` for every process on the GPU, as in MIG mode (or all were idle throughout)",
        );
    }
    Silence {
        kind: BlindSpotKind::NotReported,
        detail: format!(
            "{}: pmon prints `-` throughout; the process was idle, or the driver does not count it",
            metric.spec().label
        ),
        remedy: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, process, read};

    const MIB: f64 = 1_048_576.0;

    fn import(text: &str) -> Outcome {
        read(&Pmon, text, &every_second())
    }

    #[test]
    fn an_idle_tenant_is_known_but_has_no_reading_and_never_zero() {
        let text = "# gpu  pid type sm mem enc command\n# Idx  # C/G % % % name\n 0 11 C - - - hog \n 0 12 C 99 10 - burn\n";
        let it = import(text);
        assert_eq!(it.values(&process("gpu0", 12), Metric::GpuUtilization), [99.0]);
        assert_eq!(it.values(&process("gpu0", 11), Metric::GpuUtilization), [0.0; 0]);
        assert_eq!(it.recording.outline.processes.len(), 2);
        assert!(
            it.blind_spots().contains(&"NotReported gpu0 pid 11 gpu_utilization_pct".to_owned())
        );
    }

    #[test]
    fn under_mig_every_process_is_known_and_its_utilisation_is_a_blind_spot() {
        let text = "# gpu pid type sm mem command\n 0 11 C - - a\n 0 12 C - - b\n 1 13 G - - c\n";
        let it = import(text);
        assert_eq!(it.summary().rows, 0);
        assert_eq!(
            it.blind_spots()[1..],
            [
                "HiddenByMig gpu0 pid 11 gpu_utilization_pct",
                "HiddenByMig gpu0 pid 11 memory_utilization_pct",
                "HiddenByMig gpu0 pid 12 gpu_utilization_pct",
                "HiddenByMig gpu0 pid 12 memory_utilization_pct",
                "NotReported gpu1 pid 13 gpu_utilization_pct",
                "NotReported gpu1 pid 13 memory_utilization_pct",
            ]
        );
    }

    #[test]
    fn column_sets_of_old_and_new_drivers_are_read_by_name() {
        let old = "# gpu        pid  type    sm   mem   enc   dec    fb   command\n# Idx          #   C/G     %     %     %     %    MB   name\n    0       7372     C     2     0     2     -   136   ffmpeg\n";
        let new = "# gpu   pid   type     fb   ccpm    sm    mem    enc    dec    jpg    ofa    command \n# Idx     #    C/G     MB     MB     %      %      %      %      %      %    name \n    0  7372    C+G    136      0     2      0      2      -      -      -    ffmpeg         \n";
        for text in [old, new] {
            let it = import(text);
            assert_eq!(it.values(&process("gpu0", 7372), Metric::GpuUtilization), [2.0], "{text}");
            assert_eq!(
                it.values(&process("gpu0", 7372), Metric::FramebufferUsed),
                [136.0 * MIB],
                "{text}"
            );
        }
    }

    #[test]
    fn a_command_may_hold_blanks_and_be_cut_short() {
        let text = "# gpu pid type sm mem command\n# Idx # C/G % % name\n 0 4680 C+G 1 - Some Overlay.exe\n 0 4681 C+G 1 -   SomeVeryLongName\n";
        let names: Vec<_> = import(text)
            .recording
            .outline
            .processes
            .iter()
            .map(|it| it.name.clone().unwrap())
            .collect();
        assert_eq!(names, ["Some Overlay.exe", "SomeVeryLongName"]);
    }

    #[test]
    fn a_gpu_without_processes_and_a_row_without_command_are_no_error() {
        let text = "# gpu pid type sm mem command\n# Idx # C/G % % name\n 0 - - - - -     \n 0 - - - - \n 0 5 C 7 1 a\n 0 5 C\n";
        let it = import(text);
        assert_eq!(it.millis(&process("gpu0", 5), Metric::GpuUtilization), [2000]);
        assert_eq!(it.summary().rejections.count(), 1);
    }

    #[test]
    fn without_stamps_a_tick_ends_when_a_process_returns_or_a_lower_gpu_does() {
        let text = "# gpu pid type sm mem command\n 0 5 C 1 1 a\n 1 6 C 1 1 b\n 0 5 C 1 1 a\n 1 - - - - -\n 0 7 C 1 1 c\n 1 6 C 1 1 b\n";
        let it = import(text);
        assert_eq!(it.millis(&process("gpu0", 5), Metric::GpuUtilization), [0, 1000]);
        assert_eq!(it.millis(&process("gpu0", 7), Metric::GpuUtilization), [2000]);
        assert_eq!(it.millis(&process("gpu1", 6), Metric::GpuUtilization), [0, 2000]);
    }

    #[test]
    fn date_and_time_stand_in_front_when_they_were_asked_for() {
        let text = "#Date       Time        gpu         pid   type     sm    mem    command \n#YYYYMMDD   HH:MM:SS    Idx           #    C/G      %      %    name \n 20260101   00:00:01      0          77      C      5      1    a b     \n";
        let it = read(&Pmon, text, &ImportOptions::default());
        assert_eq!(it.millis(&process("gpu0", 77), Metric::GpuUtilization), [1_767_225_601_000]);
        assert_eq!(it.recording.outline.processes[0].name.as_deref(), Some("a b"));
    }

    #[test]
    fn a_log_that_saw_no_process_holds_no_samples() {
        let text = "# gpu pid type sm mem command\n 0 - - - - -\n 0 - - - - -\n";
        assert_eq!(import(text).error().0, "log: holds no samples");
        assert_eq!(Pmon.recognise(text.as_bytes()), Likeness::Sure);
        assert_eq!(Pmon.recognise(b"# gpu sm\n"), Likeness::No);
    }
}
