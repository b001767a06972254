//! What looks like a neighbour's doing and may be something else.

pub(crate) mod board;
pub(crate) mod copies;
pub(crate) mod own;

use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::analysis::influence::grid::Grid;
use crate::domain::shares::{change, share};
use crate::domain::time::TimeSpan;
use crate::stats::coactivation::shift_test;

/// How firmly a look-alike has to be seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bar {
    /// Effect from which it matters.
    effect: f64,
    /// Chance by luck up to which it counts as found.
    p_value: f64,
}

/// For what the driver itself reports as holding the board back.
pub(crate) const REPORTED: Bar = Bar { effect: 0.05, p_value: 0.10 };
/// For what was inferred from levels, which may rise together with much else.
pub(crate) const INFERRED: Bar = Bar { effect: 0.10, p_value: 0.02 };
/// Most stretches that are listed.
const MOST_SPANS: usize = 20;

/// How a victim fares where something is present.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presence {
    /// Share of the bins that were seen.
    pub(crate) share: f64,
    /// Relative change of the victim in them; `None` when it was not seen in or out of them.
    pub(crate) effect: Option<f64>,
    /// Chance of such a change by luck; `None` when it cannot be said.
    pub(crate) p_value: Option<f64>,
}

impl Presence {
    /// Compares the victim where `flags` are up with where they are not.
    pub(crate) fn of(flags: &[Option<bool>], harm: &[f64]) -> Self {
        let mean = |is_up: bool| {
            let side: Vec<f64> = flags
                .iter()
                .zip(harm)
                .filter(|it| *it.0 == Some(is_up) && it.1.is_finite())
                .map(|it| *it.1)
                .collect();
            (!side.is_empty()).then(|| side.iter().sum::<f64>() / side.len() as f64)
        };
        let seen = flags.iter().flatten().count();
        let up = flags.iter().flatten().filter(|it| **it).count();
        let effect = mean(true).zip(mean(false)).map(|it| (it.0 - it.1).exp_m1());
        Self { share: up as f64 / seen.max(1) as f64, effect, p_value: p_value(flags, harm) }
    }

    /// Whether the victim is slower there, by more than luck explains.
    pub(crate) fn is_harmful(&self, bar: Bar) -> bool {
        self.effect.is_some_and(|it| it >= bar.effect)
            && self.p_value.is_some_and(|it| it <= bar.p_value)
    }
}

fn p_value(flags: &[Option<bool>], harm: &[f64]) -> Option<f64> {
    let is_seen = |bin: &usize| flags[*bin].is_some() && harm[*bin].is_finite();
    let bins: Vec<usize> = (0..harm.len()).filter(is_seen).collect();
    let mean = bins.iter().map(|it| harm[*it]).sum::<f64>() / bins.len().max(1) as f64;
    let share = bins.iter().filter(|it| flags[**it] == Some(true)).count() as f64
        / bins.len().max(1) as f64;
    let up = |bin: usize| match flags[bin] {
        Some(is_up) if harm[bin].is_finite() => f64::from(u8::from(is_up)),
        _ => share,
    };
    let x: Vec<f64> = (0..harm.len()).map(up).collect();
    let y: Vec<f64> = harm.iter().map(|it| if it.is_finite() { *it } else { mean }).collect();
    shift_test(&x, &y, 0).map(|it| it.p_value)
}

/// Whether a value stands at or over a limit, bin by bin.
pub(crate) fn flags(values: &[f64], limit: f64) -> Vec<Option<bool>> {
    values.iter().map(|it| it.is_finite().then_some(*it >= limit)).collect()
}

/// Stretches in which the flags are up, the longest first.
pub(crate) fn spans(flags: &[Option<bool>], grid: &Grid) -> Vec<TimeSpan> {
    let mut spans = Vec::new();
    let mut from = None;
    for bin in 0..=flags.len() {
        let is_up = flags.get(bin).copied().flatten() == Some(true);
        match (from, is_up) {
            (None, true) => from = Some(bin),
            (Some(first), false) => {
                spans.extend(TimeSpan::new(grid.start_of(first), grid.start_of(bin)));
                from = None;
            }
            _ => {}
        }
    }
    spans.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()).then(a.cmp(b)));
    spans.truncate(MOST_SPANS);
    spans
}

/// A look-alike about nobody yet.
pub(crate) fn look_alike(
    kind: LookAlikeKind,
    state: LookAlikeState,
    sentence: String,
) -> LookAlike {
    LookAlike {
        kind,
        state,
        victim: None,
        victim_subject: None,
        metric: None,
        effect_ratio: None,
        share_of_time: None,
        spans: Vec::new(),
        sentence,
    }
}

/// A look-alike by its presence: found where it is there and the victim is slower in it.
pub(crate) fn by_presence(
    kind: LookAlikeKind,
    (what, bar): (&str, Bar),
    flags: &[Option<bool>],
    harm: &[f64],
    grid: &Grid,
) -> LookAlike {
    let presence = Presence::of(flags, harm);
    let time = share(presence.share);
    let (state, sentence) = match presence.effect {
        _ if presence.share == 0.0 => (LookAlikeState::RuledOut, format!("{what} at no time")),
        Some(effect) if presence.is_harmful(bar) => (
            LookAlikeState::Found,
            format!(
                "{what} for {time} of the time, and the victim is {} slower then",
                share(effect)
            ),
        ),
        Some(effect) => (
            LookAlikeState::RuledOut,
            format!(
                "{what} for {time} of the time, but the victim is not clearly slower then ({})",
                change(effect)
            ),
        ),
        None => (
            LookAlikeState::Unseen,
            format!(
                "{what} for {time} of the time, but the victim was not seen both then and otherwise"
            ),
        ),
    };
    LookAlike {
        effect_ratio: presence.effect,
        share_of_time: Some(presence.share),
        spans: spans(flags, grid),
        ..look_alike(kind, state, sentence)
    }
}
