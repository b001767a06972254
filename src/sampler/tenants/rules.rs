//! The tenant file: rules that say whose a process is, and names that the host does not know.
//!
//! `docs/CLI.md` explains every key; an unknown one is an error that names the nearest.

use crate::domain::glob;
use crate::domain::spelling::suggestion;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// Letters of an id that are enough to name a container.
const LEAST_ID: usize = 12;

/// What is wrong with a tenant file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesError {
    /// Line, from 1; `None` where it is about no line.
    pub line: Option<usize>,
    /// What is wrong, in one sentence.
    pub problem: String,
    advice: String,
}

impl RulesError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &str {
        match self.advice.as_str() {
            "" => "correct the tenant file; docs/TENANTS.md shows one",
            advice => advice,
        }
    }
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "tenant file, line {line}: {}", self.problem),
            None => write!(f, "tenant file: {}", self.problem),
        }
    }
}

impl std::error::Error for RulesError {}

/// A tenant file; the default has no rules.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    rule: Vec<Rule>,
    pod: Vec<Pod>,
    container: Vec<Container>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    tenant: String,
    pod: Option<String>,
    container: Option<String>,
    namespace: Option<String>,
    command: Option<String>,
    user: Option<String>,
    unit: Option<String>,
    slurm_job: Option<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pod {
    uid: String,
    namespace: String,
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Container {
    id: String,
    name: String,
}

/// What rules may look at; each list holds every spelling of one thing.
#[derive(Debug, Default)]
pub(crate) struct Traits {
    pub(crate) pod: Vec<String>,
    pub(crate) container: Vec<String>,
    pub(crate) namespace: Vec<String>,
    pub(crate) command: Vec<String>,
    pub(crate) user: Vec<String>,
    pub(crate) unit: Vec<String>,
    pub(crate) slurm_job: Vec<String>,
    /// `KEY=value`; read only where some rule asks for it.
    pub(crate) environment: Vec<String>,
}

impl Rules {
    /// Reads a tenant file.
    ///
    /// Errors: what is no TOML, a key that does not exist, a rule without a tenant or without
    /// anything to match, a container's id that is too short to be sure of.
    pub fn from_toml(text: &str) -> Result<Self, RulesError> {
        let rules: Rules = toml::from_str(text).map_err(|it| of_toml(text, &it))?;
        for (number, rule) in (1..).zip(&rules.rule) {
            let refuse = |problem: &str, advice: &str| RulesError {
                line: None,
                problem: format!("rule {number} {problem}"),
                advice: advice.to_owned(),
            };
            if rule.tenant.trim().is_empty() {
                return Err(refuse("names no tenant", "give it `tenant = \"NAME\"`"));
            }
            if rule.patterns().next().is_none() && rule.environment.is_empty() {
                let advice = "give it a key to match, such as `pod = \"chat-*\"`; `command = \"*\"` matches everything";
                return Err(refuse("matches nothing in particular", advice));
            }
        }
        match rules.container.iter().find(|it| it.id.len() < LEAST_ID) {
            Some(it) => Err(RulesError {
                line: None,
                problem: format!(
                    "the container id `{}` has fewer than {LEAST_ID} characters",
                    it.id
                ),
                advice: "give at least as many as `docker ps` or `crictl ps` prints".to_owned(),
            }),
            None => Ok(rules),
        }
    }

    /// Whether some rule looks at the environment of processes.
    pub(crate) fn want_environment(&self) -> bool {
        self.rule.iter().any(|it| !it.environment.is_empty())
    }

    /// The tenant of the first rule that matches.
    pub(crate) fn tenant(&self, traits: &Traits) -> Option<&str> {
        self.rule.iter().find(|it| it.matches(traits)).map(|it| it.tenant.as_str())
    }

    /// Namespace and name of the pod with this uid.
    pub(crate) fn pod_name(&self, uid: &str) -> Option<(String, String)> {
        let pod = self.pod.iter().find(|it| it.uid == uid)?;
        Some((pod.namespace.clone(), pod.name.clone()))
    }

    /// Name of the container with this id.
    pub(crate) fn container_name(&self, id: &str) -> Option<String> {
        let is_it = |it: &&Container| {
            it.id == id || it.id.len() >= LEAST_ID && id.starts_with(it.id.as_str())
        };
        self.container.iter().find(is_it).map(|it| it.name.clone())
    }
}

/// What of a process a pattern is held against.
type Side = fn(&Traits) -> &[String];

/// A pattern and its side.
type Wanted<'a> = (&'a str, Side);

impl Rule {
    fn patterns(&self) -> impl Iterator<Item = Wanted<'_>> {
        let all: [(&Option<String>, Side); 7] = [
            (&self.pod, |it| &it.pod),
            (&self.container, |it| &it.container),
            (&self.namespace, |it| &it.namespace),
            (&self.command, |it| &it.command),
            (&self.user, |it| &it.user),
            (&self.unit, |it| &it.unit),
            (&self.slurm_job, |it| &it.slurm_job),
        ];
        all.into_iter().filter_map(|(pattern, side)| Some((pattern.as_deref()?, side)))
    }

    fn matches(&self, traits: &Traits) -> bool {
        let is_met =
            |(pattern, side): Wanted<'_>| side(traits).iter().any(|it| glob::matches(pattern, it));
        self.patterns().all(is_met)
            && self.environment.iter().all(|(key, pattern)| {
                let mut values = traits.environment.iter().filter_map(|it| it.split_once('='));
                values.any(|it| it.0 == key && glob::matches(pattern, it.1))
            })
    }
}

fn of_toml(text: &str, error: &toml::de::Error) -> RulesError {
    let byte = error.span().map_or(0, |it| it.start);
    let line = 1 + text.bytes().take(byte).filter(|it| *it == b'\n').count();
    let message = error.message().lines().next().unwrap_or_default();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (problem, advice) = match quoted.next().filter(|_| message.starts_with("unknown field")) {
        Some(found) => {
            let known: Vec<&str> = quoted.collect();
            (format!("there is no key `{found}` here"), suggestion(found, &known))
        }
        None => (message.to_owned(), String::new()),
    };
    RulesError { line: Some(line), problem, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn the_first_rule_of_which_everything_matches_wins() {
        let rules = Rules::from_toml(
            r#"
            [[rule]]
            tenant = "nightly"
            user = "ci"
            environment = { JOB_KIND = "night*" }
            [[rule]]
            tenant = "ci"
            user = "ci"
            [[rule]]
            tenant = "chat"
            pod = "chat-*"
            namespace = "prod"
            "#,
        )
        .unwrap();
        let ci = |environment: &[&str]| Traits {
            user: all(&["ci", "1001"]),
            environment: all(environment),
            ..Traits::default()
        };
        assert_eq!(rules.tenant(&ci(&["JOB_KIND=nightly"])), Some("nightly"));
        assert_eq!(rules.tenant(&ci(&["MY_JOB_KIND=nightly"])), Some("ci"));
        let pod = |namespace: &str| Traits {
            pod: all(&["chat-0"]),
            namespace: all(&[namespace]),
            ..Traits::default()
        };
        assert_eq!(rules.tenant(&pod("prod")), Some("chat"));
        assert_eq!(rules.tenant(&pod("test")), None);
        assert_eq!(rules.tenant(&Traits::default()), None);
        assert!(rules.want_environment());
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_nearest_one() {
        let error = Rules::from_toml("[[rule]]\ntenant = \"a\"\nnamspace = \"b\"\n").unwrap_err();
        assert_eq!(error.to_string(), "tenant file, line 3: there is no key `namspace` here");
        assert_eq!(error.remedy(), "did you mean `namespace`?");
        let error = Rules::from_toml("[[rules]]\ntenant = \"a\"").unwrap_err();
        assert_eq!(error.remedy(), "did you mean `rule`?");
        let error = Rules::from_toml("[[rule]]\npod = 3").unwrap_err();
        assert_eq!(error.line, Some(2), "{error}");
    }

    #[test]
    fn a_rule_for_everybody_or_nobody_is_refused() {
        let error = Rules::from_toml("[[rule]]\ntenant = \"a\"").unwrap_err();
        assert!(error.to_string().contains("rule 1 matches nothing"), "{error}");
        let error = Rules::from_toml("[[rule]]\ntenant = \" \"\npod = \"x\"").unwrap_err();
        assert!(error.to_string().contains("names no tenant"), "{error}");
    }

    #[test]
    fn an_id_that_could_be_several_containers_is_refused() {
        let of =
            |id: &str| Rules::from_toml(&format!("[[container]]\nid = \"{id}\"\nname = \"a\""));
        let error = of("0123456789a").unwrap_err();
        assert!(error.to_string().contains("`0123456789a` has fewer than 12"), "{error}");
        assert!(error.remedy().contains("docker ps"));
        let rules = of("0123456789ab").unwrap();
        assert_eq!(rules.container_name("0123456789abcdef").as_deref(), Some("a"));
        assert_eq!(rules.container_name("0123456789ac"), None);
    }
}
