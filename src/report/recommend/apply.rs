//! The files to apply, by what and for what.

use crate::recommender::configuration::Configuration;
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::words;
use crate::report::pieces::statement;
use crate::report::wording::{capitalised, sentence};

/// Files, names of resources, and what stands in the way.
pub(super) fn blocks(configuration: &Configuration) -> Vec<Block> {
    if configuration.files.is_empty() && configuration.cautions.is_empty() {
        return vec![Block::Text(
            "Nothing: no verdict asks for a change that a file could make.".to_owned(),
        )];
    }
    let mut blocks = Vec::new();
    if !configuration.files.is_empty() {
        let rows = configuration.files.iter().map(|it| {
            vec![Cell::Text(sentence(&it.name)), Cell::Text(capitalised(&sentence(&it.purpose)))]
        });
        blocks.push(Block::Text(
            "Nothing is applied by cotenant. `--config FOLDER` writes these files; `-o yaml` prints those in YAML."
                .to_owned(),
        ));
        blocks.push(Block::Table(Table {
            caption: "Files".to_owned(),
            columns: vec![words("File"), words("What it does")],
            rows: rows.collect(),
        }));
        let commands = configuration.files.iter().filter(|it| !it.apply.is_empty());
        blocks.extend(commands.map(|it| Block::Code(sentence(&it.apply))));
    }
    let resources = configuration.resources.iter();
    blocks.extend(resources.map(|it| statement(Mark::Fine, "scheduler", it, Vec::new())));
    let cautions = configuration.cautions.iter();
    blocks.extend(cautions.map(|it| statement(Mark::Indirect, "mind", it, Vec::new())));
    blocks
}
