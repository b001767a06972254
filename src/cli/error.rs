//! Errors as the user sees them: what happened, why, what to do now, and the exit code.

use crate::domain::sink::SinkError;
use crate::import::error::ImportError;
use crate::sampler::nvml::OpenError;
use crate::storage::error::StorageError;

/// Exit code: something failed.
pub(crate) const FAILED: u8 = 1;
/// Exit code: wrong usage or configuration.
pub(crate) const WRONG_USAGE: u8 = 2;
/// Exit code: not enough data for an answer.
pub(crate) const NOT_ENOUGH_DATA: u8 = 3;
/// Exit code: findings at or above `--fail-on`.
pub(crate) const FINDINGS: u8 = 4;
/// Exit code: no GPU or driver.
pub(crate) const NO_GPU: u8 = 5;

/// What the user is told when a command cannot do its work.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    causes: Vec<String>,
    remedy: Option<String>,
    exit_code: u8,
}

impl CliError {
    /// Wrong usage or configuration.
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            causes: Vec::new(),
            remedy: Some(remedy.into()),
            exit_code: WRONG_USAGE,
        }
    }

    /// Something failed, for the reason that `error` gives.
    pub(crate) fn failed(message: impl Into<String>, error: &dyn std::error::Error) -> Self {
        let mut causes = vec![error.to_string()];
        causes.extend(causes_of(error));
        Self { message: message.into(), causes, remedy: None, exit_code: FAILED }
    }

    /// The same with what to do now.
    pub(crate) fn try_this(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// A file could not be read or written.
    pub(crate) fn file(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Self {
        let message = format!("{}: {doing} failed", path.display());
        Self {
            remedy: Some("check the path and its permissions".to_owned()),
            ..Self::failed(message, error)
        }
    }

    /// There is too little data for an answer.
    pub(crate) fn not_enough_data(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { exit_code: NOT_ENOUGH_DATA, ..Self::usage(message, remedy) }
    }

    /// A server did not give what it was asked for.
    pub(crate) fn unreachable(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { exit_code: FAILED, ..Self::usage(message, remedy) }
    }

    /// Somebody ended it before it was done.
    pub(crate) fn interrupted(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { exit_code: FAILED, ..Self::usage(message, remedy) }
    }

    /// There is no GPU or no driver to record from.
    pub(crate) fn no_gpu(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { exit_code: NO_GPU, ..Self::usage(message, remedy) }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    pub(crate) fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

fn causes_of(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(it) = cause {
        causes.push(it.to_string());
        cause = it.source();
    }
    causes
}

impl From<StorageError> for CliError {
    fn from(error: StorageError) -> Self {
        let exit_code = match error {
            StorageError::Exists { .. }
            | StorageError::InUse { .. }
            | StorageError::NotARecording { .. } => WRONG_USAGE,
            StorageError::Io { .. }
            | StorageError::Removed { .. }
            | StorageError::TooNew { .. }
            | StorageError::Damaged { .. } => FAILED,
        };
        Self {
            message: error.to_string(),
            causes: causes_of(&error),
            remedy: Some(error.remedy().to_owned()),
            exit_code,
        }
    }
}

impl From<SinkError> for CliError {
    fn from(error: SinkError) -> Self {
        Self { exit_code: FAILED, ..Self::usage(error.message, error.remedy) }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        Self::no_gpu(error.to_string(), error.remedy())
    }
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> Self {
        let exit_code = match error {
            ImportError::Empty { .. } => NOT_ENOUGH_DATA,
            ImportError::NoStamps { .. } => WRONG_USAGE,
            _ => FAILED,
        };
        Self {
            message: error.to_string(),
            causes: causes_of(&error),
            remedy: Some(error.remedy()),
            exit_code,
        }
    }
}
