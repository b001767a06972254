//! Every quantity that a recording can hold; [`METRICS`] is the one table of them.

use crate::domain::metric_table::METRICS;
use crate::domain::source::Reading;
use serde::{Deserialize, Serialize};

/// A measurable quantity; [`Metric::spec`] gives its key, unit, range and foreign names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[allow(missing_docs, reason = "METRICS documents each of them, and METRICS.md prints it")]
pub enum Metric {
    GpuUtilization,
    MemoryUtilization,
    EncoderUtilization,
    DecoderUtilization,
    JpegUtilization,
    OfaUtilization,
    GraphicsEngineActive,
    SmActive,
    SmOccupancy,
    TensorActive,
    DramActive,
    Fp64Active,
    Fp32Active,
    Fp16Active,
    FramebufferUsed,
    FramebufferFree,
    FramebufferTotal,
    FramebufferReserved,
    Bar1Used,
    ProtectedMemoryUsed,
    Power,
    PowerInstant,
    PowerLimit,
    Energy,
    SmClock,
    MemoryClock,
    VideoClock,
    GpuTemperature,
    MemoryTemperature,
    FanSpeed,
    PerformanceState,
    ThrottleReasons,
    PowerViolation,
    ThermalViolation,
    Xid,
    EccUncorrected,
    PcieReplays,
    PcieTransmit,
    PcieReceive,
    NvlinkTransmit,
    NvlinkReceive,
    LatencyMean,
    LatencyP50,
    LatencyP90,
    LatencyP95,
    LatencyP99,
    QueueTime,
    TimeToFirstToken,
    IterationTime,
    Throughput,
    TokenThroughput,
    IterationRate,
    OfferedLoad,
    ErrorRate,
    QueueDepth,
    RequestsRunning,
    KvCacheUsed,
    RemappedRows,
    ObserverInterval,
    ObserverMissedTicks,
    ObserverCallMean,
    ObserverCallLongest,
    ObserverDriverTime,
    ObserverDropped,
    ObserverCpu,
    ObserverMemory,
}

/// Unit of a metric; values are kept in it everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each names itself")]
pub enum Unit {
    Percent,
    Ratio,
    Bytes,
    BytesPerSecond,
    Milliwatts,
    Millijoules,
    Megahertz,
    Celsius,
    Nanoseconds,
    Seconds,
    PerSecond,
    Count,
    Bitmask,
    Code,
}

impl Unit {
    /// Symbol for axes and tables.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Percent => "%",
            Self::Ratio => "0..1",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::Milliwatts => "mW",
            Self::Millijoules => "mJ",
            Self::Megahertz => "MHz",
            Self::Celsius => "°C",
            Self::Nanoseconds => "ns",
            Self::Seconds => "s",
            Self::PerSecond => "1/s",
            Self::Count => "count",
            Self::Bitmask => "bit mask",
            Self::Code => "code",
        }
    }
}

/// About whom a metric can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Only the GPU as a whole.
    Device,
    /// The GPU or a MIG instance of it.
    DeviceOrInstance,
    /// The GPU, a MIG instance, a process or a tenant.
    Anyone,
    /// A tenant's own view of its service.
    Service,
}

/// How a value is kept on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit float: seven digits, more than any source gives.
    Single,
    /// 64-bit integer: counters and byte counts, exact.
    Whole,
}

/// A way of naming metrics that foreign data uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// `nvidia-smi --query-gpu` and `--query-compute-apps`.
    Smi,
    /// Columns of `nvidia-smi dmon`.
    Dmon,
    /// Columns of `nvidia-smi pmon`.
    Pmon,
    /// Columns of `dcgmi dmon`.
    Dcgmi,
    /// Field names of DCGM, as dcgm-exporter prints them; old and new ones.
    Dcgm,
    /// Metric names of nvidia_gpu_exporter.
    NvidiaGpuExporter,
    /// Metric names of the vLLM server.
    Vllm,
    /// Metric names of HAMi's monitor; old and new ones.
    Hami,
    /// Metric names of all-smi.
    AllSmi,
    /// Lines of `nvidia-smi -q`, as `section/line`.
    SmiLog,
    /// Keys of a GPU in what `all-smi record` and `all-smi snapshot` write.
    AllSmiRecord,
    /// Names of nvitop's `ResourceMetricCollector`, without what precedes and the statistic.
    Nvitop,
    /// Keys of `gpustat --json`.
    Gpustat,
    /// Names of W&B's system metrics, without `system.gpu.N.`.
    Wandb,
    /// Names of GPU metrics of Nsight Systems, with their unit in brackets.
    Nsight,
    /// Metric names of `cotenant serve`.
    Cotenant,
}

/// A metric's name in a dialect, and the factor that turns its values into our unit.
pub type ForeignName = (Dialect, &'static str, f64);

/// Everything that is known about a metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricSpec {
    /// The metric that this row is about.
    pub metric: Metric,
    /// Name in columns, JSON and mapping files; ends in the unit.
    pub key: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Unit of every value.
    pub unit: Unit,
    /// About whom it can speak.
    pub scope: Scope,
    /// What one reading stands for unless the source says otherwise.
    pub reading: Reading,
    /// Least and greatest believable value; outside is a broken reading.
    pub range: (f64, f64),
    /// How it is kept on disk.
    pub precision: Precision,
    /// DCGM field id.
    pub dcgm_id: Option<u16>,
    /// Names in foreign data.
    pub names: &'static [ForeignName],
    /// What it means, in one sentence.
    pub meaning: &'static str,
}

impl Metric {
    /// Everything that is known about this metric.
    pub fn spec(self) -> &'static MetricSpec {
        &METRICS[self as usize]
    }

    /// What it is called within a sentence; only names such as `SM clock` keep their capitals.
    pub fn in_words(self) -> String {
        match self {
            Metric::LatencyMean => "mean latency".to_owned(),
            Metric::LatencyP50 => "p50".to_owned(),
            Metric::LatencyP90 => "p90".to_owned(),
            Metric::LatencyP95 => "p95".to_owned(),
            Metric::LatencyP99 => "p99".to_owned(),
            other => {
                let label = other.spec().label;
                let is_name = label.chars().nth(1).is_some_and(char::is_uppercase);
                if is_name { label.to_owned() } else { label.to_lowercase() }
            }
        }
    }

    /// The same at the start of a sentence; p99 and the like stay small.
    pub fn first_in_words(self) -> String {
        let words = self.in_words();
        let is_quantile = words.chars().nth(1).is_some_and(|it| it.is_ascii_digit());
        let mut letters = words.chars();
        match letters.next().filter(|_| !is_quantile) {
            Some(first) => first.to_uppercase().chain(letters).collect(),
            None => words,
        }
    }

    /// Name in columns, JSON and mapping files; ends in the unit.
    pub fn key(self) -> &'static str {
        self.spec().key
    }

    /// The metric with this key.
    pub fn from_key(key: &str) -> Option<Metric> {
        METRICS.iter().find(|it| it.key == key).map(|it| it.metric)
    }

    /// The metric that a dialect calls `name`, with the factor that turns its values into our unit.
    ///
    /// Upper and lower case are not told apart.
    pub fn from_foreign(dialect: Dialect, name: &str) -> Option<(Metric, f64)> {
        METRICS.iter().find_map(|spec| {
            let named = |it: &&ForeignName| it.0 == dialect && it.1.eq_ignore_ascii_case(name);
            spec.names.iter().find(named).map(|it| (spec.metric, it.2))
        })
    }

    /// Whether a value can be believed.
    pub fn is_plausible(self, value: f64) -> bool {
        let (least, greatest) = self.spec().range;
        value.is_finite() && least <= value && value <= greatest
    }

    /// Every metric, in the order of the table.
    pub fn all() -> impl Iterator<Item = Metric> {
        METRICS.iter().map(|it| it.metric)
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.key().to_owned()
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(key: String) -> Result<Self, Self::Error> {
        Metric::from_key(&key).ok_or_else(|| format!("unknown metric `{key}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (position, spec) in METRICS.iter().enumerate() {
            assert_eq!(spec.metric as usize, position, "{}", spec.key);
        }
    }

    #[test]
    fn keys_are_unique_and_end_in_their_unit() {
        let mut keys = BTreeSet::new();
        for spec in METRICS {
            assert!(keys.insert(spec.key), "{} stands twice", spec.key);
            let endings: &[&str] = match spec.unit {
                Unit::Percent => &["_pct"],
                Unit::Ratio => &["_ratio"],
                Unit::Bytes => &["_bytes"],
                Unit::BytesPerSecond => &["_bytes_per_s"],
                Unit::Milliwatts => &["_mw"],
                Unit::Millijoules => &["_mj"],
                Unit::Megahertz => &["_mhz"],
                Unit::Celsius => &["_celsius"],
                Unit::Nanoseconds => &["_ns"],
                Unit::Seconds => &["_s"],
                Unit::PerSecond => &["_per_s"],
                Unit::Count => &["_count"],
                Unit::Bitmask => &["_mask"],
                Unit::Code => &["_code"],
            };
            assert!(endings.iter().any(|it| spec.key.ends_with(it)), "{}", spec.key);
        }
    }

    #[test]
    fn a_foreign_name_means_one_metric_and_brings_its_factor() {
        let mut names = BTreeSet::new();
        for (spec, name) in METRICS.iter().flat_map(|it| it.names.iter().map(move |n| (it, n))) {
            let key = (name.0, name.1.to_ascii_lowercase());
            assert!(names.insert(key), "{:?} {} of {} stands twice", name.0, name.1, spec.key);
        }
        let found = Metric::from_foreign(Dialect::Smi, "memory.used");
        assert_eq!(found, Some((Metric::FramebufferUsed, 1_048_576.0)));
        assert_eq!(Metric::from_foreign(Dialect::Dmon, "memory.used"), None);
    }

    #[test]
    fn an_all_ones_sentinel_is_never_plausible() {
        for metric in Metric::all() {
            assert!(!metric.is_plausible(9_223_372_036_854_775_794.0), "{}", metric.key());
            assert!(!metric.is_plausible(f64::NAN), "{}", metric.key());
        }
    }
}
