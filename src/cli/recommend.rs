//! `cotenant recommend`: how each GPU should be shared, why, and the files that make it so.

use crate::cli::diagnose_forms::deliver;
use crate::cli::ending::form_of;
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::input::open;
use crate::cli::node_files::{node, policy};
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::cli::progress::during;
use crate::cli::recommend_args::{Alarm, RecommendArgs, RecommendForm};
use crate::cli::recommend_seen::tenants;
use crate::cli::results::{analyse, question, title_of};
use crate::cluster::facts::NodeWords;
use crate::colocation::whatif::Options;
use crate::domain::invisible::harmless;
use crate::domain::outline::Outline;
use crate::recommender::configuration::{Configuration, Decided, configuration};
use crate::recommender::decide::decide;
use crate::recommender::mechanism::DisruptionLevel;
use crate::recommender::seen::{Scenery, situations};
use crate::recommender::situation::{Limits, Situation};
use crate::recommender::tenant_policy::TenantPolicies;
use crate::recommender::together::together;
use crate::recommender::told::take_over;
use crate::recommender::verdict::{Outcome, Verdict};
use crate::report::recommend::{Recommendation, report};
use crate::report::render::{html, json, text};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &RecommendArgs, command: &str) -> Result<u8, CliError> {
    check_places(arguments)?;
    let form = form(arguments)?;
    let (policy, said) = policy(arguments.question.policy.as_deref())?;
    let words = words(&arguments.node)?;
    let input = open(&arguments.question.inputs, &arguments.question.foreign)?;
    let asked = question(&arguments.question, input.recording.outline())?;
    let results = analyse(&input.recording, &asked, policy)?;
    let (seen, notes) =
        during("reading", || tenants(&input.recording, &arguments.question, asked.span))?;
    let mut situations = situations(&Scenery {
        findings: &results.findings,
        outline: &results.outline,
        words: &results.suitability,
        seen: &seen,
        said: &said,
        policy: &results.policy,
        limits: Limits {
            mps_clients: arguments.mps_clients,
            has_device_plugin: !arguments.no_device_plugin,
        },
        options: Options::default(),
    });
    listen(&mut situations, &results.outline, words.as_ref());
    warn_unused(&said, &situations);
    let verdicts: Vec<Verdict> = during("weighing", || {
        situations.par_iter().map(|it| decide(it, &results.policy)).collect()
    });
    let groups = during("grouping", || together(&situations, &results.policy));
    let configuration = configuration(&decided(&results.outline, &situations, &verdicts));
    let result = Recommendation {
        title: &title_of(&arguments.question.inputs),
        verdicts: &verdicts,
        together: groups.as_ref(),
        configuration: &configuration,
        notes: &notes,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    deliver(&bytes(&result, form)?, arguments.out.as_deref())?;
    if let Some(folder) = &arguments.config {
        write_files(folder, &configuration)?;
    }
    Ok(exit_code(&verdicts, arguments.fail_on))
}

/// The form: the one that was named, or that of the file's ending, or text.
fn form(arguments: &RecommendArgs) -> Result<RecommendForm, CliError> {
    let known = [
        ("json", RecommendForm::Json),
        ("yaml", RecommendForm::Yaml),
        ("yml", RecommendForm::Yaml),
        ("html", RecommendForm::Html),
        ("htm", RecommendForm::Html),
    ];
    form_of(arguments.output, arguments.out.as_deref(), (RecommendForm::Table, &known))
}

fn check_places(arguments: &RecommendArgs) -> Result<(), CliError> {
    let mut protected = Protected::question(&arguments.question);
    protected.add(arguments.node.iter().map(PathBuf::as_path));
    for place in [arguments.out.as_deref(), arguments.config.as_deref()].into_iter().flatten() {
        protected.check_file(place)?;
    }
    Ok(())
}

/// What the files of the node say together; `None` without files.
fn words(files: &[PathBuf]) -> Result<Option<NodeWords>, CliError> {
    if files.is_empty() {
        return Ok(None);
    }
    let (words, _) = node(files)?;
    for remark in &words.remarks {
        output::warning(&remark.to_string());
    }
    Ok(Some(words))
}

/// Takes over what the node says about each device; warns when it is about none of them.
fn listen(situations: &mut [Situation], outline: &Outline, words: Option<&NodeWords>) {
    let Some(words) = words else { return };
    let mut is_told = false;
    for it in situations.iter_mut() {
        let index = outline.device(&it.gpu).and_then(|it| it.index);
        is_told |= take_over(it, index, words);
    }
    if !is_told {
        output::warning("what the node says is about no GPU of this recording");
    }
}

/// Says which entries of the policy fit nobody: a name that was misspelt protects nobody.
fn warn_unused(said: &TenantPolicies, situations: &[Situation]) {
    let names: Vec<&str> =
        situations.iter().flat_map(|it| it.tenants.iter().map(|it| it.name.as_str())).collect();
    for pattern in said.unused(&names) {
        output::warning(&format!("the policy's tenant `{pattern}` is nobody in this recording"));
    }
}

fn decided<'a>(
    outline: &'a Outline,
    situations: &'a [Situation],
    verdicts: &'a [Verdict],
) -> Vec<Decided<'a>> {
    let one = |(situation, verdict): (&'a Situation, &'a Verdict)| {
        let device = outline.device(&situation.gpu);
        Decided {
            verdict,
            situation,
            host: device.and_then(|it| it.host.as_deref()),
            index: device.and_then(|it| it.index),
        }
    };
    situations.iter().zip(verdicts).map(one).collect()
}

fn bytes(result: &Recommendation<'_>, form: RecommendForm) -> Result<Vec<u8>, CliError> {
    match form {
        RecommendForm::Json => json::recommendation(result)
            .map(String::into_bytes)
            .map_err(|it| CliError::failed("cannot write the result as JSON", &it)),
        RecommendForm::Yaml => Ok(yaml(result.configuration).into_bytes()),
        RecommendForm::Html => Ok(html::page(&report(result)).into_bytes()),
        RecommendForm::Table => {
            let report = report(result);
            Ok(text::text(&report, output::width(), output::has_colour()).into_bytes())
        }
    }
}

/// Every file that is YAML, one document after the other, each under a comment with its name.
fn yaml(configuration: &Configuration) -> String {
    let mut text = String::new();
    for it in configuration.files.iter().filter(|it| it.name.ends_with(".yaml")) {
        let separator = if it.text.starts_with("---") { "" } else { "---\n" };
        text.push_str(&format!("# {}: {}\n{separator}{}", it.name, it.purpose, it.text));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    for it in &configuration.cautions {
        let line = harmless(it, ' ');
        text.push_str(&format!("# mind: {line}\n"));
    }
    match text.is_empty() {
        true => "# no verdict asks for a change that a file could make\n".to_owned(),
        false => text,
    }
}

fn write_files(folder: &Path, configuration: &Configuration) -> Result<(), CliError> {
    std::fs::create_dir_all(folder)
        .map_err(|it| CliError::file(folder, "making the folder", &it))?;
    let is_ours = |name: &str| configuration.files.iter().any(|it| it.name == name);
    let others = std::fs::read_dir(folder).map_err(|it| CliError::file(folder, "listing", &it))?;
    let mut left: Vec<String> = others
        .filter_map(|it| Some(it.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|it| !is_ours(it))
        .collect();
    left.sort();
    if !left.is_empty() {
        output::warning(&format!(
            "{}: holds files that do not belong to this verdict, perhaps to an older one: {}",
            folder.display(),
            left.join(", ")
        ));
    }
    for it in &configuration.files {
        output::file(&folder.join(&it.name), it.text.as_bytes())?;
    }
    output::info(&format!("wrote {} files to {}", configuration.files.len(), folder.display()));
    Ok(())
}

/// 4 when what was asked about came up; 3 when nothing could be decided.
fn exit_code(verdicts: &[Verdict], fail_on: Option<Alarm>) -> u8 {
    let is_open = |it: &&Verdict| it.outcome == Outcome::NotEnoughEvidence;
    let changes =
        |it: &&Verdict| it.disruption.as_ref().is_some_and(|it| it.level != DisruptionLevel::None);
    let open = verdicts.iter().filter(is_open).count();
    let is_alarm = match fail_on {
        None => false,
        Some(Alarm::NotEnoughEvidence) => open > 0,
        Some(Alarm::Change) => open > 0 || verdicts.iter().any(|it| changes(&it)),
    };
    match is_alarm {
        true => FINDINGS,
        false if open == verdicts.len() => NOT_ENOUGH_DATA,
        false => 0,
    }
}
