//! A device on which every kind of influence and of look-alike was found, or not.

use crate::analysis::findings::{DeviceFindings, Scope};
use crate::analysis::influence::findings::{
    Channel, ClockOffset, ClockOffsetOrigin, ContendedPair, Contention, Influence,
    InfluenceFindings, InfluenceVerdict, LookAlike, LookAlikeKind, LookAlikeState,
};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::recommender::suitability::SharingWord;
use crate::report::specimen::load::Load;
use crate::report::specimen::{
    HOSTILE, Specimen, device, judged, process, span, specimen, subject, tenant,
};

/// The tenants of the device, the first of which suffers most.
pub(crate) const TENANTS: [&str; 5] = ["chat", "batch", "embed", "notebook", HOSTILE];

fn gpu() -> GpuId {
    GpuId::from_index(3)
}

/// A tenant of the device.
pub(crate) fn who(name: &str) -> Subject {
    tenant(&gpu(), name)
}

/// A pair of which nothing is known but the verdict.
pub(crate) fn influence(suspect: &str, victim: &str, verdict: InfluenceVerdict) -> Influence {
    Influence {
        gpu: Some(gpu()),
        suspect: suspect.to_owned(),
        suspect_subject: who(suspect),
        victim: victim.to_owned(),
        victim_subject: who(victim),
        metric: Metric::LatencyP99,
        scope: Scope::Whole,
        verdict,
        effect_ratio: None,
        effect_low: None,
        effect_high: None,
        lag_seconds: None,
        p_granger: None,
        p_event: None,
        q: None,
        q_any_dependence: None,
        mde_ratio: None,
        through: None,
        importance_ratio: None,
        cpi2_score: None,
        dose_ratios: Vec::new(),
        bin_s: 1.0,
        bins: 600,
        bursts: 0,
        on_ratio_of_time: None,
        held_fixed: Vec::new(),
        reasons: Vec::new(),
        remedy: None,
    }
}

/// The same with an effect, its interval and how sure it is.
pub(crate) fn sized(it: Influence, effect: [f64; 3], q: f64) -> Influence {
    Influence {
        effect_ratio: Some(effect[0]),
        effect_low: Some(effect[1]),
        effect_high: Some(effect[2]),
        lag_seconds: Some(0.0),
        p_granger: Some(q / 3.0),
        p_event: Some(q / 2.0),
        q: Some(q),
        q_any_dependence: Some((3.0 * q).min(1.0)),
        mde_ratio: Some(0.06),
        importance_ratio: Some(effect[0] / 3.0),
        cpi2_score: Some(0.41),
        dose_ratios: vec![0.5 * effect[0], effect[0], 1.3 * effect[0]],
        bursts: 60,
        on_ratio_of_time: Some(0.3),
        held_fixed: vec!["offered load".to_owned(), "embed".to_owned()],
        ..it
    }
}

fn of_metric(metric: Metric, it: Influence) -> Influence {
    Influence { metric, ..it }
}

/// Pairs of every verdict, the surest first.
pub(crate) fn pairs() -> Vec<Influence> {
    let slows = |suspect, victim| influence(suspect, victim, InfluenceVerdict::Confirmed);
    let hidden = |suspect, victim, mde: Option<f64>| Influence {
        mde_ratio: mde,
        reasons: vec!["granger-weak: the past of the suspect helps no prediction".to_owned()],
        ..sized(influence(suspect, victim, InfluenceVerdict::NotShown), [0.004, -0.02, 0.03], 0.62)
    };
    let untold = |suspect, victim| Influence {
        bursts: 4,
        reasons: vec!["too-few-bursts: 4 bursts were seen, 5 are needed".to_owned()],
        remedy: Some("Record until the suspect has had 5 bursts: about 20 min more.".to_owned()),
        ..influence(suspect, victim, InfluenceVerdict::CannotTell)
    };
    vec![
        sized(slows("batch", "chat"), [0.84, 0.62, 1.09], 0.000_2),
        of_metric(Metric::LatencyMean, sized(slows("batch", "chat"), [0.41, 0.33, 0.5], 0.000_02)),
        of_metric(Metric::Throughput, sized(slows("chat", "batch"), [0.18, 0.11, 0.24], 0.004)),
        Influence {
            through: Some(Channel::PowerCap),
            verdict: InfluenceVerdict::Through,
            lag_seconds: Some(2.0),
            ..sized(slows("embed", "chat"), [0.12, 0.07, 0.17], 0.011)
        },
        Influence {
            verdict: InfluenceVerdict::Likely,
            reasons: vec!["event-weak: one of two tests does not reach its limit".to_owned()],
            ..sized(slows(HOSTILE, "chat"), [0.091, -0.004, 0.19], 0.08)
        },
        of_metric(Metric::Throughput, hidden("embed", "batch", Some(0.06))),
        hidden("batch", HOSTILE, None),
        untold("notebook", "chat"),
        untold("notebook", HOSTILE),
    ]
}

fn look_alike(kind: LookAlikeKind, state: LookAlikeState, sentence: &str) -> LookAlike {
    let is_found = state == LookAlikeState::Found;
    LookAlike {
        kind,
        state,
        victim: Some("chat".to_owned()),
        victim_subject: Some(who("chat")),
        metric: Some(Metric::LatencyP99),
        effect_ratio: is_found.then_some(0.22),
        share_of_time: (state != LookAlikeState::Unseen).then_some(if is_found {
            0.07
        } else {
            0.0
        }),
        spans: if is_found { vec![span(60.0, 102.0)] } else { Vec::new() },
        sentence: sentence.to_owned(),
    }
}

/// Look-alikes in every state, not in the order of a report.
pub(crate) fn look_alikes() -> Vec<LookAlike> {
    let own = format!("The load of {HOSTILE} did not rise with its latency.");
    vec![
        look_alike(
            LookAlikeKind::ThermalSlowdown,
            LookAlikeState::RuledOut,
            "No clock event names heat; the board stays below 71 °C.",
        ),
        LookAlike {
            victim: Some(HOSTILE.to_owned()),
            ..look_alike(LookAlikeKind::OwnQueue, LookAlikeState::RuledOut, &own)
        },
        look_alike(
            LookAlikeKind::PcieSaturation,
            LookAlikeState::Unseen,
            "PCIe traffic was not recorded.",
        ),
        look_alike(
            LookAlikeKind::PowerCap,
            LookAlikeState::Found,
            "The board is at its power limit for 7 % of the time, and p99 is 22 % higher then.",
        ),
        LookAlike {
            victim: None,
            victim_subject: None,
            metric: None,
            effect_ratio: None,
            ..look_alike(LookAlikeKind::Fault, LookAlikeState::RuledOut, "No Xid came up.")
        },
    ]
}

/// Everything about the device's neighbours.
pub(crate) fn influences() -> InfluenceFindings {
    let offset = |tenant: &str, offset_s, origin, sentence: &str| ClockOffset {
        tenant: tenant.to_owned(),
        offset_s,
        origin,
        sentence: sentence.to_owned(),
    };
    InfluenceFindings {
        pairs: pairs(),
        look_alikes: look_alikes(),
        contention: Some(Contention {
            tenants: vec!["batch".to_owned(), "embed".to_owned(), HOSTILE.to_owned()],
            contended_s: 74.0,
            seen_s: 600.0,
            pairs: vec![ContendedPair {
                first: "batch".to_owned(),
                second: HOSTILE.to_owned(),
                contended_s: 74.0,
            }],
            caveat: "It says who may have waited, not who did".to_owned(),
        }),
        clock_offsets: vec![
            offset(
                "chat",
                0.4,
                ClockOffsetOrigin::Estimated,
                "Requests and GPU activity of chat fit best when its stamps are 0.4 s late.",
            ),
            offset(
                HOSTILE,
                0.0,
                ClockOffsetOrigin::Assumed,
                "Nothing allows an estimate: the clocks are taken to agree.",
            ),
        ],
    }
}

/// The device.
fn quarrel_device() -> DeviceFindings {
    let mut subjects = vec![subject(Subject::device(&gpu()), "GPU 3", Load::Bursty, Some(50.0))];
    let loads = [Load::Steady, Load::Bursty, Load::Late, Load::Late, Load::Steady];
    for (name, load) in TENANTS.into_iter().zip(loads) {
        subjects.push(subject(who(name), name, load, Some(8.0)));
    }
    subjects.push(subject(process(&gpu(), 99), "idle (pid 99)", Load::Steady, None));
    DeviceFindings { influences: influences(), ..device(&gpu(), "GPU 3", subjects) }
}

/// The specimen with the device.
pub(crate) fn quarrel() -> Specimen {
    let mut world = specimen();
    world.findings.devices.push(quarrel_device());
    world.suitability.push(judged(
        Subject::device(&gpu()),
        "GPU 3",
        SharingWord::DoNotShare,
        &["batch takes the whole device for 3.0 s at a time"],
    ));
    world
}
