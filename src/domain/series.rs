//! Samples of one metric for one subject, in time order.

use crate::domain::column::Column;
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::OnceLock;

/// Samples of one metric for one subject.
///
/// Stamps strictly increase and every value is finite: a gap is the absence of rows.
/// Series that were sampled together share their stamps in memory, and values take as little of it
/// as holds them exactly: a long series is read with [`each`](Self::each) and
/// [`part`](Self::part), which leave it so.
#[derive(Debug, Clone)]
pub struct Series {
    times: Arc<Vec<Timestamp>>,
    /// The typical interval, once it was asked for; shared as the stamps are.
    rhythm: Arc<OnceLock<Option<SampleInterval>>>,
    column: Column,
    /// All values in double precision, once they were asked for.
    values: OnceLock<Vec<f64>>,
}

impl PartialEq for Series {
    fn eq(&self, other: &Self) -> bool {
        self.times == other.times && self.column == other.column
    }
}

impl Series {
    /// A series from stamps and values.
    ///
    /// `None` unless both are equally long, stamps strictly increase and values are finite.
    pub fn new(times: Arc<Vec<Timestamp>>, values: Vec<f64>) -> Option<Self> {
        Self::together(times, [values.into()]).pop()?
    }

    /// The same with the values in the smallest form that holds each of them, as series of a recording on disk are.
    pub fn compact(times: Arc<Vec<Timestamp>>, values: Vec<f64>) -> Option<Self> {
        Self::together(times, [Column::compact(values.into_iter())]).pop()?
    }

    /// Series that were sampled together, in the order of their values.
    ///
    /// `None` in the place of each that is not as long as the stamps or holds what is no number;
    /// in every place unless stamps strictly increase.
    pub fn together(
        times: Arc<Vec<Timestamp>>,
        columns: impl IntoIterator<Item = Column>,
    ) -> Vec<Option<Self>> {
        let in_order = times.windows(2).all(|pair| pair[0] < pair[1]);
        let rhythm = Arc::new(OnceLock::new());
        let one = |column: Column| {
            let is_whole = in_order && column.len() == times.len() && column.is_finite();
            is_whole.then(|| Self {
                times: Arc::clone(&times),
                rhythm: Arc::clone(&rhythm),
                column,
                values: OnceLock::new(),
            })
        };
        columns.into_iter().map(one).collect()
    }

    /// A series of the same stamps with other values, one for each.
    ///
    /// `None` unless there are as many values as stamps and all are finite.
    pub fn with_values(&self, values: Vec<f64>) -> Option<Self> {
        let column = Column::from(values);
        let is_whole = column.len() == self.len() && column.is_finite();
        is_whole.then(|| Self {
            times: Arc::clone(&self.times),
            rhythm: Arc::clone(&self.rhythm),
            column,
            values: OnceLock::new(),
        })
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.column.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.column.is_empty()
    }

    /// Stamps, strictly increasing.
    pub fn times(&self) -> &[Timestamp] {
        &self.times
    }

    /// Stamps, to be shared with another series.
    pub fn shared_times(&self) -> Arc<Vec<Timestamp>> {
        Arc::clone(&self.times)
    }

    /// Values, one for each stamp.
    ///
    /// They are written out in double precision at the first call and kept: eight bytes for each
    /// sample, where [`each`](Self::each) and [`part`](Self::part) need none or give them back.
    pub fn values(&self) -> &[f64] {
        match self.column.as_slice() {
            Some(values) => values,
            None => self.values.get_or_init(|| self.column.part(0..self.len()).into_owned()),
        }
    }

    /// The value of a sample, whose position must be below the length.
    pub fn value(&self, position: usize) -> f64 {
        self.column.get(position)
    }

    /// Hands over the values at these positions, in time order.
    pub fn each(&self, range: Range<usize>, take: impl FnMut(f64)) {
        self.column.each(range, take);
    }

    /// The values at these positions.
    pub fn part(&self, range: Range<usize>) -> Cow<'_, [f64]> {
        self.column.part(range)
    }

    /// Each different value at these positions with how often it is there, in no order; `None` where they are not few.
    pub fn counts(&self, range: Range<usize>) -> Option<Vec<(f64, u64)>> {
        self.column.counts(range)
    }

    /// The greatest value; `None` when empty.
    pub fn highest(&self) -> Option<f64> {
        self.column.highest()
    }

    /// From the first to the last sample, the last included; `None` when empty.
    pub fn span(&self) -> Option<TimeSpan> {
        Some(TimeSpan::covering(*self.times.first()?, *self.times.last()?))
    }

    /// Positions of the samples that lie in the span.
    pub fn positions(&self, span: TimeSpan) -> Range<usize> {
        let first = self.times.partition_point(|it| *it < span.from());
        let end = self.times.partition_point(|it| *it < span.until());
        first..end.max(first)
    }

    /// The part of the series that lies in the span.
    pub fn cut(&self, span: TimeSpan) -> Series {
        let range = self.positions(span);
        if range.len() == self.len() {
            return self.clone();
        }
        Series {
            times: Arc::new(self.times[range.clone()].to_vec()),
            rhythm: Arc::default(),
            column: self.column.part(range).into_owned().into(),
            values: OnceLock::new(),
        }
    }

    /// Median time from one sample to the next; `None` with fewer than two samples.
    ///
    /// The interval that was achieved, not the one that was asked for.
    pub fn typical_interval(&self) -> Option<SampleInterval> {
        *self.rhythm.get_or_init(|| {
            let median = median_step(&self.times)?;
            SampleInterval::from_micros(u64::try_from(median).ok()?)
        })
    }

    /// Stretches without a step longer than `longest_step`, as positions.
    pub fn segments(&self, longest_step: SampleInterval) -> Vec<Range<usize>> {
        let longest = i64::try_from(longest_step.as_micros()).unwrap_or(i64::MAX);
        let mut segments = Vec::new();
        let mut first = 0;
        for (position, pair) in self.times.windows(2).enumerate() {
            if pair[1].micros_since(pair[0]) > longest {
                segments.push(first..position + 1);
                first = position + 1;
            }
        }
        if first < self.len() {
            segments.push(first..self.len());
        }
        segments
    }
}

/// The step in the middle of all steps, ordered by length.
///
/// Where more than half of them are equal it is that one, and no copy of them is needed.
fn median_step(times: &[Timestamp]) -> Option<i64> {
    let steps = || times.windows(2).map(|pair| pair[1].micros_since(pair[0]));
    // R. S. Boyer and J. S. Moore, MJRTY (1991): what is more than half of all is left over.
    let (mut usual, mut lead) = (0, 0_usize);
    for step in steps() {
        match lead {
            0 => (usual, lead) = (step, 1),
            _ if step == usual => lead += 1,
            _ => lead -= 1,
        }
    }
    let count = times.len().checked_sub(1).filter(|it| *it > 0)?;
    if 2 * steps().filter(|it| *it == usual).count() > count {
        return Some(usual);
    }
    let mut steps: Vec<i64> = steps().collect();
    let (_, median, _) = steps.select_nth_unstable(count / 2);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(micros: &[i64]) -> Series {
        let times = micros.iter().map(|it| Timestamp::from_micros(*it)).collect();
        Series::new(Arc::new(times), vec![1.0; micros.len()]).unwrap()
    }

    #[test]
    fn a_series_refuses_stamps_out_of_order_and_values_that_are_no_numbers() {
        let times = |micros: [i64; 2]| Arc::new(micros.map(Timestamp::from_micros).to_vec());
        assert!(Series::new(times([2, 1]), vec![0.0, 0.0]).is_none());
        assert!(Series::new(times([1, 1]), vec![0.0, 0.0]).is_none());
        assert!(Series::new(times([1, 2]), vec![0.0, f64::NAN]).is_none());
        assert!(Series::new(times([1, 2]), vec![0.0]).is_none());
    }

    #[test]
    fn a_hole_cuts_a_series_into_segments() {
        let it = series(&[0, 10, 20, 100, 110]);
        let longest = SampleInterval::from_micros(15).unwrap();
        assert_eq!(it.segments(longest), vec![0..3, 3..5]);
    }

    #[test]
    fn the_typical_interval_is_the_median_and_a_hole_does_not_move_it() {
        let it = series(&[0, 10, 20, 1000, 1010]);
        assert_eq!(it.typical_interval().unwrap().as_micros(), 10);
        assert_eq!(series(&[5]).typical_interval(), None);
    }

    #[test]
    fn the_typical_interval_is_the_same_whether_most_steps_are_equal_or_none_are() {
        let by_sorting = |micros: &[i64]| {
            let mut steps: Vec<i64> = micros.windows(2).map(|it| it[1] - it[0]).collect();
            steps.sort_unstable();
            steps[steps.len() / 2] as u64
        };
        for micros in [
            vec![0, 10],
            vec![0, 10, 30],
            vec![0, 10, 20, 31, 42],
            vec![0, 1, 11, 13, 23, 26, 36],
            vec![0, 10, 21, 31, 42, 52, 63],
        ] {
            let found = series(&micros).typical_interval().unwrap().as_micros();
            assert_eq!(found, by_sorting(&micros), "{micros:?}");
        }
    }

    #[test]
    fn cutting_keeps_the_samples_inside_and_nothing_else() {
        let it = series(&[0, 10, 20, 30]);
        let span = TimeSpan::new(Timestamp::from_micros(10), Timestamp::from_micros(30)).unwrap();
        assert_eq!(it.cut(span).times(), &it.times()[1..3]);
    }
}
