//! Scrapes as a recorder sees them: from bodies one after the other, and over real connections.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::collector::Collector;
use crate::domain::endpoint::Endpoint;
use crate::domain::ident::GpuId;
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::sampler::services::clock::Middle;
use crate::sampler::services::fetch::{Answer, Client, FetchError};
use crate::sampler::services::post::Post;
use crate::sampler::services::scrape::Scraper;
use crate::sampler::services::server::{Reply, Server};
use crate::sampler::services::{Event, Settings, Targets, channel, drain, start};
use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// A target whose answers the test makes up; seconds pass as it says.
struct Played {
    scraper: Scraper,
    events: Receiver<Event>,
    zero: Instant,
}

/// What came of one answer.
#[derive(Debug, Default)]
struct Said {
    readings: BTreeMap<Metric, f64>,
    spots: Vec<BlindSpot>,
    notices: Vec<String>,
    tool: Option<String>,
}

impl Said {
    fn value(&self, metric: Metric) -> Option<f64> {
        self.readings.get(&metric).copied()
    }
}

impl Played {
    fn new(target: &str) -> Self {
        let (sender, events) = channel();
        let targets = Targets::parse(&[target.to_owned()], &[], Settings::default()).unwrap();
        let target = targets.scrapes[0].clone();
        let post = Post::new(sender);
        let scraper = Scraper::new(target, SourceId(1), Settings::default(), post);
        Self { scraper, events, zero: Instant::now() }
    }

    fn at(&mut self, second: u64, body: &str) -> Said {
        self.takes(second, Ok(Answer { body: body.to_owned(), ..Answer::default() }))
    }

    fn takes(&mut self, second: u64, answer: Result<Answer, FetchError>) -> Said {
        self.lasts(Duration::ZERO, second, answer)
    }

    /// Takes an answer that took twice as long as `half`.
    fn lasts(&mut self, half: Duration, second: u64, answer: Result<Answer, FetchError>) -> Said {
        let instant = self.zero + Duration::from_secs(second);
        self.scraper.take(answer, Middle { at: stamp(second), instant, half });
        self.said()
    }

    fn closed(&mut self, second: u64) -> Said {
        self.scraper.close(stamp(second));
        self.said()
    }

    fn said(&self) -> Said {
        let mut said = Said::default();
        for event in self.events.try_iter() {
            match event {
                Event::Reading(it) => said.readings.extend(it.readings),
                Event::Fact(Fact::BlindSpot(it)) => said.spots.push(it),
                Event::Fact(Fact::Source(it)) => said.tool = Some(it.tool),
                Event::Fact(other) => panic!("{other:?}"),
                Event::Notice(it) => said.notices.push(it),
            }
        }
        said
    }
}

fn stamp(second: u64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000 + 1_000_000 * second as i64)
}

fn refused() -> Result<Answer, FetchError> {
    Err(FetchError::Connection("connection refused".to_owned()))
}

/// A histogram with a share of its requests under each bound.
fn histogram(name: &str, labels: &str, counts: &[(&str, u64)], sum: f64) -> String {
    let mut text = String::new();
    for (bound, count) in counts {
        text += &format!("{name}_bucket{{{labels}le=\"{bound}\"}} {count}\n");
    }
    let total = counts.last().unwrap().1;
    text + &format!("{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {total}\n")
}

#[test]
fn a_scrape_of_vllm_becomes_rates_and_quantiles_of_the_time_in_between() {
    let body = |requests: u64, tokens: u64, start: &str| {
        let counts = [("0.1", requests / 2), ("0.2", requests), ("+Inf", requests)];
        let latency = histogram(
            "vllm:e2e_request_latency_seconds",
            "model_name=\"m\",",
            &counts,
            0.125 * requests as f64,
        );
        format!(
            "{latency}vllm:request_success_total{{finished_reason=\"stop\"}} {requests}\n\
             vllm:request_success_total{{finished_reason=\"abort\"}} {requests}\n\
             vllm:generation_tokens_total {tokens}\nvllm:num_requests_waiting{{engine=\"0\"}} 3\n\
             vllm:num_requests_waiting{{engine=\"1\"}} 4\nvllm:kv_cache_usage_perc 0.5\n\
             process_start_time_seconds {start}\n"
        )
    };
    let mut played = Played::new("chat@0=http://host");
    let first = played.at(0, &body(1000, 50_000, "1"));
    assert_eq!(first.tool.as_deref(), Some("vllm"));
    assert_eq!(first.value(Metric::QueueDepth), Some(7.0), "gauges need nothing before");
    assert_eq!(first.value(Metric::LatencyP99), None);
    let second = played.at(2, &body(1100, 51_000, "1"));
    let expected = [
        (Metric::LatencyMean, 0.125),
        (Metric::LatencyP50, 0.1),
        (Metric::LatencyP99, 0.198),
        (Metric::Throughput, 50.0),
        (Metric::TokenThroughput, 500.0),
        (Metric::KvCacheUsed, 0.5),
    ];
    for (metric, value) in expected {
        let found = second.value(metric).unwrap();
        assert!((found - value).abs() < 1e-9, "{metric:?} {found}");
    }
    let restarted = played.at(3, &body(1200, 60, "9"));
    assert_eq!(restarted.value(Metric::TokenThroughput), Some(60.0), "it says that it began anew");
    assert_eq!(restarted.value(Metric::Throughput), Some(1200.0));
}

#[test]
fn counters_that_fell_began_anew_and_rates_are_never_negative() {
    let body = |tokens: u64| format!("vllm:generation_tokens_total {tokens}\n");
    let mut played = Played::new("chat=http://host");
    played.at(0, &body(1000));
    assert_eq!(played.at(1, &body(30)).value(Metric::TokenThroughput), Some(30.0));
    assert_eq!(played.at(2, &body(30)).value(Metric::TokenThroughput), Some(0.0));
}

#[test]
fn too_few_requests_give_no_quantile_and_none_gives_no_latency() {
    let body = |requests: u64| {
        let counts = [("1", requests), ("+Inf", requests)];
        histogram("http_request_duration_seconds", "", &counts, requests as f64 / 4.0)
    };
    let mut played = Played::new("web=http://host");
    played.at(0, &body(100));
    let few = played.at(1, &body(109));
    assert_eq!(few.value(Metric::LatencyP50), None);
    assert_eq!(few.value(Metric::LatencyMean), Some(0.25));
    let idle = played.at(2, &body(109));
    assert_eq!(
        (idle.value(Metric::LatencyMean), idle.value(Metric::Throughput)),
        (None, Some(0.0))
    );
    let enough = played.at(3, &body(119));
    assert_eq!(enough.value(Metric::LatencyP50), Some(0.5));
    let closed = played.closed(4);
    assert!(
        closed.spots[0]
            .detail
            .contains("fewer than 10 requests since the one before give no quantile: 1"),
        "{:?}",
        closed.spots
    );
}

#[test]
fn what_lies_above_the_last_bound_is_no_number_and_is_told_once() {
    let body = |requests: u64| {
        histogram("web_latency_seconds", "", &[("0.5", requests / 2), ("+Inf", requests)], 1.0)
    };
    let mut played = Played::new("web=http://host");
    played.at(0, &body(0));
    let said = played.at(1, &body(100));
    assert_eq!(said.value(Metric::LatencyP50), Some(0.5));
    assert_eq!(said.value(Metric::LatencyP99), None);
    let told = said.spots.iter().filter(|it| it.metric == Some(Metric::LatencyP99));
    assert_eq!(told.map(|it| it.kind).collect::<Vec<_>>(), [BlindSpotKind::TooCoarse]);
    assert_eq!(played.at(2, &body(200)).spots, []);
}

#[test]
fn labels_are_added_and_errors_are_those_of_the_server() {
    let body = |good: u64, bad: Option<u64>| {
        let of = |status: &str, requests: u64| {
            let labels = format!("status=\"{status}\",");
            let counts = [("0.2", requests), ("+Inf", requests)];
            histogram("http_request_duration_seconds", &labels, &counts, 0.1)
        };
        of("200", good) + &bad.map(|it| of("503", it)).unwrap_or_default()
    };
    let mut played = Played::new("web=http://host");
    played.at(0, &body(100, None));
    let said = played.at(1, &body(120, None));
    assert_eq!(
        said.value(Metric::ErrorRate),
        Some(0.0),
        "it has labels for errors, and none of one"
    );
    let said = played.at(2, &body(130, Some(5)));
    assert_eq!(said.value(Metric::ErrorRate), None, "it may have counted for long");
    assert_eq!(said.value(Metric::Throughput), Some(10.0));
    let said = played.at(3, &body(140, Some(9)));
    assert_eq!(said.value(Metric::ErrorRate), Some(4.0));
    assert_eq!(said.value(Metric::Throughput), Some(14.0));
}

#[test]
fn triton_has_means_only_and_its_units_are_microseconds() {
    let body = |requests: u64| {
        format!(
            "nv_inference_request_success{{model=\"a\"}} {requests}\nnv_inference_request_success{{model=\"b\"}} 0\n\
             nv_inference_request_failure{{model=\"a\",reason=\"OTHER\"}} 2\n\
             nv_inference_request_duration_us{{model=\"a\"}} {}\nnv_inference_queue_duration_us{{model=\"a\"}} {}\n\
             nv_inference_pending_request_count{{model=\"a\"}} 6\n",
            requests * 2000,
            requests * 500
        )
    };
    let mut played = Played::new("t=http://host");
    played.at(0, &body(100));
    let said = played.at(1, &body(150));
    assert_eq!(said.value(Metric::Throughput), Some(50.0));
    assert!((said.value(Metric::LatencyMean).unwrap() - 0.002).abs() < 1e-12);
    assert!((said.value(Metric::QueueTime).unwrap() - 0.0005).abs() < 1e-12);
    assert_eq!(
        (said.value(Metric::ErrorRate), said.value(Metric::QueueDepth)),
        (Some(0.0), Some(6.0))
    );
    assert_eq!(said.value(Metric::LatencyP99), None);
}

#[test]
fn tgi_counts_arrivals_besides_answers() {
    let body = |arrived: u64, answered: u64| {
        let tokens = histogram(
            "tgi_request_generated_tokens",
            "",
            &[("+Inf", answered)],
            answered as f64 * 20.0,
        );
        let latency =
            histogram("tgi_request_duration", "", &[("2", answered), ("+Inf", answered)], 1.0);
        format!(
            "{tokens}{latency}tgi_request_count{{method=\"g\"}} {arrived}\ntgi_request_success{{method=\"g\"}} {answered}\ntgi_queue_size 4\n"
        )
    };
    let mut played = Played::new("t=http://host");
    played.at(0, &body(10, 10));
    let said = played.at(1, &body(50, 30));
    assert_eq!(said.value(Metric::OfferedLoad), Some(40.0));
    assert_eq!(said.value(Metric::Throughput), Some(20.0));
    assert_eq!(said.value(Metric::TokenThroughput), Some(400.0));
    assert_eq!(said.value(Metric::LatencyP50), Some(1.0));
}

#[test]
fn a_summary_gives_its_mean_and_says_why_it_gives_no_quantile() {
    let body = |requests: u64, sum: f64| {
        format!(
            "http_server_requests_seconds{{quantile=\"0.99\",status=\"200\"}} 9\n\
             http_server_requests_seconds_count{{status=\"200\"}} {requests}\n\
             http_server_requests_seconds_sum{{status=\"200\"}} {sum}\n"
        )
    };
    let mut played = Played::new("chat@0=http://host");
    let first = played.at(0, &body(100, 5.0));
    assert!(first.notices.iter().any(|it| it.contains("is a summary")), "{:?}", first.notices);
    let second = played.at(1, &body(140, 7.0));
    assert_eq!(second.value(Metric::LatencyMean), Some(0.05));
    assert_eq!(second.value(Metric::Throughput), Some(40.0));
    assert_eq!(second.value(Metric::ErrorRate), Some(0.0));
    assert_eq!(second.value(Metric::LatencyP99), None);
}

#[test]
fn a_histogram_is_picked_by_name_and_a_wrong_name_is_told_with_the_nearest() {
    let body = |requests: u64| {
        histogram("a_latency_seconds", "", &[("1", requests), ("+Inf", requests)], 1.0)
            + &histogram("rpc_ms", "", &[("100", requests), ("+Inf", requests)], 1.0)
    };
    let mut played = Played::new("web=http://host#rpc_ms");
    played.at(0, &body(0));
    assert_eq!(played.at(1, &body(10)).value(Metric::LatencyP50), Some(0.05));
    let mut wrong = Played::new("web=http://host#rpc_sm");
    let said = wrong.at(0, &body(0));
    assert!(said.notices[0].contains("did you mean `rpc_ms`?"), "{:?}", said.notices);
    let two = histogram("b_latency_seconds", "", &[("1", 1), ("+Inf", 1)], 1.0) + &body(1);
    let said = Played::new("web=http://host").at(0, &two);
    assert!(said.notices[0].contains("`a_latency_seconds` is read"), "{:?}", said.notices);
}

#[test]
fn a_target_that_is_down_is_told_once_and_again_when_it_returns() {
    let body = |tokens: u64| format!("vllm:generation_tokens_total {tokens}\n");
    let mut played = Played::new("chat=http://me:s3@host/m?key=s3");
    played.at(0, &body(0));
    let down = played.takes(1, refused());
    assert_eq!(down.notices.len(), 1);
    assert!(
        down.notices[0].contains("chat (http://host/m?…): no connection"),
        "{:?}",
        down.notices
    );
    assert!(played.takes(3, refused()).notices.is_empty());
    let back = played.at(9, &body(900));
    assert!(back.notices[0].contains("answers again, after 9.00 s"), "{:?}", back.notices);
    let gap = &back.spots[0];
    assert_eq!((gap.kind, gap.span.unwrap().seconds()), (BlindSpotKind::Gap, 9.0));
    assert_eq!(back.value(Metric::TokenThroughput), None, "nobody knows when they came");
    assert_eq!(played.at(10, &body(950)).value(Metric::TokenThroughput), Some(50.0));
    played.takes(11, refused());
    let single = played.at(12, &body(1050));
    assert_eq!(single.value(Metric::TokenThroughput), Some(50.0), "over both seconds");
    let texts = format!("{:?}{:?}{:?}", down.notices, back.notices, back.spots);
    assert!(!texts.contains("s3"), "{texts}");
}

#[test]
fn a_target_that_never_answers_has_a_gap_to_the_end() {
    let mut played = Played::new("chat=http://host");
    played.takes(0, refused());
    let closed = played.closed(30);
    assert_eq!(closed.spots[0].span.unwrap().seconds(), 30.0);
    assert_eq!(closed.tool.as_deref(), Some("prometheus"));
    let mut page = Played::new("chat=http://host");
    let said = page.at(0, "<html>\n<p>no metrics</p>\n");
    assert!(said.notices[0].contains("holds no metric of Prometheus"), "{:?}", said.notices);
}

#[test]
fn several_servers_behind_one_address_are_noticed() {
    let body = |requests: u64| {
        histogram("web_latency_seconds", "", &[("1", requests), ("+Inf", requests)], 1.0)
    };
    let mut played = Played::new("web=http://host");
    let said: Vec<BlindSpot> = (0..20)
        .flat_map(|second| played.at(second, &body(if second % 2 == 0 { 5000 } else { 100 })).spots)
        .filter(|it| it.kind == BlindSpotKind::Ambiguous)
        .collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].remedy.contains("each replica"), "{said:?}");
}

#[test]
fn a_clock_that_is_far_off_is_told_once() {
    let answer = || {
        let date = Some("Thu, 01 Jan 2026 00:00:00 GMT".to_owned());
        let body = "vllm:num_requests_waiting 1\n".to_owned();
        Ok(Answer { body, date, ..Answer::default() })
    };
    let mut played = Played::new("chat=http://host");
    assert_eq!(played.takes(0, answer()).spots, []);
    let said = played.takes(30, answer());
    assert_eq!(said.spots[0].kind, BlindSpotKind::ClockAssumed);
    assert!(said.spots[0].detail.contains("29.5 s behind ours"), "{:?}", said.spots);
    assert_eq!(played.takes(60, answer()).spots, []);
}

#[test]
fn an_answer_that_broke_off_is_a_failed_scrape() {
    let body = "vllm:generation_tokens_total 100\nvllm:num_requests_waiting 1\n";
    let mut played = Played::new("chat=http://host");
    played.at(0, body);
    let said = played.at(1, &body[..body.len() - 3]);
    assert!(said.notices[0].contains("its answer broke off: its end is missing"), "{said:?}");
    assert!(said.readings.is_empty());
    assert!(played.at(2, body).notices[0].contains("answers again"));
    let open = |end: &str| {
        let body = format!("{body}{end}");
        Ok(Answer { body, is_open_metrics: true, ..Answer::default() })
    };
    assert!(!played.takes(3, open("# EOF\n")).readings.is_empty());
    assert!(played.takes(4, open("")).readings.is_empty());
}

#[test]
fn label_sets_that_come_or_come_back_with_a_history_count_from_the_next_scrape_on() {
    let body = |sets: &[(&str, u64)]| -> String {
        let line = |(name, it): &(&str, u64)| {
            let labels = format!("handler=\"{name}\",");
            let counts = [("1", *it), ("+Inf", *it)];
            format!("vllm:generation_tokens_total{{engine=\"{name}\"}} {it}\n")
                + &histogram("vllm:e2e_request_latency_seconds", &labels, &counts, 1.0)
        };
        sets.iter().map(line).collect()
    };
    let mut played = Played::new("chat=http://host");
    let mut rate = |second: u64, sets: &[(&str, u64)]| {
        played.at(second, &body(sets)).value(Metric::TokenThroughput)
    };
    rate(0, &[("a", 1000), ("b", 300_000)]);
    assert_eq!(rate(1, &[("a", 1100)]), Some(100.0));
    assert_eq!(rate(2, &[("a", 1200), ("b", 300_500)]), Some(100.0), "it comes back");
    assert_eq!(rate(3, &[("a", 1300), ("b", 300_510)]), Some(110.0));
    assert_eq!(rate(4, &[("a", 1400), ("b", 300_520), ("c", 9000)]), Some(110.0), "it is new");
    assert_eq!(rate(5, &[("a", 1500), ("b", 300_530), ("c", 9001)]), Some(111.0));
    assert_eq!(rate(6, &[("a", 3), ("b", 4), ("d", 5)]), Some(12.0), "all began anew");
    assert_eq!(rate(7, &[("a", 3), ("b", 4), ("d", 5), ("c", 6)]), Some(6.0), "so has this one");
}

#[test]
fn a_scrape_that_takes_most_of_the_interval_gives_no_rate_and_says_why() {
    let body = |requests: u64| {
        let counts = [("1", requests), ("+Inf", requests)];
        let body = histogram("web_latency_seconds", "", &counts, requests as f64 / 4.0);
        Ok(Answer { body, ..Answer::default() })
    };
    let mut played = Played::new("web=http://host");
    let slow = Duration::from_millis(450);
    played.lasts(slow, 0, body(100));
    let said = played.lasts(Duration::ZERO, 1, body(200));
    assert_eq!(said.value(Metric::Throughput), None);
    assert_eq!(said.value(Metric::LatencyMean), Some(0.25));
    assert_eq!(said.value(Metric::LatencyP50), Some(0.5));
    assert_eq!(said.spots.iter().map(|it| it.kind).collect::<Vec<_>>(), [BlindSpotKind::TooCoarse]);
    assert!(said.spots[0].detail.contains("more than a fifth"), "{said:?}");
    let said = played.lasts(slow, 2, body(300));
    assert_eq!((said.value(Metric::Throughput), said.spots.len()), (None, 0), "it is told once");
    assert_eq!(played.lasts(slow, 12, body(1300)).value(Metric::Throughput), Some(100.0));
}

#[test]
fn an_odd_label_set_is_left_out_alone_and_told_once() {
    let body = |requests: u64| {
        let good = |name: &str| {
            let counts = [("0.1", requests), ("0.5", requests), ("+Inf", requests)];
            histogram("web_latency_seconds", &format!("h=\"{name}\","), &counts, 1.0)
        };
        let other = [("3", 10 * requests), ("+Inf", 10 * requests)];
        good("a")
            + &good("b")
            + &histogram("web_latency_seconds", "h=\"c\",", &other, 1.0)
            + "web_latency_seconds_bucket{h=\"d\",le=\"0.1\"} 5\n"
    };
    let mut played = Played::new("web=http://host");
    let first = played.at(0, &body(100));
    assert_eq!(first.spots[0].kind, BlindSpotKind::Rejected);
    assert!(first.spots[0].detail.ends_with("and are left out: 2"), "{first:?}");
    let said = played.at(1, &body(150));
    assert_eq!((said.value(Metric::Throughput), said.spots.len()), (Some(100.0), 0));
    assert_eq!(said.value(Metric::LatencyP50), Some(0.05));
}

#[test]
fn gauges_that_cannot_be_are_told_once_for_each_metric() {
    let body = "vllm:num_requests_waiting{e=\"0\"} NaN\nvllm:num_requests_waiting{e=\"1\"} 2\n\
                vllm:num_requests_running -1\nvllm:kv_cache_usage_perc 85\n";
    let mut played = Played::new("chat=http://host");
    let said = played.at(0, body);
    assert_eq!(said.readings, BTreeMap::from([(Metric::QueueDepth, 2.0)]));
    assert!(said.spots.iter().all(|it| it.kind == BlindSpotKind::Rejected), "{said:?}");
    let told: Vec<Metric> = said.spots.iter().filter_map(|it| it.metric).collect();
    assert_eq!(told, [Metric::QueueDepth, Metric::RequestsRunning, Metric::KvCacheUsed]);
    assert_eq!(played.at(1, body).spots, []);
}

#[test]
fn metrics_that_never_had_a_number_are_not_called_lost() {
    let body = "vllm:generation_tokens_total NaN\n";
    let mut played = Played::new("chat=http://host");
    let said = played.at(0, body);
    assert!(said.notices[0].contains("have no number for a value yet"), "{said:?}");
    played.at(1, "vllm:generation_tokens_total 1\n");
    assert!(played.at(2, body).notices[0].contains("has lost the metrics"));
}

fn client(server: &Server, settings: Settings) -> Client {
    Client::new(Endpoint::parse(&server.url()).unwrap(), settings)
}

fn quick() -> Settings {
    Settings {
        interval: Duration::from_millis(10),
        timeout: Duration::from_millis(300),
        most_bytes: 10_000,
        ..Settings::default()
    }
}

fn raw(text: &str) -> Reply {
    Reply::Raw(text.replace('\n', "\r\n").into_bytes())
}

#[test]
fn answers_of_every_kind_of_server_are_understood() {
    let server = Server::playing(vec![
        Reply::Body("a 1\n".to_owned()),
        Reply::Body("a 2\n".to_owned()),
        raw("HTTP/1.0 200 OK\nDate: Thu, 01 Jan 2026 00:00:00 GMT\n\na 3\n"),
        raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\na 4\n\n0\n\n"),
    ]);
    let client = client(&server, quick());
    let bodies: Vec<String> =
        (0..4).map(|_| client.get().unwrap().body.replace('\r', "")).collect();
    assert_eq!(bodies, ["a 1\n", "a 2\n", "a 3\n", "a 4\n"].map(str::to_owned));
    assert_eq!(server.connections(), 2, "one that stayed, one after it was closed");
    let head = server.requests()[0].to_ascii_lowercase();
    assert!(
        head.contains("accept: text/plain") && !head.contains("accept-encoding: gzip"),
        "{head}"
    );
}

#[test]
fn answers_that_are_none_are_errors_with_a_reason() {
    let long = "a 1\n".repeat(5000);
    for (reply, expected) in [
        (raw("HTTP/1.1 500 Oops\nContent-Length: 0\n\n"), "its answer is HTTP status 500"),
        (raw("HTTP/1.1 200 OK\nContent-Length: 100\n\na 1\n"), "its answer broke off"),
        (raw("nonsense\n\n"), "its answer broke off"),
        (Reply::Body(long), "its answer is longer than 10000 bytes"),
        (Reply::Silence(Duration::from_secs(5)), "no answer within 300 ms"),
        (Reply::Trickle, "no answer within 300 ms"),
        (
            raw("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: 1\n\nx"),
            "its answer is packed",
        ),
        (
            raw("HTTP/1.1 302 Found\nLocation: /metrics\nContent-Length: 0\n\n"),
            "its answer broke off",
        ),
    ] {
        let server = Server::playing(vec![reply.clone()]);
        let error = client(&server, quick()).get().unwrap_err();
        assert!(error.to_string().starts_with(expected), "{reply:?}: {error}");
    }
    let nobody = Endpoint::parse("http://127.0.0.1:1/metrics").unwrap();
    let error = Client::new(nobody, quick()).get().unwrap_err();
    assert!(error.to_string().starts_with("no connection"), "{error}");
}

#[test]
fn https_is_never_taken_for_http() {
    let server = Server::playing(vec![raw("HTTP/1.1 200 OK\n\na 1\n")]);
    let endpoint = Endpoint::parse(&format!("https://{}/metrics", server.address)).unwrap();
    let error = Client::new(endpoint, quick()).get().unwrap_err();
    assert!(!matches!(error, FetchError::Status(_)), "{error}");
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn the_password_of_an_address_is_sent_as_a_header() {
    let server = Server::playing(vec![Reply::Body("a 1\n".to_owned())]);
    let url = format!("http://me:pass@{}/metrics", server.address);
    Client::new(Endpoint::parse(&url).unwrap(), quick()).get().unwrap();
    assert!(
        server.requests()[0].to_ascii_lowercase().contains("authorization: basic bwu6cgfzcw==")
    );
}

#[test]
fn targets_are_asked_side_by_side_and_a_dead_one_holds_nobody_up() {
    let body = |tokens: u64| {
        Reply::Body(format!("vllm:generation_tokens_total {tokens}\nvllm:num_requests_running 1\n"))
    };
    let mut script: Vec<Reply> = (0..5).map(|it| body(10 * it)).collect();
    script.push(raw("HTTP/1.1 503 No\nContent-Length: 0\n\n"));
    script.push(body(1000));
    let alive = Server::playing(script);
    let silent = Server::playing(vec![Reply::Silence(Duration::from_secs(60))]);
    let scrapes = [format!("chat@0={}", alive.url()), format!("dead={}", silent.url())];
    let targets = Targets::parse(&scrapes, &[], quick()).unwrap().numbered_from(SourceId(7));
    let (sender, events) = channel();
    let handle = start(targets, sender);
    let mut sink = Collector::new();
    let mut notices = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    while notices.len() < 3 && Instant::now() < deadline {
        if let Ok(event) = events.recv_timeout(Duration::from_secs(5)) {
            let (again, one) = channel();
            again.send(event).unwrap();
            notices.extend(drain(&one, &mut sink).unwrap().notices);
        }
    }
    handle.stop();
    drain(&events, &mut sink).unwrap();
    let recording = sink.into_recording();
    let told = |text: &str| notices.iter().any(|it| it.contains(text));
    assert!(told("status 503") && told("answers again") && told("no answer"), "{notices:?}");
    let subject = &recording.outline.subjects[0];
    assert_eq!(subject.gpu(), Some(&GpuId::from_index(0)));
    // On a busy machine scrapes may take so long that no rate can be told.
    let rates =
        recording.series(subject, Metric::TokenThroughput).map_or(&[][..], |it| it.values());
    assert!(rates.iter().all(|it| *it >= 0.0), "{rates:?}");
    let sources: Vec<u16> = recording.outline.sources.iter().map(|it| it.id.0).collect();
    assert_eq!(sources, [7, 8]);
    let gaps = recording.outline.blind_spots.iter().filter(|it| it.kind == BlindSpotKind::Gap);
    assert_eq!(gaps.count(), 2);
}

#[test]
fn a_thread_ends_when_its_handle_is_dropped() {
    let server = Server::playing(vec![Reply::Body("vllm:num_requests_running 1\n".to_owned())]);
    let targets = Targets::parse(&[format!("a={}", server.url())], &[], quick()).unwrap();
    let (sender, events) = channel();
    drop(start(targets, sender));
    let deadline = Instant::now() + Duration::from_secs(20);
    while events.recv_timeout(Duration::from_secs(5)).is_ok() {
        assert!(Instant::now() < deadline, "it still asks");
    }
}
