//! That the answer comes first, is one for each device, and is the one that `recommend` gives.

use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::domain::metric::Metric;
use crate::recommender::verdict::{Outcome, Verdict};
use crate::report::Report;
use crate::report::block::{Block, Cell, Table};
use crate::report::influences::look_alikes;
use crate::report::recommend;
use crate::report::recommend::lead::what;
use crate::report::render::text::text;
use crate::report::sections::glossary::TERMS;
use crate::report::specimen::{NO_FILES, Specimen, crowd, recommendation, specimen};
use std::collections::BTreeSet;

fn anchors(report: &Report) -> Vec<&str> {
    let anchor = |it| match it {
        &Block::Heading { level: 2, ref anchor, .. } => Some(anchor.as_str()),
        _ => None,
    };
    report.blocks.iter().filter_map(anchor).collect()
}

/// Blocks of one section, unfolded ones only.
fn section<'a>(report: &'a Report, wanted: &str) -> &'a [Block] {
    let is_head = |it: &Block| matches!(it, Block::Heading { level: 2, .. });
    let is_it =
        |it: &Block| matches!(it, Block::Heading { level: 2, anchor, .. } if anchor == wanted);
    let start = report.blocks.iter().position(is_it).unwrap();
    let rest = &report.blocks[start + 1..];
    &rest[..rest.iter().position(is_head).unwrap_or(rest.len())]
}

fn tables(blocks: &[Block]) -> Vec<&Table> {
    let mut found = Vec::new();
    for block in blocks {
        match block {
            Block::Table(it) => found.push(it),
            Block::Details { blocks, .. } => found.extend(tables(blocks)),
            _ => {}
        }
    }
    found
}

fn first_devices(count: usize) -> Specimen {
    let mut world = specimen();
    world.findings.devices.truncate(count);
    world
}

/// What the answer says about each device: its name, and what to do in the words of a table.
fn said(report: &Report) -> Vec<(String, String)> {
    let answer = section(report, "answer");
    let cards = answer.iter().filter_map(|it| match it {
        Block::Verdict(it) => Some((it.name.clone(), it.action.clone())),
        _ => None,
    });
    let rows = tables(answer).into_iter().filter(|it| it.caption == "What to do with each GPU");
    let rows = rows.flat_map(|it| &it.rows).map(|it| (it[0].plain(), it[1].plain()));
    cards.chain(rows).collect()
}

#[test]
fn the_answer_comes_first_then_why_then_what_was_rejected_then_what_was_not_seen() {
    let world = specimen();
    let report = world.report();
    let order = anchors(&report);
    assert_eq!(order[0], "answer");
    let place = |it: &str| order.iter().position(|anchor| *anchor == it).unwrap();
    let wanted = [
        "answer",
        "shape",
        "rejected",
        "blind-spots",
        "timeline",
        "proof",
        "provenance",
        "glossary",
    ];
    assert!(wanted.map(place).is_sorted(), "{order:?}");
    let Block::Lead(lead) = &report.blocks[1] else { panic!("{:?}", report.blocks[1]) };
    let verdicts = world.verdicts();
    assert_eq!(*lead, recommendation(&verdicts, &NO_FILES).headline());
    assert!(
        report.blocks[2..].iter().all(|it| !matches!(it, Block::Lead(_))),
        "one sentence leads"
    );
}

#[test]
fn each_device_has_exactly_one_verdict_however_many_there_are() {
    for world in [first_devices(1), first_devices(2), specimen(), crowd(8, 1), crowd(64, 1)] {
        let report = world.report();
        let mut named: Vec<String> = said(&report).into_iter().map(|it| it.0).collect();
        named.sort();
        let mut wanted: Vec<String> =
            world.findings.devices.iter().map(|it| it.label.clone()).collect();
        wanted.sort();
        assert_eq!(named, wanted);
    }
}

#[test]
fn report_and_recommend_say_the_same_about_every_device() {
    let world = specimen();
    let verdicts = world.verdicts();
    let outcomes: BTreeSet<Outcome> = verdicts.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes.len(), 3, "the specimen holds every kind: {outcomes:?}");
    let report = world.report();
    let other = recommend::report(&recommendation(&verdicts, &NO_FILES));
    let proposed = tables(&other.blocks).into_iter().next().unwrap();
    assert_eq!(proposed.caption, "What to do with each GPU");
    let lower = |it: &str| it.to_lowercase();
    let theirs: Vec<(String, String)> =
        proposed.rows.iter().map(|it| (it[0].plain(), lower(&it[2].plain()))).collect();
    let ours: Vec<(String, String)> =
        said(&report).into_iter().map(|it| (it.0, lower(&it.1))).collect();
    assert_eq!(ours, theirs);
    let lead = |report: &Report| report.blocks[1].clone();
    assert_eq!(lead(&report), lead(&other));
}

#[test]
fn sixty_four_devices_fit_on_one_screen() {
    let report = crowd(64, 2).report();
    let answer = section(&report, "answer");
    let shown: Vec<&Table> = answer
        .iter()
        .filter_map(|it| if let Block::Table(it) = it { Some(it) } else { None })
        .collect();
    let [table] = shown.as_slice() else { panic!("one table, not {}", shown.len()) };
    assert!(table.rows.len() <= 11, "{} rows", table.rows.len());
    let devices: f64 = table
        .rows
        .iter()
        .map(|it| if let Cell::Number { value, .. } = it[1] { value } else { f64::NAN })
        .sum();
    assert_eq!(devices, 64.0, "nobody is lost");
    let first = Report { blocks: report.blocks[..=answer.len()].to_vec(), ..report.clone() };
    let first = Report {
        blocks: first
            .blocks
            .into_iter()
            .filter(|it| !matches!(it, Block::Details { .. }))
            .collect(),
        ..first
    };
    let lines = text(&first, 80, false).lines().count();
    assert!(lines <= 40, "{lines} lines");
}

#[test]
fn every_rejected_way_is_told_once_with_a_reason() {
    let world = specimen();
    let verdicts = world.verdicts();
    let wanted: usize = verdicts.iter().map(|it| it.rejected.len()).sum();
    let report = world.report();
    let told: Vec<&str> = section(&report, "rejected")
        .iter()
        .filter_map(|it| if let Block::Statement(it) = it { Some(it.text.as_str()) } else { None })
        .collect();
    assert_eq!(told.len(), wanted);
    assert!(told.iter().all(|it| it.len() > 10), "{told:?}");
}

#[test]
fn ways_that_are_rejected_alike_on_several_devices_are_told_once_for_all_of_them() {
    fn statements(blocks: &[Block]) -> usize {
        let of = |it: &Block| match it {
            Block::Statement(_) => 1,
            Block::Details { blocks, .. } => statements(blocks),
            _ => 0,
        };
        blocks.iter().map(of).sum()
    }
    // Verdicts of three kinds by turns.
    let world = crowd(12, 2);
    let kinds: usize = world.verdicts()[..3].iter().map(|it| it.rejected.len()).sum();
    let report = world.report();
    let rejected = section(&report, "rejected");
    assert_eq!(statements(rejected), kinds);
    let heads = rejected.iter().filter_map(|it| match it {
        Block::Heading { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert!(heads.into_iter().any(|it| it.contains(" and ")), "{rejected:?}");
}

#[test]
fn a_lone_decision_stands_apart_from_its_grounds_which_are_told_once_below_it() {
    let mut verdict = specimen()
        .verdicts()
        .into_iter()
        .find(|it| it.outcome == Outcome::NotEnoughEvidence)
        .unwrap();
    verdict.label = "GPU 0".to_owned();
    let verdicts = [verdict];
    let input = recommendation(&verdicts, &NO_FILES);
    assert_eq!(input.decision(), "Not enough evidence to decide about GPU 0.");
    let reason = &verdicts[0].decisive.as_ref().unwrap().sentence;
    let next = &verdicts[0].measurement.as_ref().unwrap().measurement.sentence;
    assert!(input.headline().contains(reason), "the whole sentence has it: {}", input.headline());
    let report = recommend::report(&input);
    let answer = section(&report, "answer");
    let [Block::Lead(lead), Block::Text(grounds)] = answer else { panic!("{answer:?}") };
    assert_eq!(*lead, input.decision());
    let has = |it: &str| grounds.to_lowercase().contains(&it.to_lowercase());
    assert!(has(reason) && has(next), "{grounds}");
}

#[test]
fn loads_of_one_mean_and_different_shapes_are_set_against_each_other() {
    let shown = text(&specimen().report(), 100, false);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("have nearly the same mean, 30 % and 30 %, and not the same shape"),
        "{words}"
    );
    let alone = text(&first_devices(1).report(), 100, false);
    assert!(!alone.contains("not the same shape"));
}

#[test]
fn the_headline_counts_tenants_where_devices_are_not_to_be_shared() {
    let all = specimen().verdicts();
    let exclusive = |tenants: usize| {
        let mut verdict = all.iter().find(|it| it.outcome == Outcome::Exclusive).unwrap().clone();
        verdict.current.tenants = tenants;
        verdict.fitting = None;
        verdict
    };
    let headline = |verdicts: &[Verdict]| recommendation(verdicts, &NO_FILES).headline();
    assert_eq!(
        headline(&[exclusive(3), exclusive(2), exclusive(1)]),
        "Of 3 GPUs, 1 stays with its one tenant and 2 should not be shared (their 5 tenants need a GPU each)."
    );
    assert_eq!(what(&exclusive(3)), "exclusive: a GPU for each of 3 tenants");
    assert_eq!(what(&exclusive(1)), "as it is: one tenant");
}

#[test]
fn every_figure_says_what_to_see_and_tells_it_to_those_who_cannot() {
    fn check(blocks: &[Block]) -> usize {
        let one = |it: &Block| match it {
            Block::Figure { id, caption, alt, .. } => {
                assert!(caption.len() > 10 && alt.len() > 10, "{id}");
                1
            }
            Block::Details { blocks, .. } => check(blocks),
            _ => 0,
        };
        blocks.iter().map(one).sum()
    }
    assert!(check(&specimen().report().blocks) > 6);
}

#[test]
fn look_alikes_that_agree_share_one_row_and_nobody_is_lost() {
    let of = |kind, state, victim: &str, metric| LookAlike {
        kind,
        state,
        victim: Some(victim.to_owned()),
        victim_subject: None,
        spans: Vec::new(),
        metric: Some(metric),
        effect_ratio: None,
        share_of_time: Some(0.0),
        sentence: "at no time".to_owned(),
    };
    let mut all = Vec::new();
    for victim in ["a", "b"] {
        for metric in [Metric::LatencyP99, Metric::LatencyMean] {
            all.push(of(LookAlikeKind::PowerCap, LookAlikeState::RuledOut, victim, metric));
            all.push(of(LookAlikeKind::Fault, LookAlikeState::Unseen, victim, metric));
        }
    }
    all.push(of(LookAlikeKind::ThermalSlowdown, LookAlikeState::Found, "a", Metric::LatencyP99));
    let blocks = look_alikes::blocks(&all, "GPU 0");
    let Block::Table(short) = &blocks[0] else { panic!("{blocks:?}") };
    let rows: Vec<String> = short
        .rows
        .iter()
        .map(|it| it[..3].iter().map(Cell::plain).collect::<Vec<_>>().join("|"))
        .collect();
    assert_eq!(
        rows,
        [
            "heat|found|a",
            "fault of the board|could not be checked|all 2 tenants",
            "power cap|ruled out|all 2 tenants"
        ]
    );
    assert_eq!(tables(&blocks[1..])[0].rows.len(), all.len(), "each check stands folded");
}

#[test]
fn every_term_stands_once_in_the_order_of_the_alphabet_with_a_sentence() {
    let names: Vec<String> = TERMS.iter().map(|it| it.0.to_lowercase()).collect();
    assert!(names.windows(2).all(|it| it[0] < it[1]), "{names:?}");
    for (term, meaning) in TERMS {
        assert!(meaning.ends_with('.') && meaning.len() > 20, "{term}: {meaning}");
    }
    for term in ["p99", "disruption", "trust domain", "stranded", "mig profile", "slowdown", "q"] {
        assert!(names.iter().any(|it| it == term), "{term}");
    }
}
