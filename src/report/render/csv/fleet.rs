//! A plan for a fleet as CSV: one line for each tenant, and one for each GPU without any.

use crate::fleet::plan::{FleetPlan, PlannedDevice, PlannedTenant};
use crate::report::render::csv::{guarded, text};

const HEADER: [&str; 16] = [
    "pool",
    "host",
    "gpu",
    "label",
    "state",
    "mechanism",
    "layout",
    "tenant",
    "class",
    "profile",
    "moves_from",
    "p99_factor",
    "needed_mib",
    "gpu_busy_ratio",
    "gpu_out_of_memory_day_ratio",
    "confidence",
];

/// One line for each tenant of a GPU, GPU by GPU; unknown cells are empty.
///
/// Errors: none in practice; the table is built in memory.
pub fn fleet(plan: &FleetPlan) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for device in &plan.devices {
        if device.tenants.is_empty() {
            writer.write_record(line(device, None))?;
        }
        for tenant in &device.tenants {
            writer.write_record(line(device, Some(tenant)))?;
        }
    }
    text(writer)
}

fn line(device: &PlannedDevice, tenant: Option<&PlannedTenant>) -> [String; 16] {
    let words = |it: Option<&str>| it.map(guarded).unwrap_or_default();
    let number = |it: Option<f64>| it.map(|it| it.to_string()).unwrap_or_default();
    [
        guarded(&device.pool),
        words(device.host.as_deref()),
        words(device.gpu.as_deref()),
        guarded(&device.label),
        device.state.word().to_owned(),
        device.mechanism.map(|it| it.word().to_owned()).unwrap_or_default(),
        words(device.layout.as_deref()),
        words(tenant.map(|it| it.name.as_str())),
        words(tenant.map(|it| it.class.as_str())),
        words(tenant.and_then(|it| it.profile.as_deref())),
        words(tenant.and_then(|it| it.moves_from.as_deref())),
        number(tenant.and_then(|it| it.p99_factor)),
        number(tenant.and_then(|it| it.needed_mib)),
        number(device.busy_ratio),
        number(device.out_of_memory_day_ratio),
        number(device.confidence),
    ]
}
