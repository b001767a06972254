//! Who has to leave so that the others can share.

use crate::recommender::mechanism::{MechanismId, mechanism};
use crate::recommender::played::{Solo, weigh};
use crate::recommender::policy::Policy;
use crate::recommender::situation::{Situation, Tenant};
use crate::recommender::verdict::{Apart, Chosen, Outcome};
use std::collections::BTreeSet;

/// More tenants than this are not tried one by one.
const MOST_TRIED: usize = 8;

/// The tenant without which the others share one device.
///
/// Of several whoever asks for most goes first, after those with a higher priority stayed: lowest priority, then the greatest
/// memory, then the first name. `None` where no single one is enough, or with fewer than three or more than eight tenants.
pub(crate) fn apart(situation: &Situation, solos: &[Solo], policy: &Policy) -> Option<Apart> {
    let tenants = &situation.tenants;
    if !(3..=MOST_TRIED).contains(&tenants.len()) {
        return None;
    }
    let mut order: Vec<&Tenant> = tenants.iter().collect();
    let memory = |it: &Tenant| it.peak_mib().unwrap_or(0.0);
    order.sort_by(|one, other| {
        let priority = |it: &Tenant| it.policy.priority.unwrap_or(0);
        let by_memory = memory(other).total_cmp(&memory(one));
        priority(one).cmp(&priority(other)).then(by_memory).then(one.name.cmp(&other.name))
    });
    // Tenants that are alike but for their name leave the same others behind.
    let mut tried: BTreeSet<String> = BTreeSet::new();
    order.into_iter().find_map(|it| {
        let alike = format!("{:?} {:?} {:?}", it.policy, it.shape, it.peak_mib());
        if !tried.insert(alike) {
            return None;
        }
        without(situation, solos, &it.name, policy)
    })
}

fn without(situation: &Situation, solos: &[Solo], name: &str, policy: &Policy) -> Option<Apart> {
    let places: Vec<usize> =
        (0..situation.tenants.len()).filter(|it| situation.tenants[*it].name != name).collect();
    let rest = situation.with_some(places.iter().copied());
    let left: Vec<&Solo> = places.iter().map(|it| &solos[*it]).collect();
    let choice = weigh(&rest, &left, policy);
    if choice.outcome() != Outcome::Share {
        return None;
    }
    let chosen = Chosen::of(choice.picked()?)?;
    let devices = chosen.devices + 1;
    let title = mechanism(chosen.mechanism).title();
    let profiles: Vec<String> = chosen.profiles().into_iter().map(str::to_owned).collect();
    let layout = match chosen.mechanism {
        MechanismId::Mig => format!(" ({})", profiles.join(" + ")),
        _ => String::new(),
    };
    let sentence = format!(
        "with a device of its own for `{name}` the other {} share one by {title}{layout}: {devices} devices instead of {}",
        rest.tenants.len(),
        situation.tenants.len()
    );
    Some(Apart {
        tenant: name.to_owned(),
        mechanism: chosen.mechanism,
        profiles,
        devices,
        sentence,
    })
}
