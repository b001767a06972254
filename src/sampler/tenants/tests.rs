//! Made-up hosts: a folder with the files that Linux would show.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey};
use crate::domain::outline::Process;
use crate::domain::time::Timestamp;
use crate::sampler::births::Births;
use crate::sampler::tenants::{MPS_SERVER, Resolver, Rules, Tenants, UNATTRIBUTED};
use std::path::Path;
use tempfile::TempDir;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const UID: &str = "6f1b2c3d-0000-1111-2222-333344445555";
const BOOT_S: i64 = 1_767_225_600;

/// A host that is being made up.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("proc/stat", &format!("cpu 1 2 3\nbtime {BOOT_S}\n"));
        tree.write("proc/2/comm", "kthreadd\n");
        tree.write("etc/passwd", "root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n");
        tree
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.0.path().join(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A process that began `pid` seconds after the host.
    fn process(&self, pid: u32, cgroup: &str, arguments: &[&str]) {
        self.named(pid, "python3", 100 * u64::from(pid), cgroup, arguments);
    }

    fn named(&self, pid: u32, name: &str, ticks: u64, cgroup: &str, arguments: &[&str]) {
        let cgroup = cgroup.replace("UID", UID).replace("ID", ID);
        self.write(&format!("proc/{pid}/cgroup"), &cgroup);
        let fields = "S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0";
        self.write(&format!("proc/{pid}/stat"), &format!("{pid} ({name}) {fields} {ticks} 0 0\n"));
        self.write(&format!("proc/{pid}/cmdline"), &format!("{}\0", arguments.join("\0")));
        let status = format!("Name:\t{name}\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t{pid}\n");
        self.write(&format!("proc/{pid}/status"), &status);
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn resolver(&self, rules: &str) -> Resolver {
        Resolver::new(self.root(), Rules::from_toml(rules).unwrap())
    }
}

fn started(tree: &Tree, pid: u32) -> Option<Timestamp> {
    Births::below(tree.root()).of(pid, Timestamp::from_micros(1)).key.started
}

fn described(resolver: &mut Resolver, pid: u32) -> Process {
    resolver.describe(&GpuId::from_index(0), ProcessKey { pid, started: None })
}

fn tenant(resolver: &mut Resolver, pid: u32) -> String {
    described(resolver, pid).tenant.unwrap().to_string()
}

#[test]
fn pods_have_the_names_that_the_kubelet_gave_their_logs() {
    let tree = Tree::new();
    tree.process(7, "4:cpu:/kubepods/burstable/podUID/ID", &["python3"]);
    let mut bare = tree.resolver("");
    assert_eq!(tenant(&mut bare, 7), format!("pod {UID}"));
    tree.write(&format!("var/log/pods/prod_chat-0_{UID}/server/0.log"), "");
    assert_eq!(tenant(&mut tree.resolver(""), 7), "prod/chat-0");
    tree.write(&format!("var/log/containers/chat-0_prod_my-server-{ID}.log"), "");
    assert_eq!(tenant(&mut tree.resolver(""), 7), "prod/chat-0/my-server");
    assert_eq!(bare.blind_spots(), []);
}

#[test]
fn a_static_list_names_pods_and_containers_that_the_host_does_not() {
    let tree = Tree::new();
    tree.process(7, "0::/kubepods.slice/kubepods-podUID.slice/crio-ID.scope", &["python3"]);
    tree.process(8, "0::/machine.slice/libpod-ID.scope/container", &["python3"]);
    let names = format!(
        "[[pod]]\nuid = \"{UID}\"\nnamespace = \"prod\"\nname = \"chat-0\"\n[[container]]\nid = \"{}\"\nname = \"web\"\n",
        &ID[..12]
    );
    let mut resolver = tree.resolver(&names);
    assert_eq!(tenant(&mut resolver, 7), "prod/chat-0/web");
    assert_eq!(tenant(&mut resolver, 8), "web");
}

#[test]
fn containers_jobs_units_and_users_are_tenants() {
    let tree = Tree::new();
    tree.process(10, "12:memory:/docker/ID\n1:name=systemd:/docker/ID", &["python3"]);
    tree.process(11, "0::/system.slice/containerd.service/x/cri-containerd-ID.scope", &["a"]);
    tree.process(
        12,
        "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope",
        &["a"],
    );
    tree.process(13, "0::/system.slice/ollama.service", &["a"]);
    tree.process(14, "9:cpuset:/slurm/uid_1000/job_77/step_0/task_0", &["a"]);
    tree.process(15, "0::/system.slice/slurmstepd.scope/job_78/step_0/user/task_0", &["a"]);
    tree.process(16, "0::/user.slice/user-1000.slice/session-2.scope", &["a"]);
    tree.process(17, "0::/user.slice/user-1000.slice/user@1000.service/app.slice/b.service", &[]);
    tree.process(18, "0::/", &["a"]);
    let mut resolver = tree.resolver("");
    let named: Vec<String> = (10..=18).map(|it| tenant(&mut resolver, it)).collect();
    let expected = [
        "docker 0123456789ab",
        "containerd 0123456789ab",
        "podman 0123456789ab",
        "ollama.service",
        "slurm job 77",
        "slurm job 78",
        "user alice",
        "alice/b.service",
        "user alice",
    ];
    assert_eq!(named, expected);
    let config = r#"{"Name":"/chat","Config":{}}"#;
    tree.write(&format!("var/lib/docker/containers/{ID}/config.v2.json"), config);
    assert_eq!(tenant(&mut tree.resolver(""), 10), "chat");
    assert_eq!(tenant(&mut tree.resolver(""), 12), "podman 0123456789ab", "anybody may choose it");
    tree.write(&format!("var/lib/docker/containers/{ID}/config.v2.json"), r#"{"Name":"/ghost"}"#);
    assert_eq!(tenant(&mut tree.resolver(""), 10), "docker ghost");
}

#[test]
fn rules_go_before_everything_that_the_host_says() {
    let tree = Tree::new();
    tree.process(7, "0::/system.slice/docker-ID.scope", &["/usr/bin/python3", "train.py"]);
    tree.process(8, "0::/system.slice/ollama.service", &["ollama", "serve"]);
    tree.write("proc/8/environ", "A=1\0TEAM=search\0");
    for (rule, first, second) in [
        ("command = \"python3\"", "it", "ollama.service"),
        ("command = \"*train.py\"", "it", "ollama.service"),
        ("container = \"0123456789ab*\"", "it", "ollama.service"),
        ("user = \"alice\"", "it", "it"),
        ("user = \"1000\"", "it", "it"),
        ("unit = \"ollama\"", "docker 0123456789ab", "it"),
        ("unit = \"*.service\"\nuser = \"bob\"", "docker 0123456789ab", "ollama.service"),
        ("environment = { TEAM = \"sea*\" }", "docker 0123456789ab", "it"),
    ] {
        let mut resolver = tree.resolver(&format!("[[rule]]\ntenant = \"it\"\n{rule}"));
        let found = [tenant(&mut resolver, 7), tenant(&mut resolver, 8)];
        assert_eq!(found, [first, second], "{rule}");
    }
}

#[test]
fn the_server_of_mps_is_a_tenant_of_its_own() {
    let tree = Tree::new();
    tree.process(7, "0::/system.slice/mps.service", &["/usr/bin/nvidia-cuda-mps-server"]);
    tree.named(8, "nvidia-cuda-mps", 1, "0::/", &[]);
    let mut resolver = tree.resolver("");
    assert_eq!(tenant(&mut resolver, 7), MPS_SERVER);
    std::fs::write(tree.root().join("proc/8/cmdline"), "").unwrap();
    assert_eq!(tenant(&mut resolver, 8), MPS_SERVER);
}

#[test]
fn a_process_that_ended_is_remembered_and_an_unknown_one_is_nobodys() {
    let tree = Tree::new();
    tree.process(7, "0::/system.slice/a.service", &["a"]);
    let mut resolver = tree.resolver("");
    assert_eq!(tenant(&mut resolver, 7), "a.service");
    std::fs::remove_dir_all(tree.root().join("proc/7")).unwrap();
    assert_eq!(tenant(&mut resolver, 7), "a.service");
    let gone = described(&mut resolver, 9);
    assert_eq!((gone.name, gone.tenant.unwrap().as_str()), (None, UNATTRIBUTED));
    assert_eq!(resolver.blind_spots(), [], "a process may end at any time");
}

#[test]
fn a_pid_that_was_reused_is_not_taken_for_the_process_before() {
    let tree = Tree::new();
    tree.process(7, "0::/system.slice/old.service", &["old"]);
    let mut resolver = tree.resolver("");
    let started = started(&tree, 7);
    assert_eq!(started, Some(Timestamp::from_micros((BOOT_S + 7) * 1_000_000)));
    let gpu = GpuId::from_index(0);
    let old = ProcessKey { pid: 7, started };
    assert_eq!(resolver.describe(&gpu, old).tenant.unwrap().as_str(), "old.service");
    tree.named(7, "new", 90_000, "0::/system.slice/new.service", &["new"]);
    assert_eq!(tenant(&mut resolver, 7), "new.service");
    assert_eq!(resolver.describe(&gpu, old).tenant.unwrap().as_str(), "old.service");
    let stranger = tree.resolver("").describe(&gpu, old);
    assert_eq!((stranger.name, stranger.tenant.unwrap().as_str()), (None, UNATTRIBUTED));
}

#[test]
fn a_foreign_pid_namespace_is_explained_once_with_its_remedy() {
    let tree = Tree::new();
    std::fs::remove_file(tree.root().join("proc/2/comm")).unwrap();
    tree.write("proc/self/status", "Name:\tcotenant\nNSpid:\t9\n");
    let mut resolver = tree.resolver("");
    let started = resolver.blind_spots();
    assert_eq!((started.len(), started[0].kind), (1, BlindSpotKind::Ambiguous));
    assert!(started[0].remedy.contains("hostPID: true"), "{started:?}");
    assert!(started[0].remedy.contains("--pid=host"), "{started:?}");
    for pid in [4242, 4243] {
        assert_eq!(tenant(&mut resolver, pid), UNATTRIBUTED);
    }
    let told = resolver.blind_spots();
    assert_eq!(told.len(), 1);
    assert!(told[0].detail.contains("pid 4242, which /proc does not have"), "{told:?}");
}

#[test]
fn hidden_processes_are_told_from_ended_ones() {
    let tree = Tree::new();
    tree.write("proc/mounts", "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n");
    let mut resolver = tree.resolver("");
    assert_eq!(tenant(&mut resolver, 9), UNATTRIBUTED);
    let told = resolver.blind_spots();
    assert!(told[0].remedy.contains("root"), "{told:?}");
}

#[cfg(unix)]
#[test]
fn pids_of_our_own_namespace_are_found_in_the_proc_of_the_host() {
    let tree = Tree::new();
    tree.process(5000, "0::/system.slice/a.service", &["a"]);
    tree.write("proc/5000/status", "Uid:\t0\t0\t0\t0\nNSpid:\t5000\t12\n");
    tree.process(5001, "0::/system.slice/b.service", &["b"]);
    tree.write("proc/5001/status", "Uid:\t0\t0\t0\t0\nNSpid:\t5001\t12\n");
    tree.write("proc/self/status", "NSpid:\t5002\t13\n");
    for (pid, namespace) in [("self", 8), ("5000", 7), ("5001", 8)] {
        let folder = tree.root().join(format!("proc/{pid}/ns"));
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(format!("pid:[{namespace}]"), folder.join("pid")).unwrap();
    }
    let mut resolver = tree.resolver("");
    assert_eq!(tenant(&mut resolver, 12), "b.service", "the other 12 is of another namespace");
    assert_eq!(tenant(&mut resolver, 5000), "a.service", "old drivers give the host's number");
}

#[test]
fn hostile_names_are_made_harmless() {
    let tree = Tree::new();
    tree.named(7, ") S 1 (", 700, "0::/system.slice/x\x1b]0;y.service", &["\x1b[2J\u{202e}evil"]);
    let mut resolver = tree.resolver("");
    let shown = described(&mut resolver, 7);
    let texts = format!("{}{}", shown.name.unwrap(), shown.tenant.unwrap());
    assert!(texts.contains("evil") && !texts.contains(['\x1b', '\u{202e}']), "{texts:?}");
    assert!(started(&tree, 7).is_some());
}

#[test]
fn arguments_stay_secret_unless_they_are_asked_for() {
    let tree = Tree::new();
    tree.process(7, "0::/", &["/usr/bin/python3", "serve.py", "--token", "s3", "--port", "1"]);
    assert_eq!(described(&mut tree.resolver(""), 7).name.as_deref(), Some("python3"));
    let mut open = tree.resolver("").with_commands();
    let shown = described(&mut open, 7).name.unwrap();
    assert_eq!(shown, "python3 serve.py --token … --port 1");
}

#[cfg(unix)]
#[test]
fn an_environment_that_cannot_be_read_is_told_once() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new();
    for pid in [7, 8] {
        tree.process(pid, "0::/system.slice/a.service", &["a"]);
        let environ = format!("proc/{pid}/environ");
        tree.write(&environ, "TEAM=search\0");
        let closed = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(tree.root().join(environ), closed).unwrap();
    }
    let may_read_all = std::fs::read(tree.root().join("proc/7/environ")).is_ok();
    let rule = "[[rule]]\ntenant = \"it\"\nenvironment = { TEAM = \"search\" }";
    let mut resolver = tree.resolver(rule);
    let found = [tenant(&mut resolver, 7), tenant(&mut resolver, 8)];
    let told = resolver.blind_spots();
    match may_read_all {
        true => assert_eq!((found, told.len()), (["it", "it"].map(str::to_owned), 0)),
        false => {
            assert_eq!(found, ["a.service", "a.service"]);
            assert_eq!(told.len(), 1);
            assert!(told[0].remedy.contains("SYS_PTRACE"), "{told:?}");
        }
    }
}

#[test]
fn a_host_of_which_nothing_can_be_read_gives_nobody_and_no_panic() {
    let tree = tempfile::tempdir().unwrap();
    let mut resolver = Resolver::new(tree.path(), Rules::default());
    assert_eq!(tenant(&mut resolver, 1), UNATTRIBUTED);
    assert_eq!(Births::below(tree.path()).of(1, Timestamp::from_micros(1)).key.started, None);
}

#[test]
fn files_that_are_cut_or_hold_rubbish_give_what_is_left() {
    let tree = Tree::new();
    tree.process(7, "rubbish", &["a"]);
    tree.write("proc/7/status", "Uid:\tx\nNSpid:\n");
    assert_eq!(tenant(&mut tree.resolver(""), 7), UNATTRIBUTED);
    tree.write("proc/7/stat", "7 (python3");
    assert_eq!(described(&mut tree.resolver(""), 7).name, None);
}
