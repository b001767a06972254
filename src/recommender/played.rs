//! Every way to share, played once: what a decision then weighs under one policy or another.

use crate::colocation::demand::{Assumption, Demand};
use crate::colocation::phases::Budget;
use crate::colocation::range::Range;
use crate::colocation::replay::MOST_TENANTS;
use crate::colocation::share::{Mechanism, Slice};
use crate::colocation::slices::{COMPUTE_SLICES, MEMORY_SLICES};
use crate::colocation::whatif::{
    Options, Prediction, Seat, TenantPrediction, predict, predict_all,
};
use crate::domain::mig_geometry::{MigBoard, MigProfile};
use crate::recommender::decide::Choice;
use crate::recommender::mechanism::MechanismId;
use crate::recommender::policy::Policy;
use crate::recommender::situation::{Situation, Tenant};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// Events to replay for each instance that a tenant might get.
const SLICE_EVENTS: u64 = 40_000;
/// Events to replay for each tenant alone where they are more than can be played together, so that thousands take seconds.
const CROWD_EVENTS: u64 = 2_000;

/// Predictions for the tenants of a situation; none of them depends on a policy.
#[derive(Debug, Clone)]
pub struct Played {
    /// Each of them on a device of its own; `None` for those whose demand is not known.
    pub(crate) alone: Vec<Option<TenantPrediction>>,
    /// All of them in turns; `None` unless everybody's demand is known.
    pub(crate) time_slicing: Option<Prediction>,
    /// All of them under MPS; `None` unless everybody's demand is known.
    pub(crate) mps: Option<Prediction>,
    /// Each of them in an instance of each profile of the board, by tenant, then by index of the profile.
    pub(crate) slices: Vec<Vec<Option<SliceOutcome>>>,
}

/// One tenant in one instance.
#[derive(Debug, Clone)]
pub(crate) struct SliceOutcome {
    pub(crate) prediction: TenantPrediction,
    /// Extra time for the same work, as a share of the time alone; `None` where nothing was timed.
    pub(crate) extra: Option<Range>,
}

/// What one tenant comes to by itself: alone, and in every instance of the board; the same in any company.
#[derive(Debug, Clone)]
pub struct Solo {
    alone: Option<TenantPrediction>,
    slices: Vec<Option<SliceOutcome>>,
}

impl Solo {
    /// A tenant alone and in every plain profile of the situation's device.
    pub fn of(situation: &Situation, tenant: &Tenant) -> Self {
        Self::under(situation, &situation.options, tenant)
    }

    fn under(situation: &Situation, options: &Options, tenant: &Tenant) -> Self {
        let alone = |demand: Option<&Demand>| {
            let found = predict(&[Seat::of(demand?)], Mechanism::Exclusive, options);
            found.tenants.into_iter().next()
        };
        let demand = tenant.demand.as_ref();
        Self { alone: alone(demand), slices: slices(situation, options, demand) }
    }
}

impl Played {
    /// Plays a situation: all tenants under time slicing and MPS, each alone in every plain profile.
    pub fn of(situation: &Situation) -> Self {
        let tenants = &situation.tenants;
        let is_active = |it: &&Tenant| it.demand.as_ref().is_some_and(|it| !it.is_idle());
        let mut options = situation.options;
        if tenants.iter().filter(is_active).count() > MOST_TENANTS {
            options.budget.events = options.budget.events.min(CROWD_EVENTS);
        }
        let solos: Vec<Solo> =
            tenants.par_iter().map(|it| Solo::under(situation, &options, it)).collect();
        let solos: Vec<&Solo> = solos.iter().collect();
        let mut played = Self::apart(&solos);
        played.time_slicing = together(situation, Mechanism::time_slicing());
        played.mps = together(situation, Mechanism::mps());
        played
    }

    /// Plays tenants together whose solos were played before, in the order of the situation.
    ///
    /// `is_shared` says whether time slicing and MPS are to be played at all: where trust rules them out, nobody needs to know.
    pub fn of_solos(situation: &Situation, solos: &[&Solo], is_shared: bool) -> Self {
        let mut played = Self::apart(solos);
        if is_shared {
            played.time_slicing = together(situation, Mechanism::time_slicing());
            played.mps = together(situation, Mechanism::mps());
        }
        played
    }

    /// The same without anybody beside anybody.
    fn apart(solos: &[&Solo]) -> Self {
        Self {
            alone: solos.iter().map(|it| it.alone.clone()).collect(),
            time_slicing: None,
            mps: None,
            slices: solos.iter().map(|it| it.slices.clone()).collect(),
        }
    }

    /// What each tenant comes to by itself.
    pub(crate) fn solos(&self) -> Vec<Solo> {
        let both = self.alone.iter().zip(&self.slices);
        both.map(|(alone, slices)| Solo { alone: alone.clone(), slices: slices.clone() }).collect()
    }

    /// Extra time for the same work of a tenant in an instance of a profile of the board, both by their place.
    ///
    /// `None` where nothing was timed: for the whole device, profiles with other engines, and tenants without a demand.
    pub fn extra_time_ratio(&self, tenant: usize, profile: usize) -> Option<Range> {
        self.slices.get(tenant)?.get(profile)?.as_ref()?.extra
    }
}

/// All tenants beside each other; `None` unless everybody's demand is known, and there are two.
fn together(situation: &Situation, mechanism: Mechanism) -> Option<Prediction> {
    let demands: Option<Vec<&Demand>> =
        situation.tenants.iter().map(|it| it.demand.as_ref()).collect();
    let demands = demands.filter(|it| it.len() > 1)?;
    let seats: Vec<Seat<'_>> = demands.iter().map(|it| Seat::of(it)).collect();
    Some(predict(&seats, mechanism, &situation.options))
}

/// The decision, with nothing played that cannot change it.
///
/// What predictions say only ever adds reasons against a way: one that is refused without them is never played, nor is one
/// that comes after a way that needs none.
pub(crate) fn weigh(situation: &Situation, solos: &[&Solo], policy: &Policy) -> Choice {
    let mut played = Played::apart(solos);
    let mut choice = Choice::of(situation, &played, policy);
    loop {
        let is_unplayed = |it: &MechanismId| match it {
            MechanismId::TimeSlicing => played.time_slicing.is_none(),
            MechanismId::Mps => played.mps.is_none(),
            MechanismId::Mig | MechanismId::Exclusive => false,
        };
        let next = choice.hopeful().into_iter().find(is_unplayed);
        match next {
            Some(MechanismId::TimeSlicing) => {
                played.time_slicing = together(situation, Mechanism::time_slicing());
                if played.time_slicing.is_none() {
                    return choice;
                }
            }
            Some(MechanismId::Mps) => {
                played.mps = together(situation, Mechanism::mps());
                if played.mps.is_none() {
                    return choice;
                }
            }
            _ => return choice,
        }
        choice = Choice::of(situation, &played, policy);
    }
}

fn slices(
    situation: &Situation,
    options: &Options,
    demand: Option<&Demand>,
) -> Vec<Option<SliceOutcome>> {
    let Some(board) = situation.device.mig.board() else { return Vec::new() };
    let Some(demand) = demand else { return vec![None; board.profiles.len()] };
    let whole = board.whole();
    let is_asked = |place: usize| board.profiles[place].is_plain() && Some(place) != whole;
    let asked: Vec<usize> = (0..board.profiles.len()).filter(|it| is_asked(*it)).collect();
    let fitted: Vec<(Demand, Slice)> =
        asked.iter().map(|it| in_sevenths(demand, board, &board.profiles[*it])).collect();
    let line_ups: Vec<Vec<Seat<'_>>> = fitted
        .iter()
        .map(|(demand, slice)| vec![Seat { slice: Some(*slice), ..Seat::of(demand) }])
        .collect();
    // One tenant alone is steadier than several: four times what a decision may cost is enough.
    let events = SLICE_EVENTS.min(options.budget.events.saturating_mul(4));
    let budget = Budget { events, ..options.budget };
    let options = Options { power: None, budget, ..*options };
    let predictions = predict_all(&line_ups, Mechanism::Mig, &options);
    let mut found = vec![None; board.profiles.len()];
    for (place, prediction) in asked.into_iter().zip(predictions) {
        found[place] = prediction.tenants.into_iter().next().map(|it| outcome(demand, it));
    }
    found
}

/// All tenants, each in an instance of its own, under the power cap that they have in common.
///
/// `None` without a power cap, or where a demand is not known: then each is as if alone.
pub(crate) fn under_one_cap(
    situation: &Situation,
    board: &MigBoard,
    profiles: &[usize],
) -> Option<Vec<SliceOutcome>> {
    situation.options.power?;
    let demands: Option<Vec<&Demand>> =
        situation.tenants.iter().map(|it| it.demand.as_ref()).collect();
    let demands = demands?;
    let fitted: Vec<(Demand, Slice)> = demands
        .iter()
        .zip(profiles)
        .map(|(demand, profile)| in_sevenths(demand, board, &board.profiles[*profile]))
        .collect();
    let seats: Vec<Seat<'_>> = fitted
        .iter()
        .map(|(demand, slice)| Seat { slice: Some(*slice), ..Seat::of(demand) })
        .collect();
    let found = predict(&seats, Mechanism::Mig, &situation.options);
    Some(demands.iter().zip(found.tenants).map(|(demand, it)| outcome(demand, it)).collect())
}

/// Whole iterations were timed where the driver's counters stand for the SMs; else only busy time is slowed.
fn outcome(demand: &Demand, prediction: TenantPrediction) -> SliceOutcome {
    let is_whole = demand.assumptions.contains(&Assumption::WidthUnknown)
        && demand.driver.is_some_and(|it| it.power_w.is_some());
    let busy = if is_whole { 1.0 } else { demand.busy_share().min(1.0) };
    let slowdown = prediction.slowdown.map(|it| it.p50);
    let extra = slowdown.map(|it| {
        let extra = |slowdown: f64| busy * (slowdown - 1.0);
        Range::new(extra(it.expected), extra(it.low), extra(it.high))
    });
    SliceOutcome { prediction, extra }
}

/// The demand and the slice in sevenths and eighths that stand to each other as they do on this board.
///
/// Predictions know slices of seven and of eight. Boards have other shares (60 of 132 SMs are no 3/7), so the demand is
/// scaled until the ratio of what there is to what it asks for is that of the board.
fn in_sevenths(demand: &Demand, board: &MigBoard, profile: &MigProfile) -> (Demand, Slice) {
    let (compute, memory) = shares(board, profile);
    let nearest = |share: f64, of: u32| ((share * f64::from(of)).round() as u32).clamp(1, of);
    // The number of slices also chooses the published model, so a board of seven keeps its own.
    let compute_slices = match board.compute_slices == COMPUTE_SLICES {
        true => profile.compute_slices,
        false => nearest(compute, COMPUTE_SLICES),
    };
    let slice = Slice { compute_slices, memory_slices: nearest(memory, MEMORY_SLICES) };
    let scaled = |range: Range, factor: f64| {
        Range::new(range.expected * factor, range.low * factor, range.high * factor)
    };
    let mut fitted = demand.clone();
    fitted.width = scaled(demand.width, slice.compute() / compute);
    fitted.bandwidth = scaled(demand.bandwidth, slice.bandwidth() / memory);
    (fitted, slice)
}

/// Shares of the SMs and of the bandwidth that an instance has, 0 to 1.
///
/// SMs as they are counted where the table has them, else by slices; bandwidth by memory slices, where memory is not cut all of it.
pub(crate) fn shares(board: &MigBoard, profile: &MigProfile) -> (f64, f64) {
    let by_slices = f64::from(profile.compute_slices) / f64::from(board.compute_slices.max(1));
    let counted = profile.sm_count.zip(board.sm_total).filter(|it| it.0 > 0 && it.1 > 0);
    let compute = counted.map_or(by_slices, |(own, all)| f64::from(own) / f64::from(all));
    let memory = match board.memory_slices {
        0 => 1.0,
        all => f64::from(profile.memory_slices.max(1)) / f64::from(all),
    };
    (compute.clamp(1e-3, 1.0), memory.clamp(1e-3, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;
    use crate::domain::mig_geometry::BOARDS;

    #[test]
    fn a_slice_of_four_slows_by_its_own_share_and_not_by_sevenths() {
        let a30 = BOARDS.iter().find(|it| it.name == "A30").unwrap();
        let half = a30.profile_named("2g.12gb").unwrap();
        let demand = Demand::bursts("a", 0.5, (0.05, Spread::Fixed), 300.0).unwrap().wide(1.0, 0.0);
        let (fitted, slice) = in_sevenths(&demand, a30, &a30.profiles[half]);
        let seat = Seat { slice: Some(slice), ..Seat::of(&fitted) };
        let found = predict(&[seat], Mechanism::Mig, &Options::default());
        let slowdown = found.tenants[0].slowdown.unwrap().p50.expected;
        assert!((slowdown - 2.0).abs() < 0.05, "{slowdown}");
    }
}
