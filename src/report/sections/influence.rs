//! Who slows whom: what was shown and the matrix; apart from them every pair, and what else it may be.

use crate::analysis::influence::findings::{Influence, InfluenceFindings, InfluenceVerdict};
use crate::report::ReportInput;
use crate::report::block::{Block, Caveat, Statement};
use crate::report::influences::grouping::{Group, grouped, has_opposite, shown};
use crate::report::influences::quantities::{effect, finite, hidden};
use crate::report::influences::wording::{in_words, mark, pair, quoted, reasons, within};
use crate::report::influences::{contention, look_alikes, matrix, tables};
use crate::report::sections::{Section, device_heading, gathered, title};
use crate::report::view::{UNFOLDED_DEVICES, devices};
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
        by_place(self, input, "Who slows whom", "who slows whom", |it| {
            let mut blocks = Vec::new();
            if !it.found.pairs.is_empty() {
                blocks.extend(statements(&it.found.pairs));
                // A picture of question marks shows nothing that the sentence does not say.
                let is_told = |it: &Influence| it.verdict != InfluenceVerdict::CannotTell;
                if it.found.pairs.iter().any(is_told) {
                    blocks.extend(matrix::block(&it.found.pairs, it.slug, it.name));
                }
            }
            blocks.extend(look_alikes::found(&it.found.look_alikes));
            blocks
        })
    }
}

/// How every pair of tenants was tested.
pub(super) struct Tests;

impl Section for Tests {
    fn id(&self) -> &'static str {
        "pairs"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        by_place(self, input, "Every pair of tenants that was tested", "every pair", |it| {
            let mut blocks = tables::blocks(&it.found.pairs, it.name);
            if !it.found.pairs.is_empty() {
                blocks.extend(tables::clocks(&it.found.clock_offsets, it.name));
            }
            blocks.extend(contention::blocks(it.found.contention.as_ref(), it.name));
            blocks
        })
    }
}

/// What makes a tenant slow and is no neighbour.
pub(super) struct LookAlikes;

impl Section for LookAlikes {
    fn id(&self) -> &'static str {
        "look-alikes"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        by_place(self, input, "Look-alikes that were checked", "look-alikes", |it| {
            look_alikes::blocks(&it.found.look_alikes, it.name)
        })
    }
}

/// Tenants that were tested against each other.
struct Place<'a> {
    found: &'a InfluenceFindings,
    slug: &'a str,
    name: &'a str,
}

/// The blocks of every device, and of tenants without one, each under its name.
fn by_place(
    section: &dyn Section,
    input: &ReportInput<'_>,
    heading: &str,
    what: &str,
    of_place: impl Fn(&Place<'_>) -> Vec<Block>,
) -> Vec<Block> {
    let views = devices(input);
    let mut parts: Vec<(String, Vec<Block>)> = Vec::new();
    for (view, device) in views.iter().zip(&input.findings.devices) {
        let (slug, name) = (view.slug.as_str(), view.name.as_str());
        let mut mine = of_place(&Place { found: &device.influences, slug, name });
        if !mine.is_empty() {
            mine.insert(0, device_heading(section, &view.slug, &view.name));
            parts.push((format!("{}: {what}", view.name), mine));
        }
    }
    let mut blocks = gathered(parts, UNFOLDED_DEVICES);
    let (slug, name) = ("no-known-gpu", "Tenants without a GPU");
    let mut mine = of_place(&Place { found: &input.findings.unplaced_influences, slug, name });
    if !mine.is_empty() {
        let heading = "Tenants assumed to share one GPU";
        let why = "No GPU is known of these tenants. That they share one was assumed, as asked; \
                   if they do not, nothing below holds.";
        mine.insert(0, Block::Text(why.to_owned()));
        mine.insert(0, device_heading(section, slug, heading));
    }
    blocks.extend(mine);
    if !blocks.is_empty() {
        blocks.insert(0, title(section, heading));
    }
    blocks
}

/// Every pair of tenants about which nothing can be said.
pub(super) fn every_untold(input: &ReportInput<'_>) -> Vec<Block> {
    let placed = input.findings.devices.iter().flat_map(|it| &it.influences.pairs);
    let lost = &input.findings.unplaced_influences.pairs;
    let all: Vec<Influence> = placed.chain(lost).cloned().collect();
    untold(&all)
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
        .filter_map(|it| Some(format!("{} {}", it.metric.in_words(), effect(it)?)))
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
            it.metric.in_words(),
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
