//! What would change a verdict that waits for something: the cheapest that really does.

use crate::recommender::confidence::confidence;
use crate::recommender::mechanism::{Assessment, MechanismId, Standing, mechanism};
use crate::recommender::policy::Policy;
use crate::recommender::reason::{Measurement, MeasurementKind, Reason, Weight};
use crate::recommender::situation::{NOBODY_KNOWS, Situation};
use crate::recommender::verdict::{Lowered, Settling};

/// What has to be learnt so that one of the open ways is proposed, or falls; `None` where none is open.
///
/// `before` are the ways that come before what is proposed. One answer alone settles nothing while another question keeps the
/// same way open, so all questions of a way count together; the way whose dearest question is cheapest is taken.
pub(crate) fn settling(before: &[Assessment]) -> Option<Settling> {
    let open = before.iter().filter(|it| it.standing == Standing::Open);
    let (way, questions) = open
        .map(|it| (it.mechanism, it.of_weight(Weight::Open).collect::<Vec<&Reason>>()))
        .filter(|it| !it.1.is_empty())
        .reduce(|best, it| if cost(&it.1) < cost(&best.1) { it } else { best })?;
    let measurements: Vec<&Measurement> =
        questions.iter().filter_map(|it| it.measurement.as_ref()).collect();
    let mut asked: Vec<&str> = questions.iter().map(|it| it.sentence.as_str()).collect();
    asked.dedup();
    let sentence = format!(
        "open is this: {}; a good result could bring {}",
        asked.join("; and "),
        mechanism(way).title()
    );
    Some(Settling { measurement: joined(&measurements)?, would_allow: Some(way), sentence })
}

/// What a set of questions costs: its dearest kind, the longest time, how many they are.
fn cost(questions: &[&Reason]) -> (MeasurementKind, u64, usize) {
    let all = || questions.iter().filter_map(|it| it.measurement.as_ref());
    let dearest = all().map(|it| it.kind).max().unwrap_or(MeasurementKind::Trial);
    let longest = all().map(|it| it.about_s as u64).max().unwrap_or(0);
    (dearest, longest, questions.len())
}

/// Several measurements as one; recordings are made in one run. `None` without any.
fn joined(all: &[&Measurement]) -> Option<Measurement> {
    let mut distinct: Vec<&Measurement> = Vec::new();
    for it in all {
        let is_known = distinct.iter().any(|known| known.sentence == it.sentence);
        if !is_known {
            distinct.push(it);
        }
    }
    distinct.sort_by(|one, other| {
        one.kind.cmp(&other.kind).then(one.about_s.total_cmp(&other.about_s))
    });
    let is_recording = |it: &&&Measurement| it.kind.is_recording();
    let (runs, others): (Vec<&Measurement>, Vec<&Measurement>) =
        distinct.into_iter().partition(|it| is_recording(&it));
    let run_s = runs.iter().map(|it| it.about_s).fold(0.0, f64::max);
    let about_s = run_s + others.iter().map(|it| it.about_s).sum::<f64>();
    let kind = runs.iter().chain(&others).map(|it| it.kind).max()?;
    let in_one_run: Vec<&str> = runs.iter().map(|it| it.sentence.as_str()).collect();
    let parts: Vec<String> = others
        .iter()
        .map(|it| it.sentence.clone())
        .chain((!in_one_run.is_empty()).then(|| as_one_run(&in_one_run)))
        .collect();
    Some(Measurement::new(kind, about_s, parts.join("; and ")))
}

/// Recordings that are made in one run: `record a, and b` where all of them say `record`.
fn as_one_run(sentences: &[&str]) -> String {
    let what: Option<Vec<&str>> = sentences.iter().map(|it| it.strip_prefix("record ")).collect();
    match what {
        Some(what) => format!("record {}", what.join(", and ")),
        None => sentences.join("; in the same run "),
    }
}

/// Who was on a device: the question of a verdict about nobody whom anybody knows.
pub(crate) fn naming(situation: &Situation) -> Option<Settling> {
    situation.now.is_anonymous.then(|| Settling {
        measurement: who(situation),
        would_allow: None,
        sentence: format!("{NOBODY_KNOWS}; with two or more tenants every way to share is weighed"),
    })
}

/// How to learn who is on a device.
fn who(situation: &Situation) -> Measurement {
    let what = match situation.now.is_mig {
        Some(true) => {
            "record who is in which MIG instance: `cotenant record`, or `nvidia-smi -q` again and again"
        }
        _ => {
            "record who is on the device: `cotenant record`, or `nvidia-smi pmon -s um -o DT` beside what was recorded"
        }
    };
    Measurement::new(MeasurementKind::Tenants, 900.0, what)
}

/// What would make a proposal sure enough for the policy: the cheapest doubt alone that suffices, else the greatest together.
///
/// Where all of them together would not, only a smaller `least_confidence` would.
pub(crate) fn dispelling(
    doubt: &Reason,
    lowered: &[Lowered],
    would_allow: Option<MechanismId>,
    policy: &Policy,
) -> Settling {
    let is_enough = |gone: &[usize]| {
        let left = lowered.iter().enumerate().filter(|it| !gone.contains(&it.0));
        let left: Vec<Lowered> = left.map(|it| it.1.clone()).collect();
        confidence(&left).value() >= policy.least_confidence
    };
    let mut curable: Vec<(usize, &Measurement)> = lowered
        .iter()
        .enumerate()
        .filter_map(|(place, it)| Some((place, it.remedy.as_ref()?)))
        .collect();
    let cheapest = curable
        .iter()
        .filter(|it| is_enough(&[it.0]))
        .reduce(|best, it| if it.1.is_cheaper_than(best.1) { it } else { best });
    let chosen: Vec<&Measurement> = match cheapest {
        Some(it) => vec![it.1],
        None => {
            curable.sort_by(|one, other| lowered[one.0].factor.total_cmp(&lowered[other.0].factor));
            let places: Vec<usize> = curable.iter().map(|it| it.0).collect();
            let enough = (1..=places.len()).find(|it| is_enough(&places[..*it]));
            curable.iter().take(enough.unwrap_or(0)).map(|it| it.1).collect()
        }
    };
    let measurement = joined(&chosen).unwrap_or_else(|| {
        let what = format!(
            "nothing that can be measured lifts it to {:.2}: state a smaller `least_confidence` in the policy to have it all the same",
            policy.least_confidence
        );
        Measurement::new(MeasurementKind::Policy, 0.0, what)
    });
    Settling { measurement, would_allow, sentence: format!("open is this: {}", doubt.sentence) }
}
