//! How small a picture may become before its words collide, and which pictures grow with their room.

use crate::report::figure::{Figure, MARGIN};

/// Height of a row of a timeline that still shows its shape, in pixels.
const LEAST_ROW: u32 = 56;

impl Figure {
    /// Least width and height at which all words stand apart, in pixels at their usual size, with the margin.
    pub(crate) fn least_size(&self) -> (u32, u32) {
        let (_, natural) = self.content_size();
        let (width, height) = match self {
            Self::Timeline(it) => (440, 64 + LEAST_ROW * it.rows.len() as u32),
            Self::Strip { .. } => (120, natural),
            Self::DutyBars(_) => (400, natural),
            Self::DemandCv(_) => (370, natural),
            Self::BurstHistogram(_) | Self::MemoryBars { .. } => (370, natural),
            Self::MemoryStack(_) => (500, 220),
            Self::Matrix(it) => (it.least_width(), natural),
            Self::Suspects(_) => (500, natural - 60),
            Self::Slowdowns(_) => (470, natural),
            Self::Changes(_) => (500, natural),
            Self::Tiles(_) => (960, natural),
            Self::GpuBars(_) => (700, natural),
        };
        (width + 2 * MARGIN, height + 2 * MARGIN)
    }

    /// Whether rows of the picture are as high as they are, however much room there is.
    pub(crate) fn has_fixed_height(&self) -> bool {
        matches!(
            self,
            Self::Matrix(_)
                | Self::Slowdowns(_)
                | Self::Changes(_)
                | Self::Tiles(_)
                | Self::GpuBars(_)
        )
    }
}
