//! Samples of one metric for one subject, in time order.

use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use std::ops::Range;
use std::sync::Arc;

/// Samples of one metric for one subject.
///
/// Stamps strictly increase and every value is finite: a gap is the absence of rows.
/// Series that were sampled together share their stamps in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    times: Arc<Vec<Timestamp>>,
    values: Vec<f64>,
}

impl Series {
    /// A series from stamps and values.
    ///
    /// `None` unless both are equally long, stamps strictly increase and values are finite.
    pub fn new(times: Arc<Vec<Timestamp>>, values: Vec<f64>) -> Option<Self> {
        let in_order = times.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = values.iter().all(|it| it.is_finite());
        (times.len() == values.len() && in_order && finite).then_some(Self { times, values })
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
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
    pub fn values(&self) -> &[f64] {
        &self.values
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
            values: self.values[range].to_vec(),
        }
    }

    /// Median time from one sample to the next; `None` with fewer than two samples.
    ///
    /// The interval that was achieved, not the one that was asked for.
    pub fn typical_interval(&self) -> Option<SampleInterval> {
        let mut steps: Vec<i64> =
            self.times.windows(2).map(|pair| pair[1].micros_since(pair[0])).collect();
        if steps.is_empty() {
            return None;
        }
        let middle = steps.len() / 2;
        let (_, median, _) = steps.select_nth_unstable(middle);
        SampleInterval::from_micros(u64::try_from(*median).ok()?)
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
    fn cutting_keeps_the_samples_inside_and_nothing_else() {
        let it = series(&[0, 10, 20, 30]);
        let span = TimeSpan::new(Timestamp::from_micros(10), Timestamp::from_micros(30)).unwrap();
        assert_eq!(it.cut(span).times(), &it.times()[1..3]);
    }
}
