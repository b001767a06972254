//! Options of `cotenant import --prometheus`.

use crate::cli::duration::interval;
use crate::cli::moment::{Moment, without_start};
use crate::domain::time::SampleInterval;
use clap::Args;
use std::path::PathBuf;

/// What to ask a server for, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Asking a Prometheus")]
pub(crate) struct PrometheusArgs {
    /// Prometheus, Thanos, Mimir or VictoriaMetrics to ask, up to where /api/v1 begins
    #[arg(long, value_name = "URL")]
    pub(crate) prometheus: Option<String>,
    /// Matchers that narrow it down, for example 'namespace="ml"'
    #[arg(long, value_name = "MATCHERS", requires = "prometheus")]
    pub(crate) selector: Option<String>,
    /// From here on: a time such as 2026-01-31T12:00:00Z or 03:10, or an offset from now such as -2h
    #[arg(long, value_name = "TIME", value_parser = without_start, allow_hyphen_values = true, requires = "prometheus", conflicts_with = "last")]
    pub(crate) from: Option<Moment>,
    /// Before this: a time, or an offset as for --from [default: now]
    #[arg(long, value_name = "TIME", value_parser = without_start, allow_hyphen_values = true, requires = "prometheus")]
    pub(crate) to: Option<Moment>,
    /// The time before --to, for example 24h or 7d [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = interval, requires = "prometheus")]
    pub(crate) last: Option<SampleInterval>,
    /// Let the server evaluate every so often, instead of asking for raw samples
    #[arg(long, value_name = "DURATION", value_parser = interval, requires = "prometheus")]
    pub(crate) step: Option<SampleInterval>,
    /// Histogram of requests to read as latency, without _bucket; may be repeated
    #[arg(long, value_name = "NAME", requires = "prometheus")]
    pub(crate) latency: Vec<String>,
    /// File that holds a token [default: the variable COTENANT_PROMETHEUS_TOKEN]
    #[arg(long, value_name = "FILE", requires = "prometheus", conflicts_with = "basic_auth_file")]
    pub(crate) token_file: Option<PathBuf>,
    /// File that holds user:password
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) basic_auth_file: Option<PathBuf>,
    /// Authorities to trust, in PEM, instead of those of this host
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Header to send along, for example 'X-Scope-OrgID: team'; may be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, requires = "prometheus")]
    pub(crate) header: Vec<(String, String)>,
    /// Longest time that one answer may take [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = interval, requires = "prometheus")]
    pub(crate) timeout: Option<SampleInterval>,
    /// Make a recording of what there is when the server goes away
    #[arg(long, requires = "prometheus")]
    pub(crate) partial: bool,
}

fn header(text: &str) -> Result<(String, String), String> {
    let wrong = || "a header looks like NAME: VALUE".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    match !name.is_empty() && name.chars().all(is_name) && !value.trim().is_empty() {
        true => Ok((name.to_owned(), value.trim().to_owned())),
        false => Err(wrong()),
    }
}
