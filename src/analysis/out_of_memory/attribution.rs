//! Shares of the growth above everybody's own baseline, just before memory ran out.

use crate::analysis::co_peaks::LEAST_GROWTH_BYTES;
use crate::analysis::evidence::Confidence;
use crate::analysis::memory_findings::{
    Blame, MemoryResident, MemoryShare, OutOfMemory, OutOfMemoryKind,
};
use crate::analysis::memory_ledger::{GHOST, Ledger, MPS_SERVER, Member};
use crate::analysis::out_of_memory::reconcile::reconcile;
use crate::analysis::out_of_memory::sentence::sentence;
use crate::domain::units::Seconds;
use crate::stats::quantile::quantiles;
use crate::stats::shapley::shapley;

/// Growth below this share of the memory is noise.
const LEAST_GROWTH: f64 = 0.01;
/// Less of a life than this is no baseline, in seconds: a spike may fill it.
const SHORTEST_LIFE_S: f64 = 60.0;
/// Nor are fewer samples.
const FEWEST_SAMPLES: f64 = 20.0;
/// Share from which one tenant alone is named.
const MOST_OF_IT: f64 = 0.5;
/// Share from which a tenant is named among several.
const PART_OF_IT: f64 = 0.2;
/// Samples of tenants further apart than this leave open who grew when, in seconds.
const COARSE_S: f64 = 2.0;

/// A moment that is to be explained.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// What was seen.
    pub(crate) kind: OutOfMemoryKind,
    /// Place of the member that was lost.
    pub(crate) failed: Option<usize>,
    /// The last bin before.
    pub(crate) last_bin: usize,
    /// The bin of most use shortly before.
    pub(crate) fullest_bin: usize,
    /// Largest rise of the lost member at any time, in bytes.
    pub(crate) usual_rise: Option<f64>,
    /// Whether the lost member came back.
    pub(crate) returns: bool,
}

/// What one member held, and its own normal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    pub(crate) held: f64,
    pub(crate) baseline: f64,
    pub(crate) p99: f64,
    pub(crate) growth: f64,
    pub(crate) grew_before_s: Option<f64>,
}

/// Who had taken the memory at a moment.
pub(crate) fn attributed(
    ledger: &Ledger,
    residents: &[MemoryResident],
    moment: &Moment,
    xid_code: Option<u32>,
) -> OutOfMemory {
    let noise = LEAST_GROWTH_BYTES.max(LEAST_GROWTH * ledger.total_bytes.unwrap_or(0.0));
    let mut accounts: Vec<Account> =
        (0..ledger.members.len()).map(|it| account(ledger, it, moment)).collect();
    let mut unseen = Vec::new();
    reconcile(ledger, residents, moment, noise, &mut accounts, &mut unseen);
    for (account, member) in accounts.iter_mut().zip(&ledger.members) {
        let growth = account.held - account.baseline;
        account.growth = if growth > noise { growth } else { 0.0 };
        account.grew_before_s = grew_before(ledger, member, account, moment);
    }
    let free = ledger
        .capacity_bytes()
        .zip(ledger.in_use(moment.fullest_bin))
        .map(|it| (it.0 - it.1).max(0.0));
    let shares = shares(ledger, &accounts, moment, free);
    let (blame, named) = blamed(&shares, moment);
    caveats(ledger, moment, &named, xid_code, &mut unseen);
    let mut event = OutOfMemory {
        kind: moment.kind,
        at: ledger.at(moment.last_bin),
        at_uncertainty_s: uncertainty(ledger, moment),
        failed: moment.failed.map(|it| ledger.members[it].label.clone()),
        free_bytes: free,
        usual_rise_bytes: moment.usual_rise,
        xid_code,
        blame,
        named,
        confidence: confidence(ledger, moment, blame, xid_code, unseen.len()),
        shares,
        sentence: String::new(),
        unseen,
    };
    event.sentence = sentence(&event);
    event
}

/// What a member held at the fullest instant, against its life until then.
fn account(ledger: &Ledger, place: usize, moment: &Moment) -> Account {
    let member = &ledger.members[place];
    let at = |bin: usize| member.bytes.get(bin).copied().filter(|it| it.is_finite());
    let held = at(moment.fullest_bin).into_iter().chain(
        // Whoever was lost held its last value; the others may have been seen a sample later only.
        if moment.failed == Some(place) { at(moment.last_bin) } else { at(moment.last_bin + 1) },
    );
    let held = held.reduce(f64::max).unwrap_or(0.0);
    let is_there = |it: &&f64| it.is_finite() && **it > 0.0;
    let before = &member.bytes[..(moment.last_bin + 1).min(member.bytes.len())];
    let life = before.iter().rev().take_while(is_there).copied().collect::<Vec<f64>>();
    let enough = SHORTEST_LIFE_S.max(FEWEST_SAMPLES * member.interval_s) / ledger.step_s();
    let life = match life.len() as f64 >= enough {
        true => life,
        false => member.bytes.iter().filter(is_there).copied().collect(),
    };
    let levels = quantiles(&life, &[0.5, 0.99]).unwrap_or_else(|| vec![held, held]);
    Account { held, baseline: levels[0], p99: levels[1], growth: 0.0, grew_before_s: None }
}

/// Seconds since the member last stood near its baseline; `None` when it had not grown.
///
/// Where the device was sampled more often, since it last had less in use by half of that growth.
fn grew_before(
    ledger: &Ledger,
    member: &Member,
    account: &Account,
    moment: &Moment,
) -> Option<f64> {
    if account.growth <= 0.0 {
        return None;
    }
    let last = moment.fullest_bin.min(member.bytes.len().checked_sub(1)?);
    let in_use = ledger.used_at(last).filter(|_| ledger.is_device_finer());
    let is_low = |bin: &usize| match in_use {
        Some(most) => ledger.used_at(*bin).is_some_and(|it| it <= most - 0.5 * account.growth),
        None => member.bytes[*bin] <= account.baseline + 0.1 * account.growth,
    };
    let began = (0..=last).rev().find(is_low).map_or(last, |it| last - it);
    Some(began.max(1) as f64 * ledger.step_s())
}

fn shares(
    ledger: &Ledger,
    accounts: &[Account],
    moment: &Moment,
    free: Option<f64>,
) -> Vec<MemoryShare> {
    let total: f64 = accounts.iter().map(|it| it.growth).sum();
    let latest = accounts.iter().filter_map(|it| it.grew_before_s).reduce(f64::min);
    let game = game(accounts, moment, free);
    let mut shares: Vec<MemoryShare> = accounts
        .iter()
        .zip(&ledger.members)
        .enumerate()
        .filter(|it| it.1.0.held > 0.0 || moment.failed == Some(it.0))
        .map(|(place, (it, member))| MemoryShare {
            label: member.label.clone(),
            held_bytes: it.held,
            baseline_bytes: it.baseline,
            share_ratio: (total > 0.0).then(|| it.growth / total),
            shapley_ratio: game.as_ref().map(|it| it[place]),
            is_above_own_p99: it.held >= it.p99 && it.held > it.baseline,
            grew_before_s: it.grew_before_s,
            is_last_to_grow: it.grew_before_s.is_some() && it.grew_before_s == latest,
            has_failed: moment.failed == Some(place),
        })
        .collect();
    let rank = |it: &MemoryShare| it.share_ratio.unwrap_or(0.0);
    shares.sort_by(|a, b| {
        (rank(b).total_cmp(&rank(a)))
            .then(b.held_bytes.total_cmp(&a.held_bytes))
            .then_with(|| a.label.cmp(&b.label))
    });
    shares
}

/// Shapley's shares of what did not fit, for each account: v(S) = (Σ growth of S + request − spare)⁺.
///
/// The request is the lost member's largest rise at other times, and counts as that member's own. `None`
/// when all of it would have fitted, or more than eight have a part.
fn game(accounts: &[Account], moment: &Moment, free: Option<f64>) -> Option<Vec<f64>> {
    let request = moment.usual_rise.unwrap_or(0.0);
    let own = |place: usize| {
        accounts[place].growth + if moment.failed == Some(place) { request } else { 0.0 }
    };
    let players: Vec<usize> = (0..accounts.len()).filter(|it| own(*it) > 0.0).collect();
    let spare = free? + accounts.iter().map(|it| it.growth).sum::<f64>();
    let excess = |set: u32| {
        let asked = players.iter().enumerate().filter(|it| set & (1 << it.0) != 0);
        (asked.map(|it| own(*it.1)).sum::<f64>() - spare).max(0.0)
    };
    let found = shapley(players.len(), excess)?;
    let total: f64 = found.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let mut ratios = vec![0.0; accounts.len()];
    players.iter().zip(&found).for_each(|(place, it)| ratios[*place] = it / total);
    Some(ratios)
}

fn blamed(shares: &[MemoryShare], moment: &Moment) -> (Blame, Vec<String>) {
    let grown = |least: f64| -> Vec<String> {
        let has = shares.iter().filter(|it| it.share_ratio.is_some_and(|it| it >= least));
        has.map(|it| it.label.clone()).collect()
    };
    match shares.first().and_then(|it| it.share_ratio) {
        Some(most) if most > MOST_OF_IT => (Blame::OneTenant, vec![shares[0].label.clone()]),
        Some(_) => (Blame::Several, grown(PART_OF_IT)),
        None => match shares.iter().find(|it| it.has_failed) {
            Some(failed) if moment.kind != OutOfMemoryKind::Asked => {
                (Blame::OwnRequest, vec![failed.label.clone()])
            }
            _ => (Blame::CannotTell, Vec::new()),
        },
    }
}

fn uncertainty(ledger: &Ledger, moment: &Moment) -> f64 {
    let own = moment.failed.map(|it| ledger.members[it].interval_s);
    let gap = (moment.last_bin + 1 - moment.fullest_bin.min(moment.last_bin)) as f64;
    own.unwrap_or(0.0).max(gap * ledger.step_s())
}

fn caveats(
    ledger: &Ledger,
    moment: &Moment,
    named: &[String],
    xid_code: Option<u32>,
    unseen: &mut Vec<String>,
) {
    if let Some(code) = xid_code {
        unseen.push(format!("Xid {code} came up just before: the process may have been lost to that error and not to memory"));
    }
    if named.iter().any(|it| it == GHOST || it == MPS_SERVER) {
        unseen.push("the one that is named stands for processes that are not visible".to_owned());
    }
    match moment.kind {
        OutOfMemoryKind::LostWhileTight => unseen.push(
            "the refused request itself shows in no counter: that it was the cause follows from how little was free".to_owned(),
        ),
        OutOfMemoryKind::FullOnly => unseen
            .push("whether a request was refused shows in no counter: nobody was lost".to_owned()),
        OutOfMemoryKind::LostWhileFull | OutOfMemoryKind::Asked => {}
    }
    let slowest = ledger.members.iter().map(|it| it.interval_s).fold(0.0, f64::max);
    if slowest > COARSE_S {
        unseen.push(format!(
            "tenants were sampled every {}: who grew between two samples was missed",
            Seconds(slowest)
        ));
    }
    if ledger.reserved_bytes.is_none() {
        unseen.push(
            "what the driver keeps for itself was not recorded: there was less free than said"
                .to_owned(),
        );
    }
}

fn confidence(
    ledger: &Ledger,
    moment: &Moment,
    blame: Blame,
    xid: Option<u32>,
    caveats: usize,
) -> Confidence {
    let event = match moment.kind {
        OutOfMemoryKind::LostWhileFull => 0.9,
        OutOfMemoryKind::LostWhileTight if moment.returns => 0.8,
        OutOfMemoryKind::LostWhileTight => 0.6,
        OutOfMemoryKind::FullOnly => 0.4,
        OutOfMemoryKind::Asked => 0.7,
    };
    let named = match blame {
        Blame::OneTenant => 1.0,
        Blame::Several => 0.8,
        Blame::OwnRequest => 0.7,
        Blame::CannotTell => 0.1,
    };
    let rival = if xid.is_some() { 0.4 } else { 1.0 };
    let slowest = ledger.members.iter().map(|it| it.interval_s).fold(0.0, f64::max);
    let sampling = (COARSE_S / slowest.max(COARSE_S)).sqrt();
    Confidence::new(event * named * rival * sampling * 0.95_f64.powi(caveats as i32))
}
