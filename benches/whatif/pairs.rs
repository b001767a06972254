//! Published pairs: Lucid and Gavel, predicted from other pairs, from other tenants, from other families.

use crate::table::{HELD_LUCID, Table, is_held, mean, quantile};
use cotenant::colocation::observation::{Observation, Side};
use cotenant::colocation::predictor::Predictor;
use cotenant::stats::ridge::ridge;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Speed from which on a tenant is content.
const CONTENT: f64 = 0.85;

/// A pair: both sides, the families of both, and whether it was held out.
struct Pair {
    sides: [Observation; 2],
    families: [String; 2],
    is_held: bool,
}

fn lucid() -> Option<Vec<Pair>> {
    let table = Table::read("t02_lucid_pairs_rtx3090.csv")?;
    let pair = |row: usize| {
        let side = |which: char| {
            let text = |column: &str| table.text(row, &format!("{column}{which}")).to_owned();
            let share = |column: &str| table.value(row, &format!("{column}{which}")) / 100.0;
            let variant = ["dataset", "batch", "amp"].map(text).join(" ");
            let tenant = format!("{}/{variant}", text("model"));
            Side { tenant, utilisation: Some((share("solo_gpu_util"), share("solo_mem_util"))) }
        };
        let observed = |own: char, other: char| Observation {
            gpu: "RTX 3090".to_owned(),
            mechanism: "time-slicing".to_owned(),
            own: side(own),
            other: side(other),
            slowdown: 1.0 / table.value(row, &format!("norm_speed{own}")),
        };
        Pair {
            sides: [observed('1', '2'), observed('2', '1')],
            families: [table.text(row, "model1").to_owned(), table.text(row, "model2").to_owned()],
            is_held: is_held(HELD_LUCID, row),
        }
    };
    Some((0..table.len()).map(pair).collect())
}

/// Predicted and true slowdown of both sides of a pair, and the interval where there is one.
struct Answer {
    sides: [(f64, f64); 2],
    covered: Vec<bool>,
}

/// A line of the table: errors of speed and slowdown, and of the verdict that both are content.
fn line(name: &str, answers: &[Answer]) -> String {
    let sides = || answers.iter().flat_map(|it| it.sides);
    let of_speed = || sides().map(|(found, truth)| (1.0 / found - 1.0 / truth).abs());
    let of_slowdown = sides().map(|(found, truth)| (found / truth - 1.0).abs());
    let is_right = |it: &Answer| {
        let content =
            |pick: fn(&(f64, f64)) -> f64| it.sides.iter().all(|side| 1.0 / pick(side) >= CONTENT);
        f64::from(u8::from(content(|it| it.0) == content(|it| it.1)))
    };
    let covered: Vec<f64> =
        answers.iter().flat_map(|it| &it.covered).map(|it| f64::from(u8::from(*it))).collect();
    let coverage = match covered.is_empty() {
        true => "—".to_owned(),
        false => format!("{:.1} %", 100.0 * mean(covered)),
    };
    format!(
        "| {name} | {} | {:.4} | {:.3} | {:.2} % | {:.3} | {coverage} |\n",
        answers.len(),
        mean(of_speed()),
        quantile(of_speed(), 0.9),
        100.0 * mean(of_slowdown),
        mean(answers.iter().map(is_right)),
    )
}

/// Answers of a plain function of both utilisations.
fn simple(pairs: &[&Pair], predict: impl Fn(f64, f64) -> f64) -> Vec<Answer> {
    let side = |it: &Observation| {
        let busy = |side: &Side| side.utilisation.map_or(0.0, |it| it.0);
        (predict(busy(&it.own), busy(&it.other)), it.slowdown)
    };
    pairs
        .iter()
        .map(|it| Answer { sides: [side(&it.sides[0]), side(&it.sides[1])], covered: Vec::new() })
        .collect()
}

/// The mean of all, which knows the answer's level.
fn constant(pairs: &[&Pair]) -> Vec<Answer> {
    let level = mean(pairs.iter().flat_map(|it| &it.sides).map(|it| it.slowdown.ln())).exp();
    simple(pairs, |_, _| level)
}

/// log slowdown = b₀ + b₁u₁ + b₂u₂ + b₃m₁ + b₄m₂ from pairs that share no family.
fn linear(pairs: &[&Pair]) -> Vec<Answer> {
    let row = |it: &Observation| {
        let ((u, m), (v, n)) = it.own.utilisation.zip(it.other.utilisation).unwrap_or_default();
        vec![1.0, u, v, m, n]
    };
    let answer = |pair: &&Pair| {
        let is_strange =
            |it: &&&Pair| !it.families.iter().any(|family| pair.families.contains(family));
        let fit: Vec<&Observation> =
            pairs.iter().filter(is_strange).flat_map(|it| &it.sides).collect();
        let rows: Vec<Vec<f64>> = fit.iter().map(|it| row(it)).collect();
        let targets: Vec<f64> = fit.iter().map(|it| it.slowdown.ln()).collect();
        let line = ridge(&rows, &targets, &vec![1.0; rows.len()], 0.1).expect("there are pairs");
        let side = |it: &Observation| {
            let log: f64 = row(it).iter().zip(&line).map(|(x, b)| x * b).sum();
            (log.max(0.0).exp(), it.slowdown)
        };
        Answer { sides: [side(&pair.sides[0]), side(&pair.sides[1])], covered: Vec::new() }
    };
    pairs.iter().map(answer).collect()
}

fn asked(predictor: &Predictor, pair: &Pair) -> Answer {
    let found = |it: &Observation| predictor.slowdown(&it.own, &it.other).slowdown;
    let both = [found(&pair.sides[0]), found(&pair.sides[1])];
    let truth = [pair.sides[0].slowdown, pair.sides[1].slowdown];
    Answer {
        sides: [(both[0].expected, truth[0]), (both[1].expected, truth[1])],
        covered: both.iter().zip(truth).map(|(range, truth)| range.contains(truth)).collect(),
    }
}

fn learned<'a>(pairs: impl IntoIterator<Item = &'a &'a Pair>) -> Predictor {
    let all: Vec<Observation> = pairs.into_iter().flat_map(|it| it.sides.clone()).collect();
    Predictor::learned(&all)
}

/// Pairs in folds: each is predicted from the others.
fn by_pair(pairs: &[&Pair]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for fold in 0..5 {
        let fit = pairs.iter().enumerate().filter(|it| it.0 % 5 != fold).map(|it| it.1);
        let predictor = learned(fit);
        let out = pairs.iter().enumerate().filter(|it| it.0 % 5 == fold);
        answers.extend(out.map(|it| asked(&predictor, it.1)));
    }
    answers
}

/// Every pair is predicted from those that share no group with it.
fn by_group(pairs: &[&Pair], groups: impl Fn(&Pair) -> [String; 2]) -> Vec<Answer> {
    let keys: BTreeSet<[String; 2]> = pairs
        .iter()
        .map(|it| {
            let mut key = groups(it);
            key.sort();
            key
        })
        .collect();
    let mut answers = Vec::new();
    for key in keys {
        let touches = |it: &&&Pair| groups(it).iter().any(|group| key.contains(group));
        let is_own = |it: &&&Pair| {
            let mut own = groups(it);
            own.sort();
            own == key
        };
        let predictor = learned(pairs.iter().filter(|it| !touches(it)));
        answers.extend(pairs.iter().filter(is_own).map(|it| asked(&predictor, it)));
    }
    answers
}

const HEAD: &str = "| Predictor | pairs | MAE of speed | p90 | slowdown MAPE | verdict | 90 % interval holds |\n|---|---|---|---|---|---|---|\n";

/// Lucid: 832 of the published pairs.
pub(crate) fn lucid_report() -> String {
    let mut text = String::from(
        "\n## Pairs of training jobs without MPS (Lucid, RTX 3090)\n\nVerdict: both run at 0.85 of their solo speed or more. A fifth of the pairs was held out before anything was tuned.\n\n",
    );
    let Some(pairs) = lucid() else {
        return text + "**skipped**: the table does not lie at hand\n";
    };
    let (held, tuned): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|it| it.is_held);
    text.push_str(HEAD);
    let max_min = |own: f64, other: f64| match own + other <= 1.0 {
        true => 1.0,
        false if own <= 0.5 => 1.0,
        false => own / (1.0 - other).max(0.5),
    };
    text += &line("always fine", &simple(&tuned, |_, _| 1.0));
    text += &line("saturation max(1, u₁+u₂)", &simple(&tuned, |own, other| (own + other).max(1.0)));
    text += &line("max-min fair", &simple(&tuned, max_min));
    text += &line("synchronous overlap 1 + u₁u₂", &simple(&tuned, |own, other| 1.0 + own * other));
    text += &line("constant", &constant(&tuned));
    text += &line("linear in u and m of both, families of both unseen", &linear(&tuned));
    let shipped = Predictor::default();
    let own: Vec<Answer> = held.iter().map(|it| asked(&shipped, it)).collect();
    text += &line("ours, families of both unseen", &by_group(&tuned, |it| it.families.clone()));
    let tenants = |it: &Pair| [it.sides[0].own.tenant.clone(), it.sides[1].own.tenant.clone()];
    text += &line("ours, both tenants unseen", &by_group(&tuned, tenants));
    text += &line("ours, pair unseen, tenants seen", &by_pair(&tuned));
    text += "\nThe pairs that were held out:\n\n";
    text.push_str(HEAD);
    text += &line("always fine", &simple(&held, |_, _| 1.0));
    text += &line("saturation", &simple(&held, |own, other| (own + other).max(1.0)));
    text += &line("ours, coefficients as shipped, no data of one's own", &own);
    let predictor = learned(&tuned);
    let own: Vec<Answer> = held.iter().map(|it| asked(&predictor, it)).collect();
    text += &line("ours, learned from the other pairs", &own);
    text
}

/// Gavel: no utilisation, so only sensitivity and pressure.
pub(crate) fn gavel_report() -> String {
    let mut text = String::from(
        "\n## Pairs without any utilisation (Gavel)\n\nEach pair from the other four fifths; the published numbers are input of a simulator and never above solo speed.\n\n| GPU | pairs | MAE of speed | constant | R² |\n|---|---|---|---|---|\n",
    );
    let Some(table) = Table::read("t06_gavel_pairs_v100_p100.csv") else {
        return text + "\n**skipped**: the table does not lie at hand\n";
    };
    for gpu in ["v100", "p100"] {
        let ran = |row: &usize| {
            table.text(*row, "gpu") == gpu
                && table.value(*row, "norm1") > 0.0
                && table.value(*row, "norm2") > 0.0
        };
        let pair = |row: usize| {
            let side = |which: char| Side {
                tenant: table.text(row, &format!("job{which}")).to_owned(),
                utilisation: None,
            };
            let observed = |own: char, other: char| Observation {
                gpu: gpu.to_owned(),
                mechanism: String::new(),
                own: side(own),
                other: side(other),
                slowdown: 1.0 / table.value(row, &format!("norm{own}")),
            };
            Pair {
                sides: [observed('1', '2'), observed('2', '1')],
                families: [String::new(), String::new()],
                is_held: false,
            }
        };
        let pairs: Vec<Pair> = (0..table.len()).filter(ran).map(pair).collect();
        if pairs.is_empty() {
            writeln!(text, "| {gpu} | 0, **skipped**: not in this part of the table | | | |")
                .expect("a string takes it");
            continue;
        }
        let all: Vec<&Pair> = pairs.iter().collect();
        let sides: Vec<(f64, f64)> = by_pair(&all)
            .iter()
            .flat_map(|it| it.sides)
            .map(|(found, truth)| (1.0 / found, 1.0 / truth))
            .collect();
        let middle = mean(sides.iter().map(|it| it.1));
        let square = |of: &dyn Fn(&(f64, f64)) -> f64| mean(sides.iter().map(|it| of(it).powi(2)));
        writeln!(
            text,
            "| {gpu} | {} | {:.3} | {:.3} | {:.2} |",
            pairs.len(),
            mean(sides.iter().map(|it| (it.0 - it.1).abs())),
            mean(sides.iter().map(|it| (middle - it.1).abs())),
            1.0 - square(&|it| it.0 - it.1) / square(&|it| middle - it.1),
        )
        .expect("a string takes it");
    }
    text
}
