//! Results as CSV: one line for each subject and part of the time, or for each pair of tenants.

mod audit;
mod fleet;
mod whatif;

pub use audit::audit;
pub use fleet::fleet;
pub use whatif::whatif;

use crate::analysis::findings::{BurstProfile, Findings, ScopeFindings, SubjectFindings};
use crate::domain::invisible::harmless_lines;
use crate::domain::metric::Metric;
use crate::recommender::suitability::Suitability;
use crate::report::render::json::influences::{InfluenceRow, part, rows};

const HEADER: [&str; 22] = [
    "gpu",
    "subject",
    "scope",
    "word",
    "confidence",
    "samples",
    "activity_metric",
    "stride_s",
    "window_s",
    "mean_ratio",
    "duty_at_5_pct",
    "duty_at_50_pct",
    "duty_at_95_pct",
    "sm_active_ratio",
    "framebuffer_peak_bytes",
    "framebuffer_total_bytes",
    "peak_to_mean",
    "burst_p50_s",
    "burst_p90_s",
    "period_s",
    "blur_index",
    "resolution",
];

/// One line for each subject and part of the time; unknown cells are empty.
///
/// Errors: none in practice; the table is built in memory.
pub fn shapes(findings: &Findings, suitability: &[Suitability]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for subject in findings.subjects() {
        for scope in &subject.scopes {
            let judged = suitability
                .iter()
                .find(|it| it.subject == subject.subject && it.scope == scope.scope);
            writer.write_record(line(subject, scope, judged))?;
        }
    }
    text(writer)
}

fn text(writer: csv::Writer<Vec<u8>>) -> Result<String, csv::Error> {
    let bytes = writer.into_inner().map_err(|it| csv::Error::from(it.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const INFLUENCES: [&str; 20] = [
    "gpu",
    "suspect",
    "victim",
    "metric",
    "scope",
    "verdict",
    "effect_ratio",
    "effect_low",
    "effect_high",
    "lag_seconds",
    "p_granger",
    "p_event",
    "q",
    "mde_ratio",
    "through",
    "cpi2_score",
    "bins",
    "bursts",
    "reasons",
    "remedy",
];

/// One line for each pair of tenants, metric and part of the time; unknown cells are empty.
///
/// Errors: none in practice; the table is built in memory.
pub fn influences(findings: &Findings) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(INFLUENCES)?;
    for row in rows(findings) {
        writer.write_record(influence(&row))?;
    }
    text(writer)
}

fn influence(row: &InfluenceRow<'_>) -> Vec<String> {
    let number = |it: Option<f64>| {
        it.filter(|it| it.is_finite()).map(|it| it.to_string()).unwrap_or_default()
    };
    vec![
        row.gpu.map(guarded).unwrap_or_default(),
        guarded(row.suspect),
        guarded(row.victim),
        row.metric.key().to_owned(),
        guarded(&row.scope),
        key(&row.verdict),
        number(row.effect_ratio),
        number(row.effect_low),
        number(row.effect_high),
        number(row.lag_seconds),
        number(row.p_granger),
        number(row.p_event),
        number(row.q),
        number(row.mde_ratio),
        key(&row.through),
        number(row.cpi2_score),
        row.bins.to_string(),
        row.bursts.to_string(),
        guarded(&row.reasons.join("; ")),
        row.remedy.map(guarded).unwrap_or_default(),
    ]
}

fn line(
    subject: &SubjectFindings,
    scope: &ScopeFindings,
    judged: Option<&Suitability>,
) -> Vec<String> {
    let profile = scope.profile.as_ref();
    let number = |it: Option<f64>| it.map(|it| it.to_string()).unwrap_or_default();
    let of = |get: fn(&BurstProfile) -> f64| number(profile.map(get));
    let level = |metric| scope.levels.get(&metric);
    let bursts = profile.and_then(|it| it.bursts.as_ref());
    vec![
        subject.subject.gpu().map(|it| guarded(it.as_str())).unwrap_or_default(),
        guarded(&subject.label),
        guarded(&part(&scope.scope)),
        judged.map(|it| key(&it.word)).unwrap_or_default(),
        number(judged.map(|it| it.confidence.value())),
        profile.map(|it| it.samples.to_string()).unwrap_or_default(),
        profile.map(|it| it.metric.key().to_owned()).unwrap_or_default(),
        of(|it| it.stride_s),
        of(|it| it.window_s),
        of(|it| it.mean_ratio),
        of(|it| it.duty.at_5_pct),
        of(|it| it.duty.at_50_pct),
        of(|it| it.duty.at_95_pct),
        number(level(Metric::SmActive).map(|it| it.mean)),
        number(level(Metric::FramebufferUsed).map(|it| it.max)),
        number(level(Metric::FramebufferTotal).map(|it| it.max)),
        number(profile.and_then(|it| it.peak_to_mean)),
        number(bursts.and_then(|it| it.burst_lengths.p50_s)),
        number(bursts.and_then(|it| it.burst_lengths.p90_s)),
        number(profile.and_then(|it| it.period.map(|it| it.period_s))),
        number(profile.and_then(|it| it.blur_index)),
        profile.map(|it| key(&it.resolution.verdict)).unwrap_or_default(),
    ]
}

/// The word that JSON uses for a value of an enumeration.
fn key(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(key)) => key,
        _ => String::new(),
    }
}

/// Text that a spreadsheet will not run: names on a shared host are an attacker's to choose.
pub fn guarded(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    // A terminal that shows the file must not obey the name in it.
    let text = harmless_lines(text, '\u{fffd}');
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_name_that_a_spreadsheet_would_run_is_made_harmless() {
        assert_eq!(guarded("=HYPERLINK(\"http://x\")"), "'=HYPERLINK(\"http://x\")");
        assert_eq!(guarded("server"), "server");
    }
}
