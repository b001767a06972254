//! What a tenant asks of a GPU that it has to itself.

use crate::colocation::draw::Draw;
use crate::colocation::range::Range;
use crate::colocation::share::Slice;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How lengths vary around their mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// Not at all.
    Fixed,
    /// Exponential.
    Exponential,
    /// Lognormal with this standard deviation of the logarithm.
    Lognormal(f64),
}

/// What begins a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Requests arrive whether or not earlier ones are done; they wait first in, first out.
    Open,
    /// The next piece begins a pause after the end of the one before.
    Closed,
}

/// What a delay of the GPU does to the tenant's own progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coupling {
    /// It waits for every piece of work: a request, a step that is not overlapped.
    Waits,
    /// Its work is queued ahead, so that a delay hides behind the work of its host.
    Pipelined,
    /// Not known; both are played.
    Unknown,
}

/// Something that a demand does not say and that had to be assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// Share of the SMs while active: not measured, taken as 0.65 of them (0.3 to all).
    ///
    /// 0.65 is what the slices of 32 published training jobs imply: 3 of 7 slices slow them by 1.43 in the median.
    WidthUnknown,
    /// Memory bandwidth while active: not measured, taken as none and, at the adverse end, half.
    BandwidthUnknown,
    /// Memory bandwidth taken as 0.9 of the driver's memory utilisation.
    BandwidthFromUtilisation,
    /// Power over idle: not measured, so a power cap is not played.
    PowerUnknown,
    /// Bursts are shorter than a bin; their length was inferred, and is right within a factor of three.
    BurstsInferred,
    /// Bursts are shorter than a bin and nothing tells how long: a tenth of a bin, a hundredth to the whole.
    BurstsUnknown,
    /// Recorded on another model of GPU.
    OtherGpu,
    /// Recorded beside others: the driver dealt engine time out, and work may have been stretched.
    CoProfiled,
    /// Requests are placed at random inside their bins.
    ArrivalsInBins,
    /// Variation of the service time: not measured, taken as lognormal with 0.3.
    ServiceSpreadUnknown,
    /// Latency outside of the GPU: not measured, taken as none.
    HostUnknown,
    /// Whether requests wait in a queue: not measured; busy time is taken as bursts that follow each other after pauses.
    PaceUnknown,
    /// An exporter counted its bursts: their lengths and heights are known in classes, their order within each scrape interval is drawn.
    OrderDrawn,
    /// It holds more pieces of work than are played: stretches spread over all of its time stand for it.
    PartPlayed,
}

impl Assumption {
    /// What was assumed and what it widens, as a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::WidthUnknown => {
                "the share of the SMs was not measured and is taken as 0.65; under MPS and MIG the ends are played with 0.3 and with all of them"
            }
            Self::BandwidthUnknown => {
                "memory bandwidth was not measured and is taken as none; under MPS and MIG the high end is played with half of the peak"
            }
            Self::BandwidthFromUtilisation => {
                "memory bandwidth is taken as 0.9 of the driver's memory utilisation, an upper limit; the low end is played with half of it"
            }
            Self::PowerUnknown => {
                "power was not measured, so a power cap is left out; the high end may be too low"
            }
            Self::BurstsInferred => {
                "bursts are shorter than the sampling window; their length is inferred and both ends are played with a third and three times of it"
            }
            Self::BurstsUnknown => {
                "bursts are shorter than the sampling window and their length could not be inferred; the ends are played from a hundredth of the window to all of it"
            }
            Self::OtherGpu => {
                "it was recorded on another model of GPU and scaled by SMs, clock and bandwidth; the interval is twice as wide"
            }
            Self::CoProfiled => {
                "it was recorded beside others, who took part of its time; the ends are widened by a tenth"
            }
            Self::ArrivalsInBins => {
                "requests are counted per bin and placed at random inside; this changes nothing for requests much shorter than a bin"
            }
            Self::ServiceSpreadUnknown => {
                "how service times vary was not measured; lognormal with 0.3 is assumed, which mostly moves the p99"
            }
            Self::HostUnknown => {
                "latency outside of the GPU was not measured and is taken as none, so that slowdowns are upper limits"
            }
            Self::PaceUnknown => {
                "no requests were seen; bursts are taken to begin a pause after the end of the one before"
            }
            Self::OrderDrawn => {
                "an exporter counted its bursts by length and height, and their order between two scrapes is drawn; whether they fall together with those of others is not known, so any phase is played"
            }
            Self::PartPlayed => {
                "it holds more than four million pieces of work; stretches spread over all of its time are played and stand for it, so that its phase beside others is not kept"
            }
        }
    }
}

/// Pieces of work on an undisturbed GPU: when each begins or arrives, and how long it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    at_s: Vec<f64>,
    work_s: Vec<f64>,
    span_s: f64,
}

impl Timeline {
    /// Pieces in time order over a span; what takes no time is left out.
    ///
    /// - Shape: `(at_s, work_s)`, `at_s` rising within 0..`span_s`, both in seconds.
    /// - `None`: out of order, not finite, or a span that is not positive.
    pub fn new(pieces: impl IntoIterator<Item = (f64, f64)>, span_s: f64) -> Option<Self> {
        let (at_s, work_s): (Vec<f64>, Vec<f64>) =
            pieces.into_iter().filter(|it| it.1 > 0.0).unzip();
        let in_order = at_s.windows(2).all(|pair| pair[0] <= pair[1]);
        let inside = at_s.iter().all(|it| (0.0..=span_s).contains(it));
        let finite = work_s.iter().all(|it| it.is_finite());
        let span = span_s.is_finite() && span_s > 0.0;
        (in_order && inside && finite && span).then_some(Self { at_s, work_s, span_s })
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.at_s.len()
    }

    /// Whether nothing is ever asked.
    pub fn is_empty(&self) -> bool {
        self.at_s.is_empty()
    }

    /// Length in seconds.
    pub fn span_s(&self) -> f64 {
        self.span_s
    }

    /// Share of the time that the work fills; above 1 for requests that never get done.
    pub fn busy_share(&self) -> f64 {
        self.work_s.iter().sum::<f64>() / self.span_s
    }

    /// When each piece begins or arrives, seconds.
    pub fn at_s(&self) -> &[f64] {
        &self.at_s
    }

    /// How long each piece takes, seconds.
    pub fn work_s(&self) -> &[f64] {
        &self.work_s
    }
}

/// What a tenant asks of a GPU that it has to itself.
///
/// Ranges are what could not be measured exactly; [`Demand::assumptions`] says why.
#[derive(Debug, Clone)]
pub struct Demand {
    /// Name of the tenant.
    pub name: String,
    /// What begins its work.
    pub pace: Pace,
    /// What a delay does to its progress.
    pub coupling: Coupling,
    /// Its work.
    pub timeline: Arc<Timeline>,
    /// The same work in shorter and in longer bursts, where their length is in doubt.
    pub doubts: Option<[Arc<Timeline>; 2]>,
    /// Latency outside of the GPU, seconds; nobody can slow it.
    pub host_s: f64,
    /// Share of the SMs while active.
    pub width: Range,
    /// Share of the peak memory bandwidth while active.
    pub bandwidth: Range,
    /// Power over idle while active at full speed, W; `None` when not measured.
    pub power_w: Option<f64>,
    /// Most memory held, bytes; `None` when not measured.
    pub memory_bytes: Option<f64>,
    /// Busy share and memory utilisation as the driver shows them, 0 to 1; `None` when not measured.
    pub driver: Option<DriverView>,
    /// Bursts or busy periods that the timeline was made from.
    pub bursts_seen: usize,
    /// What had to be assumed, in order, each once.
    pub assumptions: Vec<Assumption>,
}

/// What the driver's plain counters show on average, which published predictors go by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriverView {
    /// Share of time with a kernel running, 0 to 1.
    pub utilisation: f64,
    /// Share of time with memory traffic, 0 to 1.
    pub memory_utilisation: f64,
    /// Mean power of the whole GPU, W; `None` when not measured.
    pub power_w: Option<f64>,
}

impl Demand {
    /// A demand of which the work is known, and nothing else yet: all SMs, no bandwidth, no power.
    pub fn of(name: &str, pace: Pace, timeline: Timeline) -> Self {
        let bursts_seen = timeline.len();
        let coupling = if pace == Pace::Open { Coupling::Waits } else { Coupling::Unknown };
        Self {
            name: name.to_owned(),
            pace,
            coupling,
            timeline: Arc::new(timeline),
            doubts: None,
            host_s: 0.0,
            width: Range::exact(1.0),
            bandwidth: Range::exact(0.0),
            power_w: None,
            memory_bytes: None,
            driver: None,
            bursts_seen,
            assumptions: Vec::new(),
        }
    }

    /// Requests at random instants (Poisson) from plain numbers.
    ///
    /// `per_second` requests, each taking `service_s` seconds of the GPU alone. `None` for numbers that are not positive.
    pub fn requests(
        name: &str,
        per_second: f64,
        (service_s, spread): (f64, Spread),
        span_s: f64,
    ) -> Option<Self> {
        if !(per_second > 0.0 && service_s > 0.0 && span_s > 0.0) {
            return None;
        }
        let mut draw = Draw::named(name, 1);
        let mut at = 0.0;
        let pieces = std::iter::from_fn(|| {
            at += draw.exponential() / per_second;
            (at < span_s).then(|| (at, draw.length(service_s, spread)))
        });
        Some(Self::of(name, Pace::Open, Timeline::new(pieces, span_s)?))
    }

    /// Bursts and pauses from plain numbers: busy a share `duty` of the time, `burst_s` seconds at a time.
    ///
    /// `None` unless 0 < duty ≤ 1 and both times are positive.
    pub fn bursts(
        name: &str,
        duty: f64,
        (burst_s, spread): (f64, Spread),
        span_s: f64,
    ) -> Option<Self> {
        if !(duty > 0.0 && duty <= 1.0 && burst_s > 0.0 && span_s > 0.0) {
            return None;
        }
        let pause_s = burst_s * (1.0 - duty) / duty;
        let mut draw = Draw::named(name, 2);
        let mut at = draw.uniform() * pause_s;
        let mut pieces = Vec::new();
        while at < span_s {
            let work = draw.length(burst_s, spread).min(span_s - at);
            pieces.push((at, work));
            at += work + draw.length(pause_s, spread);
        }
        Some(Self::of(name, Pace::Closed, Timeline::new(pieces, span_s)?))
    }

    /// The same with a stated share of the SMs and of the memory bandwidth while active.
    pub fn wide(self, width: f64, bandwidth: f64) -> Self {
        Self { width: Range::exact(width), bandwidth: Range::exact(bandwidth), ..self }
    }

    /// The same, where it was recorded inside a MIG instance: its shares are shares of that.
    ///
    /// What it would use of a whole GPU beyond the instance was not seen.
    pub fn inside(self, slice: Slice) -> Self {
        let part = |it: Range, share: f64| Range {
            expected: share * it.expected,
            low: share * it.low,
            high: share * it.high,
        };
        let width = part(self.width, slice.compute());
        let bandwidth = part(self.bandwidth, slice.bandwidth());
        Self { width, bandwidth, ..self }
    }

    /// The same with a stated power over idle while active, W.
    pub fn powered(self, power_w: f64) -> Self {
        Self { power_w: Some(power_w), ..self }
    }

    /// The same with a stated latency outside of the GPU, seconds.
    pub fn hosted(self, host_s: f64) -> Self {
        Self { host_s, ..self }
    }

    /// The same with a stated coupling.
    pub fn coupled(self, coupling: Coupling) -> Self {
        Self { coupling, ..self }
    }

    /// Share of the time that its work fills alone.
    pub fn busy_share(&self) -> f64 {
        self.timeline.busy_share()
    }

    /// Whether it never asks for anything.
    pub fn is_idle(&self) -> bool {
        self.timeline.is_empty()
    }

    pub(crate) fn assume(&mut self, assumption: Assumption) {
        if let Err(place) = self.assumptions.binary_search(&assumption) {
            self.assumptions.insert(place, assumption);
        }
    }
}
