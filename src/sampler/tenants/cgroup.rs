//! Where a process lives, from the text of `/proc/PID/cgroup`: version 1, version 2 and both at once.
//!
//! Formats: cgroups(7); docker, containerd, CRI-O and podman with the cgroupfs and the systemd driver;
//! kubelet's `pod<uid>`; Slurm's plugins `cgroup/v1` and `cgroup/v2`.

/// Letters of a full container id.
const CONTAINER_ID: usize = 64;

/// Prefixes of scopes and folders that a runtime names after a container, and the runtime.
const RUNTIMES: [(&str, &str); 5] = [
    ("docker-", "docker"),
    ("cri-containerd-", "containerd"),
    ("crio-", "cri-o"),
    ("libpod-payload-", "podman"),
    ("libpod-", "podman"),
];

/// Where a process lives; `None` is where the path does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The runtime of the container, for people.
    pub(crate) runtime: Option<&'static str>,
    /// Id of the container; a name for LXC.
    pub(crate) container: Option<String>,
    /// Uid of the pod, with dashes.
    pub(crate) pod_uid: Option<String>,
    /// Number of the Slurm job.
    pub(crate) slurm_job: Option<String>,
    /// Unit of systemd, such as `ollama.service`.
    pub(crate) unit: Option<String>,
    /// User whose slice or job it is.
    pub(crate) user: Option<u32>,
    /// Whether a user made this path: in a user's own slice anybody may choose any name.
    pub(crate) is_delegated: bool,
}

/// Where a process lives.
pub(crate) fn placement(cgroup: &str) -> Placement {
    let paths = cgroup.lines().filter_map(|it| it.splitn(3, ':').nth(2));
    paths.map(of_path).fold(Placement::default(), completed)
}

/// What either path says; the first one wins.
fn completed(mine: Placement, theirs: Placement) -> Placement {
    Placement {
        runtime: mine.runtime.or(theirs.runtime),
        container: mine.container.or(theirs.container),
        pod_uid: mine.pod_uid.or(theirs.pod_uid),
        slurm_job: mine.slurm_job.or(theirs.slurm_job),
        unit: mine.unit.or(theirs.unit),
        user: mine.user.or(theirs.user),
        is_delegated: mine.is_delegated || theirs.is_delegated,
    }
}

fn of_path(path: &str) -> Placement {
    // containerd without the right driver writes `….slice:cri-containerd:ID` into one folder.
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let parts: Vec<&str> = path.split(['/', ':']).filter(|it| !it.is_empty()).collect();
    let is_delegated = parts.first() == Some(&"user.slice");
    let (runtime, container) = container(&parts);
    Placement {
        runtime,
        container,
        pod_uid: pod_uid(&parts).filter(|_| !is_delegated),
        slurm_job: slurm_job(&parts).filter(|_| !is_delegated),
        unit: unit(&parts),
        user: user(&parts),
        is_delegated,
    }
}

/// The innermost container: a node that is a container itself holds others.
fn container(parts: &[&str]) -> (Option<&'static str>, Option<String>) {
    let of_part = |(at, part): (usize, &&str)| {
        let part = part.strip_suffix(".scope").unwrap_or(part);
        if let Some(name) = part.strip_prefix("lxc.payload.") {
            return Some((Some("lxc"), name.to_owned()));
        }
        let before = at.checked_sub(1).and_then(|it| parts.get(it));
        for (prefix, runtime) in RUNTIMES {
            if let Some(id) = part.strip_prefix(prefix).filter(|it| is_id(it)) {
                return Some((Some(runtime), id.to_owned()));
            }
        }
        let runtime = match before {
            Some(&"docker") => Some("docker"),
            Some(&"cri-containerd") => Some("containerd"),
            Some(&"lxc") => return Some((Some("lxc"), part.to_owned())),
            _ => None,
        };
        is_id(part).then(|| (runtime, part.to_owned()))
    };
    match parts.iter().enumerate().rev().find_map(of_part) {
        Some((runtime, id)) => (runtime, Some(id)),
        None => (None, None),
    }
}

fn is_id(text: &str) -> bool {
    text.len() == CONTAINER_ID && text.bytes().all(|it| it.is_ascii_hexdigit())
}

fn pod_uid(parts: &[&str]) -> Option<String> {
    let start = parts.iter().position(|it| it.starts_with("kubepods"))?;
    let of_part = |part: &&str| {
        let part = part.strip_suffix(".slice").unwrap_or(part);
        let uid = match part.strip_prefix("kubepods") {
            Some(rest) => rest.rsplit_once("-pod")?.1,
            None => part.strip_prefix("pod")?,
        };
        let is_uid = (32..=36).contains(&uid.len())
            && uid.bytes().all(|it| it.is_ascii_hexdigit() || matches!(it, b'-' | b'_'));
        is_uid.then(|| uid.replace('_', "-"))
    };
    parts.get(start..)?.iter().rev().find_map(of_part)
}

fn slurm_job(parts: &[&str]) -> Option<String> {
    let is_slurm = |it: &&str| it.starts_with("slurm") || it.ends_with("slurmstepd.scope");
    let start = parts.iter().position(is_slurm)?;
    parts.get(start..)?.iter().find_map(|part| {
        let job = part.strip_prefix("job_")?;
        (!job.is_empty() && job.bytes().all(|it| it.is_ascii_digit())).then(|| job.to_owned())
    })
}

/// The innermost unit that is somebody's service; sessions and managers of users are none.
fn unit(parts: &[&str]) -> Option<String> {
    let is_machine = parts.first() == Some(&"machine.slice");
    let found = parts.iter().rev().find(|it| {
        let is_manager = it.starts_with("user@") || it.ends_with("slurmstepd.scope");
        let is_service = it.ends_with(".service") || is_machine && it.ends_with(".scope");
        is_service && !is_manager
    });
    found.map(|it| unescaped(it))
}

fn user(parts: &[&str]) -> Option<u32> {
    parts.iter().find_map(|part| {
        let of_slice = part.strip_prefix("user-").and_then(|it| it.strip_suffix(".slice"));
        of_slice.or_else(|| part.strip_prefix("uid_"))?.parse().ok()
    })
}

/// systemd writes `-` inside a name as `\x2d`.
fn unescaped(unit: &str) -> String {
    let mut plain = String::with_capacity(unit.len());
    let mut rest = unit;
    while let Some((before, behind)) = rest.split_once("\\x") {
        plain.push_str(before);
        let code = behind.get(..2).and_then(|it| u8::from_str_radix(it, 16).ok());
        match code.filter(u8::is_ascii_graphic) {
            Some(letter) => plain.push(char::from(letter)),
            None => plain.push('?'),
        }
        rest = behind.get(2..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const UID: &str = "6f1b2c3d-0000-1111-2222-333344445555";

    fn in_container(text: &str) -> (Option<&'static str>, bool, Option<String>) {
        let found = placement(&text.replace("UID", UID).replace("ID", ID));
        (found.runtime, found.container.as_deref() == Some(ID), found.pod_uid)
    }

    #[test]
    fn every_spelling_of_a_container_is_understood() {
        let uid = Some(UID.to_owned());
        let escaped = format!(
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{}.slice/cri-containerd-{ID}.scope",
            UID.replace('-', "_")
        );
        for (text, runtime, pod) in [
            ("12:memory:/docker/ID\n1:name=systemd:/docker/ID", Some("docker"), None),
            ("0::/system.slice/docker-ID.scope", Some("docker"), None),
            ("4:cpu:/kubepods/burstable/podUID/ID\n", None, uid.clone()),
            (&escaped, Some("containerd"), uid.clone()),
            (
                "0::/system.slice/containerd.service/kubepods-podUID.slice:cri-containerd:ID",
                Some("containerd"),
                uid.clone(),
            ),
            ("0::/kubepods.slice/kubepods-podUID.slice/crio-ID.scope", Some("cri-o"), uid),
            ("0::/machine.slice/libpod-ID.scope/container", Some("podman"), None),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope",
                Some("podman"),
                None,
            ),
            ("0::/docker/ID (deleted)", Some("docker"), None),
        ] {
            assert_eq!(in_container(text), (runtime, true, pod), "{text}");
        }
        let monitor = placement(&format!("0::/machine.slice/libpod-conmon-{ID}.scope"));
        assert_eq!(monitor.container, None);
        assert_eq!(placement("0::/lxc.payload.chat/x").container.as_deref(), Some("chat"));
    }

    #[test]
    fn jobs_units_and_users_are_understood() {
        let v1 = placement("9:cpuset:/slurm/uid_1000/job_77/step_0/task_0\n1:name=systemd:/");
        assert_eq!((v1.slurm_job.as_deref(), v1.user), (Some("77"), Some(1000)));
        let v2 = placement("0::/system.slice/slurmstepd.scope/job_78/step_batch/user/task_0");
        assert_eq!((v2.slurm_job.as_deref(), v2.unit), (Some("78"), None));
        let named = placement("0::/system.slice/node7_slurmstepd.scope/job_79/step_0");
        assert_eq!(named.slurm_job.as_deref(), Some("79"));
        let unit = placement("0::/system.slice/my\\x2dchat.service");
        assert_eq!(unit.unit.as_deref(), Some("my-chat.service"));
        let session = placement("0::/user.slice/user-1001.slice/session-3.scope");
        assert_eq!((session.unit, session.user), (None, Some(1001)));
        let own =
            placement("0::/user.slice/user-1001.slice/user@1001.service/app.slice/ollama.service");
        assert_eq!((own.unit.as_deref(), own.user), (Some("ollama.service"), Some(1001)));
        assert_eq!(placement("0::/"), Placement::default());
    }

    #[test]
    fn nobody_borrows_a_pod_or_a_job_from_inside_a_slice_of_their_own() {
        let start = "0::/user.slice/user-1000.slice/user@1000.service";
        let job = placement(&format!("{start}/slurm/job_1"));
        assert_eq!((job.slurm_job, job.is_delegated), (None, true));
        assert_eq!(placement(&format!("{start}/kubepods/pod{UID}/{ID}")).pod_uid, None);
    }

    proptest! {
        #[test]
        fn no_path_makes_the_reader_panic(text in "[a-z0-9é:/@\\\\._-]{0,80}") {
            let _ = placement(&text);
            let _ = placement(&format!("0::/user.slice/{text}.service\\x"));
        }
    }
}
