//! Imports as a user sees them: own-made samples against golden files, and real captures where they lie at hand.
//!
//! `BLESS=1 cargo test --test imports` rewrites the golden files; look at the difference.
#![allow(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests skip visibly and read BLESS"
)]

use cotenant::domain::blind_spot::BlindSpotKind;
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject};
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::domain::source::SourceId;
use cotenant::domain::time::{SampleInterval, Timestamp};
use cotenant::import::error::ImportError;
use cotenant::import::run::ImportSummary;
use cotenant::import::{
    DESCRIBES_GPUS, IMPORTERS, ImportOptions, Importer, by_id, import, reading_order, recognise,
    refusal,
};
use serde_json::{Value, json};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// 2026-01-01T00:00:00Z.
const START_MICROS: i64 = 1_767_225_600_000_000;

/// Id of the listed format that the bytes are in; presets do not count here.
fn listed(head: &[u8]) -> Option<&'static str> {
    recognise(head).map(|it| it.id())
}

type Outcome = (Recording, Result<ImportSummary, ImportError>);

fn read(importer: &dyn Importer, bytes: &[u8], file: &str, options: &ImportOptions) -> Outcome {
    let mut sink = Collector::new();
    let mut input = BufReader::new(bytes);
    let outcome = import(importer, &mut input, file, options, SourceId(0), &mut sink);
    (sink.into_recording(), outcome)
}

fn every_second() -> ImportOptions {
    ImportOptions {
        start: Some(Timestamp::from_micros(START_MICROS)),
        interval: SampleInterval::from_micros(1_000_000),
        ..ImportOptions::default()
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/imports")
}

fn samples(importer: &dyn Importer) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join(importer.id()));
    let mut samples: Vec<PathBuf> =
        entries.into_iter().flatten().flatten().map(|it| it.path()).collect();
    samples.retain(|it| {
        let name = it.to_string_lossy();
        [".json", ".md", ".py"].iter().all(|it| !name.ends_with(it))
    });
    samples.sort();
    samples
}

/// What the user said about a sample: `<case>.options.json`, or nothing.
fn options_of(sample: &Path) -> ImportOptions {
    let Ok(text) = std::fs::read_to_string(sample.with_extension("options.json")) else {
        return ImportOptions::default();
    };
    let said: Value = serde_json::from_str(&text).expect("options are JSON");
    let micros = |key: &str| said[key].as_i64();
    let text = |it: &Value| it.as_str().map(str::to_owned);
    ImportOptions {
        time_zone: said["time_zone"]
            .as_str()
            .map(|it| jiff::tz::TimeZone::get(it).expect("a zone")),
        start: micros("start_micros").map(Timestamp::from_micros),
        interval: micros("interval_micros")
            .and_then(|it| SampleInterval::from_micros(it.unsigned_abs())),
        fields: said["fields"].as_array().map(|it| it.iter().filter_map(text).collect()),
        gpu: text(&said["gpu"]),
    }
}

fn as_json(outcome: &Outcome) -> Value {
    let (recording, result) = outcome;
    let mut series = Vec::new();
    for (subject, trace) in &recording.traces {
        for (metric, it) in &trace.series {
            let (times, values) = (it.times(), it.values());
            series.push(json!({
                "subject": subject.to_string(),
                "metric": metric.key(),
                "count": it.len(),
                "first": [times.first().map(|it| it.as_micros()), values.first()],
                "last": [times.last().map(|it| it.as_micros()), values.last()],
            }));
        }
    }
    let result = match result {
        Ok(it) => json!({
            "rows": it.rows,
            "readings": it.readings,
            "rejected": it.rejections.count(),
            "rejections": it.rejections.first().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "warnings": it.warnings,
        }),
        Err(it) => json!({ "error": it.to_string(), "remedy": it.remedy() }),
    };
    let outline = &recording.outline;
    json!({
        "result": result,
        "sources": outline.sources,
        "devices": outline.devices,
        "mig_instances": outline.mig_instances,
        "processes": outline.processes,
        "blind_spots": outline.blind_spots,
        "series": series,
    })
}

#[test]
fn every_importer_has_a_sample_that_it_recognises_and_reads_as_agreed() {
    let bless = std::env::var("BLESS").is_ok();
    let mut different = Vec::new();
    for importer in IMPORTERS {
        let samples = samples(*importer);
        assert!(!samples.is_empty(), "fixtures/imports/{}/ holds no sample", importer.id());
        for sample in samples {
            let bytes = std::fs::read(&sample).expect("sample can be read");
            let file = sample.file_name().expect("sample has a name").to_string_lossy();
            let found = listed(&bytes);
            assert_eq!(found, Some(importer.id()), "{} is recognised", sample.display());
            let outcome = read(*importer, &bytes, &file, &options_of(&sample));
            let actual = format!("{:#}\n", as_json(&outcome));
            let golden = sample.with_extension("expected.json");
            if bless {
                std::fs::write(&golden, &actual).expect("golden file can be written");
            }
            if std::fs::read_to_string(&golden).ok().as_deref() != Some(actual.as_str()) {
                different.push(format!("{}:\n{actual}", golden.display()));
            }
        }
    }
    assert!(different.is_empty(), "not as agreed (BLESS=1 rewrites):\n{}", different.join("\n"));
}

#[test]
fn no_importer_panics_on_cut_or_damaged_samples() {
    for importer in IMPORTERS {
        for sample in samples(*importer) {
            let bytes = std::fs::read(&sample).expect("sample can be read");
            for other in IMPORTERS {
                // Its own samples go deepest into an importer; of the others a few cuts are enough.
                let cuts = if other.id() == importer.id() { 40 } else { 8 };
                for cut in (0..bytes.len()).step_by(bytes.len() / cuts + 1) {
                    let mut damaged = bytes[..cut].to_vec();
                    damaged.extend_from_slice(b"\xff\0,,\"#\n");
                    damaged.extend_from_slice(&bytes[cut / 2..]);
                    recognise(&damaged);
                    refusal::explain(&damaged);
                    let _ = read(*other, &damaged, "damaged", &every_second());
                }
            }
        }
    }
}

#[test]
fn ids_are_kebab_case_and_lead_back_to_their_importer() {
    for importer in IMPORTERS {
        let id = importer.id();
        assert!(id.bytes().all(|it| it.is_ascii_lowercase() || it == b'-'), "{id}");
        assert_eq!(by_id(id).map(|it| it.id()), Some(id));
        assert!(!importer.about().is_empty());
    }
}

#[test]
fn formats_that_describe_gpus_are_read_before_those_that_only_name_them() {
    let last = DESCRIBES_GPUS.iter().map(|it| reading_order(it)).max();
    for importer in IMPORTERS.iter().filter(|it| !DESCRIBES_GPUS.contains(&it.id())) {
        assert!(Some(reading_order(importer.id())) > last, "{}", importer.id());
    }
    assert!(DESCRIBES_GPUS.iter().all(|it| by_id(it).is_some()));
    assert!(reading_order("smi-query") < reading_order("smi-table"), "a UUID goes before an index");
}

/// The folder of real captures; `None`, with a visible word, where it is absent.
fn real(part: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(part);
    if !folder.exists() {
        eprintln!("skipped: {} is not here", folder.display());
        return None;
    }
    Some(folder)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            it if it.is_dir() => all.extend(files_below(&it)),
            it => all.push(it),
        }
    }
    all.sort();
    all
}

fn read_real(file: &Path, options: &ImportOptions) -> Outcome {
    let bytes = std::fs::read(file).expect("capture can be read");
    let head = &bytes[..bytes.len().min(64 * 1024)];
    let importer =
        listed(head).and_then(by_id).unwrap_or_else(|| panic!("{} is recognised", file.display()));
    read(importer, &bytes, &file.to_string_lossy(), options)
}

fn values(recording: &Recording, subject: &Subject, metric: Metric) -> Vec<f64> {
    recording.series(subject, metric).map(|it| it.values().to_vec()).unwrap_or_default()
}

fn gpu0() -> Subject {
    Subject::device(&GpuId::from_index(0))
}

fn process(gpu: &str, pid: u32) -> Subject {
    Subject::Process { gpu: GpuId::new(gpu), process: ProcessKey { pid, started: None } }
}

/// Who must recognise a real file; `None` for files that are none of these tools' time series.
fn rightful_importer(file: &Path) -> Option<&'static str> {
    let path = file.to_string_lossy();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_empty = std::fs::metadata(file).is_ok_and(|it| it.len() == 0);
    let by_name = [
        ("query_gpu.csv", "smi-query"),
        ("smi_query_", "smi-query"),
        ("trace_", "smi-query"),
        ("compute_apps.csv", "smi-compute-apps"),
        ("accounted_apps.csv", "smi-compute-apps"),
        ("dcgmi_dmon", "dcgmi-dmon"),
        ("dmon", "smi-dmon"),
        ("pmon", "smi-pmon"),
        ("_table.txt", "smi-table"),
        ("nvidia_smi_after.txt", "smi-table"),
        ("_q.txt", "smi-log"),
    ];
    let found = by_name.iter().find(|it| name.contains(it.0)).map(|it| it.1);
    found.filter(|_| !is_empty)
}

#[test]
fn every_real_file_goes_to_its_importer_and_to_no_other() {
    let Some(folder) = real("") else { return };
    let ours = [
        "smi-query",
        "smi-compute-apps",
        "smi-dmon",
        "smi-pmon",
        "smi-log",
        "smi-table",
        "dcgmi-dmon",
    ];
    for file in files_below(&folder) {
        let bytes = std::fs::read(&file).expect("capture can be read");
        let head = &bytes[..bytes.len().min(64 * 1024)];
        let found = listed(head).filter(|it| ours.contains(it));
        assert_eq!(found, rightful_importer(&file), "{}", file.display());
    }
}

#[test]
fn real_files_that_are_no_time_series_are_called_by_their_names() {
    let Some(folder) = real("") else { return };
    for file in files_below(&folder) {
        let path = file.to_string_lossy().into_owned();
        let what = match path.rsplit('/').next().unwrap_or_default() {
            "capabilities_list.txt" => "nvidia-smi -L",
            "nvml_process_utilization_4gpu.txt" => "NVML",
            "trace_attention_run1.csv" => "empty",
            _ => continue,
        };
        let bytes = std::fs::read(&file).expect("capture can be read");
        assert!(listed(&bytes).is_none(), "{path}");
        let (name, remedy) = refusal::explain(&bytes).unwrap_or_else(|| panic!("{path} is known"));
        assert!(name.contains(what) && !remedy.is_empty(), "{path}: {name}");
    }
}

#[test]
fn every_real_capture_is_read_without_a_single_rejected_cell() {
    let Some(folder) = real("") else { return };
    let mut imported = 0;
    for file in files_below(&folder) {
        if rightful_importer(&file).is_none() {
            continue;
        }
        match read_real(&file, &every_second()).1 {
            Ok(it) => {
                assert_eq!(it.rejections.count(), 0, "{}: {:?}", file.display(), it.rejections);
                imported += 1;
            }
            Err(ImportError::Empty { .. } | ImportError::AmbiguousGpu { .. }) => {}
            Err(it) => assert!(it.to_string().contains("accounted apps"), "{it}"),
        }
    }
    assert!(imported > 0);
}

#[test]
fn a_loaded_h100_shows_one_busy_tenant_and_two_that_only_hold_memory() {
    let Some(folder) = real("smi-captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01") else {
        return;
    };
    let (pmon, _) = read_real(&folder.join("load_pmon.log"), &every_second());
    assert_eq!(values(&pmon, &process("gpu0", 11345), Metric::GpuUtilization), [99.0; 5]);
    assert_eq!(values(&pmon, &process("gpu0", 11345), Metric::MemoryUtilization).len(), 5);
    assert!(values(&pmon, &process("gpu0", 11327), Metric::GpuUtilization).is_empty());
    let names: Vec<_> = pmon.outline.processes.iter().filter_map(|it| it.name.clone()).collect();
    assert_eq!(names, ["memhog", "memhog", "gpu_burn"]);

    let (dmon, _) = read_real(&folder.join("load_dmon.log"), &every_second());
    let watts: Vec<f64> =
        values(&dmon, &gpu0(), Metric::Power).iter().map(|it| it / 1000.0).collect();
    assert_eq!(watts, [631.0, 634.0, 633.0, 634.0, 636.0]);
    assert_eq!(values(&dmon, &gpu0(), Metric::GpuUtilization), [100.0; 5]);

    let (apps, _) = read_real(&folder.join("load_compute_apps.csv"), &ImportOptions::default());
    let mebibytes = |pid| {
        let used = values(&apps, &process("00000000:00:09.0", pid), Metric::FramebufferUsed);
        used.iter().map(|it| it / 1_048_576.0).collect::<Vec<_>>()
    };
    let used: Vec<_> = [11327, 11328, 11345].map(mebibytes).concat();
    assert_eq!(used, [2566.0, 1542.0, 15690.0]);

    let (query, _) = read_real(&folder.join("load_query_gpu.csv"), &ImportOptions::default());
    for (metric, value) in [
        (Metric::GpuUtilization, 100.0),
        (Metric::MemoryUtilization, 11.0),
        (Metric::Power, 631_950.0),
        (Metric::PowerInstant, 625_680.0),
        (Metric::PowerLimit, 700_000.0),
        (Metric::FramebufferUsed, 19_818.0 * 1_048_576.0),
        (Metric::SmClock, 1980.0),
        (Metric::MemoryTemperature, 54.0),
        (Metric::PerformanceState, 0.0),
        (Metric::ThrottleReasons, 0.0),
    ] {
        assert_eq!(values(&query, &gpu0(), metric), [value], "{}", metric.key());
    }
    let device = query.outline.devices[0].clone();
    assert_eq!(device.model.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    assert_eq!((device.driver.as_deref(), device.is_mig), (Some("590.48.01"), Some(false)));
}

#[test]
fn a_real_mig_gpu_hides_utilisation_everywhere_and_each_recording_says_so() {
    let Some(folder) = real("smi-captures/linux-x86_64__nvidia-h100-mig__590.48.01") else {
        return;
    };
    for (file, subjects) in [("load_query_gpu.csv", 1), ("load_dmon.log", 1), ("load_pmon.log", 3)]
    {
        let (recording, result) = read_real(&folder.join(file), &every_second());
        assert!(result.is_ok(), "{file}");
        let spots = recording.outline.blind_spots;
        let hidden = spots.iter().filter(|it| it.kind == BlindSpotKind::HiddenByMig);
        let utilisation = hidden.filter(|it| it.metric == Some(Metric::GpuUtilization));
        assert_eq!(utilisation.count(), subjects, "{file}");
    }
}

#[test]
fn real_tenants_on_an_l40s_and_on_windows_are_told_apart() {
    let Some(folder) = real("smi-captures") else { return };
    let l40s = folder.join("linux-x86_64__nvidia-l40s__595.80");
    let (pmon, _) = read_real(&l40s.join("load_pmon.log"), &every_second());
    assert_eq!(
        values(&pmon, &process("gpu0", 20037), Metric::GpuUtilization),
        [2.0, 2.0, 1.0, 0.0, 2.0]
    );
    assert_eq!(
        values(&pmon, &process("gpu0", 20038), Metric::EncoderUtilization),
        [40.0, 34.0, 37.0, 49.0, 42.0]
    );
    let windows = folder.join("windows-x86_64__nvidia-geforce-rtx-2080-super__591.86");
    let (apps, result) =
        read_real(&windows.join("load_compute_apps.csv"), &ImportOptions::default());
    assert_eq!(result.map(|it| it.rows).ok(), Some(0));
    let names: Vec<_> = apps.outline.processes.iter().filter_map(|it| it.name.clone()).collect();
    assert_eq!(names.len(), 12);
    assert!(names.contains(&"NVIDIA Share.exe".to_owned()), "{names:?}");
    assert!(names.iter().all(|it| !it.contains('\\') && !it.contains("user01")), "{names:?}");
    let (pmon, _) = read_real(&windows.join("load_pmon.log"), &every_second());
    let names: Vec<_> = pmon.outline.processes.iter().filter_map(|it| it.name.clone()).collect();
    assert!(names.contains(&"NZXT CAM.exe".to_owned()), "{names:?}");
}

#[test]
fn real_snippets_give_what_a_person_reads_in_them() {
    let Some(folder) = real("snippets-real-output") else { return };
    let (bursty, _) = read_real(&folder.join("dmon_old_driver_bursty.log"), &every_second());
    let sm = values(&bursty, &gpu0(), Metric::GpuUtilization);
    assert_eq!(sm, [5.0, 11.0, 3.0, 10.0, 75.0, 86.0, 99.0, 86.0, 85.0]);

    let (stamped, _) =
        read_real(&folder.join("dmon_o_TD_s_mutc_A10.log"), &ImportOptions::default());
    let sm = stamped.series(&gpu0(), Metric::GpuUtilization).expect("sm is there");
    assert_eq!(sm.values(), [6.0, 0.0, 3.0, 13.0, 0.0, 3.0]);
    assert_eq!(sm.times()[0].as_micros(), 1_704_376_475_000_000, "2024-01-04T13:54:35Z");

    let (five, _) = read_real(&folder.join("pmon_fb_five_tenants_one_gpu.log"), &every_second());
    assert_eq!(five.traces.len(), 5);
    let memory = values(&five, &process("gpu0", 20035), Metric::FramebufferUsed);
    assert_eq!(memory, [1145.0 * 1_048_576.0]);

    let (dcgmi, _) = read_real(&folder.join("dcgmi_dmon_first_sample_na.log"), &every_second());
    let active = dcgmi.series(&gpu0(), Metric::SmActive).expect("SMACT is there");
    assert_eq!(
        (active.values(), active.times()[0].as_micros()),
        (&[0.0][..], START_MICROS + 1_000_000)
    );

    let (power, _) = read_real(&folder.join("smi_query_power_50ms.csv"), &ImportOptions::default());
    let watts = values(&power, &gpu0(), Metric::Power);
    assert_eq!((watts.len(), watts[0], watts[11]), (12, 22_890.0, 22_470.0));
}

#[test]
fn eight_real_gpus_that_no_column_tells_apart_are_refused() {
    let Some(folder) = real("h100-smi-20hz") else { return };
    for file in files_below(&folder).iter().filter(|it| rightful_importer(it).is_some()) {
        let error = read_real(file, &ImportOptions::default()).1.expect_err("eight GPUs");
        assert!(matches!(error, ImportError::AmbiguousGpu { .. }), "{error}");
    }
}

/// Who sits on an instance, by its number, as `memhog (pid 21180)`.
fn seats(recording: &Recording) -> Vec<(u32, String)> {
    let instances = recording.outline.mig_instances.iter();
    let seated = instances.map(|it| {
        let tenants: Vec<&str> = it.tenants.iter().map(|it| it.as_str()).collect();
        (it.instance.gpu_instance, tenants.join(", "))
    });
    seated.collect()
}

fn mebibytes(recording: &Recording, subject: &Subject) -> Vec<f64> {
    values(recording, subject, Metric::FramebufferUsed).iter().map(|it| it / 1_048_576.0).collect()
}

#[test]
fn a_real_mig_gpu_tells_who_sits_on_which_instance_in_its_table_and_in_q() {
    let Some(folder) = real("smi-captures/linux-x86_64__nvidia-h100-mig__590.48.01") else {
        return;
    };
    for file in ["load_table.txt", "load_q.txt"] {
        let (recording, _) = read_real(&folder.join(file), &ImportOptions::default());
        let all = "memhog (pid 21180), memhog (pid 21181), gpu_burn (pid 21198)";
        let expected = [(2, all), (3, ""), (9, ""), (10, "")].map(|it| (it.0, it.1.to_owned()));
        assert_eq!(seats(&recording), expected, "{file}");
        let profiles: Vec<_> =
            recording.outline.mig_instances.iter().filter_map(|it| it.profile.clone()).collect();
        assert_eq!(profiles, ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"], "{file}");
        for (pid, used) in [(21180, 2296.0), (21181, 1272.0), (21198, 7484.0)] {
            assert_eq!(mebibytes(&recording, &process("gpu0", pid)), [used], "{file}: {pid}");
        }
        let of_instances: Vec<f64> = recording
            .traces
            .keys()
            .filter(|it| matches!(it, Subject::MigInstance { .. }))
            .flat_map(|it| mebibytes(&recording, it))
            .collect();
        assert_eq!(of_instances, [11_091.0, 17.0, 9.0, 9.0], "{file}");
        assert_eq!(mebibytes(&recording, &gpu0()), [11_125.0], "{file}");
        assert!(values(&recording, &gpu0(), Metric::GpuUtilization).is_empty(), "{file}");
    }
}

#[test]
fn real_tables_and_q_agree_with_the_csv_of_the_same_minute() {
    let Some(folder) = real("smi-captures") else { return };
    let h100 = folder.join("linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01");
    for file in ["load_table.txt", "load_q.txt"] {
        let (it, _) = read_real(&h100.join(file), &ImportOptions::default());
        for (pid, used) in [(11327, 2566.0), (11328, 1542.0), (11345, 15_690.0)] {
            assert_eq!(mebibytes(&it, &process("gpu0", pid)), [used], "{file}: {pid}");
        }
        assert_eq!(mebibytes(&it, &gpu0()), [19_818.0], "{file}");
        assert_eq!(values(&it, &gpu0(), Metric::GpuUtilization), [100.0], "{file}");
        assert_eq!(values(&it, &gpu0(), Metric::PowerLimit), [700_000.0], "{file}");
        assert!(it.outline.processes.iter().all(|it| it.tenant.is_none()), "{file}");
    }
    let l40s = folder.join("linux-x86_64__nvidia-l40s__595.80");
    for (file, utilisation) in [("load_table.txt", 9.0), ("load_q.txt", 9.0)] {
        let (it, _) = read_real(&l40s.join(file), &ImportOptions::default());
        assert_eq!(mebibytes(&it, &process("gpu0", 20037)), [538.0], "{file}");
        assert_eq!(mebibytes(&it, &process("gpu0", 20038)), [681.0], "{file}");
        assert_eq!(values(&it, &gpu0(), Metric::GpuUtilization), [utilisation], "{file}");
    }
    let windows = folder.join("windows-x86_64__nvidia-geforce-rtx-2080-super__591.86");
    for file in ["load_table.txt", "load_q.txt"] {
        let (it, _) = read_real(&windows.join(file), &ImportOptions::default());
        let names: Vec<_> = it.outline.processes.iter().filter_map(|it| it.name.clone()).collect();
        assert_eq!(names.len(), 12, "{file}: {names:?}");
        assert!(names.contains(&"NZXT CAM.exe".to_owned()), "{file}: {names:?}");
        assert!(values(&it, &process("gpu0", 25704), Metric::FramebufferUsed).is_empty());
    }
}

#[test]
fn real_captures_in_a_row_are_samples_of_one_recording() {
    let Some(folder) = real("smi-captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01") else {
        return;
    };
    for kind in ["table", "q"] {
        let [idle, load] = ["idle", "load"].map(|it| folder.join(format!("{it}_{kind}.txt")));
        let alone = mebibytes(&read_real(&idle, &ImportOptions::default()).0, &gpu0());
        let bytes = [&idle, &load].map(|it| std::fs::read(it).expect("capture can be read"));
        let importer = listed(&bytes[0]).and_then(by_id).expect("it is recognised");
        let (both, result) = read(importer, &bytes.concat(), "both.txt", &ImportOptions::default());
        assert_eq!(result.map(|it| it.rejections.count()).ok(), Some(0), "{kind}");
        assert_eq!(mebibytes(&both, &gpu0()), [alone[0], 19_818.0], "{kind}");
        let spots = both.outline.blind_spots;
        assert!(spots.iter().all(|it| it.kind != BlindSpotKind::TooShort), "{kind}");
    }
}
