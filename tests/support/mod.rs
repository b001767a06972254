//! A temporary folder, the program, and what it answered.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::print_stderr, reason = "skipped tests say so")]

pub(crate) mod recorder;
pub(crate) mod steps;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary folder in which the program is run.
pub(crate) struct Workbench {
    folder: tempfile::TempDir,
}

/// What a run of the program answered.
pub(crate) struct Answer {
    output: Output,
}

impl Workbench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file can be written");
        path
    }

    /// Runs the program in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        let output = Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .output()
            .expect("the program can be started");
        Answer { output }
    }

    /// Runs the program in the folder with these bytes in a pipe on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let mut pipe = child.stdin.take().expect("standard input is a pipe");
        let input = input.to_vec();
        // A program that answers before it has read everything waits for its answer to be read.
        let writer = std::thread::spawn(move || {
            // One that refuses its input reads it not to its end.
            let _ = std::io::Write::write_all(&mut pipe, &input);
        });
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        Answer { output }
    }

    /// Plays a shipped scenario into `NAME/recording`.
    pub(crate) fn play(&self, scenario: &str) -> String {
        let answer =
            self.run(&["demo", "--scenario", scenario, "--recording-only", "-o", scenario]);
        answer.expect_code(0);
        format!("{scenario}/recording")
    }

    /// What `analyze -o json` answers about these inputs.
    pub(crate) fn analyse(&self, arguments: &[&str]) -> Value {
        let answer = self.run(&[&["analyze", "-o", "json"], arguments].concat());
        assert!(
            answer.code() == 0 || answer.code() == 3,
            "code {}: {}",
            answer.code(),
            answer.stderr()
        );
        serde_json::from_str(&answer.stdout()).expect("the result is JSON")
    }
}

impl Answer {
    pub(crate) fn code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub(crate) fn expect_code(&self, code: i32) -> &Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.stdout(), self.stderr());
        self
    }

    pub(crate) fn expect_stderr(&self, part: &str) -> &Self {
        assert!(self.stderr().contains(part), "`{part}` is not in: {}", self.stderr());
        self
    }
}

/// The folder of real recordings; `None`, with a visible word, where it is absent.
pub(crate) fn real(part: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(part);
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

/// The judgement of a subject (by label) in a part of the time (`None`: the whole).
pub(crate) fn judgement<'a>(document: &'a Value, label: &str, phase: Option<&str>) -> &'a Value {
    let all = document["suitability"].as_array().expect("suitability is a list");
    let is_meant = |it: &&Value| {
        it["label"] == label
            && it["scope"]["label"].as_str() == phase
            && it["scope"]["kind"] != "window"
    };
    all.iter()
        .find(is_meant)
        .unwrap_or_else(|| panic!("nothing is said about {label} in {phase:?}"))
}

/// The findings about a subject (by label) in a part of the time (`None`: the whole).
pub(crate) fn scope<'a>(document: &'a Value, label: &str, phase: Option<&str>) -> &'a Value {
    let devices = document["devices"].as_array().expect("devices is a list");
    let subjects = devices.iter().flat_map(|it| it["subjects"].as_array().into_iter().flatten());
    let subject = subjects
        .chain(document["unplaced"].as_array().into_iter().flatten())
        .find(|it| it["label"] == label)
        .unwrap_or_else(|| panic!("no subject is called {label}"));
    let scopes = subject["scopes"].as_array().expect("scopes is a list");
    scopes
        .iter()
        .find(|it| it["scope"]["label"].as_str() == phase)
        .unwrap_or_else(|| panic!("{label} has no scope {phase:?}"))
}

/// A number of a document; fails with its path when it is not there.
pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no number at {pointer}"))
}
