//! The plain families: what a metric of the table is called and in which base unit.

use crate::domain::metric::Metric;
use crate::exporter::text::Kind;

/// A plain family: metric, name, unit, factor from our unit, kind, meaning.
pub(crate) struct Plain {
    pub(crate) metric: Metric,
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) factor: f64,
    pub(crate) kind: Kind,
}

const fn gauge(metric: Metric, name: &'static str, unit: &'static str, factor: f64) -> Plain {
    Plain { metric, name, unit, factor, kind: Kind::Gauge }
}

const fn counter(metric: Metric, name: &'static str, unit: &'static str, factor: f64) -> Plain {
    Plain { metric, name, unit, factor, kind: Kind::Counter }
}

/// Every plain family about GPUs and instances.
pub(crate) const PLAIN: &[Plain] = &[
    gauge(Metric::FramebufferUsed, "cotenant_memory_used_bytes", "bytes", 1.0),
    gauge(Metric::FramebufferTotal, "cotenant_memory_total_bytes", "bytes", 1.0),
    gauge(Metric::SmActive, "cotenant_sm_active_ratio", "ratio", 1.0),
    gauge(Metric::DramActive, "cotenant_dram_active_ratio", "ratio", 1.0),
    gauge(Metric::Power, "cotenant_power_watts", "watts", 1e-3),
    gauge(Metric::PowerLimit, "cotenant_power_limit_watts", "watts", 1e-3),
    counter(Metric::Energy, "cotenant_energy_joules", "joules", 1e-3),
    gauge(Metric::SmClock, "cotenant_sm_clock_hertz", "hertz", 1e6),
    gauge(Metric::GpuTemperature, "cotenant_gpu_temperature_celsius", "celsius", 1.0),
    gauge(Metric::ThrottleReasons, "cotenant_throttle_reasons_mask", "", 1.0),
    gauge(Metric::Xid, "cotenant_last_xid_code", "", 1.0),
    counter(Metric::EccUncorrected, "cotenant_ecc_uncorrected_errors", "", 1.0),
    counter(Metric::PcieReplays, "cotenant_pcie_replays", "", 1.0),
    gauge(Metric::PcieTransmit, "cotenant_pcie_transmit_bytes_per_second", "", 1.0),
    gauge(Metric::PcieReceive, "cotenant_pcie_receive_bytes_per_second", "", 1.0),
    counter(Metric::ObserverMissedTicks, "cotenant_missed_looks", "", 1.0),
    counter(Metric::ObserverDropped, "cotenant_dropped_readings", "", 1.0),
    gauge(Metric::ObserverDriverTime, "cotenant_driver_time_ratio", "ratio", 1.0),
];
