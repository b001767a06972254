//! One subject's activity, sample by sample, into the sums of its shape.

use crate::domain::shape::{HEIGHT_BOUNDS, LENGTH_BOUNDS_S, LEVELS, Shape, Slot, class_of};
use crate::exporter::runs::{Run, Step};
use crate::stats::telegraph::{blur_index_of, invert, invert_unless_periodic};
use std::collections::VecDeque;

/// A step longer than this many typical ones is a hole.
const HOLE_STEPS: f64 = 2.5;
/// Steps of which the typical one is the middle.
const REMEMBERED_STEPS: usize = 32;
/// Samples that are searched for a rhythm at once.
pub(crate) const STRETCH: usize = 240;
/// Above this share of the largest variance bursts are seen, and nothing has to be inferred.
const SEEN_BLUR: f64 = 0.6;
/// A window that is longer than the time between samples by less than this share is as long: stamps jitter.
const JITTER: f64 = 0.05;
/// Samples below this are idle, as a share of the device.
const IDLE: f64 = 0.05;

/// The shape of one subject's activity as it grows.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    /// The sums since the start.
    pub(crate) sums: Shape,
    /// What a sample averages over, seconds, where its source says so; `None` lasts from the sample before.
    window_s: Option<Option<f64>>,
    /// Step between the values that the driver prints.
    quantum: f64,
    last_us: Option<i64>,
    steps_us: VecDeque<i64>,
    typical_us: i64,
    recent: VecDeque<f64>,
    runs: [Run; LEVELS.len()],
    idle: Run,
    stretch: Vec<f64>,
}

impl Track {
    /// Nothing seen yet. `quantum` is the step of the values: 0.01 for whole percents.
    pub(crate) fn new(window_s: Option<Option<f64>>, quantum: f64) -> Self {
        Self {
            sums: Shape::default(),
            window_s,
            quantum,
            last_us: None,
            steps_us: VecDeque::new(),
            typical_us: 0,
            recent: VecDeque::new(),
            runs: LEVELS.map(Run::of_level),
            // Idle is whatever is not busy, so what is left of the device is followed.
            idle: Run::of_bound(1.0 - IDLE + 1e-9),
            stretch: Vec::new(),
        }
    }

    /// Typical time between samples, in seconds; `None` before there are two.
    pub(crate) fn interval_s(&self) -> Option<f64> {
        (self.typical_us > 0).then(|| self.typical_us as f64 / 1e6)
    }

    /// Time that a sample averages over, in seconds; the driver's usual window where nothing states it.
    pub(crate) fn window_s(&self) -> Option<f64> {
        let interval_s = self.interval_s()?;
        Some(match self.window_s {
            Some(stated) => stated.unwrap_or(interval_s),
            None => interval_s.clamp(DRIVER_WINDOW_S.0, DRIVER_WINDOW_S.1),
        })
    }

    /// Stamp of the last sample, microseconds.
    pub(crate) fn last_us(&self) -> Option<i64> {
        self.last_us
    }

    /// Takes a sample, a busy fraction; one that does not come later than the last is left out.
    pub(crate) fn feed(&mut self, at_us: i64, value: f64) {
        let value = value.clamp(0.0, 1.0);
        let step_us = self.last_us.map(|it| at_us - it);
        if step_us.is_some_and(|it| it <= 0) {
            return;
        }
        self.last_us = Some(at_us);
        let is_hole = step_us.is_some_and(|it| {
            self.typical_us > 0 && it as f64 > HOLE_STEPS * self.typical_us as f64
        });
        if is_hole {
            self.cut();
        }
        if let Some(step_us) = step_us {
            self.note_step(step_us);
        }
        // A sample stands for the time since the one before, or for a usual step where that was not seen.
        let stands_us = step_us.filter(|_| !is_hole).unwrap_or(self.typical_us);
        self.count(value, stands_us as f64 / 1e6);
    }

    /// Takes a reading of memory, as a share of the device's.
    pub(crate) fn feed_memory(&mut self, share: f64) {
        let share = share.clamp(0.0, 1.0);
        self.sums.add(Slot::Memory(class_of(&HEIGHT_BOUNDS, share)), 1.0);
        self.sums.add(Slot::MemorySum, share);
    }

    /// Ends what goes on: what follows was not seen to follow.
    fn cut(&mut self) {
        for level in 0..LEVELS.len() {
            let step = self.runs[level].cut();
            self.note_burst(level, step);
        }
        let step = self.idle.cut();
        self.note_gap(step);
        self.recent.clear();
        self.stretch.clear();
    }

    fn note_step(&mut self, step_us: i64) {
        self.steps_us.push_back(step_us);
        if self.steps_us.len() > REMEMBERED_STEPS {
            self.steps_us.pop_front();
        }
        let mut sorted: Vec<i64> = self.steps_us.iter().copied().collect();
        let middle = sorted.len() / 2;
        self.typical_us = *sorted.select_nth_unstable(middle).1;
    }

    fn window_samples(&self) -> f64 {
        match (self.window_s(), self.interval_s()) {
            (Some(window), Some(interval)) => window / interval,
            _ => 1.0,
        }
    }

    fn count(&mut self, value: f64, seconds: f64) {
        self.sums.add(Slot::Height(class_of(&HEIGHT_BOUNDS, value)), 1.0);
        self.sums.add(Slot::Busy, value);
        self.sums.add(Slot::Squares, value * value);
        self.sums.add(Slot::Observed, seconds);
        let window = self.window_samples();
        let lag = (window - JITTER).ceil().max(1.0) as usize;
        if self.recent.len() >= lag {
            let before = self.recent[self.recent.len() - lag];
            self.sums.add(Slot::Products, value * before);
            self.sums.add(Slot::Pairs, 1.0);
        }
        self.recent.push_back(value);
        while self.recent.len() > lag.max(1) {
            self.recent.pop_front();
        }
        let window = window - JITTER;
        for level in 0..LEVELS.len() {
            let step = self.runs[level].feed(value, seconds, window);
            self.note_burst(level, step);
        }
        let step = self.idle.feed(1.0 - value, seconds, 0.0);
        self.note_gap(step);
        self.examine(value);
    }

    fn note_burst(&mut self, level: usize, step: Step) {
        self.sums.add(Slot::ActiveSeconds(level), step.active_s);
        if let Some(length_s) = step.ended_s {
            self.sums.add(Slot::Bursts(level, class_of(&LENGTH_BOUNDS_S, length_s)), 1.0);
            self.sums.add(Slot::BurstSeconds(level), length_s);
        }
    }

    fn note_gap(&mut self, step: Step) {
        if let Some(length_s) = step.ended_s {
            self.sums.add(Slot::Gaps(class_of(&LENGTH_BOUNDS_S, length_s)), 1.0);
            self.sums.add(Slot::GapSeconds, length_s);
        }
    }

    /// Searches a stretch for a rhythm once it is full, where its bursts are too short to be seen.
    fn examine(&mut self, value: f64) {
        self.stretch.push(value);
        if self.stretch.len() < STRETCH {
            return;
        }
        let stretch = std::mem::take(&mut self.stretch);
        let window = self.window_samples().max(1.0);
        let is_blurred = blur_index_of(&stretch, self.quantum).is_some_and(|it| it < SEEN_BLUR);
        self.sums.add(Slot::Examined, 1.0);
        if is_blurred
            && invert(&stretch, window, self.quantum).is_some()
            && invert_unless_periodic(&[stretch.as_slice()], window, self.quantum).is_none()
        {
            self.sums.add(Slot::Regular, 1.0);
        }
    }
}

/// Window of the driver's utilisation counters, in seconds, where the source does not state it.
///
/// NVIDIA's reference says "between 1 second and 1/6 second, depending on the product".
const DRIVER_WINDOW_S: (f64, f64) = (1.0 / 6.0, 1.0);
