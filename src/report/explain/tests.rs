//! Every word is explained once, and is found however it is spelt.

use crate::domain::metric_table::METRICS;
use crate::report::explain::{Entry, Kind, entries, find, list, nearest, report};
use crate::report::render::text::{Look, sheet};
use std::collections::BTreeSet;

fn all() -> Vec<Entry> {
    entries(vec![Entry::fail_on("likely", "analyze", "an influence that is confirmed or likely")])
}

fn found(asked: &str) -> Vec<(Kind, String)> {
    find(&all(), asked).into_iter().map(|it| (it.kind, it.name.clone())).collect()
}

#[test]
fn every_kind_has_words_and_none_of_them_stands_twice() {
    let all = all();
    for kind in Kind::ALL {
        assert!(all.iter().any(|it| it.kind == kind), "{kind:?}");
    }
    let mut names = BTreeSet::new();
    for it in &all {
        assert!(names.insert((it.kind, it.name.to_lowercase())), "{} stands twice", it.name);
        assert!(it.meaning.ends_with('.'), "{}: {}", it.name, it.meaning);
    }
    assert_eq!(all.iter().filter(|it| it.kind == Kind::Metric).count(), METRICS.len());
}

#[test]
fn a_word_is_found_in_any_spelling() {
    for asked in ["duty cycle", "Duty-Cycle", "DUTY CYCLES", "duty_cycle"] {
        assert_eq!(found(asked), [(Kind::Term, "Duty cycle".to_owned())], "{asked}");
    }
    let metric = vec![(Kind::Metric, "sm_active_ratio".to_owned())];
    assert_eq!(found("sm_active_ratio"), metric);
    assert_eq!(found("DCGM_FI_PROF_SM_ACTIVE"), metric, "the name in another tool");
    assert_eq!(found("SMACT"), metric);
    assert_eq!(found("power-cap"), [(Kind::LookAlike, "power cap".to_owned())]);
    let kinds: Vec<Kind> = found("cannot tell").into_iter().map(|it| it.0).collect();
    assert_eq!(kinds, [Kind::Term, Kind::Verdict], "a word with two meanings has both");
    let kinds: Vec<Kind> = found("likely").into_iter().map(|it| it.0).collect();
    assert_eq!(kinds, [Kind::Term, Kind::FailOn]);
}

#[test]
fn part_of_a_name_finds_it_where_few_have_it() {
    assert_eq!(found("detectable"), [(Kind::Term, "Minimum detectable effect".to_owned())]);
    assert!(found("").is_empty() && found("   ").is_empty());
    assert!(found("no such word").is_empty());
}

#[test]
fn a_misspelt_word_brings_the_nearest_first() {
    let all = all();
    assert_eq!(nearest(&all, "brust")[0], "Burst");
    assert_eq!(nearest(&all, "grangr")[0], "Granger");
    assert!(nearest(&all, "utilisation").iter().any(|it| it == "GPU utilisation"));
}

#[test]
fn a_metric_is_told_with_its_unit_and_its_names() {
    let all = all();
    let shown = sheet(&report(&find(&all, "framebuffer_used_bytes")), Look::plain(80));
    for part in ["Device memory in use.", "memory.used × 1048576", "DCGM_FI_DEV_FB_USED", "Unit"] {
        assert!(shown.contains(part), "`{part}` is not in {shown}");
    }
}

#[test]
fn the_list_names_everything_and_tells_it_when_asked() {
    let all = all();
    let (short, long) = (list(&all, false), list(&all, true));
    let (short, long) = (sheet(&short, Look::plain(80)), sheet(&long, Look::plain(80)));
    assert!(short.contains("Duty cycle") && !short.contains("leaves a neighbour a free slot"));
    assert!(long.len() > 3 * short.len());
}
