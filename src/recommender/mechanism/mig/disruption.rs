//! What a change of mode or of layout takes.

use crate::domain::mig_geometry::{MigBoard, ModeChange};
use crate::recommender::mechanism::plan::{Disruption, DisruptionLevel, Plan};
use crate::recommender::situation::Situation;

/// From how the device is cut now to a layout.
pub(super) fn of(situation: &Situation, plan: &Plan) -> Disruption {
    let mut found =
        Disruption { level: DisruptionLevel::None, is_node_wide: false, sentences: Vec::new() };
    if situation.now.is_mig != Some(true) {
        let (level, how) = mode(situation.device.mig.board());
        found.level = level;
        let known = if situation.now.is_mig.is_none() { ", if it is off," } else { "" };
        found.sentences.push(format!("MIG mode{known} is switched on: {how}"));
        found.sentences.push(
            "instances do not survive a reboot: the layout has to be applied again at each boot"
                .to_owned(),
        );
        return found;
    }
    let mut wanted: Vec<&str> =
        plan.assignments.iter().filter_map(|it| it.profile.as_deref()).collect();
    let mut gone = Vec::new();
    for instance in &situation.now.instances {
        match wanted.iter().position(|it| it.eq_ignore_ascii_case(&instance.profile)) {
            Some(at) => drop(wanted.remove(at)),
            None => gone.push(instance),
        }
    }
    if gone.is_empty() && wanted.is_empty() {
        found.sentences.push("the layout stands already".to_owned());
        return found;
    }
    for instance in &gone {
        let who = match instance.tenants.as_slice() {
            [] => "nobody is known to be in it".to_owned(),
            tenants => format!("{} stop first", tenants.join(", ")),
        };
        found.sentences.push(format!("{} is drained and destroyed: {who}", instance.profile));
    }
    if !wanted.is_empty() {
        found.sentences.push(format!("{} are created beside what stays", wanted.join(", ")));
    }
    let is_touched = gone.iter().any(|it| !it.tenants.is_empty());
    found.level = match is_touched || !gone.is_empty() {
        true => DisruptionLevel::DrainInstances,
        false => DisruptionLevel::None,
    };
    found
}

/// What leaving MIG takes; nothing where it is not on.
pub(in crate::recommender::mechanism) fn mode_off(situation: &Situation) -> Disruption {
    let mut found =
        Disruption { level: DisruptionLevel::None, is_node_wide: false, sentences: Vec::new() };
    if situation.now.is_mig == Some(true) {
        let (level, how) = mode(situation.device.mig.board());
        found.level = level;
        found.sentences.push(format!("MIG mode is switched off: {how}"));
    }
    found
}

fn mode(board: Option<&MigBoard>) -> (DisruptionLevel, &'static str) {
    match board.and_then(MigBoard::mode_change) {
        Some(ModeChange::ProbablyNoReset) => (
            DisruptionLevel::DrainDevice,
            "every process on the GPU ends first; a reset is said not to be needed on this generation",
        ),
        Some(ModeChange::NeedsReset) | None => (
            DisruptionLevel::ResetDevice,
            "every process and daemon that holds the GPU ends first, and the GPU is reset",
        ),
    }
}
