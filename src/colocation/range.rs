//! A number that is not known exactly, and three quantiles.

use serde::{Deserialize, Serialize};

/// Upper ends so many times the lower end say nothing.
const USELESS: f64 = 20.0;

/// A number with the ends between which it is believed to lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Best single number.
    pub expected: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Which end of every range is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Expected,
    Benign,
    Adverse,
}

impl Range {
    /// A number that is known.
    pub const fn exact(value: f64) -> Self {
        Self { expected: value, low: value, high: value }
    }

    /// A number with its ends; ends on the wrong side are moved to the number.
    pub fn new(expected: f64, low: f64, high: f64) -> Self {
        Self { expected, low: low.min(expected), high: high.max(expected) }
    }

    /// Whether nothing about it is in doubt.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Whether the upper end says anything: one of more than twenty times the lower end does not.
    pub fn has_useful_end(&self) -> bool {
        self.high.is_finite() && self.high <= USELESS * self.low
    }

    /// Whether the number lies between the ends.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The same with ends that include another's.
    pub(crate) fn hull(self, other: Range) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), ..self }
    }

    /// All three at least `least`.
    pub(crate) fn at_least(self, least: f64) -> Self {
        let raise = |value: f64| value.max(least);
        Self { expected: raise(self.expected), low: raise(self.low), high: raise(self.high) }
    }

    /// The end that is asked for, where more is worse.
    pub(crate) fn at(&self, end: End) -> f64 {
        match end {
            End::Expected => self.expected,
            End::Benign => self.low,
            End::Adverse => self.high,
        }
    }
}

/// Median, 95th and 99th percentile of something.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles<T> {
    /// Median.
    pub p50: T,
    /// 95th percentile.
    pub p95: T,
    /// 99th percentile.
    pub p99: T,
}

impl<T> Quantiles<T> {
    /// The same of something that follows from each.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Quantiles<U> {
        Quantiles { p50: change(self.p50), p95: change(self.p95), p99: change(self.p99) }
    }

    /// Both, level by level.
    pub(crate) fn zip<U>(self, other: Quantiles<U>) -> Quantiles<(T, U)> {
        let Quantiles { p50, p95, p99 } = other;
        Quantiles { p50: (self.p50, p50), p95: (self.p95, p95), p99: (self.p99, p99) }
    }
}
