//! What should be done with one device, why, and how sure that is.
//!
//! Printed as JSON as it stands: names carry their unit, unknown is null.

use crate::analysis::evidence::Confidence;
use crate::colocation::range::Range;
use crate::domain::ident::GpuId;
use crate::recommender::fitting::Fitting;
use crate::recommender::layout::Change;
use crate::recommender::mechanism::{
    Assessment, Assigned, Capacity, Cost, Disruption, MechanismId, Predicted, Standing,
};
use crate::recommender::reason::{Measurement, Reason};
use crate::recommender::situation::Current;
use serde::Serialize;

/// What a verdict comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The device can be shared, or given out in part.
    Share,
    /// Each tenant is to have a device to itself.
    Exclusive,
    /// Something has to be measured or answered first.
    NotEnoughEvidence,
    /// There is nobody on the device.
    Nobody,
}

impl Outcome {
    /// The words that people read.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Exclusive => "exclusive",
            Self::NotEnoughEvidence => "not enough evidence",
            Self::Nobody => "nobody to decide about",
        }
    }
}

/// What should be done with one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The GPU.
    pub gpu: GpuId,
    /// Short name for people.
    pub label: String,
    /// What it comes to.
    pub outcome: Outcome,
    /// The reason that decided; `None` without tenants.
    pub decisive: Option<Reason>,
    /// How the device is shared now.
    pub current: Current,
    /// What is proposed; `None` where there is not enough evidence.
    pub chosen: Option<Chosen>,
    /// Every other way with its reasons, in the order in which they come into question.
    pub rejected: Vec<Rejected>,
    /// How sure the verdict is.
    pub confidence: Confidence,
    /// What lowered the confidence, the most first.
    pub lowered_by: Vec<Lowered>,
    /// What could not be seen, each in a sentence.
    pub unseen: Vec<String>,
    /// What it takes to get there; `None` where nothing is proposed.
    pub disruption: Option<Disruption>,
    /// What the proposal leaves to others; `None` where nothing is proposed.
    pub freed: Option<Freed>,
    /// Whose leaving lets the others share; `None` where they share with it, or not without it either.
    pub apart: Option<Apart>,
    /// How many of them would share one device; `None` where all do, where not even two do, or where one leaves instead.
    pub fitting: Option<Fitting>,
    /// The cheapest measurement that could change the verdict; `None` where none could.
    pub measurement: Option<Settling>,
    /// Answers that the policy leaves open and that would change the verdict, the greatest change first.
    pub answers: Vec<Answer>,
}

/// What is proposed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chosen {
    /// How the device is shared.
    pub mechanism: MechanismId,
    /// What schedulers of fractional GPUs call it; `None` where each tenant gets a resource of its own.
    pub sharing_mode: Option<&'static str>,
    /// MIG instances with their starts, for people; `None` without MIG.
    pub layout: Option<String>,
    /// What each tenant gets.
    pub assignments: Vec<Assigned>,
    /// How the layout comes about; `None` without MIG.
    pub change: Option<Change>,
    /// Replicas that the device plugin offers for the device; `None` unless it is shared in software.
    pub replicas: Option<u32>,
    /// Devices that it takes.
    pub devices: u32,
    /// What would happen to each tenant.
    pub predicted: Vec<Predicted>,
    /// What it costs; `None` where nothing was predicted.
    pub cost: Option<Cost>,
    /// How many such tenants fit; `None` where that has no meaning.
    pub capacity: Option<Capacity>,
    /// What speaks for it, and what has to be accepted with it.
    pub reasons: Vec<Reason>,
}

/// A way to share that is not proposed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rejected {
    /// Which.
    pub mechanism: MechanismId,
    /// How it stands: refused, open, or possible and less fit than what was chosen.
    pub standing: Standing,
    /// The first of its reasons, as a sentence.
    pub reason: String,
    /// All reasons, those that decide first.
    pub reasons: Vec<Reason>,
    /// What would happen to each tenant, as far as it was predicted.
    pub predicted: Vec<Predicted>,
    /// What it would cost; `None` where nothing was predicted.
    pub cost: Option<Cost>,
    /// How many such tenants would fit; `None` where that has no meaning, or is not known.
    pub capacity: Option<Capacity>,
}

/// Something that makes a verdict less sure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lowered {
    /// What the confidence is multiplied with, 0 to 1.
    pub factor: f64,
    /// What it is, in a sentence.
    pub sentence: String,
    /// What would remove it; `None` where nothing would.
    #[serde(skip)]
    pub remedy: Option<Measurement>,
}

/// What a plan leaves to others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Freed {
    /// Devices fewer than with one for each tenant.
    pub devices: u32,
    /// Share of the device's SMs that nobody has, or asks for on average, 0 to 1; `None` where it is not known.
    pub compute_ratio: Option<f64>,
    /// Share of the device's memory that nobody has, or needs at its peak, 0 to 1; `None` where it is not known.
    pub memory_ratio: Option<f64>,
}

/// One tenant that gets a device of its own, so that the others can share one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Apart {
    /// Its name.
    pub tenant: String,
    /// How the others share then.
    pub mechanism: MechanismId,
    /// Profiles of the others under MIG, in their order; empty otherwise.
    pub profiles: Vec<String>,
    /// Devices that all of them take then, its own included.
    pub devices: u32,
    /// All of it in a sentence.
    pub sentence: String,
}

/// A measurement that could change a verdict, and to what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settling {
    /// What to do.
    pub measurement: Measurement,
    /// The way that could then be chosen; `None` where it takes more than this one.
    pub would_allow: Option<MechanismId>,
    /// What it would change, in a sentence.
    pub sentence: String,
}

/// An answer that the policy leaves open, and the verdict that it would bring.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Key in the policy file.
    pub key: String,
    /// Names of the tenants that it is about; empty for all of them.
    pub tenants: Vec<String>,
    /// The answer, as it would stand in the file.
    pub answer: String,
    /// What the verdict would come to.
    pub outcome: Outcome,
    /// The way that would be chosen; `None` where there would not be enough evidence.
    pub mechanism: Option<MechanismId>,
    /// Devices more (above 0) or fewer than now proposed; `None` where one of both proposes nothing.
    pub devices_change: Option<i64>,
    /// All of it in a sentence.
    pub sentence: String,
}

impl Chosen {
    /// A proposal from its assessment; `None` where nothing could be laid out.
    pub(crate) fn of(it: &Assessment) -> Option<Self> {
        let plan = it.plan.clone()?;
        Some(Self {
            mechanism: it.mechanism,
            sharing_mode: it.mechanism.sharing_mode(),
            layout: plan.layout,
            assignments: plan.assignments,
            change: plan.change,
            replicas: plan.replicas,
            devices: plan.devices,
            predicted: it.tenants.clone(),
            cost: it.cost,
            capacity: it.capacity.clone(),
            reasons: it.reasons.clone(),
        })
    }

    /// Profiles of the MIG instances, in the order of the tenants; empty without MIG.
    pub fn profiles(&self) -> Vec<&str> {
        self.assignments.iter().filter_map(|it| it.profile.as_deref()).collect()
    }
}

impl Verdict {
    /// The way that is proposed; `None` where there is not enough evidence.
    pub fn mechanism(&self) -> Option<MechanismId> {
        self.chosen.as_ref().map(|it| it.mechanism)
    }

    /// Upper end of the worst p99 slowdown of what is proposed; `None` where it was not predicted.
    pub fn worst_p99_factor(&self) -> Option<f64> {
        self.chosen.as_ref()?.cost?.worst_p99_factor
    }

    /// What was predicted of a tenant under the proposal.
    pub fn predicted_p99(&self, tenant: &str) -> Option<Range> {
        let predicted = &self.chosen.as_ref()?.predicted;
        predicted.iter().find(|it| it.tenant == tenant)?.slowdown_p99_factor
    }
}
