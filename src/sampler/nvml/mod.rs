//! The driver's library: the only code of the program that is not checked by the compiler alone.
//!
//! `nvml-wrapper` loads the library and answers what its safe layer answers rightly; `raw` calls
//! the rest by the table of functions, because the safe layer cuts values, loses scopes, drops the
//! length of lists or lacks the function (decision 0022).
#![allow(unsafe_code, reason = "a C library is called; every call says why it is sound")]

mod device;
mod events;
mod gpm;
mod instances;
mod library;
mod raw;
mod return_code;

pub use library::{Library, OpenError, Unreachable};
