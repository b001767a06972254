//! How many names the exporter gives places of their own.

/// How many names get a place of their own on each GPU; all others are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tenants.
    pub tenants: usize,
    /// Pairs of tenants.
    pub pairs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tenants: 16, pairs: 64 }
    }
}
