//! Recordings with damaged files: a small one is written once, then its bytes are changed, cut and put elsewhere.

#![no_main]

use cotenant::analysis::{Question, compute};
use cotenant::domain::metric::Metric;
use cotenant::domain::sink::Sink;
use cotenant::domain::time::{TimeSpan, Timestamp};
use cotenant::storage::{LiveWriter, Mode, RecordingWriter, Rotation, Selection, StoredRecording};
use cotenant_fuzz::{Choices, START_US, inside, write_small};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::OnceLock;

/// Name and content of each file of the recording.
type Files = Vec<(String, Vec<u8>)>;

/// Begins every journal.
const MAGIC_BYTES: usize = 8;
/// Length and checksum before each frame of a journal.
const FRAME_HEAD: usize = 12;
/// Changes of one file, at most.
const MOST_CHANGES: usize = 8;

static WHOLE: OnceLock<Files> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let whole = WHOLE.get_or_init(whole);
    let chosen = usize::from(choices.byte()) % whole.len();
    let steps = choices.byte();
    let folder = inside("damaged");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (place, (name, content)) in whole.iter().enumerate() {
        // Alone, or beside whole ones.
        if place != chosen && steps & 1 == 1 {
            std::fs::write(folder.join(name), content).expect("a file can be written");
        }
    }
    let (name, content) = &whole[chosen];
    let mut content = content.clone();
    for _ in 0..MOST_CHANGES {
        if choices.is_empty() {
            break;
        }
        change(&mut content, &mut choices);
    }
    if name.ends_with(".bin") && steps & 2 == 2 {
        sum_again(&mut content);
    }
    std::fs::write(folder.join(name), content).expect("a file can be written");
    look(&folder);
    if steps & 4 == 4 {
        go_on(&folder);
        look(&folder);
    }
});

/// Two segments, and the journal of a recorder that was killed.
fn whole() -> Files {
    let folder = inside("whole");
    let mut writer = RecordingWriter::open(&folder, Mode::Create).expect("a place to write");
    write_small(&mut writer, 0, 20);
    writer.flush().expect("a segment is written");
    write_small(&mut writer, 20, 20);
    writer.finish().expect("a segment is written");
    let mut live = LiveWriter::open(&folder, Mode::Append, rotation()).expect("it goes on");
    for second in 0..5 {
        write_small(&mut live, 40 + second, 1);
        live.checkpoint(second * 1_000_000).expect("a checkpoint is written");
    }
    let mut files: Files = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|it| it.expect("a file").path())
        .filter(|it| it.extension().is_some_and(|it| it == "parquet" || it == "bin"))
        .map(|it| {
            let name = it.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read(&it).expect("a file can be read"))
        })
        .collect();
    files.sort();
    assert_eq!(files.len(), 3, "two segments and a journal");
    drop(live);
    files
}

fn rotation() -> Rotation {
    Rotation { bytes: 1 << 20, age_us: 60_000_000, keep: None }
}

/// Changes, cuts, drops or doubles a part; places count from the start or from the end, where a footer is.
fn change(content: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let kind = choices.byte();
    let at = usize::from(u16::from_le_bytes([choices.byte(), choices.byte()]));
    let length = content.len();
    let at = at % length.max(1);
    let at = if kind & 0x80 == 0 { at } else { length.saturating_sub(at + 1) };
    match kind & 0x07 {
        0 | 1 => {
            let with = choices.byte();
            content.iter_mut().skip(at).take(1).for_each(|it| *it = with);
        }
        2 => {
            let with = choices.number().to_le_bytes();
            content.iter_mut().skip(at).zip(with).for_each(|it| *it.0 = it.1);
        }
        3 => content.truncate(at),
        4 => {
            let until = (at + usize::from(choices.byte())).min(length);
            content.drain(at..until);
        }
        5 => {
            let until = (at + usize::from(choices.byte())).min(length);
            let part = content[at..until].to_vec();
            content.splice(at..at, part);
        }
        6 => {
            let until = (at + usize::from(choices.byte())).min(length);
            content[at..until].fill(0);
        }
        _ => {
            let text = choices.text().into_bytes();
            content.iter_mut().skip(at).zip(text).for_each(|it| *it.0 = it.1);
        }
    }
}

/// Gives each frame of a journal the checksum that fits it, so that what is inside is looked at.
fn sum_again(journal: &mut [u8]) {
    let mut at = MAGIC_BYTES;
    while let Some(head) = journal.get(at..at + 4) {
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let begin = at + FRAME_HEAD;
        let Some(body) = journal.get(begin..begin + length) else { return };
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = body.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes();
        journal[at + 4..begin].copy_from_slice(&sum);
        at = begin + length;
    }
}

/// Opens, loads and analyses what is there.
fn look(folder: &Path) {
    let recording = match StoredRecording::open(folder) {
        Ok(recording) => recording,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.remedy().is_empty());
            return;
        }
    };
    let _ = (recording.fingerprint(), recording.metrics());
    let all = Selection::default();
    let _ = recording.bytes_in_memory(&all);
    let at = |second: i64| Timestamp::from_micros(START_US + second * 1_000_000);
    let part = Selection {
        span: TimeSpan::new(at(5), at(30)),
        metrics: Some(vec![Metric::GpuUtilization]),
        ..Selection::default()
    };
    let _ = recording.load(&part);
    let outline = recording.outline();
    for subject in &outline.subjects {
        let _ = outline.label(subject);
    }
    let load = |gpu: Option<&cotenant::domain::ident::GpuId>| match gpu {
        Some(gpu) => recording.load(&Selection::gpu(gpu)),
        None => recording.load(&all),
    };
    let _ = compute(outline, &Question::default(), load);
}

/// A recorder goes on with it.
fn go_on(folder: &Path) {
    match LiveWriter::open(folder, Mode::Append, rotation()) {
        Ok(mut writer) => {
            write_small(&mut writer, 60, 1);
            let _ = writer.checkpoint(0);
            let _ = writer.finish();
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.remedy().is_empty()),
    }
}
