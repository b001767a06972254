//! What the owners of tenants say about them: trust, class, latency target, tolerance, needs.
//!
//! They stand in the policy file beside the thresholds: `[default]` for everybody, then one
//! `[[tenant]]` for each name or pattern; of several that match, later ones win key by key.

use crate::colocation::objective::{Level, Limit, Objective};
use crate::domain::glob;
use crate::domain::spelling::unknown_key;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a tenant is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Somebody waits for each answer: its SMs are never shared.
    LatencySensitive,
    /// Work per time counts.
    Throughput,
    /// Jobs that nobody waits for; may be stalled, and run again.
    Batch,
    /// Notebooks, CI, experiments; may be stalled, and fall.
    Development,
    /// Wants the whole device, unless `whole_device` says otherwise.
    Training,
}

impl Class {
    /// Every class with its word in the file.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::LatencySensitive, "latency-sensitive"),
        (Self::Throughput, "throughput"),
        (Self::Batch, "batch"),
        (Self::Development, "development"),
        (Self::Training, "training"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|it| it.0 == self).map_or("", |it| it.1)
    }

    /// Whether a stall or a crash of it is cheap by its nature.
    pub fn tolerates_faults(self) -> bool {
        matches!(self, Self::Batch | Self::Development)
    }
}

/// What is said about one tenant; `None` is not said.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TenantPolicy {
    /// Tenants of one domain may see and end each other.
    pub trust_domain: Option<String>,
    /// What it is for.
    pub class: Option<Class>,
    /// The latency that it has to keep.
    pub latency: Option<Objective>,
    /// Whether it may fall because a neighbour did, or took its memory.
    pub may_crash: Option<bool>,
    /// Whether a neighbour may keep it waiting.
    pub may_stall: Option<bool>,
    /// Whether it is to have a device to itself.
    pub whole_device: Option<bool>,
    /// Whether it needs NVLink or several devices.
    pub interconnect: Option<bool>,
    /// Memory that it is configured to take at most, in MiB; it counts as if it took all of it.
    pub memory_limit_mib: Option<f64>,
    /// Who stays where one has to leave for the others to share; more stays.
    pub priority: Option<i64>,
}

impl TenantPolicy {
    /// The same, with what another says on top.
    fn overridden_by(&self, other: &Self) -> Self {
        Self {
            trust_domain: other.trust_domain.clone().or_else(|| self.trust_domain.clone()),
            class: other.class.or(self.class),
            latency: other.latency.or(self.latency),
            may_crash: other.may_crash.or(self.may_crash),
            may_stall: other.may_stall.or(self.may_stall),
            whole_device: other.whole_device.or(self.whole_device),
            interconnect: other.interconnect.or(self.interconnect),
            memory_limit_mib: other.memory_limit_mib.or(self.memory_limit_mib),
            priority: other.priority.or(self.priority),
        }
    }
}

/// What the policy file says about tenants.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TenantPolicies {
    default: TenantPolicy,
    entries: Vec<(String, TenantPolicy)>,
}

/// What is wrong with what a policy file says about tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantPolicyError {
    /// Line, from 1; `None` where it is about no line.
    pub line: Option<usize>,
    /// What is wrong, in one sentence.
    pub problem: String,
    advice: String,
}

impl TenantPolicyError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &str {
        &self.advice
    }
}

impl fmt::Display for TenantPolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "policy, line {line}: {}", self.problem),
            None => write!(f, "policy: {}", self.problem),
        }
    }
}

impl std::error::Error for TenantPolicyError {}

/// The parts of the file that are about tenants; thresholds are left to [`crate::recommender::policy::Policy`].
#[derive(Debug, Default, Deserialize)]
struct File {
    #[serde(default)]
    default: Entry,
    #[serde(default)]
    tenant: Vec<toml::Spanned<Entry>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Entry {
    name: Option<String>,
    trust_domain: Option<String>,
    class: Option<Class>,
    latency: Option<Latency>,
    may_crash: Option<bool>,
    may_stall: Option<bool>,
    whole_device: Option<bool>,
    interconnect: Option<bool>,
    memory_limit_mib: Option<f64>,
    priority: Option<i64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Latency {
    #[serde(default)]
    metric: LatencyMetric,
    quantile: Quantile,
    limit_ms: Option<f64>,
    limit_factor: Option<f64>,
}

/// What the target is about: the time of a whole request is the one that can be predicted.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LatencyMetric {
    #[default]
    Request,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Quantile {
    P50,
    P95,
    P99,
}

impl TenantPolicies {
    /// Keys of a `[[tenant]]` besides `name`, with what each says; the page of the command line lists them.
    pub const KEYS: [(&'static str, &'static str); 9] = [
        (
            "trust_domain",
            "tenants of one domain may see and end each other; unstated counts as a domain of its own",
        ),
        ("class", "`latency-sensitive`, `throughput`, `batch`, `development` or `training`"),
        (
            "latency",
            "`{ quantile = \"p99\", limit_ms = 50 }`; `limit_factor` bounds it relative to the tenant alone; `p50`, `p95` or `p99`",
        ),
        (
            "may_crash",
            "whether it may fall because a neighbour did; yes for `batch` and `development`",
        ),
        ("may_stall", "whether a neighbour may keep it waiting; yes for `batch` and `development`"),
        ("whole_device", "whether it is to have a device to itself; yes for `training`"),
        ("interconnect", "whether it needs NVLink or several devices, which no shared part gives"),
        (
            "memory_limit_mib",
            "memory that it is configured to take at most; it counts as if it took all of it",
        ),
        (
            "priority",
            "who stays where one has to leave for the others to share; a whole number, more stays",
        ),
    ];

    /// Reads `[default]` and every `[[tenant]]` of a policy file; thresholds in it are not looked at.
    ///
    /// Errors: what is no TOML, a key that does not exist, and numbers that cannot be, each with its line.
    pub fn from_toml(text: &str) -> Result<Self, TenantPolicyError> {
        let file: File = toml::from_str(text).map_err(|it| of_toml(text, &it))?;
        if file.default.name.is_some() {
            let problem = ("has a `name`".to_owned(), "it is for everybody; begin a `[[tenant]]`");
            return Err(refused(None, "[default]", problem));
        }
        let default = file.default.told().map_err(|it| refused(None, "[default]", it))?;
        let mut entries = Vec::with_capacity(file.tenant.len());
        for entry in file.tenant {
            let line = Some(line_of(text, entry.span().start));
            let mut entry = entry.into_inner();
            let Some(name) = entry.name.take().filter(|it| !it.trim().is_empty()) else {
                let advice = "give it `name = \"NAME\"`; `*` and `?` stand for letters";
                return Err(refused(line, "[[tenant]]", ("has no name".to_owned(), advice)));
            };
            let told = entry.told().map_err(|it| refused(line, &format!("`{name}`"), it))?;
            entries.push((name, told));
        }
        Ok(Self { default, entries })
    }

    /// Whether anything at all is said about tenants.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is said about a tenant: the default, then every entry that matches, in the order of the file.
    pub fn of(&self, tenant: &str) -> TenantPolicy {
        self.of_any(&[tenant])
    }

    /// The same for a tenant that goes by several names: an entry holds if it matches any of them.
    pub fn of_any(&self, names: &[&str]) -> TenantPolicy {
        let is_meant = |pattern: &str| names.iter().any(|it| glob::matches(pattern, it));
        let matching = self.entries.iter().filter(|it| is_meant(&it.0));
        matching.fold(self.default.clone(), |so_far, it| so_far.overridden_by(&it.1))
    }

    /// Names and patterns that match none of these tenants: mostly misspelt.
    pub fn unused<'a>(&'a self, tenants: &[&str]) -> Vec<&'a str> {
        let is_unused = |pattern: &&str| !tenants.iter().any(|it| glob::matches(pattern, it));
        self.entries.iter().map(|it| it.0.as_str()).filter(is_unused).collect()
    }
}

/// A problem, and what to do.
type Problem = (String, &'static str);

impl Entry {
    fn told(self) -> Result<TenantPolicy, Problem> {
        if let Some(it) = self.memory_limit_mib.filter(|it| !(*it > 0.0 && it.is_finite())) {
            let problem = format!("has `memory_limit_mib` = {it}");
            return Err((problem, "give a number of MiB above 0, or leave it out"));
        }
        if self.trust_domain.as_deref().is_some_and(|it| it.trim().is_empty()) {
            let problem = "has an empty `trust_domain`".to_owned();
            return Err((
                problem,
                "name the domain, or leave it out: unstated is a domain of its own",
            ));
        }
        Ok(TenantPolicy {
            trust_domain: self.trust_domain,
            class: self.class,
            latency: self.latency.map(Latency::objective).transpose()?,
            may_crash: self.may_crash,
            may_stall: self.may_stall,
            whole_device: self.whole_device,
            interconnect: self.interconnect,
            memory_limit_mib: self.memory_limit_mib,
            priority: self.priority,
        })
    }
}

impl Latency {
    fn objective(self) -> Result<Objective, Problem> {
        let LatencyMetric::Request = self.metric;
        let level = match self.quantile {
            Quantile::P50 => Level::P50,
            Quantile::P95 => Level::P95,
            Quantile::P99 => Level::P99,
        };
        let limit = match (self.limit_ms, self.limit_factor) {
            (Some(ms), None) if ms > 0.0 && ms.is_finite() => Limit::Seconds(1e-3 * ms),
            (None, Some(factor)) if factor >= 1.0 && factor.is_finite() => Limit::Factor(factor),
            _ => {
                return Err((
                    "has a latency without exactly one sensible limit".to_owned(),
                    "give `limit_ms` above 0, or `limit_factor` of at least 1",
                ));
            }
        };
        Ok(Objective { level, limit })
    }
}

fn refused(line: Option<usize>, whose: &str, (problem, advice): Problem) -> TenantPolicyError {
    TenantPolicyError { line, problem: format!("{whose} {problem}"), advice: advice.to_owned() }
}

fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|it| *it == b'\n').count()
}

fn of_toml(text: &str, error: &toml::de::Error) -> TenantPolicyError {
    let line = error.span().map(|it| line_of(text, it.start));
    let message = error.message().lines().next().unwrap_or_default();
    let (problem, advice) = match unknown_key(message) {
        Some((found, advice)) => (format!("there is no `{found}` here"), advice),
        None => (
            message.to_owned(),
            "correct the file; docs/CLI.md shows a policy of tenants".to_owned(),
        ),
    };
    TenantPolicyError { line, problem, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
oom = 1
[default]
trust_domain = \"team-a\"
may_crash = false

[[tenant]]
name = \"chat-*\"
class = \"latency-sensitive\"
latency = { quantile = \"p99\", limit_ms = 50 }

[[tenant]]
name = \"chat-canary\"
class = \"development\"
may_crash = true
";

    #[test]
    fn the_default_holds_and_later_entries_win_key_by_key() {
        let policies = TenantPolicies::from_toml(FILE).unwrap();
        let chat = policies.of("chat-eu");
        assert_eq!(chat.trust_domain.as_deref(), Some("team-a"));
        assert_eq!(chat.class, Some(Class::LatencySensitive));
        assert_eq!(
            chat.latency,
            Some(Objective { level: Level::P99, limit: Limit::Seconds(0.05) })
        );
        let canary = policies.of("chat-canary");
        assert_eq!((canary.class, canary.may_crash), (Some(Class::Development), Some(true)));
        assert_eq!(canary.latency, chat.latency, "what the later entry leaves out stays");
        assert_eq!(policies.of("etl").class, None);
        assert_eq!(policies.unused(&["chat-eu"]), ["chat-canary"]);
    }

    #[test]
    fn an_empty_trust_domain_is_no_domain() {
        for text in
            ["[default]\ntrust_domain = \"\"", "[[tenant]]\nname = \"a\"\ntrust_domain = \"  \""]
        {
            let error = TenantPolicies::from_toml(text).unwrap_err();
            assert!(error.to_string().contains("empty `trust_domain`"), "{error}");
        }
    }

    #[test]
    fn a_tenant_of_several_names_is_meant_by_any_of_them() {
        let policies = TenantPolicies::from_toml(FILE).unwrap();
        let chat = policies.of_any(&["serving/chat-eu", "chat-eu"]);
        assert_eq!(chat.class, Some(Class::LatencySensitive));
        assert_eq!(policies.of_any(&["serving/chat-eu"]).class, None);
        assert_eq!(policies.of_any(&[]), policies.of("etl"));
    }

    #[test]
    fn a_misspelt_key_or_word_is_named_with_its_line_and_its_neighbour() {
        let wrong = |text: &str| TenantPolicies::from_toml(text).unwrap_err();
        let error = wrong("[[tenant]]\nname = \"a\"\ntrust_domian = \"x\"\n");
        assert_eq!(error.to_string(), "policy, line 3: there is no `trust_domian` here");
        assert_eq!(error.remedy(), "did you mean `trust_domain`?");
        let error = wrong("[default]\nclass = \"bach\"\n");
        assert_eq!(error.to_string(), "policy, line 2: there is no `bach` here");
        assert_eq!(error.remedy(), "did you mean `batch`?");
        let error = wrong("\n[[tenant]]\nname = \"a\"\nmemory_limit_mib = -4\n");
        assert_eq!(error.to_string(), "policy, line 2: `a` has `memory_limit_mib` = -4");
        let error = wrong("[default]\nlatency = { quantile = \"p99\" }\n");
        assert!(error.to_string().contains("without exactly one sensible limit"), "{error}");
        assert!(wrong("[[tenant]]\nclass = \"batch\"\n").to_string().contains("name"));
    }

    #[test]
    fn a_file_of_thresholds_alone_says_nothing_about_tenants() {
        assert!(TenantPolicies::from_toml("long_burst_s = 0.2").unwrap().is_empty());
    }
}
