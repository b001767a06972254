//! That a diagnosis is told as it was found, in every form.

use crate::analysis::diagnosis_findings::{Diagnosis, Outcome};
use crate::analysis::influence::findings::InfluenceVerdict;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::report::block::Block;
use crate::report::diagnosis::{DiagnosisInput, experiment_report, outcome, picture, report};
use crate::report::figure::Figure;
use crate::report::plot::theme::Theme;
use crate::report::plot::{Format, figures, render};
use crate::report::render::html::{page, page_without_script};
use crate::report::render::json;
use crate::report::render::text::text;
use crate::report::specimen::HOSTILE;
use crate::report::specimen::case::{diagnosis, experiment};
use unicode_width::UnicodeWidthStr;

fn built(diagnosis: &Diagnosis) -> crate::report::Report {
    let outline = Outline::default();
    let command = "cotenant diagnose r --victim chat";
    report(&DiagnosisInput { diagnosis, outline: &outline, tool_version: "0.1.0", command })
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn words(diagnosis: &Diagnosis) -> String {
    flat(&text(&built(diagnosis), 100, false))
}

#[test]
fn the_answer_comes_first_and_then_everything_in_its_order() {
    let shown = words(&diagnosis());
    let place = |part: &str| shown.find(part).unwrap_or_else(|| panic!("{part}: {shown}"));
    let order = [
        "A neighbour did it",
        "batch slowed chat: p99 rose from 70 ms to 412 ms while batch burst.",
        "p99 was 412 ms in the window, against 70.0 ms otherwise (medians): +489 %.",
        "its bursts ▔",
        "● 1. batch, confirmed: `batch` burst 9 times",
        "? 5. notebook, cannot tell",
        "✓ ruled out",
        "Samples missing",
        "`batch` pauses in 5 of 10 blocks, drawn by lot",
        "it can give p = 0.004 at best",
        "1. Record chat's latency",
    ];
    let places = order.map(place);
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn every_outcome_has_its_words() {
    let outcomes = [
        Outcome::Neighbour,
        Outcome::ProbablyNeighbour,
        Outcome::SomethingElse,
        Outcome::NotSlow,
        Outcome::NothingShown,
        Outcome::CannotTell,
    ];
    assert_eq!(
        outcomes.map(outcome),
        [
            "A neighbour did it",
            "Probably a neighbour",
            "Something else did it",
            "No slower than usual",
            "Nothing was shown",
            "Cannot tell",
        ]
    );
    for it in outcomes {
        let shown = page(&built(&Diagnosis { outcome: it, ..diagnosis() }));
        assert!(shown.contains(&format!("<h2 id=\"answer\">{}</h2>", outcome(it))), "{it:?}");
    }
}

#[test]
fn a_suspect_that_was_not_shown_could_hide_something_and_an_untold_one_has_a_remedy() {
    let shown = words(&diagnosis());
    assert!(shown.contains("4. trainer, not shown: trainer kept its pace."), "{shown}");
    assert!(shown.contains("p99 could hide up to 6.0 %."), "{shown}");
    assert!(shown.contains("What would show it: Record until the suspect has had 5 bursts"));
    assert!(shown.contains("Its activity was not seen."), "{shown}");
}

#[test]
fn what_is_not_known_is_never_a_number() {
    let mut bare = diagnosis();
    bare.slowness.window_p50 = None;
    bare.slowness.window_p95 = Some(f64::NAN);
    bare.slowness.window_bins = 0;
    bare.slowness.normal_p50 = None;
    bare.slowness.normal_p95 = None;
    bare.slowness.normal_bins = 0;
    bare.suspects.clear();
    bare.look_alikes.clear();
    bare.clock_offset = None;
    bare.experiment = None;
    bare.blind_spots.clear();
    bare.picture.victim = vec![None; 10];
    bare.picture.suspects.clear();
    let shown = words(&bare);
    assert!(shown.contains("p99 was not seen over the whole recording."), "{shown}");
    assert!(shown.contains("There is nobody to suspect"), "{shown}");
    assert!(shown.contains("No blind spot was noted while recording or analysing."), "{shown}");
    assert!(!shown.contains("What else was checked") && !shown.contains("would prove it"));
    assert!(!shown.contains("NaN") && !shown.contains("inf "), "{shown}");
    let whole = Diagnosis { window: bare.window, ..diagnosis() };
    let mut whole = Diagnosis { slowness: bare.slowness, ..whole };
    whole.slowness.window_p50 = Some(0.4);
    assert!(words(&whole).contains("there is no other time to compare it with"));
}

#[test]
fn a_throughput_that_fell_is_told_as_a_loss() {
    let mut slow = diagnosis();
    slow.metric = Metric::Throughput;
    slow.slowness.window_p50 = Some(30.0);
    slow.slowness.normal_p50 = Some(40.0);
    slow.slowness.change_ratio = Some(0.25);
    let shown = words(&slow);
    let said =
        "Throughput stood at 30.0 /s in the window, against 40.0 /s otherwise (medians): −25 %.";
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn the_picture_is_logarithmic_only_where_values_lie_far_apart() {
    let Figure::Suspects(far) = picture(&diagnosis()) else { panic!() };
    assert!(far.is_logarithmic());
    assert_eq!(far.lanes.iter().filter(|it| it.is_guilty).count(), 1);
    assert!(far.window.is_some());
    let mut near = diagnosis();
    for value in near.picture.victim.iter_mut().flatten() {
        *value = value.min(0.1);
    }
    near.window = far.span;
    let Figure::Suspects(near) = picture(&near) else { panic!() };
    assert!(!near.is_logarithmic());
    assert!(near.window.is_none(), "a window over everything marks nothing");
}

#[test]
fn a_gap_of_the_victim_is_a_gap_in_every_picture() {
    let shown = text(&built(&diagnosis()), 80, false);
    let line = shown.lines().find(|it| it.contains("▂▂▇")).unwrap();
    assert!(line.contains("····"), "{line}");
    let svg = |values: Vec<Option<f64>>| {
        let mut it = diagnosis();
        it.picture.victim = values;
        let figure = picture(&it);
        let bytes = render(&figure, figure.natural_size(), Theme::Light, Format::Svg).unwrap();
        String::from_utf8(bytes).unwrap().matches("<polyline").count()
    };
    let with_gap = diagnosis().picture.victim;
    let without = with_gap.iter().map(|it| it.or(Some(0.07))).collect();
    assert_eq!(svg(with_gap), svg(without) + 1);
}

#[test]
fn a_diagnosis_with_hostile_names_does_no_harm_in_any_form() {
    let mut hostile = diagnosis();
    let long = format!("{HOSTILE}{}", "x".repeat(10_000));
    hostile.victim.clone_from(&long);
    hostile.headline.clone_from(&long);
    hostile.picture.suspects[1].suspect.clone_from(&long);
    let built = built(&hostile);
    let html = page_without_script(&built);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
    assert!(html.len() < 400_000, "{}", html.len());
    for width in [40, 80] {
        let shown = text(&built, width, false);
        assert!(!shown.contains(|it: char| it.is_control() && it != '\n'));
        for line in shown.lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
    for it in figures(&built) {
        let svg = render(it.figure, it.figure.natural_size(), Theme::Dark, Format::Svg).unwrap();
        assert!(!String::from_utf8(svg).unwrap().contains("<script"), "{}", it.id);
    }
}

#[test]
fn the_json_has_every_field_and_null_for_what_is_unknown() {
    let mut it = diagnosis();
    it.slowness.change_ratio = Some(f64::NAN);
    let text = json::diagnosis(&it, "0.1.0", "cotenant diagnose").unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["outcome"], "neighbour");
    assert_eq!(document["suspects"][0]["influence"]["verdict"], "confirmed");
    assert_eq!(document["suspects"][1]["influence"]["through"], "power_cap");
    assert!(document["slowness"]["change_ratio"].is_null());
    assert!(document["picture"]["victim"][420].is_null());
    assert_eq!(document["experiment"]["blocks"][0], true);
}

#[test]
fn an_experiment_is_told_with_its_test_and_block_by_block() {
    let shown = |it: &_| {
        let report = experiment_report(it, "0.1.0", "cotenant diagnose r --experiment plan.csv");
        (flat(&text(&report, 100, false)), page(&report))
    };
    let (proven, html) = shown(&experiment());
    assert!(proven.contains("Does batch slow chat?") && proven.contains("── Proven"), "{proven}");
    let test = "p99 of `chat` is +486 % in blocks with `batch` against blocks without; p = 0.004, from all 252 ways";
    assert!(proven.contains(test), "{proven}");
    assert!(proven.contains("the victim was not seen in the block"), "{proven}");
    assert!(html.contains("The load of chat") || html.contains("the load of chat"));
    let mut open = experiment();
    open.is_proven = false;
    open.p_value = 0.000_01;
    open.effect_high = Some(6.0);
    let (open, _) = shown(&open);
    assert!(open.contains("Not proven") && open.contains("+486 % (390 to 600)"), "{open}");
    assert!(open.contains("p < 0.0001"), "{open}");
    let text = json::experiment(&experiment(), "0.1.0", "cotenant").unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["is_proven"], true);
    assert!(document["effect_high"].is_null());
}

#[test]
fn a_diagnosis_is_the_same_every_time_and_explains_only_what_it_says() {
    assert_eq!(page(&built(&diagnosis())), page(&built(&diagnosis())));
    let terms = |it: &Diagnosis| -> Vec<String> {
        let term = |it| if let Block::Term { term, .. } = it { Some(term) } else { None };
        built(it).blocks.into_iter().filter_map(term).collect()
    };
    assert!(terms(&diagnosis()).contains(&"Through the power cap".to_owned()));
    let mut quiet = diagnosis();
    quiet.suspects.retain(|it| it.influence.verdict == InfluenceVerdict::NotShown);
    quiet.look_alikes.clear();
    assert!(!terms(&quiet).contains(&"Through the power cap".to_owned()), "{:?}", terms(&quiet));
}
