//! Every threshold of the verdicts, with its unit and its reason.

use crate::domain::spelling::suggestion;
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
    /// Chance of running out of memory within a day up to which tenants may share it, 0 to 1.
    pub out_of_memory_day_ratio: f64,
    /// Share of a device's memory that is left to the driver where it does not say, 0 to 1.
    pub memory_reserve_ratio: f64,
    /// Room above a measured peak that a MIG instance or a pinned limit must have, as a share of the peak, 0 to 1.
    pub memory_margin_ratio: f64,
    /// Memory that a profile leaves unused from which that is named, in MiB.
    pub stranded_mib: f64,
    /// Sum of busy shares of the SMs below which MPS is considered, 0 to 1.
    pub mps_busy_ratio: f64,
    /// Sum of shares of the attainable bandwidth below which MPS is considered, 0 to 1.
    pub mps_bandwidth_ratio: f64,
    /// Sum of busy shares of the time below which time slicing is considered, 0 to 1.
    pub time_slicing_duty_ratio: f64,
    /// Extra time per piece of work that a throughput or training tenant may pay, as a share.
    pub throughput_extra_ratio: f64,
    /// Extra time per piece of work that a batch tenant may pay, as a share.
    pub batch_extra_ratio: f64,
    /// Extra time per piece of work that a development tenant may pay, as a share.
    pub development_extra_ratio: f64,
    /// Growth of the p99 that a latency-sensitive tenant without a target may pay, as a share.
    pub latency_extra_ratio: f64,
    /// Confidence below which a verdict is not enough evidence, 0 to 1.
    pub least_confidence: f64,
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
            out_of_memory_day_ratio: 1e-3,
            memory_reserve_ratio: 0.03,
            memory_margin_ratio: 0.05,
            stranded_mib: 10_240.0,
            mps_busy_ratio: 0.9,
            mps_bandwidth_ratio: 0.8,
            time_slicing_duty_ratio: 0.5,
            throughput_extra_ratio: 0.1,
            batch_extra_ratio: 0.5,
            development_extra_ratio: 1.0,
            latency_extra_ratio: 0.5,
            least_confidence: 0.2,
        }
    }
}

/// Sections of the same file that are about tenants.
const TENANTS: [&str; 2] = ["tenant", "default"];

/// Line of a key at the top of a file, from 1.
fn line_of(text: &str, key: &str) -> usize {
    let names = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"', '\'']);
        line.strip_prefix(key)
            .is_some_and(|it| !it.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
    };
    1 + text.lines().position(names).unwrap_or(0)
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
    /// The text is no TOML, or has a value of another type.
    #[error("policy: {0}")]
    Syntax(String),
    /// A key that is neither a threshold nor about tenants.
    #[error("policy, line {line}: there is no key `{key}`; {advice}")]
    UnknownKey {
        /// Line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The nearest key that exists.
        advice: String,
    },
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
    /// The defaults, overridden by a TOML text; what it says about tenants is not looked at.
    ///
    /// [`crate::recommender::tenant_policy::TenantPolicies`] reads the rest of the same file.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let mut table: toml::Table = toml::from_str(text)
            .map_err(|it| PolicyError::Syntax(it.to_string().trim().to_owned()))?;
        TENANTS.iter().for_each(|it| drop(table.remove(*it)));
        let known: Vec<&'static str> =
            Self::default().thresholds().iter().map(|it| it.key).collect();
        if let Some(key) = table.keys().find(|it| !known.contains(&it.as_str())) {
            return Err(PolicyError::UnknownKey {
                line: line_of(text, key),
                key: key.clone(),
                advice: suggestion(key, &[known.as_slice(), &TENANTS].concat()),
            });
        }
        let policy: Policy = table
            .try_into()
            .map_err(|it: toml::de::Error| PolicyError::Syntax(it.message().to_owned()))?;
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
        let extra = |key, value, reason| Threshold { key, value, unit: "share of the time alone", reason };
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
            share("out_of_memory_day_ratio", self.out_of_memory_day_ratio,
                "one device in a thousand loses a tenant a day: no more than other faults do"),
            share("memory_reserve_ratio", self.memory_reserve_ratio,
                "drivers were seen to keep 3 to 4 % of the framebuffer"),
            share("memory_margin_ratio", self.memory_margin_ratio,
                "a peak that was seen is not the highest there is"),
            Threshold { key: "stranded_mib", value: self.stranded_mib, unit: "MiB",
                reason: "tens of gigabytes in an instance that nobody uses are worth another layout" },
            share("mps_busy_ratio", self.mps_busy_ratio,
                "above it kernels wait for SMs although they may run at once"),
            share("mps_bandwidth_ratio", self.mps_bandwidth_ratio,
                "above it memory traffic of one slows the other, whatever the SMs do"),
            share("time_slicing_duty_ratio", self.time_slicing_duty_ratio,
                "above it turns overlap more often than not"),
            extra("throughput_extra_ratio", self.throughput_extra_ratio,
                "a tenth less work is what a larger slice or a device of its own would win back"),
            extra("batch_extra_ratio", self.batch_extra_ratio,
                "nobody waits for it, but two devices would do the work of three"),
            extra("development_extra_ratio", self.development_extra_ratio,
                "twice as long is accepted where a device would stand idle most of the day"),
            extra("latency_extra_ratio", self.latency_extra_ratio,
                "without a target, a p99 that grows by half is noticed"),
            share("least_confidence", self.least_confidence,
                "below it a verdict rests on assumptions only"),
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
    fn what_a_file_says_about_tenants_is_left_to_their_reader() {
        let text = "tail_ratio = 0.02\n[default]\nclass = \"batch\"\n[[tenant]]\nname = \"a\"\n";
        assert_eq!(Policy::from_toml(text).unwrap().tail_ratio, 0.02);
    }

    #[test]
    fn a_misspelt_key_and_an_impossible_value_are_errors_that_name_them() {
        let error = Policy::from_toml("\nlong_bust_s = 1").unwrap_err().to_string();
        assert!(error.starts_with("policy, line 2"), "{error}");
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
