//! Requests, one by one, become readings of each second.

use crate::domain::metric::Metric;
use crate::domain::service_table::QUANTILES;
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;

/// A second is closed when the log is this much further, or still for so long.
const LATENESS_S: i64 = 2;

/// The log's clock and ours drift no further apart than this; a stamp that does is a broken one.
const MOST_DRIFT_S: i64 = 2 * 3600;

/// Between two seconds with answers this many without are idle; more are a gap.
const LONGEST_IDLE_S: i64 = 10;

const SECOND: i64 = 1_000_000;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Request {
    /// When it was answered.
    pub(crate) answered: Timestamp,
    /// When it arrived; `None` where nobody knows.
    pub(crate) arrived: Option<Timestamp>,
    /// Time from request to answer, in seconds.
    pub(crate) latency_s: Option<f64>,
    pub(crate) first_token_s: Option<f64>,
    pub(crate) queue_s: Option<f64>,
    pub(crate) tokens: Option<f64>,
    /// Whether it went well; `None` where nobody knows.
    pub(crate) is_good: Option<bool>,
}

/// Readings of one second, at its end.
pub(crate) type Row = (Timestamp, Vec<(Metric, f64)>);

#[derive(Debug, Default)]
struct Second {
    answered: u64,
    failed: u64,
    latencies: Vec<f64>,
    first_tokens: Vec<f64>,
    queues: Vec<f64>,
    tokens: Option<f64>,
    has_status: bool,
}

/// Requests whose seconds are not over yet.
#[derive(Debug)]
pub(crate) struct Requests {
    least: usize,
    seconds: BTreeMap<i64, Second>,
    arrivals: BTreeMap<i64, u64>,
    /// The first second with an answer: what was answered or arrived in it is only partly known.
    first: Option<i64>,
    /// The latest second of the log.
    latest: i64,
    /// The last second that was closed.
    closed: Option<i64>,
    closed_arrivals: Option<i64>,
    /// The latest second of the log when nothing could be seen for a while.
    unseen_after: Option<i64>,
    longest_s: f64,
    /// Our second when a request was taken last.
    taken: i64,
    /// How far the log's clock was ahead of ours at the first request, in seconds.
    ahead_s: Option<i64>,
    /// Requests that came after their second was closed, or whose stamps do not fit the others.
    pub(crate) late: u64,
}

impl Requests {
    /// With fewer requests than this a second has no quantiles.
    pub(crate) fn new(least: u32) -> Self {
        Self {
            least: least.max(1) as usize,
            seconds: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            first: None,
            latest: i64::MIN,
            closed: None,
            closed_arrivals: None,
            unseen_after: None,
            longest_s: 0.0,
            taken: i64::MIN,
            ahead_s: None,
            late: 0,
        }
    }

    /// Takes a request that is read now.
    pub(crate) fn take(&mut self, request: Request, now: Timestamp) {
        let (second, ours) = (second_of(request.answered), second_of(now));
        let ahead_s = *self.ahead_s.get_or_insert(second - ours);
        let is_broken = (second - ours - ahead_s).abs() > MOST_DRIFT_S;
        if is_broken || self.closed.is_some_and(|it| second <= it) {
            self.late += 1;
            return;
        }
        self.taken = ours;
        self.first = Some(self.first.map_or(second, |it| it.min(second)));
        self.latest = self.latest.max(second);
        self.longest_s = self.longest_s.max(request.latency_s.unwrap_or(0.0));
        if let Some(arrived) = request.arrived {
            *self.arrivals.entry(second_of(arrived)).or_default() += 1;
        }
        self.seconds.entry(second).or_default().take(request);
    }

    /// Says that nothing could be seen for a while: what comes now is later than that.
    pub(crate) fn interrupt(&mut self) {
        self.unseen_after = Some(self.latest);
    }

    /// Whether nothing could be seen for a while between two seconds.
    fn is_unseen(&self, from: i64, until: i64) -> bool {
        self.unseen_after.is_some_and(|it| from <= it && it < until)
    }

    /// Closes the seconds that are over by the log's own clock, and all where the log is still.
    pub(crate) fn close(&mut self, now: Timestamp) -> Vec<Row> {
        let is_still = second_of(now).saturating_sub(self.taken) > LATENESS_S;
        let lateness = if is_still { 0 } else { LATENESS_S };
        self.rows_until(self.latest.saturating_sub(lateness))
    }

    /// Closes everything; nobody knows whether the last second was over.
    pub(crate) fn finish(&mut self) -> Vec<Row> {
        let mut rows = self.rows_until(self.latest.saturating_sub(1));
        let last = self
            .seconds
            .pop_first()
            .map(|(second, it)| (end_of(second), without_rates(it.readings(self.least))));
        rows.extend(last);
        rows
    }

    fn rows_until(&mut self, until: i64) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(entry) = self.seconds.first_entry().filter(|it| *it.key() <= until) {
            let (second, requests) = entry.remove_entry();
            let has_status = requests.has_status;
            let idle = self.closed.map_or(second, |it| it + 1)..second;
            let is_unseen = self.is_unseen(idle.start - 1, idle.end);
            if idle.end - idle.start <= LONGEST_IDLE_S && !is_unseen {
                rows.extend(idle.map(|it| (end_of(it), nothing(has_status))));
            }
            let mut readings = requests.readings(self.least);
            if self.first == Some(second) || is_unseen {
                readings = without_rates(readings);
            }
            rows.push((end_of(second), readings));
            self.closed = Some(second);
        }
        rows.extend(self.arrivals_until_complete());
        rows
    }

    /// Arrivals of seconds from which every request must have been answered by now.
    fn arrivals_until_complete(&mut self) -> Vec<Row> {
        let patience = self.longest_s.ceil() as i64 + 1;
        let (Some(first), Some(closed)) = (self.first, self.closed) else { return Vec::new() };
        let until = closed - patience;
        if self.arrivals.is_empty() || until <= first {
            return Vec::new();
        }
        let later = self.arrivals.split_off(&(until + 1));
        let counted = std::mem::replace(&mut self.arrivals, later);
        let mut rows = Vec::new();
        for (second, count) in counted.range(first + 1..) {
            let idle = self.closed_arrivals.map_or(*second, |it| it + 1)..*second;
            // After a long gap the seconds in between are not idle, they are unknown.
            let is_unseen = self.is_unseen(idle.start - 1, idle.end);
            if idle.end - idle.start <= LONGEST_IDLE_S && !is_unseen {
                rows.extend(idle.map(|it| (end_of(it), vec![(Metric::OfferedLoad, 0.0)])));
            }
            if self.closed_arrivals.is_none_or(|it| it < *second) {
                rows.push((end_of(*second), vec![(Metric::OfferedLoad, *count as f64)]));
                self.closed_arrivals = Some(*second);
            }
        }
        rows
    }
}

fn second_of(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(SECOND)
}

fn end_of(second: i64) -> Timestamp {
    Timestamp::from_micros(second.saturating_add(1).saturating_mul(SECOND))
}

/// What a second says that was seen in part only.
fn without_rates(mut readings: Vec<(Metric, f64)>) -> Vec<(Metric, f64)> {
    readings.retain(|it| {
        !matches!(it.0, Metric::Throughput | Metric::ErrorRate | Metric::TokenThroughput)
    });
    readings
}

fn nothing(has_status: bool) -> Vec<(Metric, f64)> {
    let errors = has_status.then_some((Metric::ErrorRate, 0.0));
    std::iter::once((Metric::Throughput, 0.0)).chain(errors).collect()
}

impl Second {
    fn take(&mut self, request: Request) {
        self.has_status |= request.is_good.is_some();
        if request.is_good == Some(false) {
            self.failed += 1;
            return;
        }
        self.answered += 1;
        self.latencies.extend(request.latency_s);
        self.first_tokens.extend(request.first_token_s);
        self.queues.extend(request.queue_s);
        if let Some(tokens) = request.tokens {
            *self.tokens.get_or_insert(0.0) += tokens;
        }
    }

    fn readings(mut self, least: usize) -> Vec<(Metric, f64)> {
        let mut readings = vec![(Metric::Throughput, self.answered as f64)];
        readings.extend(self.has_status.then_some((Metric::ErrorRate, self.failed as f64)));
        readings.extend(self.tokens.map(|it| (Metric::TokenThroughput, it)));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        for (metric, values) in [
            (Metric::LatencyMean, &self.latencies),
            (Metric::TimeToFirstToken, &self.first_tokens),
            (Metric::QueueTime, &self.queues),
        ] {
            readings.extend((!values.is_empty()).then(|| (metric, mean(values))));
        }
        if self.latencies.len() >= least {
            self.latencies.sort_by(f64::total_cmp);
            readings.extend(QUANTILES.map(|(metric, q)| (metric, quantile(&self.latencies, q))));
        }
        readings
    }
}

/// Quantile of sorted values, linear between the two nearest; there is at least one.
///
/// Source: R. Hyndman, Y. Fan, The American Statistician 50 (1996), 361–365, definition 7.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let upper = sorted.get(low + 1).copied().unwrap_or(sorted[low]);
    sorted[low] + (upper - sorted[low]) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: i64 = 1_767_225_600;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_micros(ZERO * SECOND + (seconds * 1e6) as i64)
    }

    fn request(answered: f64, latency_s: f64) -> Request {
        Request {
            answered: at(answered),
            arrived: Some(at(answered - latency_s)),
            latency_s: Some(latency_s),
            first_token_s: None,
            queue_s: None,
            tokens: Some(5.0),
            is_good: Some(true),
        }
    }

    fn values(rows: &[Row], metric: Metric) -> Vec<(f64, f64)> {
        let of_row = |(stamp, readings): &Row| {
            let value = readings.iter().find(|it| it.0 == metric)?.1;
            Some((stamp.seconds_since(at(0.0)), value))
        };
        rows.iter().filter_map(of_row).collect()
    }

    #[test]
    fn the_requests_of_a_second_become_its_readings_at_its_end() {
        let mut requests = Requests::new(10);
        requests.take(request(-0.5, 0.02), at(0.0));
        for number in 0..100 {
            requests
                .take(request(f64::from(number) / 100.0, f64::from(number + 1) / 1000.0), at(0.0));
        }
        requests.take(request(1.5, 0.02), at(0.0));
        requests.take(Request { is_good: Some(false), ..request(1.6, 9.0) }, at(0.0));
        let mut rows = requests.close(at(0.0));
        assert_eq!(values(&rows, Metric::Throughput), [], "the second may not be over");
        requests.take(request(3.9, 0.02), at(0.0));
        rows.extend(requests.close(at(1.0)));
        assert_eq!(values(&rows, Metric::Throughput), [(1.0, 100.0), (2.0, 1.0)]);
        assert_eq!(values(&rows, Metric::TokenThroughput), [(1.0, 500.0), (2.0, 5.0)]);
        assert_eq!(values(&rows, Metric::ErrorRate), [(1.0, 0.0), (2.0, 1.0)]);
        let near = |metric, expected: f64| {
            let found = values(&rows, metric).iter().find(|it| it.0 == 1.0).unwrap().1;
            assert!((found - expected).abs() < 1e-12, "{metric:?} {found}");
        };
        near(Metric::LatencyMean, 0.0505);
        near(Metric::LatencyP50, 0.0505);
        near(Metric::LatencyP95, 0.095_05);
        near(Metric::LatencyP99, 0.099_01);
        assert_eq!(values(&rows, Metric::LatencyMean)[0].0, 0.0, "of the first second no rate");
        assert_eq!(values(&rows, Metric::LatencyP99).len(), 1, "one request has no quantiles");
    }

    #[test]
    fn a_short_silence_is_idle_a_long_one_is_a_gap_and_late_lines_are_counted() {
        let mut requests = Requests::new(1);
        for answered in [-0.5, 0.5, 3.5, 60.5, 63.5] {
            requests.take(request(answered, 0.1), at(0.0));
        }
        let rows = requests.close(at(0.0));
        let expected = [(1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (4.0, 1.0), (61.0, 1.0)];
        assert_eq!(values(&rows, Metric::Throughput), expected);
        requests.take(request(60.6, 0.1), at(0.0));
        requests.take(request(1e6, 0.1), at(0.0));
        assert_eq!(requests.late, 2, "one is too old, and one of another world");
        let rest = values(&requests.close(at(3.0)), Metric::Throughput);
        assert_eq!(rest, [(62.0, 0.0), (63.0, 0.0), (64.0, 1.0)], "the log is still");
    }

    #[test]
    fn offered_load_counts_arrivals_and_waits_until_they_are_complete() {
        let mut requests = Requests::new(1);
        // One request arrives every tenth of a second; from second 5 on answers take 3 s.
        let mut all: Vec<Request> = (0..200)
            .map(|number| {
                let arrived = f64::from(number) / 10.0;
                let latency = if arrived < 5.0 { 0.1 } else { 3.05 };
                request(arrived + latency, latency)
            })
            .collect();
        all.sort_by_key(|it| it.answered);
        let mut rows = Vec::new();
        for one in all {
            requests.take(one, at(0.0));
            rows.extend(requests.close(at(0.0)));
        }
        let loads = values(&rows, Metric::OfferedLoad);
        assert!(loads.len() > 10, "{loads:?}");
        assert!(loads.iter().all(|it| (it.1 - 10.0).abs() <= 1.0), "{loads:?}");
        let idle = values(&rows, Metric::Throughput);
        assert!(idle.contains(&(7.0, 0.0)), "answers pause although requests arrive: {idle:?}");
    }
}
