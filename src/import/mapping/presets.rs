//! Mappings for published data sets; each is also a commented example of a mapping file.

use crate::import::mapping::Mapping;

/// Every preset: its id and its mapping file.
pub const PRESETS: &[(&str, &str)] = &[
    ("h100-dcgm-10hz", include_str!("presets/h100-dcgm-10hz.toml")),
    ("llm-k8s", include_str!("presets/llm-k8s.toml")),
    ("mig-profiler-dcgm", include_str!("presets/mig-profiler-dcgm.toml")),
    ("alibaba-gentd26-duty", include_str!("presets/alibaba-gentd26-duty.toml")),
    ("alibaba-gentd26-memory", include_str!("presets/alibaba-gentd26-memory.toml")),
    (
        "alibaba-gentd26-pipeline-latency",
        include_str!("presets/alibaba-gentd26-pipeline-latency.toml"),
    ),
    (
        "alibaba-gentd26-predict-latency",
        include_str!("presets/alibaba-gentd26-predict-latency.toml"),
    ),
    ("alibaba-gentd26-queue", include_str!("presets/alibaba-gentd26-queue.toml")),
    ("alibaba-gentd26-qps", include_str!("presets/alibaba-gentd26-qps.toml")),
];

/// The preset of this id; `None` when there is none.
pub fn preset(id: &str) -> Option<Mapping> {
    let (id, text) = PRESETS.iter().find(|it| it.0 == id)?;
    let mapping = Mapping::from_toml(text).ok()?;
    Some(Mapping { preset: Some(id), ..mapping })
}
