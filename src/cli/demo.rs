//! `cotenant demo`: a synthetic recording with a known truth, and its full report.

use crate::analysis::Question;
use crate::cli::args::DemoArgs;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::report::pictures;
use crate::cli::results::analyse;
use crate::cli::scenario::{FORMAT, play};
use crate::cli::terminal;
use crate::cli::weighed::{Weighing, weigh};
use crate::recommender::policy::Policy;
use crate::recommender::situation::Limits;
use crate::recommender::tenant_policy::TenantPolicies;
use crate::report::render;
use crate::storage::{Mode, RecordingWriter, StoredRecording};
use cotenant_scenario::{SCENARIOS, Scenario};
use std::path::Path;

/// Name of the recording inside the demo's folder.
const RECORDING: &str = "recording";

pub(crate) fn run(arguments: &DemoArgs) -> Result<u8, CliError> {
    if arguments.list {
        let lines: Vec<String> = SCENARIOS.iter().map(|(name, text)| about(name, text)).collect();
        output::result(lines.join("").as_bytes())?;
        return Ok(0);
    }
    let scenario = scenario(&arguments.scenario)?;
    let folder = &arguments.output;
    let recording_path = folder.join(RECORDING);
    check_place(&recording_path)?;
    std::fs::create_dir_all(folder).map_err(|it| CliError::file(folder, "creating", &it))?;
    let mut writer = RecordingWriter::open(&recording_path, Mode::Replace)?;
    let truth =
        crate::cli::progress::during("playing the scenario", || play(&scenario, &mut writer))?;
    writer.finish()?;
    let truth = serde_json::to_string_pretty(&truth)
        .map_err(|it| CliError::failed("cannot write the truth", &it))?;
    output::file(&folder.join("truth.json"), truth.as_bytes())?;
    if arguments.recording_only {
        output::info(&format!("wrote {0}/recording and {0}/truth.json", folder.display()));
        return Ok(0);
    }
    report(arguments, &scenario)
}

fn report(arguments: &DemoArgs, scenario: &Scenario) -> Result<u8, CliError> {
    let folder = &arguments.output;
    let recording_path = folder.join(RECORDING);
    let recording = StoredRecording::open(&recording_path)?.with_processes_in_line();
    let results = analyse(&recording, &Question::default(), Policy::default())?;
    let weighing = Weighing {
        recording: &recording,
        file: RECORDING,
        span: None,
        said: &TenantPolicies::default(),
        words: None,
        limits: Limits::default(),
        asks_together: false,
    };
    let weighed = weigh(&weighing, &results)?;
    let title = format!("Scenario {}", scenario.name);
    let command = format!("cotenant demo --scenario {}", scenario.name);
    let report = results.report(&weighed, &title, &command);
    output::file(&folder.join("report.html"), render::html::page(&report).as_bytes())?;
    pictures(&report, &folder.join("png"))?;
    let text = terminal::in_brief(&report);
    output::result(text.as_bytes())?;
    let place = folder.display();
    output::info(&format!(
        "\nwrote {place}/report.html (open it in a browser), {place}/png, {place}/recording and {place}/truth.json\nnext: cotenant report YOUR-LOG.csv"
    ));
    Ok(0)
}

/// Refuses to replace a recording that no scenario was played into; an empty folder is free.
fn check_place(recording: &Path) -> Result<(), CliError> {
    let is_free = match std::fs::read_dir(recording) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !recording.exists(),
    };
    let is_played = || {
        StoredRecording::open(recording).is_ok_and(|it| {
            let sources = &it.outline().sources;
            !sources.is_empty() && sources.iter().all(|it| it.format == FORMAT)
        })
    };
    if is_free || is_played() {
        return Ok(());
    }
    Err(CliError::usage(
        format!("{}: exists already, and no demo made it", recording.display()),
        "choose another folder with -o",
    ))
}

fn scenario(name: &str) -> Result<Scenario, CliError> {
    if let Some(scenario) = cotenant_scenario::shipped(name) {
        return Ok(scenario);
    }
    let known: Vec<&str> = SCENARIOS.iter().map(|it| it.0).collect();
    let path = Path::new(name);
    if !path.is_file() {
        return Err(CliError::usage(
            format!("no scenario and no file is called `{name}`"),
            format!("shipped scenarios: {}", known.join(", ")),
        ));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|it| CliError::file(path, "reading the scenario", &it))?;
    Scenario::from_toml(&text)
        .map_err(|it| CliError::usage(format!("{name}: {it}"), "correct the scenario file"))
}

fn about(name: &str, text: &str) -> String {
    match Scenario::from_toml(text) {
        Ok(scenario) => format!("{name:<18} {}\n", scenario.description),
        Err(_) => format!("{name}\n"),
    }
}
