//! Ways to share that are not proposed, each with the reason that decides.

use crate::recommender::mechanism::{Standing, mechanism};
use crate::recommender::reason::Weight;
use crate::recommender::verdict::{Outcome, Rejected, Verdict};
use crate::report::ReportInput;
use crate::report::block::{Block, Mark};
use crate::report::pieces::statement;
use crate::report::sections::{Section, device_heading, gathered, title};
use crate::report::view::{UNFOLDED_DEVICES, devices};
use crate::report::wording::{capitalised, count};

/// Ways that were rejected.
pub(super) struct RejectedWays;

impl Section for RejectedWays {
    fn id(&self) -> &'static str {
        "rejected"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let verdicts = input.recommendation.verdicts;
        let views = devices(input);
        let told = views.iter().zip(&input.findings.devices).filter_map(|(view, device)| {
            let verdict = verdicts.iter().find(|it| it.gpu == device.gpu)?;
            let ways = of_device(verdict);
            let mut blocks = vec![device_heading(self, &view.slug, &view.name)];
            blocks.extend(ways);
            let summary = format!("{}: what was rejected", view.name);
            (blocks.len() > 1).then_some((summary, blocks))
        });
        let parts: Vec<(String, Vec<Block>)> = told.collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let why = "Each other way to share with the reason that decides about it; all reasons stand in `cotenant recommend`.";
        let mut blocks = vec![title(self, "What was rejected"), Block::Text(why.to_owned())];
        blocks.extend(gathered(parts, UNFOLDED_DEVICES));
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
