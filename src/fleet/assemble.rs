//! From groups on GPUs to the plan that people and programs read.

use crate::fleet::class::ClassKey;
use crate::fleet::compatibility::Compatibility;
use crate::fleet::now::NowVerdict;
use crate::fleet::packing::{Group, Packing, Shared};
use crate::fleet::plan::{
    AloneReason, DeviceState, FleetCost, PlanQuestion, PlannedDevice, PlannedTenant, PoolSummary,
    SharedBy, Unseen,
};
use crate::fleet::yard::{Member, Need, Yard};
use crate::recommender::mechanism::MechanismId;
use crate::recommender::tenant_policy::Class;
use crate::recommender::verdict::Outcome;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Why somebody of whom too little is known stays where it is, without a name in it.
const NOT_ENOUGH: &str =
    "there is not enough evidence about them, or about a neighbour on their GPU";
/// Names that are listed of many.
const MOST_NAMES: usize = 6;

/// A GPU of a pool.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotFacts {
    /// Its place in the findings; `None` for stated hardware.
    pub(crate) device: Option<usize>,
    pub(crate) host: Option<String>,
    pub(crate) gpu: Option<String>,
    pub(crate) label: String,
    /// Tenants on it now.
    pub(crate) tenants_now: usize,
}

/// One kind of GPU with everybody on it.
#[derive(Debug)]
pub(crate) struct PoolPlan<'a> {
    pub(crate) yard: Yard<'a>,
    pub(crate) packing: Packing,
    pub(crate) slots: Vec<SlotFacts>,
    /// Slot of each group; `None` where there are too few.
    pub(crate) given: Vec<Option<usize>>,
    pub(crate) compatibility: Vec<Compatibility>,
    /// GPUs that stay as they are, with who is on them.
    pub(crate) as_it_is: Vec<(SlotFacts, Vec<Member>)>,
    /// What is decided about each GPU as it is now, by its place in the findings; empty for stated hardware.
    pub(crate) now: BTreeMap<usize, NowVerdict>,
}

/// What tells names of classes and GPUs.
pub(crate) struct Names<'a> {
    pub(crate) classes: &'a BTreeMap<ClassKey, String>,
    /// Short name of each device of the findings.
    pub(crate) devices: &'a [String],
}

impl PoolPlan<'_> {
    /// Every GPU of the pool.
    pub(crate) fn devices(&self, names: &Names<'_>) -> Vec<PlannedDevice> {
        let mut found: Vec<PlannedDevice> = Vec::new();
        for (group, slot) in self.packing.groups.iter().zip(&self.given) {
            found.push(self.planned(group, slot.map(|it| &self.slots[it]), names));
        }
        for (slot, members) in &self.as_it_is {
            let tenants = members.iter().map(|it| self.tenant(it, None, None, names)).collect();
            found.push(PlannedDevice {
                reason: self.why_as_it_is(slot, members),
                ..self.empty(DeviceState::AsItIs, slot, tenants, members)
            });
        }
        for (place, slot) in self.slots.iter().enumerate() {
            if !self.given.contains(&Some(place)) {
                let is_used = slot.tenants_now > 0;
                let state = if is_used { DeviceState::Freed } else { DeviceState::Idle };
                found.push(self.empty(state, slot, Vec::new(), &[]));
            }
        }
        found
    }

    fn planned(&self, group: &Group, slot: Option<&SlotFacts>, names: &Names<'_>) -> PlannedDevice {
        let members: Vec<&Member> =
            group.members.iter().map(|it| &self.yard.members[*it]).collect();
        let further = SlotFacts {
            label: format!("a further {}", self.yard.pool.name),
            ..SlotFacts::default()
        };
        let facts = slot.unwrap_or(&further);
        let is_stated = slot.is_some() && facts.device.is_none();
        let tenants = members.iter().enumerate().map(|(place, it)| {
            let home = it.home.filter(|home| !is_stated && facts.device != Some(*home));
            let from = home.and_then(|it| names.devices.get(it).cloned());
            self.tenant(it, group.shared.as_ref().map(|it| (it, place)), from, names)
        });
        let state = match (slot, &group.shared) {
            (None, _) => DeviceState::Further,
            (_, Some(_)) => DeviceState::Shared,
            (_, None) => DeviceState::Alone,
        };
        let owned: Vec<Member> = members.iter().map(|it| (*it).clone()).collect();
        let device = self.empty(state, facts, tenants.collect(), &owned);
        match &group.shared {
            None => PlannedDevice {
                reason: members.first().map(|it| self.why_alone(it)).unwrap_or_default(),
                ..device
            },
            Some(Shared { chosen, confidence, decisive, .. }) => PlannedDevice {
                mechanism: Some(chosen.mechanism),
                layout: chosen.layout.clone(),
                worst_p99_factor: chosen.cost.and_then(|it| it.worst_p99_factor),
                out_of_memory_day_ratio: chosen.cost.and_then(|it| it.out_of_memory_day_ratio),
                confidence: Some(*confidence),
                reason: decisive.clone().unwrap_or_default(),
                ..device
            },
        }
    }

    fn empty(
        &self,
        state: DeviceState,
        slot: &SlotFacts,
        tenants: Vec<PlannedTenant>,
        members: &[Member],
    ) -> PlannedDevice {
        let busy: Option<f64> =
            members.iter().map(|it| Some(it.tenant.demand.as_ref()?.busy_share())).sum();
        // A sum of nothing is -0.
        let busy = busy.map(|it| it + 0.0);
        PlannedDevice {
            state,
            pool: self.yard.pool.name.clone(),
            host: slot.host.clone(),
            gpu: slot.gpu.clone(),
            label: slot.label.clone(),
            mechanism: None,
            layout: None,
            tenants,
            tenants_now: slot.tenants_now,
            busy_ratio: busy,
            needed_mib: members.iter().map(|it| it.tenant.needed_mib(self.yard.policy)).sum(),
            worst_p99_factor: None,
            out_of_memory_day_ratio: None,
            confidence: None,
            verdict_now: self.now(slot.device).map(|it| it.outcome),
            reason: String::new(),
        }
    }

    fn tenant(
        &self,
        member: &Member,
        shared: Option<(&Shared, usize)>,
        moves_from: Option<String>,
        names: &Names<'_>,
    ) -> PlannedTenant {
        let chosen = shared.map(|it| (&it.0.chosen, it.1));
        let predicted = chosen.and_then(|(it, place)| it.predicted.get(place));
        let profile = chosen.and_then(|(it, at)| it.assignments.get(at)?.profile.clone());
        PlannedTenant {
            name: member.tenant.name.clone(),
            class: names.classes.get(&member.class).cloned().unwrap_or_default(),
            profile,
            moves_from,
            p99_factor: predicted.and_then(|it| it.slowdown_p99_factor).map(|it| it.high),
            needed_mib: member.tenant.needed_mib(self.yard.policy),
        }
    }

    /// What is decided about a GPU as it is now; `None` for one that is not there.
    fn now(&self, device: Option<usize>) -> Option<&NowVerdict> {
        self.now.get(&device?)
    }

    /// Why a GPU stays as it is: the verdict on it, or whom nobody knows enough about.
    fn why_as_it_is(&self, slot: &SlotFacts, members: &[Member]) -> String {
        let undecided = self.now(slot.device).filter(|it| it.outcome == Outcome::NotEnoughEvidence);
        let unknown = || {
            members.iter().find_map(|it| match &it.need {
                Need::Unknown(why) => Some(why.clone()),
                _ => None,
            })
        };
        undecided.map(|it| it.reason.clone()).or_else(unknown).unwrap_or_default()
    }

    /// Why a tenant has a GPU to itself.
    fn why_alone(&self, member: &Member) -> String {
        match &member.need {
            Need::Whole(why) | Need::Unknown(why) => return why.clone(),
            Need::Part => {}
        }
        if let Some(open) = self.open_alone(member) {
            return format!("whether a part of a GPU would do for it is open: {open}");
        }
        let place = self.yard.members.iter().position(|it| it.tenant.name == member.tenant.name);
        let has_seat = place.is_some_and(|it| !self.yard.applicants[it].seats.is_empty());
        kept_alone(member, has_seat, self.yard.board().is_some()).to_owned()
    }

    /// What keeps it open whether a part of a GPU would do for a tenant that has one to itself now; `None` where that is known.
    fn open_alone(&self, member: &Member) -> Option<&str> {
        let now = self.now(member.home)?;
        let has_one = self.slots.iter().any(|it| it.device == member.home && it.tenants_now == 1);
        (has_one && now.outcome == Outcome::NotEnoughEvidence).then_some(now.reason.as_str())
    }

    /// Why tenants have a GPU to themselves, each reason with their names.
    pub(crate) fn alone(&self) -> Vec<(String, String)> {
        let lonely = self.packing.groups.iter().filter(|it| it.shared.is_none());
        let members = lonely.flat_map(|it| &it.members).map(|it| &self.yard.members[*it]);
        let told = |it: &Member| {
            let why = match self.open_alone(it).filter(|_| it.need == Need::Part) {
                Some(_) => "whether a part of a GPU would do for them is open".to_owned(),
                None => general(it, &self.why_alone(it)),
            };
            (why, it.tenant.name.clone())
        };
        let as_it_is = self.as_it_is.iter().flat_map(|it| &it.1);
        members
            .map(told)
            .chain(as_it_is.map(|it| (NOT_ENOUGH.to_owned(), it.tenant.name.clone())))
            .collect()
    }

    /// What it comes to.
    pub(crate) fn summary(&self, price_per_hour: Option<f64>, is_stated: bool) -> PoolSummary {
        let mut shared_by = SharedBy::default();
        for it in self.packing.groups.iter().filter_map(|it| it.shared.as_ref()) {
            match it.chosen.mechanism {
                MechanismId::Mig => shared_by.mig += 1,
                MechanismId::Mps => shared_by.mps += 1,
                MechanismId::TimeSlicing => shared_by.time_slicing += 1,
                MechanismId::Exclusive => {}
            }
        }
        let used = self.slots.iter().filter(|it| it.tenants_now > 0).count() + self.as_it_is.len();
        PoolSummary {
            pool: self.yard.pool.name.clone(),
            gpus: self.slots.len() + self.as_it_is.len(),
            gpus_used_now: (!is_stated).then_some(used),
            gpus_used_then: self.packing.groups.len() + self.as_it_is.len(),
            gpus_at_least: (self.packing.devices_at_least + self.as_it_is.len())
                .min(self.packing.groups.len() + self.as_it_is.len()),
            shared_by,
            price_per_hour,
            groups_refused: self.packing.refused,
        }
    }
}

/// Why a tenant of which a part would do has no company.
fn kept_alone(member: &Member, has_seat: bool, has_mig: bool) -> &'static str {
    let policy = &member.tenant.policy;
    match () {
        () if has_seat => "nobody is left whom it could share with on one GPU",
        () if member.tenant.class() == Class::LatencySensitive && has_mig => {
            "it is latency-sensitive, and no MIG instance holds it and keeps what it needs"
        }
        () if member.tenant.class() == Class::LatencySensitive => {
            "it is latency-sensitive, and this model of GPU has no MIG to keep others off its SMs"
        }
        () if policy.trust_domain.is_none() => {
            "no trust domain is stated for it, and no MIG instance holds it"
        }
        () if policy.may_crash == Some(false) => {
            "it must not fall with a neighbour, and no MIG instance holds it"
        }
        () => "nobody of its trust domain is left whom it could share with on one GPU",
    }
}

/// The same for many, without a name in it.
fn general(member: &Member, why: &str) -> String {
    match &member.need {
        Need::Whole(_) if member.tenant.policy.interconnect == Some(true) => {
            "they need the interconnect".to_owned()
        }
        Need::Whole(_) if member.tenant.wants_whole_device() => {
            "they are training, or are to have a whole device by policy".to_owned()
        }
        Need::Whole(_) => "they saturate their GPU".to_owned(),
        Need::Unknown(_) => NOT_ENOUGH.to_owned(),
        Need::Part => why.to_owned(),
    }
}

/// Reasons with how many tenants each, the most frequent first.
pub(crate) fn counted(reasons: Vec<(String, String)>) -> Vec<AloneReason> {
    let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (reason, name) in reasons {
        by_reason.entry(reason).or_default().push(name);
    }
    let mut found: Vec<AloneReason> = by_reason
        .into_iter()
        .map(|(reason, mut names)| {
            names.sort();
            let tenants = names.len();
            names.truncate(MOST_NAMES);
            AloneReason { reason, tenants, names }
        })
        .collect();
    found.sort_by(|one, other| {
        (Reverse(one.tenants), &one.reason).cmp(&(Reverse(other.tenants), &other.reason))
    });
    found
}

/// What could not be seen, and what verdicts on shared GPUs had to assume, the most frequent first.
pub(crate) fn unseen(question: &PlanQuestion<'_>, pools: &[PoolPlan<'_>]) -> Vec<Unseen> {
    let seen = question.devices.iter().flat_map(|it| it.unseen.iter().cloned());
    let shared = pools.iter().flat_map(|it| &it.packing.groups).filter_map(|it| it.shared.as_ref());
    let lowered = shared.flat_map(|it| it.lowered.iter().cloned());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for it in seen.chain(lowered.map(|it| without_names(&it))) {
        *counts.entry(it).or_default() += 1;
    }
    let mut found: Vec<Unseen> =
        counts.into_iter().map(|(sentence, gpus)| Unseen { sentence, gpus }).collect();
    found.sort_by(|one, other| {
        (Reverse(one.gpus), &one.sentence).cmp(&(Reverse(other.gpus), &other.sentence))
    });
    found
}

/// A sentence in which names between backticks are left out, so that equal ones can be counted.
fn without_names(sentence: &str) -> String {
    if sentence.starts_with("what ") && sentence.contains("guessed from") {
        return "what tenants are for is guessed from their load".to_owned();
    }
    sentence.to_owned()
}

/// What the used GPUs cost; `None` where no price is known of any.
pub(crate) fn cost(
    question: &PlanQuestion<'_>,
    devices: &[PlannedDevice],
    models: &BTreeMap<String, Option<f64>>,
    now: &[Option<f64>],
) -> Option<FleetCost> {
    let is_used = |it: &&PlannedDevice| !it.tenants.is_empty();
    let price = |it: &PlannedDevice| models.get(&it.pool).copied().flatten();
    let then: Vec<Option<f64>> = devices.iter().filter(is_used).map(price).collect();
    if now.iter().chain(&then).all(Option::is_none) {
        return None;
    }
    // A sum that leaves out some would pass for the whole.
    let sum = |it: &[Option<f64>]| it.iter().copied().sum::<Option<f64>>();
    let missing = |it: &[Option<f64>]| it.iter().filter(|it| it.is_none()).count();
    let (now_per_hour, then_per_hour) = (sum(now), sum(&then));
    let saved = now_per_hour.zip(then_per_hour).map(|(now, then)| (now - then) * 24.0 * 30.0);
    Some(FleetCost {
        currency: question.currency(),
        now_per_hour,
        then_per_hour,
        saved_per_30_days: saved,
        gpus_without_price: missing(now).max(missing(&then)),
    })
}

/// Whether all tenants of a group would be alone by its own policy; for tests and summaries.
pub(crate) fn soft_tenants(devices: &[PlannedDevice]) -> usize {
    // Of a device that stays as it is nobody says that a wall stands in it.
    let is_soft = |it: &&PlannedDevice| {
        it.state == DeviceState::AsItIs
            || matches!(it.mechanism, Some(MechanismId::Mps | MechanismId::TimeSlicing))
    };
    devices.iter().filter(is_soft).map(|it| it.tenants.len()).max().unwrap_or(1).max(1)
}

/// The middle of what is known; `None` where nothing is.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}
