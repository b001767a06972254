//! When samples are missing: the rhythm of each subject, and holes that all of them share.

use crate::domain::ident::Subject;
use crate::domain::time::{TimeSpan, Timestamp};
use std::collections::BTreeMap;

/// A silence of this many usual intervals is a hole.
const LONG: f64 = 2.5;

/// Intervals from which the usual one is taken.
const KEPT: usize = 255;

/// Silences that are remembered for each subject.
const MOST_SILENCES: usize = 1000;

/// The stamps of one subject, as far as they matter.
#[derive(Debug, Default)]
pub(crate) struct Rhythm {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    shortest_us: Option<i64>,
    intervals_us: Vec<i64>,
    silences: Vec<(Timestamp, Timestamp)>,
}

impl Rhythm {
    /// Takes the next stamp.
    pub(crate) fn feed(&mut self, at: Timestamp) {
        self.first.get_or_insert(at);
        let Some(before) = self.last.replace(at) else { return };
        let interval = at.micros_since(before);
        if interval <= 0 {
            return;
        }
        if self.intervals_us.len() < KEPT {
            self.intervals_us.push(interval);
        }
        let shortest =
            *self.shortest_us.insert(self.shortest_us.map_or(interval, |it| it.min(interval)));
        if interval as f64 > LONG * shortest as f64 && self.silences.len() < MOST_SILENCES {
            self.silences.push((before, at));
        }
    }

    /// The usual time between stamps, their median, in microseconds; `None` for fewer than two.
    pub(crate) fn interval_us(&self) -> Option<i64> {
        let mut intervals = self.intervals_us.clone();
        let middle = intervals.len() / 2;
        (!intervals.is_empty()).then(|| *intervals.select_nth_unstable(middle).1)
    }

    fn holes(&self) -> Vec<TimeSpan> {
        let Some(usual) = self.interval_us() else { return Vec::new() };
        let is_hole =
            |it: &&(Timestamp, Timestamp)| it.1.micros_since(it.0) as f64 > LONG * usual as f64;
        self.silences.iter().filter(is_hole).filter_map(|it| TimeSpan::new(it.0, it.1)).collect()
    }

    /// Whether it was seen both before and after a span.
    fn surrounds(&self, span: TimeSpan) -> bool {
        self.first.is_some_and(|it| it <= span.from())
            && self.last.is_some_and(|it| it >= span.until())
    }
}

/// Holes that all subjects have that were there before and after, and those of single ones.
pub(crate) fn common_and_own(
    rhythms: &BTreeMap<Subject, Rhythm>,
) -> (Vec<TimeSpan>, Vec<(Subject, TimeSpan)>) {
    let mut all: Vec<(TimeSpan, &Subject)> = rhythms
        .iter()
        .flat_map(|(subject, it)| it.holes().into_iter().map(move |hole| (hole, subject)))
        .collect();
    all.sort_by_key(|it| (it.0.from(), it.0.until()));
    let (mut common, mut own) = (Vec::new(), Vec::new());
    let mut rest = all.into_iter().peekable();
    while let Some((span, subject)) = rest.next() {
        let (mut shared, mut cluster) = (span, vec![(subject, span)]);
        while let Some((overlap, (next, subject))) =
            rest.peek().and_then(|it| Some((shared.overlap(it.0)?, *it)))
        {
            shared = overlap;
            cluster.push((subject, next));
            rest.next();
        }
        let present = rhythms.values().filter(|it| it.surrounds(shared)).count();
        match present > 1 && cluster.len() >= present {
            true => common.push(shared),
            false => own.extend(cluster.into_iter().map(|it| (it.0.clone(), it.1))),
        }
    }
    (common, own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;

    fn rhythm(seconds: impl IntoIterator<Item = i64>) -> Rhythm {
        let mut rhythm = Rhythm::default();
        seconds.into_iter().for_each(|it| rhythm.feed(Timestamp::from_micros(it * 1_000_000)));
        rhythm
    }

    fn of(all: Vec<Rhythm>) -> BTreeMap<Subject, Rhythm> {
        let subject = |index| Subject::device(&GpuId::from_index(index));
        (0..).map(subject).zip(all).collect()
    }

    #[test]
    fn a_hole_of_all_is_told_apart_from_one_of_a_single_gpu() {
        let stamps = |offset: i64, from: i64, until: i64| {
            rhythm(
                (0..100)
                    .map(move |it| 15 * it + offset)
                    .filter(move |it| !(from..until).contains(it)),
            )
        };
        let mut torn = (0..100).map(|it| 15 * it).collect::<Vec<i64>>();
        torn.retain(|it| !(300..600).contains(it) && !(900..1000).contains(it));
        let rhythms = of(vec![stamps(0, 300, 600), stamps(4, 300, 600), rhythm(torn)]);
        let (common, own) = common_and_own(&rhythms);
        assert_eq!((common.len(), own.len()), (1, 1));
        assert!((common[0].seconds() - 300.0).abs() <= 20.0);
        assert_eq!(own[0].0, Subject::device(&GpuId::from_index(2)));
    }

    #[test]
    fn one_missed_scrape_is_no_hole() {
        let rhythms = of(vec![rhythm((0..50).filter(|it| it % 7 != 3).map(|it| 15 * it))]);
        assert_eq!(common_and_own(&rhythms), (Vec::new(), Vec::new()));
    }
}
