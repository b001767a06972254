//! Sleep of the host, and a wall clock that somebody set.

use crate::domain::time::TimeSpan;
use crate::sampler::clock::{Jump, Moment, jump};
use crate::sampler::gauge::Task;
use crate::sampler::source::Pace;
use crate::sampler::watch::Watch;

/// A look that is so much too late leaves a gap, microseconds.
const HELD_UP_US: i64 = 1_500_000;

impl Watch {
    /// Whether the clocks jumped since they were last looked at; says so, and goes on with the new time.
    pub(super) fn check_clocks(&mut self, now: Moment) -> bool {
        let before = std::mem::replace(&mut self.last, now);
        let Some(jumped) = jump(before, now) else { return false };
        let what = match jumped {
            Jump::Suspended(us) => format!("the host slept for {:.1} s", us as f64 / 1e6),
            Jump::Stepped(us) => format!("the wall clock was set by {:.1} s", us as f64 / 1e6),
        };
        let span = TimeSpan::covering(before.stamp(), now.stamp());
        self.gap(None, span, format!("{}: {what}", self.label), "");
        if let Jump::Stepped(by_us) = jumped {
            self.set_back_us += (-by_us).max(0);
            self.began = self.began.min(self.began.plus_micros(by_us));
        }
        if self.stamps.jumped(jumped, before, now) {
            self.read_rings_anew(now);
        }
        self.forget_history();
        true
    }

    /// Says when a look comes so late that the recorder must have been held up.
    pub(super) fn check_lateness(&mut self, pace: Pace) {
        let now = self.now();
        let due_us = self.due_us()[pace as usize].max(self.held_up_us);
        let late_us = now.monotonic_us.saturating_sub(due_us);
        if late_us <= HELD_UP_US {
            return;
        }
        self.held_up_us = now.monotonic_us;
        let detail = format!(
            "{}: nobody looked for {:.1} s: the recorder was held up",
            self.label,
            late_us as f64 / 1e6
        );
        let since = now.stamp().plus_micros(-late_us);
        self.gap(None, TimeSpan::covering(since, now.stamp()), detail, "");
    }

    /// Looks at once what stands in the rings, so that later samples are known to be new.
    fn read_rings_anew(&mut self, now: Moment) {
        for cursor in self.rings.values_mut() {
            cursor.begin_anew();
        }
        self.processes.begin_anew();
        for gauge in &mut self.gauges {
            if let Task::Ring(_) | Task::ProcessRing = gauge.task {
                gauge.due_us = now.monotonic_us;
            }
        }
    }
}
