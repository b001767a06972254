//! Which processes this `/proc` shows, and by which numbers the driver calls them.
//!
//! The driver gives the pids of the caller's PID namespace, or the host's with old drivers. In a
//! container without the host's PID namespace neither is of use: the neighbours are not there.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::sampler::tenants::host::Host;

/// Inode of the first PID namespace of every Linux.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

const REMEDY: &str = "share the host's PID namespace: `hostPID: true` in the pod, `--pid=host` for docker and podman, or run on the host";

/// What a `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Every process of the host, by the numbers that the driver uses.
    Host,
    /// Every process of the host, seen from a namespace inside; the number of namespaces in between.
    Inside(usize),
    /// The processes of one container only.
    Container,
}

/// What the `/proc` of this host shows.
pub(crate) fn of(host: &Host) -> View {
    let depth = host.namespace_pids("self").len().saturating_sub(1);
    if depth > 0 {
        return View::Inside(depth);
    }
    // Process 2 makes the threads of the kernel, and only the first namespace has it.
    let has_kernel_threads = host.text("proc/2/comm").is_ok_and(|it| it.trim() == "kthreadd");
    let is_first = host.link("proc/self/ns/pid").as_deref() == Some(FIRST_NAMESPACE);
    if is_first || has_kernel_threads { View::Host } else { View::Container }
}

impl View {
    /// The number by which `/proc` knows a process that the driver calls `pid`.
    pub(crate) fn local(self, host: &Host, pid: u32) -> u32 {
        let Self::Inside(depth) = self else { return pid };
        let ours = host.link("proc/self/ns/pid");
        let folders = host.names_in("proc").into_iter().filter_map(|it| it.parse::<u32>().ok());
        let mut inside = folders.filter(|it| {
            host.namespace_pids(&it.to_string()).get(depth) == Some(&pid)
                && host.link(&format!("proc/{it}/ns/pid")) == ours
        });
        inside.next().unwrap_or(pid)
    }

    /// What this view hides from the start.
    pub(crate) fn blind_spot(self) -> Option<BlindSpot> {
        let detail = match self {
            Self::Host => return None,
            Self::Inside(_) => {
                "cotenant runs in a PID namespace of its own and sees the host's /proc: \
                 processes of other containers may have numbers that cannot be matched"
            }
            Self::Container => {
                "cotenant runs in a PID namespace of its own: processes of other containers are \
                 hidden from it, or carry numbers that mean nothing here"
            }
        };
        Some(spot(detail.to_owned()))
    }

    /// Why a process that the driver names is not in `/proc`; `None` where it has just ended.
    pub(crate) fn missing(self, host: &Host, pid: u32) -> Option<BlindSpot> {
        if self != Self::Host {
            return Some(spot(format!(
                "the driver names pid {pid}, which /proc does not have: it is of another PID namespace"
            )));
        }
        hides_processes(host).then(|| BlindSpot {
            remedy: "run as root, or mount /proc without hidepid".to_owned(),
            ..spot(format!(
                "the driver names pid {pid}, which /proc does not show: it is mounted with hidepid"
            ))
        })
    }
}

fn spot(detail: String) -> BlindSpot {
    BlindSpot {
        kind: BlindSpotKind::Ambiguous,
        subject: None,
        metric: None,
        span: None,
        detail,
        remedy: REMEDY.to_owned(),
    }
}

/// Whether `/proc` is mounted so that it shows everybody their own processes only.
fn hides_processes(host: &Host) -> bool {
    let mounts = host.text("proc/mounts").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        let is_proc = fields.next() == Some("/proc") && fields.next() == Some("proc");
        let options = fields.next().unwrap_or_default();
        is_proc
            && options
                .split(',')
                .any(|it| it.strip_prefix("hidepid=").is_some_and(|it| !matches!(it, "0" | "off")))
    })
}
