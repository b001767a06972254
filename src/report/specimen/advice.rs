//! One verdict of each kind, decided about small situations: shared, exclusive, and not enough evidence.

use crate::analysis::findings::{DeviceFindings, Findings};
use crate::colocation::demand::{Demand, Spread};
use crate::colocation::phases::Budget;
use crate::colocation::whatif::Options;
use crate::domain::ident::GpuId;
use crate::recommender::decide::decide;
use crate::recommender::policy::Policy;
use crate::recommender::situation::{Current, DeviceFacts, Limits, MigAbility, Situation, Tenant};
use crate::recommender::tenant_policy::{Class, TenantPolicy};
use crate::recommender::verdict::Verdict;
use std::sync::OnceLock;

/// Indices of devices in specimens end before this.
const MOST_DEVICES: u32 = 256;

/// A verdict on each device, the kinds by turns of its index.
pub(crate) fn verdicts(findings: &Findings) -> Vec<Verdict> {
    static KINDS: OnceLock<Vec<Verdict>> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        let policy = Policy::default();
        [shared(&policy), exclusive(&policy), open()].iter().map(|it| decide(it, &policy)).collect()
    });
    let own = |device: &DeviceFindings| {
        let place = (0..MOST_DEVICES).position(|it| GpuId::from_index(it) == device.gpu);
        Verdict {
            gpu: device.gpu.clone(),
            label: device.label.clone(),
            ..kinds[place.unwrap_or(0) % kinds.len()].clone()
        }
    };
    findings.devices.iter().map(own).collect()
}

/// Two small jobs of one team that accept everything.
fn shared(policy: &Policy) -> Situation {
    let own = TenantPolicy {
        trust_domain: Some("team".to_owned()),
        class: Some(Class::Development),
        ..TenantPolicy::default()
    };
    let tenants = ["embed", "notes"].map(|it| tenant(it, 0.03, 0.2, own.clone(), policy));
    situation(tenants.to_vec())
}

/// Strangers, one of which bursts, on a device that cannot be cut.
fn exclusive(policy: &Policy) -> Situation {
    let of = |domain: &str, class| TenantPolicy {
        trust_domain: Some(domain.to_owned()),
        class: Some(class),
        ..TenantPolicy::default()
    };
    situation(vec![
        tenant("batch", 0.3, 3.0, of("a", Class::Batch), policy),
        tenant("chat", 0.2, 0.02, of("b", Class::LatencySensitive), policy),
    ])
}

/// Two of which nothing was seen.
fn open() -> Situation {
    let unseen = |name: &str| Tenant {
        name: name.to_owned(),
        policy: TenantPolicy {
            trust_domain: Some("team".to_owned()),
            class: Some(Class::Development),
            ..TenantPolicy::default()
        },
        demand: None,
        shape: None,
        memory: None,
        clients: 1,
        instance: None,
    };
    situation(vec![unseen("one"), unseen("other")])
}

fn tenant(name: &str, duty: f64, burst_s: f64, own: TenantPolicy, policy: &Policy) -> Tenant {
    let span_s = 100.0 * burst_s / duty;
    let demand = Demand::bursts(name, duty, (burst_s, Spread::Lognormal(0.3)), span_s)
        .expect("numbers that give work")
        .wide(0.5, 0.2);
    let demand = Demand { memory_bytes: Some(4e9), ..demand };
    Tenant::of(demand, own, policy)
}

fn situation(tenants: Vec<Tenant>) -> Situation {
    Situation {
        gpu: GpuId::from_index(0),
        label: String::new(),
        device: DeviceFacts {
            model: Some("Tesla V100".to_owned()),
            total_mib: Some(32_768.0),
            mig: MigAbility::No,
            ..DeviceFacts::default()
        },
        now: Current { tenants: tenants.len(), ..Current::default() },
        tenants,
        saturated: None,
        met: None,
        limits: Limits::default(),
        options: Options {
            budget: Budget { events: 4_000, ..Budget::default() },
            ..Options::default()
        },
        unseen: Vec::new(),
    }
}
