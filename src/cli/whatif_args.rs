//! What the user may type after `cotenant whatif`.

use crate::cli::args::ForeignArgs;
use crate::cli::duration::seconds;
use crate::cli::figure_args::FigureArgs;
use crate::cli::whatif_memory::size;
use crate::colocation::models::{KnownModel, MODELS, named};
use crate::colocation::objective::{Level, Limit, Objective};
use crate::colocation::share::Slice;
use crate::colocation::slices::PROFILES;
use crate::domain::spelling::suggestion;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant whatif monday.csv#chat trainer.csv --slo p99=50ms
  cotenant whatif run#chat run#batch --mechanism mig")]
pub(crate) struct WhatIfArgs {
    /// Recording or foreign log, INPUT for everybody in it, INPUT#NAME for one tenant
    #[arg(value_name = "TENANT", required_unless_present = "profiles")]
    pub(crate) tenants: Vec<String>,
    /// Tenants that were never recorded, from plain numbers (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// How they would share; may be repeated [default: every way that can be answered]
    #[arg(long, value_name = "WAY", value_enum)]
    pub(crate) mechanism: Vec<Way>,
    /// Latency that tenants with requests must keep, for example p99=50ms or p99=1.5x
    #[arg(long, value_name = "QUANTILE=LIMIT", value_parser = objective)]
    pub(crate) slo: Option<Objective>,
    /// Keep the relative phase in which they were recorded, for loads with a common trigger
    #[arg(long)]
    pub(crate) as_recorded: bool,
    /// Model of the GPU that would be shared [default: that of the first recorded tenant]
    #[arg(long, value_name = "MODEL", value_parser = gpu_model)]
    pub(crate) gpu_model: Option<KnownModel>,
    /// Measured co-locations (CSV), from which a throughput is learned too; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) learn: Vec<PathBuf>,
    /// Form of the result [default: what the ending of --out says, or table]
    #[arg(short, long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<WhatIfForm>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// End with exit code 4 when a tenant misses the SLO under a way that was asked about
    #[arg(long, value_name = "WORD", value_enum, requires = "slo")]
    pub(crate) fail_on: Option<Broken>,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
    #[command(flatten)]
    pub(crate) settings: SharingArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// Settings of the ways to share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ways to share")]
pub(crate) struct SharingArgs {
    /// Time slicing: measured length of a turn, for example 2ms
    #[arg(long, value_name = "DURATION", value_parser = turn)]
    pub(crate) quantum: Option<f64>,
    /// Time slicing: measured loss at each change of turns, for example 150us
    #[arg(long, value_name = "DURATION", value_parser = turn)]
    pub(crate) switch: Option<f64>,
    /// MPS: active thread percentage of a tenant; may be repeated
    #[arg(long, value_name = "NAME=PERCENT", value_parser = percentage)]
    pub(crate) mps_percentage: Vec<(String, f64)>,
    /// MPS: most device memory that a tenant gets (its pinned limit), for example chat=20GiB; may be repeated
    #[arg(long, value_name = "NAME=SIZE", value_parser = memory)]
    pub(crate) mps_memory: Vec<(String, f64)>,
    /// Memory that a tenant is configured to grow to, for example its KV cache; may be repeated
    #[arg(long, value_name = "NAME=SIZE", value_parser = memory)]
    pub(crate) memory_limit: Vec<(String, f64)>,
    /// MIG: instance of a tenant, 1g to 7g; may be repeated [default: the best that fit together]
    #[arg(long, value_name = "NAME=SLICE", value_parser = slice)]
    pub(crate) slice: Vec<(String, Slice)>,
    /// Power cap of the GPU, in watts
    #[arg(long, value_name = "WATTS", value_parser = watts, requires = "idle_power")]
    pub(crate) power_cap: Option<f64>,
    /// Power of the GPU when nothing runs, in watts
    #[arg(long, value_name = "WATTS", value_parser = watts, requires = "power_cap")]
    pub(crate) idle_power: Option<f64>,
}

/// A way to share a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Way {
    /// A GPU for each
    Exclusive,
    /// One context at a time
    TimeSlicing,
    /// All at once through the MPS server
    Mps,
    /// Instances of hardware
    Mig,
}

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhatIfForm {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
    /// One line for each way to share and tenant
    Csv,
    /// One HTML file without network or script
    Html,
    /// The picture, two pixels for each point
    Png,
    /// The picture as vectors
    Svg,
}

/// What counts as a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Broken {
    /// The SLO is missed for sure
    Missed,
}

/// Longest turn that is believed, seconds.
const LONGEST_TURN_S: f64 = 60.0;

fn turn(text: &str) -> Result<f64, String> {
    Some(seconds(text)?)
        .filter(|it| *it > 0.0 && *it <= LONGEST_TURN_S)
        .ok_or_else(|| format!("`{text}` is not above 0 and up to 1m, like 2ms or 150us"))
}

fn watts(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches(['W', 'w']).trim_end();
    number
        .parse()
        .ok()
        .filter(|it: &f64| (0.0..=1e5).contains(it))
        .ok_or_else(|| format!("`{text}` is no power in watts like 300"))
}

/// A name and what is given to it.
fn given(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.rsplit_once('=')?;
    (!name.trim().is_empty()).then_some((name.trim(), value.trim()))
}

fn percentage(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("`{text}` is no NAME=PERCENT from 1 to 100, like chat=40");
    let (name, value) = given(text).ok_or_else(wrong)?;
    let percent: f64 = value.trim_end_matches('%').trim_end().parse().map_err(|_| wrong())?;
    match (1.0..=100.0).contains(&percent) {
        true => Ok((name.to_owned(), percent / 100.0)),
        false => Err(wrong()),
    }
}

fn memory(text: &str) -> Result<(String, f64), String> {
    let found = given(text).and_then(|(name, value)| Some((name.to_owned(), size(value)?)));
    found.ok_or_else(|| format!("`{text}` is no NAME=SIZE like chat=20GiB or chat=512MiB"))
}

fn slice(text: &str) -> Result<(String, Slice), String> {
    let (name, value) =
        given(text).ok_or_else(|| format!("`{text}` is no NAME=SLICE, like chat=3g"))?;
    let short = value.split('.').next().unwrap_or(value);
    match PROFILES.iter().find(|it| it.0.eq_ignore_ascii_case(short)) {
        Some((_, slice)) => Ok((name.to_owned(), *slice)),
        None => {
            let known: Vec<&str> = PROFILES.iter().map(|it| it.0).collect();
            Err(format!("no MIG slice is called `{value}`; {}", suggestion(short, &known)))
        }
    }
}

fn gpu_model(text: &str) -> Result<KnownModel, String> {
    named(text).ok_or_else(|| {
        let known: Vec<&str> = MODELS.iter().map(|it| it.name).collect();
        format!("no model of GPU is called `{text}`; known are {}", known.join(", "))
    })
}

fn objective(text: &str) -> Result<Objective, String> {
    let wrong = || format!("`{text}` is no QUANTILE=LIMIT like p99=50ms or p99=1.5x");
    let (level, limit) = given(text).ok_or_else(wrong)?;
    let known: Vec<&str> = Level::ALL.iter().map(|it| it.0).collect();
    let level =
        Level::ALL.iter().find(|it| it.0.eq_ignore_ascii_case(level)).map(|it| it.1).ok_or_else(
            || format!("no quantile is called `{level}`; {}", suggestion(level, &known)),
        )?;
    let limit = match limit.strip_suffix(['x', '×']) {
        Some(factor) => {
            let factor: f64 = factor.trim().parse().map_err(|_| wrong())?;
            if !(factor >= 1.0 && factor.is_finite()) {
                return Err(format!(
                    "`{text}`: sharing never makes faster, so a factor is at least 1x"
                ));
            }
            Limit::Factor(factor)
        }
        None => Limit::Seconds(seconds(limit).ok().filter(|it| *it > 0.0).ok_or_else(wrong)?),
    };
    Ok(Objective { level, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_is_a_latency_or_a_factor() {
        let of = |text| objective(text).unwrap();
        assert_eq!(of("p99=50ms"), Objective { level: Level::P99, limit: Limit::Seconds(0.05) });
        assert_eq!(of("p95=1.5x"), Objective { level: Level::P95, limit: Limit::Factor(1.5) });
        for wrong in ["p99", "p98=1s", "p99=0.5x", "p99=fast", "p99=-1s", "=1s"] {
            assert!(objective(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_are_read_and_nonsense_is_refused() {
        assert_eq!(slice("a=b=3g.40gb").unwrap().0, "a=b");
        assert_eq!(percentage("chat=40%").unwrap(), ("chat".to_owned(), 0.4));
        assert!(slice("chat=5g").is_err() && percentage("chat=0").is_err() && turn("0ms").is_err());
        assert_eq!(turn("150us").unwrap(), 1.5e-4);
        assert!(watts("NaN").is_err() && gpu_model("H1000").unwrap_err().contains("A100-40"));
    }
}
