//! What services report about themselves: latency, throughput and the load that was offered.

use crate::analysis::findings::{Level, Scope, ScopeFindings, SubjectFindings};
use crate::domain::metric::{Metric, Unit};
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{number, numbers, seconds_or, words};
use crate::report::sections::phases::longest;
use crate::report::sections::{Section, title};
use crate::report::view::{DeviceView, SERVICE, places};
use crate::report::wording::{clean, count};
use std::collections::BTreeMap;

/// More rows than this are folded away.
const UNFOLDED_ROWS: usize = 40;

/// What services report.
pub(super) struct Services;

impl Section for Services {
    fn id(&self) -> &'static str {
        "services"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let (phases, _) = longest(input);
        let mut blocks: Vec<Block> =
            places(input).iter().filter_map(|it| of_device(it, &phases)).collect();
        if !blocks.is_empty() {
            blocks.insert(0, title(self, "What the services themselves report"));
        }
        blocks
    }
}

/// The table of a device, folded when it is long; `None` when no service reports there.
fn of_device(device: &DeviceView<'_>, phases: &BTreeMap<String, f64>) -> Option<Block> {
    let rows: Vec<Vec<Cell>> = device.everyone().flat_map(|it| rows(it, phases)).collect();
    if rows.is_empty() {
        return None;
    }
    let summary = format!("{}: {}", device.name, count(rows.len(), "row", "rows"));
    let is_long = rows.len() > UNFOLDED_ROWS;
    let table = Block::Table(Table {
        caption: format!("{}: mean and 95th percentile of what services report", device.name),
        columns: vec![
            words("Service"),
            words("Reports"),
            words("Within"),
            numbers("Mean"),
            numbers("95th pct"),
        ],
        rows,
    });
    Some(if is_long { Block::Details { summary, blocks: vec![table] } } else { table })
}

/// One row for each metric and part of the time, so that phases stand below each other.
fn rows(subject: &SubjectFindings, phases: &BTreeMap<String, f64>) -> Vec<Vec<Cell>> {
    let is_shown = |it: &&ScopeFindings| match &it.scope {
        Scope::Phase { label } => phases.contains_key(label),
        Scope::Whole | Scope::Window { .. } => true,
    };
    let row = |metric: Metric, scope: &ScopeFindings| {
        let level: &Level = scope.levels.get(&metric)?;
        Some(vec![
            Cell::Name(clean(&subject.label)),
            Cell::Text(metric.spec().label.to_owned()),
            Cell::Name(clean(&scope.scope.to_string())),
            quantity(metric, level.mean),
            quantity(metric, level.p95),
        ])
    };
    let of_metric =
        |it: Metric| subject.scopes.iter().filter(is_shown).filter_map(move |scope| row(it, scope));
    SERVICE.into_iter().flat_map(of_metric).collect()
}

fn quantity(metric: Metric, value: f64) -> Cell {
    if metric.spec().unit == Unit::Seconds {
        return seconds_or(Some(value), "the value is not a finite number");
    }
    let decimals = match value.abs() {
        it if it >= 100.0 => 0,
        it if it >= 10.0 => 1,
        _ => 2,
    };
    number(value, "/s", decimals)
}
