//! The exporter keeps the shape: what 15 s scrapes bring back is what ten samples a second say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scraped_world;

use cotenant::recommender::suitability::SharingWord;
use scraped_world::{findings, imported, profiles, scenario, three_ways, words};

const SCALES: [&str; 5] =
    ["steady-30", "bursty-30-3ms", "bursty-30-30ms", "bursty-30-300ms", "bursty-30-3s"];

#[test]
fn scrapes_every_15_s_give_the_verdict_of_every_sample_and_plain_gauges_do_not() {
    let mut plain_right = 0;
    for name in SCALES {
        let ways = three_ways(&cotenant_scenario::shipped(name).unwrap());
        let (full, scraped) = (words(&ways.full), words(&ways.scraped));
        assert_eq!(full["GPU 0"], scraped["GPU 0"], "{name}");
        assert_ne!(full["GPU 0"], SharingWord::CannotTell, "{name}");
        plain_right += u32::from(words(&ways.plain).get("GPU 0") == full.get("GPU 0"));

        let (full, scraped) = (&profiles(&ways.full)["GPU 0"], &profiles(&ways.scraped)["GPU 0"]);
        // The first scrape has nothing before it, so 15 of 600 s are missing.
        assert!((full.mean_ratio - scraped.mean_ratio).abs() < 0.02, "{name}");
        let cv = |it: &cotenant::analysis::findings::BurstProfile| {
            it.standard_deviation_ratio / it.mean_ratio
        };
        assert!(
            (cv(full) / cv(scraped) - 1.0).abs() < 0.05,
            "{name}: {} {}",
            cv(full),
            cv(scraped)
        );
        assert!((full.duty.at_95_pct - scraped.duty.at_95_pct).abs() < 0.02, "{name}");
        assert_eq!(full.resolution.verdict, scraped.resolution.verdict, "{name}");
        let (full, scraped) = (full.bursts.as_ref(), scraped.bursts.as_ref());
        assert_eq!(full.is_some(), scraped.is_some(), "{name}");
        if let (Some(full), Some(scraped)) = (full, scraped) {
            let middle =
                |it: &cotenant::analysis::findings::Bursts| it.burst_lengths.p50_s.unwrap();
            let ratio = middle(full) / middle(scraped);
            assert!((0.7..1.4).contains(&ratio), "{name}: {} {}", middle(full), middle(scraped));
        }
    }
    assert_eq!(plain_right, 0, "plain gauges at 15 s cannot tell any of the five");
}

#[test]
fn what_was_counted_says_who_counted_and_what_it_cannot_know() {
    let ways = three_ways(&cotenant_scenario::shipped("bursty-30-3s").unwrap());
    let profile = &profiles(&ways.scraped)["GPU 0"];
    assert!(
        profile.resolution.sentence.starts_with("seen by the exporter every 100 ms: resolved"),
        "{}",
        profile.resolution.sentence
    );
    assert_eq!((profile.period, profile.allan_slope), (None, None));
    let spots = &ways.scraped.outline.blind_spots;
    assert!(
        spots.iter().any(|it| it.detail.contains("what came first within a part")),
        "{spots:?}"
    );
    let together = &findings(&ways.scraped).devices[0].co_activations;
    assert!(together.is_empty(), "who was busy at the same time was not kept: {together:?}");
}

#[test]
fn verdicts_agree_in_generated_scenarios() {
    let (mut agree, mut all) = (0, 0);
    for seed in 1..=12 {
        let ways = three_ways(&scenario(seed));
        let (full, scraped) = (words(&ways.full), words(&ways.scraped));
        all += 1;
        agree += u32::from(full.get("GPU 0") == scraped.get("GPU 0"));
    }
    assert!(agree >= all - 1, "{agree} of {all}; `cargo bench --bench exporter` has all 200");
}

#[test]
fn a_missed_scrape_loses_nothing_and_a_restart_only_what_was_not_scraped() {
    let text = three_ways(&cotenant_scenario::shipped("bursty-30-300ms").unwrap()).text;
    let pages: Vec<&str> = text.split_inclusive("# EOF\n").collect();
    let samples = |pages: &[&str]| profiles(&imported(&pages.concat()))["GPU 0"].samples;
    let every_fifth: Vec<&str> = pages.iter().step_by(5).copied().collect();
    let last = (pages.len() - 1) / 5 * 5;
    assert_eq!(samples(&every_fifth), samples(&pages[..=last]));
    // The page of another exporter that just began: everything on it is new.
    let mut restarted = pages.clone();
    let young = pages[1].replace(&stamp_of(pages[1]), &stamp_of(pages[pages.len() - 1]));
    restarted.pop();
    let before = samples(&restarted);
    restarted.push(&young);
    // The second page was made after 30 s.
    let grown = samples(&restarted) - before;
    assert!((295..=300).contains(&grown), "{grown}");
}

/// The stamp behind the samples of a page.
fn stamp_of(page: &str) -> String {
    let line = page.lines().find(|it| !it.starts_with('#')).unwrap();
    format!(" {}\n", line.rsplit(' ').next().unwrap())
}

#[test]
fn hostile_names_stay_names() {
    use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
    use cotenant::domain::metric::Metric;
    use cotenant::domain::outline::Process;
    use cotenant::domain::sink::{Fact, Sink};
    use cotenant::domain::source::SourceId;
    use cotenant::domain::time::Timestamp;
    use cotenant::exporter::{Exposition, Format, Limits};
    let hostile = "a\"} 1\nup 0\n# EOF\n{x=\"\\";
    let gpu = GpuId::new("GPU-5f1c");
    let mut exposition = Exposition::new(Limits { tenants: 2, pairs: 1 });
    for pid in 1..=40 {
        let tenant = Some(TenantId::new(format!("{hostile}{pid}")));
        let process = ProcessKey { pid, started: None };
        let described = Process { gpu: gpu.clone(), process, name: None, tenant };
        exposition.fact(Fact::Process(described)).unwrap();
    }
    let mut pages = String::new();
    for second in 0..600 {
        let at = Timestamp::from_micros(second * 1_000_000);
        let busy = [(Metric::GpuUtilization, 50.0)];
        exposition.row(at, &Subject::device(&gpu), SourceId(0), &busy).unwrap();
        for pid in 1..=40 {
            let process = ProcessKey { pid, started: None };
            let subject = Subject::Process { gpu: gpu.clone(), process };
            exposition.row(at, &subject, SourceId(0), &[(Metric::GpuUtilization, 2.5)]).unwrap();
        }
        if second % 15 == 14 {
            let page = exposition.render(Format::OpenMetrics);
            assert_eq!(page.matches("\n# EOF").count(), 1);
            let lines = page.lines().filter(|it| !it.starts_with('#'));
            assert!(lines.clone().all(|it| it.starts_with("cotenant_")), "{page}");
            assert!(lines.count() < 900, "two tenants, and everybody else as one");
            pages += &format!(
                "# cotenant-scrape-time: 2026-01-31T12:{:02}:{:02}Z\n{page}",
                second / 60,
                second % 60
            );
        }
    }
    let recording = imported(&pages);
    let names = words(&recording).into_keys().collect::<Vec<_>>();
    assert!(names.contains(&format!("{hostile}1")), "{names:?}");
    let profiles = profiles(&recording);
    assert!((profiles["other"].mean_ratio - 0.95).abs() < 0.01, "38 tenants of 2.5 %");
}

/// Three scrapes of one GPU with one tenant: also a sample of the folder of imports.
#[test]
fn the_golden_page_of_the_exporter_is_what_it_writes() {
    let text = three_ways(&cotenant_scenario::shipped("bursty-30-300ms").unwrap()).text;
    let pages: String = text.split_inclusive("# EOF\n").take(3).collect();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/imports/prometheus-text/cotenant_serve.prom"
    );
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &pages).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(golden == pages, "BLESS=1 cargo test --test exporter --test imports writes it anew");
}

#[test]
fn processes_that_belong_to_nobody_are_kept_apart_within_the_places_there_are() {
    use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
    use cotenant::domain::metric::Metric;
    use cotenant::domain::outline::Process;
    use cotenant::domain::sink::{Fact, Sink};
    use cotenant::domain::source::SourceId;
    use cotenant::domain::time::Timestamp;
    use cotenant::exporter::{Exposition, Format, Limits};
    let gpu = GpuId::new("GPU-5f1c");
    let page = |places: usize| {
        let mut exposition = Exposition::new(Limits { tenants: places, pairs: 4 });
        for (pid, name) in [(1, None), (2, None), (3, Some("python3".to_owned()))] {
            let process = ProcessKey { pid, started: None };
            let tenant = Some(TenantId::new(TenantId::UNATTRIBUTED));
            let described = Process { gpu: gpu.clone(), process, name, tenant };
            exposition.fact(Fact::Process(described)).unwrap();
        }
        for (second, pid) in (0..60).flat_map(|second| [(second, 1), (second, 2), (second, 3)]) {
            let subject =
                Subject::Process { gpu: gpu.clone(), process: ProcessKey { pid, started: None } };
            let at = Timestamp::from_micros(second * 1_000_000);
            exposition.row(at, &subject, SourceId(0), &[(Metric::GpuUtilization, 10.0)]).unwrap();
        }
        exposition.render(Format::OpenMetrics)
    };
    let named = |page: &str, name: &str| page.contains(&format!("tenant=\"{name}\""));
    let roomy = page(16);
    assert!(["pid 1", "pid 2", "python3"].iter().all(|it| named(&roomy, it)), "{roomy}");
    assert!(!named(&roomy, "unattributed"));
    let narrow = page(1);
    assert!(named(&narrow, "pid 1") && named(&narrow, "other") && !named(&narrow, "pid 2"));
}

#[test]
fn answers_of_prometheus_bring_back_the_same_shapes_as_the_scrapes_themselves() {
    use cotenant::domain::collector::Collector;
    use cotenant::domain::source::SourceId;
    use cotenant::import::prometheus_json::PrometheusJson;
    use cotenant::import::{ImportOptions, import};
    use std::collections::BTreeMap;
    let ways = three_ways(&cotenant_scenario::shipped("bursty-30-300ms").unwrap());
    let mut series: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in ways.text.lines().filter(|it| !it.starts_with('#')) {
        let (rest, stamp) = line.rsplit_once(' ').unwrap();
        let (identity, value) = rest.rsplit_once(' ').unwrap();
        series.entry(identity).or_default().push(format!("[{stamp},\"{value}\"]"));
    }
    let one = |(identity, values): (&&str, &Vec<String>)| {
        let (name, labels) =
            identity.trim_end_matches('}').split_once('{').unwrap_or((identity, ""));
        let pairs = labels.split("\",").filter(|it| !it.is_empty()).map(|it| {
            let (key, value) = it.split_once("=\"").unwrap();
            format!(",\"{key}\":\"{}\"", value.trim_end_matches('"'))
        });
        // What a server adds to every series.
        let added = ",\"instance\":\"node-1:9835\",\"job\":\"cotenant\"";
        let labels: String = pairs.collect();
        format!(
            "{{\"metric\":{{\"__name__\":\"{name}\"{labels}{added}}},\"values\":[{}]}}",
            values.join(",")
        )
    };
    let all: Vec<String> = series.iter().map(one).collect();
    let json = format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}",
        all.join(",")
    );
    let mut collector = Collector::new();
    let options = ImportOptions::default();
    let mut input = json.as_bytes();
    let summary =
        import(&PrometheusJson, &mut input, "answers", &options, SourceId(0), &mut collector)
            .unwrap();
    assert_eq!(summary.rejections.count(), 0, "{:?}", summary.rejections.first());
    let answered = collector.into_recording();
    // The server knows the host, so subjects have longer names.
    let shapes = |it| profiles(it).into_values().collect::<Vec<_>>();
    assert_eq!(shapes(&answered), shapes(&ways.scraped));
    let said = |it| words(it).into_values().collect::<Vec<_>>();
    assert_eq!(said(&answered), said(&ways.scraped));
}
