//! Situations in the words of `docs/VERDICTS.md`, built through the public interface.
//!
//! `3 x notebook: development, team a, 5 % in 2 s, 2 GB; chat: latency-sensitive, 10/s of 15 ms, 8 GB`

use cotenant::colocation::demand::{Assumption, Demand, Spread};
use cotenant::colocation::memory::MemoryDemand;
use cotenant::colocation::objective::{Level, Limit, Objective};
use cotenant::colocation::range::Range;
use cotenant::colocation::whatif::Options;
use cotenant::domain::ident::GpuId;
use cotenant::domain::mig_geometry::BOARDS;
use cotenant::recommender::policy::Policy;
use cotenant::recommender::situation::{
    Current, DeviceFacts, Limits, MigAbility, Situation, Tenant,
};
use cotenant::recommender::tenant_policy::{Class, TenantPolicy};

/// Short names of the page, our names of boards, and memory as the driver shows it, MiB.
const DEVICES: [(&str, Option<&str>, f64); 10] = [
    ("H100", Some("H100-SXM5-80GB"), 81_559.0),
    ("A100-80", Some("A100-80GB"), 81_920.0),
    ("A100-40", Some("A100-40GB"), 40_960.0),
    ("A30", Some("A30"), 24_576.0),
    ("H200", Some("H200-141GB"), 143_771.0),
    ("B200", Some("B200-180GB"), 183_359.0),
    ("L40S", None, 46_068.0),
    ("T4", None, 15_360.0),
    ("V100", None, 32_768.0),
    ("MI300X", None, 196_592.0),
];
const GIB: f64 = 1_073_741_824.0;
/// Length of every recording of memory, in samples of 0.1 s.
const MEMORY_SAMPLES: usize = 36_000;

/// The device of a row with the tenants of a row on it.
pub(crate) fn situation(board: &str, tenants: &str, policy: &Policy) -> Situation {
    let tenants: Vec<Tenant> = tenants.split(';').flat_map(|it| those(it.trim(), policy)).collect();
    let device = match DEVICES.iter().find(|it| it.0 == board) {
        Some((name, geometry, total_mib)) => DeviceFacts {
            model: Some((*name).to_owned()),
            total_mib: Some(*total_mib),
            mig: match geometry {
                None => MigAbility::No,
                Some(name) => {
                    let found = BOARDS.iter().find(|it| it.name == *name);
                    MigAbility::Board(Box::new(found.expect("the board is in the table").clone()))
                }
            },
            ..DeviceFacts::default()
        },
        None => {
            assert_eq!(board, "unknown", "a device of the page");
            DeviceFacts { total_mib: Some(81_920.0), ..DeviceFacts::default() }
        }
    };
    Situation {
        gpu: GpuId::from_index(0),
        label: "GPU 0".to_owned(),
        device,
        now: Current { tenants: tenants.len(), ..Current::default() },
        tenants,
        saturated: None,
        met: None,
        limits: Limits::default(),
        options: Options::default(),
        unseen: Vec::new(),
    }
}

/// `3 x name: traits` as three tenants.
fn those(text: &str, policy: &Policy) -> Vec<Tenant> {
    let (head, traits) = text.split_once(':').unwrap_or_else(|| panic!("no name in `{text}`"));
    let (count, name) = match head.split_once(" x ") {
        Some((count, name)) => (count.trim().parse().expect("a count of tenants"), name.trim()),
        None => (1, head.trim()),
    };
    let named = |number: usize| match count {
        1 => name.to_owned(),
        _ => format!("{name}-{number}"),
    };
    (1..=count).map(|it| tenant(&named(it), traits, policy)).collect()
}

/// What the traits of one tenant say.
#[derive(Default)]
struct Traits {
    policy: TenantPolicy,
    requests: Option<(f64, f64)>,
    bursts: Option<(f64, f64)>,
    width: Option<f64>,
    bandwidth: Option<f64>,
    is_width_unknown: bool,
    is_unseen: bool,
    base_gib: Option<f64>,
    spike_gib: f64,
    spike_every_s: f64,
    memory_interval_s: f64,
    clients: u32,
}

fn tenant(name: &str, traits: &str, policy: &Policy) -> Tenant {
    let mut it = Traits { memory_interval_s: 0.1, clients: 1, ..Traits::default() };
    for word in traits.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        it.read(word);
    }
    let demand = it.demand(name);
    let memory = it.memory(name);
    let mut tenant = match demand {
        Some(demand) => Tenant::of(demand, it.policy, policy),
        None => Tenant {
            name: name.to_owned(),
            policy: it.policy,
            demand: None,
            shape: None,
            memory: None,
            clients: 1,
            instance: None,
        },
    };
    tenant.memory = memory;
    tenant.clients = it.clients;
    tenant
}

fn number(text: &str) -> f64 {
    text.trim().parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

fn seconds(text: &str) -> f64 {
    let text = text.trim();
    match text.strip_suffix("ms") {
        Some(it) => 1e-3 * number(it),
        None => number(text.strip_suffix('s').unwrap_or_else(|| panic!("`{text}` has no unit"))),
    }
}

impl Traits {
    fn read(&mut self, word: &str) {
        if let Some(class) = Class::ALL.iter().find(|it| it.1 == word) {
            self.policy.class = Some(class.0);
            return;
        }
        match word {
            "may stall" => self.policy.may_stall = Some(true),
            "may crash" => self.policy.may_crash = Some(true),
            "must not stall" => self.policy.may_stall = Some(false),
            "must not crash" => self.policy.may_crash = Some(false),
            "whole device" => self.policy.whole_device = Some(true),
            "part of a device" => self.policy.whole_device = Some(false),
            "interconnect" => self.policy.interconnect = Some(true),
            "unseen" => self.is_unseen = true,
            "SMs unknown" => self.is_width_unknown = true,
            _ => self.read_number(word),
        }
    }

    fn read_number(&mut self, word: &str) {
        let after = |start: &str| word.strip_prefix(start);
        if let Some(it) = after("team ") {
            self.policy.trust_domain = Some(it.to_owned());
        } else if let Some(it) = after("p99 <= ") {
            let limit = match it.strip_suffix('x') {
                Some(factor) => Limit::Factor(number(factor)),
                None => Limit::Seconds(seconds(it)),
            };
            self.policy.latency = Some(Objective { level: Level::P99, limit });
        } else if let Some((rate, each)) = word.split_once("/s of ") {
            self.requests = Some((number(rate), seconds(each)));
        } else if let Some(it) = after("steady ") {
            self.bursts = Some((0.01 * number(it.trim_end_matches('%')), 0.004));
        } else if let Some((duty, each)) = word.split_once("% in ") {
            self.bursts = Some((0.01 * number(duty), seconds(each)));
        } else if let Some(it) = after("SMs ") {
            self.width = Some(0.01 * number(it.trim_end_matches('%')));
        } else if let Some(it) = after("bandwidth ") {
            self.bandwidth = Some(0.01 * number(it.trim_end_matches('%')));
        } else if let Some(it) = after("limit ") {
            self.policy.memory_limit_mib = Some(1024.0 * number(it.trim_end_matches("GB")));
        } else if let Some(it) = after("priority ") {
            self.policy.priority = Some(number(it) as i64);
        } else if let Some(it) = after("clients ") {
            self.clients = number(it) as u32;
        } else if let Some(it) = after("memory every ") {
            self.memory_interval_s = seconds(it);
        } else if let Some((base, rest)) = word.split_once("GB + ") {
            let (spike, every) = rest.split_once("GB every ").expect("how often memory rises");
            self.base_gib = Some(number(base));
            (self.spike_gib, self.spike_every_s) = (number(spike), seconds(every));
        } else if let Some(it) = word.strip_suffix("GB") {
            self.base_gib = Some(number(it));
        } else {
            panic!("`{word}` says nothing");
        }
    }

    /// Half of the SMs and a fifth of the bandwidth where the row does not say.
    fn demand(&self, name: &str) -> Option<Demand> {
        if self.is_unseen {
            return None;
        }
        let spread = Spread::Lognormal(0.3);
        let mut demand = match (self.requests, self.bursts) {
            (Some((per_s, each_s)), None) => {
                Demand::requests(name, per_s, (each_s, spread), (20_000.0 / per_s).min(86_400.0))
            }
            (None, Some((duty, each_s))) => {
                Demand::bursts(name, duty, (each_s, spread), 1_000.0 * each_s / duty)
            }
            _ => panic!("`{name}` works in no way, or in two"),
        }
        .expect("numbers that give work");
        demand = demand.wide(self.width.unwrap_or(0.5), self.bandwidth.unwrap_or(0.2));
        if self.is_width_unknown {
            demand.width = Range { expected: 0.65, low: 0.3, high: 1.0 };
            demand.assumptions.push(Assumption::WidthUnknown);
        }
        Some(demand)
    }

    /// Spikes of half a second around their rhythm, each a little off, as an independent clock has it.
    fn memory(&self, name: &str) -> Option<MemoryDemand> {
        let base = self.base_gib? * GIB;
        let mut samples = vec![base; MEMORY_SAMPLES];
        if self.spike_gib > 0.0 {
            let mut state = name.bytes().fold(7_u64, |all, it| all * 31 + u64::from(it));
            let mut at = 0.0;
            loop {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let jitter = (state >> 33) as f64 / f64::from(u32::MAX >> 1) - 0.5;
                at += self.spike_every_s * (1.0 + 0.3 * jitter);
                let first = (10.0 * at) as usize;
                if first + 5 >= samples.len() {
                    break;
                }
                samples[first..first + 5].fill(base + self.spike_gib * GIB);
            }
        }
        let every = (10.0 * self.memory_interval_s).round().max(1.0) as usize;
        let seen: Vec<f64> = samples.into_iter().step_by(every).collect();
        MemoryDemand::of(name, &[&seen], self.memory_interval_s)
    }
}
