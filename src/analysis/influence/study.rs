//! One victim's measurement, brought onto one grid with everybody else's activity.

use crate::analysis::influence::cast::{Member, watched};
use crate::analysis::influence::conditions::Conditions;
use crate::analysis::influence::findings::{ClockOffset, LookAlike, LookAlikeKind, LookAlikeState};
use crate::analysis::influence::grid::Grid;
use crate::analysis::influence::ladder::LEAST_BINS;
use crate::analysis::influence::look_alikes::{board, look_alike, own};
use crate::analysis::influence::shares::into_active_time;
use crate::analysis::influence::signal::{Load, bin_s, harm, load};
use crate::analysis::influence::trial::{Bins, Trial, trials};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::time::TimeSpan;
use crate::stats::correlate::lagged_pearson;

/// Bins are no finer than this, in seconds, unless the record is short.
const FINEST_S: f64 = 1.0;
/// Bins that a short record should still have.
const WANTED_BINS: f64 = 300.0;
/// Finest bins of all, in seconds.
const LEAST_BIN_S: f64 = 0.1;
/// Correlation with the victim's own requests from which an unnamed process is the victim's own.
const OWN_FIT: f64 = 0.4;
/// How much better than any other unnamed process it must fit.
const OWN_LEAD: f64 = 0.1;
/// The same without another to compare with: a neighbour may follow the same demand.
const OWN_FIT_ALONE: f64 = 0.6;
/// Share of a fault's bin from which it is left out.
const TOUCHED: f64 = 0.5;

/// Everything that is needed to judge who slowed one victim in one metric.
pub(crate) struct Study {
    pub(crate) victim: usize,
    pub(crate) metric: Metric,
    pub(crate) grid: Grid,
    /// The victim in logarithms, higher is worse; bins that do not compare are NaN.
    pub(crate) harm: Vec<f64>,
    /// The same with the bins that do not compare.
    pub(crate) whole_harm: Vec<f64>,
    pub(crate) load: Option<Load>,
    /// Places of the suspects in the cast, and the activity of each.
    pub(crate) suspects: Vec<usize>,
    pub(crate) activities: Vec<Vec<f64>>,
    pub(crate) conditions: Conditions,
    pub(crate) offset: ClockOffset,
    pub(crate) look_alikes: Vec<LookAlike>,
    /// How the victim's own process was found; `None` when it is named, or when it was not found.
    pub(crate) own_process: OwnProcess,
}

/// What is known of the victim's own activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnProcess {
    /// The recording names it.
    Named,
    /// One of the unnamed moves with the victim's requests; by its place in the cast.
    Guessed(usize),
    /// It may be any of the unnamed.
    Unknown,
    /// There is only one unnamed process, which is the victim's own or its only neighbour.
    OnlyOne,
}

/// Prepares a study; `None` when the metric was not measured.
pub(crate) fn study(
    cast: &[Member<'_>],
    victim: usize,
    metric: Metric,
    (device, model): (Option<&Trace>, Option<&str>),
    span: TimeSpan,
    offset: ClockOffset,
) -> Option<Study> {
    let member = &cast[victim];
    let late_us = (offset.offset_s * 1e6).round() as i64;
    let strides = cast.iter().enumerate().filter(|it| it.0 != victim);
    let coarsest = strides.filter_map(|it| it.1.stride_s()).fold(0.0, f64::max);
    let needed = bin_s(member, metric)?.max(coarsest);
    let finest = FINEST_S.min(span.seconds() / WANTED_BINS).max(LEAST_BIN_S);
    let grid = Grid::over(span, needed.max(finest));
    let is_watched = watched(&grid, device, cast);
    let mut harmed = harm(member, metric, &grid, late_us);
    let own_process = own_process(cast, victim, &grid, late_us, &is_watched);
    let suspects: Vec<usize> = (0..cast.len())
        .filter(|it| *it != victim && own_process != OwnProcess::Guessed(*it))
        .filter(|it| !cast[*it].activities.is_empty())
        .filter(|it| !is_own_instance(cast, victim, *it))
        .collect();
    let mut everybody = active_time(cast, &grid, &is_watched);
    let activities: Vec<Vec<f64>> =
        suspects.iter().map(|it| std::mem::take(&mut everybody[*it])).collect();
    let conditions = Conditions::of(device, model, &grid);
    let load = load(member, metric, &harmed, &grid, late_us);
    let whole_harm = harmed.clone();
    let mut look_alikes = board::look_alikes(&conditions, &harmed, &grid);
    let relative = load.as_ref().map(|it| it.relative.as_slice());
    look_alikes.push(own::queue(member, relative, &harmed, &grid, late_us));
    look_alikes.push(own::throughout(&harmed));
    let (warm_up, slow_bins) = own::warm_up(&harmed, &grid);
    look_alikes.push(warm_up);
    harmed[..slow_bins].iter_mut().for_each(|it| *it = f64::NAN);
    for (harm, touched) in harmed.iter_mut().zip(conditions.fault.iter().flatten()) {
        if *touched >= TOUCHED {
            *harm = f64::NAN;
        }
    }
    let guess = match own_process {
        OwnProcess::Guessed(place) => Some(cast[place].label.as_str()),
        _ => None,
    };
    look_alikes.push(overlap(&whole_harm, &activities, guess));
    for it in &mut look_alikes {
        it.victim = Some(member.label.clone());
        it.victim_subject = Some(member.subject.clone());
        it.metric = Some(metric);
    }
    Some(Study {
        victim,
        metric,
        grid,
        harm: harmed,
        whole_harm,
        load,
        suspects,
        activities,
        conditions,
        offset,
        look_alikes,
        own_process,
    })
}

/// Active share of each bin of everybody in the cast; NaN where it was not seen.
pub(crate) fn active_time(cast: &[Member<'_>], grid: &Grid, is_watched: &[bool]) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = cast.iter().map(|it| it.activity(grid, is_watched)).collect();
    let of_engine: Vec<usize> =
        (0..cast.len()).filter(|it| cast[*it].shows_engine_time()).collect();
    let mut shares: Vec<Vec<f64>> =
        of_engine.iter().map(|it| std::mem::take(&mut all[*it])).collect();
    into_active_time(&mut shares);
    for (place, share) in of_engine.iter().zip(shares) {
        all[*place] = share;
    }
    all
}

impl Study {
    /// Both witnesses on every suspect, in their order.
    pub(crate) fn trials(&self) -> Vec<Trial> {
        trials(&Bins {
            bin_s: self.grid.step_s(),
            victim: self.harm.clone(),
            load: self.load.as_ref().map(|it| it.relative.clone()),
            suspects: self.activities.clone(),
            clock: self.conditions.clock_columns(),
            link: self.conditions.link_columns(),
        })
    }
}

/// A tenant that shares its instance with nobody must not be accused by that instance's own activity.
fn is_own_instance(cast: &[Member<'_>], victim: usize, suspect: usize) -> bool {
    matches!(cast[suspect].subject, Subject::MigInstance { .. })
        && cast[suspect].instance.is_some()
        && cast[suspect].instance == cast[victim].instance
}

fn overlap(harm: &[f64], activities: &[Vec<f64>], own: Option<&str>) -> LookAlike {
    let kind = LookAlikeKind::NoOverlap;
    let seen = |activity: &Vec<f64>| {
        harm.iter().zip(activity).filter(|it| it.0.is_finite() && it.1.is_finite()).count() as u64
    };
    let most = activities.iter().map(seen).max().unwrap_or(0);
    if activities.is_empty() {
        let sentence = match own {
            None => "nobody else's activity was recorded".to_owned(),
            Some(own) => format!(
                "nobody else's activity was recorded: the only other process, `{own}`, moves with the victim's requests and is taken to be its own"
            ),
        };
        return look_alike(kind, LookAlikeState::Found, sentence);
    }
    if most < LEAST_BINS {
        let sentence =
            format!("the victim and its neighbours were seen together in {most} bins only");
        return look_alike(kind, LookAlikeState::Found, sentence);
    }
    let sentence = format!("the victim and its neighbours were seen together in {most} bins");
    look_alike(kind, LookAlikeState::RuledOut, sentence)
}

/// Which of the unnamed processes or instances is the victim's own.
fn own_process(
    cast: &[Member<'_>],
    victim: usize,
    grid: &Grid,
    late_us: i64,
    is_watched: &[bool],
) -> OwnProcess {
    let unnamed: Vec<usize> = (0..cast.len())
        .filter(|it| *it != victim && !matches!(cast[*it].subject, Subject::Tenant { .. }))
        .filter(|it| !cast[*it].activities.is_empty())
        .collect();
    let member = &cast[victim];
    if member.has_process() || member.instance.is_some() || unnamed.is_empty() {
        return OwnProcess::Named;
    }
    let rates =
        [Metric::OfferedLoad, Metric::Throughput, Metric::IterationRate, Metric::TokenThroughput];
    // Its own utilisation tells best, where it is recorded under another name than the process.
    let own = (!member.activities.is_empty()).then(|| member.activity(grid, is_watched));
    let rate = own.or_else(|| {
        let rate = rates.into_iter().find_map(|it| member.measured(it))?;
        Some(grid.means(rate, None, late_us, |it| it))
    });
    let Some(rate) = rate else { return unknown(&unnamed) };
    let mut fits: Vec<(f64, usize)> = unnamed
        .iter()
        .map(|it| {
            let activity = cast[*it].activity(grid, is_watched);
            let both = activity.iter().zip(&rate);
            let seen = both.filter(|it| it.0.is_finite() && it.1.is_finite());
            let (x, y): (Vec<f64>, Vec<f64>) = seen.map(|it| (*it.0, *it.1)).unzip();
            (lagged_pearson(&x, &y, 0).unwrap_or(0.0), *it)
        })
        .collect();
    fits.sort_by(|a, b| b.0.total_cmp(&a.0));
    match fits.as_slice() {
        [best, next, ..] if best.0 >= OWN_FIT && best.0 - next.0 >= OWN_LEAD => {
            OwnProcess::Guessed(best.1)
        }
        [best] if best.0 >= OWN_FIT_ALONE => OwnProcess::Guessed(best.1),
        _ => unknown(&unnamed),
    }
}

fn unknown(unnamed: &[usize]) -> OwnProcess {
    if unnamed.len() == 1 { OwnProcess::OnlyOne } else { OwnProcess::Unknown }
}
