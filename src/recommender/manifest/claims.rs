//! Dynamic resource allocation: claims for NVIDIA's driver, `resource.nvidia.com/v1beta1`.
//!
//! Written for `resource.k8s.io/v1` (Kubernetes 1.34); its beta of 1.32 has the device not under `exactly`.

use crate::recommender::manifest::ManifestError;
use crate::recommender::manifest::plan::{
    SharingMechanism, SharingPlan, TimeSlice, checked_profile,
};
use crate::recommender::manifest::words::{comment, comments, object_name, object_names, scalar};

/// Templates of claims for MIG devices, one for each tenant and its profile; each pod gets its own device.
///
/// Several documents in one text, in the order of the tenants.
///
/// - Errors: [`ManifestError::Profile`], [`ManifestError::Empty`].
pub fn mig_templates(
    namespace: &str,
    assignments: &[(String, String)],
    reasons: &[String],
) -> Result<String, ManifestError> {
    if assignments.is_empty() {
        return Err(ManifestError::Empty);
    }
    let names = object_names(assignments.iter().map(|it| it.0.as_str()));
    let mut text = comments(reasons);
    for ((tenant, profile), name) in assignments.iter().zip(names) {
        let profile = checked_profile(profile)?;
        let selector = format!("device.attributes['gpu.nvidia.com'].profile == '{profile}'");
        text.push_str(&format!(
            "---\n# {profile} for {}\n\
             apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n\
             metadata:\n  name: {}\n  namespace: {}\n\
             spec:\n  spec:\n    devices:\n      requests:\n      - name: slice\n        exactly:\n\
             \x20         deviceClassName: mig.nvidia.com\n          selectors:\n          - cel:\n\
             \x20             expression: {}\n",
            comment(tenant),
            scalar(&name),
            scalar(&object_name(namespace)),
            scalar(&selector)
        ));
    }
    Ok(text)
}

/// One claim for a device that several pods share by naming it: a template would give each its own.
///
/// Under MPS the server's defaults are the widest limits of any tenant; each tenant narrows its own by
/// [`crate::recommender::manifest::mps::client_environment`].
///
/// - Errors: those of the plan, as for the device plugin, except MPS on MIG, which this driver allows;
///   time slicing of a MIG device takes no interval, so none is written.
pub fn shared_claim(
    name: &str,
    namespace: &str,
    plan: &SharingPlan,
    reasons: &[String],
) -> Result<String, ManifestError> {
    plan.check()?;
    let (class, kind) = match plan.profile {
        Some(_) => ("mig.nvidia.com", "MigDeviceConfig"),
        None => ("gpu.nvidia.com", "GpuConfig"),
    };
    let mut text = comments(reasons);
    text.push_str(&format!(
        "# Pods of this namespace share the device by `resourceClaimName`, {} of them at most.\n\
         apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n\
         metadata:\n  name: {}\n  namespace: {}\n\
         spec:\n  devices:\n    requests:\n    - name: shared\n      exactly:\n        deviceClassName: {class}\n",
        plan.replicas,
        scalar(&object_name(name)),
        scalar(&object_name(namespace)),
    ));
    if let Some(profile) = &plan.profile {
        let selector = format!("device.attributes['gpu.nvidia.com'].profile == '{profile}'");
        text.push_str(&format!(
            "        selectors:\n        - cel:\n            expression: {}\n",
            scalar(&selector)
        ));
    }
    text.push_str(&format!(
        "    config:\n    - requests: [shared]\n      opaque:\n        driver: gpu.nvidia.com\n\
         \x20       parameters:\n          apiVersion: resource.nvidia.com/v1beta1\n          kind: {kind}\n\
         \x20         sharing:\n{}",
        sharing(plan)
    ));
    Ok(text)
}

/// The part below `sharing`.
fn sharing(plan: &SharingPlan) -> String {
    match plan.mechanism {
        SharingMechanism::TimeSlicing => {
            let is_whole = plan.profile.is_none();
            let interval = match plan.time_slice {
                slice if is_whole => format!(
                    "            timeSlicingConfig:\n              interval: {}\n",
                    TimeSlice::word(slice)
                ),
                _ => String::new(),
            };
            format!("            strategy: TimeSlicing\n{interval}")
        }
        SharingMechanism::Mps => {
            let (threads, limit) = plan.widest();
            let mut lines = String::new();
            if let Some(it) = threads {
                lines.push_str(&format!("              defaultActiveThreadPercentage: {it}\n"));
            }
            if let Some(it) = limit {
                lines.push_str(&format!("              defaultPinnedDeviceMemoryLimit: {it}Mi\n"));
            }
            let config = match lines.is_empty() {
                true => "            mpsConfig: {}\n".to_owned(),
                false => format!("            mpsConfig:\n{lines}"),
            };
            format!("            strategy: MPS\n{config}")
        }
    }
}
