//! A GPU that is lost, and how it is found again.

use crate::domain::time::TimeSpan;
use crate::sampler::gauge::gauges;
use crate::sampler::message::Notice;
use crate::sampler::source::{GpuSource, Question, Refusal};
use crate::sampler::watch::{LOOK_UP_US, Watch};

/// A GPU that is lost is looked for again after so long, doubled each time up to the longest.
pub(crate) const FIRST_RETRY_US: i64 = 1_000_000;
pub(crate) const LONGEST_RETRY_US: i64 = 30_000_000;

impl Watch {
    /// Waits until a lost GPU can be opened again. `false`: the recording is over.
    pub(super) fn wait_for_return(&mut self, refusal: Refusal) -> bool {
        let lost = self.now();
        let detail = format!("{}: not seen: {refusal}", self.label);
        self.tell(Notice::warning(format!("{detail}; the other GPUs go on, and it is looked for")));
        let mut wait_us = FIRST_RETRY_US;
        let mut next_us = lost.monotonic_us + wait_us;
        loop {
            self.shared.clock.sleep_until(self.now().monotonic_us + LOOK_UP_US);
            let now = self.now();
            if self.is_over() {
                self.gap(
                    None,
                    TimeSpan::covering(lost.stamp(), now.stamp()),
                    detail,
                    refusal.remedy(),
                );
                return false;
            }
            if now.monotonic_us < next_us {
                continue;
            }
            if let Some(source) = self.reopen() {
                let span = TimeSpan::covering(lost.stamp(), self.now().stamp());
                self.gap(None, span, detail, refusal.remedy());
                self.tell(Notice::info(format!("{}: seen again", self.label)));
                self.begin_anew(source);
                return true;
            }
            wait_us = (2 * wait_us).min(LONGEST_RETRY_US);
            next_us = self.now().monotonic_us + wait_us;
        }
    }

    /// The GPU, if it can be opened and answers.
    fn reopen(&mut self) -> Option<Box<dyn GpuSource>> {
        self.pulse.enter_function("nvmlDeviceGetHandleByUUID", self.now().monotonic_us);
        let source = self.shared.host.open(&self.identity).ok();
        let source = source.and_then(|mut it| {
            let mut replies = Vec::new();
            let answer = it.ask(Question::Memory, &mut replies);
            let has_ended = |it: Refusal| it.ends_stream();
            let is_lost = answer.err().is_some_and(has_ended)
                || replies.iter().any(|it| it.count.err().is_some_and(has_ended));
            (!is_lost).then_some(it)
        });
        self.pulse.leave();
        source
    }

    pub(super) fn begin_anew(&mut self, source: Box<dyn GpuSource>) {
        self.identity = source.identity().clone();
        self.source = source;
        let now_us = self.now().monotonic_us;
        self.gauges = gauges(self.shared.interval_us, now_us);
        self.field_refusals.clear();
        self.lists.clear();
        self.forget_history();
        self.check_clocks(self.now());
        self.own.skip(self.now());
        self.held_up_us = self.now().monotonic_us;
    }
}
