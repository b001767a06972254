//! A histogram as Prometheus has it: how many requests stayed under each bound.

/// Requests that stayed under some bounds, in a stretch of time or since a server's start.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Histogram {
    /// Bound, and the requests that stayed under it or at it; by bound, the last one is infinite.
    pub(crate) buckets: Vec<(f64, f64)>,
    /// Sum of all values; `None` where the server does not say.
    pub(crate) sum: Option<f64>,
    /// Number of all values.
    pub(crate) count: Option<f64>,
}

impl Histogram {
    /// All requests.
    pub(crate) fn total(&self) -> Option<f64> {
        self.count.or_else(|| self.buckets.last().filter(|it| it.0.is_infinite()).map(|it| it.1))
    }

    /// Whether it says how many there are, and, where it has bounds, ends with the infinite one.
    pub(crate) fn is_whole(&self) -> bool {
        self.total().is_some() && self.buckets.last().is_none_or(|it| it.0.is_infinite())
    }

    /// What came in between an earlier reading and this one.
    ///
    /// A server that began anew counts from zero, so then it is all that this one holds. Whether it
    /// did is judged once for sum, count and buckets, which would not fit each other otherwise.
    /// What only one of them has says nothing.
    pub(crate) fn since(&self, before: &Histogram) -> (Histogram, HasRestarted) {
        let fell = |now: Option<f64>, then: Option<f64>| matches!((now, then), (Some(n), Some(t)) if n < t);
        let then = |bound: f64| before.buckets.iter().find(|it| it.0 == bound).map(|it| it.1);
        let has_restarted = fell(self.count, before.count)
            || self.buckets.iter().any(|(bound, count)| fell(Some(*count), then(*bound)));
        if has_restarted {
            return (self.clone(), true);
        }
        let grown = |now: Option<f64>, then: Option<f64>| Some(now? - then?);
        let of_bucket = |(bound, count): &(f64, f64)| Some((*bound, count - then(*bound)?));
        let grown = Histogram {
            buckets: self.buckets.iter().filter_map(of_bucket).collect(),
            sum: grown(self.sum, before.sum),
            count: grown(self.count, before.count),
        };
        (grown, false)
    }

    /// Adds what another label set counted; bounds that only one of them has are dropped.
    pub(crate) fn add(&mut self, other: &Histogram) {
        self.buckets.retain_mut(|(bound, count)| {
            let theirs = other.buckets.iter().find(|it| it.0 == *bound);
            theirs.is_some_and(|it| {
                *count += it.1;
                true
            })
        });
        self.sum = self.sum.zip(other.sum).map(|it| it.0 + it.1);
        self.count = self.count.zip(other.count).map(|it| it.0 + it.1);
    }

    /// The value that a share `q` of the requests stayed under, by linear interpolation.
    ///
    /// With rank = q · n, and b the first bucket whose count reaches it:
    /// lower + (upper − lower) · (rank − count(b−1)) / (count(b) − count(b−1)); the first bucket
    /// begins at zero. `None` without requests, and where the rank falls behind the last finite
    /// bound: Prometheus gives that bound then, which is a number that nobody measured.
    ///
    /// Source: `histogram_quantile` of Prometheus, promql/quantile.go, `bucketQuantile`.
    pub(crate) fn quantile(&self, q: f64) -> Quantile {
        let total = match self.buckets.last() {
            Some((bound, count)) if bound.is_infinite() && *count > 0.0 => *count,
            _ => return Quantile::Unknown,
        };
        let rank = q * total;
        let (mut lower, mut below) = (0.0_f64, 0.0_f64);
        for (upper, count) in &self.buckets {
            // Counts that were read while they grew may fall a little from bound to bound.
            let count = count.max(below);
            if count >= rank && count > below {
                if upper.is_infinite() {
                    return Quantile::Above(lower);
                }
                if *upper <= 0.0 {
                    return Quantile::At(*upper);
                }
                let lower = lower.max(0.0);
                return Quantile::At(lower + (upper - lower) * (rank - below) / (count - below));
            }
            (lower, below) = (*upper, count);
        }
        Quantile::Unknown
    }
}

/// Whether a server began to count anew.
pub(crate) type HasRestarted = bool;

/// What a histogram says about a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantile {
    /// About here.
    At(f64),
    /// Above the last finite bound; nobody knows how far.
    Above(f64),
    /// Nothing.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INF: f64 = f64::INFINITY;

    fn of(buckets: &[(f64, f64)]) -> Histogram {
        Histogram { buckets: buckets.to_vec(), sum: None, count: None }
    }

    #[test]
    fn a_quantile_lies_between_the_bounds_of_its_bucket() {
        let histogram = of(&[(0.1, 50.0), (0.2, 100.0), (INF, 100.0)]);
        assert_eq!(histogram.quantile(0.5), Quantile::At(0.1));
        assert_eq!(histogram.quantile(0.25), Quantile::At(0.05));
        let Quantile::At(p99) = histogram.quantile(0.99) else { panic!() };
        assert!((p99 - 0.198).abs() < 1e-12, "{p99}");
    }

    #[test]
    fn the_last_bucket_has_no_end_and_gives_no_number() {
        let histogram = of(&[(0.1, 90.0), (INF, 100.0)]);
        assert_eq!(histogram.quantile(0.99), Quantile::Above(0.1));
        assert_eq!(of(&[(INF, 100.0)]).quantile(0.5), Quantile::Above(0.0));
        assert_eq!(of(&[(0.1, 100.0)]).quantile(0.5), Quantile::Unknown, "no infinite bucket");
        assert_eq!(of(&[(0.1, 0.0), (INF, 0.0)]).quantile(0.5), Quantile::Unknown, "no request");
    }

    #[test]
    fn a_histogram_that_fell_anywhere_began_anew_as_a_whole() {
        let histogram = |under: f64, all: f64| Histogram {
            buckets: vec![(0.1, under), (INF, all)],
            sum: Some(all),
            count: Some(all),
        };
        let (grown, has_restarted) = histogram(7.0, 20.0).since(&histogram(5.0, 10.0));
        assert_eq!((grown, has_restarted), (histogram(2.0, 10.0), false));
        let (grown, has_restarted) = histogram(1.0, 20.0).since(&histogram(5.0, 10.0));
        assert_eq!((grown, has_restarted), (histogram(1.0, 20.0), true));
    }

    #[test]
    fn what_was_not_there_before_has_not_grown() {
        let before = Histogram { sum: None, ..of(&[(INF, 500.0)]) };
        let now =
            Histogram { sum: Some(9e9), count: Some(510.0), ..of(&[(0.1, 400.0), (INF, 510.0)]) };
        assert_eq!(now.since(&before).0, of(&[(INF, 10.0)]));
        assert!(now.is_whole() && !of(&[(0.1, 4.0)]).is_whole() && !of(&[]).is_whole());
    }

    #[test]
    fn label_sets_are_added_bound_by_bound() {
        let mut sum = of(&[(0.1, 1.0), (0.5, 2.0), (INF, 3.0)]);
        sum.add(&of(&[(0.1, 10.0), (0.2, 10.0), (INF, 30.0)]));
        assert_eq!(sum.buckets, [(0.1, 11.0), (INF, 33.0)]);
    }

    /// The bucket of a rank, found by counting the requests one by one.
    fn by_hand(bounds: &[f64], counts: &[u32], q: f64) -> Option<f64> {
        let total: u32 = counts.iter().sum();
        let rank = q * f64::from(total);
        let mut seen = 0.0;
        for (at, count) in counts.iter().enumerate() {
            let lower = if at == 0 { 0.0 } else { bounds[at - 1] };
            let mut inside = 0.0;
            for _ in 0..*count {
                inside += 1.0;
                if seen + inside >= rank {
                    let upper = bounds.get(at)?;
                    let part = (rank - seen) / f64::from(*count);
                    return Some(lower + (upper - lower) * part);
                }
            }
            seen += inside;
        }
        None
    }

    proptest! {
        #[test]
        fn a_quantile_is_what_counting_by_hand_gives(
            steps in prop::collection::vec(0.001..2.0_f64, 1..12),
            counts in prop::collection::vec(0_u32..40, 13),
            q in 0.01..1.0_f64,
        ) {
            let bounds: Vec<f64> = steps.iter().scan(0.0, |sum, it| { *sum += it; Some(*sum) }).collect();
            let counts = &counts[..=bounds.len()];
            let mut running = 0.0;
            let ends = bounds.iter().copied().chain([INF]);
            let buckets: Vec<(f64, f64)> = ends.zip(counts).map(|(bound, count)| {
                running += f64::from(*count);
                (bound, running)
            }).collect();
            match (of(&buckets).quantile(q), by_hand(&bounds, counts, q)) {
                (Quantile::At(ours), Some(theirs)) => prop_assert!((ours - theirs).abs() < 1e-9),
                (Quantile::Above(_) | Quantile::Unknown, None) => {}
                (ours, theirs) => prop_assert!(false, "{ours:?} {theirs:?}"),
            }
        }

        #[test]
        fn known_latencies_come_back_within_the_width_of_a_bucket(
            latencies in prop::collection::vec(0.001..0.99_f64, 30..200),
        ) {
            let width = 0.05;
            let bounds = (1..=20).map(|it| f64::from(it) * width);
            let buckets: Vec<(f64, f64)> = bounds.chain([INF]).map(|bound| {
                (bound, latencies.iter().filter(|it| **it <= bound).count() as f64)
            }).collect();
            let mut sorted = latencies.clone();
            sorted.sort_by(f64::total_cmp);
            for q in [0.5, 0.99] {
                let rank = (q * sorted.len() as f64).ceil() as usize;
                let truth = sorted[rank - 1];
                let Quantile::At(found) = of(&buckets).quantile(q) else { panic!() };
                prop_assert!((found - truth).abs() <= width + 1e-9, "{} {}", found, truth);
            }
        }
    }
}
