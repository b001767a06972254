#![doc = "cotenant"]
pub mod analysis;
pub mod domain;
pub mod import;
pub mod recommender;
pub mod report;
pub mod storage;
