//! Stretches above a level, cut by two levels as `stats::bursts` cuts them, one sample at a time.

/// Share of the level below which a burst ends.
const OFF: f64 = 0.6;
/// Bursts shorter than a window count only from this height on.
const SHORT_BUT_HIGH: f64 = 0.5;

/// How one sample changed a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Step {
    /// Seconds that turned out to lie inside a burst.
    pub(crate) active_s: f64,
    /// Length of the burst that ended, in seconds.
    pub(crate) ended_s: Option<f64>,
}

/// A stretch of samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Stretch {
    samples: u32,
    seconds: f64,
}

impl Stretch {
    fn extend(&mut self, seconds: f64) {
        self.samples = self.samples.saturating_add(1);
        self.seconds += seconds;
    }
}

/// A burst under way, and the gap behind it that may turn out to be none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Open {
    burst: Stretch,
    gap: Stretch,
    height: f64,
    /// Seconds of the burst that were counted already.
    counted_s: f64,
}

/// Follows one level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    on: f64,
    off: f64,
    open: Option<Open>,
}

impl Run {
    /// Follows bursts at a level.
    pub(crate) fn of_level(level: f64) -> Self {
        Self { on: level, off: OFF * level, open: None }
    }

    /// Follows whatever is at or above one bound, without a second level.
    pub(crate) fn of_bound(bound: f64) -> Self {
        Self { on: bound, off: bound, open: None }
    }

    /// Takes a sample that stands for so many seconds.
    ///
    /// Gaps shorter than a window are closed, because a window cannot show them; `window_samples` is
    /// the window over the time between samples. Bursts shorter than that count only if they are high.
    pub(crate) fn feed(&mut self, value: f64, seconds: f64, window_samples: f64) -> Step {
        let Some(mut open) = self.open.take() else {
            if value < self.on {
                return Step::default();
            }
            let burst = Stretch { samples: 1, seconds };
            return self.goes_on(Open { burst, height: value, ..Open::default() }, window_samples);
        };
        let limit = if open.gap.samples == 0 { self.off } else { self.on };
        if value >= limit {
            open.burst.samples = open.burst.samples.saturating_add(open.gap.samples);
            open.burst.seconds += open.gap.seconds;
            open.burst.extend(seconds);
            open.gap = Stretch::default();
            open.height = open.height.max(value);
            return self.goes_on(open, window_samples);
        }
        open.gap.extend(seconds);
        if f64::from(open.gap.samples) < window_samples {
            self.open = Some(open);
            return Step::default();
        }
        end(open)
    }

    /// Ends a burst because nothing was seen behind it.
    pub(crate) fn cut(&mut self) -> Step {
        self.open.take().map_or(Step::default(), end)
    }

    /// Counts what is new of a burst, once it is long or high enough to be one.
    fn goes_on(&mut self, mut open: Open, window_samples: f64) -> Step {
        let is_burst =
            f64::from(open.burst.samples) >= window_samples || open.height >= SHORT_BUT_HIGH;
        let before_s = open.counted_s;
        if is_burst {
            open.counted_s = open.burst.seconds;
        }
        self.open = Some(open);
        Step { active_s: open.counted_s - before_s, ended_s: None }
    }
}

fn end(open: Open) -> Step {
    Step { active_s: 0.0, ended_s: (open.counted_s > 0.0).then_some(open.burst.seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths in samples and time inside, of samples of one second.
    fn run(values: &[f64], window_samples: f64) -> (Vec<f64>, f64) {
        let mut run = Run::of_level(0.5);
        let mut steps: Vec<Step> =
            values.iter().map(|it| run.feed(*it, 1.0, window_samples)).collect();
        steps.push(run.cut());
        let lengths = steps.iter().filter_map(|it| it.ended_s).collect();
        (lengths, steps.iter().map(|it| it.active_s).sum())
    }

    #[test]
    fn a_dip_between_the_levels_does_not_end_a_burst() {
        assert_eq!(run(&[0.0, 0.9, 0.4, 0.9, 0.1, 0.0], 1.0), (vec![3.0], 3.0));
    }

    #[test]
    fn a_gap_that_no_window_could_show_is_closed() {
        let values = [0.0, 0.9, 0.9, 0.1, 0.1, 0.9, 0.9, 0.0, 0.0, 0.0];
        assert_eq!(run(&values, 3.0), (vec![6.0], 6.0));
        assert_eq!(run(&values, 2.0), (vec![2.0, 2.0], 4.0));
    }

    #[test]
    fn a_short_burst_counts_only_if_it_is_high() {
        let mut low = Run::of_level(0.15);
        for value in [0.2, 0.0, 0.0, 0.0] {
            assert_eq!(low.feed(value, 1.0, 2.0), Step::default());
        }
        assert_eq!(low.feed(0.2, 1.0, 2.0).active_s, 0.0);
        assert_eq!(low.feed(0.2, 1.0, 2.0).active_s, 2.0);
        assert_eq!(run(&[0.0, 0.9, 0.0, 0.0], 2.0), (vec![1.0], 1.0));
    }

    #[test]
    fn a_burst_that_goes_on_counts_as_active_before_it_ends() {
        let mut run = Run::of_level(0.5);
        let active: f64 = (0..50).map(|_| run.feed(1.0, 0.1, 1.0).active_s).sum();
        assert!((active - 5.0).abs() < 1e-9);
    }
}
