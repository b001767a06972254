//! Who slows whom: what was shown first, then the matrix, then every pair, then what else it may be.

use crate::analysis::influence::findings::{Influence, InfluenceFindings, InfluenceVerdict};
use crate::report::ReportInput;
use crate::report::block::{Block, Caveat, Statement};
use crate::report::influences::grouping::{Group, grouped, has_opposite, shown};
use crate::report::influences::quantities::{effect, finite, hidden, short};
use crate::report::influences::wording::{in_words, mark, pair, quoted, reasons, within};
use crate::report::influences::{contention, look_alikes, matrix, tables};
use crate::report::sections::{Section, device_heading, folded_after_many, title};
use crate::report::view::devices;
use crate::report::wording::{capitalised, count, list, sentence, stopped};

/// So many influences of a device are told in sentences.
const MOST_TOLD: usize = 8;
/// So many pairs of one answer are named.
const MOST_NAMED: usize = 3;

/// Who slows whom.
pub(super) struct Influences;

impl Section for Influences {
    fn id(&self) -> &'static str {
        "who-slows-whom"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let mut blocks = Vec::new();
        let views = devices(input);
        let placed = views.iter().zip(&input.findings.devices);
        for (position, (view, device)) in placed.enumerate() {
            let mut mine = of_place(&device.influences, &view.slug, &view.name);
            if !mine.is_empty() {
                mine.insert(0, device_heading(self, &view.slug, &view.name));
            }
            let summary = format!("{}: who slows whom", view.name);
            blocks.extend(folded_after_many(position, &summary, mine));
        }
        let lost = &input.findings.unplaced_influences;
        let mut mine = of_place(lost, "no-known-gpu", "Tenants without a GPU");
        if !mine.is_empty() {
            let heading = "Tenants assumed to share one GPU";
            let why = "No GPU is known of these tenants. That they share one was assumed, as asked; \
                       if they do not, nothing below holds.";
            mine.insert(0, Block::Text(why.to_owned()));
            mine.insert(0, device_heading(self, "no-known-gpu", heading));
        }
        blocks.extend(mine);
        if !blocks.is_empty() {
            blocks.insert(0, title(self, "Who slows whom"));
        }
        blocks
    }
}

fn of_place(found: &InfluenceFindings, slug: &str, name: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !found.pairs.is_empty() {
        blocks.extend(statements(&found.pairs));
        blocks.extend(matrix::block(&found.pairs, slug, name));
        blocks.extend(untold(&found.pairs));
        blocks.extend(tables::blocks(&found.pairs, name));
    }
    blocks.extend(look_alikes::blocks(&found.look_alikes, name));
    if !found.pairs.is_empty() {
        blocks.extend(tables::clocks(&found.clock_offsets, name));
    }
    blocks.extend(contention::blocks(found.contention.as_ref(), name));
    blocks
}

/// One sentence for each influence that was shown, or that none was.
fn statements(pairs: &[Influence]) -> Vec<Block> {
    let groups = shown(pairs);
    if groups.is_empty() {
        return vec![Block::Text(nobody(pairs))];
    }
    let mut blocks: Vec<Block> = groups
        .iter()
        .take(MOST_TOLD)
        .enumerate()
        .map(|(position, it)| {
            // It is said at the second of the two.
            let before = groups.get(..position).unwrap_or_default();
            Block::Statement(statement(it, has_opposite(before, it)))
        })
        .collect();
    if groups.len() > MOST_TOLD {
        let more = groups.len() - MOST_TOLD;
        let more = count(more, "more influence stands", "more influences stand");
        blocks.push(Block::Text(format!("{more} in the table.")));
    }
    blocks
}

/// One influence in words, with the other metrics that show it.
pub(super) fn statement(group: &Group<'_>, is_mutual: bool) -> Statement {
    let head = group.head;
    let also: Vec<String> = group
        .others
        .iter()
        .filter(|it| it.verdict <= InfluenceVerdict::Likely)
        .filter_map(|it| Some(format!("{} {}", short(it.metric), effect(it)?)))
        .collect();
    let mut notes = Vec::new();
    if is_mutual {
        let (suspect, victim) = (quoted(&head.suspect), quoted(&head.victim));
        notes.push(format!("The influence is mutual: {suspect} and {victim} slow each other."));
    }
    if !also.is_empty() {
        notes.push(format!("Also {}.", list(&also)));
    }
    Statement {
        mark: mark(head.verdict),
        tag: String::new(),
        text: stopped(&in_words(head)),
        notes,
    }
}

/// That nobody was shown to slow anybody, and what could have hidden.
fn nobody(pairs: &[Influence]) -> String {
    let missed: Vec<&Influence> =
        pairs.iter().filter(|it| it.verdict == InfluenceVerdict::NotShown).collect();
    if missed.is_empty() {
        return "Whether anybody slows anybody cannot be told from this recording.".to_owned();
    }
    let is_known = missed.iter().all(|it| finite(it.mde_ratio).is_some());
    let most = missed.iter().max_by(|a, b| {
        let size = |it: &Influence| finite(it.mde_ratio).unwrap_or(f64::MAX);
        size(a).total_cmp(&size(b))
    });
    let limit = match most {
        Some(it) if is_known => format!(
            "; {} of {} {}, the others less",
            short(it.metric),
            quoted(&it.victim),
            hidden(it)
        ),
        _ => "; how large an effect could hide is not known for all of them".to_owned(),
    };
    let limit = if missed.len() == 1 { limit.replace(", the others less", "") } else { limit };
    format!("It was not shown that anybody slows anybody{limit}.")
}

/// Pairs about which nothing can be said, those of one reason together, with what would settle it.
fn untold(pairs: &[Influence]) -> Vec<Block> {
    let mut answers: Vec<(String, String, Vec<String>)> = Vec::new();
    for group in grouped(pairs) {
        let it = group.head;
        if it.verdict != InfluenceVerdict::CannotTell {
            continue;
        }
        let remedy = it.remedy.as_deref().unwrap_or_default().trim();
        let remedy = if remedy.is_empty() { String::new() } else { sentence(remedy) };
        let reason = stopped(&capitalised(&reasons(it)));
        let who = format!("{}{}", pair(it), within(&it.scope).replace('`', ""));
        match answers.iter_mut().find(|known| known.0 == reason && known.1 == remedy) {
            Some(known) => known.2.push(who),
            None => answers.push((reason, remedy, vec![who])),
        }
    }
    let caveat = |(detail, remedy, mut who): (String, String, Vec<String>)| {
        if who.len() > MOST_NAMED {
            let more = who.len() - MOST_NAMED;
            who.truncate(MOST_NAMED);
            who.push(format!("{more} more"));
        }
        Block::Caveat(Caveat { kind: "Cannot tell".to_owned(), about: list(&who), detail, remedy })
    };
    answers.into_iter().map(caveat).collect()
}
