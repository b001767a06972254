//! The answer to a what-if as CSV: one line for each way to share and tenant.

use crate::report::render::csv::{guarded, key, text};
use crate::report::render::json::whatif::{WhatIfRow, rows};
use crate::report::whatif::WhatIf;

const HEADER: [&str; 22] = [
    "mechanism",
    "tenant",
    "slowdown_p50",
    "slowdown_p50_low",
    "slowdown_p50_high",
    "slowdown_p99",
    "slowdown_p99_low",
    "slowdown_p99_high",
    "latency_p99_s",
    "latency_p99_low_s",
    "latency_p99_high_s",
    "throughput_ratio",
    "throughput_ratio_low",
    "throughput_ratio_high",
    "p_out_of_memory",
    "slo",
    "slice",
    "thread_share",
    "is_at_least",
    "refused",
    "remedy",
    "assumptions",
];

/// One line for each way to share and tenant; unknown cells are empty.
///
/// Errors: none in practice; the table is built in memory.
pub fn whatif(input: &WhatIf<'_>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for row in rows(input) {
        writer.write_record(line(&row))?;
    }
    text(writer)
}

fn line(it: &WhatIfRow<'_>) -> Vec<String> {
    let number = |it: Option<f64>| {
        it.filter(|it| it.is_finite()).map(|it| it.to_string()).unwrap_or_default()
    };
    let assumptions: Vec<String> = it.assumptions.iter().map(key).collect();
    vec![
        it.mechanism.to_owned(),
        guarded(it.tenant),
        number(it.slowdown_p50),
        number(it.slowdown_p50_low),
        number(it.slowdown_p50_high),
        number(it.slowdown_p99),
        number(it.slowdown_p99_low),
        number(it.slowdown_p99_high),
        number(it.latency_p99_s),
        number(it.latency_p99_low_s),
        number(it.latency_p99_high_s),
        number(it.throughput_ratio),
        number(it.throughput_ratio_low),
        number(it.throughput_ratio_high),
        number(it.p_out_of_memory),
        it.slo.map(|it| key(&it)).unwrap_or_default(),
        it.slice.unwrap_or_default().to_owned(),
        number(it.thread_share),
        it.is_at_least.to_string(),
        it.refused.clone().unwrap_or_default(),
        it.remedy.unwrap_or_default().to_owned(),
        assumptions.join("; "),
    ]
}
