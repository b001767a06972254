//! What the user may type about single figures, for every command that makes a page.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Single figures for slides and tickets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Single figures")]
pub(crate) struct FigureArgs {
    /// Write this figure, or all whose names begin so, or `all`; `list` names them; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) figure: Vec<String>,
    /// File (.png or .svg), or folder for the figures, which ends in / where its name has a dot
    /// [default: the current folder]
    #[arg(long, value_name = "FILE|FOLDER", requires = "figure")]
    pub(crate) figure_out: Option<PathBuf>,
    /// Kind of the files in a folder [default: png]
    #[arg(long, value_name = "KIND", value_enum, requires = "figure")]
    pub(crate) figure_format: Option<FigureKind>,
    /// Width and height of each figure in pixels, such as 1920x1080 [default: what suits it]
    #[arg(long, value_name = "WxH", requires = "figure", value_parser = size)]
    pub(crate) size: Option<(u32, u32)>,
    /// Ground of the figures [default: light]
    #[arg(long, value_name = "THEME", value_enum, requires = "figure")]
    pub(crate) theme: Option<Ground>,
}

/// Kind of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureKind {
    /// Pixels
    Png,
    /// Vectors
    Svg,
}

/// On which ground pictures are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ground {
    /// Dark ink on a light ground
    Light,
    /// Light ink on a dark ground
    Dark,
}

impl FigureArgs {
    /// Whether the result itself is wanted too: without a figure, or where its place or form is named.
    pub(crate) fn leaves_result(&self, is_named: bool) -> bool {
        self.figure.is_empty() || is_named
    }
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{text}` is no size in pixels like 1920x1080");
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(wrong)?;
    let side = |it: &str| it.trim().parse::<u32>().map_err(|_| wrong());
    Ok((side(width)?, side(height)?))
}
