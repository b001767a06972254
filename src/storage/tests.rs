use crate::domain::collector::Collector;
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, Phase};
use crate::domain::recording::Recording;
use crate::domain::sink::{Fact, Sink};
use crate::domain::source::SourceId;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::storage::{Mode, RecordingWriter, Selection, StoredRecording};
use proptest::prelude::{Strategy, prop, proptest};
use std::collections::BTreeSet;
use std::path::PathBuf;

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    Place { _folder: folder, path }
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn subjects() -> Vec<Subject> {
    let gpu = GpuId::new("GPU-1");
    let instance =
        MigInstanceId { gpu: gpu.clone(), gpu_instance: 3, compute_instance: None, generation: 0 };
    vec![
        Subject::device(&gpu),
        Subject::device(&GpuId::from_index(1)),
        Subject::MigInstance { instance },
        Subject::Process { gpu: gpu.clone(), process: ProcessKey { pid: 7, started: None } },
        Subject::Tenant { gpu: None, tenant: TenantId::new("pod, \"a\"\n") },
    ]
}

fn fill(sink: &mut dyn Sink, rows: &[(i64, usize, Metric, f64)]) {
    let subjects = subjects();
    for (micros, subject, metric, value) in rows {
        sink.row(at(*micros), &subjects[*subject], SourceId(0), &[(*metric, *value)]).unwrap();
    }
}

fn stored(rows: &[(i64, usize, Metric, f64)], segment_readings: u64) -> (Place, Recording) {
    let place = place();
    let mut writer = RecordingWriter::open(&place.path, Mode::Create)
        .unwrap()
        .with_segment_readings(segment_readings);
    fill(&mut writer, rows);
    writer.finish().unwrap();
    let loaded = StoredRecording::open(&place.path).unwrap().load(&Selection::default()).unwrap();
    (place, loaded)
}

fn row() -> impl Strategy<Value = (i64, usize, Metric, f64)> {
    let metric = prop::sample::select(vec![
        Metric::GpuUtilization,
        Metric::FramebufferUsed,
        Metric::SmActive,
        Metric::Energy,
    ]);
    (0..200i64, 0..5usize, metric, 0..4096u32).prop_map(|(t, s, m, v)| (t, s, m, f64::from(v)))
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_read_back_is_what_was_written_however_it_was_cut_into_segments(
        rows in prop::collection::vec(row(), 1..120),
        segment_readings in 1..80u64,
    ) {
        let mut collector = Collector::new();
        fill(&mut collector, &rows);
        let (_place, loaded) = stored(&rows, segment_readings);
        proptest::prop_assert_eq!(loaded.traces, collector.into_recording().traces);
    }
}

#[test]
fn a_missing_reading_stays_missing_and_never_becomes_zero() {
    let rows = [
        (10, 0, Metric::GpuUtilization, 5.0),
        (20, 0, Metric::SmActive, 0.5),
        (30, 0, Metric::GpuUtilization, 7.0),
    ];
    let (_place, loaded) = stored(&rows, 100);
    let device = &subjects()[0];
    let series = loaded.series(device, Metric::GpuUtilization).unwrap();
    assert_eq!(series.times(), [at(10), at(30)]);
    assert_eq!(series.values(), [5.0, 7.0]);
    assert_eq!(loaded.outline.readings, 3);
}

#[test]
fn a_window_and_a_gpu_are_cut_out_without_the_rest() {
    let rows: Vec<_> = (0..100)
        .flat_map(|t| [(t, 0, Metric::SmActive, 0.5), (t, 1, Metric::SmActive, 0.25)])
        .collect();
    let (place, _) = stored(&rows, 50);
    let selection =
        Selection { span: TimeSpan::new(at(40), at(60)), ..Selection::gpu(&GpuId::from_index(1)) };
    let cut = StoredRecording::open(&place.path).unwrap().load(&selection).unwrap();
    assert_eq!(cut.traces.keys().collect::<Vec<_>>(), [&subjects()[1]]);
    let series = cut.series(&subjects()[1], Metric::SmActive).unwrap();
    assert_eq!((series.times()[0], series.len()), (at(40), 20));
}

#[test]
fn appending_keeps_what_was_there_and_a_phase_goes_on_across_segments() {
    let place = place();
    let phase = |from, until| {
        let span = TimeSpan::new(at(from), at(until)).unwrap();
        Fact::Phase(Phase { label: "steady".to_owned(), span, gpu: None })
    };
    for (mode, t) in [(Mode::Create, 0), (Mode::Append, 10)] {
        let mut writer = RecordingWriter::open(&place.path, mode).unwrap();
        let device = Device { index: Some(3), ..Device::named(GpuId::new("GPU-1")) };
        writer.fact(Fact::Device(device)).unwrap();
        writer.fact(phase(t, t + 10)).unwrap();
        fill(&mut writer, &[(t, 0, Metric::SmActive, 0.5)]);
        writer.finish().unwrap();
    }
    let opened = StoredRecording::open(&place.path).unwrap();
    assert_eq!(opened.outline().phases.len(), 1);
    assert_eq!(opened.outline().devices.len(), 1);
    assert_eq!(opened.outline().readings, 2);
}

#[test]
fn a_damaged_segment_is_reported_and_the_others_stay_readable() {
    let rows: Vec<_> = (0..40).map(|t| (t, 0, Metric::SmActive, 0.5)).collect();
    let (place, _) = stored(&rows, 10);
    std::fs::write(place.path.join("segment-000001.parquet"), b"PAR1 torn").unwrap();
    let opened = StoredRecording::open(&place.path).unwrap();
    assert_eq!(opened.outline().blind_spots.len(), 1);
    let loaded = opened.load(&Selection::default()).unwrap();
    assert_eq!(loaded.series(&subjects()[0], Metric::SmActive).unwrap().len(), 30);
}

#[test]
fn appending_never_writes_over_a_damaged_segment() {
    let rows: Vec<_> = (0..20).map(|t| (t, 0, Metric::SmActive, 0.5)).collect();
    let (place, _) = stored(&rows, 10);
    let damaged = place.path.join("segment-000001.parquet");
    std::fs::write(&damaged, b"PAR1 torn").unwrap();
    let mut writer = RecordingWriter::open(&place.path, Mode::Append).unwrap();
    fill(&mut writer, &[(90, 0, Metric::SmActive, 0.5)]);
    writer.finish().unwrap();
    assert_eq!(std::fs::read(&damaged).unwrap(), b"PAR1 torn");
    assert!(place.path.join("segment-000002.parquet").exists());
}

#[test]
fn a_recording_that_was_never_filled_leaves_nothing_behind() {
    let place = place();
    RecordingWriter::open(&place.path, Mode::Create).unwrap().finish().unwrap();
    assert!(!place.path.exists());
}

#[test]
fn a_place_that_is_taken_or_foreign_is_never_overwritten() {
    let (place, _) = stored(&[(0, 0, Metric::SmActive, 0.5)], 10);
    let error = RecordingWriter::open(&place.path, Mode::Create).unwrap_err();
    assert!(error.to_string().ends_with("exists already"), "{error}");
    std::fs::write(place.path.join("notes.txt"), "mine").unwrap();
    assert!(RecordingWriter::open(&place.path, Mode::Replace).is_err());
    assert!(place.path.join("segment-000000.parquet").exists());
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let rows: Vec<_> = (0..400).map(|t| (t, (t % 5) as usize, Metric::SmActive, 0.5)).collect();
    let bytes = |it: &Place| std::fs::read(it.path.join("segment-000000.parquet")).unwrap();
    let (first, _) = stored(&rows, 10_000);
    let (second, _) = stored(&rows, 10_000);
    assert_eq!(bytes(&first), bytes(&second));
}

#[test]
fn a_replacement_takes_the_place_only_when_it_is_finished() {
    let (place, _) = stored(&[(0, 0, Metric::SmActive, 0.5)], 10);
    let readings = || StoredRecording::open(&place.path).unwrap().outline().readings;
    let beside = |name: &str| place.path.with_file_name(name);
    let rows: Vec<_> = (0..5).map(|t| (t, 0, Metric::SmActive, 0.5)).collect();
    let begun = || {
        let writer = RecordingWriter::open(&place.path, Mode::Replace).unwrap();
        let mut writer = writer.with_segment_readings(2);
        fill(&mut writer, &rows);
        assert!(beside(".recording.new").exists());
        writer
    };
    begun().abandon();
    assert_eq!(readings(), 1);
    std::mem::forget(begun());
    assert_eq!(readings(), 1, "an interrupted program");
    begun().finish().unwrap();
    assert_eq!(readings(), 5);
    for left in [".recording.new", ".recording.old"] {
        assert!(!beside(left).exists(), "{left}");
    }
}

#[test]
fn the_bytes_that_samples_take_are_known_before_they_are_read() {
    let rows: Vec<(i64, usize, Metric, f64)> =
        (0..100).map(|it| (it, 0, Metric::GpuUtilization, 1.0)).collect();
    let (place, read) = stored(&rows, 40);
    let recording = StoredRecording::open(&place.path).unwrap();
    // For each of a hundred rows, over three segments: a stamp, a value and what is computed.
    assert_eq!(recording.bytes_in_memory(&Selection::default()), 100 * (8 + 2 + 40));
    let none = Selection { subjects: Some(BTreeSet::new()), ..Selection::default() };
    assert_eq!(recording.bytes_in_memory(&none), 0);
    assert_eq!(read.series(&subjects()[0], Metric::GpuUtilization).unwrap().len(), 100);
}

#[test]
fn a_footer_that_is_damaged_together_with_its_seal_is_not_decoded_either() {
    let rows: Vec<_> = (0..40).map(|t| (t, 0, Metric::GpuUtilization, 5.0)).collect();
    let (place, _) = stored(&rows, 1000);
    let path = place.path.join("segment-000000.parquet");
    let mut whole = std::fs::read(&path).unwrap();
    let mark = whole.windows(8).rposition(|it| it == b"cotnsl01").expect("a seal");
    whole[mark] ^= 1;
    let mut taken = Vec::new();
    for byte in mark + 16..whole.len() - 8 {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0xff;
        std::fs::write(&path, &damaged).unwrap();
        if StoredRecording::open(&place.path).is_ok() {
            taken.push(byte);
        }
    }
    // Where the words that tell of a seal are hit, the rest of the footer is whole.
    assert!(taken.len() <= br#""is_sealed":truePolars"#.len(), "{taken:?}");
}

/// A decoder of Parquet that meets damaged bytes asks for any amount of memory; see `seal`.
#[test]
fn a_damaged_byte_anywhere_in_a_segment_is_told_and_never_decoded() {
    let rows: Vec<_> = (0..40)
        .flat_map(|t| {
            [
                (t, 0, Metric::GpuUtilization, f64::from(t as i32 % 7)),
                (t, 1, Metric::SmActive, 0.25),
            ]
        })
        .collect();
    let (place, _) = stored(&rows, 1000);
    let path = place.path.join("segment-000000.parquet");
    let whole = std::fs::read(&path).unwrap();
    for byte in (0..whole.len()).step_by(5) {
        for with in [0xff, whole[byte] ^ 1] {
            let mut damaged = whole.clone();
            damaged[byte] = with;
            if damaged == whole {
                continue;
            }
            std::fs::write(&path, &damaged).unwrap();
            let outcome =
                StoredRecording::open(&place.path).and_then(|it| it.load(&Selection::default()));
            let error = outcome.expect_err("something is damaged");
            assert!(error.to_string().contains("segment-000000.parquet"), "{error}");
            assert!(!error.remedy().is_empty());
        }
    }
}
