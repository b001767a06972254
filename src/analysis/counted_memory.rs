//! Memory that an exporter counted between two scrapes: what the gauges beside the counts did not show.
//!
//! A gauge shows one instant of each scrape; the counts say in which class of heights every reading lay. So a level of the gauges is
//! moved into the class that the counts name, and a peak that no gauge showed becomes the upper bound of its class.

use crate::analysis::findings::Level;
use crate::analysis::memory_ledger::Ledger;
use crate::domain::ident::Subject;
use crate::domain::recording::Recording;
use crate::domain::shape::{HEIGHT_BOUNDS, Shape, ShapeSpan, Slot};

/// A level of memory as gauges showed it, put right by what was counted; `None` where nothing was counted.
///
/// Mean exact; minimum, median and 95th percentile in the class that holds them; the maximum at most a class too high, never too low.
pub(crate) fn level_of_counts(sums: &Shape, seen: Level, total_bytes: f64) -> Option<Level> {
    let counts = sums.memory();
    let all: f64 = counts.iter().sum();
    let (_, upper) = sums.memory_top().filter(|_| all > 0.0)?;
    let at = |q: f64, seen: f64| {
        let mut below = 0.0;
        let class = counts.iter().position(|count| {
            below += count;
            *count > 0.0 && below >= q * all
        });
        let lower = class.and_then(|it| it.checked_sub(1)).map_or(0.0, |it| HEIGHT_BOUNDS[it]);
        let upper = class.and_then(|it| HEIGHT_BOUNDS.get(it)).copied().unwrap_or(1.0);
        seen.clamp(lower * total_bytes, upper * total_bytes)
    };
    let is_shown = sums.memory_top().is_some_and(|it| seen.max >= it.0 * total_bytes);
    Some(Level {
        samples: all as u64,
        mean: sums.get(Slot::MemorySum) / all * total_bytes,
        min: at(0.0, seen.min),
        p50: at(0.5, seen.p50),
        p95: at(0.95, seen.p95),
        max: if is_shown { seen.max } else { upper * total_bytes },
        ..seen
    })
}

/// Raises a ledger to the peaks that were counted and that no gauge showed, each at the end of its part.
pub(crate) fn raise_to_counts(ledger: &mut Ledger, part: &Recording) {
    let Some(total) = ledger.total_bytes else { return };
    let of = |subject: &Subject| -> Vec<&ShapeSpan> {
        part.outline.shapes.iter().filter(|it| it.subject == *subject).collect()
    };
    let own = of(&ledger.space);
    let places = |ledger: &Ledger, spans: &[&ShapeSpan]| -> Vec<(usize, usize, f64, f64)> {
        let place = |it: &&ShapeSpan| {
            let (lower, upper) = it.sums.memory_top()?;
            let last = ledger.bin_of(it.span.until())?;
            let first = ledger.bin_of(it.span.from()).unwrap_or(0);
            Some((first, last, lower * total, upper * total))
        };
        spans.iter().filter_map(place).collect()
    };
    let raise = |bytes: &mut [f64], places: Vec<(usize, usize, f64, f64)>| {
        for (first, last, lower, upper) in places {
            let Some(seen) = bytes.get(first..=last) else { continue };
            let most = seen.iter().copied().filter(|it| it.is_finite()).fold(0.0, f64::max);
            if most < lower && bytes[last].is_finite() {
                bytes[last] = upper;
            }
        }
    };
    let whole = places(ledger, &own);
    raise(&mut ledger.used, whole);
    for place in 0..ledger.members.len() {
        let spans = of(&ledger.members[place].subject);
        let spots = places(ledger, &spans);
        raise(&mut ledger.members[place].bytes, spots);
    }
}
