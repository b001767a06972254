//! What the place is like where text is read.

/// Room, colour, letters and depth of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of a line at most; lines that are copied, such as commands, may be wider.
    pub width: usize,
    /// Whether words of verdicts and marks have colours; the words say the same without.
    pub has_colour: bool,
    /// Whether only letters of ASCII can be shown.
    pub is_ascii: bool,
    /// Whether what is folded away is told too.
    pub is_full: bool,
}

impl Look {
    /// Everything, in plain Unicode without colour, in lines of this width.
    pub const fn plain(width: usize) -> Self {
        Self { width, has_colour: false, is_ascii: false, is_full: true }
    }

    /// The same with what is folded away told in one line.
    pub const fn folded(self) -> Self {
        Self { is_full: false, ..self }
    }
}
