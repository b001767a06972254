//! Busy fractions of a tenant whose samples an exporter counted and nobody kept.
//!
//! The counts say how often each height came, how long bursts and gaps lasted, and how much of each part of the time (what grew
//! between two scrapes) lay inside bursts. Fractions that agree with all of that are laid out here; in which order they came
//! inside a part is drawn.

use crate::colocation::draw::Draw;
use crate::colocation::spells::BurstLength;
use crate::colocation::watched::Bins;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::shape::{
    HEIGHT_BOUNDS, HEIGHTS, LENGTHS, LEVELS, Shape, ShapeSpan, Slot, quantile_of,
};
use crate::domain::time::Timestamp;
use crate::stats::bursts::thresholds_of;
use crate::stats::telegraph::invert_plateau;

/// Fractions that are laid out at most: seven hours of ten a second. Of more time an even share of each part is.
const MOST_BINS: f64 = 250_000.0;
/// Share of stretches with a rhythm from which no length of bursts is inferred.
const MOST_REGULAR: f64 = 0.5;
/// Half a class of heights.
const HALF_CLASS: f64 = 0.5 / HEIGHTS as f64;

/// The most memory that was counted, as a share of the device's: upper bound of its class; `None` when none was counted.
///
/// Bounds of the class: a gauge that lies between them saw the peak better than the class does.
pub(crate) fn counted_memory(part: &Recording, subject: &Subject) -> Option<(f64, f64)> {
    let own = part.outline.shapes.iter().filter(|it| it.subject == *subject);
    own.filter_map(|it| it.sums.memory_top()).reduce(|a, b| if b.0 > a.0 { b } else { a })
}

/// What was counted about a subject, laid out, and what the counts tell about the length of its bursts; `None` when nothing was.
///
/// Only parts that end where the subject's own series has samples count, so that a recording cut to a span stays cut.
pub(crate) fn counted(part: &Recording, subject: &Subject) -> Option<(Bins, BurstLength)> {
    let all: Vec<&ShapeSpan> =
        part.outline.shapes.iter().filter(|it| it.subject == *subject).collect();
    let last = *all.last()?;
    let series = part.traces.get(subject)?.get(last.metric)?;
    let parts: Vec<&ShapeSpan> =
        all.into_iter().filter(|it| it.metric == last.metric && ends_in(series, it)).collect();
    let (first, last) = (*parts.first()?, *parts.last()?);
    let mut sums = Shape::default();
    parts.iter().for_each(|it| sums.merge(&it.sums));
    let (stride_s, window_s) = (last.interval.as_seconds(), last.window.as_seconds());
    let every = (window_s / stride_s).round().max(1.0);
    let step_s = stride_s * every;
    let quantum = if last.metric == Metric::GpuUtilization { 0.01 } else { 0.0 };
    let (mean, variance) = (sums.mean()?, sums.variance()?);
    let inferred = || inferred_s(&sums, (mean, variance), window_s, quantum);
    let length = BurstLength::of_moments(mean, variance, (window_s, quantum), inferred);
    let thinning = (sums.samples() / every / MOST_BINS).max(1.0);
    let mut layout = Layout {
        step_s,
        per_bin: every * thinning,
        thinning,
        level: level_of(&sums),
        open_s: open_at_start(&parts, level_of(&sums)),
        rounding: [[0.0; LENGTHS]; 2],
        due: 0.0,
        draw: Draw::named(&subject.to_string(), 8),
        fractions: Vec::new(),
    };
    parts.iter().for_each(|it| layout.part(&it.sums));
    let fractions = layout.fractions;
    let from: Timestamp = first.span.from();
    (fractions.len() > 1).then_some((Bins { from, step_s, window_s, quantum, fractions }, length))
}

/// Whether a part ends within the time that a series has samples of.
fn ends_in(series: &Series, part: &ShapeSpan) -> bool {
    let ends = part.span.until();
    let (first, last) = (series.times().first(), series.times().last());
    first.zip(last).is_some_and(|(first, last)| *first <= ends && ends <= *last)
}

/// Mean length of a burst from the counted mean and variance, unless a rhythm was counted too.
fn inferred_s(
    sums: &Shape,
    (mean, variance): (f64, f64),
    window_s: f64,
    quantum: f64,
) -> Option<f64> {
    let (examined, regular) = (sums.get(Slot::Examined), sums.get(Slot::Regular));
    if examined < 1.0 || regular > MOST_REGULAR * examined {
        return None;
    }
    let percentiles = quantiles(sums, [0.1, 0.9, 0.95, 0.99])?;
    invert_plateau(mean, variance, percentiles, (window_s, quantum)).map(|it| it.on)
}

fn quantiles(sums: &Shape, shares: [f64; 4]) -> Option<[f64; 4]> {
    let heights = sums.heights();
    let at = |q: f64| quantile_of(&heights, &HEIGHT_BOUNDS, 1.0, q);
    Some([at(shares[0])?, at(shares[1])?, at(shares[2])?, at(shares[3])?])
}

/// The counted level that is nearest to where these bursts would be cut; `None` for a load without bursts.
fn level_of(sums: &Shape) -> Option<usize> {
    let on = thresholds_of(quantiles(sums, [0.1, 0.95, 0.999, 1.0])?)?.on;
    let far = |level: &usize| (LEVELS[*level] - on).abs();
    let level = (0..LEVELS.len()).min_by(|a, b| far(a).total_cmp(&far(b)))?;
    (sums.get(Slot::ActiveSeconds(level)) > 0.0).then_some(level)
}

/// How long a burst had lasted when the first part began: later more time ended in bursts than had been inside them.
fn open_at_start(parts: &[&ShapeSpan], level: Option<usize>) -> f64 {
    let Some(level) = level else { return 0.0 };
    let (mut open_s, mut least_s) = (0.0_f64, 0.0_f64);
    for part in parts {
        open_s += part.sums.get(Slot::ActiveSeconds(level));
        open_s -= part.sums.get(Slot::BurstSeconds(level));
        least_s = least_s.min(open_s);
    }
    -least_s
}

/// Fractions as they are laid out, part after part.
struct Layout {
    step_s: f64,
    /// Counted samples that one fraction stands for.
    per_bin: f64,
    /// Of so many seconds one is laid out.
    thinning: f64,
    level: Option<usize>,
    /// How long the burst has lasted that goes on, seconds.
    open_s: f64,
    /// What rounding left over of bursts and gaps in each class.
    rounding: [[f64; LENGTHS]; 2],
    /// Fractions that are due and not laid out yet.
    due: f64,
    draw: Draw,
    fractions: Vec<f64>,
}

impl Layout {
    fn part(&mut self, sums: &Shape) {
        self.due += sums.samples() / self.per_bin;
        let count = self.due as usize;
        self.due -= count as f64;
        let values = heights(sums, count);
        let pieces = self.pieces(sums, count);
        let laid = self.laid(values, &pieces);
        self.fractions.extend(laid);
    }

    /// Which of the bins of a part lie in bursts, as ranges of bins.
    fn pieces(&mut self, sums: &Shape, count: usize) -> Vec<(usize, usize)> {
        let Some(level) = self.level else { return Vec::new() };
        let active_s = sums.get(Slot::ActiveSeconds(level));
        let before_s = self.open_s;
        self.open_s = (before_s + active_s - sums.get(Slot::BurstSeconds(level))).max(0.0);
        let observed_s = sums.samples() * self.step_s * self.thinning / self.per_bin;
        let span_s = count as f64 * self.step_s;
        let inside_s = span_s * (active_s / observed_s.max(f64::MIN_POSITIVE)).min(1.0);
        let is_open = |it: f64| it > 0.5 * self.step_s;
        let (begins_open, ends_open) = (is_open(before_s), is_open(self.open_s));
        let mut bursts = self.lengths(&sums.bursts(level), 0);
        if begins_open && let Some(first) = longest_first(&mut bursts) {
            *first = (*first - before_s).max(self.step_s);
        }
        let last_s = self.open_s.min(inside_s);
        match (bursts.is_empty(), ends_open) {
            // The burst that was open fills the whole part, or all that is left to lay out of it.
            (true, _) if begins_open || ends_open => bursts.push(inside_s),
            (true, _) if inside_s >= 0.5 * self.step_s => bursts.push(inside_s),
            (false, true) => {
                scale(&mut bursts, inside_s - last_s);
                bursts.push(last_s);
            }
            _ => scale(&mut bursts, inside_s),
        }
        let mut gaps = self.gaps(sums, bursts.len() + 1);
        if let Some(first) = gaps.first_mut() {
            *first *= if begins_open { 0.0 } else { self.draw.uniform() };
        }
        if let Some(last) = gaps.last_mut() {
            *last *= if ends_open { 0.0 } else { self.draw.uniform() };
        }
        scale(&mut gaps, span_s - inside_s);
        self.ranges(&gaps, &bursts, count)
    }

    fn ranges(&self, gaps: &[f64], bursts: &[f64], count: usize) -> Vec<(usize, usize)> {
        let bin = |at_s: f64| ((at_s / self.step_s).round() as usize).min(count);
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut now_s = 0.0;
        for (gap, burst) in gaps.iter().zip(bursts) {
            let from = bin(now_s + gap).max(found.last().map_or(0, |it| it.1));
            now_s += gap + burst;
            let until = bin(now_s).max(from + 1).min(count);
            match found.last_mut() {
                Some(last) if last.1 == from => last.1 = until,
                _ if from < until => found.push((from, until)),
                _ => {}
            }
        }
        found
    }

    /// Lengths of as many bursts or gaps as were counted, in random order, seconds.
    fn lengths(&mut self, counts: &[f64], kind: usize) -> Vec<f64> {
        let mut found = Vec::new();
        for (class, count) in counts.iter().enumerate().take(LENGTHS) {
            let due = &mut self.rounding[kind][class];
            *due += count / self.thinning;
            // Whole numbers stay whole, whatever the last bits say.
            let whole = (*due + 1e-9).floor();
            *due -= whole;
            let length_s = (0.025 * 2.0_f64.powi(class as i32)).max(self.step_s);
            found.extend(std::iter::repeat_n(length_s, whole as usize));
        }
        shuffle(&mut found, &mut self.draw);
        found
    }

    /// So many gaps, of the lengths that were counted, or of any length where none ended.
    fn gaps(&mut self, sums: &Shape, count: usize) -> Vec<f64> {
        let known = self.lengths(&sums.gaps(), 1);
        let mut at = known.iter().cycle();
        let draw = &mut self.draw;
        (0..count).map(|_| at.next().copied().unwrap_or_else(|| 0.2 + draw.exponential())).collect()
    }

    /// Values in their places: the greatest inside bursts, of those the least at the edges; next to bursts the greatest of the rest.
    fn laid(&mut self, mut values: Vec<f64>, pieces: &[(usize, usize)]) -> Vec<f64> {
        let count = values.len();
        if pieces.is_empty() {
            shuffle(&mut values, &mut self.draw);
            return values;
        }
        // 0 inside, 1 at the edges of a burst, 2 beside it, 3 elsewhere.
        let mut kind = vec![3_u8; count];
        for (from, until) in pieces {
            kind[*from..*until].fill(0);
            if until - from > 2 {
                (kind[*from], kind[until - 1]) = (1, 1);
            }
            let beside = [from.checked_sub(1), Some(*until)];
            for it in beside.into_iter().flatten() {
                if let Some(kind) = kind.get_mut(it).filter(|it| **it == 3) {
                    *kind = 2;
                }
            }
        }
        values.sort_by(|a, b| b.total_cmp(a));
        let mut laid = vec![0.0; count];
        let mut taken = 0;
        for wanted in 0..4 {
            let places: Vec<usize> = (0..count).filter(|it| kind[*it] == wanted).collect();
            let mut own = values[taken..taken + places.len()].to_vec();
            taken += places.len();
            shuffle(&mut own, &mut self.draw);
            for (place, value) in places.into_iter().zip(own) {
                laid[place] = value;
            }
        }
        laid
    }
}

/// So many busy fractions that have the counted heights, and nearly the counted mean.
fn heights(sums: &Shape, count: usize) -> Vec<f64> {
    let counts = sums.heights();
    let (total, Some(mean)) = (sums.samples(), sums.mean()) else { return vec![0.0; count] };
    let mut classes = Vec::with_capacity(count);
    let (mut class, mut below) = (0, counts.first().copied().unwrap_or(0.0));
    for place in 0..count {
        let rank = (place as f64 + 0.5) / count as f64 * total;
        while below < rank && class + 1 < HEIGHTS {
            class += 1;
            below += counts[class];
        }
        classes.push(class);
    }
    // Idle and full samples are mostly exactly that; others are anywhere in their class.
    let usual = |class: usize| match class {
        0 => 0.0,
        class if class + 1 == HEIGHTS => 1.0,
        class => class as f64 / HEIGHTS as f64 + HALF_CLASS,
    };
    let mut values: Vec<f64> = classes.iter().map(|it| usual(*it)).collect();
    let limits = |class: usize| {
        let lower = class.checked_sub(1).map_or(0.0, |it| HEIGHT_BOUNDS[it]);
        (lower, HEIGHT_BOUNDS.get(class).copied().unwrap_or(1.0))
    };
    // The rest of the mean: first from those in between, then from the idle or the full ones.
    let is_between = |class: usize| class > 0 && class + 1 < HEIGHTS;
    for in_between in [true, false] {
        let missing = mean * count as f64 - values.iter().sum::<f64>();
        let room = |class: usize, value: f64| {
            let (lower, upper) = limits(class);
            if missing > 0.0 { upper - value } else { value - lower }
        };
        let rooms: Vec<f64> = classes
            .iter()
            .zip(&values)
            .map(
                |(class, value)| {
                    if is_between(*class) == in_between { room(*class, *value) } else { 0.0 }
                },
            )
            .collect();
        let all: f64 = rooms.iter().sum();
        let share = if all > 0.0 { (missing / all).clamp(-1.0, 1.0) } else { 0.0 };
        values.iter_mut().zip(&rooms).for_each(|(value, room)| *value += share * room);
    }
    values
}

/// Brings the longest to the front.
fn longest_first(lengths: &mut [f64]) -> Option<&mut f64> {
    let place = (0..lengths.len()).max_by(|a, b| lengths[*a].total_cmp(&lengths[*b]))?;
    lengths.swap(0, place);
    lengths.first_mut()
}

/// Makes lengths add up to a total.
fn scale(lengths: &mut [f64], total: f64) {
    let sum: f64 = lengths.iter().sum();
    let factor = if sum > 0.0 { total.max(0.0) / sum } else { 0.0 };
    lengths.iter_mut().for_each(|it| *it *= factor);
}

fn shuffle(values: &mut [f64], draw: &mut Draw) {
    for last in (1..values.len()).rev() {
        let other = ((draw.uniform() * (last + 1) as f64) as usize).min(last);
        values.swap(last, other);
    }
}
