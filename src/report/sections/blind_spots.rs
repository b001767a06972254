//! What could not be seen, and what would let it be seen.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::outline::Outline;
use crate::report::ReportInput;
use crate::report::block::{Block, Caveat};
use crate::report::sections::{Section, title};
use crate::report::wording::{clean, list, sentence, span};

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
        let mut mine = vec![title(self, "What this recording could not show")];
        let spots = input.outline.blind_spots.iter().chain(&input.findings.blind_spots);
        mine.extend(blocks(input.outline, spots));
        mine
    }
}

/// What could not be seen, or that nothing is missing.
pub(crate) fn blocks<'a>(
    outline: &Outline,
    spots: impl IntoIterator<Item = &'a BlindSpot>,
) -> Vec<Block> {
    let mut caveats: Vec<Block> =
        grouped(spots).into_iter().map(|it| Block::Caveat(caveat(outline, &it))).collect();
    if caveats.is_empty() {
        return vec![Block::Text("Nothing that was looked for is missing.".to_owned())];
    }
    let rest = caveats.split_off(caveats.len().min(UNFOLDED));
    if !rest.is_empty() {
        let summary = format!("{} more", rest.len());
        caveats.push(Block::Details { summary, blocks: rest });
    }
    caveats
}

/// Blind spots of the recording and of the analyses; those that differ only in whom they are
/// about stand together.
fn grouped<'a>(spots: impl IntoIterator<Item = &'a BlindSpot>) -> Vec<Vec<&'a BlindSpot>> {
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
    let subjects = group.iter().filter_map(|it| it.subject.as_ref());
    let mut names: Vec<String> = subjects.map(|it| clean(&outline.label(it))).collect();
    if names.len() > MOST_NAMED {
        let more = names.len() - MOST_NAMED;
        names.truncate(MOST_NAMED);
        names.push(format!("{more} more"));
    }
    let metric = first.metric.map(|it| it.spec().label.to_owned());
    let parts = [Some(list(&names)), metric, first.span.map(span)];
    let about: Vec<String> = parts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
    Caveat {
        kind: in_words(first.kind).to_owned(),
        about: about.join(" · "),
        detail: sentence(&first.detail),
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
