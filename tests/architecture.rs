//! The rules of `docs/ARCHITECTURE.md`, checked against the sources; no tool is needed.
//!
//! Every rule is a function from text to complaints, so that a test can show it a text that breaks it.

mod sources;

use crate::sources::{Source, all_sources, blanked, is_inside, tracked_texts};
use std::path::Path;

/// Who may import whom: a floor may use itself and what stands beside it here.
const FLOORS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("stats", &[]),
    ("cluster", &["domain"]),
    ("exporter", &["domain", "stats"]),
    ("import", &["domain"]),
    ("prometheus", &["domain"]),
    ("sampler", &["domain"]),
    ("storage", &["domain"]),
    ("analysis", &["domain", "stats"]),
    ("colocation", &["domain", "stats"]),
    ("recommender", &["domain", "cluster", "analysis", "colocation"]),
    ("fleet", &["domain", "stats", "analysis", "colocation", "recommender"]),
    ("report", &["domain", "analysis", "colocation", "recommender", "fleet"]),
    (
        "cli",
        &[
            "domain",
            "cluster",
            "exporter",
            "import",
            "prometheus",
            "sampler",
            "storage",
            "analysis",
            "colocation",
            "recommender",
            "fleet",
            "report",
        ],
    ),
];

/// Which modules may name a foreign crate; a part of a path stands for all below it.
const DOORS: &[(&str, &[&str])] = &[
    ("anstream", &["cli::output"]),
    ("anstyle", &["cli::output"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli::completions"]),
    ("clap_mangen", &["cli::man"]),
    ("cotenant_scenario", &["cli::demo", "cli::scenario"]),
    ("crc32fast", &["storage::seal"]),
    ("csv", &["report::render::csv", "cli::export"]),
    ("epaint_default_fonts", &["report::plot"]),
    ("flate2", &["import::text::decompress", "cli::export"]),
    ("httparse", &["cli::serve_http"]),
    ("indicatif", &["cli::progress"]),
    ("jiff", &["import", "sampler::services", "report", "cli"]),
    ("maud", &["report::render::html"]),
    ("nalgebra", &["stats"]),
    ("nvml_wrapper", &["sampler::nvml"]),
    ("nvml_wrapper_sys", &["sampler::nvml"]),
    ("plotters", &["report::plot"]),
    ("png", &["report::plot"]),
    ("polars", &["storage"]),
    ("polars_arrow", &["storage::arrow"]),
    ("polars_arrow_format", &["storage::arrow"]),
    ("prometheus_parse", &["import::prometheus_text", "sampler::services::exposition"]),
    ("quick_xml", &["import::smi::xml"]),
    ("rand", &["stats"]),
    ("rand_chacha", &["stats"]),
    ("rayon", &["analysis", "colocation", "recommender", "fleet", "cli"]),
    ("realfft", &["stats"]),
    ("rusqlite", &["import::nsight::database"]),
    ("rustix", &["sampler", "cli::output"]),
    (
        "serde",
        &[
            "domain",
            "cluster::tree",
            "import",
            "prometheus",
            "sampler::tenants::rules",
            "storage",
            "analysis",
            "colocation",
            "recommender",
            "fleet",
            "report::render::json",
            "report::render::csv",
        ],
    ),
    (
        "serde_json",
        &[
            "cluster::tree",
            "import::json",
            "import::prometheus_json",
            "prometheus",
            "sampler::services::tail",
            "sampler::tenants::names",
            "storage",
            "report::render",
            "cli",
        ],
    ),
    ("serde_saphyr", &["cluster::tree"]),
    ("signal_hook", &["cli::record"]),
    ("statrs", &["stats"]),
    ("tempfile", &["cli"]),
    (
        "thiserror",
        &["cluster", "import", "prometheus", "sampler", "storage", "recommender", "report::plot"],
    ),
    (
        "toml",
        &[
            "import::mapping",
            "colocation::profiles",
            "recommender::policy",
            "recommender::tenant_policy",
            "fleet::hardware",
            "sampler::tenants::rules",
        ],
    ),
    ("unicode_width", &["report"]),
    ("ureq", &["prometheus::client", "sampler::services::fetch"]),
    ("zstd", &["import::text::decompress"]),
];

/// Dependencies that no source names yet, and why they are there.
const NOT_USED_YET: &[(&str, &str)] = &[];

/// What only some modules may touch: the outer world.
const WORLD: &[(&str, &[&str], &str)] = &[
    ("std::env", &["cli"], "take the value as an argument; only the command line reads it"),
    (
        "std::fs",
        &["sampler", "storage", "cli"],
        "take a reader, or return bytes; the command line opens files",
    ),
    (
        "File::",
        &["storage", "cli", "sampler::tenants::host", "sampler::services::tail::file"],
        "take a reader, or return bytes; the command line opens files",
    ),
    ("SystemTime", &[], "results depend on the recording only; take the time as an argument"),
    (
        "Instant::now",
        &["cli::progress", "sampler::services::clock"],
        "results depend on the recording only",
    ),
    (
        "std::thread",
        &["cli::progress", "cli::serve", "cli::serve_http", "analysis", "sampler", "storage::lock"],
        "work in parallel in `analysis` only, where results keep their order",
    ),
    ("std::process", &["cli", "storage::lock"], "return an error; `main` ends the process"),
    (
        "std::net",
        &["cli::serve", "cli::serve_args", "cli::serve_http"],
        "only the exporter answers a network",
    ),
    ("stdout()", &["cli::output", "cli::export"], "return bytes; `cli::output` writes them"),
    ("stderr()", &["cli::output", "cli::progress"], "return an error, or use `cli::output`"),
];

/// Macros that print; `cli::output` writes through a handle instead, so that a closed pipe is no panic.
const PRINTING: [&str; 5] = ["println!", "print!", "eprintln!", "eprint!", "dbg!"];

/// Lines of a file that are not tests, at most.
const LONGEST_FILE: usize = 400;

/// Files that may be longer, and why.
const LONGER_FILES: &[(&str, &str)] = &[];

/// Lines of `docs/ARCHITECTURE.md`, at most: a page that nobody reads to the end protects nothing.
const LONGEST_ARCHITECTURE: usize = 200;

/// Starts of paths that exist on one machine only.
const MACHINE_PATHS: [&str; 5] = ["/home/", "/root/", "/Users/", "C:\\Users\\", "../shared"];

/// Files that may hold such a path, and why.
const EXAMPLE_PATHS: &[(&str, &str)] = &[
    ("src/import/smi/program.rs", "tests that folders in a program's name are dropped"),
    ("benches/whatif/table.rs", "reads published tables where they lie at hand, and skips visibly"),
    (
        "src/domain/mig_geometry/tests.rs",
        "reads a published table where it lies at hand, and skips visibly",
    ),
    ("src/import/testing.rs", "reads real captures where they lie at hand, and skips visibly"),
    ("tests/architecture.rs", "names the paths that it looks for"),
    ("tests/support/mod.rs", "reads real captures where they lie at hand, and skips visibly"),
    (
        "tests/verdicts_published.rs",
        "reads published tables where they lie at hand, and skips visibly",
    ),
    ("tests/imports.rs", "reads real captures where they lie at hand, and skips visibly"),
];

/// The other floors that a floor's code names.
fn forbidden_imports(floor: &str, allowed: &[&str], code: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (line, text) in code.lines().enumerate() {
        for rest in text.split("crate::").skip(1) {
            let module: String =
                rest.chars().take_while(|it| it.is_ascii_lowercase() || *it == '_').collect();
            if !module.is_empty() && module != floor && !allowed.contains(&module.as_str()) {
                complaints.push(format!(
                    "line {}: `{floor}` may not use `{module}`; move the code to the floor that may, or change FLOORS and docs/ARCHITECTURE.md together",
                    line + 1
                ));
            }
        }
    }
    complaints
}

/// Foreign crates that a module names although its door is elsewhere.
fn crates_outside_their_door(module: &str, code: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, doors) in DOORS {
        if is_inside(module, doors) {
            continue;
        }
        for (line, text) in code.lines().enumerate() {
            if names_crate(text, name) {
                complaints.push(format!(
                    "line {}: `{name}` may be named in {doors:?} only; call a function there, or change DOORS and docs/ARCHITECTURE.md together",
                    line + 1
                ));
            }
        }
    }
    complaints
}

/// Whether a line of code names a crate as the start of a path.
fn names_crate(text: &str, name: &str) -> bool {
    let start = format!("{name}::");
    text.match_indices(&start).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':')
            || text[..at].ends_with(" ::")
    })
}

/// What a module touches of the outer world although it may not.
fn touches_the_world(module: &str, code: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (what, doors, advice) in WORLD {
        if is_inside(module, doors) {
            continue;
        }
        for (line, text) in code.lines().enumerate() {
            let is_named = text.match_indices(what).any(|(at, _)| {
                !text[..at].chars().next_back().is_some_and(|it| it.is_alphanumeric() || it == '_')
            });
            if is_named {
                complaints.push(format!("line {}: `{what}`: {advice}", line + 1));
            }
        }
    }
    complaints
}

/// Habits that make the sources harder to check or the program harder to trust.
fn bad_habits(module: &str, code: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut complain =
        |line: usize, text: &str| complaints.push(format!("line {}: {text}", line + 1));
    for (line, text) in code.lines().enumerate() {
        if text.contains("crate::{") || text.contains("{crate::") {
            complain(
                line,
                "grouped `use crate::{…}`: one module on each line, so that a search finds it",
            );
        }
        if text.contains("super::super") {
            complain(line, "`super::super`: write the path from `crate::`");
        }
        let has_unsafe =
            text.split(|it: char| !it.is_alphanumeric() && it != '_').any(|it| it == "unsafe");
        if has_unsafe && !is_inside(module, &["sampler::nvml"]) {
            complain(line, "`unsafe` belongs into `sampler::nvml` only");
        }
    }
    complaints
}

/// Macros that print, in code that is no test.
fn prints(code: &str) -> Vec<String> {
    let of_line = |(line, text): (usize, &str)| {
        let found = PRINTING.iter().find(|it| has_macro(text, it))?;
        Some(format!("line {}: `{found}`: return the text, or use `cli::output`", line + 1))
    };
    code.lines().enumerate().filter_map(of_line).collect()
}

fn has_macro(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(|it| it.is_alphanumeric() || it == '_')
    })
}

/// Whether a file is too long, tests left out.
fn too_long(path: &str, lines: usize) -> Option<String> {
    let is_excused = LONGER_FILES.iter().any(|it| it.0 == path);
    (lines > LONGEST_FILE && !is_excused).then(|| {
        format!(
            "{lines} lines without tests, {LONGEST_FILE} are the most; split it by what it answers, or list it in LONGER_FILES with a reason"
        )
    })
}

/// Paths of one machine in a text.
fn machine_paths(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (line, content) in text.lines().enumerate() {
        if let Some(it) = MACHINE_PATHS.iter().find(|it| content.contains(*it)) {
            complaints.push(format!(
                "line {}: `{it}` exists on one machine only; write a path inside the repository",
                line + 1
            ));
        }
    }
    complaints
}

/// Fails with every complaint about every file.
fn refuse(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// The complaints of a check about all sources, each with its file.
fn over_sources(check: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    let about = |source: &Source| -> Vec<String> {
        check(source).into_iter().map(|it| format!("{}: {it}", source.path)).collect()
    };
    all_sources().iter().flat_map(about).collect()
}

#[test]
fn every_module_imports_only_from_the_floors_below() {
    refuse(over_sources(|source| match source.module.split("::").next() {
        None | Some("" | "main") => Vec::new(),
        Some(floor) => match FLOORS.iter().find(|it| it.0 == floor) {
            Some((_, allowed)) => forbidden_imports(floor, allowed, &source.with_tests),
            None => vec![format!("`{floor}` stands on no floor; give it a place in FLOORS")],
        },
    }));
}

#[test]
fn every_foreign_crate_is_named_only_behind_its_door() {
    refuse(over_sources(|source| match source.is_test {
        true => Vec::new(),
        false => crates_outside_their_door(&source.module, &source.code),
    }));
}

#[test]
fn every_dependency_has_a_door_and_a_decision() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("Cargo.toml is there");
    let manifest: toml::Table = toml::from_str(&manifest).expect("Cargo.toml is TOML");
    let decisions: String = std::fs::read_dir(root.join("docs/decisions"))
        .expect("docs/decisions is there")
        .map(|it| std::fs::read_to_string(it.expect("a file").path()).expect("a text"))
        .collect();
    let names = |table: &str| -> Vec<String> {
        let table = manifest.get(table).and_then(toml::Value::as_table);
        table.map(|it| it.keys().cloned().collect()).unwrap_or_default()
    };
    let mut complaints = Vec::new();
    for name in names("dependencies") {
        let spelled = name.replace('-', "_");
        if !DOORS.iter().any(|it| it.0 == spelled) {
            complaints.push(format!("Cargo.toml: `{name}` has no door; add one to DOORS"));
        }
    }
    let sources = all_sources();
    for (name, _) in DOORS {
        let is_used = sources.iter().any(|it| it.code.lines().any(|text| names_crate(text, name)));
        let is_excused = NOT_USED_YET.iter().any(|it| it.0 == *name);
        if is_used == is_excused {
            complaints.push(format!(
                "DOORS: `{name}`: take out the dependency that nobody names, or the exception in NOT_USED_YET that nobody needs"
            ));
        }
    }
    for name in names("dependencies").into_iter().chain(names("dev-dependencies")) {
        if !decisions.contains(&format!("`{name}`")) {
            complaints.push(format!("Cargo.toml: no page of docs/decisions names `{name}`"));
        }
    }
    refuse(complaints);
}

#[test]
fn only_the_command_line_storage_and_the_sampler_touch_the_outer_world() {
    refuse(over_sources(|source| match source.is_test || source.module == "main" {
        true => Vec::new(),
        false => touches_the_world(&source.module, &source.code),
    }));
}

#[test]
fn no_source_has_a_habit_that_hides_something() {
    refuse(over_sources(|source| bad_habits(&source.module, &source.with_tests)));
}

#[test]
fn nothing_prints_but_the_one_place_that_may() {
    refuse(over_sources(|source| match source.is_test {
        true => Vec::new(),
        false => prints(&source.code),
    }));
}

#[test]
fn main_knows_nothing_but_the_command_line() {
    let sources = all_sources();
    let main = sources.iter().find(|it| it.module == "main").expect("src/main.rs is there");
    let other = main.code.split("cotenant::").skip(1).find(|it| !it.starts_with("cli::"));
    assert_eq!(other, None, "src/main.rs: call `cotenant::cli` only");
}

#[test]
fn no_file_is_too_long_to_be_read_at_once() {
    refuse(over_sources(|source| match source.is_test {
        true => Vec::new(),
        false => too_long(&source.path, source.code.lines().count()).into_iter().collect(),
    }));
}

#[test]
fn the_page_on_architecture_is_short_enough_to_be_read() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ARCHITECTURE.md");
    let lines =
        std::fs::read_to_string(page).expect("docs/ARCHITECTURE.md is there").lines().count();
    assert!(
        lines <= LONGEST_ARCHITECTURE,
        "{lines} lines; move details to the page that owns them"
    );
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let excused = |path: &str| EXAMPLE_PATHS.iter().any(|it| it.0 == path);
    let mut complaints = Vec::new();
    for (path, text) in tracked_texts() {
        if !excused(&path) {
            complaints.extend(machine_paths(&text).into_iter().map(|it| format!("{path}: {it}")));
        }
    }
    refuse(complaints);
}

#[test]
fn an_exception_that_is_no_longer_needed_is_removed() {
    let mut complaints = Vec::new();
    for (path, text) in tracked_texts() {
        let is_excused = EXAMPLE_PATHS.iter().any(|it| it.0 == path);
        if is_excused && machine_paths(&text).is_empty() {
            complaints.push(format!("{path}: take it out of EXAMPLE_PATHS"));
        }
    }
    for source in all_sources() {
        let is_excused = LONGER_FILES.iter().any(|it| it.0 == source.path);
        if is_excused && source.code.lines().count() <= LONGEST_FILE {
            complaints.push(format!("{}: take it out of LONGER_FILES", source.path));
        }
    }
    refuse(complaints);
}

#[test]
fn an_import_from_above_or_beside_is_found() {
    assert_eq!(forbidden_imports("stats", &[], "use crate::domain::time::Timestamp;").len(), 1);
    assert_eq!(
        forbidden_imports("import", &["domain"], "fn a() { crate::storage::open() }").len(),
        1
    );
    assert!(
        forbidden_imports("import", &["domain"], "use crate::domain::x;\nuse crate::import::y;")
            .is_empty()
    );
}

#[test]
fn a_crate_outside_its_door_is_found_however_it_is_named() {
    assert_eq!(
        crates_outside_their_door("analysis::idle", "use polars::prelude::DataFrame;").len(),
        1
    );
    assert_eq!(crates_outside_their_door("import", "let it = ::polars::df();").len(), 1);
    assert!(
        crates_outside_their_door("storage::frame", "use polars::prelude::DataFrame;").is_empty()
    );
    assert!(
        crates_outside_their_door("report", "use crate::report::render::csv::guarded;").is_empty()
    );
    assert!(
        crates_outside_their_door("cli", "use crate::report::plot::png::x; mypng::y()").is_empty()
    );
}

#[test]
fn a_touch_of_the_outer_world_is_found() {
    for code in ["std::env::var(\"X\")", "let now = SystemTime::now();", "std::fs::read(path)"] {
        assert_eq!(touches_the_world("analysis", code).len(), 1, "{code}");
    }
    assert_eq!(touches_the_world("cli::analyze", "std::io::stdout()").len(), 1);
    assert!(touches_the_world("cli::input", "std::fs::read(path)").is_empty());
    assert!(touches_the_world("import", "let file = QueryFile::new(run);").is_empty());
}

#[test]
fn a_bad_habit_is_found() {
    for code in ["use crate::{domain, stats};", "use super::super::x;", "unsafe { x() }"] {
        assert_eq!(bad_habits("cli", code).len(), 1, "{code}");
    }
    assert_eq!(prints("println!(\"x\");\ndbg!(x)").len(), 2);
    assert!(prints("writeln!(out, \"x\")").is_empty());
    assert!(bad_habits("sampler::nvml::library", "unsafe { x() }").is_empty());
    assert!(bad_habits("cli", "#![deny(unsafe_code)]").is_empty());
}

#[test]
fn a_long_file_and_a_path_of_one_machine_are_found() {
    assert!(too_long("src/x.rs", LONGEST_FILE + 1).is_some());
    assert!(too_long("src/x.rs", LONGEST_FILE).is_none());
    assert_eq!(machine_paths("see /home/someone/data").len(), 1);
    assert!(machine_paths("see fixtures/imports").is_empty());
}

#[test]
fn comments_strings_and_tests_do_not_count_as_code() {
    let text = "a(\"polars::x\"); // polars::y\n/* polars::z */ let c = '\"'; let s = r#\"polars::w\"#;\nfn f<'a>(x: &'a str) {}\nb()";
    let code = blanked(text);
    assert!(!code.contains("polars"), "{code}");
    assert!(code.contains("fn f<'a>(x: &'a str) {}") && code.contains("b()"), "{code}");
    assert_eq!(code.lines().count(), text.lines().count());
}
