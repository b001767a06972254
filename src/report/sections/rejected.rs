//! Ways to share that are not proposed, each with the reason that decides.

use crate::recommender::mechanism::{Standing, mechanism};
use crate::recommender::reason::Weight;
use crate::recommender::verdict::{Outcome, Rejected, Verdict};
use crate::report::ReportInput;
use crate::report::block::{Block, Mark};
use crate::report::pieces::statement;
use crate::report::sections::{Part, Section, device_heading, gathered_parts, title};
use crate::report::view::{UNFOLDED_DEVICES, devices};
use crate::report::wording::{capitalised, count, some};

/// Ways that were rejected.
pub(super) struct RejectedWays;

impl Section for RejectedWays {
    fn id(&self) -> &'static str {
        "rejected"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let verdicts = input.recommendation.verdicts;
        let views = devices(input);
        let mut alike: Vec<(&str, Vec<String>, Vec<Block>)> = Vec::new();
        for (view, device) in views.iter().zip(&input.findings.devices) {
            let Some(verdict) = verdicts.iter().find(|it| it.gpu == device.gpu) else { continue };
            let ways = of_device(verdict);
            match alike.iter_mut().find(|it| it.2 == ways) {
                Some(known) => known.1.push(view.name.clone()),
                None if ways.is_empty() => {}
                None => alike.push((&view.slug, vec![view.name.clone()], ways)),
            }
        }
        let part = |(slug, names, ways): (&str, Vec<String>, Vec<Block>)| {
            let who = some(&names);
            let mut blocks = vec![device_heading(self, slug, &who)];
            blocks.extend(ways);
            Part { devices: names.len(), summary: format!("{who}: what was rejected"), blocks }
        };
        let parts: Vec<Part> = alike.into_iter().map(part).collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let why = "Each other way to share with the reason that decides about it; all reasons stand in `cotenant recommend`.";
        let mut blocks = vec![title(self, "What was rejected"), Block::Text(why.to_owned())];
        blocks.extend(gathered_parts(parts, UNFOLDED_DEVICES));
        blocks
    }
}

fn of_device(verdict: &Verdict) -> Vec<Block> {
    match verdict.outcome {
        Outcome::Nobody => Vec::new(),
        _ => verdict.rejected.iter().map(one).collect(),
    }
}

/// One way with the reason that decides, and how many others it has.
pub(crate) fn one(it: &Rejected) -> Block {
    let (mark, tag) = match it.standing {
        Standing::Refused => (Mark::Firm, ""),
        Standing::Open => (Mark::Unknown, ", open"),
        Standing::Possible => (Mark::Probable, ", possible"),
    };
    let more = it.reasons.iter().skip(1).filter(|it| it.weight <= Weight::Open).count();
    let notes = match more {
        0 => Vec::new(),
        some => {
            vec![format!("{} against it", count(some, "more reason stands", "more reasons stand"))]
        }
    };
    let title = capitalised(mechanism(it.mechanism).title());
    let reason = if it.reason.is_empty() { "another way comes first" } else { &it.reason };
    statement(mark, &format!("{title}{tag}"), reason, notes)
}
