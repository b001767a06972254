//! The hardware that a plan is made for: what is there, or what a file states; and what an hour of each model costs.

use crate::colocation::models::{MODELS, named, recognised};
use crate::domain::spelling::unknown_key;
use serde::{Deserialize, Serialize};
use std::fmt;

/// GPUs of one host where a file does not say.
const PER_HOST: u32 = 8;

/// One model of GPU in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareModel {
    /// Product name as the driver has it, or a short one such as `H100`.
    pub model: String,
    /// How many; `None` in a table of prices.
    pub count: Option<u32>,
    /// Price of one for an hour, in the currency of the file; `None` where it is not stated.
    pub price_per_hour: Option<f64>,
    /// GPUs of one host.
    pub per_host: Option<u32>,
    /// Memory as the driver shows it, MiB; `None` takes that of the known model.
    pub memory_mib: Option<f64>,
}

/// What a file of hardware, or of prices, states.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hardware {
    /// Currency of the prices.
    pub currency: Option<String>,
    /// The models, each once.
    #[serde(rename = "gpu")]
    pub models: Vec<HardwareModel>,
}

/// Why a file of hardware or prices could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardwareError {
    /// Line, from 1; `None` where it is about no line.
    pub line: Option<usize>,
    /// What is wrong, in one sentence.
    pub problem: String,
    advice: String,
}

impl HardwareError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &str {
        &self.advice
    }
}

impl fmt::Display for HardwareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for HardwareError {}

impl Hardware {
    /// Keys of a `[[gpu]]`, with what each says; the page of plans lists them.
    pub const KEYS: [(&'static str, &'static str); 5] = [
        ("model", "product name as the driver has it, or a short one such as `H100`"),
        ("count", "how many there are; not needed in a table of prices"),
        ("price_per_hour", "price of one for an hour"),
        ("per_host", "GPUs of one host; 8 where it is not stated"),
        (
            "memory_mib",
            "memory as the driver shows it; that of the known model where it is not stated",
        ),
    ];

    /// Reads a file of hardware; every model needs a count.
    ///
    /// Errors: no TOML, a key that does not exist, a model twice, a model that is not known and states no memory, numbers that cannot be.
    pub fn from_toml(text: &str) -> Result<Self, HardwareError> {
        let found = Self::prices_from_toml(text)?;
        if found.models.is_empty() {
            return Err(refused(
                "it names no hardware",
                "add a `[[gpu]]` with `model` and `count`",
            ));
        }
        for it in &found.models {
            let name = &it.model;
            if it.count.is_none_or(|it| it == 0) {
                let problem = format!("`{name}` has no `count` of at least 1");
                return Err(refused(&problem, "say how many there are: `count = 8`"));
            }
            if it.memory().is_none() {
                let known: Vec<&str> = MODELS.iter().map(|it| it.name).collect();
                let problem = format!("`{name}` is not known by name, so its memory is not");
                let advice =
                    format!("state `memory_mib`, or use a known name: {}", known.join(", "));
                return Err(refused(&problem, &advice));
            }
        }
        Ok(found)
    }

    /// Reads a table of prices: the same form, of which only model and price count.
    ///
    /// Errors: as for [`Self::from_toml`], but counts may be missing.
    pub fn prices_from_toml(text: &str) -> Result<Self, HardwareError> {
        let found: Self = toml::from_str(text).map_err(|it| of_toml(text, &it))?;
        for (place, it) in found.models.iter().enumerate() {
            let name = &it.model;
            let is_positive = |it: Option<f64>| it.is_none_or(|it| it.is_finite() && it > 0.0);
            if !is_positive(it.price_per_hour) || !is_positive(it.memory_mib) {
                let problem = format!("`{name}` has a price or a memory that is not above 0");
                return Err(refused(&problem, "give a number above 0, or leave it out"));
            }
            if it.per_host == Some(0) {
                let problem = format!("`{name}` has hosts without GPUs");
                return Err(refused(&problem, "give `per_host` of at least 1"));
            }
            let is_same = |other: &HardwareModel| other.model.eq_ignore_ascii_case(name);
            if found.models[..place].iter().any(is_same) {
                return Err(refused(&format!("`{name}` is there twice"), "join both entries"));
            }
        }
        Ok(found)
    }

    /// Price of a GPU for an hour: the entry of exactly this name, else the one that means the same model; `None` without one.
    pub fn price_of(&self, model: Option<&str>) -> Option<f64> {
        let model = model?;
        let exact = self.models.iter().find(|it| it.model.eq_ignore_ascii_case(model));
        let alike = || {
            let known = known(model)?;
            self.models.iter().find(|it| known_name(&it.model) == Some(known))
        };
        let short = || self.models.iter().find(|it| has_words(model, &it.model));
        exact.or_else(alike).or_else(short)?.price_per_hour
    }
}

impl HardwareModel {
    /// Its memory, MiB: as stated, else that of the known model; `None` where neither is there.
    pub fn memory(&self) -> Option<f64> {
        let known = named(&self.model).or_else(|| recognised(&self.model));
        self.memory_mib.or_else(|| known?.memory_mib)
    }

    /// GPUs of one host.
    pub fn per_host(&self) -> u32 {
        self.per_host.unwrap_or(PER_HOST)
    }
}

/// The known model that a name means.
pub(crate) fn known_name(name: &str) -> Option<&'static str> {
    named(name).map(|it| it.name).or_else(|| known(name))
}

fn known(name: &str) -> Option<&'static str> {
    recognised(name).map(|it| it.name)
}

/// Whether a product name holds all words of a shorter one.
fn has_words(product: &str, short: &str) -> bool {
    let words = |it: &str| -> Vec<String> {
        it.to_lowercase()
            .split(|it: char| !it.is_ascii_alphanumeric())
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let all = words(product);
    let wanted = words(short);
    !wanted.is_empty() && wanted.iter().all(|it| all.contains(it))
}

fn refused(problem: &str, advice: &str) -> HardwareError {
    HardwareError { line: None, problem: problem.to_owned(), advice: advice.to_owned() }
}

fn of_toml(text: &str, error: &toml::de::Error) -> HardwareError {
    let line =
        error.span().map(|it| 1 + text.bytes().take(it.start).filter(|it| *it == b'\n').count());
    let message = error.message().lines().next().unwrap_or_default();
    let (problem, advice) = match unknown_key(message) {
        Some((found, advice)) => (format!("there is no `{found}` here"), advice),
        None => (message.to_owned(), "docs/PLAN.md shows a file of hardware".to_owned()),
    };
    HardwareError { line, problem, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
currency = \"EUR\"
[[gpu]]
model = \"H100\"
count = 16
price_per_hour = 2.4
[[gpu]]
model = \"T4\"
count = 4
";

    #[test]
    fn a_file_states_counts_and_prices() {
        let found = Hardware::from_toml(FILE).unwrap();
        assert_eq!(found.models[0].memory(), Some(81_559.0));
        assert_eq!(found.models[1].per_host(), 8);
        assert_eq!(found.price_of(Some("NVIDIA H100 80GB HBM3")), Some(2.4));
        assert_eq!(found.price_of(Some("Tesla T4")), None);
        assert_eq!(found.price_of(None), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_do() {
        let wrong = |text: &str| Hardware::from_toml(text).unwrap_err();
        let error = wrong("[[gpu]]\nmodel = \"H100\"\ncuont = 3\n");
        assert_eq!(error.to_string(), "line 3: there is no `cuont` here");
        assert_eq!(error.remedy(), "did you mean `count`?");
        assert!(wrong("[[gpu]]\nmodel = \"H100\"\n").to_string().contains("count"));
        assert!(wrong("[[gpu]]\nmodel = \"Z9\"\ncount = 1\n").to_string().contains("memory"));
        assert!(wrong("").to_string().contains("no hardware"));
        let twice = "[[gpu]]\nmodel = \"T4\"\ncount = 1\n[[gpu]]\nmodel = \"t4\"\ncount = 1\n";
        assert!(wrong(twice).to_string().contains("twice"));
        assert!(
            Hardware::prices_from_toml("[[gpu]]\nmodel = \"X\"\nprice_per_hour = -1\n").is_err()
        );
    }
}
