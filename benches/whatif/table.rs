//! Published tables, read where they lie at hand and never copied; what was held out of them before anything was tuned.

use std::path::Path;

/// Pairs of the Lucid table that were held out, a bit each, the highest of each hexadecimal digit first.
pub(crate) const HELD_LUCID: &str = "404a86a2114204442c202c300a244a100208919401206821e0000480c234210030084c20028da43020880030045c000881a009ad1340000100658102080446c812000c40c0104008424c0808b00204d0064000314410048740086300040c013000910019a0e00903";
/// The same of the iGniter table.
pub(crate) const HELD_IGNITER: &str = "8940080900011018102c80405080100004612084a30004200020230440220000e10008980802882884820080c100146c4060040403c180014";

/// Whether a row was held out.
pub(crate) fn is_held(mask: &str, row: usize) -> bool {
    let digit = mask.as_bytes().get(row / 4).and_then(|it| (*it as char).to_digit(16));
    digit.is_some_and(|it| it >> (3 - row % 4) & 1 == 1)
}

/// A table with named columns.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A published table; `None` where it does not lie at hand.
    pub(crate) fn read(name: &str) -> Option<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tables").join(name);
        let text = std::fs::read_to_string(path).ok()?;
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<String>>();
        let mut lines = text.lines().filter(|it| !it.starts_with('#') && !it.is_empty());
        let header = cells(lines.next()?);
        Some(Self { header, rows: lines.map(cells).collect() })
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A cell as text.
    pub(crate) fn text(&self, row: usize, column: &str) -> &str {
        let place = self.header.iter().position(|it| it == column);
        place.and_then(|it| self.rows[row].get(it)).map_or("", String::as_str)
    }

    /// A cell as a number; `None` for an empty one.
    pub(crate) fn number(&self, row: usize, column: &str) -> Option<f64> {
        self.text(row, column).parse().ok()
    }

    /// A cell that must hold a number.
    pub(crate) fn value(&self, row: usize, column: &str) -> f64 {
        self.number(row, column).unwrap_or(f64::NAN)
    }
}

/// Mean of some numbers.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0.0), |(sum, count), it| (sum + it, count + 1.0));
    sum / count
}

/// Quantile of some numbers, the nearest rank.
pub(crate) fn quantile(values: impl IntoIterator<Item = f64>, level: f64) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let place = ((sorted.len().saturating_sub(1)) as f64 * level).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
