//! Reads a table through a mapping.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::mapping::Mapping;
use crate::import::mapping::cells::{Cells, Splitter};
use crate::import::mapping::layout::{HEADER_WITHIN, Layout, LongCells, Missing, TimeCells};
use crate::import::mapping::phases::Phases;
use crate::import::mapping::schema::Header;
use crate::import::mapping::stamps::Stamps;
use crate::import::mapping::subjects::Subjects;
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::run::unknown_names::UnknownNames;
use crate::import::text::cells::number;
use crate::import::text::lines::Lines;
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Reads a table through a mapping.
#[derive(Debug, Clone)]
pub struct MappingImporter {
    /// Which column means what.
    pub mapping: Mapping,
}

impl Importer for MappingImporter {
    fn id(&self) -> &'static str {
        "mapping"
    }

    fn about(&self) -> &'static str {
        "any CSV or TSV, through a mapping file or a preset"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        if self.mapping.fit(head).is_some() { Likeness::Sure } else { Likeness::No }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut lines = Lines::new(input);
        let (layout, first) = find_header(&self.mapping, &mut lines, run)?;
        let mut table = Table::new(&self.mapping, layout, run);
        let mut splitter = Splitter::default();
        if let Some(first) = first {
            table.line(&first, &mut splitter, run)?;
        }
        loop {
            match lines.next(run) {
                Ok(Some(text)) => table.line(&text, &mut splitter, run)?,
                Ok(None) => return table.finish(run),
                Err(error) => {
                    table.finish(run)?;
                    return Err(error);
                }
            }
        }
    }
}

/// Where the columns stand; with the first line of a file that has no header.
///
/// Errors: no line near the start has every column of the mapping.
fn find_header(
    mapping: &Mapping,
    lines: &mut Lines<'_>,
    run: &mut ImportRun<'_>,
) -> Result<(Layout, Option<String>), ImportError> {
    let mut refused: Option<(u64, String, Missing)> = None;
    for _ in 0..HEADER_WITHIN {
        let Some(text) = lines.next(run)? else { break };
        if mapping.is_left_out(&text) {
            continue;
        }
        match Layout::of(mapping, &text) {
            Ok(layout) => {
                if let Some((line, ..)) = refused {
                    let last = run.line - 1;
                    run.warn(format!("lines {line} to {last} before the header were left out"));
                }
                let is_data = mapping.written.header != Header::Line;
                return Ok((layout, is_data.then(|| text.into_owned())));
            }
            Err(missing) => {
                refused.get_or_insert((run.line, text.into_owned(), missing));
            }
        }
    }
    let Some((line, header, missing)) = refused else {
        return Err(ImportError::Empty { file: run.file().to_owned() });
    };
    run.line = line;
    let expected =
        format!("a column `{}`, which mapping `{}` names", missing.column, mapping.name());
    let remedy = format!("the columns are: {}", missing.present.join(", "));
    Err(run.structure_error(&expected, &header, &remedy))
}

/// A table under way.
struct Table<'m> {
    mapping: &'m Mapping,
    layout: Layout,
    stamps: Stamps,
    subjects: Subjects,
    phases: Phases,
    readings: Vec<(Metric, f64)>,
    by_name: BTreeMap<&'m str, usize>,
    unknown: UnknownNames,
    is_one_gpu: bool,
    same_stamp: (Option<Timestamp>, usize, u64),
    latest: Option<Timestamp>,
    backward: u64,
    repeated: u64,
    seen: Vec<bool>,
    silent: Vec<bool>,
}

impl<'m> Table<'m> {
    fn new(mapping: &'m Mapping, layout: Layout, run: &ImportRun<'_>) -> Self {
        let written = &mapping.written;
        let names_someone =
            written.tenant.is_some() || written.process.is_some() || written.mig.is_some();
        let is_named = written.gpu.is_some() || run.options.gpu.is_some() || names_someone;
        let quantities = mapping.quantities.iter().enumerate();
        Self {
            mapping,
            stamps: Stamps::new(mapping, run),
            // Stamps are made by whose row returns.
            subjects: Subjects::new(!matches!(layout.time, TimeCells::None)),
            phases: Phases::default(),
            readings: Vec::new(),
            by_name: quantities.map(|(number, it)| (it.name.as_str(), number)).collect(),
            unknown: UnknownNames::default(),
            is_one_gpu: !is_named && layout.long.is_none(),
            same_stamp: (None, 0, 0),
            latest: None,
            backward: 0,
            repeated: 0,
            seen: vec![false; mapping.quantities.len()],
            silent: vec![false; mapping.quantities.len()],
            layout,
        }
    }

    fn line(
        &mut self,
        line: &str,
        splitter: &mut Splitter,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        if self.mapping.is_left_out(line) {
            return Ok(());
        }
        let cells = splitter.split(line, self.layout.delimiter);
        if self.layout.is_too_wide(&cells) {
            run.reject("", &format!("{} cells", self.layout.width), line);
            return Ok(());
        }
        if let (Some(position), Some(filter)) = (self.layout.filter, &self.mapping.written.filter)
            && cells.get(position) != filter.equals
        {
            return Ok(());
        }
        let at = match self.stamps.read(self.mapping, self.layout.time, &cells) {
            Ok(at) => at,
            // Files that were put together repeat their header.
            Err(_) if self.mapping.fit(line.as_bytes()).is_some() => return Ok(()),
            Err(found) => {
                run.reject(self.time_column(), "a stamp", &found);
                return Ok(());
            }
        };
        let found = self.subjects.find(self.mapping, &self.layout.subject, &cells, run)?;
        let number = match found {
            Ok(number) => number,
            Err(nobody) => {
                let found = cells.get(nobody.position).to_owned();
                run.reject("", nobody.expected, &found);
                return Ok(());
            }
        };
        let at = match at {
            Some(at) => at,
            None => self.stamps.made(number, run)?,
        };
        self.describe_source(run)?;
        self.check_order(at, number, run)?;
        self.note_phase(at, number, &cells, run)?;
        match self.layout.long {
            Some(long) => self.long_row(at, number, long, &cells, run),
            None => self.wide_row(at, number, &cells, run),
        }
    }

    fn time_column(&self) -> &'m str {
        let time = self.mapping.written.time.as_ref();
        let column = time.and_then(|it| it.column.as_ref().or(it.time_column.as_ref()));
        column.map_or("", String::as_str)
    }

    fn describe_source(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        run.describe_source(|options| {
            let written = &self.mapping.written;
            let tool = written.tool.as_ref().unwrap_or(&written.name);
            Origin {
                preset: self.mapping.preset,
                readings: self.mapping.readings(),
                ..self.stamps.origin(options, tool)
            }
        })
    }

    /// Counts rows that step back in time or repeat a stamp; errors if that hides several GPUs.
    fn check_order(
        &mut self,
        at: Timestamp,
        number: usize,
        run: &ImportRun<'_>,
    ) -> Result<(), ImportError> {
        self.backward += u64::from(self.latest.is_some_and(|it| at < it));
        self.latest = self.latest.max(Some(at));
        let owners = self.subjects.get(number);
        self.repeated += u64::from(owners.last == Some(at) && self.layout.long.is_none());
        owners.last = Some(at);
        if self.is_one_gpu {
            if self.same_stamp.0 != Some(at) {
                self.check_one_gpu(run)?;
                self.same_stamp = (Some(at), 0, 0);
            }
            self.same_stamp = (Some(at), self.same_stamp.1 + 1, run.line);
        }
        Ok(())
    }

    fn check_one_gpu(&self, run: &ImportRun<'_>) -> Result<(), ImportError> {
        let (Some(at), rows @ 2.., line) = self.same_stamp else { return Ok(()) };
        Err(ImportError::AmbiguousGpu {
            file: run.file().to_owned(),
            line,
            rows,
            stamp: format!("{:.6} s", at.seconds_since(Timestamp::from_micros(0))),
            remedy:
                "name the column in the mapping: [gpu] column = \"…\"; if there is only one GPU, \
                     say so with --gpu 0"
                    .to_owned(),
        })
    }

    fn note_phase(
        &mut self,
        at: Timestamp,
        number: usize,
        cells: &Cells<'_>,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        let (Some(position), Some(phase)) = (self.layout.phase, &self.mapping.written.phase) else {
            return Ok(());
        };
        let gpu = self.subjects.get(number).gpu.as_ref().filter(|_| phase.per_gpu);
        self.phases.note(gpu, cells.get(position), at, run)
    }

    fn wide_row(
        &mut self,
        at: Timestamp,
        number: usize,
        cells: &Cells<'_>,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        for (kind, columns) in &self.layout.groups {
            self.readings.clear();
            for (position, quantity) in columns {
                let meant = &self.mapping.quantities[*quantity];
                let found = match cells.decimal(*position) {
                    Some(value) => Ok(Some(value)),
                    None => value(cells.get(*position)),
                };
                match found {
                    Ok(Some(value)) => {
                        self.readings.push((meant.metric, meant.conversion.apply(value)));
                        self.seen[*quantity] = true;
                    }
                    Ok(None) => self.silent[*quantity] = true,
                    Err(found) => run.reject(&meant.name, "a number", &found),
                }
            }
            match self.subjects.get(number).of(*kind) {
                Some(subject) => run.row(at, subject, &self.readings)?,
                None if self.readings.is_empty() => {}
                None => run.reject("", "a row that names whom its readings are about", ""),
            }
        }
        Ok(())
    }

    fn long_row(
        &mut self,
        at: Timestamp,
        number: usize,
        long: LongCells,
        cells: &Cells<'_>,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        let name = cells.get(long.metric);
        let Some(quantity) = self.by_name.get(name).copied() else {
            self.unknown.add(name);
            return Ok(());
        };
        let meant = &self.mapping.quantities[quantity];
        let value = match value(cells.get(long.value)) {
            Ok(Some(value)) => meant.conversion.apply(value),
            Ok(None) => {
                self.silent[quantity] = true;
                return Ok(());
            }
            Err(found) => {
                run.reject(name, "a number", &found);
                return Ok(());
            }
        };
        self.seen[quantity] = true;
        match self.subjects.get(number).of(meant.subject) {
            Some(subject) => run.row(at, subject, &[(meant.metric, value)]),
            None => {
                run.reject(name, "a row that names whom its reading is about", "");
                Ok(())
            }
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.check_one_gpu(run)?;
        self.stamps.finish(run)?;
        self.unknown.warning().into_iter().for_each(|it| run.warn(it));
        if self.backward > 0 {
            run.warn(format!("{} rows are earlier than the row before them", self.backward));
        }
        if self.repeated > 0 {
            let count = self.repeated;
            run.warn(format!(
                "{count} rows repeat stamp and subject of the row before; the last stays"
            ));
        }
        for (number, quantity) in self.mapping.quantities.iter().enumerate() {
            if self.silent[number] && !self.seen[number] {
                let detail = format!("column `{}` is there and never has a value", quantity.name);
                let metric = Some(quantity.metric);
                run.blind_spot(BlindSpotKind::NotReported, None, metric, detail, "")?;
            }
        }
        self.phases.finish(run)
    }
}

/// Reads any cell; `Ok(None)` when it says that there is no reading.
fn value(cell: &str) -> Result<Option<f64>, String> {
    let is_number = cell.trim_start_matches('-').starts_with(|it: char| it.is_ascii_digit());
    match cell.parse::<f64>() {
        // Sentinels are larger, and left to the slow way.
        Ok(value) if is_number && value.abs() < 1e18 => Ok(Some(value)),
        _ => number(cell),
    }
}
