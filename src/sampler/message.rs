//! What the threads of the GPUs tell the one that writes.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::source::{Reading, Source, SourceId};
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use std::collections::BTreeMap;

/// How a reading was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Asked for at the stamp.
    Poll,
    /// From a ring of the driver, with its stamp.
    Ring,
    /// The difference of two looks at performance counters.
    Counters,
    /// About the recorder itself.
    Own,
}

/// Every origin, in the order of their source numbers.
pub(crate) const ORIGINS: [Origin; 4] = [Origin::Poll, Origin::Ring, Origin::Counters, Origin::Own];

impl Origin {
    /// The number of its source, when the first one has this number.
    pub(crate) fn source(self, first: SourceId) -> SourceId {
        SourceId(first.0.saturating_add(self as u16))
    }
}

/// The sources that a recording names, the first with this number.
pub(crate) fn sources(first: SourceId, interval_us: u64, counters_us: u64) -> Vec<Source> {
    let source = |origin: Origin| {
        let (clock, asked_us) = match origin {
            Origin::Poll => ("clock of the host, middle of the call", Some(interval_us)),
            Origin::Ring => ("stamps of the driver, on the clock of the host", None),
            Origin::Counters => ("clock of the host, end of the window", Some(counters_us)),
            Origin::Own => ("clock of the host", Some(1_000_000)),
        };
        let readings = match origin {
            Origin::Counters => {
                let average = Reading::WindowAverage { window: None };
                BTreeMap::from([(Metric::SmActive, average), (Metric::DramActive, average)])
            }
            Origin::Ring => {
                let average = Reading::WindowAverage { window: None };
                let both = [Metric::GpuUtilization, Metric::MemoryUtilization];
                both.map(|it| (it, average)).into()
            }
            _ => BTreeMap::new(),
        };
        Source {
            id: origin.source(first),
            format: "sampler".to_owned(),
            tool: "cotenant".to_owned(),
            tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            file: None,
            asked_interval: asked_us.and_then(SampleInterval::from_micros),
            clock: clock.to_owned(),
            readings,
        }
    };
    ORIGINS.into_iter().map(source).collect()
}

/// Something that the user should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The sentence; names the GPU.
    pub text: String,
    /// Whether something is wrong.
    pub is_warning: bool,
}

impl Notice {
    pub(crate) fn warning(text: String) -> Message {
        Message::Notice(Self { text, is_warning: true })
    }

    pub(crate) fn info(text: String) -> Message {
        Message::Notice(Self { text, is_warning: false })
    }
}

/// What a thread tells.
#[derive(Debug)]
pub(crate) enum Message {
    /// Readings of one subject at one instant.
    Row { at: Timestamp, subject: Subject, origin: Origin, readings: Vec<(Metric, f64)> },
    /// Something besides samples.
    Fact(Fact),
    /// A process was seen for the first time.
    Sighting {
        gpu: GpuId,
        process: ProcessKey,
        instance: Option<MigInstanceId>,
        /// Name that the driver knows, without folders and arguments.
        name: Option<String>,
    },
    /// Something that the user should know at once.
    Notice(Notice),
    /// A look at a GPU was made, or so many were missed.
    Looked { missed: u64 },
    /// The thread of this GPU, by its place, has ended.
    Ended(usize),
}

/// A blind spot as a message.
pub(crate) fn blind(
    kind: BlindSpotKind,
    subject: Subject,
    metric: Option<Metric>,
    span: Option<TimeSpan>,
    detail: String,
    remedy: &str,
) -> Message {
    Message::Fact(Fact::BlindSpot(BlindSpot {
        kind,
        subject: Some(subject),
        metric,
        span,
        detail,
        remedy: remedy.to_owned(),
    }))
}
