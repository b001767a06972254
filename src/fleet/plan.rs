//! A plan for a fleet: who shares with whom, on which GPUs, what that frees and costs, and what the fleet can then no longer do.
//!
//! Printed as JSON as it stands: names carry their unit, unknown is null.

use crate::colocation::whatif::Options;
use crate::fleet::class::WorkloadClass;
use crate::fleet::compatibility::Compatibility;
use crate::fleet::findings::DeviceFinding;
use crate::fleet::freedom::{Freedom, PartCapacity};
use crate::fleet::hardware::Hardware;
use crate::fleet::present::on_present;
use crate::fleet::sensitivity::Sensitivity;
use crate::fleet::stated::on_stated;
use crate::recommender::mechanism::MechanismId;
use crate::recommender::policy::Policy;
use crate::recommender::situation::Limits;
use crate::recommender::tenant_policy::TenantPolicies;
use crate::recommender::verdict::Outcome;
use serde::Serialize;

/// Version of the JSON; raised when a key changes its meaning or goes.
pub const PLAN_VERSION: u32 = 1;

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct PlanQuestion<'a> {
    /// Every device once, as [`crate::fleet::merge::merged`] gives them.
    pub devices: &'a [DeviceFinding],
    /// What owners say.
    pub said: &'a TenantPolicies,
    /// The thresholds.
    pub policy: &'a Policy,
    /// The hardware to plan for; `None` plans for what is there.
    pub hardware: Option<&'a Hardware>,
    /// What an hour of each model costs; `None` takes the prices of the hardware, if it has any.
    pub prices: Option<&'a Hardware>,
    /// Limits of the cluster and the driver.
    pub limits: Limits,
    /// What is known about devices for predictions.
    pub options: Options,
}

impl PlanQuestion<'_> {
    /// Price of a GPU for an hour: as the prices say, else as the hardware does; `None` where neither names the model.
    pub(crate) fn price_of(&self, model: Option<&str>) -> Option<f64> {
        let stated = self.prices.and_then(|it| it.price_of(model));
        stated.or_else(|| self.hardware?.price_of(model))
    }

    /// Currency of those prices; empty where no file names one.
    pub(crate) fn currency(&self) -> String {
        let stated = self.prices.and_then(|it| it.currency.clone());
        stated.or_else(|| self.hardware?.currency.clone()).unwrap_or_default()
    }
}

/// A plan for a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetPlan {
    /// Version of this form.
    pub schema_version: u32,
    /// First sample of all, microseconds since the Unix epoch; `None` without devices.
    pub from_us: Option<i64>,
    /// After the last sample of all, microseconds since the Unix epoch; `None` without devices.
    pub until_us: Option<i64>,
    /// Whether the plan is for stated hardware, and not for what is there.
    pub is_for_stated_hardware: bool,
    /// What it comes to.
    pub summary: Summary,
    /// The same for each kind of GPU.
    pub pools: Vec<PoolSummary>,
    /// Every GPU: those that share first, then those with one tenant, as they are, and free.
    pub devices: Vec<PlannedDevice>,
    /// Kinds of workloads, the largest first.
    pub classes: Vec<WorkloadClass>,
    /// Who may share with whom.
    pub compatibility: Vec<Compatibility>,
    /// What the plan costs in freedom.
    pub freedom: FreedomChange,
    /// What changes of the mix would take.
    pub sensitivity: Vec<Sensitivity>,
    /// Why tenants have a GPU to themselves, the most frequent first.
    pub alone: Vec<AloneReason>,
    /// GPUs that are shared now in a way that a verdict refuses.
    pub refused_now: Vec<RefusedNow>,
    /// Tenants for which the stated hardware has no place.
    pub unplaced: Vec<String>,
    /// What the plan leaves out or assumes, each in a sentence.
    pub caveats: Vec<String>,
    /// What could not be seen, the most frequent first.
    pub unseen: Vec<Unseen>,
}

/// What a plan comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// All of it in a sentence.
    pub sentence: String,
    /// Hosts that were seen; `None` where the recordings name none.
    pub hosts: Option<usize>,
    /// GPUs that were seen.
    pub gpus: usize,
    /// GPUs with somebody on them.
    pub gpus_used_now: usize,
    /// GPUs that the plan takes.
    pub gpus_used_then: usize,
    /// GPUs that the plan frees; negative where tenants that share now have to be separated.
    pub gpus_freed: i64,
    /// Fewer than this are impossible under these rules.
    pub gpus_at_least: usize,
    /// GPUs that a better plan might save at most, as a share of those that it takes.
    pub gap_ratio: f64,
    /// Tenants.
    pub tenants: usize,
    /// Tenants that share a GPU in the plan.
    pub tenants_sharing: usize,
    /// Tenants that have to move to another GPU; `None` for stated hardware, where everybody comes anew.
    pub tenants_moved: Option<usize>,
    /// Tenants of which too little was seen; they stay as they are.
    pub tenants_not_judged: usize,
    /// Mean activity of the used GPUs now, 0 to 1; `None` where it was not recorded.
    pub busy_now_ratio: Option<f64>,
    /// The same in the plan, if all work stays; `None` where it was not recorded.
    pub busy_then_ratio: Option<f64>,
    /// Upper end of the worst p99 slowdown in the plan; `None` where nobody shares, or it was not predicted.
    pub worst_p99_factor: Option<f64>,
    /// Chance that any shared GPU runs out of memory within a day, 0 to 1; `None` where nobody shares, or it is not known.
    pub out_of_memory_day_ratio: Option<f64>,
    /// Tenants that end with one fault, at most; 1 where nobody shares memory.
    pub largest_fault_domain: usize,
    /// Mean confidence of the verdicts on shared GPUs, 0 to 1; `None` where nobody shares.
    pub confidence: Option<f64>,
    /// Least confidence of those verdicts, 0 to 1; `None` where nobody shares.
    pub least_confidence: Option<f64>,
    /// What it costs; `None` without prices.
    pub cost: Option<FleetCost>,
}

/// What the used GPUs cost, as far as prices are stated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetCost {
    /// Currency; empty where the file names none.
    pub currency: String,
    /// Of the GPUs used now, per hour; `None` where the price of one of them is not stated.
    pub now_per_hour: Option<f64>,
    /// Of the GPUs that the plan takes, per hour; `None` where the price of one of them is not stated.
    pub then_per_hour: Option<f64>,
    /// Saved in 30 days; `None` without one of the two.
    pub saved_per_30_days: Option<f64>,
    /// GPUs of which no price is stated, now or then, whichever are more.
    pub gpus_without_price: usize,
}

/// What a plan comes to for one kind of GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolSummary {
    /// The kind.
    pub pool: String,
    /// GPUs that there are.
    pub gpus: usize,
    /// GPUs with somebody on them now; `None` for stated hardware.
    pub gpus_used_now: Option<usize>,
    /// GPUs that the plan takes.
    pub gpus_used_then: usize,
    /// Fewer than this are impossible under these rules.
    pub gpus_at_least: usize,
    /// Of them by MIG, MPS and time slicing.
    pub shared_by: SharedBy,
    /// Price of one for an hour; `None` where it is not stated.
    pub price_per_hour: Option<f64>,
    /// Groups that did well in pairs and were refused as a whole; they were taken apart.
    pub groups_refused: usize,
}

/// Shared GPUs by the way to share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SharedBy {
    /// Hardware partitions.
    pub mig: usize,
    /// Kernels of several clients at once.
    pub mps: usize,
    /// One context at a time.
    pub time_slicing: usize,
}

/// What becomes of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceState {
    /// Several tenants share it.
    Shared,
    /// One tenant has it.
    Alone,
    /// Too little was seen: it stays as it is.
    AsItIs,
    /// The plan frees it.
    Freed,
    /// Nobody is on it, now or then.
    Idle,
    /// It would have to be added.
    Further,
}

impl DeviceState {
    /// Its word, as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Alone => "alone",
            Self::AsItIs => "as-it-is",
            Self::Freed => "freed",
            Self::Idle => "idle",
            Self::Further => "further",
        }
    }
}

/// One GPU of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedDevice {
    /// What becomes of it.
    pub state: DeviceState,
    /// The kind of GPU.
    pub pool: String,
    /// Host; `None` where none is named.
    pub host: Option<String>,
    /// The GPU as recorded; `None` for one of stated or further hardware.
    pub gpu: Option<String>,
    /// Short name for people.
    pub label: String,
    /// How it is shared; `None` where it is not, or stays as it is.
    pub mechanism: Option<MechanismId>,
    /// MIG instances with their starts, for people; `None` without MIG.
    pub layout: Option<String>,
    /// Who is on it.
    pub tenants: Vec<PlannedTenant>,
    /// Tenants on it now.
    pub tenants_now: usize,
    /// Busy shares of its tenants added up; `None` where one is not known.
    pub busy_ratio: Option<f64>,
    /// Memory that they need at their peaks, MiB; `None` where that of one is not known.
    pub needed_mib: Option<f64>,
    /// Upper end of the worst p99 slowdown; `None` where it is not shared, or was not predicted.
    pub worst_p99_factor: Option<f64>,
    /// Chance that it runs out of memory within a day, 0 to 1; `None` where it is not shared, or that is not known.
    pub out_of_memory_day_ratio: Option<f64>,
    /// How sure the verdict is, 0 to 1; `None` where nothing was decided.
    pub confidence: Option<f64>,
    /// What `recommend` says about it with whoever is on it now; `None` for one that is not there.
    pub verdict_now: Option<Outcome>,
    /// What decides, in a sentence.
    pub reason: String,
}

/// One tenant of a planned GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedTenant {
    /// Its name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Profile of its MIG instance; `None` without one.
    pub profile: Option<String>,
    /// The GPU that it leaves; `None` where it stays.
    pub moves_from: Option<String>,
    /// Upper end of its p99 slowdown; `None` where it is alone, or was not predicted.
    pub p99_factor: Option<f64>,
    /// Memory that it needs at its peak, MiB; `None` where it is not known.
    pub needed_mib: Option<f64>,
}

/// What a plan costs in freedom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreedomChange {
    /// As the GPUs are used now; `None` for stated hardware.
    pub now: Option<Freedom>,
    /// With the plan, where freed GPUs are kept.
    pub then: Freedom,
    /// With the plan, where freed GPUs are handed back.
    pub handed_back: Freedom,
    /// Capacity in parts that no single job can use.
    pub parts: PartCapacity,
    /// The same in sentences.
    pub sentences: Vec<String>,
}

/// Why tenants have a GPU to themselves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AloneReason {
    /// In a sentence.
    pub reason: String,
    /// How many.
    pub tenants: usize,
    /// Some of their names.
    pub names: Vec<String>,
}

/// A GPU that is shared now in a way that a verdict refuses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RefusedNow {
    /// Short name of the GPU.
    pub label: String,
    /// Who is on it.
    pub tenants: Vec<String>,
    /// Why, in a sentence.
    pub reason: String,
}

/// Something that could not be seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unseen {
    /// What, in a sentence.
    pub sentence: String,
    /// On how many GPUs.
    pub gpus: usize,
}

/// The plan for a fleet.
pub fn plan(question: &PlanQuestion<'_>) -> FleetPlan {
    match question.hardware {
        None => on_present(question),
        Some(hardware) => on_stated(question, hardware),
    }
}
