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
    let mut idle_samples = 0;
    let mut last = life.0.plus_micros(-step);
    let ends = listed.times().iter().copied().zip(listed.values().iter().copied().map(Some));
    for (at, value) in ends.chain(std::iter::once((life.1.plus_micros(step), None))) {
        let silence = at.as_micros() - last.as_micros();
        if silence as f64 > SILENT_STEPS * step as f64 {
            let missing = (silence as f64 / step as f64).round() as i64 - 1;
            for number in 1..=missing {
                let idle = last.plus_micros(silence * number / (missing + 1));
                if is_sampled(device, idle, step) {
                    times.push(idle);
                    values.push(0.0);
                    idle_samples += 1;
                }
            }
        }
        if let Some(value) = value {
            times.push(at);
            values.push(value);
        }
        last = at;
    }
    if idle_samples == 0 {
        return None;
    }
    let samples = values.len() as u64;
    let mut trace = trace.clone();
    trace.series.insert(Metric::GpuUtilization, Series::new(Arc::new(times), values)?);
    Some(Filled { trace, idle_samples, samples })
}

/// Time between the rows of a process that is busy throughout, in microseconds.
fn sampling_step(listed: &Series) -> Option<i64> {
    let mut steps: Vec<i64> =
        listed.times().windows(2).map(|pair| pair[1].as_micros() - pair[0].as_micros()).collect();
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

/// Whether the device was sampled within one step of an instant.
fn is_sampled(device: &Series, at: Timestamp, step: i64) -> bool {
    let after = device.times().partition_point(|it| *it < at.plus_micros(-step));
    device.times().get(after).is_some_and(|it| *it <= at.plus_micros(step))
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
    fn silence_of_the_device_too_is_a_hole_and_not_idleness() {
        let (subject, trace, part) = world((0..10).chain(20..30));
        assert_eq!(filled(&subject, &trace, &part).map_or(0, |it| it.idle_samples), 2);
        let (subject, trace, _) = world(0..30);
        assert!(filled(&subject, &trace, &Recording::default()).is_none());
    }
}
