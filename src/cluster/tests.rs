use crate::cluster::config::facts::{ClaimSharing, SharingMechanism};
use crate::cluster::facts::{ComputeMode, GpuKey, NodeWords, Placement, Severity};
use crate::cluster::recognise::{Kind, recognise};
use crate::cluster::resource::DeviceId;
use crate::cluster::{ClusterError, read, read_as, strict};

macro_rules! sample {
    ($path:literal) => {
        ($path, include_str!(concat!("../../fixtures/cluster/", $path)))
    };
}

/// Every sample; what stands before the `/` is the kind.
const SAMPLES: &[(&str, &str)] = &[
    sample!("smi-list/node-a.txt"),
    sample!("smi-list/old-names.txt"),
    sample!("smi-query/node-a.txt"),
    sample!("smi-table/node-a.txt"),
    sample!("smi-table/old-driver.txt"),
    sample!("gpu-instances/node-a.txt"),
    sample!("gpu-instances/none.txt"),
    sample!("compute-instances/node-a.txt"),
    sample!("compute-instances/no-placement.txt"),
    sample!("profiles/h100.txt"),
    sample!("placements/h100.txt"),
    sample!("pod-resources/camel.json"),
    sample!("pod-resources/snake.json"),
    sample!("objects/pods.json"),
    sample!("objects/node.json"),
    sample!("objects/config-maps.yaml"),
    sample!("objects/config-map.json"),
    sample!("objects/claims.yaml"),
    sample!("plugin-config/time-slicing.yaml"),
    sample!("plugin-config/mps.yaml"),
    sample!("plugin-config/many-faults.yaml"),
    sample!("plugin-config/no-version.yaml"),
    sample!("mig-parted-config/layouts.yaml"),
    sample!("mig-parted-config/many-faults.yaml"),
];

fn text_of(path: &str) -> &'static str {
    SAMPLES.iter().find(|it| it.0 == path).map(|it| it.1).expect(path)
}

fn words_of(path: &str) -> NodeWords {
    read(path, text_of(path)).expect(path)
}

/// Remarks as a person reads them, with what becomes of each.
fn remarks(words: &NodeWords) -> Vec<String> {
    words.remarks.iter().map(|it| format!("{:?} {it}", it.severity)).collect()
}

#[test]
fn every_kind_has_a_sample_that_is_recognised_as_it() {
    for (path, text) in SAMPLES {
        let kind = recognise(text).expect(path);
        assert!(path.starts_with(&format!("{}/", kind.id())), "{path} was taken for {kind:?}");
    }
    for kind in Kind::ALL {
        let folder = format!("{}/", kind.id());
        assert!(SAMPLES.iter().any(|it| it.0.starts_with(&folder)), "{folder} holds no sample");
    }
}

#[test]
fn the_page_explains_every_kind() {
    let page = include_str!("../../docs/CLUSTER.md");
    for kind in Kind::ALL {
        assert!(page.contains(&format!("| `{}` |", kind.id())), "{}", kind.id());
    }
}

#[test]
fn a_file_of_no_known_kind_is_told_what_is_understood() {
    let error = read("notes.txt", "dear diary\n").expect_err("it is none");
    assert_eq!(
        error.to_string(),
        "notes.txt: in no known format; the file begins with `dear diary`"
    );
    assert!(error.remedy().contains("`nvidia-smi -L`") && error.remedy().contains("mig-parted"));
}

#[test]
fn marks_and_ends_of_lines_of_windows_change_nothing() {
    for (path, text) in SAMPLES {
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let read = read(path, &windows).expect(path);
        let plain = words_of(path);
        // A quoted text of JSON holds its own ends of lines.
        assert_eq!(read, plain, "{path}");
    }
}

#[test]
fn no_reader_panics_wherever_a_file_is_cut_or_damaged() {
    for (path, text) in SAMPLES {
        let kind = recognise(text).expect(path);
        for at in (0..text.len()).filter(|it| text.is_char_boundary(*it)).step_by(7) {
            let _ = read_as(kind, path, &text[..at]);
            let damaged = format!("{}\u{0}é|: {}", &text[..at], &text[at..]);
            let _ = read_as(kind, path, &damaged);
        }
        for other in Kind::ALL {
            let _ = read_as(other, path, text);
        }
    }
}

#[test]
fn a_list_gives_gpus_and_devices_with_their_uuids() {
    let words = words_of("smi-list/node-a.txt");
    assert_eq!(words.gpus.len(), 2);
    assert_eq!(words.gpus[1].gpu.uuid.as_deref(), Some("GPU-1b1b1b1b-1111-2222-3333-444444444444"));
    assert_eq!(words.gpus[1].origin.to_string(), "smi-list/node-a.txt:4");
    let devices: Vec<_> = words
        .mig_devices
        .iter()
        .map(|it| (it.gpu.index, it.index, it.profile.as_deref()))
        .collect();
    assert_eq!(devices, [(Some(0), Some(0), Some("3g.40gb")), (Some(0), Some(1), Some("2g.20gb"))]);
    let old = words_of("smi-list/old-names.txt");
    assert_eq!(old.mig_devices[0].gpu_instance, Some(7));
    assert_eq!(old.mig_devices[0].compute_instance, Some(0));
}

#[test]
fn a_list_that_ends_in_the_middle_keeps_its_whole_lines_and_says_so() {
    let text = text_of("smi-list/node-a.txt");
    let words = read("cut", &text[..text.find("MIG-d1d1").expect("the second device") + 9])
        .expect("what is whole can be read");
    assert_eq!((words.gpus.len(), words.mig_devices.len()), (1, 1));
    assert_eq!(
        remarks(&words),
        ["Unread cut:3: `MIG 2g.20gb     Device  1: (UUID: MIG-d1d1d` is no whole MIG device"]
    );
}

#[test]
fn a_query_tells_modes_memory_and_who_sits_where() {
    let words = words_of("smi-query/node-a.txt");
    assert_eq!(remarks(&words), [""; 0]);
    let [first, second] = words.gpus.as_slice() else { panic!("two GPUs") };
    assert_eq!(
        (first.gpu.index, first.is_mig_on, first.is_mig_pending),
        (Some(0), Some(true), Some(true))
    );
    assert_eq!(first.pci_device_id.as_deref(), Some("0x233010DE"));
    assert_eq!((first.memory_total_mib, first.memory_reserved_mib), (Some(81559), Some(479)));
    assert_eq!(
        (second.is_mig_on, second.compute_mode),
        (Some(false), Some(ComputeMode::ExclusiveProcess))
    );
    let device = &words.mig_devices[0];
    assert_eq!((device.gpu_instance, device.multiprocessors), (Some(2), Some(60)));
    assert_eq!((device.memory_total_mib, device.memory_used_mib), (Some(40448), Some(22283)));
    let seats: Vec<_> = words
        .processes
        .iter()
        .map(|it| (it.gpu.index, it.gpu_instance, it.pid, it.kind.as_deref(), it.memory_mib))
        .collect();
    assert_eq!(
        seats,
        [
            (Some(0), Some(2), 4101, Some("C"), Some(22266)),
            (Some(1), None, 4202, Some("M+C"), Some(30002)),
            (Some(1), None, 4203, Some("G"), None),
        ]
    );
    assert_eq!(words.processes[1].name.as_deref(), Some("vllm serve worker"));
}

#[test]
fn a_query_of_some_of_the_gpus_gives_no_index() {
    let text = text_of("smi-query/node-a.txt");
    let words = read("cut", &text[..text.find("GPU 00000000:43").expect("the second GPU")])
        .expect("one GPU is whole");
    assert_eq!(words.gpus[0].gpu.index, None);
    assert_eq!(remarks(&words), ["Unread cut: 2 GPUs are attached, and the file shows 1"]);
}

#[test]
fn a_process_without_ids_of_instances_has_none_of_the_gpu_above() {
    let text =
        text_of("smi-query/node-a.txt").replace("GPU instance ID                   : N/A", "");
    let text = text.replace("Compute instance ID               : N/A", "");
    let words = read("old", &text).expect("it can be read");
    assert_eq!(words.processes[1].gpu_instance, None);
    assert_eq!(words.processes[1].compute_instance, None);
}

#[test]
fn the_table_and_the_query_say_the_same() {
    let (table, query) = (words_of("smi-table/node-a.txt"), words_of("smi-query/node-a.txt"));
    let seats = |words: &NodeWords| -> Vec<_> {
        let of = |it: &crate::cluster::facts::GpuProcess| {
            (
                it.gpu.index,
                it.gpu_instance,
                it.compute_instance,
                it.pid,
                it.kind.clone(),
                it.name.clone(),
                it.memory_mib,
            )
        };
        words.processes.iter().map(of).collect()
    };
    assert_eq!(seats(&table), seats(&query));
    let sizes = |words: &NodeWords| -> Vec<_> {
        let of = |it: &crate::cluster::facts::MigDevice| {
            (
                it.gpu.bus_id.clone(),
                it.index,
                it.gpu_instance,
                it.multiprocessors,
                it.memory_total_mib,
            )
        };
        words.mig_devices.iter().map(of).collect()
    };
    assert_eq!(sizes(&table), sizes(&query));
    assert_eq!(table.gpus[0].name.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    // The star of the sample: the mode changes with the next reset.
    assert_eq!((table.gpus[1].is_mig_on, table.gpus[1].is_mig_pending), (Some(false), Some(true)));
    assert_eq!(table.gpus[1].compute_mode, Some(ComputeMode::ExclusiveProcess));
}

#[test]
fn a_table_of_an_old_driver_knows_no_instances() {
    let words = words_of("smi-table/old-driver.txt");
    let process = &words.processes[0];
    assert_eq!((process.pid, process.gpu_instance), (3210, None));
    assert_eq!((process.name.as_deref(), process.memory_mib), (Some("./train"), Some(1000)));
    assert_eq!(words.gpus[0].is_mig_on, None, "no board without MIG has it switched off");
}

#[test]
fn instances_profiles_and_placements_are_read_from_their_tables() {
    let words = words_of("gpu-instances/node-a.txt");
    let found: Vec<_> = words
        .gpu_instances
        .iter()
        .map(|it| (it.id, it.profile.as_deref(), it.profile_id, it.placement))
        .collect();
    let at = |start, size| Some(Placement { start, size });
    assert_eq!(
        found,
        [
            (9, Some("1g.10gb"), Some(19), at(2, 1)),
            (3, Some("2g.20gb"), Some(14), at(0, 2)),
            (2, Some("3g.40gb"), Some(9), at(4, 4)),
        ]
    );
    let words = words_of("compute-instances/no-placement.txt");
    let device = &words.mig_devices[0];
    assert_eq!((device.gpu_instance, device.compute_instance), (Some(1), Some(2)));
    let mut offers = words_of("profiles/h100.txt");
    offers.merge(words_of("placements/h100.txt"));
    assert_eq!(offers.offers.len(), 4);
    let media = &offers.offers[1];
    assert_eq!((media.id, media.profile.as_deref()), (20, Some("1g.10gb+me")));
    assert_eq!((media.free, media.total, media.memory_gib), (Some(1), Some(1), Some(9.75)));
    assert_eq!((media.starts.len(), media.size, media.multiprocessors), (7, Some(1), Some(16)));
}

#[test]
fn files_of_one_node_join_into_one_picture() {
    let mut words = NodeWords::default();
    for path in [
        "compute-instances/node-a.txt",
        "smi-list/node-a.txt",
        "gpu-instances/node-a.txt",
        "smi-table/node-a.txt",
        "pod-resources/camel.json",
    ] {
        words.merge(words_of(path));
    }
    assert_eq!((words.gpus.len(), words.mig_devices.len(), words.processes.len()), (2, 2, 3));
    let process = &words.processes[0];
    let device = words.device_of(process).expect("it sits on an instance");
    assert_eq!(device.uuid.as_deref(), Some("MIG-c0c0c0c0-5555-6666-7777-888888888888"));
    let instance = words.instance_of(device).expect("the instance is listed");
    assert_eq!(instance.placement, Some(Placement { start: 4, size: 4 }));
    let unseen: Vec<u32> = words.unseen_instances().map(|it| it.id).collect();
    assert_eq!(unseen, [9], "1g.10gb has no compute instance");
    let given = words.assigned_device(&words.assignments[0]).expect("the kubelet names it");
    assert_eq!(given.gpu_instance, Some(2));
    let gpu = words.assigned_gpu(&words.assignments[1]).expect("the kubelet names it");
    assert_eq!(gpu.gpu.index, Some(1));
    assert_eq!(remarks(&words), [""; 0]);
}

#[test]
fn files_that_contradict_each_other_are_both_named() {
    let mut words = words_of("smi-query/node-a.txt");
    words.merge(words_of("smi-table/node-a.txt"));
    assert_eq!(
        remarks(&words),
        [
            "Disagreement smi-table/node-a.txt:13: says something else about the modes of GPU 1 than smi-query/node-a.txt:67; smi-query/node-a.txt:67 is believed"
        ]
    );
    assert_eq!(words.gpus[1].is_mig_pending, Some(false));
}

#[test]
fn a_masked_uuid_makes_no_two_gpus_one() {
    let masked = || GpuKey::new(None, Some("GPU-00000000-0000-0000-0000-000000000000"), None);
    assert_eq!(masked().uuid, None);
    assert!(!masked().is_same(&masked()));
    let short = GpuKey::new(None, None, Some("0000:1b:00.0"));
    assert!(short.is_same(&GpuKey::new(Some(3), None, Some("00000000:1B:00.0"))));
}

#[test]
fn both_spellings_of_the_kubelet_give_the_same_assignments() {
    let (camel, snake) =
        (words_of("pod-resources/camel.json"), words_of("pod-resources/snake.json"));
    let of = |words: &NodeWords| -> Vec<_> {
        let one = |it: &crate::cluster::kube::facts::Assignment| {
            (
                it.pod.clone(),
                it.container.clone(),
                it.resource.clone(),
                it.device.clone(),
                it.replica,
                it.numa_nodes.clone(),
            )
        };
        words.assignments.iter().map(one).collect()
    };
    assert_eq!(of(&camel), of(&snake));
    let gpu = DeviceId::Gpu("GPU-1b1b1b1b-1111-2222-3333-444444444444".to_owned());
    let shared =
        ("batch-x7".into(), "main".into(), "nvidia.com/gpu.shared".into(), gpu, Some(2), vec![0]);
    assert_eq!(of(&camel)[1], shared);
    assert_eq!(camel.assignments.len(), 3, "devices of other vendors are none of ours");
    assert_eq!(camel.assignments[2].resource, "slice");
}

#[test]
fn pods_say_what_they_ask_for_and_what_they_see_without_asking() {
    let words = words_of("objects/pods.json");
    let [chat, batch, sneaky] = words.pods.as_slice() else { panic!("three pods") };
    assert_eq!(chat.asks_for("nvidia.com/mig-3g.40gb"), 1);
    assert_eq!(
        (chat.runtime_class.as_deref(), chat.node.as_deref()),
        (Some("nvidia"), Some("node-a"))
    );
    assert_eq!(batch.resources(), ["nvidia.com/gpu.shared"]);
    assert_eq!(
        (batch.gpu_fraction, batch.compute_sharing.as_deref()),
        (Some(0.25), Some("sm-sharing"))
    );
    let kept: Vec<&str> = batch.containers[1].environment.keys().map(String::as_str).collect();
    assert_eq!(kept, ["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "nobody needs the token");
    assert!(sneaky.containers[0].sees_all_devices() && sneaky.containers[0].is_privileged);
    assert_eq!((sneaky.gpu_memory_mib, sneaky.gpu_fraction), (Some(4096), None));
    assert_eq!(
        remarks(&words),
        [
            "Unread objects/pods.json: `nvidia.com/gpu: two` is no whole number of devices",
            "Unread objects/pods.json: annotation `gpu-fraction: half` of pod sneaky is no such amount",
        ]
    );
}

#[test]
fn a_list_of_pods_that_ends_early_keeps_the_whole_ones() {
    let text = text_of("objects/pods.json");
    let cut = &text[..text.find("sneaky").expect("the third pod")];
    let words = read("pods.json", cut).expect("two pods are whole");
    assert_eq!(words.pods.len(), 2);
    assert!(remarks(&words)[0].contains("the file ends early"), "{:?}", remarks(&words));
}

#[test]
fn a_node_says_how_it_is_cut_and_shared() {
    let words = words_of("objects/node.json");
    let node = &words.nodes[0];
    assert_eq!((node.mig_config(), node.mig_config_state()), (Some("halves"), Some("success")));
    assert_eq!((node.sharing_strategy(), node.replicas()), (Some("time-slicing"), Some(4)));
    assert_eq!((node.memory_mib(), node.mig_strategy()), (Some(81559), Some("mixed")));
    assert_eq!(node.allocatable.get("nvidia.com/gpu.shared"), Some(&4));
    assert!(!node.capacity.contains_key("cpu"));
}

#[test]
fn a_plugin_configuration_says_what_is_shared_how_often() {
    let words = strict("x", text_of("plugin-config/time-slicing.yaml")).expect("it is good");
    let sharing = words.plugin_configs[0].sharing.as_ref().expect("it shares");
    assert_eq!(sharing.mechanism, SharingMechanism::TimeSlicing);
    assert!(sharing.rename_by_default && sharing.fail_requests_greater_than_one);
    let resources: Vec<_> = sharing
        .resources
        .iter()
        .map(|it| (it.name.as_str(), it.replicas, it.origin.line))
        .collect();
    assert_eq!(
        resources,
        [("nvidia.com/gpu", 4, Some(9)), ("nvidia.com/mig-1g.10gb", 2, Some(11))]
    );
    let words = strict("x", text_of("plugin-config/mps.yaml")).expect("it is good");
    let sharing = words.plugin_configs[0].sharing.as_ref().expect("it shares");
    assert!(sharing.fail_requests_greater_than_one, "the default of MPS");
    assert_eq!(sharing.resources[0].name, "nvidia.com/gpu");
}

#[test]
fn every_fault_of_a_plugin_configuration_is_named_with_its_line() {
    let faults = remarks(&words_of("plugin-config/many-faults.yaml")).join("\n");
    insta::assert_snapshot!(faults.replace("plugin-config/many-faults.yaml", "x"), @r"
    Refused x:3: migStrategy `some` is none of none, single, mixed
    Ineffective x:5: unknown field `timeslicing` is read past, so it has no effect; known are timeSlicing, mps
    Refused x:5: `timeSlicing` and `mps` exclude each other; keep one
    Ineffective x:7: unknown field `failRequestGreaterThanOne` is read past, so it has no effect; known are renameByDefault, failRequestsGreaterThanOne, resources
    Refused x:11: `nvidia.com/gpu` is named twice; only one can hold
    Refused x:15: `nvidia.com/mig-1g.10gb`: the plugin offers MPS on whole GPUs only, not on MIG
    Refused x:18: replicas `1` of `nvidia.com/gpu`: at least 2, or leave out `sharing` to share nothing
    Ineffective x:19: `rename` is read past by the plugin
    ");
    assert_eq!(
        remarks(&words_of("plugin-config/no-version.yaml")),
        [
            "Ineffective plugin-config/no-version.yaml:1: `version: v1` is missing, and is assumed; write it"
        ]
    );
    let other = read("x", "version: v2\nsharing: {}\n").expect("it can be read");
    assert_eq!(remarks(&other), ["Refused x:1: version `v2` is unknown; write `v1`"]);
}

#[test]
fn layouts_of_mig_parted_say_how_many_of_what_where() {
    let words = strict("x", text_of("mig-parted-config/layouts.yaml")).expect("it is good");
    let names: Vec<&str> = words.mig_configs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["all-disabled", "halves", "all-1g.10gb.me"]);
    let halves = &words.mig_configs[1].entries;
    assert_eq!(halves[0].devices, Some(vec![0]));
    assert_eq!(halves[0].device_filter, ["0x233010DE", "0x233110DE"]);
    assert_eq!(halves[0].mig_devices.get("3g.40gb"), Some(&1));
    assert_eq!(halves[1].device_filter, ["0x20B010DE"]);
    assert_eq!(words.mig_configs[2].entries[0].mig_devices.get("1g.10gb+me"), Some(&1));
}

#[test]
fn every_fault_of_a_layout_is_named_with_its_line() {
    let faults = remarks(&words_of("mig-parted-config/many-faults.yaml")).join("\n");
    insta::assert_snapshot!(faults.replace("mig-parted-config/many-faults.yaml", "x"), @r#"
    Refused x:2: unknown field `mig-layouts` is refused; known are version, mig-configs
    Refused x:5: device-filter `590352606`: a quoted text of eight digits, device before vendor, as "0x233010DE"
    Refused x:6: `devices` is neither `all` nor a list of indices
    Refused x:8: `mig-devices` although `mig-enabled` is false
    Refused x:13: `mig-enabled` is neither true nor false
    Refused x:16: unknown field `strategy` is refused; known are device-filter, devices, mig-enabled, mig-devices
    Refused x:18: `3g40gb` is no MIG profile; write it as 1g.10gb or 1g.10gb+me
    Refused x:19: `-1` of `1g.10gb` is no count
    Refused x:20: layout `empty` has no entry
    "#);
    let missing = read("x", "mig-configs:\n  a: []\n").expect("it can be read");
    assert_eq!(
        remarks(&missing),
        ["Refused x:1: `version: v1` is missing, and without it nothing is read"]
    );
}

#[test]
fn a_configuration_in_a_config_map_keeps_its_name_and_its_lines() {
    let words = words_of("objects/config-maps.yaml");
    let names: Vec<_> = words.plugin_configs.iter().map(|it| it.name.as_deref()).collect();
    assert_eq!(names, [Some("shared"), Some("broken")]);
    let shared = words.plugin_configs[0].sharing.as_ref().expect("it shares");
    assert_eq!(shared.resources[0].origin.line, Some(17));
    assert_eq!(words.mig_configs[0].name, "halves");
    assert_eq!(
        remarks(&words),
        [
            "Refused objects/config-maps.yaml:25: replicas `1` of `nvidia.com/gpu`: at least 2, or leave out `sharing` to share nothing"
        ]
    );
    let quoted = words_of("objects/config-map.json");
    assert!(
        remarks(&quoted)[0]
            .starts_with("Refused objects/config-map.json: in `shared`: replicas `1`")
    );
}

#[test]
fn claims_say_which_slice_and_which_sharing_they_ask_for() {
    let words = strict("x", text_of("objects/claims.yaml")).expect("it is good");
    let [slice, part] = words.claim_templates.as_slice() else { panic!("two claims") };
    assert_eq!(slice.requests[0].profile.as_deref(), Some("2g.20gb"));
    assert_eq!(slice.requests[0].device_class, "mig.nvidia.com");
    let Some(ClaimSharing::Mps { thread_percentage, memory_limit, memory_limit_by_device }) =
        &part.requests[0].sharing
    else {
        panic!("it shares through MPS")
    };
    assert_eq!((*thread_percentage, memory_limit.as_deref()), (Some(50), Some("10Gi")));
    assert_eq!(memory_limit_by_device.get("0").map(String::as_str), Some("5Gi"));
}

#[test]
fn a_strict_reader_refuses_what_a_patient_one_remarks() {
    let text = text_of("plugin-config/many-faults.yaml");
    let Err(ClusterError::Refused(remarks)) = strict("x", text) else { panic!("it is faulty") };
    assert!(remarks.iter().any(|it| it.severity == Severity::Ineffective));
    assert!(remarks.iter().any(|it| it.severity == Severity::Refused));
    let broken = strict("x", "version: v1\nsharing: [\n").expect_err("it is no YAML");
    assert!(matches!(broken, ClusterError::Broken { .. }), "{broken}");
}
