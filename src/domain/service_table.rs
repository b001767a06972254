//! Which metrics of which server mean what: tables, no code.
//!
//! `docs/TENANTS.md` prints them. Names: vLLM's `docs/usage/metrics`, Triton's
//! `docs/user_guide/metrics.md`, TGI's `reference/metrics`, SGLang's `references/production_metrics`.

use crate::domain::metric::Metric;

/// How a reading is made of what a server counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum How {
    /// A gauge; label sets are added.
    Sum,
    /// A gauge; the mean over label sets.
    Mean,
    /// Growth of a counter in a second.
    Rate,
    /// Growth of a histogram's count in a second.
    RateOfCount,
    /// Growth of a histogram's sum in a second.
    RateOfSum,
    /// Growth of a histogram's sum over growth of its count.
    MeanOfHistogram,
    /// Growth of a counter over growth of this other one.
    MeanOver(&'static str),
    /// A quantile of what a histogram grew by.
    Quantile(f64),
}

/// Which label sets count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Which {
    /// All.
    All,
    /// Those with this label.
    With(&'static str, &'static str),
    /// Those where this label has none of these values.
    Except(&'static str, &'static [&'static str]),
    /// Those whose label for the status is one of a server's error, such as `500` or `5xx`.
    ServerErrors,
}

/// One metric of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    /// What it is to us.
    pub(crate) metric: Metric,
    /// What the server calls it; the first name that it has.
    pub(crate) names: &'static [&'static str],
    /// How the reading is made.
    pub(crate) how: How,
    /// Which label sets count.
    pub(crate) which: Which,
    /// What turns its unit into ours.
    pub(crate) factor: f64,
}

/// What a server is known by, and what its metrics mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preset {
    /// Name, in kebab case; the tool of the source.
    pub(crate) id: &'static str,
    /// Starts of names that only this server has.
    pub(crate) mark: &'static str,
    /// Histogram of time from request to answer, in seconds; empty where there is none.
    pub(crate) latency: &'static [&'static str],
    /// Everything else.
    pub(crate) rows: &'static [Row],
}

/// Quantiles that a recording keeps.
pub(crate) const QUANTILES: [(Metric, f64); 4] = [
    (Metric::LatencyP50, 0.5),
    (Metric::LatencyP90, 0.9),
    (Metric::LatencyP95, 0.95),
    (Metric::LatencyP99, 0.99),
];

/// Ends of names of histograms of requests, for servers that no preset knows.
pub(crate) const USUAL_ENDS: [&str; 3] =
    ["_request_duration_seconds", "_latency_seconds", "http_server_requests_seconds"];

/// Labels that hold the status of an answer.
pub(crate) const STATUS_LABELS: [&str; 6] =
    ["status", "code", "status_code", "http_status", "http_response_status_code", "response_code"];

/// Every server that is known.
#[rustfmt::skip]
pub(crate) const PRESETS: &[Preset] = &[
    Preset { id: "vllm", mark: "vllm:", latency: &["vllm:e2e_request_latency_seconds"], rows: &[
        Row { metric: Metric::TimeToFirstToken, names: &["vllm:time_to_first_token_seconds"], how: How::MeanOfHistogram, which: Which::All, factor: 1.0 },
        Row { metric: Metric::QueueTime, names: &["vllm:request_queue_time_seconds"], how: How::MeanOfHistogram, which: Which::All, factor: 1.0 },
        Row { metric: Metric::Throughput, names: &["vllm:request_success_total", "vllm:request_success"], how: How::Rate, which: Which::Except("finished_reason", &["abort", "error"]), factor: 1.0 },
        Row { metric: Metric::ErrorRate, names: &["vllm:request_success_total", "vllm:request_success"], how: How::Rate, which: Which::With("finished_reason", "error"), factor: 1.0 },
        Row { metric: Metric::TokenThroughput, names: &["vllm:generation_tokens_total", "vllm:generation_tokens"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::QueueDepth, names: &["vllm:num_requests_waiting"], how: How::Sum, which: Which::All, factor: 1.0 },
        Row { metric: Metric::RequestsRunning, names: &["vllm:num_requests_running"], how: How::Sum, which: Which::All, factor: 1.0 },
        Row { metric: Metric::KvCacheUsed, names: &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"], how: How::Mean, which: Which::All, factor: 1.0 },
    ] },
    Preset { id: "triton", mark: "nv_inference_", latency: &[], rows: &[
        Row { metric: Metric::LatencyMean, names: &["nv_inference_request_duration_us"], how: How::MeanOver("nv_inference_request_success"), which: Which::All, factor: 1e-6 },
        Row { metric: Metric::QueueTime, names: &["nv_inference_queue_duration_us"], how: How::MeanOver("nv_inference_request_success"), which: Which::All, factor: 1e-6 },
        Row { metric: Metric::TimeToFirstToken, names: &["nv_inference_first_response_histogram_ms"], how: How::MeanOfHistogram, which: Which::All, factor: 1e-3 },
        Row { metric: Metric::Throughput, names: &["nv_inference_request_success"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::ErrorRate, names: &["nv_inference_request_failure"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::QueueDepth, names: &["nv_inference_pending_request_count"], how: How::Sum, which: Which::All, factor: 1.0 },
    ] },
    Preset { id: "tgi", mark: "tgi_", latency: &["tgi_request_duration"], rows: &[
        Row { metric: Metric::QueueTime, names: &["tgi_request_queue_duration"], how: How::MeanOfHistogram, which: Which::All, factor: 1.0 },
        Row { metric: Metric::Throughput, names: &["tgi_request_success"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::OfferedLoad, names: &["tgi_request_count"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::ErrorRate, names: &["tgi_request_failure"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::TokenThroughput, names: &["tgi_request_generated_tokens"], how: How::RateOfSum, which: Which::All, factor: 1.0 },
        Row { metric: Metric::QueueDepth, names: &["tgi_queue_size"], how: How::Sum, which: Which::All, factor: 1.0 },
        Row { metric: Metric::RequestsRunning, names: &["tgi_batch_current_size"], how: How::Sum, which: Which::All, factor: 1.0 },
    ] },
    Preset { id: "sglang", mark: "sglang:", latency: &["sglang:e2e_request_latency_seconds"], rows: &[
        Row { metric: Metric::TimeToFirstToken, names: &["sglang:time_to_first_token_seconds"], how: How::MeanOfHistogram, which: Which::All, factor: 1.0 },
        Row { metric: Metric::Throughput, names: &["sglang:e2e_request_latency_seconds"], how: How::RateOfCount, which: Which::All, factor: 1.0 },
        Row { metric: Metric::TokenThroughput, names: &["sglang:generation_tokens_total"], how: How::Rate, which: Which::All, factor: 1.0 },
        Row { metric: Metric::QueueDepth, names: &["sglang:num_queue_reqs"], how: How::Sum, which: Which::All, factor: 1.0 },
        Row { metric: Metric::RequestsRunning, names: &["sglang:num_running_reqs"], how: How::Sum, which: Which::All, factor: 1.0 },
        Row { metric: Metric::KvCacheUsed, names: &["sglang:token_usage"], how: How::Mean, which: Which::All, factor: 1.0 },
    ] },
];

/// The table of `docs/TENANTS.md`, a row for each metric of each server.
pub fn preset_rows() -> Vec<String> {
    let of_preset = |preset: &Preset| {
        let latency = preset.latency.iter().map(|name| {
            format!(
                "| `{}` | mean, p50, p90, p95 and p99 of latency | `{name}` | of its growth |",
                preset.id
            )
        });
        let others = preset.rows.iter().map(|row| {
            let names: Vec<String> = row.names.iter().map(|it| format!("`{it}`")).collect();
            let key = row.metric.key();
            format!("| `{}` | `{key}` | {} | {} |", preset.id, names.join(" or "), row.made())
        });
        latency.chain(others).collect::<Vec<String>>()
    };
    PRESETS.iter().flat_map(of_preset).collect()
}

impl How {
    /// Whether it is growth in a second.
    pub(crate) fn is_rate(self) -> bool {
        matches!(self, Self::Rate | Self::RateOfCount | Self::RateOfSum)
    }

    /// Whether it is made of a histogram.
    pub(crate) fn is_of_histogram(self) -> bool {
        match self {
            Self::Sum | Self::Mean | Self::Rate | Self::MeanOver(_) => false,
            Self::RateOfCount | Self::RateOfSum | Self::MeanOfHistogram | Self::Quantile(_) => true,
        }
    }
}

impl Which {
    /// Whether a label set counts.
    pub(crate) fn holds(self, labels: &[(String, String)]) -> bool {
        let value = |key: &str| labels.iter().find(|it| it.0 == key).map(|it| it.1.as_str());
        match self {
            Self::All => true,
            Self::With(key, wanted) => value(key) == Some(wanted),
            Self::Except(key, refused) => !value(key).is_some_and(|it| refused.contains(&it)),
            Self::ServerErrors => {
                STATUS_LABELS.iter().any(|it| value(it).is_some_and(|it| it.starts_with('5')))
            }
        }
    }
}

/// What turns the values of a histogram into seconds; a name that does not say counts in seconds.
pub(crate) fn factor_of(name: &str) -> f64 {
    let ends = |all: &[&str]| all.iter().any(|it| name.ends_with(it));
    match () {
        () if ends(&["_ms", "_milliseconds", "_msec", "_millis"]) => 1e-3,
        () if ends(&["_us", "_microseconds", "_usec", "_micros"]) => 1e-6,
        () => 1.0,
    }
}

impl Row {
    /// How the reading is made, for people.
    fn made(&self) -> String {
        let made = match self.how {
            How::Sum => "sum over label sets".to_owned(),
            How::Mean => "mean over label sets".to_owned(),
            How::Rate => "growth in a second".to_owned(),
            How::RateOfCount => "growth of its count in a second".to_owned(),
            How::RateOfSum => "growth of its sum in a second".to_owned(),
            How::MeanOfHistogram => "growth of its sum over growth of its count".to_owned(),
            How::MeanOver(other) => format!("growth over growth of `{other}`"),
            How::Quantile(q) => format!("quantile {q} of its growth"),
        };
        match self.which {
            Which::All => made,
            Which::With(key, value) => format!("{made}, where `{key}` is `{value}`"),
            Which::Except(key, values) => {
                format!("{made}, where `{key}` is none of {}", values.join(", "))
            }
            Which::ServerErrors => format!("{made}, where the status is an error of the server"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::metric::Scope;
    use std::collections::BTreeSet;

    #[test]
    fn every_preset_has_a_name_of_its_own_and_speaks_of_services_once() {
        let ids: BTreeSet<&str> = PRESETS.iter().map(|it| it.id).collect();
        assert_eq!(ids.len(), PRESETS.len());
        for preset in PRESETS {
            let metrics: BTreeSet<Metric> = preset.rows.iter().map(|it| it.metric).collect();
            assert_eq!(metrics.len(), preset.rows.len(), "{}", preset.id);
            assert!(metrics.iter().all(|it| it.spec().scope == Scope::Service), "{}", preset.id);
            let names = preset.rows.iter().flat_map(|it| it.names).chain(preset.latency);
            for name in names {
                assert!(name.starts_with(preset.mark), "{}: {name}", preset.id);
            }
        }
    }
}
