//! What happened that a reader has to know first: memory that ran out, and who slows whom.

use crate::analysis::memory_findings::OutOfMemory;
use crate::report::ReportInput;
use crate::report::block::{Block, Statement};
use crate::report::influences::grouping::{Group, has_opposite, shown};
use crate::report::influences::wording::quoted;
use crate::report::sections::influence::statement;
use crate::report::sections::memory_peaks;
use crate::report::view::devices;
use crate::report::wording::{capitalised, clean, count, sentence, stopped};

/// So many influences, and so many devices without memory, are told.
const MOST_TOLD: usize = 3;

/// The section that tells all about memory.
const BELOW: &str = "“Do they run out of memory together?”";

/// An influence with the place where it was found.
struct Found<'a> {
    group: Group<'a>,
    is_mutual: bool,
    /// Name of the device; `None` where it is not known.
    place: Option<String>,
}

/// What happened, the firmest first: memory that ran out, and who slows whom; empty when nothing was shown.
pub(super) fn incidents(input: &ReportInput<'_>) -> Vec<Block> {
    let found = found(input);
    let mut blocks: Vec<Block> = lost(input);
    blocks.extend(found.iter().take(MOST_TOLD).map(one));
    blocks.extend(rest(found.len().saturating_sub(MOST_TOLD)));
    blocks
}

/// The surest moment without memory of each device, and how many more it had.
fn lost(input: &ReportInput<'_>) -> Vec<Block> {
    let is_alone = input.findings.devices.len() == 1;
    let all = input.findings.devices.iter().flat_map(|device| {
        device.memory.iter().filter_map(move |it| {
            let told = memory_peaks::surest_first(it);
            let surest = *told.first()?;
            Some(((!is_alone).then(|| clean(&device.label)), surest, told.len() - 1))
        })
    });
    ran_out(&all.collect::<Vec<_>>())
}

/// Moments without memory: where, the surest one, and how many more there were.
fn ran_out(all: &[(Option<String>, &OutOfMemory, usize)]) -> Vec<Block> {
    let one = |(place, event, more): &(Option<String>, &OutOfMemory, usize)| {
        let text = stopped(&capitalised(&sentence(&event.sentence)));
        let moments = count(*more, "more moment", "more moments");
        let note = format!("{moments} without memory: see {BELOW}.");
        Block::Statement(Statement {
            mark: memory_peaks::mark(event),
            tag: "memory ran out".to_owned(),
            text: placed(&text, place.as_deref()),
            notes: (*more > 0).then_some(note).into_iter().collect(),
        })
    };
    let left = all.len().saturating_sub(MOST_TOLD);
    let gpus = count(left, "more GPU", "more GPUs");
    let rest = Block::Text(format!("Memory ran out on {gpus}: see {BELOW}."));
    all.iter().take(MOST_TOLD).map(one).chain((left > 0).then_some(rest)).collect()
}

/// Everything that was shown anywhere, the firmest first.
fn found<'a>(input: &ReportInput<'a>) -> Vec<Found<'a>> {
    let views = devices(input);
    let is_alone = views.len() == 1;
    let placed = views.iter().zip(&input.findings.devices).map(|(view, device)| {
        ((!is_alone).then(|| view.name.clone()), device.influences.pairs.as_slice())
    });
    let lost = (None, input.findings.unplaced_influences.pairs.as_slice());
    let mut found = Vec::new();
    for (place, pairs) in placed.chain([lost]) {
        let groups = shown(pairs);
        let all = groups.iter().enumerate().map(|(position, it)| Found {
            group: it.clone(),
            is_mutual: has_opposite(groups.get(..position).unwrap_or_default(), it),
            place: place.clone(),
        });
        found.extend(all);
    }
    found.sort_by_key(|it| it.group.head.verdict);
    found
}

fn one(found: &Found<'_>) -> Block {
    let mut statement = statement(&found.group, found.is_mutual);
    statement.text = placed(&statement.text, found.place.as_deref());
    Block::Statement(statement)
}

fn rest(left_out: usize) -> Option<Block> {
    let more = count(left_out, "more influence stands below", "more influences stand below");
    (left_out > 0).then(|| Block::Text(format!("{more}, under “Who slows whom”.")))
}

/// The sentence with the device in front.
fn placed(sentence: &str, place: Option<&str>) -> String {
    match place {
        Some(place) => format!("On {}: {sentence}", quoted(place).replace('`', "")),
        None => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::evidence::Confidence;
    use crate::analysis::memory_findings::{Blame, OutOfMemoryKind};
    use crate::domain::time::Timestamp;

    #[test]
    fn of_many_gpus_without_memory_none_goes_untold() {
        let event = OutOfMemory {
            kind: OutOfMemoryKind::LostWhileFull,
            at: Timestamp::from_micros(0),
            at_uncertainty_s: 1.0,
            failed: Some("a".to_owned()),
            free_bytes: Some(0.0),
            usual_rise_bytes: None,
            xid_code: None,
            blame: Blame::OneTenant,
            named: vec!["b".to_owned()],
            shares: Vec::new(),
            confidence: Confidence::new(0.9),
            sentence: "`a` lost its memory after `b` had grown".to_owned(),
            unseen: Vec::new(),
        };
        let all: Vec<_> = (0..5).map(|it| (Some(format!("GPU {it}")), &event, it % 2)).collect();
        let blocks = ran_out(&all);
        let [Block::Statement(first), Block::Statement(second), _, Block::Text(rest)] = &blocks[..]
        else {
            panic!("{blocks:?}")
        };
        assert!(first.text.starts_with("On GPU 0: ") && first.notes.is_empty(), "{first:?}");
        assert!(second.notes[0].starts_with("1 more moment without memory"), "{second:?}");
        assert!(rest.starts_with("Memory ran out on 2 more GPUs"), "{rest}");
        assert_eq!(ran_out(&all[..3]).len(), 3, "nothing more is said where all are told");
    }
}
