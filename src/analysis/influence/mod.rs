//! Who slows whom on a GPU: every tenant against every other, look-alikes first.

pub mod findings;
