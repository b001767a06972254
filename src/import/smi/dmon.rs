//! `nvidia-smi dmon`: one row for each GPU at each tick; columns are known by their header only.

use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::seen::{Answers, Seen, Silence, is_hidden_by_mig};
use crate::import::smi::monitor::{Columns, Rows, column_names, take_heading};
use crate::import::text::clock::Ticks;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
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
        let rows = Rows::new(run, "nvidia-smi dmon");
        let mut file = DmonFile { columns: None, rows, seen: Seen::default() };
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
        }
        file.finish(run)
    }
}

struct DmonFile {
    columns: Option<Columns>,
    rows: Rows<u32>,
    seen: Seen,
}

impl DmonFile {
    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if take_heading(&mut self.columns, run, line, Dialect::Dmon) {
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
        let Some(index) = columns.gpu(run, &cells) else {
            return Ok(());
        };
        let begins = |ticks: &Ticks<u32>| ticks.has_seen(|it| *it > index);
        let Some(at) = self.rows.begin(run, columns, &cells, (index, index), begins)? else {
            return Ok(());
        };
        let readings = columns.readings(run, &cells);
        let subject = Subject::Device { gpu: GpuId::from_index(index) };
        self.seen.row(run, at, &subject, columns.asked(), &readings)
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.rows.finish(run, self.columns.as_ref(), "a GPU that returns")?;
        let hidden: BTreeMap<&Subject, bool> =
            self.seen.subjects().map(|(subject, it)| (subject, looks_like_mig(it))).collect();
        self.seen.report_silence(run, |subject, metric| {
            match hidden.get(subject) == Some(&true) && is_hidden_by_mig(metric) {
                true => Silence::hidden_by_mig(
                    metric,
                    "dmon prints `-` for every engine of the GPU, as in MIG mode",
                ),
                false => Silence::unexplained(metric),
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, gpu, read};

    const MIB: f64 = 1_048_576.0;

    fn import(text: &str) -> Outcome {
        read(&Dmon, text, &every_second())
    }

    #[test]
    fn columns_are_known_by_their_names_whatever_their_order() {
        let old = "# gpu   pwr gtemp    sm   mem  mclk  pclk\n# Idx     W     C     %     %   MHz   MHz\n    0    70    48    99    63  7000  1755\n";
        let new = "# gpu    pclk    sm  jpg  ofa   mem    pwr   fb  rxpci\n# Idx     MHz     %    %    %     %      W   MB   MB/s\n    0    1755    99    0    -    63     70   12     44 \n";
        for text in [old, new] {
            let it = import(text);
            assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [99.0], "{text}");
            assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [70_000.0], "{text}");
            assert_eq!(it.values(&gpu("gpu0"), Metric::SmClock), [1755.0], "{text}");
        }
        let it = import(new);
        assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [12.0 * MIB]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::PcieReceive), [44e6]);
        assert!(it.blind_spots().contains(&"NotReported gpu0 ofa_utilization_pct".to_owned()));
    }

    #[test]
    fn date_and_time_columns_stamp_the_rows_and_blank_lines_and_new_headers_do_not_matter() {
        let text = "#Date       Time        gpu     sm \n#YYYYMMDD   HH:MM:SS    Idx      % \n 20260101   00:00:01      0      6 \n\n#Date       Time        gpu     sm \n#YYYYMMDD   HH:MM:SS    Idx      % \n 20260101   00:00:02      0      7 \n";
        let it = read(&Dmon, text, &ImportOptions::default());
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [6.0, 7.0]);
        let start = 1_767_225_600_000;
        assert_eq!(it.millis(&gpu("gpu0"), Metric::GpuUtilization), [start + 1000, start + 2000]);
        assert_eq!(it.summary().rejections.count(), 0);
        assert_eq!(it.recording.outline.sources[0].clock, "assumed UTC");
    }

    #[test]
    fn a_time_without_date_takes_the_day_of_the_start_and_moves_on_at_midnight() {
        let text = "#Time        gpu     sm \n#HH:MM:SS    Idx      % \n 23:59:59      0      6 \n 00:00:01      0      7 \n";
        let start = Timestamp::from_micros(1_767_225_600_000_000);
        let options = ImportOptions { start: Some(start), ..ImportOptions::default() };
        let millis = read(&Dmon, text, &options).millis(&gpu("gpu0"), Metric::GpuUtilization);
        assert_eq!(millis[0], 1_767_225_600_000 + 86_399_000);
        assert_eq!(millis[1] - millis[0], 2000);
        let (error, remedy) = read(&Dmon, text, &ImportOptions::default()).error();
        assert_eq!(error, "log: has no time stamps");
        assert!(remedy.contains("--start"));
    }

    #[test]
    fn without_stamps_a_tick_ends_when_a_gpu_returns_or_a_lower_one_does() {
        let text = "# gpu sm\n# Idx %\n 0 1\n 1 2\n 0 3\n 1 4\n 1 5\n 0 6\n";
        let it = import(text);
        assert_eq!(it.millis(&gpu("gpu0"), Metric::GpuUtilization), [0, 1000, 3000]);
        assert_eq!(it.millis(&gpu("gpu1"), Metric::GpuUtilization), [0, 1000, 2000]);
        assert_eq!(
            read(&Dmon, text, &ImportOptions::default()).error().0,
            "log: has no time stamps"
        );
    }

    #[test]
    fn a_gpu_that_is_silent_about_all_its_engines_is_in_mig_mode() {
        let text = "# gpu pwr mtemp sm mem enc\n# Idx W C % % %\n 0 70 - - - -\n 1 70 - 5 - 0\n";
        let spots = import(text).blind_spots();
        assert_eq!(
            spots[1..],
            [
                "HiddenByMig gpu0 gpu_utilization_pct",
                "HiddenByMig gpu0 memory_utilization_pct",
                "HiddenByMig gpu0 encoder_utilization_pct",
                "NotReported gpu0 memory_temperature_celsius",
                "NotReported gpu1 memory_utilization_pct",
                "NotReported gpu1 memory_temperature_celsius",
            ]
        );
    }

    #[test]
    fn ragged_rows_odd_cells_and_unknown_columns_are_told_and_left_out() {
        let text = "# gpu sm wobble\n# Idx % %\n 0 1\n 0 x 3\n zero 1 2\n 0 7 1\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [7.0]);
        assert_eq!(it.summary().rejections.count(), 3);
        assert!(it.summary().warnings[0].contains("wobble"));
    }

    #[test]
    fn a_log_without_its_header_is_refused_with_what_to_do() {
        let (error, remedy) = import(" 0 1 2\n").error();
        assert!(error.contains("# gpu"), "{error}");
        assert!(remedy.contains('#'), "{remedy}");
        assert_eq!(import("").error().0, "log: holds no samples");
    }

    #[test]
    fn pmon_and_other_texts_are_not_taken_for_dmon() {
        for head in ["# gpu pid type sm\n", "#Entity GRACT\n", "# gpu of mine\n", "gpu,sm\n"] {
            assert_eq!(Dmon.recognise(head.as_bytes()), Likeness::No, "{head}");
        }
    }
}
