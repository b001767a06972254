//! Every check of `cotenant audit` on a node that is in order, and on nodes in which one thing is wrong.

mod node_scenes;

use cotenant::analysis::findings::Findings;
use cotenant::analysis::{Question, compute};
use cotenant::cluster::facts::NodeWords;
use cotenant::cluster::read;
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, Subject};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Outline, Process};
use cotenant::domain::recording::Recording;
use cotenant::domain::series::Series;
use cotenant::recommender::audit::{
    Audit, AuditFinding, AuditInput, CHECKS, CheckState, Severity, audit,
};
use cotenant::recommender::policy::Policy;
use cotenant::recommender::tenant_policy::TenantPolicies;
use node_scenes::{Held, USUAL, files, hold};
use std::collections::BTreeMap;

struct Scene {
    files: BTreeMap<String, String>,
    recording: Option<(Outline, Findings)>,
}

impl Scene {
    fn of(name: &str) -> Self {
        Self { files: files(name), recording: None }
    }

    fn without(mut self, names: &[&str]) -> Self {
        self.files.retain(|it, _| !names.contains(&it.as_str()));
        self
    }

    fn only(mut self, names: &[&str]) -> Self {
        self.files.retain(|it, _| names.contains(&it.as_str()));
        self
    }

    /// The same with a text of a file changed everywhere; fails where it does not stand.
    fn changed(mut self, file: &str, from: &str, to: &str) -> Self {
        let text = self.files.get_mut(file).expect(file);
        assert!(text.contains(from), "{file} holds no {from}");
        *text = text.replace(from, to);
        self
    }

    fn recorded(mut self, recording: Recording) -> Self {
        let outline = recording.outline.clone();
        let load = |gpu: Option<&GpuId>| -> Result<Recording, std::convert::Infallible> {
            let mut part = recording.clone();
            part.traces.retain(|it, _| it.gpu() == gpu);
            Ok(part)
        };
        let findings = compute(&outline, &Question::default(), load).expect("it cannot fail");
        self.recording = Some((outline, findings));
        self
    }

    fn words(&self) -> NodeWords {
        let mut words = NodeWords::default();
        for (name, text) in self.files.iter().filter(|it| it.0 != "policy.toml") {
            words.merge(read(name, text).unwrap_or_else(|it| panic!("{it}")));
        }
        words
    }

    fn audit(&self) -> Audit {
        let tenants = self.files.get("policy.toml").map(|it| TenantPolicies::from_toml(it));
        let tenants = tenants.map_or_else(TenantPolicies::default, |it| it.expect("a policy"));
        audit(&AuditInput {
            words: &self.words(),
            outline: self.recording.as_ref().map(|it| &it.0),
            findings: self.recording.as_ref().map(|it| &it.1),
            tenants: &tenants,
            policy: &Policy::default(),
            expected: None,
        })
    }
}

/// What tenants held, as a recording in memory.
fn held(tenants: &[Held]) -> Recording {
    let mut sink = Collector::new();
    hold(&mut sink, tenants);
    sink.into_recording()
}

/// What the node that is in order holds, as it was recorded.
fn usual() -> Recording {
    held(USUAL)
}

fn told(audit: &Audit) -> String {
    let line = |it: &AuditFinding| {
        format!("{:?} [{}] {} | {:?} | {}", it.severity, it.check, it.title, it.evidence, it.remedy)
    };
    audit.findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The findings of one check that weigh something.
fn of<'a>(audit: &'a Audit, check: &str) -> Vec<&'a AuditFinding> {
    let found = audit.findings.iter().filter(|it| it.check == check);
    found.filter(|it| it.severity != Severity::NotChecked).collect()
}

/// Fails unless a check says so with this weight, with a place and a remedy; returns the finding.
fn expect<'a>(audit: &'a Audit, check: &str, severity: Severity, part: &str) -> &'a AuditFinding {
    let found = of(audit, check);
    let it = found
        .iter()
        .find(|it| it.severity == severity && it.title.contains(part))
        .unwrap_or_else(|| panic!("no {severity:?} of {check} says `{part}`:\n{}", told(audit)));
    assert!(!it.evidence.is_empty() && !it.remedy.is_empty(), "{it:?}");
    it
}

/// Fails unless only these checks found something.
fn expect_only(audit: &Audit, checks: &[&str]) {
    let others = audit.findings.iter().filter(|it| it.severity != Severity::NotChecked);
    let others: Vec<&AuditFinding> = others.filter(|it| !checks.contains(&it.check)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn a_node_in_order_gives_no_finding_and_every_check_is_made() {
    let audit = Scene::of("clean").recorded(usual()).audit();
    assert_eq!(audit.findings, [], "{}", told(&audit));
    for it in &audit.checks {
        assert_eq!(it.state, CheckState::Fine, "{it:?}");
        assert!(!it.fine.is_empty(), "{it:?}");
    }
    assert_eq!(audit.checks.len(), CHECKS.len());
    let seats: Vec<(&str, &[String])> =
        audit.seats.iter().map(|it| (it.place.as_str(), it.tenants.as_slice())).collect();
    assert_eq!(
        seats[..3],
        [
            ("GPU 0 instance 2 (3g.40gb)", &["serving/chat-0".to_owned()][..]),
            ("GPU 0 instance 3 (2g.20gb)", &["serving/rank-0".to_owned()][..]),
            ("GPU 0 instance 9 (1g.10gb)", &["serving/embed-0".to_owned()][..]),
        ]
    );
    assert_eq!(audit.seats[0].processes[0].pid, 4101);
}

#[test]
fn without_a_recording_a_node_in_order_gives_no_finding_either() {
    let audit = Scene::of("clean").audit();
    expect_only(&audit, &[]);
    let open: Vec<&str> = audit.findings.iter().map(|it| it.check).collect();
    assert!(open.contains(&"profiles-fit"), "{}", told(&audit));
    assert!(audit.findings.iter().all(|it| !it.remedy.is_empty()));
}

#[test]
fn different_trust_domains_on_one_gpu_are_a_problem() {
    let audit = Scene::of("mixed-trust").audit();
    let found =
        expect(&audit, "mechanism-fits-trust", Severity::Problem, "different trust domains");
    assert!(found.title.contains("`audit-team/probe-0`") && found.title.contains("in turns"));
    assert!(found.evidence.iter().any(|it| it.starts_with("pod-resources.json:")), "{found:?}");
    expect_only(&audit, &["mechanism-fits-trust"]);
    let unstated = Scene::of("mixed-trust").without(&["policy.toml"]).audit();
    expect_only(&unstated, &[]);
    let open = unstated.findings.iter().find(|it| it.check == "mechanism-fits-trust");
    assert!(open.expect("it is open").remedy.contains("--policy"));
}

#[test]
fn a_profile_too_small_and_one_with_tens_of_gigabytes_stranded_are_named_with_the_one_that_fits() {
    // The 18 GB model of the textbooks: on 10 GB, and on 40 GB.
    let gb = 18e9 / 1_048_576.0;
    let recording = held(&[
        ("serving/chat-0/main", Some(2), gb),
        ("serving/rank-0/main", Some(3), 16_500.0),
        ("serving/embed-0/main", Some(9), gb),
        ("dev/notebook-1/main", None, 9_000.0),
    ]);
    let audit = Scene::of("clean").recorded(recording).audit();
    let small = expect(&audit, "profiles-fit", Severity::Problem, "more than the 9984 MiB");
    assert!(small.remedy.contains("1g.20gb"), "{small:?}");
    let large = expect(&audit, "profiles-fit", Severity::Warning, "are stranded");
    assert!(
        large.title.contains("22.7 GiB") && large.title.contains("1g.20gb would do"),
        "{large:?}"
    );
    assert!(large.evidence.iter().any(|it| it.starts_with("smi-")), "{large:?}");
    expect_only(&audit, &["profiles-fit"]);
}

#[test]
fn a_peak_within_the_margin_and_an_instance_nearly_full_are_warnings() {
    let recording = held(&[("serving/embed-0/main", Some(9), 9_700.0)]);
    let audit = Scene::of("clean").recorded(recording).audit();
    let found = expect(&audit, "profiles-fit", Severity::Warning, "leaves 284 MiB");
    assert!(found.remedy.contains("1g.20gb"), "{found:?}");
    let full = Scene::of("nearly-full").audit();
    expect(&full, "profiles-fit", Severity::Warning, "has 284 MiB of 9984 MiB free");
    expect_only(&full, &["profiles-fit"]);
}

#[test]
fn a_latency_sensitive_tenant_never_takes_turns() {
    let audit = Scene::of("chat-in-turns").audit();
    let found = expect(&audit, "stalls-accepted", Severity::Problem, "is latency-sensitive");
    assert!(found.title.starts_with("`serving/chat-0`") && found.title.contains("GPU 1 in turns"));
    // The mode of the node gives it a replica, too.
    expect_only(&audit, &["stalls-accepted", "one-mode"]);
}

#[test]
fn an_instance_without_compute_instance_is_invisible() {
    let audit = Scene::of("hidden-slice").audit();
    let found =
        expect(&audit, "slices-visible", Severity::Problem, "instance 10 (1g.10gb) has no compute");
    assert_eq!(found.remedy, "make one: `nvidia-smi mig -i 0 -gi 10 -cci`");
    assert!(found.evidence[0].starts_with("gpu-instances.txt:"), "{found:?}");
    expect_only(&audit, &["slices-visible"]);
}

#[test]
fn capacity_that_differs_from_the_instances_is_a_problem_in_both_directions() {
    let audit = Scene::of("stale-capacity").audit();
    expect(&audit, "slices-visible", Severity::Problem, "failed to take the layout `serving-mix`");
    expect(&audit, "slices-visible", Severity::Problem, "1 instances of 2g.20gb exist");
    expect(
        &audit,
        "slices-visible",
        Severity::Problem,
        "sees 3 of 1g.10gb on node `node-a`, and 2 exist",
    );
    expect(&audit, "slices-visible", Severity::Problem, "0 of 4 `nvidia.com/gpu.shared`");
    expect_only(&audit, &["slices-visible"]);
}

#[test]
fn a_strategy_that_does_not_suit_the_layout_is_a_problem() {
    let strategy = |word: &str| {
        Scene::of("clean")
            .changed("node.json", "\"mixed\"", &format!("\"{word}\""))
            .changed("plugin.yaml", "mixed", word)
            .audit()
    };
    expect(&strategy("none"), "slices-visible", Severity::Problem, "its instances have no names");
    let part =
        "is `single`, and its layout is not: 1g.10gb, 2g.20gb, 3g.40gb, and GPUs without MIG";
    expect(&strategy("single"), "slices-visible", Severity::Problem, part);
    let invalid =
        Scene::of("clean").changed("node.json", "HBM3-SHARED", "HBM3-MIG-INVALID").audit();
    expect(&invalid, "slices-visible", Severity::Problem, "so it offers nothing");
    let other = Scene::of("clean").changed("plugin.yaml", "mixed", "single").audit();
    let part = "MIG strategy `mixed`, and its configuration says `single`";
    expect(&other, "config-in-effect", Severity::Warning, part);
}

#[test]
fn files_that_list_a_part_of_the_gpus_do_not_make_capacity_wrong() {
    let audit = Scene::of("mps-open")
        .changed("node.json", "nvidia.com/gpu.count\": \"2\"", "nvidia.com/gpu.count\": \"8\"")
        .audit();
    assert!(of(&audit, "slices-visible").is_empty(), "{}", told(&audit));
    assert!(told(&audit).contains("the files list 2 of the 8 GPUs"), "{}", told(&audit));
}

#[test]
fn fractions_of_a_gpu_are_found_beside_the_pod_that_reserves_it() {
    let fraction = |name: &str, namespace: &str| {
        format!(
            r#"{{"kind": "Pod", "metadata": {{"name": "{name}", "namespace": "{namespace}",
            "annotations": {{"gpu-fraction": "0.6"}}}}, "spec": {{"nodeName": "node-a",
            "containers": [{{"name": "main"}}]}}, "status": {{"phase": "Running"}}}}"#
        )
    };
    let mut scene = Scene::of("clean").only(&["policy.toml"]);
    let list = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0a0a0a0a-1111-2222-3333-444444444444)\n";
    scene.files.insert("smi-list.txt".to_owned(), list.to_owned());
    let query = files("mps-open")["smi-query.txt"].replace(
        "Attached GPUs                                      : 2",
        "Attached GPUs                                      : 1",
    );
    let query = query.split("\nGPU 00000000:43:00.0").next().expect("the first GPU").to_owned();
    scene.files.insert("smi-query.txt".to_owned(), query);
    let pods = [fraction("a", "dev"), fraction("b", "serving")].join(",");
    let pods = format!(r#"{{"kind": "List", "items": [{pods}]}}"#);
    scene.files.insert("pods.json".to_owned(), pods);
    let given = r#"{"podResources": [{"name": "reservation-1", "namespace": "kai-resource-reservation",
        "containers": [{"name": "main", "devices": [{"resourceName": "nvidia.com/gpu",
        "deviceIds": ["GPU-0a0a0a0a-1111-2222-3333-444444444444"]}]}]}]}"#;
    scene.files.insert("pod-resources.json".to_owned(), given.to_owned());
    let audit = scene.audit();
    let found = expect(&audit, "mechanism-fits-trust", Severity::Problem, "share GPU 0 in turns");
    assert!(!found.title.contains("reservation-1"), "{found:?}");
    expect(&audit, "within-share", Severity::Problem, "asked for 97871 MiB together");
}

#[test]
fn a_pod_under_the_runtime_of_nvidia_that_asks_for_nothing_is_noted() {
    let audit = Scene::of("clean")
        .changed("pods.json", "\"uid\": \"web-frontend-0\"\n   },\n   \"spec\": {", "\"uid\": \"web-frontend-0\"\n   },\n   \"spec\": {\n    \"runtimeClassName\": \"nvidia\",")
        .audit();
    let found = expect(&audit, "unrequested-use", Severity::Note, "sees every GPU");
    assert_eq!(found.about.name, "web/frontend-0");
    expect_only(&audit, &["unrequested-use"]);
}

#[test]
fn which_node_is_meant_is_told_by_the_pods_that_were_given_devices() {
    let other = files("clean")["node.json"].replace("node-a", "node-b").replace("\"4\"", "\"9\"");
    let mut scene = Scene::of("clean").recorded(usual());
    scene.files.insert("other-node.json".to_owned(), other);
    assert_eq!(scene.audit().findings, []);
    let open = scene.without(&["pods.json", "pod-resources.json"]).audit();
    assert!(told(&open).contains("the files describe 2 nodes"), "{}", told(&open));
}

#[test]
fn a_pod_on_another_instance_than_it_asked_for_is_a_problem() {
    let audit = Scene::of("wrong-seats").audit();
    expect(
        &audit,
        "pods-seated",
        Severity::Problem,
        "`serving/rank-0` asked for 2g.20gb and sits on GPU 0 instance 10 (1g.10gb)",
    );
    expect(
        &audit,
        "pods-seated",
        Severity::Problem,
        "`serving/embed-0` holds a device that does not exist",
    );
    expect(
        &audit,
        "pods-seated",
        Severity::Problem,
        "`serving/chat-0` and `serving/late-0` sit on GPU 0 instance 2 (3g.40gb) at once",
    );
    expect(
        &audit,
        "pods-seated",
        Severity::Problem,
        "`dev/notebook-2` asks for 1 of nvidia.com/gpu.shared and holds 0",
    );
    // Two on one instance take turns as well, and processes run where nobody was sent.
    expect_only(&audit, &["pods-seated", "stalls-accepted", "unrequested-use"]);
}

#[test]
fn a_process_of_a_pod_on_another_instance_than_its_own_is_a_problem() {
    let mut recording = usual();
    let mut all: Vec<Process> = recording.outline.processes.into();
    all.iter_mut().find(|it| it.process.pid == 7000).expect("chat").process.pid = 4102;
    recording.outline.processes = all.into();
    let audit = Scene::of("clean").recorded(recording).audit();
    let part =
        "was given GPU 0 instance 2 (3g.40gb), and its process 4102 runs on GPU 0 instance 3";
    expect(&audit, "pods-seated", Severity::Problem, part);
}

#[test]
fn two_modes_in_one_configuration_are_a_problem() {
    let audit = Scene::of("two-modes").audit();
    let found = expect(&audit, "one-mode", Severity::Problem, "exclude each other");
    assert!(found.evidence[0].starts_with("plugin.yaml:"), "{found:?}");
    expect(&audit, "one-mode", Severity::Problem, "64 replicas of nvidia.com/gpu through MPS");
    expect(&audit, "one-mode", Severity::Problem, "on whole GPUs only, not on MIG");
    expect(&audit, "one-mode", Severity::Problem, "migStrategy `none` on a node with MIG on");
    expect(&audit, "one-mode", Severity::Problem, "shares through MPS on a node with MIG on");
}

#[test]
fn replicas_that_a_pod_may_heap_up_and_a_mode_that_hits_the_wrong_tenant_are_found() {
    let audit = Scene::of("generous-turns").audit();
    let found = expect(&audit, "one-mode", Severity::Warning, "ask for several replicas");
    assert!(found.remedy.contains("failRequestsGreaterThanOne: true"));
    expect(
        &audit,
        "one-mode",
        Severity::Problem,
        "`dev/notebook-2` get a replica instead of a GPU",
    );
    expect(&audit, "stalls-accepted", Severity::Problem, "`dev/notebook-2` wants a whole device");
    expect_only(&audit, &["one-mode", "stalls-accepted"]);
}

#[test]
fn who_uses_a_gpu_without_asking_is_found_and_drivers_are_not_blamed() {
    let audit = Scene::of("uninvited").audit();
    let check = "unrequested-use";
    expect(&audit, check, Severity::Problem, "`research/grab-0`, container `main` sees every GPU");
    expect(&audit, check, Severity::Warning, "`research/root-0`, container `main` is privileged");
    expect(&audit, check, Severity::Problem, "`research/named-0`, container `main` names devices");
    let found =
        expect(&audit, check, Severity::Problem, "process 9999 (`./miner`) uses GPU 0 instance 10");
    assert!(found.evidence[0].starts_with("smi-query.txt:"), "{found:?}");
    expect(&audit, check, Severity::Warning, "MiB of GPU 1 are in use by nobody visible");
    expect_only(&audit, &[check]);
    assert!(!told(&audit).contains("dcgm-exporter"), "{}", told(&audit));
}

#[test]
fn a_request_that_is_exceeded_or_does_not_fit_is_found() {
    let audit = Scene::of("fractions").audit();
    expect(
        &audit,
        "within-share",
        Severity::Problem,
        "asked for 90000 MiB together, and 81080 MiB",
    );
    let recording =
        held(&[("dev/notebook-1/main", None, 55_000.0), ("dev/notebook-2/main", None, 7_000.0)]);
    let audit = Scene::of("fractions").recorded(recording).audit();
    let found = expect(
        &audit,
        "within-share",
        Severity::Warning,
        "holds up to 55000 MiB of a share of 50000 MiB",
    );
    assert!(found.evidence.iter().any(|it| it.contains("annotation gpu-memory")), "{found:?}");
}

#[test]
fn an_mps_server_that_is_passed_by_and_a_client_that_may_not_fall_are_found() {
    let audit = Scene::of("mps-open").audit();
    let found = expect(&audit, "mps-guarded", Severity::Warning, "lets programs past its server");
    assert!(found.remedy.contains("-c EXCLUSIVE_PROCESS"), "{found:?}");
    // The list names the GPU first, and only the query knows its mode.
    assert!(found.evidence[0].starts_with("smi-query.txt:"), "{found:?}");
    expect(
        &audit,
        "mps-guarded",
        Severity::Warning,
        "process 5103 of GPU 1 runs beside the MPS server",
    );
    expect(&audit, "mps-guarded", Severity::Problem, "`dev/notebook-2` may not crash");
    expect_only(&audit, &["mps-guarded"]);
    let open = audit.findings.iter().find(|it| it.title.contains("run as one user"));
    assert!(open.expect("users are in no file").remedy.contains("ps -o pid,user="));
}

#[test]
fn clients_of_mps_are_counted_since_the_limit_holds_for_each() {
    let mut recording = held(&[
        ("dev/notebook-1/main", None, 15_000.0),
        ("dev/notebook-1/main", None, 15_000.0),
        ("dev/notebook-2/main", None, 25_000.0),
    ]);
    let mut all: Vec<Process> = recording.outline.processes.into();
    all.sort_by_key(|it| it.process.pid);
    recording.outline.processes = all.into();
    let audit = Scene::of("mps-open").recorded(recording).audit();
    let found = expect(&audit, "within-share", Severity::Warning, "`dev/notebook-1` has 2 clients");
    assert!(found.title.contains("20389 MiB"), "{found:?}");
    expect(&audit, "within-share", Severity::Problem, "so the limit of MPS is not in force");
}

#[test]
fn a_layout_that_is_not_the_plan_a_pending_mode_and_one_made_by_hand_are_found() {
    let audit = Scene::of("other-layout").audit();
    let found = expect(&audit, "layout-as-planned", Severity::Problem, "wants 2 x 3g.40gb");
    assert!(found.evidence[0].starts_with("mig-parted.yaml:"), "{found:?}");
    expect(
        &audit,
        "layout-as-planned",
        Severity::Problem,
        "MIG of GPU 0 goes off only with the next reset",
    );
    expect_only(&audit, &["layout-as-planned"]);
    let audit = Scene::of("made-by-hand").audit();
    expect(&audit, "layout-as-planned", Severity::Warning, "a reboot removes them");
    expect_only(&audit, &["layout-as-planned"]);
}

#[test]
fn what_is_configured_and_has_no_effect_is_found() {
    let audit = Scene::of("deaf-config").audit();
    let check = "config-in-effect";
    let found = expect(&audit, check, Severity::Warning, "`rename` is read past");
    assert!(found.evidence[0].starts_with("plugin.yaml:"), "{found:?}");
    expect(&audit, check, Severity::Warning, "`devices` is read past");
    expect(&audit, check, Severity::Warning, "nvidia.com/mig-7g.80gb is to be shared, and node");
    expect(&audit, check, Severity::Problem, "the layout `serving-mixx`, which no file holds");
    expect(
        &audit,
        check,
        Severity::Warning,
        "shares by `none`, and its configuration says `time-slicing`",
    );
    expect_only(&audit, &[check]);
}

#[test]
fn a_host_without_kubernetes_is_checked_by_what_was_recorded() {
    let recording = held(&[("alice", None, 9_000.0), ("bob", None, 7_000.0)]);
    let mut scene = Scene::of("clean").only(&["smi-list.txt", "smi-query.txt"]).recorded(recording);
    let tenant = |name: &str| {
        format!("[[tenant]]\nname = \"{name}\"\ntrust_domain = \"{name}\"\nmay_stall = true\n")
    };
    scene.files.insert("policy.toml".to_owned(), tenant("alice") + &tenant("bob"));
    let audit = scene.audit();
    let found = expect(&audit, "mechanism-fits-trust", Severity::Problem, "share GPU 1 in turns");
    assert!(found.evidence[0].starts_with("recording: `alice` was on GPU 1"), "{found:?}");
    expect_only(&audit, &["mechanism-fits-trust"]);
}

#[test]
fn recorded_tenants_that_never_met_share_nothing() {
    let mut recording = held(&[("alice", None, 9_000.0), ("bob", None, 7_000.0)]);
    for (subject, trace) in &mut recording.traces {
        let Subject::Process { process, .. } = subject else { continue };
        let series = trace.series.get_mut(&Metric::FramebufferUsed).expect("memory");
        let half = series.len() / 2;
        let kept = if process.pid == 7000 { 0..half } else { half + 10..series.len() };
        let (times, values) = (&series.times()[kept.clone()], &series.values()[kept]);
        *series = Series::new(times.to_vec().into(), values.to_vec()).expect("a series");
    }
    let mut scene = Scene::of("clean").only(&["smi-list.txt", "smi-query.txt"]).recorded(recording);
    let text = "[[tenant]]\nname = \"alice\"\ntrust_domain = \"a\"\n[[tenant]]\nname = \"bob\"\ntrust_domain = \"b\"\n";
    scene.files.insert("policy.toml".to_owned(), text.to_owned());
    expect_only(&scene.audit(), &[]);
}

#[test]
fn what_no_file_shows_is_not_checked_and_never_guessed() {
    let lists: [&[&str]; 6] = [
        &[],
        &["smi-list.txt"],
        &["pods.json"],
        &["gpu-instances.txt"],
        &["plugin.yaml"],
        &["pod-resources.json"],
    ];
    for names in lists {
        let audit = Scene::of("clean").only(names).audit();
        expect_only(&audit, &[]);
        for it in &audit.findings {
            assert!(!it.remedy.is_empty() && it.title.len() > 10, "{it:?}");
        }
        for it in audit.checks.iter().filter(|it| it.state == CheckState::Fine) {
            let mut open = audit.findings.iter().filter(|found| found.check == it.check);
            assert!(open.next().is_none(), "{names:?}: {} is not wholly in order", it.check);
        }
        for it in audit.checks.iter().filter(|it| it.state == CheckState::NotChecked) {
            let open = audit.findings.iter().any(|found| found.check == it.check);
            assert!(open, "{names:?}: {} says nothing", it.check);
        }
    }
    let nothing = Scene::of("clean").only(&[]).audit();
    assert_eq!(nothing.not_made(), CHECKS.len(), "{}", told(&nothing));
}

#[test]
fn no_mixture_of_damaged_files_makes_an_audit_panic() {
    for scene in ["clean", "uninvited", "mps-open"] {
        for (name, text) in files(scene).iter().filter(|it| it.0 != "policy.toml") {
            for at in (0..text.len()).filter(|it| text.is_char_boundary(*it)).step_by(397) {
                let mut cut = Scene::of(scene);
                if read(name, &text[..at]).is_ok() {
                    cut.files.insert(name.clone(), text[..at].to_owned());
                } else {
                    cut.files.remove(name);
                }
                let _ = cut.audit();
            }
        }
    }
}
