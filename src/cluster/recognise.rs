//! What a file is, by content.

/// A kind of file that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `nvidia-smi -L`.
    SmiList,
    /// `nvidia-smi -q`.
    SmiQuery,
    /// `nvidia-smi` without options.
    SmiTable,
    /// `nvidia-smi mig -lgi`.
    GpuInstances,
    /// `nvidia-smi mig -lci`.
    ComputeInstances,
    /// `nvidia-smi mig -lgip`.
    Profiles,
    /// `nvidia-smi mig -lgipp`.
    Placements,
    /// The kubelet's answer to `List` of the pod resources API, as JSON.
    PodResources,
    /// Objects of Kubernetes, as JSON or YAML: pods, nodes, config maps, claim templates, or lists of them.
    Objects,
    /// A configuration of the NVIDIA device plugin.
    PluginConfig,
    /// A configuration of nvidia-mig-parted.
    MigPartedConfig,
}

impl Kind {
    /// All kinds, in the order in which a message lists them.
    pub const ALL: [Self; 11] = [
        Self::SmiList,
        Self::SmiQuery,
        Self::SmiTable,
        Self::GpuInstances,
        Self::ComputeInstances,
        Self::Profiles,
        Self::Placements,
        Self::PodResources,
        Self::Objects,
        Self::PluginConfig,
        Self::MigPartedConfig,
    ];

    /// Name for options and for the folder `fixtures/cluster/<id>/`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::SmiList => "smi-list",
            Self::SmiQuery => "smi-query",
            Self::SmiTable => "smi-table",
            Self::GpuInstances => "gpu-instances",
            Self::ComputeInstances => "compute-instances",
            Self::Profiles => "profiles",
            Self::Placements => "placements",
            Self::PodResources => "pod-resources",
            Self::Objects => "objects",
            Self::PluginConfig => "plugin-config",
            Self::MigPartedConfig => "mig-parted-config",
        }
    }

    /// How a person makes or knows such a file.
    pub const fn about(self) -> &'static str {
        match self {
            Self::SmiList => "`nvidia-smi -L`",
            Self::SmiQuery => "`nvidia-smi -q`",
            Self::SmiTable => "`nvidia-smi`",
            Self::GpuInstances => "`nvidia-smi mig -lgi`",
            Self::ComputeInstances => "`nvidia-smi mig -lci`",
            Self::Profiles => "`nvidia-smi mig -lgip`",
            Self::Placements => "`nvidia-smi mig -lgipp`",
            Self::PodResources => "the kubelet's pod resources (`List`) as JSON",
            Self::Objects => {
                "`kubectl get pods|nodes|configmap|resourceclaimtemplate -o json|yaml`"
            }
            Self::PluginConfig => "a configuration of the NVIDIA device plugin",
            Self::MigPartedConfig => "a configuration of nvidia-mig-parted",
        }
    }
}

/// Every kind in words, for a message.
pub fn understood() -> String {
    Kind::ALL.map(Kind::about).join(", ")
}

/// What a text is; `None` if it is nothing that is understood.
///
/// Kinds of nvidia-smi are told by their headings, anywhere in the text, so that a shell prompt above
/// them does no harm; all else by the names of its topmost keys.
pub fn recognise(text: &str) -> Option<Kind> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    match trimmed.starts_with(['{', '[']) {
        true => of_json(trimmed),
        false => of_listing(trimmed).or_else(|| of_yaml(trimmed)),
    }
}

fn of_listing(text: &str) -> Option<Kind> {
    text.lines().map(str::trim).find_map(|line| {
        let heading = line.trim_start_matches('|').trim_start();
        if heading.starts_with("GPU instance profiles:") {
            return Some(Kind::Profiles);
        }
        if heading.starts_with("GPU instances:") || line.starts_with("No GPU instances found") {
            return Some(Kind::GpuInstances);
        }
        if heading.starts_with("Compute instances:")
            || line.starts_with("No compute instances found")
        {
            return Some(Kind::ComputeInstances);
        }
        if line.starts_with("GPU ") && line.contains("Profile ID") && line.contains("Placement") {
            return Some(Kind::Placements);
        }
        if line.contains("NVSMI LOG") {
            return Some(Kind::SmiQuery);
        }
        if heading.starts_with("NVIDIA-SMI ") || heading.starts_with("Processes:") {
            return Some(Kind::SmiTable);
        }
        let is_device = line.starts_with("GPU ") || line.starts_with("MIG ");
        (is_device && line.contains("(UUID:")).then_some(Kind::SmiList)
    })
}

fn of_json(text: &str) -> Option<Kind> {
    let has = |key: &str| {
        text.match_indices(key).any(|(at, _)| text[at + key.len()..].trim_start().starts_with(':'))
    };
    if has("\"podResources\"") || has("\"pod_resources\"") {
        return Some(Kind::PodResources);
    }
    if has("\"mig-configs\"") && !has("\"kind\"") {
        return Some(Kind::MigPartedConfig);
    }
    if has("\"kind\"") || has("\"items\"") {
        return Some(Kind::Objects);
    }
    let is_config = has("\"sharing\"") || has("\"flags\"");
    (is_config && has("\"version\"")).then_some(Kind::PluginConfig)
}

fn of_yaml(text: &str) -> Option<Kind> {
    let topmost = |key: &str| {
        text.lines().any(|line| line.strip_prefix(key).is_some_and(|it| it.starts_with(':')))
    };
    if topmost("kind") || topmost("apiVersion") {
        return Some(Kind::Objects);
    }
    if topmost("mig-configs") {
        return Some(Kind::MigPartedConfig);
    }
    let is_config = topmost("sharing") || topmost("flags") || topmost("resources");
    (is_config || text.starts_with("version:")).then_some(Kind::PluginConfig)
}
