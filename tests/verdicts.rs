//! The tables of `docs/VERDICTS.md`: every situation gets the verdict that the page gives it.

mod verdict_world;

use cotenant::recommender::decide::decide;
use cotenant::recommender::policy::Policy;
use cotenant::recommender::reason::{ReasonKind, Weight};
use cotenant::recommender::verdict::{Outcome, Verdict};
use std::path::Path;
use verdict_world::situation;

/// Situations that the page has at least.
const LEAST_SITUATIONS: usize = 60;

/// One row of the page.
struct Row {
    line: usize,
    cells: Vec<String>,
}

impl Row {
    fn cell(&self, name: &str) -> &str {
        let columns =
            ["Situation", "Device", "Tenants", "Verdict", "Comes to", "Decided by", "Others"];
        let place = columns.iter().position(|it| *it == name).expect("a column of the page");
        &self.cells[place]
    }
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/VERDICTS.md");
    std::fs::read_to_string(path).expect("the page is there")
}

fn rows(page: &str) -> Vec<Row> {
    let is_table = |cells: &[String]| cells.len() == 7 && cells[0] != "Situation";
    (1..)
        .zip(page.lines())
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("|---"))
        .map(|(line, text)| {
            let inner = text.trim().trim_start_matches('|').trim_end_matches('|');
            Row { line, cells: inner.split('|').map(|it| it.trim().to_owned()).collect() }
        })
        .filter(|it| is_table(&it.cells))
        .collect()
}

fn word(verdict: &Verdict) -> &'static str {
    match (verdict.outcome, verdict.mechanism().map(|it| it.word())) {
        (Outcome::NotEnoughEvidence, _) => "not enough evidence",
        (_, Some("mig")) => "MIG",
        (_, Some("mps")) => "MPS",
        (_, Some("time-slicing")) => "time slicing",
        (_, Some("exclusive")) => "exclusive",
        _ => "nobody",
    }
}

/// Whether the profiles are those of the cell: `1g.10gb + 3g.40gb or 4g.40gb`, tenant by tenant; or `10 fit`.
fn comes_to(verdict: &Verdict, cell: &str) -> bool {
    let Some(chosen) = &verdict.chosen else { return cell.is_empty() };
    if let Some(count) = cell.strip_suffix(" fit") {
        return chosen.capacity.as_ref().is_some_and(|it| it.tenants.to_string() == count);
    }
    let profiles = chosen.profiles();
    let wanted: Vec<Vec<&str>> =
        cell.split(" + ").map(|it| it.split(" or ").collect()).filter(|it| *it != [""]).collect();
    cell.is_empty()
        || profiles.len() == wanted.len()
            && profiles.iter().zip(&wanted).all(|(profile, wanted)| wanted.contains(profile))
}

/// Kinds that hold a way back, as `mps: duty` says; complaints where it is not so.
fn others(verdict: &Verdict, cell: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for part in cell.split(';').map(str::trim).filter(|it| !it.is_empty()) {
        let (way, kind) = part.split_once(": ").expect("a way and a kind");
        let rejected = verdict.rejected.iter().find(|it| it.mechanism.word() == way);
        let Some(rejected) = rejected else {
            complaints.push(format!("{way} is not rejected"));
            continue;
        };
        let against = rejected.reasons.iter().filter(|it| it.weight <= Weight::Open);
        let kinds: Vec<&str> = against.map(|it| it.kind.word()).collect();
        if !kinds.contains(&kind) {
            complaints.push(format!("{way} is held back by {kinds:?} and not by {kind}"));
        }
    }
    complaints
}

#[test]
fn every_situation_of_the_page_gets_its_verdict() {
    let policy = Policy::default();
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() >= LEAST_SITUATIONS, "{} situations", rows.len());
    let mut complaints = Vec::new();
    for row in &rows {
        let verdict = decide(&situation(row.cell("Device"), row.cell("Tenants"), &policy), &policy);
        let decisive = verdict.decisive.as_ref().map_or("", |it| it.kind.word());
        let mut wrong = others(&verdict, row.cell("Others"));
        if word(&verdict) != row.cell("Verdict") {
            wrong.push(format!("it is {}, not {}", word(&verdict), row.cell("Verdict")));
        }
        if !comes_to(&verdict, row.cell("Comes to")) {
            let profiles = verdict.chosen.as_ref().map(|it| (it.profiles(), &it.capacity));
            wrong.push(format!("it comes to {profiles:?}, not {}", row.cell("Comes to")));
        }
        if decisive != row.cell("Decided by") {
            wrong.push(format!("it is decided by {decisive}, not {}", row.cell("Decided by")));
        }
        if !wrong.is_empty() {
            let why: Vec<String> = verdict
                .rejected
                .iter()
                .flat_map(|it| {
                    let way = it.mechanism.word();
                    it.reasons
                        .iter()
                        .filter(|it| it.weight <= Weight::Open)
                        .map(move |it| format!("      {way} {}: {}", it.kind.word(), it.sentence))
                })
                .collect();
            complaints.push(format!(
                "line {}: {}\n    {}\n{}",
                row.line,
                row.cell("Situation"),
                wrong.join("\n    "),
                why.join("\n")
            ));
        }
    }
    assert!(
        complaints.is_empty(),
        "{} of {}\n{}",
        complaints.len(),
        rows.len(),
        complaints.join("\n")
    );
}

#[test]
fn the_page_explains_every_kind_of_reason() {
    let page = page();
    for (_, word) in ReasonKind::ALL {
        assert!(page.contains(&format!("`{word}`")), "docs/VERDICTS.md does not explain `{word}`");
    }
}
