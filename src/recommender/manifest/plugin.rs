//! The device plugin: its configuration, the config map around one, and names of resources.

use crate::cluster::resource::ResourceName;
use crate::recommender::manifest::ManifestError;
use crate::recommender::manifest::plan::{SharingMechanism, SharingPlan, checked_profile};
use crate::recommender::manifest::words::{comments, label_value, object_name, scalar};

/// How the plugin offers MIG devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigStrategy {
    /// It does not look for them.
    None,
    /// As `nvidia.com/gpu`; all GPUs of the node are cut alike.
    Single,
    /// By profile, as `nvidia.com/mig-3g.40gb`.
    Mixed,
}

impl MigStrategy {
    /// The word of the plugin.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Single => "single",
            Self::Mixed => "mixed",
        }
    }
}

/// The name under which a device is offered: `nvidia.com/mig-1g.10gb.me` for a profile, `nvidia.com/gpu`
/// without one, with `.shared` for a replica.
///
/// - Errors: [`ManifestError::Profile`].
pub fn resource_name(profile: Option<&str>, is_shared: bool) -> Result<String, ManifestError> {
    let profile = profile.map(checked_profile).transpose()?.map(str::to_owned);
    Ok(ResourceName { profile, is_shared }.to_string())
}

/// A configuration that shares every device of one resource; it holds for all GPUs of a node.
///
/// - Errors: [`ManifestError::Replicas`], [`ManifestError::TooManyClients`], [`ManifestError::MpsOnMig`],
///   [`ManifestError::Profile`] and those of the tenants' shares.
pub fn config(plan: &SharingPlan, reasons: &[String]) -> Result<String, ManifestError> {
    config_beside(plan, false, reasons)
}

/// The same for a node on which other GPUs are cut into MIG instances, if `has_mig`: those are offered by profile.
///
/// - Errors: as [`config`].
pub fn config_beside(
    plan: &SharingPlan,
    has_mig: bool,
    reasons: &[String],
) -> Result<String, ManifestError> {
    plan.check()?;
    let name = resource_name(plan.profile.as_deref(), false)?;
    let (key, about) = match (plan.mechanism, &plan.profile) {
        (SharingMechanism::Mps, Some(profile)) => {
            return Err(ManifestError::MpsOnMig(profile.clone()));
        }
        (SharingMechanism::Mps, None) => (
            "mps",
            "# The plugin gives each client an equal part of memory and threads, whatever the plan says of tenants.\n",
        ),
        (SharingMechanism::TimeSlicing, _) => {
            ("timeSlicing", "# Replicas are turns: no part of the memory is kept for anybody.\n")
        }
    };
    let strategy = match plan.profile.is_some() || has_mig {
        true => MigStrategy::Mixed,
        false => MigStrategy::None,
    };
    Ok(format!(
        "{}{about}version: v1\n\
         flags:\n  migStrategy: {}\n\
         sharing:\n  {key}:\n    renameByDefault: {}\n    failRequestsGreaterThanOne: {}\n\
         \x20   resources:\n    - name: {name}\n      replicas: {}\n",
        comments(reasons),
        scalar(strategy.word()),
        plan.rename_by_default,
        plan.fail_requests_greater_than_one,
        plan.replicas,
    ))
}

/// A config map that holds one configuration under a key, as the GPU operator and the plugin's chart read
/// it; the key is the value of the label `nvidia.com/device-plugin.config`.
pub fn config_map(name: &str, namespace: &str, key: &str, config: &str) -> String {
    let block: String = config
        .lines()
        .map(|it| if it.is_empty() { "\n".to_owned() } else { format!("    {it}\n") })
        .collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  namespace: {}\ndata:\n  {}: |\n{block}",
        scalar(&object_name(name)),
        scalar(&object_name(namespace)),
        scalar(&label_value(key)),
    )
}
