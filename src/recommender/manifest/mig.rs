//! MIG layouts: a script of nvidia-smi for one GPU, a configuration of mig-parted for a node.

use crate::recommender::manifest::ManifestError;
use crate::recommender::manifest::plan::{MigInstancePlan, MigPlan};
use crate::recommender::manifest::words::{
    comment, comments, label_value, scalar, shell_word, uuid,
};
use std::collections::{BTreeMap, BTreeSet};

/// What no reader of a script may miss.
const WARNING: &str = "\
# Run as root, with no work on what is destroyed. Instances do not survive a reboot, and on Hopper and
# later MIG mode does not either: after each boot the layout has to be made anew, by the script for that
# or by nvidia-mig-parted.
";

/// What no reader of a script for the time after a boot may miss.
const BOOT_WARNING: &str = "\
# For a GPU without instances, as a boot leaves it. Run as root before any work starts.
";

/// A script of `nvidia-smi mig` that brings one GPU from what it is to the plan.
///
/// It stops at the first failure. Compute instances go before their GPU instances; new ones come largest
/// first, each at its own start, with a compute instance of full size (`-C`).
///
/// - Errors: [`ManifestError::Profile`].
pub fn script(plan: &MigPlan, reasons: &[String]) -> Result<String, ManifestError> {
    let gpu = plan.gpu_index;
    let mut text = opening(plan, reasons, WARNING);
    if !plan.destroy.is_empty() {
        text.push_str(
            "\n# A GPU instance goes only without compute instances; one that has none is no failure.\n",
        );
        let ids: BTreeSet<u32> = plan.destroy.iter().copied().collect();
        for id in &ids {
            text.push_str(&format!("nvidia-smi mig -i {gpu} -gi {id} -dci || true\n"));
        }
        for id in &ids {
            text.push_str(&format!("nvidia-smi mig -i {gpu} -gi {id} -dgi\n"));
        }
    }
    if plan.is_mode_change_needed {
        text.push_str(&mode(gpu, plan.is_mig_on));
    }
    text.push_str(&create(plan, &plan.largest_first()?));
    Ok(text)
}

/// A script that makes the whole layout on a GPU without instances, as a boot leaves it.
///
/// - Errors: [`ManifestError::Profile`].
pub fn boot_script(plan: &MigPlan, reasons: &[String]) -> Result<String, ManifestError> {
    let mut text = opening(plan, reasons, BOOT_WARNING);
    text.push_str(&mode(plan.gpu_index, plan.is_mig_on));
    text.push_str(&create(plan, &plan.whole()?));
    Ok(text)
}

/// Who it is for, why, and that it is the right GPU.
fn opening(plan: &MigPlan, reasons: &[String], warning: &str) -> String {
    let gpu = plan.gpu_index;
    let mut text = format!("#!/bin/sh\n{}{}{warning}set -eu\n", heading(plan), comments(reasons));
    if let Some(uuid) = uuid(plan.uuid.as_deref()) {
        text.push_str(&format!(
            "\n# Another GPU under this index must not be cut.\n\
             test \"$(nvidia-smi -i {gpu} --query-gpu=uuid --format=csv,noheader)\" = {} ||\n\
             \x20 {{ echo \"GPU {gpu} is another one; nothing was changed\" >&2; exit 1; }}\n",
            shell_word(uuid)
        ));
    }
    text
}

/// Instances that come, and a look at what there is then.
fn create(plan: &MigPlan, instances: &[&MigInstancePlan]) -> String {
    let gpu = plan.gpu_index;
    if !plan.is_mig_on {
        return String::new();
    }
    let mut text = String::new();
    if !instances.is_empty() {
        let names: Vec<String> =
            instances.iter().map(|it| format!("{} at {}", it.profile, it.start)).collect();
        let cells: Vec<String> =
            instances.iter().map(|it| format!("{}:{}", it.profile_id, it.start)).collect();
        text.push_str(&format!(
            "\n# {}\nnvidia-smi mig -i {gpu} -cgi {} -C\n",
            names.join(", "),
            cells.join(",")
        ));
    }
    // The list of an empty GPU ends with a failure, which would be taken for one of the script.
    text.push_str(&format!("\nnvidia-smi mig -i {gpu} -lgi || true\n"));
    text
}

fn mode(gpu: u32, is_on: bool) -> String {
    let (number, word) = if is_on { (1, "Enabled") } else { (0, "Disabled") };
    format!(
        "\n# On Ampere the mode changes with a reset of the GPU, for which every client has to stop.\n\
         nvidia-smi -i {gpu} -mig {number}\n\
         test \"$(nvidia-smi -i {gpu} --query-gpu=mig.mode.current --format=csv,noheader)\" = {word} ||\n\
         \x20 {{ echo \"the mode of GPU {gpu} waits for a reset: nvidia-smi -i {gpu} -r, then run the rest\" >&2; exit 1; }}\n"
    )
}

/// Who and what a plan is about, as comments.
fn heading(plan: &MigPlan) -> String {
    let board = plan.board.as_deref().map(comment).filter(|it| !it.is_empty());
    let board = board.map(|it| format!(", {it}")).unwrap_or_default();
    let mut lines = format!("# MIG layout of GPU {}{board}\n", plan.gpu_index);
    for (tenant, profile) in &plan.assignments {
        lines.push_str(&format!("# {} is meant for {}\n", comment(profile), comment(tenant)));
    }
    lines
}

/// The name of a layout as mig-parted and the label `nvidia.com/mig.config` spell it: `+me` is `.me`.
pub fn config_name(name: &str) -> String {
    label_value(name)
}

/// A configuration of mig-parted with one layout for the GPUs of a node.
///
/// It counts all instances, those that stay too; their starts are found by mig-parted itself. Without a device id the layout holds
/// for whatever board has the index.
///
/// - Errors: [`ManifestError::Empty`], [`ManifestError::SameGpu`], [`ManifestError::Profile`].
pub fn mig_parted(
    name: &str,
    plans: &[MigPlan],
    reasons: &[String],
) -> Result<String, ManifestError> {
    if plans.is_empty() {
        return Err(ManifestError::Empty);
    }
    let mut seen = BTreeSet::new();
    let mut text = comments(reasons);
    text.push_str("version: v1\nmig-configs:\n");
    text.push_str(&format!("  {}:\n", scalar(&config_name(name))));
    for plan in plans {
        if !seen.insert(plan.gpu_index) {
            return Err(ManifestError::SameGpu(plan.gpu_index));
        }
        let indented: String = heading(plan).lines().map(|it| format!("    {it}\n")).collect();
        text.push_str(&indented);
        text.push_str("    - ");
        if let Some(id) = plan.pci_device_id {
            text.push_str(&format!("device-filter: [\"0x{id:08X}\"]\n      "));
        }
        text.push_str(&format!(
            "devices: [{}]\n      mig-enabled: {}\n",
            plan.gpu_index, plan.is_mig_on
        ));
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for instance in plan.whole()? {
            *counts.entry(&instance.profile).or_default() += 1;
        }
        match (plan.is_mig_on, counts.is_empty()) {
            (false, _) => {}
            (true, true) => text.push_str("      mig-devices: {}\n"),
            (true, false) => {
                text.push_str("      mig-devices:\n");
                for (profile, count) in counts {
                    text.push_str(&format!("        {}: {count}\n", scalar(profile)));
                }
            }
        }
    }
    Ok(text)
}

/// The command that makes the GPU operator apply a layout to a node.
pub fn operator_label(node: &str, layout: &str) -> String {
    format!(
        "kubectl label node {} nvidia.com/mig.config={} --overwrite\n",
        shell_word(node),
        config_name(layout)
    )
}
