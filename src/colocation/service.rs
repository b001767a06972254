//! Requests from what a service counted bin by bin while it was alone.

use crate::colocation::draw::Draw;
use crate::stats::quantile::quantiles;

/// Standard deviations of the logarithm of the service time that are tried.
const SPREADS: [f64; 8] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4];
/// Requests in a bin from which on its quantiles say something about spread.
const LEAST_REQUESTS: usize = 3;
/// Spread where nothing tells.
const USUAL_SPREAD: f64 = 0.3;

/// What a service counted in one bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ServiceBin {
    /// Begin, seconds.
    pub(crate) from_s: f64,
    /// Requests that arrived.
    pub(crate) requests: f64,
    /// Mean, median and 95th percentile of the latency, seconds.
    pub(crate) mean_s: Option<f64>,
    pub(crate) p50_s: Option<f64>,
    pub(crate) p95_s: Option<f64>,
}

/// Service times as fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fitted {
    /// Standard deviation of the logarithm of the service time.
    pub(crate) spread: f64,
    pub(crate) is_spread_known: bool,
    /// Latency outside of the GPU, seconds.
    pub(crate) host_s: f64,
    pub(crate) is_host_known: bool,
}

/// Arrivals at random within their bins, in order.
pub(crate) fn arrivals(bins: &[ServiceBin], bin_s: f64, draw: &mut Draw) -> Vec<f64> {
    let mut at = Vec::new();
    for bin in bins {
        let count = (bin.requests + draw.uniform()).floor().max(0.0) as usize;
        let first = at.len();
        at.extend((0..count).map(|_| bin.from_s + draw.uniform() * bin_s));
        at[first..].sort_by(f64::total_cmp);
    }
    at
}

/// Work of each request: lognormal with this spread.
pub(crate) fn works(count: usize, mean_s: f64, spread: f64, draw: &mut Draw) -> Vec<f64> {
    use crate::colocation::demand::Spread;
    (0..count).map(|_| draw.length(mean_s, Spread::Lognormal(spread))).collect()
}

/// The spread and host time with which a replay alone shows the latencies that were counted.
///
/// For each spread the queue is played alone (Lindley's recursion) and the mean over bins of p95 − p50 is compared with what was
/// counted; between the two nearest the spread is interpolated. The host time is what the mean latency has over the replay's.
///
/// Source: method of simulated moments, D. McFadden, Econometrica 57 (1989), 995–1026 (*not checked*).
pub(crate) fn fitted(bins: &[ServiceBin], bin_s: f64, mean_s: f64, seed: &Draw) -> Fitted {
    let mut draw = seed.clone();
    let at = arrivals(bins, bin_s, &mut draw);
    let starts: Vec<f64> = bins.iter().map(|it| it.from_s).collect();
    let width = |it: &ServiceBin| {
        let is_known = it.requests >= LEAST_REQUESTS as f64 - 0.5;
        it.p95_s.zip(it.p50_s).filter(|_| is_known).map(|(p95, p50)| p95 - p50)
    };
    let seen = mean(bins.iter().filter_map(width));
    let counted = mean(bins.iter().filter_map(|it| it.mean_s.map(|mean| mean * it.requests)))
        .zip(mean(bins.iter().filter(|it| it.mean_s.is_some()).map(|it| it.requests)))
        .map(|(sum, requests)| sum / requests.max(f64::MIN_POSITIVE));
    let played: Vec<(f64, Option<f64>, f64)> = SPREADS
        .iter()
        .map(|spread| {
            let mut draw = draw.clone();
            let latency = alone(&at, &works(at.len(), mean_s, *spread, &mut draw));
            let all = mean(latency.iter().copied()).unwrap_or(mean_s);
            (*spread, mean_width(&at, &latency, &starts, bin_s), all)
        })
        .collect();
    let (spread, mean_latency) = match seen {
        Some(seen) => between(&played, seen),
        None => (USUAL_SPREAD, between_at(&played, USUAL_SPREAD)),
    };
    Fitted {
        spread,
        is_spread_known: seen.is_some(),
        host_s: counted.map_or(0.0, |it| (it - mean_latency).max(0.0)),
        is_host_known: counted.is_some(),
    }
}

/// Latencies of a queue alone.
fn alone(at: &[f64], works: &[f64]) -> Vec<f64> {
    let mut end = f64::NEG_INFINITY;
    let latency = |(at, work): (&f64, &f64)| {
        end = end.max(*at) + work;
        end - at
    };
    at.iter().zip(works).map(latency).collect()
}

/// Mean over bins of p95 − p50 of the requests that end in them.
fn mean_width(at: &[f64], latency: &[f64], starts: &[f64], bin_s: f64) -> Option<f64> {
    let mut widths = Vec::new();
    let mut next = 0;
    for start in starts {
        let ends = |place: usize| at[place] + latency[place];
        while next < at.len() && ends(next) < *start {
            next += 1;
        }
        let first = next;
        while next < at.len() && ends(next) < start + bin_s {
            next += 1;
        }
        if next - first >= LEAST_REQUESTS
            && let Some(found) = quantiles(&latency[first..next], &[0.5, 0.95])
        {
            widths.push(found[1] - found[0]);
        }
    }
    mean(widths.into_iter())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), it| (sum + it, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Spread and mean latency at which the played width is the one that was seen.
fn between(played: &[(f64, Option<f64>, f64)], seen: f64) -> (f64, f64) {
    let known: Vec<(f64, f64, f64)> =
        played.iter().filter_map(|it| it.1.map(|width| (it.0, width, it.2))).collect();
    let Some(above) = known.iter().position(|it| it.1 >= seen) else {
        return known.last().map_or((USUAL_SPREAD, 0.0), |it| (it.0, it.2));
    };
    let high = known[above];
    let Some(low) = above.checked_sub(1).map(|it| known[it]) else { return (high.0, high.2) };
    let part = (seen - low.1) / (high.1 - low.1).max(f64::MIN_POSITIVE);
    (low.0 + part * (high.0 - low.0), low.2 + part * (high.2 - low.2))
}

fn between_at(played: &[(f64, Option<f64>, f64)], spread: f64) -> f64 {
    played.iter().find(|it| it.0 >= spread).map_or(0.0, |it| it.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_and_host_time_that_were_planted_are_found() {
        for (spread, per_second) in [(0.2, 6.0), (0.4, 6.0), (0.9, 6.0)] {
            let mut draw = Draw::new(7);
            let plain = ServiceBin {
                from_s: 0.0,
                requests: per_second,
                mean_s: None,
                p50_s: None,
                p95_s: None,
            };
            let mut bins: Vec<ServiceBin> =
                (0..1200).map(|bin| ServiceBin { from_s: f64::from(bin), ..plain }).collect();
            let at = arrivals(&bins, 1.0, &mut draw);
            let latency = alone(&at, &works(at.len(), 0.02, spread, &mut draw));
            for bin in &mut bins {
                let inside: Vec<f64> = at
                    .iter()
                    .zip(&latency)
                    .filter(|it| (bin.from_s..bin.from_s + 1.0).contains(&(it.0 + it.1)))
                    .map(|it| it.1 + 0.005)
                    .collect();
                if let Some(found) = quantiles(&inside, &[0.5, 0.95]) {
                    bin.mean_s = mean(inside.iter().copied());
                    (bin.p50_s, bin.p95_s) = (Some(found[0]), Some(found[1]));
                }
            }
            let found = fitted(&bins, 1.0, 0.02, &Draw::new(99));
            assert!((found.spread - spread).abs() < 0.08, "{spread}: {found:?}");
            assert!((found.host_s - 0.005).abs() < 0.002, "{spread}: {found:?}");
        }
    }
}
