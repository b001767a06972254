//! Where importers and the sampler put what they see, in time order and without holding the whole.

use crate::domain::blind_spot::BlindSpot;
use crate::domain::contended::ContendedSpan;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, MigInstance, Phase, Process};
use crate::domain::processes::Followers;
use crate::domain::shape::ShapeSpan;
use crate::domain::source::{Source, SourceId};
use crate::domain::time::Timestamp;

/// Why a sink could not take a row; `Display` names the place, `remedy` says what to do.
#[derive(Debug)]
pub struct SinkError {
    /// What failed, with the file.
    pub message: String,
    /// What to do now.
    pub remedy: String,
}

impl std::fmt::Display for SinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SinkError {}

/// Something that an observer learnt besides samples.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A GPU was described; later descriptions complete earlier ones.
    Device(Device),
    /// A MIG instance was described.
    MigInstance(MigInstance),
    /// A process was described.
    Process(Process),
    /// Processes began whose readings stand under the name of another one of their program, which had ended.
    Follower(Followers),
    /// A stretch of time has a name.
    Phase(Phase),
    /// A source of readings; it precedes the rows that name it.
    Source(Source),
    /// Something could not be seen.
    BlindSpot(BlindSpot),
    /// The shape of an activity, as somebody else counted it.
    Shape(ShapeSpan),
    /// Time in which pairs of tenants were busy at once, as somebody else counted it.
    Contended(ContendedSpan),
}

/// Takes what an observer sees.
///
/// Rows of one subject come in time order, or nearly so: sinks sort by time. A row that repeats
/// subject, stamp and metric replaces the reading before it. Values are finite: what was not measured is not in the list.
pub trait Sink {
    /// Takes the readings of one subject at one instant.
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError>;

    /// Takes a fact.
    fn fact(&mut self, fact: Fact) -> Result<(), SinkError>;

    /// Makes what was taken so far safe from a crash, where the sink can.
    ///
    /// `_now_us` is the recorder's own clock, microseconds from any start; it never jumps.
    fn checkpoint(&mut self, _now_us: i64) -> Result<(), SinkError> {
        Ok(())
    }
}
