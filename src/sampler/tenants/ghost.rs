//! Memory that no visible process holds.

/// Less than this is bookkeeping of the driver, which no list of processes shows: 256 MiB.
///
/// A context takes 300 to 500 MiB, so the smallest hidden process lies above it.
pub const LEAST_HIDDEN_BYTES: u64 = 256 << 20;

/// How much device memory no visible process holds.
///
/// used − Σ visible − reserve, in bytes. `used` is the device's, `visible` has one entry for each
/// process that the driver lists, `reserve` is what the driver keeps for itself and counts as used.
/// Less than [`LEAST_HIDDEN_BYTES`] counts as nothing. `None` where the memory of a listed process
/// is not known, since then nobody can say how much is left.
pub fn hidden_bytes(used: u64, visible: &[Option<u64>], reserve: u64) -> Option<u64> {
    let visible = visible.iter().try_fold(0_u64, |sum, it| Some(sum.saturating_add((*it)?)))?;
    let hidden = used.saturating_sub(visible).saturating_sub(reserve);
    Some(if hidden >= LEAST_HIDDEN_BYTES { hidden } else { 0 })
}

/// Hidden memory over time: told from the second look on, until it is gone.
///
/// One look may fall between a process that takes memory and the list that names it.
#[derive(Debug, Default)]
pub(crate) struct Ghost {
    before: Option<u64>,
    is_shown: bool,
}

impl Ghost {
    /// Bytes to record after a look; `None` where there is nothing to say.
    pub(crate) fn seen(&mut self, hidden: Option<u64>) -> Option<u64> {
        let before = std::mem::replace(&mut self.before, hidden);
        let lasting = hidden?.min(before.unwrap_or(0));
        let was_shown = std::mem::replace(&mut self.is_shown, lasting > 0);
        (was_shown || lasting > 0).then_some(lasting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_is_used_and_nobodys_is_hidden() {
        assert_eq!(hidden_bytes(10 * GIB, &[Some(4 * GIB), Some(GIB)], GIB), Some(4 * GIB));
        assert_eq!(hidden_bytes(5 * GIB, &[Some(4 * GIB)], GIB), Some(0));
        assert_eq!(hidden_bytes(5 * GIB, &[Some(4 * GIB)], GIB - 1), Some(0), "too little to name");
        assert_eq!(hidden_bytes(GIB, &[Some(4 * GIB)], 0), Some(0), "shared memory counts twice");
    }

    #[test]
    fn a_process_of_unknown_size_leaves_the_rest_unknown() {
        assert_eq!(hidden_bytes(10 * GIB, &[Some(GIB), None], 0), None);
    }

    #[test]
    fn a_ghost_shows_at_the_second_look_and_is_seen_to_go() {
        let mut ghost = Ghost::default();
        let looks = [Some(0), Some(GIB), Some(0), Some(GIB), Some(2 * GIB), None, Some(0), Some(0)];
        let told: Vec<Option<u64>> = looks.into_iter().map(|it| ghost.seen(it)).collect();
        assert_eq!(told, [None, None, None, None, Some(GIB), None, Some(0), None]);
    }
}
