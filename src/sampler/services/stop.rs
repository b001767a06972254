//! How threads are told to end.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A signal that all clones share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Tells everybody to end.
    pub(crate) fn give(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Waits, but not longer than until the signal; says whether it was given.
    pub(crate) fn within(&self, length: Duration) -> bool {
        let flag = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(flag, length, |is_given| !*is_given);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
