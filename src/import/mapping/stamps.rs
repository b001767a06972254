//! The stamp of each row of a mapped file.

use crate::domain::time::Timestamp;
use crate::import::ImportOptions;
use crate::import::error::ImportError;
use crate::import::mapping::Mapping;
use crate::import::mapping::cells::Cells;
use crate::import::mapping::layout::TimeCells;
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::text::clock::RowClock;
use crate::import::text::stamp::{EpochUnit, epoch};

/// The stamp of each row of a mapped file.
#[derive(Debug)]
pub(crate) struct Stamps {
    clock: RowClock<usize>,
    cell: String,
    at: Option<Timestamp>,
}

impl Stamps {
    /// Stamps in the user's zone, else in the mapping's, else in UTC with a remark.
    pub(crate) fn new(mapping: &Mapping, run: &ImportRun<'_>) -> Self {
        let clock = RowClock::new(run, mapping.zone.clone());
        Self { clock, cell: String::new(), at: None }
    }

    /// The stamp in a row; the error is the text that is none. `Ok(None)`: the file has no stamps.
    pub(crate) fn read(
        &mut self,
        mapping: &Mapping,
        time: TimeCells,
        cells: &Cells<'_>,
    ) -> Result<Option<Timestamp>, String> {
        let joined;
        let cell = match time {
            TimeCells::None => return Ok(None),
            TimeCells::One(position) => cells.get(position),
            TimeCells::Two(date, time) => {
                joined = format!("{} {}", cells.get(date), cells.get(time));
                joined.as_str()
            }
        };
        // All rows of one tick carry the same text.
        if self.at.is_some() && self.cell == cell {
            return Ok(self.at);
        }
        let written = mapping.written.time.as_ref();
        let at = match (
            written.and_then(|it| it.unit.epoch()),
            written.and_then(|it| it.format.as_ref()),
        ) {
            (Some(unit), _) => counted(cell, unit)?,
            (None, Some(spelling)) => self.clock.reader.spelt(cell, spelling)?,
            (None, None) => self.clock.reader.text(cell)?,
        };
        self.at = Some(at);
        self.cell.clear();
        self.cell.push_str(cell);
        Ok(self.at)
    }

    /// The stamp of a row in a file without stamps: a subject that comes again begins the next tick.
    ///
    /// Errors: the user gave no start, or no interval and there is a second tick.
    pub(crate) fn made(
        &mut self,
        subject: usize,
        run: &ImportRun<'_>,
    ) -> Result<Timestamp, ImportError> {
        self.clock.make(run, subject, |_| false)
    }

    /// The tool that wrote the file, with what the stamps tell.
    pub(crate) fn origin(&self, options: &ImportOptions, tool: &str) -> Origin {
        self.clock.origin(options, tool)
    }

    /// Says what was assumed.
    pub(crate) fn finish(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.clock.finish(run, "a subject that returns", "record with stamps")
    }
}

/// Seconds in plain digits with up to six below the point; `None` leaves every other cell to the slow way.
fn plain_seconds(cell: &str) -> Option<Timestamp> {
    let (whole, below) = cell.split_once('.').unwrap_or((cell, ""));
    if whole.is_empty() || whole.len() > 11 || below.len() > 6 {
        return None;
    }
    let mut micros = 0_i64;
    for digit in whole.bytes().chain(below.bytes()) {
        if !digit.is_ascii_digit() {
            return None;
        }
        micros = micros * 10 + i64::from(digit - b'0');
    }
    (below.len()..6).for_each(|_| micros *= 10);
    Some(Timestamp::from_micros(micros))
}

/// A count from the Unix epoch; a program that writes tables may have written `1.66e9`.
fn counted(cell: &str, unit: EpochUnit) -> Result<Timestamp, String> {
    if let (EpochUnit::Seconds, Some(at)) = (unit, plain_seconds(cell)) {
        return Ok(at);
    }
    if !cell.contains(['e', 'E']) {
        return epoch(cell, unit);
    }
    let per_micro = match unit {
        EpochUnit::Seconds => 1e6,
        EpochUnit::Milliseconds => 1e3,
        EpochUnit::Microseconds => 1.0,
        EpochUnit::Nanoseconds => 1e-3,
    };
    match cell.parse::<f64>().map(|it| it * per_micro) {
        Ok(micros) if micros.abs() < 9e18 => Ok(Timestamp::from_micros(micros.round() as i64)),
        _ => Err(cell.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_seconds_are_what_the_slow_way_says(whole in 0_i64..99_999_999_999, below in "[0-9]{0,6}") {
            for cell in [format!("{whole}"), format!("{whole}.{below}")] {
                let plain = plain_seconds(&cell);
                prop_assert_eq!(plain, epoch(&cell, EpochUnit::Seconds).ok(), "{}", cell);
            }
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_slow_way() {
        for cell in ["", "-1", "1.2345678", "1e9", "123456789012", "1.2.3", ".5"] {
            assert_eq!(plain_seconds(cell), None, "{cell}");
        }
    }
}
