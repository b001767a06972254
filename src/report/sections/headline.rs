//! The influences that a reader has to know first.

use crate::report::ReportInput;
use crate::report::block::{Block, Mark};
use crate::report::influences::grouping::{Group, has_opposite, shown};
use crate::report::influences::wording::{in_words, mark, quoted};
use crate::report::sections::influence::statement;
use crate::report::view::devices;
use crate::report::wording::{capitalised, count, stopped};

/// So many influences are told besides the first.
const MOST_BESIDES: usize = 3;

/// An influence with the place where it was found.
struct Found<'a> {
    group: Group<'a>,
    is_mutual: bool,
    /// Name of the device; `None` where it is not known.
    place: Option<String>,
}

/// What goes before the verdict on sharing, and what goes after it.
#[derive(Default)]
pub(super) struct Headline {
    /// The firmest influence, when one was shown beyond doubt, then the next ones.
    pub before: Vec<Block>,
    /// Influences that are only likely, when nothing firmer was shown.
    pub after: Vec<Block>,
}

/// The influences to begin with; empty when none was shown.
pub(super) fn headline(input: &ReportInput<'_>) -> Headline {
    let found = found(input);
    let Some((first, others)) = found.split_first() else { return Headline::default() };
    if mark(first.group.head.verdict) == Mark::Probable {
        let mut after: Vec<Block> = found.iter().take(1 + MOST_BESIDES).map(one).collect();
        after.extend(rest(found.len().saturating_sub(1 + MOST_BESIDES)));
        return Headline { before: Vec::new(), after };
    }
    let lead = stopped(&capitalised(&in_words(first.group.head)));
    let mut before = vec![Block::Lead(with_place(&lead, first))];
    before.extend(others.iter().take(MOST_BESIDES).map(one));
    before.extend(rest(others.len().saturating_sub(MOST_BESIDES)));
    Headline { before, after: Vec::new() }
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
    statement.text = with_place(&statement.text, found);
    Block::Statement(statement)
}

fn rest(left_out: usize) -> Option<Block> {
    let more = count(left_out, "more influence stands below", "more influences stand below");
    (left_out > 0).then(|| Block::Text(format!("{more}, under “Who slows whom”.")))
}

/// The sentence with the device in front.
fn with_place(sentence: &str, found: &Found<'_>) -> String {
    match &found.place {
        Some(place) => format!("On {}: {sentence}", quoted(place).replace('`', "")),
        None => sentence.to_owned(),
    }
}
