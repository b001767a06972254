//! Rows that name no GPU: can they all be about one?
//!
//! nvidia-smi prints one row for each GPU at every tick, a few milliseconds apart at most. So two
//! different rows with one stamp, or steps that come in bursts, prove that there are several GPUs.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::Subject;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::smi::csv::{NAME_THE_GPU, unnamed_gpu};

/// Steps that are looked at for bursts; later ones are checked for equal stamps only.
const STEPS: usize = 64;
/// A step is part of a burst if it is shorter than the usual one by this factor.
const BURST: i64 = 5;
/// No query is answered faster than this, in microseconds.
const FASTEST_QUERY_MICROS: i64 = 2_000;
/// Identical rows with one stamp are a stutter of the logger if they are rarer than one in so many.
const STUTTER: u64 = 10;

/// Watches rows that name no GPU for signs that there are several.
#[derive(Debug, Default)]
pub struct UnnamedGpu {
    rows: u64,
    repeats: u64,
    same_stamp: usize,
    is_proven: bool,
    last: Option<(Timestamp, String, String)>,
    last_line: u64,
    steps: Vec<i64>,
}

impl UnnamedGpu {
    /// Takes notice of a row; the stamp as printed goes into the message.
    ///
    /// Errors: several GPUs are proven.
    pub fn row(
        &mut self,
        run: &ImportRun<'_>,
        at: Timestamp,
        stamp: &str,
        line: &str,
    ) -> Result<(), ImportError> {
        self.rows += 1;
        match &self.last {
            Some((last, _, text)) if *last == at => {
                self.same_stamp += 1;
                match text == line {
                    true => self.repeats += 1,
                    false => self.is_proven = true,
                }
            }
            Some((last, _, _)) => {
                let step = at.micros_since(*last);
                self.check(run)?;
                self.same_stamp = 1;
                if self.steps.len() < STEPS {
                    self.steps.push(step);
                    if self.steps.len() == STEPS {
                        self.check_bursts(run)?;
                    }
                }
            }
            None => self.same_stamp = 1,
        }
        self.last = Some((at, stamp.to_owned(), line.to_owned()));
        self.last_line = run.line;
        Ok(())
    }

    /// Sums up at the end: all rows were taken for one GPU, which the recording should know.
    ///
    /// Errors: several GPUs are proven.
    pub fn finish(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.check(run)?;
        self.check_bursts(run)?;
        if self.repeats * STUTTER >= self.rows {
            return Err(self.error(run, self.same_stamp.max(2), ""));
        }
        report_assumed_gpu(run)
    }

    fn check(&self, run: &ImportRun<'_>) -> Result<(), ImportError> {
        match self.is_proven {
            true => Err(self.error(run, self.same_stamp, "")),
            false => Ok(()),
        }
    }

    /// More than a quarter of the steps being far shorter than the long ones means bursts.
    fn check_bursts(&self, run: &ImportRun<'_>) -> Result<(), ImportError> {
        let mut steps = self.steps.clone();
        steps.sort_unstable();
        let Some(usual) = steps.get(steps.len().saturating_sub(1) * 95 / 100) else {
            return Ok(());
        };
        let short = (usual / BURST).max(FASTEST_QUERY_MICROS);
        let bursts = steps.iter().filter(|it| (0..=short).contains(*it)).count();
        match bursts * 4 > steps.len() {
            true => Err(self.error(run, 2, " (or follow within milliseconds)")),
            false => Ok(()),
        }
    }

    fn error(&self, run: &ImportRun<'_>, rows: usize, addition: &str) -> ImportError {
        let stamp = self.last.as_ref().map_or("", |it| it.1.as_str());
        several_gpus(run.file(), self.last_line, rows, &format!("{stamp}{addition}"))
    }
}

/// The error that several GPUs share the rows up to a line.
pub fn several_gpus(file: &str, line: u64, rows: usize, stamp: &str) -> ImportError {
    ImportError::AmbiguousGpu {
        file: file.to_owned(),
        line,
        rows,
        stamp: stamp.to_owned(),
        remedy: NAME_THE_GPU.to_owned(),
    }
}

/// Tells the user, and the recording, that rows without a name were taken for one GPU.
pub fn report_assumed_gpu(run: &mut ImportRun<'_>) -> Result<(), ImportError> {
    if run.options.gpu.is_some() {
        return Ok(());
    }
    let gpu = unnamed_gpu(run);
    let detail = format!("no column names the GPU; all rows were taken for one, {gpu}");
    run.warn(format!("{detail}; {NAME_THE_GPU}"));
    let subject = Some(Subject::device(&gpu));
    run.blind_spot(BlindSpotKind::Ambiguous, subject, None, detail, NAME_THE_GPU)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::in_run;

    fn judge(rows: &[(i64, &str)]) -> Result<(), String> {
        let mut unnamed = UnnamedGpu::default();
        let judged = in_run(&ImportOptions::default(), |run| {
            for (millis, line) in rows {
                let at = Timestamp::from_micros(millis * 1000);
                unnamed.row(run, at, &format!("{millis} ms"), line)?;
            }
            unnamed.finish(run)
        });
        judged.map_err(|it| it.to_string())
    }

    #[test]
    fn one_row_for_each_stamp_can_be_one_gpu() {
        assert_eq!(judge(&[(0, "a"), (50, "b"), (101, "b"), (151, "c")]), Ok(()));
        assert_eq!(judge(&[(0, "a")]), Ok(()));
    }

    #[test]
    fn different_rows_with_one_stamp_are_several_gpus_and_are_counted() {
        let error = judge(&[(0, "a"), (50, "b"), (50, "c"), (50, "d"), (100, "e")]).unwrap_err();
        assert_eq!(error, "log:0: 3 rows carry the stamp `50 ms`, and no column names the GPU");
    }

    #[test]
    fn rows_that_come_in_bursts_are_several_gpus_even_without_equal_stamps() {
        assert!(judge(&[(0, "a"), (1, "b"), (50, "a"), (51, "b"), (100, "a")]).is_err());
        assert!(judge(&[(0, "a"), (1, "b")]).is_err());
    }

    #[test]
    fn a_line_that_a_logger_wrote_twice_is_no_second_gpu_but_constant_repeats_are() {
        let lines: Vec<String> = (0..40).map(|it| it.to_string()).collect();
        let mut rows: Vec<(i64, &str)> =
            (0..40).map(|it| (it * 50, lines[it as usize].as_str())).collect();
        rows.insert(8, rows[7]);
        assert_eq!(judge(&rows), Ok(()));
        assert!(judge(&[(0, "a"), (0, "a"), (50, "a"), (50, "a")]).is_err());
    }

    #[test]
    fn a_long_pause_is_no_burst() {
        let mut rows: Vec<(i64, &str)> = (0..30).map(|it| (it * 50, "a")).collect();
        rows.extend((0..30).map(|it| (3_600_000 + it * 50, "a")));
        assert_eq!(judge(&rows), Ok(()));
    }
}
