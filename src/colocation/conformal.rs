//! Intervals that are right as often as they say, from residuals on data that was not fitted.

/// Edges between bands of the predicted logarithm of the slowdown.
const EDGES: [f64; 3] = [0.03, 0.12, 0.35];
/// Residuals that a band needs; with fewer, those of all bands are taken.
const LEAST: usize = 30;

/// Residuals by band of what was predicted, each list in ascending order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Residuals {
    bands: Vec<Vec<f64>>,
    all: Vec<f64>,
}

impl Residuals {
    /// From pairs of predicted and true logarithm of the slowdown, none of which was used to fit.
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut bands = vec![Vec::new(); EDGES.len() + 1];
        let mut all = Vec::new();
        for (predicted, truth) in pairs {
            bands[band(predicted)].push(truth - predicted);
            all.push(truth - predicted);
        }
        bands.iter_mut().for_each(|it| it.sort_by(f64::total_cmp));
        all.sort_by(f64::total_cmp);
        Self { bands, all }
    }

    /// What to add to a prediction for the two ends of an interval with this coverage, each end missed equally often.
    ///
    /// Ranks ⌊α(n+1)⌋ and ⌈(1−α)(n+1)⌉ with α half of what is not covered. `None` with fewer residuals than that needs.
    ///
    /// Source: V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World (2005), section 2.2; by band: ibid. 4.5
    /// (*not checked*).
    pub fn ends(&self, predicted: f64, coverage: f64) -> Option<(f64, f64)> {
        let own = self.bands.get(band(predicted)).filter(|it| it.len() >= LEAST);
        let sorted = own.unwrap_or(&self.all);
        let alpha = 0.5 * (1.0 - coverage);
        let places = (sorted.len() + 1) as f64;
        let low = (alpha * places).floor() as usize;
        let high = ((1.0 - alpha) * places).ceil() as usize;
        Some((*sorted.get(low.checked_sub(1)?)?, *sorted.get(high.checked_sub(1)?)?))
    }

    /// How many residuals there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn band(predicted: f64) -> usize {
    EDGES.iter().filter(|it| predicted >= **it).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::draw::Draw;

    #[test]
    fn an_interval_covers_what_it_says() {
        let mut draw = Draw::new(5);
        let mut sample = |count: usize| -> Vec<(f64, f64)> {
            (0..count).map(|_| (0.5, 0.5 + draw.exponential() - 0.3 * draw.normal())).collect()
        };
        let residuals = Residuals::of(sample(400));
        let (low, high) = residuals.ends(0.5, 0.9).unwrap();
        let fresh = sample(20_000);
        let covered = fresh.iter().filter(|it| (low..=high).contains(&(it.1 - it.0))).count();
        assert!((0.87..0.94).contains(&(covered as f64 / 20_000.0)), "{covered}");
        assert_eq!(Residuals::of([(0.5, 0.6)]).ends(0.5, 0.9), None);
    }
}
