//! The cards of a file: which GPU a set of labels means, and what was told about it.

use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::outline::{Device, MigInstance};
use crate::domain::sink::Fact;
use crate::import::error::ImportError;
use crate::import::gpu_names::{GpuNames, given};
use crate::import::prometheus_text::line::Labels;
use crate::import::prometheus_text::owner::{Card, Owner, Part, card};
use crate::import::run::ImportRun;
use std::collections::{BTreeMap, BTreeSet};

/// Instances without a number are numbered from here; the driver's numbers lie far below.
const FIRST_MADE_NUMBER: u32 = 1000;

/// What one sample's labels say about a card.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Details {
    /// Product name.
    pub(crate) model: Option<String>,
    /// Driver version.
    pub(crate) driver: Option<String>,
    /// Whether MIG mode is on.
    pub(crate) is_mig: Option<bool>,
}

/// A card and what an info metric's labels say about it.
pub(crate) fn described(labels: &Labels<'_>) -> (Card, Details) {
    let text = |names: &[&str]| labels.any(names).map(str::to_owned);
    let known = card(labels);
    let details = Details {
        model: text(&["name", "hw_model"]),
        driver: text(&["driver_version", "hw_driver_version"]),
        is_mig: labels.get("mig").map(|it| it == "on"),
    };
    let host = known.host.clone().or_else(|| text(&["host"]));
    (Card { host, ..known }, details)
}

/// The cards of a file.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    names: GpuNames,
    devices: BTreeMap<GpuId, Device>,
    profiles: BTreeMap<MigInstanceId, Option<String>>,
    numbers: BTreeMap<(GpuId, String), u32>,
}

impl Cards {
    /// The GPU that labels mean; `masked` are the indices of this scrape's masked cards.
    ///
    /// `Ok(None)`: the labels name no card. Errors: they could mean any of several.
    pub(crate) fn gpu(
        &mut self,
        card: &Card,
        masked: &BTreeSet<u32>,
        run: &ImportRun<'_>,
    ) -> Result<Option<GpuId>, ImportError> {
        if let Some(uuid) = &card.uuid {
            return Ok(Some(GpuId::new(uuid.as_str())));
        }
        let index = match (card.index, masked.first()) {
            (Some(index), _) => index,
            (None, Some(index)) if card.is_masked && masked.len() == 1 => *index,
            (None, Some(_)) if card.is_masked => return Err(ambiguous(masked.len(), run)),
            (None, _) => return Ok(run.options.gpu.as_deref().map(given)),
        };
        Ok(Some(self.names.by_index(card.host.as_deref(), index)))
    }

    /// Takes in what labels say about a GPU, and passes it on when it is new.
    pub(crate) fn describe(
        &mut self,
        gpu: &GpuId,
        card: &Card,
        details: &Details,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        let device = Device {
            gpu: gpu.clone(),
            index: card.index,
            model: details.model.clone(),
            host: card.host.clone(),
            driver: details.driver.clone(),
            is_mig: details.is_mig,
            bus_id: None,
        };
        match self.devices.get_mut(gpu) {
            None => self.devices.insert(gpu.clone(), device.clone()),
            Some(known) => {
                let before = known.clone();
                known.complete_from(&device);
                if *known == before {
                    return Ok(());
                }
                None
            }
        };
        run.fact(Fact::Device(device))
    }

    /// Where readings of an owner belong, and the pod whose labels are on them; `Ok(None)` when nothing names a GPU.
    pub(crate) fn place(
        &mut self,
        owner: &Owner,
        profile: Option<&str>,
        masked: &BTreeSet<u32>,
        run: &mut ImportRun<'_>,
    ) -> Result<Option<(Subject, Option<TenantId>)>, ImportError> {
        let card = match owner {
            Owner::Service(tenant) => {
                return Ok(Some((Subject::Tenant { gpu: None, tenant: tenant.clone() }, None)));
            }
            Owner::Card { card, .. } | Owner::Share { card, .. } | Owner::Process { card, .. } => {
                card
            }
        };
        let Some(gpu) = self.gpu(card, masked, run)? else { return Ok(None) };
        Ok(Some(match owner {
            Owner::Card { part, pod, .. } => {
                let place = match self.instance(&gpu, part, profile, run)? {
                    Some(instance) => Subject::MigInstance { instance },
                    None => Subject::Device { gpu },
                };
                (place, pod.clone())
            }
            Owner::Process { pid, .. } => {
                let process = ProcessKey { pid: *pid, started: None };
                (Subject::Process { gpu, process }, None)
            }
            Owner::Share { tenant, .. } | Owner::Service(tenant) => {
                (Subject::Tenant { gpu: Some(gpu), tenant: tenant.clone() }, None)
            }
        }))
    }

    /// The instance that labels mean; `None` for the whole card.
    fn instance(
        &mut self,
        gpu: &GpuId,
        part: &Part,
        profile: Option<&str>,
        run: &mut ImportRun<'_>,
    ) -> Result<Option<MigInstanceId>, ImportError> {
        let gpu_instance = match part {
            Part::Whole => return Ok(None),
            Part::Instance(number) => *number,
            Part::Unnumbered(name) => {
                let next = FIRST_MADE_NUMBER.saturating_add(self.numbers.len() as u32);
                *self.numbers.entry((gpu.clone(), name.clone())).or_insert(next)
            }
        };
        let (gpu, compute_instance) = (gpu.clone(), None);
        let instance = MigInstanceId { gpu, gpu_instance, compute_instance, generation: 0 };
        let profile = profile.map(str::to_owned);
        if !self.profiles.contains_key(&instance) {
            self.profiles.insert(instance.clone(), profile.clone());
            let tenants = Vec::new();
            let described = MigInstance { instance: instance.clone(), profile, tenants };
            run.fact(Fact::MigInstance(described))?;
        }
        Ok(Some(instance))
    }

    /// Whether instances had to be numbered here.
    pub(crate) fn has_made_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// GPUs of which the file says that MIG is on.
    pub(crate) fn with_mig(&self) -> impl Iterator<Item = &GpuId> {
        self.devices.values().filter(|it| it.is_mig == Some(true)).map(|it| &it.gpu)
    }
}

fn ambiguous(rows: usize, run: &ImportRun<'_>) -> ImportError {
    ImportError::AmbiguousGpu {
        file: run.file().to_owned(),
        line: run.line,
        rows,
        stamp: "of one scrape".to_owned(),
        remedy:
            "the UUIDs are masked, so the GPUs of this host cannot be told apart; scrape again \
                 without masking"
                .to_owned(),
    }
}
