//! The manifests of `deploy/kubernetes`: no right that the pages do not explain, limits everywhere, and names that fit together.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Every manifest, with the file that holds it.
fn manifests() -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kubernetes");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let text = std::fs::read_to_string(&path).expect("a text");
        for part in text.split("\n---\n") {
            let value = serde_saphyr::from_str(part)
                .unwrap_or_else(|it| panic!("{}: {it}", path.display()));
            all.push((path.clone(), value));
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The description of the pods of what runs any.
fn pod(manifest: &Value) -> Option<&Value> {
    match manifest["kind"].as_str()? {
        "DaemonSet" => Some(&manifest["spec"]["template"]["spec"]),
        "CronJob" => Some(&manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]),
        _ => None,
    }
}

fn names<'a>(all: &'a Value, key: &str) -> Vec<&'a str> {
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|it| it[key].as_str()).collect()
}

#[test]
fn no_pod_has_a_right_that_it_does_not_need_and_each_has_limits() {
    let all = manifests();
    let pods: Vec<(&str, &Value)> = all
        .iter()
        .filter_map(|it| Some((it.1["metadata"]["name"].as_str()?, pod(&it.1)?)))
        .collect();
    let found: Vec<&str> = pods.iter().map(|it| it.0).collect();
    assert_eq!(found, ["cotenant-plan", "cotenant-record", "cotenant-serve"]);
    for (name, pod) in pods {
        let looks = name != "cotenant-plan";
        assert_eq!(pod["hostPID"].as_bool().unwrap_or(false), looks, "{name}");
        assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
        for never in ["hostNetwork", "hostIPC", "serviceAccountName"] {
            assert_eq!(pod[never], Value::Null, "{name}: {never}");
        }
        let [container] = pod["containers"].as_array().expect("containers").as_slice() else {
            panic!("{name} has one container")
        };
        let rights = &container["securityContext"];
        for (key, value) in [
            ("privileged", false),
            ("allowPrivilegeEscalation", false),
            ("readOnlyRootFilesystem", true),
        ] {
            assert_eq!(rights[key], value, "{name}: {key}");
        }
        assert_eq!(rights["capabilities"], serde_json::json!({ "drop": ["ALL"] }), "{name}");
        for part in ["requests", "limits"] {
            for what in ["cpu", "memory"] {
                assert!(container["resources"][part][what].is_string(), "{name}: {part} {what}");
            }
            let gpu = &container["resources"][part]["nvidia.com/gpu"];
            assert_eq!(*gpu, Value::Null, "{name}: a request for a GPU takes it from a tenant");
        }
        if !looks {
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{name}");
        }
    }
}

#[test]
fn every_mount_has_its_volume_and_the_node_is_only_read() {
    for (path, manifest) in manifests() {
        let Some(pod) = pod(&manifest) else { continue };
        let volumes = names(&pod["volumes"], "name");
        let mounts = &pod["containers"][0]["volumeMounts"];
        let mounted = names(mounts, "name");
        for name in &mounted {
            assert!(volumes.contains(name), "{}: no volume {name}", path.display());
        }
        for name in &volumes {
            assert!(mounted.contains(name), "{}: nobody mounts {name}", path.display());
        }
        for volume in pod["volumes"].as_array().expect("volumes") {
            if volume["hostPath"].is_null() {
                continue;
            }
            let mount =
                mounts.as_array().expect("mounts").iter().find(|it| it["name"] == volume["name"]);
            assert_eq!(mount.expect("a mount")["readOnly"], true, "{}", path.display());
        }
    }
}

#[test]
fn what_is_claimed_and_configured_is_there_and_selectors_find_their_pods() {
    let all = manifests();
    let is_there = |kind: &str, name: &Value| {
        all.iter().any(|it| it.1["kind"] == kind && it.1["metadata"]["name"] == *name)
    };
    for (path, manifest) in &all {
        let Some(pod) = pod(manifest) else { continue };
        for volume in pod["volumes"].as_array().expect("volumes") {
            let claim = &volume["persistentVolumeClaim"]["claimName"];
            assert!(claim.is_null() || is_there("PersistentVolumeClaim", claim), "{claim}");
            let map = &volume["configMap"]["name"];
            assert!(map.is_null() || is_there("ConfigMap", map), "{map}");
        }
        if manifest["kind"] == "DaemonSet" {
            let labels = &manifest["spec"]["template"]["metadata"]["labels"];
            assert_eq!(manifest["spec"]["selector"]["matchLabels"], *labels, "{}", path.display());
        }
    }
}
