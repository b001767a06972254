//! Shapes in one line: how a load came and went, as high as the letters are.

use crate::report::block::Block;
use crate::report::figure::{Axis, Figure, RowSeries, TimelineFigure};
use crate::report::render::text::figures::{level, stretches};
use std::collections::BTreeMap;

/// Columns of a shape in a table.
pub(super) const COLUMNS: usize = 14;

/// Shapes of loads by their names, from the timelines of a report.
#[derive(Debug, Default)]
pub(super) struct Sparks {
    /// `None`: several have the name, so nobody gets a shape that may be another's.
    shapes: BTreeMap<String, Option<String>>,
}

impl Sparks {
    /// The shapes that the timelines of these blocks show.
    pub(super) fn of(blocks: &[Block]) -> Self {
        let mut found = Self::default();
        found.collect(blocks);
        found
    }

    fn collect(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Figure { figure: Figure::Timeline(it), .. } => self.add(it),
                Block::Details { blocks, .. } => self.collect(blocks),
                _ => {}
            }
        }
    }

    fn add(&mut self, figure: &TimelineFigure) {
        for row in figure.rows.iter().filter(|it| it.axis == Axis::Percent) {
            let Some(series) = row.series.first().filter(|it| !it.bins.is_empty()) else {
                continue;
            };
            let shape = spark(figure.span, series, row.top, COLUMNS);
            self.shapes.entry(row.name.clone()).and_modify(|it| *it = None).or_insert(Some(shape));
        }
    }

    /// The shape of this load; `None` when none was drawn or several loads have the name.
    pub(super) fn shape(&self, name: &str) -> Option<&str> {
        self.shapes.get(name)?.as_deref()
    }
}

/// A series in so many columns, each as high as its mean; a stretch without samples is a dot.
pub(super) fn spark(
    span: crate::domain::time::TimeSpan,
    series: &RowSeries,
    top: f64,
    columns: usize,
) -> String {
    let means = stretches(span, series, columns);
    means.iter().map(|it| it.map_or('·', |mean| level(mean / top))).collect()
}
