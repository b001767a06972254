//! The tables of `docs/VERDICTS.md`: every situation gets the verdict that the page gives it.

mod verdict_world;

use cotenant::domain::ident::GpuId;
use cotenant::recommender::configuration::{Decided, configuration};
use cotenant::recommender::decide::decide;
use cotenant::recommender::policy::Policy;
use cotenant::recommender::reason::{ReasonKind, Weight};
use cotenant::recommender::situation::Situation;
use cotenant::recommender::together::together;
use cotenant::recommender::verdict::{Outcome, Verdict};
use cotenant::report::recommend::Recommendation;
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
    if let Some((count, of)) = cell.split_once(" of ") {
        let wanted = of.split_once(" fit, ").map(|it| (count, it.0, it.1));
        let found = verdict.fitting.as_ref();
        let found = found.map(|it| (it.tenants.to_string(), it.of.to_string(), it.bound_by));
        return found.as_ref().map(|it| (it.0.as_str(), it.1.as_str(), it.2)) == wanted;
    }
    if let Some(count) = cell.strip_suffix(" fit") {
        let capacity = verdict.chosen.as_ref().and_then(|it| it.capacity.as_ref());
        return capacity.is_some_and(|it| it.tenants.to_string() == count);
    }
    let profiles = verdict.chosen.as_ref().map_or_else(Vec::new, |it| it.profiles());
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
            wrong.push(format!(
                "it comes to {profiles:?} {:?}, not {}",
                verdict.fitting,
                row.cell("Comes to")
            ));
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

fn verdict(board: &str, tenants: &str) -> Verdict {
    let policy = Policy::default();
    decide(&situation(board, tenants, &policy), &policy)
}

#[test]
fn a_verdict_of_eighteen_gigabytes_names_what_is_too_small_and_what_would_be_stranded() {
    let found = verdict("H100", "model: batch, team a, 20 % in 1s, SMs 20 %, 18 GB");
    let why = found.decisive.expect("a reason").sentence;
    for part in ["18432 MiB", "1g.10gb (9984 MiB) is too small", "3g.40gb would strand 20.6 GiB"] {
        assert!(why.contains(part), "`{part}` is missing: {why}");
    }
}

#[test]
fn every_verdict_on_mps_prints_the_fault_domain_and_the_clients() {
    let found = verdict("L40S", "3 x etl: batch, team a, steady 20 %, SMs 30 %, 6 GB");
    let chosen = found.chosen.expect("a proposal");
    let cautions: Vec<&str> = chosen
        .reasons
        .iter()
        .filter(|it| it.weight == Weight::Caution)
        .map(|it| it.sentence.as_str())
        .collect();
    assert!(cautions.iter().any(|it| it.starts_with("one fault domain")), "{cautions:?}");
    assert!(
        cautions.iter().any(|it| it.starts_with("3 CUDA clients of at most 48")),
        "{cautions:?}"
    );
    assert!(chosen.assignments.iter().all(|it| it.thread_percentage.is_some()));
    let pinned = chosen.assignments[0].pinned_limit_mib.expect("a limit");
    assert!(pinned >= 1.05 * 6.0 * 1024.0 - 1.0, "{pinned}");
}

#[test]
fn without_a_policy_the_answers_that_would_change_the_verdict_are_found_by_trying_them() {
    let found = verdict("L40S", "3 x job: steady 10 %, SMs 20 %, 6 GB");
    assert_eq!(found.outcome, Outcome::Exclusive);
    let trust = found.answers.iter().find(|it| it.key == "trust_domain").expect("trust is asked");
    assert_eq!(trust.mechanism.map(|it| it.word()), Some("mps"), "{trust:?}");
    assert_eq!(trust.devices_change, Some(-2), "{trust:?}");
    let notebooks = verdict("L40S", "4 x nb: 5 % in 2s, SMs 90 %, 3 GB");
    let both = notebooks.answers.iter().find(|it| it.answer.contains("development"));
    assert_eq!(both.and_then(|it| it.mechanism).map(|it| it.word()), Some("time-slicing"));
    let stated = verdict("L40S", "3 x job: batch, team a, steady 10 %, SMs 20 %, 6 GB");
    assert!(stated.answers.iter().all(|it| it.key != "trust_domain"), "{:?}", stated.answers);
}

#[test]
fn where_evidence_is_missing_the_cheapest_measurement_is_named_with_what_it_could_bring() {
    let found = verdict("L40S", "2 x job: batch, team a, steady 60 %, SMs unknown, 9 GB");
    assert_eq!(found.outcome, Outcome::NotEnoughEvidence);
    let settling = found.measurement.expect("a measurement");
    assert!(settling.measurement.sentence.contains("SM activity"), "{settling:?}");
    assert_eq!(settling.would_allow.map(|it| it.word()), Some("mps"), "{settling:?}");
    assert!(found.confidence.value() < 0.5);
}

#[test]
fn who_has_to_leave_is_named_and_whoever_has_priority_stays() {
    let found = verdict(
        "H100",
        "2 x api: batch, team a, steady 5 %, SMs 10 %, 5 GB; train: training, team a, 60 % in 2s, 30 GB",
    );
    let apart = found.apart.expect("one leaves");
    assert_eq!((apart.tenant.as_str(), apart.devices), ("train", 2), "{apart:?}");
    let three = |first: &str, second: &str| {
        let model = "batch, team a, must not crash, steady 10 %, SMs 20 %, 30 GB";
        let tenants = format!("a: {model}, {first}; b: {model}, {second}; c: {model}, priority 7");
        verdict("A100-80", &tenants).apart.expect("one leaves").tenant
    };
    assert_eq!(three("priority 5", "priority 1"), "b");
    assert_eq!(three("priority 1", "priority 5"), "a");
}

#[test]
fn partitions_name_what_they_disturb_and_what_they_leave() {
    let found = verdict(
        "A100-80",
        "one: batch, team a, steady 10 %, SMs 20 %, 4 GB; other: batch, team b, steady 10 %, SMs 20 %, 4 GB",
    );
    let disruption = found.disruption.expect("a change");
    let told = disruption.sentences.join(". ");
    assert!(told.contains("the GPU is reset"), "{told}");
    let freed = found.freed.expect("a plan");
    assert_eq!(freed.devices, 1);
    assert!(freed.compute_ratio.is_some_and(|it| it > 0.5), "{freed:?}");
}

#[test]
fn the_json_of_a_verdict_has_what_it_promises_and_is_the_same_each_time() {
    let tenants = "chat: latency-sensitive, team a, p99 <= 60ms, 10/s of 15ms, SMs 20 %, 9 GB; heavy: batch, team a, 30 % in 3s, 9 GB";
    let json = |it: &Verdict| serde_json::to_string(it).expect("it is JSON");
    let found = verdict("H100", tenants);
    assert_eq!(json(&found), json(&verdict("H100", tenants)));
    let document = serde_json::to_value(&found).expect("it is JSON");
    for path in [
        "/gpu",
        "/chosen/mechanism",
        "/chosen/layout",
        "/chosen/assignments",
        "/rejected/0/mechanism",
        "/rejected/0/reason",
        "/confidence",
        "/unseen",
        "/disruption",
    ] {
        assert!(document.pointer(path).is_some(), "{path} is missing");
    }
    assert_eq!(document["chosen"]["predicted"][0]["target"], "met");
}

#[test]
fn how_many_of_many_fit_is_said_with_what_binds_and_stands_in_the_json() {
    let found = verdict("L40S", "64 x nb: development, team a, 0.2 % in 1s, SMs 60 %, 2 GB");
    let fitting = found.fitting.as_ref().expect("some fit");
    assert_eq!(fitting.sentence, "20 of 64 fit under time slicing, and memory binds");
    assert_eq!((fitting.names.len(), fitting.devices), (20, 4));
    let document = serde_json::to_value(&found).expect("it is JSON");
    assert_eq!(document["fitting"]["bound_by"], "memory");
    let shown = Recommendation {
        title: "",
        verdicts: std::slice::from_ref(&found),
        together: None,
        configuration: &configuration(&[]),
        extent: None,
        notes: &[],
        tool_version: "",
        command: "",
    };
    let lead = shown.headline();
    assert!(lead.contains("20 of 64 fit under time slicing"), "{lead}");
    assert!(lead.ends_with("4 such GPUs take them all."), "{lead}");
    let strict = "16 x job: batch, team a, must not crash, may stall, 4 % in 2s, SMs 60 %, 1 GB";
    assert_eq!(verdict("L40S", strict).fitting, None, "not even two may share");
    let busy = "30 x nb: batch, team a, steady 9 %, SMs 50 %, bandwidth 5 %, 1 GB";
    let busy = verdict("L40S", busy).fitting.expect("some fit");
    assert!(["time", "p99"].contains(&busy.bound_by), "{busy:?}");
    assert!(busy.tenants < 30 && busy.sentence.contains("with one more"), "{busy:?}");
}

#[test]
fn a_policy_that_asks_for_more_than_there_is_says_what_would_be_proposed() {
    let policy = Policy { least_confidence: 1.0, ..Policy::default() };
    let tenants = "3 x etl: batch, team a, steady 20 %, SMs 30 %, 6 GB";
    let found = decide(&situation("L40S", tenants, &policy), &policy);
    assert_eq!(found.outcome, Outcome::NotEnoughEvidence);
    let why = found.decisive.expect("a reason").sentence;
    assert!(why.starts_with("MPS would be proposed, but its confidence of"), "{why}");
    let mps = found.rejected.iter().find(|it| it.mechanism.word() == "mps").expect("MPS");
    assert_eq!(mps.reason, why);
    assert!(found.measurement.is_some_and(|it| it.sentence.contains("would be proposed")));
}

#[test]
fn no_file_is_written_for_a_board_of_another_vendor() {
    let policy = Policy::default();
    let found = situation("MI300X", "2 x etl: batch, team a, steady 20 %, SMs 30 %, 6 GB", &policy);
    let verdict = decide(&found, &policy);
    let decided = Decided { verdict: &verdict, situation: &found, host: None, index: Some(0) };
    let files = configuration(&[decided]);
    assert_eq!(files.files, []);
    assert!(files.cautions.iter().any(|it| it.contains("a board of AMD")), "{:?}", files.cautions);
}

#[test]
fn tenants_of_many_devices_fill_each_as_far_as_it_goes() {
    let policy = Policy::default();
    let device = |place: u32| {
        let tenants = format!("3 x nb{place}: development, team a, 5 % in 2s, SMs 60 %, 3 GB");
        let mut it = situation("L40S", &tenants, &policy);
        it.gpu = GpuId::from_index(place);
        it.label = format!("GPU {place}");
        it
    };
    let devices: Vec<Situation> = (0..10).map(device).collect();
    let found = together(&devices, &policy).expect("several devices of one model");
    assert_eq!(found.devices_now, 10);
    assert!(found.devices_then <= 4, "{found:?}");
    assert!(found.devices_at_least <= found.devices_then && found.devices_at_least >= 2);
    let seated: usize = found.groups.iter().map(|it| it.tenants.len()).sum();
    assert_eq!(seated, 30);
}
