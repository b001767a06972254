//! Where the columns that a mapping names stand in a file.

use crate::import::mapping::Mapping;
use crate::import::mapping::cells::{Cells, Splitter};
use crate::import::mapping::schema::{Header, SubjectKind};

/// Delimiters that are tried where the mapping names none.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// The header is looked for in this many lines; some logs begin with a remark.
pub(crate) const HEADER_WITHIN: usize = 20;

/// Where a stamp stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeCells {
    /// In one cell.
    One(usize),
    /// Date and time of day in two.
    Two(usize, usize),
    /// Nowhere.
    None,
}

/// Where a row's metric and value stand in a long file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongCells {
    /// Cell that names the metric.
    pub(crate) metric: usize,
    /// Cell of the value.
    pub(crate) value: usize,
}

/// Cells that name whom a row is about; `None` where the mapping has no such column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubjectCells {
    pub(crate) gpu: Option<usize>,
    pub(crate) model: Option<usize>,
    pub(crate) host: Option<usize>,
    pub(crate) tenant: Option<usize>,
    pub(crate) pid: Option<usize>,
    pub(crate) program: Option<usize>,
    pub(crate) instance: Option<usize>,
    pub(crate) profile: Option<usize>,
}

/// Where the columns that a mapping names stand in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    /// Letter between two cells.
    pub(crate) delimiter: u8,
    /// Number of columns.
    pub(crate) width: usize,
    /// When.
    pub(crate) time: TimeCells,
    /// Who.
    pub(crate) subject: SubjectCells,
    /// Which phase.
    pub(crate) phase: Option<usize>,
    /// Cell to look at, to leave a row out.
    pub(crate) filter: Option<usize>,
    /// Positions of columns and of their quantities in the mapping, by whom they are about.
    pub(crate) groups: Vec<(SubjectKind, Vec<(usize, usize)>)>,
    /// Set for a long file.
    pub(crate) long: Option<LongCells>,
}

/// A header that lacks a column of the mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The first column that is not there.
    pub(crate) column: String,
    /// The columns that are there.
    pub(crate) present: Vec<String>,
}

impl Layout {
    /// Finds the columns in a header line, or in the mapping's own list of names.
    ///
    /// The delimiter is the mapping's, or the one that finds most columns.
    pub(crate) fn of(mapping: &Mapping, header: &str) -> Result<Self, Missing> {
        let wanted = mapping.columns();
        let given = mapping.written.delimiter.map(|it| it as u8);
        let tried = given.as_slice();
        let tried = if tried.is_empty() { DELIMITERS.as_slice() } else { tried };
        let mut best: Option<(usize, Self, Missing)> = None;
        for delimiter in tried {
            let names = names(mapping, header, *delimiter);
            let found = wanted.iter().filter(|it| position(&names, it).is_some()).count();
            if best.as_ref().is_some_and(|it| it.0 >= found) {
                continue;
            }
            let lacks = |it: &&&str| position(&names, it).is_none();
            let column = wanted.iter().find(lacks).map(|it| (*it).to_owned()).unwrap_or_default();
            let layout = Self::with(mapping, &names, *delimiter);
            best = Some((found, layout, Missing { column, present: names }));
        }
        match best {
            Some((found, layout, _)) if found == wanted.len() => Ok(layout),
            Some((_, _, missing)) => Err(missing),
            None => Err(Missing { column: String::new(), present: Vec::new() }),
        }
    }

    fn with(mapping: &Mapping, names: &[String], delimiter: u8) -> Self {
        let it = &mapping.written;
        let at = |column: Option<&String>| position(names, column?);
        let time = it.time.as_ref();
        let pair = |a: Option<usize>, b: Option<usize>| Some(TimeCells::Two(a?, b?));
        let time = at(time.and_then(|it| it.column.as_ref())).map(TimeCells::One).or_else(|| {
            let date = at(time.and_then(|it| it.date_column.as_ref()));
            pair(date, at(time.and_then(|it| it.time_column.as_ref())))
        });
        let subject = SubjectCells {
            gpu: at(it.gpu.as_ref().and_then(|it| it.column.as_ref())),
            model: at(it.gpu.as_ref().and_then(|it| it.model_column.as_ref())),
            host: at(it.gpu.as_ref().and_then(|it| it.host_column.as_ref())),
            tenant: at(it.tenant.as_ref().and_then(|it| it.column.as_ref())),
            pid: at(it.process.as_ref().map(|it| &it.pid_column)),
            program: at(it.process.as_ref().and_then(|it| it.name_column.as_ref())),
            instance: at(it.mig.as_ref().map(|it| &it.gi_column)),
            profile: at(it.mig.as_ref().and_then(|it| it.profile_column.as_ref())),
        };
        let long = it.long.as_ref().and_then(|it| {
            let (metric, value) = (at(Some(&it.metric_column))?, at(Some(&it.value_column))?);
            Some(LongCells { metric, value })
        });
        Self {
            delimiter,
            width: names.len(),
            time: time.unwrap_or(TimeCells::None),
            subject,
            phase: at(it.phase.as_ref().map(|it| &it.column)),
            filter: at(it.filter.as_ref().map(|it| &it.column)),
            groups: if long.is_some() { Vec::new() } else { groups(mapping, names) },
            long,
        }
    }

    /// Whether a row has more cells than there are columns, so that nobody knows which is which.
    pub(crate) fn is_too_wide(&self, cells: &Cells<'_>) -> bool {
        (self.width..cells.len()).any(|it| !cells.get(it).is_empty())
    }
}

fn groups(mapping: &Mapping, names: &[String]) -> Vec<(SubjectKind, Vec<(usize, usize)>)> {
    [SubjectKind::Device, SubjectKind::Tenant, SubjectKind::Process]
        .into_iter()
        .map(|kind| {
            let quantities = mapping.quantities.iter().enumerate();
            let of_kind = quantities.filter(|it| it.1.subject == kind);
            let cells =
                of_kind.filter_map(|(number, it)| Some((position(names, &it.name)?, number)));
            (kind, cells.collect::<Vec<_>>())
        })
        .filter(|it| !it.1.is_empty())
        .collect()
}

fn names(mapping: &Mapping, header: &str, delimiter: u8) -> Vec<String> {
    if let Header::Names(names) = &mapping.written.header {
        return names.clone();
    }
    let mut splitter = Splitter::default();
    let cells = splitter.split(header.trim_start_matches('\u{feff}'), delimiter);
    (0..cells.len()).map(|it| cells.get(it).to_owned()).collect()
}

fn position(names: &[String], column: &str) -> Option<usize> {
    names.iter().position(|it| it == column.trim())
}
