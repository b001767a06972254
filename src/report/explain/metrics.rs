//! The table of metrics as words to explain.

use crate::domain::metric::{Dialect, MetricSpec, Scope};
use crate::domain::metric_table::METRICS;
use crate::domain::source::Reading;
use crate::report::explain::{Entry, ForeignWord, Kind, MetricFacts};

/// Every metric, in the order of the table.
pub(super) fn entries() -> impl Iterator<Item = Entry> {
    METRICS.iter().map(|spec| Entry {
        metric: Some(facts(spec)),
        ..Entry::new(Kind::Metric, spec.key, spec.meaning)
    })
}

fn facts(spec: &'static MetricSpec) -> MetricFacts {
    let word = |it: &(Dialect, &'static str, f64)| ForeignWord {
        tool: tool(it.0),
        name: it.1,
        factor: it.2,
    };
    MetricFacts {
        label: spec.label,
        unit: spec.unit.symbol(),
        about: match spec.scope {
            Scope::Device => "the GPU as a whole",
            Scope::DeviceOrInstance => "a GPU or a MIG instance",
            Scope::Anyone => "a GPU, a MIG instance, a process or a tenant",
            Scope::Service => "a tenant's service",
        },
        reading: match spec.reading {
            Reading::Instant => "the instant of its stamp",
            Reading::WindowAverage { .. } => {
                "the average over the driver's window, or since the sample before"
            }
            Reading::Counter => "a counter that only grows",
            Reading::LastEvent => "the last event",
        },
        least: spec.range.0,
        greatest: spec.range.1,
        dcgm_field: spec.dcgm_id,
        names: spec.names.iter().map(word).collect(),
    }
}

const fn tool(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Smi => "nvidia-smi --query",
        Dialect::Dmon => "nvidia-smi dmon",
        Dialect::Pmon => "nvidia-smi pmon",
        Dialect::Dcgmi => "dcgmi dmon",
        Dialect::Dcgm => "DCGM",
        Dialect::NvidiaGpuExporter => "nvidia_gpu_exporter",
        Dialect::Vllm => "vLLM",
        Dialect::Hami => "HAMi",
        Dialect::AllSmi => "all-smi",
        Dialect::SmiLog => "nvidia-smi -q",
        Dialect::AllSmiRecord => "all-smi record",
        Dialect::Nvitop => "nvitop",
        Dialect::Gpustat => "gpustat",
        Dialect::Wandb => "W&B",
        Dialect::Nsight => "Nsight Systems",
        Dialect::Cotenant => "cotenant serve",
    }
}
