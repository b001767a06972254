//! What can be recorded on this host, what not, and the fix for each.

use crate::sampler::nvml::{Library, OpenError};
use crate::sampler::source::{GpuHost, GpuSource, Identity, LISTS, Part, Question, Refusal};
use crate::sampler::tenants::{Host, view_of};
use std::path::Path;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Something will not be seen.
    Warn,
    /// Nothing can be recorded, or not from every GPU.
    Fail,
}

/// A check and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Stable name.
    pub id: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// What was found.
    pub finding: String,
    /// What to do; empty when nothing has to be done, or nothing can.
    pub fix: String,
}

/// Names of all checks, in order; `docs/CLI.md` explains each.
pub const CHECKS: &[&str] = &[
    "library",
    "driver-version",
    "devices",
    "device-memory",
    "process-list",
    "process-utilisation",
    "performance-counters",
    "profiling-rights",
    "mig",
    "mps",
    "pid-namespace",
    "tenant-names",
    "persistence",
];

/// Name of the MPS daemon, as long as the kernel keeps it.
const MPS: &str = "nvidia-cuda-mps";

fn check(id: &'static str, verdict: Verdict, finding: impl Into<String>, fix: &str) -> Check {
    Check { id, verdict, finding: finding.into(), fix: fix.to_owned() }
}

/// Runs every check on the host whose root is this folder; those that need a driver are left out
/// where there is none.
pub fn examine(library: Result<&Library, &OpenError>, root: &Path) -> Vec<Check> {
    let proc = &root.join("proc");
    let host = Host::new(root);
    let mut checks = Vec::new();
    match library {
        Err(error) => {
            checks.push(check("library", Verdict::Fail, error.to_string(), &error.remedy()));
        }
        Ok(library) => {
            checks.push(check("library", Verdict::Ok, format!("{} is loaded", library.path()), ""));
            checks.push(versions(library, proc));
            checks.push(devices(library));
            examine_gpus(library, &mut checks);
        }
    }
    checks.push(profiling_rights(proc));
    checks.push(mps(proc));
    checks.push(pid_namespace(&host));
    checks.push(tenant_names(&host));
    checks.sort_by_key(|it| CHECKS.iter().position(|id| *id == it.id));
    checks
}

fn versions(library: &Library, proc: &Path) -> Check {
    let id = "driver-version";
    let version = library.driver().unwrap_or_else(|| "unknown".to_owned());
    let module = std::fs::read_to_string(proc.join("driver/nvidia/version")).ok();
    match module {
        Some(text) if !text.contains(&version) => {
            let first = text.lines().next().unwrap_or_default().trim().to_owned();
            let finding = format!("the library is {version}, the kernel module says `{first}`");
            check(id, Verdict::Fail, finding, "reboot, or unload and load the kernel module")
        }
        Some(_) => check(id, Verdict::Ok, format!("{version}, library and kernel module"), ""),
        None => {
            check(id, Verdict::Ok, format!("{version}; the kernel module does not say its own"), "")
        }
    }
}

fn devices(library: &Library) -> Check {
    let id = "devices";
    if let Some(lost) = library.unreachable.first() {
        let finding = format!("GPU {} cannot be opened: {}", lost.index, lost.refusal);
        return check(id, Verdict::Fail, finding, lost.refusal.remedy());
    }
    match library.gpus.as_slice() {
        [] => check(id, Verdict::Fail, "the driver knows no GPU", "see what `lspci` says"),
        gpus => {
            let model = |it: &Identity| it.model.clone().unwrap_or_else(|| it.gpu.to_string());
            let names: Vec<String> = gpus.iter().map(model).collect();
            check(id, Verdict::Ok, names.join(", "), "")
        }
    }
}

fn examine_gpus(library: &Library, checks: &mut Vec<Check>) {
    let mut sources: Vec<Box<dyn GpuSource>> =
        library.gpus.iter().filter_map(|it| library.open(it).ok()).collect();
    if sources.is_empty() {
        return;
    }
    checks.push(of_all("device-memory", &mut sources, has_memory));
    checks.push(of_all("process-list", &mut sources, |it| {
        LISTS.iter().try_for_each(|list| it.processes(*list, &mut Vec::new()))
    }));
    checks.push(of_all("process-utilisation", &mut sources, |it| {
        match it.process_ring(0, &mut Vec::new()) {
            Err(Refusal::NotFound) => Ok(()),
            answer => answer,
        }
    }));
    checks.push(of_all("performance-counters", &mut sources, |it| {
        it.counters(Part::Whole, &mut Vec::new())
    }));
    let cut = sources.iter().find(|it| it.identity().is_mig == Some(true));
    checks.push(match cut {
        None => check("mig", Verdict::Ok, "no GPU is cut into instances", ""),
        Some(it) => {
            let finding = format!(
                "GPU {} is cut: the driver hides its utilisation and that of its processes",
                it.identity().index
            );
            check(
                "mig",
                Verdict::Warn,
                finding,
                "performance counters show instances, on Hopper and later",
            )
        }
    });
    let resting = sources
        .iter_mut()
        .find_map(|it| (it.is_persistent() == Ok(false)).then(|| it.identity().index));
    checks.push(match resting {
        None => check("persistence", Verdict::Ok, "the driver stays loaded", ""),
        Some(index) => {
            let finding =
                format!("GPU {index} is put to rest when nobody uses it: counters begin anew");
            check("persistence", Verdict::Warn, finding, "nvidia-smi -pm 1, or nvidia-persistenced")
        }
    });
}

/// A question to every GPU; the first that refuses is named.
fn of_all(
    id: &'static str,
    sources: &mut [Box<dyn GpuSource>],
    mut ask: impl FnMut(&mut dyn GpuSource) -> Result<(), Refusal>,
) -> Check {
    let mut refused = None;
    for source in sources.iter_mut() {
        if let Err(refusal) = ask(source.as_mut()) {
            refused = refused.or(Some((source.identity().index, refusal)));
        }
    }
    match refused {
        None => check(id, Verdict::Ok, "every GPU answers", ""),
        Some((index, refusal)) => {
            check(id, Verdict::Warn, format!("GPU {index}: {refusal}"), refusal.remedy())
        }
    }
}

fn profiling_rights(proc: &Path) -> Check {
    let id = "profiling-rights";
    let parameters = std::fs::read_to_string(proc.join("driver/nvidia/params")).unwrap_or_default();
    let is_restricted = parameters.lines().any(|it| {
        it.split_once(':').is_some_and(|it| it.0 == "RmProfilingAdminOnly" && it.1.trim() == "1")
    });
    let status = std::fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let user = status.lines().find_map(|it| it.strip_prefix("Uid:")?.split_whitespace().nth(1));
    match (is_restricted, user == Some("0")) {
        (false, _) => {
            check(id, Verdict::Ok, "counters are open to everyone, or not restricted", "")
        }
        (true, true) => check(id, Verdict::Ok, "counters are for root only, and this is root", ""),
        (true, false) => check(
            id,
            Verdict::Warn,
            "counters are for root only: RmProfilingAdminOnly is 1",
            "record as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0",
        ),
    }
}

fn mps(proc: &Path) -> Check {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let is_daemon = |it: &std::fs::DirEntry| {
        let name = std::fs::read_to_string(it.path().join("comm")).unwrap_or_default();
        name.starts_with(MPS)
    };
    match entries.into_iter().any(|it| is_daemon(&it)) {
        false => check("mps", Verdict::Ok, "no MPS daemon runs", ""),
        true => check(
            "mps",
            Verdict::Warn,
            "an MPS daemon runs: several clients work at once, and each sample names one of them",
            "",
        ),
    }
}

fn pid_namespace(host: &Host) -> Check {
    let id = "pid-namespace";
    match view_of(host).blind_spot() {
        None => check(id, Verdict::Ok, "processes of the whole host are seen", ""),
        Some(it) => check(id, Verdict::Warn, it.detail, &it.remedy),
    }
}

/// Whether pods get their names; where there is no kubelet none are needed.
fn tenant_names(host: &Host) -> Check {
    let id = "tenant-names";
    let own = host.text("proc/self/cgroup").unwrap_or_default();
    let has_kubelet = own.contains("kubepods") || !host.names_in("var/lib/kubelet").is_empty();
    let has_names = !host.names_in("var/log/pods").is_empty();
    match (has_kubelet, has_names) {
        (true, false) => check(
            id,
            Verdict::Warn,
            "this is a node of Kubernetes, and /var/log/pods does not show the names of pods: they are called by their uid",
            "mount the host's /var/log/pods and /var/log/containers, or name pods in the file of --tenants",
        ),
        (true, true) => check(id, Verdict::Ok, "pods are called by their names", ""),
        (false, _) => {
            check(id, Verdict::Ok, "units, users and containers are called by theirs", "")
        }
    }
}

/// Whether the device says how much of its memory is in use.
fn has_memory(source: &mut dyn GpuSource) -> Result<(), Refusal> {
    let mut replies = Vec::new();
    source.ask(Question::MemoryUsed, &mut replies)?;
    let counts = replies.into_iter().map(|it| it.count);
    let known = counts.map(|it| it?.value().ok_or(Refusal::NotSupported));
    known.reduce(Result::or).unwrap_or(Err(Refusal::NotSupported)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_the_host_is_examined_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        std::fs::create_dir_all(proc.join("driver/nvidia")).unwrap();
        std::fs::create_dir_all(proc.join("self/ns")).unwrap();
        std::fs::create_dir_all(proc.join("77")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(proc.join(name), text).unwrap();
        write("driver/nvidia/params", "Foo: 1\nRmProfilingAdminOnly: 1\n");
        write("self/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n");
        write("self/cgroup", "0::/kubepods.slice/pod7\n");
        write("77/comm", "nvidia-cuda-mps\n");
        std::os::unix::fs::symlink("pid:[1]", proc.join("self/ns/pid")).unwrap();
        let error = OpenError::Silent { path: "x".to_owned() };
        let checks = examine(Err(&error), root.path());
        let found: Vec<(&str, Verdict)> = checks.iter().map(|it| (it.id, it.verdict)).collect();
        let warn = Verdict::Warn;
        assert_eq!(
            found,
            [
                ("library", Verdict::Fail),
                ("profiling-rights", warn),
                ("mps", warn),
                ("pid-namespace", warn),
                ("tenant-names", warn),
            ]
        );
        assert!(checks.iter().all(|it| CHECKS.contains(&it.id)));
    }
}
