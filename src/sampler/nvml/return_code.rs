//! What the library's return codes mean to us.

use crate::sampler::source::Refusal;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::nvmlReturn_t;

/// Success, or why not.
pub(super) fn check(code: nvmlReturn_t) -> Result<(), Refusal> {
    match code {
        0 => Ok(()),
        code => Err(refusal(code)),
    }
}

pub(super) fn refusal(code: nvmlReturn_t) -> Refusal {
    match code {
        1 | 9 => Refusal::DriverGone,
        2 => Refusal::Invalid,
        3 | 26 => Refusal::NotSupported,
        4 => Refusal::NoPermission,
        6 | 28 => Refusal::NotFound,
        10 => Refusal::TimedOut,
        13 => Refusal::NoFunction,
        15 => Refusal::Lost,
        16 => Refusal::ResetRequired,
        18 => Refusal::DriverReplaced,
        other => Refusal::Other(other),
    }
}

/// What an error of the wrapper means; codes that it does not know come as unexpected variants.
#[allow(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
pub(super) fn of_wrapper(error: NvmlError) -> Refusal {
    match error {
        NvmlError::Uninitialized | NvmlError::DriverNotLoaded => Refusal::DriverGone,
        NvmlError::InvalidArg => Refusal::Invalid,
        NvmlError::NotSupported => Refusal::NotSupported,
        NvmlError::NoPermission => Refusal::NoPermission,
        NvmlError::NotFound => Refusal::NotFound,
        NvmlError::InsufficientSize(_) => Refusal::Other(7),
        NvmlError::Timeout => Refusal::TimedOut,
        NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_) => Refusal::NoFunction,
        NvmlError::GpuLost => Refusal::Lost,
        NvmlError::ResetRequired => Refusal::ResetRequired,
        NvmlError::LibRmVersionMismatch => Refusal::DriverReplaced,
        NvmlError::UnexpectedVariant(code) => refusal(code),
        _ => Refusal::Other(999),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_the_wrapper_does_not_know_keep_their_number() {
        assert_eq!(of_wrapper(NvmlError::from(27)), Refusal::Other(27));
        assert_eq!(of_wrapper(NvmlError::from(18)), Refusal::DriverReplaced);
        assert_eq!(of_wrapper(NvmlError::from(26)), Refusal::NotSupported);
        assert_eq!(check(15), Err(Refusal::Lost));
    }
}
