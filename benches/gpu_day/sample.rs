//! Quantiles of measured latencies, with the interval that so few requests leave.

/// Standard deviations of a normal law that hold 95 %.
const NORMAL_95: f64 = 1.96;

/// A measured number and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    /// The number.
    pub(crate) value: f64,
    /// Lower end.
    pub(crate) low: f64,
    /// Upper end; the largest of all where the sample is too small for one.
    pub(crate) high: f64,
}

impl Measured {
    /// A quantile of a sample: ends are those ranks between which it lies in 95 of 100 samples.
    pub(crate) fn quantile(values: &[f64], share: f64) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let reach = NORMAL_95 * (count * share * (1.0 - share)).sqrt();
        let at =
            |rank: f64| sorted.get((rank.max(0.0) as usize).min(sorted.len().max(1) - 1)).copied();
        Some(Self {
            value: at((count * share).floor())?,
            low: at((count * share - reach).floor())?,
            high: at((count * share + reach).ceil())?,
        })
    }

    /// The ratio to another one, as wide as both ends allow.
    pub(crate) fn over(self, other: Self) -> Self {
        Self {
            value: self.value / other.value,
            low: self.low / other.high,
            high: self.high / other.low,
        }
    }

    /// Whether two intervals have a point in common.
    pub(crate) fn meets(self, low: f64, high: f64) -> bool {
        self.low <= high && low <= self.high
    }

    /// As text, times a factor: `20.1 (19.8–20.9)`.
    pub(crate) fn text(self, factor: f64) -> String {
        let [value, low, high] = [self.value, self.low, self.high].map(|it| it * factor);
        format!("{value:.2} ({low:.2}–{high:.2})")
    }
}

/// Mean; `None` of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |it, value| (it.0 + value, it.1 + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Median; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    Some(Measured::quantile(values, 0.5)?.value)
}
