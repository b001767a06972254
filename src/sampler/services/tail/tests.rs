//! Logs as a recorder sees them, line by line.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::sampler::services::post::Post;
use crate::sampler::services::tail::Tail;
use crate::sampler::services::{Event, Settings, Targets, channel};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

const ZERO: i64 = 1_767_225_600;

struct Followed {
    tail: Tail,
    events: Receiver<Event>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

#[derive(Default)]
struct Said {
    rows: Vec<(f64, Vec<(Metric, f64)>)>,
    spots: Vec<BlindSpot>,
    notices: Vec<String>,
}

impl Followed {
    fn new(start: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, start).unwrap();
        let (sender, events) = channel();
        let target = format!("train@0={}", path.display());
        let targets = Targets::parse(&[], &[target], Settings::default()).unwrap();
        let target = targets.tails[0].clone();
        let tail = Tail::new(target, SourceId(1), Settings::default(), Post::new(sender));
        let mut followed = Self { tail, events, path, _folder: folder };
        followed.tail.look(Timestamp::from_micros(ZERO * 1_000_000));
        followed
    }

    fn gets(&mut self, text: &str) -> Said {
        let mut file = std::fs::OpenOptions::new().append(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        self.tail.look(Timestamp::from_micros(ZERO * 1_000_000));
        self.said()
    }

    /// Looks when this many seconds have passed.
    fn at(&mut self, second: i64) -> Said {
        self.tail.look(Timestamp::from_micros((ZERO + second) * 1_000_000));
        self.said()
    }

    fn closed(&mut self) -> Said {
        self.tail.close();
        self.said()
    }

    fn said(&self) -> Said {
        let mut said = Said::default();
        for event in self.events.try_iter() {
            match event {
                Event::Reading(it) => {
                    let zero = Timestamp::from_micros(ZERO * 1_000_000);
                    said.rows.push((it.at.seconds_since(zero), it.readings));
                }
                Event::Fact(Fact::BlindSpot(it)) => said.spots.push(it),
                Event::Fact(_) => {}
                Event::Notice(it) => said.notices.push(it),
            }
        }
        said
    }
}

#[test]
fn a_table_of_readings_becomes_rows_with_its_own_stamps() {
    let mut followed = Followed::new("time,step_time_ms,tokens_per_s\n1767225600,1,1\n");
    let said = followed.gets("2026-01-01T00:00:05Z,120,\n2026-01-01T00:00:06Z,slow,5\n");
    assert_eq!(said.rows, [(5.0, vec![(Metric::IterationTime, 0.12)])], "an empty cell is a gap");
    assert!(said.notices[0].contains("column `step_time_ms`: `slow`"), "{:?}", said.notices);
    assert!(followed.gets("x\ny\n").notices.is_empty(), "it is told once");
    let closed = followed.closed();
    assert_eq!(closed.spots[0].kind, BlindSpotKind::Rejected);
    assert!(closed.spots[0].detail.contains("could not be read: 3"), "{:?}", closed.spots);
}

#[test]
fn requests_become_readings_of_each_second() {
    let mut followed = Followed::new("");
    let line = |second: f64, latency: f64| {
        format!("{{\"ts\": {}, \"latency_s\": {latency}, \"status\": 200}}\n", ZERO as f64 + second)
    };
    let text: String = (0..20).map(|it| line(0.04 * f64::from(it), 0.5)).collect();
    let mut rows = followed.gets(&(line(-1.0, 0.5) + &text + &line(4.5, 0.5))).rows;
    rows.extend(followed.closed().rows);
    let readings = &rows.iter().find(|it| it.0 == 1.0).unwrap().1;
    let value = |metric| readings.iter().find(|it| it.0 == metric).map(|it| it.1);
    assert_eq!(value(Metric::Throughput), Some(20.0));
    assert_eq!(value(Metric::LatencyP99), Some(0.5));
    assert_eq!(value(Metric::ErrorRate), Some(0.0));
}

#[test]
fn arrivals_follow_from_starts_and_latencies() {
    let mut followed = Followed::new("start,latency_ms\n");
    let text: String = (0..30).map(|it| format!("{},2000\n", ZERO + it)).collect();
    let mut rows = followed.gets(&text).rows;
    rows.extend(followed.closed().rows);
    let first = rows.iter().find(|it| it.1.iter().any(|it| it.0 == Metric::LatencyMean)).unwrap();
    assert_eq!(first.0, 3.0, "the answer comes two seconds after the start");
    let offered = rows.iter().filter(|it| it.1 == [(Metric::OfferedLoad, 1.0)]);
    assert!(offered.count() > 10, "{rows:?}");
}

#[test]
fn a_log_without_stamps_or_zones_is_told() {
    let mut followed = Followed::new("rps\n");
    assert_eq!(followed.gets("5\n").rows, [(0.0, vec![(Metric::Throughput, 5.0)])]);
    assert!(followed.closed().spots[0].detail.contains("without a stamp"));
    let mut followed = Followed::new("time,rps\n");
    followed.gets("2026-01-01 00:00:07,5\n");
    assert!(followed.closed().spots[0].detail.contains("without a zone"));
}

#[test]
fn stamps_that_cannot_be_are_left_out_counted_and_told_once() {
    for (first, cause) in [
        ("2100-01-01T00:00:00Z", "the clock of the tenant is wrong"),
        ("2026-01-01 01:00:00", "is local time as it seems"),
        ("2025-12-31T23:00:00Z", "60.0 min before the recording began"),
    ] {
        let mut followed = Followed::new("time,rps\n");
        let said = followed.gets(&format!("{first},5\n1767229200,6\n1767225601,7\n"));
        assert_eq!(said.rows, [(1.0, vec![(Metric::Throughput, 7.0)])], "{first}");
        assert!(said.notices.len() == 1 && said.notices[0].contains(cause), "{:?}", said.notices);
        let spot = &followed.closed().spots[0];
        assert_eq!(spot.kind, BlindSpotKind::Rejected);
        assert!(spot.detail.contains("stamps cannot be: 2; a stamp lies"), "{spot:?}");
    }
    let mut json = Followed::new("");
    let said =
        json.gets("{\"ts\": 4102444800, \"rps\": 5}\n{\"ts\": 4102444800, \"latency_s\": 5}\n");
    assert_eq!((said.rows, said.notices.len()), (vec![], 1));
}

#[test]
fn a_file_that_is_away_leaves_a_gap_and_no_zeros() {
    let mut followed = Followed::new("time,latency_ms\n");
    let lines = |from: i64, until: i64| -> String {
        (from..until).map(|it| format!("{}.5,20\n", ZERO + it)).collect()
    };
    let mut rows = followed.gets(&lines(0, 4)).rows;
    std::fs::remove_file(&followed.path).unwrap();
    for second in 4..8 {
        rows.extend(followed.at(second).rows);
    }
    std::fs::write(&followed.path, format!("time,latency_ms\n{}", lines(8, 14))).unwrap();
    let back = followed.at(8);
    let gap = &back.spots[0];
    assert_eq!((gap.kind, gap.span.unwrap().seconds()), (BlindSpotKind::Gap, 4.0));
    rows.extend(back.rows);
    rows.extend(followed.closed().rows);
    let rates = rows.iter().filter_map(|it| {
        let rate = it.1.iter().find(|it| it.0 == Metric::Throughput)?.1;
        Some((it.0, rate))
    });
    let expected = [2.0, 3.0, 4.0, 10.0, 11.0, 12.0, 13.0].map(|it| (it, 1.0));
    assert_eq!(rates.collect::<Vec<_>>(), expected);
}

#[test]
fn a_header_that_means_nothing_is_told_at_once() {
    let mut followed = Followed::new("time,latency\n");
    assert!(followed.said().notices[0].contains("no unit"));
    assert_eq!(followed.gets("1767225600,5\n").rows, []);
    assert_eq!(followed.closed().spots[0].kind, BlindSpotKind::Rejected);
}
