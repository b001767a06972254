use super::*;
use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::import::ImportOptions;
use crate::import::smi::log::SmiLog;
use crate::import::testing::{Outcome, every_second, gpu, process, read};
use std::path::Path;

const UUID: &str = "GPU-1a2b3c4d-0000-4000-8000-00000000000a";

fn import(text: &str) -> Outcome {
    read(&SmiXml, text, &ImportOptions::default())
}

/// A document of one GPU with these elements, one second later each.
fn document(second: u32, elements: &str) -> String {
    format!(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n\t<timestamp>Tue Jul 14 09:00:0{second} 2026</timestamp>\n\t<driver_version>600.10</driver_version>\n\t<attached_gpus>1</attached_gpus>\n\t<gpu id=\"00000000:1B:00.0\">\n\t\t<uuid>{UUID}</uuid>\n{elements}\n\t</gpu>\n</nvidia_smi_log>\n"
    )
}

fn utilisation(percent: u32) -> String {
    format!(
        "<utilization><gpu_util>{percent} %</gpu_util><memory_util>N/A</memory_util></utilization>"
    )
}

/// Everything but where it came from.
fn content(mut recording: Recording) -> Recording {
    recording.outline.sources.clear();
    recording
}

#[test]
fn the_text_and_the_xml_of_one_state_give_the_same_recording() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/imports");
    let file = |name: &str| std::fs::read(folder.join(name)).expect("the sample is there");
    let options = ImportOptions::default();
    let text = read(&SmiLog, file("smi-log/mig_and_whole_every_second.txt"), &options);
    let xml = read(&SmiXml, file("smi-xml/mig_and_whole_every_second.xml"), &options);
    let (text_sum, xml_sum) = (text.summary().clone(), xml.summary().clone());
    assert_eq!((text_sum.rows, text_sum.readings), (xml_sum.rows, xml_sum.readings));
    assert!(xml_sum.rows > 10 && xml_sum.rejections.count() == 0, "{xml_sum:?}");
    let (text, xml) = (content(text.recording), content(xml.recording));
    assert_eq!(format!("{:#?}", text.outline), format!("{:#?}", xml.outline));
    assert_eq!(format!("{:#?}", text.traces), format!("{:#?}", xml.traces));
}

#[test]
fn every_element_is_a_line_that_the_text_knows() {
    for (path, headings, key) in ELEMENTS {
        let name = headings.iter().chain([key]).copied().collect::<Vec<_>>().join("/");
        let is_metric =
            Metric::from_foreign(crate::domain::metric::Dialect::SmiLog, &name).is_some();
        let is_other = ["product_name", "uuid", "mig_", "ecc_errors", "remapped_rows", "processes"];
        assert!(is_metric || is_other.iter().any(|it| path.starts_with(it)), "{path}: {name}");
    }
}

#[test]
fn reasons_counters_and_errors_of_new_and_old_drivers_are_read() {
    let new = "<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap><clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown><clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle></clocks_event_reasons><clocks_event_reasons_counters><clocks_event_reasons_counters_sw_power_cap>7 us</clocks_event_reasons_counters_sw_power_cap></clocks_event_reasons_counters><remapped_rows><remapped_row_corr>2</remapped_row_corr><remapped_row_unc>1</remapped_row_unc></remapped_rows>";
    let it = import(&document(1, new));
    for (metric, value) in [
        (Metric::ThrottleReasons, 68.0),
        (Metric::PowerViolation, 7000.0),
        (Metric::RemappedRows, 3.0),
    ] {
        assert_eq!(it.values(&gpu(UUID), metric), [value], "{}", metric.key());
    }
    let old = "<clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap></clocks_throttle_reasons><ecc_errors><volatile><single_bit><total>9</total></single_bit><double_bit><device_memory>1</device_memory><total>1</total></double_bit></volatile></ecc_errors><power_readings><power_draw>40.00 W</power_draw><enforced_power_limit>300.00 W</enforced_power_limit></power_readings>";
    let it = import(&document(1, old));
    for (metric, value) in [
        (Metric::ThrottleReasons, 4.0),
        (Metric::EccUncorrected, 1.0),
        (Metric::Power, 40_000.0),
        (Metric::PowerLimit, 300_000.0),
    ] {
        assert_eq!(it.values(&gpu(UUID), metric), [value], "{}", metric.key());
    }
}

#[test]
fn documents_in_a_row_are_samples_on_many_lines_or_on_one() {
    let many = format!("{}\n{}", document(1, &utilisation(97)), document(2, &utilisation(98)));
    let one_line = many.replace('\n', "");
    let wrapped = format!("WARNING: infoROM is corrupted\n<smi>\n{many}\n</smi>\n");
    for text in [&many, &one_line, &wrapped] {
        let it = import(text);
        assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [97.0, 98.0], "{text}");
        let millis = it.millis(&gpu(UUID), Metric::GpuUtilization);
        assert_eq!(millis[1] - millis[0], 1000);
        assert_eq!(it.summary().rejections.count(), 0, "{text}");
    }
}

#[test]
fn a_process_with_letters_that_xml_escapes_keeps_its_name() {
    let text = document(
        1,
        "<processes><process_info><gpu_instance_id>N/A</gpu_instance_id><pid>77</pid><type>C+G</type><process_name>/opt/a&amp;b&#95;c --key=&lt;x&gt;</process_name><used_memory>10 MiB</used_memory></process_info><process_info><pid>many</pid></process_info></processes>",
    );
    let it = import(&text);
    assert_eq!(it.recording.outline.processes[0].name.as_deref(), Some("a&b_c"));
    assert_eq!(it.values(&process(UUID, 77), Metric::FramebufferUsed), [10.0 * 1_048_576.0]);
    assert_eq!(it.summary().rejections.count(), 1, "a process id that is none");
}

#[test]
fn entities_of_a_document_are_refused_and_cost_nothing() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE nvidia_smi_log [\n<!ENTITY a \"ha\">\n<!ENTITY b \"&a;&a;&a;&a;\">\n]>\n<nvidia_smi_log><gpu id=\"1\"><uuid>&b;</uuid></gpu></nvidia_smi_log>\n";
    let it = import(&format!("{bomb}{}", document(1, &utilisation(50))));
    assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [50.0]);
    assert_eq!(it.recording.outline.devices.len(), 1);
    let said = it.summary().rejections.first()[0].to_string();
    assert!(
        said.starts_with("log:1: expected a document without entities")
            || said.starts_with("log:5"),
        "{said}"
    );
    let external = document(1, "<product_name>&secret;</product_name>");
    let it = import(&external);
    assert_eq!(
        it.recording.outline.devices[0].model.as_deref(),
        Some("&secret;"),
        "never looked up"
    );
}

#[test]
fn damage_costs_the_rest_of_its_document_and_names_the_line() {
    let odd = utilisation(137)
        + "\n<temperature><gpu_temp>53 W</gpu_temp></temperature>\n<fan_speed>30 %</fan_speed></oops>\n<performance_state>P2</performance_state>";
    let it = import(&format!("{}{}", document(1, &odd), document(2, &utilisation(60))));
    assert_eq!(it.values(&gpu(UUID), Metric::FanSpeed), [30.0]);
    assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [60.0]);
    let said: Vec<String> =
        it.summary().rejections.first().iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("log:10: column `Temperature/GPU Current Temp`"), "{said:?}");
    assert!(said[1].starts_with("log:11: expected well-formed XML"), "{said:?}");
    let deep = "<a>".repeat(40);
    assert_eq!(
        import(&format!("{}{}", document(1, &deep), document(2, &utilisation(60))))
            .summary()
            .rejections
            .count(),
        1
    );
}

#[test]
fn a_document_that_is_cut_keeps_what_stands_before_the_cut() {
    let first = document(1, &utilisation(97));
    let second = document(2, &utilisation(98));
    let cut = &first[..first.find("\n\t</gpu>").unwrap()];
    for text in [format!("{cut}\n{second}"), format!("{second}{cut}")] {
        let it = import(&text);
        assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization).len(), 2, "{text}");
        assert_eq!(it.summary().rejections.count(), 1);
        assert!(
            it.recording.outline.blind_spots.iter().any(|it| it.kind == BlindSpotKind::Rejected)
        );
    }
}

#[test]
fn without_stamps_the_user_gives_them_and_without_a_uuid_the_index_names_the_gpu() {
    let bare = |percent| {
        let text = document(1, &utilisation(percent)).replace(UUID, "N/A");
        text.replace("<timestamp>Tue Jul 14 09:00:01 2026</timestamp>", "")
    };
    let text = bare(1) + &bare(2);
    assert_eq!(import(&text).error().0, "log: has no time stamps");
    let it = read(&SmiXml, &text, &every_second());
    assert_eq!(it.millis(&gpu("gpu0"), Metric::GpuUtilization), [0, 1000]);
    assert!(it.recording.outline.subjects.iter().all(Subject::is_device));
}

#[test]
fn other_xml_is_not_taken_for_it() {
    assert_eq!(SmiXml.recognise(b"<?xml version=\"1.0\"?>\n<svg></svg>"), Likeness::No);
    assert_eq!(SmiXml.recognise(document(1, "").as_bytes()), Likeness::Sure);
}
