use super::*;
use crate::import::ImportOptions;
use crate::import::testing::{Outcome, every_second, gpu, read};

fn import(text: &str) -> Outcome {
    assert_eq!(WandbChart.recognise(text.as_bytes()), Likeness::Sure, "{text}");
    read(&WandbChart, text, &every_second())
}

const CHART: &str = "\"Relative Time (Process)\",\"lr - 3 - system/gpu.0.gpu\",\"lr - 3 - system/gpu.0.gpu__MIN\",\"lr - 3 - system/gpu.0.gpu__MAX\"\n";

#[test]
fn values_are_rows_and_their_bounds_are_not() {
    let it =
        import(&format!("{CHART}\"0.5\",\"40\",\"10\",\"70\"\n\"15.5\",\"50\",\"50\",\"50\"\n"));
    assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [40.0, 50.0]);
    assert_eq!(it.millis(&gpu("gpu0"), Metric::GpuUtilization), [500, 15_500]);
    assert_eq!(it.blind_spots(), ["ClockAssumed all all", "TooCoarse all all"]);
    let told = it.summary().warnings.join("\n");
    assert!(told.contains("1 of 2 points are means"), "{told}");
    let source = &it.recording.outline.sources[0];
    assert_eq!(source.readings[&Metric::GpuUtilization], Reading::WindowAverage { window: None });
}

#[test]
fn a_chart_with_a_point_for_each_sample_is_not_called_coarse() {
    let it = import(&format!("{CHART}\"0\",\"40\",\"40\",\"40\"\n\"15\",\"\",\"\",\"\"\n"));
    assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [40.0]);
    assert_eq!(it.blind_spots(), ["ClockAssumed all all"]);
}

#[test]
fn wall_time_needs_no_start_whether_it_is_in_seconds_milliseconds_or_a_date() {
    for stamp in ["1784019602.25", "1784019602250", "2026-07-14T09:00:02.25Z"] {
        let text =
            format!("\"Wall Time\",\"a - system/gpu.1.powerWatts\"\n\"{stamp}\",\"300.5\"\n");
        let it = read(&WandbChart, text, &ImportOptions::default());
        assert_eq!(it.values(&gpu("gpu1"), Metric::Power), [300_500.0], "{stamp}");
        assert_eq!(it.millis(&gpu("gpu1"), Metric::Power), [1_784_019_602_250], "{stamp}");
        assert!(it.blind_spots().is_empty(), "{stamp}");
    }
}

#[test]
fn a_chart_without_time_of_several_runs_or_of_a_group_is_refused_with_what_to_do() {
    let error = |header: &str| import(&format!("{header}\n1,2,3\n")).error();
    let (said, remedy) = error("Step,a - system/gpu.0.gpu,a - _step");
    assert!(said.contains("found `Step`") && remedy.contains("x axis"), "{said} {remedy}");
    let (said, remedy) = error("Wall Time,a - system/gpu.0.gpu,b - system/gpu.0.gpu");
    assert!(
        said.contains("found `a, b`") && remedy.contains("hide all runs but one"),
        "{said} {remedy}"
    );
    let (said, remedy) = error("Wall Time,Group: x - system/gpu.0.gpu,z");
    assert!(said.contains("Group: x") && remedy.contains("grouping off"), "{said} {remedy}");
    let text = format!("{CHART}\"0.5\",\"40\",\"10\",\"70\"\n");
    let (said, _) = read(&WandbChart, text, &ImportOptions::default()).error();
    assert_eq!(said, "log: has no time stamps");
}

#[test]
fn several_gpus_and_metrics_of_one_run_stay_apart_and_the_runs_own_share_is_unknown() {
    let it = import(
        "Relative Time (Wall),a - system/gpu.0.gpu,a - system/gpu.1.gpu,a - system/gpu.0.memoryAllocatedBytes,a - system/gpu.process.0.gpu,a - system/cpu\n10,40,50,1048576,40,3\n",
    );
    assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [40.0]);
    assert_eq!(it.values(&gpu("gpu1"), Metric::GpuUtilization), [50.0]);
    assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [1_048_576.0]);
    assert!(it.blind_spots().contains(&"Ambiguous gpu0 gpu_utilization_pct".to_owned()));
}

#[test]
fn damage_costs_the_row_or_the_cell() {
    let it =
        import(&format!("{CHART}soon,40,40,40\n1,many,0,0\n2,3\n3,137,0,0\n4,60,60,60\n{CHART}"));
    assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [60.0]);
    assert_eq!(it.summary().rejections.count(), 4);
    assert_eq!(WandbChart.recognise(b"Step,a - loss,a - loss__MIN\n1,2,3\n"), Likeness::No);
    assert_eq!(WandbChart.recognise(b"system.gpu.0.gpu,_timestamp\n1,2\n"), Likeness::No);
}
