//! Memory that no visible process holds.

/// Less than this is bookkeeping of the driver, which no list of processes shows: 256 MiB.
///
/// A context takes 300 to 500 MiB, so the smallest hidden process lies above it.
pub const LEAST_HIDDEN_BYTES: u64 = 256 << 20;

/// How much device memory no visible process holds.
///
/// used − Σ visible − reserve, in bytes. `used` is the device's, `visible` has one entry for each
/// process that the driver lists, `reserve` is what the driver keeps for itself and counts as used.
/// `None` where it is less than [`LEAST_HIDDEN_BYTES`], and where the memory of a listed process is
/// not known, since then nobody can say how much is left.
pub fn hidden_bytes(used: u64, visible: &[Option<u64>], reserve: u64) -> Option<u64> {
    let visible = visible.iter().try_fold(0_u64, |sum, it| Some(sum.saturating_add((*it)?)))?;
    let hidden = used.checked_sub(visible)?.checked_sub(reserve)?;
    (hidden >= LEAST_HIDDEN_BYTES).then_some(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_is_used_and_nobodys_is_hidden() {
        assert_eq!(hidden_bytes(10 * GIB, &[Some(4 * GIB), Some(GIB)], GIB), Some(4 * GIB));
        assert_eq!(hidden_bytes(5 * GIB, &[Some(4 * GIB)], GIB), None);
        assert_eq!(hidden_bytes(5 * GIB, &[Some(4 * GIB)], GIB - 1), None, "too little to name");
        assert_eq!(hidden_bytes(GIB, &[Some(4 * GIB)], 0), None, "shared memory counts twice");
    }

    #[test]
    fn a_process_of_unknown_size_leaves_the_rest_unknown() {
        assert_eq!(hidden_bytes(10 * GIB, &[Some(GIB), None], 0), None);
    }
}
