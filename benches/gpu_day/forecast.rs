//! Burst profiles beside the schedule, lengths of turns, and slowdowns foretold from each tenant alone.

use crate::ask::{ask, digits, number, word};
use crate::page::{Outcome, Part};
use crate::results::{Arm, Results, is_inside};
use crate::sample::{Measured, mean, median};
use serde_json::Value;

/// A seen length may differ from the played one by this factor.
const SEEN: f64 = 1.5;
/// A share of busy time may be off by this.
const SHARE: f64 = 0.05;
/// A step between two short kernels this many times the usual one is somebody else's turn.
const GAP: f64 = 5.0;

/// Shapes of the neighbour alone, as `analyze` sees them.
pub(crate) fn shapes(results: &Results) -> Part {
    let mut part = Part::new(
        "Burst shapes",
        "`analyze` on the neighbour alone beside its log; lengths in s. Kept: the busy share is within 0.05, and the median length within a factor of 1.5 where bursts are resolved, or not above 1.5 times it where they are partly resolved, which makes it an upper limit, the played mean inside the range where it is inferred; a length that is not told is no claim.",
        &[
            "busy played",
            "busy told",
            "bursts",
            "mean played",
            "median played",
            "resolution",
            "median told",
            "inferred",
        ],
    );
    for arm in results.arms.iter().filter(|it| it.name.starts_with("alone-")) {
        let (Some(recording), Some(_)) = (arm.recording(), arm.part("neighbour")) else { continue };
        let answer = ask(&["analyze".to_owned(), recording.display().to_string()]);
        let profile = answer.ok().map(|it| {
            it.pointer("/devices/0/subjects/0/scopes/0/profile").cloned().unwrap_or_default()
        });
        shape(&mut part, arm, &profile.unwrap_or_default());
    }
    part
}

fn shape(part: &mut Part, arm: &Arm, profile: &Value) {
    let lengths: Vec<f64> = arm.spells().iter().map(|it| it.1 - it.0).collect();
    let height = match arm.part("neighbour") {
        Some(it) if it["do"] == "steady" => number(it, "/busy_s").zip(number(it, "/period_s")),
        _ => None,
    };
    let height = height.map_or(1.0, |it| it.0 / it.1);
    let end = |key: &str| Some(arm.second(number(profile, key)?));
    let seen_from = end("/span/from_us").unwrap_or(0.0);
    let seen_until = end("/span/until_us").unwrap_or(arm.seconds());
    let inside = |it: &(f64, f64)| (it.1.min(seen_until) - it.0.max(seen_from)).max(0.0);
    let busy = height * arm.spells().iter().map(inside).sum::<f64>() / (seen_until - seen_from);
    let told = number(profile, "/mean_ratio");
    let seen = number(profile, "/bursts/burst_lengths/p50_s");
    let inferred = |end: &str| number(profile, &format!("/resolution/estimated_burst/{end}"));
    let (low, about, high) = (inferred("low_s"), inferred("about_s"), inferred("high_s"));
    let (played, middle) = (mean(lengths.iter().copied()), median(&lengths));
    let cells = vec![
        format!("{busy:.3}"),
        digits(told, 3),
        lengths.len().to_string(),
        digits(played, 4),
        digits(middle, 4),
        word(&profile["resolution"]["verdict"]).to_owned(),
        digits(seen, 3),
        about.map_or("—".to_owned(), |it| {
            format!("{it:.4} ({} to {})", digits(low, 4), digits(high, 4))
        }),
    ];
    let Some(told) = told else { return part.claim(&arm.name, cells, Outcome::CannotTell) };
    let is_bursty = height >= 1.0;
    let has_length = match (low.zip(high).zip(played), seen.zip(middle)) {
        (Some(((low, high), played)), _) => Some((low..=high).contains(&played)),
        (None, Some((seen, middle))) if profile["resolution"]["verdict"] == "partly_resolved" => {
            Some(middle <= SEEN * seen)
        }
        (None, Some((seen, middle))) => Some((seen / middle).max(middle / seen) <= SEEN),
        (None, None) => None,
    };
    let is_kept = (told - busy).abs() <= SHARE && (!is_bursty || has_length.unwrap_or(true));
    part.claim(&arm.name, cells, Outcome::of(is_kept));
}

/// Length of a turn, and what each change of turns costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    /// Median time until somebody else comes, seconds.
    pub(crate) quantum_s: f64,
    /// Half of what a pause is longer than a turn of the other, seconds.
    pub(crate) switch_s: f64,
    /// Turns that were seen.
    pub(crate) count: usize,
}

/// Turns by the stamps of short kernels that ran beside a neighbour that never paused.
pub(crate) fn turns(results: &Results) -> Option<Turns> {
    let rows = results.arm("turns")?.rows("victim.csv");
    let ends: Vec<(f64, f64)> =
        rows.iter().filter_map(|it| (*it.first()?).zip(*it.get(1)?)).collect();
    let batches: Vec<Vec<f64>> = ends
        .chunk_by(|a, b| a.0 == b.0)
        .map(|batch| batch.windows(2).map(|it| it[1].1 - it[0].1).collect())
        .collect();
    let usual = median(&batches.concat())?;
    let (mut runs, mut gaps) = (Vec::new(), Vec::new());
    for batch in &batches {
        // The first turn of a batch began before it, the last one ended after it.
        let mut run = None;
        for step in batch {
            if *step > GAP * usual {
                gaps.push(step - usual);
                runs.extend(run);
                run = Some(usual);
            } else if let Some(run) = &mut run {
                *run += step;
            }
        }
    }
    let quantum_s = median(&runs)?;
    let switch_s = ((median(&gaps)? - quantum_s) / 2.0).max(0.0);
    Some(Turns { quantum_s, switch_s, count: runs.len() })
}

/// p50 and p99 beside a neighbour: told from both alone, and measured.
pub(crate) fn slowdowns(results: &Results) -> Part {
    let mut part = Part::new(
        "What sharing does to the victim",
        "`whatif` from the recordings of both alone beside what the request logs say: latency over that alone, with intervals. Under time slicing it is asked as shipped, and with the turns measured here. Kept: the two intervals meet. Requests count that arrived while the neighbour's schedule ran.",
        &["quantile", "asked", "told", "measured", "told over measured", "requests"],
    );
    let measured_turns = turns(results);
    match measured_turns {
        Some(it) => {
            part.note += &format!(
                " Turns here: {:.3} ms, {:.3} ms to switch, the median of {}.",
                1e3 * it.quantum_s,
                1e3 * it.switch_s,
                it.count
            );
        }
        None => part.note += " Turns were not measured.",
    }
    for arm in &results.arms {
        let alone: Vec<&Arm> = arm.names("alone").iter().filter_map(|it| results.arm(it)).collect();
        let [victim, neighbour] = alone[..] else { continue };
        slowdown(&mut part, (victim, neighbour), arm, None);
        if let Some(it) = measured_turns.filter(|_| arm.truth["phase"] == "sliced") {
            slowdown(&mut part, (victim, neighbour), arm, Some(it));
        }
    }
    part
}

fn slowdown(part: &mut Part, alone: (&Arm, &Arm), arm: &Arm, turns: Option<Turns>) {
    let (Some(victim), Some(neighbour)) = (alone.0.recording(), alone.1.recording()) else {
        return;
    };
    let way = if arm.truth["phase"] == "mps" { "mps" } else { "time-slicing" };
    let mut question = vec![
        "whatif".to_owned(),
        format!("{}#victim", victim.display()),
        format!("{}#neighbour", neighbour.display()),
        "--mechanism".to_owned(),
        way.to_owned(),
    ];
    if let Some(it) = turns {
        let micros = |seconds: f64| format!("{}us", (1e6 * seconds).round().max(1.0));
        question.extend(["--quantum".to_owned(), micros(it.quantum_s)]);
        question.extend(["--switch".to_owned(), micros(it.switch_s)]);
    }
    let asked = if turns.is_some() { "turns as measured" } else { "as shipped" };
    let answer = ask(&question);
    let rows = answer.as_ref().ok().and_then(|it| it["rows"].as_array());
    let row = rows.and_then(|it| it.iter().find(|it| it["tenant"] == "victim"));
    let present = arm.present();
    let latencies = |arm: &Arm, spells: Option<&[(f64, f64)]>| -> Vec<f64> {
        let requests = arm.requests("victim").into_iter();
        let counted = requests.filter(|it| spells.is_none_or(|own| is_inside(own, it.arrival_s)));
        counted.map(|it| it.latency_s).collect()
    };
    let (beside, own) = (latencies(arm, Some(&present)), latencies(alone.0, None));
    for (quantile, share) in [("p50", 0.5), ("p99", 0.99)] {
        let measured = Measured::quantile(&beside, share).zip(Measured::quantile(&own, share));
        let measured = measured.map(|it| it.0.over(it.1));
        let told = |end: &str| row.and_then(|it| number(it, &format!("/slowdown_{quantile}{end}")));
        let told = told("").zip(told("_low")).zip(told("_high"));
        let told = told.map(|((value, low), high)| Measured { value, low, high });
        let why = || {
            let refused = row.map(|it| word(&it["refused"]).to_owned());
            refused.unwrap_or_else(|| answer.as_ref().err().cloned().unwrap_or_default())
        };
        let cells = vec![
            quantile.to_owned(),
            asked.to_owned(),
            told.map_or_else(why, |it| it.text(1.0)),
            measured.map_or("—".to_owned(), |it| it.text(1.0)),
            digits(told.zip(measured).map(|it| it.0.value / it.1.value), 2),
            format!("{} of {} alone", beside.len(), own.len()),
        ];
        let outcome = match told.zip(measured) {
            Some((told, measured)) => Outcome::of(measured.meets(told.low, told.high)),
            None => Outcome::CannotTell,
        };
        part.claim(&arm.name, cells, outcome);
    }
}
