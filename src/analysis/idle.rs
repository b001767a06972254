//! A process that the driver does not list is idle: where that is sure, its silence becomes zeros.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::time::Timestamp;
use std::sync::Arc;

/// A step longer than this many typical ones is silence.
const SILENT_STEPS: f64 = 1.7;
/// The typical step of the rows that there are stands at this place among their steps.
///
/// Silence makes steps longer, never shorter, so the middle of the shorter half is the sampling.
const STEP_RANK: f64 = 0.25;

/// A process's activity with its idle time filled in.
#[derive(Debug)]
pub(crate) struct Filled {
    /// The trace, with zeros where the process was idle.
    pub(crate) trace: Trace,
    /// How many samples were filled in.
    pub(crate) idle_samples: u64,
    /// How many samples there are now.
    pub(crate) samples: u64,
}

/// The trace of a process with its idle time filled in; `None` where nothing was missing or it is not sure.
///
/// NVML lists only processes that used the GPU in its last period. Silence means idle when the
/// process held memory or was listed again later, and the device itself was sampled meanwhile.
pub(crate) fn filled(subject: &Subject, trace: &Trace, part: &Recording) -> Option<Filled> {
    let Subject::Process { gpu, .. } = subject else { return None };
    let listed = trace.get(Metric::GpuUtilization).filter(|it| it.len() >= 2)?;
    let device = part.series(&Subject::device(gpu), Metric::GpuUtilization)?;
    let step = sampling_step(listed)?;
    let life = life(trace, listed)?;
    let mut times: Vec<Timestamp> = Vec::with_capacity(listed.len());
    let mut values: Vec<f64> = Vec::with_capacity(listed.len());
    let mut last = life.0.plus_micros(-step);
    for (position, at) in listed.times().iter().enumerate() {
        fill_silence(device, last, *at, step, &mut |idle| {
            times.push(idle);
            values.push(0.0);
        });
        times.push(*at);
        values.push(listed.value(position));
        last = *at;
    }
    fill_silence(device, last, life.1.plus_micros(step), step, &mut |idle| {
        times.push(idle);
        values.push(0.0);
    });
    let samples = values.len() as u64;
    let idle_samples = samples - listed.len() as u64;
    if idle_samples == 0 {
        return None;
    }
    let mut trace = trace.clone();
    trace.series.insert(Metric::GpuUtilization, Series::new(Arc::new(times), values)?);
    Some(Filled { trace, idle_samples, samples })
}

/// Stamps of idleness between two rows: one for each step in which the device was sampled.
///
/// Walks the device's samples, so that a stretch without any costs nothing however long it is.
fn fill_silence(
    device: &Series,
    after: Timestamp,
    before: Timestamp,
    step: i64,
    push: &mut impl FnMut(Timestamp),
) {
    let silence = before.micros_since(after);
    if silence as f64 <= SILENT_STEPS * step as f64 {
        return;
    }
    let mut next = after.plus_micros(step);
    let end = before.plus_micros(-step / 2);
    let first = device.times().partition_point(|it| *it < next.plus_micros(-step / 2));
    for sampled in &device.times()[first..] {
        if *sampled >= end {
            break;
        }
        if *sampled >= next.plus_micros(-step / 2) {
            let idle = next.max(sampled.plus_micros(-step / 2)).min(end.plus_micros(-1));
            push(idle);
            next = idle.plus_micros(step);
        }
    }
}

/// Time between the rows of a process that is busy throughout, in microseconds.
fn sampling_step(listed: &Series) -> Option<i64> {
    let mut steps: Vec<i64> =
        listed.times().windows(2).map(|pair| pair[1].micros_since(pair[0])).collect();
    let last = steps.len().checked_sub(1)?;
    let rank = (last as f64 * STEP_RANK) as usize;
    let (_, step, _) = steps.select_nth_unstable(rank);
    Some((*step).max(1))
}

/// From the first to the last sign of the process.
fn life(trace: &Trace, listed: &Series) -> Option<(Timestamp, Timestamp)> {
    let held = trace.get(Metric::FramebufferUsed).and_then(Series::span);
    let listed = listed.span()?;
    let whole = held.map_or(listed, |it| it.hull(listed));
    Some((whole.from(), whole.until()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{GpuId, ProcessKey};
    use crate::domain::outline::Outline;
    use std::collections::BTreeMap;

    fn trace(metric: Metric, rows: impl IntoIterator<Item = (i64, f64)>) -> Trace {
        let (times, values) =
            rows.into_iter().map(|it| (Timestamp::from_micros(it.0 * 1_000_000), it.1)).unzip();
        let series = Series::new(Arc::new(times), values).unwrap();
        Trace { series: BTreeMap::from([(metric, series)]), ..Trace::default() }
    }

    fn world(device_seconds: impl IntoIterator<Item = i64>) -> (Subject, Trace, Recording) {
        let gpu = GpuId::from_index(0);
        let process = ProcessKey { pid: 7, started: None };
        let subject = Subject::Process { gpu: gpu.clone(), process };
        let listed = (0..10).chain(20..30).map(|it| (it, 80.0));
        let device = trace(Metric::GpuUtilization, device_seconds.into_iter().map(|it| (it, 40.0)));
        let traces = BTreeMap::from([(Subject::device(&gpu), device)]);
        let recording = Recording { outline: Outline::default(), traces };
        (subject, trace(Metric::GpuUtilization, listed), recording)
    }

    #[test]
    fn a_process_that_is_not_listed_while_the_device_is_sampled_was_idle() {
        let (subject, trace, part) = world(0..30);
        let filled = filled(&subject, &trace, &part).unwrap();
        let series = filled.trace.get(Metric::GpuUtilization).unwrap();
        assert_eq!((series.len(), filled.idle_samples), (30, 10));
        assert_eq!(series.values()[10..20], [0.0; 10]);
    }

    #[test]
    fn a_stamp_of_another_age_costs_no_time_and_fills_nothing() {
        let (subject, _, part) = world(0..30);
        let listed = [(-1_700_000_000, 5.0), (0, 80.0), (1, 80.0), (2, 80.0)];
        let filled = filled(&subject, &trace(Metric::GpuUtilization, listed), &part);
        assert!(filled.is_none_or(|it| it.idle_samples < 30));
    }

    #[test]
    fn silence_of_the_device_too_is_a_hole_and_not_idleness() {
        let (subject, trace, part) = world((0..10).chain(20..30));
        assert!(filled(&subject, &trace, &part).is_none());
        let (subject, trace, _) = world(0..30);
        assert!(filled(&subject, &trace, &Recording::default()).is_none());
    }
}
