//! The multi-process service without Kubernetes, the length of turns, and the words of KAI.

use crate::recommender::manifest::ManifestError;
use crate::recommender::manifest::plan::{
    MOST_MPS_CLIENTS, SharingMechanism, SharingPlan, TenantShare, TimeSlice,
};
use crate::recommender::manifest::words::{comment, comments, scalar, uuid};

/// What no reader of a script may miss.
const WARNING: &str = "\
# All clients share one server: a fault in one ends the others. Share within one trust domain only.
# The compute mode is gone after a reboot. `echo quit | nvidia-cuda-mps-control` ends the service.
";

/// A script that starts the service for one GPU, with the widest limits of any tenant as its defaults.
///
/// - Errors: those of the plan.
pub fn server_script(
    gpu_index: u32,
    gpu_uuid: Option<&str>,
    plan: &SharingPlan,
    reasons: &[String],
) -> Result<String, ManifestError> {
    plan.check()?;
    let visible = uuid(gpu_uuid).map_or_else(|| gpu_index.to_string(), str::to_owned);
    let (threads, limit) = plan.widest();
    let mut text =
        format!("#!/bin/sh\n# MPS on GPU {gpu_index}, up to {MOST_MPS_CLIENTS} clients\n");
    text.push_str(&comments(reasons));
    text.push_str(WARNING);
    text.push_str(&format!(
        "set -eu\n\n\
         # Nobody but the server may open the GPU, so that no process shares it past the limits.\n\
         nvidia-smi -i {gpu_index} -c EXCLUSIVE_PROCESS\n\n\
         export CUDA_VISIBLE_DEVICES={visible}\n\
         export CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps-{gpu_index}\n\
         export CUDA_MPS_LOG_DIRECTORY=/tmp/nvidia-mps-log-{gpu_index}\n\
         nvidia-cuda-mps-control -d\n"
    ));
    if let Some(it) = threads {
        text.push_str(&control(&format!("set_default_active_thread_percentage {it}")));
    }
    if let Some(it) = limit {
        // The service sees one GPU, which is its device 0.
        text.push_str(&control(&format!("set_default_device_pinned_mem_limit 0 {it}M")));
    }
    Ok(text)
}

fn control(command: &str) -> String {
    format!("echo \"{command}\" | nvidia-cuda-mps-control\n")
}

/// The environment of each tenant as a file of `NAME=value` lines under a comment with its name.
///
/// - Errors: [`ManifestError::ThreadPercentage`], [`ManifestError::MemoryLimit`].
pub fn client_environment(gpu_index: u32, share: &TenantShare) -> Result<String, ManifestError> {
    share.check()?;
    let mut text = format!(
        "# {}: each of its processes is one client, with these limits of its own\n\
         CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps-{gpu_index}\n",
        comment(&share.tenant)
    );
    if let Some(it) = share.thread_percentage {
        text.push_str(&format!("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={it}\n"));
    }
    if let Some(it) = share.pinned_limit_mib {
        text.push_str(&format!("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0={it}M\n"));
    }
    Ok(text)
}

/// The command that sets how long turns on a GPU are; it is gone after a reboot.
pub fn time_slice_command(gpu_index: u32, slice: TimeSlice) -> String {
    let number = slice.number();
    format!("nvidia-smi compute-policy -i {gpu_index} --set-timeslice={number}\n")
}

/// What a pod asks of the KAI scheduler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KaiRequest {
    /// A share of a GPU, above 0 and up to 1.
    Fraction(f64),
    /// Memory, MiB.
    MemoryMib(u64),
}

/// Annotations of a pod for the KAI scheduler, as a part of its YAML.
///
/// - Errors: [`ManifestError::Fraction`], [`ManifestError::MemoryLimit`].
pub fn kai_annotations(
    mechanism: SharingMechanism,
    request: KaiRequest,
) -> Result<String, ManifestError> {
    let (key, value) = match request {
        KaiRequest::Fraction(it) if it > 0.0 && it <= 1.0 => ("gpu-fraction", it.to_string()),
        KaiRequest::Fraction(it) => return Err(ManifestError::Fraction(it.to_string())),
        KaiRequest::MemoryMib(0) => return Err(ManifestError::MemoryLimit),
        KaiRequest::MemoryMib(it) => ("gpu-memory", it.to_string()),
    };
    let mode = match mechanism {
        SharingMechanism::TimeSlicing => "time-slicing",
        SharingMechanism::Mps => "sm-sharing",
    };
    Ok(format!(
        "metadata:\n  annotations:\n    {key}: {}\n    kai.scheduler/gpu-compute-sharing-mode: {mode}\n",
        scalar(&value)
    ))
}
