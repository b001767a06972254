//! If these workloads shared a GPU, what would their p99 be?
//!
//! [`whatif::predict`] answers: demands ([`demand::Demand`], from plain numbers or by [`observed`] from a recording) and a way to
//! share ([`share::Mechanism`]) in, slowdowns with ranges out, or a [`refusal::Refusal`] with what would settle it. Where co-locations
//! were measured, [`predictor::Predictor`] learns from them. Whether memory runs out is a question of
//! its own: [`memory`].
//!
//! Floor 2, pure: no IO, no clock, the same bits with any number of threads.
#![warn(missing_docs)]

pub mod conformal;
mod counted;
pub mod demand;
mod draw;
pub mod memory;
pub mod models;
pub mod objective;
pub mod observation;
pub mod observed;
pub mod partition;
pub mod phases;
pub mod power;
pub mod predictor;
pub mod profiles;
pub mod range;
pub mod refusal;
pub(crate) mod replay;
mod service;
pub mod share;
pub mod slices;
mod spells;
pub mod stretches;
mod turns;
mod watched;
pub mod whatif;
