//! `cotenant record`: the GPUs of this host into a recording, until somebody ends it.

use crate::cli::error::CliError;
use crate::cli::progress::Live;
use crate::cli::record_args::RecordArgs;
use crate::domain::outline::{Device, Outline};
use crate::domain::source::SourceId;
use crate::domain::units::{MemoryBytes, Seconds};
use crate::sampler::clock::{Clock, HostClock};
use crate::sampler::nvml::{Library, Unreachable};
use crate::sampler::services;
use crate::sampler::source::{GpuHost, Identity, Refusal};
use crate::sampler::{Audience, Notice, OWN_SOURCES, Plan, Status};
use crate::storage::error::StorageError;
use crate::storage::{LiveWriter, Mode, Rotation};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The host as it is; tests of the sampler make one up.
pub(crate) const ROOT: &str = "/";

pub(crate) fn run(arguments: &RecordArgs) -> Result<u8, CliError> {
    let targets = arguments.services.targets()?;
    let mut tenants = arguments.services.resolver(Path::new(ROOT))?;
    let library = Library::open(arguments.nvml_library.as_deref())?;
    let gpus = chosen(&library, &arguments.gpu)?;
    let targets = targets
        .on_devices(&devices(&gpus))
        .map_err(|it| CliError::usage(it.to_string(), it.remedy()))?;
    let is_over = ends_on_signals()?;
    let mode = if arguments.append { Mode::Append } else { Mode::Create };
    let writer = LiveWriter::open(&arguments.output, mode, rotation(arguments));
    let mut writer = writer.map_err(place_is_taken)?;
    let plan = Plan {
        gpus,
        unreachable: unreachable(&library, &arguments.gpu),
        interval_us: arguments.interval.as_micros(),
        duration_us: arguments.duration.and_then(|it| i64::try_from(it.as_micros()).ok()),
        budget: arguments.budget,
        first_source: writer.next_source(),
        root: PathBuf::from(ROOT),
        host_name: host_name(),
    };
    let place = arguments.output.display();
    let mut screen = Screen { live: Live::new(), is_over };
    screen.live.info(format!(
        "recording {} every {} into {place}; Ctrl-C ends it",
        counted(plan.gpus.len(), "GPU"),
        Seconds(arguments.interval.as_seconds()),
    ));
    let clock: Arc<dyn Clock> = Arc::new(HostClock);
    let host: Arc<dyn GpuHost> = Arc::new(library);
    let (sender, events) = services::channel();
    let first_of_services = SourceId(plan.first_source.0.saturating_add(OWN_SOURCES));
    let asking = services::start(targets.numbered_from(first_of_services), sender);
    let outcome =
        crate::sampler::run(&host, &clock, &plan, &mut tenants, &events, &mut writer, &mut screen);
    if outcome.is_err() {
        screen.live.end();
    }
    let mut status = outcome?;
    asking.stop();
    let last = services::drain(&events, &mut writer)?;
    last.notices.into_iter().for_each(|it| screen.live.warning(it));
    status.readings += last.readings;
    if status.looks == 0 && status.readings == 0 && mode == Mode::Create {
        screen.live.end();
        writer.abandon()?;
        return Err(nothing_seen());
    }
    let outline = writer.finish()?;
    screen.live.info(summary(&arguments.output, mode, &status, &outline));
    screen.live.end();
    if status.looks == 0 { Err(nothing_seen()) } else { Ok(0) }
}

/// What was written, and what can be done with it.
fn summary(output: &Path, mode: Mode, status: &Status, outline: &Outline) -> String {
    let place = output.display();
    let written = match mode {
        Mode::Append => format!("added to {place}, which now holds"),
        Mode::Create | Mode::Replace => format!("wrote {place}"),
    };
    format!(
        "{written}: {} readings about {} in {}, {} missed; next: cotenant report {place}",
        outline.readings,
        counted(outline.subjects.len(), "subject"),
        Seconds(status.seconds),
        counted(usize::try_from(status.missed).unwrap_or(usize::MAX), "look"),
    )
}

fn nothing_seen() -> CliError {
    let remedy = "`cotenant doctor` says what is wrong with each GPU";
    CliError::no_gpu("no GPU could be looked at", remedy)
}

/// GPUs that cannot be opened now, as far as the user asked for them.
pub(crate) fn unreachable(library: &Library, names: &[String]) -> Vec<(u32, Refusal)> {
    let is_meant = |it: &&Unreachable| {
        names.is_empty() || names.iter().any(|name| name.parse() == Ok(it.index))
    };
    library.unreachable.iter().filter(is_meant).map(|it| (it.index, it.refusal)).collect()
}

fn rotation(arguments: &RecordArgs) -> Rotation {
    let rotation = &arguments.rotation;
    Rotation {
        bytes: rotation.rotate_size,
        age_us: i64::try_from(rotation.rotate_age.as_micros()).unwrap_or(i64::MAX),
        keep: rotation.keep.map(|it| usize::try_from(it).unwrap_or(usize::MAX)),
    }
}

/// The GPUs that the user asked for; all when none was named.
pub(crate) fn chosen(library: &Library, names: &[String]) -> Result<Vec<Identity>, CliError> {
    if library.gpus.is_empty() && library.unreachable.is_empty() {
        return Err(CliError::no_gpu(
            "the driver knows no GPU on this host",
            "see what `nvidia-smi -L` and `lspci` say, or analyse a recording made elsewhere",
        ));
    }
    if names.is_empty() {
        return Ok(library.gpus.clone());
    }
    let mut gpus: Vec<Identity> = Vec::new();
    for name in names {
        if library.unreachable.iter().any(|it| name.parse() == Ok(it.index)) {
            continue;
        }
        let found = named(&library.gpus, name)?;
        if !gpus.contains(found) {
            gpus.push(found.clone());
        }
    }
    Ok(gpus)
}

/// The GPU with this index, this UUID, or the only one whose UUID begins like this.
fn named<'a>(gpus: &'a [Identity], name: &str) -> Result<&'a Identity, CliError> {
    let begins = |it: &&Identity| match name.parse::<u32>() {
        Ok(index) => it.index == index,
        Err(_) => {
            let head = it.gpu.as_str().get(..name.len());
            !name.is_empty() && head.is_some_and(|it| it.eq_ignore_ascii_case(name))
        }
    };
    let found: Vec<&Identity> = gpus.iter().filter(begins).collect();
    let problem = match found.as_slice() {
        [one] => return Ok(one),
        [] => format!("no GPU is called `{name}`"),
        [_, _, ..] => format!("{} GPUs are called `{name}...`", found.len()),
    };
    let known: Vec<String> = gpus.iter().map(|it| format!("{} ({})", it.index, it.gpu)).collect();
    Err(CliError::usage(problem, format!("GPUs of this host: {}", known.join(", "))))
}

/// Other commands may overwrite what stands there; a recorder may only go on with it.
fn place_is_taken(error: StorageError) -> CliError {
    match error {
        StorageError::Exists { .. } | StorageError::NotARecording { .. } => CliError::usage(
            error.to_string(),
            "choose another folder with -o, or go on with a recording that stands there with --append",
        ),
        error => error.into(),
    }
}

/// A flag that is raised by what ends a program politely.
pub(crate) fn ends_on_signals() -> Result<Arc<AtomicBool>, CliError> {
    let is_over = Arc::new(AtomicBool::new(false));
    let deaf = |it: std::io::Error| CliError::failed("cannot listen to signals", &it);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // `nohup` asks that the end of the terminal does not end the program.
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        // The second signal ends the program at once, for whoever cannot wait.
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&is_over))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&is_over)))
            .map_err(deaf)?;
    }
    // A limit on the size of files kills the program unless it listens; then writing fails instead.
    let is_noted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, is_noted).map_err(deaf)?;
    Ok(is_over)
}

/// What ends a program politely ends this one at once, as if it were done.
pub(crate) fn ends_quietly_on_signals() -> Result<(), CliError> {
    let is_over = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::clone(&is_over))
            .map_err(|it| CliError::failed("cannot listen to signals", &it))?;
    }
    Ok(())
}

/// Whether whoever started the program lets it ignore this signal.
fn is_ignored(signal: i32) -> bool {
    let path = Path::new(ROOT).join("proc/self/status");
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal - 1)) & 1 == 1
}

/// The GPUs as a recording knows them, so that a service can be put on one of them.
fn devices(gpus: &[Identity]) -> Vec<Device> {
    gpus.iter()
        .map(|it| Device { index: Some(it.index), ..Device::named(it.gpu.clone()) })
        .collect()
}

pub(crate) fn host_name() -> Option<String> {
    let name = std::fs::read_to_string(Path::new(ROOT).join("proc/sys/kernel/hostname")).ok()?;
    Some(name.trim().to_owned()).filter(|it| !it.is_empty())
}

pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// The terminal as the audience of a recording.
pub(crate) struct Screen {
    pub(crate) live: Live,
    pub(crate) is_over: Arc<AtomicBool>,
}

impl Audience for Screen {
    fn notice(&mut self, notice: &Notice) {
        match notice.is_warning {
            true => self.live.warning(notice.text.clone()),
            false => self.live.info(notice.text.clone()),
        }
    }

    fn status(&mut self, status: &Status) {
        let memory =
            status.memory_bytes.map_or("?".to_owned(), |it| MemoryBytes::new(it).to_string());
        self.live.say(format!(
            "{}: {}, {} readings, {} missed, {:.1} % of a core, {memory}",
            Seconds(status.seconds),
            counted(status.gpus, "GPU"),
            status.readings,
            counted(usize::try_from(status.missed).unwrap_or(usize::MAX), "look"),
            100.0 * status.cpu_ratio,
        ));
    }

    fn is_over(&mut self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}
