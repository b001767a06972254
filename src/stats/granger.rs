//! Does the activity of one tenant help to predict another's slowness, when everything else is known?

use crate::stats::drift::{Drift, stretches};
use crate::stats::least_squares::{Fit, Triangle};
use crate::stats::multiple::cauchy_combination;
use nalgebra::DMatrix;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// How many lags of the victim's own past are held fixed, most to fewest.
const OWN_LAGS: [usize; 5] = [8, 5, 3, 2, 1];
/// Longest lag of a suspect, in bins.
pub const MOST_REACH: usize = 5;
/// Longest lag of the shorter of the two tests, in bins.
const NEAR_REACH: usize = 1;
/// Lags at which the square of the load counts, besides none.
const SQUARE_LAGS: usize = 2;
/// Fewest rows over columns.
const FEWEST_SPARE_ROWS: usize = 30;
/// Rows for each column below which lags are given up.
const ROWS_PER_COLUMN: usize = 4;
/// A victim whose own past explains all of it has no long run; this much is always left.
const LEAST_REST: f64 = 0.05;

/// Series of equal length, one value for each bin; NaN where there is none.
#[derive(Debug, Clone)]
pub struct Panel<'a> {
    /// What may have been slowed, in logarithms: higher is worse.
    pub victim: &'a [f64],
    /// The victim's own offered load, relative to its mean and less 1; `None` when it is not known.
    pub load: Option<&'a [f64]>,
    /// Activity of everybody who may have done it.
    pub suspects: Vec<&'a [f64]>,
    /// Other conditions to hold fixed, such as the clock.
    pub conditions: Vec<&'a [f64]>,
}

/// How many lags enter the regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lags {
    /// Of the victim's own past, from 1.
    pub own: usize,
    /// Of suspects and conditions, from 0.
    pub reach: usize,
}

/// A panel with its regression worked out, for a test of each suspect.
///
/// The victim is regressed on its own past, on its load now and as far back as that past (so that what the past owes to the load is
/// not taken for a surprise), on squares of the load, and on all conditions and suspects now and up to
/// `reach` bins ago; drift is taken out of every column. Rows whose lags reach into a hole are left
/// out. Time O(rows × columns²), memory O(columns²) besides the series.
#[derive(Debug, Clone)]
pub struct Conditioned<'a> {
    panel: Panel<'a>,
    lags: Lags,
    stretches: Vec<Drift>,
    triangle: Triangle,
    spent_on_drift: usize,
    /// For each bin, whether everything but the victim's past is there.
    has_present: Vec<bool>,
}

/// Whether a suspect's activity helps to predict the victim.
#[derive(Debug, Clone, PartialEq)]
pub struct GrangerTest {
    /// One-sided probability, near and far lags combined by Cauchy's rule.
    pub p_value: f64,
    /// One-sided probability with the suspect at lags 0 and 1.
    pub p_near: f64,
    /// One-sided probability with the suspect at all lags.
    pub p_far: f64,
    /// Change of the victim, in the long run, for one unit of the suspect.
    pub long_run: f64,
    /// Standard error of that.
    pub standard_error: f64,
    /// Greatest coefficient of the suspect at any lag: its plainest effect on the next bins.
    pub peak: f64,
    /// How much of the suspect load, conditions and the other suspects explain: 1/(1−R²).
    pub inflation: f64,
}

impl<'a> Conditioned<'a> {
    /// Works out the regression with suspects at lags up to `reach`; `None` with too few rows for any of it.
    ///
    /// Where holes or shortness leave few rows, own lags and reach are reduced: see [`Conditioned::lags`].
    pub fn new(panel: Panel<'a>, reach: usize) -> Option<Self> {
        let bins = panel.victim.len();
        let mut it = Self {
            panel,
            lags: Lags { own: 1, reach: reach.min(MOST_REACH) },
            stretches: stretches(bins),
            triangle: Triangle::new(0),
            spent_on_drift: 0,
            has_present: Vec::new(),
        };
        it.choose_lags();
        it.triangle = Triangle::new(it.columns() + 1);
        for drift in it.stretches.clone() {
            let rows: Vec<usize> = drift.bins.clone().filter(|row| it.has_row(*row)).collect();
            let mut block = DMatrix::zeros(rows.len(), it.columns() + 1);
            for (place, row) in rows.iter().enumerate() {
                it.fill(*row, |column, value| block[(place, column)] = value);
            }
            it.spent_on_drift += drift.remove(&rows, &mut block);
            it.triangle.add(&block);
        }
        (it.spare(it.columns()) >= FEWEST_SPARE_ROWS).then_some(it)
    }

    /// Most own lags that keep half of the rows, then as much reach as the rows bear.
    fn choose_lags(&mut self) {
        let bins = self.panel.victim.len();
        let possible = self.panel.victim.iter().filter(|it| it.is_finite()).count();
        loop {
            for own in OWN_LAGS {
                self.lags.own = own;
                self.has_present = self.presence();
                let rows = (0..bins).filter(|it| self.has_row(*it)).count();
                if 2 * rows >= possible || own == 1 {
                    break;
                }
            }
            let rows = (0..bins).filter(|it| self.has_row(*it)).count();
            if rows >= ROWS_PER_COLUMN * self.columns() || self.lags.reach <= NEAR_REACH {
                return;
            }
            self.lags.reach -= 1;
        }
    }

    /// Lags that entered.
    pub fn lags(&self) -> Lags {
        self.lags
    }

    /// Rows of the regression.
    pub fn rows(&self) -> usize {
        self.triangle.rows()
    }

    fn spare(&self, rank: usize) -> usize {
        self.triangle.rows().saturating_sub(self.spent_on_drift + rank)
    }

    fn load_columns(&self) -> usize {
        if self.panel.load.is_some() { self.lags.own + SQUARE_LAGS + 2 } else { 0 }
    }

    fn first_suspect(&self) -> usize {
        let conditions = self.panel.conditions.len() * (self.lags.reach + 1);
        self.lags.own + self.load_columns() + conditions
    }

    fn columns(&self) -> usize {
        self.first_suspect() + self.panel.suspects.len() * (self.lags.reach + 1)
    }

    fn suspect_column(&self, suspect: usize, lag: usize) -> usize {
        self.first_suspect() + suspect * (self.lags.reach + 1) + lag
    }

    /// For each bin, whether the victim, the load, conditions and suspects are there with their lags.
    fn presence(&self) -> Vec<bool> {
        let bins = self.panel.victim.len();
        let mut is_there: Vec<bool> = self.panel.victim.iter().map(|it| it.is_finite()).collect();
        let mut need = |series: &[f64], reach: usize| {
            let mut run = 0;
            for bin in 0..bins {
                run = if series.get(bin).is_some_and(|it| it.is_finite()) { run + 1 } else { 0 };
                is_there[bin] &= run > reach;
            }
        };
        if let Some(load) = self.panel.load {
            need(load, self.lags.own.max(SQUARE_LAGS));
        }
        for series in self.panel.conditions.iter().chain(&self.panel.suspects) {
            need(series, self.lags.reach);
        }
        is_there
    }

    fn has_row(&self, row: usize) -> bool {
        row >= self.lags.own
            && self.has_present[row]
            && self.panel.victim[row - self.lags.own..row].iter().all(|it| it.is_finite())
    }

    /// Hands out every column of a row but the victim's past: load, conditions, suspects.
    fn fill_present(&self, row: usize, mut push: impl FnMut(f64)) {
        if let Some(load) = self.panel.load {
            (0..=self.lags.own).for_each(|lag| push(load[row - lag]));
            (0..=SQUARE_LAGS).for_each(|lag| push(load[row - lag] * load[row - lag]));
        }
        for series in self.panel.conditions.iter().chain(&self.panel.suspects) {
            (0..=self.lags.reach).for_each(|lag| push(series[row - lag]));
        }
    }

    /// Hands out every column of a row, the victim last.
    fn fill(&self, row: usize, mut put: impl FnMut(usize, f64)) {
        let mut next = 0;
        let mut push = |value: f64| {
            put(next, value);
            next += 1;
        };
        (1..=self.lags.own).for_each(|lag| push(self.panel.victim[row - lag]));
        self.fill_present(row, &mut push);
        push(self.panel.victim[row]);
    }

    /// Every column but those of one suspect.
    fn without(&self, suspect: usize) -> Vec<usize> {
        let own = self.suspect_column(suspect, 0)..=self.suspect_column(suspect, self.lags.reach);
        (0..self.columns()).filter(|it| !own.contains(it)).collect()
    }

    /// Tests one suspect; `None` if nothing of it is left once the others are known.
    ///
    /// F = ((RSS₀ − RSS₁)/q) / (RSS₁/d) with q columns gained and d rows spare, drift counted as spent. One-sided: half of the
    /// probability when the suspect's coefficients sum to more than 0, the rest otherwise.
    ///
    /// Source: C. W. J. Granger, Econometrica 37 (1969), 424–438; conditional form: J. Geweke, J. Am. Stat. Assoc. 79 (1984), 907–915.
    pub fn test(&self, suspect: usize) -> Option<GrangerTest> {
        let rest = self.without(suspect);
        let reduced = self.triangle.fit(&rest, self.columns());
        let reach = self.lags.reach;
        let far = self.with(&rest, suspect, reach);
        let p_far = self.one_sided(&reduced, &far, reach)?;
        let p_near = if reach > NEAR_REACH {
            self.one_sided(&reduced, &self.with(&rest, suspect, NEAR_REACH), NEAR_REACH)?
        } else {
            p_far
        };
        let (long_run, standard_error) = self.long_run(&far)?;
        Some(GrangerTest {
            p_value: cauchy_combination(&[p_near, p_far])?,
            p_near,
            p_far,
            long_run,
            standard_error,
            peak: far.coefficients.iter().rev().take(reach + 1).copied().fold(f64::MIN, f64::max),
            inflation: self.inflation(&rest, suspect),
        })
    }

    fn with(&self, rest: &[usize], suspect: usize, reach: usize) -> Fit {
        let own = (0..=reach).map(|lag| self.suspect_column(suspect, lag));
        let all: Vec<usize> = rest.iter().copied().chain(own).collect();
        self.triangle.fit(&all, self.columns())
    }

    fn one_sided(&self, reduced: &Fit, full: &Fit, reach: usize) -> Option<f64> {
        let gained = full.rank.checked_sub(reduced.rank).filter(|it| *it > 0)?;
        let spare = self.spare(full.rank);
        if full.residual_square <= 0.0 || spare == 0 {
            return None;
        }
        let fall = (reduced.residual_square - full.residual_square).max(0.0);
        let f = (fall / gained as f64) / (full.residual_square / spare as f64);
        let two_sided = FisherSnedecor::new(gained as f64, spare as f64).ok()?.sf(f);
        let sum: f64 = full.coefficients.iter().rev().take(reach + 1).sum();
        Some(if sum > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 })
    }

    /// Σb/(1−Σφ), b the suspect's coefficients and φ the victim's own, with its error by the delta rule.
    fn long_run(&self, far: &Fit) -> Option<(f64, f64)> {
        let count = far.coefficients.len();
        let first = count - self.lags.reach - 1;
        let own: f64 = far.coefficients[..self.lags.own].iter().sum();
        let suspect: f64 = far.coefficients[first..].iter().sum();
        let rest = (1.0 - own).max(LEAST_REST);
        let weights: Vec<f64> = (0..count)
            .map(|it| match it {
                it if it < self.lags.own => suspect / (rest * rest),
                it if it >= first => 1.0 / rest,
                _ => 0.0,
            })
            .collect();
        let noise = far.residual_square / self.spare(far.rank).max(1) as f64;
        Some((suspect / rest, (noise * far.variance_factor(&weights)?).sqrt()))
    }

    /// 1/(1−R²) of the suspect's activity now on load, conditions and the other suspects.
    fn inflation(&self, rest: &[usize], suspect: usize) -> f64 {
        let own = self.suspect_column(suspect, 0);
        let all = self.triangle.fit(&[], own).residual_square;
        let rivals: Vec<usize> = rest.iter().copied().filter(|it| *it >= self.lags.own).collect();
        let left = self.triangle.fit(&rivals, own).residual_square;
        if left > 0.0 { all / left } else { f64::INFINITY }
    }

    /// What is left of the victim when load, conditions and the other suspects are known, but not its own past.
    ///
    /// One value for each bin, NaN where something is missing; drift is taken out.
    pub fn residual(&self, suspect: usize) -> Vec<f64> {
        let predictors: Vec<usize> =
            self.without(suspect).into_iter().filter(|it| *it >= self.lags.own).collect();
        let fit = self.triangle.fit(&predictors, self.columns());
        let mut weights = vec![0.0; self.columns() - self.lags.own];
        for (column, coefficient) in predictors.iter().zip(&fit.coefficients) {
            weights[*column - self.lags.own] = *coefficient;
        }
        let mut residual = vec![f64::NAN; self.panel.victim.len()];
        for drift in &self.stretches {
            let rows: Vec<usize> =
                drift.bins.clone().filter(|row| self.has_present[*row]).collect();
            let mut left = DMatrix::zeros(rows.len(), 1);
            for (place, row) in rows.iter().enumerate() {
                let (mut next, mut explained) = (0, 0.0);
                self.fill_present(*row, |value| {
                    explained += weights[next] * value;
                    next += 1;
                });
                left[(place, 0)] = self.panel.victim[*row] - explained;
            }
            drift.remove(&rows, &mut left);
            for (place, row) in rows.iter().enumerate() {
                residual[*row] = left[(place, 0)];
            }
        }
        residual
    }
}
