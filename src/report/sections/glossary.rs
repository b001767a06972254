//! What the terms mean; a report keeps only those that it uses.

use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::sections::{Section, title};

/// The glossary.
pub(super) struct Glossary;

impl Section for Glossary {
    fn id(&self) -> &'static str {
        "glossary"
    }

    fn build(&self, _input: &ReportInput<'_>) -> Vec<Block> {
        let terms = TERMS.iter().map(|(term, meaning)| Block::Term {
            term: (*term).to_owned(),
            meaning: (*meaning).to_owned(),
        });
        std::iter::once(title(self, "Terms")).chain(terms).collect()
    }
}

/// Every term with its meaning, in the order of the alphabet.
///
/// A term counts as used when it stands in the report, in any case of letters.
const TERMS: &[(&str, &str)] = &[
    (
        "Blur index",
        "Variance of the samples over what it would be if every burst outlasted the sampling \
         window. Near 1: bursts are longer than the window. Near 0: steady, or faster than the window.",
    ),
    (
        "Burst",
        "A stretch in which a load is on. It begins at one level and ends below a lower one, so \
         that noise does not cut it up.",
    ),
    ("Confidence", "How sure a statement is, from 0 to 1. What could not be seen lowers it."),
    (
        "Demand CV",
        "Coefficient of variation: standard deviation of demand over its mean, averaged over \
         windows of a given length. 0 is perfectly even; 1.5 is all or nothing at 30 %.",
    ),
    ("Framebuffer", "The GPU's own memory. It cannot be shared out later: who asks last, fails."),
    ("Gap", "A stretch between two bursts in which a load is off."),
    (
        "GPU utilisation",
        "Share of the driver's sample window in which at least one kernel ran; it does not say how \
         many SMs it used.",
    ),
    ("Head room", "Memory that was free at the worst moment: total less peak."),
    ("Height", "How high bursts reach: the 95th percentile inside a burst, median over bursts."),
    ("MIG", "Partition of a GPU in hardware: own SMs, own cache, own memory, fixed sizes."),
    ("MPS", "Kernels of several processes run at the same time; memory and faults are shared."),
    ("Peak to mean", "The greatest sample over the mean. 1 is perfectly even."),
    ("Period", "Length of the rhythm in which a load repeats itself, where there is one."),
    ("Regimes", "Stretches of steady mean. One means that the mean never changed for long."),
    ("SM active", "Share of the streaming multiprocessors that had work, averaged over time."),
    ("Time slicing", "Processes take turns on the whole GPU; nobody is guaranteed anything."),
    ("Window", "The time that one sample averages over. Nothing shorter can be seen."),
];
