//! What the user may type after `cotenant serve`.

use crate::cli::record_args::{look_interval, share};
use crate::domain::time::SampleInterval;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant serve                                 then scrape http://127.0.0.1:9835/metrics
  cotenant serve --listen 0.0.0.0:9835 --allow-remote")]
pub(crate) struct ServeArgs {
    /// Address and port to answer at; anything but loopback needs --allow-remote
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9835")]
    pub(crate) listen: String,
    /// Answer at an address that other hosts can reach; there is no password and no TLS
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Time between two looks at each GPU, from 20ms to 1m
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = look_interval)]
    pub(crate) interval: SampleInterval,
    /// Only this GPU, by index or UUID; may be repeated [default: all]
    #[arg(long, value_name = "N|UUID")]
    pub(crate) gpu: Vec<String>,
    /// Share of one core, and of the driver's time, that looking may take
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = share)]
    pub(crate) budget: f64,
    /// Tenants of each GPU that get series of their own; all others are counted as `other`
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) most_tenants: u32,
    /// Pairs of tenants of each GPU whose contention gets a series of its own
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) most_pairs: u32,
    /// Rules that say whose a process is (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) tenants: Option<PathBuf>,
    /// The driver's library [default: libnvidia-ml.so.1, where the system finds it]
    #[arg(long, value_name = "FILE")]
    pub(crate) nvml_library: Option<PathBuf>,
}
