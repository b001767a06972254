//! Who gets which instance: the layout in which the worst-off tenant is best off.

use crate::domain::mig_geometry::MigBoard;
use crate::recommender::layout::Instance;
use crate::recommender::layout::Layout;
use crate::recommender::layout::change::{Change, Standing, change_to};
use crate::recommender::layout::leftover::{Leftover, Most, leftover};
use crate::recommender::layout::placements;
use serde::Serialize;
use std::collections::BTreeMap;

/// Share of a sum by which rounding may differ; a bound is never cut closer.
const ROUNDING: f64 = 1e-9;

/// A tenant that needs an instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Applicant {
    /// Profiles that it accepts, by index, and what each costs it, for example its predicted worst p99 slowdown.
    ///
    /// A cost that is no finite number makes the profile unacceptable.
    pub options: Vec<(usize, f64)>,
    /// The instance on which it runs now; `None` for a new tenant.
    pub seat: Option<Instance>,
}

/// The best layout for given tenants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assignment {
    /// The instance of each tenant, in the order of the tenants.
    pub seats: Vec<Instance>,
    /// Highest cost of a tenant; 0 without tenants.
    pub worst_cost: f64,
    /// Sum of the costs.
    pub total_cost: f64,
    /// Tenants that have a seat now and do not keep it, rising.
    pub moved: Vec<usize>,
    /// How to get there from what stands now.
    pub change: Change,
    /// What the layout leaves over.
    pub leftover: Leftover,
}

/// One instance for each tenant, so that the worst cost is least, then the sum of costs, then what is stranded.
///
/// Of equal ones the one that moves the fewest tenants, drains the fewest instances, destroys the fewest, takes the fewest
/// slices, and has the lowest starts. Exact, by going through all combinations that fit. `None` where no layout has an
/// acceptable instance for everybody.
pub fn assign(
    board: &MigBoard,
    applicants: &[Applicant],
    standing: &[Standing],
) -> Option<Assignment> {
    let mut search = Search::new(board, applicants, standing);
    search.go(0, &mut Vec::new());
    let (key, seats) = search.best?;
    let layout = Layout::of(board, seats.clone())?;
    let is_moved = |it: &usize| applicants[*it].seat.is_some_and(|seat| seat != seats[*it]);
    Some(Assignment {
        moved: (0..applicants.len()).filter(is_moved).collect(),
        worst_cost: key.worst,
        total_cost: key.total,
        leftover: leftover(board, &layout)?,
        change: change_to(board, standing, layout),
        seats,
    })
}

/// What makes one assignment better than another, in falling importance.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
struct Key {
    worst: f64,
    total: f64,
    stranded: u32,
    moved: usize,
    drained: usize,
    destroyed: usize,
    taken: u32,
    layout: Layout,
}

/// A layout and how much it strands, in parts of the board: compute times memory slices.
type Placed = (Layout, u32);

struct Search<'a> {
    board: &'a MigBoard,
    applicants: &'a [Applicant],
    standing: &'a [Standing],
    /// Acceptable options of each tenant, cheapest first.
    options: Vec<Vec<(usize, f64)>>,
    /// Lowest worst cost and lowest sum of the tenants from here on.
    rest: Vec<(f64, f64)>,
    placed: BTreeMap<Vec<usize>, Vec<Layout>>,
    ranked: BTreeMap<Vec<usize>, Vec<Placed>>,
    best: Option<(Key, Vec<Instance>)>,
}

impl<'a> Search<'a> {
    fn new(board: &'a MigBoard, applicants: &'a [Applicant], standing: &'a [Standing]) -> Self {
        let options: Vec<Vec<(usize, f64)>> = applicants
            .iter()
            .map(|it| {
                let is_open = |it: &&(usize, f64)| it.1.is_finite();
                let mut open: Vec<_> = it.options.iter().filter(is_open).copied().collect();
                open.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
                open
            })
            .collect();
        let mut rest = vec![(f64::NEG_INFINITY, 0.0)];
        for open in options.iter().rev() {
            let (worst, total) = rest.last().copied().unwrap_or_default();
            let least = open.first().map_or(f64::INFINITY, |it| it.1);
            rest.push((least.max(worst), least + total));
        }
        rest.reverse();
        let (placed, ranked) = (BTreeMap::new(), BTreeMap::new());
        Self { board, applicants, standing, options, rest, placed, ranked, best: None }
    }

    /// Goes through what the tenants from `tenant` on can get when those before have `chosen`.
    fn go(&mut self, tenant: usize, chosen: &mut Vec<(usize, f64)>) {
        if self.options.len() == tenant {
            self.finish(chosen);
            return;
        }
        for at in 0..self.options[tenant].len() {
            chosen.push(self.options[tenant][at]);
            if !self.is_hopeless(chosen) && self.fit(chosen) {
                self.go(tenant + 1, chosen);
            }
            chosen.pop();
        }
    }

    /// Whether even the cheapest rest is worse than the best so far.
    fn is_hopeless(&self, chosen: &[(usize, f64)]) -> bool {
        let Some((best, _)) = &self.best else { return false };
        let rest = self.rest[chosen.len()];
        let worst = chosen.iter().map(|it| it.1).fold(rest.0, f64::max);
        let total = chosen.iter().map(|it| it.1).sum::<f64>() + rest.1;
        let slack = ROUNDING * (best.total.abs() + 1.0);
        worst > best.worst || (worst == best.worst && total > best.total + slack)
    }

    fn fit(&mut self, chosen: &[(usize, f64)]) -> bool {
        let board = self.board;
        let set = profiles_of(chosen);
        let all = self.placed.entry(set).or_insert_with_key(|set| placements(board, set));
        !all.is_empty()
    }

    /// Weighs one combination that fits, over all its layouts.
    fn finish(&mut self, chosen: &[(usize, f64)]) {
        // Added up in rising order, so that tenants who change places give the same sum to the last bit.
        let mut costs: Vec<f64> = chosen.iter().map(|it| it.1).collect();
        costs.sort_by(f64::total_cmp);
        let worst = costs.last().copied().unwrap_or(0.0);
        let total: f64 = costs.iter().sum();
        if self.best.as_ref().is_some_and(|(best, _)| (worst, total) > (best.worst, best.total)) {
            return;
        }
        for (layout, stranded) in self.ranked(profiles_of(chosen)) {
            let seats = self.seats(chosen, &layout);
            let change = change_to(self.board, self.standing, layout.clone());
            let has_moved = |(tenant, seat): &(&Applicant, &Instance)| {
                tenant.seat.is_some_and(|it| it != **seat)
            };
            let of = |it: &Instance| &self.board.profiles[it.profile];
            let key = Key {
                worst,
                total,
                stranded,
                moved: self.applicants.iter().zip(&seats).filter(has_moved).count(),
                drained: change.drain.len(),
                destroyed: change.destroy.len(),
                taken: seats.iter().map(|it| of(it).compute_slices + of(it).memory_slices).sum(),
                layout,
            };
            if self.best.as_ref().is_none_or(|it| (&key, &seats) < (&it.0, &it.1)) {
                self.best = Some((key, seats));
            }
        }
    }

    /// Layouts of a set of profiles with what they strand.
    fn ranked(&mut self, set: Vec<usize>) -> Vec<Placed> {
        let board = self.board;
        let layouts = self.placed.get(&set).cloned().unwrap_or_default();
        let rank = |layout: Layout| {
            let stranded = stranded_parts(board, &layout);
            (layout, stranded)
        };
        let ranked = self.ranked.entry(set);
        ranked.or_insert_with(|| layouts.into_iter().map(rank).collect()).clone()
    }

    /// Whoever can keep a seat does; the others get what remains, in order.
    fn seats(&self, chosen: &[(usize, f64)], layout: &Layout) -> Vec<Instance> {
        let mut free = layout.instances.clone();
        let mut seats: Vec<Option<Instance>> = Vec::new();
        for (applicant, (profile, _)) in self.applicants.iter().zip(chosen) {
            let seat = applicant.seat.filter(|it| it.profile == *profile);
            let at = free.iter().position(|it| Some(*it) == seat);
            seats.push(at.map(|it| free.remove(it)));
        }
        for (seat, (profile, _)) in seats.iter_mut().zip(chosen).filter(|it| it.0.is_none()) {
            let at = free.iter().position(|it| it.profile == *profile);
            *seat = at.map(|it| free.remove(it));
        }
        seats.into_iter().flatten().collect()
    }
}

fn profiles_of(chosen: &[(usize, f64)]) -> Vec<usize> {
    let mut profiles: Vec<usize> = chosen.iter().map(|it| it.0).collect();
    profiles.sort_unstable();
    profiles
}

/// Compute and memory that no further instance can use, as shares of the board in one unit.
fn stranded_parts(board: &MigBoard, layout: &Layout) -> u32 {
    let Some(room) = layout.room(board) else { return u32::MAX };
    let most = Most::of(&room);
    let compute = room.free_compute_slices().saturating_sub(most.compute_slices);
    let memory = room.free_memory_slices().saturating_sub(most.memory_slices);
    compute * board.memory_slices.max(1) + memory * board.compute_slices
}
