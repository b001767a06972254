//! That what was shown about neighbours is said as it was shown.

use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::{Channel, Influence, InfluenceVerdict};
use crate::domain::metric::Metric;
use crate::report::block::{Block, Cell, Table};
use crate::report::figure::{Figure, MatrixFigure};
use crate::report::influences::quantities::{chance, change, effect, hidden, lag, quantity};
use crate::report::influences::wording::{in_words, reasons, without_code};
use crate::report::plot::theme::Theme;
use crate::report::plot::{Format, figures, render};
use crate::report::render::html::{page, page_without_script};
use crate::report::render::text::text;
use crate::report::specimen::quarrel::{influence, pairs, quarrel, sized};
use crate::report::specimen::{HOSTILE, Specimen, specimen};
use unicode_width::UnicodeWidthStr;

const VERDICTS: [InfluenceVerdict; 5] = [
    InfluenceVerdict::Confirmed,
    InfluenceVerdict::Through,
    InfluenceVerdict::Likely,
    InfluenceVerdict::NotShown,
    InfluenceVerdict::CannotTell,
];

/// All words of the report, each run of white space as one space.
fn words(world: &Specimen) -> String {
    let shown = text(&world.report(), 100, false);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_pairs(pairs: Vec<Influence>) -> Specimen {
    let mut world = quarrel();
    if let Some(device) = world.findings.devices.last_mut() {
        device.influences.pairs = pairs;
    }
    world
}

fn table(world: &Specimen, part: &str) -> Table {
    fn tables(blocks: Vec<Block>, found: &mut Vec<Table>) {
        for block in blocks {
            match block {
                Block::Table(it) => found.push(it),
                Block::Details { blocks, .. } => tables(blocks, found),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    tables(world.report().blocks, &mut found);
    found.into_iter().find(|it| it.caption.contains(part)).unwrap()
}

fn matrix(world: &Specimen) -> MatrixFigure {
    let report = world.report();
    let found = figures(&report).into_iter().find(|it| it.id == "influences-gpu-3").unwrap();
    let Figure::Matrix(matrix) = found.figure else { panic!("{:?}", found.figure) };
    matrix.clone()
}

#[test]
fn every_verdict_has_its_sentence() {
    let told = VERDICTS.map(|verdict| {
        let pair = Influence {
            through: (verdict == InfluenceVerdict::Through).then_some(Channel::PowerCap),
            reasons: vec!["too-few-bursts: 4 bursts were seen, 5 are needed".to_owned()],
            ..sized(influence("batch", "chat", verdict), [0.84, 0.62, 1.09], 0.000_2)
        };
        in_words(&pair).replace('\u{a0}', " ")
    });
    assert_eq!(
        told,
        [
            "`batch` slows `chat`: p99 +84 % (62 to 109) while it bursts, within 1 s; confirmed (q 0.0002)",
            "`batch` slows `chat` through the power cap: p99 +84 % (62 to 109) while it bursts, within 1 s; shown (q 0.0002)",
            "`batch` probably slows `chat`: p99 +84 % (62 to 109) while it bursts, within 1 s; likely (q 0.0002)",
            "not shown that `batch` slows `chat`: p99 could hide up to 6.0 %",
            "cannot tell whether `batch` slows `chat` in p99: 4 bursts were seen, 5 are needed",
        ]
    );
}

#[test]
fn unknown_numbers_leave_no_trace_of_a_number_in_a_sentence() {
    for verdict in VERDICTS {
        let mut pair = influence("batch", "chat", verdict);
        for broken in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            pair.effect_ratio = broken;
            pair.lag_seconds = broken;
            pair.q = broken;
            pair.mde_ratio = broken;
            let told = in_words(&pair).replace("p99", "");
            assert!(!told.contains(|it: char| it.is_ascii_digit()), "{told}");
            assert!(!told.contains("NaN") && !told.contains("inf"), "{told}");
        }
    }
    let hides = hidden(&influence("a", "b", InfluenceVerdict::NotShown));
    assert_eq!(hides, "could hide an effect of any size");
}

#[test]
fn a_loss_of_throughput_is_a_minus_and_a_longer_latency_a_plus() {
    let pair = |metric, effect| Influence {
        metric,
        ..sized(influence("a", "b", InfluenceVerdict::Confirmed), effect, 0.01)
    };
    let shown = [
        (Metric::LatencyP99, [0.84, 0.62, 1.09], "+84 % (62 to 109)"),
        (Metric::LatencyP99, [0.02, -0.01, 0.05], "+2.0 % (−1.0 to +5.0)"),
        (Metric::LatencyP99, [-0.2, -0.3, -0.1], "−20 % (10 to 30)"),
        (Metric::Throughput, [0.18, 0.11, 0.24], "−18 % (11 to 24)"),
        (Metric::TokenThroughput, [0.02, -0.01, 0.05], "−2.0 % (−5.0 to +1.0)"),
        (Metric::IterationTime, [0.0, -0.01, 0.01], "0.0 % (−1.0 to +1.0)"),
    ];
    for (metric, ratios, words) in shown {
        assert_eq!(effect(&pair(metric, ratios)).as_deref(), Some(words));
    }
    assert_eq!(change(Metric::LatencyP99, 0.000_1), "under ±0.1 %");
}

#[test]
fn chances_and_lags_are_never_rounded_to_nothing() {
    assert_eq!([0.0, 0.000_2, 0.011, 0.62].map(chance), ["< 0.0001", "0.0002", "0.011", "0.62"]);
    let after = |lag_seconds| {
        lag(&Influence {
            lag_seconds: Some(lag_seconds),
            ..influence("a", "b", InfluenceVerdict::Confirmed)
        })
    };
    assert_eq!(after(0.0).as_deref(), Some("within 1 s"));
    assert_eq!(after(2.0).as_deref(), Some("2 s later"));
    assert_eq!(quantity(Metric::LatencyP99, 0.412), "412 ms");
}

#[test]
fn a_reason_loses_its_code_and_nothing_else() {
    assert_eq!(without_code("too-few-bursts: 4 bursts"), "4 bursts");
    assert_eq!(without_code("chat: and batch"), "and batch");
    assert_eq!(without_code("Only one: A"), "Only one: A");
    assert_eq!(reasons(&influence("a", "b", InfluenceVerdict::CannotTell)), "no reason was given");
}

#[test]
fn what_was_shown_comes_first_in_the_report_and_mutual_influence_is_named() {
    let shown = words(&quarrel());
    let place = |part: &str| shown.find(part).unwrap_or_else(|| panic!("{part}: {shown}"));
    assert!(place("Of 4 GPUs") < place("On GPU 3: `batch` slows `chat`: p99 +84 %"));
    assert!(place("p99 +84 %") < place("What to do with each GPU"));
    assert!(place("Who slows whom") < place("What happened when"));
    assert!(shown.contains("The influence is mutual: `chat` and `batch` slow each other."));
    assert!(shown.contains("Also mean latency +41 % (33 to 50)."));
    assert!(!words(&specimen()).contains("Who slows whom"));
}

#[test]
fn what_is_only_likely_does_not_go_before_the_verdict_on_sharing() {
    let likely: Vec<Influence> =
        pairs().into_iter().filter(|it| it.verdict >= InfluenceVerdict::Likely).collect();
    let shown = words(&with_pairs(likely));
    let probable = shown.find("probably slows `chat`").unwrap();
    assert!(shown.find("Of 4 GPUs").unwrap() < probable);
}

#[test]
fn not_shown_always_says_what_could_hide_and_cannot_tell_what_would_help() {
    let world = quarrel();
    let results = table(&world, "what was shown about every pair");
    for row in &results.rows {
        let line: Vec<String> = row.iter().map(Cell::plain).collect();
        let could_hide = line.iter().any(|it| it.starts_with("could hide"));
        assert_eq!(line[1] == "not shown", could_hide, "{line:?}");
    }
    let shown = words(&world);
    assert!(shown.contains("could hide an effect of any size"), "{shown}");
    assert!(shown.contains("→ Record until the suspect has had 5 bursts"), "{shown}");
    let quiet: Vec<Influence> =
        pairs().into_iter().filter(|it| it.verdict == InfluenceVerdict::NotShown).take(1).collect();
    let shown = words(&with_pairs(quiet));
    let said = "It was not shown that anybody slows anybody; throughput of `batch` could hide up to 6.0 %.";
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn the_matrix_shows_the_worst_metric_of_a_pair_and_nothing_where_nothing_was_tested() {
    let it = matrix(&quarrel());
    let at = |suspect: &str, victim: &str| {
        let row = it.suspects.iter().position(|it| it == suspect).unwrap();
        let column = it.victims.iter().position(|it| it == victim).unwrap();
        it.cells[row][column].clone()
    };
    let worst = at("batch", "chat").unwrap();
    assert_eq!((worst.value.as_str(), worst.note.as_str()), ("+84 %", "p99"));
    assert_eq!(at("embed", "batch").unwrap().value, "up to 6.0 %");
    assert_eq!(at("notebook", "chat").unwrap().value, "");
    assert_eq!(at("batch", "batch"), None);
    assert_eq!(at("chat", "chat"), None);
}

#[test]
fn a_crowd_of_tenants_gets_a_matrix_that_can_be_read() {
    let mut crowd = Vec::new();
    for suspect in 0..14 {
        for victim in (0..14).filter(|it| *it != suspect) {
            let (suspect, victim) = (format!("s-{suspect}"), format!("s-{victim}"));
            let pair = influence(&suspect, &victim, InfluenceVerdict::Confirmed);
            crowd.push(sized(pair, [12.34, 11.0, 13.0], 0.01));
        }
    }
    let world = with_pairs(crowd);
    let it = matrix(&world);
    assert_eq!((it.suspects.len(), it.victims.len()), (10, 10));
    let figure = Figure::Matrix(it);
    for theme in [Theme::Light, Theme::Dark] {
        assert!(render(&figure, figure.natural_size(), theme, Format::Svg).is_ok());
    }
    let shown = words(&world);
    assert!(shown.contains("The first 10 are drawn, all are in the table."), "{shown}");
    assert!(shown.contains("more influences stand"), "{shown}");
}

#[test]
fn look_alikes_stand_in_the_order_found_unseen_ruled_out() {
    let rows = table(&quarrel(), "look-alikes").rows;
    let states: Vec<String> = rows.iter().map(|it| it[1].plain()).collect();
    let rest = vec!["ruled out"; 3];
    assert_eq!(states, [vec!["found", "could not be checked"], rest].concat());
    assert!(rows.iter().all(|it| !it[3].plain().is_empty()), "each says what was seen");
}

#[test]
fn an_influence_within_a_phase_says_so() {
    let pair = Influence {
        scope: Scope::Phase { label: "peak".to_owned() },
        ..sized(influence("a", "b", InfluenceVerdict::Confirmed), [0.5, 0.4, 0.6], 0.01)
    };
    assert!(in_words(&pair).starts_with("`a` slows `b` in phase `peak`: p99 +50 %"));
}

#[test]
fn tenants_without_a_gpu_have_their_own_heading() {
    let mut world = specimen();
    world.findings.unplaced_influences.pairs = pairs();
    let report = world.report();
    assert!(words(&world).contains("Tenants assumed to share one GPU No GPU is known"));
    assert!(figures(&report).iter().any(|it| it.id == "influences-no-known-gpu"));
}

#[test]
fn hostile_names_and_long_ones_do_no_harm_among_neighbours() {
    let mut hostile = pairs();
    let long = format!("{HOSTILE}`{}", "x".repeat(10_000));
    hostile[0].suspect.clone_from(&long);
    hostile[0].reasons = vec![long.clone(); 3];
    let world = with_pairs(hostile);
    let report = world.report();
    let html = page_without_script(&report);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
    assert!(html.len() < 900_000, "{}", html.len());
    for width in [40, 80] {
        let shown = text(&report, width, false);
        assert!(!shown.contains(|it: char| it.is_control() && it != '\n'));
        for line in shown.lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
    for it in figures(&report) {
        let svg = render(it.figure, it.figure.natural_size(), Theme::Light, Format::Svg).unwrap();
        assert!(!String::from_utf8(svg).unwrap().contains("<script"), "{}", it.id);
    }
}

#[test]
fn a_report_about_neighbours_is_the_same_every_time_and_explains_its_words() {
    let report = quarrel().report();
    assert_eq!(page(&report), page(&quarrel().report()));
    let is_term = |wanted: &str| {
        report.blocks.iter().any(|it| matches!(it, Block::Term { term, .. } if term == wanted))
    };
    for term in ["Confirmed", "Likely", "Not shown", "q", "Lag", "CPI2", "Through the power cap"] {
        assert!(is_term(term), "{term}");
    }
}
