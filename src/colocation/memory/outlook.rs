//! The memory of tenants under one way to share: one room for all of them, or one for each.

use crate::colocation::memory::{
    MeasuredPhase, MemoryDemand, MemoryForecast, MemoryQuestion, MemoryRoom, forecast,
};

/// Times within which memory may run out, in seconds: ten minutes, an hour, a day.
pub const HORIZONS_S: [f64; 3] = [600.0, 3_600.0, 86_400.0];

/// Where tenants find their memory.
#[derive(Debug, Clone, PartialEq)]
pub enum MemorySpaces {
    /// All in one memory; `None` when its size is not known.
    Shared(Option<MemoryRoom>),
    /// Each in one of its own, in the order of the tenants.
    Own(Vec<Option<MemoryRoom>>),
}

/// One memory, who lives in it, and how likely it runs out.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceOutlook {
    /// Places of its tenants.
    pub tenants: Vec<usize>,
    /// Places of those whose need is not known.
    pub unknown: Vec<usize>,
    /// The forecast; `None` when the memory, or the need of somebody in it, is not known.
    pub forecast: Option<MemoryForecast>,
}

/// The memory of tenants under one way to share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryOutlook {
    /// Every memory that holds a tenant.
    pub spaces: Vec<SpaceOutlook>,
}

impl MemoryOutlook {
    /// What becomes of these tenants; `measured` concerns a memory that all of them share.
    pub fn of(
        demands: &[Option<MemoryDemand>],
        spaces: &MemorySpaces,
        measured: Option<MeasuredPhase>,
    ) -> Self {
        let all: Vec<usize> = (0..demands.len()).collect();
        let spaces = match spaces {
            MemorySpaces::Shared(room) => vec![space(demands, all, *room, measured)],
            MemorySpaces::Own(rooms) => all
                .into_iter()
                .map(|it| space(demands, vec![it], rooms.get(it).copied().flatten(), None))
                .collect(),
        };
        Self { spaces }
    }

    /// The memory in which a tenant lives.
    pub fn of_tenant(&self, place: usize) -> Option<&SpaceOutlook> {
        self.spaces.iter().find(|it| it.tenants.contains(&place))
    }

    /// Chance that a tenant meets a lack of memory within a day, 0 to 1; `None` when it cannot be told.
    ///
    /// Counts what runs out for all in one memory, and what a tenant wants beyond a cap of its own.
    pub fn risk_per_day(&self, place: usize, label: &str) -> Option<f64> {
        let found = self.of_tenant(place)?.forecast.as_ref()?;
        let day = HORIZONS_S[2];
        let shared = found.risks.iter().find(|it| it.horizon_s == day)?.risk_ratio?;
        let beyond = found.beyond_own_cap.iter().find(|it| it.label == label);
        let alone = beyond.map_or(0.0, |it| 1.0 - (-it.per_h * day / 3600.0).exp());
        Some(1.0 - (1.0 - shared) * (1.0 - alone))
    }
}

fn space(
    demands: &[Option<MemoryDemand>],
    tenants: Vec<usize>,
    room: Option<MemoryRoom>,
    measured: Option<MeasuredPhase>,
) -> SpaceOutlook {
    let of = |place: &usize| demands.get(*place).and_then(Option::as_ref);
    let unknown: Vec<usize> = tenants.iter().copied().filter(|it| of(it).is_none()).collect();
    let known: Vec<MemoryDemand> = tenants.iter().filter_map(of).cloned().collect();
    let found = room.filter(|_| unknown.is_empty()).and_then(|room| {
        forecast(&MemoryQuestion { demands: &known, room, measured, horizons_s: &HORIZONS_S })
    });
    SpaceOutlook { tenants, unknown, forecast: found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::staircase::Staircase;

    const GIB: f64 = 1_073_741_824.0;

    fn constant(label: &str, gib: f64) -> Option<MemoryDemand> {
        Some(MemoryDemand {
            label: label.to_owned(),
            stairs: Staircase::constant(gib * GIB),
            step_s: 0.1,
            interval_s: 0.1,
            keeps_what_it_takes: false,
            limit_bytes: None,
            cap_bytes: None,
        })
    }

    fn room(gib: f64) -> Option<MemoryRoom> {
        let total_bytes = gib * GIB;
        Some(MemoryRoom { total_bytes, reserved_bytes: Some(0.0), others_bytes: Some(0.0) })
    }

    #[test]
    fn two_that_do_not_fit_together_fit_each_into_its_own() {
        let demands = [constant("a", 18.0), constant("b", 30.0)];
        let shared = MemoryOutlook::of(&demands, &MemorySpaces::Shared(room(40.0)), None);
        assert_eq!(shared.risk_per_day(0, "a"), Some(1.0));
        let own = MemorySpaces::Own(vec![room(20.0), room(40.0)]);
        let own = MemoryOutlook::of(&demands, &own, None);
        assert_eq!([own.risk_per_day(0, "a"), own.risk_per_day(1, "b")], [Some(0.0), Some(0.0)]);
        let small = MemorySpaces::Own(vec![room(10.0), room(40.0)]);
        let small = MemoryOutlook::of(&demands, &small, None);
        assert_eq!(
            [small.risk_per_day(0, "a"), small.risk_per_day(1, "b")],
            [Some(1.0), Some(0.0)]
        );
    }

    #[test]
    fn a_need_or_a_memory_that_is_not_known_gives_no_chance() {
        let demands = [constant("a", 18.0), None];
        let shared = MemoryOutlook::of(&demands, &MemorySpaces::Shared(room(80.0)), None);
        assert_eq!(shared.risk_per_day(0, "a"), None);
        assert_eq!(shared.spaces[0].unknown, [1]);
        let own =
            MemoryOutlook::of(&demands, &MemorySpaces::Own(vec![room(80.0), room(80.0)]), None);
        assert_eq!([own.risk_per_day(0, "a"), own.risk_per_day(1, "b")], [Some(0.0), None]);
        let unknown = MemoryOutlook::of(&demands[..1], &MemorySpaces::Shared(None), None);
        assert_eq!(unknown.risk_per_day(0, "a"), None);
    }

    #[test]
    fn a_cap_of_its_own_fails_only_the_tenant_that_wants_more() {
        let levels: Vec<f64> =
            (0..1000).map(|it| if it % 100 < 50 { 4.0 } else { 12.0 } * GIB).collect();
        let mut grows = MemoryDemand::of("grows", &[&levels], 1.0);
        if let Some(it) = &mut grows {
            it.cap_bytes = Some(8.0 * GIB);
        }
        let demands = [grows, constant("calm", 10.0)];
        let found = MemoryOutlook::of(&demands, &MemorySpaces::Shared(room(20.0)), None);
        assert!(found.risk_per_day(0, "grows").unwrap() > 0.99);
        assert_eq!(found.risk_per_day(1, "calm"), Some(0.0));
    }
}
