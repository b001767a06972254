//! Words and their meanings as a report.

use crate::report::Report;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::words;
use crate::report::explain::{Entry, Kind, MetricFacts};
use crate::report::pieces::heading;
use crate::report::wording::{capitalised, slug};

/// What these words mean, one after the other.
pub fn report(found: &[&Entry]) -> Report {
    let mut blocks = Vec::new();
    let (title, subtitle) = match found {
        [one] if one.kind == Kind::Metric => (one.name.clone(), one.kind.in_words().to_owned()),
        [one] => (capitalised(&one.name), one.kind.in_words().to_owned()),
        _ => ("What that may mean".to_owned(), String::new()),
    };
    for (position, entry) in found.iter().enumerate() {
        if found.len() > 1 {
            let anchor = format!("{}-{position}", slug(&entry.name));
            let text = format!("{}, {}", entry.name, entry.kind.in_words());
            blocks.push(heading(4, &anchor, &text));
        }
        blocks.push(Block::Text(entry.meaning.clone()));
        blocks.extend(entry.metric.iter().map(|it| Block::Table(facts(it))));
    }
    Report { title, subtitle, blocks }
}

/// Every word: names only, or with their meanings.
pub fn list(all: &[Entry], with_meanings: bool) -> Report {
    let mut blocks = Vec::new();
    for kind in Kind::ALL {
        let mine = all.iter().filter(|it| it.kind == kind);
        blocks.push(heading(3, &slug(kind.heading()), kind.heading()));
        if with_meanings {
            let term =
                |it: &Entry| Block::Term { term: it.name.clone(), meaning: it.meaning.clone() };
            blocks.extend(mine.map(term));
        } else {
            let mut names: Vec<&str> = mine.map(|it| it.name.as_str()).collect();
            names.dedup();
            blocks.push(Block::Text(names.join(", ")));
        }
    }
    Report {
        title: "Words that cotenant explains".to_owned(),
        subtitle: "cotenant explain WORD tells one of them; a metric is also found by its name in other tools"
            .to_owned(),
        blocks,
    }
}

fn facts(it: &MetricFacts) -> Table {
    let mut rows = vec![
        ("Name", it.label.to_owned()),
        ("Unit", it.unit.to_owned()),
        ("About", it.about.to_owned()),
        ("One value is", it.reading.to_owned()),
        ("Believable", format!("{} to {}", plain(it.least), plain(it.greatest))),
    ];
    rows.extend(it.dcgm_field.map(|it| ("DCGM field", it.to_string())));
    let mut tools: Vec<&str> = it.names.iter().map(|it| it.tool).collect();
    tools.dedup();
    let mut told: Vec<&str> = Vec::new();
    for tool in tools {
        if told.contains(&tool) {
            continue;
        }
        told.push(tool);
        let names = it.names.iter().filter(|it| it.tool == tool).map(|it| match it.factor {
            1.0 => it.name.to_owned(),
            factor => format!("{} × {}", it.name, plain(factor)),
        });
        rows.push((tool, names.collect::<Vec<_>>().join(", ")));
    }
    Table {
        caption: String::new(),
        columns: vec![words(""), words("")],
        rows: rows
            .into_iter()
            .map(|it| vec![Cell::Text(it.0.to_owned()), Cell::Text(it.1)])
            .collect(),
    }
}

/// A number as short as it can be written.
fn plain(value: f64) -> String {
    if value.abs() >= 1e9 { format!("{value:e}") } else { format!("{value}") }
}
