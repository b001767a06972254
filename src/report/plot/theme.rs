//! One colour-blind-safe palette, for light and for dark ground.

/// On which ground a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Dark ink on a light ground.
    #[default]
    Light,
    /// Light ink on a dark ground.
    Dark,
}
