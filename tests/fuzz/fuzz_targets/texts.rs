//! Every reader of a text that a user writes: files of rules, and spellings of times, sizes and names on the command line.

#![no_main]

use cotenant::colocation::profiles::profiles;
use cotenant::domain::collector::Collector;
use cotenant::domain::source::SourceId;
use cotenant::fleet::hardware::Hardware;
use cotenant::import::kernel_log::KernelLog;
use cotenant::import::mapping::{Mapping, MappingImporter};
use cotenant::import::mps_log::MpsLog;
use cotenant::import::text::cells;
use cotenant::import::text::stamp::{EpochUnit, StampReader, epoch};
use cotenant::import::{ImportOptions, Importer, import};
use cotenant::recommender::policy::Policy;
use cotenant::recommender::tenant_policy::TenantPolicies;
use cotenant::sampler::services::{Settings, Targets};
use cotenant::sampler::tenants::Rules;
use cotenant_fuzz::{Choices, command};
use cotenant_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

/// Options whose values are spelt, with a command that has them.
const SPELT: [&[&str]; 22] = [
    &["analyze", "--from"],
    &["analyze", "--window"],
    &["analyze", "--last"],
    &["analyze", "--clock-offset"],
    &["analyze", "--timezone"],
    &["analyze", "--start"],
    &["analyze", "--interval"],
    &["analyze", "--width"],
    &["diagnose", "--around"],
    &["diagnose", "--size"],
    &["diagnose", "--settle"],
    &["whatif", "--slo"],
    &["whatif", "--quantum"],
    &["whatif", "--mps-percentage"],
    &["whatif", "--memory-limit"],
    &["whatif", "--slice"],
    &["whatif", "--power-cap"],
    &["whatif", "--gpu-model"],
    &["record", "--rotate-size"],
    &["record", "--budget"],
    &["serve", "--listen"],
    &["explain"],
];

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    match choices.byte() % 16 {
        b'm' | 0..=1 => mapping(&mut choices),
        2 => told(Policy::from_toml(&rest(&mut choices)).err().map(|it| said(&it, it.remedy()))),
        3 => {
            told(
                TenantPolicies::from_toml(&rest(&mut choices))
                    .err()
                    .map(|it| said(&it, it.remedy())),
            );
        }
        4 => told(Hardware::from_toml(&rest(&mut choices)).err().map(|it| said(&it, it.remedy()))),
        5 => {
            let prices = Hardware::prices_from_toml(&rest(&mut choices));
            told(prices.err().map(|it| said(&it, it.remedy())));
        }
        6 => told(Rules::from_toml(&rest(&mut choices)).err().map(|it| said(&it, it.remedy()))),
        7 => told(profiles(&rest(&mut choices)).err().map(|it| said(&it, it.remedy()))),
        8 => scenario(&rest(&mut choices)),
        9 => log(&KernelLog, &mut choices),
        10 => log(&MpsLog, &mut choices),
        11 => names(&mut choices),
        12 => cell(&mut choices),
        13 => targets(&mut choices),
        _ => spelling(&mut choices),
    }
});

fn rest(choices: &mut Choices<'_>) -> String {
    String::from_utf8_lossy(choices.rest()).into_owned()
}

fn said(error: &dyn std::fmt::Display, remedy: &str) -> (String, String) {
    (error.to_string(), remedy.to_owned())
}

/// Whoever refuses says why, and what to do.
fn told(refusal: Option<(String, String)>) {
    if let Some((why, remedy)) = refusal {
        assert!(!why.is_empty() && !remedy.is_empty());
    }
}

/// A mapping file, and a table that it is used on.
fn mapping(choices: &mut Choices<'_>) {
    let text = choices.text();
    let table = choices.rest();
    match Mapping::from_toml(&text) {
        Ok(mapping) => {
            let _ = (mapping.fit(table), mapping.readings(), mapping.file_name_hint());
            run(&MappingImporter { mapping }, table);
        }
        Err(error) => told(Some((error.to_string(), error.remedy().to_owned()))),
    }
}

fn scenario(text: &str) {
    match Scenario::from_toml(text) {
        Ok(scenario) => {
            let _ = (scenario.duration_us(), scenario.device_infos());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn log(importer: &dyn Importer, choices: &mut Choices<'_>) {
    run(importer, choices.rest());
}

fn run(importer: &dyn Importer, mut bytes: &[u8]) {
    let mut sink = Collector::new();
    let options = ImportOptions::default();
    let _ = import(importer, &mut bytes, "log", &options, SourceId(0), &mut sink);
    let _ = sink.into_recording();
}

/// Patterns, likely meanings of a misspelt word, and what is known of a board by its name.
fn names(choices: &mut Choices<'_>) {
    let (one, other) = (choices.text(), choices.text());
    let _ = cotenant::domain::glob::matches(&one, &other);
    let _ = cotenant::domain::spelling::suggestion(&one, &["mean", "p99", other.as_str()]);
    let _ = cotenant::domain::spelling::unknown_key(&one);
    let _ = cotenant::domain::secrets::masked_url(&one);
    let _ = cotenant::domain::mig_geometry::by_product_name(&one, None);
    let _ = cotenant::cluster::resource::is_profile(&one);
    let harmless = cotenant::domain::invisible::harmless(&one, '?');
    assert!(!harmless.chars().any(cotenant::domain::invisible::is_invisible));
    let _ = (cotenant::import::gpu_names::bus_id(&one), cotenant::import::gpu_names::named(&one));
}

fn cell(choices: &mut Choices<'_>) {
    let (one, other) = (choices.text(), choices.text());
    let _ = cells::number(&one);
    let _ = (cells::heading(&one), cells::printed_unit(&one), cells::unit_factor(&one));
    let mut stamps = StampReader::new(None);
    let _ = (stamps.text(&one), stamps.spelt(&one, &other), stamps.assumptions(), stamps.clock());
    for unit in [
        EpochUnit::Seconds,
        EpochUnit::Milliseconds,
        EpochUnit::Microseconds,
        EpochUnit::Nanoseconds,
    ] {
        let _ = epoch(&one, unit);
    }
}

fn targets(choices: &mut Choices<'_>) {
    let (one, other) = (choices.text(), choices.text());
    match Targets::parse(&[one], &[other], Settings::default()) {
        Ok(targets) => assert_eq!(targets.len(), 2),
        Err(error) => told(Some((error.to_string(), error.remedy().to_owned()))),
    }
}

/// A value on a command line that ends before anything is read: nothing of that name is there.
fn spelling(choices: &mut Choices<'_>) {
    let start = *choices.one(&SPELT);
    let value = choices.text();
    if value.contains(['/', '\\']) && start.len() == 1 {
        return;
    }
    let mut line: Vec<String> = start.iter().map(|it| (*it).to_owned()).collect();
    line.push(value);
    match start[0] {
        "analyze" | "diagnose" => line.push("nothing-is-here".to_owned()),
        "whatif" => line.extend(["nothing-is-here".to_owned(), "nor-here".to_owned()]),
        "record" => line.extend(["--nvml-library".to_owned(), "no-library.so".to_owned()]),
        "serve" => line.extend(["--nvml-library".to_owned(), "no-library.so".to_owned()]),
        _ => {}
    }
    let answer = command(line);
    assert!(start[0] == "explain" || answer.code != 0, "there is nothing to do it with");
}
