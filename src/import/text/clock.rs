//! When a row was: by its own stamp, or tick by tick from what the user said.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::time::Timestamp;
use crate::import::ImportOptions;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::text::stamp::StampReader;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// How made stamps are named in the provenance.
const MADE: &str = "made from --start and --interval";

/// Counts ticks: one tick is a row of each subject, and ends when a subject returns.
#[derive(Debug)]
pub struct Ticks<K> {
    tick: i64,
    seen: BTreeSet<K>,
}

impl<K: Ord> Ticks<K> {
    /// Whether a row of the present tick had a key that passes the test.
    pub fn has_seen(&self, test: impl Fn(&K) -> bool) -> bool {
        self.seen.iter().any(test)
    }

    /// Whether there was no row yet.
    fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}

/// Stamps the rows of one file; `K` tells apart the rows of one tick where they carry no stamps.
#[derive(Debug)]
pub struct RowClock<K> {
    /// Reads the stamps that rows carry.
    pub reader: StampReader,
    ticks: Ticks<K>,
}

impl<K: Ord> RowClock<K> {
    /// A clock for stamps in the user's zone, or else in this one, where they carry none.
    pub fn new(run: &ImportRun<'_>, zone: Option<TimeZone>) -> Self {
        let zone = run.options.time_zone.clone().or(zone);
        let ticks = Ticks { tick: 0, seen: BTreeSet::new() };
        Self { reader: StampReader::new(zone), ticks }
    }

    /// The stamp that a cell holds; `None` when it holds none and was rejected.
    pub fn read(&mut self, run: &mut ImportRun<'_>, column: &str, cell: &str) -> Option<Timestamp> {
        let read = self.reader.text(cell);
        read.map_err(|found| run.reject(column, "a time stamp", &found)).ok()
    }

    /// Makes the stamp of a row that carries none; a key that returns begins the next tick.
    ///
    /// `begins` says whether the row begins one even if its key is new. Errors: the user gave no
    /// start, or no interval and there is a second tick.
    pub fn make(
        &mut self,
        run: &ImportRun<'_>,
        key: K,
        begins: impl Fn(&Ticks<K>) -> bool,
    ) -> Result<Timestamp, ImportError> {
        let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
        let start = run.options.start.ok_or_else(no_stamps)?;
        let ticks = &mut self.ticks;
        if !ticks.is_empty() && (ticks.seen.contains(&key) || begins(ticks)) {
            ticks.tick += 1;
            ticks.seen.clear();
        }
        ticks.seen.insert(key);
        if ticks.tick == 0 {
            return Ok(start);
        }
        let interval = run.options.interval.ok_or_else(no_stamps)?.as_micros();
        let interval = i64::try_from(interval).unwrap_or(i64::MAX);
        Ok(start.plus_micros(interval.saturating_mul(ticks.tick)))
    }

    /// Whether a stamp was made.
    pub fn has_made(&self) -> bool {
        !self.ticks.is_empty()
    }

    /// The tool that wrote the file, with what the clock knows; is right from the first stamp on.
    pub fn origin(&self, options: &ImportOptions, tool: &str) -> Origin {
        let clock = if self.has_made() { MADE.to_owned() } else { self.reader.clock() };
        let asked_interval = options.interval.filter(|_| self.has_made());
        Origin { tool: tool.to_owned(), asked_interval, clock, ..Origin::default() }
    }

    /// Tells the user, and the recording, what was assumed about stamps, and how to record real ones.
    pub fn finish(
        &self,
        run: &mut ImportRun<'_>,
        tick_end: &str,
        remedy: &str,
    ) -> Result<(), ImportError> {
        if self.has_made() {
            let detail =
                format!("the file has no stamps; they were {MADE}, and {tick_end} begins a tick");
            run.warn(detail.clone());
            run.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, remedy)?;
        }
        self.report_assumptions(run)
    }

    /// Tells the user, and the recording, what was assumed about the stamps that rows carry.
    pub fn report_assumptions(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        for (detail, remedy) in self.reader.assumptions() {
            run.warn(format!("{detail}; {remedy}"));
            run.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, &remedy)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::SampleInterval;
    use crate::import::testing::in_run;

    fn stamps(options: &ImportOptions, keys: &[u32]) -> Result<Vec<i64>, String> {
        let made: Result<_, ImportError> = in_run(options, |run| {
            let mut clock = RowClock::new(run, None);
            keys.iter()
                .map(|it| clock.make(run, *it, |_| false).map(Timestamp::as_micros))
                .collect()
        });
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
