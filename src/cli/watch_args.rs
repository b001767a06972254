//! How to look at a recording again and again while it grows.

use crate::cli::duration::interval;
use crate::domain::time::SampleInterval;
use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Recording under way")]
pub(crate) struct WatchArgs {
    /// Look at a recording under way again and again, every 10s or every INTERVAL, until Ctrl-C;
    /// without --from and --last, at its last 10 minutes
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, require_equals = true, default_missing_value = "10s", value_parser = interval)]
    pub(crate) watch: Option<SampleInterval>,
}
