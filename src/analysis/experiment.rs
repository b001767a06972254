//! What an experiment showed in which a suspect paused in blocks drawn by lot.

use crate::analysis::diagnosis::DiagnosisRefusal;
use crate::analysis::diagnosis_findings::{ExperimentBlock, ExperimentResult};
use crate::analysis::influence::cast::{Member, cast};
use crate::analysis::influence::offset::offset;
use crate::analysis::influence::signal::{is_measure_of_harm, is_time, metrics_of};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::shares::{change, share};
use crate::domain::time::TimeSpan;
use crate::stats::permutation::{LabelTest, label_test};
use std::collections::BTreeMap;

/// Probability up to which an influence is proven.
const PROVEN: f64 = 0.05;
/// Difference of load between the two kinds of blocks that weakens the answer.
const LOAD_DIFFERS: f64 = 0.10;
/// Activity in pauses over activity in runs from which the suspect did not really pause.
const STILL_ACTIVE: f64 = 0.2;

/// What is asked about an experiment.
#[derive(Debug, Clone)]
pub struct ExperimentRequest {
    /// Who was watched.
    pub victim: Subject,
    /// Who paused.
    pub suspect: Subject,
    /// In which metric; `None`: that of the slowest requests, or whatever there is.
    pub metric: Option<Metric>,
    /// When, and whether the suspect ran.
    pub blocks: Vec<(TimeSpan, bool)>,
    /// Clock offsets by tenant, in seconds.
    pub clock_offsets: BTreeMap<String, f64>,
    /// Seconds at the start of each block that do not count.
    pub settle_s: f64,
}

/// Evaluates an experiment by its exact test.
///
/// Errors: a refusal when the victim was not measured, or not in both kinds of blocks.
pub fn evaluate(
    outline: &Outline,
    part: &Recording,
    request: &ExperimentRequest,
) -> Result<ExperimentResult, DiagnosisRefusal> {
    let everybody = cast(&[part], |_| true);
    let find = |subject: &Subject| everybody.iter().find(|it| is_same(&it.subject, subject));
    let victim = find(&request.victim).ok_or_else(|| unseen(&request.victim))?;
    let suspect = find(&request.suspect);
    let metric = metric(victim, request.metric).ok_or_else(|| unseen(&request.victim))?;
    let series = victim.measured(metric).ok_or_else(|| unseen(&request.victim))?;
    let span = outline.span.unwrap_or_else(|| request.blocks[0].0);
    let offset = offset(victim, &request.clock_offsets, span);
    let late_us = (offset.offset_s * 1e6).round() as i64;
    let blocks: Vec<ExperimentBlock> = request
        .blocks
        .iter()
        .map(|(span, runs)| block(series, suspect, (*span, *runs), late_us, request.settle_s))
        .collect();
    let seen: Vec<(f64, bool)> = blocks
        .iter()
        .filter_map(|it| Some((harm_of(metric, it.victim_mean?), it.suspect_runs)))
        .collect();
    let (values, runs): (Vec<f64>, Vec<bool>) = seen.into_iter().unzip();
    let test = label_test(&values, &runs).ok_or_else(|| too_few(&blocks))?;
    let load = victim.measured(Metric::OfferedLoad).or_else(|| victim.measured(Metric::Throughput));
    let caveats = caveats(&blocks, load.filter(|_| is_time(metric)), late_us);
    let name = suspect.map_or_else(|| request.suspect.to_string(), |it| it.label.clone());
    Ok(result(name, victim.label.clone(), metric, &test, blocks, caveats))
}

fn result(
    suspect: String,
    victim: String,
    metric: Metric,
    test: &LabelTest,
    blocks: Vec<ExperimentBlock>,
    caveats: Vec<String>,
) -> ExperimentResult {
    let effect = test.difference.exp_m1();
    let is_proven = test.p_value <= PROVEN && effect > 0.0;
    let verb = if is_proven { "slows" } else { "was not proven to slow" };
    ExperimentResult {
        headline: format!(
            "`{suspect}` {verb} `{victim}`: {} {} in blocks with it (p = {:.3}, {} ways to deal out the labels)",
            metric.in_words(),
            change(effect),
            test.p_value,
            test.arrangements
        ),
        suspect,
        victim,
        metric,
        is_proven,
        effect_ratio: effect,
        effect_low: test.interval.map(|it| it.0.exp_m1()),
        effect_high: test.interval.map(|it| it.1.exp_m1()),
        p_value: test.p_value,
        arrangements: test.arrangements,
        blocks,
        caveats,
    }
}

fn is_same(mine: &Subject, asked: &Subject) -> bool {
    match (mine, asked) {
        (Subject::Tenant { tenant: mine, .. }, Subject::Tenant { tenant: asked, .. }) => {
            mine == asked
        }
        _ => mine == asked,
    }
}

fn metric(victim: &Member<'_>, asked: Option<Metric>) -> Option<Metric> {
    match asked {
        Some(metric) => is_measure_of_harm(metric).then_some(metric),
        None => {
            let all = metrics_of(victim);
            all.iter().copied().find(|it| *it == Metric::LatencyP99).or(all.first().copied())
        }
    }
}

/// Higher is worse, in logarithms.
fn harm_of(metric: Metric, mean: f64) -> f64 {
    if is_time(metric) { mean.ln() } else { -mean.ln() }
}

fn block(
    series: &Series,
    suspect: Option<&Member<'_>>,
    (span, suspect_runs): (TimeSpan, bool),
    late_us: i64,
    settle_s: f64,
) -> ExperimentBlock {
    let settled = span.from().plus_micros((settle_s * 1e6) as i64);
    let counted = TimeSpan::new(settled, span.until());
    let logs = |late_us: i64, series: &Series| -> Vec<f64> {
        let shifted = counted.and_then(|it| {
            TimeSpan::new(it.from().plus_micros(late_us), it.until().plus_micros(late_us))
        });
        let range = shifted.map_or(0..0, |it| series.positions(it));
        series.values()[range].to_vec()
    };
    let seen: Vec<f64> = logs(late_us, series).into_iter().filter(|it| *it > 0.0).collect();
    let mean = seen.iter().map(|it| it.ln()).sum::<f64>() / seen.len().max(1) as f64;
    let activity: Vec<f64> =
        suspect.iter().flat_map(|it| &it.activities).flat_map(|it| logs(0, &it.series)).collect();
    ExperimentBlock {
        span,
        suspect_runs,
        victim_mean: (!seen.is_empty()).then(|| mean.exp()),
        suspect_activity_ratio: (!activity.is_empty())
            .then(|| activity.iter().sum::<f64>() / activity.len() as f64),
        bins: seen.len() as u64,
    }
}

fn unseen(subject: &Subject) -> DiagnosisRefusal {
    let name = match subject {
        Subject::Tenant { tenant, .. } => tenant.to_string(),
        other => other.to_string(),
    };
    DiagnosisRefusal {
        sentence: format!("`{name}` has no latency and no throughput in this recording"),
        remedy: "record the victim's own metrics during the experiment".to_owned(),
    }
}

fn too_few(blocks: &[ExperimentBlock]) -> DiagnosisRefusal {
    let seen = |runs: bool| {
        blocks.iter().filter(|it| it.suspect_runs == runs && it.victim_mean.is_some()).count()
    };
    DiagnosisRefusal {
        sentence: format!(
            "the victim was seen in {} blocks with the suspect and {} without: too few for a test, or too many for an exact one",
            seen(true),
            seen(false)
        ),
        remedy: "play at least three blocks of each kind, eight in all are better, and at most 24"
            .to_owned(),
    }
}

fn caveats(blocks: &[ExperimentBlock], load: Option<&Series>, late_us: i64) -> Vec<String> {
    let mut caveats = Vec::new();
    let lost = blocks.iter().filter(|it| it.victim_mean.is_none()).count();
    if lost > 0 {
        caveats.push(format!("the victim was not seen in {lost} of {} blocks", blocks.len()));
    }
    let mean = |runs: bool, value: &dyn Fn(&ExperimentBlock) -> Option<f64>| {
        let side: Vec<f64> =
            blocks.iter().filter(|it| it.suspect_runs == runs).filter_map(value).collect();
        (!side.is_empty()).then(|| side.iter().sum::<f64>() / side.len() as f64)
    };
    let activity = |it: &ExperimentBlock| it.suspect_activity_ratio;
    match (mean(true, &activity), mean(false, &activity)) {
        (Some(with), Some(without)) if without > STILL_ACTIVE * with => caveats.push(format!(
            "the suspect did not really pause: {} active in its pauses, {} in its runs",
            share(without),
            share(with)
        )),
        (None, _) => caveats.push("whether the suspect really paused was not recorded".to_owned()),
        _ => {}
    }
    let offered = |it: &ExperimentBlock| {
        let shift = |at: crate::domain::time::Timestamp| at.plus_micros(late_us);
        let span = TimeSpan::new(shift(it.span.from()), shift(it.span.until()))?;
        let values = &load?.values()[load?.positions(span)];
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    match (mean(true, &offered), mean(false, &offered)) {
        (Some(with), Some(without)) if (with / without - 1.0).abs() > LOAD_DIFFERS => {
            caveats.push(format!(
                "the victim's load was {} in blocks with the suspect, which explains part of the difference",
                change(with / without - 1.0)
            ));
        }
        (None, _) => caveats.push(
            "the victim's load was not recorded, so it may have differed between blocks".to_owned(),
        ),
        _ => {}
    }
    caveats
}
