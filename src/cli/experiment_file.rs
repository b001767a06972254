//! Blocks of an experiment as CSV: when, and whether the suspect may run.

use crate::analysis::diagnosis_findings::ExperimentPlan;
use crate::cli::error::CliError;
use crate::cli::moment::{Moment, rfc3339};
use crate::domain::invisible::harmless;
use crate::domain::time::{TimeSpan, Timestamp};
use std::path::Path;

/// The columns, in any order.
const COLUMNS: [&str; 3] = ["from", "until", "suspect_runs"];
/// Cells that mean that the suspect runs.
const RUNS: [&str; 5] = ["yes", "true", "1", "on", "run"];
/// Cells that mean that it pauses.
const PAUSES: [&str; 5] = ["no", "false", "0", "off", "pause"];

const REMEDY: &str = "the first line is `from,until,suspect_runs`; docs/CLI.md shows a whole file";

/// What a file says about an experiment.
#[derive(Debug)]
pub(crate) struct Experiment {
    /// When, and whether the suspect ran, in the order of the file.
    pub(crate) blocks: Vec<(TimeSpan, bool)>,
    /// The suspect, from a remark `# suspect: NAME`.
    pub(crate) suspect: Option<String>,
    /// Seconds at the start of each block that do not count, from a remark `# settle_s: 20`.
    pub(crate) settle_s: Option<f64>,
}

/// Reads an experiment.
pub(crate) fn read(
    path: &Path,
    span: TimeSpan,
    zone: Option<&jiff::tz::TimeZone>,
) -> Result<Experiment, CliError> {
    let bytes =
        std::fs::read(path).map_err(|it| CliError::file(path, "reading the experiment", &it))?;
    let text = String::from_utf8_lossy(&bytes);
    let remark = |key: &str| {
        let lines = text.lines().filter_map(|it| it.trim().strip_prefix('#'));
        let found = lines.filter_map(|it| it.trim().strip_prefix(key)?.trim().strip_prefix(':'));
        found.map(|it| it.trim().to_owned()).find(|it| !it.is_empty())
    };
    Ok(Experiment {
        blocks: parse(&text, &path.display().to_string(), span, zone)?,
        suspect: remark("suspect"),
        settle_s: remark("settle_s").and_then(|it| it.parse().ok()).filter(|it| *it >= 0.0),
    })
}

fn parse(
    text: &str,
    file: &str,
    span: TimeSpan,
    zone: Option<&jiff::tz::TimeZone>,
) -> Result<Vec<(TimeSpan, bool)>, CliError> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let mut lines = lines.filter(|it| !it.1.trim().is_empty() && !it.1.trim().starts_with('#'));
    let Some((_, header)) = lines.next() else {
        return Err(CliError::usage(format!("{file}: holds no blocks"), REMEDY));
    };
    let separator = [',', ';', '\t'].into_iter().find(|it| header.contains(*it)).unwrap_or(',');
    let columns = columns(header, separator, file)?;
    let mut blocks: Vec<(TimeSpan, bool)> = Vec::new();
    for (number, line) in lines {
        let row =
            Row { file, line: number + 1, cells: cells(line, separator), columns, span, zone };
        let block = row.block()?;
        if let Some((before, _)) = blocks.iter().find(|it| it.0.overlap(block.0).is_some()) {
            let other = rfc3339(before.from());
            return Err(row.refuse(0, &format!("overlaps the block that begins at {other}")));
        }
        blocks.push(block);
    }
    if blocks.is_empty() {
        return Err(CliError::usage(format!("{file}: holds no blocks"), REMEDY));
    }
    Ok(blocks)
}

/// Where each column stands.
fn columns(header: &str, separator: char, file: &str) -> Result<[usize; 3], CliError> {
    let heads: Vec<String> =
        cells(header, separator).iter().map(|it| it.to_ascii_lowercase()).collect();
    let mut places = [0; 3];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = heads.iter().position(|it| it == column).ok_or_else(|| {
            let found = header.trim();
            CliError::usage(
                format!("{file}:1: no column is called `{column}` in `{found}`"),
                REMEDY,
            )
        })?;
    }
    Ok(places)
}

fn cells(line: &str, separator: char) -> Vec<&str> {
    line.split(separator).map(|it| it.trim().trim_matches('"').trim()).collect()
}

/// One line of the file.
struct Row<'a> {
    file: &'a str,
    line: usize,
    cells: Vec<&'a str>,
    columns: [usize; 3],
    span: TimeSpan,
    zone: Option<&'a jiff::tz::TimeZone>,
}

impl Row<'_> {
    fn block(&self) -> Result<(TimeSpan, bool), CliError> {
        let (from, until) = (self.moment(0)?, self.moment(1)?);
        let span = TimeSpan::new(from, until)
            .ok_or_else(|| self.refuse(1, "does not lie after the beginning of its block"))?;
        Ok((span, self.label()?))
    }

    fn cell(&self, column: usize) -> &str {
        self.cells.get(self.columns[column]).copied().unwrap_or_default()
    }

    fn moment(&self, column: usize) -> Result<Timestamp, CliError> {
        let moment: Moment = self.cell(column).parse().map_err(|_| {
            self.refuse(column, "is no time like 2026-01-31T12:00:00Z, 12:00 or +120s")
        })?;
        Ok(moment.within(self.span, self.zone))
    }

    fn label(&self) -> Result<bool, CliError> {
        let cell = self.cell(2).to_ascii_lowercase();
        match cell.as_str() {
            it if RUNS.contains(&it) => Ok(true),
            it if PAUSES.contains(&it) => Ok(false),
            _ => {
                Err(self
                    .refuse(2, "is neither yes nor no (true, false, 1, 0, on, off, run, pause)"))
            }
        }
    }

    fn refuse(&self, column: usize, why: &str) -> CliError {
        let (file, line, head) = (self.file, self.line, COLUMNS[column]);
        let cell = self.cell(column);
        CliError::usage(format!("{file}:{line}: column `{head}`: `{cell}` {why}"), REMEDY)
    }
}

/// The blocks of a plan with their times, to be followed and to be read again.
pub(crate) fn write(plan: &ExperimentPlan, starting: Timestamp) -> String {
    let suspect: String = harmless(&plan.suspect, ' ');
    let mut text =
        format!("# suspect: {suspect}\n# settle_s: {}\n{}\n", plan.settle_s, COLUMNS.join(","));
    let at = |position: usize| {
        starting.plus_micros((plan.block_s * 1e6).round() as i64 * position as i64)
    };
    for (position, runs) in plan.blocks.iter().enumerate() {
        let word = if *runs { "yes" } else { "no" };
        let (from, until) = (rfc3339(at(position)), rfc3339(at(position + 1)));
        text.push_str(&format!("{from},{until},{word}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::moment::timestamp;
    use crate::domain::metric::Metric;

    fn span() -> TimeSpan {
        let at = |it| timestamp(it).unwrap();
        TimeSpan::new(at("2026-01-31T09:00:00Z"), at("2026-01-31T10:00:00Z")).unwrap()
    }

    fn message(text: &str) -> String {
        parse(text, "plan.csv", span(), None).unwrap_err().message().to_owned()
    }

    #[test]
    fn blocks_are_read_in_every_form_of_time_and_label() {
        let text = "\u{feff}From; until ;suspect_runs\r\n+0s;+2m;yes\r\n# a remark\r\n\r\n09:02;09:04;\"PAUSE\"\r\n2026-01-31T09:04:00Z;+6m;1\r\n";
        let blocks = parse(text, "plan.csv", span(), None).unwrap();
        let labels: Vec<bool> = blocks.iter().map(|it| it.1).collect();
        assert_eq!(labels, [true, false, true]);
        assert!(blocks.iter().all(|it| it.0.seconds() == 120.0), "{blocks:?}");
    }

    #[test]
    fn an_error_names_file_line_column_and_the_offending_text() {
        let with = |row: &str| message(&format!("from,until,suspect_runs\n+0s,+60s,yes\n{row}\n"));
        for (row, expected) in [
            ("noon,+90s,no", "plan.csv:3: column `from`: `noon` is no time"),
            ("+60s,+50s,no", "plan.csv:3: column `until`: `+50s` does not lie after"),
            ("+60s,+90s,maybe", "plan.csv:3: column `suspect_runs`: `maybe` is neither"),
            ("+60s,+90s", "plan.csv:3: column `suspect_runs`: `` is neither"),
            ("+30s,+90s,no", "plan.csv:3: column `from`: `+30s` overlaps the block"),
        ] {
            assert!(with(row).starts_with(expected), "{}", with(row));
        }
        assert!(message("from,until\n").contains("no column is called `suspect_runs`"));
        assert!(message("").contains("holds no blocks"));
        assert!(message("from,until,suspect_runs\n").contains("holds no blocks"));
    }

    #[test]
    fn a_plan_that_was_written_is_read_as_it_was_planned() {
        let plan = ExperimentPlan {
            suspect: "batch".to_owned(),
            victim: "chat".to_owned(),
            metric: Metric::LatencyP99,
            block_s: 90.0,
            settle_s: 10.0,
            blocks: vec![true, false, false, true],
            least_p: 0.17,
            steps: Vec::new(),
        };
        let text = write(&plan, timestamp("2026-02-01T12:00:00Z").unwrap());
        let rows = text.strip_prefix("# suspect: batch\n# settle_s: 10\n").unwrap();
        assert!(rows.starts_with(
            "from,until,suspect_runs\n2026-02-01T12:00:00Z,2026-02-01T12:01:30Z,yes\n"
        ));
        let blocks = parse(&text, "plan.csv", span(), None).unwrap();
        assert_eq!(blocks.iter().map(|it| it.1).collect::<Vec<_>>(), plan.blocks);
    }
}
