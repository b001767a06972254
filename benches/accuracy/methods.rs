//! What is compared: both witnesses, the verdicts, and what people use today.

use crate::worlds::{World, world};
use cotenant::analysis::influence::findings::InfluenceVerdict;
use cotenant::analysis::influence::ladder::{Circumstances, ruling};
use cotenant::analysis::influence::trial::{Bins, Trial, trials};
use cotenant::stats::correlate::{effective_sample_size, lagged_pearson};
use cotenant::stats::cpi2::{alarm_line, cpi2_score};
use cotenant::stats::granger::{Conditioned, Panel};
use cotenant::stats::multiple::false_discovery_rates;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Level of every single test.
const LEVEL: f64 = 0.05;
/// Score from which CPI2 acts.
const CPI2_ACTS: f64 = 0.35;

/// Methods in the order of the table.
pub(crate) const METHODS: [&str; 8] = [
    "Pearson",
    "Pearson, N_eff",
    "Granger, alone",
    "CPI2",
    "Granger (R5)",
    "near + far (C)",
    "contrast (R6)",
    "confirmed",
];

/// What each method says of the first suspect, in the order of [`METHODS`], and whether the verdict is at least `likely`.
pub(crate) struct Answers {
    pub(crate) accuses: [bool; 8],
    pub(crate) is_likely: bool,
    pub(crate) trial: Trial,
    /// Mean activity within and between bursts.
    levels: [f64; 2],
}

impl Answers {
    /// The true effect of a burst as it is seen, from the slowdown at full activity.
    pub(crate) fn truth(&self, slowdown: f64) -> f64 {
        let [on, off] = self.levels;
        (1.0 + slowdown * on) / (1.0 + slowdown * off) - 1.0
    }
}

/// The world as the analysis gets it.
pub(crate) fn bins(world: &World, bin_s: f64) -> Bins {
    Bins {
        bin_s,
        victim: world.victim.clone(),
        load: Some(world.load.clone()),
        suspects: world.suspects.clone(),
        clock: Vec::new(),
        link: Vec::new(),
    }
}

/// Asks every method; `alarm_line` is CPI2's, from a victim that nobody disturbs.
pub(crate) fn ask(world: &World, bin_s: f64, alarm_line: f64) -> Answers {
    let bins = bins(world, bin_s);
    let all = trials(&bins);
    let p_values: Vec<f64> = all.iter().map(|it| it.p_granger.unwrap_or(1.0)).collect();
    let q = false_discovery_rates(&p_values)[0];
    let verdict = ruling(&all[0], Some(q), &Circumstances::default()).verdict;
    let (x, y) = seen(&world.suspects[0], &world.victim);
    let latency: Vec<f64> = world.victim.iter().map(|it| it.exp()).collect();
    let far = |bins: &Bins, suspects: &[usize], load: bool| {
        let panel = Panel {
            victim: &bins.victim,
            load: bins.load.as_deref().filter(|_| load),
            suspects: suspects.iter().map(|it| bins.suspects[*it].as_slice()).collect(),
            conditions: Vec::new(),
        };
        let reach = cotenant::analysis::influence::trial::reach(bin_s);
        Conditioned::new(panel, reach).and_then(|it| it.test(0)).map_or(1.0, |it| it.p_far)
    };
    let everybody: Vec<usize> = (0..world.suspects.len()).collect();
    let score = cpi2_score(&latency, &world.suspects[0], alarm_line);
    Answers {
        accuses: [
            pearson_p(&x, &y, x.len() as f64) <= LEVEL,
            pearson_p(&x, &y, effective_sample_size(&x, &y).unwrap_or(3.0)) <= LEVEL,
            far(&bins, &[0], false) <= LEVEL,
            score.is_some_and(|it| it >= CPI2_ACTS),
            far(&bins, &everybody, true) <= LEVEL,
            all[0].p_granger.is_some_and(|it| it <= LEVEL),
            all[0].p_event.is_some_and(|it| it <= LEVEL),
            verdict == InfluenceVerdict::Confirmed,
        ],
        is_likely: verdict <= InfluenceVerdict::Likely,
        trial: all[0].clone(),
        levels: [true, false].map(|side| level(&world.suspects[0], side)),
    }
}

/// The suspect that each way of ranking puts first: Pearson's r, CPI2's score, our joint test, our importance.
pub(crate) fn rank(world: &World, alarm_line: f64) -> [usize; 4] {
    let latency: Vec<f64> = world.victim.iter().map(|it| it.exp()).collect();
    let first = |score: &dyn Fn(usize) -> f64| {
        let best = (0..world.suspects.len()).max_by(|a, b| score(*a).total_cmp(&score(*b)));
        best.unwrap_or(usize::MAX)
    };
    let all = trials(&bins(world, 1.0));
    [
        first(&|it| lagged_pearson(&world.suspects[it], &world.victim, 0).unwrap_or(-1.0)),
        first(&|it| cpi2_score(&latency, &world.suspects[it], alarm_line).unwrap_or(-1.0)),
        first(&|it| -all[it].p_granger.unwrap_or(1.0)),
        first(&|it| all[it].importance.unwrap_or(-1.0)),
    ]
}

/// Mean of the activity above or below half of full use.
fn level(activity: &[f64], is_on: bool) -> f64 {
    let side: Vec<f64> =
        activity.iter().copied().filter(|it| it.is_finite() && (*it >= 0.48) == is_on).collect();
    side.iter().sum::<f64>() / side.len().max(1) as f64
}

fn seen(x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let both = x.iter().zip(y).filter(|it| it.0.is_finite() && it.1.is_finite());
    both.map(|it| (*it.0, *it.1)).unzip()
}

/// One-sided probability of a correlation that is worth so many pairs.
fn pearson_p(x: &[f64], y: &[f64], pairs: f64) -> f64 {
    let Some(r) = lagged_pearson(x, y, 0) else { return 1.0 };
    let freedom = (pairs - 2.0).max(1.0);
    let t = r * (freedom / (1.0 - r * r).max(1e-12)).sqrt();
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |it| it.sf(t))
}

/// CPI2's alarm line of a victim that nobody disturbs.
pub(crate) fn normal_alarm_line(bin_s: f64) -> f64 {
    let calm = world("on-off", 3600, 1);
    let calm = if bin_s > 1.0 { calm.seen_every(bin_s as usize) } else { calm };
    let latency: Vec<f64> = calm.victim.iter().map(|it| it.exp()).collect();
    alarm_line(&latency).expect("an hour has a mean")
}
