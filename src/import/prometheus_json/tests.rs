//! Answers whose truth is known, made here, and what becomes of them.

use super::PrometheusJson;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::import::testing::{Outcome, gpu, read};
use crate::import::{ImportOptions, Importer, Likeness};
use serde_json::{Value, json};

/// 2026-01-01T00:00:00Z in seconds.
const START: i64 = 1_767_225_600;

/// A number that looks like noise.
fn noise(index: i64) -> f64 {
    (index.wrapping_mul(2_654_435_761).rem_euclid(1_000_003)) as f64 / 1000.0
}

/// One series, a sample every 15 s, by index.
fn series(labels: &[(&str, &str)], count: i64, value: impl Fn(i64) -> Option<f64>) -> Value {
    let metric: serde_json::Map<String, Value> =
        labels.iter().map(|it| (it.0.to_owned(), json!(it.1))).collect();
    let sample = |it: i64| {
        let at = START as f64 + 15.0 * it as f64 + 0.371;
        value(it).map(|value| json!([at, value.to_string()]))
    };
    json!({ "metric": metric, "values": (0..count).filter_map(sample).collect::<Vec<Value>>() })
}

fn answer(all: Vec<Value>) -> String {
    json!({ "status": "success", "data": { "resultType": "matrix", "result": all } }).to_string()
}

fn import(all: Vec<Value>) -> Outcome {
    read(&PrometheusJson, answer(all), &ImportOptions::default())
}

fn details(outcome: &Outcome) -> String {
    let spots = outcome.recording.outline.blind_spots.iter();
    spots.map(|it| format!("{}\n", it.detail)).collect()
}

const UTIL: &str = "DCGM_FI_DEV_GPU_UTIL";
const POWER: &str = "DCGM_FI_DEV_POWER_USAGE";
const ENERGY: &str = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";

fn dcgm<'a>(name: &'a str, uuid: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("__name__", name), ("UUID", uuid), ("gpu", "0"), ("instance", "h1:9400"), ("job", "dcgm")]
}

fn with<'a>(
    mut labels: Vec<(&'a str, &'a str)>,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    labels.extend(more);
    labels
}

#[test]
fn values_come_over_with_their_own_stamps() {
    let outcome = import(vec![series(&dcgm(UTIL, "GPU-1"), 40, |it| Some((it % 100) as f64))]);
    let device = gpu("GPU-1");
    let values: Vec<f64> = (0..40).map(|it| (it % 100) as f64).collect();
    assert_eq!(outcome.values(&device, Metric::GpuUtilization), values);
    assert_eq!(outcome.millis(&device, Metric::GpuUtilization)[1], START * 1000 + 15_371);
    assert_eq!(outcome.blind_spots(), Vec::<String>::new());
    let device = &outcome.recording.outline.devices[0];
    assert_eq!((device.index, device.host.as_deref()), (Some(0), Some("h1")));
    let source = &outcome.recording.outline.sources[0];
    assert_eq!(
        (source.tool.as_str(), source.format.as_str()),
        ("dcgm-exporter", "prometheus-json")
    );
}

#[test]
fn it_is_recognised_by_content_and_other_json_is_not() {
    let sure = |text: &str| PrometheusJson.recognise(text.as_bytes());
    assert_eq!(sure(&answer(vec![])), Likeness::Sure);
    assert_eq!(
        sure(r#"{"metric":{"__name__":"up"},"values":[1],"timestamps":[1]}"#),
        Likeness::Sure
    );
    assert_eq!(sure(r#"{"gpus":[{"index":0,"utilization.gpu":5}]}"#), Likeness::No);
    assert_eq!(sure("index, uuid\n"), Likeness::No);
}

#[test]
fn the_devices_value_on_several_pods_is_counted_once() {
    let pods = ["a", "b"].map(|pod| {
        let labels =
            with(dcgm(POWER, "GPU-1"), &[("exported_pod", pod), ("exported_namespace", "ml")]);
        series(&labels, 10, |it| Some(100.0 + noise(it)))
    });
    let outcome = import(pods.to_vec());
    assert_eq!(outcome.values(&gpu("GPU-1"), Metric::Power).len(), 10);
    assert!(details(&outcome).contains("the share of"), "{}", details(&outcome));
}

#[test]
fn replicas_of_prometheus_are_told_and_count_once() {
    let one = series(&with(dcgm(UTIL, "GPU-1"), &[("prometheus_replica", "a")]), 30, |_| Some(5.0));
    let torn = |it: i64| (it != 7).then_some(5.0);
    let two = series(&with(dcgm(UTIL, "GPU-1"), &[("prometheus_replica", "b")]), 30, torn);
    let outcome = import(vec![one, two]);
    assert_eq!(outcome.values(&gpu("GPU-1"), Metric::GpuUtilization), vec![5.0; 30]);
    assert!(details(&outcome).contains("by several series at once"));
}

#[test]
fn the_exporters_own_pod_is_nobodys_workload() {
    let labels = with(dcgm(UTIL, "GPU-1"), &[("pod", "dcgm-exporter-x7"), ("namespace", "mon")]);
    let outcome = import(vec![series(&labels, 5, |_| Some(50.0))]);
    assert_eq!(outcome.recording.traces.len(), 1);
    assert!(details(&outcome).contains("name the exporter itself"));
    let remedy = &outcome.recording.outline.blind_spots[0].remedy;
    assert!(remedy.contains("honorLabels"));
}

#[test]
fn holes_and_missing_numbers_stay_missing() {
    let value = |it: i64| (!(20..40).contains(&it)).then_some(if it == 5 { f64::NAN } else { 9.0 });
    let outcome = import(vec![
        series(&dcgm(UTIL, "GPU-1"), 60, value),
        series(&with(dcgm(UTIL, "GPU-2"), &[]), 60, value),
    ]);
    assert_eq!(outcome.values(&gpu("GPU-1"), Metric::GpuUtilization), vec![9.0; 39]);
    let gaps: Vec<_> =
        outcome.recording.outline.blind_spots.iter().filter(|it| it.span.is_some()).collect();
    assert_eq!(gaps.len(), 1, "{}", details(&outcome));
    assert!((gaps[0].span.unwrap().seconds() - 315.0).abs() < 1.0);
}

#[test]
fn held_frozen_and_mirrored_values_are_told() {
    let power = |name, value: &dyn Fn(i64) -> f64| {
        series(&dcgm(POWER, name), 200, |it| Some(100.0 + value(it) / 10.0))
    };
    let outcome = import(vec![
        power("GPU-h1", &|it| noise(it / 2)),
        power("GPU-h2", &|it| noise(if (60..110).contains(&it) { 60 } else { it + 5 })),
        power("GPU-h3", &|it| noise(it + 9)),
        power("GPU-h4", &|it| noise(it + 9)),
    ]);
    let found = details(&outcome);
    assert!(found.contains("1 of 4 GPUs changes only about every 30.3 s"), "{found}");
    assert!(found.contains("did not change at all for 12.3 min"), "{found}");
    assert!(found.contains("is the same on 2 GPUs"), "{found}");
}

#[test]
fn silent_zeros_of_an_engine_and_falls_of_a_counter_are_told() {
    let outcome = import(vec![
        series(&dcgm(UTIL, "GPU-1"), 60, |_| Some(99.0)),
        series(&dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GPU-1"), 60, |it| {
            Some(if it < 20 { 0.9 } else { 0.0 })
        }),
        series(&dcgm(ENERGY, "GPU-1"), 60, |it| Some(1e6 * (it % 40) as f64)),
    ]);
    assert!(details(&outcome).contains("is zero in 40 samples in a row"), "{}", details(&outcome));
    assert!(outcome.summary().warnings.iter().any(|it| it.contains("energy counter fell 1 times")));
    assert_eq!(outcome.values(&gpu("GPU-1"), Metric::Energy).len(), 60);
}

#[test]
fn what_hami_measures_is_the_pods_and_its_silence_is_told() {
    let host = [("__name__", "HostCoreUtilization"), ("deviceuuid", "GPU-1"), ("deviceidx", "0")];
    let pod = [
        ("__name__", "Device_utilization_desc_of_container"),
        ("deviceuuid", "GPU-1"),
        ("podname", "p"),
        ("podnamespace", "n"),
        ("ctrname", "c"),
    ];
    let outcome = import(vec![series(&host, 40, |_| Some(80.0)), series(&pod, 40, |_| Some(0.0))]);
    let tenant = Subject::Tenant { gpu: Some(GpuId::new("GPU-1")), tenant: TenantId::new("n/p/c") };
    assert_eq!(outcome.values(&tenant, Metric::GpuUtilization), vec![0.0; 40]);
    assert!(details(&outcome).contains("all tenants say 0 %"), "{}", details(&outcome));
}

#[test]
fn a_grid_of_query_range_is_told_apart_from_scrapes() {
    let even = |instance: &'static str, uuid: &'static str| {
        let values: Vec<Value> = (0..10).map(|it| json!([START + 60 * it, "5"])).collect();
        json!({"metric": {"__name__": UTIL, "UUID": uuid, "instance": instance}, "values": values})
    };
    let outcome = import(vec![even("a:1", "GPU-1"), even("b:1", "GPU-2")]);
    assert!(details(&outcome).contains("evaluated every 60.0 s"), "{}", details(&outcome));
}

#[test]
fn a_histogram_of_requests_becomes_quantiles_of_its_growth() {
    let labels = |name: &'static str, le: Option<&'static str>| {
        let mut all = vec![
            ("__name__", name),
            ("pod", "chat-0"),
            ("namespace", "ml"),
            ("container", "vllm"),
            ("model_name", "m"),
        ];
        all.extend(le.map(|it| ("le", it)));
        all
    };
    let bucket = "vllm:e2e_request_latency_seconds_bucket";
    // From the third sample on the server has begun anew.
    let grown =
        move |each: f64| move |it: i64| Some(each * if it < 3 { it } else { it - 3 } as f64);
    let all = vec![
        series(&labels(bucket, Some("0.1")), 6, grown(50.0)),
        series(&labels(bucket, Some("0.2")), 6, grown(100.0)),
        series(&labels(bucket, Some("+Inf")), 6, grown(100.0)),
        series(&labels("vllm:e2e_request_latency_seconds_sum", None), 6, grown(12.0)),
        series(&labels("vllm:e2e_request_latency_seconds_count", None), 6, grown(100.0)),
        series(&labels("vllm:num_requests_running", None), 6, |it| Some(it as f64)),
    ];
    let outcome = import(all);
    let tenant = Subject::Tenant { gpu: None, tenant: TenantId::new("ml/chat-0/vllm") };
    let p50 = outcome.values(&tenant, Metric::LatencyP50);
    assert!(p50.len() == 4 && p50.iter().all(|it| (it - 0.1).abs() < 1e-9), "{p50:?}");
    assert!(outcome.values(&tenant, Metric::LatencyMean).iter().all(|it| (it - 0.12).abs() < 1e-9));
    assert_eq!(outcome.values(&tenant, Metric::RequestsRunning).len(), 6);
    assert!(outcome.summary().warnings.iter().any(|it| it.contains("began anew")));
}

#[test]
fn growth_goes_on_across_slices() {
    let name = "http_request_duration_seconds_count";
    let part = |from: i64| {
        let values: Vec<Value> =
            (from..from + 3).map(|it| json!([START + 15 * it, (30 * it).to_string()])).collect();
        answer(vec![
            json!({"metric": {"__name__": name, "job": "web", "instance": "w:1"}, "values": values}),
        ])
    };
    let text = format!("{}\n{{\"cotenant\":{{\"is_slice_end\":true}}}}\n{}", part(0), part(3));
    let outcome = read(&PrometheusJson, text, &ImportOptions::default());
    let tenant = Subject::Tenant { gpu: None, tenant: TenantId::new("web@w:1") };
    assert_eq!(outcome.values(&tenant, Metric::Throughput), vec![2.0; 5]);
}

#[test]
fn an_answer_that_was_cut_short_keeps_what_it_has_and_says_so() {
    let text = answer(vec![
        series(&dcgm(UTIL, "GPU-1"), 50, |_| Some(1.0)),
        series(&dcgm(UTIL, "GPU-2"), 50, |_| Some(1.0)),
    ]);
    let outcome = read(&PrometheusJson, &text[..text.len() - 200], &ImportOptions::default());
    assert_eq!(outcome.summary().readings, 50);
    assert!(details(&outcome).contains("what stands before it was kept"), "{}", details(&outcome));
}

#[test]
fn a_refusal_or_a_nameless_series_is_named_in_the_error() {
    let refusal =
        r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution"}"#;
    let (error, _) = read(&PrometheusJson, refusal, &ImportOptions::default()).error();
    assert!(error.contains("exceeded maximum resolution"), "{error}");
    let (error, _) = import(vec![series(&[("UUID", "GPU-1")], 3, |_| Some(1.0))]).error();
    assert!(error.contains("functions of PromQL drop it"), "{error}");
}

#[test]
fn a_hole_of_a_download_becomes_a_gap_with_its_span() {
    let hole = format!(
        "{{\"cotenant\":{{\"step_ms\":0}}}}{}{{\"cotenant\":{{\"hole\":{{\"names\":\"DCGM\",\"from_ms\":1000,\"until_ms\":2000,\"reason\":\"503\"}}}}}}",
        answer(vec![series(&dcgm(UTIL, "GPU-1"), 5, |_| Some(1.0))]),
    );
    let outcome = read(&PrometheusJson, hole, &ImportOptions::default());
    let spot = &outcome.recording.outline.blind_spots[0];
    assert!(spot.detail.contains("503") && (spot.span.unwrap().seconds() - 1.0).abs() < 1e-9);
}
