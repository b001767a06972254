//! From what the driver answered to readings: what cannot be true is left out and counted.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::sampler::clock::Moment;
use crate::sampler::message::{Message, blind};
use crate::sampler::source::{Count, Reply};
use std::collections::{BTreeMap, BTreeSet};

/// Rates over less than this are noise, microseconds.
const SHORTEST_RATE_US: i64 = 5_000;

/// Turns answers into readings.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    totals: BTreeMap<Metric, (u64, i64)>,
    said: BTreeSet<(Metric, &'static str)>,
    dropped: u64,
}

impl Sieve {
    /// Readings of these replies, and once for each kind what was left out.
    pub(crate) fn readings(
        &mut self,
        replies: &[Reply],
        subject: &Subject,
        now: Moment,
        notes: &mut Vec<Message>,
    ) -> Vec<(Metric, f64)> {
        let mut readings = Vec::with_capacity(replies.len());
        for reply in replies {
            let Ok(count) = reply.count else { continue };
            let Some(value) = count.value() else {
                self.drop(reply.metric, subject, "the driver says that it is not available", notes);
                continue;
            };
            let value = match count {
                Count::Total(total) => match self.rate(reply.metric, total, now.monotonic_us) {
                    Some(rate) => rate,
                    None => continue,
                },
                _ => value,
            };
            if reply.metric.is_plausible(value) {
                readings.push((reply.metric, value));
            } else {
                self.drop(reply.metric, subject, "a value outside of what is possible", notes);
            }
        }
        readings
    }

    /// Counts a reading that was left out, and says so once for each metric and reason.
    pub(crate) fn drop(
        &mut self,
        metric: Metric,
        subject: &Subject,
        why: &'static str,
        notes: &mut Vec<Message>,
    ) {
        self.dropped += 1;
        if self.said.insert((metric, why)) {
            let detail = format!("{} was left out at times: {why}", metric.key());
            let remedy = "see observer_dropped_count for how often";
            let subject = subject.gpu().map_or(subject.clone(), Subject::device);
            notes.push(blind(BlindSpotKind::Rejected, subject, Some(metric), None, detail, remedy));
        }
    }

    /// How many readings were left out.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Forgets totals, so that nothing is compared across a gap.
    pub(crate) fn forget(&mut self) {
        self.totals.clear();
    }

    /// Bytes per second since the last total; `None` at first and after a restart.
    fn rate(&mut self, metric: Metric, total: u64, now_us: i64) -> Option<f64> {
        let before = self.totals.get(&metric).copied();
        if before.is_some_and(|it| now_us - it.1 < SHORTEST_RATE_US) {
            return None;
        }
        self.totals.insert(metric, (total, now_us));
        let (before, then_us) = before.filter(|it| it.0 <= total)?;
        Some((total - before) as f64 * 1e6 / (now_us - then_us) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;

    fn moment(us: i64) -> Moment {
        Moment { monotonic_us: us, boottime_us: us, realtime_us: us }
    }

    #[test]
    fn sentinels_and_impossible_values_are_counted_said_once_and_never_become_readings() {
        let subject = Subject::device(&GpuId::from_index(0));
        let (mut sieve, mut notes) = (Sieve::default(), Vec::new());
        let reply = |metric, count| Reply { metric, count: Ok(count) };
        let replies = [
            reply(Metric::SmClock, Count::Narrow(u32::MAX)),
            reply(Metric::Energy, Count::Wide(u64::MAX)),
            reply(Metric::GpuUtilization, Count::Narrow(37_100)),
            reply(Metric::SmActive, Count::Real(f64::NAN)),
            reply(Metric::Power, Count::Narrow(0)),
        ];
        for _ in 0..3 {
            let readings = sieve.readings(&replies, &subject, moment(0), &mut notes);
            assert_eq!(readings, [(Metric::Power, 0.0)]);
        }
        assert_eq!((sieve.dropped(), notes.len()), (12, 4));
    }

    #[test]
    fn a_rate_needs_two_totals_and_a_fall_begins_anew() {
        let subject = Subject::device(&GpuId::from_index(0));
        let (mut sieve, mut notes) = (Sieve::default(), Vec::new());
        let mut rate = |us, total| {
            let replies = [Reply { metric: Metric::PcieTransmit, count: Ok(Count::Total(total)) }];
            sieve.readings(&replies, &subject, moment(us), &mut notes).first().map(|it| it.1)
        };
        assert_eq!(rate(0, 1000), None);
        assert_eq!(rate(100_000, 2000), Some(10_000.0));
        assert_eq!(rate(200_000, 500), None, "a counter that wraps");
        assert_eq!(rate(300_000, 600), Some(1000.0));
    }
}
