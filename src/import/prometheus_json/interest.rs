//! Which metrics of a server are worth asking for.

use crate::domain::service_table::{PRESETS, USUAL_ENDS};
use crate::import::prometheus_json::services::parts_of_histograms;
use crate::import::prometheus_text::owner::{Meaning, meaning};

/// What a metric is to a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// About GPUs.
    Gpu,
    /// About a model server that a preset knows.
    Server,
    /// A part of a histogram that looks like requests of any server; a cluster may have thousands.
    Requests,
    /// Nothing.
    None,
}

/// What a metric of this name is to a recording.
pub fn interest(name: &str) -> Interest {
    let base = parts_of_histograms().find_map(|it| name.strip_suffix(it));
    let is_of = |wanted: &str| wanted == name || base == Some(wanted);
    let of_server = PRESETS.iter().filter(|it| name.starts_with(it.mark)).any(|preset| {
        let others = preset.rows.iter().filter_map(|it| match it.how {
            crate::domain::service_table::How::MeanOver(other) => Some(other),
            _ => None,
        });
        let names = preset.rows.iter().flat_map(|it| it.names).chain(preset.latency).copied();
        names.chain(others).any(is_of)
    });
    match meaning(name) {
        _ if of_server => Interest::Server,
        Meaning::Unknown | Meaning::Cumulative => {
            let is_usual = base.is_some_and(|it| USUAL_ENDS.iter().any(|end| it.ends_with(end)));
            if is_usual { Interest::Requests } else { Interest::None }
        }
        Meaning::Aside => Interest::None,
        _ => Interest::Gpu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_list_of_names_finds_every_exporter_and_server() {
        for name in [
            "DCGM_FI_DEV_GPU_UTIL",
            "DCGM_FI_DEV_BOARD_POWER_WATTS",
            "nvidia_smi_utilization_gpu_ratio",
            "nvidia_smi_gpu_info",
            "HostCoreUtilization",
            "hami_vgpu_memory_used_bytes",
            "all_smi_gpu_utilization",
        ] {
            assert_eq!(interest(name), Interest::Gpu, "{name}");
        }
        for name in [
            "vllm:e2e_request_latency_seconds_bucket",
            "vllm:num_requests_waiting",
            "nv_inference_request_success",
            "tgi_request_duration_sum",
            "sglang:e2e_request_latency_seconds_count",
        ] {
            assert_eq!(interest(name), Interest::Server, "{name}");
        }
        assert_eq!(interest("apiserver_request_duration_seconds_bucket"), Interest::Requests);
        for name in ["up", "go_goroutines", "vllm:cache_config_info", "node_cpu_seconds_total"] {
            assert_eq!(interest(name), Interest::None, "{name}");
        }
    }
}
