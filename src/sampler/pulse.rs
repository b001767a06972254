//! Whether a GPU's thread is inside a call of the driver, for those who wait for it.

use crate::sampler::gauge::Task;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Inside no call.
const NONE: i64 = i64::MIN;

/// The pulse of one GPU's thread.
#[derive(Debug)]
pub(crate) struct Pulse {
    since_us: AtomicI64,
    function: Mutex<&'static str>,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self { since_us: AtomicI64::new(NONE), function: Mutex::new("") }
    }

    /// A call begins.
    pub(crate) fn enter(&self, task: Task, now_us: i64) {
        self.enter_function(task.function(), now_us);
    }

    /// A call of this function begins.
    pub(crate) fn enter_function(&self, function: &'static str, now_us: i64) {
        *self.function.lock().unwrap_or_else(PoisonError::into_inner) = function;
        self.since_us.store(now_us, Ordering::Release);
    }

    /// The call is over.
    pub(crate) fn leave(&self) {
        self.since_us.store(NONE, Ordering::Release);
    }

    /// Since when the thread is inside which function.
    pub(crate) fn inside(&self) -> Option<(i64, &'static str)> {
        let since = self.since_us.load(Ordering::Acquire);
        let function = *self.function.lock().unwrap_or_else(PoisonError::into_inner);
        (since != NONE).then_some((since, function))
    }
}
