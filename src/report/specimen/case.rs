//! A diagnosis and an experiment with a known answer.

use crate::analysis::diagnosis_findings::{
    Diagnosis, ExperimentBlock, ExperimentPlan, ExperimentResult, Outcome, Picture, PictureRow,
    Slowness, Suspicion,
};
use crate::analysis::influence::findings::{ClockOffset, ClockOffsetOrigin, Influence};
use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::GpuId;
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::report::specimen::quarrel::{look_alikes, pairs, who};
use crate::report::specimen::{HOSTILE, at, span};

/// Bins of the picture, one second each.
const BINS: usize = 600;

fn is_burst(second: usize) -> bool {
    second >= 240 && second % 40 < 12
}

/// Latency of the victim: twelve times as long within bursts; not seen for a minute.
fn latency(second: usize) -> Option<f64> {
    let noise = (second * 7919 % 101) as f64 / 101.0;
    match second {
        400..460 => None,
        it if is_burst(it) => Some(0.55 + 0.4 * noise),
        _ => Some(0.06 + 0.02 * noise),
    }
}

fn suspicion(rank: u64, influence: Influence, sentence: &str) -> Suspicion {
    Suspicion {
        rank,
        suspect: influence.suspect.clone(),
        window_activity_ratio: (rank < 4).then_some(0.84 / rank as f64),
        is_idle_in_window: false,
        normal_activity_ratio: (rank < 3).then_some(0.12),
        explained_ratio: (rank == 1).then_some(0.79),
        sentence: sentence.to_owned(),
        influence,
    }
}

fn suspicions() -> Vec<Suspicion> {
    let of = |suspect: &str| {
        let found = pairs().into_iter().find(|it| it.suspect == suspect && it.victim == "chat");
        found.unwrap()
    };
    let quiet = Influence {
        suspect: "trainer".to_owned(),
        suspect_subject: who("trainer"),
        victim: "chat".to_owned(),
        victim_subject: who("chat"),
        ..pairs().into_iter().find(|it| it.victim == "batch" && it.suspect == "embed").unwrap()
    };
    let hostile = format!("{HOSTILE} was busier than usual, and p99 rose with it");
    vec![
        suspicion(1, of("batch"), "`batch` burst 9 times in the window, and p99 rose each time"),
        suspicion(2, of("embed"), "embed drove the board into its power cap for 40 s"),
        suspicion(3, of(HOSTILE), &hostile),
        suspicion(4, Influence { metric: Metric::LatencyP99, ..quiet }, "trainer kept its pace"),
        suspicion(5, of("notebook"), "notebook ran in the window, but only once"),
    ]
}

/// Activity at a second.
type Of = fn(usize) -> Option<f64>;

fn picture() -> Picture {
    let rows: [(&str, Of); 3] = [
        ("batch", |it| Some(if is_burst(it) { 0.97 } else { 0.02 })),
        ("embed", |it| Some(0.3 + 0.1 * (it as f64 / 30.0).sin())),
        (HOSTILE, |it| (it % 90 > 20).then_some(0.1)),
    ];
    let row = |(suspect, of): (&str, Of)| PictureRow {
        suspect: suspect.to_owned(),
        activity: (0..BINS).map(of).collect(),
        bursts: match suspect {
            "batch" => bursts(),
            _ => Vec::new(),
        },
        is_guilty: suspect == "batch",
    };
    Picture {
        from: at(0.0),
        bin_s: 1.0,
        victim: (0..BINS).map(latency).collect(),
        suspects: rows.into_iter().map(row).collect(),
    }
}

fn bursts() -> Vec<TimeSpan> {
    (6..15).map(|it| span(40.0 * f64::from(it), 40.0 * f64::from(it) + 12.0)).collect()
}

/// Labels of ten blocks, half of them without the suspect.
const LABELS: [bool; 10] = [true, false, false, true, true, false, true, false, false, true];

/// What happened to `chat`: `batch` did it.
pub(crate) fn diagnosis() -> Diagnosis {
    Diagnosis {
        headline: "batch slowed chat: p99 rose from 70 ms to 412 ms while batch burst".to_owned(),
        outcome: Outcome::Neighbour,
        victim: "chat".to_owned(),
        victim_subject: who("chat"),
        gpu: Some(GpuId::from_index(3)),
        metric: Metric::LatencyP99,
        window: span(240.0, 600.0),
        slowness: Slowness {
            window_p50: Some(0.412),
            window_p95: Some(0.93),
            normal_p50: Some(0.07),
            normal_p95: Some(0.079),
            change_ratio: Some(4.886),
            window_bins: 300,
            normal_bins: 240,
        },
        suspects: suspicions(),
        look_alikes: look_alikes(),
        out_of_memory: Vec::new(),
        clock_offset: Some(ClockOffset {
            tenant: "chat".to_owned(),
            offset_s: 0.4,
            origin: ClockOffsetOrigin::Given,
            sentence: "The offset was given on the command line.".to_owned(),
        }),
        picture: picture(),
        experiment: Some(ExperimentPlan {
            suspect: "batch".to_owned(),
            victim: "chat".to_owned(),
            metric: Metric::LatencyP99,
            block_s: 120.0,
            settle_s: 20.0,
            blocks: LABELS.to_vec(),
            least_p: 1.0 / 252.0,
            steps: vec![
                "Record chat's latency and the activity of both, every second".to_owned(),
                "Let batch run, or pause it, as the blocks say".to_owned(),
                format!("Leave {HOSTILE} as it is"),
            ],
        }),
        blind_spots: vec![BlindSpot {
            kind: BlindSpotKind::Gap,
            subject: Some(who("chat")),
            metric: Some(Metric::LatencyP99),
            span: Some(span(400.0, 460.0)),
            detail: "No samples for 60 s.".to_owned(),
            remedy: String::new(),
        }],
    }
}

/// The experiment that proves it.
pub(crate) fn experiment() -> ExperimentResult {
    let block = |(position, runs): (usize, bool)| {
        let start = 120.0 * position as f64;
        ExperimentBlock {
            span: span(start, start + 120.0),
            suspect_runs: runs,
            victim_mean: (position != 4).then_some(if runs { 0.41 } else { 0.07 }),
            suspect_activity_ratio: (position != 4).then_some(if runs { 0.3 } else { 0.0 }),
            bins: if position == 4 { 0 } else { 100 },
        }
    };
    ExperimentResult {
        suspect: "batch".to_owned(),
        victim: "chat".to_owned(),
        metric: Metric::LatencyP99,
        headline: "batch slows chat: p99 is 486 % higher in blocks with it".to_owned(),
        is_proven: true,
        effect_ratio: 4.86,
        effect_low: Some(3.9),
        effect_high: None,
        p_value: 1.0 / 252.0,
        arrangements: 252,
        blocks: LABELS.into_iter().enumerate().map(block).collect(),
        caveats: vec!["the load of chat differed between blocks by 4 %".to_owned()],
    }
}
