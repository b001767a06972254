//! What the board does to everybody: limits, heat, clock, link, faults.

use crate::analysis::influence::conditions::Conditions;
use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::analysis::influence::grid::Grid;
use crate::analysis::influence::look_alikes::{INFERRED, REPORTED, by_presence, flags, look_alike};
use crate::domain::shares::change as change_in_words;

/// Share of a bin at a limit from which the bin counts.
const PART_OF_BIN: f64 = 0.2;
/// Logarithm of full clock over clock from which the clock counts as low: below 90 %.
const LOW_CLOCK: f64 = 0.105;
/// Share of the usual greatest traffic from which the link counts as full.
const FULL_LINK: f64 = 0.8;

/// Every look-alike of the board, for one victim.
pub(crate) fn look_alikes(conditions: &Conditions, harm: &[f64], grid: &Grid) -> Vec<LookAlike> {
    let limits = [
        (
            LookAlikeKind::PowerCap,
            "the board stood at its power cap",
            &conditions.power_cap,
            "neither clock event reasons nor the power limit were recorded",
        ),
        (
            LookAlikeKind::ThermalSlowdown,
            "heat held the clock back",
            &conditions.heat,
            "clock event reasons were not recorded",
        ),
        (
            LookAlikeKind::HardwareSlowdown,
            "the hardware held the clock back (slowdown signal or power brake)",
            &conditions.hardware,
            "clock event reasons were not recorded",
        ),
    ];
    let mut found: Vec<LookAlike> = limits
        .into_iter()
        .map(|(kind, what, values, missing)| match values {
            Some(values) => {
                by_presence(kind, (what, REPORTED), &flags(values, PART_OF_BIN), harm, grid)
            }
            None => look_alike(kind, LookAlikeState::Unseen, missing.to_owned()),
        })
        .collect();
    found.push(clock(conditions, harm, grid));
    found.push(link(conditions, harm, grid));
    found.push(fault(conditions, harm, grid));
    found
}

fn clock(conditions: &Conditions, harm: &[f64], grid: &Grid) -> LookAlike {
    let kind = LookAlikeKind::ClockRamp;
    let Some(lag) = &conditions.clock_lag else {
        return look_alike(
            kind,
            LookAlikeState::Unseen,
            "the SM clock was not recorded".to_owned(),
        );
    };
    let is_explained = |bin: usize| {
        [&conditions.power_cap, &conditions.heat, &conditions.hardware]
            .into_iter()
            .flatten()
            .any(|it| it[bin] >= PART_OF_BIN)
    };
    let low: Vec<Option<bool>> = flags(lag, LOW_CLOCK)
        .into_iter()
        .enumerate()
        .map(|(bin, it)| it.map(|is_low| is_low && !is_explained(bin)))
        .collect();
    let what = "the SM clock stood below 90 % of its usual height without a recorded limit, as after idleness,";
    by_presence(kind, (what, REPORTED), &low, harm, grid)
}

fn link(conditions: &Conditions, harm: &[f64], grid: &Grid) -> LookAlike {
    let kind = LookAlikeKind::PcieSaturation;
    let Some(link) = &conditions.link else {
        return look_alike(
            kind,
            LookAlikeState::Unseen,
            "PCIe traffic was not recorded".to_owned(),
        );
    };
    if !conditions.is_link_busy() {
        // Rounded up: a bound that rounds to nothing would be none.
        let sentence = format!(
            "PCIe traffic stayed below {:.1} GB/s, and the link of such a board is taken to carry {:.0}",
            (conditions.link_top / 1e8).floor() / 10.0 + 0.1,
            conditions.link_carries / 1e9
        );
        return look_alike(kind, LookAlikeState::RuledOut, sentence);
    }
    let what = format!(
        "PCIe traffic stood at 80 % or more of its greatest ({:.1} GB/s)",
        conditions.link_top / 1e9
    );
    by_presence(kind, (&what, INFERRED), &flags(link, FULL_LINK), harm, grid)
}

/// A fault leaves no latency to compare: being there is enough.
fn fault(conditions: &Conditions, harm: &[f64], grid: &Grid) -> LookAlike {
    let kind = LookAlikeKind::Fault;
    let Some(touched) = &conditions.fault else {
        let sentence = "neither Xid nor memory errors were recorded".to_owned();
        return look_alike(kind, LookAlikeState::Unseen, sentence);
    };
    if conditions.faults.is_empty() {
        return look_alike(
            kind,
            LookAlikeState::RuledOut,
            "no Xid and no memory error came up".to_owned(),
        );
    }
    let names: Vec<&str> = conditions.faults.iter().map(|it| it.1.as_str()).take(5).collect();
    let compared = by_presence(kind, ("", REPORTED), &flags(touched, 0.5), harm, grid);
    let change = compared.effect_ratio.map_or(String::new(), |it| {
        format!("; around them the victim's change is {}", change_in_words(it))
    });
    let sentence = format!(
        "{} came up ({}){change}; the seconds around them are left out of every comparison",
        if conditions.faults.len() == 1 {
            "one fault".to_owned()
        } else {
            format!("{} faults", conditions.faults.len())
        },
        names.join(", "),
    );
    LookAlike { state: LookAlikeState::Found, sentence, ..compared }
}
