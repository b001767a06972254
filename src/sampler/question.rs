//! Every question of one call: what it is called, how often it is asked, what it answers.

use crate::domain::metric::Metric;

/// What a GPU can be asked that takes one call, or a few that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "QUESTIONS says what each of them is")]
pub enum Question {
    Utilization,
    MemoryUsed,
    Clocks,
    ThrottleReasons,
    Fields,
    Power,
    Energy,
    Violations,
    Temperature,
    PerformanceState,
    Encoder,
    Decoder,
    Jpeg,
    Ofa,
    Memory,
    PowerLimit,
    FanSpeed,
    Bar1,
    Ecc,
    RemappedRows,
    PcieReplays,
    PcieThroughput,
}

/// How often something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pace {
    /// Every interval.
    Fast,
    /// Performance counters: every interval, but at least 110 ms apart.
    Counters,
    /// Twice a second: what the driver keeps in rings, and what changes slowly.
    Drain,
    /// Every two seconds.
    Slow,
}

impl Pace {
    /// Every pace, the most urgent first.
    pub(crate) const ALL: [Self; 4] = [Self::Fast, Self::Counters, Self::Drain, Self::Slow];
}

/// A question, what the driver calls it, how often it is asked, and the fields of its answer.
pub struct QuestionSpec {
    /// The question.
    pub question: Question,
    /// The function that answers it.
    pub function: &'static str,
    /// How often.
    pub pace: Pace,
    /// What it answers.
    pub metrics: &'static [Metric],
}

const fn spec(
    question: Question,
    function: &'static str,
    pace: Pace,
    metrics: &'static [Metric],
) -> QuestionSpec {
    QuestionSpec { question, function, pace, metrics }
}

/// Every question, in the order of the enum.
pub const QUESTIONS: &[QuestionSpec] = &[
    spec(
        Question::Utilization,
        "nvmlDeviceGetUtilizationRates",
        Pace::Fast,
        &[Metric::GpuUtilization, Metric::MemoryUtilization],
    ),
    spec(Question::MemoryUsed, "nvmlDeviceGetMemoryInfo", Pace::Fast, &[Metric::FramebufferUsed]),
    spec(
        Question::Clocks,
        "nvmlDeviceGetClockInfo",
        Pace::Fast,
        &[Metric::SmClock, Metric::MemoryClock, Metric::VideoClock],
    ),
    spec(
        Question::ThrottleReasons,
        "nvmlDeviceGetCurrentClocksEventReasons",
        Pace::Fast,
        &[Metric::ThrottleReasons],
    ),
    spec(
        Question::Fields,
        "nvmlDeviceGetFieldValues",
        Pace::Fast,
        &[
            Metric::PowerInstant,
            Metric::Energy,
            Metric::PowerViolation,
            Metric::ThermalViolation,
            Metric::PcieTransmit,
            Metric::PcieReceive,
            Metric::NvlinkTransmit,
            Metric::NvlinkReceive,
            Metric::MemoryTemperature,
        ],
    ),
    spec(Question::Power, "nvmlDeviceGetPowerUsage", Pace::Fast, &[Metric::Power]),
    spec(Question::Energy, "nvmlDeviceGetTotalEnergyConsumption", Pace::Fast, &[Metric::Energy]),
    spec(
        Question::Violations,
        "nvmlDeviceGetViolationStatus",
        Pace::Drain,
        &[Metric::PowerViolation, Metric::ThermalViolation],
    ),
    spec(Question::Temperature, "nvmlDeviceGetTemperature", Pace::Drain, &[Metric::GpuTemperature]),
    spec(
        Question::PerformanceState,
        "nvmlDeviceGetPerformanceState",
        Pace::Drain,
        &[Metric::PerformanceState],
    ),
    spec(
        Question::Encoder,
        "nvmlDeviceGetEncoderUtilization",
        Pace::Drain,
        &[Metric::EncoderUtilization],
    ),
    spec(
        Question::Decoder,
        "nvmlDeviceGetDecoderUtilization",
        Pace::Drain,
        &[Metric::DecoderUtilization],
    ),
    spec(Question::Jpeg, "nvmlDeviceGetJpgUtilization", Pace::Drain, &[Metric::JpegUtilization]),
    spec(Question::Ofa, "nvmlDeviceGetOfaUtilization", Pace::Drain, &[Metric::OfaUtilization]),
    spec(
        Question::Memory,
        "nvmlDeviceGetMemoryInfo",
        Pace::Slow,
        &[Metric::FramebufferFree, Metric::FramebufferTotal, Metric::FramebufferReserved],
    ),
    spec(
        Question::PowerLimit,
        "nvmlDeviceGetEnforcedPowerLimit",
        Pace::Slow,
        &[Metric::PowerLimit],
    ),
    spec(Question::FanSpeed, "nvmlDeviceGetFanSpeed_v2", Pace::Slow, &[Metric::FanSpeed]),
    spec(Question::Bar1, "nvmlDeviceGetBAR1MemoryInfo", Pace::Slow, &[Metric::Bar1Used]),
    spec(Question::Ecc, "nvmlDeviceGetTotalEccErrors", Pace::Slow, &[Metric::EccUncorrected]),
    spec(Question::RemappedRows, "nvmlDeviceGetRemappedRows", Pace::Slow, &[Metric::RemappedRows]),
    spec(
        Question::PcieReplays,
        "nvmlDeviceGetPcieReplayCounter",
        Pace::Slow,
        &[Metric::PcieReplays],
    ),
    spec(
        Question::PcieThroughput,
        "nvmlDeviceGetPcieThroughput",
        Pace::Slow,
        &[Metric::PcieTransmit, Metric::PcieReceive],
    ),
];

impl Question {
    /// Everything about the question besides its answer.
    pub fn spec(self) -> &'static QuestionSpec {
        &QUESTIONS[self as usize]
    }

    /// The question that asks for the same more dearly or less well, needed when this one is refused.
    pub fn replaces(self) -> Option<Metric> {
        match self {
            Self::Energy => Some(Metric::Energy),
            Self::Violations => Some(Metric::PowerViolation),
            Self::PcieThroughput => Some(Metric::PcieTransmit),
            _ => None,
        }
    }
}
