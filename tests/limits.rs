//! Inputs at the limits of what there can be: each ends in a right answer or a clear error, with bounded memory.
#![allow(clippy::print_stderr, reason = "skipped tests say so")]

mod support;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use support::Workbench;

const HEADER: &str = "timestamp, uuid, utilization.gpu [%], memory.used [MiB]\n";
const UUID: &str = "GPU-11111111-2222-3333-4444-555555555555";

/// A capture of `nvidia-smi --query-gpu` with these stamps and values.
fn capture(rows: impl IntoIterator<Item = (String, String)>) -> String {
    rows.into_iter().fold(HEADER.to_owned(), |mut text, (at, value)| {
        let _ = writeln!(text, "{at}, {UUID}, {value} %, 1000 MiB");
        text
    })
}

/// The stamp so many seconds after noon of the first of March 2026, UTC.
fn at(seconds: i64) -> String {
    let noon = jiff::Timestamp::from_second(1_772_366_400 + seconds).expect("a time");
    noon.strftime("%Y/%m/%d %H:%M:%S.000").to_string()
}

#[test]
fn one_sample_and_samples_of_one_instant_are_too_little() {
    let bench = Workbench::new();
    bench.file("one.csv", capture([(at(0), "50".to_owned())]));
    bench.file("instant.csv", capture((0..100).map(|it| (at(0), (it % 3).to_string()))));
    for file in ["one.csv", "instant.csv"] {
        for command in ["analyze", "recommend"] {
            bench.run(&[command, file]).expect_code(3);
        }
    }
    bench
        .run(&["analyze", "instant.csv"])
        .expect_stderr("99 rows say something else about the same instant as the row before");
}

#[test]
fn a_clock_that_goes_back_and_rows_that_contradict_each_other_are_told() {
    let bench = Workbench::new();
    let back = (0..200).map(|it| if it < 100 { it } else { it - 60 });
    bench.file("back.csv", capture(back.map(|it| (at(it), (it % 90).to_string()))));
    let answer = bench.run(&["analyze", "back.csv"]);
    answer.expect_code(0).expect_stderr("rows were older than one before and sorted in");
    let twice = (0..200).map(|it| (at(it / 2), (10 + it % 2 * 60).to_string()));
    bench.file("twice.csv", capture(twice));
    let answer = bench.run(&["analyze", "twice.csv"]);
    answer.expect_code(0).expect_stderr("100 rows say something else about the same instant");
    let found = bench.analyse(&["twice.csv"]);
    let level = &support::scope(&found, UUID, None)["levels"]["gpu_utilization_pct"];
    assert_eq!((level["min"].as_f64(), level["samples"].as_u64()), (Some(70.0), Some(100)));
}

#[test]
fn stamps_at_the_ends_of_calendars_are_read_as_they_are() {
    let bench = Workbench::new();
    let late = |it: i64| {
        let second = jiff::Timestamp::from_second((1_i64 << 31) - 100 + it).expect("a time");
        (second.strftime("%Y/%m/%d %H:%M:%S.000").to_string(), (it % 90).to_string())
    };
    bench.file("late.csv", capture((0..200).map(late)));
    let text = bench.run(&["analyze", "late.csv"]);
    assert!(text.expect_code(0).stdout().contains("2038-01-19 03:12:28 to 03:15:47 UTC"));
    let leap = (58..=60).map(|it| format!("2016/12/31 23:59:{it}.000"));
    let after = (1..60).map(|it| format!("2017/01/01 00:00:{it:02}.000"));
    bench.file("leap.csv", capture(leap.chain(after).map(|it| (it, "10".to_owned()))));
    let text = bench.run(&["analyze", "leap.csv"]);
    let shown = text.expect_code(0).stdout();
    assert!(shown.contains("2016-12-31 23:59:58 to 2017-01-01 00:00:59 UTC"), "{shown}");
    let last = (0..60).map(|it| (format!("9999/12/31 23:59:{it:02}.000"), "10".to_owned()));
    bench.file("last.csv", capture(last));
    let answer = bench.run(&["analyze", "last.csv"]);
    answer.expect_code(1).expect_stderr("last.csv:2: column `timestamp`");
}

#[test]
fn what_is_no_number_is_left_out_and_never_zero() {
    let bench = Workbench::new();
    let odd = ["NaN", "inf", "-inf", "1e400", "50"];
    bench.file("odd.csv", capture((0..500).map(|it| (at(it), odd[it as usize % 5].to_owned()))));
    bench.run(&["analyze", "odd.csv"]).expect_stderr("400 cells or rows were left out");
    let found = bench.analyse(&["odd.csv"]);
    let level = &support::scope(&found, UUID, None)["levels"]["gpu_utilization_pct"];
    assert_eq!((level["min"].as_f64(), level["samples"].as_u64()), (Some(50.0), Some(100)));
}

#[test]
fn a_thousand_million_seconds_without_a_look_are_a_gap() {
    let bench = Workbench::new();
    let far = |it: i64| if it < 50 { it } else { it + 1_000_000_000 };
    bench.file("gap.csv", capture((0..100).map(|it| (at(far(it)), (it % 90).to_string()))));
    let found = bench.analyse(&["gap.csv"]);
    let idle = &support::scope(&found, UUID, None)["profile"]["bursts"]["gap_lengths"];
    assert_eq!(idle["max_s"].as_f64(), Some(45.0), "time without a look is not idle: {idle}");
    bench.run(&["recommend", "gap.csv"]).expect_code(3);
    bench
        .file("rare.csv", capture((0..100).map(|it| (at(it * 10_000_000), (it % 90).to_string()))));
    bench.run(&["recommend", "rare.csv"]).expect_code(3);
}

/// A capture of `nvidia-smi --query-compute-apps`: so many processes at once, each for two samples, then the next.
fn lives(processes: usize, at_once: usize) -> String {
    let mut text = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n".to_owned();
    for step in 0..processes / at_once * 2 {
        for place in 0..at_once {
            let pid = 1000 + step / 2 * at_once + place;
            let memory = 100 + pid % 50;
            let at = at(step as i64);
            let _ = writeln!(text, "{at}, {UUID}, {pid}, job{}, {memory} MiB", pid % 7);
        }
    }
    text
}

#[test]
fn thousands_of_tenants_and_of_short_processes_are_all_counted() {
    let bench = Workbench::new();
    // Of those that follow each other, one of each of seven programs is there at a time.
    for (file, at_once, loads) in [("short.csv", 5, 7), ("crowd.csv", 2000, 2000)] {
        bench.file(file, lives(2000, at_once));
        let answer = bench.run(&["analyze", file]);
        let told = format!("{loads} loads on it");
        assert!(answer.stdout().contains(&told), "{}", answer.stdout());
        assert!([0, 3].contains(&answer.code()), "{}", answer.stderr());
        bench.run(&["recommend", file]).expect_code(3);
    }
}

/// What `nvidia-smi pmon` prints of a service, and of two programs that begin anew every two seconds.
fn restless(seconds: i64) -> String {
    let head =
        "#Date       Time        gpu         pid   type     sm    mem    enc    dec    command\n";
    let mut text = head.to_owned();
    for second in 0..seconds {
        let stamp = at(second).replace('/', "").replace(".000", "");
        let first = 1000 + second / 2 * 2;
        for (pid, name) in [(77, "service"), (first, "python3"), (first + 1, "ffmpeg")] {
            let sm = pid % 97;
            let _ = writeln!(text, " {stamp}  0  {pid}  C  {sm}  2  -  -  {name}");
        }
    }
    text
}

#[test]
fn so_many_processes_that_few_can_be_named_lose_nothing_but_their_names() {
    let bench = Workbench::new();
    bench.file("pmon.txt", restless(5000));
    let answer = bench.run(&["import", "pmon.txt", "-o", "r"]);
    answer.expect_code(0).expect_stderr("30000 readings about");
    let said = answer.stderr();
    let subjects = said.split("readings about ").nth(1).expect("a count");
    let subjects: u64 = subjects.split(' ').next().expect("a count").parse().expect("a count");
    assert!((4096..4300).contains(&subjects), "{subjects} of 5,001");
    let exported = bench.run(&["export", "r", "--to", "csv"]).expect_code(0).stdout().to_owned();
    let mut rows = exported.lines().map(|it| it.split(',').collect::<Vec<_>>());
    let names = rows.next().expect("a header");
    let place = |name: &str| names.iter().position(|it| *it == name).expect("a column");
    let (program, sm) = (place("program"), place("gpu_utilization_pct"));
    let mut sums = BTreeMap::<String, (u64, f64)>::new();
    for row in rows {
        let sum = sums.entry(row[program].to_owned()).or_default();
        *sum = (sum.0 + 1, sum.1 + row[sm].parse::<f64>().expect("a number"));
    }
    let played =
        |pid: &dyn Fn(i64) -> i64| (0..5000).map(|second| (pid(second) % 97) as f64).sum::<f64>();
    let expected = [
        ("ffmpeg".to_owned(), (5000, played(&|it| 1001 + it / 2 * 2))),
        ("python3".to_owned(), (5000, played(&|it| 1000 + it / 2 * 2))),
        ("service".to_owned(), (5000, played(&|_| 77))),
    ];
    assert_eq!(sums, expected.into_iter().collect());
}

#[test]
fn so_many_processes_that_few_can_be_named_are_analysed_as_few_loads() {
    let bench = Workbench::new();
    bench.file("pmon.txt", restless(5000));
    let found = bench.analyse(&["pmon.txt"]);
    let recording = &found["recording"];
    let followed = recording["followed"].as_array().expect("followers");
    let mut counted = BTreeMap::<&str, (u64, u64)>::new();
    for process in recording["processes"].as_array().expect("processes") {
        let own = followed.iter().find(|it| it["process"] == process["process"]);
        let after = own.and_then(|it| it["count"].as_u64()).unwrap_or(0);
        let sum = counted.entry(process["name"].as_str().expect("a name")).or_default();
        *sum = (sum.0 + 1, sum.1 + 1 + after);
    }
    assert_eq!(counted["service"], (1, 1));
    for program in ["python3", "ffmpeg"] {
        let (loads, processes) = counted[program];
        assert!(loads < 16 && processes == 2500, "{loads} {program} for {processes}");
    }
    let spots = found["blind_spots"].to_string();
    assert!(spots.contains("more than 4096 processes used it"), "{spots}");
    let silent = "Encoder utilisation: 5001 processes: pmon prints `-` throughout";
    assert!(spots.contains(silent), "{spots}");
}

#[test]
fn a_bomb_and_an_endless_line_are_refused_without_being_held() {
    let bench = Workbench::new();
    let packed = |name: &str, parts: &[(&[u8], usize)]| {
        let file = std::fs::File::create(bench.path(name)).expect("a file can be made");
        let mut packer = GzEncoder::new(file, Compression::fast());
        for (part, times) in parts {
            (0..*times).for_each(|_| packer.write_all(part).expect("it is packed"));
        }
        packer.finish().expect("it is packed");
    };
    let zeros = vec![0; 1 << 20];
    packed("bomb.csv.gz", &[(&zeros, 1024)]);
    limited(&bench, &["import", "bomb.csv.gz", "-o", "r"], 2).expect_stderr_part("is binary data");
    let letters = vec![b'a'; 1 << 20];
    let rows = capture((0..3).map(|it| (at(it), "10".to_owned())));
    let last = format!("\n{}, {UUID}, 10 %, 1000 MiB\n", at(9));
    packed("line.csv.gz", &[(rows.as_bytes(), 1), (&letters, 300), (last.as_bytes(), 1)]);
    limited(&bench, &["import", "line.csv.gz", "-o", "r"], 0)
        .expect_stderr_part("line.csv.gz:5: expected a line of at most 1 MiB");
}

/// What a run of the program said.
struct Said(String);

impl Said {
    fn expect_stderr_part(&self, part: &str) {
        assert!(self.0.contains(part), "`{part}` is not in: {}", self.0);
    }
}

/// Runs the program with 2 GB of address space.
fn limited(bench: &Workbench, arguments: &[&str], code: i32) -> Said {
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cotenant")])
        .args(arguments)
        .current_dir(bench.path(""))
        .env("NO_COLOR", "1")
        .output()
        .expect("a shell can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    Said(said)
}

#[test]
fn what_stands_in_place_of_a_segment_is_named_and_waited_for_by_nobody() {
    let bench = Workbench::new();
    let rows = (0..100).map(|it| (at(it), (it % 90).to_string()));
    bench.file("x.csv", capture(rows));
    for name in ["file", "null", "loop", "pipe", "folder", "device"] {
        bench.run(&["import", "x.csv", "-o", name]).expect_code(0);
        let segment = bench.path(name).join("segment-000000.parquet");
        std::fs::remove_file(&segment).expect("there is a segment");
        match name {
            "file" => symlink(bench.path("x.csv"), &segment).expect("a link"),
            "null" => symlink("/dev/null", &segment).expect("a link"),
            "device" => symlink("/dev/zero", &segment).expect("a link"),
            "loop" => symlink(&segment, &segment).expect("a link"),
            "folder" => std::fs::create_dir(&segment).expect("a folder"),
            _ => {
                let made = Command::new("mkfifo").arg(&segment).status().expect("mkfifo");
                assert!(made.success());
            }
        }
        let answer = bench.run(&["analyze", name]);
        assert!([1, 3].contains(&answer.code()), "{name}: {}", answer.stderr());
        answer.expect_stderr("segment-000000.parquet").expect_stderr("help: ");
    }
}

#[test]
fn a_place_that_takes_no_more_and_a_reader_that_goes_are_told_apart() {
    let bench = Workbench::new();
    bench.file("x.csv", capture((0..100).map(|it| (at(it), (it % 90).to_string()))));
    let answer = bench.run(&["report", "x.csv", "-o", "/dev/full"]);
    answer.expect_code(1).expect_stderr("/dev/full: writing failed");
    bench.run(&["report", "x.csv", "-o", "/proc/x.html"]).expect_code(1).expect_stderr("help: ");
    let mut child = Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .args(["analyze", "x.csv", "-o", "json"])
        .current_dir(bench.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    // The reader goes before the first word.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("it ends").code().is_some_and(|it| it == 0), "{said}");
    assert!(!said.contains("panic"), "{said}");
}

#[test]
fn a_signal_ends_an_export_and_leaves_the_one_that_was_there() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let old = bench.file("out.csv", "old");
    // An export that was done before the signal came proves nothing: the next one is tried.
    for _ in 0..10 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .args(["export", &recording, "--to", "csv", "-o"])
            .arg(&old)
            .current_dir(bench.path("."))
            .stderr(Stdio::piped())
            .spawn()
            .expect("cotenant starts");
        let part = bench.path(&format!(".out.csv.{}.part", child.id()));
        while child.try_wait().expect("a child").is_none()
            && std::fs::metadata(&part).map_or(0, |it| it.len()) == 0
        {
            std::thread::yield_now();
        }
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let ended = child.wait_with_output().expect("it ends");
        assert!(!part.exists());
        if ended.status.code() == Some(0) {
            std::fs::write(&old, "old").expect("room");
            continue;
        }
        assert_eq!(ended.status.code(), Some(1));
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(told.contains("interrupted"), "{told}");
        assert_eq!(std::fs::read_to_string(&old).expect("a file"), "old");
        return;
    }
    panic!("no export lasted until the signal");
}

#[test]
fn a_thousand_short_processes_are_told_in_one_sentence() {
    let bench = Workbench::new();
    let seconds = 0..300_i64;
    let busy = seconds.clone().map(|it| (at(it), (it * 37 % 100).to_string()));
    bench.file("gpu.csv", capture(busy));
    let header = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n".to_owned();
    let lives = seconds.flat_map(|it| (0..10).map(move |place| (it, 1000 + it / 3 * 10 + place)));
    let apps = lives.fold(header, |mut text, (second, pid)| {
        let _ = writeln!(text, "{}, {UUID}, {pid}, /usr/bin/job{pid}, 100 MiB", at(second));
        text
    });
    bench.file("apps.csv", apps);
    let answer = bench.run(&["recommend", "gpu.csv", "apps.csv"]);
    answer.expect_code(3);
    let shown = answer.stdout();
    assert!(shown.lines().count() < 120, "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains(
            "Nothing shows when `job1000 (pid 1000)`, `job1001 (pid 1001)` and 998 more were active."
        ),
        "{shown}"
    );
    assert!(!shown.contains("(pid 1500)"), "{shown}");
}
