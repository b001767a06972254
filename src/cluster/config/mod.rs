//! Configuration files of the tools that share GPUs, read by the rules that those tools publish.

pub mod claims;
pub mod config_map;
pub mod facts;
pub mod mig_parted;
pub mod plugin;
mod source;
