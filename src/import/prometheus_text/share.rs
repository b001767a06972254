//! Which readings of a scrape are a pod's own, and which are the whole card's with a pod's label on them.

use crate::domain::ident::{Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// One reading whose place is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    /// When.
    pub(crate) at: Timestamp,
    /// The card, instance, process or service.
    pub(crate) place: Subject,
    /// The pod whose labels the exporter put on it.
    pub(crate) pod: Option<TenantId>,
    /// What.
    pub(crate) metric: Metric,
    /// How much, in our unit.
    pub(crate) value: f64,
}

impl Placed {
    /// Whether it can only be understood beside the other readings of its instant.
    pub(crate) fn needs_its_neighbours(&self) -> bool {
        self.pod.is_some() || can_be_own(self.metric)
    }
}

/// Whether dcgm-exporter can measure this for a single pod.
fn can_be_own(metric: Metric) -> bool {
    matches!(metric, Metric::GpuUtilization | Metric::FramebufferUsed)
}

/// A scrape with every reading where it belongs.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Settled {
    /// Readings by instant and subject.
    pub(crate) rows: BTreeMap<(Timestamp, Subject), Vec<(Metric, f64)>>,
    /// Tenants of whose share nothing was measured, with the place that they are on.
    pub(crate) unmeasured: BTreeSet<(Subject, Subject)>,
    /// Tenants with readings of their own.
    pub(crate) measured: BTreeSet<Subject>,
}

type Readings = Vec<(Option<TenantId>, f64)>;

/// Puts every reading where it belongs; nothing is added up.
pub(crate) fn settle(readings: Vec<Placed>) -> Settled {
    let mut places: BTreeMap<(Timestamp, Subject), BTreeMap<Metric, Readings>> = BTreeMap::new();
    for Placed { at, place, pod, metric, value } in readings {
        places.entry((at, place)).or_default().entry(metric).or_default().push((pod, value));
    }
    let mut settled = Settled::default();
    for ((at, place), metrics) in places {
        for (metric, readings) in metrics {
            let shares = shares(metric, &readings);
            if let Some(value) = shares.whole {
                settled.rows.entry((at, place.clone())).or_default().push((metric, value));
            }
            for (tenant, value) in shares.own {
                let subject = on(&place, tenant);
                settled.measured.insert(subject.clone());
                settled.rows.entry((at, subject)).or_default().push((metric, value));
            }
            let borrowed = shares.borrowed.into_iter().map(|it| (on(&place, it), place.clone()));
            settled.unmeasured.extend(borrowed);
        }
    }
    let measured = &settled.measured;
    settled.unmeasured.retain(|it| !measured.contains(&it.0));
    settled
}

fn on(place: &Subject, tenant: TenantId) -> Subject {
    Subject::Tenant { gpu: place.gpu().cloned(), tenant }
}

/// One metric of one place, taken apart.
struct Shares {
    whole: Option<f64>,
    own: Vec<(TenantId, f64)>,
    borrowed: Vec<TenantId>,
}

/// Takes the readings of one metric of one place apart.
///
/// dcgm-exporter copies the card's value to every pod. Only with virtual GPUs, and only for the two
/// metrics below, it measures pods, and then keeps the card's own row beside them. Values that are
/// all the card's own, in more than one pod at once, are copies even so.
fn shares(metric: Metric, readings: &Readings) -> Shares {
    let bare = readings.iter().find(|it| it.0.is_none()).map(|it| it.1);
    let pods: Vec<(TenantId, f64)> =
        readings.iter().filter_map(|(pod, value)| Some((pod.clone()?, *value))).collect();
    let first = pods.first().map(|it| it.1);
    let is_uniform = pods.iter().all(|it| Some(it.1) == first);
    let is_own = can_be_own(metric)
        && match bare {
            Some(bare) => !(pods.len() > 1 && is_uniform && first == Some(bare) && bare != 0.0),
            None => !is_uniform,
        };
    if is_own {
        return Shares { whole: bare, own: pods, borrowed: Vec::new() };
    }
    let borrowed = pods.into_iter().map(|it| it.0).collect();
    Shares { whole: bare.or(first), own: Vec::new(), borrowed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;

    fn placed(metric: Metric, pod: &str, value: f64) -> Placed {
        let pod = (!pod.is_empty()).then(|| TenantId::new(pod));
        let place = Subject::device(&GpuId::from_index(0));
        Placed { at: Timestamp::from_micros(1), place, pod, metric, value }
    }

    fn value(settled: &Settled, pod: &str, metric: Metric) -> Option<f64> {
        let place = Subject::device(&GpuId::from_index(0));
        let subject = if pod.is_empty() { place } else { on(&place, TenantId::new(pod)) };
        let row = settled.rows.get(&(Timestamp::from_micros(1), subject))?;
        row.iter().find(|it| it.0 == metric).map(|it| it.1)
    }

    #[test]
    fn a_card_beside_its_pods_gives_one_row_to_each_and_no_sum() {
        let util = Metric::GpuUtilization;
        let settled = settle(vec![
            placed(util, "", 80.0),
            placed(util, "a", 60.0),
            placed(util, "b", 20.0),
            placed(Metric::Power, "a", 300.0),
            placed(Metric::Power, "b", 300.0),
        ]);
        assert_eq!(value(&settled, "", util), Some(80.0));
        assert_eq!(value(&settled, "a", util), Some(60.0));
        assert_eq!(value(&settled, "b", util), Some(20.0));
        assert_eq!(value(&settled, "", Metric::Power), Some(300.0));
        assert_eq!(value(&settled, "a", Metric::Power), None);
        assert!(settled.unmeasured.is_empty());
    }

    #[test]
    fn the_label_of_the_only_pod_does_not_make_the_cards_value_its_own() {
        let settled = settle(vec![placed(Metric::GpuUtilization, "a", 80.0)]);
        assert_eq!(value(&settled, "", Metric::GpuUtilization), Some(80.0));
        assert_eq!(value(&settled, "a", Metric::GpuUtilization), None);
        assert_eq!(settled.unmeasured.len(), 1);
    }

    #[test]
    fn one_value_mirrored_to_every_pod_is_the_cards_value() {
        let util = Metric::GpuUtilization;
        for bare in [true, false] {
            let mut readings = vec![placed(util, "a", 80.0), placed(util, "b", 80.0)];
            if bare {
                readings.push(placed(util, "", 80.0));
            }
            let settled = settle(readings);
            assert_eq!(value(&settled, "", util), Some(80.0));
            assert_eq!((value(&settled, "a", util), settled.unmeasured.len()), (None, 2));
        }
    }

    #[test]
    fn pods_that_are_all_idle_beside_an_idle_card_are_measured() {
        let util = Metric::GpuUtilization;
        let settled =
            settle(vec![placed(util, "", 0.0), placed(util, "a", 0.0), placed(util, "b", 0.0)]);
        assert_eq!(value(&settled, "a", util), Some(0.0));
    }
}
