//! Device memory that no visible process holds.

use crate::domain::ident::{Subject, TenantId};
use crate::domain::metric::Metric;
use crate::sampler::clock::Moment;
use crate::sampler::gauge::Task;
use crate::sampler::message::{Message, Origin};
use crate::sampler::source::{Count, ProcessList};
use crate::sampler::tenants::{GHOST, Ghost, hidden_bytes};
use crate::sampler::watch::Watch;

/// Memory in use as the device last said, and what its driver keeps for itself.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    used_bytes: Option<u64>,
    /// `None` until the driver tells it apart from what is used; one that never does leaves open
    /// how much of the rest is its own.
    reserve_bytes: Option<u64>,
    ghost: Ghost,
}

impl Hidden {
    /// Notes what the device says about its memory.
    pub(super) fn note(&mut self, readings: &[(Metric, f64)]) {
        for (metric, value) in readings {
            match metric {
                Metric::FramebufferUsed => self.used_bytes = Some(*value as u64),
                Metric::FramebufferReserved => self.reserve_bytes = Some(*value as u64),
                _ => {}
            }
        }
    }
}

impl Watch {
    /// Tells of memory that none of these processes holds, where all of them are visible.
    pub(super) fn tell_hidden_memory(&mut self, memory: &[Count], at: Moment) {
        let (Some(used), Some(_)) = (self.hidden.used_bytes, self.hidden.reserve_bytes) else {
            return;
        };
        if !self.is_open(Task::List(ProcessList::Compute)) {
            return;
        }
        let visible: Vec<Option<u64>> =
            memory.iter().map(|it| it.value().map(|it| it as u64)).collect();
        // A driver that tells its reserve apart does not count it as used.
        if let Some(bytes) = self.hidden.ghost.seen(hidden_bytes(used, &visible, 0)) {
            let gpu = Some(self.gpu().clone());
            let subject = Subject::Tenant { gpu, tenant: TenantId::new(GHOST) };
            let readings = vec![(Metric::FramebufferUsed, bytes as f64)];
            self.tell(Message::Row { at: at.stamp(), subject, origin: Origin::Poll, readings });
        }
    }
}
