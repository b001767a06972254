//! The experiment that would prove an influence.

use crate::analysis::diagnosis_findings::ExperimentPlan;
use crate::domain::metric::Metric;
use crate::stats::permutation::{arrangements, dealt};

/// Blocks: with four of eight, the clearest outcome has a chance of 1 in 70.
const BLOCKS: usize = 8;
/// Length of a block, in seconds: long enough for a quantile, short enough that little else changes.
const BLOCK_S: f64 = 25.0;
/// Seconds at the start of a block that do not count.
const SETTLE_S: f64 = 5.0;

/// Half of the blocks with the suspect, half without, in an order drawn by lot.
pub(crate) fn plan(suspect: &str, victim: &str, metric: Metric, seed: u64) -> ExperimentPlan {
    let blocks = dealt(BLOCKS, BLOCKS / 2, seed);
    let ways = arrangements(BLOCKS, BLOCKS / 2).unwrap_or(1);
    let order: Vec<&str> = blocks.iter().map(|it| if *it { "run" } else { "pause" }).collect();
    let total_s = BLOCK_S * BLOCKS as f64;
    let steps = vec![
        format!("Keep recording, with the load on `{victim}` as steady as it can be, for {total_s:.0} s"),
        format!(
            "Every {BLOCK_S:.0} s let `{suspect}` run or pause in this order, drawn by lot: {}",
            order.join(", ")
        ),
        "Pause it by its own means: its rate limit, its queue, or a pause switch of the job; stopping a process by a signal is unsafe under MPS, where its kernels hold the others".to_owned(),
        "Write down when each block began: `diagnose --plan-experiment FILE --starting TIME` makes the list".to_owned(),
        format!(
            "Give it back with `diagnose --experiment FILE`: the exact test compares {} in blocks with and without `{suspect}` against all {ways} ways to deal out the labels; p is 1/{ways} at best",
            metric.in_words()
        ),
    ];
    ExperimentPlan {
        suspect: suspect.to_owned(),
        victim: victim.to_owned(),
        metric,
        block_s: BLOCK_S,
        settle_s: SETTLE_S,
        blocks,
        least_p: 1.0 / ways as f64,
        steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_blocks_pause_and_a_seed_gives_one_order() {
        let of = |seed| plan("batch", "chat", Metric::LatencyP99, seed).blocks;
        assert_eq!(of(7), of(7));
        assert!((0..50).any(|it| of(it) != of(7)));
        assert!((0..50).all(|it| of(it).iter().filter(|it| **it).count() == BLOCKS / 2));
    }
}
