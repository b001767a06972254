//! Tenants that were never recorded, from plain numbers in a TOML file.
//!
//! `docs/CLI.md` explains every key; an unknown one is an error that names the nearest.

use crate::colocation::demand::{Assumption, Demand, Spread};
use crate::colocation::observed::{UNKNOWN_BANDWIDTH, UNKNOWN_WIDTH};
use crate::colocation::range::Range;
use crate::domain::spelling::suggestion;
use serde::Deserialize;
use std::fmt;

/// Standard deviation of the logarithm of lengths where nobody states it.
const USUAL_SPREAD: f64 = 0.3;
/// Requests that a trace is drawn for.
const REQUESTS: f64 = 20_000.0;
/// Cycles of bursts and pauses that a trace is drawn for.
const CYCLES: f64 = 1000.0;
/// Shortest and longest trace of requests, seconds.
const SPAN_S: (f64, f64) = (20.0, 86_400.0);
/// Most requests per second, and shortest work or burst in seconds, that are believed.
const MOST_PER_S: f64 = 10_000.0;
const LEAST_S: f64 = 1e-5;
/// Longest burst or pause that is believed, seconds.
const LONGEST_S: f64 = 7.0 * 86_400.0;

/// What is wrong with a file of profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfilesError {
    /// Line, from 1; `None` where it is about no line.
    pub line: Option<usize>,
    /// What is wrong, in one sentence.
    pub problem: String,
    advice: String,
}

impl ProfilesError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &str {
        &self.advice
    }
}

impl fmt::Display for ProfilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "profiles, line {line}: {}", self.problem),
            None => write!(f, "profiles: {}", self.problem),
        }
    }
}

impl std::error::Error for ProfilesError {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tenant: Vec<Profile>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    name: String,
    requests_per_s: Option<f64>,
    service_ms: Option<f64>,
    service_spread: Option<f64>,
    host_ms: Option<f64>,
    on_s: Option<f64>,
    off_s: Option<f64>,
    duty: Option<f64>,
    burst_s: Option<f64>,
    burst_spread: Option<f64>,
    width: Option<f64>,
    bandwidth: Option<f64>,
    memory_mib: Option<f64>,
    power_w: Option<f64>,
}

/// Reads a file of profiles, one demand for each tenant in it.
///
/// Errors: what is no TOML, a key that does not exist, a tenant without work, and numbers that cannot be.
pub fn profiles(text: &str) -> Result<Vec<Demand>, ProfilesError> {
    let file: File = toml::from_str(text).map_err(|it| of_toml(text, &it))?;
    let mut demands: Vec<Demand> = Vec::with_capacity(file.tenant.len());
    for (number, profile) in (1..).zip(&file.tenant) {
        if profile.name.trim().is_empty() {
            return Err(refused(number, "has no name", "give it `name = \"NAME\"`"));
        }
        if demands.iter().any(|it| it.name == profile.name) {
            let problem = format!("is called `{}` like one before it", profile.name);
            return Err(refused(number, &problem, "give each tenant a name of its own"));
        }
        profile.check().map_err(|(problem, advice)| refused(number, &problem, advice))?;
        let demand = profile.demand().ok_or_else(|| {
            refused(number, "has numbers that give no work", "correct its times and rates")
        })?;
        demands.push(demand);
    }
    match demands.is_empty() {
        true => Err(ProfilesError {
            line: None,
            problem: "there is no tenant in it".to_owned(),
            advice: "describe one in a table [[tenant]]; docs/CLI.md shows a file".to_owned(),
        }),
        false => Ok(demands),
    }
}

fn refused(number: usize, problem: &str, advice: &str) -> ProfilesError {
    let problem = format!("tenant {number} {problem}");
    ProfilesError { line: None, problem, advice: advice.to_owned() }
}

/// A problem, and what to do.
type Problem = (String, &'static str);

impl Profile {
    fn check(&self) -> Result<(), Problem> {
        let within = [
            ("requests_per_s", self.requests_per_s, (1e-6, MOST_PER_S)),
            ("service_ms", self.service_ms, (1e3 * LEAST_S, 1e3 * LONGEST_S)),
            ("service_spread", self.service_spread, (0.0, 3.0)),
            ("host_ms", self.host_ms, (0.0, 1e3 * LONGEST_S)),
            ("on_s", self.on_s, (LEAST_S, LONGEST_S)),
            ("off_s", self.off_s, (0.0, LONGEST_S)),
            ("duty", self.duty, (1e-4, 1.0)),
            ("burst_s", self.burst_s, (LEAST_S, LONGEST_S)),
            ("burst_spread", self.burst_spread, (0.0, 3.0)),
            ("width", self.width, (0.001, 1.0)),
            ("bandwidth", self.bandwidth, (0.0, 1.0)),
            ("memory_mib", self.memory_mib, (0.0, 1e9)),
            ("power_w", self.power_w, (0.0, 1e5)),
        ];
        for (key, value, (least, most)) in within {
            if let Some(it) = value.filter(|it| !(least..=most).contains(it)) {
                let problem = format!("has `{key}` = {it}, which lies outside {least} to {most}");
                return Err((problem, "correct the number; docs/CLI.md gives the unit of each"));
            }
        }
        let is_set = |it: &[Option<f64>]| it.iter().any(Option::is_some);
        let ways = [
            is_set(&[self.requests_per_s, self.service_ms, self.service_spread, self.host_ms]),
            is_set(&[self.on_s, self.off_s]),
            is_set(&[self.duty, self.burst_s]),
        ];
        if ways.iter().filter(|it| **it).count() != 1 {
            return Err((
                "says its work in no way, or in several".to_owned(),
                "give requests_per_s and service_ms, or on_s and off_s, or duty and burst_s",
            ));
        }
        let halves = [
            ("requests_per_s", self.requests_per_s, "service_ms", self.service_ms, ways[0]),
            ("on_s", self.on_s, "off_s", self.off_s, ways[1]),
            ("duty", self.duty, "burst_s", self.burst_s, ways[2]),
        ];
        for (one, first, other, second, is_meant) in halves {
            if is_meant && first.and(second).is_none() {
                let problem = format!("needs both `{one}` and `{other}`");
                return Err((problem, "give the one that is missing"));
            }
        }
        Ok(())
    }

    fn demand(&self) -> Option<Demand> {
        let mut demand = match self.requests_per_s.zip(self.service_ms) {
            Some((per_s, service_ms)) => self.requests(per_s, service_ms)?,
            None => self.bursts()?,
        };
        match self.width {
            Some(it) => demand.width = Range::exact(it),
            None => {
                demand.width = UNKNOWN_WIDTH;
                demand.assume(Assumption::WidthUnknown);
            }
        }
        match self.bandwidth {
            Some(it) => demand.bandwidth = Range::exact(it),
            None => {
                demand.bandwidth = UNKNOWN_BANDWIDTH;
                demand.assume(Assumption::BandwidthUnknown);
            }
        }
        demand.power_w = self.power_w;
        if self.power_w.is_none() {
            demand.assume(Assumption::PowerUnknown);
        }
        demand.memory_bytes = self.memory_mib.map(|it| it * f64::from(1u32 << 20));
        Some(demand)
    }

    fn requests(&self, per_s: f64, service_ms: f64) -> Option<Demand> {
        let spread = self.service_spread.unwrap_or(USUAL_SPREAD);
        let span_s = (REQUESTS / per_s).clamp(SPAN_S.0, SPAN_S.1);
        let service = (1e-3 * service_ms, Spread::Lognormal(spread));
        let mut demand = Demand::requests(&self.name, per_s, service, span_s)?;
        if self.service_spread.is_none() {
            demand.assume(Assumption::ServiceSpreadUnknown);
        }
        match self.host_ms {
            Some(it) => demand.host_s = 1e-3 * it,
            None => demand.assume(Assumption::HostUnknown),
        }
        Some(demand)
    }

    fn bursts(&self) -> Option<Demand> {
        let (duty, burst_s) = match (self.on_s, self.off_s, self.duty, self.burst_s) {
            (Some(on), Some(off), ..) => (on / (on + off), on),
            (_, _, Some(duty), Some(burst)) => (duty, burst),
            _ => return None,
        };
        let spread = Spread::Lognormal(self.burst_spread.unwrap_or(USUAL_SPREAD));
        Demand::bursts(&self.name, duty, (burst_s, spread), CYCLES * burst_s / duty)
    }
}

fn of_toml(text: &str, error: &toml::de::Error) -> ProfilesError {
    let byte = error.span().map_or(0, |it| it.start);
    let line = 1 + text.bytes().take(byte).filter(|it| *it == b'\n').count();
    let message = error.message().lines().next().unwrap_or_default();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (problem, advice) = match quoted.next().filter(|_| message.starts_with("unknown field")) {
        Some(found) => {
            let known: Vec<&str> = quoted.collect();
            (format!("there is no key `{found}` here"), suggestion(found, &known))
        }
        None => (message.to_owned(), "correct the file; docs/CLI.md shows one".to_owned()),
    };
    ProfilesError { line: Some(line), problem, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_bursts_ask_for_what_the_file_says() {
        let text = "[[tenant]]\nname = \"chat\"\nrequests_per_s = 10\nservice_ms = 20\nmemory_mib = 1024\n\
                    [[tenant]]\nname = \"train\"\non_s = 3\noff_s = 7\nwidth = 0.9\nbandwidth = 0.5\npower_w = 300\n\
                    [[tenant]]\nname = \"etl\"\nduty = 0.2\nburst_s = 0.01\n";
        let found = profiles(text).unwrap();
        assert!((found[0].busy_share() - 0.2).abs() < 0.01, "{}", found[0].busy_share());
        assert_eq!(found[0].memory_bytes, Some(f64::from(1u32 << 30)));
        assert!(found[0].assumptions.contains(&Assumption::WidthUnknown));
        assert!((found[1].busy_share() - 0.3).abs() < 0.02, "{}", found[1].busy_share());
        assert_eq!(found[1].assumptions, []);
        assert!((found[2].busy_share() - 0.2).abs() < 0.02, "{}", found[2].busy_share());
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_do() {
        let wrong = |text: &str| profiles(text).unwrap_err();
        let error = wrong("[[tenant]]\nname = \"a\"\nrequest_per_s = 1\n");
        assert_eq!(error.to_string(), "profiles, line 3: there is no key `request_per_s` here");
        assert_eq!(error.remedy(), "did you mean `requests_per_s`?");
        assert!(wrong("").to_string().contains("no tenant"));
        assert!(wrong("[[tenant]]\nname = \"a\"\n").to_string().contains("in no way"));
        let error = wrong("[[tenant]]\nname = \"a\"\nduty = 0.3\n");
        assert!(error.to_string().contains("needs both `duty` and `burst_s`"), "{error}");
        let error = wrong("[[tenant]]\nname = \"a\"\nduty = 1.3\nburst_s = 1\n");
        assert!(error.to_string().contains("`duty` = 1.3"), "{error}");
        let both = "[[tenant]]\nname = \"a\"\nduty = 0.3\nburst_s = 1\nhost_ms = 1\n";
        assert!(wrong(both).to_string().contains("or in several"));
        let nan = "[[tenant]]\nname = \"a\"\nduty = nan\nburst_s = 1\n";
        assert!(wrong(nan).to_string().contains("outside"));
    }
}
