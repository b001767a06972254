//! Pairs of tenants that an exporter compared as it looked: how long both were busy, over how long.
//!
//! Sums over scrape intervals: an interval belongs to the time that holds its middle. Where samples of both tenants were
//! recorded as well, their co-activation leads, since it is tested against chance; the counts then speak of the other time only.

use crate::analysis::memory_findings::CoActivation;
use crate::domain::contended::{ContendedSpan, OTHERS, PairSeconds};
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::shape::ShapeSpan;
use crate::domain::time::{TimeSpan, Timestamp};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// First class of heights in which a sample counts as busy: 5 % and more.
const BUSY_CLASS: usize = 1;

/// Two tenants of one GPU, and the time in which an exporter saw both of them busy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedTogether {
    /// One of the two.
    pub first: Subject,
    /// The other.
    pub second: Subject,
    /// Whether it stands for all pairs that had no place of their own; their time is added up.
    pub is_rest: bool,
    /// Time in which both were busy at 5 % or more, in seconds.
    pub together_s: f64,
    /// The same if their busy time were spread evenly, in seconds; `None` where the busy time of one was not counted.
    pub expected_s: Option<f64>,
    /// Time together over all busy time of the first, 0 to 1; `None` where that was not counted.
    pub of_first_ratio: Option<f64>,
    /// Time together over all busy time of the second, 0 to 1; `None` where that was not counted.
    pub of_second_ratio: Option<f64>,
    /// Time in which the exporter compared them, in seconds.
    pub seen_s: f64,
    /// From the first to the last of that time.
    pub span: TimeSpan,
    /// The longest scrape interval in it, in seconds: nothing is known of when within it.
    pub interval_s: f64,
    /// Time between two samples of the tenant that is sampled less often, in seconds: a sample counts whole, so that shorter
    /// bursts count as long as it; `None` where that was not counted.
    pub sample_s: Option<f64>,
    /// Counted time that is left out because samples of both tell it better, in seconds.
    pub left_to_samples_s: f64,
}

/// What was counted of each tenant.
type Shapes<'a> = BTreeMap<&'a TenantId, Vec<&'a ShapeSpan>>;

/// A pair by name, and the time in which both were sampled.
type Sampled = ((TenantId, TenantId), TimeSpan);

/// Every pair that was ever busy at once, the longest time together first.
pub(crate) fn counted_together(
    gpu: &GpuId,
    part: &Recording,
    asked: Option<TimeSpan>,
    co_activations: &[CoActivation],
) -> Vec<CountedTogether> {
    let all = intervals(gpu, part);
    let named = |it: &PairSeconds| (it.first.clone(), it.second.clone());
    let pairs: BTreeSet<(TenantId, TenantId)> =
        all.iter().flat_map(|it| &it.pairs).map(named).collect();
    let asked: Vec<&ContendedSpan> = all
        .into_iter()
        .filter(|it| asked.is_none_or(|span| span.contains(middle(it.span))))
        .collect();
    let sampled: Vec<Sampled> =
        co_activations.iter().filter_map(|it| both_sampled(part, it)).collect();
    let shapes = shapes(gpu, part);
    let mut found: Vec<CountedTogether> =
        pairs.iter().filter_map(|it| of_pair(gpu, &shapes, it, &asked, &sampled)).collect();
    found.sort_by(|a, b| b.together_s.total_cmp(&a.together_s));
    found
}

/// What was counted about a GPU, in order; of intervals that overlap the first counts.
fn intervals<'a>(gpu: &GpuId, part: &'a Recording) -> Vec<&'a ContendedSpan> {
    let mut kept: Vec<&ContendedSpan> = Vec::new();
    for it in part.outline.contended.iter().filter(|it| it.gpu == *gpu) {
        if kept.last().is_none_or(|last| last.span.until() <= it.span.from()) {
            kept.push(it);
        }
    }
    kept
}

fn middle(span: TimeSpan) -> Timestamp {
    span.from().plus_micros(span.until().micros_since(span.from()) / 2)
}

fn both_sampled(part: &Recording, it: &CoActivation) -> Option<Sampled> {
    let (first, second) = (tenant_of(part, &it.first)?, tenant_of(part, &it.second)?);
    let span = |subject: &Subject| {
        let series = part.traces.get(subject)?.series.values();
        series.filter_map(Series::span).reduce(TimeSpan::hull)
    };
    let pair = (first.clone().min(second.clone()), first.max(second));
    Some((pair, span(&it.first)?.overlap(span(&it.second)?)?))
}

fn tenant_of(part: &Recording, subject: &Subject) -> Option<TenantId> {
    match subject {
        Subject::Tenant { tenant, .. } => Some(tenant.clone()),
        Subject::Process { gpu, process } => {
            part.outline.processes.of(gpu, *process)?.tenant.clone()
        }
        Subject::Device { .. } | Subject::MigInstance { .. } => None,
    }
}

fn of_pair(
    gpu: &GpuId,
    shapes: &Shapes<'_>,
    pair: &(TenantId, TenantId),
    asked: &[&ContendedSpan],
    sampled: &[Sampled],
) -> Option<CountedTogether> {
    let is_told = |it: &TimeSpan| {
        sampled.iter().any(|known| known.0 == *pair && known.1.contains(middle(*it)))
    };
    let (told, own): (Vec<&ContendedSpan>, Vec<&ContendedSpan>) =
        asked.iter().copied().partition(|it| is_told(&it.span));
    let span = own.iter().map(|it| it.span).reduce(TimeSpan::hull)?;
    // A sum of nothing is -0.
    let seconds =
        |all: &[&ContendedSpan]| all.iter().map(|it| it.span.seconds()).sum::<f64>() + 0.0;
    let seen_s = seconds(&own);
    let is_it = |it: &&PairSeconds| (&it.first, &it.second) == (&pair.0, &pair.1);
    let shared = own.iter().flat_map(|it| it.pairs.iter().filter(is_it));
    let together_s = shared.map(|it| it.seconds).sum::<f64>() + 0.0;
    let is_rest = pair.0.as_str() == OTHERS && pair.1.as_str() == OTHERS;
    let active = [&pair.0, &pair.1]
        .map(|it| if is_rest { None } else { shapes.get(it).and_then(|it| busy_s(it, &own)) });
    let ratio = |it: Option<f64>| it.filter(|it| *it > 0.0).map(|it| (together_s / it).min(1.0));
    let subject = |it: &TenantId| Subject::Tenant { gpu: Some(gpu.clone()), tenant: it.clone() };
    Some(CountedTogether {
        first: subject(&pair.0),
        second: subject(&pair.1),
        is_rest,
        together_s,
        expected_s: active[0].zip(active[1]).map(|it| it.0 * it.1 / seen_s),
        of_first_ratio: ratio(active[0]),
        of_second_ratio: ratio(active[1]),
        seen_s,
        span,
        interval_s: own.iter().map(|it| it.span.seconds()).fold(0.0, f64::max),
        sample_s: sample_s(shapes, pair),
        left_to_samples_s: seconds(&told),
    })
}

/// What was counted of each tenant of a GPU, in order; of spans that overlap the first counts.
fn shapes<'a>(gpu: &GpuId, part: &'a Recording) -> Shapes<'a> {
    let mut kept = Shapes::new();
    for it in &part.outline.shapes {
        let Subject::Tenant { gpu: Some(at), tenant } = &it.subject else { continue };
        let own = if at == gpu { kept.entry(tenant).or_default() } else { continue };
        if own.last().is_none_or(|last| last.span.until() <= it.span.from()) {
            own.push(it);
        }
    }
    kept
}

/// Time between samples of whoever of two is sampled less often, in seconds.
fn sample_s(shapes: &Shapes<'_>, pair: &(TenantId, TenantId)) -> Option<f64> {
    let of = |it| Some(shapes.get(it)?.last()?.interval.as_seconds());
    Some(of(&pair.0)?.max(of(&pair.1)?))
}

/// Time in which a tenant was busy inside the intervals, in seconds; `None` where that was not counted.
fn busy_s(counted: &[&ShapeSpan], inside: &[&ContendedSpan]) -> Option<f64> {
    let is_inside = |it: &&&ShapeSpan| {
        let at = middle(it.span);
        let place = inside.partition_point(|it| it.span.until() <= at);
        inside.get(place).is_some_and(|it| it.span.contains(at))
    };
    let busy = counted.iter().filter(is_inside).map(|it| {
        let samples: f64 = it.sums.heights().iter().skip(BUSY_CLASS).sum();
        samples * it.interval.as_seconds()
    });
    busy.reduce(|sum, it| sum + it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::memory_findings::PhaseRelation;
    use crate::domain::metric::Metric;
    use crate::domain::recording::Trace;
    use crate::domain::shape::{Shape, Slot};
    use crate::domain::time::SampleInterval;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn span(from_s: i64, until_s: i64) -> TimeSpan {
        let at = |it: i64| Timestamp::from_micros(it * 1_000_000);
        TimeSpan::new(at(from_s), at(until_s)).unwrap()
    }

    fn gpu() -> GpuId {
        GpuId::new("GPU-1")
    }

    fn tenant(name: &str) -> Subject {
        Subject::Tenant { gpu: Some(gpu()), tenant: TenantId::new(name) }
    }

    /// Four intervals of 15 s in which `a` and `b` were busy together for 0, 3, 6 and 9 s, and each for half of the time.
    fn recording() -> Recording {
        let mut part = Recording::default();
        for place in 0..4 {
            let span = span(15 * place, 15 * place + 15);
            let pair = |seconds| PairSeconds {
                first: TenantId::new("a"),
                second: TenantId::new("b"),
                seconds,
            };
            let pairs =
                Some(3.0 * place as f64).filter(|it| *it > 0.0).map(pair).into_iter().collect();
            part.outline.contended.push(ContendedSpan { gpu: gpu(), span, pairs });
            for name in ["a", "b"] {
                let mut sums = Shape::default();
                sums.set(Slot::Height(19), 75.0);
                sums.set(Slot::Height(0), 75.0);
                let interval = SampleInterval::from_micros(100_000).unwrap();
                let (subject, metric) = (tenant(name), Metric::GpuUtilization);
                part.outline.shapes.push(ShapeSpan {
                    subject,
                    metric,
                    span,
                    interval,
                    window: interval,
                    sums,
                });
            }
        }
        part
    }

    #[test]
    fn time_together_stands_beside_what_each_worked_and_what_chance_would_give() {
        let found = counted_together(&gpu(), &recording(), None, &[]);
        let [it] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((it.together_s, it.seen_s, it.interval_s), (18.0, 60.0, 15.0));
        assert_eq!((it.of_first_ratio, it.of_second_ratio), (Some(0.6), Some(0.6)));
        assert_eq!((it.expected_s, it.sample_s), (Some(15.0), Some(0.1)));
    }

    #[test]
    fn a_window_takes_the_intervals_that_have_their_middle_in_it_and_a_zero_is_told() {
        let of = |asked| counted_together(&gpu(), &recording(), Some(asked), &[]);
        let late = of(span(30, 60));
        assert_eq!((late[0].together_s, late[0].seen_s), (15.0, 30.0));
        assert_eq!(late[0].of_first_ratio, Some(1.0));
        let first = of(span(0, 15));
        assert_eq!((first[0].together_s, first[0].of_first_ratio), (0.0, Some(0.0)));
        assert_eq!(of(span(1, 5)), [], "nothing is known of a part of an interval");
    }

    #[test]
    fn time_that_two_imports_cover_counts_once() {
        let mut part = recording();
        part.outline
            .contended
            .push(ContendedSpan { span: span(20, 50), ..part.outline.contended[1].clone() });
        part.outline.contended.sort_by_key(|it| it.span);
        assert_eq!(counted_together(&gpu(), &part, None, &[])[0].together_s, 18.0);
        let again = part.outline.shapes.clone();
        part.outline.shapes.extend(again);
        part.outline.shapes.sort_by_key(|it| it.span);
        assert_eq!(counted_together(&gpu(), &part, None, &[])[0].of_first_ratio, Some(0.6));
    }

    #[test]
    fn samples_of_both_lead_for_their_time() {
        let mut part = recording();
        let times = (0..200).map(|it| Timestamp::from_micros(it * 100_000)).collect();
        let series = Series::new(Arc::new(times), vec![1.0; 200]).unwrap();
        for name in ["a", "b"] {
            let mut trace = Trace::default();
            trace.series.insert(Metric::GpuUtilization, series.clone());
            part.traces.insert(tenant(name), trace);
        }
        part.traces = BTreeMap::from_iter(part.traces);
        let sampled = CoActivation {
            first: tenant("b"),
            second: tenant("a"),
            samples: 200,
            overlap_s: 1.0,
            expected_overlap_s: 1.0,
            lift: None,
            p_value: None,
            q_value: None,
            coincidence_ratio: None,
            joint_high_s: 0.0,
            expected_joint_high_s: 0.0,
            phase: PhaseRelation::Unknown,
            phase_concentration_ratio: None,
            phase_q_value: None,
        };
        // Samples cover the first 20 s, in which lies the middle of the first interval only.
        let found = counted_together(&gpu(), &part, None, &[sampled]);
        assert_eq!((found[0].seen_s, found[0].left_to_samples_s), (45.0, 15.0));
        assert_eq!(found[0].together_s, 18.0);
    }

    #[test]
    fn without_shapes_nothing_is_said_about_shares_and_chance() {
        let mut part = recording();
        part.outline.shapes.clear();
        let it = &counted_together(&gpu(), &part, None, &[])[0];
        assert_eq!((it.expected_s, it.of_first_ratio, it.together_s), (None, None, 18.0));
    }
}
