//! Every list that users see is complete, well named and documented.
//!
//! `BLESS=1 cargo test --test registries` rewrites `docs/METRICS.md`; look at the difference.
#![allow(clippy::disallowed_methods, reason = "tests read BLESS")]

use cotenant::analysis::diagnosis_findings::{
    Diagnosis, ExperimentBlock, ExperimentPlan, ExperimentResult, Outcome, Picture, PictureRow,
    Slowness, Suspicion,
};
use cotenant::analysis::influence::findings::{
    ClockOffset, ClockOffsetOrigin, ContendedPair, Contention, Influence, InfluenceFindings,
    InfluenceVerdict, LookAlike, LookAlikeKind, LookAlikeState,
};
use cotenant::colocation::observation::COLUMNS;
use cotenant::colocation::profiles::profiles;
use cotenant::domain::blind_spot::{BlindSpot, BlindSpotKind};
use cotenant::domain::contended::{ContendedSpan, PairSeconds};
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::{Dialect, Metric, MetricSpec, Precision, Scope};
use cotenant::domain::metric_table::METRICS;
use cotenant::domain::outline::{Device, Outline, Phase};
use cotenant::domain::sink::{Fact, Sink, SinkError};
use cotenant::domain::source::{Reading, Source, SourceId};
use cotenant::domain::time::{SampleInterval, TimeSpan, Timestamp};
use cotenant::import::IMPORTERS;
use cotenant::import::mapping::PRESETS;
use cotenant::recommender::audit::CHECKS as AUDIT_CHECKS;
use cotenant::recommender::policy::Policy;
use cotenant::report::sections::{PROOFS, SECTIONS};
use cotenant::sampler::doctor::CHECKS;
use cotenant::sampler::services::preset_rows;
use cotenant::sampler::tenants::{GHOST, MPS_SERVER, Rules, UNATTRIBUTED};
use cotenant::storage::{Mode, RecordingWriter};
use cotenant_scenario::SCENARIOS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn doc(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|it| panic!("{}: {it}", path.display()))
}

/// What the program prints on standard output.
fn printed(arguments: &[&str]) -> String {
    let outcome = Command::new(env!("CARGO_BIN_EXE_cotenant")).args(arguments).output();
    String::from_utf8(outcome.expect("the program starts").stdout).expect("UTF-8")
}

/// A recording in which every analysis finds something, made once.
fn example() -> &'static str {
    static MADE: OnceLock<String> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("registries-example");
        let mut writer = RecordingWriter::open(&folder, Mode::Replace).expect("a place to write");
        describe(&mut writer).expect("facts are taken");
        for second in 0..600 {
            fill(&mut writer, second).expect("rows are taken");
        }
        writer.finish().expect("the recording is written");
        folder.to_string_lossy().into_owned()
    })
}

fn gpu(index: u32) -> Subject {
    Subject::device(&GpuId::from_index(index))
}

fn process(pid: u32) -> Subject {
    Subject::Process { gpu: GpuId::from_index(0), process: ProcessKey { pid, started: None } }
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000 + 1_000_000 * second)
}

fn describe(sink: &mut dyn Sink) -> Result<(), SinkError> {
    sink.fact(Fact::Source(Source {
        id: SourceId(0),
        format: "smi-query".to_owned(),
        tool: "nvidia-smi".to_owned(),
        tool_version: None,
        file: Some("log.csv".to_owned()),
        asked_interval: SampleInterval::from_micros(1_000_000),
        clock: "UTC".to_owned(),
        readings: BTreeMap::from([(Metric::SmActive, Reading::WindowAverage { window: None })]),
    }))?;
    sink.fact(Fact::Device(Device { index: Some(0), ..Device::named(GpuId::from_index(0)) }))?;
    let span = TimeSpan::covering(instant(0), instant(300));
    let pair =
        PairSeconds { first: TenantId::new("batch"), second: TenantId::new("chat"), seconds: 40.0 };
    let counted = ContendedSpan { gpu: GpuId::from_index(0), span, pairs: vec![pair] };
    sink.fact(Fact::Contended(counted))?;
    sink.fact(Fact::Phase(Phase { label: "first half".to_owned(), span, gpu: None }))?;
    sink.fact(Fact::BlindSpot(BlindSpot {
        kind: BlindSpotKind::Gap,
        subject: Some(gpu(0)),
        metric: Some(Metric::Power),
        span: Some(span),
        detail: "an example".to_owned(),
        remedy: "none".to_owned(),
    }))
}

/// Numbers without a rhythm.
fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0x94d0_49bb_1331_11eb)
        >> 32
}

/// A GiB in bytes.
const GIB: f64 = 1_073_741_824.0;

/// What the two processes hold; the second is lost while the first has taken the rest.
fn memory_of(second: i64) -> (f64, Option<f64>) {
    let first = if second % 30 < 5 { 12.0 } else { 4.0 };
    let other = if second % 47 < 3 && second < 290 { 9.0 } else { 4.0 };
    let is_lost = (303..330).contains(&second);
    (first * GIB, (!is_lost).then_some(other * GIB))
}

/// A device whose bursts use few SMs, two processes that burst, one device that flickers, a service.
fn fill(sink: &mut dyn Sink, second: i64) -> Result<(), SinkError> {
    let (at, source) = (instant(second), SourceId(0));
    let is_on = second % 30 < 20;
    let noise = (hash(second.unsigned_abs()) % 31) as f64;
    let busy = if is_on { 96.0 } else { 2.0 };
    let few = if is_on { 0.2 } else { 0.01 };
    let (first, second_one) = memory_of(second);
    let of_device = [
        (Metric::GpuUtilization, busy),
        (Metric::SmActive, few),
        (Metric::FramebufferUsed, first + second_one.unwrap_or(0.0)),
        (Metric::FramebufferTotal, 17.0 * GIB),
    ];
    sink.row(at, &gpu(0), source, &of_device)?;
    sink.row(at, &gpu(1), source, &[(Metric::GpuUtilization, 15.0 + noise)])?;
    sink.row(at, &process(1), source, &[(Metric::GpuUtilization, busy - noise / 10.0)])?;
    sink.row(at, &process(2), source, &[(Metric::GpuUtilization, busy)])?;
    sink.row(at, &process(1), source, &[(Metric::FramebufferUsed, first)])?;
    if let Some(held) = second_one {
        sink.row(at, &process(2), source, &[(Metric::FramebufferUsed, held)])?;
    }
    let service = Subject::Tenant { gpu: None, tenant: TenantId::new("chat") };
    sink.row(at, &service, source, &[(Metric::LatencyP99, 0.2)])
}

/// Fails with every name that a page does not have as code.
fn refuse_missing<'a>(page: &str, names: impl IntoIterator<Item = &'a str>) {
    let text = doc(page);
    let missing: BTreeSet<&str> =
        names.into_iter().filter(|it| !text.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty(), "docs/{page} does not explain {missing:?}");
}

fn is_kebab_case(id: &str) -> bool {
    let is_legal = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    id.bytes().all(is_legal) && !id.starts_with('-') && !id.ends_with('-') && !id.contains("--")
}

fn subject_of(scope: Scope) -> &'static str {
    match scope {
        Scope::Device => "GPU",
        Scope::DeviceOrInstance => "GPU, MIG instance",
        Scope::Anyone => "GPU, MIG instance, process, tenant",
        Scope::Service => "tenant",
    }
}

fn reading_of(reading: Reading) -> &'static str {
    match reading {
        Reading::Instant => "instant",
        Reading::WindowAverage { .. } => "average",
        Reading::Counter => "counter",
        Reading::LastEvent => "last event",
    }
}

fn dialect_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Smi => "nvidia-smi --query",
        Dialect::Dmon => "dmon",
        Dialect::Pmon => "pmon",
        Dialect::Dcgmi => "dcgmi dmon",
        Dialect::Dcgm => "DCGM",
        Dialect::NvidiaGpuExporter => "nvidia_gpu_exporter",
        Dialect::Vllm => "vLLM",
        Dialect::Hami => "HAMi",
        Dialect::AllSmi => "all-smi",
        Dialect::SmiLog => "nvidia-smi -q",
        Dialect::AllSmiRecord => "all-smi record",
        Dialect::Nvitop => "nvitop",
        Dialect::Gpustat => "gpustat",
        Dialect::Wandb => "W&B",
        Dialect::Nsight => "Nsight Systems",
        Dialect::Cotenant => "`cotenant serve`",
    }
}

fn names_of(spec: &MetricSpec) -> String {
    let mut dialects: Vec<Dialect> = spec.names.iter().map(|it| it.0).collect();
    dialects.sort();
    dialects.dedup();
    let one = |dialect: &Dialect| {
        let names = spec.names.iter().filter(|it| it.0 == *dialect);
        let names: Vec<String> = names
            .map(|it| match it.2 {
                1.0 => format!("`{}`", it.1),
                factor => format!("`{}` × {factor}", it.1),
            })
            .collect();
        format!("{}: {}", dialect_of(*dialect), names.join(", "))
    };
    dialects.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn metrics_page() -> String {
    let mut page = String::from(
        "# Metrics\n\n\
         Every quantity that a recording can hold, printed from `src/domain/metric_table.rs`.\n\
         `BLESS=1 cargo test --test registries` rewrites this page; without `BLESS` the same test compares it.\n\n\
         - **Key**: name of the column in a recording, of the key in JSON, and of the metric in a mapping file; it ends in the unit.\n\
         - **About**: whom a reading can be about.\n\
         - **Reading**: what one value stands for unless its source says otherwise: the *instant* of the stamp, the *average* over the driver's window or since the sample before, a *counter* that only grows, or the *last event*.\n\
         - **Range**: a value outside it is a broken reading and is left out, with a remark.\n\
         - **Stored**: `f32` (32-bit float) or `i64` (64-bit integer, exact).\n\n\
         | Key | Label | Unit | About | Reading | Range | Stored | Meaning |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for it in METRICS {
        let stored = match it.precision {
            Precision::Single => "f32",
            Precision::Whole => "i64",
        };
        page.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} to {} | {stored} | {} |\n",
            it.key,
            it.label,
            it.unit.symbol(),
            subject_of(it.scope),
            reading_of(it.reading),
            it.range.0,
            it.range.1,
            it.meaning,
        ));
    }
    page.push_str(
        "\n## Names in other tools\n\n\
         A factor stands behind a name whose values are not in our unit.\n\
         Counters and histograms of vLLM count since the server's start; a scrape of them is kept as a blind spot.\n\n\
         | Key | DCGM field | Names |\n|---|---|---|\n",
    );
    for it in METRICS.iter().filter(|it| !it.names.is_empty() || it.dcgm_id.is_some()) {
        let id = it.dcgm_id.map(|it| it.to_string()).unwrap_or_default();
        page.push_str(&format!("| `{}` | {id} | {} |\n", it.key, names_of(it)));
    }
    page
}

#[test]
fn the_page_of_metrics_is_printed_from_the_table() {
    let page = metrics_page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/METRICS.md");
    if std::env::var("BLESS").is_ok() {
        std::fs::write(&path, &page).expect("docs/METRICS.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/METRICS.md is not the table; BLESS=1 rewrites it");
}

#[test]
fn every_list_has_unique_names_in_kebab_case() {
    let lists: [(&str, Vec<&str>); 6] = [
        ("AUDIT_CHECKS", AUDIT_CHECKS.iter().map(|it| it.id).collect()),
        ("CHECKS", CHECKS.to_vec()),
        ("IMPORTERS", IMPORTERS.iter().map(|it| it.id()).collect()),
        ("PRESETS", PRESETS.iter().map(|it| it.0).collect()),
        ("SECTIONS", SECTIONS.iter().chain(PROOFS).map(|it| it.id()).collect()),
        ("SCENARIOS", SCENARIOS.iter().map(|it| it.0).collect()),
    ];
    for (list, ids) in lists {
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len(), "{list}: a name stands twice in {ids:?}");
        for id in ids {
            assert!(is_kebab_case(id), "{list}: `{id}` is not in kebab case");
        }
    }
    assert!(!is_kebab_case("smi_query") && !is_kebab_case("-x") && is_kebab_case("steady-30"));
}

#[test]
fn every_file_of_a_list_is_in_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stems = |folder: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
        let paths = entries.flatten().map(|it| it.path());
        let tables = paths.filter(|it| it.extension().is_some_and(|it| it == "toml"));
        tables.filter_map(|it| Some(it.file_stem()?.to_str()?.to_owned())).collect()
    };
    let listed = |ids: &[(&str, &str)]| ids.iter().map(|it| it.0.to_owned()).collect();
    let presets: BTreeSet<String> = listed(PRESETS);
    assert_eq!(stems("src/import/mapping/presets"), presets, "add the preset to PRESETS");
    let scenarios: BTreeSet<String> = listed(SCENARIOS);
    assert_eq!(stems("fixtures/scenario/scenarios"), scenarios, "add the scenario to SCENARIOS");
    for entry in std::fs::read_dir(root.join("fixtures/imports")).expect("samples").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_known = IMPORTERS.iter().any(|it| it.id() == name)
            || PRESETS.iter().any(|it| it.0 == name)
            || name == "mapping";
        assert!(is_known, "fixtures/imports/{name} belongs to no importer");
    }
}

#[test]
fn the_page_of_the_command_line_explains_every_format_preset_threshold_and_scenario() {
    let policy = Policy::default();
    let thresholds = policy.thresholds();
    refuse_missing(
        "CLI.md",
        (IMPORTERS.iter().map(|it| it.id()))
            .chain(PRESETS.iter().map(|it| it.0))
            .chain(SCENARIOS.iter().map(|it| it.0))
            .chain(CHECKS.iter().copied())
            .chain(thresholds.iter().map(|it| it.key)),
    );
    let text = doc("CLI.md");
    for it in &thresholds {
        let row = format!("| `{}` | {} | {} | {} |", it.key, it.unit, it.value, it.reason);
        assert!(text.contains(&row), "docs/CLI.md lacks the row\n{row}");
    }
}

/// The keys among which a wrong one of the tenant file could have been meant.
fn tenant_keys(text: &str) -> Vec<String> {
    let error = Rules::from_toml(text).expect_err("the key does not exist");
    let choice = error.remedy().strip_prefix("choose one of ").expect("a choice");
    choice.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_pages_explain_every_key_of_a_tenant_file_and_every_metric_of_a_server() {
    let text = doc("CLI.md");
    for (table, wrong) in [
        ("", "qqqqqqqqqqqqqqqq = 1"),
        ("[[rule]]", "[[rule]]\nqqqqqqqqqqqqqqqq = 1"),
        ("[[pod]]", "[[pod]]\nqqqqqqqqqqqqqqqq = 1"),
        ("[[container]]", "[[container]]\nqqqqqqqqqqqqqqqq = 1"),
    ] {
        for key in tenant_keys(wrong) {
            let shown = if table.is_empty() { format!("[[{key}]]") } else { format!("{key} = ") };
            assert!(text.contains(&shown), "docs/CLI.md lacks {table} {key}");
        }
    }
    let page = doc("TENANTS.md");
    for row in preset_rows() {
        assert!(page.contains(&row), "docs/TENANTS.md lacks the row\n{row}");
    }
    for name in [UNATTRIBUTED, GHOST, MPS_SERVER] {
        assert!(page.contains(&format!("`{name}`")), "docs/TENANTS.md lacks {name}");
    }
}

/// First words of the indented lines between `start` and the next empty line.
fn first_words<'a>(help: &'a str, start: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|it| !it.starts_with(start)).skip(1);
    lines.take_while(|it| !it.is_empty()).filter_map(|it| it.split_whitespace().next()).collect()
}

#[test]
fn the_page_of_the_command_line_explains_every_command_and_option() {
    let help = printed(&["--help"]);
    let commands = first_words(&help, "Commands:");
    assert!(commands.contains(&"analyze"), "{help}");
    let text = doc("CLI.md");
    for command in commands.iter().filter(|it| **it != "help") {
        let heading = format!("## `cotenant {command}`");
        assert!(text.contains(&heading), "docs/CLI.md lacks the heading {heading}");
        let help = printed(&[command, "--help"]);
        let is_option = |it: &&str| it.starts_with("--") && it.len() > 2;
        for option in help.split([' ', ',', '\n']).filter(is_option) {
            let option = option.trim_end_matches([';', '.', ')', ']', '>']);
            assert!(
                text.contains(&format!("`{option}")),
                "docs/CLI.md lacks {option} of {command}"
            );
        }
    }
}

/// Every key of a document, but those of maps whose keys are names of metrics.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if METRICS.iter().all(|it| it.key != key) {
                    found.insert(key.clone());
                }
                keys(value, found);
            }
        }
        Value::Array(all) => all.iter().for_each(|it| keys(it, found)),
        _ => {}
    }
}

#[test]
fn the_page_of_the_command_line_explains_every_key_of_the_json_and_every_column_of_the_csv() {
    let text = printed(&["analyze", example(), "-o", "json", "--window", "60s..120s"]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let mut found = BTreeSet::new();
    keys(&document, &mut found);
    for key in [
        "burst_lengths",
        "utilisation_trap",
        "gpu_utilization_ratio",
        "about_s",
        "lift",
        "strength",
        "shapley_ratio",
        "measured_high_ratio",
        "coincidence_ratio",
    ] {
        assert!(found.contains(key), "the example has no `{key}`, so the test checks too little");
    }
    refuse_missing("CLI.md", found.iter().map(String::as_str));
    let verdicts = printed(&["recommend", example(), "-o", "json"]);
    let document: Value = serde_json::from_str(&verdicts).expect("JSON");
    let mut found = BTreeSet::new();
    keys(&document, &mut found);
    for key in ["apart", "rejected", "standing", "lowered_by", "weight", "by_load"] {
        assert!(found.contains(key), "the example has no `{key}`, so the test checks too little");
    }
    refuse_missing("CLI.md", found.iter().map(String::as_str));
    let table = printed(&["analyze", example(), "-o", "csv"]);
    refuse_missing("CLI.md", table.lines().next().expect("a header").split(','));
    let export = printed(&["export", example(), "--to", "csv"]);
    let header = export.lines().next().expect("a header").split(',');
    refuse_missing("CLI.md", header.filter(|it| METRICS.iter().all(|spec| spec.key != *it)));
}

/// A pair of which nothing is known.
fn influence() -> Influence {
    let subject = process(1);
    Influence {
        gpu: None,
        suspect: "batch".to_owned(),
        suspect_subject: subject.clone(),
        victim: "chat".to_owned(),
        victim_subject: subject.clone(),
        metric: Metric::LatencyP99,
        scope: cotenant::analysis::findings::Scope::Whole,
        verdict: InfluenceVerdict::Confirmed,
        effect_ratio: None,
        effect_low: None,
        effect_high: None,
        lag_seconds: None,
        p_granger: None,
        p_event: None,
        q: None,
        q_any_dependence: None,
        mde_ratio: None,
        through: None,
        importance_ratio: None,
        cpi2_score: None,
        dose_ratios: Vec::new(),
        bin_s: 1.0,
        bins: 0,
        bursts: 0,
        on_ratio_of_time: None,
        held_fixed: Vec::new(),
        reasons: Vec::new(),
        remedy: None,
    }
}

/// One of each type of result that a recording may or may not give.
fn neighbour_results() -> Value {
    let span = TimeSpan::covering(instant(0), instant(60));
    let influence = influence();
    let look_alike = LookAlike {
        kind: LookAlikeKind::PowerCap,
        state: LookAlikeState::Found,
        victim: None,
        victim_subject: None,
        metric: None,
        effect_ratio: None,
        share_of_time: None,
        spans: vec![span],
        sentence: String::new(),
    };
    let clock_offset = ClockOffset {
        tenant: "chat".to_owned(),
        offset_s: 0.0,
        origin: ClockOffsetOrigin::Assumed,
        sentence: String::new(),
    };
    let pair = ContendedPair { first: String::new(), second: String::new(), contended_s: 0.0 };
    let contention = Contention {
        tenants: Vec::new(),
        contended_s: 0.0,
        seen_s: 0.0,
        pairs: vec![pair],
        caveat: String::new(),
    };
    let influences = InfluenceFindings {
        pairs: vec![influence.clone()],
        look_alikes: vec![look_alike.clone()],
        contention: Some(contention),
        clock_offsets: vec![clock_offset.clone()],
    };
    let diagnosis = diagnosis(span, influence, look_alike, clock_offset);
    serde_json::json!([influences, diagnosis, experiment_result(span)])
}

fn diagnosis(
    window: TimeSpan,
    influence: Influence,
    look_alike: LookAlike,
    clock_offset: ClockOffset,
) -> Diagnosis {
    let row = PictureRow {
        suspect: String::new(),
        activity: Vec::new(),
        bursts: vec![window],
        is_guilty: true,
    };
    Diagnosis {
        headline: String::new(),
        outcome: Outcome::Neighbour,
        victim: String::new(),
        victim_subject: process(1),
        gpu: None,
        metric: Metric::LatencyP99,
        window,
        slowness: Slowness {
            window_p50: None,
            window_p95: None,
            normal_p50: None,
            normal_p95: None,
            change_ratio: None,
            window_bins: 0,
            normal_bins: 0,
        },
        suspects: vec![Suspicion {
            rank: 1,
            suspect: String::new(),
            influence,
            window_activity_ratio: None,
            is_idle_in_window: false,
            normal_activity_ratio: None,
            explained_ratio: None,
            sentence: String::new(),
        }],
        look_alikes: vec![look_alike],
        out_of_memory: Vec::new(),
        clock_offset: Some(clock_offset),
        picture: Picture {
            from: window.from(),
            bin_s: 1.0,
            victim: Vec::new(),
            suspects: vec![row],
        },
        experiment: Some(ExperimentPlan {
            suspect: String::new(),
            victim: String::new(),
            metric: Metric::LatencyP99,
            block_s: 1.0,
            settle_s: 0.0,
            blocks: Vec::new(),
            least_p: 1.0,
            steps: Vec::new(),
        }),
        blind_spots: Vec::new(),
    }
}

fn experiment_result(span: TimeSpan) -> ExperimentResult {
    ExperimentResult {
        suspect: String::new(),
        victim: String::new(),
        metric: Metric::LatencyP99,
        headline: String::new(),
        is_proven: false,
        effect_ratio: 0.0,
        effect_low: None,
        effect_high: None,
        p_value: 1.0,
        arrangements: 1,
        blocks: vec![ExperimentBlock {
            span,
            suspect_runs: true,
            victim_mean: None,
            suspect_activity_ratio: None,
            bins: 0,
        }],
        caveats: Vec::new(),
    }
}

#[test]
fn the_page_of_the_command_line_explains_every_key_about_neighbours() {
    let mut found = BTreeSet::new();
    keys(&neighbour_results(), &mut found);
    assert!(found.contains("p_granger") && found.contains("suspect_runs"), "{found:?}");
    refuse_missing("CLI.md", found.iter().map(String::as_str));
    let table = printed(&["analyze", example(), "-o", "csv", "--table", "influences"]);
    refuse_missing("CLI.md", table.lines().next().expect("a header").split(','));
}

#[test]
fn the_page_of_the_command_line_explains_every_key_about_what_ifs() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("registries-tenants.toml");
    let tenant = |name: &str| format!("[[tenant]]\nname = \"{name}\"\nduty = 0.3\nburst_s = 1\n");
    std::fs::write(&path, tenant("a") + &tenant("b")).expect("a file can be written");
    let table = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("registries-learn.csv");
    let row = "H100,mps,a,b,,,,,1.1\n";
    std::fs::write(&table, COLUMNS.join(",") + "\n" + row).expect("a file can be written");
    let (path, table) = (path.to_string_lossy(), table.to_string_lossy());
    let asked = |form: &str| {
        let arguments = ["--profiles", &path, "--learn", &table, "--slo", "p99=2x", "-o", form];
        printed(&[&["whatif"], &arguments[..]].concat())
    };
    let document: Value = serde_json::from_str(&asked("json")).expect("JSON");
    let mut found = BTreeSet::new();
    keys(&document, &mut found);
    for key in ["learned_slowdown", "quantum_s", "slowdown_p99_low", "factor"] {
        assert!(found.contains(key), "the example has no `{key}`, so the test checks too little");
    }
    refuse_missing("CLI.md", found.iter().map(String::as_str));
    refuse_missing("CLI.md", asked("csv").lines().next().expect("a header").split(','));
    let text = doc("CLI.md");
    assert!(text.contains(&COLUMNS.join(",")), "docs/CLI.md lacks the columns of co-locations");
    let error = profiles("[[tenant]]\nqqqqqqqqqqqqqqqq = 1").expect_err("no such key");
    let choice = error.remedy().strip_prefix("choose one of ").expect("a choice").to_owned();
    for key in choice.split(", ") {
        assert!(text.contains(&format!("{key} = ")), "docs/CLI.md lacks {key} of a profile");
    }
}

#[test]
fn the_page_of_audits_explains_every_check() {
    let page = doc("AUDIT.md");
    for it in AUDIT_CHECKS {
        let row = format!("| `{}` | {} | {} | {} |", it.id, it.question, it.needs, it.remedy);
        assert!(page.contains(&row), "docs/AUDIT.md lacks the row\n{row}");
    }
}

#[test]
fn the_page_of_the_command_line_explains_every_key_about_audits() {
    let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cluster/nodes/clean");
    let file = |name: &str| node.join(name).to_string_lossy().into_owned();
    let files = ["smi-list.txt", "smi-query.txt", "pods.json", "pod-resources.json"].map(file);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let asked = |form: &str| printed(&[&["audit", "-o", form, "--node"], &files[..]].concat());
    let document: Value = serde_json::from_str(&asked("json")).expect("JSON");
    let mut found = BTreeSet::new();
    keys(&document, &mut found);
    for key in ["evidence", "memory_mib", "fine", "file_kind"] {
        assert!(found.contains(key), "the example has no `{key}`, so the test checks too little");
    }
    refuse_missing("CLI.md", found.iter().map(String::as_str));
    refuse_missing("CLI.md", asked("csv").lines().next().expect("a header").split(','));
}

#[test]
fn the_page_of_the_command_line_explains_every_key_about_plans() {
    let recording = example();
    let policy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("registries-plan-policy.toml");
    std::fs::write(&policy, "[default]\ntrust_domain = \"a\"\nclass = \"batch\"\n")
        .expect("a file");
    let hardware = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("registries-hardware.toml");
    let text = "currency = \"USD\"\n[[gpu]]\nmodel = \"H100\"\ncount = 2\nprice_per_hour = 2.0\n";
    std::fs::write(&hardware, text).expect("a file can be written");
    let (policy, hardware) = (policy.to_string_lossy(), hardware.to_string_lossy());
    let mut found = BTreeSet::new();
    for more in [&["--no-keep"][..], &["--no-keep", "--hardware", &hardware]] {
        let start = ["plan", recording, "--policy", &policy, "-o", "json"];
        let document: Value =
            serde_json::from_str(&printed(&[&start[..], more].concat())).expect("JSON");
        keys(&document, &mut found);
    }
    for key in ["sensitivity", "gpus_freed", "tenants_to_move", "moves_from"] {
        assert!(found.contains(key), "the example has no `{key}`, so the test checks too little");
    }
    refuse_missing("CLI.md", found.iter().map(String::as_str));
    let table = printed(&["plan", recording, "--no-keep", "-o", "csv"]);
    refuse_missing("CLI.md", table.lines().next().expect("a header").split(','));
    let page = doc("PLAN.md");
    for (key, _) in cotenant::fleet::hardware::Hardware::KEYS {
        assert!(page.contains(&format!("{key} = ")), "docs/PLAN.md lacks {key}");
    }
}

#[test]
fn the_page_of_recordings_explains_everything_in_the_footer() {
    let outline = serde_json::to_value(Outline::default()).expect("JSON");
    let mut found = BTreeSet::new();
    keys(&outline, &mut found);
    refuse_missing("RECORDING.md", found.iter().map(String::as_str));
}

#[test]
fn every_test_that_a_page_names_exists() {
    let (methods, adding) = (doc("METHODS.md"), doc("ADDING.md"));
    let reproduced = methods.lines().filter_map(|it| it.strip_prefix("Reproduce: "));
    let needed = adding.lines().filter_map(|it| Some(it.split_once(" → ")?.1));
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for line in reproduced.chain(needed) {
        names.extend(line.split('`').skip(1).step_by(2).filter(|it| it.contains('_')));
    }
    names.retain(|it| !it.contains(['/', '.']) && !is_function(it));
    assert!(names.is_empty(), "a page names tests that do not exist: {names:?}");
}

/// Whether some file of the repository holds a function of this name.
fn is_function(name: &str) -> bool {
    fn below(folder: &Path, wanted: &str) -> bool {
        std::fs::read_dir(folder).into_iter().flatten().flatten().any(|it| {
            let path = it.path();
            match path.is_dir() {
                true => below(&path, wanted),
                false => std::fs::read_to_string(&path).is_ok_and(|it| it.contains(wanted)),
            }
        })
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["src", "tests", "fixtures/scenario"]
        .iter()
        .any(|it| below(&root.join(it), &format!("fn {name}(")))
}
