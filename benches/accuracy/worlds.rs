//! Victims and suspects of known truth: seven worlds without influence, eight with one, and harder ones.
//!
//! One bin is one second. A suspect bursts at 95 % over 2 %, in whole percent. The victim's log latency is its own load (linear and
//! squared) plus an AR(1) error of 0.8 plus 5 % noise; an influence of 10 % adds ln(1 + 0.1 x).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal, StudentT};

/// Standard deviation of the victim's AR(1) error.
const ERROR: f64 = 0.10;
/// Effect of the victim's own load, linear and squared.
const OF_LOAD: f64 = 0.39;

/// What was seen, one value for each bin.
pub(crate) struct World {
    /// Log latency of the victim.
    pub(crate) victim: Vec<f64>,
    /// Its offered load over the mean, less 1.
    pub(crate) load: Vec<f64>,
    /// Activity of the suspects, 0 to 1; the first is the one that is judged.
    pub(crate) suspects: Vec<Vec<f64>>,
}

/// Worlds without an influence of the first suspect on the victim.
pub(crate) const NULLS: [&str; 7] =
    ["ar1", "on-off", "periodic", "common", "hidden", "co-victim", "shift"];
/// Worlds in which it slows the victim.
pub(crate) const TRUTHS: [&str; 8] =
    ["+5 %", "+10 %", "+20 %", "+150 %", "lag 3", "common +10 %", "drift +10 %", "co-victim +10 %"];
/// Harder worlds without an influence.
pub(crate) const HARD_NULLS: [&str; 12] = [
    "heavy tails",
    "ARMA",
    "unsteady noise",
    "cron",
    "unseen rhythm",
    "ramps",
    "drift 60 s",
    "drift 200 s",
    "drift 600 s",
    "step",
    "decoy",
    "multiplying co-victim",
];
/// Harder worlds with an influence of 10 %.
pub(crate) const HARD_TRUTHS: [&str; 7] =
    ["heavy tails", "ARMA", "unsteady noise", "cron", "ramps", "decoy", "drift 600 s"];

/// Random numbers of one world.
struct Dice(ChaCha8Rng);

impl Dice {
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        mean * unit
    }

    fn student(&mut self, freedom: f64) -> f64 {
        StudentT::new(freedom).expect("positive freedom").sample(&mut self.0)
    }

    /// First-order autoregression of unit variance.
    fn autoregression(&mut self, bins: usize, memory: f64) -> Vec<f64> {
        let fresh = (1.0 - memory * memory).sqrt();
        let mut value = self.normal();
        (0..bins)
            .map(|_| {
                value = memory * value + fresh * self.normal();
                value
            })
            .collect()
    }

    /// Busy share of each bin of exponential bursts and gaps.
    fn bursts(&mut self, bins: usize, rhythm: &Rhythm<'_>) -> Vec<f64> {
        let mut busy = vec![0.0; bins];
        let (mut at, end) = (0.0, bins as f64);
        let mut is_on = self.uniform() < rhythm.on_s / (rhythm.on_s + rhythm.off_s);
        while at < end {
            let bin = at as usize;
            let length = if is_on {
                self.exponential(rhythm.on_s) * (rhythm.stretch)(bin)
            } else {
                self.exponential(rhythm.off_s) / (rhythm.rate)(bin)
            };
            if is_on {
                cover(&mut busy, at, (at + length).min(end));
            }
            at += length;
            is_on = !is_on;
        }
        busy
    }

    /// What monitoring shows of it: 95 % over 2 %, in whole percent.
    fn shown(&mut self, busy: &[f64]) -> Vec<f64> {
        busy.iter()
            .map(|it| (2.0 + 93.0 * it + 1.5 * self.normal()).clamp(0.0, 100.0).round() / 100.0)
            .collect()
    }

    /// Requests in each bin over their mean, less 1.
    fn load(&mut self, demand: &[f64]) -> Vec<f64> {
        let own = self.autoregression(demand.len(), 0.9);
        own.iter()
            .zip(demand)
            .map(|(own, demand)| {
                let mean = 20.0 * (0.15 * own + 0.25 * demand).exp();
                let count: f64 = Poisson::new(mean).expect("positive mean").sample(&mut self.0);
                count / 20.0 - 1.0
            })
            .collect()
    }
}

/// Lengths of bursts and gaps, and what changes them.
struct Rhythm<'a> {
    on_s: f64,
    off_s: f64,
    /// Factor on the rate of bursts at a bin.
    rate: &'a dyn Fn(usize) -> f64,
    /// Factor on the length of a burst that begins at a bin.
    stretch: &'a dyn Fn(usize) -> f64,
}

const AS_IT_IS: &dyn Fn(usize) -> f64 = &|_| 1.0;

fn rhythm(on_s: f64, off_s: f64) -> Rhythm<'static> {
    Rhythm { on_s, off_s, rate: AS_IT_IS, stretch: AS_IT_IS }
}

fn cover(busy: &mut [f64], from: f64, until: f64) {
    let mut bin = from as usize;
    while (bin as f64) < until && bin < busy.len() {
        busy[bin] += (until.min(bin as f64 + 1.0) - from.max(bin as f64)).max(0.0);
        bin += 1;
    }
}

/// A wave that is on for `on` of `period` seconds.
fn square(bins: usize, period: f64, on: f64, phase: f64) -> Vec<f64> {
    let is_on = |bin: usize| (bin as f64 + phase) % period < on;
    (0..bins).map(|bin| f64::from(u8::from(is_on(bin)))).collect()
}

/// One of [`NULLS`] or [`TRUTHS`].
pub(crate) fn world(kind: &str, bins: usize, seed: u64) -> World {
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
    let still = vec![0.0; bins];
    let slow = |dice: &mut Dice, wanted: bool, memory: f64| {
        if wanted { dice.autoregression(bins, memory) } else { still.clone() }
    };
    let demand = slow(&mut dice, kind.starts_with("common"), 0.985);
    let hidden = slow(&mut dice, kind == "hidden" || kind.starts_with("drift"), 0.995);
    let third = dice.bursts(bins, &rhythm(5.0, 25.0));
    let activity = match kind {
        "ar1" => {
            let wave = dice.autoregression(bins, 0.95);
            wave.iter()
                .map(|it| ((0.5 + 0.25 * it).clamp(0.0, 1.0) * 100.0).round() / 100.0)
                .collect()
        }
        "periodic" => {
            let phase = 60.0 * dice.uniform();
            dice.shown(&square(bins, 30.0, 9.0, phase))
        }
        _ if kind.starts_with("co-victim") => {
            let stretch = |bin: usize| if third[bin] > 0.5 { 2.0 } else { 1.0 };
            let busy = dice.bursts(bins, &Rhythm { stretch: &stretch, ..rhythm(8.0, 20.0) });
            dice.shown(&busy)
        }
        _ => {
            let rate = |bin: usize| (0.6 * demand[bin] + 0.6 * hidden[bin]).exp();
            let busy = dice.bursts(bins, &Rhythm { rate: &rate, ..rhythm(8.0, 20.0) });
            dice.shown(&busy)
        }
    };
    let third = dice.shown(&third);
    let load = if kind == "periodic" {
        let wave = square(bins, 30.7, 9.0, 60.0 * dice.uniform());
        dice.load(&wave.iter().map(|it| 1.5 * (it - 0.3)).collect::<Vec<_>>())
    } else {
        dice.load(&demand)
    };
    let slowdown = match kind {
        "+5 %" => 0.05,
        "+20 %" => 0.20,
        "+150 %" => 1.50,
        "+10 %" | "lag 3" => 0.10,
        _ if kind.ends_with("+10 %") => 0.10,
        _ => 0.0,
    };
    let lag = if kind == "lag 3" { 3 } else { 0 };
    let error = dice.autoregression(bins, 0.8);
    let victim = (0..bins)
        .map(|bin| {
            let mut it = of_load(load[bin]) + ERROR * error[bin] + 0.05 * dice.normal();
            it += 0.15 * hidden[bin];
            it += (1.0 + slowdown * if bin >= lag { activity[bin - lag] } else { 0.0 }).ln();
            if kind.starts_with("co-victim") {
                it += (1.0 + 0.25 * third[bin]).ln();
            }
            if kind == "shift" { it + 2.2_f64.ln() } else { it }
        })
        .collect();
    World { victim, load, suspects: vec![activity, third] }
}

/// What its own load does to the victim's log latency.
fn of_load(load: f64) -> f64 {
    OF_LOAD * (load + load * load)
}

/// What else slows the victim of a harder world.
struct Stage {
    third: Vec<f64>,
    hidden: Vec<f64>,
    step_at: f64,
    phase: f64,
    /// The guilty one whose decoy is judged.
    leader: Option<Vec<f64>>,
}

impl Stage {
    fn slow_wave(&self, bin: usize) -> f64 {
        ((bin as f64 + self.phase) / 140.0).sin()
    }
}

/// One of [`HARD_NULLS`] or [`HARD_TRUTHS`]; the slowdown is that of a burst of full height.
pub(crate) fn hard_world(kind: &str, slowdown: f64, bins: usize, seed: u64) -> World {
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed ^ 0x4841_5244));
    let third = dice.bursts(bins, &rhythm(5.0, 25.0));
    let tau = match kind {
        "drift 60 s" => 60.0,
        "drift 200 s" => 200.0,
        "drift 600 s" => 600.0,
        _ => 0.0,
    };
    let hidden =
        if tau > 0.0 { dice.autoregression(bins, (-1.0_f64 / tau).exp()) } else { vec![0.0; bins] };
    let step_at = (0.3 + 0.4 * dice.uniform()) * bins as f64;
    let phase = 900.0 * dice.uniform();
    let mut stage = Stage { third, hidden, step_at, phase, leader: None };
    let busy = hard_suspect(kind, &mut stage, bins, &mut dice);
    let activity = dice.shown(&busy);
    stage.third = dice.shown(&stage.third);
    let load = dice.load(&vec![0.0; bins]);
    let victim = hard_victim(kind, &stage, &load, &mut dice);
    let victim =
        victim.iter().zip(&activity).map(|(it, x)| it + (1.0 + slowdown * x).ln()).collect();
    let suspects = [activity, stage.third].into_iter().chain(stage.leader).collect();
    World { victim, load, suspects }
}

fn hard_suspect(kind: &str, stage: &mut Stage, bins: usize, dice: &mut Dice) -> Vec<f64> {
    match kind {
        "cron" => square(bins, 60.0, 5.0, stage.phase),
        "unseen rhythm" => square(bins, 30.0, 9.0, stage.phase),
        "ramps" => (0..bins)
            .map(|bin| {
                let at = (bin as f64 + stage.phase) % 120.0 / 120.0;
                let shape = if at < 0.8 { at / 0.8 } else { (1.0 - at) / 0.2 };
                (shape * (0.7 + 0.3 * stage.slow_wave(bin))).min(1.0)
            })
            .collect(),
        "step" => {
            let mut busy = dice.bursts(bins, &rhythm(8.0, 20.0));
            busy[..stage.step_at as usize].fill(0.0);
            busy
        }
        "decoy" => {
            let leader = dice.bursts(bins, &rhythm(8.0, 20.0));
            let own = dice.bursts(bins, &rhythm(8.0, 60.0));
            let mut follows = false;
            let busy = (0..bins)
                .map(|bin| {
                    if leader[bin] > 0.0 && (bin == 0 || leader[bin - 1] == 0.0) {
                        follows = dice.uniform() < 0.7;
                    }
                    own[bin].max(if follows { leader[bin] } else { 0.0 })
                })
                .collect();
            stage.leader = Some(dice.shown(&leader));
            busy
        }
        "multiplying co-victim" => {
            let stretch = |bin: usize| if stage.third[bin] > 0.5 { 2.5 } else { 1.0 };
            dice.bursts(bins, &Rhythm { stretch: &stretch, ..rhythm(4.0, 12.0) })
        }
        _ => {
            let rate = |bin: usize| (0.6 * stage.hidden[bin]).exp();
            dice.bursts(bins, &Rhythm { rate: &rate, ..rhythm(8.0, 20.0) })
        }
    }
}

/// The victim's log latency without the judged suspect.
fn hard_victim(kind: &str, stage: &Stage, load: &[f64], dice: &mut Dice) -> Vec<f64> {
    let bins = load.len();
    let (error, long) = (dice.autoregression(bins, 0.8), dice.autoregression(bins, 0.97));
    let own_cron = square(bins, 60.0, 5.0, 60.0 * dice.uniform());
    let own_rhythm = square(bins, 30.7, 9.0, 60.0 * dice.uniform());
    let mut last = 0.0;
    (0..bins)
        .map(|bin| {
            let mut noise = ERROR * error[bin];
            if kind == "ARMA" {
                let fresh = 0.06 * dice.normal();
                noise += fresh + 0.8 * last + 0.08 * long[bin];
                last = fresh;
            }
            if kind == "unsteady noise" {
                noise *= 0.5 + 1.5 * (1.0 + load[bin]).powi(2);
            }
            noise += match kind {
                "heavy tails" => 0.07 * dice.student(2.2),
                _ => 0.05 * dice.normal(),
            };
            let other = match kind {
                "cron" => 0.2 * own_cron[bin],
                "unseen rhythm" => 0.1 * own_rhythm[bin],
                "ramps" => 0.15 * stage.slow_wave(bin),
                "step" if bin as f64 >= stage.step_at => 0.3,
                "multiplying co-victim" => {
                    (1.0 + stage.third[bin] * (1.0 + load[bin]).powi(2)).ln()
                }
                "decoy" => stage.leader.as_ref().map_or(0.0, |it| (1.0 + 0.2 * it[bin]).ln()),
                _ => 0.0,
            };
            of_load(load[bin]) + noise + 0.2 * stage.hidden[bin] + other
        })
        .collect()
}

/// Five suspects of which the first is guilty: a decoy half made of it, one steady at 85 %, two independent ones.
///
/// With `is_common` all follow one slow demand that the victim's load shows too.
pub(crate) fn five_suspects(slowdown: f64, is_common: bool, bins: usize, seed: u64) -> World {
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed ^ 0x4649_5645));
    let demand = if is_common { dice.autoregression(bins, 0.985) } else { vec![0.0; bins] };
    let rate = |bin: usize| (0.6 * demand[bin]).exp();
    let bursts = |dice: &mut Dice, on_s: f64, off_s: f64| {
        dice.bursts(bins, &Rhythm { rate: &rate, ..rhythm(on_s, off_s) })
    };
    let guilty = bursts(&mut dice, 8.0, 20.0);
    let own = bursts(&mut dice, 8.0, 20.0);
    let mut takes = false;
    let decoy: Vec<f64> = (0..bins)
        .map(|bin| {
            if bin % 15 == 0 {
                takes = dice.uniform() < 0.5;
            }
            if takes { guilty[bin] } else { own[bin] }
        })
        .collect();
    let steady: Vec<f64> = (0..bins).map(|_| 0.89).collect();
    let others = [bursts(&mut dice, 6.0, 18.0), bursts(&mut dice, 10.0, 30.0)];
    let suspects: Vec<Vec<f64>> =
        [guilty, decoy, steady].iter().chain(&others).map(|it| dice.shown(it)).collect();
    let load = dice.load(&demand);
    let error = dice.autoregression(bins, 0.8);
    let victim = (0..bins)
        .map(|bin| {
            let own = of_load(load[bin]);
            let noise = ERROR * error[bin] + 0.05 * dice.normal();
            own + noise + (1.0 + slowdown * suspects[0][bin]).ln()
        })
        .collect();
    World { victim, load, suspects }
}

impl World {
    /// The same world seen in bins of so many seconds.
    pub(crate) fn seen_every(&self, seconds: usize) -> Self {
        let coarse = |series: &[f64], is_percent: bool| -> Vec<f64> {
            series
                .chunks_exact(seconds)
                .map(|it| it.iter().sum::<f64>() / seconds as f64)
                .map(|it| if is_percent { (100.0 * it).round() / 100.0 } else { it })
                .collect()
        };
        Self {
            victim: coarse(&self.victim, false),
            load: coarse(&self.load, false),
            suspects: self.suspects.iter().map(|it| coarse(it, true)).collect(),
        }
    }

    /// The same world with a share of the bins lost, in holes of up to ten bins, for everybody at once.
    pub(crate) fn with_holes(mut self, share: f64, seed: u64) -> Self {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed ^ 0x484f_4c45));
        let bins = self.victim.len();
        let mut lost = 0.0;
        while lost < share * bins as f64 {
            let length = 1 + (10.0 * dice.uniform()) as usize;
            let first = (dice.uniform() * bins as f64) as usize;
            for bin in first..(first + length).min(bins) {
                lost += f64::from(u8::from(!self.victim[bin].is_nan()));
                self.victim[bin] = f64::NAN;
                self.load[bin] = f64::NAN;
                self.suspects.iter_mut().for_each(|it| it[bin] = f64::NAN);
            }
        }
        self
    }
}
