//! The utilisation trap: the GPU counts as used while most of its SMs are idle.

use crate::analysis::findings::{Level, UtilisationTrap};
use crate::domain::metric::Metric;
use std::collections::BTreeMap;

/// Utilisation from which a reader would call the GPU well used.
const LOOKS_USED: f64 = 0.5;
/// SM activity over utilisation below which that impression is wrong.
const MOSTLY_IDLE_SMS: f64 = 0.5;

/// The trap, where both metrics were seen and utilisation promises at least twice what SMs do.
pub(crate) fn utilisation_trap(levels: &BTreeMap<Metric, Level>) -> Option<UtilisationTrap> {
    let gpu_utilization_ratio = levels.get(&Metric::GpuUtilization)?.mean / 100.0;
    let sm_active_ratio = levels.get(&Metric::SmActive)?.mean;
    let is_trap = gpu_utilization_ratio >= LOOKS_USED
        && sm_active_ratio < MOSTLY_IDLE_SMS * gpu_utilization_ratio;
    is_trap.then_some(UtilisationTrap { gpu_utilization_ratio, sm_active_ratio })
}
