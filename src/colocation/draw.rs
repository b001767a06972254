//! Random numbers that follow from a seed and nothing else: phases, places inside a bin, lengths that were not seen.

use std::f64::consts::TAU;

/// A stream of random numbers; the same seed gives the same stream everywhere.
///
/// Source: G. L. Steele, D. Lea and C. H. Flood, OOPSLA (2014), 453–472 (SplitMix64; *not checked*).
#[derive(Debug, Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    /// The stream of a seed.
    #[cfg(test)]
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of a name: independent of where the name stands in a list.
    pub(crate) fn named(name: &str, purpose: u64) -> Self {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ purpose.wrapping_mul(0x9e37_79b9), mix))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1, 1 excluded.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// Normal with mean 0 and variance 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// A length of this mean.
    pub(crate) fn length(&mut self, mean: f64, spread: crate::colocation::demand::Spread) -> f64 {
        use crate::colocation::demand::Spread;
        match spread {
            Spread::Fixed => mean,
            Spread::Exponential => mean * self.exponential(),
            Spread::Lognormal(sigma) => mean * (sigma * self.normal() - 0.5 * sigma * sigma).exp(),
        }
    }
}
