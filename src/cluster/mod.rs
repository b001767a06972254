//! What a node and its cluster say about themselves: their own words, read into facts.
//!
//! Floor 2. Text in, facts out: no IO, no clock. The saved output of `nvidia-smi`, of the kubelet and of
//! `kubectl`, and the configuration files of mig-parted and of the device plugin become [`NodeWords`], in
//! which every fact remembers the file and, where known, the line that says it. Nothing is judged here.
//!
//! [`read`] finds out by content what a file is. [`strict`] is for files that were written to be applied:
//! whatever the tool behind them would refuse or pass over is an error.

pub mod config;
pub mod facts;
pub mod kube;
pub mod merge;
pub mod recognise;
pub mod resource;
pub mod smi;
mod text;
mod tree;

use crate::cluster::facts::{NodeWords, Origin, Remark};
use crate::cluster::recognise::{Kind, recognise};

/// Why a file gives no facts at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The content is in no format that is understood here.
    #[error("{file}: in no known format; the file begins with `{start}`")]
    Unrecognised {
        /// The label that the caller gave the file.
        file: String,
        /// The first words of the file.
        start: String,
    },
    /// The format is known, and nothing in the file can be read.
    #[error("{origin}: {expected} cannot be read: {cause}")]
    Broken {
        /// Where reading ended.
        origin: Origin,
        /// What the file looked like.
        expected: &'static str,
        /// What the parser says.
        cause: String,
    },
    /// A file that was written to be applied holds something that would not take effect.
    #[error("{}", of_all(.0))]
    Refused(Vec<Remark>),
}

impl ClusterError {
    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Unrecognised { .. } => format!("give one of these: {}", recognise::understood()),
            Self::Broken { .. } => {
                "save the output again; if it was shortened by hand, keep whole entries".to_owned()
            }
            Self::Refused(_) => "correct the lines that are named".to_owned(),
        }
    }
}

fn of_all(remarks: &[Remark]) -> String {
    let lines: Vec<String> = remarks.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Reads a file of any kind in [`Kind::ALL`] into facts; `file` is how messages and origins name it.
///
/// What cannot be read, contradicts itself or would have no effect becomes a [`Remark`]; all else is kept,
/// also of a file that ends in the middle.
///
/// - Errors: [`ClusterError::Unrecognised`] if the content is in no known format,
///   [`ClusterError::Broken`] if nothing of it can be parsed.
pub fn read(file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let text = text::without_mark(text);
    let kind = recognise(text).ok_or_else(|| ClusterError::Unrecognised {
        file: file.to_owned(),
        start: text::first_words(text),
    })?;
    read_as(kind, file, text)
}

/// Reads a file as one kind, whatever it looks like; its remarks are in the order of lines.
///
/// - Errors: [`ClusterError::Broken`] if nothing of it can be parsed.
pub fn read_as(kind: Kind, file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let text = text::without_mark(text);
    let mut words = words_of(kind, file, text)?;
    words.remarks.sort_by(|one, two| one.origin.cmp(&two.origin));
    Ok(words)
}

fn words_of(kind: Kind, file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    match kind {
        Kind::SmiList => Ok(smi::list::read(file, text)),
        Kind::SmiQuery => Ok(smi::query::read(file, text)),
        Kind::SmiTable => Ok(smi::table::read(file, text)),
        Kind::GpuInstances => Ok(smi::instances::gpu_instances(file, text)),
        Kind::ComputeInstances => Ok(smi::instances::compute_instances(file, text)),
        Kind::Profiles => Ok(smi::profiles::offers(file, text)),
        Kind::Placements => Ok(smi::profiles::placements(file, text)),
        Kind::PodResources => kube::pod_resources::read(file, text),
        Kind::Objects => kube::objects::read(file, text),
        Kind::PluginConfig => config::plugin::read(file, text),
        Kind::MigPartedConfig => config::mig_parted::read(file, text),
    }
}

/// Reads a file that was written to be applied, and accepts no remark.
///
/// - Errors: those of [`read`]; [`ClusterError::Refused`] with every remark about the file.
pub fn strict(file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let words = read(file, text)?;
    match words.remarks.is_empty() {
        true => Ok(words),
        false => Err(ClusterError::Refused(words.remarks)),
    }
}

#[cfg(test)]
mod tests;
