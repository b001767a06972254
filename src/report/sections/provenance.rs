//! How the result came about: settings, sources, version and command.

use crate::domain::source::Source;
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{missing, numbers, seconds_or, words};
use crate::report::sections::{Section, title};
use crate::report::wording::{capitalised, clean, sentence, span, stopped};

/// Settings and provenance.
pub(super) struct Provenance;

impl Section for Provenance {
    fn id(&self) -> &'static str {
        "provenance"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let outline = input.outline;
        let recorded = outline.span.map_or_else(
            || "The recording holds no samples.".to_owned(),
            |it| format!("Recorded {}, {} readings.", span(it), outline.readings),
        );
        let recorded = match input.recommendation.extent {
            Some(it) => format!("{recorded} {}", it.sentence()),
            None => recorded,
        };
        let mut blocks = vec![
            title(self, "Settings and provenance"),
            Block::Text(format!("{recorded} Analysed by cotenant {}.", clean(input.tool_version))),
        ];
        blocks.extend(
            input
                .recommendation
                .notes
                .iter()
                .map(|it| Block::Text(stopped(&capitalised(&sentence(it))))),
        );
        if !outline.sources.is_empty() {
            blocks.push(Block::Table(sources(&outline.sources)));
        }
        if !input.settings.is_empty() {
            blocks.push(Block::Details {
                summary: "Settings that shaped the result".to_owned(),
                blocks: vec![Block::Table(settings(input.settings))],
            });
        }
        if !input.command.trim().is_empty() {
            blocks.push(Block::Code(sentence(input.command)));
        }
        blocks
    }
}

fn sources(sources: &[Source]) -> Table {
    let row = |it: &Source| {
        let version = it.tool_version.as_deref();
        let asked = it.asked_interval.map(|it| it.as_seconds());
        vec![
            Cell::Text(clean(&it.tool)),
            version.map_or_else(
                || missing("the data does not name a version"),
                |it| Cell::Text(clean(it)),
            ),
            Cell::Text(clean(&it.format)),
            it.file.as_deref().map_or_else(|| missing("a live source"), |it| Cell::Name(clean(it))),
            seconds_or(asked, "the data does not say"),
            Cell::Text(sentence(&it.clock)),
        ]
    };
    Table {
        caption: "Where the readings come from".to_owned(),
        columns: vec![
            words("Tool"),
            words("Version"),
            words("Format"),
            words("File"),
            numbers("Asked interval"),
            words("Clock"),
        ],
        rows: sources.iter().map(row).collect(),
    }
}

fn settings(settings: &[(String, String)]) -> Table {
    let row = |(name, value): &(String, String)| {
        vec![Cell::Text(sentence(name)), Cell::Text(sentence(value))]
    };
    Table {
        caption: "Settings that shaped the result".to_owned(),
        columns: vec![words("Setting"), words("Value")],
        rows: settings.iter().map(row).collect(),
    }
}
