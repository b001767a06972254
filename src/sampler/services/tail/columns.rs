//! What the columns of a tenant's own log mean, by their names.

use crate::domain::metric::{Metric, Scope};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    /// When the line was written, or the request answered.
    Time,
    /// When the request arrived.
    Arrival,
    /// A reading, and what turns it into our unit.
    Reading(Metric, f64),
    /// Time from request to answer of this one request, and what turns it into seconds.
    Latency(f64),
    /// Tokens of this one answer.
    Tokens,
    /// Status of this one answer: a code of HTTP, or a word.
    Status,
    /// A latency without a unit, which cannot be used.
    WithoutUnit,
}

const TIMES: [&str; 14] = [
    "time",
    "timestamp",
    "ts",
    "t",
    "at",
    "datetime",
    "date_time",
    "end",
    "ended",
    "end_time",
    "finished",
    "finished_at",
    "completed",
    "completed_at",
];

const ARRIVALS: [&str; 10] = [
    "start",
    "started",
    "started_at",
    "start_time",
    "arrival",
    "arrived",
    "arrival_time",
    "sent",
    "sent_at",
    "begin",
];

const LATENCIES: [&str; 8] = [
    "latency",
    "duration",
    "elapsed",
    "response_time",
    "request_latency",
    "request_duration",
    "e2e",
    "e2e_latency",
];

const TOKENS: [&str; 5] =
    ["tokens", "output_tokens", "completion_tokens", "generated_tokens", "num_tokens"];

const STATUSES: [&str; 6] = ["status", "status_code", "code", "http_status", "ok", "success"];

/// Names of times in a table of readings; a unit stands behind them.
const DURATIONS: [(&str, Metric); 21] = [
    ("latency_mean", Metric::LatencyMean),
    ("mean_latency", Metric::LatencyMean),
    ("avg_latency", Metric::LatencyMean),
    ("mean", Metric::LatencyMean),
    ("p50", Metric::LatencyP50),
    ("latency_p50", Metric::LatencyP50),
    ("median", Metric::LatencyP50),
    ("p90", Metric::LatencyP90),
    ("latency_p90", Metric::LatencyP90),
    ("p95", Metric::LatencyP95),
    ("latency_p95", Metric::LatencyP95),
    ("p99", Metric::LatencyP99),
    ("latency_p99", Metric::LatencyP99),
    ("queue", Metric::QueueTime),
    ("queue_time", Metric::QueueTime),
    ("ttft", Metric::TimeToFirstToken),
    ("time_to_first_token", Metric::TimeToFirstToken),
    ("step", Metric::IterationTime),
    ("step_time", Metric::IterationTime),
    ("iteration", Metric::IterationTime),
    ("iteration_time", Metric::IterationTime),
];

/// Names of everything else in a table of readings.
const NUMBERS: [(&str, Metric); 27] = [
    ("rps", Metric::Throughput),
    ("qps", Metric::Throughput),
    ("throughput", Metric::Throughput),
    ("requests_per_s", Metric::Throughput),
    ("requests_per_second", Metric::Throughput),
    ("tokens_per_s", Metric::TokenThroughput),
    ("tokens_per_second", Metric::TokenThroughput),
    ("tok_per_s", Metric::TokenThroughput),
    ("tokens_s", Metric::TokenThroughput),
    ("requests_s", Metric::Throughput),
    ("it_s", Metric::IterationRate),
    ("offered_rps", Metric::OfferedLoad),
    ("arrivals_per_s", Metric::OfferedLoad),
    ("errors_per_s", Metric::ErrorRate),
    ("iterations_per_s", Metric::IterationRate),
    ("steps_per_s", Metric::IterationRate),
    ("it_per_s", Metric::IterationRate),
    ("queue_depth", Metric::QueueDepth),
    ("queue_size", Metric::QueueDepth),
    ("queue_length", Metric::QueueDepth),
    ("waiting", Metric::QueueDepth),
    ("running", Metric::RequestsRunning),
    ("in_flight", Metric::RequestsRunning),
    ("inflight", Metric::RequestsRunning),
    ("active_requests", Metric::RequestsRunning),
    ("kv_cache_usage", Metric::KvCacheUsed),
    ("kv_cache_used", Metric::KvCacheUsed),
];

/// Ends of names, and what turns their values into seconds.
const UNITS: [(&str, f64); 10] = [
    ("_s", 1.0),
    ("_sec", 1.0),
    ("_secs", 1.0),
    ("_seconds", 1.0),
    ("_ms", 1e-3),
    ("_millis", 1e-3),
    ("_milliseconds", 1e-3),
    ("_us", 1e-6),
    ("_micros", 1e-6),
    ("_microseconds", 1e-6),
];

/// What a column of this name holds; `None` where nothing is known of it.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let name = normalised(name);
    let known = Metric::from_key(&name).filter(|it| it.spec().scope == Scope::Service);
    if let Some(metric) = known {
        return Some(Meaning::Reading(metric, 1.0));
    }
    let in_list = |list: &[&str], it: &str| list.contains(&it);
    let (stem, factor) = match UNITS.iter().find(|it| name.ends_with(it.0)) {
        Some((end, factor)) => (name.strip_suffix(end).unwrap_or(&name), Some(*factor)),
        None => (name.as_str(), None),
    };
    if let Some(it) = NUMBERS.iter().find(|it| it.0 == name) {
        return Some(Meaning::Reading(it.1, 1.0));
    }
    let of_duration = DURATIONS.iter().find(|it| it.0 == stem);
    match () {
        // Stamps tell their unit by their length.
        () if in_list(&TIMES, stem) => Some(Meaning::Time),
        () if in_list(&ARRIVALS, stem) => Some(Meaning::Arrival),
        () if in_list(&TOKENS, &name) => Some(Meaning::Tokens),
        () if in_list(&STATUSES, &name) => Some(Meaning::Status),
        () if in_list(&LATENCIES, stem) => {
            Some(factor.map_or(Meaning::WithoutUnit, Meaning::Latency))
        }
        () => match (of_duration, factor) {
            (Some(it), Some(factor)) => Some(Meaning::Reading(it.1, factor)),
            (Some(it), None) if it.0.starts_with("latency_") || it.0.starts_with('p') => {
                Some(Meaning::WithoutUnit)
            }
            _ => None,
        },
    }
}

/// Small letters, with `_` for everything between words; what stands in brackets is a unit.
fn normalised(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.trim().chars() {
        match letter {
            it if it.is_ascii_alphanumeric() => plain.push(it.to_ascii_lowercase()),
            _ if plain.ends_with('_') || plain.is_empty() => {}
            _ => plain.push('_'),
        }
    }
    plain.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_keys_and_common_names_are_understood() {
        let reading = |metric, factor| Some(Meaning::Reading(metric, factor));
        for (name, expected) in [
            ("timestamp", Some(Meaning::Time)),
            ("time_ms", Some(Meaning::Time)),
            ("Start Time", Some(Meaning::Arrival)),
            ("latency_ms", Some(Meaning::Latency(1e-3))),
            ("Latency (s)", Some(Meaning::Latency(1.0))),
            ("latency", Some(Meaning::WithoutUnit)),
            ("latency_p99_s", reading(Metric::LatencyP99, 1.0)),
            ("p99_ms", reading(Metric::LatencyP99, 1e-3)),
            ("p99", Some(Meaning::WithoutUnit)),
            ("rps", reading(Metric::Throughput, 1.0)),
            ("tokens/s", reading(Metric::TokenThroughput, 1.0)),
            ("requests_per_second", reading(Metric::Throughput, 1.0)),
            ("step_time_ms", reading(Metric::IterationTime, 1e-3)),
            ("iteration_time_s", reading(Metric::IterationTime, 1.0)),
            ("ttft_ms", reading(Metric::TimeToFirstToken, 1e-3)),
            ("queue_depth", reading(Metric::QueueDepth, 1.0)),
            ("status", Some(Meaning::Status)),
            ("output_tokens", Some(Meaning::Tokens)),
            ("sm_active_ratio", None),
            ("step", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(meaning(name), expected, "{name}");
        }
    }

    #[test]
    fn every_metric_of_a_service_can_be_written_by_its_key() {
        for metric in Metric::all().filter(|it| it.spec().scope == Scope::Service) {
            assert_eq!(meaning(metric.key()), Some(Meaning::Reading(metric, 1.0)));
        }
    }
}
