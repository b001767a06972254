//! That no word of a report contradicts its numbers, its verdict or what was measured.

use crate::analysis::findings::{
    BurstProfile, EstimatedLength, Level, ResolutionVerdict, Scope, SubjectFindings,
};
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::recommender::suitability::SharingWord;
use crate::report::block::{Block, Cell, Table};
use crate::report::render::html::page;
use crate::report::render::text::text;
use crate::report::specimen::{Specimen, specimen};
use std::collections::BTreeMap;

/// The specimen with its first device only, and with one change.
fn changed(change: impl FnOnce(&mut Specimen)) -> Specimen {
    let mut world = specimen();
    world.findings.devices.truncate(1);
    world.outline.blind_spots.clear();
    change(&mut world);
    world
}

fn own(world: &mut Specimen) -> &mut SubjectFindings {
    &mut world.findings.devices[0].subjects[0]
}

fn shape(world: &mut Specimen) -> &mut BurstProfile {
    own(world).scopes[0].profile.as_mut().unwrap()
}

/// All words of the report, each run of white space as one space.
fn words(world: &Specimen) -> String {
    let shown = text(&world.report(), 100, false);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn tables(world: &Specimen) -> Vec<Table> {
    fn collect(blocks: Vec<Block>, tables: &mut Vec<Table>) {
        for block in blocks {
            match block {
                Block::Table(it) => tables.push(it),
                Block::Details { blocks, .. } => collect(blocks, tables),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(world.report().blocks, &mut found);
    found
}

fn table(world: &Specimen, start: &str) -> Table {
    tables(world).into_iter().find(|it| it.caption.starts_with(start)).unwrap()
}

/// Reasons in the row of the device, where values are missing.
fn reasons(table: &Table, name: &str) -> Vec<String> {
    let row = table.rows.iter().find(|it| it[0] == Cell::Name(name.to_owned())).unwrap();
    let missing = |it: &Cell| if let Cell::Missing(it) = it { Some(it.clone()) } else { None };
    row.iter().filter_map(missing).collect()
}

fn level(value: f64, samples: u64) -> Level {
    Level {
        samples,
        mean: value,
        standard_deviation: 0.0,
        min: value,
        p50: value,
        p95: 2.0 * value,
        max: value,
        saturated_ratio: None,
    }
}

fn service(name: &str) -> SubjectFindings {
    let mut found = specimen().findings.devices[0].subjects[1].clone();
    let tenant = TenantId::new(name);
    found.subject = Subject::Tenant { gpu: Some(GpuId::from_index(0)), tenant };
    found.label = name.to_owned();
    found.timelines.clear();
    for (position, scope) in found.scopes.iter_mut().enumerate() {
        let factor = (position + 1) as f64;
        scope.profile = None;
        scope.evidence.clear();
        scope.levels = BTreeMap::from([
            (Metric::LatencyP99, level(0.12 * factor, 50)),
            (Metric::Throughput, level(40.0, 50)),
        ]);
    }
    found
}

const ROOM: [&str; 2] = ["leaves room at any moment", "find room at any moment"];

#[test]
fn room_is_promised_only_where_the_verdict_and_the_numbers_allow_it() {
    let calm = words(&changed(|_| {}));
    assert!(ROOM.iter().all(|it| calm.contains(it)), "{calm}");
    let full = words(&changed(|it| {
        shape(it).mean_ratio = 0.9;
        it.suitability[0].word = SharingWord::DoNotShare;
    }));
    assert!(full.contains("stays close to its mean of 90 % and is at 95 % or more for 0 %"));
    assert!(full.contains("No sample reaches 95 %; the highest mean is 90 %, that of GPU 0."));
    let high = words(&changed(|it| shape(it).mean_ratio = 0.9));
    let spiky = words(&changed(|it| shape(it).duty.at_95_pct = 0.01));
    let mut unsure = Vec::new();
    for word in [SharingWord::CannotTell, SharingWord::SharesWithCare] {
        unsure.push(words(&changed(|it| it.suitability[0].word = word)));
    }
    for shown in [full, high, spiky].iter().chain(&unsure) {
        assert!(ROOM.iter().all(|it| !shown.contains(it)), "{shown}");
    }
}

#[test]
fn memory_of_a_process_is_not_shown_as_that_of_its_device() {
    let world = changed(|it| {
        own(it).timelines.retain(|it| it.metric != Metric::FramebufferUsed);
        own(it).scopes[0].levels.remove(&Metric::FramebufferUsed);
    });
    let shown = words(&world);
    assert!(shown.contains("memory peak: the memory in use was not recorded"), "{shown}");
    let page = page(&world.report());
    assert!(page.contains("how much the GPU itself had in use was not recorded"));
    assert!(page.contains("Memory of embed (pid 4711)"));
    assert!(!words(&changed(|_| {})).contains("Memory of embed"));
}

#[test]
fn a_steady_load_has_no_burst_length_even_if_one_was_estimated() {
    let world = changed(|it| {
        let length = EstimatedLength { about_s: 0.01, low_s: 0.003, high_s: 0.03 };
        shape(it).resolution.estimated_burst = Some(length);
        let other = it.findings.devices[0].subjects[1].scopes[0].profile.as_mut().unwrap();
        other.resolution.estimated_burst = Some(length);
        other.resolution.verdict = ResolutionVerdict::ShorterThanWindow;
    });
    let bursts = table(&world, "Bursts and gaps");
    assert!(reasons(&bursts, "GPU 0").iter().all(|it| it == "far shorter than the window"));
    assert_eq!(bursts.rows[0].last(), Some(&Cell::Text("steady load".to_owned())));
    let shapes = table(&world, "Every GPU by its shape");
    assert_eq!(reasons(&shapes, "GPU 0"), ["far shorter than the window"]);
}

#[test]
fn one_sample_is_called_one_sample() {
    let world = changed(|it| {
        it.findings.devices[0].subjects.truncate(1);
        own(it).scopes[0].profile = None;
        own(it).scopes[0].levels.insert(Metric::GpuUtilization, level(99.0, 1));
    });
    let shown = words(&world);
    let shapes = table(&world, "Every GPU by its shape");
    assert!(reasons(&shapes, "GPU 0").iter().all(|it| it == "one sample only"), "{shapes:?}");
    assert!(shown.contains("GPU 0 has one sample of activity only: 99 %."), "{shown}");
    assert!(shown.contains("has too few samples"), "{shown}");
    assert!(!shown.contains("no activity metric was recorded"), "{shown}");
    assert!(
        shown.contains("1 GPU · nobody knows who was on it: no process was recorded"),
        "{shown}"
    );
}

#[test]
fn a_missing_number_names_its_true_reason() {
    let few = changed(|it| {
        shape(it).peak_to_mean = None;
        shape(it).resolution.verdict = ResolutionVerdict::TooFewSamples;
    });
    let levels = table(&few, "Level and rhythm");
    assert!(reasons(&levels, "GPU 0").iter().all(|it| it == "too few samples"), "{levels:?}");
    let idle = changed(|it| {
        shape(it).peak_to_mean = None;
        shape(it).mean_ratio = 0.0;
    });
    let levels = table(&idle, "Level and rhythm");
    assert!(reasons(&levels, "GPU 0").contains(&"the mean is zero".to_owned()), "{levels:?}");
}

#[test]
fn what_would_settle_it_is_said_only_where_it_is_not_settled() {
    let open = |it: &mut Specimen| {
        shape(it).resolution.sentence = "they last 1 s, within a factor of three".to_owned();
        shape(it).resolution.needed_interval_s = Some(0.0013);
    };
    let settled = words(&changed(open));
    assert!(settled.contains("They last 1 s, within a factor of three."), "{settled}");
    assert!(!settled.contains("Sampling every"), "{settled}");
    let unsettled = words(&changed(|it| {
        open(it);
        it.suitability[0].word = SharingWord::CannotTell;
    }));
    let both = "within a factor of three. Sampling every 1.30 ms would settle it.";
    assert!(unsettled.contains(both), "{unsettled}");
}

#[test]
fn a_device_that_cannot_be_judged_shows_no_confidence() {
    let mut world = specimen();
    world.findings.devices.drain(..2);
    assert!(words(&world).contains("? gpu2: Not enough evidence: leave it as it is - "));
    let report = world.report();
    let card = report.blocks.iter().find_map(|it| match it {
        Block::Verdict(card) => Some(card),
        _ => None,
    });
    assert_eq!(card.unwrap().confidence, None);
}

#[test]
fn services_have_a_table_of_their_own_and_no_rows_of_dashes() {
    let world = changed(|it| it.findings.devices[0].subjects.push(service("rerank")));
    let rerank = Cell::Name("rerank".to_owned());
    for table in tables(&world).iter().filter(|it| !it.caption.contains("what services report")) {
        assert!(table.rows.iter().all(|it| !it.contains(&rerank)), "{}", table.caption);
    }
    let report = table(&world, "GPU 0: mean and 95th percentile of what services report");
    let shown: Vec<String> = report
        .rows
        .iter()
        .map(|it| it.iter().map(Cell::plain).collect::<Vec<_>>().join("|"))
        .collect();
    let whole = Scope::Whole.to_string();
    assert_eq!(
        shown,
        [
            format!("rerank|Latency, p99|{whole}|120 ms|240 ms"),
            "rerank|Latency, p99|phase warm-up|240 ms|480 ms".to_owned(),
            format!("rerank|Throughput|{whole}|40.0 /s|80.0 /s"),
            "rerank|Throughput|phase warm-up|40.0 /s|80.0 /s".to_owned(),
        ]
    );
    let words = words(&world);
    assert!(
        words.contains("1 load is left out, with neither activity nor memory recorded: rerank.")
    );
}
