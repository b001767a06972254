//! `cotenant record` killed at any moment: what was written stays, and less than a second is lost.
//!
//! `docs/SAMPLER.md` lists every test of this file by its name.

#![allow(clippy::print_stderr, reason = "figures of kills are told")]

mod support;

use cotenant::domain::ident::Subject;
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::storage::StoredRecording;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use support::recorder::{
    end, endless, expect_nothing_lost, lost_of, lost_s, names, now_us, wait_for_begin, wait_until,
    whole,
};

/// What a kill may cost, seconds.
const LOST_S: f64 = 1.0;
/// What one of several kills may cost on a machine that is too busy to run the recorder in time.
const LOST_WHEN_BUSY_S: f64 = 3.0;
/// A segment for every checkpoint.
const ROTATING: &[&str] = &["--interval", "50ms", "--rotate-age", "100ms"];

/// A recorder, and when it was started.
struct Running {
    child: Child,
    since_us: i64,
}

fn begin(folder: &Path, arguments: &[&str]) -> Running {
    Running { since_us: now_us(), child: endless(folder, arguments) }
}

/// What kills did.
#[derive(Debug)]
struct Toll {
    /// What each kill may cost, seconds.
    most_s: f64,
    kills: u32,
    /// Kills that left half a segment.
    halves: u32,
    /// Kills between a segment and the removal of its journal.
    doubles: u32,
    longest_s: f64,
    total_s: f64,
    /// Of rings, whose samples come twice a second.
    longest_of_rings_s: f64,
}

impl Toll {
    fn of_at_most(most_s: f64) -> Self {
        Self {
            most_s,
            kills: 0,
            halves: 0,
            doubles: 0,
            longest_s: 0.0,
            total_s: 0.0,
            longest_of_rings_s: 0.0,
        }
    }

    /// Kills the recorder of `r`, and checks that all that stood there before is there.
    fn kill(&mut self, folder: &Path, running: Running, before: &Recording) -> Recording {
        let Running { mut child, since_us } = running;
        let killed_us = now_us();
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        let left = names(&folder.join("r"));
        let has = |name: &str| left.iter().any(|it| it == name);
        self.halves += u32::from(left.iter().any(|it| it.ends_with(".tmp")));
        let segment = |it: &String| it.replace("journal", "segment").replace(".bin", ".parquet");
        let journals = left.iter().filter(|it| it.starts_with("journal-"));
        self.doubles += u32::from(journals.into_iter().any(|it| has(&segment(it))));
        let after = whole(&folder.join("r"));
        expect_nothing_lost(before, &after);
        let lost = lost_s(&after, killed_us);
        assert!(lost < self.most_s, "lost {lost} s");
        self.kills += 1;
        self.longest_s = self.longest_s.max(lost);
        self.total_s += lost;
        let of_rings = lost_of(&after, Metric::GpuUtilization, since_us, killed_us);
        assert!(of_rings < self.most_s, "lost {of_rings} s of rings");
        self.longest_of_rings_s = self.longest_of_rings_s.max(of_rings);
        after
    }

    /// Tells what the kills cost, which in the mean is little on any machine.
    fn tell(&self) {
        let Self { kills, halves, doubles, longest_s, longest_of_rings_s, .. } = self;
        let mean_s = self.total_s / f64::from(*kills);
        eprintln!(
            "{kills} kills, {halves} left half a segment, {doubles} a segment and its journal"
        );
        eprintln!(
            "lost {mean_s:.3} s in the mean, {longest_s:.3} s at most, {longest_of_rings_s:.3} s of rings"
        );
        assert!(mean_s < LOST_S, "lost {mean_s} s in the mean");
    }
}

/// Waits for a name in the recording of this folder without resting, for it is there for milliseconds.
fn wait_for(folder: &Path, is_meant: impl Fn(&str) -> bool) {
    let began = Instant::now();
    while !names(&folder.join("r")).iter().any(|it| is_meant(it)) {
        assert!(began.elapsed() < Duration::from_secs(60), "it never appeared");
    }
}

/// Kills so many recorders at different moments.
fn kill(times: u64, side_by_side: u64, most_s: f64) {
    let mut toll = Toll::of_at_most(most_s);
    for batch in 0..times.div_ceil(side_by_side) {
        let root = tempfile::tempdir().expect("a folder");
        let start = |place: u64| {
            let folder = root.path().join(place.to_string());
            std::fs::create_dir_all(&folder).expect("a folder");
            // Every other one makes segments all the time.
            let arguments =
                if place.is_multiple_of(2) { &["--interval", "50ms"][..] } else { ROTATING };
            (place, folder.clone(), begin(&folder, arguments))
        };
        let all: Vec<_> = (0..side_by_side).map(start).collect();
        for (place, folder, running) in all {
            wait_for_begin(&folder);
            let before = whole(&folder.join("r"));
            let wait = (batch * side_by_side + place) * 7919 % 977;
            std::thread::sleep(Duration::from_millis(wait));
            toll.kill(&folder, running, &before);
        }
    }
    toll.tell();
}

#[test]
fn killed_at_any_moment() {
    kill(12, 6, LOST_WHEN_BUSY_S);
}

#[ignore = "two hundred kills take minutes"]
#[test]
fn killed_two_hundred_times() {
    kill(200, 4, LOST_S);
}

/// One recording, killed again and again while a segment is written, and gone on with each time.
#[test]
fn killed_while_rotating() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let mut toll = Toll::of_at_most(LOST_WHEN_BUSY_S);
    let mut running = begin(folder, ROTATING);
    wait_for_begin(folder);
    let mut before = whole(&folder.join("r"));
    for kill in 0..8 {
        let begun = before.outline.readings;
        let holds_more = || {
            let stored = StoredRecording::open(&folder.join("r")).expect("readable at any moment");
            stored.outline().readings > begun
        };
        wait_until("it goes on", holds_more);
        match kill % 2 {
            0 => wait_for(folder, |it| it.ends_with(".tmp")),
            _ => {
                let segments = names(&folder.join("r"));
                wait_for(folder, |it| {
                    it.ends_with(".parquet") && !segments.iter().any(|known| known == it)
                });
            }
        }
        before = toll.kill(folder, running, &before);
        running = begin(folder, &[ROTATING, &["--append"]].concat());
    }
    toll.tell();
    assert!(toll.halves > 0, "no kill met a segment that was being written");
    wait_until("it goes on", || names(&folder.join("r")).len() > 3);
    toll.kill(folder, running, &before);
}

/// A recorder that is killed while it makes a segment of what another kill left.
#[test]
fn killed_while_folding() {
    let root = tempfile::tempdir().expect("a folder");
    let first = root.path().join("first");
    std::fs::create_dir(&first).expect("a folder");
    let mut child = endless(&first, &["--interval", "20ms"]);
    wait_for_begin(&first);
    std::thread::sleep(Duration::from_secs(2));
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    let before = whole(&first.join("r"));
    let copy = |name: String| -> PathBuf {
        let folder = root.path().join(name);
        std::fs::create_dir_all(folder.join("r")).expect("a folder");
        for name in names(&first.join("r")) {
            std::fs::copy(first.join("r").join(&name), folder.join("r").join(name))
                .expect("a copy");
        }
        folder
    };
    let mut halves = 0;
    for kill in 0..8 {
        let folder = copy(kill.to_string());
        let mut child = endless(&folder, &["--append"]);
        match kill % 4 {
            0 | 1 => wait_for(&folder, |it| it.ends_with(".tmp")),
            2 => wait_for(&folder, |it| it == "segment-000000.parquet"),
            _ => wait_for(&folder, |it| it == "journal-000001.bin"),
        }
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        halves += u32::from(names(&folder.join("r")).iter().any(|it| it.ends_with(".tmp")));
        expect_nothing_lost(&before, &whole(&folder.join("r")));
        end(endless(&folder, &["--append", "--duration", "300ms"])).expect_code(0);
        expect_nothing_lost(&before, &whole(&folder.join("r")));
    }
    assert!(halves > 0, "no kill met a journal that was being folded");
    // Between a segment and the removal of its journal lie microseconds, so that is made up.
    let folder = copy("both".to_owned());
    end(endless(&folder, &["--append", "--duration", "300ms"])).expect_code(0);
    let folded = whole(&folder.join("r"));
    let journal = "r/journal-000000.bin";
    std::fs::copy(first.join(journal), folder.join(journal)).expect("a copy");
    assert_eq!(whole(&folder.join("r")).outline.readings, folded.outline.readings, "not twice");
    end(endless(&folder, &["--append", "--duration", "300ms"])).expect_code(0);
    assert!(!folder.join(journal).exists());
    expect_nothing_lost(&folded, &whole(&folder.join("r")));
}

/// A server of one number that grows, until the program ends.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().flatten().enumerate() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let body = format!(
                "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running {count}\n"
            );
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    format!("http://{address}/metrics")
}

#[test]
fn killed_while_scraping() {
    let root = tempfile::tempdir().expect("a folder");
    let address = format!("chat@0={}", serve());
    let mut toll = Toll::of_at_most(LOST_WHEN_BUSY_S);
    for (place, rotation) in
        [&["--rotate-age", "15m"][..], &["--rotate-age", "100ms"]].into_iter().enumerate()
    {
        let folder = root.path().join(place.to_string());
        std::fs::create_dir(&folder).expect("a folder");
        let scraping = ["--scrape", &address, "--scrape-interval", "100ms", "--append"];
        let mut before: Option<Recording> = None;
        for kill in 0..3_u64 {
            let running = begin(&folder, &[rotation, &scraping].concat());
            let begun = before.as_ref().map_or(0, |it| it.outline.readings);
            wait_until("it goes on", || {
                StoredRecording::open(&folder.join("r"))
                    .is_ok_and(|it| it.outline().readings > begun + 200)
            });
            let seen = whole(&folder.join("r"));
            std::thread::sleep(Duration::from_millis(100 + 331 * kill % 500));
            let killed_us = now_us();
            let after = toll.kill(&folder, running, &seen);
            let is_service = |it: &&Subject| matches!(it, Subject::Tenant { tenant, .. } if tenant.as_str() == "chat");
            let service = after.traces.keys().find(is_service).expect("the service");
            let running = after.series(service, Metric::RequestsRunning).expect("its number");
            let last = running.times().last().expect("a scrape").as_micros();
            let lost = (killed_us - last) as f64 / 1e6;
            assert!(lost < LOST_WHEN_BUSY_S, "lost {lost} s of the service");
            assert!(running.values().is_sorted(), "in the order of the scrapes");
            before = Some(after);
        }
    }
    toll.tell();
}

/// Whoever reads meanwhile sees each time all that was seen before, whatever becomes a segment.
#[test]
fn read_while_written() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let child = endless(folder, &[ROTATING, &["--duration", "5s"]].concat());
    wait_for_begin(folder);
    let mut looks = 0;
    let mut readings = 0;
    while names(&folder.join("r")).iter().any(|it| it == "writer.lock") {
        let stored = StoredRecording::open(&folder.join("r")).expect("readable at any moment");
        let now = stored.outline().readings;
        assert!(now >= readings, "{readings} readings became {now}");
        (looks, readings) = (looks + 1, now);
    }
    eprintln!("opened {looks} times while it was written");
    end(child).expect_code(0);
    assert!(whole(&folder.join("r")).outline.readings >= readings);
    assert!(looks > 20, "{looks} looks");
}

/// Segments that are removed meanwhile are no damage.
#[test]
fn read_while_pruned() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let child = endless(folder, &[ROTATING, &["--keep", "1", "--duration", "5s"]].concat());
    wait_for_begin(folder);
    while names(&folder.join("r")).iter().any(|it| it == "writer.lock") {
        let stored = StoredRecording::open(&folder.join("r")).expect("readable at any moment");
        let spots = &stored.outline().blind_spots;
        let damaged = spots.iter().find(|it| it.detail.contains("segment-"));
        assert!(damaged.is_none(), "{damaged:?}");
    }
    end(child).expect_code(0);
}
