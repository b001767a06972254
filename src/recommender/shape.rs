//! What kind of neighbour a load is: how much of the time it takes, and in how long stretches.

use crate::analysis::findings::BurstProfile;
use crate::colocation::demand::{Demand, Pace, Timeline};
use crate::domain::units::Seconds;
use crate::recommender::policy::Policy;
use crate::recommender::reason::percent;
use crate::recommender::suitability::{SharingWord, Suitability};
use serde::{Deserialize, Serialize};

/// The shape of a tenant's load, as far as it decides how it may be shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadShape {
    /// The word on it.
    pub word: SharingWord,
    /// Share of the time in which it works, 0 to 1.
    pub busy_ratio: f64,
    /// Share of the time in stretches that a neighbour's request falls wholly into, 0 to 1; `None` where their length is not known.
    pub long_burst_ratio: Option<f64>,
    /// Whether it leaves nothing of the device.
    pub is_saturating: bool,
    /// The shape in one sentence.
    pub sentence: String,
}

impl LoadShape {
    /// The shape of a demand.
    ///
    /// Stretches are busy periods: requests that wait for each other make one. A load whose SM activity was measured
    /// and is low fills the time and not the device, so it does not saturate it.
    pub fn of_demand(demand: &Demand, policy: &Policy) -> Self {
        let busy_ratio = demand.busy_share();
        let long = |it: &Timeline| long_ratio(it, demand.pace, policy.long_burst_s);
        let long_burst_ratio = match &demand.doubts {
            None => Some(long(&demand.timeline)),
            Some([short, longest]) => {
                let ends = [long(short), long(longest)];
                let is_clear = ends.map(|it| it >= policy.tail_ratio);
                (is_clear[0] == is_clear[1]).then_some(ends[1])
            }
        };
        let is_narrow =
            demand.width.is_exact() && demand.width.high < policy.full_burst_height_ratio;
        let is_saturating = busy_ratio >= policy.saturated_mean_ratio && !is_narrow;
        let mut shape = Self {
            word: SharingWord::CannotTell,
            busy_ratio,
            long_burst_ratio,
            is_saturating,
            sentence: String::new(),
        };
        shape.word = shape.word_on(policy);
        shape.sentence = shape.told(policy);
        shape
    }

    /// The same, where the recording showed the load's own bursts: those lengths are measured.
    pub fn seen(mut self, profile: &BurstProfile, word: &Suitability, policy: &Policy) -> Self {
        if let Some(bursts) = &profile.bursts {
            let height = policy.low_burst_height_ratio;
            self.long_burst_ratio = Some(bursts.time_at_least(height, policy.long_burst_s));
        }
        if word.word != SharingWord::CannotTell {
            self.word = word.word;
            self.sentence = word.reasons.first().cloned().unwrap_or(self.sentence);
        }
        self
    }

    /// Whether its bursts reach a neighbour's p99; `None` where their length is not known.
    pub fn is_bursty(&self, policy: &Policy) -> Option<bool> {
        self.long_burst_ratio.map(|it| it >= policy.tail_ratio)
    }

    fn word_on(&self, policy: &Policy) -> SharingWord {
        match self.is_bursty(policy) {
            _ if self.is_saturating => SharingWord::DoNotShare,
            _ if self.busy_ratio <= policy.idle_mean_ratio => SharingWord::SharesWell,
            Some(true) => SharingWord::DoNotShare,
            Some(false) if self.busy_ratio <= policy.roomy_mean_ratio => SharingWord::SharesWell,
            Some(false) => SharingWord::SharesWithCare,
            None => SharingWord::CannotTell,
        }
    }

    fn told(&self, policy: &Policy) -> String {
        let busy = percent(self.busy_ratio);
        let long = Seconds(policy.long_burst_s);
        match self.long_burst_ratio {
            _ if self.is_saturating => format!("busy {busy} of the time: nothing is left to share"),
            Some(it) if it >= policy.tail_ratio => format!(
                "busy {busy} of the time, and {} of it in bursts longer than {long}: a neighbour's p99 meets them, whatever the mean says",
                percent(it)
            ),
            Some(_) => format!("busy {busy} of the time in stretches shorter than {long}"),
            None => format!("busy {busy} of the time; how long its bursts last was not seen"),
        }
    }
}

/// Share of the time in busy periods of at least a length.
fn long_ratio(timeline: &Timeline, pace: Pace, least_s: f64) -> f64 {
    let (mut begun, mut ends, mut long_s) = (0.0_f64, f64::NEG_INFINITY, 0.0_f64);
    let mut close = |begun: f64, ends: f64| {
        let length = ends - begun;
        if length >= least_s {
            long_s += length;
        }
    };
    for (at, work) in timeline.at_s().iter().zip(timeline.work_s()) {
        // Iterations follow each other within the rounding of their instants.
        let joins = match pace {
            Pace::Open => *at < ends,
            Pace::Closed => *at <= ends + 1e-6,
        };
        if joins {
            ends =
                ends.max(*at) + if pace == Pace::Open { *work } else { at + work - ends.max(*at) };
        } else {
            if ends > begun {
                close(begun, ends);
            }
            (begun, ends) = (*at, at + work);
        }
    }
    if ends > begun {
        close(begun, ends);
    }
    (long_s / timeline.span_s()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;

    fn shape(duty: f64, burst_s: f64) -> LoadShape {
        let demand = Demand::bursts("a", duty, (burst_s, Spread::Fixed), 600.0).unwrap();
        LoadShape::of_demand(&demand, &Policy::default())
    }

    #[test]
    fn two_loads_of_equal_mean_get_different_words() {
        let (steady, bursty) = (shape(0.3, 0.005), shape(0.3, 3.0));
        assert!((steady.busy_ratio - bursty.busy_ratio).abs() < 0.02);
        assert_eq!(steady.word, SharingWord::SharesWell);
        assert_eq!(bursty.word, SharingWord::DoNotShare);
        assert!(bursty.sentence.contains("p99"), "{}", bursty.sentence);
    }

    #[test]
    fn a_load_that_fills_the_time_with_few_sms_does_not_saturate() {
        let demand = Demand::bursts("a", 0.99, (0.1, Spread::Fixed), 600.0).unwrap();
        let of = |demand: &Demand| LoadShape::of_demand(demand, &Policy::default()).is_saturating;
        assert!(of(&demand) && !of(&demand.clone().wide(0.2, 0.1)));
    }

    #[test]
    fn short_requests_are_no_burst_until_they_queue() {
        let policy = Policy::default();
        let at = |per_s: f64| {
            let demand = Demand::requests("a", per_s, (0.02, Spread::Fixed), 600.0).unwrap();
            LoadShape::of_demand(&demand, &policy).is_bursty(&policy)
        };
        assert_eq!((at(2.0), at(40.0)), (Some(false), Some(true)));
    }
}
