//! One victim's measurement against every suspect: both witnesses, bin by bin.

use crate::analysis::influence::marks::{Pace, begins, drives, fall, rhythm_spread, together};
use crate::stats::contrast::{Contrast, contrast_within, presence};
use crate::stats::dose::{DoseResponse, dose_response};
use crate::stats::granger::{Conditioned, GrangerTest, MOST_REACH, Panel};
use crate::stats::moments::Moments;
use crate::stats::pool::Pool;
use crate::stats::quantile::quantiles;
use crate::stats::strata::Strata;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::sync::OnceLock;

/// Longest lag of an influence, in seconds.
const LONGEST_LAG_S: f64 = 5.0;
/// Draws for an interval.
const DRAWS: usize = 1000;
/// Suspects up to which all others are held fixed; beyond, only those that help to predict the victim.
const MOST_HELD: usize = 14;
/// Share of the victim's bins that those held fixed must leave together: nobody can be held fixed where it was not seen.
const LEAST_LEFT: f64 = 0.75;
/// Probability up to which another suspect counts as helping.
const HELPS: f64 = 0.2;
/// Range of activity from which bursts stand out as they are.
const PLAIN_RANGE: f64 = 0.10;
/// Standard errors by which the effect must fall once the load is held fixed, to say that the load took it.
const FIRM_DIFFERENCE: f64 = 2.0;
/// An activity whose upper part lies below this is nobody's.
const LEAST_ACTIVITY: f64 = 0.003;
/// 80 % power at one-sided 5 %: z(0.8) + z(0.95).
const POWER_FACTOR: f64 = 2.49;
/// Probability without conditions up to which they are tried.
const WORTH_CONDITIONS: f64 = 0.2;

/// Series on one grid; NaN where something was not seen.
#[derive(Debug, Clone)]
pub struct Bins {
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// The victim's measurement in logarithms; higher is worse.
    pub victim: Vec<f64>,
    /// The victim's offered load over its mean, less 1; `None` when it is not known.
    pub load: Option<Vec<f64>>,
    /// Activity of each suspect, 0 to 1.
    pub suspects: Vec<Vec<f64>>,
    /// What tells that the clock was held back: logarithm of the clock, shares of time at a limit.
    pub clock: Vec<Vec<f64>>,
    /// Traffic on the PCIe link over its greatest.
    pub link: Vec<Vec<f64>>,
}

/// What one suspect's trial gave; `None` where the data do not carry it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// Rows of the regression; 0 where there are too few for one.
    pub bins: u64,
    /// Bursts of the suspect that were seen.
    pub bursts: u64,
    /// Share of time in a burst.
    pub on_ratio: Option<f64>,
    /// Help in prediction, one-sided.
    pub p_granger: Option<f64>,
    /// The same with the clock held fixed; `None` when it was not tried.
    pub p_with_clock: Option<f64>,
    /// The same with the PCIe link held fixed; `None` when it was not tried.
    pub p_with_link: Option<f64>,
    /// Contrast between bursts and gaps, one-sided.
    pub p_event: Option<f64>,
    /// Least `p_event` that a suspect of this rhythm can reach.
    pub least_p_event: Option<f64>,
    /// Relative change while the suspect is in a burst.
    pub effect: Option<f64>,
    /// 95 % interval of that.
    pub interval: Option<(f64, f64)>,
    /// Lag, in bins.
    pub lag_bins: Option<u64>,
    /// Effects by height of burst, relative.
    pub doses: Vec<f64>,
    /// Whether they are in line with a cause.
    pub is_dose_plausible: bool,
    /// Least relative change that would have been found in four of five cases.
    pub mde: Option<f64>,
    /// Relative change of the victim for one standard deviation of the suspect, at the lag where it is greatest.
    pub importance: Option<f64>,
    /// 1/(1−R²) of the suspect on load and the other suspects.
    pub inflation: Option<f64>,
    /// The CPI2 score.
    pub cpi2: Option<f64>,
    /// Long-run effect with the load held fixed over that without; `None` without a load or where it was not tried.
    pub left_beside_load: Option<f64>,
    /// Correlation of the suspect with the victim's load, the greatest in size over lags.
    pub load_correlation: Option<f64>,
    /// Fall of the logarithm of the clock in the suspect's bursts; `None` without the clock.
    pub clock_fall: Option<f64>,
    /// Mean length of the suspect's bursts, in bins; `None` without bursts.
    pub burst_bins: Option<f64>,
    /// Spread of the times between bursts: the middle half over the median; small for a rhythm; `None` with fewer than four.
    pub rhythm_spread: Option<f64>,
    /// Whether the clock follows the suspect's bursts downwards.
    pub drives_clock: bool,
    /// Whether traffic on the link follows the suspect's bursts.
    pub drives_link: bool,
}

/// Tries every suspect.
pub fn trials(bins: &Bins) -> Vec<Trial> {
    let reach = reach(bins.bin_s);
    let all: Vec<usize> = (0..bins.suspects.len()).collect();
    let conditions = bins.clock.iter().chain(&bins.link);
    let pace = Pace::of(&bins.victim);
    if all.len() <= MOST_HELD {
        let others: Vec<&[f64]> = conditions.map(Vec::as_slice).collect();
        let pool = Pool::new(bins.panel(&all, &[]), &others, reach);
        let court = Court::new(bins, (&pool, &pace), all.clone(), reach);
        return all.into_par_iter().map(|it| trial(&court, it)).collect();
    }
    let others: Vec<&[f64]> = bins.suspects.iter().chain(conditions).map(Vec::as_slice).collect();
    let pool = Pool::new(bins.panel(&[], &[]), &others, reach);
    let held = helpers(bins, &pool, reach);
    all.into_par_iter()
        .map(|it| {
            let mut cast: Vec<usize> = held.iter().copied().filter(|other| *other != it).collect();
            cast.push(it);
            let place = cast.len() - 1;
            trial(&Court::new(bins, (&pool, &pace), cast, reach), place)
        })
        .collect()
}

/// Suspects who are tried together, each with all others held fixed, and the regressions for it.
struct Court<'a> {
    bins: &'a Bins,
    pool: &'a Pool<'a>,
    pace: &'a Pace,
    cast: Vec<usize>,
    reach: usize,
    plain: Option<Conditioned<'a>>,
    /// Worked out when the first suspect needs it; `None` inside without such a condition, or with too few rows.
    with_clock: OnceLock<Option<Conditioned<'a>>>,
    with_link: OnceLock<Option<Conditioned<'a>>>,
    without_load: OnceLock<Option<Conditioned<'a>>>,
    strata: OnceLock<Strata>,
}

impl<'a> Court<'a> {
    fn new(
        bins: &'a Bins,
        (pool, pace): (&'a Pool<'a>, &'a Pace),
        cast: Vec<usize>,
        reach: usize,
    ) -> Self {
        let plain = pool.conditioned(bins.panel(&cast, &[]), reach);
        Self {
            bins,
            pool,
            pace,
            cast,
            reach,
            plain,
            with_clock: OnceLock::new(),
            with_link: OnceLock::new(),
            without_load: OnceLock::new(),
            strata: OnceLock::new(),
        }
    }

    fn strata(&self, plain: &Conditioned<'_>) -> &Strata {
        let of = || Strata::of(&plain.has_residual(), self.bins.load.as_deref());
        self.strata.get_or_init(of)
    }

    fn with(&self, conditions: &'a [Vec<f64>]) -> Option<Conditioned<'a>> {
        let held: Vec<&[f64]> = conditions.iter().map(Vec::as_slice).collect();
        let panel = (!held.is_empty()).then(|| self.bins.panel(&self.cast, &held))?;
        self.pool.conditioned(panel, self.reach)
    }

    fn with_clock(&self) -> Option<&Conditioned<'a>> {
        self.with_clock.get_or_init(|| self.with(&self.bins.clock)).as_ref()
    }

    fn with_link(&self) -> Option<&Conditioned<'a>> {
        self.with_link.get_or_init(|| self.with(&self.bins.link)).as_ref()
    }

    fn without_load(&self) -> Option<&Conditioned<'a>> {
        let panel = || Panel { load: None, ..self.bins.panel(&self.cast, &[]) };
        self.without_load.get_or_init(|| self.pool.conditioned(panel(), self.reach)).as_ref()
    }
}

/// Longest lag in bins.
pub fn reach(bin_s: f64) -> usize {
    ((LONGEST_LAG_S / bin_s).round() as usize).clamp(1, MOST_REACH)
}

/// The suspects that help to predict the victim on their own, the best first, less those that were seen too rarely.
///
/// Source: the condition selection of J. Runge et al., Science Advances 5 (2019), eaau4996.
fn helpers<'a>(bins: &'a Bins, pool: &Pool<'a>, reach: usize) -> Vec<usize> {
    let mut found: Vec<(f64, usize)> = (0..bins.suspects.len())
        .into_par_iter()
        .filter_map(|it| {
            let alone = pool.conditioned(bins.panel(&[it], &[]), reach)?.test(0)?;
            // Either sign helps to predict.
            let p = alone.p_value.min(1.0 - alone.p_value) * 2.0;
            (p <= HELPS).then_some((p, it))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut left: Vec<usize> =
        (0..bins.victim.len()).filter(|it| bins.victim[*it].is_finite()).collect();
    let least = LEAST_LEFT * left.len() as f64;
    let mut held = Vec::new();
    for (_, suspect) in found {
        let is_seen = |it: &usize| bins.suspects[suspect][*it].is_finite();
        let with: Vec<usize> = left.iter().copied().filter(is_seen).collect();
        if held.len() < MOST_HELD && with.len() as f64 >= least {
            left = with;
            held.push(suspect);
        }
    }
    held
}

impl Bins {
    fn panel<'a>(&'a self, suspects: &[usize], conditions: &[&'a [f64]]) -> Panel<'a> {
        Panel {
            victim: &self.victim,
            load: self.load.as_deref(),
            suspects: suspects.iter().map(|it| self.suspects[*it].as_slice()).collect(),
            conditions: conditions.to_vec(),
        }
    }
}

/// Bursts of an activity, also of one that never comes near full use.
pub(crate) fn bursts_of(activity: &[f64]) -> Option<Vec<Option<bool>>> {
    let seen: Vec<f64> = activity.iter().copied().filter(|it| it.is_finite()).collect();
    let range = quantiles(&seen, &[0.10, 0.95])?;
    if range[1] - range[0] >= PLAIN_RANGE {
        return presence(activity);
    }
    // The bulk sets the scale, so that a few freak samples do not.
    let scale = quantiles(&seen, &[0.95])?.first().copied().filter(|it| *it >= LEAST_ACTIVITY)?;
    presence(&activity.iter().map(|it| (it / scale).min(1.0)).collect::<Vec<_>>())
}

/// Tries one of a cast, each of whom is held fixed while another is tried.
fn trial(court: &Court<'_>, place: usize) -> Trial {
    let (bins, reach) = (court.bins, court.reach);
    let activity = &bins.suspects[court.cast[place]];
    let on = bursts_of(activity);
    let mut it = Trial { is_dose_plausible: true, ..Trial::default() };
    if let Some(on) = &on {
        let seen = on.iter().flatten().count().max(1) as f64;
        it.on_ratio = Some(on.iter().flatten().filter(|it| **it).count() as f64 / seen);
        let begins = begins(on);
        it.bursts = begins.len() as u64;
        it.rhythm_spread = rhythm_spread(&begins);
        let on_bins = on.iter().flatten().filter(|it| **it).count();
        it.burst_bins = (!begins.is_empty()).then(|| on_bins as f64 / begins.len() as f64);
    }
    it.cpi2 = court.pace.score(activity);
    let Some(conditioned) = &court.plain else { return it };
    it.bins = conditioned.rows() as u64;
    let Some(test) = conditioned.test(place) else { return it };
    it.take_granger(&test, activity);
    if let Some(on) = &on {
        let residual = conditioned.residual(place);
        let strata = court.strata(conditioned);
        if let Some(found) = contrast_within(&residual, strata, on, reach) {
            it.take_contrast(&found, activity, on, test.inflation);
        }
        if test.p_value <= WORTH_CONDITIONS {
            it.try_conditions(court, place);
            it.try_without_load(court, place, &test);
            it.clock_fall = bins.clock.first().and_then(|clock| fall(clock, on));
            it.drives_clock = drives(&bins.clock, on, reach);
            it.drives_link = drives(&bins.link, on, reach);
        }
    }
    it
}

/// A change of a logarithm as a relative change.
fn relative(change: f64) -> f64 {
    change.exp_m1()
}

impl Trial {
    fn take_granger(&mut self, test: &GrangerTest, activity: &[f64]) {
        let seen: Vec<f64> = activity.iter().copied().filter(|it| it.is_finite()).collect();
        let range = quantiles(&seen, &[0.10, 0.95]).map_or(0.0, |it| it[1] - it[0]);
        let spread = Moments::of(&seen).variance().map_or(0.0, f64::sqrt);
        self.p_granger = Some(test.p_value);
        self.inflation = Some(test.inflation);
        self.importance = Some(relative(test.peak * spread));
        self.mde = (range > 0.0).then(|| relative(POWER_FACTOR * test.standard_error * range));
    }

    fn take_contrast(
        &mut self,
        found: &Contrast,
        activity: &[f64],
        on: &[Option<bool>],
        inflation: f64,
    ) {
        // The residual has lost what other suspects explain; bursts that they share were lost with it.
        let scale = inflation.clamp(1.0, 10.0);
        self.p_event = Some(found.p_value);
        self.least_p_event = Some(found.least_p);
        self.lag_bins = Some(found.lag as u64);
        self.effect = Some(relative(found.effect * scale));
        self.interval =
            found.interval(DRAWS, 0).map(|it| (relative(it.0 * scale), relative(it.1 * scale)));
        if let Some(DoseResponse { effects, is_plausible }) =
            dose_response(found.matched(), activity, on, found.lag)
        {
            self.doses = effects.into_iter().map(|it| relative(it * scale)).collect();
            self.is_dose_plausible = is_plausible;
        }
    }

    /// Repeats the regression with the clock, and with the link, held fixed.
    ///
    /// Not where the condition was seen too rarely: fewer rows alone would weaken the evidence.
    fn try_conditions(&mut self, court: &Court<'_>, place: usize) {
        let least = LEAST_LEFT * self.bins as f64;
        let p = |held: Option<&Conditioned<'_>>| {
            let held = held.filter(|it| it.rows() as f64 >= least)?;
            // Nothing left of the suspect beside the condition is no evidence against it.
            Some(held.test(place).map_or(1.0, |it| it.p_value))
        };
        self.p_with_clock = p(court.with_clock());
        self.p_with_link = p(court.with_link());
    }

    /// Repeats the regression without the load: what the load takes away, a load that is measured badly may not take away wholly.
    fn try_without_load(&mut self, court: &Court<'_>, place: usize, base: &GrangerTest) {
        let Some(load) = &court.bins.load else { return };
        let without = court.without_load().and_then(|it| it.test(place));
        // Only a difference beyond the noise of both counts.
        let differs = |it: &GrangerTest| {
            it.long_run - base.long_run > FIRM_DIFFERENCE * it.standard_error && it.long_run > 0.0
        };
        self.left_beside_load =
            without.map(|it| if differs(&it) { base.long_run / it.long_run } else { 1.0 });
        self.load_correlation =
            together(&court.bins.suspects[court.cast[place]], load, court.reach);
    }
}
