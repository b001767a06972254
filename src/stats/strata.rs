//! Bins that compare: of the same time, and of about the same load.

use crate::stats::quantile::quantiles;

/// Bins of a block of time within which bursts and gaps are compared.
const BLOCK: usize = 150;
/// Groups of offered load inside a block.
const LOAD_GROUPS: usize = 5;

/// For each bin the number of its stratum: its block of 150 bins, and the fifth of the load within that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strata {
    numbers: Vec<Option<u32>>,
    count: usize,
}

impl Strata {
    /// The strata of those bins that were seen and where the load, if there is one, is finite; it must be as long.
    pub fn of(is_seen: &[bool], load: Option<&[f64]>) -> Self {
        let mut numbers = vec![None; is_seen.len()];
        let levels: Vec<f64> = (1..LOAD_GROUPS).map(|it| it as f64 / LOAD_GROUPS as f64).collect();
        for (block, first) in (0..is_seen.len()).step_by(BLOCK).enumerate() {
            let end = (first + BLOCK).min(is_seen.len());
            let seen = (first..end).filter(|it| is_seen[*it]);
            let Some(load) = load else {
                seen.for_each(|it| numbers[it] = Some(block as u32));
                continue;
            };
            let rows: Vec<usize> = seen.filter(|it| load[*it].is_finite()).collect();
            let values: Vec<f64> = rows.iter().map(|it| load[*it]).collect();
            let Some(limits) = quantiles(&values, &levels) else { continue };
            for row in rows {
                let group = limits.iter().filter(|limit| load[row] > **limit).count();
                numbers[row] = Some((block * LOAD_GROUPS + group) as u32);
            }
        }
        let count = numbers.iter().flatten().max().map_or(0, |it| *it as usize + 1);
        Self { numbers, count }
    }

    /// One for each bin; `None` where it has no stratum.
    pub fn numbers(&self) -> &[Option<u32>] {
        &self.numbers
    }

    /// Values less the mean of their stratum over those that are not NaN; 0 for those and where there is no stratum.
    pub(crate) fn matched(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![(0.0, 0_u32); self.count];
        for (value, stratum) in values.iter().zip(&self.numbers) {
            if let Some(stratum) = stratum.filter(|_| !value.is_nan()) {
                let sum = &mut sums[stratum as usize];
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        let means: Vec<f64> = sums.iter().map(|it| it.0 / f64::from(it.1.max(1))).collect();
        let less = |(value, stratum): (&f64, &Option<u32>)| {
            stratum.filter(|_| !value.is_nan()).map_or(0.0, |it| value - means[it as usize])
        };
        values.iter().zip(&self.numbers).map(less).collect()
    }
}
