//! What all csv of `nvidia-smi --query-…` has in common: headers, cells and the columns that name the GPU.

use crate::domain::ident::GpuId;
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Device;
use crate::import::gpu_names::{driver_uuid, given, is_mask};
use crate::import::run::ImportRun;
use crate::import::text::cells::{heading, is_missing};

/// What to do when rows do not say which GPU they are about.
pub const NAME_THE_GPU: &str = "record with --query-gpu=index,uuid,timestamp,… or, if all rows are about one GPU, name it: --gpu NAME";

/// Undotted field names of `--query-gpu`, `--query-compute-apps` and `--query-accounted-apps`.
const PLAIN_FIELDS: &[&str] = &[
    "timestamp",
    "driver_version",
    "kmd_version",
    "count",
    "name",
    "gpu_name",
    "serial",
    "gpu_serial",
    "uuid",
    "gpu_uuid",
    "gpu_bus_id",
    "index",
    "display_mode",
    "display_attached",
    "display_active",
    "persistence_mode",
    "addressing_mode",
    "vbios_version",
    "gpu_recovery_action",
    "pstate",
    "compute_mode",
    "compute_cap",
    "edpp_multiplier",
    "hostname",
    "pid",
    "process_name",
    "used_gpu_memory",
    "used_memory",
    "gpu_utilization",
    "mem_utilization",
    "max_memory_usage",
    "time",
];

/// Cells of a line, trimmed; a cell in double quotes may hold commas.
pub fn split(line: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (position, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => {
                cells.push(&line[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    cells.push(&line[start..]);
    cells.iter().map(|it| it.trim().trim_matches('"').trim()).collect()
}

/// The names and units of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Field names; empty for a column without one.
    pub names: Vec<String>,
    /// Units as printed; empty where there is none.
    pub units: Vec<String>,
}

impl Header {
    /// The header in a line; columns without a name at its end are none.
    pub fn parse(line: &str) -> Self {
        Self::of(split(line))
    }

    /// The header that a field list stands for.
    pub fn of<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let headings: Vec<(&str, &str)> = fields.into_iter().map(heading).collect();
        let used = headings.iter().rposition(|it| !it.0.is_empty()).map_or(0, |it| it + 1);
        let names = headings[..used].iter().map(|it| it.0.to_owned()).collect();
        let units = headings[..used].iter().map(|it| it.1.to_owned()).collect();
        Self { names, units }
    }

    /// The header that the user gave for a file without one; empty when none was given.
    pub fn given(run: &ImportRun<'_>) -> Self {
        Self::of(run.options.fields.iter().flatten().map(String::as_str))
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Position of the first column with one of these names, in the order of the names.
    pub fn position(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.names.iter().position(|it| it.eq_ignore_ascii_case(name)))
    }

    /// Whether every column has a name that nvidia-smi gives to a field.
    pub fn is_all_fields(&self) -> bool {
        let is_dotted = |it: &str| {
            it.contains('.')
                && it.starts_with(|it: char| it.is_ascii_alphabetic())
                && it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'))
        };
        let is_field =
            |it: &String| it.is_empty() || is_dotted(it) || PLAIN_FIELDS.contains(&it.as_str());
        !self.is_empty() && self.names.iter().all(is_field)
    }

    /// Whether a column holds a metric of ours.
    pub fn has_metric(&self) -> bool {
        self.names.iter().any(|it| Metric::from_foreign(Dialect::Smi, it).is_some())
    }
}

/// Whether a line begins with a stamp as nvidia-smi prints it: `2026/01/04 04:38:59.876, …`.
pub fn begins_with_stamp(line: &str) -> bool {
    let cell = line.trim_start().split(',').next().unwrap_or_default().trim_end();
    let pattern = "dddd/dd/dd dd:dd:dd.ddd";
    cell.len() == pattern.len()
        && line.contains(',')
        && cell.bytes().zip(pattern.bytes()).all(|(it, like)| match like {
            b'd' => it.is_ascii_digit(),
            _ => it == like,
        })
}

/// Positions of the columns that say which GPU a row is about, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuColumns {
    index: Option<usize>,
    uuid: Option<usize>,
    bus: Option<usize>,
    serial: Option<usize>,
    model: Option<usize>,
    driver: Option<usize>,
    mig: Option<usize>,
    host: Option<usize>,
    count: Option<usize>,
}

impl GpuColumns {
    /// The columns of a header.
    pub fn of(header: &Header) -> Self {
        Self {
            index: header.position(&["index"]),
            uuid: header.position(&["uuid", "gpu_uuid"]),
            bus: header.position(&["pci.bus_id", "gpu_bus_id"]),
            serial: header.position(&["serial", "gpu_serial"]),
            model: header.position(&["name", "gpu_name"]),
            driver: header.position(&["driver_version"]),
            mig: header.position(&["mig.mode.current"]),
            host: header.position(&["hostname"]),
            count: header.position(&["count"]),
        }
    }

    /// The GPU that a row names: by UUID, or else by index, bus id or serial number.
    ///
    /// `None` when it names none: a masked UUID or serial number is no name.
    pub fn gpu(&self, cells: &[&str]) -> Option<GpuId> {
        let uuid = cell(cells, self.uuid).and_then(driver_uuid);
        let by_index = || self.index(cells).map(GpuId::from_index);
        let by_bus = || cell(cells, self.bus).map(GpuId::new);
        let by_serial = || cell(cells, self.serial).filter(|it| !is_mask(it)).map(GpuId::new);
        uuid.map(GpuId::new).or_else(by_index).or_else(by_bus).or_else(by_serial)
    }

    /// The GPU of a row, and whether it is only assumed, because neither the row nor the user names one.
    pub fn gpu_or_assumed(&self, run: &ImportRun<'_>, cells: &[&str]) -> (GpuId, bool) {
        match self.gpu(cells) {
            Some(gpu) => (gpu, false),
            None => (unnamed_gpu(run), run.options.gpu.is_none()),
        }
    }

    /// How many GPUs the host has.
    pub fn count(&self, cells: &[&str]) -> Option<u32> {
        cell(cells, self.count)?.parse().ok()
    }

    /// Version of the driver, which is that of nvidia-smi too.
    pub fn driver<'a>(&self, cells: &[&'a str]) -> Option<&'a str> {
        cell(cells, self.driver)
    }

    /// What the row says about its GPU.
    pub fn device(&self, gpu: &GpuId, cells: &[&str]) -> Device {
        let text = |column| cell(cells, column).map(str::to_owned);
        Device {
            gpu: gpu.clone(),
            index: self.index(cells),
            bus_id: text(self.bus),
            model: text(self.model),
            host: text(self.host),
            driver: text(self.driver),
            is_mig: cell(cells, self.mig).map(|it| it.eq_ignore_ascii_case("enabled")),
        }
    }

    fn index(&self, cells: &[&str]) -> Option<u32> {
        cell(cells, self.index)?.parse().ok()
    }
}

/// The cell in a column; `None` when there is no such column or it has no reading.
pub fn cell<'a>(cells: &[&'a str], column: Option<usize>) -> Option<&'a str> {
    cells.get(column?).copied().filter(|it| !is_missing(it))
}

/// The GPU of rows that name none: as the user said, or `gpu0`.
pub fn unnamed_gpu(run: &ImportRun<'_>) -> GpuId {
    run.options.gpu.as_deref().map_or_else(|| GpuId::from_index(0), given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_with_and_without_blanks_and_quotes_give_the_same_cells() {
        assert_eq!(split("1, 2 MiB,3 "), ["1", "2 MiB", "3"]);
        assert_eq!(split("\"A, B\",2,"), ["A, B", "2", ""]);
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn a_header_keeps_units_and_drops_nameless_columns_at_its_end() {
        let header = Header::parse(",timestamp, memory.used [MiB],");
        assert_eq!(header.names, ["", "timestamp", "memory.used"]);
        assert_eq!(header.units, ["", "", "MiB"]);
        assert_eq!(header.position(&["uuid", "Timestamp"]), Some(1));
    }

    #[test]
    fn a_hand_made_header_is_not_taken_for_one_of_the_tool() {
        assert!(Header::parse("timestamp,power.draw,clocks.sm").is_all_fields());
        assert!(!Header::parse("timestamp,gpu_index,name,util_gpu_pct").is_all_fields());
        assert!(!Header::parse("").is_all_fields());
    }

    #[test]
    fn a_stamp_at_the_start_marks_a_row_without_header() {
        assert!(begins_with_stamp("2026/01/04 04:38:59.876, 45 %"));
        assert!(!begins_with_stamp("2026-01-04 04:38:59.876, 45 %"));
        assert!(!begins_with_stamp("2026/01/04 04:38:59.876"));
    }

    #[test]
    fn a_masked_uuid_yields_to_the_index_and_then_to_the_bus_id() {
        let columns = GpuColumns::of(&Header::parse("uuid,index,pci.bus_id,serial"));
        let gpu = |row: &str| columns.gpu(&split(row)).map(|it| it.as_str().to_owned());
        let masked = "GPU-00000000-0000-0000-0000-000000000000";
        assert_eq!(gpu("GPU-1a2b,3,00000000:0C:00.0,7").unwrap(), "GPU-1a2b");
        assert_eq!(gpu(&format!("{masked},3,00000000:0C:00.0,7")).unwrap(), "gpu3");
        assert_eq!(gpu("GPU-XXXXXXXX,[N/A],00000000:0C:00.0,7").unwrap(), "00000000:0C:00.0");
        assert_eq!(gpu("[N/A],[N/A],[N/A],1320021").unwrap(), "1320021");
        assert_eq!(gpu("[N/A],[N/A],[N/A],0000000000000"), None);
    }
}
