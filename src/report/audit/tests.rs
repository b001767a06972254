use crate::recommender::audit::{
    About, AboutKind, Audit, AuditFinding, CheckOutcome, CheckState, Severity,
};
use crate::report::audit::{AuditView, NodeFile, report};
use crate::report::render::{csv, html, json, text};

fn finding(severity: Severity, title: &str) -> AuditFinding {
    AuditFinding {
        check: "pods-seated",
        severity,
        title: title.to_owned(),
        about: About::new(AboutKind::Tenant, title),
        evidence: vec![format!("pods.json: {title}")],
        remedy: format!("delete {title}"),
    }
}

fn check(state: CheckState, fine: &[&str]) -> CheckOutcome {
    let fine = fine.iter().map(|it| (*it).to_owned()).collect();
    CheckOutcome { check: "pods-seated", question: "Is each pod in its place?", state, fine }
}

fn view(audit: &Audit) -> AuditView<'_> {
    AuditView { audit, files: &[], recording: None, plan: None, tool_version: "1", command: "" }
}

#[test]
fn the_headline_counts_what_was_found_and_what_was_not_looked_at() {
    let headline = |findings: Vec<AuditFinding>, checks: Vec<CheckOutcome>| {
        view(&Audit { findings, checks, seats: Vec::new() }).headline()
    };
    let (found, fine, open) = (
        check(CheckState::Found, &[]),
        check(CheckState::Fine, &["all is well"]),
        check(CheckState::NotChecked, &[]),
    );
    let (problem, warning, unseen) = (
        finding(Severity::Problem, "a"),
        finding(Severity::Warning, "b"),
        finding(Severity::NotChecked, "c"),
    );
    assert_eq!(
        headline(
            vec![problem.clone(), problem, warning, unseen.clone(), unseen.clone()],
            vec![found.clone(), open.clone(), open.clone()]
        ),
        "2 problems and 1 warning; 2 checks could not be made."
    );
    assert_eq!(
        headline(vec![], vec![fine.clone(), fine.clone()]),
        "Nothing was found by 2 checks."
    );
    assert_eq!(
        headline(vec![unseen.clone()], vec![fine]),
        "Nothing was found by 1 check; 1 detail could not be looked at."
    );
    assert_eq!(
        headline(vec![unseen], vec![open]),
        "Nothing could be checked: none of 1 checks found what it needs."
    );
}

#[test]
fn a_hostile_name_stays_harmless_in_every_form() {
    let hostile = "=cmd()\u{1b}[2J<script>\u{202e}x";
    let audit = Audit {
        findings: Severity::ALL.map(|it| finding(it, hostile)).to_vec(),
        checks: vec![check(CheckState::Found, &[hostile])],
        seats: Vec::new(),
    };
    let files = [NodeFile { name: hostile.to_owned(), kind: "`nvidia-smi -L`" }];
    let view =
        AuditView { files: &files, recording: Some(hostile), plan: Some(hostile), ..view(&audit) };
    let report = report(&view);
    for shown in [text::text(&report, 80, false), html::page(&report)] {
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
        assert!(!shown.contains("<script>x") || !shown.contains("<html"), "{shown}");
    }
    assert!(!html::page_without_script(&report).contains("<script>"));
    let table = csv::audit(&view).unwrap();
    assert!(table.contains("'=cmd()") && !table.contains('\u{1b}'), "{table}");
    let document: serde_json::Value = serde_json::from_str(&json::audit(&view).unwrap()).unwrap();
    assert_eq!(document["findings"][0]["about"], hostile);
}

#[test]
fn what_one_file_would_show_stands_together() {
    let mut findings: Vec<AuditFinding> =
        ["a", "b", "c"].map(|it| finding(Severity::NotChecked, it)).to_vec();
    findings[0].remedy = "add x".to_owned();
    findings[2].remedy = "add x".to_owned();
    let audit =
        Audit { findings, checks: vec![check(CheckState::Fine, &["d"])], seats: Vec::new() };
    let shown = text::text(&report(&view(&audit)), 80, false);
    assert_eq!(shown.matches("not checked").count(), 2, "{shown}");
    assert!(shown.contains("A. C."), "{shown}");
    assert!(shown.find("Add x.") < shown.find("Delete b."), "{shown}");
}
