//! From a process to its tenant: the trait's implementation for a Linux host.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, ProcessKey, TenantId};
use crate::domain::outline::Process;
use crate::sampler::tenants::cgroup::{Placement, placement};
use crate::sampler::tenants::command;
use crate::sampler::tenants::host::{Host, Life, Unread, plain};
use crate::sampler::tenants::names::{self, PodName};
use crate::sampler::tenants::rules::{Rules, Traits};
use crate::sampler::tenants::view::{self, View};
use crate::sampler::tenants::{GHOST, MPS_SERVER, Tenants, UNATTRIBUTED};
use std::collections::BTreeMap;
use std::path::Path;

/// Processes that are remembered, at most.
const MOST_KNOWN: usize = 4096;

/// Two readings of one process' start differ by less: the boot time is given in whole seconds.
const START_TOLERANCE_US: u64 = 1_500_000;

const MPS_PROGRAM: &str = "nvidia-cuda-mps-server";

/// Names processes by what the host says about them, rules first.
#[derive(Debug)]
pub struct Resolver {
    host: Host,
    rules: Rules,
    view: View,
    shows_commands: bool,
    known: BTreeMap<ProcessKey, Known>,
    waiting: Vec<BlindSpot>,
    has_told_missing: bool,
    has_told_environment: bool,
}

/// What was found out about a process.
#[derive(Debug, Clone)]
struct Known {
    start_ticks: u64,
    name: String,
    tenant: String,
}

impl Resolver {
    /// A resolver for the host whose root is this folder: `/`, or where it is mounted.
    pub fn new(root: &Path, rules: Rules) -> Self {
        let host = Host::new(root);
        let view = view::of(&host);
        Self {
            waiting: view.blind_spot().into_iter().collect(),
            host,
            rules,
            view,
            shows_commands: false,
            known: BTreeMap::new(),
            has_told_missing: false,
            has_told_environment: false,
        }
    }

    /// Keeps the arguments of programs in their names, without what looks like a secret.
    pub fn with_commands(mut self) -> Self {
        self.shows_commands = true;
        self
    }

    fn known(&mut self, process: ProcessKey) -> Option<Known> {
        if process.started.is_some()
            && let Some(known) = self.known.get(&process)
        {
            return Some(known.clone());
        }
        let pid = self.view.local(&self.host, process.pid);
        let life = match self.host.life(pid) {
            Ok(it) => it,
            Err(_) => {
                self.tell_missing(process.pid);
                return self.known.get(&process).cloned();
            }
        };
        if let Some(known) =
            self.known.get(&process).filter(|it| it.start_ticks == life.start_ticks)
        {
            return Some(known.clone());
        }
        if let (Some(asked), Some(found)) = (process.started, self.host.instant(life.start_ticks))
            && asked.micros_since(found).unsigned_abs() > START_TOLERANCE_US
        {
            // The pid went to another process; of the one that was meant nothing is left.
            return None;
        }
        let known = self.found(pid, life);
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(process, known.clone());
        Some(known)
    }

    fn found(&mut self, pid: u32, life: Life) -> Known {
        let arguments = self.host.arguments(pid);
        let program = command::program(&arguments, &life.name);
        let cgroup = self.host.text(&format!("proc/{pid}/cgroup")).unwrap_or_default();
        let identity = Identity::of(&self.host, &self.rules, pid, placement(&cgroup));
        let mut traits = identity.traits();
        traits.command = vec![program.clone(), arguments.join(" ")];
        if self.rules.want_environment() {
            traits.environment = self.environment(pid);
        }
        let tenant = match self.rules.tenant(&traits) {
            Some(named) => named.to_owned(),
            None if is_mps_server(&program) => MPS_SERVER.to_owned(),
            None => identity.name(),
        };
        let name = match self.shows_commands {
            true => command::shown(&arguments, &life.name),
            false => program,
        };
        Known { start_ticks: life.start_ticks, name, tenant: plain(&tenant) }
    }

    fn environment(&mut self, pid: u32) -> Vec<String> {
        let found = self.host.environment(pid);
        if found == Err(Unread::Forbidden) && !self.has_told_environment {
            self.has_told_environment = true;
            self.waiting.push(BlindSpot {
                kind: BlindSpotKind::NotReported,
                subject: None,
                metric: None,
                span: None,
                detail: format!(
                    "the environment of pid {pid} cannot be read, so rules about it do not match"
                ),
                remedy: "run as root, or with the capability SYS_PTRACE".to_owned(),
            });
        }
        found.unwrap_or_default()
    }

    fn tell_missing(&mut self, pid: u32) {
        if !self.has_told_missing
            && let Some(spot) = self.view.missing(&self.host, pid)
        {
            self.has_told_missing = true;
            self.waiting.push(spot);
        }
    }
}

impl Tenants for Resolver {
    fn describe(&mut self, gpu: &GpuId, process: ProcessKey) -> Process {
        let (name, tenant) = match self.known(process) {
            Some(it) => (Some(it.name).filter(|it| !it.is_empty()), it.tenant),
            None => (None, UNATTRIBUTED.to_owned()),
        };
        Process { gpu: gpu.clone(), process, name, tenant: Some(TenantId::new(tenant)) }
    }

    fn blind_spots(&mut self) -> Vec<BlindSpot> {
        std::mem::take(&mut self.waiting)
    }
}

/// The kernel keeps only the first 15 letters of a name.
fn is_mps_server(program: &str) -> bool {
    program == MPS_PROGRAM || MPS_PROGRAM.get(..15) == Some(program)
}

/// Everything that the host says about whose a process is.
#[derive(Debug)]
struct Identity {
    placement: Placement,
    pod: Option<PodName>,
    container_name: Option<String>,
    uid: Option<u32>,
    user: Option<String>,
}

impl Identity {
    fn of(host: &Host, rules: &Rules, pid: u32, placement: Placement) -> Self {
        let container = placement.container.as_deref();
        let pod = names::pod(host, rules, placement.pod_uid.as_deref(), container);
        let trusted = container.filter(|_| !placement.is_delegated);
        let container_name = match &pod {
            Some(pod) => pod.container.clone(),
            None => trusted.and_then(|it| names::container(host, rules, it)),
        };
        let uid = placement.user.or_else(|| host.user(pid));
        let user = uid.map(|it| names::user(host, it));
        Self { pod, container_name, uid, user, placement }
    }

    fn traits(&self) -> Traits {
        let container = [self.container_name.clone(), self.placement.container.clone()];
        let short = self.placement.container.as_deref().map(|it| names::short(it).to_owned());
        let unit = self.placement.unit.clone();
        let bare = unit.as_deref().and_then(|it| it.strip_suffix(".service")).map(str::to_owned);
        Traits {
            pod: self.pod.iter().map(|it| it.pod.clone()).collect(),
            namespace: self.pod.iter().map(|it| it.namespace.clone()).collect(),
            container: container.into_iter().flatten().chain(short).collect(),
            user: self.user.iter().cloned().chain(self.uid.map(|it| it.to_string())).collect(),
            unit: unit.into_iter().chain(bare).collect(),
            slurm_job: self.placement.slurm_job.iter().cloned().collect(),
            ..Traits::default()
        }
    }

    /// The tenant where no rule names one: the nearest to the work wins.
    fn name(&self) -> String {
        let it = &self.placement;
        if let Some(job) = &it.slurm_job {
            return format!("slurm job {job}");
        }
        if let Some(pod) = &self.pod {
            let container = pod.container.as_ref().map(|it| format!("/{it}"));
            return format!("{}/{}{}", pod.namespace, pod.pod, container.unwrap_or_default());
        }
        if let Some(uid) = &it.pod_uid {
            return format!("pod {uid}");
        }
        if let Some(name) = &self.container_name {
            // Somebody may have called a container as we call what belongs to nobody.
            let is_taken = [GHOST, UNATTRIBUTED, MPS_SERVER].contains(&name.as_str());
            let runtime = it.runtime.filter(|_| is_taken).map(|it| format!("{it} "));
            return format!("{}{name}", runtime.unwrap_or_default());
        }
        if let Some(id) = &it.container {
            return format!("{} {}", it.runtime.unwrap_or("container"), names::short(id));
        }
        match (&it.unit, &self.user) {
            (Some(unit), Some(user)) if it.is_delegated => format!("{user}/{unit}"),
            (Some(unit), _) => unit.clone(),
            (None, Some(user)) => format!("user {user}"),
            (None, None) => UNATTRIBUTED.to_owned(),
        }
    }
}
