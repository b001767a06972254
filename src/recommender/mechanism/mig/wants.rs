//! Which profiles a tenant accepts, and why not the others.

use crate::domain::mig_geometry::MigBoard;
use crate::recommender::mechanism::Case;
use crate::recommender::mechanism::keeping::lacking;
use crate::recommender::reason::{Names, Reason, ReasonKind, Weight, gib, mib, percent};
use crate::recommender::situation::Tenant;
use crate::recommender::tenant_policy::Class;
use std::collections::BTreeMap;

/// How surely a profile does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// It does.
    Sure,
    /// It may do.
    Open,
    /// It does not.
    Refused,
}

/// A profile whose memory holds a tenant.
#[derive(Debug, Clone)]
pub(super) struct Want {
    /// Index of the profile.
    pub(super) profile: usize,
    /// What the tenant would lack in it; `None` when nothing.
    pub(super) lacking: Option<Reason>,
    /// Extra time for the same work in it, as a share; `None` where it was not predicted.
    extra: Option<f64>,
}

impl Want {
    pub(super) fn worth(&self) -> Worth {
        match self.lacking.as_ref().map(|it| it.weight) {
            None => Worth::Sure,
            Some(Weight::Open) => Worth::Open,
            Some(_) => Worth::Refused,
        }
    }

    /// Slices that it takes: the smallest that does is the best; of equal ones the faster.
    pub(super) fn cost(&self, board: &MigBoard) -> f64 {
        let profile = &board.profiles[self.profile];
        let slices = f64::from(profile.compute_slices + profile.memory_slices);
        slices + 0.1 * self.extra.unwrap_or(1.0).clamp(0.0, 1.0)
    }
}

/// Every plain profile, the whole device left out, whose memory holds each tenant.
///
/// Never one below the measured peak and its margin, and where no memory is known every one with that left open.
pub(super) fn wants(case: &Case<'_>, board: &MigBoard) -> Vec<Vec<Want>> {
    let played = |tenant: usize, profile: usize| {
        case.played.slices.get(tenant).and_then(|it| it.get(profile)).and_then(Option::as_ref)
    };
    let of_tenant = |(place, tenant): (usize, &Tenant)| -> Vec<Want> {
        let need = tenant.needed_mib(case.policy);
        let whole = board.whole();
        (0..board.profiles.len())
            .filter(|it| board.profiles[*it].is_plain() && Some(*it) != whole)
            .filter(|it| holds(board, *it, need))
            .map(|profile| {
                let found = played(place, profile);
                let lacking =
                    found.and_then(|it| lacking(tenant, &it.prediction, it.extra, case.policy));
                let extra = found.and_then(|it| it.extra).map(|it| it.expected);
                Want { profile, lacking, extra }
            })
            .collect()
    };
    case.situation.tenants.iter().enumerate().map(of_tenant).collect()
}

fn holds(board: &MigBoard, profile: usize, need: Option<f64>) -> bool {
    match (board.profiles[profile].memory_mib, need) {
        (Some(have), Some(need)) => need <= have as f64,
        (None, Some(_)) => false,
        (_, None) => true,
    }
}

/// Why a profile and no other: what the tenant needs, which are too small, and what a larger one would strand.
pub(super) fn sized(case: &Case<'_>, board: &MigBoard, tenant: &Tenant, profile: usize) -> Reason {
    let it = &board.profiles[profile];
    let name = &tenant.name;
    let sms = it.sm_count.zip(board.sm_total);
    let sms = sms.map_or_else(String::new, |(own, all)| format!(" and {own} of {all} SMs"));
    let (Some(need), Some(have)) = (tenant.needed_mib(case.policy), it.memory_mib) else {
        let sentence = format!("`{name}` gets {}{sms}; what it needs is not known", it.name);
        return Reason::favours(ReasonKind::ProfileSize, sentence).about([name.as_str()]);
    };
    let mut others: Vec<(u64, &str)> = board
        .profiles
        .iter()
        .filter(|other| other.is_plain())
        .filter_map(|other| Some((other.memory_mib?, other.name.as_ref())))
        .collect();
    others.sort_unstable();
    let below = others.iter().rev().find(|it| (it.0 as f64) < need);
    let below = below
        .map_or_else(String::new, |it| format!("; {} ({}) is too small", it.1, mib(it.0 as f64)));
    let above = others.iter().find(|it| it.0 > have + 1024);
    let above = above.map_or_else(String::new, |it| {
        format!("; {} would strand {}", it.1, gib(it.0 as f64 - need))
    });
    let sentence = format!(
        "`{name}` needs {} ({}) and gets {} with {}{sms}: {} stay unused{below}{above}",
        mib(need),
        basis(case, tenant, need),
        it.name,
        mib(have as f64),
        gib(have as f64 - need),
    );
    Reason::favours(ReasonKind::ProfileSize, sentence).about([name.as_str()])
}

/// Where a need comes from.
fn basis(case: &Case<'_>, tenant: &Tenant, need: f64) -> String {
    let peak = tenant.peak_mib().unwrap_or(need);
    match need > peak {
        true => format!("peak {} and {}", mib(peak), percent(case.policy.memory_margin_ratio)),
        false => "its configured limit".to_owned(),
    }
}

/// Why no layout holds everybody.
pub(super) fn refused(case: &Case<'_>, board: &MigBoard, wants: &[Vec<Want>]) -> Vec<Reason> {
    let tenants = &case.situation.tenants;
    if tenants.len() > board.compute_slices as usize {
        let sentence = format!(
            "{} tenants, and {} takes {} instances at most",
            tenants.len(),
            board.name,
            board.compute_slices
        );
        let refused = Reason::refuses(ReasonKind::Profile, sentence);
        return std::iter::once(refused).chain(shared_instances(case)).collect();
    }
    let mut reasons: Vec<Reason> = tenants
        .iter()
        .zip(wants)
        .filter_map(|(tenant, wants)| refused_by(case, board, tenant, wants))
        .collect();
    if reasons.is_empty() && !tenants.is_empty() {
        let least: Vec<String> = tenants
            .iter()
            .zip(wants)
            .filter_map(|(tenant, wants)| {
                let open = wants.iter().filter(|it| it.worth() != Worth::Refused);
                let least =
                    open.min_by(|one, other| one.cost(board).total_cmp(&other.cost(board)))?;
                Some(format!("`{}` at least {}", tenant.name, board.profiles[least.profile].name))
            })
            .collect();
        let sentence = format!("no layout of {} holds them all: {}", board.name, least.join(", "));
        reasons.push(Reason::refuses(ReasonKind::Profile, sentence));
        reasons.extend(shared_instances(case));
    }
    reasons
}

/// An instance for each trust domain, shared within it, which is not weighed; `None` where nobody could share one.
///
/// Source: NVIDIA/k8s-device-plugin, `sharing.timeSlicing` takes resources of MIG devices by name; `sharing.mps` for them is
/// an error of the plugin (pull request 713).
fn shared_instances(case: &Case<'_>) -> Option<Reason> {
    let can_share = |it: &&Tenant| {
        it.class() != Class::LatencySensitive
            && it.policy.latency.is_none()
            && it.may_stall()
            && it.may_crash()
    };
    let mut domains: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in case.situation.tenants.iter().filter(can_share) {
        let domain = it.policy.trust_domain.as_deref()?;
        domains.entry(domain).or_default().push(it.name.as_str());
    }
    let (domain, names) = domains.into_iter().max_by_key(|it| it.1.len())?;
    (names.len() > 1).then(|| {
        let sentence = format!(
            "instances that are shared in turns were not weighed: {} of trust domain `{domain}` would accept one together (`sharing.timeSlicing` with `nvidia.com/mig-…`; the device plugin refuses MPS on instances), which helps where others must be kept apart from them",
            Names(&names)
        );
        Reason::caution(ReasonKind::Profile, sentence).about(names)
    })
}

/// Why no profile does for one tenant; `None` where one does, or may.
fn refused_by(
    case: &Case<'_>,
    board: &MigBoard,
    tenant: &Tenant,
    wants: &[Want],
) -> Option<Reason> {
    if wants.iter().any(|it| it.worth() != Worth::Refused) {
        return None;
    }
    // The largest one that holds it lacks the least.
    let best = wants.iter().max_by(|one, other| one.cost(board).total_cmp(&other.cost(board)));
    if let Some(reason) = best.and_then(|it| it.lacking.clone().map(|reason| (it, reason))) {
        let (want, reason) = reason;
        let profile = &board.profiles[want.profile].name;
        let sentence = format!("even in {profile}: {}", reason.sentence);
        return Some(Reason { sentence, ..reason });
    }
    let need = tenant.needed_mib(case.policy)?;
    let whole = board.whole();
    let plain = (0..board.profiles.len())
        .filter(|it| board.profiles[*it].is_plain() && Some(*it) != whole)
        .filter_map(|it| Some((board.profiles[it].memory_mib?, board.profiles[it].name.as_ref())));
    let largest = plain.max();
    let largest = largest.map_or_else(
        || "the memory of its profiles is not known".to_owned(),
        |it| format!("the largest part of {}, {}, has {}", board.name, it.1, mib(it.0 as f64)),
    );
    let sentence = format!(
        "`{}` needs {} ({}), and {largest}",
        tenant.name,
        mib(need),
        basis(case, tenant, need)
    );
    Some(Reason::refuses(ReasonKind::Profile, sentence).about([tenant.name.as_str()]))
}
