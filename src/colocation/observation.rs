//! Co-locations that were measured: a small open table that anybody can add to.

use std::fmt;

/// Columns of the table, in order; a header line names them.
///
/// - `gpu`: model, free text; `mechanism`: `time-slicing`, `mps` or `mig`.
/// - `tenant`, `other`: names of the workloads, the same name for the same workload; what stands before the first `/` is its family,
///   so that `resnet/batch 32` and `resnet/batch 64` are known to be alike.
/// - `tenant_util`, `tenant_mem_util`, `other_util`, `other_mem_util`: what the driver shows of each alone, 0 to 1; may be empty.
/// - `slowdown`: time per work of `tenant` beside `other` over that alone, 1 for no loss.
pub const COLUMNS: [&str; 9] = [
    "gpu",
    "mechanism",
    "tenant",
    "other",
    "tenant_util",
    "tenant_mem_util",
    "other_util",
    "other_mem_util",
    "slowdown",
];

/// What the driver shows of a workload alone, as far as it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Name of the workload.
    pub tenant: String,
    /// Share of time with a kernel running and with memory traffic, 0 to 1; `None` when not measured.
    pub utilisation: Option<(f64, f64)>,
}

impl Side {
    /// What stands before the first `/` of the name.
    pub fn family(&self) -> &str {
        self.tenant.split('/').next().unwrap_or_default()
    }
}

/// One workload beside one other.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Model of the GPU.
    pub gpu: String,
    /// How they shared.
    pub mechanism: String,
    /// Who was slowed.
    pub own: Side,
    /// Who was beside it.
    pub other: Side,
    /// Time per work over that alone.
    pub slowdown: f64,
}

/// A line of the table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongLine {
    /// Line, counted from 1.
    pub line: usize,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for WrongLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl std::error::Error for WrongLine {}

/// Reads the table: [`COLUMNS`] separated by commas, without quotes; empty lines and lines that begin with `#` are skipped.
pub fn observations(text: &str) -> Result<Vec<Observation>, WrongLine> {
    let lines = text.lines().enumerate().map(|(place, line)| (place + 1, line.trim()));
    let mut lines = lines.filter(|it| !it.1.is_empty() && !it.1.starts_with('#'));
    match lines.next() {
        None => return Ok(Vec::new()),
        Some((_, header)) if header == COLUMNS.join(",") => {}
        Some((line, _)) => {
            return Err(WrongLine { line, expected: "the header, exactly as documented" });
        }
    }
    lines.map(|(line, text)| row(text).map_err(|expected| WrongLine { line, expected })).collect()
}

fn row(text: &str) -> Result<Observation, &'static str> {
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    let [gpu, mechanism, tenant, other, own_util, own_memory, other_util, other_memory, slowdown] =
        cells.as_slice()
    else {
        return Err("nine cells");
    };
    let share = |cell: &str| -> Result<Option<f64>, &'static str> {
        match cell {
            "" => Ok(None),
            _ => match cell.parse::<f64>() {
                Ok(value) if (0.0..=1.0).contains(&value) => Ok(Some(value)),
                _ => Err("utilisation as a number from 0 to 1"),
            },
        }
    };
    let side = |tenant: &str, busy: &str, memory: &str| -> Result<Side, &'static str> {
        Ok(Side { tenant: tenant.to_owned(), utilisation: share(busy)?.zip(share(memory)?) })
    };
    let slowdown = match slowdown.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => value,
        _ => return Err("slowdown as a positive number"),
    };
    Ok(Observation {
        gpu: (*gpu).to_owned(),
        mechanism: (*mechanism).to_owned(),
        own: side(tenant, own_util, own_memory)?,
        other: side(other, other_util, other_memory)?,
        slowdown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_a_wrong_line_is_named() {
        let header = COLUMNS.join(",");
        let good = format!("# where from\n{header}\nV100,mps,a,b,0.5,0.2,,,1.2\n");
        let found = observations(&good).unwrap();
        assert_eq!(found[0].own.utilisation, Some((0.5, 0.2)));
        assert_eq!((found[0].other.utilisation, found[0].slowdown), (None, 1.2));
        let bad = format!("{header}\nV100,mps,a,b,50,0.2,,,1.2\n");
        assert_eq!(observations(&bad).unwrap_err().line, 2);
        assert!(observations("a,b").is_err());
        assert_eq!(observations(""), Ok(Vec::new()));
    }
}
