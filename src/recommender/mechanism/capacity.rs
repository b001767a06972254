//! How many tenants like these a device takes.

use serde::Serialize;

/// How many tenants like these fit, limit by limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// How many fit: the least of the limits.
    pub tenants: u32,
    /// By memory; `None` where memory is not known.
    pub by_memory: Option<u32>,
    /// By the time, or the SMs, that they take; `None` where that is no limit.
    pub by_load: Option<u32>,
    /// By the clients or instances that the mechanism takes; `None` where that is no limit.
    pub by_places: Option<u32>,
}

impl Capacity {
    /// The least of the limits; `None` where none is known.
    pub(crate) fn of(
        by_memory: Option<u32>,
        by_load: Option<u32>,
        by_places: Option<u32>,
    ) -> Option<Self> {
        let tenants = [by_memory, by_load, by_places].into_iter().flatten().min()?;
        Some(Self { tenants, by_memory, by_load, by_places })
    }

    /// What binds, in words.
    pub fn binding(&self) -> &'static str {
        match self.tenants {
            it if self.by_memory == Some(it) => "memory",
            it if self.by_load == Some(it) => "load",
            _ => "places",
        }
    }
}

/// How often a need goes into what there is; `None` for a need of nothing.
pub(crate) fn times(have: f64, need: f64) -> Option<u32> {
    let times = (have / need + 1e-9).floor();
    (need > 0.0 && times.is_finite()).then(|| times.clamp(0.0, 1e6) as u32)
}

/// Mean of what is known of everybody; `None` where somebody's is not.
pub(crate) fn mean(all: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all: Option<Vec<f64>> = all.collect();
    let all = all.filter(|it| !it.is_empty())?;
    Some(all.iter().sum::<f64>() / all.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_notebooks_of_five_percent_fill_half_of_the_time() {
        assert_eq!(times(0.5, 0.05), Some(10));
        assert_eq!(times(0.5, 0.0), None);
        let found = Capacity::of(Some(14), times(0.5, 0.05), None).unwrap();
        assert_eq!((found.tenants, found.binding()), (10, "load"));
    }
}
