//! Every sentence that an analysis said, with how sure it is.

use crate::analysis::findings::{Scope, SubjectFindings};
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{numbers, words};
use crate::report::sections::{Section, title};
use crate::report::wording::{clean, count, sentence};

/// More sentences than this are folded, device by device.
const UNFOLDED: usize = 40;

/// Evidence.
pub(super) struct EvidenceTable;

impl Section for EvidenceTable {
    fn id(&self) -> &'static str {
        "evidence"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = input.findings.devices.iter().map(|it| (clean(&it.label), &it.subjects));
        let unplaced = std::iter::once(("Not placed".to_owned(), &input.findings.unplaced));
        let groups: Vec<(String, Vec<Vec<Cell>>)> = devices
            .chain(unplaced)
            .map(|(name, subjects)| (name, subjects.iter().flat_map(rows).collect()))
            .filter(|(_, rows): &(String, Vec<Vec<Cell>>)| !rows.is_empty())
            .collect();
        let total: usize = groups.iter().map(|it| it.1.len()).sum();
        if total == 0 {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Every sentence of the analyses")];
        if total <= UNFOLDED {
            blocks.push(table("All evidence", groups.into_iter().flat_map(|it| it.1).collect()));
        } else {
            blocks.extend(groups.into_iter().map(|(name, rows)| Block::Details {
                summary: format!("{name}: {}", count(rows.len(), "sentence", "sentences")),
                blocks: vec![table(&format!("Evidence on {name}"), rows)],
            }));
        }
        blocks
    }
}

fn rows(subject: &SubjectFindings) -> Vec<Vec<Cell>> {
    let all = subject.scopes.iter().flat_map(|scope| {
        scope.evidence.iter().map(move |it| {
            vec![
                Cell::Name(clean(&subject.label)),
                Cell::Text(sentence(&it.sentence)),
                Cell::Name(clean(&scope.scope.to_string())),
                Cell::Text(it.analysis.to_owned()),
                Cell::Confidence(it.confidence.value()),
            ]
        })
    });
    all.collect()
}

/// Position of the part of the time in a row.
const WITHIN: usize = 2;

fn table(caption: &str, mut rows: Vec<Vec<Cell>>) -> Block {
    let mut columns = vec![
        words("About"),
        words("Finding"),
        words("Within"),
        words("Analysis"),
        numbers("Confidence"),
    ];
    let whole = Cell::Name(Scope::Whole.to_string());
    if rows.iter().all(|it| it.get(WITHIN) == Some(&whole)) {
        columns.remove(WITHIN);
        rows.iter_mut().for_each(|it| drop(it.remove(WITHIN)));
    }
    Block::Table(Table { caption: caption.to_owned(), columns, rows })
}
