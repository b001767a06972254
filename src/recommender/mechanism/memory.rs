//! Whether tenants run out of the memory that they would share.

use crate::colocation::memory::{
    MemoryDemand, MemoryForecast, MemoryQuestion, MemoryRoom, forecast,
};
use crate::domain::units::Seconds;
use crate::recommender::mechanism::Case;
use crate::recommender::mechanism::capacity::{mean, times};
use crate::recommender::mechanism::lost::Rescue;
use crate::recommender::reason::{
    Measurement, MeasurementKind, Names, Reason, ReasonKind, gib, percent,
};
use crate::recommender::situation::{MIB, Tenant};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// So many tenants are named with what they held.
const MOST_TOLD: usize = 4;

/// What sharing memory comes to.
pub(super) struct SharedMemory {
    /// Chance of running out within a day, 0 to 1; `None` where it is not known.
    pub(super) day_ratio: Option<f64>,
    /// Why it may not be, or what has to be seen first; `None` where it fits.
    pub(super) against: Option<Reason>,
    /// How many such tenants the memory holds; `None` where it is not known.
    pub(super) capacity: Option<u32>,
}

/// All tenants in the memory of the whole device, one of them perhaps with a pinned limit.
pub(super) fn shared(case: &Case<'_>, rescue: Option<&Rescue>) -> SharedMemory {
    let (situation, policy) = (case.situation, case.policy);
    let room = situation.room_mib(policy);
    let capacity = mean(situation.tenants.iter().map(|it| it.needed_mib(policy)))
        .zip(room)
        .and_then(|(need, room)| times(room, need));
    let unknown =
        |against: Reason| SharedMemory { day_ratio: None, against: Some(against), capacity };
    if let Some(reason) = unseen(&situation.tenants) {
        return unknown(reason);
    }
    let Some(room_mib) = room else {
        let sentence = "how much memory the device has was not recorded";
        let what = "read the memory of the device: `nvidia-smi -q -d MEMORY`";
        let measurement = Measurement::new(MeasurementKind::Device, 0.0, what);
        return unknown(Reason::open(ReasonKind::Memory, sentence, measurement));
    };
    let mut demands: Vec<MemoryDemand> =
        situation.tenants.iter().filter_map(Tenant::memory_demand).collect();
    if let Some(it) = rescue {
        let own = demands.iter_mut().filter(|own| own.label == it.tenant);
        own.for_each(|own| own.cap_bytes = Some(it.limit_mib * MIB));
    }
    let question = MemoryQuestion {
        demands: &demands,
        room: MemoryRoom {
            total_bytes: room_mib * MIB,
            reserved_bytes: Some(0.0),
            others_bytes: Some(0.0),
        },
        // What was measured happened without the limit.
        measured: situation.met.filter(|_| rescue.is_none()),
        horizons_s: &[DAY_S],
    };
    let Some(found) = forecast(&question) else {
        return SharedMemory { day_ratio: Some(0.0), against: None, capacity };
    };
    let day_ratio = found.risks.last().and_then(|it| it.risk_ratio);
    let against = match day_ratio {
        None => once_only(&situation.tenants.iter().collect::<Vec<_>>())
            .or_else(|| Some(blind(&found, &demands))),
        Some(it) if it > policy.out_of_memory_day_ratio => Some(runs_out(case, &found, it)),
        Some(_) => None,
    };
    SharedMemory { day_ratio, against, capacity }
}

/// Chance that a tenant runs out of the memory of a device of its own within a day, 0 to 1.
///
/// `None` where its memory, or that of the device, is not known, or where its samples are too far apart.
pub(super) fn alone(case: &Case<'_>, tenant: &Tenant) -> Option<f64> {
    let room_mib = case.situation.room_mib(case.policy)?;
    let demand = tenant.memory_demand()?;
    let room = MemoryRoom {
        total_bytes: room_mib * MIB,
        reserved_bytes: Some(0.0),
        others_bytes: Some(0.0),
    };
    let demands = std::slice::from_ref(&demand);
    let question = MemoryQuestion { demands, room, measured: None, horizons_s: &[DAY_S] };
    forecast(&question)?.risks.last()?.risk_ratio
}

/// Tenants of which no memory was seen.
pub(super) fn unseen(tenants: &[Tenant]) -> Option<Reason> {
    let unseen: Vec<&str> =
        tenants.iter().filter(|it| it.peak_mib().is_none()).map(|it| it.name.as_str()).collect();
    if unseen.is_empty() {
        return None;
    }
    let take = if unseen.len() == 1 { "takes" } else { "take" };
    let sentence = format!("how much memory {} {take} was not seen", Names(&unseen));
    Some(Reason::open(ReasonKind::Memory, sentence, recording("100 ms")).about(unseen))
}

/// The recording that shows peaks of memory.
fn recording(every: &str) -> Measurement {
    let what =
        format!("record the memory of each process every {every} (or state `memory_limit_mib`)");
    Measurement::new(MeasurementKind::Memory, 900.0, what)
}

/// Peaks that cannot be believed, those of tenants that were seen for an instant together.
pub(super) fn peaks_in_doubt(tenants: &[Tenant]) -> Vec<Reason> {
    let (once, others): (Vec<&Tenant>, Vec<&Tenant>) =
        tenants.iter().partition(|it| seen_once(it).is_some());
    let doubted = others.into_iter().filter_map(peak_in_doubt);
    once_only(&once).into_iter().chain(doubted).collect()
}

/// What a tenant held in the few samples that there are; `None` where its memory was followed, or a limit stands for it.
fn seen_once(tenant: &Tenant) -> Option<&MemoryDemand> {
    let demand = tenant.memory.as_ref().filter(|_| tenant.policy.memory_limit_mib.is_none())?;
    demand.is_glimpse().then_some(demand)
}

/// Memory that was seen, and not over time: what it was, and that nobody knows more.
fn once_only(tenants: &[&Tenant]) -> Option<Reason> {
    let held: Vec<(&str, &MemoryDemand)> =
        tenants.iter().filter_map(|it| Some((it.name.as_str(), seen_once(it)?))).collect();
    let most = held.iter().map(|it| it.1.stairs.samples).max()?;
    let told: Vec<String> = held
        .iter()
        .take(MOST_TOLD)
        .map(|(name, it)| format!("`{name}` held {}", gib(it.stairs.peak() / MIB)))
        .collect();
    let more = match held.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(", and {more} more were seen too"),
    };
    let when = match most {
        0 | 1 => "in one sample".to_owned(),
        some => format!("in {some} samples that do not follow each other"),
    };
    let sentence =
        format!("{}{more}, {when}: what they hold at other times is not known", told.join(", "));
    let sentence = match held.len() {
        1 => sentence.replace("what they hold", "what it holds"),
        _ => sentence,
    };
    let names = held.iter().map(|it| it.0);
    Some(Reason::open(ReasonKind::Memory, sentence, recording("100 ms")).about(names))
}

/// Samples too far apart for a peak to be believed; `None` where it can be, or where a limit is configured.
pub fn peak_in_doubt(tenant: &Tenant) -> Option<Reason> {
    let demand = tenant.memory.as_ref().filter(|_| tenant.policy.memory_limit_mib.is_none())?;
    let all = std::slice::from_ref(demand);
    let room =
        MemoryRoom { total_bytes: f64::MAX, reserved_bytes: Some(0.0), others_bytes: Some(0.0) };
    let question = MemoryQuestion { demands: all, room, measured: None, horizons_s: &[DAY_S] };
    let found = forecast(&question).filter(|it| it.needed_interval_s.is_some())?;
    once_only(&[tenant]).or_else(|| Some(blind(&found, all).about([tenant.name.as_str()])))
}

fn blind(found: &MemoryForecast, demands: &[MemoryDemand]) -> Reason {
    let apart = demands.iter().map(|it| it.interval_s).fold(0.0, f64::max);
    let sentence = format!(
        "memory was sampled every {}, and peaks between samples were missed",
        Seconds(apart)
    );
    let every = Seconds(found.needed_interval_s.unwrap_or(0.1)).to_string();
    Reason::open(ReasonKind::Memory, sentence, recording(&every))
}

/// Averages that fit and peaks that meet are another matter than memory that is too small at any time.
fn runs_out(case: &Case<'_>, found: &MemoryForecast, day_ratio: f64) -> Reason {
    let (room, means, peaks) = (
        gib(found.room_bytes / MIB),
        gib(found.sum_of_means_bytes / MIB),
        gib(found.sum_of_peaks_bytes / MIB),
    );
    let most = percent(case.policy.out_of_memory_day_ratio);
    let risk = percent(day_ratio);
    if found.fits_at_limits == Some(false) {
        let limits: f64 = case.situation.tenants.iter().filter_map(Tenant::peak_mib).sum();
        let sentence = format!(
            "their configured limits and peaks add up to {}, and {room} are there: whoever asks last runs out of memory",
            gib(limits)
        );
        return Reason::refuses(ReasonKind::Memory, sentence);
    }
    let is_met = found.sum_of_means_bytes <= found.room_bytes && found.over_ratio < 0.5;
    let (kind, sentence) = match is_met {
        true => (
            ReasonKind::PeaksCoincide,
            format!(
                "on average they hold {means} of {room}, but their peaks add up to {peaks}, and whoever asks second runs out of memory: {risk} within a day, {most} is accepted"
            ),
        ),
        false => (
            ReasonKind::Memory,
            format!(
                "they hold {means} on average and {peaks} at their peaks, and {room} are there: {risk} run out of memory within a day, {most} is accepted"
            ),
        ),
    };
    let names: Vec<&str> = case.situation.tenants.iter().map(|it| it.name.as_str()).collect();
    Reason::refuses(kind, sentence).about(names)
}
