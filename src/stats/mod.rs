//! Kernels on plain slices of numbers: what a series looks like, whether it bursts, at which
//! rhythm, how sharply it was seen, and whether two series move together.
//!
//! Nothing here knows what the numbers measure. Slices are gap free and evenly spaced; a recording
//! with gaps is a list of segments, `&[&[f64]]`. Values are finite, which is the caller's promise.
//! A quantity that is undefined is `None`: never zero, never NaN. Where several series share one grid
//! of bins (`granger`, `contrast`, `dose`), NaN marks a bin in which one of them was not seen. Random
//! numbers come from a seed that the caller gives,
//! so the same slice always gives the same bits on one machine; between machines the last bits of
//! what goes through a Fourier transform or a matrix product may differ, as these use the instructions at hand.
#![warn(missing_docs)]

pub mod before_after;
pub mod bursts;
pub mod changepoint;
pub mod coactivation;
pub mod contrast;
pub mod correlate;
pub mod cpi2;
pub mod dispersion;
pub mod dose;
pub mod drift;
mod fourier;
pub mod granger;
mod householder;
mod lagged;
mod lagged_blocks;
pub mod least_squares;
mod lomb_scargle;
pub mod moments;
pub mod multiple;
pub mod period;
pub mod permutation;
pub mod phase;
pub mod pool;
pub mod quantile;
pub mod ridge;
mod ring;
pub mod shapley;
pub mod staircase;
pub mod strata;
pub mod telegraph;

#[cfg(test)]
mod expected;
#[cfg(test)]
pub(crate) mod specimen;
