//! Loads with a known truth for tests: telegraph noise, periodic bursts, windows averaged over
//! them.

/// Marsaglia's xorshift, 64 bits; enough for tests, and the same on every machine.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let mut noise = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..20 {
            noise.uniform();
        }
        noise
    }

    /// Strictly between 0 and 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// First-order autoregression with unit innovations.
    pub(crate) fn autoregression(&mut self, memory: f64, count: usize) -> Vec<f64> {
        let mut value = 0.0;
        (0..count)
            .map(|_| {
                value = memory * value + self.normal();
                value
            })
            .collect()
    }
}

/// Windows of a load that alternates between busy and idle spells.
pub(crate) struct Windows {
    pub(crate) width: f64,
    pub(crate) stride: f64,
    pub(crate) count: usize,
}

impl Windows {
    /// Mean of the load over each window; `spells` gives the lengths of busy, idle, busy, …
    pub(crate) fn average(&self, mut spells: impl FnMut(bool) -> f64) -> Vec<f64> {
        let mut busy = true;
        let (mut from, mut until) = (0.0, spells(true));
        (0..self.count)
            .map(|index| {
                let (start, end) =
                    (index as f64 * self.stride, index as f64 * self.stride + self.width);
                let mut sum = 0.0;
                loop {
                    if busy {
                        sum += (end.min(until) - start.max(from)).max(0.0);
                    }
                    if until >= end {
                        return (sum / self.width).clamp(0.0, 1.0);
                    }
                    busy = !busy;
                    (from, until) = (until, until + spells(busy));
                }
            })
            .collect()
    }

    /// Exponential spells of the given mean lengths.
    pub(crate) fn telegraph(&self, on: f64, off: f64, seed: u64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        self.average(|busy| noise.exponential(if busy { on } else { off }))
    }

    /// Spells that never vary.
    pub(crate) fn periodic(&self, on: f64, off: f64) -> Vec<f64> {
        self.average(|busy| if busy { on } else { off })
    }
}

/// The series as integer percent would show it.
pub(crate) fn in_percent(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| (value * 100.0).round() / 100.0).collect()
}

/// The middle of a few numbers.
pub(crate) fn median(values: &[f64]) -> f64 {
    crate::stats::quantile::quantile(values, 0.5).expect("at least one number")
}
