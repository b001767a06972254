//! Why a way to share is chosen, refused or left open: one sentence with its numbers each.

use crate::colocation::range::Range;
use crate::domain::shares::share;
use serde::Serialize;
use std::fmt;

/// What a reason is about; the same word stands in JSON and in the table of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonKind {
    /// Tenants of different trust domains, or of domains that nobody stated.
    TrustBoundary,
    /// Somebody is latency-sensitive by policy: its SMs are not shared.
    LatencySensitive,
    /// Somebody has a latency target beside a neighbour that takes the device in bursts.
    TargetBesideBursts,
    /// Somebody takes all SMs in long bursts.
    Bursts,
    /// The predicted latency misses its target, or may do so.
    Target,
    /// A tenant would lose more of its speed than its class allows, or may do so.
    Slowdown,
    /// Somebody did not accept that a neighbour stalls it.
    StallNotAccepted,
    /// Somebody did not accept that a neighbour ends it.
    CrashNotAccepted,
    /// The device, or one tenant alone, is saturated.
    Saturated,
    /// Somebody is to have the whole device or its interconnect.
    WholeDevice,
    /// Memory does not hold all tenants, or runs out too soon.
    Memory,
    /// Peaks of memory meet although the averages fit.
    PeaksCoincide,
    /// No profile, or no set of profiles that can stand beside each other, holds the tenants.
    Profile,
    /// A profile was chosen by size; says what is left over in it.
    ProfileSize,
    /// The device cannot be cut into instances, or is not known to be.
    NoMig,
    /// Tenants work at the same time too often.
    Duty,
    /// More clients, or tenants, than the mechanism takes.
    Clients,
    /// What Kubernetes' device plugin can or cannot set.
    Plugin,
    /// Who falls together with whom.
    FaultDomain,
    /// Only hardware keeps tenants apart, and here it does.
    Isolation,
    /// How many such tenants fit.
    Capacity,
    /// Nobody to share with.
    Alone,
    /// Nothing was seen that would allow an answer.
    Evidence,
    /// Another way comes first.
    Preference,
    /// Only boards of one vendor have it.
    Vendor,
}

impl ReasonKind {
    /// Every kind with its word, in order.
    pub const ALL: [(Self, &'static str); 25] = [
        (Self::TrustBoundary, "trust-boundary"),
        (Self::LatencySensitive, "latency-sensitive"),
        (Self::TargetBesideBursts, "target-beside-bursts"),
        (Self::Bursts, "bursts"),
        (Self::Target, "target"),
        (Self::Slowdown, "slowdown"),
        (Self::StallNotAccepted, "stall-not-accepted"),
        (Self::CrashNotAccepted, "crash-not-accepted"),
        (Self::Saturated, "saturated"),
        (Self::WholeDevice, "whole-device"),
        (Self::Memory, "memory"),
        (Self::PeaksCoincide, "peaks-coincide"),
        (Self::Profile, "profile"),
        (Self::ProfileSize, "profile-size"),
        (Self::NoMig, "no-mig"),
        (Self::Duty, "duty"),
        (Self::Clients, "clients"),
        (Self::Plugin, "plugin"),
        (Self::FaultDomain, "fault-domain"),
        (Self::Isolation, "isolation"),
        (Self::Capacity, "capacity"),
        (Self::Alone, "alone"),
        (Self::Evidence, "evidence"),
        (Self::Preference, "preference"),
        (Self::Vendor, "vendor"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|it| it.0 == self).map_or("", |it| it.1)
    }
}

/// What a reason does to the way that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It rules it out.
    Refuses,
    /// It keeps it from being chosen until something is measured or answered.
    Open,
    /// It has to be accepted by whoever applies it.
    Caution,
    /// It speaks for it.
    Favours,
}

/// One reason: a sentence with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reason {
    /// What it is about.
    pub kind: ReasonKind,
    /// What it does to the way that it is about.
    pub weight: Weight,
    /// Names of the tenants that it is about; empty for all of them.
    pub tenants: Vec<String>,
    /// One English sentence with its numbers, without a full stop.
    pub sentence: String,
    /// What would settle it; `None` unless it is open.
    pub measurement: Option<Measurement>,
}

impl Reason {
    /// A reason that rules a way out.
    pub fn refuses(kind: ReasonKind, sentence: impl Into<String>) -> Self {
        Self::of(kind, Weight::Refuses, sentence)
    }

    /// A reason that leaves a way open until something is measured.
    pub fn open(kind: ReasonKind, sentence: impl Into<String>, measurement: Measurement) -> Self {
        Self { measurement: Some(measurement), ..Self::of(kind, Weight::Open, sentence) }
    }

    /// Something that has to be accepted.
    pub fn caution(kind: ReasonKind, sentence: impl Into<String>) -> Self {
        Self::of(kind, Weight::Caution, sentence)
    }

    /// Something that speaks for a way.
    pub fn favours(kind: ReasonKind, sentence: impl Into<String>) -> Self {
        Self::of(kind, Weight::Favours, sentence)
    }

    fn of(kind: ReasonKind, weight: Weight, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { kind, weight, tenants: Vec::new(), sentence, measurement: None }
    }

    /// The same about some tenants only.
    pub fn about<'a>(mut self, tenants: impl IntoIterator<Item = &'a str>) -> Self {
        self.tenants = tenants.into_iter().map(str::to_owned).collect();
        self
    }
}

/// What kind of measurement would settle something, the cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementKind {
    /// An answer in the policy file.
    Policy,
    /// What the driver says about the device: model, memory, MIG.
    Device,
    /// Who is on the device.
    Tenants,
    /// Memory of each process, often enough.
    Memory,
    /// SM activity and memory bandwidth (GPM or DCGM).
    Counters,
    /// Samples close enough to see bursts.
    Finer,
    /// The service's own latency.
    Service,
    /// A longer recording.
    Longer,
    /// Each tenant alone on a device.
    Alone,
    /// A trial in this very way to share.
    Trial,
}

impl MeasurementKind {
    /// Whether it is made by recording the device as it is used, so that several are made in one run.
    pub(crate) fn is_recording(self) -> bool {
        use MeasurementKind::{Counters, Finer, Longer, Memory, Service, Tenants};
        matches!(self, Tenants | Memory | Counters | Finer | Service | Longer)
    }
}

/// A measurement that would settle something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// What kind.
    pub kind: MeasurementKind,
    /// What to do, as a sentence that begins with a verb.
    pub sentence: String,
    /// How long it takes, about, in seconds of recording; 0 for an answer or a look.
    pub about_s: f64,
}

impl Measurement {
    /// A measurement of a kind that takes so many seconds.
    pub fn new(kind: MeasurementKind, about_s: f64, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), about_s }
    }

    /// Whether it costs less than another: by kind, then by time.
    pub fn is_cheaper_than(&self, other: &Self) -> bool {
        (self.kind, self.about_s) < (other.kind, other.about_s)
    }
}

/// Names for a sentence: `a`, `a and b`, or `a, b and 7 more`.
pub(crate) struct Names<'a>(pub(crate) &'a [&'a str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => write!(f, "nobody"),
            [one] => write!(f, "`{one}`"),
            [one, other] => write!(f, "`{one}` and `{other}`"),
            [one, other, third] => write!(f, "`{one}`, `{other}` and `{third}`"),
            [one, other, rest @ ..] => write!(f, "`{one}`, `{other}` and {} more", rest.len()),
        }
    }
}

/// A factor with its interval for a sentence: `1.20 (1.10 to 1.35) times`; only the lower end where the upper one says nothing: `at least 1.41 times`.
pub(crate) struct Factor(pub(crate) Range);

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { expected, low, high } = self.0;
        match () {
            () if !self.0.has_useful_end() => write!(f, "at least {} times", Times(low)),
            () if self.0.is_exact() => write!(f, "{} times", Times(expected)),
            () => write!(f, "{} ({} to {}) times", Times(expected), Times(low), Times(high)),
        }
    }
}

/// Factors from here on are only told to be greater: a prediction does not tell them apart.
const MOST_TIMES: f64 = 100.0;

/// One factor for a sentence: `1.20`, `12.3`, `more than 100`.
pub(crate) struct Times(pub(crate) f64);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            it if it.is_nan() || it > MOST_TIMES => write!(f, "more than {MOST_TIMES:.0}"),
            it if it >= 9.95 => write!(f, "{it:.1}"),
            it => write!(f, "{it:.2}"),
        }
    }
}

/// MiB for a sentence: `18432 MiB`.
pub(crate) fn mib(value: f64) -> String {
    format!("{value:.0} MiB")
}

/// MiB as GiB for a sentence: `21.3 GiB`.
pub(crate) fn gib(mib: f64) -> String {
    format!("{:.1} GiB", mib / 1024.0)
}

/// A ratio for a sentence, with the digits that small risks need: `30 %`, `4.5 %`, `0.120 %`.
pub(crate) fn percent(ratio: f64) -> String {
    match (100.0 * ratio).abs() {
        it if it >= 0.995 => share(ratio),
        0.0 => "0 %".to_owned(),
        it if it < 0.001 => "below 0.001 %".to_owned(),
        _ => format!("{:.3} %", 100.0 * ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_word_and_json_says_the_same() {
        for (kind, word) in ReasonKind::ALL {
            assert_eq!(kind.word(), word);
            assert_eq!(serde_json::to_value(kind).unwrap(), word);
        }
    }

    #[test]
    fn names_and_numbers_read_well() {
        assert_eq!(Names(&["a", "b", "c", "d"]).to_string(), "`a`, `b` and 2 more");
        assert_eq!((percent(0.3), percent(0.045)), ("30 %".to_owned(), "4.5 %".to_owned()));
        assert_eq!(percent(0.001), "0.100 %");
        assert_eq!(gib(22528.0), "22.0 GiB");
        let wide = Factor(Range { expected: 9.0, low: 1.41, high: 348.51 });
        assert_eq!(wide.to_string(), "at least 1.41 times");
        assert_eq!(Times(348.51).to_string(), "more than 100");
        let narrow = Factor(Range { expected: 1.2, low: 1.1, high: 1.35 });
        assert_eq!(narrow.to_string(), "1.20 (1.10 to 1.35) times");
    }

    #[test]
    fn an_answer_is_cheaper_than_a_recording() {
        let answer = Measurement::new(MeasurementKind::Policy, 0.0, "say it");
        let record = Measurement::new(MeasurementKind::Memory, 900.0, "record it");
        assert!(answer.is_cheaper_than(&record) && !record.is_cheaper_than(&answer));
    }
}
