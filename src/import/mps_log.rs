//! `control.log` and `server.log` of MPS: when its servers ran, who their clients were, and when a server failed.
//!
//! How many clients there were at a time, and what each of them used, are not in these files or have no place in a
//! recording. Source: NVIDIA, Multi-Process Service, appendix on logging, and logs in public issues.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Phase;
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::import::error::ImportError;
use crate::import::gpu_names::given;
use crate::import::run::ImportRun;
use crate::import::run::rejection::quoted;
use crate::import::smi::program::Programs;
use crate::import::text::clock::RowClock;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// Process ids from here on stand for none: Linux gives none of them, and MPS writes 2³⁰ for a client in another namespace.
const NO_PID_FROM: u32 = 1 << 22;

/// Reads `control.log` and `server.log` of MPS.
pub struct MpsLog;

impl Importer for MpsLog {
    fn id(&self) -> &'static str {
        "mps-log"
    }

    fn about(&self) -> &'static str {
        "control.log and server.log of MPS: its servers, their clients and their failures"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        match head_lines(head).iter().any(|it| Entry::parse(it).is_some()) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = MpsFile::new(run);
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            if !line.trim().is_empty() {
                file.line(run, &line);
            }
        }
        file.finish(run)
    }
}

/// A line of a log.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    stamp: &'a str,
    is_control: bool,
    /// Process that wrote it.
    pid: u32,
    text: &'a str,
}

impl<'a> Entry<'a> {
    /// `[2026-05-31 23:46:49.893 Control 11107] …`, with anything in front; `None` for any other line.
    fn parse(line: &'a str) -> Option<Self> {
        let (head, text) = line.split_once('[')?.1.split_once(']')?;
        let is_control = head.contains(" Control ");
        let writer = [" Control ", " Legacy Server ", " Server ", " Other "];
        let (stamp, pid) = writer.iter().find_map(|it| head.split_once(it))?;
        let is_stamp = stamp.len() >= 19 && stamp.starts_with(|it: char| it.is_ascii_digit());
        let pid = pid.trim().parse().ok().filter(|_| is_stamp)?;
        Some(Self { stamp: stamp.trim(), is_control, pid, text: text.trim() })
    }
}

/// What an entry says.
#[derive(Debug, PartialEq)]
enum Event {
    /// A client came; 0 where its process id is hidden.
    Client(u32),
    /// A server is ready for clients.
    Ready(u32),
    /// A server has ended; whether it should have.
    Ended(u32, bool),
    /// A server has failed.
    Failed(Option<u32>),
    /// A server uses a device, by the number that the daemon gives it.
    Device(u32),
}

/// The number that follows a word; `None` where the text does not hold it.
fn after(text: &str, word: &str) -> Option<u32> {
    let rest = text.split_once(word)?.1.trim_start();
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn event(entry: &Entry<'_>) -> Option<Event> {
    let text = entry.text;
    let lower = text.to_ascii_lowercase();
    if let Some(pid) = after(text, "NEW CLIENT ") {
        return Some(Event::Client(pid));
    }
    if let Some(pid) = after(text, "New client ").filter(|_| text.ends_with(" connected")) {
        return Some(Event::Client(pid));
    }
    if let Some(pid) = after(text, "{PID: ").filter(|_| text.ends_with(" connected")) {
        return Some(Event::Client(pid));
    }
    if let Some(server) = after(text, "NEW SERVER ").filter(|_| lower.ends_with("ready")) {
        return Some(Event::Ready(server));
    }
    if matches!(lower.as_str(), "mps server is started" | "server has started") {
        return Some(Event::Ready(entry.pid));
    }
    if let Some(status) = after(text, " exited with status ")
        && let Some(server) = after(text, "Server ")
    {
        return Some(Event::Ended(server, status == 0));
    }
    if let Some(device) = after(&lower, "creating server context on device ") {
        return Some(Event::Device(device));
    }
    let is_failure = lower.contains("fatal") || lower.contains("failed to start");
    is_failure.then(|| Event::Failed((!entry.is_control).then_some(entry.pid)))
}

/// A server that runs, or ran.
#[derive(Debug)]
struct Server {
    from: Timestamp,
    until: Option<Timestamp>,
}

/// A file that is being read.
struct MpsFile {
    clock: RowClock<()>,
    servers: BTreeMap<u32, Server>,
    clients: BTreeSet<u32>,
    hidden: u64,
    devices: BTreeSet<u32>,
    failures: Vec<(Timestamp, Option<u32>, String)>,
    ready: BTreeSet<Timestamp>,
    last: Option<Timestamp>,
}

impl MpsFile {
    fn new(run: &ImportRun<'_>) -> Self {
        Self {
            clock: RowClock::new(run, None),
            servers: BTreeMap::new(),
            clients: BTreeSet::new(),
            hidden: 0,
            devices: BTreeSet::new(),
            failures: Vec::new(),
            ready: BTreeSet::new(),
            last: None,
        }
    }

    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) {
        let Some(entry) = Entry::parse(line) else {
            run.reject("", "a line that begins like `[2026-01-31 12:00:00.000 Control 1]`", line);
            return;
        };
        let Some(at) = self.clock.read(run, "stamp", entry.stamp) else { return };
        self.last = self.last.max(Some(at));
        match event(&entry) {
            Some(Event::Client(0 | NO_PID_FROM..)) => self.hidden += 1,
            Some(Event::Client(pid)) => {
                self.clients.insert(pid);
            }
            Some(Event::Ready(server)) => {
                self.ready.insert(at);
                let known = self.servers.entry(server).or_insert(Server { from: at, until: None });
                // A number that returns is another server.
                if known.until.is_some_and(|it| it < at) {
                    *known = Server { from: at, until: None };
                }
            }
            Some(Event::Ended(server, is_well)) => {
                if let Some(it) = self.servers.get_mut(&server) {
                    it.until.get_or_insert(at);
                }
                if !is_well {
                    self.fail(at, Some(server), entry.text);
                }
            }
            Some(Event::Failed(server)) => self.fail(at, server, entry.text),
            Some(Event::Device(device)) => {
                self.devices.insert(device);
            }
            None => {}
        }
    }

    fn fail(&mut self, at: Timestamp, server: Option<u32>, text: &str) {
        self.failures.push((at, server, quoted(text)));
    }

    /// The GPU that all of it is about, and whether that was only assumed.
    fn gpu(&self, run: &ImportRun<'_>) -> (GpuId, bool) {
        match (&run.options.gpu, self.devices.first()) {
            (Some(name), _) => (given(name), false),
            (None, Some(device)) => (GpuId::from_index(*device), true),
            (None, None) => (GpuId::from_index(0), true),
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let Some(end) = self.last else { return Ok(()) };
        run.describe_source(|options| self.clock.origin(options, "nvidia-cuda-mps-control"))?;
        let (gpu, is_assumed) = self.gpu(run);
        let mut programs = Programs::default();
        for pid in &self.clients {
            programs.tell(run, &gpu, *pid, None)?;
        }
        self.tell_servers(run, &gpu, end)?;
        self.tell_failures(run, end)?;
        if self.hidden > 0 {
            let clients = if self.hidden == 1 { "client" } else { "clients" };
            let detail = format!(
                "{} {clients} connected from another PID namespace; MPS writes no process id there",
                self.hidden
            );
            run.warn(detail.clone());
            let remedy = "run the daemon in the PID namespace of the host";
            run.blind_spot(BlindSpotKind::NotReported, None, None, detail, remedy)?;
        }
        if is_assumed {
            let detail = match self.devices.len() {
                0 => format!("no line names the GPU; it was taken for {gpu}"),
                1 => format!(
                    "the daemon counts GPUs as its own environment shows them; its device was taken for {gpu}"
                ),
                _ => format!(
                    "servers use several devices, and no line says which a client used; all was taken for {gpu}"
                ),
            };
            let remedy = "name the GPU: --gpu UUID";
            run.warn(format!("{detail}; {remedy}"));
            let subject = Some(Subject::device(&gpu));
            run.blind_spot(BlindSpotKind::Ambiguous, subject, None, detail, remedy)?;
        }
        self.clock.report_assumptions(run)
    }

    fn tell_servers(
        &self,
        run: &mut ImportRun<'_>,
        gpu: &GpuId,
        end: Timestamp,
    ) -> Result<(), ImportError> {
        for server in self.servers.values() {
            let span = TimeSpan::covering(server.from, server.until.unwrap_or(end));
            run.has_facts_only();
            run.fact(Fact::Phase(Phase { label: "MPS".to_owned(), span, gpu: Some(gpu.clone()) }))?;
            run.fact(Fact::BlindSpot(BlindSpot {
                kind: BlindSpotKind::Ambiguous,
                subject: Some(Subject::device(gpu)),
                metric: Some(Metric::GpuUtilization),
                span: Some(span),
                detail: "clients of an MPS server work through one context: the driver does not say which of them used the GPU".to_owned(),
                remedy: "measure throughput or latency of each client: --scrape or --tail".to_owned(),
            }))?;
        }
        Ok(())
    }

    /// From a failure to the next server that is ready, clients had none.
    fn tell_failures(&self, run: &mut ImportRun<'_>, end: Timestamp) -> Result<(), ImportError> {
        let mut told_until = None;
        for (at, server, text) in &self.failures {
            if told_until.is_some_and(|it| *at < it) {
                continue;
            }
            let until = self.ready.range(*at..).next().copied().unwrap_or(end);
            told_until = Some(until);
            let who = server.map_or("a server".to_owned(), |it| format!("server {it}"));
            let detail = format!("{who} of MPS failed, and its clients with it: {text}");
            run.has_facts_only();
            run.warn(detail.clone());
            run.fact(Fact::BlindSpot(BlindSpot {
                kind: BlindSpotKind::Gap,
                subject: None,
                metric: None,
                span: Some(TimeSpan::covering(*at, until)),
                detail,
                remedy: "look for an Xid in the kernel log of that moment".to_owned(),
            }))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, read};

    fn import(text: &str) -> Outcome {
        let options =
            ImportOptions { gpu: Some("GPU-1a2b".to_owned()), ..ImportOptions::default() };
        read(&MpsLog, text, &options)
    }

    #[test]
    fn entries_of_old_and_new_daemons_say_the_same() {
        let said = |line: &str| Entry::parse(line).and_then(|it| event(&it));
        for (line, expected) in [
            (
                "[2013-08-05 13:02:10.866 Control 13894] NEW CLIENT 19276 from user 500: Server already exists",
                Event::Client(19276),
            ),
            (
                "mps  | [2021-06-27 07:30:26.216 Control     6] NEW CLIENT 0 from user 0: Server is not ready, push client to pending list",
                Event::Client(0),
            ),
            (
                "[2013-08-05 13:00:09.269 Server 13929] New client 14781 connected",
                Event::Client(14781),
            ),
            (
                "[2026-04-28 18:20:41.986 Server  4428] Client {PID: 4267, Context ID: 0} connected",
                Event::Client(4267),
            ),
            ("[2021-06-27 07:30:26.837 Control     6] NEW SERVER 17: Ready", Event::Ready(17)),
            ("[2021-06-27 07:30:26.837 Other    17] MPS Server is started", Event::Ready(17)),
            ("[2026-04-28 18:20:41.986 Server  4428] Server has started", Event::Ready(4428)),
            (
                "[2013-08-05 13:02:26.226 Control 13894] Server 13929 exited with status 0",
                Event::Ended(13929, true),
            ),
            (
                "[2024-12-10 06:38:01.170 Control    64] Server 92 exited with status 1",
                Event::Ended(92, false),
            ),
            (
                "[2024-12-10 06:38:01.158 Control    64] Server encountered a fatal exception. Shutting down",
                Event::Failed(None),
            ),
            (
                "[2024-04-29 11:22:10.441 Legacy Server   425] Failed to start : invalid argument",
                Event::Failed(Some(425)),
            ),
            (
                "[2021-06-27 07:30:26.807 Other    17] Volta MPS: Creating server context on device 1 (Tesla T4)",
                Event::Device(1),
            ),
        ] {
            assert_eq!(said(line), Some(expected), "{line}");
        }
        assert_eq!(
            said("[2021-06-27 07:30:58.151 Other    17] Volta MPS: Client process disconnected"),
            None
        );
        for other in ["[12345.6] NVRM: Xid", "[2021-06-27 07:30:58] Control", "Control 6] x", ""] {
            assert_eq!(Entry::parse(other), None, "{other}");
        }
    }

    const LOG: &str = "[2026-07-14 09:00:00.000 Control  6] Starting new server 17 for user 0\n[2026-07-14 09:00:01.000 Control  6] NEW SERVER 17: Ready\n[2026-07-14 09:00:02.000 Control  6] NEW CLIENT 4267 from user 0: Server already exists\n[2026-07-14 09:00:02.000 Server  17] Client {PID: 1073741824, Context ID: 1} connected\n[2026-07-14 09:00:30.000 Control  6] Server encountered a fatal exception. Shutting down\n[2026-07-14 09:00:30.100 Control  6] Server 17 exited with status 1\n[2026-07-14 09:00:40.000 Control  6] NEW SERVER 18: Ready\n[2026-07-14 09:01:00.000 Control  6] UI closed\n";

    #[test]
    fn servers_are_phases_clients_processes_and_a_failure_a_gap_until_the_next_server() {
        assert_eq!(MpsLog.recognise(LOG.as_bytes()), Likeness::Sure);
        let it = import(LOG);
        let outline = &it.recording.outline;
        let spans: Vec<_> = outline
            .phases
            .iter()
            .map(|it| (it.label.as_str(), it.span.seconds().round(), it.gpu.clone()))
            .collect();
        let gpu = Some(GpuId::new("GPU-1a2b"));
        assert_eq!(spans, [("MPS", 29.0, gpu.clone()), ("MPS", 20.0, gpu)]);
        let pids: Vec<_> = outline.processes.iter().map(|it| it.process.pid).collect();
        assert_eq!(pids, [4267]);
        let gaps: Vec<_> =
            outline.blind_spots.iter().filter(|it| it.kind == BlindSpotKind::Gap).collect();
        let [gap] = gaps.as_slice() else { panic!("{gaps:?}") };
        assert_eq!(gap.span.unwrap().seconds().round(), 10.0);
        assert!(gap.detail.contains("fatal exception"));
        assert!(it.blind_spots().contains(&"NotReported all all".to_owned()));
        assert!(it.summary().warnings.iter().all(|it| !it.contains("--gpu")));
    }

    #[test]
    fn without_a_name_the_gpu_is_assumed_and_said_to_be() {
        let it = read(&MpsLog, LOG, &ImportOptions::default());
        assert!(it.blind_spots().contains(&"Ambiguous gpu0 all".to_owned()));
        assert_eq!(it.recording.outline.processes[0].gpu.as_str(), "gpu0");
    }

    #[test]
    fn damage_costs_the_line_and_a_log_without_servers_is_empty() {
        let text = format!("junk\n{}{LOG}", "[2026-99-14 09:00:00.000 Control  6] NEW CLIENT 1\n");
        let it = import(&text);
        assert_eq!(it.summary().rejections.count(), 2);
        let idle = "[2026-07-14 09:00:00.000 Control  6] Accepting connection...\n";
        assert_eq!(import(idle).error().0, "log: holds no samples");
        assert_eq!(MpsLog.recognise(b"[    0.000000] Linux version\n"), Likeness::No);
    }
}
