//! A recording under way: starts a thread for each GPU, writes what they tell, and looks after them.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::MigInstance;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::time::TimeSpan;
use crate::sampler::clock::{Clock, Moment, own_cpu_us};
use crate::sampler::crew::Crew;
use crate::sampler::gauge::LEAST_COUNTERS_US;
use crate::sampler::message::{Message, Notice, Origin, blind, sources};
use crate::sampler::plan::{Audience, Plan, Status};
use crate::sampler::pulse::Pulse;
use crate::sampler::services::{self, Event};
use crate::sampler::source::{GpuHost, GpuSource, Identity, Refusal};
use crate::sampler::tenants::Tenants;
use crate::sampler::watch::{
    FIRST_RETRY_US, HANG_US, LONGEST_RETRY_US, LOOK_UP_US, Shared, Watch, label,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Messages that may wait to be written: a disk that is slow for seconds holds nobody up.
const QUEUE: usize = 8192;
/// How often the writer takes what was told; nobody has to wake it up.
const WRITE_US: i64 = 100_000;
/// A look may come so much too early, to be made with another one: a twentieth of the interval.
const MOST_SLACK_US: u64 = 2_000;
/// How often what was taken is made safe; with the drain of rings less than a second is lost.
const CHECKPOINT_US: i64 = 300_000;
/// How often the status is told.
const STATUS_US: i64 = 1_000_000;
/// How long the threads may take to end.
const FAREWELL_US: i64 = 2_500_000;
/// Processor time is judged over so many seconds in a row.
const PATIENCE: u32 = 10;
/// Stack of a thread; they call the driver and hold little.
pub(crate) const STACK_BYTES: usize = 512 << 10;
/// Name of the tenant that readings about the recorder itself belong to.
const SELF: &str = "cotenant";

/// A GPU's thread as the writer sees it.
struct Thread {
    identity: Identity,
    pulse: Arc<Pulse>,
    is_ended: bool,
    /// Since when it hangs, once that has been told.
    hangs: Option<(Moment, &'static str)>,
}

/// Records until the plan's end or the audience's word.
///
/// `services` brings what tenants say about themselves; nothing waits for it.
///
/// Errors: the sink cannot take what is seen; what it took before stays.
pub fn run(
    host: &Arc<dyn GpuHost>,
    clock: &Arc<dyn Clock>,
    plan: &Plan,
    tenants: &mut dyn Tenants,
    services: &Receiver<Event>,
    sink: &mut dyn Sink,
    audience: &mut dyn Audience,
) -> Result<Status, SinkError> {
    let shared = Arc::new(Shared {
        host: Arc::clone(host),
        clock: Arc::clone(clock),
        is_over: AtomicBool::new(false),
        interval_us: plan.interval_us,
        slack_us: (plan.interval_us / 20).min(MOST_SLACK_US) as i64,
        budget: plan.budget / plan.gpus.len().max(1) as f64,
        root: plan.root.clone(),
        host_name: plan.host_name.clone(),
        driver: host.driver(),
    });
    let (sender, messages) = sync_channel(QUEUE);
    let counters_us = plan.interval_us.max(LEAST_COUNTERS_US);
    for source in sources(plan.first_source, plan.interval_us, counters_us) {
        sink.fact(Fact::Source(source))?;
    }
    let crew = Crew::new(&shared, plan.gpus.len() + plan.unreachable.len());
    let threads = start(&shared, &crew, plan, &sender);
    crew.relieve();
    drop(sender);
    let now = clock.now();
    let mut recorder = Recorder {
        shared: Arc::clone(&shared),
        crew,
        plan,
        tenants,
        services,
        sink,
        audience,
        threads,
        began: now,
        status: Status::default(),
        checkpoint_us: now.monotonic_us,
        told: (now.monotonic_us, own_cpu_us()),
        over_budget: 0,
    };
    let outcome = recorder.record(&messages);
    shared.is_over.store(true, Ordering::Release);
    outcome
}

/// Starts a thread for each GPU: for its first look, and for whatever may take long.
fn start(
    shared: &Arc<Shared>,
    crew: &Arc<Crew>,
    plan: &Plan,
    sender: &SyncSender<Message>,
) -> Vec<Thread> {
    let start_us = shared.clock.now().monotonic_us;
    let mut threads = Vec::new();
    let unreachable = plan.unreachable.iter().map(|it| Identity::unknown(it.0));
    for (place, identity) in plan.gpus.iter().cloned().chain(unreachable).enumerate() {
        let pulse = Arc::new(Pulse::new());
        let thread = Thread {
            identity: identity.clone(),
            pulse: Arc::clone(&pulse),
            is_ended: false,
            hangs: None,
        };
        let (shared, sender, crew) = (Arc::clone(shared), sender.clone(), Arc::clone(crew));
        let work = move || {
            if let Some(source) = opened(&shared, &sender, &pulse, &identity) {
                let watch = Watch::new(&shared, sender.clone(), &pulse, source, start_us);
                Box::new(watch).run(&crew, place);
            }
            let _ = sender.send(Message::Ended(place));
        };
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let is_ended = builder.name(format!("gpu {place}")).spawn(work).is_err();
        threads.push(Thread { is_ended, ..thread });
    }
    threads
}

/// A GPU that is opened, sooner or later; `None` when the recording is over before.
fn opened(
    shared: &Shared,
    sender: &SyncSender<Message>,
    pulse: &Pulse,
    identity: &Identity,
) -> Option<Box<dyn GpuSource>> {
    let mut wait_us = FIRST_RETRY_US;
    loop {
        pulse.enter_function("nvmlDeviceGetHandleByUUID", shared.clock.now().monotonic_us);
        let source = shared.host.open(identity);
        pulse.leave();
        match source {
            Ok(source) => return Some(source),
            Err(refusal) if wait_us == FIRST_RETRY_US => tell_closed(sender, identity, refusal),
            Err(_) => {}
        }
        let next_us = shared.clock.now().monotonic_us + wait_us;
        while shared.clock.now().monotonic_us < next_us {
            if shared.is_over.load(Ordering::Acquire) {
                return None;
            }
            shared.clock.sleep_until(shared.clock.now().monotonic_us + LOOK_UP_US);
        }
        wait_us = (2 * wait_us).min(LONGEST_RETRY_US);
    }
}

fn tell_closed(sender: &SyncSender<Message>, identity: &Identity, refusal: Refusal) {
    let detail = format!("{}: cannot be opened: {refusal}", label(identity));
    let subject = Subject::device(&identity.gpu);
    let _ = sender.send(Notice::warning(format!("{detail}; it is looked for")));
    let kind = BlindSpotKind::NotReported;
    let _ = sender.send(blind(kind, subject, None, None, detail, refusal.remedy()));
}

struct Recorder<'a> {
    shared: Arc<Shared>,
    crew: Arc<Crew>,
    plan: &'a Plan,
    tenants: &'a mut dyn Tenants,
    services: &'a Receiver<Event>,
    sink: &'a mut dyn Sink,
    audience: &'a mut dyn Audience,
    threads: Vec<Thread>,
    began: Moment,
    status: Status,
    checkpoint_us: i64,
    /// When the status was last told, and the processor time until then.
    told: (i64, i64),
    over_budget: u32,
}

impl Recorder<'_> {
    fn record(&mut self, messages: &Receiver<Message>) -> Result<Status, SinkError> {
        let mut ending_us = None;
        self.tell_unseen_people()?;
        loop {
            let wake_us = self.shared.clock.now().monotonic_us + WRITE_US;
            self.shared.clock.sleep_until(wake_us);
            self.take_waiting(messages)?;
            self.take_services()?;
            let now = self.shared.clock.now();
            self.look_after(now);
            if now.monotonic_us - self.checkpoint_us >= CHECKPOINT_US {
                self.checkpoint_us = now.monotonic_us;
                self.sink.checkpoint(now.monotonic_us)?;
            }
            if now.monotonic_us - self.told.0 >= STATUS_US {
                self.tell_status(now)?;
            }
            let is_timed_out = ending_us.is_some_and(|it| now.monotonic_us - it > FAREWELL_US);
            if is_timed_out || self.threads.iter().all(|it| it.is_ended) {
                break;
            }
            if ending_us.is_none() && self.is_over(now) {
                self.shared.is_over.store(true, Ordering::Release);
                ending_us = Some(now.monotonic_us);
            }
        }
        self.take_waiting(messages)?;
        self.close_hanging()?;
        let now = self.shared.clock.now();
        self.status.seconds = seconds(now.monotonic_us - self.began.monotonic_us);
        self.sink.checkpoint(now.monotonic_us)?;
        Ok(self.status)
    }

    fn is_over(&mut self, now: Moment) -> bool {
        let passed_us = now.monotonic_us - self.began.monotonic_us;
        self.audience.is_over() || self.plan.duration_us.is_some_and(|it| passed_us >= it)
    }

    /// Takes all messages that are there.
    fn take_waiting(&mut self, messages: &Receiver<Message>) -> Result<(), SinkError> {
        for message in messages.try_iter().take(QUEUE) {
            self.take(message)?;
        }
        Ok(())
    }

    /// Takes what services said about themselves meanwhile.
    fn take_services(&mut self) -> Result<(), SinkError> {
        let taken = services::drain(self.services, self.sink)?;
        self.status.readings += taken.readings;
        for text in taken.notices {
            self.audience.notice(&Notice { text, is_warning: true });
        }
        Ok(())
    }

    /// What could not be seen of processes is said, and kept.
    fn tell_unseen_people(&mut self) -> Result<(), SinkError> {
        for spot in self.tenants.blind_spots() {
            let text = format!("{}; {}", spot.detail, spot.remedy);
            self.audience.notice(&Notice { text, is_warning: true });
            self.sink.fact(Fact::BlindSpot(spot))?;
        }
        Ok(())
    }

    fn take(&mut self, message: Message) -> Result<(), SinkError> {
        match message {
            Message::Row { at, subject, origin, readings } => {
                self.status.readings += readings.len() as u64;
                let source = origin.source(self.plan.first_source);
                self.sink.row(at, &subject, source, &readings)?;
            }
            Message::Fact(fact) => self.sink.fact(fact)?,
            Message::Sighting { gpu, process, instance, name } => {
                let mut described = self.tenants.describe(&gpu, process);
                described.name = described.name.or(name);
                if let (Some(instance), Some(tenant)) = (instance, described.tenant.clone()) {
                    let tenants = vec![tenant];
                    let lives = MigInstance { instance, profile: None, tenants };
                    self.sink.fact(Fact::MigInstance(lives))?;
                }
                self.sink.fact(Fact::Process(described))?;
                self.tell_unseen_people()?;
            }
            Message::Notice(notice) => self.audience.notice(&notice),
            Message::Looked { missed } => {
                self.status.looks += 1;
                self.status.missed += missed;
            }
            Message::Ended(place) => {
                if let Some(thread) = self.threads.get_mut(place) {
                    thread.is_ended = true;
                }
            }
        }
        Ok(())
    }

    /// Says when a GPU's thread hangs inside the driver; the others go on.
    fn look_after(&mut self, now: Moment) {
        self.crew.look_after(now.monotonic_us);
        for thread in &mut self.threads {
            let inside = thread.pulse.inside();
            let hanging = inside.filter(|it| now.monotonic_us - it.0 > HANG_US);
            match (hanging, thread.hangs) {
                (Some((since_us, function)), None) => {
                    let for_us = now.monotonic_us - since_us;
                    let since = Moment { realtime_us: now.realtime_us - for_us, ..now };
                    thread.hangs = Some((since, function));
                    let text = format!(
                        "{}: {function} has not answered for {:.0} s; the other GPUs go on",
                        label(&thread.identity),
                        seconds(for_us)
                    );
                    self.audience.notice(&Notice { text, is_warning: true });
                }
                (None, Some(_)) => thread.hangs = None,
                _ => {}
            }
        }
        let is_seen = |it: &&Thread| !it.is_ended && it.hangs.is_none();
        self.status.gpus = self.threads.iter().filter(is_seen).count();
    }

    /// A GPU that hangs to the end leaves a gap.
    fn close_hanging(&mut self) -> Result<(), SinkError> {
        let now = self.shared.clock.now();
        for thread in &self.threads {
            let Some((since, function)) = thread.hangs else { continue };
            let detail = format!("{}: {function} hung to the end", label(&thread.identity));
            let subject = Subject::device(&thread.identity.gpu);
            let span = Some(TimeSpan::covering(since.stamp(), now.stamp()));
            let remedy = "see what `dmesg` says about the GPU";
            let message = blind(BlindSpotKind::Gap, subject, None, span, detail, remedy);
            if let Message::Fact(fact) = message {
                self.sink.fact(fact)?;
            }
        }
        Ok(())
    }

    fn tell_status(&mut self, now: Moment) -> Result<(), SinkError> {
        let cpu_us = own_cpu_us();
        let passed_us = (now.monotonic_us - self.told.0).max(1);
        self.status.cpu_ratio = (cpu_us - self.told.1) as f64 / passed_us as f64;
        self.status.memory_bytes = own_memory(&self.plan.root);
        self.status.seconds = seconds(now.monotonic_us - self.began.monotonic_us);
        self.told = (now.monotonic_us, cpu_us);
        let subject = Subject::Tenant { gpu: None, tenant: TenantId::new(SELF) };
        let mut readings = vec![(Metric::ObserverCpu, self.status.cpu_ratio)];
        readings.extend(self.status.memory_bytes.map(|it| (Metric::ObserverMemory, it as f64)));
        let source = Origin::Own.source(self.plan.first_source);
        self.sink.row(now.stamp(), &subject, source, &readings)?;
        self.keep_budget()?;
        self.audience.status(&self.status);
        Ok(())
    }

    /// Says once when watching takes more of a core than it may.
    fn keep_budget(&mut self) -> Result<(), SinkError> {
        let is_over = self.status.cpu_ratio > self.plan.budget;
        self.over_budget = match is_over {
            true => self.over_budget.saturating_add(1),
            false if self.over_budget < PATIENCE => 0,
            false => self.over_budget,
        };
        if self.over_budget != PATIENCE || !is_over {
            return Ok(());
        }
        let detail = format!(
            "recording takes {:.1} % of one core, more than the budget of {:.1} %",
            100.0 * self.status.cpu_ratio,
            100.0 * self.plan.budget
        );
        let remedy = "choose a longer --interval, fewer GPUs with --gpu, or raise --budget";
        let text = format!("{detail}; {remedy}");
        self.audience.notice(&Notice { text, is_warning: true });
        let subject = Subject::Tenant { gpu: None, tenant: TenantId::new(SELF) };
        match blind(BlindSpotKind::TooCoarse, subject, None, None, detail, remedy) {
            Message::Fact(fact) => self.sink.fact(fact),
            _ => Ok(()),
        }
    }
}

fn seconds(us: i64) -> f64 {
    us as f64 / 1e6
}

/// Memory of this program, by the second number of `statm`, in pages.
fn own_memory(root: &std::path::Path) -> Option<u64> {
    let statm = std::fs::read_to_string(root.join("proc/self/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
