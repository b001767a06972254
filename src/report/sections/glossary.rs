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
        std::iter::once(title(self, "Terms")).chain(terms()).collect()
    }
}

/// Every term, used or not.
pub(crate) fn terms() -> impl Iterator<Item = Block> {
    TERMS.iter().map(|(term, meaning)| Block::Term {
        term: (*term).to_owned(),
        meaning: (*meaning).to_owned(),
    })
}

/// Every term of reports with its meaning, in the order of the alphabet: the one place for it.
///
/// A term counts as used when it stands in the report as words of its own, in any case of letters.
pub(crate) const TERMS: &[(&str, &str)] = &[
    (
        "Blur index",
        "Variance of the samples over what it would be if every burst outlasted the sampling window. Near 1: bursts are longer than the window. Near 0: steady, or faster than the window.",
    ),
    (
        "Burst",
        "A stretch in which a load is on. It begins at one level and ends below a lower one, so that noise does not cut it up.",
    ),
    (
        "Cannot tell",
        "The recording does not allow an answer; what would give one stands beside it.",
    ),
    ("Confidence", "How sure a statement is, from 0 to 1. What could not be seen lowers it."),
    (
        "Confirmed",
        "Two independent tests agree, the effect is large enough to matter, and few of all such findings together are false (q).",
    ),
    (
        "Contended time",
        "Time in which two tenants were active and the device was saturated. It needs no victim, so it shows only that somebody may have waited.",
    ),
    (
        "CPI2",
        "A familiar second number, from −1 to 1: how far the victim is slow when the suspect is busy. 0.35 is the usual threshold; it controls no error.",
    ),
    (
        "Decisive reason",
        "The one reason that settled the verdict; the other reasons stand in `cotenant recommend`.",
    ),
    (
        "Demand CV",
        "Coefficient of variation: standard deviation of demand over its mean, averaged over windows of a given length. 0 is perfectly even; 1.5 is all or nothing at 30 %.",
    ),
    (
        "Disruption",
        "What has to be stopped to get from how a GPU is shared now to what is proposed: nothing, a restart of its tenants, a drain of instances, of the GPU or of the node, or a reset.",
    ),
    (
        "Drain",
        "No new work is placed, and what runs ends or moves, before a GPU or an instance is changed.",
    ),
    ("Duty", "Share of the time in which a load is at or above a level, such as 95 %."),
    (
        "Envelope",
        "The range from the least to the greatest sample of a stretch of time, so that a down-sampled line hides no peak.",
    ),
    (
        "Event contrast",
        "Whether the victim is slower inside the suspect's bursts than between them, against the same bursts moved to other times.",
    ),
    (
        "Exclusive",
        "A GPU for each tenant: nothing is shared and nobody slows anybody on it; every tenant pays for a whole GPU.",
    ),
    (
        "Fault domain",
        "Those who fall together when one of them fails. Under MPS all clients of a server are one.",
    ),
    ("Framebuffer", "The GPU's own memory. It cannot be shared out later: who asks last, fails."),
    ("Gap", "A stretch between two bursts in which a load is off."),
    (
        "GPU utilisation",
        "Share of the driver's sample window in which at least one kernel ran; it does not say how many SMs it used.",
    ),
    (
        "Granger",
        "Whether the suspect's past helps to predict the victim beyond the victim's own past and everything held fixed.",
    ),
    ("Head room", "Memory that was free at the worst moment: total less peak."),
    ("Height", "How high bursts reach: the 95th percentile inside a burst, median over bursts."),
    (
        "Interval",
        "The range in which a number is believed to lie, written in brackets behind it. Of an effect: 95 % by resampling. Of a prediction: every assumption at both of its ends; it is no confidence interval.",
    ),
    ("Lag", "How long the victim follows the suspect, to the length of a bin."),
    ("Likely", "One test is firm and the other does not object; a confirmed influence needs both."),
    (
        "Look-alike",
        "Something that makes a tenant slow and is no neighbour: power cap, heat, a low clock, a full PCIe link, a fault, its own load.",
    ),
    ("MIG", "Partition of a GPU in hardware: own SMs, own cache, own memory, fixed sizes."),
    ("MIG instance", "One part of a GPU under MIG, with SMs and memory of its own."),
    (
        "MIG profile",
        "Size of a MIG instance: 3g.40gb has three of seven compute slices and 40 GB. Sizes are fixed by the board.",
    ),
    (
        "Minimum detectable effect",
        "The least effect that would have been found with a chance of 80 %. What was not shown may still be this large.",
    ),
    ("MPS", "Kernels of several processes run at the same time; memory and faults are shared."),
    (
        "Not shown",
        "Nothing was found. That is no proof of innocence: an effect up to the minimum detectable one could hide.",
    ),
    ("p50", "The median: half of the requests, or of the bursts, are faster."),
    (
        "p99",
        "The 99th percentile: one request, or burst, in a hundred is slower. It is what users of a service notice.",
    ),
    ("Peak to mean", "The greatest sample over the mean. 1 is perfectly even."),
    ("Period", "Length of the rhythm in which a load repeats itself, where there is one."),
    (
        "q",
        "Share of false accusations to be expected among all pairs of a device that stand at least as firm (Benjamini and Hochberg). 0.05 is the limit.",
    ),
    ("Regimes", "Stretches of steady mean. One means that the mean never changed for long."),
    (
        "Replica",
        "One of the equal shares under which a scheduler deals out a GPU that is shared in software; it limits nothing.",
    ),
    ("Saturated", "At or above 95 % of the metric of activity."),
    (
        "Shapley",
        "A share of a cause that is fair in a stated sense: what each adds, averaged over every order in which all could have come.",
    ),
    ("SLO", "What a service promises, such as a p99 of at most 200 ms."),
    (
        "Slowdown",
        "Time of a request or burst beside neighbours over the time of the same one alone. 1 is as fast as alone.",
    ),
    ("SM active", "Share of the streaming multiprocessors that had work, averaged over time."),
    (
        "Stranded",
        "Memory or compute of an instance that its tenant does not use and nobody else can.",
    ),
    (
        "Thread percentage",
        "The most of a GPU's threads that a client of MPS may use. It limits, and reserves nothing.",
    ),
    (
        "Through the power cap",
        "The suspect slows the victim without touching its SMs: it drives the board into the power limit, and the clock falls for everybody.",
    ),
    ("Time slicing", "Processes take turns on the whole GPU; nobody is guaranteed anything."),
    (
        "Trust domain",
        "Tenants that may fail together and see traces of each other. Tenants of different domains share a GPU by MIG only.",
    ),
    ("Window", "The time that one sample averages over. Nothing shorter can be seen."),
];
