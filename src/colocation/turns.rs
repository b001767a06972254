//! Round robin, turn by turn, without playing the turns: between two events the order is known, so times are sums.

/// Whose turn it is, and what is left of it.
///
/// A turn lasts a quantum; each change between contexts that have work costs the switch time. A context that runs out of work
/// yields at once. While one is alone the timer runs on, so a newcomer waits for the rest of a turn.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    quantum_s: f64,
    switch_s: f64,
    owner: Option<usize>,
    /// Left of the change that is under way, seconds.
    pending_s: f64,
    /// Left of the turn after that, seconds.
    left_s: f64,
}

impl Turns {
    pub(crate) fn new(quantum_s: f64, switch_s: f64) -> Self {
        let quantum_s = quantum_s.max(1e-6);
        Self {
            quantum_s,
            switch_s: switch_s.max(0.0),
            owner: None,
            pending_s: 0.0,
            left_s: quantum_s,
        }
    }

    /// How many turns of others come before the next one of `tenant`; 0 for the owner.
    fn distance(&self, tenant: usize, mask: u32) -> u32 {
        let Some(owner) = self.owner else { return 0 };
        if tenant == owner {
            return 0;
        }
        // Active tenants after the owner in the ring, up to and including this one.
        let below = |place: usize| mask & ((1_u32 << place) - 1);
        let rank = |place: usize| below(place).count_ones();
        let count = mask.count_ones();
        (rank(tenant) + count - rank(owner)) % count
    }

    /// Seconds until `tenant` has run for `work_s` more seconds, if nobody comes or goes.
    pub(crate) fn time_for(&self, tenant: usize, work_s: f64, mask: u32) -> f64 {
        let count = f64::from(mask.count_ones());
        if count < 2.0 {
            return self.pending_s + work_s;
        }
        let turn = self.quantum_s + self.switch_s;
        let rest = self.pending_s + self.left_s;
        let distance = self.distance(tenant, mask);
        if distance == 0 {
            if work_s <= self.left_s {
                return self.pending_s + work_s;
            }
            let more = work_s - self.left_s;
            let turns = (more / self.quantum_s).ceil().max(1.0);
            // Before each further turn of its own everybody else has one.
            return rest + turns * ((count - 1.0) * turn + self.switch_s) + more;
        }
        let turns = (work_s / self.quantum_s).ceil().max(1.0);
        let first = rest + f64::from(distance - 1) * turn + self.switch_s;
        first + (turns - 1.0) * ((count - 1.0) * turn + self.switch_s) + work_s
    }

    /// Seconds that `tenant` runs during the next `seconds`, if nobody comes or goes.
    pub(crate) fn run_within(&self, tenant: usize, seconds: f64, mask: u32) -> f64 {
        let count = f64::from(mask.count_ones());
        if count < 2.0 {
            return (seconds - self.pending_s).max(0.0);
        }
        let turn = self.quantum_s + self.switch_s;
        let cycle = count * turn;
        let rest = self.pending_s + self.left_s;
        let in_turns = |after: f64| {
            if after <= 0.0 {
                return 0.0;
            }
            let cycles = (after / cycle).floor();
            cycles * self.quantum_s + (after - cycles * cycle).min(self.quantum_s)
        };
        let distance = self.distance(tenant, mask);
        if distance == 0 {
            let now = (seconds - self.pending_s).clamp(0.0, self.left_s);
            let next = rest + (count - 1.0) * turn + self.switch_s;
            return now + in_turns(seconds - next);
        }
        in_turns(seconds - rest - f64::from(distance - 1) * turn - self.switch_s)
    }

    /// Lets time pass in which nobody comes or goes.
    pub(crate) fn pass(&mut self, seconds: f64, mask: u32) {
        let count = mask.count_ones();
        if count == 0 {
            return;
        }
        let after_switch = seconds - self.pending_s;
        if after_switch < 0.0 {
            self.pending_s = -after_switch;
            return;
        }
        self.pending_s = 0.0;
        if count == 1 {
            // The timer runs on without effect.
            self.left_s =
                self.quantum_s - (self.quantum_s - self.left_s + after_switch) % self.quantum_s;
            return;
        }
        if after_switch < self.left_s {
            self.left_s -= after_switch;
            return;
        }
        let turn = self.quantum_s + self.switch_s;
        let over = after_switch - self.left_s;
        let changes = (over / turn).floor();
        let into = over - changes * turn;
        for _ in 0..(changes as u64 + 1) % u64::from(count) {
            self.owner = self.following(mask);
        }
        self.pending_s = (self.switch_s - into).max(0.0);
        self.left_s = (self.quantum_s - (into - self.switch_s).max(0.0)).max(0.0);
    }

    /// A tenant has work now and had none before; `mask` includes it.
    pub(crate) fn join(&mut self, tenant: usize, mask: u32) {
        if mask.count_ones() == 1 {
            self.owner = Some(tenant);
            self.pending_s = 0.0;
            self.left_s = self.quantum_s;
        }
    }

    /// A tenant has no work any more; `mask` is without it.
    pub(crate) fn leave(&mut self, tenant: usize, mask: u32) {
        if self.owner != Some(tenant) {
            return;
        }
        self.owner = self.following(mask);
        self.pending_s = if mask == 0 { 0.0 } else { self.switch_s };
        self.left_s = self.quantum_s;
    }

    /// The next in the ring that has work.
    fn following(&self, mask: u32) -> Option<usize> {
        let after = self.owner.map_or(0, |it| it + 1);
        let later = (mask as u64) >> after;
        if later != 0 {
            return Some(after + later.trailing_zeros() as usize);
        }
        (mask != 0).then(|| mask.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, turn by turn: who runs in each small step.
    fn stepped(turns: &Turns, tenants: usize, seconds: f64, mask: u32) -> Vec<f64> {
        let mut turns = turns.clone();
        let (mut run, mut left) = (vec![0.0; tenants], seconds);
        while left > 1e-12 {
            if turns.pending_s > 0.0 {
                let step = turns.pending_s.min(left);
                turns.pending_s -= step;
                left -= step;
                continue;
            }
            let step = if mask.count_ones() > 1 { turns.left_s.min(left) } else { left };
            run[turns.owner.unwrap()] += step;
            turns.left_s -= step;
            left -= step;
            if turns.left_s <= 1e-12 && mask.count_ones() > 1 {
                turns.owner = turns.following(mask);
                turns.pending_s = turns.switch_s;
                turns.left_s = turns.quantum_s;
            }
        }
        run
    }

    proptest! {
        #[test]
        fn sums_equal_turns_played_one_by_one(
            tenants in 1..5_usize, owner in 0..5_usize, left in 0.1..1.0_f64, pending in 0.0..0.2_f64,
            seconds in 0.0..30.0_f64, switch in 0.0..0.3_f64,
        ) {
            let mask = (1_u32 << tenants) - 1;
            let mut turns = Turns::new(1.0, switch);
            turns.owner = Some(owner % tenants);
            (turns.left_s, turns.pending_s) = (left, pending.min(switch));
            let expected = stepped(&turns, tenants, seconds, mask);
            for (tenant, expected) in expected.iter().enumerate() {
                let found = turns.run_within(tenant, seconds, mask);
                prop_assert!((found - expected).abs() < 1e-6, "{tenant}: {found} {expected}");
                if found > 1e-3 {
                    let time = turns.time_for(tenant, found, mask);
                    prop_assert!(time <= seconds + 1e-6);
                    prop_assert!((turns.run_within(tenant, time, mask) - found).abs() < 1e-6);
                }
            }
            let (half, rest) = (seconds * 0.37, seconds * 0.63);
            let mut later = turns.clone();
            later.pass(half, mask);
            for (tenant, expected) in expected.iter().enumerate() {
                let found = turns.run_within(tenant, half, mask) + later.run_within(tenant, rest, mask);
                prop_assert!((found - expected).abs() < 1e-5, "{tenant}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_newcomer_waits_for_the_rest_of_the_turn_and_every_turn_of_the_other() {
        let mut turns = Turns::new(2.0, 0.2);
        turns.join(0, 1);
        turns.pass(0.5, 1);
        turns.join(1, 3);
        // 1.5 left of the turn, 0.2 to change, and for 5 more turns of 2.
        let expected = 1.5 + 0.2 + 4.0 * (2.2 + 0.2) + 10.0;
        assert!((turns.time_for(1, 10.0, 3) - expected).abs() < 1e-12);
    }
}
