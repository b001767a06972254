use crate::cluster::config::facts::{ClaimSharing, SharingMechanism as Shared};
use crate::cluster::facts::NodeWords;
use crate::cluster::{read, strict};
use crate::recommender::manifest::mps::KaiRequest;
use crate::recommender::manifest::plan::{
    MigInstancePlan, MigPlan, SharingMechanism, SharingPlan, TenantShare, TimeSlice,
};
use crate::recommender::manifest::{ManifestError, claims, mig, mps, plugin, words};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn instance(profile: &str, profile_id: u32, start: u32) -> MigInstancePlan {
    MigInstancePlan { profile: profile.to_owned(), profile_id, start }
}

fn reasons() -> Vec<String> {
    vec!["chat and batch are of different trust domains".to_owned()]
}

/// The made-up node of `fixtures/cluster`, cut anew.
fn halves() -> MigPlan {
    MigPlan {
        gpu_index: 0,
        uuid: Some("GPU-0a0a0a0a-1111-2222-3333-444444444444".to_owned()),
        pci_device_id: Some(0x2330_10DE),
        board: Some("NVIDIA H100 80GB HBM3".to_owned()),
        is_mig_on: true,
        is_mode_change_needed: false,
        destroy: vec![9, 2],
        keep: vec![instance("2g.20gb", 14, 0)],
        create: vec![
            instance("1g.10gb+me", 20, 2),
            instance("3g.40gb", 9, 4),
            instance("1g.10gb", 19, 3),
        ],
        assignments: vec![
            ("chat".to_owned(), "3g.40gb".to_owned()),
            ("batch".to_owned(), "2g.20gb".to_owned()),
        ],
    }
}

fn shared(mechanism: SharingMechanism) -> SharingPlan {
    let share = |tenant: &str, thread_percentage, pinned_limit_mib| TenantShare {
        tenant: tenant.to_owned(),
        thread_percentage,
        pinned_limit_mib,
    };
    SharingPlan {
        mechanism,
        profile: None,
        replicas: 2,
        fail_requests_greater_than_one: true,
        rename_by_default: true,
        time_slice: TimeSlice::Short,
        tenants: vec![
            share("chat", Some(60), Some(40_000)),
            share("batch", Some(40), Some(20_000)),
        ],
    }
}

#[test]
fn a_script_destroys_before_it_creates_and_names_every_start() {
    insta::assert_snapshot!(mig::script(&halves(), &reasons()).expect("it is good"), @r#"
    #!/bin/sh
    # MIG layout of GPU 0, NVIDIA H100 80GB HBM3
    # 3g.40gb is meant for chat
    # 2g.20gb is meant for batch
    # chat and batch are of different trust domains
    # Run as root, with no work on what is destroyed. Instances do not survive a reboot, and on Hopper and
    # later MIG mode does not either: after each boot the layout has to be made anew, by the script for that
    # or by nvidia-mig-parted.
    set -eu

    # Another GPU under this index must not be cut.
    test "$(nvidia-smi -i 0 --query-gpu=uuid --format=csv,noheader)" = 'GPU-0a0a0a0a-1111-2222-3333-444444444444' ||
      { echo "GPU 0 is another one; nothing was changed" >&2; exit 1; }

    # A GPU instance goes only without compute instances; one that has none is no failure.
    nvidia-smi mig -i 0 -gi 2 -dci || true
    nvidia-smi mig -i 0 -gi 9 -dci || true
    nvidia-smi mig -i 0 -gi 2 -dgi
    nvidia-smi mig -i 0 -gi 9 -dgi

    # 3g.40gb at 4, 1g.10gb+me at 2, 1g.10gb at 3
    nvidia-smi mig -i 0 -cgi 9:4,20:2,19:3 -C

    nvidia-smi mig -i 0 -lgi || true
    "#);
}

#[test]
fn a_script_for_the_time_after_a_boot_makes_what_was_kept_too() {
    insta::assert_snapshot!(mig::boot_script(&halves(), &[]).expect("it is good"), @r#"
    #!/bin/sh
    # MIG layout of GPU 0, NVIDIA H100 80GB HBM3
    # 3g.40gb is meant for chat
    # 2g.20gb is meant for batch
    # For a GPU without instances, as a boot leaves it. Run as root before any work starts.
    set -eu

    # Another GPU under this index must not be cut.
    test "$(nvidia-smi -i 0 --query-gpu=uuid --format=csv,noheader)" = 'GPU-0a0a0a0a-1111-2222-3333-444444444444' ||
      { echo "GPU 0 is another one; nothing was changed" >&2; exit 1; }

    # On Ampere the mode changes with a reset of the GPU, for which every client has to stop.
    nvidia-smi -i 0 -mig 1
    test "$(nvidia-smi -i 0 --query-gpu=mig.mode.current --format=csv,noheader)" = Enabled ||
      { echo "the mode of GPU 0 waits for a reset: nvidia-smi -i 0 -r, then run the rest" >&2; exit 1; }

    # 3g.40gb at 4, 2g.20gb at 0, 1g.10gb+me at 2, 1g.10gb at 3
    nvidia-smi mig -i 0 -cgi 9:4,14:0,20:2,19:3 -C

    nvidia-smi mig -i 0 -lgi || true
    "#);
}

#[test]
fn a_change_of_mode_is_checked_before_anything_is_cut() {
    let plan = MigPlan { is_mode_change_needed: true, destroy: Vec::new(), ..halves() };
    let text = mig::script(&plan, &[]).expect("it is good");
    let (mode, cut) = (text.find("-mig 1").expect("mode"), text.find("-cgi").expect("cut"));
    let check = text.find("mig.mode.current").expect("check");
    assert!(mode < check && check < cut);
    let off = MigPlan { is_mig_on: false, is_mode_change_needed: true, ..halves() };
    let text = mig::script(&off, &[]).expect("it is good");
    assert!(text.find("-dgi") < text.find("-mig 0") && !text.contains("-cgi"), "{text}");
}

#[test]
fn a_layout_of_mig_parted_counts_what_the_plan_places() {
    let text = mig::mig_parted("halves+me", &[halves()], &reasons()).expect("it is good");
    insta::assert_snapshot!(text, @r#"
    # chat and batch are of different trust domains
    version: v1
    mig-configs:
      "halves.me":
        # MIG layout of GPU 0, NVIDIA H100 80GB HBM3
        # 3g.40gb is meant for chat
        # 2g.20gb is meant for batch
        - device-filter: ["0x233010DE"]
          devices: [0]
          mig-enabled: true
          mig-devices:
            "1g.10gb": 1
            "1g.10gb+me": 1
            "2g.20gb": 1
            "3g.40gb": 1
    "#);
}

#[test]
fn a_configuration_of_the_plugin_says_what_it_does_not_keep() {
    let text = plugin::config(&shared(SharingMechanism::TimeSlicing), &reasons());
    insta::assert_snapshot!(text.expect("it is good"), @r#"
    # chat and batch are of different trust domains
    # Replicas are turns: no part of the memory is kept for anybody.
    version: v1
    flags:
      migStrategy: "none"
    sharing:
      timeSlicing:
        renameByDefault: true
        failRequestsGreaterThanOne: true
        resources:
        - name: nvidia.com/gpu
          replicas: 2
    "#);
    let text = plugin::config(&shared(SharingMechanism::Mps), &[]).expect("it is good");
    insta::assert_snapshot!(plugin::config_map("Shared GPUs", "gpu-operator", "halves", &text), @r#"
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: "shared-gpus"
      namespace: "gpu-operator"
    data:
      "halves": |
        # The plugin gives each client an equal part of memory and threads, whatever the plan says of tenants.
        version: v1
        flags:
          migStrategy: "none"
        sharing:
          mps:
            renameByDefault: true
            failRequestsGreaterThanOne: true
            resources:
            - name: nvidia.com/gpu
              replicas: 2
    "#);
}

#[test]
fn beside_gpus_in_instances_those_are_offered_by_profile() {
    let plan = shared(SharingMechanism::TimeSlicing);
    let text = |has_mig| plugin::config_beside(&plan, has_mig, &[]).expect("it is good");
    assert!(
        text(true).contains("migStrategy: \"mixed\"")
            && text(false).contains("migStrategy: \"none\"")
    );
}

#[test]
fn a_claim_is_shared_by_name() {
    let text =
        claims::shared_claim("shared", "serving", &shared(SharingMechanism::Mps), &reasons());
    insta::assert_snapshot!(text.expect("it is good"), @r#"
    # chat and batch are of different trust domains
    # Pods of this namespace share the device by `resourceClaimName`, 2 of them at most.
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaim
    metadata:
      name: "shared"
      namespace: "serving"
    spec:
      devices:
        requests:
        - name: shared
          exactly:
            deviceClassName: gpu.nvidia.com
        config:
        - requests: [shared]
          opaque:
            driver: gpu.nvidia.com
            parameters:
              apiVersion: resource.nvidia.com/v1beta1
              kind: GpuConfig
              sharing:
                strategy: MPS
                mpsConfig:
                  defaultActiveThreadPercentage: 60
                  defaultPinnedDeviceMemoryLimit: 40000Mi
    "#);
}

#[test]
fn a_template_gives_each_pod_a_slice() {
    let text = claims::mig_templates("serving", &halves().assignments, &[]).expect("it is good");
    insta::assert_snapshot!(text, @r#"
    ---
    # 3g.40gb for chat
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata:
      name: "chat"
      namespace: "serving"
    spec:
      spec:
        devices:
          requests:
          - name: slice
            exactly:
              deviceClassName: mig.nvidia.com
              selectors:
              - cel:
                  expression: "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"
    ---
    # 2g.20gb for batch
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata:
      name: "batch"
      namespace: "serving"
    spec:
      spec:
        devices:
          requests:
          - name: slice
            exactly:
              deviceClassName: mig.nvidia.com
              selectors:
              - cel:
                  expression: "device.attributes['gpu.nvidia.com'].profile == '2g.20gb'"
    "#);
}

#[test]
fn a_server_starts_with_the_widest_limits_and_each_client_narrows_its_own() {
    let plan = shared(SharingMechanism::Mps);
    let text = mps::server_script(1, Some("GPU-1b"), &plan, &reasons()).expect("it is good");
    insta::assert_snapshot!(text, @r#"
    #!/bin/sh
    # MPS on GPU 1, up to 48 clients
    # chat and batch are of different trust domains
    # All clients share one server: a fault in one ends the others. Share within one trust domain only.
    # The compute mode is gone after a reboot. `echo quit | nvidia-cuda-mps-control` ends the service.
    set -eu

    # Nobody but the server may open the GPU, so that no process shares it past the limits.
    nvidia-smi -i 1 -c EXCLUSIVE_PROCESS

    export CUDA_VISIBLE_DEVICES=GPU-1b
    export CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps-1
    export CUDA_MPS_LOG_DIRECTORY=/tmp/nvidia-mps-log-1
    nvidia-cuda-mps-control -d
    echo "set_default_active_thread_percentage 60" | nvidia-cuda-mps-control
    echo "set_default_device_pinned_mem_limit 0 40000M" | nvidia-cuda-mps-control
    "#);
    let text = mps::client_environment(1, &plan.tenants[1]).expect("it is good");
    insta::assert_snapshot!(text, @r"
    # batch: each of its processes is one client, with these limits of its own
    CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps-1
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=40
    CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20000M
    ");
    let mut open = plan;
    open.tenants[0].pinned_limit_mib = None;
    let text = mps::server_script(1, None, &open, &[]).expect("it is good");
    assert!(!text.contains("pinned_mem_limit"), "a default would bind the tenant without a limit");
}

#[test]
fn small_words_are_those_of_their_tools() {
    assert_eq!(
        plugin::resource_name(Some("1g.10gb+me"), false).as_deref(),
        Ok("nvidia.com/mig-1g.10gb.me")
    );
    assert_eq!(plugin::resource_name(None, true).as_deref(), Ok("nvidia.com/gpu.shared"));
    assert_eq!(
        mig::operator_label("node-a", "halves+me"),
        "kubectl label node 'node-a' nvidia.com/mig.config=halves.me --overwrite\n"
    );
    assert_eq!(
        mps::time_slice_command(2, TimeSlice::Long),
        "nvidia-smi compute-policy -i 2 --set-timeslice=3\n"
    );
    let text =
        mps::kai_annotations(SharingMechanism::Mps, KaiRequest::Fraction(0.5)).expect("good");
    let pod = read("x", &format!("apiVersion: v1\nkind: Pod\n{text}  name: a\n")).expect("a pod");
    assert_eq!(pod.pods[0].gpu_fraction, Some(0.5));
    assert_eq!(pod.pods[0].compute_sharing.as_deref(), Some("sm-sharing"));
}

#[test]
fn a_plan_that_a_tool_would_refuse_is_not_written() {
    let plan = || shared(SharingMechanism::Mps);
    let refused =
        |plan: SharingPlan| plugin::config(&plan, &[]).expect_err("the plugin refuses it");
    assert_eq!(refused(SharingPlan { replicas: 1, ..plan() }), ManifestError::Replicas(1));
    let many = refused(SharingPlan { replicas: 49, ..plan() });
    assert_eq!(many, ManifestError::TooManyClients { wanted: 49, most: 48 });
    let slice = || Some("1g.10gb".to_owned());
    let on_mig = refused(SharingPlan { profile: slice(), ..plan() });
    assert_eq!(on_mig, ManifestError::MpsOnMig("1g.10gb".to_owned()));
    let bad = SharingPlan { profile: Some("1g.10gb\n- x".to_owned()), ..plan() };
    assert!(matches!(refused(bad), ManifestError::Profile(_)));
    let mut none = plan();
    none.tenants[0].thread_percentage = Some(0);
    assert_eq!(refused(none), ManifestError::ThreadPercentage(0));
    let twice = mig::mig_parted("x", &[halves(), halves()], &[]);
    assert_eq!(twice, Err(ManifestError::SameGpu(0)));
    assert_eq!(mig::mig_parted("x", &[], &[]), Err(ManifestError::Empty));
    let nothing = mps::kai_annotations(SharingMechanism::Mps, KaiRequest::Fraction(f64::NAN));
    assert!(nothing.is_err());
}

#[test]
fn tenants_whose_names_become_alike_get_claims_of_their_own() {
    let names = words::object_names(["Chat/A", "chat_a", "chat-a", "\n\n", "café"]);
    assert_eq!(names, ["chat-a", "chat-a-2", "chat-a-3", "plan", "caf"]);
}

/// Names that end a comment, a scalar, a word of the shell or a document if they are not watched.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "Z9",
        " ",
        "\n",
        "\r",
        "\t",
        ": ",
        " #",
        "'",
        "\"",
        "\\",
        "$(reboot)",
        "`id`",
        "---\n",
        "- x",
        "{",
        "}",
        "[",
        "]",
        "&a",
        "*a",
        "!t",
        "%",
        "|",
        ">",
        "é",
        "名",
        "\u{0}",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{202e}",
        "\u{feff}",
        "\u{fffe}",
        "\u{1f600}",
        "~",
        "true",
        "0x1",
    ]);
    let spliced = prop::collection::vec(pieces, 0..12).prop_map(|it| it.concat());
    prop_oneof![spliced, any::<String>()]
}

fn mig_plan() -> impl Strategy<Value = MigPlan> {
    let profile = prop::sample::select(vec![
        ("1g.10gb", 19),
        ("1g.10gb+me", 20),
        ("1g.20gb", 15),
        ("2g.20gb", 14),
        ("3g.40gb", 9),
        ("7g.80gb", 0),
        ("1g.24gb-me", 67),
        ("2g.48gb+me.all", 64),
    ]);
    let create = prop::collection::vec((profile, 0..8_u32), 0..8).prop_map(|it| {
        it.into_iter().map(|((name, id), start)| instance(name, id, start)).collect()
    });
    let names = (prop::option::of(hostile()), prop::option::of(hostile()), hostile());
    (0..16_u32, any::<bool>(), any::<bool>(), prop::option::of(any::<u32>()), create, names)
        .prop_map(|(gpu_index, is_mig_on, is_mode_change_needed, pci_device_id, create, names)| {
            let (uuid, board, tenant) = names;
            MigPlan {
                gpu_index,
                uuid,
                pci_device_id,
                board,
                is_mig_on,
                is_mode_change_needed,
                destroy: vec![1, 2],
                keep: vec![instance("1g.20gb", 15, 6)],
                create,
                assignments: vec![(tenant, "1g.10gb".to_owned())],
            }
        })
}

fn sharing_plan() -> impl Strategy<Value = SharingPlan> {
    let share = (hostile(), prop::option::of(1..=100_u32), prop::option::of(1..1_000_000_u64))
        .prop_map(|(tenant, thread_percentage, pinned_limit_mib)| TenantShare {
            tenant,
            thread_percentage,
            pinned_limit_mib,
        });
    let mechanism =
        prop::sample::select(vec![SharingMechanism::TimeSlicing, SharingMechanism::Mps]);
    let slice = prop::sample::select(vec![
        TimeSlice::Default,
        TimeSlice::Short,
        TimeSlice::Medium,
        TimeSlice::Long,
    ]);
    let profile = prop::option::of(prop::sample::select(vec!["1g.10gb", "1g.10gb+me"]));
    let tenants = prop::collection::vec(share, 0..4);
    (mechanism, profile, 2..=48_u32, any::<(bool, bool)>(), slice, tenants).prop_map(
        |(mechanism, profile, replicas, flags, time_slice, tenants)| SharingPlan {
            mechanism,
            profile: profile.map(str::to_owned),
            replicas,
            fail_requests_greater_than_one: flags.0,
            rename_by_default: flags.1,
            time_slice,
            tenants,
        },
    )
}

fn read_back(text: &str) -> NodeWords {
    strict("made", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The lines that a shell acts on.
fn acts(script: &str) -> Vec<&str> {
    script.lines().filter(|it| !it.starts_with('#')).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_reads_back_as_it_was_planned(
        plan in mig_plan(),
        name in hostile(),
        reasons in prop::collection::vec(hostile(), 0..3),
    ) {
        let text = mig::mig_parted(&name, std::slice::from_ref(&plan), &reasons).unwrap();
        let words = read_back(&text);
        prop_assert_eq!(words.mig_configs.len(), 1);
        prop_assert_eq!(&words.mig_configs[0].name, &mig::config_name(&name));
        let entry = &words.mig_configs[0].entries[0];
        prop_assert_eq!(&entry.devices, &Some(vec![plan.gpu_index]));
        prop_assert_eq!(entry.is_mig_enabled, plan.is_mig_on);
        let filter: Vec<String> = plan.pci_device_id.iter().map(|it| format!("0x{it:08X}")).collect();
        prop_assert_eq!(&entry.device_filter, &filter);
        let mut counts = BTreeMap::new();
        for it in plan.create.iter().chain(&plan.keep).filter(|_| plan.is_mig_on) {
            *counts.entry(it.profile.clone()).or_insert(0) += 1;
        }
        prop_assert_eq!(&entry.mig_devices, &counts);
    }

    #[test]
    fn no_name_changes_what_a_script_does(
        plan in mig_plan(),
        reasons in prop::collection::vec(hostile(), 0..3),
    ) {
        let plain = MigPlan {
            board: None,
            assignments: Vec::new(),
            uuid: words::uuid(plan.uuid.as_deref()).map(str::to_owned),
            ..plan.clone()
        };
        let (text, plain) = (mig::script(&plan, &reasons).unwrap(), mig::script(&plain, &[]).unwrap());
        prop_assert_eq!(acts(&text), acts(&plain));
        let boot = mig::boot_script(&plan, &reasons).unwrap();
        prop_assert!(!boot.contains("-dgi"), "a boot leaves nothing to destroy");
    }

    #[test]
    fn every_sharing_reads_back_as_it_was_planned(
        plan in sharing_plan(),
        name in hostile(),
        reasons in prop::collection::vec(hostile(), 0..3),
    ) {
        let is_mps = plan.mechanism == SharingMechanism::Mps;
        if is_mps && plan.profile.is_some() {
            prop_assert!(plugin::config(&plan, &reasons).is_err());
        } else {
            let text = plugin::config(&plan, &reasons).unwrap();
            let words = read_back(&text);
            let sharing = words.plugin_configs[0].sharing.clone().unwrap();
            prop_assert_eq!(sharing.mechanism == Shared::Mps, is_mps);
            prop_assert_eq!(sharing.rename_by_default, plan.rename_by_default);
            prop_assert_eq!(sharing.fail_requests_greater_than_one, plan.fail_requests_greater_than_one);
            prop_assert_eq!(sharing.resources.len(), 1);
            prop_assert_eq!(sharing.resources[0].replicas, u64::from(plan.replicas));
            let wrapped = plugin::config_map(&name, &name, &name, &text);
            let words = read_back(&wrapped);
            prop_assert_eq!(words.plugin_configs.len(), 1);
            prop_assert_eq!(words.plugin_configs[0].name.clone(), Some(words::label_value(&name)));
            let mut inside = words.plugin_configs[0].sharing.clone().unwrap();
            for (it, plain) in inside.resources.iter_mut().zip(&sharing.resources) {
                it.origin = plain.origin.clone();
            }
            prop_assert_eq!(inside.resources, sharing.resources);
        }
        let text = claims::shared_claim(&name, &name, &plan, &reasons).unwrap();
        let words = read_back(&text);
        prop_assert_eq!(words.claim_templates.len(), 1);
        let claim = &words.claim_templates[0];
        prop_assert_eq!(&claim.name, &words::object_name(&name));
        prop_assert_eq!(&claim.requests[0].profile, &plan.profile);
        match claim.requests[0].sharing.clone().unwrap() {
            ClaimSharing::TimeSlicing(interval) => {
                prop_assert!(!is_mps);
                let planned = plan.profile.is_none().then(|| plan.time_slice.word().to_owned());
                prop_assert_eq!(interval, planned);
            }
            ClaimSharing::Mps { thread_percentage, memory_limit, .. } => {
                prop_assert!(is_mps);
                let (threads, limit) = plan.widest();
                prop_assert_eq!(thread_percentage, threads.map(u64::from));
                prop_assert_eq!(memory_limit, limit.map(|it| format!("{it}Mi")));
            }
        }
    }

    #[test]
    fn every_template_reads_back_under_a_name_of_its_own(
        tenants in prop::collection::vec(hostile(), 1..5),
        namespace in hostile(),
    ) {
        let assignments: Vec<(String, String)> =
            tenants.into_iter().map(|it| (it, "2g.20gb".to_owned())).collect();
        let words = read_back(&claims::mig_templates(&namespace, &assignments, &[]).unwrap());
        let mut names: Vec<&str> = words.claim_templates.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), assignments.len());
        prop_assert!(words.claim_templates.iter().all(|it| it.requests[0].profile.as_deref() == Some("2g.20gb")));
    }

    #[test]
    fn a_scalar_reads_back_as_the_same_text(text in hostile()) {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    x: {}\n",
            words::scalar(&text)
        );
        let words = read_back(&pod);
        prop_assert_eq!(words.pods[0].labels.get("x"), Some(&text));
    }

    #[test]
    fn a_comment_stays_one_line_and_a_name_stays_a_name(text in hostile()) {
        let line = words::comment(&text);
        let ends = ['\n', '\r', '\u{85}', '\u{2028}', '\u{202e}', '\u{0}'];
        prop_assert!(!line.contains(ends));
        let name = words::object_name(&text);
        prop_assert!((1..=63).contains(&name.len()));
        let is_good = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
        prop_assert!(name.chars().all(is_good));
        prop_assert!(!name.starts_with('-') && !name.ends_with('-'));
    }

    #[test]
    fn limits_of_tenants_reach_the_service_unchanged(plan in sharing_plan(), index in 0..8_u32) {
        let text = mps::server_script(index, None, &plan, &[]).unwrap();
        let (threads, limit) = plan.widest();
        let set = |word: &str| acts(&text).into_iter().find(|it| it.contains(word)).map(str::to_owned);
        let threads = threads.map(|it| format!("echo \"set_default_active_thread_percentage {it}\" | nvidia-cuda-mps-control"));
        prop_assert_eq!(set("thread_percentage"), threads);
        let limit = limit.map(|it| format!("echo \"set_default_device_pinned_mem_limit 0 {it}M\" | nvidia-cuda-mps-control"));
        prop_assert_eq!(set("pinned_mem"), limit);
        for share in &plan.tenants {
            let text = mps::client_environment(index, share).unwrap();
            prop_assert!(acts(&text).iter().all(|it| it.starts_with("CUDA_MPS_")), "{}", text);
        }
    }
}
