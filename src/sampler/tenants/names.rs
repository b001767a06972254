//! Names that people gave: of pods, containers and users.
//!
//! The kubelet's own list needs a gRPC client; the folders that it makes for logs say the same:
//! `/var/log/pods/NAMESPACE_POD_UID` and `/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log`.

use crate::sampler::tenants::host::Host;
use crate::sampler::tenants::rules::Rules;

/// Letters of a container id in messages, as docker prints it.
const SHORT_ID: usize = 12;

/// Names of a pod; the container's is `None` where only the pod is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodName {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: Option<String>,
}

/// The pod of a process, by the id of its container and the uid of the pod.
pub(crate) fn pod(
    host: &Host,
    rules: &Rules,
    uid: Option<&str>,
    container: Option<&str>,
) -> Option<PodName> {
    uid?;
    let of_container = container.and_then(|it| pod_of_container(host, it));
    of_container.or_else(|| {
        let (namespace, pod) = rules.pod_name(uid?).or_else(|| pod_of_uid(host, uid?))?;
        let container = container.and_then(|it| rules.container_name(it));
        Some(PodName { namespace, pod, container })
    })
}

fn pod_of_container(host: &Host, id: &str) -> Option<PodName> {
    let ending = format!("-{id}.log");
    let logs = host.names_in("var/log/containers");
    let name = logs.iter().find_map(|it| it.strip_suffix(&ending))?;
    let mut parts = name.splitn(3, '_').map(str::to_owned);
    let (pod, namespace) = (parts.next()?, parts.next()?);
    Some(PodName { namespace, pod, container: Some(parts.next()?) })
}

fn pod_of_uid(host: &Host, uid: &str) -> Option<(String, String)> {
    host.names_in("var/log/pods").iter().find_map(|folder| {
        let mut parts = folder.splitn(3, '_');
        let (namespace, pod) = (parts.next()?, parts.next()?);
        (parts.next()? == uid).then(|| (namespace.to_owned(), pod.to_owned()))
    })
}

/// Name of a container: what the rules say, or docker's own file.
pub(crate) fn container(host: &Host, rules: &Rules, id: &str) -> Option<String> {
    rules.container_name(id).or_else(|| {
        let config = host.text(&format!("var/lib/docker/containers/{id}/config.v2.json")).ok()?;
        let config: serde_json::Value = serde_json::from_str(&config).ok()?;
        let name = config.get("Name")?.as_str()?.trim_start_matches('/');
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// Id of a container as docker prints it.
pub(crate) fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// Name of a user; the number where the host does not know one.
pub(crate) fn user(host: &Host, uid: u32) -> String {
    let passwd = host.text("etc/passwd").unwrap_or_default();
    let found = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (number == uid && !name.is_empty()).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| uid.to_string())
}
