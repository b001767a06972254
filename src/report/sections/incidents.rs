//! What happened that a reader has to know first: memory that ran out, and who slows whom.

use crate::report::ReportInput;
use crate::report::block::{Block, Statement};
use crate::report::influences::grouping::{Group, has_opposite, shown};
use crate::report::influences::wording::quoted;
use crate::report::sections::influence::statement;
use crate::report::sections::memory_peaks::{self, is_told};
use crate::report::view::devices;
use crate::report::wording::{capitalised, clean, count, sentence, stopped};

/// So many influences, and so many devices without memory, are told.
const MOST_TOLD: usize = 3;

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

/// The surest moment without memory of each device.
fn lost(input: &ReportInput<'_>) -> Vec<Block> {
    let is_alone = input.findings.devices.len() == 1;
    let all = input.findings.devices.iter().flat_map(|device| {
        device.memory.iter().filter_map(move |it| {
            let told = || it.out_of_memory.iter().filter(is_told);
            let surest = told().reduce(|best, it| {
                if it.confidence.value() > best.confidence.value() { it } else { best }
            })?;
            let place = (!is_alone).then(|| clean(&device.label));
            Some((place, surest, told().count() - 1))
        })
    });
    let mut blocks: Vec<Block> = all
        .take(MOST_TOLD)
        .map(|(place, event, more)| {
            let text = stopped(&capitalised(&sentence(&event.sentence)));
            let more = count(more, "more moment", "more moments");
            let notes = match more.starts_with('0') {
                true => Vec::new(),
                false => vec![format!(
                    "{more} without memory stand under “Do they run out of memory together?”."
                )],
            };
            Block::Statement(Statement {
                mark: memory_peaks::mark(event),
                tag: "memory ran out".to_owned(),
                text: placed(&text, place.as_deref()),
                notes,
            })
        })
        .collect();
    blocks.truncate(MOST_TOLD);
    blocks
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
