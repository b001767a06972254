//! Every threshold of the verdicts, with its unit and its reason.

use serde::{Deserialize, Serialize};

/// Every threshold of the verdicts; the defaults are the product's judgement.
///
/// A TOML file may override any of them; a key that does not exist is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Fewest samples from which a word is given.
    pub least_samples: u64,
    /// Share of time at or above 95 % from which a device counts as saturated, 0 to 1.
    pub saturated_duty_ratio: f64,
    /// Mean activity from which a load leaves too little for a neighbour, 0 to 1.
    pub saturated_mean_ratio: f64,
    /// Mean activity up to which a steady load leaves ample room, 0 to 1.
    pub roomy_mean_ratio: f64,
    /// Mean activity up to which a load counts as idle, 0 to 1.
    pub idle_mean_ratio: f64,
    /// Height from which a burst takes the whole device, 0 to 1.
    pub full_burst_height_ratio: f64,
    /// Height up to which a burst leaves half the device, 0 to 1.
    pub low_burst_height_ratio: f64,
    /// Burst length up to which a neighbour's requests only average over it, in seconds.
    pub short_burst_s: f64,
    /// Burst length from which a neighbour's request meets nothing but the burst, in seconds.
    pub long_burst_s: f64,
    /// Share of time in bursts from which they reach a neighbour's p99, 0 to 1.
    pub tail_ratio: f64,
    /// Share of the framebuffer in use at the peak from which memory leaves no room, 0 to 1.
    pub full_memory_ratio: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            least_samples: 30,
            saturated_duty_ratio: 0.5,
            saturated_mean_ratio: 0.85,
            roomy_mean_ratio: 0.5,
            idle_mean_ratio: 0.02,
            full_burst_height_ratio: 0.8,
            low_burst_height_ratio: 0.5,
            short_burst_s: 0.01,
            long_burst_s: 0.1,
            tail_ratio: 0.01,
            full_memory_ratio: 0.9,
        }
    }
}

/// One threshold for people: key, value, unit and reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Key in the TOML file.
    pub key: &'static str,
    /// Value in force.
    pub value: f64,
    /// Unit.
    pub unit: &'static str,
    /// Why it stands where it stands by default.
    pub reason: &'static str,
}

/// Why a policy file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The text is no TOML, has an unknown key, or a value of another type.
    #[error("policy: {0}")]
    Syntax(String),
    /// A value lies outside what makes sense.
    #[error("policy: `{key}` is {value}, expected {expected}")]
    Range {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What makes sense.
        expected: &'static str,
    },
}

impl PolicyError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &'static str {
        "docs/CLI.md lists every key with its unit and default; leave a key out to keep its default"
    }
}

impl Policy {
    /// The defaults, overridden by a TOML text.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let policy: Policy = toml::from_str(text)
            .map_err(|it| PolicyError::Syntax(it.to_string().trim().to_owned()))?;
        for threshold in policy.thresholds() {
            let (key, value) = (threshold.key, threshold.value);
            let is_share = threshold.unit == "0..1";
            if is_share && !(0.0..=1.0).contains(&value) {
                return Err(PolicyError::Range { key, value, expected: "a share from 0 to 1" });
            }
            if !(value.is_finite() && value >= 0.0) {
                return Err(PolicyError::Range { key, value, expected: "a number of at least 0" });
            }
        }
        if policy.least_samples < 30 {
            let (key, value) = ("least_samples", policy.least_samples as f64);
            return Err(PolicyError::Range { key, value, expected: "at least 30" });
        }
        if policy.short_burst_s > policy.long_burst_s {
            let (key, value) = ("short_burst_s", policy.short_burst_s);
            return Err(PolicyError::Range { key, value, expected: "at most long_burst_s" });
        }
        Ok(policy)
    }

    /// Every threshold in force, for reports and help.
    #[rustfmt::skip]
    pub fn thresholds(&self) -> Vec<Threshold> {
        let share = |key, value, reason| Threshold { key, value, unit: "0..1", reason };
        let seconds = |key, value, reason| Threshold { key, value, unit: "s", reason };
        vec![
            Threshold { key: "least_samples", value: self.least_samples as f64, unit: "samples",
                reason: "a 95th percentile from fewer samples is one sample" },
            share("saturated_duty_ratio", self.saturated_duty_ratio,
                "half of the time at full use leaves a neighbour waiting at its median request"),
            share("saturated_mean_ratio", self.saturated_mean_ratio,
                "above it queues grow faster than they drain once anything is added"),
            share("roomy_mean_ratio", self.roomy_mean_ratio,
                "two loads of this size still fit one device"),
            share("idle_mean_ratio", self.idle_mean_ratio,
                "a neighbour meets such a load in one request of fifty"),
            share("full_burst_height_ratio", self.full_burst_height_ratio,
                "a window that is this busy leaves no slot for a neighbour's kernels"),
            share("low_burst_height_ratio", self.low_burst_height_ratio,
                "bursts of half the device leave the other half"),
            seconds("short_burst_s", self.short_burst_s,
                "bursts shorter than a request of 20 ms average out: p99 grows no more than the mean"),
            seconds("long_burst_s", self.long_burst_s,
                "a request of 20 ms falls wholly into such a burst: p99 doubles although the mean does not"),
            share("tail_ratio", self.tail_ratio,
                "bursts in less than 1 % of the time cannot reach a neighbour's p99"),
            share("full_memory_ratio", self.full_memory_ratio,
                "contexts, fragments and the driver's reserve take the rest"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_overrides_what_it_names_and_keeps_the_rest() {
        let policy = Policy::from_toml("long_burst_s = 0.25").unwrap();
        assert_eq!(policy, Policy { long_burst_s: 0.25, ..Policy::default() });
    }

    #[test]
    fn a_misspelt_key_and_an_impossible_value_are_errors_that_name_them() {
        let error = Policy::from_toml("long_bust_s = 1").unwrap_err().to_string();
        assert!(error.contains("long_bust_s") && error.contains("long_burst_s"), "{error}");
        let error = Policy::from_toml("tail_ratio = 1.5").unwrap_err().to_string();
        assert!(error.contains("`tail_ratio` is 1.5"), "{error}");
        assert!(Policy::from_toml("short_burst_s = 9").is_err());
    }

    #[test]
    fn every_threshold_is_listed_with_its_reason() {
        let json = serde_json::to_value(Policy::default()).unwrap();
        let listed = Policy::default().thresholds();
        assert_eq!(json.as_object().unwrap().len(), listed.len());
        for threshold in listed {
            assert_eq!(json[threshold.key].as_f64(), Some(threshold.value), "{}", threshold.key);
            assert!(!threshold.reason.is_empty());
        }
    }
}
