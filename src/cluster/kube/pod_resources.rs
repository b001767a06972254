//! The kubelet's answer to `List` of `podresources.v1`, as JSON.

use crate::cluster::ClusterError;
use crate::cluster::facts::{NodeWords, Origin};
use crate::cluster::kube::facts::Assignment;
use crate::cluster::kube::objects::broken;
use crate::cluster::resource::{DeviceId, PREFIX};
use crate::cluster::tree::{Tree, Value, parse};

/// Reads which device each container was given; names in camelCase (protobuf's JSON) and in snake_case
/// (the names of the fields) are both read.
///
/// Devices of other vendors are passed over. Of dynamic allocation, devices whose CDI name is
/// `….nvidia.com/…=DEVICE` are kept under the name of their claim.
///
/// - Errors: [`ClusterError::Broken`] if nothing can be parsed. A list that ends early gives the pods that
///   stand whole in it, and a remark.
pub fn read(file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let (documents, cut) = parse(text);
    if let (true, Some(cut)) = (documents.is_empty(), &cut) {
        return Err(broken(file, cut, "the kubelet's pod resources"));
    }
    let mut words = NodeWords::default();
    for tree in &documents {
        let pods = tree.any(&["podResources", "pod_resources"]).map_or(&[][..], Tree::items);
        for pod in pods {
            of_pod(file, pod, &mut words);
        }
    }
    if let Some(cut) = cut {
        words.unread(Origin::new(file, cut.line), format!("the file ends early: {}", cut.cause));
    }
    Ok(words)
}

fn of_pod(file: &str, pod: &Tree, words: &mut NodeWords) {
    let Some(name) = pod.text_at(&["name"]) else {
        words.unread(Origin::new(file, pod.line), "a pod without a name");
        return;
    };
    let namespace = pod.text_at(&["namespace"]).unwrap_or_else(|| "default".to_owned());
    for container in pod.get("containers").map_or(&[][..], Tree::items) {
        let base = Assignment {
            namespace: namespace.clone(),
            pod: name.clone(),
            container: container.text_at(&["name"]).unwrap_or_default(),
            resource: String::new(),
            device: DeviceId::Other(String::new()),
            replica: None,
            numa_nodes: Vec::new(),
            origin: Origin::new(file, container.line),
        };
        for devices in container.get("devices").map_or(&[][..], Tree::items) {
            of_plugin(devices, &base, words);
        }
        let dynamic = container.any(&["dynamicResources", "dynamic_resources"]);
        for resource in dynamic.map_or(&[][..], Tree::items) {
            of_claim(resource, &base, words);
        }
    }
}

fn of_plugin(devices: &Tree, base: &Assignment, words: &mut NodeWords) {
    let resource = devices.any(&["resourceName", "resource_name"]).and_then(Tree::text);
    let Some(resource) = resource.filter(|it| it.starts_with(PREFIX)) else { return };
    let nodes = devices.at(&["topology", "nodes"]).map_or(&[][..], Tree::items);
    let number = |it: &Tree| match it.any(&["ID", "id"]).map(|it| &it.value) {
        Some(Value::Whole(id)) => Some(*id),
        Some(Value::Text(id)) => id.parse().ok(),
        // Protobuf leaves out a zero.
        None => Some(0),
        _ => None,
    };
    for id in devices.any(&["deviceIds", "device_ids"]).map_or(&[][..], Tree::items) {
        let Some(id) = id.text() else { continue };
        let (device, replica) = DeviceId::parse(id);
        words.assignments.push(Assignment {
            resource: resource.to_owned(),
            device,
            replica,
            numa_nodes: nodes.iter().filter_map(number).collect(),
            ..base.clone()
        });
    }
}

fn of_claim(resource: &Tree, base: &Assignment, words: &mut NodeWords) {
    let claim = resource.any(&["claimName", "claim_name"]).and_then(Tree::text);
    let resources = resource.any(&["claimResources", "claim_resources"]);
    for devices in resources.map_or(&[][..], Tree::items) {
        let devices = devices.any(&["CDIDevices", "cdiDevices", "cdi_devices"]);
        for device in devices.map_or(&[][..], Tree::items) {
            let name = device.text_at(&["name"]).unwrap_or_default();
            let Some((vendor, id)) = name.split_once('=') else { continue };
            if vendor.contains("nvidia.com") {
                words.assignments.push(Assignment {
                    resource: claim.unwrap_or_default().to_owned(),
                    device: DeviceId::Other(id.to_owned()),
                    ..base.clone()
                });
            }
        }
    }
}
