//! GPUs with tenants of a known kind, as a recorder would have seen them: for benches and for tests on many of them.
#![allow(dead_code, reason = "each program uses a part of it")]

use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::recording::{Recording, Trace};
use cotenant::domain::series::Series;
use cotenant::domain::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

const GIB: f64 = 1_073_741_824.0;
/// GPUs of a host.
pub(crate) const PER_HOST: usize = 8;

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// One GPU with its only tenant, as a recorder would have seen it at one sample a second.
///
/// Six of ten are services with a rhythm of the day, two notebooks, one batch, one training.
pub(crate) fn recording(place: usize, days: f64) -> (Recording, GpuId) {
    let mut draw = Draw(place as u64);
    let gpu = GpuId::new(format!("GPU-{place:04}"));
    let (kind, model) = (place % 10, if place % 40 < 30 { "H100" } else { "L40S" });
    let name = match kind {
        0..=5 => format!("chat-{place}"),
        6 | 7 => format!("nb-{place}"),
        8 => format!("etl-{place}"),
        _ => format!("train-{place}"),
    };
    let seconds = (days * 86_400.0) as usize;
    let (level, gib) = (0.03 + 0.2 * draw.next(), 4.0 + 14.0 * draw.next());
    let (mut busy, mut used) = (Vec::with_capacity(seconds), Vec::with_capacity(seconds));
    let mut left = 0_usize;
    for second in 0..seconds {
        let hour = (second % 86_400) as f64 / 86_400.0 * std::f64::consts::TAU;
        let (share, swing) = match kind {
            // Requests: a share of each second, more by day than by night.
            0..=5 => {
                let mean = level * (1.0 - 0.7 * hour.cos());
                ((mean * (0.5 + draw.next())).min(1.0), 0.1 * draw.next())
            }
            9 => (0.92 + 0.08 * draw.next(), 0.0),
            // Bursts of some seconds.
            _ => {
                if left == 0 && draw.next() < level * 0.2 {
                    left = 1 + (8.0 * draw.next()) as usize;
                }
                let is_on = left > 0;
                left = left.saturating_sub(1);
                (if is_on { 0.9 + 0.1 * draw.next() } else { 0.0 }, if is_on { 0.2 } else { 0.0 })
            }
        };
        busy.push((100.0 * share).round());
        used.push((GIB * gib * (1.0 + swing) / 1_048_576.0).round() * 1_048_576.0);
    }
    (of_series(&gpu, &name, (place, model), busy, used), gpu)
}

fn of_series(
    gpu: &GpuId,
    name: &str,
    (place, model): (usize, &str),
    busy: Vec<f64>,
    used: Vec<f64>,
) -> Recording {
    let stamp = |it: usize| Timestamp::from_micros((1 + it as i64) * 1_000_000);
    let times: Arc<Vec<Timestamp>> = Arc::new((0..busy.len()).map(stamp).collect());
    let series = |values: Vec<f64>| Series::new(Arc::clone(&times), values).expect("in order");
    let total = if model == "H100" { 81_559.0 } else { 46_068.0 } * 1_048_576.0;
    let sms = busy.iter().map(|it| it * 0.004).collect();
    let context = 500.0 * 1_048_576.0;
    let device = BTreeMap::from([
        (Metric::GpuUtilization, series(busy.clone())),
        (Metric::SmActive, series(sms)),
        (Metric::FramebufferUsed, series(used.iter().map(|it| it + context).collect())),
        (Metric::FramebufferTotal, series(vec![total; busy.len()])),
    ]);
    let own = BTreeMap::from([
        (Metric::GpuUtilization, series(busy)),
        (Metric::FramebufferUsed, series(used)),
    ]);
    let process = ProcessKey { pid: 1_000, started: None };
    let mut part = Recording::default();
    let mut told = Device::named(gpu.clone());
    told.host = Some(format!("node-{:03}", place / PER_HOST));
    told.index = Some((place % PER_HOST) as u32);
    told.model =
        Some(if model == "H100" { "NVIDIA H100 80GB HBM3" } else { "NVIDIA L40S" }.to_owned());
    part.outline.devices.push(told);
    part.outline.processes.push(Process {
        gpu: gpu.clone(),
        process,
        name: Some("python3".to_owned()),
        tenant: Some(TenantId::new(name)),
    });
    for (subject, series) in
        [(Subject::device(gpu), device), (Subject::Process { gpu: gpu.clone(), process }, own)]
    {
        part.outline.subjects.push(subject.clone());
        part.traces.insert(subject, Trace { series, ..Trace::default() });
    }
    part.outline.span =
        part.traces.values().flat_map(|it| it.series.values()).find_map(Series::span);
    part
}
