//! From shares of engine time back to how much of the time each tenant was active.
//!
//! The driver deals each moment's engine time out among those who are active in it, so a tenant's reading falls when
//! others work. Read as activity, it would make an innocent neighbour look guilty in the bins that it shares with the guilty one.

/// Sum of readings up to which they are shares of one whole.
const WHOLE: f64 = 1.05;
/// Share of the bins that may exceed it by rounding.
const ROUNDING: f64 = 0.01;
/// Most rounds of the fixed point.
const ROUNDS: usize = 30;
/// Change in a round from which the next is worth it.
const WORTH_A_ROUND: f64 = 1e-3;
/// Gauss-Legendre nodes and weights on 0..1: exact for up to six tenants.
const NODES: [(f64, f64); 3] = [
    (0.112_701_665_379_258_3, 5.0 / 18.0),
    (0.5, 8.0 / 18.0),
    (0.887_298_334_620_741_7, 5.0 / 18.0),
];

/// Turns shares into active time, bin by bin; leaves readings alone that are no shares.
///
/// With a the active share of time of each and independent moments, a reading is x = a · E[1/(1+N)], N the number of
/// others that are active: E = ∫₀¹ ∏(1−a_j+a_j u) du. Solved for a by fixed point, kept within x..1.
pub(crate) fn into_active_time(shares: &mut [Vec<f64>]) {
    let bins = shares.first().map_or(0, Vec::len);
    let sum = |shares: &[Vec<f64>], bin: usize| -> f64 {
        shares.iter().map(|it| it[bin]).filter(|it| it.is_finite()).sum()
    };
    let over = (0..bins).filter(|bin| sum(shares, *bin) > WHOLE).count();
    if shares.len() < 2 || over as f64 > ROUNDING * bins as f64 {
        return;
    }
    let mut readings = vec![0.0; shares.len()];
    let mut active = vec![0.0; shares.len()];
    for bin in 0..bins {
        for (place, it) in shares.iter().enumerate() {
            readings[place] = if it[bin].is_finite() { it[bin] } else { 0.0 };
        }
        let busy = readings.iter().filter(|it| **it > 0.0).count();
        if busy < 2 {
            continue;
        }
        // From above: where all were active all the time this is the answer, and the fixed point is slow to reach from below.
        for (active, reading) in active.iter_mut().zip(&readings) {
            *active = (reading * busy as f64).min(1.0);
        }
        for _ in 0..ROUNDS {
            let mut change: f64 = 0.0;
            for place in 0..active.len() {
                if readings[place] > 0.0 {
                    let part = mean_part(&active, place);
                    let next = (readings[place] / part).clamp(readings[place], 1.0);
                    change = change.max((next - active[place]).abs());
                    active[place] = next;
                }
            }
            if change < WORTH_A_ROUND {
                break;
            }
        }
        for (it, active) in shares.iter_mut().zip(&active) {
            if it[bin].is_finite() {
                it[bin] = *active;
            }
        }
    }
}

/// E[1/(1+N)] over the others.
fn mean_part(active: &[f64], own: usize) -> f64 {
    let others = |u: f64| -> f64 {
        let rest = active.iter().enumerate().filter(|it| it.0 != own);
        rest.map(|(_, it)| 1.0 - it + it * u).product()
    };
    NODES.iter().map(|(node, weight)| weight * others(*node)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(readings: &[f64]) -> Vec<f64> {
        let mut shares: Vec<Vec<f64>> = readings.iter().map(|it| vec![*it]).collect();
        into_active_time(&mut shares);
        shares.into_iter().map(|it| it[0]).collect()
    }

    #[test]
    fn tenants_that_share_a_whole_second_were_active_all_of_it() {
        for count in [2, 3, 5] {
            for it in solved(&vec![1.0 / count as f64; count]) {
                assert!(it > 0.97, "{count}: {it}");
            }
        }
    }

    #[test]
    fn one_alone_keeps_its_reading_and_small_ones_hardly_change() {
        assert_eq!(solved(&[0.7, 0.0]), [0.7, 0.0]);
        let found = solved(&[0.1, 0.1]);
        assert!(found.iter().all(|it| (0.1..0.11).contains(it)), "{found:?}");
    }

    #[test]
    fn a_hand_calculation_is_found() {
        // Active 0.5 and 0.4 of the time, independently: half of the overlap of 0.2 each.
        let found = solved(&[0.4, 0.3]);
        assert!((found[0] - 0.5).abs() < 0.01 && (found[1] - 0.4).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn readings_that_exceed_a_whole_are_no_shares() {
        assert_eq!(solved(&[0.8, 0.8]), [0.8, 0.8]);
    }
}
