//! Which columns of `--query-gpu` hold which metric, and how their cells become readings.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::metric::{Dialect, Metric};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::seen::MetricSet;
use crate::import::smi::csv::Header;
use crate::import::text::cells::{factor_to, is_missing, number, printed_unit};

/// Single clock event reasons and their bit in NVML's mask.
const REASONS: &[(&str, u64)] = &[
    ("gpu_idle", 0x1),
    ("applications_clocks_setting", 0x2),
    ("sw_power_cap", 0x4),
    ("hw_slowdown", 0x8),
    ("sync_boost", 0x10),
    ("sw_thermal_slowdown", 0x20),
    ("hw_thermal_slowdown", 0x40),
    ("hw_power_brake_slowdown", 0x80),
];

/// Reasons without which a mask cannot say why a GPU was slowed down.
const REASONS_OF_INTEREST: u64 = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// Prefixes of the single reasons, new and old.
const REASON_PREFIXES: &[&str] = &["clocks_event_reasons.", "clocks_throttle_reasons."];

/// A column that holds a metric.
#[derive(Debug)]
struct Field {
    position: usize,
    name: String,
    unit: String,
    factor: f64,
}

/// The columns of a header that hold metrics.
#[derive(Debug)]
pub struct SmiFields {
    /// For each metric its columns, the preferred one first.
    metrics: Vec<(Metric, Vec<Field>)>,
    /// Columns of single clock event reasons with their bits.
    reasons: Vec<(usize, u64)>,
    asked: MetricSet,
}

impl SmiFields {
    /// Whether a header has a column that holds a metric or a part of one.
    pub fn has_any(header: &Header) -> bool {
        header.has_metric() || header.names.iter().any(|it| reason_bit(it).is_some())
    }

    /// The columns of a header; one with a unit that does not fit its metric is left out with a warning.
    pub fn of(run: &mut ImportRun<'_>, header: &Header) -> Self {
        let mut metrics = Vec::new();
        for metric in Metric::all() {
            let mut fields = Vec::new();
            for (dialect, name, factor) in metric.spec().names {
                let position = header.position(&[name]).filter(|_| *dialect == Dialect::Smi);
                fields.extend(position.and_then(|it| field(run, header, metric, it, *factor)));
            }
            if !fields.is_empty() {
                metrics.push((metric, fields));
            }
        }
        let bit = |it: (usize, &String)| reason_bit(it.1).map(|bit| (it.0, bit));
        let reasons: Vec<(usize, u64)> = header.names.iter().enumerate().filter_map(bit).collect();
        let mut asked: MetricSet = metrics.iter().map(|it| it.0).collect();
        if !reasons.is_empty() {
            asked.insert(Metric::ThrottleReasons);
        }
        Self { metrics, reasons, asked }
    }

    /// The metrics that the header has a place for.
    pub fn asked(&self) -> MetricSet {
        self.asked
    }

    /// The readings of a row; of two columns for one metric the first with a reading wins.
    pub fn readings(&self, run: &mut ImportRun<'_>, cells: &[&str]) -> Vec<(Metric, f64)> {
        let mut readings = Vec::with_capacity(self.metrics.len());
        for (metric, fields) in &self.metrics {
            let value = fields.iter().find_map(|it| it.reading(run, *metric, cells));
            readings.extend(value.map(|it| (*metric, it)));
        }
        if readings.iter().all(|it| it.0 != Metric::ThrottleReasons) {
            readings.extend(self.mask(cells).map(|it| (Metric::ThrottleReasons, it)));
        }
        readings
    }

    /// The mask that single reasons make up; `None` when none of them has a reading.
    fn mask(&self, cells: &[&str]) -> Option<f64> {
        let is_active = |it: &&str| match it.to_ascii_lowercase().as_str() {
            "active" => Some(true),
            "not active" => Some(false),
            _ => None,
        };
        let read = self.reasons.iter().filter_map(|(position, bit)| {
            cells.get(*position).and_then(is_active).map(|it| if it { *bit } else { 0 })
        });
        read.reduce(|mask, bit| mask | bit).map(|it| it as f64)
    }

    /// Notes that a mask made of single reasons lacks some of those that matter.
    pub fn report_partial_mask(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let has_mask = self.metrics.iter().any(|it| it.0 == Metric::ThrottleReasons);
        let recorded = self.reasons.iter().fold(0, |mask, it| mask | it.1);
        let lacking = REASONS_OF_INTEREST & !recorded;
        if has_mask || self.reasons.is_empty() || lacking == 0 {
            return Ok(());
        }
        let detail = format!(
            "only single clock event reasons were recorded; {lacking:#x} is not among them"
        );
        let remedy = "record clocks_event_reasons.active";
        let metric = Some(Metric::ThrottleReasons);
        run.blind_spot(BlindSpotKind::NotRecorded, None, metric, detail, remedy)
    }
}

impl Field {
    fn reading(&self, run: &mut ImportRun<'_>, metric: Metric, cells: &[&str]) -> Option<f64> {
        let cell = cells.get(self.position)?;
        let text = match metric {
            Metric::PerformanceState => cell.trim_start_matches(['P', 'p']),
            _ => cell,
        };
        if is_missing(text) {
            return None;
        }
        let unit = printed_unit(text);
        let factor = match unit.is_empty() || unit == self.unit {
            true => Some(self.factor),
            false => factor_to(metric.spec().unit, unit),
        };
        match (number(text), factor) {
            (Ok(value), Some(factor)) => value.map(|it| it * factor),
            _ => {
                run.reject(&self.name, "a number in a unit that fits", cell);
                None
            }
        }
    }
}

fn field(
    run: &mut ImportRun<'_>,
    header: &Header,
    metric: Metric,
    position: usize,
    factor: f64,
) -> Option<Field> {
    let (name, unit) = (&header.names[position], &header.units[position]);
    let factor = match unit.is_empty() {
        true => Some(factor),
        false => factor_to(metric.spec().unit, unit),
    };
    if factor.is_none() {
        run.warn(format!("column `{name}` is left out: its unit `{unit}` is not known here"));
    }
    Some(Field { position, name: name.clone(), unit: unit.clone(), factor: factor? })
}

fn reason_bit(name: &str) -> Option<u64> {
    let reason = REASON_PREFIXES.iter().find_map(|it| name.strip_prefix(it))?;
    REASONS.iter().find(|it| it.0 == reason).map(|it| it.1)
}
