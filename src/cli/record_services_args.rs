//! Options of a recorder about tenants and their own metrics.

use crate::cli::duration::micros;
use crate::cli::error::CliError;
use crate::sampler::services::{Settings, Targets};
use crate::sampler::tenants::{Resolver, Rules};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whose processes these are, and what their services say about themselves.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tenants and their services")]
pub(crate) struct RecordServicesArgs {
    // Texts and not targets: clap repeats a value that it cannot read, with the password in it.
    /// Ask a service for its metrics in Prometheus' format besides the GPU; may be repeated
    #[arg(long, value_name = "NAME[@GPU]=URL[#METRIC]")]
    pub(crate) scrape: Vec<String>,
    /// Time from one scrape to the next
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub(crate) scrape_interval: Duration,
    /// Give up an answer after this time
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub(crate) scrape_timeout: Duration,
    /// Refuse an answer that is longer, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) scrape_limit: u64,
    /// Fewer requests between two scrapes, or in a second of a log, give no quantile
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) least_requests: u32,
    /// Follow a log that a tenant writes, CSV with a header or JSON lines; may be repeated
    #[arg(long, value_name = "NAME[@GPU]=FILE")]
    pub(crate) tail: Vec<String>,
    /// Rules that say whose a process is (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) tenants: Option<PathBuf>,
    /// Keep the arguments of programs, but for what looks like a secret
    #[arg(long)]
    pub(crate) show_commands: bool,
}

impl RecordServicesArgs {
    /// What is asked and followed.
    pub(crate) fn targets(&self) -> Result<Targets, CliError> {
        let settings = Settings {
            interval: self.scrape_interval,
            timeout: self.scrape_timeout,
            most_bytes: self.scrape_limit << 20,
            least_requests: self.least_requests,
        };
        Targets::parse(&self.scrape, &self.tail, settings)
            .map_err(|it| CliError::usage(it.to_string(), it.remedy()))
    }

    /// Who processes of the host below this root belong to; a live host's root is `/`.
    pub(crate) fn resolver(&self, root: &Path) -> Result<Resolver, CliError> {
        let resolver = resolver(self.tenants.as_deref(), root)?;
        Ok(if self.show_commands { resolver.with_commands() } else { resolver })
    }
}

/// Who processes of the host below this root belong to, by the rules in this file.
pub(crate) fn resolver(rules: Option<&Path>, root: &Path) -> Result<Resolver, CliError> {
    let rules = match rules {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|it| {
                let problem = format!("{}: cannot be read: {it}", path.display());
                CliError::usage(problem, "give --tenants a file of TOML")
            })?;
            Rules::from_toml(&text)
                .map_err(|it| CliError::usage(format!("{}: {it}", path.display()), it.remedy()))?
        }
        None => Rules::default(),
    };
    Ok(Resolver::new(root, rules))
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = Duration::from_micros(micros(text)?);
    let is_long = duration >= Duration::from_millis(1);
    is_long.then_some(duration).ok_or_else(|| format!("`{text}` is shorter than 1ms"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        services: RecordServicesArgs,
    }

    fn parsed(arguments: &[&str]) -> RecordServicesArgs {
        let arguments = ["record"].iter().chain(arguments);
        Probe::try_parse_from(arguments).unwrap().services
    }

    #[test]
    fn options_become_targets_and_rules() {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("tenants.toml");
        std::fs::write(&rules, "[[rule]]\ntenant = \"a\"\npod = \"b\"\n").unwrap();
        let options = parsed(&[
            "--scrape",
            "chat@0=http://host",
            "--tail",
            "train=a.csv",
            "--scrape-interval",
            "500ms",
            "--tenants",
            &rules.to_string_lossy(),
            "--show-commands",
        ]);
        assert_eq!(options.targets().unwrap().len(), 2);
        assert!(options.resolver(folder.path()).is_ok());
        std::fs::write(&rules, "[[rule]]\ntenent = \"a\"\n").unwrap();
        let error = options.resolver(folder.path()).unwrap_err();
        assert_eq!((error.exit_code(), error.remedy()), (2, Some("did you mean `tenant`?")));
        assert!(parsed(&[]).targets().unwrap().is_empty());
    }

    #[test]
    fn no_message_repeats_a_password() {
        let error = parsed(&["--scrape", "chat=ftp://me:s3@host"]).targets().unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(!format!("{error:?}").contains("s3"), "{error:?}");
    }
}
