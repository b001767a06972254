//! Any CSV or TSV through a mapping file: TOML that says which column means what.
//!
//! The commented presets in `presets/` are examples of how one is written. Rows may be wide (one
//! column for each metric) or long (one row for each reading). A row may be about a GPU, a MIG
//! instance, a process or a tenant, or about several of them at once.

pub(crate) mod cells;
mod decimal;
pub mod error;
mod importer;
mod layout;
mod phases;
mod presets;
mod schema;
mod stamps;
mod subjects;
mod unit;

pub use crate::import::mapping::error::MappingError;
pub use crate::import::mapping::importer::MappingImporter;
pub use crate::import::mapping::presets::{PRESETS, preset};

use crate::domain::metric::Metric;
use crate::domain::source::Reading;
use crate::domain::spelling::suggestion;
use crate::import::mapping::layout::Layout;
use crate::import::mapping::schema::{Header, LongMetric, SubjectKind, Wide, Written};
use crate::import::mapping::unit::{Conversion, conversion, names};
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// Which column of a foreign table means what.
#[derive(Debug, Clone)]
pub struct Mapping {
    written: Written,
    zone: Option<TimeZone>,
    quantities: Vec<Quantity>,
    /// Id of the preset that this is; `None` for a mapping of the user's own.
    preset: Option<&'static str>,
}

/// What a column, or a name in a long file, means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantity {
    /// The column, or the name in the long file.
    pub(crate) name: String,
    /// What is measured.
    pub(crate) metric: Metric,
    /// From the written unit to the metric's.
    pub(crate) conversion: Conversion,
    /// About whom.
    pub(crate) subject: SubjectKind,
    /// What one value stands for; `None` where it is the metric's own rule.
    pub(crate) reading: Option<Reading>,
}

impl Mapping {
    /// Reads a mapping file.
    ///
    /// Errors: a key, metric, unit or zone that does not exist, with the nearest one that does, or
    /// a mapping that says too little or contradicts itself.
    pub fn from_toml(text: &str) -> Result<Self, MappingError> {
        let written: Written =
            toml::from_str(text).map_err(|error| MappingError::from_toml(text, &error))?;
        check(&written)?;
        let zone = zone(text, &written)?;
        let quantities = quantities(text, &written)?;
        Ok(Self { written, zone, quantities, preset: None })
    }

    /// Name for messages; a preset is chosen by it.
    pub fn name(&self) -> &str {
        &self.written.name
    }

    /// One line for `--help`.
    pub fn about(&self) -> &str {
        &self.written.about
    }

    /// Text in the names of the files that the mapping is for, where columns do not tell them apart.
    pub fn file_name_hint(&self) -> Option<&str> {
        self.written.file_name_contains.as_deref()
    }

    /// What one reading stands for, where the mapping says so.
    pub fn readings(&self) -> BTreeMap<Metric, Reading> {
        self.quantities.iter().filter_map(|it| Some((it.metric, it.reading?))).collect()
    }

    /// How many columns the mapping names, if the header in `head` has all of them.
    ///
    /// `None`: it lacks one, or the mapping is for files without header.
    pub fn fit(&self, head: &[u8]) -> Option<usize> {
        if self.written.header != Header::Line {
            return None;
        }
        let lines = head.split(|it| *it == b'\n').map(|it| String::from_utf8_lossy(it));
        let mut lines = lines.filter(|it| !self.is_left_out(it)).take(layout::HEADER_WITHIN);
        lines.find_map(|it| Layout::of(self, it.trim_end_matches('\r')).ok())?;
        Some(self.columns().len())
    }

    /// Every column that a table has for this mapping, in order: those that it names, or those of a file without header.
    pub fn column_names(&self) -> Vec<String> {
        match &self.written.header {
            Header::Names(all) => all.clone(),
            Header::Line => self.columns().into_iter().map(str::to_owned).collect(),
        }
    }

    /// Whether the first line of a table names the columns.
    pub fn has_header(&self) -> bool {
        self.written.header == Header::Line
    }

    /// Letter between two cells.
    pub fn separator(&self) -> char {
        self.written.delimiter.unwrap_or(',')
    }

    /// What stamps count since the Unix epoch; `None` where they are text.
    pub fn stamp_unit(&self) -> Option<crate::import::text::stamp::EpochUnit> {
        self.written.time.as_ref().and_then(|it| it.unit.epoch())
    }

    /// The column that names the GPU.
    pub fn gpu_column(&self) -> Option<&str> {
        self.written.gpu.as_ref().and_then(|it| it.column.as_deref())
    }

    /// The column that names the host.
    pub fn host_column(&self) -> Option<&str> {
        self.written.gpu.as_ref().and_then(|it| it.host_column.as_deref())
    }

    /// Every column that the mapping names, each once.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let it = &self.written;
        let mut all: Vec<Option<&String>> = Vec::new();
        if let Some(time) = &it.time {
            all.extend([&time.column, &time.date_column, &time.time_column].map(Option::as_ref));
        }
        if let Some(gpu) = &it.gpu {
            all.extend([&gpu.column, &gpu.model_column, &gpu.host_column].map(Option::as_ref));
        }
        all.push(it.tenant.as_ref().and_then(|it| it.column.as_ref()));
        if let Some(process) = &it.process {
            all.extend([Some(&process.pid_column), process.name_column.as_ref()]);
        }
        if let Some(mig) = &it.mig {
            all.extend([Some(&mig.gi_column), mig.profile_column.as_ref()]);
        }
        all.push(it.phase.as_ref().map(|it| &it.column));
        all.push(it.filter.as_ref().map(|it| &it.column));
        all.extend(it.metric.iter().map(|it| Some(&it.get_ref().column)));
        if let Some(long) = &it.long {
            all.extend([Some(&long.metric_column), Some(&long.value_column)]);
        }
        let mut once: Vec<&str> = Vec::with_capacity(all.len());
        for column in all.into_iter().flatten() {
            if !once.contains(&column.as_str()) {
                once.push(column);
            }
        }
        once
    }

    /// Whether a line is blank or a comment.
    pub(crate) fn is_left_out(&self, line: &str) -> bool {
        let is_comment = |start: &String| line.trim_start().starts_with(start.as_str());
        line.trim_ascii_start().is_empty() || self.written.comment.as_ref().is_some_and(is_comment)
    }
}

/// Refuses what says too little or contradicts itself.
fn check(it: &Written) -> Result<(), MappingError> {
    let refuse = |problem, advice| Err(MappingError::whole(problem, advice));
    if it.metric.is_empty() == it.long.is_none() {
        return refuse(
            "a mapping has either `[[metric]]` tables or one `[long]` table",
            "write a `[[metric]]` for each column of values, or `[long]` if a column names the metric",
        );
    }
    if it.delimiter.is_some_and(|it| !it.is_ascii() || matches!(it, '"' | '\n' | '\r')) {
        return refuse(
            "`delimiter` is no ASCII letter",
            "write \",\", \";\", \"\\t\", \"|\" or \" \"",
        );
    }
    if let Some(time) = &it.time {
        let pair = (time.date_column.is_some(), time.time_column.is_some());
        if !matches!((time.column.is_some(), pair), (true, (false, false)) | (false, (true, true)))
        {
            return refuse(
                "`[time]` has either `column`, or `date_column` and `time_column`",
                "leave `[time]` out altogether if the file has no stamps",
            );
        }
        if time.unit.epoch().is_some() && (time.format.is_some() || time.column.is_none()) {
            return refuse(
                "a counted stamp stands in one `column` and has no `format`",
                "write unit = \"text\"",
            );
        }
    }
    if it.gpu.as_ref().is_some_and(|it| it.column.is_some() == it.fixed.is_some()) {
        return refuse(
            "`[gpu]` has either `column` or `fixed`",
            "leave `[gpu]` out if the file is about tenants only",
        );
    }
    if it.tenant.as_ref().is_some_and(|it| it.column.is_some() == it.fixed.is_some()) {
        return refuse(
            "`[tenant]` has either `column` or `fixed`",
            "leave `[tenant]` out if the file is about GPUs only",
        );
    }
    Ok(())
}

fn zone(text: &str, written: &Written) -> Result<Option<TimeZone>, MappingError> {
    let Some(name) = written.time.as_ref().and_then(|it| it.zone.as_ref()) else {
        return Ok(None);
    };
    TimeZone::get(name.get_ref()).map(Some).map_err(|_| {
        let problem = format!("there is no time zone `{}`", name.get_ref());
        let advice = "write a name of the IANA list, for example \"Europe/Berlin\" or \"UTC\"";
        MappingError::at(text, name.span().start, problem, advice.to_owned())
    })
}

fn quantities(text: &str, written: &Written) -> Result<Vec<Quantity>, MappingError> {
    let wide = written.metric.iter().map(|it| {
        let Wide { column, metric, unit, scale, subject, reading } = it.get_ref().clone();
        (column, LongMetric { metric, unit, scale, subject, reading })
    });
    let long = written.long.iter().flat_map(|it| it.metrics.clone());
    wide.chain(long).map(|(name, it)| quantity(text, written, name, &it)).collect()
}

fn quantity(
    text: &str,
    written: &Written,
    name: String,
    it: &LongMetric,
) -> Result<Quantity, MappingError> {
    let at = it.metric.span().start;
    let refuse = |problem: &str, advice: &str| {
        Err(MappingError::at(text, at, problem.to_owned(), advice.to_owned()))
    };
    let key = it.metric.get_ref();
    let Some(metric) = Metric::from_key(key) else {
        let keys: Vec<&str> = Metric::all().map(Metric::key).collect();
        return refuse(&format!("there is no metric `{key}`"), &suggestion(key, &keys));
    };
    let conversion = match (&it.unit, it.scale) {
        (None, None) => Conversion::NONE,
        (None, Some(scale)) if scale.is_finite() && scale != 0.0 => {
            Conversion { times: scale, over: 1.0 }
        }
        (None, Some(_)) => {
            return refuse("`scale` is no number that can be undone", "write a number but 0");
        }
        (Some(_), Some(_)) => {
            return refuse("`unit` and `scale` exclude each other", "leave one out");
        }
        (Some(unit), None) => converted(text, metric, unit)?,
    };
    let default = match (&written.gpu, &written.tenant) {
        (None, Some(_)) => SubjectKind::Tenant,
        _ => SubjectKind::Device,
    };
    let subject = it.subject.unwrap_or(default);
    match subject {
        SubjectKind::Tenant if written.tenant.is_none() => {
            return refuse(
                "`subject = \"tenant\"` needs a `[tenant]` table",
                "say which column names the tenant",
            );
        }
        SubjectKind::Process if written.process.is_none() => {
            return refuse(
                "`subject = \"process\"` needs a `[process]` table",
                "say which column holds the pid",
            );
        }
        _ => {}
    }
    let reading = match it.reading.map(|it| it.meaning()) {
        None => None,
        Some(Some(reading)) => Some(reading),
        Some(None) => return refuse("a mean over 0 ms is none", "write reading = \"instant\""),
    };
    Ok(Quantity { name, metric, conversion, subject, reading })
}

fn converted(
    text: &str,
    metric: Metric,
    unit: &toml::Spanned<String>,
) -> Result<Conversion, MappingError> {
    let written = unit.get_ref();
    conversion(written, metric.spec().unit).ok_or_else(|| {
        let key = metric.key();
        let is_known = names(None).contains(&written.as_str());
        let problem = match is_known {
            true => format!("`{written}` is no unit of `{key}`"),
            false => format!("there is no unit `{written}`"),
        };
        let fitting = names(Some(metric.spec().unit));
        let advice = match is_known {
            true => format!("choose one of {}", fitting.join(", ")),
            false => suggestion(written, &fitting),
        };
        MappingError::at(text, unit.span().start, problem, advice)
    })
}

#[cfg(test)]
mod tests;
