//! Streams of Arrow: columns of any type and content, whole and damaged, read device after device as `findings --arrow` does.

#![no_main]

use cotenant::domain::ident::{GpuId, Subject};
use cotenant::domain::recording::Recording;
use cotenant::fleet::observe::observe;
use cotenant::recommender::policy::Policy;
use cotenant::storage::arrow::{DeviceRows, DeviceStream, StreamError};
use cotenant_fuzz::{Choices, START_US};
use libfuzzer_sys::fuzz_target;
use polars_arrow::array::{Array, BooleanArray, PrimitiveArray, Utf8Array, Utf8ViewArray};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field, TimeUnit};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_arrow::record_batch::RecordBatchT;
use std::io::Cursor;
use std::sync::Arc;

/// Columns that are known, and two that are not.
const NAMES: [&str; 18] = [
    "time", "gpu", "device", "host", "recording", "window", "outline", "model", "index", "source", "pid",
    "process_started_us", "tenant", "gpu_instance", "gpu_utilization_pct", "framebuffer_used_bytes", "x", "",
];
/// Texts that mean something in one of them.
const TEXTS: [&str; 8] = ["g0", "GPU-0", "n", "0", "", "a/b", "NVIDIA A100-SXM4-80GB", "{}"];
const MOST_ROWS: usize = 60;
const MOST_CHANGES: usize = 6;

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let stream = match choices.byte() % 3 {
        0 => choices.rest().to_vec(),
        1 => made(&mut choices),
        _ => {
            let mut whole = made(&mut choices);
            for _ in 0..MOST_CHANGES {
                if choices.is_empty() {
                    break;
                }
                damage(&mut whole, &mut choices);
            }
            whole
        }
    };
    if let Err(error) = look(stream) {
        assert!(!error.to_string().is_empty() && !error.remedy().is_empty());
    }
});

/// A whole stream of a few batches; the rows of a device mostly stand together.
fn made(choices: &mut Choices<'_>) -> Vec<u8> {
    let width = 2 + usize::from(choices.byte()) % 8;
    let height = usize::from(choices.byte()) % MOST_ROWS;
    let columns: Vec<(&str, Box<dyn Array>)> = (0..width)
        .map(|place| {
            // Most streams have stamps and a GPU.
            let choice = choices.byte();
            let name = if place < 2 && choice < 0xf0 { NAMES[place] } else { NAMES[usize::from(choice) % NAMES.len()] };
            (name, column(name, height, choices))
        })
        .collect();
    let field = |(name, array): &(&str, Box<dyn Array>)| Field::new((*name).into(), array.dtype().clone(), true);
    let schema: ArrowSchema = columns.iter().map(field).collect();
    let columns: Vec<Box<dyn Array>> = schema.iter_names().map(|name| {
        columns.iter().rev().find(|it| it.0 == name.as_str()).map(|it| it.1.clone()).expect("a column")
    }).collect();
    let schema = Arc::new(schema);
    let mut writer = StreamWriter::new(Vec::new(), WriteOptions { compression: None });
    writer.start(&schema, None).expect("a schema");
    let step = 1 + usize::from(choices.byte()) % MOST_ROWS;
    for from in (0..height).step_by(step) {
        let rows = step.min(height - from);
        let arrays = columns.iter().map(|it| it.sliced(from, rows)).collect();
        let batch = RecordBatchT::try_new(rows, Arc::clone(&schema), arrays).expect("equal lengths");
        writer.write(&batch, None).expect("a batch");
    }
    if choices.byte() != 1 {
        writer.finish().expect("an end mark");
    }
    writer.into_inner()
}

/// Cells of a column: of the type that it should have, mostly.
fn column(name: &str, height: usize, choices: &mut Choices<'_>) -> Box<dyn Array> {
    let kind = match (choices.byte(), name) {
        (..0xe0, "time") => 0,
        (..0xe0, "gpu" | "device" | "host" | "recording" | "window" | "outline" | "model" | "tenant") => 1,
        (..0xe0, "pid" | "index" | "source" | "process_started_us" | "gpu_instance") => 2,
        (..0xe0, _) => 3,
        (other, _) => other % 8,
    };
    let shape = choices.byte();
    let start = if shape & 1 == 0 { START_US } else { i64::from(choices.number()) };
    let gap = if shape & 2 == 0 { usize::MAX } else { 1 + usize::from(choices.byte()) };
    let is_there = |row: usize| row % gap != gap - 1;
    let text = if shape & 4 == 0 { TEXTS[usize::from(choices.byte()) % TEXTS.len()].to_owned() } else { choices.text() };
    let run = 1 + usize::from(choices.byte());
    let step = 1 + i64::from(choices.byte()) * 10_000;
    let numbers = (0..height).map(|row| match kind {
        0 => start.wrapping_add(row as i64 * step),
        _ => (row / run) as i64 + start % 7,
    });
    let whole = numbers.enumerate().map(|(row, it)| is_there(row).then_some(it));
    let readings = (0..height).map(|row| is_there(row).then_some(match shape & 0x18 {
        0x08 => f64::NAN,
        0x10 => f64::from(u32::MAX) * start as f64,
        _ => ((row / run) % 2) as f64 * 90.0,
    }));
    let texts: Vec<Option<String>> =
        (0..height).map(|row| is_there(row).then(|| format!("{text}{}", row / run))).collect();
    let stamps = ArrowDataType::Timestamp(TimeUnit::Microsecond, None);
    match kind {
        0 => whole.collect::<PrimitiveArray<i64>>().to(stamps).boxed(),
        1 => texts.iter().map(Option::as_deref).collect::<Utf8Array<i32>>().boxed(),
        2 => whole.collect::<PrimitiveArray<i64>>().boxed(),
        3 => readings.collect::<PrimitiveArray<f64>>().boxed(),
        4 => Utf8ViewArray::from_slice(texts.iter().map(Option::as_deref).collect::<Vec<_>>()).boxed(),
        5 => whole.map(|it| it.map(|it| it as i32)).collect::<PrimitiveArray<i32>>().boxed(),
        6 => readings.map(|it| it.map(|it| it as f32)).collect::<PrimitiveArray<f32>>().boxed(),
        _ => (0..height).map(|row| is_there(row).then_some(row % 2 == 0)).collect::<BooleanArray>().boxed(),
    }
}

/// Changes a byte or a number, or cuts.
fn damage(content: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let kind = choices.byte();
    let at = usize::from(u16::from_le_bytes([choices.byte(), choices.byte()])) % content.len().max(1);
    match kind & 0x07 {
        0..=3 => content.iter_mut().skip(at).take(1).for_each(|it| *it = choices.byte()),
        4 | 5 => {
            let with = choices.number().to_le_bytes();
            content.iter_mut().skip(at).zip(with).for_each(|it| *it.0 = it.1);
        }
        6 => content.truncate(at),
        _ => {
            let until = (at + usize::from(choices.byte())).min(content.len());
            content.drain(at..until);
        }
    }
}

/// Reads device after device, and looks at each.
fn look(stream: Vec<u8>) -> Result<(), StreamError> {
    let input = Box::new(Cursor::new(stream));
    let mut stream = DeviceStream::open(input, (None, None), &DeviceRows::is_wanted)?;
    while let Some(key) = stream.next_device()? {
        let mut rows = DeviceRows::new(&key);
        let mut problem = None;
        while let (None, Some(slice)) = (&problem, stream.more()?) {
            problem = rows.take(&slice).err();
        }
        match problem.map_or_else(|| rows.finish(), Err) {
            Ok(part) => observed(part),
            Err(why) => assert!(!why.is_empty()),
        }
    }
    Ok(())
}

/// Every reading is a number, stamps rise, and each GPU has a finding.
fn observed(part: Recording) {
    for series in part.traces.values().flat_map(|it| it.series.values()) {
        assert!(series.values().iter().all(|it| it.is_finite()), "a reading that is no number");
        assert!(series.times().windows(2).all(|it| it[0] < it[1]), "stamps out of order");
    }
    let gpus: Vec<GpuId> = part.traces.keys().filter_map(Subject::gpu).cloned().collect();
    if let Some(gpu) = gpus.first() {
        let found = observe(part, gpu, "recording", &Policy::default());
        assert!(serde_json::to_string(&found).is_ok(), "a finding that cannot be written");
    }
}
