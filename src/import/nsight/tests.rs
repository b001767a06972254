use super::*;
use crate::domain::ident::Subject;
use crate::import::ImportOptions;
use crate::import::testing::{Outcome, every_second, gpu, process, read};
use rusqlite::Connection;

/// 2026-07-14T09:00:00Z.
const START_MICROS: i64 = 1_784_019_600_000_000;
const A: &str = "GPU-0a0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e";
const B: &str = "GPU-1a1a1a1a-1b1b-4c4c-8d8d-1e1e1e1e1e1e";

const START: &str = "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1784019600000000000);";
/// Two GPUs that the sampler counts the other way round.
const GPUS: &str = "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER, pwGpuId INTEGER, uuid TEXT, cuDevice INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES
    (0, 'NVIDIA H100 80GB HBM3', '0000:1b:00.0', 85017493504, 1, '0a0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e', 0),
    (1, 'NVIDIA H100 80GB HBM3', '0000:43:00.0', 85017493504, 0, '1a1a1a1a-1b1b-4c4c-8d8d-1e1e1e1e1e1e', 1);";
const NAMES: &str = "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
    INSERT INTO TARGET_INFO_GPU_METRICS SELECT 281479271677952 + kind, 0, 'GPU Metrics', number, name FROM
    (SELECT 0 AS kind UNION SELECT 1), (SELECT 0 AS number, 'GPC Clock Frequency [MHz]' AS name
    UNION SELECT 1, 'GR Active [Throughput %]' UNION SELECT 2, 'SMs Active [Throughput %]'
    UNION SELECT 3, 'Tensor Active [Throughput %]' UNION SELECT 4, 'Compute Warps in Flight [Throughput %]'
    UNION SELECT 5, 'DRAM Read Bandwidth [Throughput %]' UNION SELECT 6, 'DRAM Write Bandwidth [Throughput %]'
    UNION SELECT 7, 'PCIe RX Throughput [Throughput %]' UNION SELECT 8, 'SM Issue [Throughput %]'
    UNION SELECT 9, 'Pixel Warps in Flight [Throughput %]');
    CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, metricId INTEGER, value);";
const KERNELS: &str = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, globalPid INTEGER, shortName INTEGER);
    CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
    INSERT INTO PROCESSES VALUES (72620543991349248 + 4101 * 16777216, 4101, '/usr/bin/python3 serve.py --key=x');";

/// The bytes of the database that these statements make.
fn database(parts: &[&str]) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("PRAGMA page_size = 512").unwrap();
    parts.iter().for_each(|it| connection.execute_batch(it).unwrap());
    connection.serialize("main").unwrap().to_vec()
}

/// Samples of the GPU that the sampler counts as `number`: stamps in microseconds, metric, value.
fn samples(number: i64, rows: &[(i64, i64, &str)]) -> String {
    let row = |it: &(i64, i64, &str)| {
        let (nanos, kind) = (it.0 * 1000, 281_479_271_677_952 + number);
        format!("INSERT INTO GPU_METRICS VALUES (7, {nanos}, {kind}, {}, {});", it.1, it.2)
    };
    rows.iter().map(row).collect()
}

/// Kernels of process 4101 or another one: device, process, start and end in microseconds.
fn kernels(rows: &[(i64, i64, i64, i64)]) -> String {
    let row = |it: &(i64, i64, i64, i64)| {
        let process = 72_620_543_991_349_248 + it.1 * 16_777_216;
        let (start, end) = (it.2 * 1000, it.3 * 1000);
        format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({start}, {end}, {}, 7, {process}, 1);",
            it.0
        )
    };
    rows.iter().map(row).collect()
}

fn import(parts: &[&str]) -> Outcome {
    let bytes = database(parts);
    assert_eq!(Nsight.recognise(&bytes), Likeness::Sure);
    read(&Nsight, bytes, &ImportOptions::default())
}

/// Microseconds since the start of the capture.
fn times(outcome: &Outcome, subject: &Subject, metric: Metric) -> Vec<i64> {
    let times = outcome.recording.series(subject, metric).map_or(&[][..], |it| it.times());
    times.iter().map(|it| it.as_micros() - START_MICROS).collect()
}

fn rounded(values: Vec<f64>) -> Vec<f64> {
    values.iter().map(|it| (it * 1000.0).round() / 1000.0).collect()
}

#[test]
fn a_percentage_becomes_a_share_and_a_clock_comes_out_of_its_32_bits() {
    let rows = samples(
        1,
        &[
            (0, 0, "1980000000"),
            (0, 1, "97"),
            (0, 2, "50"),
            (0, 3, "25"),
            (0, 4, "12"),
            (0, 5, "30"),
            (0, 6, "20"),
            // 2.2 GHz does not fit into 31 bits: 2 200 000 000 − 4 294 967 296.
            (100, 0, "-2094967296"),
            (100, 1, "100"),
            (100, 2, "51.0"),
            (100, 5, "60"),
            (100, 6, "41"),
        ],
    );
    let it = import(&[START, GPUS, NAMES, &rows]);
    for (metric, values) in [
        (Metric::SmClock, vec![1980.0, 2200.0]),
        (Metric::GraphicsEngineActive, vec![0.97, 1.0]),
        (Metric::SmActive, vec![0.5, 0.51]),
        (Metric::TensorActive, vec![0.25]),
        (Metric::SmOccupancy, vec![0.12]),
        // 60 % and 41 % are rounded: more than the whole there is not.
        (Metric::DramActive, vec![0.5, 1.0]),
        (Metric::FramebufferTotal, vec![85_017_493_504.0]),
    ] {
        assert_eq!(rounded(it.values(&gpu(A), metric)), values, "{}", metric.key());
    }
    assert_eq!(it.summary().rejections.count(), 0);
    let device = it.recording.outline.device(&crate::domain::ident::GpuId::new(A)).unwrap().clone();
    assert_eq!(device.bus_id.as_deref(), Some("00000000:1B:00.0"));
    assert_eq!(device.model.as_deref(), Some("NVIDIA H100 80GB HBM3"));
}

#[test]
fn a_sample_stands_for_the_time_to_the_next_one_and_not_for_a_hole() {
    // Every 100 µs (10 kHz), then a hole of 5 ms.
    let rows = samples(
        1,
        &[(0, 2, "10"), (100, 2, "20"), (200, 2, "30"), (5200, 2, "40"), (5300, 2, "50")],
    );
    let it = import(&[START, GPUS, NAMES, &rows]);
    assert_eq!(times(&it, &gpu(A), Metric::SmActive), [100, 200, 300, 5300, 5400]);
    assert_eq!(rounded(it.values(&gpu(A), Metric::SmActive)), [0.1, 0.2, 0.3, 0.4, 0.5]);
}

#[test]
fn the_low_byte_is_the_samplers_number_of_the_gpu() {
    let rows =
        samples(1, &[(0, 2, "10"), (100, 2, "11")]) + &samples(0, &[(0, 2, "90"), (100, 2, "91")]);
    let it = import(&[START, GPUS, NAMES, &rows]);
    assert_eq!(rounded(it.values(&gpu(A), Metric::SmActive)), [0.1, 0.11]);
    assert_eq!(rounded(it.values(&gpu(B), Metric::SmActive)), [0.9, 0.91]);
    let unnamed = import(&[START, NAMES, &rows]);
    assert_eq!(rounded(unnamed.values(&gpu("gpu1"), Metric::SmActive)), [0.1, 0.11]);
    assert!(unnamed.summary().warnings.iter().any(|it| it.contains("does not describe GPU 1")));
}

#[test]
fn what_has_no_place_in_a_recording_is_told_and_not_made_up() {
    let rows = samples(
        1,
        &[(0, 2, "10"), (0, 5, "30"), (0, 7, "80"), (0, 8, "5"), (0, 9, "3"), (100, 2, "NULL")],
    );
    let it = import(&[START, GPUS, NAMES, &rows]);
    assert!(it.values(&gpu(A), Metric::DramActive).is_empty(), "reads alone are not all traffic");
    let spots = it.blind_spots();
    for spot in [
        format!("NotReported {A} pcie_receive_bytes_per_s"),
        format!("Ambiguous {A} sm_occupancy_ratio"),
        format!("NotRecorded {A} framebuffer_used_bytes"),
        format!("NotReported {A} dram_active_ratio"),
        "NotRecorded all gpu_utilization_pct".to_owned(),
    ] {
        assert!(spots.contains(&spot), "{spot}: {spots:?}");
    }
    assert_eq!(spots.len(), 5, "{spots:?}");
    assert!(it.summary().warnings.iter().any(|it| it.contains("SM Issue")), "{:?}", it.summary());
}

#[test]
fn the_busy_share_of_a_process_is_the_union_of_its_kernels_in_windows_of_10_ms() {
    // 0 to 5 and 4 to 12 ms overlap: 12 ms busy; then nothing until 35 ms.
    let rows = kernels(&[(0, 4101, 35_000, 40_000), (0, 4101, 0, 5_000), (0, 4101, 4_000, 12_000)]);
    let it = import(&[START, GPUS, KERNELS, &rows]);
    let subject = process(A, 4101);
    assert_eq!(it.values(&subject, Metric::GpuUtilization), [100.0, 20.0, 0.0, 50.0]);
    assert_eq!(times(&it, &subject, Metric::GpuUtilization), [10_000, 20_000, 30_000, 40_000]);
    assert_eq!(it.recording.outline.processes[0].name.as_deref(), Some("python3"));
    assert_eq!(
        it.blind_spots(),
        ["NotRecorded all gpu_utilization_pct", "NotRecorded all sm_active_ratio"]
    );
}

#[test]
fn processes_that_share_a_gpu_and_graphs_are_said_to_look_busier_than_they_were() {
    let graphs =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL;";
    let rows = kernels(&[(1, 4101, 0, 10_000), (1, 4202, 0, 5_000)]);
    let it = import(&[START, GPUS, KERNELS, &rows, graphs]);
    assert_eq!(it.values(&process(B, 4101), Metric::GpuUtilization), [100.0]);
    assert_eq!(
        it.values(&process(B, 4202), Metric::GpuUtilization),
        [50.0],
        "without a row in PROCESSES"
    );
    let spots = it.blind_spots();
    assert!(spots.contains(&format!("Ambiguous {B} gpu_utilization_pct")), "{spots:?}");
    assert!(spots.contains(&"TooCoarse all gpu_utilization_pct".to_owned()), "{spots:?}");
}

#[test]
fn a_process_that_sees_some_gpus_only_is_believed_about_their_numbers() {
    let called = format!(
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
         INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 4101, '{B}');"
    );
    let rows = kernels(&[(0, 4101, 0, 5_000), (0, 4202, 0, 2_000), (7, 4202, 0, 2_000)]);
    let it = import(&[START, GPUS, KERNELS, &called, &rows]);
    assert_eq!(it.values(&process(B, 4101), Metric::GpuUtilization), [50.0]);
    assert_eq!(it.values(&process(A, 4202), Metric::GpuUtilization), [20.0]);
    assert!(it.summary().warnings.iter().any(|it| it.contains("devices 7")), "{:?}", it.summary());
}

#[test]
fn without_a_start_of_the_capture_the_user_gives_one() {
    let rows = samples(1, &[(0, 2, "10"), (100, 2, "11")]);
    let bytes = database(&[GPUS, NAMES, &rows]);
    let (error, _) = read(&Nsight, &bytes, &ImportOptions::default()).error();
    assert_eq!(error, "log: has no time stamps");
    let it = read(&Nsight, &bytes, &every_second());
    let micros: Vec<i64> = it
        .recording
        .series(&gpu(A), Metric::SmActive)
        .unwrap()
        .times()
        .iter()
        .map(|it| it.as_micros())
        .collect();
    assert_eq!(micros, [100, 200]);
    assert!(it.blind_spots().contains(&"ClockAssumed all all".to_owned()));
}

#[test]
fn cells_of_a_wrong_type_are_rejected_with_table_and_row() {
    let rows = samples(1, &[(0, 2, "10"), (100, 2, "'hot'"), (200, 2, "x'00ff'"), (300, 2, "30")])
        + "INSERT INTO GPU_METRICS VALUES (7, 'soon', 281479271677953, 2, 1), (7, 400000, NULL, 2, 1);";
    let it = import(&[START, GPUS, NAMES, &rows]);
    assert_eq!(rounded(it.values(&gpu(A), Metric::SmActive)), [0.1, 0.3]);
    let said: Vec<String> =
        it.summary().rejections.first().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "log:2: column `GPU_METRICS.value`: expected a number, found `hot`",
            "log:3: column `GPU_METRICS.value`: expected a number, found `a blob`",
            "log:5: column `GPU_METRICS.timestamp`: expected a whole number, found `soon`",
            "log:6: column `GPU_METRICS.typeId`: expected a whole number, found `NULL`",
        ]
    );
}

#[test]
fn a_column_that_is_worked_out_while_it_is_read_is_no_column() {
    let table =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
        globalPid INTEGER GENERATED ALWAYS AS (length(zeroblob(100000000))) VIRTUAL);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 10, 0);";
    let (error, _) = import(&[START, GPUS, table]).error();
    assert!(error.contains("the column `globalPid`"), "{error}");
}

#[test]
fn samples_from_another_age_are_rejected() {
    let week_us = 7 * 24 * 3600 * 1_000_000_i64;
    let rows = samples(1, &[(0, 2, "10"), (100, 2, "11"), (week_us + 1, 2, "12")]);
    let it = import(&[START, GPUS, NAMES, &rows]);
    assert_eq!(it.values(&gpu(A), Metric::SmActive).len(), 2);
    assert_eq!(it.summary().rejections.count(), 1);
}

#[test]
fn kernels_from_another_age_are_rejected_and_do_not_make_a_million_windows() {
    let rows = kernels(&[(0, 4101, 0, 10_000), (0, 4101, 20_000, 10_000)])
        + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 9223372036854775807, 0, 7, 72620612794712064, 1);";
    let it = import(&[START, GPUS, KERNELS, &rows]);
    assert_eq!(it.values(&process(A, 4101), Metric::GpuUtilization), [100.0]);
    assert_eq!(it.summary().rejections.count(), 2);
    let far = kernels(&[(0, 4101, 0, 10), (0, 4101, 500_000_000_000, 500_000_000_010)]);
    let it = read(&Nsight, database(&[START, GPUS, KERNELS, &far]), &ImportOptions::default());
    assert!(it.recording.traces.is_empty());
    assert!(
        it.summary().warnings.iter().any(|it| it.contains("windows of 10 ms")),
        "{:?}",
        it.summary()
    );
}

#[test]
fn another_database_is_refused_by_the_names_of_its_tables() {
    let bytes = database(&[
        "CREATE TABLE moz_places (id INTEGER, url TEXT); CREATE TABLE moz_bookmarks (id INTEGER);",
    ]);
    assert_eq!(Nsight.recognise(&bytes), Likeness::Maybe);
    let (error, remedy) = read(&Nsight, bytes, &ImportOptions::default()).error();
    assert!(error.contains("moz_bookmarks, moz_places"), "{error}");
    assert!(remedy.contains("nsys export --type sqlite"), "{remedy}");
    let old = database(&[START, "CREATE TABLE GENERIC_EVENTS (rawTimestamp INTEGER, data TEXT);"]);
    assert!(read(&Nsight, old, &ImportOptions::default()).error().1.contains("newer nsys"));
    let view = database(&[
        START,
        "CREATE VIEW GPU_METRICS AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT x FROM a;",
    ]);
    assert!(read(&Nsight, view, &ImportOptions::default()).result.is_err(), "a view is no table");
}

#[test]
fn a_table_that_lacks_a_column_is_named() {
    let (error, _) = import(&[
        START,
        "CREATE TABLE GPU_METRICS (timestamp INTEGER, metricId INTEGER, value REAL);",
    ])
    .error();
    assert!(error.contains("the column `typeId` in the table GPU_METRICS"), "{error}");
    let lacking = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER);";
    let (error, _) = import(&[START, lacking]).error();
    assert!(error.contains("`deviceId` in the table CUPTI_ACTIVITY_KIND_KERNEL"), "{error}");
    let rows = samples(1, &[(0, 2, "10"), (100, 2, "11")]);
    let it = import(&[START, GPUS, NAMES, &rows, lacking]);
    assert_eq!(it.values(&gpu(A), Metric::SmActive).len(), 2, "metrics are read all the same");
    assert!(it.summary().warnings.iter().any(|it| it.contains("`deviceId`")));
}

#[test]
fn a_header_in_wal_mode_is_read_and_told() {
    let mut bytes = database(&[START, GPUS, NAMES, &samples(1, &[(0, 2, "10"), (100, 2, "11")])]);
    bytes[18..20].fill(2);
    let it = read(&Nsight, bytes, &ImportOptions::default());
    assert_eq!(it.values(&gpu(A), Metric::SmActive).len(), 2);
    assert!(it.summary().warnings.iter().any(|it| it.contains("WAL")));
}

#[test]
fn wherever_a_database_is_cut_its_start_is_read_or_an_error_names_the_place() {
    let many: Vec<(i64, i64, &str)> = (0..400).map(|it| (it * 100, 2, "10")).collect();
    let whole = database(&[START, GPUS, NAMES, &samples(1, &many)]);
    let full = read(&Nsight, &whole, &ImportOptions::default());
    assert_eq!(full.values(&gpu(A), Metric::SmActive).len(), 400);
    let mut kept = 0;
    for cut in (1..whole.len()).step_by(512) {
        let it = read(&Nsight, &whole[..cut], &ImportOptions::default());
        let count = it.values(&gpu(A), Metric::SmActive).len();
        assert!(count < 400, "{cut}");
        match &it.result {
            Ok(summary) => {
                assert!(summary.warnings.iter().any(|it| it.contains("before its end")), "{cut}");
                assert!(
                    it.recording.outline.blind_spots.iter().any(|it| it.kind == BlindSpotKind::Gap)
                );
                kept += usize::from(count > 0);
            }
            Err(error) => assert!(!error.remedy().is_empty(), "{cut}"),
        }
    }
    assert!(kept > 3, "some cuts leave samples: {kept}");
    assert!(read(&Nsight, "", &ImportOptions::default()).error().0.contains("no samples"));
    assert!(
        read(&Nsight, "SQLite", &ImportOptions::default()).error().0.contains("an SQLite database")
    );
}

#[test]
fn a_database_that_is_too_large_is_refused_before_it_takes_memory() {
    let mut bytes = database(&[START, GPUS, NAMES]);
    // Pages of 64 KiB, 2²⁰ of them: 64 GiB, in a header that is otherwise whole.
    bytes[16..18].copy_from_slice(&[0, 1]);
    bytes[28..32].copy_from_slice(&(1_u32 << 20).to_be_bytes());
    let counter: [u8; 4] = bytes[24..28].try_into().unwrap();
    bytes[92..96].copy_from_slice(&counter);
    let (error, remedy) = read(&Nsight, bytes, &ImportOptions::default()).error();
    assert!(error.contains("at most 1024 MiB") && error.contains("65536 MiB"), "{error}");
    assert!(remedy.contains("--tables"), "{remedy}");
}
