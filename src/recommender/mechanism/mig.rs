//! Hardware partitions.

mod disruption;
mod unknown;
mod wants;

pub(super) use disruption::mode_off;

use crate::domain::mig_geometry::MigBoard;
use crate::recommender::layout::{Applicant, Assignment, Instance, Standing as Stands, assign};
use crate::recommender::mechanism::capacity::Capacity;
use crate::recommender::mechanism::gates::{
    against_any_sharing, of_another_vendor, unseen_demands,
};
use crate::recommender::mechanism::keeping::{kept, lacking, predicted};
use crate::recommender::mechanism::lost::{in_parts, own};
use crate::recommender::mechanism::memory::{peak_in_doubt, peaks_in_doubt, unseen};
use crate::recommender::mechanism::mig::wants::{Want, Worth, sized, wants};
use crate::recommender::mechanism::plan::{
    Assessment, Assigned, Cost, Disruption, Plan, Predicted,
};
use crate::recommender::mechanism::{Case, Mechanism, MechanismId};
use crate::recommender::played::{SliceOutcome, under_one_cap};
use crate::recommender::reason::{Measurement, MeasurementKind, Reason, ReasonKind, Weight, gib};
use crate::recommender::situation::{MigAbility, Situation, Tenant, Trust};

/// The plain profiles that each tenant accepts for sure, with the slices that each takes and the extra time in it; cheapest first.
///
/// - Shape: `[tenant][profile]`; the cost is comparable between profiles of one board. Empty where the device has no MIG.
pub fn accepted(case: &Case<'_>) -> Vec<Vec<(usize, f64)>> {
    let Some(board) = case.situation.device.mig.board() else {
        return vec![Vec::new(); case.situation.tenants.len()];
    };
    let sure = |wants: Vec<Want>| -> Vec<(usize, f64)> {
        let sure = wants.iter().filter(|it| it.worth() == Worth::Sure);
        let mut sure: Vec<(usize, f64)> = sure.map(|it| (it.profile, it.cost(board))).collect();
        sure.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
        sure
    };
    wants(case, board).into_iter().map(sure).collect()
}

/// Hardware partitions: SMs, L2 and memory of their own, in fixed sizes.
pub(super) struct Mig;

impl Mechanism for Mig {
    fn id(&self) -> MechanismId {
        MechanismId::Mig
    }

    fn title(&self) -> &'static str {
        "MIG"
    }

    fn separates(&self) -> &'static str {
        "SMs, L2 and memory are separate, and faults stay in their instance; power, clocks and the PCIe link are shared"
    }

    fn assess(&self, case: &Case<'_>) -> Assessment {
        let situation = case.situation;
        let mut reasons = against_any_sharing(case);
        reasons.extend(peaks_in_doubt(&situation.tenants));
        reasons.extend(unseen(&situation.tenants));
        reasons.extend(unseen_demands(situation));
        let Some(board) = situation.device.mig.board() else {
            let other = of_another_vendor(situation, "MIG");
            reasons.push(other.unwrap_or_else(|| no_board(case)));
            return Assessment::of(self.id(), reasons);
        };
        let is_settled = reasons.iter().any(|it| it.weight == Weight::Refuses);
        let wants = wants(case, board);
        let Some((assignment, open)) = laid_out(situation, board, &wants) else {
            reasons.extend(wants::refused(case, board, &wants));
            return Assessment::of(self.id(), reasons);
        };
        reasons.extend(open);
        let profiles: Vec<usize> = assignment.seats.iter().map(|it| it.profile).collect();
        let outcomes = match under_one_cap(situation, board, &profiles) {
            Some(it) => {
                reasons.extend(capped(case, &it).filter(|_| !is_settled));
                it.into_iter().map(Some).collect()
            }
            None => alone(case, &profiles),
        };
        // Parts are chosen to hold the peak and its margin: where the peak is known, it fits.
        let is_sure = |it: &Tenant| it.peak_mib().is_some() && peak_in_doubt(it).is_none();
        let of = |it: &Tenant| is_sure(it).then_some(0.0);
        let out_of_memory = situation.tenants.iter().map(of).reduce(|one, other| one.and(other));
        let out_of_memory = out_of_memory.flatten();
        let tenants: Vec<Predicted> = situation
            .tenants
            .iter()
            .zip(&outcomes)
            .filter_map(|(tenant, it)| {
                let it = it.as_ref()?;
                Some(predicted(tenant, &it.prediction, it.extra, of(tenant)))
            })
            .collect();
        reasons.extend(between_strangers(situation));
        reasons.extend(in_parts(case));
        reasons.extend(own(case));
        reasons.extend(kept(situation, &tenants));
        reasons.extend(for_it(case, board, &assignment));
        let is_told = tenants.len() == situation.tenants.len();
        Assessment {
            cost: is_told.then(|| Cost::of(&tenants, out_of_memory, 1)),
            capacity: capacity(board, &profiles),
            plan: Some(plan(case, board, assignment)),
            tenants,
            ..Assessment::of(self.id(), reasons)
        }
    }

    fn disruption(&self, situation: &Situation, plan: &Plan) -> Disruption {
        disruption::of(situation, plan)
    }
}

fn no_board(case: &Case<'_>) -> Reason {
    let situation = case.situation;
    let model = situation.device.model.as_deref().unwrap_or("this model of GPU");
    let is_on = situation.now.is_mig == Some(true);
    match situation.device.mig {
        // Whatever a list of products says: a device whose mode is on can be cut.
        MigAbility::No if !is_on => {
            Reason::refuses(ReasonKind::NoMig, format!("{model} cannot be cut into MIG instances"))
        }
        _ => unknown::never_fits(case).unwrap_or_else(|| {
            let sentence = match is_on {
                true => format!("MIG is on, and which profiles {model} offers is not known"),
                false => format!("whether {model} can be cut into MIG instances is not known"),
            };
            Reason::open(
                ReasonKind::NoMig,
                sentence,
                Measurement::new(
                    MeasurementKind::Device,
                    0.0,
                    "ask the device for its profiles: `nvidia-smi mig -lgip`",
                ),
            )
        }),
    }
}

/// The layout of what everybody accepts for sure, else of what everybody may accept with what is open about it.
fn laid_out(
    situation: &Situation,
    board: &MigBoard,
    wants: &[Vec<Want>],
) -> Option<(Assignment, Vec<Reason>)> {
    if wants.is_empty() || wants.len() > board.compute_slices as usize {
        return None;
    }
    let standing = standing(situation, board);
    let seat = |tenant: &str| {
        let places = situation.now.instances.iter().zip(&standing);
        let own = places.filter(|it| it.0.tenants.iter().any(|it| it == tenant));
        own.map(|it| it.1.instance).next()
    };
    let found = |least: Worth| {
        let applicant = |(tenant, wants): (&Tenant, &Vec<Want>)| {
            let accepted = wants.iter().filter(|it| it.worth() <= least);
            Applicant {
                options: accepted.map(|it| (it.profile, it.cost(board))).collect(),
                seat: seat(&tenant.name),
            }
        };
        let applicants: Vec<Applicant> =
            situation.tenants.iter().zip(wants).map(applicant).collect();
        assign(board, &applicants, &standing)
    };
    if let Some(it) = found(Worth::Sure) {
        return Some((it, Vec::new()));
    }
    let assignment = found(Worth::Open)?;
    let chosen = assignment.seats.iter().zip(wants);
    let open = chosen.filter_map(|(seat, wants)| {
        wants.iter().find(|it| it.profile == seat.profile)?.lacking.clone()
    });
    let open = open.collect();
    Some((assignment, open))
}

/// Instances that stand, where all of their places are known.
fn standing(situation: &Situation, board: &MigBoard) -> Vec<Stands> {
    let all: Option<Vec<Stands>> = situation
        .now
        .instances
        .iter()
        .map(|it| {
            let instance =
                Instance { start: it.start?, profile: board.profile_named(&it.profile)? };
            Some(Stands { instance, is_occupied: !it.tenants.is_empty() })
        })
        .collect();
    all.unwrap_or_default()
}

fn alone(case: &Case<'_>, profiles: &[usize]) -> Vec<Option<SliceOutcome>> {
    let played = case.played.slices.iter().zip(profiles);
    played.map(|(all, profile)| all.get(*profile).cloned().flatten()).collect()
}

/// Whoever keeps what it needs in its slice, but not under the power cap that all share.
fn capped<'a>(
    case: &'a Case<'_>,
    outcomes: &'a [SliceOutcome],
) -> impl Iterator<Item = Reason> + 'a {
    case.situation
        .tenants
        .iter()
        .zip(outcomes)
        .filter_map(|(tenant, it)| lacking(tenant, &it.prediction, it.extra, case.policy))
}

/// What only hardware partitions do.
fn between_strangers(situation: &Situation) -> Option<Reason> {
    match situation.trust() {
        Trust::One => None,
        Trust::Several([(one, _), (other, _)]) => Some(Reason::favours(
            ReasonKind::TrustBoundary,
            format!(
                "`{one}` and `{other}` are of different trust domains, and only hardware partitions keep them apart"
            ),
        )),
        Trust::Unstated(_) => Some(Reason::favours(
            ReasonKind::TrustBoundary,
            "no trust is stated, and only hardware partitions keep strangers apart",
        )),
    }
}

/// What speaks for the layout, and what has to be accepted with it.
fn for_it(case: &Case<'_>, board: &MigBoard, assignment: &Assignment) -> Vec<Reason> {
    let situation = case.situation;
    let mut reasons = Vec::new();
    if situation.tenants.len() > 1 {
        reasons.push(Reason::favours(
            ReasonKind::Isolation,
            "each has SMs, L2 and memory of its own: a neighbour's burst, fault or full memory does not reach it",
        ));
    }
    for (tenant, seat) in situation.tenants.iter().zip(&assignment.seats) {
        reasons.push(sized(case, board, tenant, seat.profile));
    }
    for (tenant, seat) in situation.tenants.iter().zip(&assignment.seats) {
        let stranded = stranded(case, board, tenant, seat.profile);
        if let Some(it) = stranded.filter(|it| *it >= case.policy.stranded_mib) {
            let sentence = format!(
                "{} of the {} of `{}` are stranded: no smaller profile holds it, or none that is fast enough",
                gib(it),
                board.profiles[seat.profile].name,
                tenant.name
            );
            let reason = Reason::caution(ReasonKind::ProfileSize, sentence);
            reasons.push(reason.about([tenant.name.as_str()]));
        }
    }
    if situation.tenants.len() > 1 {
        reasons.push(Reason::caution(
            ReasonKind::Isolation,
            "power, clocks and the PCIe link stay shared under MIG",
        ));
    }
    reasons
}

fn stranded(case: &Case<'_>, board: &MigBoard, tenant: &Tenant, profile: usize) -> Option<f64> {
    let have = board.profiles.get(profile)?.memory_mib? as f64;
    Some((have - tenant.needed_mib(case.policy)?).max(0.0))
}

/// How many such tenants the board takes, where all get the same profile.
fn capacity(board: &MigBoard, profiles: &[usize]) -> Option<Capacity> {
    let first = profiles.first()?;
    let is_alike = profiles.iter().all(|it| it == first);
    let most = board.profiles.get(*first)?.max_instances;
    if is_alike { Capacity::of(None, None, Some(most)) } else { None }
}

fn plan(case: &Case<'_>, board: &MigBoard, assignment: Assignment) -> Plan {
    let seats = case.situation.tenants.iter().zip(&assignment.seats);
    let assigned = seats.map(|(tenant, seat)| {
        let profile = &board.profiles[seat.profile];
        Assigned {
            profile: Some(profile.name.to_string()),
            start: board.are_placements_known().then_some(seat.start),
            own_memory_mib: profile.memory_mib.map(|it| it as f64),
            stranded_mib: stranded(case, board, tenant, seat.profile),
            ..Assigned::plain(&tenant.name, tenant.needed_mib(case.policy))
        }
    });
    Plan {
        mechanism: MechanismId::Mig,
        devices: 1,
        assignments: assigned.collect(),
        layout: Some(assignment.change.layout.text(board)),
        change: Some(assignment.change),
        replicas: None,
    }
}
