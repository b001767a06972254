//! One GPU, watched until the recording ends.

mod ask;
mod comeback;
mod drain;
mod hidden;
mod jumps;
mod own;
mod people;
mod probe;

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::sampler::births::Births;
use crate::sampler::clock::{Clock, Moment};
use crate::sampler::crew::Crew;
use crate::sampler::gauge::{Gauge, State, Task, gauges};
use crate::sampler::layout::Layout;
use crate::sampler::message::{Message, Notice, Origin, blind};
use crate::sampler::pulse::Pulse;
use crate::sampler::rings::Cursor;
use crate::sampler::sieve::Sieve;
use crate::sampler::source::{
    GpuHost, GpuSource, Identity, ListedProcess, Pace, Part, ProcessList, Refusal, Ring,
};
use crate::sampler::stamps::Stamps;
pub(crate) use crate::sampler::watch::comeback::{FIRST_RETRY_US, LONGEST_RETRY_US};
use crate::sampler::watch::hidden::Hidden;
use crate::sampler::watch::own::Own;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

/// A call that takes longer than this has hung, microseconds.
pub(crate) const HANG_US: i64 = 2_000_000;
/// How often a thread that waits looks whether the recording is over.
pub(crate) const LOOK_UP_US: i64 = 100_000;
/// Gaps of one GPU that are told one by one; a GPU that fails on and off must not fill the recording.
const MOST_GAPS: u32 = 200;

/// What the threads of all GPUs share.
pub(crate) struct Shared {
    pub(crate) host: Arc<dyn GpuHost>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) is_over: AtomicBool,
    pub(crate) interval_us: u64,
    /// A look that is due within this is made with those before it.
    pub(crate) slack_us: i64,
    /// Share of time that calls about one GPU may take.
    pub(crate) budget: f64,
    pub(crate) root: PathBuf,
    pub(crate) host_name: Option<String>,
    pub(crate) driver: Option<String>,
}

/// One GPU under watch.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    messages: SyncSender<Message>,
    pulse: Arc<Pulse>,
    /// Set by the thread that waits for events.
    layout_changed: Arc<AtomicBool>,
    identity: Identity,
    label: String,
    subject: Subject,
    source: Box<dyn GpuSource>,
    gauges: Vec<Gauge>,
    /// Fields of the batch that are refused, and need a question of their own.
    field_refusals: BTreeMap<Metric, Refusal>,
    /// What each list held when it was last read.
    lists: BTreeMap<ProcessList, Vec<ListedProcess>>,
    sieve: Sieve,
    parts: BTreeMap<Part, Sieve>,
    /// When counters of each part were last read, monotonic.
    counted_us: BTreeMap<Part, i64>,
    stamps: Stamps,
    rings: BTreeMap<Ring, Cursor>,
    processes: Cursor,
    births: Births,
    layout: Layout,
    hidden: Hidden,
    own: Own,
    began: Timestamp,
    /// How far the wall clock was set back in all.
    set_back_us: i64,
    last: Moment,
    /// Until when it was already said that nobody looked, monotonic.
    held_up_us: i64,
    gaps: u32,
    /// Why nothing more can be asked.
    ending: Option<Refusal>,
}

/// What a GPU is called in messages: `GPU 0 (GPU-1a2b3c4d…)`.
pub(crate) fn label(identity: &Identity) -> String {
    let id = identity.gpu.as_str();
    match id.char_indices().nth(12) {
        Some((end, _)) => format!("GPU {} ({}…)", identity.index, &id[..end]),
        None => format!("GPU {}", identity.index),
    }
}

impl Watch {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        messages: SyncSender<Message>,
        pulse: &Arc<Pulse>,
        source: Box<dyn GpuSource>,
        start_us: i64,
    ) -> Self {
        let identity = source.identity().clone();
        let now = shared.clock.now();
        Self {
            label: label(&identity),
            subject: Subject::device(&identity.gpu),
            gauges: gauges(shared.interval_us, start_us),
            births: Births::below(&shared.root),
            shared: Arc::clone(shared),
            messages,
            pulse: Arc::clone(pulse),
            layout_changed: Arc::new(AtomicBool::new(false)),
            identity,
            source,
            field_refusals: BTreeMap::new(),
            lists: BTreeMap::new(),
            sieve: Sieve::default(),
            parts: BTreeMap::new(),
            counted_us: BTreeMap::new(),
            stamps: Stamps::default(),
            rings: BTreeMap::new(),
            processes: Cursor::default(),
            layout: Layout::default(),
            hidden: Hidden::default(),
            own: Own::new(now),
            began: now.stamp(),
            set_back_us: 0,
            last: now,
            held_up_us: now.monotonic_us,
            gaps: 0,
            ending: None,
        }
    }

    /// Watches until the recording is over; through losses of the GPU and its returns.
    pub(crate) fn run(mut self: Box<Self>, crew: &Crew, place: usize) {
        loop {
            self.introduce();
            self.probe();
            let events = self.begin_events();
            if !self.is_lost() {
                self = crew.look_at(place, self);
            }
            let Some(refusal) = self.ending.take() else {
                self.drain_rings();
                self.close_failures();
                if let Some(it) = events {
                    it.wait();
                }
                return;
            };
            if let Some(it) = &events {
                it.end();
            }
            if !self.wait_for_return(refusal) {
                return;
            }
        }
    }

    fn gpu(&self) -> &GpuId {
        &self.identity.gpu
    }

    fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Acquire)
    }

    /// A writer that is gone ends the recording, so a message to nobody is no error.
    fn tell(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    fn tell_row(&self, at: Timestamp, origin: Origin, readings: Vec<(Metric, f64)>) {
        if !readings.is_empty() {
            self.tell(Message::Row { at, subject: self.subject.clone(), origin, readings });
        }
    }

    fn introduce(&self) {
        self.tell(Message::Fact(Fact::Device(Device {
            gpu: self.identity.gpu.clone(),
            index: Some(self.identity.index),
            bus_id: self.identity.bus_id.clone(),
            model: self.identity.model.clone(),
            host: self.shared.host_name.clone(),
            driver: self.shared.driver.clone(),
            is_mig: self.identity.is_mig,
        })));
    }

    /// Whether nothing more can be asked.
    pub(crate) fn is_lost(&self) -> bool {
        self.ending.is_some()
    }

    /// When each pace has its next look.
    pub(crate) fn due_us(&self) -> [i64; Pace::ALL.len()] {
        let mut due_us = [i64::MAX; Pace::ALL.len()];
        for gauge in self.gauges.iter().filter(|it| is_asked(it)) {
            let due_us = &mut due_us[gauge.pace as usize];
            *due_us = gauge.due_us.min(*due_us);
        }
        due_us
    }

    /// Does all tasks of a pace that are due, or nearly so.
    pub(crate) fn look(&mut self, pace: Pace) {
        self.check_clocks(self.now());
        self.check_lateness(pace);
        if self.layout_changed.swap(false, Ordering::AcqRel) {
            self.look_anew();
        }
        let now_us = self.now().monotonic_us;
        let soon_us = now_us + self.shared.slack_us;
        let is_due = |it: &Gauge| it.pace == pace && is_asked(it) && it.due_us <= soon_us;
        let due: Vec<usize> =
            (0..self.gauges.len()).filter(|it| is_due(&self.gauges[*it])).collect();
        if !due.is_empty() {
            self.tick(pace, &due, now_us);
        }
        self.own_rows();
    }

    fn tick(&mut self, pace: Pace, due: &[usize], now_us: i64) {
        let mut missed = 0;
        for place in due {
            missed = missed.max(self.gauges[*place].advance(now_us));
        }
        if pace == Pace::Fast {
            self.own.looked(self.now(), missed);
            self.tell(Message::Looked { missed });
        }
        self.ask_all(due);
        for place in due {
            match self.gauges[*place].task {
                Task::Ask(_) => {}
                Task::Ring(ring) => self.drain_ring(*place, ring),
                Task::ProcessRing => self.drain_processes(*place),
                Task::Instances => self.look_at_layout(*place),
                Task::Counters => self.read_counters(*place),
                Task::List(_) => {}
            }
        }
        self.list_processes(due);
    }

    /// Calls the driver, with the watchdog looking on; a call that hung and came back is a gap.
    fn call<T>(
        &mut self,
        place: usize,
        ask: impl FnOnce(&mut dyn GpuSource) -> Result<T, Refusal>,
    ) -> (Result<T, Refusal>, Moment, Moment) {
        let task = self.gauges[place].task;
        let before = self.now();
        self.pulse.enter(task, before.monotonic_us);
        let answer = ask(self.source.as_mut());
        self.pulse.leave();
        let after = self.now();
        let took_us = after.monotonic_us - before.monotonic_us;
        // The middle between two clocks would be no time at all.
        let before = if self.check_clocks(after) { after } else { before };
        self.own.called(took_us);
        if took_us > HANG_US {
            let detail = format!(
                "{}: {} hung for {:.1} s, and nothing else was seen meanwhile",
                self.label,
                task.function(),
                took_us as f64 / 1e6
            );
            self.tell(Notice::warning(format!("{detail}; it is seen again")));
            self.gap(None, TimeSpan::covering(before.stamp(), after.stamp()), detail, "");
            self.held_up_us = after.monotonic_us;
        } else {
            self.gauges[place].paid(took_us);
        }
        (answer, before, after)
    }

    /// Notes whether a task was answered. `false`: it was not.
    fn settle<T>(&mut self, place: usize, answer: &Result<T, Refusal>, now: Moment) -> bool {
        match answer {
            Ok(_) => self.settled(place, now),
            Err(refusal) => self.refuse(place, *refusal, now),
        }
        answer.is_ok()
    }

    fn settled(&mut self, place: usize, now: Moment) {
        if let Some((since, refusal)) = self.gauges[place].succeeded() {
            self.tell_failure(place, since, refusal, now.stamp());
        }
    }

    fn refuse(&mut self, place: usize, refusal: Refusal, now: Moment) {
        if refusal.ends_stream() {
            self.ending = self.ending.or(Some(refusal));
        } else if refusal.is_lasting() {
            let was_open = self.gauges[place].state == State::Open;
            self.gauges[place].state = State::Refused(refusal);
            if was_open {
                let function = self.gauges[place].task.function();
                let detail =
                    format!("{}: {function} is refused from here on: {refusal}", self.label);
                let span = TimeSpan::covering(now.stamp(), now.stamp());
                self.gap(None, span, detail, refusal.remedy());
            }
        } else {
            self.gauges[place].failed(now.stamp(), refusal, now.monotonic_us);
        }
    }

    fn tell_failure(&mut self, place: usize, since: Timestamp, refusal: Refusal, until: Timestamp) {
        let function = self.gauges[place].task.function();
        let detail = format!("{}: {function} failed for a while: {refusal}", self.label);
        let metric = match self.gauges[place].task {
            Task::Ask(question) => question.spec().metrics.first().copied(),
            Task::Ring(ring) => Some(ring.metric()),
            _ => None,
        };
        self.gap(metric, TimeSpan::covering(since, until), detail, refusal.remedy());
    }

    /// Tells of what still fails at the end.
    fn close_failures(&mut self) {
        let now = self.now();
        for place in 0..self.gauges.len() {
            if let Some((since, refusal)) = self.gauges[place].failing.take() {
                self.tell_failure(place, since, refusal, now.stamp());
            }
        }
    }

    fn gap(&mut self, metric: Option<Metric>, span: TimeSpan, detail: String, remedy: &str) {
        self.gaps += 1;
        let detail = match self.gaps.cmp(&MOST_GAPS) {
            std::cmp::Ordering::Less => detail,
            std::cmp::Ordering::Equal => {
                format!("{}: further gaps are not listed one by one", self.label)
            }
            std::cmp::Ordering::Greater => return,
        };
        let subject = self.subject.clone();
        self.tell(blind(BlindSpotKind::Gap, subject, metric, Some(span), detail, remedy));
    }

    /// Nothing is compared across a gap.
    fn forget_history(&mut self) {
        self.sieve.forget();
        self.parts.values_mut().for_each(Sieve::forget);
        self.source.forget_counters(Part::Whole);
        for number in self.layout.numbers() {
            self.source.forget_counters(Part::Instance(number));
        }
    }
}

/// Whether a task is worth a call at all.
fn is_asked(gauge: &Gauge) -> bool {
    !matches!(gauge.state, State::Refused(_))
}
