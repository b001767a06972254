//! The answer to a what-if as JSON: flat rows, so that a script needs no nesting.

use crate::colocation::demand::{Assumption, Pace};
use crate::colocation::memory::MemoryForecast;
use crate::colocation::objective::{Keeping, Objective};
use crate::colocation::range::Range;
use crate::colocation::share::Mechanism;
use crate::colocation::slices::name_of;
use crate::report::render::json::SCHEMA_VERSION;
use crate::report::whatif::{Learned, Party, Row, Scene, WhatIf, way_key};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    headline: String,
    gpu: &'a str,
    slo: Option<Objective>,
    rows: Vec<WhatIfRow<'a>>,
    ways: Vec<Way>,
    tenants: Vec<Tenant<'a>>,
    memory: Memory<'a>,
    learned: Vec<LearnedRow<'a>>,
    made: Vec<String>,
}

/// One tenant under one way to share.
#[derive(Serialize)]
pub(in crate::report::render) struct WhatIfRow<'a> {
    pub(in crate::report::render) mechanism: &'static str,
    pub(in crate::report::render) tenant: &'a str,
    pub(in crate::report::render) slowdown_p50: Option<f64>,
    pub(in crate::report::render) slowdown_p50_low: Option<f64>,
    pub(in crate::report::render) slowdown_p50_high: Option<f64>,
    pub(in crate::report::render) slowdown_p99: Option<f64>,
    pub(in crate::report::render) slowdown_p99_low: Option<f64>,
    pub(in crate::report::render) slowdown_p99_high: Option<f64>,
    pub(in crate::report::render) latency_p99_s: Option<f64>,
    pub(in crate::report::render) latency_p99_low_s: Option<f64>,
    pub(in crate::report::render) latency_p99_high_s: Option<f64>,
    pub(in crate::report::render) throughput_ratio: Option<f64>,
    pub(in crate::report::render) throughput_ratio_low: Option<f64>,
    pub(in crate::report::render) throughput_ratio_high: Option<f64>,
    /// Within a day.
    pub(in crate::report::render) p_out_of_memory: Option<f64>,
    pub(in crate::report::render) slo: Option<Keeping>,
    pub(in crate::report::render) slice: Option<&'static str>,
    pub(in crate::report::render) thread_share: Option<f64>,
    pub(in crate::report::render) is_at_least: bool,
    pub(in crate::report::render) refused: Option<String>,
    pub(in crate::report::render) remedy: Option<&'static str>,
    pub(in crate::report::render) assumptions: &'a [Assumption],
}

#[derive(Serialize)]
struct Way {
    mechanism: &'static str,
    slo: Option<Keeping>,
    quantum_s: Option<Range>,
    switch_s: Option<Range>,
    floor: Option<Range>,
}

#[derive(Serialize)]
struct Tenant<'a> {
    tenant: &'a str,
    source: &'a str,
    gpu_model: Option<&'a str>,
    was_alone: Option<bool>,
    has_requests: bool,
    busy_ratio: f64,
    memory_peak_bytes: Option<f64>,
    bursts_seen: usize,
    assumptions: &'a [Assumption],
}

#[derive(Serialize)]
struct Memory<'a> {
    together_bytes: Option<f64>,
    capacity_bytes: Option<f64>,
    forecasts: Vec<SpaceForecast<'a>>,
}

/// One memory under one way to share.
#[derive(Serialize)]
struct SpaceForecast<'a> {
    mechanism: &'static str,
    tenants: Vec<&'a str>,
    forecast: Option<&'a MemoryForecast>,
}

#[derive(Serialize)]
struct LearnedRow<'a> {
    mechanism: &'static str,
    tenant: &'a str,
    other: &'a str,
    learned_slowdown: Range,
    replayed_throughput_ratio: Option<Range>,
    tenants_known: usize,
    observations: usize,
}

/// The answer as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn whatif(input: &WhatIf<'_>) -> Result<String, serde_json::Error> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: input.tool_version,
        command: input.command,
        headline: input.headline(),
        gpu: input.gpu,
        slo: input.slo,
        rows: rows(input),
        ways: ways(input),
        tenants: input.parties.iter().map(tenant).collect(),
        memory: Memory {
            together_bytes: input.together_bytes(),
            capacity_bytes: input.capacity_bytes,
            forecasts: forecasts(input),
        },
        learned: input.learned.iter().map(learned).collect(),
        made: input.made(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

/// Every tenant under every way to share.
pub(in crate::report::render) fn rows<'a>(input: &WhatIf<'a>) -> Vec<WhatIfRow<'a>> {
    input.rows().into_iter().map(row).collect()
}

fn row(it: Row<'_>) -> WhatIfRow<'_> {
    let p50 = it.found.slowdown.map(|it| it.p50);
    let p99 = it.found.slowdown.map(|it| it.p99);
    let is_server = it.party.demand.pace == Pace::Open;
    let latency = it.found.latency_s.filter(|_| is_server).map(|it| it.p99);
    let work = it.found.throughput_ratio;
    WhatIfRow {
        mechanism: way_key(&it.scene.mechanism),
        tenant: &it.party.name,
        slowdown_p50: p50.map(|it| it.expected),
        slowdown_p50_low: p50.map(|it| it.low),
        slowdown_p50_high: p50.map(|it| it.high),
        slowdown_p99: p99.map(|it| it.expected),
        slowdown_p99_low: p99.map(|it| it.low),
        slowdown_p99_high: p99.map(|it| it.high),
        latency_p99_s: latency.map(|it| it.expected),
        latency_p99_low_s: latency.map(|it| it.low),
        latency_p99_high_s: latency.map(|it| it.high),
        throughput_ratio: work.map(|it| it.expected),
        throughput_ratio_low: work.map(|it| it.low),
        throughput_ratio_high: work.map(|it| it.high),
        p_out_of_memory: it.out_of_memory_ratio,
        slo: it.keeping,
        slice: it.terms.slice.and_then(name_of),
        thread_share: it.terms.thread_share,
        is_at_least: it.found.is_at_least,
        refused: it.found.refusal.map(|it| it.to_string()),
        remedy: it.found.refusal.map(|it| it.remedy()),
        assumptions: &it.found.assumptions,
    }
}

fn ways(input: &WhatIf<'_>) -> Vec<Way> {
    let way = |scene: &Scene| {
        let (turns, floor) = match scene.mechanism {
            Mechanism::TimeSlicing { quantum_s, switch_s } => (Some((quantum_s, switch_s)), None),
            Mechanism::Mps { floor } => (None, Some(floor)),
            Mechanism::Exclusive | Mechanism::Mig => (None, None),
        };
        Way {
            mechanism: way_key(&scene.mechanism),
            slo: input.kept_by(scene),
            quantum_s: turns.map(|it| it.0),
            switch_s: turns.map(|it| it.1),
            floor,
        }
    };
    input.scenes.iter().map(way).collect()
}

fn forecasts<'a>(input: &WhatIf<'a>) -> Vec<SpaceForecast<'a>> {
    let of_scene = |scene: &'a Scene| {
        scene.memory.spaces.iter().map(|space| SpaceForecast {
            mechanism: way_key(&scene.mechanism),
            tenants: space
                .tenants
                .iter()
                .filter_map(|it| input.parties.get(*it))
                .map(|it| it.name.as_str())
                .collect(),
            forecast: space.forecast.as_ref(),
        })
    };
    input.scenes.iter().flat_map(of_scene).collect()
}

fn tenant(it: &Party) -> Tenant<'_> {
    Tenant {
        tenant: &it.name,
        source: &it.source,
        gpu_model: it.gpu_model.as_deref(),
        was_alone: it.was_alone,
        has_requests: it.demand.pace == Pace::Open,
        busy_ratio: it.demand.busy_share(),
        memory_peak_bytes: it.demand.memory_bytes,
        bursts_seen: it.demand.bursts_seen,
        assumptions: &it.demand.assumptions,
    }
}

fn learned(it: &Learned) -> LearnedRow<'_> {
    LearnedRow {
        mechanism: way_key(&it.mechanism),
        tenant: &it.tenant,
        other: &it.other,
        learned_slowdown: it.slowdown,
        replayed_throughput_ratio: it.throughput_ratio,
        tenants_known: it.tenants_known,
        observations: it.observations,
    }
}
