use super::*;
use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, MigInstanceId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::import::ImportOptions;
use crate::import::run::ImportSummary;
use crate::import::testing::{START, every_second, gpu, process, read, real_file, real_files};

fn import_of(text: &str, options: &ImportOptions) -> (ImportSummary, Recording) {
    read(&PrometheusText, text, options).done().unwrap()
}

fn value(recording: &Recording, subject: &Subject, metric: Metric) -> Option<f64> {
    recording.series(subject, metric)?.values().last().copied()
}

fn instance(gpu: &str, gpu_instance: u32) -> Subject {
    let (gpu, compute_instance) = (GpuId::new(gpu), None);
    Subject::MigInstance {
        instance: MigInstanceId { gpu, gpu_instance, compute_instance, generation: 0 },
    }
}

fn has_blind_spot(recording: &Recording, kind: BlindSpotKind, metric: Option<Metric>) -> bool {
    recording.outline.blind_spots.iter().any(|it| it.kind == kind && it.metric == metric)
}

const TWO_SCRAPES: &str = "\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA T4\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"580.1\"} 10
DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-b\",modelName=\"NVIDIA T4\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"580.1\"} 20

DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA T4\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"580.1\"} 11
DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-b\",modelName=\"NVIDIA T4\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"580.1\"} 21
";

#[test]
fn a_sample_that_comes_again_begins_the_next_scrape() {
    let (summary, recording) = import_of(TWO_SCRAPES, &every_second());
    let series = recording.series(&gpu("GPU-b"), Metric::GpuUtilization).unwrap();
    assert_eq!(series.values(), [20.0, 21.0]);
    assert_eq!(series.times(), [START, START.plus_micros(1_000_000)]);
    assert_eq!((summary.rows, summary.readings), (4, 4));
    assert!(has_blind_spot(&recording, BlindSpotKind::ClockAssumed, None));
    let described = &recording.outline.devices[1];
    assert_eq!((described.index, described.model.as_deref()), (Some(1), Some("NVIDIA T4")));
    assert_eq!(
        (described.host.as_deref(), described.driver.as_deref()),
        (Some("n1"), Some("580.1"))
    );
    let source = &recording.outline.sources[0];
    assert_eq!((source.tool.as_str(), source.file.as_deref()), ("dcgm-exporter", Some("log")));
}

#[test]
fn a_file_without_stamps_asks_for_them_instead_of_making_them_up() {
    for options in
        [ImportOptions::default(), ImportOptions { start: Some(START), ..ImportOptions::default() }]
    {
        let error = read(&PrometheusText, TWO_SCRAPES, &options).done().unwrap_err();
        assert!(matches!(error, ImportError::NoStamps { .. }), "{error}");
    }
}

#[test]
fn remarks_and_stamps_behind_the_samples_are_honoured() {
    let text = "\
# cotenant-scrape-time: 2026-01-04T04:38:59Z
DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 50
# EOF
# cotenant-scrape-time: 2026-01-04T04:39:00.5Z
DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 51
# EOF
DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 52 1767501545000
";
    let (_, recording) = import_of(text, &ImportOptions::default());
    let series = recording.series(&gpu("gpu0"), Metric::GpuTemperature).unwrap();
    let micros: Vec<i64> = series.times().iter().map(|it| it.as_micros()).collect();
    assert_eq!(micros, [1_767_501_539_000_000, 1_767_501_540_500_000, 1_767_501_545_000_000]);
    assert!(!has_blind_spot(&recording, BlindSpotKind::ClockAssumed, None));
    assert_eq!(recording.outline.sources[0].clock, "UTC");
}

#[test]
fn a_dump_that_lists_one_series_after_the_other_is_sorted_without_a_word() {
    let mut text = String::new();
    for (name, gpu) in
        [("DCGM_FI_DEV_GPU_UTIL", 1), ("DCGM_FI_DEV_GPU_UTIL", 0), ("DCGM_FI_DEV_GPU_TEMP", 0)]
    {
        for second in [2, 0, 1] {
            text += &format!("{name}{{gpu=\"{gpu}\"}} {second} {}\n", 1_767_501_545 + second);
        }
    }
    let (summary, recording) = import_of(&text, &ImportOptions::default());
    for (name, metric) in [
        ("gpu1", Metric::GpuUtilization),
        ("gpu0", Metric::GpuUtilization),
        ("gpu0", Metric::GpuTemperature),
    ] {
        let series = recording.series(&gpu(name), metric).unwrap();
        assert_eq!(series.values(), [0.0, 1.0, 2.0], "{name}");
    }
    assert_eq!((summary.readings, summary.rejections.count()), (9, 0));
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    assert!(recording.outline.blind_spots.is_empty());
}

#[test]
fn pods_of_a_dump_that_lists_one_series_after_the_other_are_told_from_their_card() {
    let mut text = String::new();
    for (labels, value) in [(",pod=\"p\"", 60), ("", 80), (",pod=\"q\"", 20)] {
        for second in 0..2 {
            let at = 1_767_501_545 + second;
            text += &format!(
                "DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\",UUID=\"GPU-a\"{labels}}} {} {at}\n",
                value + second
            );
        }
    }
    let (summary, recording) = import_of(&text, &ImportOptions::default());
    let pod =
        |name| Subject::Tenant { gpu: Some(GpuId::new("GPU-a")), tenant: TenantId::new(name) };
    for (subject, first) in [(gpu("GPU-a"), 80.0), (pod("p"), 60.0), (pod("q"), 20.0)] {
        let series = recording.series(&subject, Metric::GpuUtilization).unwrap();
        assert_eq!(series.values(), [first, first + 1.0], "{subject}");
    }
    assert_eq!((summary.readings, recording.outline.readings), (6, 6));
}

#[test]
fn a_remark_whose_stamp_carries_no_zone_is_read_as_utc_and_that_is_told() {
    let text = "# cotenant-scrape-time: 2026-01-04 04:38:59\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 50\n";
    let (summary, recording) = import_of(text, &ImportOptions::default());
    assert_eq!(recording.outline.sources[0].clock, "assumed UTC");
    assert!(has_blind_spot(&recording, BlindSpotKind::ClockAssumed, None));
    assert!(summary.warnings[0].contains("--timezone"), "{:?}", summary.warnings);
}

#[test]
fn a_card_and_its_instances_are_different_subjects_with_one_uuid() {
    let text = "\
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-a\"} 0.9
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-a\",GPU_I_PROFILE=\"1g.5gb\",GPU_I_ID=\"13\"} 0.5
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-a\",GPU_I_PROFILE=\"2g.10gb\",GPU_I_ID=\"5\"} 0.4
";
    let (_, recording) = import_of(text, &every_second());
    let active = Metric::GraphicsEngineActive;
    assert_eq!(value(&recording, &gpu("GPU-a"), active), Some(0.9));
    assert_eq!(value(&recording, &instance("GPU-a", 13), active), Some(0.5));
    assert_eq!(value(&recording, &instance("GPU-a", 5), active), Some(0.4));
    assert_eq!(recording.outline.mig_instances[0].profile.as_deref(), Some("1g.5gb"));
    assert_eq!(recording.outline.devices[0].is_mig, Some(true));
    assert!(has_blind_spot(&recording, BlindSpotKind::HiddenByMig, Some(Metric::GpuUtilization)));
}

#[test]
fn a_sentinel_is_a_gap_and_is_told() {
    let text = "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 139\nDCGM_FI_DEV_MEMORY_TEMP{gpu=\"0\"} 9223372036854775794\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} NaN\n";
    let (summary, recording) = import_of(text, &every_second());
    assert_eq!((summary.readings, summary.rejections.count()), (1, 0));
    let missing = Some(Metric::MemoryTemperature);
    assert!(has_blind_spot(&recording, BlindSpotKind::NotReported, missing));
}

#[test]
fn pods_beside_their_card_are_tenants_and_the_only_pod_is_not() {
    let text = "\
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\"} 80
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",pod=\"p\",namespace=\"n\",container=\"c\"} 60
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",pod=\"q\",namespace=\"n\",container=\"c\"} 20
DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-b\",pod=\"r\",namespace=\"n\",container=\"c\"} 70
";
    let (_, recording) = import_of(text, &every_second());
    let tenant = |gpu: &str, name: &str| Subject::Tenant {
        gpu: Some(GpuId::new(gpu)),
        tenant: TenantId::new(name),
    };
    let util = Metric::GpuUtilization;
    assert_eq!(value(&recording, &gpu("GPU-a"), util), Some(80.0));
    assert_eq!(value(&recording, &tenant("GPU-a", "n/p/c"), util), Some(60.0));
    assert_eq!(value(&recording, &tenant("GPU-a", "n/q/c"), util), Some(20.0));
    assert_eq!(value(&recording, &gpu("GPU-b"), util), Some(70.0));
    assert_eq!(value(&recording, &tenant("GPU-b", "n/r/c"), util), None);
    let spot = recording.outline.blind_spots.iter().find(|it| it.kind == BlindSpotKind::Ambiguous);
    assert_eq!(spot.unwrap().subject, Some(tenant("GPU-b", "n/r/c")));
}

#[test]
fn processes_of_nvidia_gpu_exporter_are_subjects_with_names() {
    let text = "\
nvidia_smi_gpu_info{driver_version=\"590\",index=\"2\",name=\"NVIDIA H100\",uuid=\"00000000-0000-0000-0000-000000000000\"} 1
nvidia_smi_compute_app_info{pid=\"7\",process_name=\"C:\\\\a b\\\\x.exe\",uuid=\"00000000-0000-0000-0000-000000000000\"} 1
nvidia_smi_compute_app_used_memory_bytes{pid=\"7\",process_name=\"C:\\\\a b\\\\x.exe\",uuid=\"00000000-0000-0000-0000-000000000000\"} 2.5e+09
nvidia_smi_utilization_gpu_ratio{uuid=\"00000000-0000-0000-0000-000000000000\"} 0.08
nvidia_smi_clocks_current_sm_clock_hz{uuid=\"00000000-0000-0000-0000-000000000000\"} 1.98e+09
";
    let (_, recording) = import_of(text, &every_second());
    let device = gpu("gpu2");
    assert_eq!(value(&recording, &device, Metric::GpuUtilization), Some(8.0));
    assert_eq!(value(&recording, &device, Metric::SmClock), Some(1980.0));
    assert_eq!(value(&recording, &process("gpu2", 7), Metric::FramebufferUsed), Some(2.5e9));
    assert_eq!(recording.outline.processes[0].name.as_deref(), Some("x.exe"));
    assert_eq!(recording.outline.devices[0].model.as_deref(), Some("NVIDIA H100"));
    assert_eq!(recording.outline.devices[0].index, Some(2));
}

#[test]
fn two_masked_gpus_of_one_host_cannot_be_told_apart() {
    let text = "\
nvidia_smi_gpu_info{index=\"0\",uuid=\"00000000-0000-0000-0000-000000000000\"} 1
nvidia_smi_gpu_info{index=\"1\",uuid=\"00000000-0000-0000-0000-000000000000\"} 1
nvidia_smi_pstate{uuid=\"00000000-0000-0000-0000-000000000000\"} 1
";
    let error = read(&PrometheusText, text, &every_second()).done().unwrap_err();
    assert!(matches!(error, ImportError::AmbiguousGpu { .. }), "{error}");
}

#[test]
fn a_model_server_is_a_tenant_and_its_histograms_are_a_blind_spot() {
    let text = "\
vllm:num_requests_running{engine=\"0\",model_name=\"facebook/opt-125m\"} 3.0
vllm:num_requests_running{engine=\"1\",model_name=\"facebook/opt-125m\"} 4.0
vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"facebook/opt-125m\"} 0.25
vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"facebook/opt-125m\"} 0.25
vllm:e2e_request_latency_seconds_bucket{le=\"+Inf\",model_name=\"facebook/opt-125m\"} 1.0
vllm:e2e_request_latency_seconds_sum{model_name=\"facebook/opt-125m\"} 0.5
";
    let (summary, recording) = import_of(text, &every_second());
    let model = |name: &str| Subject::Tenant { gpu: None, tenant: TenantId::new(name) };
    let running = Metric::RequestsRunning;
    assert_eq!(value(&recording, &model("facebook/opt-125m"), running), Some(3.0));
    assert_eq!(value(&recording, &model("facebook/opt-125m/engine1"), running), Some(4.0));
    assert_eq!(summary.readings, 3);
    assert!(has_blind_spot(&recording, BlindSpotKind::NotRecorded, Some(Metric::LatencyMean)));
}

#[test]
fn what_cannot_be_read_is_counted_with_its_line_and_unknown_names_are_told_once() {
    let text = "\
DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 139
DCGM_FI_DEV_SM_CLOCK{gpu=\"0\" 139
DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} warm
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 37100
DCGM_FI_DEV_MEM_CLOCK 405
go_goroutines 7
go_threads 8
";
    let (summary, _) = import_of(text, &every_second());
    let places: Vec<(u64, &str)> =
        summary.rejections.first().iter().map(|it| (it.line, it.column.as_str())).collect();
    assert_eq!(places[..2], [(2, ""), (3, "DCGM_FI_DEV_GPU_TEMP")]);
    assert_eq!(summary.rejections.count(), 4);
    assert_eq!(summary.readings, 1);
    assert!(summary.warnings[0].starts_with("2 metric names"), "{:?}", summary.warnings);
}

#[test]
fn recognition_goes_by_content_and_survives_a_cut_line() {
    let likeness = |text: &str| PrometheusText.recognise(text.as_bytes());
    assert_eq!(
        likeness("\n# HELP x y\nDCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1\nDCGM_FI_D"),
        Likeness::Sure
    );
    assert_eq!(likeness("vllm:num_requests_running{model_name=\"m\"} 0.0\n"), Likeness::Sure);
    assert_eq!(likeness("# HELP up Up.\n# TYPE up gauge\nup 1\n"), Likeness::Maybe);
    assert_eq!(likeness("# gpu   pwr gtemp\n# Idx     W     C\n    0    30    40\n"), Likeness::No);
    assert_eq!(likeness("timestamp,power.draw\n2026/01/04 04:38:59.876,112.42\n"), Likeness::No);
    assert_eq!(likeness(""), Likeness::No);
}

#[test]
fn real_scrapes_of_dcgm_exporter_are_read_without_a_rejection() {
    for (name, rows, readings) in [
        ("a100_mig_1g5gb_load.prom", 2, 19),
        ("old_2.1_blank_sentinel.prom", 1, 2),
        ("rtx4000ada_pod_labels.prom", 1, 11),
    ] {
        let Some(bytes) = real_file(&format!("dcgm-exporter-text/{name}")) else { continue };
        let (summary, recording) = read(&PrometheusText, &bytes, &every_second()).done().unwrap();
        assert_eq!(PrometheusText.recognise(&bytes), Likeness::Sure);
        assert_eq!((summary.rows, summary.readings), (rows, readings), "{name} {summary:?}");
        assert_eq!(summary.rejections.count(), 0, "{name}");
        assert_eq!(recording.outline.readings, readings, "{name}");
    }
}

#[test]
fn the_real_mig_scrape_keeps_card_and_instance_apart() {
    let Some(bytes) = real_file("dcgm-exporter-text/a100_mig_1g5gb_load.prom") else { return };
    let (_, recording) = read(&PrometheusText, &bytes, &every_second()).done().unwrap();
    let uuid = "GPU-34319582-d595-d1c7-d1d2-179bcfa61660";
    assert_eq!(value(&recording, &gpu(uuid), Metric::DramActive), Some(0.690789));
    assert_eq!(value(&recording, &instance(uuid, 13), Metric::DramActive), Some(0.800339));
    assert_eq!(value(&recording, &gpu(uuid), Metric::Power), Some(409_692.0));
}

#[test]
fn every_real_scrape_of_nvidia_gpu_exporter_and_vllm_is_read_without_a_rejection() {
    let captures = real_files("smi-captures/metrics").into_iter();
    for name in captures.chain(["vllm-metrics-text/vllm_metrics_subset.prom".to_owned()]) {
        let Some(bytes) = real_file(&name) else { continue };
        let (summary, recording) = read(&PrometheusText, &bytes, &every_second()).done().unwrap();
        let subjects = recording.outline.subjects.len();
        println!(
            "{name}: {subjects} subjects, {} rows, {} readings",
            summary.rows, summary.readings
        );
        assert_eq!(summary.rejections.count(), 0, "{name}: {:?}", summary.rejections);
        assert!(summary.readings >= 3);
    }
}

#[test]
fn a_reader_that_fails_leaves_what_was_read_before() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cut off"))
        }
    }
    let text: &[u8] = b"DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 139\n";
    let mut input = std::io::BufReader::new(std::io::Read::chain(text, Broken));
    let mut sink = crate::domain::collector::Collector::new();
    let options = every_second();
    let source = crate::domain::source::SourceId(0);
    let summary =
        crate::import::import(&PrometheusText, &mut input, "a", &options, source, &mut sink)
            .unwrap();
    assert_eq!(summary.rows, 1);
    assert!(summary.warnings[0].starts_with("a:2: cannot read"), "{:?}", summary.warnings);
    let recording = sink.into_recording();
    assert!(has_blind_spot(&recording, BlindSpotKind::Gap, None));
    assert_eq!(recording.outline.span.unwrap().from(), START);
}
