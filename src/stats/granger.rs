//! Does the activity of one tenant help to predict another's slowness, when everything else is known?

use crate::stats::drift::{Drift, stretches};
use crate::stats::lagged::{Products, Term, rows_of, triangle_of};
use crate::stats::least_squares::{Fit, Triangle};
use crate::stats::multiple::cauchy_combination;
use nalgebra::DMatrix;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// How many lags of the victim's own past are held fixed, most to fewest.
const OWN_LAGS: [usize; 5] = [8, 5, 3, 2, 1];
/// Rows that holes must not undercut where fewer own lags avoid it.
const ENOUGH_ROWS: usize = 120;
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
/// Values that are looked at in one go.
const CHUNK: usize = 512;
/// A sum of squared residuals below this share of the victim's is rounding.
const DUST: f64 = 1e-20;

/// Series of equal length, one value for each bin; NaN where there is none.
///
/// The victim says how many bins there are: a shorter series counts as not seen behind its end, and the rest of a longer one as not there.
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
    /// For each bin, whether everything is.
    is_row: Vec<bool>,
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
        let it = Self::unworked(panel, reach);
        let terms = it.terms();
        let products = Products::of(&terms, &it.stretches, &it.is_row);
        let all: Vec<usize> = (0..terms.len()).collect();
        it.worked(&products, &all)
    }

    /// A panel with its lags and rows chosen, without its regression.
    pub(crate) fn unworked(panel: Panel<'a>, reach: usize) -> Self {
        let mut it = Self {
            lags: Lags { own: 1, reach: reach.min(MOST_REACH) },
            stretches: stretches(panel.victim.len()),
            panel,
            triangle: Triangle::new(0),
            spent_on_drift: 0,
            has_present: Vec::new(),
            is_row: Vec::new(),
        };
        it.choose_lags();
        it
    }

    /// The regression from products of its columns, which stand at these places; by reflections where they do not carry it.
    pub(crate) fn worked(mut self, products: &Products, columns: &[usize]) -> Option<Self> {
        (self.triangle, self.spent_on_drift) = match products.triangle(columns) {
            Some(triangle) => (triangle, products.spent_on_drift()),
            None => triangle_of(&self.terms(), &self.stretches, &self.is_row),
        };
        (self.spare(self.columns()) >= FEWEST_SPARE_ROWS).then_some(self)
    }

    /// Every column, the victim last.
    pub(crate) fn terms(&self) -> Vec<Term<'a>> {
        self.past().chain(self.present()).chain([Term::of(self.panel.victim, 0)]).collect()
    }

    /// For each bin, whether it is a row.
    pub(crate) fn is_row(&self) -> &[bool] {
        &self.is_row
    }

    /// The stretches in which drift is taken out.
    pub(crate) fn stretches(&self) -> &[Drift] {
        &self.stretches
    }

    /// Most own lags that keep half of the rows that one lag would, and 120 where one lag does; then as much reach as the rows bear.
    fn choose_lags(&mut self) {
        loop {
            let seen = self.seen();
            let possible = self.rows_with(&seen, 1);
            // One lag always does, so the rows are those of the lags that do.
            let mut rows = possible;
            for own in OWN_LAGS {
                rows = self.rows_with(&seen, own);
                if 2 * rows >= possible && (rows >= ENOUGH_ROWS || possible < ENOUGH_ROWS) {
                    break;
                }
            }
            if rows >= ROWS_PER_COLUMN * self.columns() || self.lags.reach <= NEAR_REACH {
                return;
            }
            self.lags.reach -= 1;
        }
    }

    /// For each bin, whether the victim is there, and conditions and suspects with their lags.
    fn seen(&self) -> Vec<bool> {
        let mut is_there = vec![true; self.panel.victim.len()];
        keep_seen(&mut is_there, self.panel.victim, 0);
        for series in self.panel.conditions.iter().chain(&self.panel.suspects) {
            keep_seen(&mut is_there, series, self.lags.reach);
        }
        is_there
    }

    /// Settles on so many own lags among bins where the rest is there; how many rows that leaves.
    fn rows_with(&mut self, seen: &Vec<bool>, own: usize) -> usize {
        self.lags.own = own;
        self.has_present.clone_from(seen);
        if let Some(load) = self.panel.load {
            keep_seen(&mut self.has_present, load, own.max(SQUARE_LAGS));
        }
        self.is_row.clone_from(&self.has_present);
        keep_seen(&mut self.is_row, self.panel.victim, own);
        self.is_row.iter().filter(|it| **it).count()
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

    /// The victim's own past.
    fn past(&self) -> impl Iterator<Item = Term<'a>> {
        let victim = self.panel.victim;
        (1..=self.lags.own).map(move |lag| Term::of(victim, lag))
    }

    /// Every column but the victim's past: load, conditions, suspects.
    fn present(&self) -> impl Iterator<Item = Term<'a>> {
        let Lags { own, reach } = self.lags;
        let load = self.panel.load.into_iter().flat_map(move |load| {
            let plain = (0..=own).map(move |lag| Term::of(load, lag));
            let squares =
                (0..=SQUARE_LAGS).map(move |lag| Term { series: load, lag, is_square: true });
            plain.chain(squares)
        });
        let rest = self.panel.conditions.iter().chain(&self.panel.suspects);
        load.chain(rest.flat_map(move |it| (0..=reach).map(|lag| Term::of(it, lag))))
    }

    /// Every column but those of one suspect.
    fn without(&self, suspect: usize) -> Vec<usize> {
        let own = self.suspect_column(suspect, 0)..=self.suspect_column(suspect, self.lags.reach);
        (0..self.columns()).filter(|it| !own.contains(it)).collect()
    }

    /// Tests one suspect by its place in the panel; `None` if there is none, if nothing of it is left once the others are known,
    /// or if nothing of the victim is.
    ///
    /// F = ((RSS₀ − RSS₁)/q) / (RSS₁/d) with q columns gained and d rows spare, drift counted as spent. One-sided: half of the
    /// probability when the suspect's coefficients sum to more than 0, the rest otherwise.
    ///
    /// Source: C. W. J. Granger, Econometrica 37 (1969), 424–438; conditional form: J. Geweke, J. Am. Stat. Assoc. 79 (1984), 907–915.
    pub fn test(&self, suspect: usize) -> Option<GrangerTest> {
        if suspect >= self.panel.suspects.len() {
            return None;
        }
        let rest = self.without(suspect);
        let reduced = self.triangle.fit(&rest, self.columns());
        let reach = self.lags.reach;
        let far = self.with(&rest, suspect, reach);
        let p_far = self.one_sided(&reduced, &far, reach)?;
        let p_near = if reach > NEAR_REACH {
            let near = self.with(&rest, suspect, NEAR_REACH);
            self.one_sided(&reduced, &near, NEAR_REACH).unwrap_or(p_far)
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
        let least = DUST * self.triangle.fit(&[], self.columns()).residual_square;
        let is_left = reduced.residual_square > least && full.residual_square.is_finite();
        if !is_left || spare == 0 {
            return None;
        }
        let fall = (reduced.residual_square - full.residual_square).max(0.0);
        let f = (fall / gained as f64) / (full.residual_square.max(least) / spare as f64);
        let two_sided = FisherSnedecor::new(gained as f64, spare as f64).ok()?.sf(f);
        let sum: f64 = full.coefficients.iter().rev().take(reach + 1).sum();
        Some(if sum > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 })
    }

    /// Σb/(1−Σφ), b the suspect's coefficients and φ the victim's own, with its error by the delta rule; 1−Σφ is at least 0.05.
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
    /// One value for each bin, NaN where something is missing or a stretch has no more rows than drift takes; drift is taken
    /// out. Without such a suspect, everybody's effect is.
    pub fn residual(&self, suspect: usize) -> Vec<f64> {
        let predictors: Vec<usize> =
            self.without(suspect).into_iter().filter(|it| *it >= self.lags.own).collect();
        let fit = self.triangle.fit(&predictors, self.columns());
        let mut weights = vec![0.0; self.columns() - self.lags.own];
        for (column, coefficient) in predictors.iter().zip(&fit.coefficients) {
            weights[*column - self.lags.own] = *coefficient;
        }
        let mut residual = vec![f64::NAN; self.panel.victim.len()];
        let weighted: Vec<(Term<'a>, f64)> =
            self.present().zip(weights).filter(|it| it.1 != 0.0).collect();
        for drift in &self.stretches {
            let rows = rows_of(drift, &self.has_present);
            let mut left = DMatrix::zeros(rows.len(), 1);
            Term::of(self.panel.victim, 0).add_to(left.as_mut_slice(), 1.0, &rows);
            for (term, weight) in &weighted {
                term.add_to(left.as_mut_slice(), -weight, &rows);
            }
            if drift.remove(&rows, &mut left) == rows.len() {
                continue;
            }
            for (place, row) in rows.iter().enumerate() {
                residual[*row] = left[(place, 0)];
            }
        }
        residual
    }

    /// For each bin, whether [`Conditioned::residual`] has a value there; the same for every suspect.
    pub fn has_residual(&self) -> Vec<bool> {
        let mut has = self.has_present.clone();
        for drift in &self.stretches {
            let has = &mut has[drift.bins.clone()];
            if !drift.leaves_any(has.iter().filter(|it| **it).count()) {
                has.fill(false);
            }
        }
        has
    }
}

/// Leaves those bins of which a series was seen together with so many before it.
pub(crate) fn keep_seen(is_there: &mut [bool], series: &[f64], reach: usize) {
    let whole = series.get(..is_there.len()).is_some_and(|it| it.chunks(CHUNK).all(all_finite));
    if whole {
        return is_there.iter_mut().take(reach).for_each(|it| *it = false);
    }
    let mut run = 0;
    for (bin, is_there) in is_there.iter_mut().enumerate() {
        run = if series.get(bin).is_some_and(|it| it.is_finite()) { run + 1 } else { 0 };
        *is_there &= run > reach;
    }
}

/// Without a way out in between, so that many are looked at in one step.
fn all_finite(values: &[f64]) -> bool {
    values.iter().fold(true, |so_far, it| so_far & it.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, holed, holed_rows, relatively_close, value};
    use crate::stats::specimen::{Noise, Windows};
    use proptest::prelude::*;

    #[test]
    fn statsmodels_finds_the_same_test_of_every_suspect() {
        for case in case("granger") {
            let (victim, suspects) = (holed(case, "victim"), holed_rows(case, "suspects"));
            let conditions = holed_rows(case, "conditions");
            let load = (!case["load"].is_null()).then(|| holed(case, "load"));
            let panel = Panel {
                victim: &victim,
                load: load.as_deref(),
                suspects: suspects.iter().map(Vec::as_slice).collect(),
                conditions: conditions.iter().map(Vec::as_slice).collect(),
            };
            let it = Conditioned::new(panel, value(case, "asked") as usize).unwrap();
            let (own, reach) = (value(case, "own") as usize, value(case, "reach") as usize);
            assert_eq!(it.lags(), Lags { own, reach });
            assert_eq!(it.rows(), value(case, "rows") as usize);
            for (suspect, expected) in case["tests"].as_array().unwrap().iter().enumerate() {
                let found = it.test(suspect);
                let Some(found) = found.filter(|_| !expected.is_null()) else {
                    assert!(expected.is_null(), "suspect {suspect}");
                    assert_eq!(it.test(suspect), None, "suspect {suspect}");
                    continue;
                };
                for (found, key) in
                    [(found.p_value, "p_value"), (found.p_near, "p_near"), (found.p_far, "p_far")]
                {
                    relatively_close(Some(found), value(expected, key), 1e-8);
                }
                close(Some(found.long_run), value(expected, "long_run"), 1e-10);
                close(Some(found.standard_error), value(expected, "standard_error"), 1e-10);
                relatively_close(Some(found.inflation), value(expected, "inflation"), 1e-9);
            }
        }
    }

    /// A victim with memory, its load, and two suspects of whom the first slows it.
    fn world(bins: usize, effect: f64, seed: u64) -> [Vec<f64>; 4] {
        let mut noise = Noise::new(seed);
        let windows = Windows { width: 1.0, stride: 1.0, count: bins };
        let (a, b) =
            (windows.telegraph(8.0, 20.0, seed + 1), windows.telegraph(4.0, 9.0, seed + 2));
        let load: Vec<f64> = noise.autoregression(0.6, bins).iter().map(|it| 0.2 * it).collect();
        let mut last = 0.0;
        let victim = (0..bins).map(|it| {
            last = 0.6 * last + 0.1 * load[it] + effect * a[it] + 0.05 * noise.normal();
            last
        });
        [victim.collect(), load, a, b]
    }

    fn first_test(victim: &[f64], load: &[f64], suspects: [&[f64]; 2]) -> GrangerTest {
        let panel =
            Panel { victim, load: Some(load), suspects: suspects.to_vec(), conditions: Vec::new() };
        Conditioned::new(panel, MOST_REACH).unwrap().test(0).unwrap()
    }

    #[test]
    fn the_innocent_are_blamed_about_one_time_in_twenty_and_the_guilty_nearly_always() {
        let blamed = |effect: f64| {
            let of = |seed: u64| {
                let [victim, load, a, b] = world(300, effect, 1000 * seed);
                first_test(&victim, &load, [&a, &b]).p_value <= 0.05
            };
            (0..200).filter(|it| of(*it)).count()
        };
        let (innocent, guilty) = (blamed(0.0), blamed(0.05));
        assert!((3..=20).contains(&innocent), "{innocent} of 200");
        assert!(guilty >= 190, "{guilty} of 200");
    }

    #[test]
    fn who_speeds_a_victim_up_is_not_blamed() {
        let [victim, load, a, b] = world(300, -0.1, 7);
        let found = first_test(&victim, &load, [&a, &b]);
        assert!(found.p_value > 0.999 && found.long_run < 0.0, "{found:?}");
    }

    #[test]
    fn a_victim_or_a_suspect_that_never_changes_gives_no_answer() {
        let [victim, load, a, _] = world(300, 0.1, 9);
        let still = vec![0.7; 300];
        let of = |victim: &[f64], suspect: &[f64]| {
            let suspects = vec![suspect, a.as_slice()];
            let panel = Panel { victim, load: Some(&load), suspects, conditions: Vec::new() };
            Conditioned::new(panel, MOST_REACH).unwrap().test(0)
        };
        assert_eq!(of(&still, &victim), None);
        assert_eq!(of(&victim, &still), None);
        assert_eq!(of(&victim, &a), None, "the same twice");
    }

    #[test]
    fn a_victim_that_is_its_suspect_is_explained_beyond_doubt_and_one_that_repeats_itself_is_left_alone()
     {
        let [_, load, a, b] = world(300, 0.0, 11);
        let found = first_test(&a, &load, [&a, &b]);
        assert!(found.p_value < 1e-100, "{found:?}");
        let wave: Vec<f64> = (0..300).map(|it| (it as f64 * 0.9).sin()).collect();
        let panel = Panel { victim: &wave, load: None, suspects: vec![&a], conditions: Vec::new() };
        assert_eq!(Conditioned::new(panel, MOST_REACH).unwrap().test(0), None);
    }

    #[test]
    fn a_suspect_that_was_seen_for_a_third_of_the_time_does_not_cost_own_lags() {
        let [victim, load, mut a, b] = world(900, 0.1, 13);
        a[300..].fill(f64::NAN);
        let panel = Panel {
            victim: &victim,
            load: Some(&load),
            suspects: vec![&a, &b],
            conditions: Vec::new(),
        };
        let it = Conditioned::new(panel, MOST_REACH).unwrap();
        assert_eq!((it.lags().own, it.rows()), (8, 292));
    }

    #[test]
    fn a_stretch_with_fewer_rows_than_drift_takes_has_no_residual() {
        let [mut victim, load, a, b] = world(1200, 0.1, 15);
        victim[604..].fill(f64::NAN);
        let panel = Panel {
            victim: &victim,
            load: Some(&load),
            suspects: vec![&a, &b],
            conditions: Vec::new(),
        };
        let residual = Conditioned::new(panel, MOST_REACH).unwrap().residual(0);
        assert!(residual[600..].iter().all(|it| it.is_nan()));
        assert!(residual[8..600].iter().all(|it| it.is_finite()));
        let mean = residual[8..600].iter().sum::<f64>() / 592.0;
        assert!(mean.abs() < 1e-12, "{mean}");
    }

    /// A series of any length in which anything may happen.
    fn anything() -> impl Strategy<Value = Vec<f64>> {
        let value = prop_oneof![
            8 => -1.0..1.0_f64,
            1 => Just(f64::NAN),
            2 => Just(0.5),
            1 => prop_oneof![Just(1e200), Just(-1e-200), Just(f64::INFINITY), -1e6..1e6_f64],
        ];
        prop_oneof![
            6 => prop::collection::vec(value, 0..200),
            2 => prop::collection::vec(prop_oneof![9 => 0.0..1.0_f64, 1 => Just(f64::NAN)], 100..200),
            1 => (0..200_usize, prop_oneof![Just(f64::NAN), Just(0.0), Just(0.3)])
                .prop_map(|(count, it)| vec![it; count]),
        ]
    }

    proptest! {
        #[test]
        fn units_and_offsets_do_not_matter(
            seed in 0..1000_u64,
            scale in 0.01..100.0_f64,
            shift in -10.0..10.0_f64,
            dose in prop_oneof![0.01..100.0_f64, -100.0..-0.01_f64],
        ) {
            let [victim, load, a, b] = world(200, 0.03, seed);
            let plain = first_test(&victim, &load, [&a, &b]);
            let moved = |series: &[f64], by: f64, to: f64| -> Vec<f64> {
                series.iter().map(|it| it * by + to).collect()
            };
            let (y, o) = (moved(&victim, scale, shift), moved(&load, 1.0, shift));
            let (x, z) = (moved(&a, dose, shift), moved(&b, dose, shift));
            let found = first_test(&y, &o, [&x, &z]);
            let expected = |p: f64| if dose > 0.0 { p } else { 1.0 - p };
            prop_assert!((found.p_near - expected(plain.p_near)).abs() < 1e-6);
            prop_assert!((found.p_far - expected(plain.p_far)).abs() < 1e-6);
            prop_assert!((found.inflation / plain.inflation - 1.0).abs() < 1e-6);
            let back = found.long_run * dose / scale;
            prop_assert!((back - plain.long_run).abs() < 1e-6 * (1.0 + plain.long_run.abs()));
        }

        #[test]
        fn no_series_breaks_it(
            victim in anything(),
            load in prop::option::of(anything()),
            suspects in prop::collection::vec(anything(), 0..3),
            conditions in prop::collection::vec(anything(), 0..2),
            reach in 0..9_usize,
        ) {
            let panel = Panel {
                victim: &victim,
                load: load.as_deref(),
                suspects: suspects.iter().map(Vec::as_slice).collect(),
                conditions: conditions.iter().map(Vec::as_slice).collect(),
            };
            let Some(it) = Conditioned::new(panel, reach) else { return Ok(()) };
            prop_assert_eq!(it.test(suspects.len()), None);
            for suspect in 0..suspects.len() {
                prop_assert_eq!(it.residual(suspect).len(), victim.len());
                if let Some(found) = it.test(suspect) {
                    for p in [found.p_value, found.p_near, found.p_far] {
                        prop_assert!((0.0..=1.0).contains(&p));
                    }
                    prop_assert!(found.standard_error >= 0.0 && found.inflation >= 0.99);
                }
            }
        }
    }
}
