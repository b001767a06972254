//! Stamps of files that have none: made from what the user said, tick by tick.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::stamp::StampReader;
use std::collections::BTreeSet;

/// How made stamps are named in the provenance.
pub const MADE: &str = "made from --start and --interval";

/// Counts ticks: one tick is a row of each subject, and ends when a subject returns.
#[derive(Debug)]
pub struct Ticks<K> {
    tick: i64,
    seen: BTreeSet<K>,
}

impl<K: Ord> Default for Ticks<K> {
    fn default() -> Self {
        Self { tick: 0, seen: BTreeSet::new() }
    }
}

impl<K: Ord> Ticks<K> {
    /// Stamp of the next row; `is_new` says that the row begins a tick even if its key is new.
    ///
    /// Errors: the user gave no start, or no interval and there is a second tick.
    pub fn stamp(
        &mut self,
        run: &ImportRun<'_>,
        key: K,
        is_new: bool,
    ) -> Result<Timestamp, ImportError> {
        let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
        let start = run.options.start.ok_or_else(no_stamps)?;
        if (is_new && !self.seen.is_empty()) || self.seen.contains(&key) {
            self.tick += 1;
            self.seen.clear();
        }
        self.seen.insert(key);
        if self.tick == 0 {
            return Ok(start);
        }
        let interval = run.options.interval.ok_or_else(no_stamps)?.as_micros();
        let interval = i64::try_from(interval).unwrap_or(i64::MAX);
        Ok(start.plus_micros(interval.saturating_mul(self.tick)))
    }

    /// Whether a row of the present tick had a key that passes the test.
    pub fn has_seen(&self, test: impl Fn(&K) -> bool) -> bool {
        self.seen.iter().any(test)
    }
}

/// Tells the user, and the recording, that the stamps were made up, and how to record real ones.
pub fn report_made_stamps(
    run: &mut ImportRun<'_>,
    tick_end: &str,
    remedy: &str,
) -> Result<(), ImportError> {
    let detail = format!("the file has no stamps; they were {MADE}, and {tick_end} begins a tick");
    run.warn(detail.clone());
    run.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, remedy)
}

/// Tells the user, and the recording, what the reader of stamps had to assume.
pub fn report_assumptions(
    run: &mut ImportRun<'_>,
    reader: &StampReader,
) -> Result<(), ImportError> {
    for (detail, remedy) in reader.assumptions() {
        run.warn(format!("{detail}; {remedy}"));
        run.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, &remedy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::SampleInterval;
    use crate::import::ImportOptions;
    use crate::import::testing::in_run;

    fn stamps(options: &ImportOptions, keys: &[u32]) -> Result<Vec<i64>, String> {
        let mut ticks = Ticks::default();
        let mut stamp =
            |run: &ImportRun<'_>, key| ticks.stamp(run, key, false).map(Timestamp::as_micros);
        let made: Result<_, ImportError> =
            in_run(options, |run| keys.iter().map(|it| stamp(run, *it)).collect());
        made.map_err(|it| it.to_string())
    }

    #[test]
    fn a_tick_ends_when_a_subject_returns() {
        let options = ImportOptions {
            start: Some(Timestamp::from_micros(1000)),
            interval: SampleInterval::from_micros(10),
            ..ImportOptions::default()
        };
        let made = stamps(&options, &[0, 1, 0, 1, 2, 0]).unwrap();
        assert_eq!(made, [1000, 1000, 1010, 1010, 1010, 1020]);
    }

    #[test]
    fn one_tick_needs_a_start_and_two_need_an_interval() {
        let mut options = ImportOptions::default();
        assert_eq!(stamps(&options, &[0]), Err("log: has no time stamps".to_owned()));
        options.start = Some(Timestamp::from_micros(5));
        assert_eq!(stamps(&options, &[0, 1]), Ok(vec![5, 5]));
        assert!(stamps(&options, &[0, 0]).is_err());
    }
}
