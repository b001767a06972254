//! Labels in a column become stretches of time.

use crate::domain::ident::GpuId;
use crate::domain::outline::Phase;
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;

/// How many steps between stamps the typical one is taken from.
const STEPS: usize = 1000;

#[derive(Debug)]
struct Stretch {
    gpu: Option<GpuId>,
    label: String,
    from: Timestamp,
    last: Timestamp,
}

/// Labels in a column become stretches of time.
///
/// A label lasts from its first stamp to the first stamp of the next one; the last label lasts
/// one typical interval longer than its last stamp. An empty cell ends a phase without another.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    open: Vec<Stretch>,
    steps: Vec<i64>,
}

impl Phases {
    /// Takes the label of one row; `gpu` is set where every GPU has phases of its own.
    pub(crate) fn note(
        &mut self,
        gpu: Option<&GpuId>,
        label: &str,
        at: Timestamp,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        let Some(open) = self.open.iter_mut().find(|it| it.gpu.as_ref() == gpu) else {
            let (gpu, label) = (gpu.cloned(), label.to_owned());
            self.open.push(Stretch { gpu, label, from: at, last: at });
            return Ok(());
        };
        let step = at.micros_since(open.last);
        if step > 0 && self.steps.len() < STEPS {
            self.steps.push(step);
        }
        if open.label == label {
            open.last = open.last.max(at);
            return Ok(());
        }
        let from = std::mem::replace(&mut open.from, at);
        let before = std::mem::replace(&mut open.label, label.to_owned());
        open.last = at;
        tell(open.gpu.clone(), before, TimeSpan::new(from, at), run)
    }

    /// Ends the phases that are still open.
    pub(crate) fn finish(mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.steps.sort_unstable();
        let typical = self.steps.get(self.steps.len() / 2).copied().unwrap_or(1);
        for Stretch { gpu, label, from, last } in self.open {
            tell(gpu, label, TimeSpan::new(from, last.plus_micros(typical)), run)?;
        }
        Ok(())
    }
}

fn tell(
    gpu: Option<GpuId>,
    label: String,
    span: Option<TimeSpan>,
    run: &mut ImportRun<'_>,
) -> Result<(), ImportError> {
    match span {
        Some(span) if !label.is_empty() => run.fact(Fact::Phase(Phase { label, span, gpu })),
        _ => Ok(()),
    }
}
