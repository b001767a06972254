//! A mapping file as it is written; `Mapping` is what it means.

use crate::domain::source::Reading;
use crate::domain::time::SampleInterval;
use crate::import::text::stamp::EpochUnit;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// Name for messages; a preset is chosen by it.
    pub(crate) name: String,
    /// One line for `--help`.
    pub(crate) about: String,
    /// Tool that wrote the files; the name of the mapping where it is missing.
    pub(crate) tool: Option<String>,
    /// Letter between two cells; found out from the header where it is missing.
    pub(crate) delimiter: Option<char>,
    /// Whether the first line names the columns, or the names themselves.
    #[serde(default)]
    pub(crate) header: Header,
    /// Start of lines that are left out.
    pub(crate) comment: Option<String>,
    /// Tells apart presets whose files have the same columns.
    pub(crate) file_name_contains: Option<String>,
    /// When.
    pub(crate) time: Option<Time>,
    /// On which GPU.
    pub(crate) gpu: Option<Gpu>,
    /// Who.
    pub(crate) tenant: Option<Tenant>,
    /// Which process.
    pub(crate) process: Option<Process>,
    /// Which MIG instance.
    pub(crate) mig: Option<Mig>,
    /// In which phase.
    pub(crate) phase: Option<PhaseColumn>,
    /// Which rows count.
    #[serde(rename = "where")]
    pub(crate) filter: Option<Filter>,
    /// One column for each metric.
    #[serde(default)]
    pub(crate) metric: Vec<Spanned<Wide>>,
    /// One row for each reading.
    pub(crate) long: Option<Long>,
}

/// Where the names of the columns come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Header {
    /// The first line.
    #[default]
    Line,
    /// The mapping file; the first line is data.
    Names(Vec<String>),
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, or the list of column names")
            }

            fn visit_bool<E: Error>(self, is_line: bool) -> Result<Header, E> {
                let needed = "a file without header needs the list of its column names";
                if is_line { Ok(Header::Line) } else { Err(E::custom(needed)) }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Header, A::Error> {
                let mut all = Vec::new();
                while let Some(name) = names.next_element()? {
                    all.push(name);
                }
                Ok(Header::Names(all))
            }
        }
        input.deserialize_any(Names)
    }
}

/// When: one column, or date and time of day in two; without it, `--start` and `--interval`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Time {
    /// Column of the stamp.
    pub(crate) column: Option<String>,
    /// Column of the date, with `time_column`.
    pub(crate) date_column: Option<String>,
    /// Column of the time of day, with `date_column`.
    pub(crate) time_column: Option<String>,
    /// What the stamp counts since the Unix epoch, or `text`.
    #[serde(default)]
    pub(crate) unit: TimeUnit,
    /// Zone of stamps that carry none; `--timezone` goes before it.
    pub(crate) zone: Option<Spanned<String>>,
    /// Spelling of the stamp as for `strptime`.
    pub(crate) format: Option<String>,
}

/// What a stamp counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
    #[default]
    Text,
}

impl TimeUnit {
    /// The unit of a count; `None` for text.
    pub(crate) fn epoch(self) -> Option<EpochUnit> {
        match self {
            Self::Seconds => Some(EpochUnit::Seconds),
            Self::Milliseconds => Some(EpochUnit::Milliseconds),
            Self::Microseconds => Some(EpochUnit::Microseconds),
            Self::Nanoseconds => Some(EpochUnit::Nanoseconds),
            Self::Text => None,
        }
    }
}

/// On which GPU a row is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gpu {
    /// Column that names it.
    pub(crate) column: Option<String>,
    /// Name of the only GPU, instead of a column.
    pub(crate) fixed: Option<String>,
    /// What the column holds.
    #[serde(default)]
    pub(crate) kind: GpuKind,
    /// Text in front of the name in every cell, for example `GPU `.
    pub(crate) prefix: Option<String>,
    /// Column of the product name.
    pub(crate) model_column: Option<String>,
    /// Column of the host.
    pub(crate) host_column: Option<String>,
}

/// What a GPU column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GpuKind {
    /// An index where it is a whole number, else a UUID.
    #[default]
    Auto,
    Index,
    Uuid,
}

/// Who a row is about.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tenant {
    /// Column that names the tenant.
    pub(crate) column: Option<String>,
    /// Name of the only tenant, instead of a column.
    pub(crate) fixed: Option<String>,
    /// Name of the tenant where the cell is empty; without it such rows are rejected.
    pub(crate) when_empty: Option<String>,
}

/// Which process a row is about.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Process {
    /// Column of the process id.
    pub(crate) pid_column: String,
    /// Column of the program's name.
    pub(crate) name_column: Option<String>,
}

/// Which MIG instance a row is about; an empty cell means the whole GPU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mig {
    /// Column of the GPU instance's number.
    pub(crate) gi_column: String,
    /// Column of the profile.
    pub(crate) profile_column: Option<String>,
}

/// In which phase a row is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseColumn {
    /// Column of the label.
    pub(crate) column: String,
    /// Whether every GPU has phases of its own.
    #[serde(default)]
    pub(crate) per_gpu: bool,
}

/// Which rows count: those whose cell holds exactly this text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// Column to look at.
    pub(crate) column: String,
    /// Text of the rows that count.
    pub(crate) equals: String,
}

/// A column that holds one metric.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wide {
    /// Column of the values.
    pub(crate) column: String,
    /// Key of the metric.
    pub(crate) metric: Spanned<String>,
    /// Unit of the values; that of the metric where it is missing.
    pub(crate) unit: Option<Spanned<String>>,
    /// Factor to the metric's unit, instead of a unit.
    pub(crate) scale: Option<f64>,
    /// About whom the values are.
    pub(crate) subject: Option<SubjectKind>,
    /// What one value stands for.
    pub(crate) reading: Option<WrittenReading>,
}

/// Rows that hold one reading each, and name its metric.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Long {
    /// Column that names the metric.
    pub(crate) metric_column: String,
    /// Column of the value.
    pub(crate) value_column: String,
    /// What the names mean.
    pub(crate) metrics: BTreeMap<String, LongMetric>,
}

/// What a name in a long file means.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongMetric {
    /// Key of the metric.
    pub(crate) metric: Spanned<String>,
    /// Unit of the values; that of the metric where it is missing.
    pub(crate) unit: Option<Spanned<String>>,
    /// Factor to the metric's unit, instead of a unit.
    pub(crate) scale: Option<f64>,
    /// About whom the values are.
    pub(crate) subject: Option<SubjectKind>,
    /// What one value stands for.
    pub(crate) reading: Option<WrittenReading>,
}

/// About whom values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubjectKind {
    /// The GPU, or the MIG instance where the row names one.
    Device,
    Tenant,
    Process,
}

/// What one value stands for, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WrittenReading {
    /// The value at the stamp.
    Instant,
    /// The mean since the sample before.
    Average,
    /// The mean over this many milliseconds before the stamp.
    AverageMs(u64),
    /// A count that only grows.
    Counter,
    /// The last event.
    LastEvent,
}

impl WrittenReading {
    /// What it means; `None` for a window of no length.
    pub(crate) fn meaning(self) -> Option<Reading> {
        Some(match self {
            Self::Instant => Reading::Instant,
            Self::Average => Reading::WindowAverage { window: None },
            Self::AverageMs(length) => {
                let window = SampleInterval::from_micros(length.saturating_mul(1000))?;
                Reading::WindowAverage { window: Some(window) }
            }
            Self::Counter => Reading::Counter,
            Self::LastEvent => Reading::LastEvent,
        })
    }
}
