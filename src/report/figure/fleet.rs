//! The GPUs of a fleet as tiles, and numbers of GPUs as bars, as data of pictures.

/// GPUs as small tiles, panel beside panel.
#[derive(Debug, Clone, PartialEq)]
pub struct TilesFigure {
    /// From left to right; two at most are easy to compare.
    pub panels: Vec<TilePanel>,
}

/// One state of the fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct TilePanel {
    /// What it shows.
    pub name: String,
    /// One for each GPU, in reading order.
    pub tiles: Vec<Tile>,
}

/// One GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// What becomes of it.
    pub kind: TileKind,
    /// Tenants on it.
    pub tenants: usize,
}

/// What a tile stands for; kinds differ in form as well as in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TileKind {
    /// Several tenants in hardware partitions.
    Partitioned,
    /// Several tenants that share memory and faults.
    Shared,
    /// One tenant.
    Alone,
    /// Too little was seen of it.
    Unknown,
    /// Nobody.
    Free,
    /// One that would have to be added.
    Further,
}

impl TileKind {
    /// Every kind with its words in the legend.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Partitioned, "in MIG parts"),
        (Self::Shared, "shared (MPS, turns)"),
        (Self::Alone, "one tenant"),
        (Self::Unknown, "too little seen"),
        (Self::Free, "free"),
        (Self::Further, "to be added, for one or several"),
    ];
}

impl TilesFigure {
    /// Room above the tiles for the names of the panels, in pixels.
    pub(crate) const TOP: u32 = 26;
    /// Room below the tiles for the legend, in pixels.
    pub(crate) const BOTTOM: u32 = 30;
    /// Width of the picture, in pixels.
    const WIDTH: u32 = 960;
    /// Room between two panels, in pixels.
    pub(crate) const BETWEEN: u32 = 40;

    /// Side of a tile with the room beside it, in pixels: smaller the more there are.
    pub(crate) fn step(&self) -> u32 {
        match self.panels.iter().map(|it| it.tiles.len()).max().unwrap_or(0) {
            0..=120 => 30,
            121..=300 => 22,
            301..=900 => 15,
            _ => 10,
        }
    }

    /// Tiles side by side in a panel.
    pub(crate) fn columns(&self) -> usize {
        let panels = self.panels.len().max(1) as u32;
        let width = (Self::WIDTH - Self::BETWEEN * (panels - 1)) / panels;
        (width / self.step()).max(1) as usize
    }

    pub(crate) fn height(&self) -> u32 {
        let rows = |it: &TilePanel| it.tiles.len().div_ceil(self.columns()).max(1) as u32;
        let most = self.panels.iter().map(rows).max().unwrap_or(1);
        // A picture ends somewhere; a fleet of many thousands is told in numbers.
        (Self::TOP + most * self.step() + Self::BOTTOM).min(4_000)
    }

    /// Kinds that are drawn, with their words.
    pub(crate) fn legend(&self) -> Vec<(TileKind, &'static str)> {
        let is_drawn =
            |kind: TileKind| self.panels.iter().flat_map(|it| &it.tiles).any(|it| it.kind == kind);
        TileKind::ALL.into_iter().filter(|it| is_drawn(it.0)).collect()
    }
}

/// Numbers of GPUs as bars.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuBarsFigure {
    /// From top to bottom.
    pub rows: Vec<GpuBar>,
    /// A number to compare with, with its name.
    pub limit: Option<(f64, String)>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuBar {
    /// What it is about.
    pub name: String,
    /// GPUs, drawn full.
    pub base: f64,
    /// GPUs on top of them, drawn as what comes on top.
    pub more: f64,
    /// In words, right of the bar.
    pub note: String,
}

impl GpuBarsFigure {
    pub(crate) fn height(&self) -> u32 {
        62 + 28 * self.rows.len() as u32
    }
}
