//! Whom a sample of an exporter is about, read from its labels.

use crate::domain::contended::{BEGAN, CONTENDED};
use crate::domain::ident::TenantId;
use crate::domain::metric::{Dialect, Metric};
use crate::domain::shape_families::{HW_ID, HW_INDEX, MIG_INSTANCE, PREFIX, TENANT, is_part};
use crate::import::gpu_names::{driver_uuid, is_mask};
use crate::import::prometheus_text::line::Labels;

/// Prefix that nvidia_gpu_exporter puts in front of every name.
const EXPORTER_PREFIX: &str = "nvidia_smi_";

/// A card as the labels name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Card {
    /// UUID as the driver prints it; `None` where it is missing or masked.
    pub(crate) uuid: Option<String>,
    /// Whether there is a UUID, but only a mask of it.
    pub(crate) is_masked: bool,
    /// Index on the host.
    pub(crate) index: Option<u32>,
    /// Host name.
    pub(crate) host: Option<String>,
}

impl Card {
    /// Whether the labels say nothing about which card it is.
    pub(crate) fn is_nameless(&self) -> bool {
        self.uuid.is_none() && self.index.is_none() && !self.is_masked
    }
}

/// Part of a card, by what the exporter calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The whole card.
    Whole,
    /// A MIG instance by its number.
    Instance(u32),
    /// A MIG instance of which only a name is known: its UUID or its profile.
    Unnumbered(String),
}

/// Whom a sample is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A card or an instance, with the pod whose labels the exporter put on it.
    Card { card: Card, part: Part, pod: Option<TenantId> },
    /// A pod's own part of a card, as HAMi measures it.
    Share { card: Card, tenant: TenantId },
    /// A process on a card.
    Process { card: Card, pid: u32 },
    /// A model server, which does not say where it runs.
    Service(TenantId),
}

impl Owner {
    /// The card that it is on; `None` for a service.
    pub(crate) fn card(&self) -> Option<&Card> {
        match self {
            Self::Card { card, .. } | Self::Share { card, .. } | Self::Process { card, .. } => {
                Some(card)
            }
            Self::Service(_) => None,
        }
    }
}

/// What a metric's name means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    /// A quantity, the exporter that names it so, and the factor to our unit.
    Quantity(Dialect, Metric, f64),
    /// Describes a card in its labels.
    CardInfo,
    /// Its value is the card's index.
    CardIndex,
    /// Its value says whether MIG is on.
    MigMode,
    /// Names a process in its labels.
    ProcessInfo,
    /// A count since the server's start; one scrape of it says nothing about a moment.
    Cumulative,
    /// A part of a shape that `cotenant serve` counted.
    Shape,
    /// Time in which two tenants were busy at once, as `cotenant serve` counted it.
    Contended,
    /// When `cotenant serve` began to count.
    Began,
    /// Known, and nothing that a recording needs.
    Aside,
    /// Nothing that a recording can hold.
    Unknown,
}

/// What a metric's name means.
pub(crate) fn meaning(name: &str) -> Meaning {
    if let Some(bare) = name.strip_prefix(EXPORTER_PREFIX) {
        return match bare {
            "gpu_info" => Meaning::CardInfo,
            "index" => Meaning::CardIndex,
            "mig_mode_current" => Meaning::MigMode,
            "compute_app_info" => Meaning::ProcessInfo,
            _ => quantity(Dialect::NvidiaGpuExporter, bare),
        };
    }
    if name.starts_with("vllm:") {
        let is_cumulative = ["_bucket", "_sum", "_count", "_total", "_created"]
            .iter()
            .any(|ending| name.ends_with(ending));
        return if is_cumulative { Meaning::Cumulative } else { quantity(Dialect::Vllm, name) };
    }
    if name.starts_with(PREFIX) {
        return match quantity(Dialect::Cotenant, name) {
            _ if name == "cotenant_gpu_info" => Meaning::CardInfo,
            _ if name == "cotenant_process_info" => Meaning::ProcessInfo,
            _ if name == CONTENDED => Meaning::Contended,
            _ if name == BEGAN => Meaning::Began,
            Meaning::Unknown if is_part(name) => Meaning::Shape,
            Meaning::Unknown => Meaning::Aside,
            found => found,
        };
    }
    for dialect in [Dialect::Dcgm, Dialect::Hami, Dialect::AllSmi] {
        let found = quantity(dialect, name);
        if found != Meaning::Unknown {
            return found;
        }
    }
    Meaning::Unknown
}

fn quantity(dialect: Dialect, name: &str) -> Meaning {
    match Metric::from_foreign(dialect, name) {
        Some((metric, factor)) => Meaning::Quantity(dialect, metric, factor),
        None => Meaning::Unknown,
    }
}

/// The tool that speaks a dialect.
pub(crate) fn tool(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::NvidiaGpuExporter => "nvidia_gpu_exporter",
        Dialect::Vllm => "vllm",
        Dialect::Hami => "hami",
        Dialect::AllSmi => "all-smi",
        Dialect::Cotenant => "cotenant",
        _ => "dcgm-exporter",
    }
}

/// Whom a sample is about; the error is what the labels should have held.
pub(crate) fn owner(dialect: Dialect, labels: &Labels<'_>) -> Result<Owner, &'static str> {
    if dialect == Dialect::Vllm {
        return service(labels).map(Owner::Service).ok_or("a label `model_name`");
    }
    let card = card(labels);
    if dialect == Dialect::Cotenant
        && let Some(tenant) = labels.any(&["exported_tenant", TENANT])
    {
        let tenant = TenantId::new(tenant);
        // A service whose GPU was never known.
        return Ok(match card.is_nameless() {
            true => Owner::Service(tenant),
            false => Owner::Share { card, tenant },
        });
    }
    if let Some(text) = labels.get("pid") {
        let pid = text.parse().map_err(|_| "a whole number as label `pid`")?;
        return Ok(Owner::Process { card, pid });
    }
    match pod(labels).filter(|_| dialect != Dialect::Cotenant) {
        Some(tenant) if dialect == Dialect::Hami => Ok(Owner::Share { card, tenant }),
        pod => Ok(Owner::Card { card, part: part(labels)?, pod }),
    }
}

/// The card that the labels name.
pub(crate) fn card(labels: &Labels<'_>) -> Card {
    let uuid = labels.any(&["UUID", "uuid", "deviceuuid", "device_uuid", "gpu_uuid", HW_ID]);
    // In all-smi's data `gpu` is the model, and the index stands beside it.
    let index = ["gpu", "index", "deviceidx", "device_index", "gpu_index", HW_INDEX];
    Card {
        uuid: uuid.and_then(driver_uuid),
        is_masked: uuid.is_some_and(is_mask),
        index: index.iter().find_map(|it| labels.get(it)?.parse().ok()),
        host: labels.any(&["Hostname", "hostname"]).map(str::to_owned),
    }
}

fn part(labels: &Labels<'_>) -> Result<Part, &'static str> {
    if let Some(number) = labels.any(&["GPU_I_ID", MIG_INSTANCE]) {
        return number
            .parse()
            .map(Part::Instance)
            .map_err(|_| "a whole number as label `GPU_I_ID`");
    }
    let name = labels.any(&["dra_mig_device_uuid", "GPU_I_PROFILE", "dra_mig_profile"]);
    Ok(name.map_or(Part::Whole, |it| Part::Unnumbered(it.to_owned())))
}

/// The profile of the instance that the labels name.
pub(crate) fn profile<'a>(labels: &'a Labels<'_>) -> Option<&'a str> {
    labels.any(&["GPU_I_PROFILE", "dra_mig_profile"])
}

/// The container that the exporter holds responsible, as `namespace/pod/container`.
///
/// After relabelling the workload's labels carry `exported_`, and the plain ones name the exporter itself.
fn pod(labels: &Labels<'_>) -> Option<TenantId> {
    for [namespace, pod, container] in [
        ["exported_namespace", "exported_pod", "exported_container"],
        ["namespace", "pod", "container"],
        ["pod_namespace", "pod_name", "container_name"],
        ["podnamespace", "podname", "ctrname"],
    ] {
        if labels.get(pod).is_some() {
            let parts = [namespace, pod, container].map(|it| labels.get(it));
            let parts: Vec<&str> = parts.into_iter().flatten().collect();
            return Some(TenantId::new(parts.join("/")));
        }
    }
    labels.get("hpc_job").map(|job| TenantId::new(format!("hpc_job/{job}")))
}

/// The served model; further engines of one model carry their number.
fn service(labels: &Labels<'_>) -> Option<TenantId> {
    let model = labels.get("model_name")?;
    Some(match labels.get("engine") {
        None | Some("0") => TenantId::new(model),
        Some(engine) => TenantId::new(format!("{model}/engine{engine}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::prometheus_text::line::{PromLine, parse};

    fn owner_of(line: &str) -> Owner {
        match parse(line, &mut String::new()) {
            PromLine::Sample(it) => owner(Dialect::Dcgm, &it.labels).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_spelling_of_the_pod_labels_names_the_same_tenant() {
        for labels in [
            r#"pod="p",namespace="n",container="c""#,
            r#"pod_name="p",pod_namespace="n",container_name="c""#,
            r#"podname="p",podnamespace="n",ctrname="c""#,
            r#"exported_pod="p",exported_namespace="n",exported_container="c",pod="dcgm-exporter-x1",namespace="monitoring",container="exporter""#,
        ] {
            let Owner::Card { pod, .. } = owner_of(&format!("a{{gpu=\"0\",{labels}}} 1")) else {
                panic!()
            };
            assert_eq!(pod, Some(TenantId::new("n/p/c")), "{labels}");
        }
    }

    #[test]
    fn empty_pod_labels_name_nobody() {
        let Owner::Card { pod, .. } = owner_of(r#"a{gpu="0",pod="",namespace="",container=""} 1"#)
        else {
            panic!()
        };
        assert_eq!(pod, None);
    }

    #[test]
    fn what_hami_measures_of_a_pod_is_the_pods_own() {
        let line = r#"vGPU_device_memory_usage_in_bytes{deviceuuid="GPU-1",podname="p",podnamespace="n",ctrname="c",vdeviceid="0"} 5"#;
        let PromLine::Sample(sample) = parse(line, &mut String::new()) else { panic!() };
        let Meaning::Quantity(dialect, Metric::FramebufferUsed, 1.0) = meaning(sample.name) else {
            panic!()
        };
        let Ok(Owner::Share { card, tenant }) = owner(dialect, &sample.labels) else { panic!() };
        assert_eq!((card.uuid.as_deref(), tenant), (Some("GPU-1"), TenantId::new("n/p/c")));
    }

    #[test]
    fn an_instance_is_known_by_its_number_or_else_by_its_name() {
        let part_of = |line| match owner_of(line) {
            Owner::Card { part, .. } => part,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            part_of(r#"a{gpu="0",GPU_I_ID="13",GPU_I_PROFILE="1g.5gb"} 1"#),
            Part::Instance(13)
        );
        assert_eq!(part_of(r#"a{gpu="0",GPU_I_ID="",GPU_I_PROFILE=""} 1"#), Part::Whole);
        let named = part_of(r#"a{gpu="0",dra_mig_profile="1g.5gb",dra_mig_device_uuid="MIG-7"} 1"#);
        assert_eq!(named, Part::Unnumbered("MIG-7".to_owned()));
    }

    #[test]
    fn old_and_new_names_of_dcgm_mean_the_same_metric() {
        for (old, new) in [
            ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"),
            ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"),
            ("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"),
        ] {
            assert_eq!(meaning(old), meaning(new));
            assert_ne!(meaning(old), Meaning::Unknown);
        }
    }
}
