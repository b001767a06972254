//! Words that a report uses without a place of their own in its glossary.

use crate::analysis::influence::findings::LookAlikeKind;
use crate::domain::blind_spot::BlindSpotKind;
use crate::recommender::suitability::SharingWord;
use crate::report::explain::{Entry, Kind};
use crate::report::influences::look_alikes;
use crate::report::sections::blind_spots;

/// Terms besides those of the glossary, with what they mean.
pub(super) const TERMS: &[(&str, &str)] = &[
    (
        "Activity",
        "How busy a load keeps the GPU, from 0 to 100 %: SM active where it was recorded, else GPU \
         utilisation.",
    ),
    (
        "Blind spot",
        "Something that the recording could not show, with the reason and what would show it. It \
         lowers confidence.",
    ),
    (
        "Coincidence factor",
        "Peak of the sum over the sum of the peaks. 1 means that all peaks fall on one instant; \
         1/n that n equal peaks never meet.",
    ),
    (
        "Drain",
        "To take the work off a GPU before it is cut into other MIG instances, which cannot be done \
         under running work.",
    ),
    (
        "Duty cycle",
        "Share of the time in which a load is at or above a height: 5, 50 and 95 % of the GPU. Two \
         loads with a mean of 30 % may have a duty cycle at 95 % of 0 and of 30 %; only the first \
         leaves a neighbour a free slot at any moment.",
    ),
    (
        "Exclusive",
        "A GPU for one tenant. What large training and saturated loads need; nobody waits for anybody.",
    ),
    (
        "Fault domain",
        "Those who end together when one of them faults. Under MPS all clients of one server; under \
         MIG each instance by itself.",
    ),
    ("Lift", "How much more often peaks meet than they would by chance. 1 is chance."),
    ("p50", "The median: half of all requests take no longer."),
    (
        "p99",
        "The 99th percentile: one request in a hundred takes longer. Users of a service notice it \
         before they notice a mean.",
    ),
    ("Phase", "A labelled part of a recording, such as one step of a load test."),
    ("Resident", "A tenant, a process or a MIG instance that was seen on a GPU."),
    (
        "Saturated",
        "At or above 95 % of the GPU for so much of the time that a neighbour finds no free slot.",
    ),
    (
        "Shape",
        "How a load comes and goes over time: how high, how long, how often. It decides whether a \
         load shares well; its mean does not.",
    ),
    ("SLO", "What a service must keep, such as a p99 of at most 50 ms."),
    (
        "SM",
        "Streaming multiprocessor: the part of a GPU that computes. An A100 has 108, an H100 132.",
    ),
    (
        "Stranded",
        "Memory or SMs that a layout leaves where nobody can use them: the rest of a profile that is \
         larger than its tenant, and slices that fit no profile.",
    ),
    ("Suspect", "The tenant that may have slowed another."),
    (
        "Tenant",
        "Whoever shares a GPU: a pod, a container, a service or a process, as far as it could be told \
         apart.",
    ),
    (
        "Trust domain",
        "Those who may share caches and memory with each other. Tenants of different domains get MIG \
         or a GPU of their own, whatever the utilisation says.",
    ),
    ("Victim", "The tenant whose latency or throughput is looked at."),
    ("Xid", "The driver's number for an error of a GPU. Some stop the work of everybody on it."),
];

const LOOK_ALIKES: [LookAlikeKind; 13] = [
    LookAlikeKind::PowerCap,
    LookAlikeKind::ThermalSlowdown,
    LookAlikeKind::HardwareSlowdown,
    LookAlikeKind::ClockRamp,
    LookAlikeKind::PcieSaturation,
    LookAlikeKind::Fault,
    LookAlikeKind::OwnQueue,
    LookAlikeKind::SlowThroughout,
    LookAlikeKind::MirroredSeries,
    LookAlikeKind::FrozenSeries,
    LookAlikeKind::NoOverlap,
    LookAlikeKind::WarmUp,
    LookAlikeKind::OutOfMemory,
];

const BLIND_SPOTS: [BlindSpotKind; 9] = [
    BlindSpotKind::NotReported,
    BlindSpotKind::NotRecorded,
    BlindSpotKind::HiddenByMig,
    BlindSpotKind::TooCoarse,
    BlindSpotKind::Gap,
    BlindSpotKind::Rejected,
    BlindSpotKind::ClockAssumed,
    BlindSpotKind::Ambiguous,
    BlindSpotKind::TooShort,
];

const VERDICTS: [SharingWord; 4] = [
    SharingWord::SharesWell,
    SharingWord::SharesWithCare,
    SharingWord::DoNotShare,
    SharingWord::CannotTell,
];

/// Verdicts, look-alikes and blind spots.
pub(super) fn entries() -> impl Iterator<Item = Entry> {
    let verdicts = VERDICTS.iter().map(|it| Entry::new(Kind::Verdict, it.as_words(), verdict(*it)));
    let alike =
        |it: &LookAlikeKind| Entry::new(Kind::LookAlike, look_alikes::kind(*it), look_alike(*it));
    let spot = |it: &BlindSpotKind| {
        Entry::new(Kind::BlindSpot, blind_spots::in_words(*it), blind_spot(*it))
    };
    verdicts.chain(LOOK_ALIKES.iter().map(alike)).chain(BLIND_SPOTS.iter().map(spot))
}

const fn verdict(word: SharingWord) -> &'static str {
    match word {
        SharingWord::SharesWell => {
            "A neighbour finds free room at any moment: the load is steady and low, idle, or comes in \
             bursts that are short and leave room."
        }
        SharingWord::SharesWithCare => {
            "It can share with neighbours that bear a wait now and then: its bursts are short, or rare, \
             or not high, but they are there."
        }
        SharingWord::DoNotShare => {
            "A neighbour would wait: the load is saturated, or takes the whole GPU in bursts that are \
             longer than a request."
        }
        SharingWord::CannotTell => {
            "The recording does not show enough of its shape; what would show it stands beside it."
        }
    }
}

const fn look_alike(kind: LookAlikeKind) -> &'static str {
    match kind {
        LookAlikeKind::PowerCap => {
            "The board stood at its power limit, so that its clock fell for everybody."
        }
        LookAlikeKind::ThermalSlowdown => {
            "The board was too hot, and the driver held its clock back."
        }
        LookAlikeKind::HardwareSlowdown => {
            "A power brake or an external slowdown signal held the clock back."
        }
        LookAlikeKind::ClockRamp => {
            "The SM clock was low without a recorded limit, as after idleness, so that first requests \
             are slow."
        }
        LookAlikeKind::PcieSaturation => {
            "The PCIe link was full, so that copies to and from the GPU wait."
        }
        LookAlikeKind::Fault => "An Xid or an uncorrected memory error came up.",
        LookAlikeKind::OwnQueue => {
            "The victim's own load rose, or its own queue or cache was full: it slowed itself."
        }
        LookAlikeKind::SlowThroughout => {
            "The victim is as slow without company as in company: nobody beside it is to blame."
        }
        LookAlikeKind::MirroredSeries => {
            "Several series are the same, as when an exporter gives every pod the value of the whole \
             board; then nobody can be told from anybody."
        }
        LookAlikeKind::FrozenSeries => {
            "A series never changes although it should: its source hangs."
        }
        LookAlikeKind::NoOverlap => {
            "The victim and those beside it were never seen at the same time."
        }
        LookAlikeKind::WarmUp => {
            "The victim was slow at first because it warmed up, so that before and after do not compare."
        }
        LookAlikeKind::OutOfMemory => {
            "The victim was lost because memory ran out, and had to begin again."
        }
    }
}

const fn blind_spot(kind: BlindSpotKind) -> &'static str {
    match kind {
        BlindSpotKind::NotReported => "The source names the field and says that it has no reading.",
        BlindSpotKind::NotRecorded => "The source never mentions the field.",
        BlindSpotKind::HiddenByMig => {
            "The driver does not say it of a GPU that is cut into MIG instances."
        }
        BlindSpotKind::TooCoarse => {
            "The samples are too far apart, or averaged over too long a window."
        }
        BlindSpotKind::Gap => "Samples are missing for a while.",
        BlindSpotKind::Rejected => "Cells or rows could not be read and were left out.",
        BlindSpotKind::ClockAssumed => {
            "The stamps carry no time zone, or there are none, and something was assumed."
        }
        BlindSpotKind::Ambiguous => "The source cannot tell two of them apart.",
        BlindSpotKind::TooShort => "The recording is too short for the question.",
    }
}
