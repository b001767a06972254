//! What people meet at a terminal: words explained, completions, pages of the manual, colour, width
//! and recordings that are watched while they grow.
#![allow(clippy::print_stderr, reason = "skipped tests say so")]

mod support;

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::Workbench;
use support::recorder::{command, end, endless, program, signal, wait_for_begin, wait_until};

/// Runs the program with these variables, and nothing of the caller's that changes text.
fn with(bench: &Workbench, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut command = Command::new(program());
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG", "TERM"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).current_dir(bench.path("."));
    let output = command.args(arguments).output().expect("the program starts");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_word_is_explained_by_command_and_by_option() {
    let bench = Workbench::new();
    let command = bench.run(&["explain", "duty", "cycle"]);
    command.expect_code(0);
    assert!(command.stdout().contains("Share of the time in which a load is at or above a height"));
    let option = bench.run(&["--explain", "duty cycle"]);
    assert_eq!(option.stdout(), command.stdout());
    assert_eq!(bench.run(&["--explain=Duty-Cycle"]).stdout(), command.stdout());
    let list = bench.run(&["--explain"]).stdout();
    assert!(list.contains("Duty cycle") && list.contains("sm_active_ratio"), "{list}");
    assert_eq!(list, bench.run(&["explain"]).stdout());
    assert!(bench.run(&["explain", "refused-now"]).stdout().contains("plan --fail-on refused-now"));
}

#[test]
fn an_unknown_word_brings_the_nearest_and_code_two() {
    let bench = Workbench::new();
    let answer = bench.run(&["explain", "brust"]);
    answer.expect_code(2).expect_stderr("no term or metric is called `brust`");
    answer.expect_stderr("help: nearest: Burst");
    bench.run(&["--explain", "burst", "--version"]).expect_code(0);
    bench.run(&["--threads", "2"]).expect_code(2).expect_stderr("help: ");
}

#[test]
fn an_explanation_is_json_too() {
    let bench = Workbench::new();
    let text = bench.run(&["explain", "memory.used", "-o", "json"]).stdout();
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["words"][0]["name"], "framebuffer_used_bytes");
    assert_eq!(document["words"][0]["metric"]["unit"], "B");
    assert_eq!(document["words"][0]["metric"]["names"][0]["factor"], 1_048_576.0);
}

#[test]
fn completions_are_what_their_shell_can_read() {
    let bench = Workbench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = bench.run(&["completions", shell]);
        answer.expect_code(0);
        assert!(answer.stdout().contains("diagnose"), "{shell}");
        bench.file("script", answer.stdout());
        if !["bash", "zsh", "fish"].contains(&shell) {
            continue;
        }
        match Command::new(shell).args(["-n", "script"]).current_dir(bench.path(".")).status() {
            Ok(status) => assert!(status.success(), "{shell} reads its completions"),
            Err(_) => eprintln!("skipped: there is no {shell} here"),
        }
    }
    bench.run(&["completions", "tcsh"]).expect_code(2);
}

#[test]
fn every_command_has_a_page_of_the_manual_that_renders() {
    let bench = Workbench::new();
    bench.run(&["man", "pages"]).expect_code(0);
    let help = bench.run(&["--help"]).stdout();
    let commands = help.split("Commands:").nth(1).and_then(|it| it.split("\n\n").next());
    let commands: Vec<&str> = commands
        .expect("a list of commands")
        .lines()
        .filter_map(|it| it.strip_prefix("  ")?.split_whitespace().next())
        .filter(|it| *it != "help" && it.chars().all(|it| it.is_ascii_lowercase()))
        .collect();
    assert!(commands.len() > 12, "{commands:?}");
    for name in &commands {
        let page = bench.path(&format!("pages/cotenant-{name}.1"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|it| panic!("{name}: {it}"));
        assert!(text.contains(".SH SYNOPSIS"), "{name}");
        assert!(
            text.contains(&format!("cotenant {name}"))
                || text.contains(&format!("cotenant\\-{name}"))
        );
    }
    assert_eq!(
        bench.run(&["man"]).stdout(),
        std::fs::read_to_string(bench.path("pages/cotenant.1")).unwrap()
    );
    let page = bench.path("pages/cotenant-analyze.1");
    let reader =
        Command::new("groff").args(["-man", "-Tutf8", "-ww", "-P-cbou"]).arg(page).output();
    match reader {
        Ok(output) => {
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && complaints.is_empty(), "{complaints}");
            assert!(shown.contains("fail") && shown.contains("SYNOPSIS"), "{shown}");
        }
        Err(_) => eprintln!("skipped: there is no groff here"),
    }
}

#[test]
fn a_pipe_has_no_colour_unless_it_is_forced_and_the_words_stay_the_same() {
    let bench = Workbench::new();
    let recording = bench.play("steady-30");
    let plain = with(&bench, &[], &["analyze", &recording]);
    let forced = with(&bench, &[("CLICOLOR_FORCE", "1")], &["analyze", &recording]);
    assert!(!plain.contains('\u{1b}'));
    assert!(forced.contains("\u{1b}[1;32m"), "the verdict is green");
    let bare: Vec<&str> = forced.split('\u{1b}').collect();
    let bare: String = bare
        .iter()
        .enumerate()
        .map(|(at, it)| if at == 0 { *it } else { it.split_once('m').expect("a sequence").1 })
        .collect();
    assert_eq!(bare, plain);
    let both =
        with(&bench, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &["analyze", &recording]);
    assert_eq!(both, plain, "NO_COLOR wins");
    let file = ["diagnose", &recording, "--victim", "nobody", "--out", "x.txt"];
    with(&bench, &[("CLICOLOR_FORCE", "1")], &file);
}

#[test]
fn text_is_as_wide_as_asked_for_and_ascii_where_nothing_else_is_known() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    for width in ["40", "60", "80", "100", "120"] {
        let text = with(&bench, &[], &["analyze", &recording, "--width", width, "--full"]);
        let most: usize = width.parse().unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= most, "{width}: {line}");
        }
    }
    let ascii = with(&bench, &[("LC_ALL", "C")], &["analyze", &recording]);
    assert!(ascii.is_ascii() && ascii.contains("* `batch` slows `chat`"), "{ascii}");
    assert!(with(&bench, &[("TERM", "dumb")], &["analyze", &recording]).is_ascii());
    let short = with(&bench, &[], &["analyze", &recording]);
    let full = with(&bench, &[], &["analyze", &recording, "--full"]);
    assert!(short.contains("--full tells all") && !full.contains("--full tells all"));
    assert!(2 * short.lines().count() < 3 * full.lines().count(), "much is folded away");
    bench.run(&["analyze", &recording, "--width", "10"]).expect_code(2);
}

#[test]
fn the_demo_fits_on_two_screens_and_names_every_part_that_it_leaves_out() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let short = with(&bench, &[], &["analyze", &recording]);
    let full = with(&bench, &[], &["analyze", &recording, "--full"]);
    assert!(short.lines().count() <= 120, "{} lines:\n{short}", short.lines().count());
    let flat = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = flat(&short);
    let mut parts = 0;
    for title in full.lines().filter_map(|it| it.strip_prefix("── ")) {
        let title = title.trim_end_matches('─').trim();
        assert!(words.contains(title), "{title}:\n{short}");
        parts += 1;
    }
    assert!(parts >= 10, "{parts}");
    for way in ["--full tells all of it", "cotenant report", "--figure", "cotenant explain"] {
        assert!(words.contains(way), "{way}:\n{short}");
    }
}

/// Watches the recording `r` in this folder, into the file `seen`.
fn watcher(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = command([program()]);
    command.args(arguments).current_dir(folder);
    command.stdout(File::create(folder.join("seen")).expect("a file")).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn seen(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("seen")).unwrap_or_default()
}

#[test]
fn a_recording_under_way_is_watched_until_somebody_ends_it() {
    let bench = Workbench::new();
    let folder = bench.path(".");
    // Segments that are closed all the time, so that the watcher meets them half written.
    let recorder = endless(&folder, &["--interval", "50ms", "--rotate-age", "500ms"]);
    wait_for_begin(&folder);
    let watcher = watcher(&folder, &["analyze", "r", "--watch=200ms", "--last", "5s"]);
    let results = || seen(&folder).matches("newest sample").count();
    wait_until("several results are told", || results() >= 4);
    let text = seen(&folder);
    assert!(text.contains("the recorder records; Ctrl-C ends this"), "{text}");
    assert!(text.contains(&"=".repeat(80)), "results are told apart");
    assert!(!text.contains('\u{1b}'), "only a terminal is cleared");
    signal(&recorder, "-INT");
    end(recorder).expect_code(0);
    wait_until("its end is noticed", || seen(&folder).contains("the recorder has stopped"));
    let told = results();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(results() <= told + 1, "what does not change is not told again");
    signal(&watcher, "-INT");
    let ended = end(watcher);
    ended.expect_code(0);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_recorder_that_was_killed_is_noticed_between_two_looks() {
    let bench = Workbench::new();
    let folder = bench.path(".");
    let recorder = endless(&folder, &["--interval", "50ms"]);
    wait_for_begin(&folder);
    let watcher = watcher(&folder, &["analyze", "r", "--watch=10m"]);
    wait_until("a result is told", || seen(&folder).contains("the recorder records"));
    signal(&recorder, "-KILL");
    end(recorder);
    wait_until("its death is noticed", || {
        let text = seen(&folder);
        text.contains("no new samples for ") && text.contains("the recorder is not running")
    });
    signal(&watcher, "-INT");
    end(watcher).expect_code(0);
}

#[test]
fn only_a_recording_can_be_watched_and_only_as_text() {
    let bench = Workbench::new();
    bench.file("smi.csv", "timestamp, index, utilization.gpu [%]\n");
    let answer = bench.run(&["analyze", "smi.csv", "--watch"]);
    answer.expect_code(2).expect_stderr("help: give the folder that `cotenant record` writes to");
    let recording = bench.play("steady-30");
    bench.run(&["analyze", &recording, "--watch", "-o", "json"]).expect_code(2);
    bench.run(&["analyze", &recording, "--watch=often"]).expect_code(2);
    let arguments = ["diagnose", &recording, "--victim", "x", "--watch", "--out", "x.html"];
    bench.run(&arguments).expect_code(2);
}

#[test]
fn the_last_part_of_a_recording_can_be_looked_at() {
    let bench = Workbench::new();
    let recording = bench.play("steady-30");
    let whole = bench.analyse(&[&recording]);
    let last = bench.analyse(&[&recording, "--last", "1m"]);
    let samples = |it: &serde_json::Value| {
        it["devices"][0]["subjects"][0]["scopes"][0]["profile"]["samples"].as_f64().unwrap()
    };
    assert!(samples(&last) < samples(&whole) && samples(&last) > 0.0);
    let long = bench.analyse(&[&recording, "--last", "99h"]);
    assert_eq!(samples(&long), samples(&whole), "more than there is, is everything");
    bench.run(&["analyze", &recording, "--last", "1m", "--from", "0s"]).expect_code(2);
    let from_end = bench.analyse(&[&recording, "--from", "-1m"]);
    assert_eq!(samples(&from_end), samples(&last));
    for length in ["7d", "1d12h", "2w", "1.5h", "90m"] {
        let long = bench.analyse(&[&recording, "--last", length]);
        assert_eq!(samples(&long), samples(&whole), "{length}");
    }
    let answer = bench.run(&["analyze", &recording, "--last", "7 moons"]);
    answer.expect_code(2).expect_stderr("w, d, h, m, s, ms or us");
}
