use super::*;
use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::import::error::ImportError;
use crate::import::identify::{Recognised, identify};
use crate::import::run::ImportSummary;
use crate::import::testing::{START, every_second, read, real_file};
use crate::import::{ImportOptions, Importer, Likeness};

/// A mapping of `[[metric]]` tables behind other tables.
fn mapping(tables: &str) -> Mapping {
    Mapping::from_toml(&format!("name = \"test\"\nabout = \"a test\"\n{tables}")).unwrap()
}

fn refused(tables: &str) -> MappingError {
    Mapping::from_toml(&format!("name = \"test\"\nabout = \"a test\"\n{tables}")).unwrap_err()
}

fn try_import(
    tables: &str,
    text: &str,
    options: &ImportOptions,
) -> Result<(ImportSummary, Recording), ImportError> {
    read(&MappingImporter { mapping: mapping(tables) }, text, options).done()
}

fn import_of(tables: &str, text: &str) -> (ImportSummary, Recording) {
    try_import(tables, text, &ImportOptions::default()).unwrap()
}

fn series<'a>(recording: &'a Recording, subject: &Subject, metric: Metric) -> &'a Series {
    recording.series(subject, metric).unwrap_or_else(|| panic!("{subject} {metric:?}"))
}

fn gpu(index: u32) -> Subject {
    Subject::device(&GpuId::from_index(index))
}

fn tenant(name: &str) -> Subject {
    Subject::Tenant { gpu: None, tenant: TenantId::new(name) }
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |it, value| (it.0 + value, it.1 + 1.0));
    sum / count
}

const SECONDS: &str = "[time]\ncolumn = \"t\"\nunit = \"seconds\"\n";
const UTIL: &str =
    "[[metric]]\ncolumn = \"util\"\nmetric = \"gpu_utilization_pct\"\nunit = \"%\"\n";
const GPU: &str = "[gpu]\ncolumn = \"gpu\"\n";

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_nearest_key() {
    let error = refused("[time]\ncolum = \"t\"\n");
    assert_eq!(error.to_string(), "mapping file, line 4: there is no key or value `colum` here");
    assert_eq!(error.remedy(), "did you mean `column`?");
    let error = refused(&format!("[time]\ncolumn = \"t\"\nunit = \"second\"\n{UTIL}"));
    assert_eq!((error.line, error.remedy().as_str()), (Some(5), "did you mean `seconds`?"));
    assert!(refused("name = 7").line.is_some());
}

#[test]
fn an_unknown_metric_or_unit_is_named_with_the_nearest_one() {
    let error = refused("[[metric]]\ncolumn = \"p\"\nmetric = \"power_w\"\n");
    assert_eq!(error.to_string(), "mapping file, line 5: there is no metric `power_w`");
    assert_eq!(error.remedy(), "did you mean `power_mw`?");
    let unit = |unit: &str| {
        refused(&format!("[[metric]]\ncolumn = \"p\"\nmetric = \"power_mw\"\nunit = \"{unit}\"\n"))
    };
    assert_eq!(unit("MiB").to_string(), "mapping file, line 6: `MiB` is no unit of `power_mw`");
    assert_eq!(unit("MiB").remedy(), "choose one of mW, W, kW");
    assert_eq!(unit("watt").to_string(), "mapping file, line 6: there is no unit `watt`");
}

#[test]
fn a_mapping_that_says_too_little_or_too_much_is_refused_with_advice() {
    for (tables, part) in [
        ("", "either `[[metric]]`"),
        (&*format!("{UTIL}scale = 2.0\n"), "exclude each other"),
        (&*format!("{UTIL}subject = \"tenant\"\n"), "needs a `[tenant]`"),
        (&*format!("{UTIL}subject = \"process\"\n"), "needs a `[process]`"),
        (&*format!("{UTIL}reading = {{ average_ms = 0 }}\n"), "mean over 0 ms"),
        (&*format!("[time]\ndate_column = \"d\"\n{UTIL}"), "`date_column` and `time_column`"),
        (
            &*format!("[time]\ncolumn = \"t\"\nzone = \"Mars/Base\"\n{UTIL}"),
            "no time zone `Mars/Base`",
        ),
        (&*format!("[gpu]\nkind = \"index\"\n{UTIL}"), "`column` or `fixed`"),
        (&*format!("header = false\n{UTIL}"), "list of its column names"),
        (&*format!("delimiter = \"::\"\n{UTIL}"), "expected a character"),
    ] {
        let error = refused(tables);
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.remedy().is_empty());
    }
}

#[test]
fn values_are_read_in_the_unit_that_the_mapping_names() {
    let tables = format!(
        "{SECONDS}{GPU}[[metric]]\ncolumn = \"p\"\nmetric = \"power_mw\"\nunit = \"W\"\n\
         [[metric]]\ncolumn = \"m\"\nmetric = \"framebuffer_used_bytes\"\nunit = \"MiB\"\n\
         [[metric]]\ncolumn = \"b\"\nmetric = \"framebuffer_free_bytes\"\nunit = \"MB\"\n\
         [[metric]]\ncolumn = \"u\"\nmetric = \"gpu_utilization_pct\"\nscale = 100.0\n"
    );
    let (_, recording) = import_of(&tables, "t,gpu,p,m,b,u,more\n1.5,0,70.1,4,4,0.25,x\n");
    for (metric, value) in [
        (Metric::Power, 70_100.0),
        (Metric::FramebufferUsed, 4_194_304.0),
        (Metric::FramebufferFree, 4_000_000.0),
        (Metric::GpuUtilization, 25.0),
    ] {
        assert_eq!(series(&recording, &gpu(0), metric).values(), [value]);
        assert_eq!(
            series(&recording, &gpu(0), metric).times(),
            [Timestamp::from_micros(1_500_000)]
        );
    }
}

#[test]
fn the_delimiter_is_found_out_from_the_header() {
    for (header, row) in
        [("t;gpu;util", "1;0;5"), ("t\tgpu\tutil", "1\t0\t5"), ("t| gpu |util", "1|0| 5")]
    {
        let (_, recording) =
            import_of(&format!("{SECONDS}{GPU}{UTIL}"), &format!("{header}\n{row}\n"));
        assert_eq!(series(&recording, &gpu(0), Metric::GpuUtilization).values(), [5.0]);
    }
}

#[test]
fn a_cell_without_a_value_is_a_gap_and_a_broken_one_is_counted() {
    let text = "t,gpu,util\n1,0,\n2,0,N/A\n3,0,12 %\n4,0,twelve\n5,0,37100\nx,0,1\n7,0\n8,0,1,2\n";
    let (summary, recording) = import_of(&format!("{SECONDS}{GPU}{UTIL}"), text);
    assert_eq!(series(&recording, &gpu(0), Metric::GpuUtilization).values(), [12.0]);
    let places: Vec<(u64, &str)> =
        summary.rejections.first().iter().map(|it| (it.line, it.column.as_str())).collect();
    assert_eq!(places, [(5, "util"), (6, "gpu_utilization_pct"), (7, "t"), (9, "")]);
}

#[test]
fn a_column_that_never_has_a_value_is_a_blind_spot() {
    let tables = format!("{SECONDS}{GPU}{UTIL}[[metric]]\ncolumn = \"p\"\nmetric = \"power_mw\"\n");
    let (_, recording) = import_of(&tables, "t,gpu,util,p\n1,0,5,\n2,0,6,[N/A]\n");
    let spot = &recording.outline.blind_spots[0];
    assert_eq!((spot.kind, spot.metric), (BlindSpotKind::NotReported, Some(Metric::Power)));
}

#[test]
fn a_missing_column_is_named_with_the_columns_that_are_there() {
    let error = try_import(
        &format!("{SECONDS}{GPU}{UTIL}"),
        "t,gpu,busy\n1,0,5\n",
        &ImportOptions::default(),
    );
    let error = error.unwrap_err();
    assert!(error.to_string().contains("log:1: expected a column `util`"), "{error}");
    assert_eq!(error.remedy(), "the columns are: t, gpu, busy");
}

#[test]
fn several_rows_of_one_stamp_without_a_gpu_column_are_refused() {
    let tables = format!("{SECONDS}{UTIL}");
    let text = "t,util\n1,5\n2,6\n2,7\n2,8\n3,9\n";
    match try_import(&tables, text, &ImportOptions::default()).unwrap_err() {
        ImportError::AmbiguousGpu { line: 5, rows: 3, .. } => {}
        other => panic!("{other}"),
    }
    let named = ImportOptions { gpu: Some("3".to_owned()), ..ImportOptions::default() };
    let (summary, recording) = try_import(&tables, text, &named).unwrap();
    assert_eq!(series(&recording, &gpu(3), Metric::GpuUtilization).values(), [5.0, 8.0, 9.0]);
    assert!(summary.warnings[0].starts_with("2 rows repeat"), "{:?}", summary.warnings);
    assert!(try_import(&tables, "t,util\n1,5\n2,6\n", &ImportOptions::default()).is_ok());
}

#[test]
fn phases_last_until_the_next_one_and_the_last_one_a_typical_interval_longer() {
    let tables = format!("{SECONDS}{GPU}[phase]\ncolumn = \"phase\"\n{UTIL}");
    let text = "t,gpu,phase,util\n1,0,warm,1\n1,1,warm,1\n2,0,warm,1\n2,1,warm,1\n3,0,steady,1\n4,0,steady,1\n9,0,,1\n10,0,warm,1\n11,0,warm,1\n";
    let (_, recording) = import_of(&tables, text);
    let phases: Vec<(&str, f64, f64)> = recording
        .outline
        .phases
        .iter()
        .map(|it| {
            let seconds = |at: Timestamp| at.seconds_since(Timestamp::from_micros(0));
            (it.label.as_str(), seconds(it.span.from()), seconds(it.span.until()))
        })
        .collect();
    assert_eq!(phases, [("warm", 1.0, 3.0), ("steady", 3.0, 9.0), ("warm", 10.0, 12.0)]);
}

#[test]
fn gpus_may_have_phases_of_their_own() {
    let tables = format!("{SECONDS}{GPU}[phase]\ncolumn = \"phase\"\nper_gpu = true\n{UTIL}");
    let text = "t,gpu,phase,util\n1,0,a,1\n1,1,b,1\n2,0,a,1\n2,1,b,1\n";
    let (_, recording) = import_of(&tables, text);
    let gpus: Vec<_> = recording.outline.phases.iter().map(|it| it.gpu.clone().unwrap()).collect();
    assert_eq!(gpus, [GpuId::from_index(0), GpuId::from_index(1)]);
}

#[test]
fn a_row_may_be_about_a_gpu_a_tenant_and_a_process_at_once() {
    let tables = "[time]\ncolumn = \"t\"\nunit = \"milliseconds\"\n[gpu]\ncolumn = \"gpu\"\nprefix = \"GPU \"\nhost_column = \"host\"\n\
         [tenant]\ncolumn = \"pod\"\n[process]\npid_column = \"pid\"\nname_column = \"cmd\"\n\
         [[metric]]\ncolumn = \"p\"\nmetric = \"power_mw\"\n\
         [[metric]]\ncolumn = \"lat\"\nmetric = \"latency_mean_s\"\nunit = \"ms\"\nsubject = \"tenant\"\n\
         [[metric]]\ncolumn = \"fb\"\nmetric = \"framebuffer_used_bytes\"\nsubject = \"process\"\n";
    let text = "t,host,gpu,pod,pid,cmd,p,lat,fb\n1,n1,GPU 0,web,7,\"py,thon\",100,20,5\n1,n2,GPU 0,web,7,x,101,30,6\n";
    let (_, recording) = import_of(tables, text);
    let process = ProcessKey { pid: 7, started: None };
    let own = |name: &str| {
        let gpu = GpuId::new(name);
        let tenant = Subject::Tenant { gpu: Some(gpu.clone()), tenant: TenantId::new("web") };
        (Subject::device(&gpu), tenant, Subject::Process { gpu, process })
    };
    for (name, values) in [("gpu0", [100.0, 0.02, 5.0]), ("n2/gpu0", [101.0, 0.03, 6.0])] {
        let (device, tenant, process) = own(name);
        assert_eq!(series(&recording, &device, Metric::Power).values(), [values[0]]);
        assert_eq!(series(&recording, &tenant, Metric::LatencyMean).values(), [values[1]]);
        assert_eq!(series(&recording, &process, Metric::FramebufferUsed).values(), [values[2]]);
    }
    let described = &recording.outline.processes[0];
    assert_eq!(
        (described.name.as_deref(), described.tenant.clone()),
        (Some("py,thon"), Some(TenantId::new("web")))
    );
}

#[test]
fn an_instance_is_not_its_gpu() {
    let tables =
        format!("{SECONDS}{GPU}[mig]\ngi_column = \"gi\"\nprofile_column = \"profile\"\n{UTIL}");
    let (_, recording) =
        import_of(&tables, "t,gpu,gi,profile,util\n1,0,,,90\n1,0,7.0,1g.10gb,50\n");
    let instance = MigInstanceId {
        gpu: GpuId::from_index(0),
        gpu_instance: 7,
        compute_instance: None,
        generation: 0,
    };
    assert_eq!(series(&recording, &gpu(0), Metric::GpuUtilization).values(), [90.0]);
    assert_eq!(
        series(&recording, &Subject::MigInstance { instance }, Metric::GpuUtilization).values(),
        [50.0]
    );
    assert_eq!(recording.outline.mig_instances[0].profile.as_deref(), Some("1g.10gb"));
}

#[test]
fn a_uuid_column_names_the_gpu_as_the_driver_does() {
    let tables = format!("{SECONDS}[gpu]\ncolumn = \"gpu\"\nkind = \"uuid\"\n{UTIL}");
    let uuid = "34319582-d595-d1c7-d1d2-179bcfa61660";
    let (summary, recording) = import_of(&tables, &format!("t,gpu,util\n1,{uuid},5\n2,,6\n"));
    let subject = Subject::device(&GpuId::new(format!("GPU-{uuid}")));
    assert_eq!(series(&recording, &subject, Metric::GpuUtilization).values(), [5.0]);
    assert_eq!(summary.rejections.first()[0].expected, "an index or UUID of a GPU");
}

#[test]
fn a_tenant_without_a_name_is_named_by_the_mapping_or_rejected() {
    let tables = |more: &str| format!("{SECONDS}[tenant]\ncolumn = \"pod\"\n{more}{UTIL}");
    let text = "t,pod,util\n1,a,5\n1,,6\n";
    let (summary, _) = import_of(&tables(""), text);
    assert_eq!((summary.rows, summary.rejections.count()), (1, 1));
    let (summary, recording) = import_of(&tables("when_empty = \"nobody\"\n"), text);
    assert_eq!((summary.rows, summary.rejections.count()), (2, 0));
    assert_eq!(series(&recording, &tenant("nobody"), Metric::GpuUtilization).values(), [6.0]);
}

#[test]
fn only_rows_that_the_filter_names_count() {
    let tables = format!(
        "{SECONDS}[tenant]\nfixed = \"web\"\n[where]\ncolumn = \"kind\"\nequals = \"API Requests\"\n{UTIL}"
    );
    let (_, recording) = import_of(&tables, "t,kind,util\n1,API Requests,5\n1,other,6\n");
    assert_eq!(series(&recording, &tenant("web"), Metric::GpuUtilization).values(), [5.0]);
}

#[test]
fn a_long_file_holds_one_reading_in_each_row() {
    let tables = format!(
        "{SECONDS}{GPU}[long]\nmetric_column = \"name\"\nvalue_column = \"value\"\n[long.metrics]\n\
         util = {{ metric = \"gpu_utilization_pct\", unit = \"ratio\" }}\n\
         \"power usage\" = {{ metric = \"power_mw\", unit = \"W\" }}\n"
    );
    let text = "t,gpu,name,value\n1,0,util,0.5\n1,0,power usage,70\n1,0,fan,3\n2,0,util,1\n";
    let (summary, recording) = import_of(&tables, text);
    assert_eq!(series(&recording, &gpu(0), Metric::GpuUtilization).values(), [50.0, 100.0]);
    assert_eq!(series(&recording, &gpu(0), Metric::Power).values(), [70_000.0]);
    assert!(summary.warnings[0].starts_with("1 metric name"), "{:?}", summary.warnings);
}

#[test]
fn a_file_without_stamps_takes_them_from_the_user_tick_by_tick() {
    let tables = format!("{GPU}{UTIL}");
    let text = "gpu,util\n0,1\n1,2\n0,3\n1,4\n";
    let (_, recording) = try_import(&tables, text, &every_second()).unwrap();
    let times = series(&recording, &gpu(1), Metric::GpuUtilization).times().to_vec();
    assert_eq!(times, [START, START.plus_micros(1_000_000)]);
    assert_eq!(recording.outline.sources[0].clock, "made from --start and --interval");
    let error = try_import(&tables, text, &ImportOptions::default()).unwrap_err();
    assert!(matches!(error, ImportError::NoStamps { .. }));
}

#[test]
fn stamps_as_text_are_read_in_the_users_zone_or_else_in_the_mappings() {
    let tables = |more: &str| format!("[time]\n{more}{GPU}{UTIL}");
    let berlin =
        tables("column = \"t\"\nformat = \"%d.%m.%Y %H:%M:%S%.f\"\nzone = \"Europe/Berlin\"\n");
    let text = "t,gpu,util\n04.01.2026 05:38:59.876,0,1\n";
    let micros = |recording: &Recording| recording.outline.span.unwrap().from().as_micros();
    let (summary, recording) = import_of(&berlin, text);
    assert_eq!(micros(&recording), 1_767_501_539_876_000);
    assert_eq!(
        (recording.outline.sources[0].clock.as_str(), summary.warnings.len()),
        ("Europe/Berlin", 0)
    );
    let utc =
        ImportOptions { time_zone: Some(jiff::tz::TimeZone::UTC), ..ImportOptions::default() };
    let (_, recording) = try_import(&berlin, text, &utc).unwrap();
    assert_eq!(micros(&recording), 1_767_501_539_876_000 + 3_600_000_000);
    let pair = tables("date_column = \"d\"\ntime_column = \"t\"\n");
    let (summary, recording) = import_of(&pair, "d,t,gpu,util\n20260104,04:38:59,0,1\n");
    assert_eq!(micros(&recording), 1_767_501_539_000_000);
    assert!(summary.warnings[0].contains("read as UTC"), "{:?}", summary.warnings);
    let counted = format!("{SECONDS}{GPU}{UTIL}");
    let (_, recording) = import_of(&counted, "t,gpu,util\n1.767501539876e9,0,1\n");
    assert_eq!(micros(&recording), 1_767_501_539_876_000);
}

#[test]
fn remarks_repeated_headers_and_files_without_header_are_read() {
    let tables = format!("comment = \"#\"\n{SECONDS}{GPU}{UTIL}");
    let (summary, recording) =
        import_of(&tables, "# pid 7\nt,gpu,util\n1,0,5\n#\nt,gpu,util\n\n2,0,6\n");
    assert_eq!((summary.rows, summary.rejections.count()), (2, 0));
    assert_eq!(recording.outline.readings, 2);
    let (summary, _) =
        import_of(&format!("{SECONDS}{GPU}{UTIL}"), "started as pid 7\nt,gpu,util\n1,0,5\n");
    assert!(summary.warnings[0].contains("before the header"), "{:?}", summary.warnings);
    let bare = format!("header = [\"t\", \"gpu\", \"util\"]\n{SECONDS}{GPU}{UTIL}");
    let (summary, _) = import_of(&bare, "1,0,5\n2,0,6\n");
    assert_eq!(summary.rows, 2);
}

#[test]
fn an_empty_file_and_a_file_of_a_header_hold_no_samples() {
    for text in ["", "\n\n", "t,gpu,util\n"] {
        let error = try_import(&format!("{SECONDS}{GPU}{UTIL}"), text, &ImportOptions::default())
            .unwrap_err();
        assert!(matches!(error, ImportError::Empty { .. }), "{error}");
    }
}

#[test]
fn what_a_value_stands_for_goes_into_the_provenance() {
    let tables =
        format!("tool = \"mytool\"\n{SECONDS}{GPU}{UTIL}reading = {{ average_ms = 100 }}\n");
    let (_, recording) = import_of(&tables, "t,gpu,util\n1,0,5\n");
    let source = &recording.outline.sources[0];
    let window = SampleInterval::from_micros(100_000);
    assert_eq!(source.readings[&Metric::GpuUtilization], Reading::WindowAverage { window });
    assert_eq!((source.tool.as_str(), source.format.as_str()), ("mytool", "mapping"));
}

#[test]
fn every_preset_can_be_read_and_is_named_like_its_id() {
    for (id, text) in PRESETS {
        let mapping = Mapping::from_toml(text).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(mapping.name(), *id);
        assert!(!mapping.about().is_empty() && text.starts_with('#'), "{id}");
        assert!(preset(id).is_some());
    }
    assert!(preset("nothing").is_none());
}

fn recognised(head: &str, file_name: &str) -> String {
    match identify(head.as_bytes(), file_name) {
        Recognised::Format(it) => it.id().to_owned(),
        Recognised::Preset(it) => it.mapping.name().to_owned(),
        Recognised::Ambiguous(ids) => format!("ambiguous: {}", ids.len()),
        Recognised::Unknown => "unknown".to_owned(),
    }
}

#[test]
fn presets_are_recognised_by_their_columns_and_by_file_name_only_between_equals() {
    let shared = "value,timestamp_anon,container_ip\n0.0,1662858720.0,a\n";
    assert_eq!(recognised(shared, "pod_gpu_duty_cycle_anon.csv"), "alibaba-gentd26-duty");
    assert_eq!(recognised(shared, "queue_rt_raw_anon.csv"), "alibaba-gentd26-queue");
    assert_eq!(recognised(shared, "renamed.csv"), "ambiguous: 6");
    assert_eq!(recognised("EntityId,GRACT,FBUSD,TimeStamp\n0,0.0,4,1\n", "x"), "mig-profiler-dcgm");
    assert_eq!(recognised("a,b\n1,2\n", "pod_gpu_duty_cycle_anon.csv"), "unknown");
    assert_eq!(recognised("DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1\n", "x"), "prometheus-text");
}

/// A real file through the preset that it is recognised as.
fn real(name: &str, preset: &str) -> Option<(ImportSummary, Recording)> {
    let bytes = real_file(name)?;
    let head = &bytes[..bytes.len().min(65_536)];
    let Recognised::Preset(importer) = identify(head, name) else {
        panic!("{name} is not recognised")
    };
    assert_eq!(importer.mapping.name(), preset);
    assert_eq!(importer.recognise(head), Likeness::Sure);
    let (summary, recording) =
        read(importer.as_ref(), &bytes, &ImportOptions::default()).done().unwrap();
    assert_eq!(recording.outline.sources[0].format, preset);
    let (subjects, spots) = (recording.outline.subjects.len(), recording.outline.blind_spots.len());
    let (rows, readings, rejected) = (summary.rows, summary.readings, summary.rejections.count());
    println!(
        "{name}: {subjects} subjects, {rows} rows, {readings} readings, {rejected} rejected, {spots} blind spots, {:?}",
        summary.warnings
    );
    Some((summary, recording))
}

#[test]
fn the_real_h100_recording_shows_inference_beside_training() {
    let Some((summary, recording)) = real("h100-dcgm-10hz/e2_telemetry.csv", "h100-dcgm-10hz")
    else {
        return;
    };
    assert_eq!((summary.rows, summary.readings, summary.rejections.count()), (24_216, 387_441, 0));
    assert_eq!(recording.outline.devices.len(), 8);
    assert_eq!(recording.outline.devices[7].model.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    let labels: Vec<&str> = recording.outline.phases.iter().map(|it| it.label.as_str()).collect();
    assert_eq!(labels, ["init", "loading", "warmup", "steady", "cooldown"]);
    let steady = recording.outline.phases[3].span;
    let steady_mean = |index, metric| {
        mean(series(&recording, &gpu(index), metric).cut(steady).values().iter().copied())
    };
    for (index, util, active) in [(0, 6.14, 0.026), (4, 99.54, 0.863)] {
        assert!((steady_mean(index, Metric::GpuUtilization) - util).abs() < 0.005);
        assert!((steady_mean(index, Metric::SmActive) - active).abs() < 0.0005);
    }
    let trainer = series(&recording, &gpu(4), Metric::GpuUtilization);
    let duty = mean(trainer.values().iter().map(|it| f64::from(u8::from(*it >= 95.0))));
    assert!((duty - 0.881).abs() < 0.0005, "{duty}");
}

#[test]
fn the_second_real_h100_recording_is_read_without_a_rejection() {
    let Some((summary, _)) = real("h100-dcgm-10hz/t3_telemetry.csv", "h100-dcgm-10hz") else {
        return;
    };
    assert_eq!(summary.rejections.count(), 0);
    assert!(summary.rows > 20_000);
}

#[test]
fn the_real_llm_runs_have_the_utilisation_that_was_published() {
    for (run, rows, index, util, memory) in [
        ("r1_c1_20260610-022818", 86, 1, 83.930_233, 75.860_465),
        ("r2_c2_20260610-023439", 52, 0, 69.269_231, 62.730_769),
        ("r4_c4_20260610-023635", 60, 1, 69.2, 58.666_667),
    ] {
        let name = format!("llm-k8s-timeslicing-hami/timeslicing/{run}/gpu_metrics.csv");
        let Some((summary, recording)) = real(&name, "llm-k8s") else { continue };
        assert_eq!(
            (summary.rows, summary.readings, summary.rejections.count()),
            (rows, rows * 6, 0)
        );
        let of = |metric| mean(series(&recording, &gpu(index), metric).values().iter().copied());
        assert!((of(Metric::GpuUtilization) - util).abs() < 1e-6);
        assert!((of(Metric::MemoryUtilization) - memory).abs() < 1e-6);
        assert_eq!(recording.outline.sources[0].clock, "assumed UTC");
    }
}

#[test]
fn the_real_alibaba_files_are_series_of_pods() {
    for (file, id, rows, pods, mean_value, metric) in [
        ("pod_gpu_duty_cycle_anon", "duty", 43_336, 40, 8.590_761, Metric::GpuUtilization),
        (
            "pod_gpu_memory_used_bytes_anon",
            "memory",
            45_814,
            40,
            25_584_042_251.9,
            Metric::FramebufferUsed,
        ),
        (
            "pipeline_inference_data_anon",
            "pipeline-latency",
            9_550,
            40,
            19.470_652,
            Metric::LatencyMean,
        ),
        ("model_predict_data_anon", "predict-latency", 2_463, 39, 38.889_203, Metric::LatencyMean),
        ("queue_rt_raw_anon", "queue", 5_897, 29, 0.240_786_7, Metric::QueueTime),
        ("qps", "qps", 7_003, 30, 0.274_857_9, Metric::OfferedLoad),
    ] {
        let name = format!("alibaba-gentd26/{file}.csv");
        let Some((summary, recording)) = real(&name, &format!("alibaba-gentd26-{id}")) else {
            continue;
        };
        assert_eq!((summary.rows, summary.rejections.count()), (rows, 0), "{name}");
        assert_eq!(recording.outline.subjects.len(), pods, "{name}");
        assert_eq!(recording.outline.readings, rows, "{name}: {:?}", summary.warnings);
        let values = recording
            .traces
            .values()
            .filter_map(|it| it.get(metric))
            .flat_map(|it| it.values().to_vec());
        let mean = mean(values);
        assert!((mean - mean_value).abs() < mean_value * 1e-6, "{name}: {mean}");
    }
}

#[test]
fn the_real_mig_traces_are_read_second_by_second() {
    for (folder, rows, active) in
        [("finetune_vit", 2048, 0.766_238), ("infer_bsz", 25_038, 0.330_369)]
    {
        let name = format!("mig-profiler-a100/a100_40g/{folder}/dcgm.csv");
        let Some((summary, recording)) = real(&name, "mig-profiler-dcgm") else { continue };
        assert_eq!((summary.rows, summary.readings), (rows, rows * 2));
        let series = series(&recording, &gpu(0), Metric::GraphicsEngineActive);
        assert!((mean(series.values().iter().copied()) - active).abs() < 1e-6);
    }
}

#[test]
fn the_published_mean_of_a_training_run_can_be_found_in_the_trace() {
    let Some((_, recording)) =
        real("mig-profiler-a100/a100_40g/finetune_vit/dcgm.csv", "mig-profiler-dcgm")
    else {
        return;
    };
    let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let window = TimeSpan::new(at(1_657_289_532), at(1_657_289_653)).unwrap();
    let active = series(&recording, &gpu(0), Metric::GraphicsEngineActive).cut(window);
    assert!((mean(active.values().iter().copied()) - 0.931).abs() < 0.01);
}

#[test]
fn eight_real_gpus_without_an_index_column_are_refused_and_not_merged() {
    let Some(bytes) = real_file("h100-smi-20hz/trace_dense_7b_code_run1.csv") else { return };
    let tables = "[time]\ncolumn = \"timestamp\"\n[[metric]]\ncolumn = \"utilization.gpu\"\nmetric = \"gpu_utilization_pct\"\n";
    let importer = MappingImporter { mapping: mapping(tables) };
    let error = read(&importer, &bytes, &ImportOptions::default()).done().unwrap_err();
    assert!(matches!(error, ImportError::AmbiguousGpu { .. }), "{error}");
}

/// A sample under `fixtures/imports/mapping/` through the mapping beside it.
fn sample(name: &str) -> (ImportSummary, Recording) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/imports/mapping");
    let text =
        |ending: &str| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).unwrap();
    let mapping = Mapping::from_toml(&text("toml")).unwrap();
    read(&MappingImporter { mapping }, text("csv"), &ImportOptions::default()).done().unwrap()
}

#[test]
fn the_wide_sample_means_what_was_written_into_it() {
    let (summary, recording) = sample("wide_phases");
    assert_eq!((summary.rows, summary.readings, summary.rejections.count()), (8, 11, 1));
    let web = Subject::Tenant { gpu: Some(GpuId::from_index(0)), tenant: TenantId::new("web") };
    assert_eq!(series(&recording, &gpu(0), Metric::Power).values(), [30_500.0, 31_000.0]);
    assert_eq!(series(&recording, &gpu(1), Metric::Power).values(), [60_000.0, 61_000.0]);
    assert_eq!(series(&recording, &gpu(1), Metric::FramebufferUsed).values(), [209_715_200.0]);
    assert_eq!(series(&recording, &web, Metric::LatencyP99).values(), [0.012, 0.0125, 0.013]);
    let phases: Vec<(&str, f64)> =
        recording.outline.phases.iter().map(|it| (it.label.as_str(), it.span.seconds())).collect();
    assert_eq!(phases, [("warm", 1.0), ("steady", 2.0)]);
}

#[test]
fn the_long_sample_means_what_was_written_into_it() {
    let (summary, recording) = sample("long_semicolon");
    assert_eq!((summary.rows, summary.rejections.count(), summary.warnings.len()), (3, 0, 1));
    assert_eq!(series(&recording, &gpu(0), Metric::GpuUtilization).values(), [50.0, 75.0]);
    assert_eq!(series(&recording, &gpu(0), Metric::SmClock).values(), [1980.0]);
    let start = recording.outline.span.unwrap().from();
    assert_eq!(start.as_micros(), 1_767_225_600_000_000);
}
