#![doc = "cotenant"]
pub mod domain;
pub mod import;
pub mod storage;
