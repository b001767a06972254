//! What had to be assumed, each once, about whom, and what would take the place of the assumption.

use crate::colocation::demand::Assumption;
use crate::report::block::Mark;
use crate::report::block::{Block, Statement};
use crate::report::whatif::WhatIf;
use crate::report::wording::{capitalised, name, some, stopped};

/// How soon it is worth a measurement, and which; `None` where the assumption does not widen this.
pub(super) fn settling(it: Assumption, is_spatial: bool) -> Option<(u8, &'static str)> {
    match it {
        Assumption::BurstsUnknown => Some((0, "record at shorter intervals")),
        Assumption::OtherGpu => Some((1, "record on the GPU that would be shared")),
        Assumption::CoProfiled => Some((2, "record each tenant alone")),
        Assumption::BurstsInferred => Some((3, "record at shorter intervals")),
        Assumption::WidthUnknown => {
            is_spatial.then_some((4, "record SM activity (DCGM, or counters of Hopper and later)"))
        }
        Assumption::BandwidthUnknown | Assumption::BandwidthFromUtilisation => is_spatial
            .then_some((5, "record DRAM activity (DCGM, or counters of Hopper and later)")),
        Assumption::ServiceSpreadUnknown => Some((6, "record p50 and p95 of the latency")),
        Assumption::PowerUnknown
        | Assumption::ArrivalsInBins
        | Assumption::HostUnknown
        | Assumption::PaceUnknown
        | Assumption::OrderDrawn
        | Assumption::PartPlayed => None,
    }
}

/// One statement for each assumption.
pub(super) fn blocks(input: &WhatIf<'_>) -> Vec<Block> {
    let mut all: Vec<Assumption> =
        input.parties.iter().flat_map(|it| it.demand.assumptions.clone()).collect();
    all.sort_unstable();
    all.dedup();
    if input.options.power.is_none() {
        all.retain(|it| *it != Assumption::PowerUnknown);
    }
    if all.is_empty() {
        return vec![Block::Text("Nothing: everything was measured or given.".to_owned())];
    }
    let statement = |assumption: Assumption| {
        let whom: Vec<String> = input
            .parties
            .iter()
            .filter(|it| it.demand.assumptions.contains(&assumption))
            .map(|it| name(&it.name))
            .collect();
        Block::Statement(Statement {
            mark: Mark::Unknown,
            tag: some(&whom),
            text: stopped(&capitalised(assumption.sentence())),
            notes: Vec::new(),
        })
    };
    all.into_iter().map(statement).collect()
}
