//! What could not be seen, and what would let it be seen.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::outline::Outline;
use crate::recommender::verdict::Outcome;
use crate::report::ReportInput;
use crate::report::block::{Block, Caveat, Mark};
use crate::report::pieces::statement;
use crate::report::recommend::lead::to_measure;
use crate::report::sections::influence::every_untold;
use crate::report::sections::{Section, title};
use crate::report::wording::{capitalised, clean, list, name, sentence, some, span};
use std::collections::BTreeSet;

/// So many blind spots are shown unfolded.
const UNFOLDED: usize = 12;
/// So many subjects of one blind spot are named.
const MOST_NAMED: usize = 3;

/// Blind spots.
pub(super) struct BlindSpots;

impl Section for BlindSpots {
    fn id(&self) -> &'static str {
        "blind-spots"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let mut mine = vec![title(self, "What could not be seen, and what would settle it")];
        let settling = settling(input);
        let has_settling = !settling.is_empty();
        mine.extend(settling);
        let spots = input.outline.blind_spots.iter().chain(&input.findings.blind_spots);
        let mut noted = spots.peekable();
        if !has_settling || noted.peek().is_some() {
            mine.extend(blocks(input.outline, noted));
        }
        mine.extend(every_untold(input));
        mine
    }
}

/// The cheapest measurement, and the first answer of the policy, that would change a verdict, and what makes it less sure; what is the same for several GPUs is said once.
fn settling(input: &ReportInput<'_>) -> Vec<Block> {
    let mut told: Vec<(&str, String, Vec<String>)> = Vec::new();
    for verdict in input.recommendation.verdicts {
        let measurement = verdict.measurement.as_ref();
        let measurement =
            measurement.map(|it| ("measure", capitalised(&to_measure(&it.measurement))));
        let answer = verdict.answers.first().map(|it| ("answer", it.sentence.clone()));
        let is_proposed = matches!(verdict.outcome, Outcome::Share | Outcome::Exclusive);
        let lowered = verdict
            .lowered_by
            .iter()
            .filter(|_| is_proposed)
            .map(|it| ("less sure", it.sentence.clone()));
        for (tag, text) in measurement.into_iter().chain(answer).chain(lowered) {
            let device = name(&verdict.label);
            match told.iter_mut().find(|it| it.0 == tag && it.1 == text) {
                Some(known) => known.2.push(device),
                None => told.push((tag, text, vec![device])),
            }
        }
    }
    let place = |tag: &str| ["measure", "answer", "less sure"].iter().position(|it| *it == tag);
    told.sort_by_key(|it| (place(it.0), std::cmp::Reverse(it.2.len())));
    let mut all: Vec<Block> = told
        .into_iter()
        .map(|(tag, text, devices)| {
            let mark = if tag == "less sure" { Mark::Unknown } else { Mark::Probable };
            statement(mark, &format!("{}: {tag}", some(&devices)), &text, Vec::new())
        })
        .collect();
    let rest = all.split_off(all.len().min(UNFOLDED));
    if !rest.is_empty() {
        all.push(Block::Details { summary: format!("{} more", rest.len()), blocks: rest });
    }
    all
}

/// What could not be seen, or that nothing of the kind was noted.
pub(crate) fn blocks<'a>(
    outline: &Outline,
    spots: impl IntoIterator<Item = &'a BlindSpot>,
) -> Vec<Block> {
    let mut caveats: Vec<Block> =
        grouped(spots).into_iter().map(|it| Block::Caveat(caveat(outline, &it))).collect();
    if caveats.is_empty() {
        return vec![Block::Text(
            "No blind spot was noted while recording or analysing.".to_owned(),
        )];
    }
    let rest = caveats.split_off(caveats.len().min(UNFOLDED));
    if !rest.is_empty() {
        let summary = format!("{} more", rest.len());
        caveats.push(Block::Details { summary, blocks: rest });
    }
    caveats
}

/// Blind spots of the recording and of the analyses; those that differ only in whom or what they are
/// about stand together.
fn grouped<'a>(spots: impl IntoIterator<Item = &'a BlindSpot>) -> Vec<Vec<&'a BlindSpot>> {
    let mut groups: Vec<Vec<&BlindSpot>> = Vec::new();
    for group in by_subject(spots) {
        match groups.iter_mut().find(|it| differ_in_metric_only(it, &group)) {
            Some(known) => known.extend(group),
            None => groups.push(group),
        }
    }
    groups
}

/// Whether the same is said about the same subjects, and only of other metrics.
fn differ_in_metric_only(known: &[&BlindSpot], group: &[&BlindSpot]) -> bool {
    let (Some(one), Some(other)) = (known.first(), group.first()) else { return false };
    let bare = |it: &BlindSpot| BlindSpot {
        subject: None,
        metric: None,
        detail: it.parts().1.to_owned(),
        ..it.clone()
    };
    let is_of_metrics = one.metric.is_some() && other.metric.is_some();
    let subjects = |all: &[&BlindSpot], metric| {
        let of_metric = all.iter().filter(|it| it.metric == metric);
        of_metric.map(|it| it.subject.clone()).collect::<BTreeSet<_>>()
    };
    is_of_metrics
        && bare(one) == bare(other)
        && subjects(known, one.metric) == subjects(group, other.metric)
}

/// Those that differ only in whom they are about.
fn by_subject<'a>(spots: impl IntoIterator<Item = &'a BlindSpot>) -> Vec<Vec<&'a BlindSpot>> {
    let mut groups: Vec<Vec<&BlindSpot>> = Vec::new();
    for spot in spots {
        let is_alike = |it: &&mut Vec<&BlindSpot>| {
            it.first().is_some_and(|it| {
                BlindSpot { subject: None, ..(*it).clone() }
                    == BlindSpot { subject: None, ..spot.clone() }
            })
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) if group.contains(&spot) => {}
            Some(group) => group.push(spot),
            None => groups.push(vec![spot]),
        }
    }
    groups
}

fn caveat(outline: &Outline, group: &[&BlindSpot]) -> Caveat {
    let Some(first) = group.first() else {
        return Caveat {
            kind: String::new(),
            about: String::new(),
            detail: String::new(),
            remedy: String::new(),
        };
    };
    let of_first = group.iter().filter(|it| it.metric == first.metric);
    let subjects = of_first.filter_map(|it| it.subject.as_ref());
    let mut names: Vec<String> = subjects.map(|it| clean(&outline.label(it))).collect();
    if names.len() > MOST_NAMED {
        let more = names.len() - MOST_NAMED;
        names.truncate(MOST_NAMED);
        names.push(format!("{more} more"));
    }
    let mut metrics: Vec<String> = Vec::new();
    for label in group.iter().filter_map(|it| it.metric).map(|it| it.spec().label) {
        if !metrics.iter().any(|it| it == label) {
            metrics.push(label.to_owned());
        }
    }
    let parts = [Some(list(&names)), Some(list(&metrics)), first.span.map(span)];
    let about: Vec<String> = parts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
    Caveat {
        kind: in_words(first.kind).to_owned(),
        about: about.join(" · "),
        detail: sentence(first.parts().1),
        remedy: if first.remedy.trim().is_empty() {
            String::new()
        } else {
            sentence(&first.remedy)
        },
    }
}

/// Why it could not be seen, in a few words.
pub(crate) fn in_words(kind: BlindSpotKind) -> &'static str {
    match kind {
        BlindSpotKind::NotReported => "No reading",
        BlindSpotKind::NotRecorded => "Not recorded",
        BlindSpotKind::HiddenByMig => "Hidden by MIG",
        BlindSpotKind::TooCoarse => "Too coarse",
        BlindSpotKind::Gap => "Samples missing",
        BlindSpotKind::Rejected => "Not readable",
        BlindSpotKind::ClockAssumed => "Clock assumed",
        BlindSpotKind::Ambiguous => "Cannot be told apart",
        BlindSpotKind::TooShort => "Too short",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{GpuId, Subject};
    use crate::domain::metric::Metric;

    fn hidden(gpu: &str, metric: Metric) -> BlindSpot {
        BlindSpot {
            kind: BlindSpotKind::HiddenByMig,
            subject: Some(Subject::device(&GpuId::new(gpu))),
            metric: Some(metric),
            span: None,
            detail: format!("{}: no reading for a GPU in MIG mode", metric.spec().label),
            remedy: "record the instances".to_owned(),
        }
    }

    #[test]
    fn what_differs_in_the_metric_only_is_said_once() {
        let metrics = [Metric::GpuUtilization, Metric::MemoryUtilization, Metric::Power];
        let spots: Vec<BlindSpot> = metrics
            .iter()
            .flat_map(|it| [hidden("GPU-a", *it), hidden("GPU-b", *it)])
            .chain([hidden("GPU-a", Metric::SmClock)])
            .collect();
        let outline = Outline::default();
        let told: Vec<Caveat> = grouped(&spots).iter().map(|it| caveat(&outline, it)).collect();
        assert_eq!(told.len(), 2, "one GPU lacks one more: {told:?}");
        let labels = list(&metrics.map(|it| it.spec().label.to_owned()));
        assert!(told[0].about.ends_with(&labels), "{}", told[0].about);
        assert_eq!(told[0].detail, "no reading for a GPU in MIG mode");
        assert!(told[0].about.contains(" and "), "{}", told[0].about);
    }
}
