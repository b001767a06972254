//! Findings as a table: of recordings and of streams of rows, whole and poisoned, and what a plan makes of them.

mod support;

use cotenant::domain::ident::{GpuId, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::Device;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::storage::{Mode, RecordingWriter};
use polars::prelude::{DataFrame, DataType, ParquetReader, SerReader};
use polars_arrow::array::{Array, PrimitiveArray, Utf8Array};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field, TimeUnit};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_arrow::record_batch::RecordBatchT;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use support::Workbench;

/// Rows that go into one batch: few, so that devices end within batches and across them.
const BATCH_ROWS: usize = 700;

/// One column of a made stream.
#[derive(Clone)]
enum Cells {
    Text(Vec<Option<String>>),
    Number(Vec<Option<f64>>),
    Stamp(Vec<Option<i64>>),
}

impl Cells {
    fn dtype(&self) -> ArrowDataType {
        match self {
            Self::Text(_) => ArrowDataType::Utf8,
            Self::Number(_) => ArrowDataType::Float64,
            Self::Stamp(_) => ArrowDataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    fn part(&self, from: usize, until: usize) -> Box<dyn Array> {
        match self {
            Self::Text(it) => {
                let cells = it[from..until].iter().map(Option::as_deref);
                cells.collect::<Utf8Array<i32>>().boxed()
            }
            Self::Number(it) => {
                it[from..until].iter().copied().collect::<PrimitiveArray<f64>>().boxed()
            }
            Self::Stamp(it) => {
                let cells: PrimitiveArray<i64> = it[from..until].iter().copied().collect();
                cells.to(self.dtype()).boxed()
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(it) => it.len(),
            Self::Number(it) => it.len(),
            Self::Stamp(it) => it.len(),
        }
    }
}

type Columns = Vec<(&'static str, Cells)>;

/// These columns as a stream of Arrow.
fn arrow(columns: &[(&str, Cells)]) -> Vec<u8> {
    let field = |(name, cells): &(&str, Cells)| Field::new((*name).into(), cells.dtype(), true);
    let schema: ArrowSchema = columns.iter().map(field).collect();
    let schema = Arc::new(schema);
    let mut writer = StreamWriter::new(Vec::new(), WriteOptions { compression: None });
    writer.start(&schema, None).expect("a schema");
    let height = columns.first().map_or(0, |it| it.1.len());
    for from in (0..height).step_by(BATCH_ROWS) {
        let until = height.min(from + BATCH_ROWS);
        let arrays = columns.iter().map(|it| it.1.part(from, until)).collect();
        let batch = RecordBatchT::try_new(until - from, Arc::clone(&schema), arrays);
        writer.write(&batch.expect("equal lengths"), None).expect("a batch");
    }
    writer.finish().expect("an end mark");
    writer.into_inner()
}

/// Rows by recording and device.
type Parts = BTreeMap<(String, Option<String>), Vec<DataFrame>>;

/// Rows of recordings, device after device, as a stream of Arrow with the outline of each.
fn streamed(bench: &Workbench, recordings: &[&str]) -> Vec<u8> {
    let mut rows = Parts::new();
    let mut outlines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for recording in recordings {
        for file in segments(&bench.path(recording)) {
            let mut reader = ParquetReader::new(std::fs::File::open(file).expect("a segment"));
            let metadata = reader.get_metadata().expect("a footer").clone();
            let pairs = metadata.key_value_metadata().clone().expect("a footer");
            let footer = pairs.iter().find(|it| it.key == "cotenant").expect("our footer");
            let footer: Value =
                serde_json::from_str(footer.value.as_deref().expect("a text")).expect("JSON");
            outlines
                .entry((*recording).to_owned())
                .or_default()
                .push(footer["outline"].to_string());
            let frame = reader.finish().expect("rows");
            let gpus = frame.column("gpu").expect("gpus").str().expect("text").clone();
            let named: std::collections::BTreeSet<Option<&str>> = gpus.iter().collect();
            let only: Vec<&str> = named.iter().flatten().copied().collect();
            let only = if let [one] = only.as_slice() { Some((*one).to_owned()) } else { None };
            for gpu in &named {
                let is_it: polars::prelude::BooleanChunked =
                    gpus.iter().map(|it| Some(it == *gpu)).collect();
                let part = frame.filter(&is_it).expect("a part");
                let device = gpu.map(str::to_owned).or_else(|| only.clone());
                rows.entry(((*recording).to_owned(), device)).or_default().push(part);
            }
        }
    }
    arrow(&joined(&rows, &outlines))
}

/// One row of the outline for each segment in front of each device, then its rows.
fn joined(rows: &Parts, outlines: &BTreeMap<String, Vec<String>>) -> Vec<(&'static str, Cells)> {
    let mut names: Vec<&'static str> = vec!["time", "gpu", "tenant", "pid", "process_started_us"];
    names.extend(["gpu_instance", "compute_instance", "mig_generation", "source"]);
    names.extend(Metric::all().map(Metric::key));
    let (mut recording, mut device, mut outline) = (Vec::new(), Vec::new(), Vec::new());
    let mut columns: Vec<(&'static str, Cells)> = names
        .iter()
        .map(|it| match *it {
            "time" => (*it, Cells::Stamp(Vec::new())),
            "gpu" | "tenant" => (*it, Cells::Text(Vec::new())),
            _ => (*it, Cells::Number(Vec::new())),
        })
        .collect();
    for ((of, gpu), parts) in rows {
        let facts = &outlines[of];
        let height = parts.iter().map(DataFrame::height).sum::<usize>() + facts.len();
        recording.extend(std::iter::repeat_n(Some(of.clone()), height));
        device.extend(std::iter::repeat_n(gpu.clone(), height));
        outline.extend(facts.iter().cloned().map(Some));
        outline.extend(std::iter::repeat_n(None, height - facts.len()));
        for (name, cells) in &mut columns {
            grow(cells, facts.len(), None);
            for part in parts {
                let column = part.column(name).ok();
                grow(cells, part.height(), column);
            }
        }
    }
    columns.push(("recording", Cells::Text(recording)));
    columns.push(("device", Cells::Text(device)));
    columns.push(("outline", Cells::Text(outline)));
    columns
}

fn grow(cells: &mut Cells, height: usize, column: Option<&polars::prelude::Column>) {
    match cells {
        Cells::Text(it) => match column {
            None => it.extend(std::iter::repeat_n(None, height)),
            Some(column) => {
                it.extend(column.str().expect("text").iter().map(|it| it.map(str::to_owned)));
            }
        },
        Cells::Number(it) => match column {
            None => it.extend(std::iter::repeat_n(None, height)),
            Some(column) => {
                let numbers = column.cast(&DataType::Float64).expect("numbers");
                it.extend(numbers.f64().expect("numbers").iter());
            }
        },
        Cells::Stamp(it) => match column {
            None => it.extend(std::iter::repeat_n(None, height)),
            Some(column) => {
                let whole = column.cast(&DataType::Int64).expect("whole numbers");
                it.extend(whole.i64().expect("whole numbers").iter());
            }
        },
    }
}

fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let inside = std::fs::read_dir(folder).expect("a folder").flatten().map(|it| it.path());
    let mut all: Vec<_> =
        inside.filter(|it| it.extension().is_some_and(|it| it == "parquet")).collect();
    all.sort();
    all
}

/// The lines of JSON that the program answers, by recording and GPU.
fn lines(text: &str) -> Vec<Value> {
    let mut lines: Vec<Value> =
        text.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    let key = |it: &Value| (it["recording"].to_string(), it["gpu"].to_string());
    lines.sort_by_key(key);
    lines
}

/// Ten minutes of devices on which one tenant works a second in every twenty, in the documented schema.
fn made(devices: &[(&str, &str)]) -> Columns {
    let (mut time, mut host, mut gpu, mut tenant) = (vec![], vec![], vec![], vec![]);
    let (mut busy, mut used, mut total, mut model) = (vec![], vec![], vec![], vec![]);
    for (place, (of_host, name)) in devices.iter().enumerate() {
        for second in 0..600_i64 {
            for who in [None, Some(format!("nb-{name}"))] {
                time.push(Some(second * 1_000_000));
                host.push(Some((*of_host).to_owned()));
                gpu.push(Some((*name).to_owned()));
                let is_on = (second + 7 * place as i64) % 20 == 0;
                busy.push(Some(if is_on { 100.0 } else { 0.0 }));
                used.push(Some(4.0e9));
                total.push(Some(4.8e10));
                model.push(Some("NVIDIA L40S".to_owned()));
                tenant.push(who);
            }
        }
    }
    vec![
        ("time", Cells::Stamp(time)),
        ("host", Cells::Text(host)),
        ("gpu", Cells::Text(gpu)),
        ("tenant", Cells::Text(tenant)),
        ("model", Cells::Text(model)),
        ("gpu_utilization_pct", Cells::Number(busy)),
        ("framebuffer_used_bytes", Cells::Number(used)),
        ("framebuffer_total_bytes", Cells::Number(total)),
    ]
}

fn of<'a>(columns: &'a mut Columns, name: &str) -> &'a mut Cells {
    &mut columns.iter_mut().find(|it| it.0 == name).expect("a column").1
}

fn found(bench: &Workbench, columns: &Columns) -> Vec<Value> {
    let answer = bench.run_with_input(&["findings", "--arrow", "-o", "json"], &arrow(columns));
    answer.expect_code(0);
    answer.stdout().lines().map(|it| serde_json::from_str(it).expect("JSON")).collect()
}

#[test]
fn rows_through_a_stream_are_found_as_in_their_recordings() {
    let bench = Workbench::new();
    let recordings = ["demo/recording", "mig-two-slices/recording", "mirrored-pods/recording"];
    for scenario in ["demo", "mig-two-slices", "mirrored-pods"] {
        bench.play(scenario);
    }
    let stream = streamed(&bench, &recordings);
    let answer = bench.run_with_input(&["findings", "--arrow", "-o", "json"], &stream);
    answer.expect_code(0);
    for recording in recordings {
        let alone = bench.run(&["findings", recording, "--no-keep"]);
        alone.expect_code(0);
        let alone = lines(&alone.stdout());
        let all = lines(&answer.stdout());
        let own: Vec<Value> = all.into_iter().filter(|it| it["recording"] == recording).collect();
        assert!(!own.is_empty(), "{recording}");
        assert_eq!(own, alone, "{recording}");
    }
}

#[test]
fn a_plan_from_tables_is_the_plan_from_recordings_byte_for_byte() {
    let bench = Workbench::new();
    for folder in ["there/lake", "here/lake"] {
        std::fs::create_dir_all(bench.path(folder)).expect("a folder");
    }
    for scenario in ["demo", "mig-two-slices"] {
        bench.play(scenario);
        let place = bench.path(&format!("there/lake/{scenario}"));
        std::fs::rename(bench.path(&format!("{scenario}/recording")), place).expect("a move");
    }
    for (number, scenario) in ["demo", "mig-two-slices"].iter().enumerate() {
        let out = format!("here/lake/part-{number}.parquet");
        let recording = format!("there/lake/{scenario}");
        let arguments = ["findings", &recording, "--one-of-many", "--no-keep", "--out", &out];
        bench.run(&arguments).expect_code(0);
    }
    bench.file("here/lake/_SUCCESS", "");
    for form in ["json", "html"] {
        let plans = ["there/lake", "here/lake"]
            .map(|it| bench.run(&["plan", it, "--no-keep", "-o", form]).stdout());
        assert!(plans[0].len() > 200, "{}", plans[0]);
        assert_eq!(plans[0], plans[1], "{form}");
    }
    let whole = bench.run(&["findings", "there/lake", "--no-keep", "--out", "lake"]);
    whole.expect_code(0);
    assert!(!bench.path("lake").is_dir(), "without an ending it is one file of lines");
}

#[test]
fn a_bad_device_is_a_row_and_the_others_are_found() {
    let bench = Workbench::new();
    let devices = [("a", "g0"), ("a", "g1"), ("b", "g0"), ("a", "g0")];
    let mut columns = made(&devices);
    if let Cells::Stamp(it) = of(&mut columns, "time") {
        it[1_200 + 77] = None;
    }
    let rows = found(&bench, &columns);
    let told: Vec<(String, String, String)> = rows
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or("-").to_owned();
            (text("host"), text("gpu"), text("error"))
        })
        .collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], ("a".into(), "g0".into(), "-".into()));
    assert_eq!(told[1].2, "row 1278 of the stream: it has no stamp");
    assert_eq!(told[2], ("b".into(), "g0".into(), "-".into()));
    assert!(told[3].2.starts_with("comes a second time"), "{}", told[3].2);
    assert_eq!(rows[0]["finding"]["tenants"][0]["name"], "nb-g0");
    assert_eq!(rows[0]["model"], "NVIDIA L40S");
    assert_eq!(rows[1]["finding"], Value::Null);
}

#[test]
fn a_column_of_the_wrong_type_is_said_of_every_device_and_nothing_of_use_too() {
    let bench = Workbench::new();
    let mut columns = made(&[("a", "g0"), ("a", "g1")]);
    let height = columns[0].1.len();
    *of(&mut columns, "gpu_utilization_pct") = Cells::Text(vec![Some("much".to_owned()); height]);
    let rows = found(&bench, &columns);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(
            row["error"],
            "column `gpu_utilization_pct` holds text, and has to hold numbers"
        );
    }
    let nothing: Columns =
        columns.iter().filter(|it| ["time", "host", "gpu"].contains(&it.0)).cloned().collect();
    let rows = found(&bench, &nothing);
    assert_eq!(rows[0]["error"], "holds no reading of a metric that is known");
    let no_time: Columns = made(&[("a", "g0")]).into_iter().filter(|it| it.0 != "time").collect();
    assert_eq!(found(&bench, &no_time)[0]["error"], "there is no column `time`");
}

#[test]
fn a_missing_reading_is_never_zero_and_not_a_number_is_missing() {
    let bench = Workbench::new();
    let mut columns = made(&[("a", "g0")]);
    if let Cells::Number(it) = of(&mut columns, "gpu_utilization_pct") {
        for (place, cell) in it.iter_mut().enumerate() {
            *cell = match place % 4 {
                0 => Some(50.0),
                1 => Some(50.0),
                2 => None,
                _ => Some(f64::NAN),
            };
        }
    }
    let rows = found(&bench, &columns);
    assert_eq!(rows[0]["busy_mean_ratio"], 0.5);
}

#[test]
fn a_stream_that_is_none_or_breaks_off_is_an_error_and_what_was_whole_is_there() {
    let bench = Workbench::new();
    let none = bench.run_with_input(&["findings", "--arrow"], b"time,gpu\n1,2\n");
    none.expect_code(2);
    assert!(none.stderr().contains("no Arrow stream"), "{}", none.stderr());
    let whole = arrow(&made(&[("a", "g0"), ("a", "g1"), ("a", "g2")]));
    for cut in [whole.len() - 8, whole.len() * 5 / 6] {
        let broken = bench.run_with_input(&["findings", "--arrow", "-o", "json"], &whole[..cut]);
        broken.expect_code(1);
        assert!(broken.stderr().contains("is broken after"), "{}", broken.stderr());
        assert!(!broken.stdout().contains("\"g2\""), "the last device is not whole");
        assert!(broken.stdout().contains("\"g0\""), "{}", broken.stdout());
    }
    let empty = bench.run_with_input(&["findings", "--arrow", "-o", "json"], &arrow(&made(&[])));
    empty.expect_code(0);
    assert_eq!(empty.stdout(), "");
}

#[test]
fn any_columns_are_read_through_a_mapping() {
    let bench = Workbench::new();
    bench.file(
        "map.toml",
        "name = \"exported\"\nabout = \"a table of a warehouse\"\n\
         [time]\ncolumn = \"ts\"\nunit = \"milliseconds\"\n\
         [gpu]\ncolumn = \"uuid\"\nhost_column = \"node\"\nmodel_column = \"kind\"\n\
         [[metric]]\ncolumn = \"util\"\nmetric = \"gpu_utilization_pct\"\n\
         [[metric]]\ncolumn = \"used\"\nmetric = \"framebuffer_used_bytes\"\n\
         [[metric]]\ncolumn = \"total\"\nmetric = \"framebuffer_total_bytes\"\n",
    );
    let mut columns = made(&[("a", "GPU-aa"), ("b", "GPU-bb")]);
    let theirs = [
        ("time", "ts"),
        ("host", "node"),
        ("gpu", "uuid"),
        ("model", "kind"),
        ("gpu_utilization_pct", "util"),
        ("framebuffer_used_bytes", "used"),
        ("framebuffer_total_bytes", "total"),
    ];
    for (own, other) in theirs {
        columns.iter_mut().filter(|it| it.0 == own).for_each(|it| it.0 = other);
    }
    let arguments = ["findings", "--arrow", "--mapping", "map.toml", "-o", "json"];
    let answer = bench.run_with_input(&arguments, &arrow(&columns));
    answer.expect_code(0);
    let rows: Vec<Value> =
        answer.stdout().lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    assert_eq!(rows.len(), 2, "{}", answer.stdout());
    for (row, host) in rows.iter().zip(["a", "b"]) {
        assert_eq!(row["host"], host);
        assert_eq!(row["busy_mean_ratio"], 0.05);
        assert_eq!(row["model"], "NVIDIA L40S");
        assert_eq!(row["error"], Value::Null);
    }
}

/// A recording of one GPU: ten minutes from a start.
fn recorded(folder: &Path, from_s: i64) {
    let mut writer = RecordingWriter::open(folder, Mode::Create).expect("a new recording");
    let gpu = GpuId::new("GPU-0");
    let model = Some("NVIDIA L40S".to_owned());
    let device = Device { host: Some("n".to_owned()), model, ..Device::named(gpu.clone()) };
    writer.fact(Fact::Device(device)).expect("a fact");
    let tenant = Subject::Tenant { gpu: Some(gpu.clone()), tenant: TenantId::new("nb") };
    for second in 0..600 {
        let at = Timestamp::from_micros((from_s + second) * 1_000_000);
        let busy = if second % 20 == 0 { 100.0 } else { 0.0 };
        for who in [Subject::device(&gpu), tenant.clone()] {
            let readings = [(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, 4.0e9)];
            writer.row(at, &who, SourceId(0), &readings).expect("a row");
        }
    }
    writer.finish().expect("a whole recording");
}

#[test]
fn windows_of_a_device_are_joined_and_the_same_time_twice_is_refused() {
    let bench = Workbench::new();
    for (name, from_s) in [("one", 0), ("two", 600), ("over", 100)] {
        recorded(&bench.path(name), from_s);
        let out = format!("{name}.parquet");
        bench.run(&["findings", name, "--out", &out]).expect_code(0);
    }
    let plan = bench.run(&["plan", "one.parquet", "two.parquet", "-o", "json"]);
    let plan: Value = serde_json::from_str(&plan.stdout()).expect("JSON");
    assert_eq!(plan["plan"]["summary"]["gpus"].as_u64(), Some(1));
    for twice in ["over.parquet", "copy.parquet"] {
        std::fs::copy(bench.path("one.parquet"), bench.path("copy.parquet")).expect("a copy");
        let answer = bench.run(&["plan", "one.parquet", twice]);
        answer.expect_code(2);
        assert!(answer.stderr().contains("two findings of the same time"), "{}", answer.stderr());
    }
    bench.file("policy.toml", "long_burst_s = 3.0\n");
    let other = bench.run(&["plan", "one.parquet", "--policy", "policy.toml"]);
    other.expect_code(2);
    assert!(other.stderr().contains("thresholds"), "{}", other.stderr());
}

#[test]
fn a_table_with_rows_that_say_why_gives_a_plan_that_names_them() {
    let bench = Workbench::new();
    recorded(&bench.path("whole"), 0);
    recorded(&bench.path("torn"), 0);
    let segment = bench.path("torn/segment-000000.parquet");
    let bytes = std::fs::read(&segment).expect("a segment");
    std::fs::write(&segment, &bytes[..bytes.len() / 2]).expect("half a segment");
    let answer = bench.run(&["findings", "whole", "torn", "--out", "all.parquet"]);
    answer.expect_code(0);
    assert!(
        answer.stderr().contains("findings of 1 devices, 1 rows say why"),
        "{}",
        answer.stderr()
    );
    let plan = bench.run(&["plan", "all.parquet"]);
    assert!(plan.stdout().contains("`torn` is left out: "), "{}", plan.stdout());
    assert!(plan.stdout().contains("2 recordings were read"), "{}", plan.stdout());
}

#[test]
fn a_damaged_table_of_findings_is_named_and_no_plan_is_made_of_it() {
    let bench = Workbench::new();
    recorded(&bench.path("one"), 0);
    bench.run(&["findings", "one", "--no-keep", "--out", "one.parquet"]).expect_code(0);
    bench.run(&["plan", "one.parquet"]).expect_code(0);
    let whole = std::fs::read(bench.path("one.parquet")).expect("a table");
    // Every part of the file, and each of the last bytes, which say where its footer is.
    let mark = whole.windows(8).rposition(|it| it == b"cotnsl01").expect("a seal");
    let places = (4..whole.len()).step_by(whole.len() / 40).chain(whole.len() - 8..whole.len());
    let changed = places.chain(mark..mark + 16).map(|place| {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        (format!("byte {place}"), bytes)
    });
    let cut = [mark - 1, mark + 4, mark + 20, whole.len() - 1];
    let cut = cut.map(|length| (format!("{length} bytes"), whole[..length].to_vec()));
    for (what, bytes) in changed.chain(cut) {
        bench.file("bad.parquet", &bytes);
        let answer = bench.run(&["plan", "bad.parquet"]);
        assert_ne!(answer.code(), 0, "{what}: {}", answer.stderr());
        assert!(answer.stderr().contains("bad.parquet"), "{what}: {}", answer.stderr());
        assert!(!answer.stderr().contains("panicked"), "{what}: {}", answer.stderr());
    }
    // Beside a whole one in a folder it costs its own GPUs only, and the plan says so.
    std::fs::create_dir(bench.path("both")).expect("a folder");
    bench.file("both/good.parquet", &whole);
    for place in [whole.len() / 2, mark - 1, mark + 2, mark + 10, mark + 40] {
        let mut changed = whole.clone();
        changed[place] ^= 0x55;
        for bytes in [&changed, &whole[..place].to_vec()] {
            bench.file("both/bad.parquet", bytes);
            let answer = bench.run(&["plan", "both", "-o", "json"]);
            answer.expect_code(0);
            let plan: Value = serde_json::from_str(&answer.stdout()).expect("JSON");
            assert_eq!(plan["plan"]["summary"]["gpus"].as_u64(), Some(1), "byte {place}");
            let told = plan["notes"].to_string();
            assert!(told.contains("bad.parquet"), "byte {place}: {told}");
            assert!(answer.stderr().contains("bad.parquet"), "byte {place}: {}", answer.stderr());
        }
    }
}

#[test]
fn a_torn_file_beside_recordings_is_a_row_that_names_it() {
    let bench = Workbench::new();
    recorded(&bench.path("lake/one"), 0);
    let segment = std::fs::read(bench.path("lake/one/segment-000000.parquet")).expect("a segment");
    bench.file("lake/torn.parquet", &segment[..segment.len() / 2]);
    let answer = bench.run(&["findings", "lake", "--no-keep", "-o", "json"]);
    answer.expect_code(0);
    let rows: Vec<Value> =
        answer.stdout().lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    let errors: Vec<&str> = rows.iter().filter_map(|it| it["error"].as_str()).collect();
    assert_eq!((rows.len(), errors.len()), (2, 1), "{rows:?}");
    assert!(errors[0].contains("torn.parquet"), "{errors:?}");
}

#[test]
fn a_table_takes_nothing_of_the_users_and_no_device() {
    let bench = Workbench::new();
    recorded(&bench.path("one"), 0);
    bench.file("one.tmp", "mine");
    bench.run(&["findings", "one", "--no-keep", "--out", "one.parquet"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(bench.path("one.tmp")).expect("a file"), "mine");
    let out = bench.path("device");
    std::os::unix::fs::symlink("/dev/null", &out).expect("a link");
    bench.run(&["findings", "one", "--no-keep", "--out", "device", "-o", "parquet"]).expect_code(0);
    assert!(!std::fs::metadata(&out).expect("a device").is_file());
}

#[test]
fn devices_before_a_break_are_kept_in_a_table_too() {
    let bench = Workbench::new();
    let whole = arrow(&made(&[("a", "g0"), ("a", "g1"), ("a", "g2")]));
    let cut = &whole[..whole.len() * 5 / 6];
    let broken = bench.run_with_input(&["findings", "--arrow", "--out", "some.parquet"], cut);
    broken.expect_code(1);
    let plan = bench.run(&["plan", "some.parquet", "-o", "json"]);
    let plan: Value = serde_json::from_str(&plan.stdout()).expect("JSON");
    assert_eq!(plan["plan"]["summary"]["gpus"].as_u64(), Some(2), "{plan:#}");
}

#[test]
fn a_reader_that_goes_is_a_quiet_end() {
    let bench = Workbench::new();
    recorded(&bench.path("one"), 0);
    for form in ["json", "arrow"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .args(["findings", "one", "--no-keep", "-o", form])
            .current_dir(bench.path("."))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("cotenant starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            (ended.status.code(), told.contains("error")),
            (Some(0), false),
            "{form}: {told}"
        );
    }
}
