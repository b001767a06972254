//! The report that stands in `reports/` is the one that the program makes today, byte for byte.
//!
//! `BLESS=1 cargo test --test reports` rewrites it; open it before it goes in.
#![allow(clippy::disallowed_methods, reason = "reads BLESS")]

mod support;

use std::path::Path;
use support::Workbench;

#[test]
fn the_report_that_is_shipped_is_the_one_that_the_demo_makes() {
    let bench = Workbench::new();
    bench.run(&["demo", "-o", "demo"]).expect_code(0);
    let made = std::fs::read(bench.path("demo/report.html")).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/demo.html");
    if std::env::var("BLESS").is_ok() {
        std::fs::write(&shipped, &made).unwrap();
    }
    let is_same = std::fs::read(&shipped).is_ok_and(|it| it == made);
    assert!(is_same, "reports/demo.html is not what `cotenant demo` makes; BLESS=1 rewrites it");
    let pictures = std::fs::read_dir(bench.path("demo/png")).unwrap().count();
    assert!(pictures >= 9, "{pictures} pictures");
}
