//! `cotenant audit`: is a running set-up what policy and plan want it to be?

use crate::analysis::Question;
use crate::cli::audit_args::{AuditArgs, AuditForm, Weight};
use crate::cli::diagnose_forms::deliver;
use crate::cli::ending::form_of;
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::input::open;
use crate::cli::node_files::{node, plan, plan_path, policy};
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::cli::results::{Results, analyse, title_of};
use crate::recommender::audit::{Audit, AuditInput, audit};
use crate::recommender::policy::Policy;
use crate::report::audit::{AuditView, report};
use crate::report::render::csv::audit as lines;
use crate::report::render::{html, json, text};
use std::path::Path;

pub(crate) fn run(arguments: &AuditArgs, command: &str) -> Result<u8, CliError> {
    check_places(arguments)?;
    let form = form(arguments)?;
    let (policy, tenants) = policy(arguments.policy.as_deref())?;
    let (words, files) = node(&arguments.node)?;
    let expected = arguments.expect.as_deref().map(plan).transpose()?;
    let recording = recording(arguments, &policy)?;
    let found = audit(&AuditInput {
        words: &words,
        outline: recording.as_ref().map(|it| &it.outline),
        findings: recording.as_ref().map(|it| &it.findings),
        tenants: &tenants,
        policy: &policy,
        expected: expected.as_ref(),
    });
    let title = recording.as_ref().map(|_| title_of(&arguments.inputs));
    let plan = expected.as_ref().map(|it| format!("{}#{}", it.origin.file, it.name));
    let view = AuditView {
        audit: &found,
        files: &files,
        recording: title.as_deref(),
        plan: plan.as_deref(),
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    deliver(&bytes(&view, form)?, arguments.out.as_deref())?;
    Ok(exit_code(&found, arguments.fail_on))
}

/// Refuses places of output that are inputs.
fn check_places(arguments: &AuditArgs) -> Result<(), CliError> {
    let mut protected = Protected::inputs(&arguments.inputs, &arguments.foreign);
    protected.add(arguments.node.iter().map(std::path::PathBuf::as_path));
    protected.add(arguments.policy.as_deref());
    let plan = arguments.expect.as_deref().map(|it| plan_path(it).0);
    protected.add(plan.as_deref());
    arguments.out.as_deref().map_or(Ok(()), |it: &Path| protected.check_file(it))
}

/// What the recording means; `None` where none is given.
fn recording(arguments: &AuditArgs, policy: &Policy) -> Result<Option<Results>, CliError> {
    if arguments.inputs.is_empty() {
        return Ok(None);
    }
    let input = open(&arguments.inputs, &arguments.foreign)?;
    if input.recording.outline().span.is_none() {
        output::warning("the recording holds no samples; it is left out");
        return Ok(None);
    }
    analyse(&input.recording, &Question::default(), policy.clone()).map(Some)
}

/// The form: the one that was named, or that of the file's ending, or text.
fn form(arguments: &AuditArgs) -> Result<AuditForm, CliError> {
    let known = [
        ("json", AuditForm::Json),
        ("csv", AuditForm::Csv),
        ("html", AuditForm::Html),
        ("htm", AuditForm::Html),
    ];
    form_of(arguments.output, arguments.out.as_deref(), (AuditForm::Table, &known))
}

fn bytes(view: &AuditView<'_>, form: AuditForm) -> Result<Vec<u8>, CliError> {
    let text = match form {
        AuditForm::Table => text::text(&report(view), output::width(), output::has_colour()),
        AuditForm::Html => html::page(&report(view)),
        AuditForm::Json => json::audit(view)
            .map_err(|it| CliError::failed("cannot write the result as JSON", &it))?,
        AuditForm::Csv => {
            lines(view).map_err(|it| CliError::failed("cannot write the result as CSV", &it))?
        }
    };
    Ok(text.into_bytes())
}

/// 4 when something weighs as much as was asked about; 3 when no check could look at anything.
fn exit_code(found: &Audit, fail_on: Option<Weight>) -> u8 {
    let is_heavy = |it: Weight| found.findings.iter().any(|found| found.severity <= it.severity());
    match fail_on {
        Some(it) if is_heavy(it) => FINDINGS,
        _ if found.not_made() == found.checks.len() => NOT_ENOUGH_DATA,
        _ => 0,
    }
}
