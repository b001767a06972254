//! `cotenant diagnose`: one victim, one window, ranked suspects and what was ruled out.

use crate::analysis::diagnosis::{DiagnosisRefusal, DiagnosisRequest, diagnose};
use crate::analysis::diagnosis_findings::{Diagnosis, Outcome};
use crate::analysis::experiment::{ExperimentRequest, evaluate};
use crate::cli::diagnose_args::{DiagnoseArgs, Guilt};
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::input::{Input, open};
use crate::cli::moment::rfc3339;
use crate::cli::overwrite::Protected;
use crate::cli::progress::during;
use crate::cli::victim::{Victim, metric_of};
use crate::cli::{diagnose_forms, experiment_file, output, tenants};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;
use crate::report::diagnosis::DiagnosisInput;
use crate::storage::{Selection, StoredRecording};
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn run(arguments: &DiagnoseArgs, command: &str) -> Result<u8, CliError> {
    check_places(arguments)?;
    let form = diagnose_forms::form(arguments)?;
    let input: Input = open(&arguments.inputs, &arguments.foreign)?;
    let outline = input.recording.outline().clone();
    let whole = outline.span.ok_or_else(|| {
        let remedy = "record again, or import another file";
        CliError::not_enough_data("the recording holds no samples", remedy)
    })?;
    let victim = Victim::find(&input.recording, &arguments.victim)?;
    let part = load(&input.recording, &outline, &victim)?;
    if arguments.experiment.experiment.is_some() {
        return experiment(arguments, (&outline, &part), &victim, command);
    }
    let window = window(arguments, whole)?;
    let metric = metric_of(&victim, &part, arguments.metric.as_deref())?;
    let clock_offsets = tenants::clock_offsets(&outline, &arguments.neighbours.clock_offset)?;
    let offset = clock_offsets.get(&outline.label(&victim.subject)).copied();
    victim.check_window(&part, metric, window, offset)?;
    let request = DiagnosisRequest {
        victim: victim.subject.clone(),
        metric,
        window,
        clock_offsets,
        assume_one_gpu: arguments.neighbours.assume_one_gpu,
        seed: arguments.seed,
    };
    let found = during("looking for who did it", || diagnose(&outline, &part, &request));
    let diagnosis = found.map_err(refused)?;
    let input = DiagnosisInput {
        diagnosis: &diagnosis,
        outline: &outline,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    let bytes = diagnose_forms::diagnosis(&input, form)?;
    diagnose_forms::deliver(&bytes, arguments.out.as_deref())?;
    plan(arguments, &diagnosis, whole)?;
    Ok(exit_code(&diagnosis, arguments.fail_on))
}

/// What the analysis cannot answer is too little data.
fn refused(refusal: DiagnosisRefusal) -> CliError {
    CliError::not_enough_data(refusal.sentence, refusal.remedy)
}

/// Refuses places of output that are inputs.
fn check_places(arguments: &DiagnoseArgs) -> Result<(), CliError> {
    let mut protected = Protected::inputs(&arguments.inputs, &arguments.foreign);
    protected.add(arguments.experiment.experiment.as_deref());
    let places = [&arguments.out, &arguments.experiment.plan_experiment];
    places.into_iter().flatten().try_for_each(|it| protected.check_file(it))
}

/// Everything on the victim's GPU, or everybody of whom no GPU is known; with a single GPU, both.
fn load(
    recording: &StoredRecording,
    outline: &Outline,
    victim: &Victim,
) -> Result<Recording, CliError> {
    let gpus: BTreeSet<&GpuId> = outline.subjects.iter().filter_map(Subject::gpu).collect();
    let selection = match victim.subject.gpu() {
        _ if gpus.len() == 1 => Selection::default(),
        Some(gpu) => Selection::gpu(gpu),
        None => Selection {
            subjects: Some(
                outline.subjects.iter().filter(|it| it.gpu().is_none()).cloned().collect(),
            ),
            ..Selection::default()
        },
    };
    Ok(during("reading", || recording.load(&selection))?)
}

/// The window that was asked for; `None` for the whole recording.
fn window(arguments: &DiagnoseArgs, whole: TimeSpan) -> Result<Option<TimeSpan>, CliError> {
    let zone = arguments.foreign.timezone.as_ref();
    let asked = match (arguments.around, arguments.from, arguments.to) {
        (None, None, None) => return Ok(None),
        (Some(middle), _, _) => {
            let half = (arguments.span * 5e5).round() as i64;
            let middle = middle.within(whole, zone);
            TimeSpan::new(middle.plus_micros(-half), middle.plus_micros(half))
        }
        (None, from, to) => {
            let from = from.map_or(whole.from(), |it| it.within(whole, zone));
            let to = to.map_or(whole.until(), |it| it.within(whole, zone));
            TimeSpan::new(from, to)
        }
    };
    let asked = asked.ok_or_else(|| {
        CliError::usage("the window ends before it begins", "give --from before --to")
    })?;
    asked.overlap(whole).map(Some).ok_or_else(|| {
        let [from, until, first, last] =
            [asked.from(), asked.until(), whole.from(), whole.until()].map(rfc3339);
        CliError::not_enough_data(
            format!("the window, {from} to {until}, lies outside the recording, {first} to {last}"),
            "name a window inside the recording; offsets count from its first sample",
        )
    })
}

/// Writes the planned experiment where the user asked for it.
fn plan(arguments: &DiagnoseArgs, found: &Diagnosis, whole: TimeSpan) -> Result<(), CliError> {
    let experiment = &arguments.experiment;
    let (Some(path), Some(starting)) = (&experiment.plan_experiment, experiment.starting) else {
        return Ok(());
    };
    let Some(plan) = &found.experiment else {
        return Err(CliError::not_enough_data(
            "there is nobody to suspect, so there is no experiment to plan",
            "name another window, or record the neighbours too",
        ));
    };
    let starting = starting.within(whole, arguments.foreign.timezone.as_ref());
    output::file(path, experiment_file::write(plan, starting).as_bytes())?;
    output::info(&format!("wrote {}", path.display()));
    Ok(())
}

/// Evaluates an experiment that was made.
fn experiment(
    arguments: &DiagnoseArgs,
    (outline, part): (&Outline, &Recording),
    victim: &Victim,
    command: &str,
) -> Result<u8, CliError> {
    let given = &arguments.experiment;
    let path = given.experiment.as_deref().unwrap_or_else(|| Path::new(""));
    let whole =
        outline.span.unwrap_or_else(|| TimeSpan::covering(Default::default(), Default::default()));
    let read = experiment_file::read(path, whole, arguments.foreign.timezone.as_ref())?;
    let name = given.suspect.clone().or_else(|| read.suspect.clone()).ok_or_else(|| {
        let message = format!("{}: does not say who paused", path.display());
        CliError::usage(message, "name the suspect: --suspect TENANT")
    })?;
    let shortest = read.blocks.iter().map(|it| it.0.seconds()).fold(f64::INFINITY, f64::min);
    let request = ExperimentRequest {
        victim: victim.subject.clone(),
        suspect: victim.neighbour(outline, &name)?,
        metric: metric_of(victim, part, arguments.metric.as_deref())?,
        blocks: read.blocks,
        clock_offsets: tenants::clock_offsets(outline, &arguments.neighbours.clock_offset)?,
        settle_s: given.settle.or(read.settle_s).unwrap_or(0.1 * shortest),
    };
    let result = evaluate(outline, part, &request).map_err(refused)?;
    let form = diagnose_forms::form(arguments)?;
    let bytes = diagnose_forms::experiment(&result, form, command)?;
    diagnose_forms::deliver(&bytes, arguments.out.as_deref())?;
    Ok(if arguments.fail_on.is_some() && result.is_proven { FINDINGS } else { 0 })
}

/// 4 when a neighbour did it as surely as asked; 3 when nothing can be told.
fn exit_code(found: &Diagnosis, fail_on: Option<Guilt>) -> u8 {
    let is_finding = match fail_on {
        None => false,
        Some(Guilt::Confirmed) => found.outcome == Outcome::Neighbour,
        Some(Guilt::Likely) => {
            matches!(found.outcome, Outcome::Neighbour | Outcome::ProbablyNeighbour)
        }
    };
    match found.outcome {
        _ if is_finding => FINDINGS,
        Outcome::CannotTell => NOT_ENOUGH_DATA,
        _ => 0,
    }
}
