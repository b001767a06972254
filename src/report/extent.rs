//! Which part of a recording an answer is about.

use crate::domain::time::TimeSpan;
use crate::domain::units::Seconds;
use crate::report::wording::span;

/// A part of a recording that was asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// The part.
    pub window: TimeSpan,
    /// From the first sample of the recording to the last.
    pub whole: TimeSpan,
}

impl Extent {
    /// The part that was asked about; `None` where it is all of the recording.
    pub fn of(window: Option<TimeSpan>, whole: Option<TimeSpan>) -> Option<Self> {
        let (window, whole) = window.zip(whole)?;
        let window = window.overlap(whole)?;
        (window != whole).then_some(Self { window, whole })
    }

    /// The part after a name: `2026-11-28 09:00:00 to 09:05:00 UTC (5.00 min)`.
    pub(crate) fn window(&self) -> String {
        span(self.window)
    }

    /// Of how much it is a part: `part of a recording of 12.0 h`.
    pub(crate) fn part(&self) -> String {
        format!("part of a recording of {}", Seconds(self.whole.seconds()))
    }

    /// All of it as a sentence.
    pub(crate) fn sentence(&self) -> String {
        format!("This is about {}, a {}.", self.window(), self.part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    #[test]
    fn a_part_names_itself_and_the_length_of_the_whole_and_the_whole_is_no_part() {
        let at = |seconds: i64| Timestamp::from_micros((1_795_856_400 + seconds) * 1_000_000);
        let whole = TimeSpan::new(at(0), at(43_200));
        let part = Extent::of(TimeSpan::new(at(600), at(900)), whole).unwrap();
        assert_eq!(
            part.sentence(),
            "This is about 2026-11-28 09:10:00 to 09:15:00 UTC (5.00 min), a part of a recording of 12.0 h."
        );
        assert_eq!(Extent::of(whole, whole), None);
        assert_eq!(Extent::of(None, whole), None);
    }
}
