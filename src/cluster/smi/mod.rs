//! The words of nvidia-smi: lists and tables about GPUs, instances, profiles and processes.

pub mod instances;
pub mod list;
pub mod profiles;
pub mod query;
pub mod table;
