//! Records what happens on a shared GPU, says who hurts whom and how sure it is, and how to share it.
//!
//! ```text
//! foreign logs ► import ─┐
//! parquet ──► storage ───┼─► Recording ─► analysis ─► Findings ─► recommender ─► Verdicts ─► report ─► bytes
//! scenario ─► cli ───────┘   (domain)       └ stats                                              cli writes
//! ```
//!
//! Three nouns carry the program: a **Recording** (what was seen, and what could not be seen) becomes
//! **Findings** (what it means) and **Verdicts** (what to do). In reading order:

pub mod domain;
pub mod stats;

pub mod cluster;
pub mod exporter;
pub mod import;
pub mod prometheus;
pub mod sampler;
pub mod storage;

pub mod analysis;
pub mod colocation;
pub mod recommender;

pub mod fleet;
pub mod report;

pub mod cli;
