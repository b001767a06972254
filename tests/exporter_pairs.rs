//! Who was busy at the same time: what 15 s scrapes of the exporter bring back is what ten samples a second say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scraped_world;

use cotenant::analysis::counted_together::CountedTogether;
use cotenant::analysis::{Question, compute};
use cotenant::domain::ident::{GpuId, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::domain::time::{TimeSpan, Timestamp};
use cotenant_scenario::Scenario;
use scraped_world::{Ways, findings, imported, scenario, three_ways};
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Samples of processes become known to the exporter so late at most, seconds: at both ends of the scraped time.
const LATE_S: f64 = 3.0;
/// What is left beside that: the exporter takes steps as even.
const SHARE: f64 = 0.02;

/// Two jobs that run at once on one GPU: one works 3 s of every 6 s, the other 2 s of every 7 s, both a little unevenly.
fn two_jobs() -> Scenario {
    let mut text = "name = \"two-jobs\"\ndescription = \"Made.\"\nseed = 11\nduration_s = 600\ncounterfactuals = false\n\
         [observe]\nservices = false\nstride_ms = 100\nwindow_ms = 100\n\
         [[devices]]\nname = \"NVIDIA H100 80GB HBM3\"\nsms = 132\nmemory_mib = 81559\nidle_w = 70\ncap_w = 700\nsm_clock_mhz = 1980\nmem_clock_mhz = 2619\nsharing = { mps = {} }\n"
        .to_owned();
    for (name, on, off) in [("etl", 3_000, 3_000), ("index", 2_000, 5_000)] {
        text += &format!(
            "[[tenants]]\nname = \"{name}\"\ndevice = 0\nmemory_mib = 4000\npower_w = 100\nload = {{ on-off = {{ on_ms = {on}, off_ms = {off}, vary = {{ jitter = 0.3 }}, height = 0.4, kernel_ms = 2.0 }} }}\n"
        );
    }
    Scenario::from_toml(&text).unwrap_or_else(|it| panic!("{it}"))
}

/// Stretches in which a tenant was at or above 5 %, as the samples of its process have it, microseconds.
fn busy(recording: &Recording, tenant: &str) -> Vec<(i64, i64)> {
    let process = recording
        .outline
        .processes
        .iter()
        .find(|it| it.tenant == Some(TenantId::new(tenant)))
        .unwrap_or_else(|| panic!("{tenant}"));
    let subject = Subject::Process { gpu: process.gpu.clone(), process: process.process };
    let series = recording.series(&subject, Metric::GpuUtilization).unwrap();
    let steps = series.times().windows(2).map(|it| it[1].micros_since(it[0]));
    let mut steps: Vec<i64> = steps.collect();
    steps.sort_unstable();
    // Silence makes steps longer and never shorter: of a tenant that is idle half of the time the median is no step of the driver's.
    let usual = steps[steps.len() / 4];
    let mut before = i64::MIN;
    let mut found = Vec::new();
    for (at, value) in series.times().iter().zip(series.values()) {
        let at = at.as_micros();
        // A sample stands for the time since the one before, unless the process was silent in between.
        let step = at.saturating_sub(before);
        let from = at - if step > usual * 17 / 10 { usual } else { step };
        found.extend((*value >= 5.0).then_some((from, at)));
        before = at;
    }
    found
}

/// Seconds that two lists of stretches have in common inside a span.
fn common_s(one: &[(i64, i64)], other: &[(i64, i64)], span: TimeSpan) -> f64 {
    let (from, until) = (span.from().as_micros(), span.until().as_micros());
    let mut sum = 0;
    for a in one {
        let first = other.partition_point(|it| it.1 <= a.0);
        for b in other[first..].iter().take_while(|it| it.0 < a.1) {
            sum += (a.1.min(b.1).min(until) - a.0.max(b.0).max(from)).max(0);
        }
    }
    sum as f64 / 1e6
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Tenant { tenant, .. } => tenant.to_string(),
        other => panic!("{other}"),
    }
}

fn counted(recording: &Recording) -> Vec<CountedTogether> {
    findings(recording).devices.into_iter().flat_map(|it| it.counted_together).collect()
}

fn agrees(ways: &Ways, found: &CountedTogether) {
    let (one, other) = (name(&found.first), name(&found.second));
    let truth = common_s(&busy(&ways.full, &one), &busy(&ways.full, &other), found.span);
    let allowed = LATE_S + SHARE * truth;
    let is_near = (found.together_s - truth).abs() <= allowed;
    assert!(is_near, "{one} and {other}: {} s counted, {truth} s seen", found.together_s);
    let (from, until) = (found.span.from().as_micros(), found.span.until().as_micros());
    let inside = |it: &(i64, i64)| (it.1.min(until) - it.0.max(from)).max(0);
    let busy_us: i64 = busy(&ways.full, &one).iter().map(inside).sum();
    let share = truth / (busy_us as f64 / 1e6);
    let told = found.of_first_ratio.unwrap();
    assert!((told - share).abs() < 0.05, "{one}: {told} counted, {share} seen");
}

#[test]
fn time_together_from_scrapes_is_that_of_the_samples() {
    let ways = three_ways(&two_jobs());
    let found = counted(&ways.scraped);
    let [it] = found.as_slice() else { panic!("{found:?}") };
    assert!(it.together_s > 30.0, "the story has something to count: {it:?}");
    assert_eq!(it.seen_s, 570.0, "all but the time before the first scrape and after the last");
    agrees(&ways, it);
    // Nothing ties them together.
    let expected = it.expected_s.unwrap();
    assert!((0.7..1.4).contains(&(it.together_s / expected)), "{} {expected}", it.together_s);
}

#[test]
fn generated_company_agrees_too() {
    let mut compared = 0;
    for seed in 1..=24 {
        let scenario = scenario(seed);
        if scenario.tenant_infos().len() < 2 {
            continue;
        }
        let ways = three_ways(&scenario);
        for it in counted(&ways.scraped) {
            agrees(&ways, &it);
            compared += 1;
        }
    }
    assert!(compared >= 3, "{compared}");
}

/// Findings of a part of the time.
fn within(recording: &Recording, from_s: f64, until_s: f64) -> Vec<CountedTogether> {
    let start = recording.outline.span.unwrap().from();
    let at = |seconds: f64| start.plus_micros((seconds * 1e6) as i64);
    let question = Question { span: TimeSpan::new(at(from_s), at(until_s)), ..Question::default() };
    let load = |gpu: Option<&GpuId>| {
        let mine = recording.traces.iter().filter(|it| it.0.gpu() == gpu);
        let traces = mine.map(|it| (it.0.clone(), it.1.clone())).collect();
        Ok::<_, Infallible>(Recording { outline: recording.outline.clone(), traces })
    };
    let Ok(found) = compute(&recording.outline, &question, load);
    found.devices.into_iter().flat_map(|it| it.counted_together).collect()
}

#[test]
fn a_window_has_its_own_time_together() {
    let ways = three_ways(&two_jobs());
    let part = within(&ways.scraped, 120.0, 300.0);
    let [it] = part.as_slice() else { panic!("{part:?}") };
    assert_eq!(it.seen_s, 180.0);
    agrees(&ways, it);
}

/// Pages of the scrapes, and the stamp of each.
fn pages(text: &str) -> Vec<(&str, f64)> {
    let stamp = |page: &str| {
        let line = page.lines().find(|it| !it.starts_with('#')).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    text.split_inclusive("# EOF\n").map(|it| (it, stamp(it))).collect()
}

#[test]
fn a_hole_in_the_scrapes_loses_nothing_and_a_restart_only_its_interval() {
    let ways = three_ways(&two_jobs());
    let whole = counted(&ways.scraped)[0].together_s;
    let all = pages(&ways.text);
    let holed: String =
        all.iter().enumerate().filter(|it| !(10..20).contains(&it.0)).map(|it| it.1.0).collect();
    let it = &counted(&imported(&holed))[0];
    assert!((it.together_s - whole).abs() < 1e-6, "{} {whole}", it.together_s);
    assert_eq!((it.seen_s, it.interval_s), (570.0, 165.0), "the hole is one long interval");

    // An exporter that began 5 s before the 21st scrape: its pages are those of one that began with the story.
    let mut restarted: String = all[..20].iter().map(|it| it.0).collect();
    let shift = all[20].1 - all[0].1;
    for (page, at) in &all[..10] {
        let (old, new) = (format!(" {at:.3}\n"), format!(" {:.3}\n", at + shift));
        let began = format!("cotenant_start_time_seconds {:.3}", all[20].1 - 5.0);
        restarted += &page.replace(&old, &new).replace("cotenant_start_time_seconds 0", &began);
    }
    let it = &counted(&imported(&restarted))[0];
    let grown = |from: usize, until: usize| {
        let at = |place: usize| Timestamp::from_micros((all[place].1 * 1e6) as i64);
        let span = TimeSpan::new(at(from), at(until)).unwrap();
        let inside = |it: &&cotenant::domain::contended::ContendedSpan| {
            span.from() <= it.span.from() && it.span.until() <= span.until()
        };
        let parts = ways.scraped.outline.contended.iter().filter(inside);
        parts.flat_map(|it| &it.pairs).map(|it| it.seconds).sum::<f64>()
    };
    let of_first_page = {
        let mark = "cotenant_contended_seconds_total";
        let line = all[0].0.lines().find(|it| it.starts_with(mark) && !it.starts_with('#'));
        line.map_or(0.0, |it| it.rsplit(" ").nth(1).unwrap().parse::<f64>().unwrap())
    };
    let expected = grown(0, 19) + of_first_page + grown(0, 9);
    assert!((it.together_s - expected).abs() < 1e-6, "{} {expected}", it.together_s);
    assert_eq!(it.seen_s, 19.0 * 15.0 + 5.0 + 9.0 * 15.0, "10 s before the restart are not seen");
}

#[test]
fn names_of_pairs_come_from_the_scrapes_and_means_over_scrapes_are_no_bursts() {
    let ways = three_ways(&two_jobs());
    let devices = findings(&ways.scraped).devices;
    assert!(devices[0].co_activations.is_empty(), "{:?}", devices[0].co_activations);
    assert!(devices[0].influences.contention.is_none(), "a mean over 15 s hides a full device");
    let names: BTreeSet<String> = devices[0]
        .counted_together
        .iter()
        .flat_map(|it| [name(&it.first), name(&it.second)])
        .collect();
    assert_eq!(names, BTreeSet::from(["etl".to_owned(), "index".to_owned()]));
    let full = findings(&ways.full).devices;
    assert!(full[0].counted_together.is_empty() && full[0].co_activations.len() == 1);
}
