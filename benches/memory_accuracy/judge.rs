//! What cotenant says about a world, beside the truth.

use crate::worlds::{FINE, Look, World, board, crons};
use cotenant::analysis::findings::Findings;
use cotenant::analysis::memory_findings::{
    Blame, MemoryFindings, OutOfMemory as Seen, OutOfMemoryKind, PhaseRelation,
};
use cotenant::analysis::{Question, compute};
use cotenant::colocation::memory::{
    MemoryDemand, MemoryForecast, MemoryQuestion, MemoryRoom, forecast,
};
use cotenant::domain::recording::Recording;
use cotenant::recommender::memory_risk::{demand, memory_risks};
use std::convert::Infallible;

/// Everything that is found in a recording.
fn findings(part: &Recording) -> Findings {
    let load = |_: Option<&_>| Ok::<Recording, Infallible>(part.clone());
    match compute(&part.outline, &Question::default(), load) {
        Ok(found) => found,
        Err(never) => match never {},
    }
}

fn memory(part: &Recording) -> MemoryFindings {
    let device = findings(part).devices.into_iter().find(|it| it.gpu == board());
    device.and_then(|it| it.memory.into_iter().next()).expect("memory was recorded")
}

/// A forecast from tenants that were recorded with room for all, beside what then happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foretold {
    /// Chance that was told, 0 to 1.
    pub(crate) chance: f64,
    /// Whether a request was refused.
    pub(crate) happened: bool,
}

/// What half an hour with room for all foretells of ten minutes, and of one, on the board itself.
pub(crate) struct Outlook {
    /// For ten minutes and for one.
    pub(crate) horizons: [Foretold; 2],
    /// Pairs of tenants, which know nothing of each other.
    pub(crate) pairs: usize,
    /// Pairs that were called tied together all the same.
    pub(crate) tied: usize,
}

/// Horizons, in seconds.
pub(crate) const HORIZONS_S: [f64; 2] = [600.0, 60.0];

/// Plays a world twice, with different dice: once to learn, once for the truth.
pub(crate) fn outlook(world: &World, seed: u64) -> Outlook {
    let learnt = memory(&world.recorded_with_room(1_800.0, FINE, seed));
    let demands: Vec<MemoryDemand> =
        learnt.residents.iter().filter_map(|it| demand(it, learnt.step_s)).collect();
    let room = MemoryRoom {
        total_bytes: world.room_mib * crate::worlds::MIB,
        reserved_bytes: Some(0.0),
        others_bytes: Some(0.0),
    };
    let asked = MemoryQuestion { demands: &demands, room, measured: None, horizons_s: &HORIZONS_S };
    let told: MemoryForecast = forecast(&asked).expect("there are tenants");
    let refused = world.shared(HORIZONS_S[0], FINE, seed + 1_000_000).1;
    let start = world.scenario(world.room_mib, 1.0, FINE, 0).start_us;
    let within =
        |horizon_s: f64| refused.iter().any(|it| (it.time_us - start) as f64 <= horizon_s * 1e6);
    let is_tied =
        |it: PhaseRelation| matches!(it, PhaseRelation::Together | PhaseRelation::TakingTurns);
    Outlook {
        horizons: [0, 1].map(|it| Foretold {
            chance: told.risks[it].risk_ratio.expect("ten samples a second see enough"),
            happened: within(HORIZONS_S[it]),
        }),
        pairs: learnt.pairs.len(),
        tied: learnt.pairs.iter().filter(|it| is_tied(it.phase)).count(),
    }
}

/// How requests that were refused were explained.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    /// Requests that were refused and killed the one that asked.
    pub(crate) refused: usize,
    /// Of these, found at all.
    pub(crate) found: usize,
    /// Of those found, explained by the one that had grown most, or by the request itself when nobody had.
    pub(crate) right: usize,
    /// Of those found with a confidence of at least 0.7.
    pub(crate) sure: usize,
    /// Of those, explained rightly.
    pub(crate) sure_and_right: usize,
    /// Of those found, how often the one that died had grown most.
    pub(crate) dead_is_right: usize,
    /// Of those found, how often the one that held most had grown most.
    pub(crate) largest_is_right: usize,
    /// Moments that were told and did not happen.
    pub(crate) invented: usize,
}

impl Score {
    pub(crate) fn add(&mut self, other: Score) {
        self.refused += other.refused;
        self.found += other.found;
        self.right += other.right;
        self.sure += other.sure;
        self.sure_and_right += other.sure_and_right;
        self.dead_is_right += other.dead_is_right;
        self.largest_is_right += other.largest_is_right;
        self.invented += other.invented;
    }
}

/// Explains every refusal of a quarter of an hour.
pub(crate) fn explained(world: &World, look: Look, seed: u64) -> Score {
    let (recording, refusals) = world.shared(900.0, look, seed);
    let told: Vec<Seen> = memory(&recording)
        .out_of_memory
        .into_iter()
        .filter(|it| it.kind != OutOfMemoryKind::FullOnly)
        .collect();
    let name = |tenant: usize| format!("t{tenant}");
    let reach = 2.0 * look.tenants_ms.max(500.0) / 1e3;
    let is_it = |seen: &Seen, time_us: i64, asker: usize| {
        seen.failed.as_deref() == Some(&name(asker))
            && (seen.at.as_micros() - time_us).abs() as f64 / 1e6 <= reach
    };
    let deaths: Vec<_> = refusals.iter().filter(|it| it.died).collect();
    let mut score = Score { refused: deaths.len(), ..Score::default() };
    for death in &deaths {
        let Some(seen) = told.iter().find(|it| is_it(it, death.time_us, death.asker)) else {
            continue;
        };
        score.found += 1;
        let grown = world.grown(death);
        let most = grown.first().map_or(0.0, |it| it.1);
        let guilty: Vec<String> =
            grown.iter().filter(|it| it.1 >= 0.95 * most).map(|it| name(it.0)).collect();
        let is_right = match guilty.is_empty() {
            true => seen.blame == Blame::OwnRequest,
            false => {
                seen.blame != Blame::OwnRequest
                    && seen.named.first().is_some_and(|it| guilty.contains(it))
            }
        };
        score.right += usize::from(is_right);
        if seen.confidence.value() >= 0.7 {
            score.sure += 1;
            score.sure_and_right += usize::from(is_right);
        }
        score.dead_is_right += usize::from(guilty.contains(&name(death.asker)));
        let largest = death.held_bytes.iter().max_by_key(|it| it.1).map(|it| name(it.0));
        score.largest_is_right += usize::from(largest.is_some_and(|it| guilty.contains(&it)));
    }
    score.invented = told
        .iter()
        .filter(|seen| !deaths.iter().any(|it| is_it(seen, it.time_us, it.asker)))
        .count();
    score
}

/// Chances within a day that are told of two crons: the one that counts, and the one at random phases.
pub(crate) fn of_crons(offset_s: f64, seed: u64) -> (Option<PhaseRelation>, f64, f64) {
    let recording = crons(300.0, offset_s, 5.0, 7_200.0, seed);
    let found = findings(&recording);
    let risks = memory_risks(&found);
    let day = risks[0].forecast.risks.last().copied().expect("a day is asked for");
    let pair = found.devices[0].memory[0].pairs.first().map(|it| it.phase);
    (pair, day.risk_ratio.unwrap_or(f64::NAN), day.independent_ratio)
}
