//! The answer in one word and one sentence.

use crate::analysis::diagnosis_findings::{Outcome, Slowness, Suspicion};
use crate::analysis::influence::findings::{
    Channel, InfluenceVerdict, LookAlike, LookAlikeKind, LookAlikeState,
};
use crate::domain::shares::{change as change_in_words, share};

/// Change from which a victim counts as slower than usual.
const SLOWER: f64 = 0.05;
/// Part of the change that a suspect must explain to be named for a window.
const PART: f64 = 0.25;

/// What kind of answer it is.
pub(crate) fn outcome(
    slowness: &Slowness,
    suspects: &[Suspicion],
    look_alikes: &[LookAlike],
    is_whole: bool,
) -> Outcome {
    if worst_change(slowness).is_some_and(|it| it < SLOWER) {
        return Outcome::NotSlow;
    }
    let best = culprits(slowness, suspects, is_whole).map(|it| it.influence.verdict).min();
    match best {
        Some(InfluenceVerdict::Confirmed | InfluenceVerdict::Through) => Outcome::Neighbour,
        Some(_) => Outcome::ProbablyNeighbour,
        None if causes(look_alikes).next().is_some() => Outcome::SomethingElse,
        None if suspects.iter().all(|it| it.influence.verdict == InfluenceVerdict::CannotTell) => {
            Outcome::CannotTell
        }
        None => Outcome::NothingShown,
    }
}

/// Change of the typical bin or of the slowest twentieth, whichever is worse.
fn worst_change(slowness: &Slowness) -> Option<f64> {
    let tail = slowness.window_p95.zip(slowness.normal_p95);
    // A rate is worse when it is lower, and then its slow bins are the low ones, which p95 does not show.
    let is_time = slowness.change_ratio.zip(slowness.window_p50.zip(slowness.normal_p50));
    let rises = is_time.is_none_or(|(change, (now, normal))| (change >= 0.0) == (now >= normal));
    let tail = tail.filter(|it| rises && it.1 > 0.0).map(|it| it.0 / it.1 - 1.0);
    slowness.change_ratio.map(|it| it.max(tail.unwrap_or(it)))
}

/// Suspects of whom an influence was shown and whose activity explains part of what happened in the window.
fn culprits<'a>(
    slowness: &Slowness,
    suspects: &'a [Suspicion],
    is_whole: bool,
) -> impl Iterator<Item = &'a Suspicion> {
    // What activity explains is a change of the typical bin: the tail counts where that did not change.
    let typical = slowness.change_ratio.filter(|it| *it >= SLOWER);
    let change = typical.or_else(|| worst_change(slowness)).unwrap_or(0.0);
    suspects.iter().filter(move |it| {
        let explains = it.explained_ratio.is_some_and(|it| it >= PART * change.max(SLOWER));
        it.influence.verdict <= InfluenceVerdict::Likely && (is_whole || explains)
    })
}

/// Look-alikes that were found and are causes, not gaps of the recording.
fn causes(look_alikes: &[LookAlike]) -> impl Iterator<Item = &LookAlike> {
    let is_cause = |it: &&LookAlike| {
        !matches!(
            it.kind,
            LookAlikeKind::MirroredSeries
                | LookAlikeKind::FrozenSeries
                | LookAlikeKind::NoOverlap
                | LookAlikeKind::SlowThroughout
        )
    };
    look_alikes.iter().filter(|it| it.state == LookAlikeState::Found).filter(is_cause)
}

/// The answer in one sentence.
pub(crate) fn headline(
    outcome: Outcome,
    victim: &str,
    metric: &str,
    slowness: &Slowness,
    suspects: &[Suspicion],
    look_alikes: &[LookAlike],
    is_whole: bool,
) -> String {
    let change = match worst_change(slowness) {
        Some(change) if slowness.change_ratio < Some(change) => {
            format!("{} worse than usual in the slowest twentieth of this window", share(change))
        }
        Some(change) => format!("{} worse than usual in this window", share(change)),
        None => "looked at over the whole recording".to_owned(),
    };
    let what = format!("{metric} of `{victim}`, {change}");
    match outcome {
        Outcome::NotSlow => format!(
            "`{victim}` was no slower than usual in this window: {metric} {}",
            change_in_words(slowness.change_ratio.unwrap_or(0.0))
        ),
        Outcome::Neighbour | Outcome::ProbablyNeighbour => {
            let culprit = culprits(slowness, suspects, is_whole).next();
            let (name, way) = culprit.map_or(("", ""), |it| (it.suspect.as_str(), way(it)));
            let effect = culprit
                .and_then(|it| it.influence.effect_ratio)
                .map_or(String::new(), |it| format!(": {} slower in its bursts", share(it)));
            let verb = if outcome == Outcome::Neighbour { "slows" } else { "probably slows" };
            format!("`{name}` {verb} `{victim}`{way}{effect} ({what})")
        }
        Outcome::SomethingElse => {
            let causes: Vec<&str> =
                causes(look_alikes).map(|it| it.sentence.as_str()).take(2).collect();
            format!(
                "No neighbour was shown to slow `{victim}`, but {} ({what})",
                causes.join("; and ")
            )
        }
        Outcome::NothingShown => {
            format!("Nobody was shown to slow `{victim}` ({what})")
        }
        Outcome::CannotTell => {
            format!("This recording cannot tell who slowed `{victim}` ({what})")
        }
    }
}

fn way(suspicion: &Suspicion) -> &'static str {
    match suspicion.influence.through {
        Some(Channel::PowerCap) => " through the board's power cap",
        Some(Channel::Heat) => " through the board's heat",
        Some(Channel::Clock) => " through the board's clock",
        Some(Channel::Pcie) => " through the PCIe link",
        None => "",
    }
}
