//! `cotenant import --prometheus`: what a server has comes over part by part, and then becomes a recording.

use crate::cli::args::ImportArgs;
use crate::cli::error::CliError;
use crate::cli::moment::Moment;
use crate::cli::output;
use crate::cli::parts::{Parts, Plan};
use crate::cli::progress::Live;
use crate::cli::prometheus_args::PrometheusArgs;
use crate::cli::secret_file::secret_in;
use crate::domain::time::Timestamp;
use crate::import::ImportOptions;
use crate::import::join::Joined;
use crate::import::prometheus_json::PrometheusJson;
use crate::import::prometheus_json::interest::{Interest, interest};
use crate::import::run::ImportSummary;
use crate::prometheus::{
    Client, Order, Problem, Settings, download, gives_raw_samples, names, selected,
};
use crate::storage::RecordingWriter;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What decides whether a download is the same, as options.
const QUESTION: [&str; 6] = ["selector", "from", "to", "last", "step", "latency"];

/// Variable of the environment that may hold a token.
const TOKEN: &str = "COTENANT_PROMETHEUS_TOKEN";

/// Length of a part of the time, in milliseconds: some MB of JSON for hundreds of GPUs.
const PART_MS: i64 = 7_200_000;

/// How far back to look where nobody says, in microseconds: a day.
const USUAL_LAST_US: u64 = 86_400_000_000;

/// Time between points where a server gives no raw samples and nobody said otherwise, in milliseconds.
const USUAL_STEP_MS: u64 = 15_000;

impl From<Problem> for CliError {
    fn from(problem: Problem) -> Self {
        let remedy = problem.remedy();
        match problem {
            Problem::Nothing(_) => CliError::not_enough_data(problem.to_string(), remedy),
            Problem::Given(_) => CliError::usage(problem.to_string(), remedy),
            _ => CliError::unreachable(format!("the server: {problem}"), remedy),
        }
    }
}

/// Gets what the server has, and gives it to the writer.
///
/// The parts come back where they are not needed any more once the recording is written.
pub(crate) fn import_into(
    arguments: &ImportArgs,
    url: &str,
    writer: &mut RecordingWriter,
) -> Result<(ImportSummary, Option<Parts>), CliError> {
    let asked = &arguments.server;
    let client = Client::new(url, settings(asked)?)?;
    let mut parts = Parts::open(&folder_beside(&arguments.output))?;
    let zone = arguments.foreign.timezone.as_ref();
    let plan = match parts.plan()? {
        Some(plan) if plan.asked == question(asked, &client) => {
            output::info(&format!("{}: going on where it stopped", parts.folder().display()));
            plan
        }
        Some(plan) => return Err(other_download(&parts, &plan.asked, &question(asked, &client))),
        None => {
            let plan = new_plan(asked, zone, &client).inspect_err(|_| parts.remove())?;
            parts.keep_plan(&plan)?;
            plan
        }
    };
    let order = plan.order();
    output::info(&format!(
        "{} metrics in {} parts from {}",
        order.names.len(),
        order.count(),
        client.shown()
    ));
    let outcome = download(&client, &order, asked.partial, &mut parts);
    parts.end_progress();
    let outcome = outcome?;
    let summary = read(arguments, &parts, &order, &client, writer)?;
    if outcome.holes > 0 {
        output::warning(&format!(
            "{} of {} parts are not whole; {} keeps the others: the same command with --force asks for the rest",
            outcome.holes,
            order.count(),
            parts.folder().display()
        ));
    }
    Ok((summary, (outcome.holes == 0).then_some(parts)))
}

/// Reads what came over.
fn read(
    arguments: &ImportArgs,
    parts: &Parts,
    order: &Order,
    client: &Client,
    writer: &mut RecordingWriter,
) -> Result<ImportSummary, CliError> {
    let mut input = BufReader::with_capacity(1 << 16, parts.reader(order));
    let options = ImportOptions { gpu: arguments.foreign.gpu.clone(), ..ImportOptions::default() };
    let source = writer.next_source();
    let mut sink = Joined::new(writer);
    let (importer, file) = (&PrometheusJson, client.shown());
    Ok(crate::import::import(importer, &mut input, &file, &options, source, &mut sink)?)
}

/// A download that was begun with other options cannot go on with these.
fn other_download(parts: &Parts, begun: &str, now: &str) -> CliError {
    let value = |of: &str, key: &str| {
        let begins = of.find(&format!(" {key}="))?;
        let rest = &of[begins + key.len() + 2..];
        let ends = QUESTION.iter().filter_map(|it| rest.find(&format!(" {it}="))).min();
        Some(rest[..ends.unwrap_or(rest.len())].to_owned())
    };
    let differs = |key: &&&str| value(begun, key) != value(now, key);
    let mut other: Vec<String> =
        QUESTION.iter().filter(differs).map(|it| format!("--{it}")).collect();
    if begun.split(' ').next() != now.split(' ').next() {
        other.insert(0, "address".to_owned());
    }
    let folder = parts.folder().display();
    CliError::usage(
        format!("{folder}: holds a download that was begun with another {}", other.join(", ")),
        format!(
            "give what it was begun with, and it goes on where it stopped; to begin anew, remove {folder}, or choose another recording with -o"
        ),
    )
}

fn folder_beside(recording: &Path) -> PathBuf {
    let mut name = recording.file_name().unwrap_or_default().to_owned();
    name.push(".download");
    recording.with_file_name(name)
}

/// What was asked for, so that the same command is known again; holds no secret.
fn question(asked: &PrometheusArgs, client: &Client) -> String {
    format!(
        "{} selector={:?} from={:?} to={:?} last={:?} step={:?} latency={:?}",
        client.shown(),
        asked.selector,
        asked.from,
        asked.to,
        asked.last.map(|it| it.as_micros()),
        asked.step.map(|it| it.as_micros()),
        asked.latency
    )
}

fn settings(asked: &PrometheusArgs) -> Result<Settings, CliError> {
    let defaults = Settings::default();
    let timeout =
        asked.timeout.map_or(defaults.timeout, |it| Duration::from_micros(it.as_micros()));
    let mut settings = Settings { timeout, headers: asked.header.clone(), ..defaults };
    #[expect(clippy::disallowed_methods, reason = "a token must not stand in a command line")]
    let token = std::env::var(TOKEN).ok().filter(|it| !it.trim().is_empty());
    if let Some(path) = &asked.ca_file {
        let pem = std::fs::read(path).map_err(|it| CliError::file(path, "reading", &it))?;
        settings.authorities = Some(pem);
    }
    Ok(match (&asked.token_file, &asked.basic_auth_file, token) {
        (Some(path), _, _) => settings.with_token(&secret_in(path)?),
        (None, Some(path), _) => settings.with_basic(&secret_in(path)?),
        (None, None, Some(token)) => settings.with_token(&token),
        (None, None, None) => settings,
    })
}

/// The time to get, in milliseconds since 1970.
fn stretch(
    asked: &PrometheusArgs,
    zone: Option<&TimeZone>,
    now: Timestamp,
) -> Result<(i64, i64), CliError> {
    let ms = |it: Moment| it.as_of(now, zone).as_micros().div_euclid(1000);
    let until_ms = asked.to.map_or(now.as_micros().div_euclid(1000), ms);
    let last_us = asked.last.map_or(USUAL_LAST_US, |it| it.as_micros());
    let last_ms = i64::try_from(last_us / 1000).unwrap_or(i64::MAX);
    let from_ms = asked.from.map_or(until_ms.saturating_sub(last_ms), ms);
    if from_ms >= until_ms {
        return Err(CliError::usage("--from is not before --to", "give an earlier --from"));
    }
    Ok((from_ms, until_ms))
}

/// Asks what there is, and writes down what to get of it.
fn new_plan(
    asked: &PrometheusArgs,
    zone: Option<&TimeZone>,
    client: &Client,
) -> Result<Plan, CliError> {
    let now = Timestamp::from_micros(jiff::Timestamp::now().as_microsecond());
    let (from_ms, until_ms) = stretch(asked, zone, now)?;
    let step_ms = asked.step.map(|it| (it.as_micros() / 1000).max(1));
    let selector = asked.selector.clone().unwrap_or_default();
    let selector = selected("", &selector).trim_matches(['{', '}']).to_owned();
    let mut order =
        Order { names: Vec::new(), selector, from_ms, until_ms, step_ms, part_ms: PART_MS };
    let live = Live::new();
    let mut pause = |length: Duration, problem: &Problem| {
        live.info(format!("the server: {problem}; asking again in {length:.1?}"));
        crate::cli::progress::pause(length);
    };
    let shown = names(client, &order, &mut pause)?;
    order.names = wanted(&shown, &asked.latency)?;
    if order.step_ms.is_none() && !gives_raw_samples(client, &order, &mut pause)? {
        output::warning(
            "the server gives no raw samples; it evaluates every 15 s instead, or as --step says",
        );
        order.step_ms = Some(USUAL_STEP_MS);
    }
    if let Some(step) = order.step_ms {
        order.part_ms = PART_MS.min(Order::longest_part_ms(step));
    }
    Ok(Plan::new(question(asked, client), &order))
}

/// The names that are worth asking for; histograms of requests only where the user names them.
fn wanted(shown: &[String], latency: &[String]) -> Result<Vec<String>, Problem> {
    let is_named = |name: &str| {
        latency.iter().any(|it| {
            name.strip_prefix(it.as_str())
                .is_some_and(|it| matches!(it, "_bucket" | "_sum" | "_count"))
        })
    };
    let is_wanted = |name: &&String| match interest(name) {
        Interest::Gpu | Interest::Server => true,
        Interest::Requests => is_named(name),
        Interest::None => false,
    };
    let found: Vec<String> = shown.iter().filter(is_wanted).cloned().collect();
    let others: BTreeSet<&str> = shown
        .iter()
        .filter(|it| interest(it) == Interest::Requests && !is_named(it))
        .filter_map(|it| it.strip_suffix("_bucket"))
        .collect();
    if !others.is_empty() {
        let some: Vec<&str> = others.iter().take(5).copied().collect();
        output::info(&format!(
            "{} histograms look like requests and are not asked for ({}); --latency NAME adds one",
            others.len(),
            some.join(", ")
        ));
    }
    if let Some(name) = latency.iter().find(|it| !shown.contains(&format!("{it}_bucket"))) {
        return Err(Problem::Nothing(format!(
            "--latency {name}: no histogram of this name in that time"
        )));
    }
    match found.is_empty() {
        true => Err(Problem::Nothing(format!("{} names of metrics in that time", shown.len()))),
        false => Ok(found),
    }
}
