//! Quantities that are shown to people, one type each; the unit is in the type's name.

use std::fmt;

/// An amount of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryBytes(u64);

impl MemoryBytes {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The nearest whole number of bytes; `None` for a negative or non-finite number.
    pub fn from_f64(bytes: f64) -> Option<Self> {
        (bytes.is_finite() && bytes >= 0.0).then_some(Self(bytes.round() as u64))
    }

    /// In bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// In mebibytes, 2^20 bytes.
    pub fn as_mebibytes(self) -> f64 {
        self.0 as f64 / (1u64 << 20) as f64
    }
}

impl fmt::Display for MemoryBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.as_mebibytes();
        if mebibytes >= 1024.0 {
            write!(f, "{:.1} GiB", mebibytes / 1024.0)
        } else {
            write!(f, "{mebibytes:.0} MiB")
        }
    }
}

/// A length of time for people, in seconds: `3.2 ms`, `0.45 s`, `12 min`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0.abs() {
            it if it < 0.999_5e-3 => (self.0 * 1e6, "µs"),
            it if it < 0.999_5 => (self.0 * 1e3, "ms"),
            it if it < 120.0 => (self.0, "s"),
            it if it < 7200.0 => (self.0 / 60.0, "min"),
            it if it < 3.0 * 86_400.0 => (self.0 / 3600.0, "h"),
            _ => (self.0 / 86_400.0, "days"),
        };
        match value.abs() {
            it if it >= 99.5 => write!(f, "{value:.0} {unit}"),
            it if it >= 9.95 => write!(f, "{value:.1} {unit}"),
            _ => write!(f, "{value:.2} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_shown_in_the_unit_that_a_person_would_choose() {
        let shown: Vec<String> = [0.000_05, 0.0032, 0.45, 0.9998, 12.0, 600.0, 86_400.0, 604_800.0]
            .map(|it| Seconds(it).to_string())
            .to_vec();
        assert_eq!(
            shown,
            ["50.0 µs", "3.20 ms", "450 ms", "1.00 s", "12.0 s", "10.0 min", "24.0 h", "7.00 days"]
        );
        assert_eq!(MemoryBytes::new(80 << 30).to_string(), "80.0 GiB");
        assert_eq!(MemoryBytes::new(4 << 20).to_string(), "4 MiB");
        assert_eq!(MemoryBytes::from_f64(f64::NAN), None);
    }
}
