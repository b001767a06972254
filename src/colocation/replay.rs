//! Tenants replayed together from event to event: work, not busy flags, so that who is slowed works longer.

use crate::colocation::demand::{Pace, Timeline};
use crate::colocation::power::Regulator;
use crate::colocation::share::Speeds;
use crate::colocation::turns::Turns;

/// Most tenants that can be replayed together: one bit each.
pub(crate) const MOST_TENANTS: usize = 30;
/// How much longer than asked a replay may go on for requests that arrived in time.
const MOST_OVERTIME: f64 = 0.5;

/// How those who are active share.
#[derive(Debug, Clone)]
pub(crate) enum Sharing {
    /// All at once, at speeds that depend on who is active.
    Together(Speeds),
    /// One at a time.
    InTurns(Turns),
}

/// Times of one tenant's pieces of work, seconds: with company and without.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    pub(crate) shared: Vec<f32>,
    pub(crate) solo: Vec<f32>,
    /// Requests that arrived and were not done when the replay ended.
    pub(crate) unfinished: usize,
    /// Seconds replayed, and how far in its own solo time the tenant came meanwhile.
    pub(crate) elapsed_s: f64,
    pub(crate) progress_s: f64,
}

/// One tenant in a replay.
#[derive(Debug)]
struct Line<'a> {
    at: &'a [f64],
    work: &'a [f64],
    span: f64,
    is_open: bool,
    /// The piece under way or next.
    next: usize,
    /// Added to the piece's own time.
    shift: f64,
    /// Where in its timeline it began, and the rounds it made since, seconds.
    from_s: f64,
    rounds_s: f64,
    /// When the next piece begins; infinity while one is under way.
    due: f64,
    /// Work left of the piece under way, seconds.
    left: f64,
    /// When the piece under way arrived or began.
    begun: f64,
    /// When the piece before would have ended alone.
    solo_end: f64,
    times: Times,
}

impl<'a> Line<'a> {
    /// The tenant as it is `from_s` seconds into its timeline.
    fn new(timeline: &'a Timeline, pace: Pace, from_s: f64) -> Self {
        let (at, work) = (timeline.at_s(), timeline.work_s());
        let mut line = Self {
            at,
            work,
            span: timeline.span_s(),
            is_open: pace == Pace::Open,
            next: at.partition_point(|it| *it < from_s),
            shift: -from_s,
            from_s,
            rounds_s: 0.0,
            due: f64::INFINITY,
            left: 0.0,
            begun: 0.0,
            solo_end: f64::NEG_INFINITY,
            times: Times::default(),
        };
        let before = line.next.checked_sub(1);
        if let Some(before) = before.filter(|it| at[*it] + work[*it] > from_s) {
            // A piece is under way: what is left of it is done first.
            line.next = before;
            line.begun = at[before] - from_s;
            line.left = at[before] + work[before] - from_s;
        } else {
            line.wrap();
            line.due = at[line.next] + line.shift;
        }
        line
    }

    fn wrap(&mut self) {
        if self.next >= self.at.len() {
            self.next = 0;
            self.shift += self.span;
            self.rounds_s += self.span;
        }
    }

    fn begin(&mut self) {
        self.begun = self.due;
        self.left = self.work[self.next];
        self.due = f64::INFINITY;
    }

    /// The piece under way is done at `now`; true when the next one begins at once.
    fn finish(&mut self, now: f64, warm_up: f64, until: f64) -> bool {
        let work = self.work[self.next];
        if self.begun >= warm_up && self.begun < until {
            self.times.shared.push((now - self.begun) as f32);
            let solo = if self.is_open {
                self.solo_end = self.solo_end.max(self.begun) + work;
                self.solo_end - self.begun
            } else {
                work
            };
            self.times.solo.push(solo as f32);
        }
        let own_end = self.at[self.next] + work + self.shift;
        self.next += 1;
        self.wrap();
        let own_next = self.at[self.next] + self.shift;
        if self.is_open {
            self.due = own_next;
        } else {
            // The pause is kept, so everything after it moves.
            self.due = now + (own_next - own_end).max(0.0);
            self.shift += self.due - own_next;
        }
        self.left = 0.0;
        if self.due <= now {
            self.begin();
            return true;
        }
        false
    }

    fn is_active(&self) -> bool {
        self.due == f64::INFINITY
    }
}

/// A replay of some tenants from given places in their timelines.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    lines: Vec<Line<'a>>,
    sharing: Sharing,
    regulator: Option<Regulator>,
    now: f64,
    mask: u32,
    speeds: Vec<f64>,
    /// Events played.
    pub(crate) events: u64,
}

impl<'a> Replay<'a> {
    /// Tenants, each with where in its timeline it begins; none of them idle, at most [`MOST_TENANTS`].
    pub(crate) fn new(
        tenants: impl IntoIterator<Item = (&'a Timeline, Pace, f64)>,
        sharing: Sharing,
        regulator: Option<Regulator>,
    ) -> Self {
        let lines: Vec<Line<'a>> = tenants
            .into_iter()
            .map(|(timeline, pace, from_s)| Line::new(timeline, pace, from_s))
            .collect();
        let speeds = vec![1.0; lines.len()];
        let mut replay = Self { lines, sharing, regulator, now: 0.0, mask: 0, speeds, events: 0 };
        for place in 0..replay.lines.len() {
            if replay.lines[place].is_active() {
                replay.join(place);
            }
        }
        replay.set_speeds();
        replay
    }

    /// Plays `until` seconds and tells what happened to each tenant's pieces that came after `warm_up`.
    pub(crate) fn play(mut self, warm_up: f64, until: f64) -> (Vec<Times>, u64) {
        let latest = until * (1.0 + MOST_OVERTIME);
        loop {
            let (due, place) = self.next_event();
            let look = self.regulator.as_ref().map_or(f64::INFINITY, |it| it.due_s);
            let stop = if self.now < until { until } else { latest };
            if due.min(look) >= stop {
                self.pass(stop);
                if stop == until {
                    self.note_progress(until);
                }
                if stop == latest || !self.has_late(until) {
                    break;
                }
                continue;
            }
            self.events += 1;
            if look <= due {
                self.pass(look);
                if let Some(it) = &mut self.regulator {
                    it.look();
                }
                self.set_speeds();
                continue;
            }
            self.pass(due);
            self.handle(place, warm_up, until);
            if self.now > until && !self.has_late(until) {
                break;
            }
        }
        for line in &mut self.lines {
            line.count_unfinished(until);
        }
        (self.lines.into_iter().map(|it| it.times).collect(), self.events)
    }

    fn next_event(&self) -> (f64, usize) {
        let mut next = (f64::INFINITY, 0);
        for (place, line) in self.lines.iter().enumerate() {
            let due =
                if line.is_active() { self.now + self.time_left(place, line) } else { line.due };
            if due < next.0 {
                next = (due, place);
            }
        }
        next
    }

    fn time_left(&self, place: usize, line: &Line<'_>) -> f64 {
        match &self.sharing {
            Sharing::Together(_) => line.left / self.speeds[place],
            Sharing::InTurns(turns) => {
                turns.time_for(place, line.left / self.factor(place), self.mask)
            }
        }
    }

    fn factor(&self, place: usize) -> f64 {
        self.regulator.as_ref().map_or(1.0, |it| it.factors[place])
    }

    /// Lets time pass up to `until`, in which nobody comes or goes.
    fn pass(&mut self, until: f64) {
        let seconds = until - self.now;
        self.now = until;
        if seconds <= 0.0 {
            return;
        }
        match &mut self.sharing {
            Sharing::Together(_) => {
                for (line, speed) in self.lines.iter_mut().zip(&self.speeds) {
                    if line.is_active() {
                        line.left = (line.left - speed * seconds).max(0.0);
                    }
                }
            }
            Sharing::InTurns(turns) => {
                for (place, line) in self.lines.iter_mut().enumerate() {
                    if !line.is_active() {
                        continue;
                    }
                    let factor = self.regulator.as_ref().map_or(1.0, |it| it.factors[place]);
                    let ran = turns.run_within(place, seconds, self.mask) * factor;
                    line.left = (line.left - ran).max(0.0);
                    self.speeds[place] = ran / seconds;
                }
                turns.pass(seconds, self.mask);
            }
        }
        if let Some(regulator) = &mut self.regulator {
            let active = self.lines.iter().map(Line::is_active).zip(&self.speeds);
            regulator.pass(
                seconds,
                active.map(|(is_active, speed)| if is_active { *speed } else { 0.0 }),
            );
        }
    }

    fn handle(&mut self, place: usize, warm_up: f64, until: f64) {
        let now = self.now;
        let line = &mut self.lines[place];
        if !line.is_active() {
            line.begin();
            return self.join(place);
        }
        if !line.finish(now, warm_up, until) {
            self.mask &= !(1 << place);
            if let Sharing::InTurns(turns) = &mut self.sharing {
                turns.leave(place, self.mask);
            }
            self.set_speeds();
        }
    }

    fn join(&mut self, place: usize) {
        self.mask |= 1 << place;
        if let Sharing::InTurns(turns) = &mut self.sharing {
            turns.join(place, self.mask);
        }
        self.set_speeds();
    }

    fn set_speeds(&mut self) {
        if let Sharing::Together(speeds) = &self.sharing {
            speeds.of(self.mask, &mut self.speeds);
            if let Some(regulator) = &self.regulator {
                for (speed, factor) in self.speeds.iter_mut().zip(&regulator.factors) {
                    *speed *= factor;
                }
            }
        }
    }

    /// Whether a request that arrived before `until` is still to be done.
    fn has_late(&self, until: f64) -> bool {
        self.lines.iter().any(|it| {
            it.is_open && (if it.is_active() { it.begun < until } else { it.due < until })
        })
    }

    fn note_progress(&mut self, now: f64) {
        for line in &mut self.lines {
            line.times.elapsed_s = now;
            line.times.progress_s = line.solo_time(now);
        }
    }
}

impl Line<'_> {
    /// How far it came in its own solo time; of requests, which do not wait, all the time that passed.
    fn solo_time(&self, now: f64) -> f64 {
        if self.is_open {
            return now;
        }
        let own = match self.is_active() {
            true => self.at[self.next] + self.work[self.next] - self.left,
            // In a pause, which runs at its own pace.
            false => self.at[self.next] - (self.due - now),
        };
        own + self.rounds_s - self.from_s
    }

    fn count_unfinished(&mut self, until: f64) {
        if !self.is_open {
            return;
        }
        if self.is_active() && self.begun < until {
            self.times.unfinished += 1;
        }
        let (mut next, mut shift) = (self.next + usize::from(self.is_active()), self.shift);
        while self.times.unfinished < self.at.len() {
            if next >= self.at.len() {
                (next, shift) = (0, shift + self.span);
            }
            if self.at[next] + shift >= until {
                return;
            }
            self.times.unfinished += 1;
            next += 1;
        }
    }
}
