//! Pools of equal GPUs, and the tenants that would be placed on them, each with what it accepts.

use crate::colocation::phases::Budget;
use crate::domain::mig_geometry::MigBoard;
use crate::fleet::class::ClassKey;
use crate::recommender::layout::fits;
use crate::recommender::mechanism::{Case, accepted, peak_in_doubt};
use crate::recommender::played::{Played, Solo};
use crate::recommender::policy::Policy;
use crate::recommender::situation::{Current, MIB, Situation, Tenant};
use crate::recommender::tenant_policy::Class;
use rayon::prelude::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Tenants on one device at most: more are one fault away from each other, and are replayed for too long.
pub(crate) const MOST_ON_DEVICE: usize = 12;
/// Events to replay for each decision at most and at least, and for all decisions of a fleet together, about.
const EVENTS: (u64, u64, u64) = (100_000, 5_000, 40_000_000);

/// GPUs of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// Name for people.
    pub(crate) name: String,
    /// One of them without anybody on it.
    pub(crate) empty: Situation,
}

/// Whether a tenant may be put beside others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Need {
    /// A part of a device may do.
    Part,
    /// The whole device, for this reason.
    Whole(String),
    /// What it needs was not seen, in a sentence; it stays as it is.
    Unknown(String),
}

/// A tenant of a fleet.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The tenant under a name that no other has.
    pub(crate) tenant: Tenant,
    /// The device on which it is now, by its place in the findings; `None` for one that would come.
    pub(crate) home: Option<usize>,
    /// Its class.
    pub(crate) class: ClassKey,
    /// Whether it may be put beside others.
    pub(crate) need: Need,
    /// Busy share of its busiest hour over that of all the time.
    pub(crate) busiest_hour_factor: Option<f64>,
}

/// A tenant on the GPUs of one pool.
#[derive(Debug, Clone)]
pub(crate) struct Applicant {
    pub(crate) solo: Solo,
    /// Profiles that it accepts with what each takes, the smallest first.
    pub(crate) seats: Vec<(usize, f64)>,
    /// Whether it may share memory and faults with others of its trust domain.
    pub(crate) is_soft: bool,
    /// Memory with its margin, MiB.
    needed_mib: f64,
    /// Share of the time, of the SMs and of the bandwidth at the upper end.
    pub(crate) load: [f64; 3],
}

/// How a group might share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each in an instance of its own.
    Parts,
    /// Memory and faults in common.
    Soft,
}

impl Member {
    /// Whether it may share memory with others at all, by what is said and seen of it alone.
    fn is_soft(&self) -> bool {
        let policy = &self.tenant.policy;
        self.need == Need::Part
            && policy.trust_domain.is_some()
            && self.tenant.class() != Class::LatencySensitive
            && policy.may_crash != Some(false)
    }
}

/// What keeps a tenant from being put beside others.
pub(crate) fn need_of(tenant: &Tenant, policy: &Policy) -> Need {
    let name = &tenant.name;
    if tenant.wants_whole_device() {
        return Need::Whole(match tenant.policy.interconnect {
            Some(true) => format!("`{name}` needs the interconnect"),
            _ => format!("`{name}` wants the whole device"),
        });
    }
    let Some(shape) = tenant.shape.as_ref().filter(|_| tenant.demand.is_some()) else {
        return Need::Unknown(format!("nothing shows when `{name}` was active"));
    };
    if shape.is_saturating {
        return Need::Whole(format!("`{name}` saturates its device: {}", shape.sentence));
    }
    if tenant.needed_mib(policy).is_none() {
        return Need::Unknown(format!("how much memory `{name}` takes was not seen"));
    }
    match peak_in_doubt(tenant) {
        Some(it) => Need::Unknown(format!("`{name}`: {}", it.sentence)),
        None => Need::Part,
    }
}

/// A device without anybody on it, for decisions about any company.
pub(crate) fn emptied(device: &Situation, tenants: usize) -> Situation {
    let mut empty = device.clone();
    empty.tenants.clear();
    empty.now =
        Current { is_mig: device.now.is_mig, is_mps: device.now.is_mps, ..Current::default() };
    (empty.saturated, empty.met) = (None, None);
    empty.unseen.clear();
    empty.options.budget = budget(empty.options.budget, tenants);
    empty
}

/// What a decision may replay in a fleet of so many tenants: as much as alone for up to 400 of them.
pub(crate) fn budget(whole: Budget, tenants: usize) -> Budget {
    let events = (EVENTS.2 / tenants.max(1) as u64).clamp(EVENTS.1, EVENTS.0);
    Budget { events, ..whole }
}

/// A device with these tenants on it.
pub(crate) fn with(empty: &Situation, tenants: &[&Tenant]) -> Situation {
    let mut situation = empty.clone();
    situation.tenants = tenants.iter().map(|it| (*it).clone()).collect();
    situation.now.tenants = tenants.len();
    situation
}

/// Tenants that would be placed on GPUs of one pool.
#[derive(Debug)]
pub(crate) struct Yard<'a> {
    pub(crate) pool: Pool,
    pub(crate) policy: &'a Policy,
    pub(crate) members: Vec<Member>,
    pub(crate) applicants: Vec<Applicant>,
    /// Extra p99 of pairs of classes that share memory, as a share; `None` where they must not.
    pub(crate) pairs: BTreeMap<(ClassKey, ClassKey), Option<f64>>,
    fitting: Mutex<BTreeMap<Vec<usize>, bool>>,
}

impl<'a> Yard<'a> {
    /// Tenants with what each accepts on these GPUs; `pairs` is filled by the caller.
    pub(crate) fn new(pool: Pool, members: Vec<Member>, policy: &'a Policy) -> Self {
        let solos = members.par_iter().map(|it| solo(&pool.empty, it)).collect();
        Self::with_solos(pool, members, solos, policy)
    }

    /// The same where each was played by itself before, in the order of the members.
    pub(crate) fn with_solos(
        pool: Pool,
        members: Vec<Member>,
        solos: Vec<Solo>,
        policy: &'a Policy,
    ) -> Self {
        let pairs: Vec<(&Member, Solo)> = members.iter().zip(solos).collect();
        let applicants =
            pairs.into_par_iter().map(|it| applicant(&pool, it.0, it.1, policy)).collect();
        let (pairs, fitting) = (BTreeMap::new(), Mutex::default());
        Self { pool, policy, members, applicants, pairs, fitting }
    }

    /// The same with further tenants, each like one that is there.
    pub(crate) fn with_copies(&self, of: &[usize]) -> Self {
        let mut members = self.members.clone();
        let mut applicants = self.applicants.clone();
        for place in of {
            let mut copy = self.members[*place].clone();
            copy.tenant.name = format!("{} (another)", copy.tenant.name);
            copy.home = None;
            members.push(copy);
            applicants.push(self.applicants[*place].clone());
        }
        let (pairs, fitting) = (self.pairs.clone(), Mutex::default());
        Self { pool: self.pool.clone(), policy: self.policy, members, applicants, pairs, fitting }
    }

    pub(crate) fn board(&self) -> Option<&MigBoard> {
        self.pool.empty.device.mig.board()
    }

    /// How a group might share, and what that costs; `None` where it must not.
    ///
    /// Necessary, not sufficient: the whole group is decided about afterwards.
    pub(crate) fn way(&self, group: &[usize]) -> Option<(Way, f64)> {
        if group.len() > MOST_ON_DEVICE {
            return None;
        }
        let soft = self.soft(group).map(|it| (Way::Soft, it));
        soft.or_else(|| self.parts(group).map(|it| (Way::Parts, it)))
    }

    /// The smallest instances side by side, and what they take beyond the memory slices of one.
    fn parts(&self, group: &[usize]) -> Option<f64> {
        let board = self.board()?;
        if group.len() > board.compute_slices as usize {
            return None;
        }
        let smallest: Option<Vec<(usize, f64)>> =
            group.iter().map(|it| self.applicants[*it].seats.first().copied()).collect();
        let smallest = smallest?;
        let mut profiles: Vec<usize> = smallest.iter().map(|it| it.0).collect();
        profiles.sort_unstable();
        let mut known = self.fitting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fitting = *known.entry(profiles).or_insert_with_key(|it| fits(board, it));
        // Hardly any: company in partitions slows nobody.
        is_fitting.then(|| 1e-6 * smallest.iter().map(|it| it.1).sum::<f64>())
    }

    /// Extra p99 of all pairs that share memory.
    fn soft(&self, group: &[usize]) -> Option<f64> {
        let of = |it: &usize| &self.applicants[*it];
        let domain = |it: &usize| self.members[*it].tenant.policy.trust_domain.as_deref();
        let first = domain(group.first()?)?;
        if group.iter().any(|it| !of(it).is_soft || domain(it) != Some(first)) {
            return None;
        }
        let room = self.pool.empty.room_mib(self.policy)?;
        if group.iter().map(|it| of(it).needed_mib).sum::<f64>() > room {
            return None;
        }
        if !(self.fits_in_turns(group) || self.fits_at_once(group)) {
            return None;
        }
        let mut cost = 0.0;
        for (place, one) in group.iter().enumerate() {
            for other in &group[place + 1..] {
                cost += self.pair(*one, *other)?;
            }
        }
        Some(cost)
    }

    fn pair(&self, one: usize, other: usize) -> Option<f64> {
        let (one, other) = (self.members[one].class, self.members[other].class);
        self.pairs.get(&(one.min(other), one.max(other))).copied().flatten()
    }

    /// Whether the time is enough for turns, by the policy.
    fn fits_in_turns(&self, group: &[usize]) -> bool {
        let tolerates = |it: &usize| {
            let tenant = &self.members[*it].tenant;
            tenant.may_stall() && tenant.may_crash()
        };
        let busy: f64 = group.iter().map(|it| self.applicants[*it].load[0]).sum();
        group.iter().all(tolerates) && busy <= self.policy.time_slicing_duty_ratio
    }

    /// Whether SMs, bandwidth and clients are enough for MPS, by the policy.
    fn fits_at_once(&self, group: &[usize]) -> bool {
        let sum = |of: usize| group.iter().map(|it| self.applicants[*it].load[of]).sum::<f64>();
        let attainable = self.pool.empty.options.attainable_bandwidth;
        let clients: u32 = group.iter().map(|it| self.members[*it].tenant.clients.max(1)).sum();
        sum(1) <= self.policy.mps_busy_ratio
            && sum(2) <= self.policy.mps_bandwidth_ratio * attainable
            && clients <= self.pool.empty.limits.mps_clients
    }

    /// Share of a device that a tenant takes at least, by compute and by memory, in the way that takes least.
    ///
    /// Sums of these over a device never exceed 1 in what a verdict allows, which makes a bound of them.
    pub(crate) fn least_shares(&self, it: usize) -> [f64; 2] {
        let applicant = &self.applicants[it];
        let mut least = [1.0_f64; 2];
        if let Some(board) = self.board() {
            for (profile, _) in &applicant.seats {
                let profile = &board.profiles[*profile];
                let of = |own: u32, all: u32| f64::from(own) / f64::from(all.max(1));
                least[0] = least[0].min(of(profile.compute_slices, board.compute_slices));
                least[1] = least[1].min(of(profile.memory_slices, board.memory_slices));
            }
        }
        if applicant.is_soft {
            let tenant = &self.members[it].tenant;
            let busy = applicant.load[0];
            let in_turns = busy / self.policy.time_slicing_duty_ratio.max(1e-9);
            let low = tenant.demand.as_ref().map_or(1.0, |it| it.width.low);
            let at_once = busy * low / self.policy.mps_busy_ratio.max(1e-9);
            least[0] = least[0].min(in_turns.min(at_once).min(1.0));
            let held = tenant.memory.as_ref().map(|it| it.stairs.mean() / MIB);
            let room = self.pool.empty.room_mib(self.policy).unwrap_or(f64::INFINITY);
            let held = held.unwrap_or(applicant.needed_mib).min(applicant.needed_mib);
            least[1] = least[1].min(held / room);
        }
        least.map(|it| if it.is_finite() { it.clamp(0.0, 1.0) } else { 1.0 })
    }
}

/// What a member comes to by itself on a device like this one.
pub(crate) fn solo(empty: &Situation, member: &Member) -> Solo {
    Solo::of(&with(empty, &[&member.tenant]), &member.tenant)
}

/// What a member accepts on GPUs of a pool.
fn applicant(pool: &Pool, member: &Member, solo: Solo, policy: &Policy) -> Applicant {
    let situation = with(&pool.empty, &[&member.tenant]);
    let played = Played::of_solos(&situation, &[&solo], false);
    let case = Case { situation: &situation, played: &played, policy };
    let seats = accepted(&case).into_iter().next().unwrap_or_default();
    let demand = member.tenant.demand.as_ref();
    let busy = demand.map_or(1.0, |it| it.busy_share());
    Applicant {
        solo,
        seats: if member.need == Need::Part { seats } else { Vec::new() },
        is_soft: member.is_soft(),
        needed_mib: member.tenant.needed_mib(policy).unwrap_or(f64::INFINITY),
        load: [
            busy,
            busy * demand.map_or(1.0, |it| it.width.high),
            busy * demand.map_or(1.0, |it| it.bandwidth.high),
        ],
    }
}
