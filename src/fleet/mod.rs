//! Many devices at once: who may share with whom, on how many GPUs, and what the fleet can then no longer do.
//!
//! [`observe`](observe::observe) makes a small finding of each device, whatever it was recorded with; [`plan`](plan::plan)
//! needs nothing but those. Every device that a plan proposes is decided about as a whole by the recommender,
//! so that nothing goes into a plan that a verdict on the device alone would refuse.
//!
//! Floor 4, pure: no IO, no clock, the same bytes with any number of threads. `docs/PLAN.md` describes it.

mod assemble;
pub mod class;
pub mod compatibility;
pub mod findings;
pub mod freedom;
pub mod hardware;
pub mod merge;
mod now;
pub mod observe;
mod packing;
mod placing;
pub mod plan;
mod present;
mod roster;
pub mod sensitivity;
mod stated;
#[cfg(test)]
mod tests;
pub mod thin;
pub mod unplaced;
mod whole;
mod yard;
