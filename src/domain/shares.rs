//! Shares and changes in percent, for sentences; and from which share on something is full.

/// From this share of its metric of activity on a load is called full, in every picture and sentence.
///
/// Duty at 95 % is the highest level that duty is told at; thresholds of the policy, such as the height of bursts that hurt, have
/// numbers of their own and are never called full.
pub const FULL: f64 = 0.95;

/// A share for a sentence: whole above ten, one digit below, never a false zero or a false whole: `30 %`, `4.5 %`, `under 0.1 %`.
///
/// What rounds to nothing has no sign, and a fall has a minus and no hyphen.
pub fn share(ratio: f64) -> String {
    match 100.0 * ratio {
        0.0 => "0 %".to_owned(),
        it if it.abs() < 0.05 => "under 0.1 %".to_owned(),
        it if it > 99.0 && it < 100.0 => format!("{:.1} %", it.min(99.9)),
        it if it.abs() >= 9.95 => format!("{it:.0} %").replace('-', "−"),
        it => format!("{it:.1} %").replace('-', "−"),
    }
}

/// A change for a sentence, with its sign: `+30 %`, `−4.5 %`, `0 %`.
pub fn change(ratio: f64) -> String {
    match 100.0 * ratio {
        it if it.abs() < 0.05 => "0 %".to_owned(),
        it if it.abs() >= 9.95 => format!("{it:+.0} %").replace('-', "−"),
        it => format!("{it:+.1} %").replace('-', "−"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_a_false_nothing_and_never_a_false_whole() {
        let shown = [0.0, 0.000_1, 0.045, 0.3, 0.999_8, 1.0, -0.045].map(share);
        assert_eq!(shown, ["0 %", "under 0.1 %", "4.5 %", "30 %", "99.9 %", "100 %", "−4.5 %"]);
    }

    #[test]
    fn a_change_that_rounds_to_nothing_has_no_sign() {
        let shown = [-0.000_2, 0.000_2, -0.044, 0.98, -0.3].map(change);
        assert_eq!(shown, ["0 %", "0 %", "−4.4 %", "+98 %", "−30 %"]);
    }
}
