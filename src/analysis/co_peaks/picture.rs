//! Stacked memory over time, joined to a bounded number of bins without losing a peak.

use crate::analysis::memory_findings::{MemoryLayer, MemoryPicture};
use crate::analysis::memory_ledger::Ledger;

/// Most bins of the picture.
const MOST_BINS: usize = 600;

/// Each bin shows what everybody held at the instant at which all held most together, and the least sum.
pub(crate) fn picture(ledger: &Ledger) -> MemoryPicture {
    let bins = ledger.bins();
    let width = bins.div_ceil(MOST_BINS).max(1);
    let chunks: Vec<std::ops::Range<usize>> =
        (0..bins).step_by(width).map(|it| it..(it + width).min(bins)).collect();
    let sums = |chunk: &std::ops::Range<usize>| -> Vec<(usize, f64)> {
        chunk.clone().filter_map(|it| Some((it, ledger.sum(it)?))).collect()
    };
    let mut layers: Vec<MemoryLayer> = ledger
        .members
        .iter()
        .map(|it| MemoryLayer {
            label: it.label.clone(),
            subject: it.subject.clone(),
            bytes: Vec::with_capacity(chunks.len()),
        })
        .collect();
    let mut low_bytes = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        let sums = sums(chunk);
        let greatest = sums.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
        for (layer, member) in layers.iter_mut().zip(&ledger.members) {
            layer.bytes.push(greatest.map(|it| member.bytes[it.0]));
        }
        low_bytes.push(sums.iter().map(|it| it.1).reduce(f64::min));
    }
    let used = |chunk: &std::ops::Range<usize>| {
        let used = ledger.used.get(chunk.clone())?;
        used.iter().copied().filter(|it| it.is_finite()).reduce(f64::max)
    };
    MemoryPicture {
        from: ledger.from,
        bin_s: ledger.step_s() * width as f64,
        layers,
        low_bytes,
        used_bytes: chunks.iter().map(used).collect(),
    }
}
