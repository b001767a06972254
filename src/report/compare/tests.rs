use super::*;
use crate::analysis::compare::findings::{LoadChange, ServiceLevel, SideSummary, TestCounts};
use crate::domain::metric::Metric;
use crate::report::block::{Cell, Statement};
use crate::report::figure::{ChangeKind, Figure};
use crate::report::plot::theme::Theme;
use crate::report::plot::{FileKind, figures, single};
use crate::report::render::html::page;
use crate::report::render::json;
use crate::report::render::text::text;
use crate::report::specimen::HOSTILE;

fn service(tenant: &str, metric: Metric, ratio: f64, verdict: ChangeVerdict) -> ServiceChange {
    let level = |typical: f64| {
        Some(ServiceLevel { typical, p95: 2.0 * typical, bins: 600, bin_s: 1.0, memory: Some(0.4) })
    };
    ServiceChange {
        tenant: tenant.to_owned(),
        metric,
        verdict,
        certainty: (verdict < ChangeVerdict::NotShown).then_some(Certainty::Confirmed),
        is_small: ratio.abs() < 0.05,
        change_ratio: Some(ratio),
        change_low: Some(ratio - 0.08),
        change_high: Some(ratio + 0.09),
        p: Some(0.000_2),
        p_of_all: Some(0.001),
        mde_ratio: Some(0.12),
        bound_ratio: Some(0.2),
        before: level(0.05),
        after: level(0.05 * (1.0 + ratio)),
        load: None,
        reasons: Vec::new(),
    }
}

pub(crate) fn comparison(tenant: &str) -> Comparison {
    let side = |name: &str| SideSummary {
        name: name.to_owned(),
        span: None,
        length_s: None,
        part_of_s: None,
    };
    let mut worse = service(tenant, Metric::LatencyP99, 0.4, ChangeVerdict::Worse);
    worse.load = Some(LoadChange {
        name: "offered load",
        change_ratio: 0.3,
        change_low: 0.25,
        change_high: 0.35,
        has_moved: true,
        adjusted_ratio: Some(0.1),
        adjusted_low: Some(-0.05),
        adjusted_high: Some(0.27),
        distance: Some(3.0),
    });
    worse.certainty = Some(Certainty::Likely);
    worse.reasons =
        vec!["its offered load changed by +30 %, which may explain all of it".to_owned()];
    Comparison {
        before: side("monday"),
        after: side("tuesday"),
        answer: ComparisonAnswer::Mixed,
        headline: format!("p99 of `{tenant}` changed by +40 %."),
        services: vec![
            worse,
            service("batch", Metric::IterationTime, -0.3, ChangeVerdict::Better),
            service(tenant, Metric::OfferedLoad, 0.3, ChangeVerdict::Different),
            service(tenant, Metric::LatencyMean, 0.02, ChangeVerdict::NotShown),
        ],
        conditions: Vec::new(),
        shapes: Vec::new(),
        influences: Vec::new(),
        only_in_one: vec![OneSided {
            side: Side::Before,
            kind: OneSidedKind::Tenant,
            name: "prefetch".to_owned(),
        }],
        is_same: false,
        remarks: Vec::new(),
        tests: TestCounts { services: 4, conditions: 0 },
    }
}

fn built(comparison: &Comparison) -> Report {
    report(&ComparisonInput {
        comparison,
        suitability_before: &[],
        suitability_after: &[],
        tool_version: "1",
        command: "cotenant report a --compare b",
    })
}

#[test]
fn the_answer_comes_first_and_a_load_that_may_explain_it_is_said_beside_it() {
    let shown = text(&built(&comparison("chat")), 80, false);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let places = [
        "Some worse, some better",
        "changed by +40 %",
        "worse, likely",
        "which may explain all of it",
        "only before",
    ];
    let found = places.map(|it| flat.find(it).unwrap_or_else(|| panic!("{it}: {shown}")));
    assert!(found.is_sorted(), "{found:?} {shown}");
}

#[test]
fn a_change_that_is_neither_better_nor_worse_is_neutral_everywhere() {
    let mut it = comparison("chat");
    it.services.retain(|it| it.metric == Metric::OfferedLoad);
    it.answer = ComparisonAnswer::NotShown;
    let told = super::told(&it.services[0]);
    assert!(matches!(told, Block::Statement(Statement { mark: Mark::Neutral, .. })), "{told:?}");
    let table = tables::services(&it);
    let marks: Vec<Mark> = table.rows[0]
        .iter()
        .filter_map(|cell| if let Cell::Marked(mark, _) = cell { Some(*mark) } else { None })
        .collect();
    assert_eq!(marks, [Mark::Neutral]);
    let Figure::Changes(figure) = figure_of(&it) else { panic!("no picture of changes") };
    assert!(
        figure.groups.iter().flat_map(|it| &it.rows).all(|it| it.kind == ChangeKind::Different),
        "{figure:?}"
    );
    let page = page(&built(&it));
    assert!(page.contains("Neither better nor worse was shown"), "{page}");
    assert!(!page.contains("No change was shown"), "{page}");
}

#[test]
fn what_was_not_shown_says_what_would_have_been_noticed() {
    let page = page(&built(&comparison("chat")));
    assert!(page.contains("Would be noticed") && page.contains("12"), "{page}");
}

#[test]
fn a_hostile_tenant_shows_as_text_in_page_text_picture_and_json() {
    let it = comparison(HOSTILE);
    let built = built(&it);
    let html = page(&built);
    assert!(!html.contains("<script>alert") && html.contains("&lt;script&gt;"));
    for line in text(&built, 80, false).lines() {
        assert!(!line.contains(|it: char| it.is_control()), "{line}");
    }
    for it in figures(&built) {
        let svg = single(&it, Some((960, 540)), Theme::Dark, FileKind::Svg).unwrap();
        assert!(!String::from_utf8(svg).unwrap().contains("<script"), "{}", it.id);
    }
    let input = ComparisonInput {
        comparison: &it,
        suitability_before: &[],
        suitability_after: &[],
        tool_version: "1",
        command: "",
    };
    let json = json::comparison(&input).unwrap();
    assert!(json.contains("\"schema_version\": 1") && json.contains("\"p_of_all\": 0.001"));
}
