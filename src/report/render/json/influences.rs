//! Influences as flat rows, so that a script needs no nesting.

use crate::analysis::findings::{Findings, Scope};
use crate::analysis::influence::findings::{Channel, Influence, InfluenceVerdict};
use crate::domain::metric::Metric;
use serde::Serialize;

/// One pair of tenants in one metric and one part of the time.
#[derive(Serialize)]
pub(in crate::report::render) struct InfluenceRow<'a> {
    pub(in crate::report::render) gpu: Option<&'a str>,
    pub(in crate::report::render) suspect: &'a str,
    pub(in crate::report::render) victim: &'a str,
    pub(in crate::report::render) metric: Metric,
    pub(in crate::report::render) scope: String,
    pub(in crate::report::render) verdict: InfluenceVerdict,
    pub(in crate::report::render) effect_ratio: Option<f64>,
    pub(in crate::report::render) effect_low: Option<f64>,
    pub(in crate::report::render) effect_high: Option<f64>,
    pub(in crate::report::render) lag_seconds: Option<f64>,
    pub(in crate::report::render) p_granger: Option<f64>,
    pub(in crate::report::render) p_event: Option<f64>,
    pub(in crate::report::render) q: Option<f64>,
    pub(in crate::report::render) mde_ratio: Option<f64>,
    pub(in crate::report::render) through: Option<Channel>,
    pub(in crate::report::render) cpi2_score: Option<f64>,
    pub(in crate::report::render) bins: u64,
    pub(in crate::report::render) bursts: u64,
    pub(in crate::report::render) reasons: &'a [String],
    pub(in crate::report::render) remedy: Option<&'a str>,
}

/// Every pair, device by device, last the tenants of which no GPU is known.
pub(in crate::report::render) fn rows(findings: &Findings) -> Vec<InfluenceRow<'_>> {
    let placed = findings.devices.iter().flat_map(|it| &it.influences.pairs);
    placed.chain(&findings.unplaced_influences.pairs).map(row).collect()
}

fn row(it: &Influence) -> InfluenceRow<'_> {
    InfluenceRow {
        gpu: it.gpu.as_ref().map(|it| it.as_str()),
        suspect: &it.suspect,
        victim: &it.victim,
        metric: it.metric,
        scope: part(&it.scope),
        verdict: it.verdict,
        effect_ratio: it.effect_ratio,
        effect_low: it.effect_low,
        effect_high: it.effect_high,
        lag_seconds: it.lag_seconds,
        p_granger: it.p_granger,
        p_event: it.p_event,
        q: it.q,
        mde_ratio: it.mde_ratio,
        through: it.through,
        cpi2_score: it.cpi2_score,
        bins: it.bins,
        bursts: it.bursts,
        reasons: &it.reasons,
        remedy: it.remedy.as_deref(),
    }
}

/// A part of the time as one word or two: windows are told apart by their ends.
pub(in crate::report::render) fn part(scope: &Scope) -> String {
    match scope {
        Scope::Whole => "whole".to_owned(),
        Scope::Window { span } => {
            format!("window {}..{}", span.from().as_micros(), span.until().as_micros())
        }
        phase @ Scope::Phase { .. } => phase.to_string(),
    }
}
