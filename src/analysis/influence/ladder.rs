//! From the numbers of a trial to a verdict with its reasons.

use crate::analysis::influence::findings::{Channel, InfluenceVerdict};
use crate::analysis::influence::trial::Trial;
use crate::domain::shares::share;

/// Share of false accusations that is accepted among all pairs of a GPU.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;
/// Chance by luck up to which the help in prediction is firm; with the contrast beside it a false "confirmed" is rarer than 1 in 40.
pub const FIRM_GRANGER: f64 = 0.02;
/// Chance by luck up to which the contrast agrees.
pub const AGREEING_EVENT: f64 = 0.10;
/// Chance by luck from which the contrast objects.
pub const OBJECTING_EVENT: f64 = 0.25;
/// Effect from which a slowdown matters.
pub const LEAST_EFFECT: f64 = 0.05;
/// Fewest bins for an answer.
pub const LEAST_BINS: u64 = 120;
/// Fewest bursts for an answer.
pub const LEAST_BURSTS: u64 = 5;
/// Fewest bursts for an answer when samples are further apart than what they average over.
pub const LEAST_BURSTS_SPARSE: u64 = 60;
/// Bursts shorter than this, in bins, may fall between two samples.
const SHORT_BURST_BINS: f64 = 2.0;
/// Spread of the times between bursts below which a suspect follows a rhythm.
pub const RHYTHM_SPREAD: f64 = 0.25;
/// Share of the effect that must be left once the load is held fixed; a load that explains more may explain all of it.
pub const LEFT_BESIDE_LOAD: f64 = 0.5;
/// Correlation with the victim's load from which a load that was averaged is too coarse to be held fixed.
pub const LOAD_CORRELATION: f64 = 0.15;
/// How much slower a service becomes, at most, for each per cent of clock.
const MOST_ELASTIC: f64 = 1.5;
/// Share of the effect that the fall of the clock must be able to explain.
const ENOUGH_FALL: f64 = 0.5;
/// Shares of time in bursts outside of which there is nothing to compare with.
pub const ON_RATIOS: (f64, f64) = (0.02, 0.98);
/// 1/(1−R²) from which a suspect cannot be told from the others.
pub const MOST_INFLATION: f64 = 10.0;
/// Chance by luck from which an effect counts as gone once a condition is held fixed.
const GONE: f64 = 0.05;
/// Least probability of the contrast from which a suspect's rhythm is too regular for a proof.
pub const TOO_REGULAR: f64 = 0.02;
/// Bins below which the evidence has to be twice as firm: short records flatter every test.
pub const SHORT_BINS: u64 = 400;
/// Share of the evidence that a condition must take along for the influence to act through it.
const NEARLY_ALL: f64 = 0.9;
/// The same between MIG instances.
const MOST_ACROSS: f64 = 0.6;

const BOTH: &str = "both-witnesses: the suspect's activity predicts the victim, and the victim is slower in its bursts";
const OBSERVED: &str = "observed: something that was not recorded and moves both within a minute or two would look the same; only an experiment tells";
const EXPERIMENT: &str =
    "pause the suspect in blocks drawn by lot: `cotenant diagnose` plans it and judges it";

/// A verdict with what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// The verdict.
    pub verdict: InfluenceVerdict,
    /// By which way, where the verdict is `Through`.
    pub through: Option<Channel>,
    /// Codes and sentences.
    pub reasons: Vec<String>,
    /// What would settle it.
    pub remedy: Option<String>,
}

/// What is known about a pair besides its numbers.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// Why nothing can be said, whatever the numbers are: a sentence with its code, and the remedy.
    pub refusal: Option<(String, String)>,
    /// Why no more than `Likely` can be said: a sentence with its code, and the remedy.
    pub doubt: Option<(String, String)>,
    /// Samples are further apart than what they average over.
    pub is_sparse: bool,
    /// The victim's load was averaged over longer than a bin.
    pub is_load_smoothed: bool,
    /// Both live in different MIG instances.
    pub is_across_instances: bool,
    /// The way that a clock which follows the suspect stands for.
    pub clock_channel: Option<Channel>,
}

/// The verdict on a pair; `q` is its false discovery rate among all pairs of the GPU.
pub fn ruling(trial: &Trial, q: Option<f64>, around: &Circumstances) -> Ruling {
    if let Some((sentence, remedy)) = around.refusal.clone().or_else(|| refusal(trial, around)) {
        return Ruling {
            verdict: InfluenceVerdict::CannotTell,
            through: None,
            reasons: vec![sentence],
            remedy: Some(remedy),
        };
    }
    let is_positive = trial.interval.is_some_and(|it| it.0 > 0.0);
    let is_found = q.is_some_and(|it| it <= FALSE_DISCOVERY_RATE);
    if !(is_found && is_positive && !objects(trial)) {
        return not_shown(trial, is_found, is_positive);
    }
    if let Some(ruling) = by_condition(trial, around) {
        return ruling;
    }
    let doubts = doubts(trial, around);
    let is_confirmed = doubts.is_empty();
    Ruling {
        verdict: if is_confirmed { InfluenceVerdict::Confirmed } else { InfluenceVerdict::Likely },
        through: None,
        reasons: if is_confirmed { vec![BOTH.to_owned(), OBSERVED.to_owned()] } else { doubts },
        remedy: match &around.doubt {
            Some(it) if !is_confirmed => Some(it.1.clone()),
            _ => Some(EXPERIMENT.to_owned()),
        },
    }
}

/// Whether a pair is judged at all: only then it counts among the tests of its GPU.
pub fn is_judged(trial: &Trial, around: &Circumstances) -> bool {
    around.refusal.is_none() && refusal(trial, around).is_none()
}

fn refusal(trial: &Trial, around: &Circumstances) -> Option<(String, String)> {
    let say = |sentence: String, remedy: &str| Some((sentence, remedy.to_owned()));
    let longer = "record longer, until both were seen together for at least 120 bins";
    if trial.bins == 0 {
        return say(
            "few-bins: victim, suspect and everything held fixed were seen together too rarely for a regression".to_owned(),
            longer,
        );
    }
    if trial.bins < LEAST_BINS {
        let bins = trial.bins;
        return say(
            format!(
                "few-bins: victim, suspect and everything held fixed were seen together in {bins} bins, fewer than {LEAST_BINS}"
            ),
            longer,
        );
    }
    let Some(on_ratio) = trial.on_ratio else {
        return say(
            "flat-suspect: the suspect's activity has no bursts at this sampling, so there is nothing to compare".to_owned(),
            "pause the suspect in blocks drawn by lot, or sample finer than its bursts",
        );
    };
    if on_ratio < ON_RATIOS.0 || on_ratio > ON_RATIOS.1 {
        return say(
            format!(
                "always-or-never: the suspect is in a burst for {} of the time, so there is nothing to compare",
                share(on_ratio)
            ),
            "record a stretch in which the suspect is both busy and idle",
        );
    }
    let is_short = trial.burst_bins.is_none_or(|it| it < SHORT_BURST_BINS);
    let least = if around.is_sparse && is_short { LEAST_BURSTS_SPARSE } else { LEAST_BURSTS };
    if trial.bursts < least {
        let bursts = trial.bursts;
        return say(
            format!("few-bursts: {bursts} bursts of the suspect were seen, fewer than {least}"),
            if around.is_sparse {
                "sample at least as often as what a sample averages over"
            } else {
                "record longer"
            },
        );
    }
    if trial.p_granger.is_none() || trial.inflation.is_some_and(|it| it > MOST_INFLATION) {
        return say(
            "always-together: the suspect moves with the others or with the victim's own load, so that nobody can tell them apart".to_owned(),
            "run the suspect at another time, or pause it in blocks drawn by lot",
        );
    }
    None
}

/// Whether the contrast speaks against the suspect's guilt.
///
/// A suspect that repeats itself exactly cannot reach a small probability; reaching its least is all it can do.
fn objects(trial: &Trial) -> bool {
    let Some(p) = trial.p_event else { return true };
    let least = trial.least_p_event.unwrap_or(0.0);
    p > OBJECTING_EVENT.max(1.1 * least)
}

fn not_shown(trial: &Trial, is_found: bool, is_positive: bool) -> Ruling {
    let mut reasons = vec![match trial.mde {
        Some(mde) => format!(
            "nothing-shown: a change of {} or more would have been found in four of five cases",
            share(mde)
        ),
        None => "nothing-shown: how large an effect could hide cannot be said".to_owned(),
    }];
    if is_found && objects(trial) {
        reasons.push(
            "witnesses-disagree: the suspect's activity predicts the victim, but rotated bursts fit as well as the true ones".to_owned(),
        );
    } else if is_found && !is_positive {
        reasons.push(
            "interval-holds-zero: the suspect's activity predicts the victim, but the effect of its bursts may be nothing".to_owned(),
        );
    }
    Ruling { verdict: InfluenceVerdict::NotShown, through: None, reasons, remedy: None }
}

/// The verdict where holding the clock or the link fixed takes the effect away.
fn by_condition(trial: &Trial, around: &Circumstances) -> Option<Ruling> {
    // Between MIG instances nothing but the board itself can act, so what takes most of the evidence along is the way.
    let most = if around.is_across_instances { MOST_ACROSS } else { NEARLY_ALL };
    let is_gone = |p: Option<f64>| {
        p.is_some_and(|p| p > GONE || explained(trial.p_granger.unwrap_or(1.0), p) >= most)
    };
    let by_clock = clock_is_enough(trial) && is_gone(trial.p_with_clock);
    let by_link = is_gone(trial.p_with_link);
    let clock =
        by_clock.then(|| (trial.drives_clock, around.clock_channel.unwrap_or(Channel::Clock)));
    let link = by_link.then_some((trial.drives_link, Channel::Pcie));
    let (drives, channel) = match (clock, link) {
        (Some(clock), Some(link)) => {
            if link.0 && !clock.0 {
                link
            } else {
                clock
            }
        }
        (clock, link) => clock.or(link)?,
    };
    let what = match channel {
        Channel::Pcie => "PCIe traffic",
        Channel::PowerCap => "the board's power cap",
        Channel::Heat => "the board's heat",
        Channel::Clock => "the board's clock",
    };
    if drives {
        return Some(Ruling {
            verdict: InfluenceVerdict::Through,
            through: Some(channel),
            reasons: vec![format!(
                "through: the effect is gone once {what} is held fixed, and {what} follows the suspect's bursts"
            )],
            remedy: None,
        });
    }
    Some(Ruling {
        verdict: InfluenceVerdict::NotShown,
        through: None,
        reasons: vec![format!(
            "explained: the effect is gone once {what} is held fixed, and {what} does not follow the suspect"
        )],
        remedy: None,
    })
}

/// Whether the clock falls enough in the suspect's bursts to slow the victim so much; taken for granted where it was not recorded.
fn clock_is_enough(trial: &Trial) -> bool {
    let effect = trial.effect.unwrap_or(0.0).max(0.0).ln_1p();
    trial.clock_fall.is_none_or(|it| MOST_ELASTIC * it >= ENOUGH_FALL * effect)
}

/// Share of the evidence, as the logarithm of its probability, that is gone once a condition is held fixed.
fn explained(without: f64, with: f64) -> f64 {
    let evidence = |p: f64| -p.clamp(1e-300, 1.0).ln();
    let before = evidence(without);
    if before > 0.0 { 1.0 - evidence(with) / before } else { 0.0 }
}

fn doubts(trial: &Trial, around: &Circumstances) -> Vec<String> {
    let mut doubts = Vec::new();
    let firm = if trial.bins < SHORT_BINS { FIRM_GRANGER / 2.0 } else { FIRM_GRANGER };
    if trial.p_granger.is_none_or(|it| it > firm) {
        doubts.push(
            "prediction-weak: the suspect's activity helps to predict the victim, but not firmly"
                .to_owned(),
        );
    }
    let follows_rhythm = trial.rhythm_spread.is_some_and(|it| it < RHYTHM_SPREAD);
    if follows_rhythm || trial.least_p_event.is_some_and(|it| it > TOO_REGULAR) {
        doubts.push("repeats: the suspect follows a rhythm, so anything with the same rhythm would look the same".to_owned());
    } else if trial.p_event.is_none_or(|it| it > AGREEING_EVENT) {
        doubts.push("contrast-weak: some rotations of the suspect's bursts fit about as well as the true ones".to_owned());
    }
    if let Some(effect) = trial.effect.filter(|it| *it < LEAST_EFFECT) {
        doubts.push(format!(
            "small: the effect is {}, below {}",
            share(effect),
            share(LEAST_EFFECT)
        ));
    }
    if !trial.is_dose_plausible {
        doubts.push(
            "dose-contradicts: the highest bursts of the suspect do less than lower ones"
                .to_owned(),
        );
    }
    let by_clock = trial.p_with_clock.filter(|_| clock_is_enough(trial));
    for (p, what) in [(by_clock, "the clock"), (trial.p_with_link, "the PCIe link")] {
        if p.is_some_and(|it| it > FIRM_GRANGER) {
            doubts.push(format!("partly-explained: with {what} held fixed the evidence is weaker"));
        }
    }
    if let Some(left) = trial.left_beside_load.filter(|it| *it < LEFT_BESIDE_LOAD) {
        doubts.push(format!(
            "load-explains-much: the victim's own load takes {} of the effect away, and one that is measured badly may not take away all that it causes",
            share(1.0 - left)
        ));
    } else if around.is_load_smoothed
        && trial.load_correlation.is_some_and(|it| it >= LOAD_CORRELATION)
    {
        doubts.push("load-averaged: the victim's load was averaged over longer than a bin, and the suspect moves with it".to_owned());
    }
    if around.is_across_instances {
        doubts.push("across-instances: the two live in different MIG instances, which share only power, clock and PCIe, and none of these explains it".to_owned());
    }
    doubts.extend(around.doubt.iter().map(|it| it.0.clone()));
    doubts
}
