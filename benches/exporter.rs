//! How well scrapes keep the shape in 200 generated scenarios, and what the exporter costs.
//!
//! `cargo bench --bench exporter`; the first argument is the number of scenarios, the second the seed of the first one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and ends where it cannot go on"
)]

#[path = "../tests/scraped_world/mod.rs"]
mod scraped_world;

use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::Process;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::exporter::{Exposition, Format, Limits};
use scraped_world::{Dice, profiles, scenario, three_ways, words};
use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Default)]
struct Tally {
    all: u32,
    scraped: u32,
    plain: u32,
}

impl Tally {
    fn show(&self, what: &str) {
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(self.all.max(1));
        println!(
            "{what}: {} verdicts; scraped histograms agree in {} ({:.1} %), plain gauges in {} ({:.1} %)",
            self.all,
            self.scraped,
            share(self.scraped),
            self.plain,
            share(self.plain)
        );
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|it| it.parse().ok()).collect();
    let scenarios = numbers.first().copied().unwrap_or(200);
    let first = numbers.get(1).copied().unwrap_or(1);
    let (mut devices, mut tenants) = (Tally::default(), Tally::default());
    let mut misses: BTreeMap<String, u32> = BTreeMap::new();
    let (mut duty, mut cv) = (0.0_f64, Vec::new());
    for seed in first..first.saturating_add(scenarios) {
        let ways = three_ways(&scenario(seed));
        let (full, scraped, plain) = (words(&ways.full), words(&ways.scraped), words(&ways.plain));
        for (name, word) in &full {
            let tally = if name.starts_with("GPU") { &mut devices } else { &mut tenants };
            tally.all += 1;
            tally.plain += u32::from(plain.get(name) == Some(word));
            match scraped.get(name) == Some(word) {
                true => tally.scraped += 1,
                false => {
                    let found = scraped.get(name).map_or("nothing", |it| it.as_words());
                    let kind = if name.starts_with("GPU") { "GPU" } else { "tenant" };
                    let miss = format!("{kind}: `{}` became `{found}`", word.as_words());
                    *misses.entry(miss).or_default() += 1;
                }
            }
        }
        let (full, scraped) = (profiles(&ways.full), profiles(&ways.scraped));
        if let (Some(full), Some(scraped)) = (full.get("GPU 0"), scraped.get("GPU 0")) {
            duty = duty.max((full.duty.at_95_pct - scraped.duty.at_95_pct).abs());
            let of = |it: &cotenant::analysis::findings::BurstProfile| {
                it.standard_deviation_ratio / it.mean_ratio
            };
            cv.push((of(scraped) / of(full) - 1.0).abs());
        }
    }
    devices.show("GPUs");
    tenants.show("tenants");
    for (miss, count) in misses {
        println!("  {count} x {miss}");
    }
    cv.sort_by(f64::total_cmp);
    let median = cv.get(cv.len() / 2).copied().unwrap_or(0.0);
    println!(
        "GPUs: duty at 95 % differs by {duty:.4} at most, the coefficient of variation by {:.2} % at the median",
        100.0 * median
    );
    cost();
}

/// Time to count a row and to show a page, for eight GPUs with four tenants each.
fn cost() {
    const GPUS: u32 = 8;
    const TENANTS: u32 = 4;
    const LOOKS: u32 = 9_000;
    let mut exposition = Exposition::new(Limits::default());
    let mut dice = Dice::new(1);
    let gpus: Vec<GpuId> = (0..GPUS).map(|it| GpuId::new(format!("GPU-{it:08x}"))).collect();
    let process = |pid| ProcessKey { pid, started: None };
    for gpu in &gpus {
        for pid in 0..TENANTS {
            let tenant = Some(TenantId::new(format!("namespace/pod-{pid}/main")));
            let described = Process { gpu: gpu.clone(), process: process(pid), name: None, tenant };
            exposition.fact(Fact::Process(described)).unwrap();
        }
    }
    let (mut rows, began) = (0_u64, Instant::now());
    for look in 0..LOOKS {
        let at = Timestamp::from_micros(i64::from(look) * 100_000);
        for gpu in &gpus {
            let load = f64::from(u8::from(dice.unit() < 0.3)) * 100.0;
            let readings = [
                (Metric::FramebufferTotal, 8e10),
                (Metric::FramebufferUsed, 4e10),
                (Metric::GpuUtilization, load),
                (Metric::Power, 3e5),
            ];
            exposition.row(at, &Subject::device(gpu), SourceId(0), &readings).unwrap();
            rows += 1;
            for pid in (0..TENANTS).filter(|_| look % 10 == 0) {
                let subject = Subject::Process { gpu: gpu.clone(), process: process(pid) };
                let readings =
                    [(Metric::GpuUtilization, load / 4.0), (Metric::FramebufferUsed, 1e10)];
                exposition.row(at, &subject, SourceId(0), &readings).unwrap();
                rows += 1;
            }
        }
    }
    let counting_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let pages = 20;
    let mut text = String::new();
    (0..pages).for_each(|_| text = exposition.render(Format::OpenMetrics));
    let page_s = began.elapsed().as_secs_f64() / f64::from(pages);
    let series = text.lines().filter(|it| !it.starts_with('#')).count();
    println!(
        "{GPUS} GPUs with {TENANTS} tenants: {:.2} us to count a row, {:.3} % of a core at 10 Hz; {series} series, {:.0} kB, {:.1} ms for each page",
        1e6 * counting_s / rows as f64,
        100.0 * counting_s / (f64::from(LOOKS) / 10.0),
        text.len() as f64 / 1e3,
        1e3 * page_s,
    );
}
