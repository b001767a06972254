//! `cotenant plan`: a fleet of recordings becomes a plan of who shares with whom, and of what that costs in freedom.

use crate::cli::diagnose_forms::deliver;
use crate::cli::ending::form_of;
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::figures;
use crate::cli::findings_table::thresholds;
use crate::cli::node_files::policy;
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::cli::plan_args::{PlanAlarm, PlanArgs, PlanForm};
use crate::cli::plan_findings::{Keeping, findings};
use crate::cli::plan_sources::{RecordingSource, SourceKind, sources};
use crate::cli::plan_tables::{Told, told};
use crate::cli::progress::{Done, during, in_parts};
use crate::cli::report::pictures;
use crate::cli::results::title_of;
use crate::cli::terminal;
use crate::colocation::whatif::Options;
use crate::fleet::findings::DeviceFinding;
use crate::fleet::hardware::{Hardware, HardwareError};
use crate::fleet::merge::merged;
use crate::fleet::plan::{FleetPlan, PlanQuestion, plan};
use crate::recommender::situation::Limits;
use crate::recommender::tenant_policy::TenantPolicies;
use crate::report::fleet::{FleetInput, report};
use crate::report::render::csv::fleet as lines;
use crate::report::render::{html, json};
use std::path::{Path, PathBuf};

/// What to do where no GPU was seen.
const NO_GPU: &str = "record the GPUs in the same time, with `cotenant record` on their nodes or `cotenant import --prometheus URL` from dcgm-exporter, and give both";

pub(crate) fn run(arguments: &PlanArgs, command: &str) -> Result<u8, CliError> {
    check_places(arguments)?;
    let form = form(arguments)?;
    let (policy, said) = policy(arguments.policy.as_deref())?;
    let hardware = read(arguments.hardware.as_deref(), Hardware::from_toml)?;
    let prices = read(arguments.prices.as_deref(), Hardware::prices_from_toml)?;
    let (sources, left_out) = sources(&arguments.recordings, arguments.one_host)?;
    let how = Keeping {
        foreign: &arguments.foreign,
        policy: &policy,
        is_kept: !arguments.no_keep,
        is_several: sources.len() > 1,
    };
    let AllFound { devices, damaged, recordings } =
        in_parts("looking at GPUs", sources.len(), |done| all_findings(&sources, &how, done))?;
    warn_unused(&said, &devices);
    let found = during("planning", || {
        plan(&PlanQuestion {
            devices: &devices,
            said: &said,
            policy: &policy,
            hardware: hardware.as_ref(),
            prices: prices.as_ref(),
            limits: Limits {
                mps_clients: arguments.mps_clients,
                has_device_plugin: !arguments.no_device_plugin,
            },
            options: Options::default(),
        })
    });
    let mut notes = notes(&sources, recordings, arguments);
    notes.extend(damaged);
    if let Some(told) = left_out.told() {
        output::warning(&told);
        notes.push(told);
    }
    let result = FleetInput {
        title: &title_of(&arguments.recordings),
        plan: &found,
        notes: &notes,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    let single = &arguments.figures;
    if !single.figure.is_empty() {
        figures::write(&report(&result), single)?;
    }
    if single.leaves_result(arguments.out.is_some() || arguments.output.is_some()) {
        deliver(&bytes(&result, form)?, arguments.out.as_deref())?;
    }
    if let Some(folder) = &arguments.png {
        let count = pictures(&report(&result), folder)?;
        output::info(&format!("wrote {count} figures into {}", folder.display()));
    }
    Ok(exit_code(&found, arguments.fail_on))
}

/// The form: the one that was named, or that of the file's ending, or text.
fn form(arguments: &PlanArgs) -> Result<PlanForm, CliError> {
    let known = [
        ("json", PlanForm::Json),
        ("csv", PlanForm::Csv),
        ("html", PlanForm::Html),
        ("htm", PlanForm::Html),
    ];
    form_of(arguments.output, arguments.out.as_deref(), (PlanForm::Table, &known))
}

fn check_places(arguments: &PlanArgs) -> Result<(), CliError> {
    let mut protected = Protected::inputs(&arguments.recordings, &arguments.foreign);
    let files = [&arguments.policy, &arguments.hardware, &arguments.prices];
    protected.add(files.into_iter().flatten().map(PathBuf::as_path));
    arguments.out.iter().try_for_each(|it| protected.check_file(it))?;
    figures::check_place(&arguments.figures, &protected)?;
    arguments.png.iter().try_for_each(|it| figures::check_pictures(it, &protected))
}

fn read(
    path: Option<&Path>,
    understand: fn(&str) -> Result<Hardware, HardwareError>,
) -> Result<Option<Hardware>, CliError> {
    let Some(path) = path else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|it| {
        CliError::usage(
            format!("{}: cannot be read: {it}", path.display()),
            "give a text file (TOML) of GPUs; docs/PLAN.md shows one",
        )
    })?;
    let found = understand(&text)
        .map_err(|it| CliError::usage(format!("{}: {it}", path.display()), it.remedy()))?;
    Ok(Some(found))
}

/// Findings of all recordings.
struct AllFound {
    /// Every GPU once.
    devices: Vec<DeviceFinding>,
    /// What could not be read, each in a sentence.
    damaged: Vec<String>,
    /// How many recordings there were, here or where tables of findings were made.
    recordings: usize,
}

/// Findings of all recordings and tables, every GPU once, and what could not be read.
///
/// One recording or table that is damaged does not cost the plan of all others. Errors: none could be read, or none holds a GPU.
fn all_findings(
    sources: &[RecordingSource],
    how: &Keeping<'_>,
    done: &Done,
) -> Result<AllFound, CliError> {
    let (tables, own): (Vec<_>, Vec<_>) =
        sources.iter().partition(|it| it.kind == SourceKind::Findings);
    let Told { devices: mut all, mut damaged, recordings, unreadable } =
        told(&tables, &thresholds(how.policy))?;
    tables.iter().for_each(|_| done.one());
    let (mut kept, mut first_error) = (0, None);
    let mut blank = damaged.clone();
    let mut leave_out = |name: String, error: CliError, damaged: &mut Vec<String>| {
        let told = format!("`{name}` is left out: {}", error.message());
        output::warning(&told);
        damaged.push(told);
        first_error.get_or_insert(error);
    };
    for (name, error) in unreadable {
        leave_out(name, error, &mut damaged);
    }
    for source in &own {
        match findings(source, how, done) {
            Ok(found) => {
                kept += usize::from(found.was_kept);
                all.extend(found.devices);
                if let Some(why) = found.why_none {
                    let told = format!("`{}` {why}: no GPU was seen in it", source.name());
                    blank.push(told.clone());
                    damaged.push(told);
                }
            }
            Err(error) => {
                leave_out(source.name(), error, &mut damaged);
                done.one();
            }
        }
    }
    if all.is_empty() {
        let none = |told: String| CliError::not_enough_data(told, NO_GPU);
        return Err(
            first_error.unwrap_or_else(|| none(blank.into_iter().next().unwrap_or_default()))
        );
    }
    blank.iter().for_each(|it| output::warning(it));
    if kept > 0 {
        output::info(&format!("findings of {kept} of {} recordings were kept", own.len()));
    }
    Ok(AllFound { devices: merged(all), damaged, recordings: own.len() + recordings.len() })
}

/// Says which entries of the policy fit nobody: a name that was misspelt protects nobody.
fn warn_unused(said: &TenantPolicies, devices: &[DeviceFinding]) {
    let names: Vec<&str> =
        devices.iter().flat_map(|it| &it.tenants).map(|it| it.name.as_str()).collect();
    for pattern in said.unused(&names) {
        output::warning(&format!("the policy's tenant `{pattern}` is nobody in these recordings"));
    }
}

fn notes(sources: &[RecordingSource], recordings: usize, arguments: &PlanArgs) -> Vec<String> {
    let foreign = sources.iter().filter(|it| it.kind == SourceKind::Foreign).count();
    let mut notes = vec![format!(
        "{} read",
        match recordings {
            1 => "one recording was".to_owned(),
            several => format!("{several} recordings were"),
        }
    )];
    if foreign > 1 {
        notes.push(format!("{foreign} of them are foreign logs, each taken as a host of its own; `--one-host` joins them"));
    }
    if arguments.policy.is_none() {
        notes.push("no policy was given: trust, classes and targets of tenants are not stated, so that strangers are kept apart".to_owned());
    }
    notes
}

fn bytes(result: &FleetInput<'_>, form: PlanForm) -> Result<Vec<u8>, CliError> {
    match form {
        PlanForm::Json => json::fleet(result)
            .map(String::into_bytes)
            .map_err(|it| CliError::failed("cannot write the result as JSON", &it)),
        PlanForm::Csv => lines(result.plan)
            .map(String::into_bytes)
            .map_err(|it| CliError::failed("cannot write the result as CSV", &it)),
        PlanForm::Html => Ok(html::page(&report(result)).into_bytes()),
        PlanForm::Table => {
            let report = report(result);
            Ok(terminal::shown(&report).into_bytes())
        }
    }
}

/// 4 when what was asked about came up; 3 when nobody could be judged.
fn exit_code(plan: &FleetPlan, fail_on: Option<PlanAlarm>) -> u8 {
    let is_alarm = match fail_on {
        None => false,
        Some(PlanAlarm::RefusedNow) => !plan.refused_now.is_empty(),
        Some(PlanAlarm::Unplaced) => !plan.unplaced.is_empty(),
    };
    let summary = &plan.summary;
    match is_alarm {
        true => FINDINGS,
        false if summary.tenants == 0 || summary.tenants_not_judged == summary.tenants => {
            NOT_ENOUGH_DATA
        }
        false => 0,
    }
}
