//! A total shared out among those who made it, when it is more than the sum of its parts.

/// More players than this are too many to try every coalition of.
pub const MOST_PLAYERS: usize = 8;

/// Each player's mean addition to the value of a coalition, over all orders of joining.
///
/// φ_i = Σ_{S without i} |S|! (n−|S|−1)! / n! · (v(S ∪ i) − v(S)). `worth` gets a bit mask of players
/// and must be 0 for nobody. Exact, 2^n calls. `None` without players or with more than eight.
///
/// Source: L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II
/// (1953), 307–317.
pub fn shapley(players: usize, worth: impl Fn(u32) -> f64) -> Option<Vec<f64>> {
    if players == 0 || players > MOST_PLAYERS {
        return None;
    }
    let worths: Vec<f64> = (0..1_u32 << players).map(worth).collect();
    let factorial = |it: usize| (1..=it).map(|it| it as f64).product::<f64>();
    let share = |player: usize| {
        let without = (0..1_usize << players).filter(|it| it & (1 << player) == 0);
        without
            .map(|set| {
                let size = set.count_ones() as usize;
                let weight = factorial(size) * factorial(players - size - 1) / factorial(players);
                weight * (worths[set | 1 << player] - worths[set])
            })
            .sum()
    };
    Some((0..players).map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn in_the_glove_market_the_rare_glove_takes_two_thirds() {
        // One left glove, two right ones; a pair is worth 1 (a textbook example: 2/3, 1/6, 1/6).
        let pair = |set: u32| f64::from(u8::from(set & 1 != 0 && set & 6 != 0));
        let found = shapley(3, pair).unwrap();
        for (found, expected) in found.iter().zip([2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(shapley(0, |_| 0.0), None);
        assert_eq!(shapley(9, |_| 0.0), None);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_worth_of_all_and_an_additive_game_gives_each_its_own(
            parts in prop::collection::vec(0.0..10.0_f64, 1..8),
            threshold in 0.0..20.0_f64,
        ) {
            let sum = |set: u32| {
                parts.iter().enumerate().filter(|it| set & 1 << it.0 != 0).map(|it| it.1).sum::<f64>()
            };
            let all = (1_u32 << parts.len()) - 1;
            let own = shapley(parts.len(), sum).unwrap();
            for (own, part) in own.iter().zip(&parts) {
                prop_assert!((own - part).abs() < 1e-9);
            }
            let excess = |set: u32| (sum(set) - threshold).max(0.0);
            let shares = shapley(parts.len(), excess).unwrap();
            prop_assert!((shares.iter().sum::<f64>() - excess(all)).abs() < 1e-9);
            prop_assert!(shares.iter().all(|it| *it >= -1e-9));
        }
    }
}
