//! CSV of nvitop's `ResourceMetricCollector`: one column for each statistic of each metric of each GPU and process.
//!
//! A statistic covers the time since the collector began, or since it was cleared; `duration (s)` says how long that is.
//! Where it grows from row to row, means of one step are computed from two means that begin together. Source:
//! XuehaiPan/nvitop, `nvitop/api/collector.py`, and its example that writes a CSV.

mod units;

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::source::Reading;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::nvitop::units::{in_unit, is_in_strange_unit};
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::run::origin::Origin;
use crate::import::run::seen::{MetricSet, Seen, Silence};
use crate::import::smi::csv::split;
use crate::import::smi::program::Programs;
use crate::import::text::cells::number;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::text::stamp::{EpochUnit, epoch};
use crate::import::{Importer, Likeness};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// A row whose duration is this much longer than the time since the row before, as a share, was not cleared in between.
const CLEARED: f64 = 0.5;

/// Reads CSV of nvitop's `ResourceMetricCollector`.
pub struct Nvitop;

impl Importer for Nvitop {
    fn id(&self) -> &'static str {
        "nvitop"
    }

    fn about(&self) -> &'static str {
        "csv of nvitop's ResourceMetricCollector: `cuda:0 (gpu:0)/gpu_utilization (%)/mean` and its like"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let has_metric = |it: &String| split(it).into_iter().any(|it| Column::parse(it).is_some());
        match head_lines(head).iter().take(20).any(has_metric) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = NvitopFile::default();
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            if !line.trim().is_empty() {
                file.line(run, &line)?;
            }
        }
        file.finish(run)
    }
}

/// What of the samples since the collector began a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Statistic {
    /// The last sample.
    Last,
    /// The mean.
    Mean,
}

/// A column that holds a reading.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    /// What the collection was called.
    tag: String,
    /// The GPU, as nvitop names it.
    device: String,
    /// The process; `None` for the GPU itself.
    pid: Option<u32>,
    metric: Metric,
    factor: f64,
    statistic: Statistic,
}

impl Column {
    /// `TAG/cuda:0 (gpu:3)/memory_used (MiB)/mean` or `TAG/pid:7/gpu:3/gpu_memory (MiB)/mean`; `None` for any other name.
    fn parse(name: &str) -> Option<Self> {
        let (rest, statistic) = name.rsplit_once('/')?;
        let statistic = match statistic {
            "last" => Statistic::Last,
            "mean" => Statistic::Mean,
            _ => return None,
        };
        let (rest, metric) = rest.rsplit_once('/')?;
        let (metric, factor) = in_unit(metric)?;
        let (rest, device) = rest.rsplit_once('/').unwrap_or(("", rest));
        if !device.contains("gpu:") {
            return None;
        }
        let last = rest.rsplit_once('/').map_or(rest, |it| it.1);
        let pid = last.strip_prefix("pid:").and_then(|it| it.parse().ok());
        let tag = if pid.is_some() { rest.rsplit_once('/').map_or("", |it| it.0) } else { rest };
        let (tag, device) = (tag.to_owned(), device.to_owned());
        Some(Self { tag, device, pid, metric, factor, statistic })
    }

    /// Index of the GPU; `None` for a MIG device, which nvitop names by a number of its own.
    fn index(&self) -> Option<u32> {
        let index = self.device.rsplit_once("gpu:")?.1;
        index.trim_end_matches(')').parse().ok()
    }

    fn subject(&self) -> Option<Subject> {
        let gpu = GpuId::from_index(self.index()?);
        Some(match self.pid {
            Some(pid) => Subject::Process { gpu, process: ProcessKey { pid, started: None } },
            None => Subject::Device { gpu },
        })
    }
}

/// What a header means.
struct Layout {
    line: String,
    width: usize,
    stamp: usize,
    duration: Option<usize>,
    /// For each subject its columns.
    columns: BTreeMap<Subject, Vec<(usize, Column)>>,
    has_means: bool,
}

/// A mean and how long it covers, in seconds.
#[derive(Debug, Clone, Copy)]
struct Covered {
    mean: f64,
    seconds: f64,
}

/// A file that is being read.
#[derive(Default)]
struct NvitopFile {
    layout: Option<Layout>,
    devices: Devices,
    programs: Programs,
    seen: Seen,
    last: Option<(Timestamp, Option<f64>)>,
    means: BTreeMap<(Subject, Metric), Covered>,
    /// Subjects of whom means could not be taken apart, because nobody knows when theirs begin.
    entangled: BTreeSet<Subject>,
    instances: BTreeSet<String>,
}

impl NvitopFile {
    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if self.layout.as_ref().is_some_and(|it| it.line == line) {
            return Ok(());
        }
        let cells = split(line);
        if cells.iter().any(|it| Column::parse(it).is_some()) {
            return self.header(run, line, &cells);
        }
        let Some(layout) = self.layout.take() else {
            run.reject("", "the header of nvitop's collector", line);
            return Ok(());
        };
        let done = match cells.len() == layout.width {
            true => self.row(run, &layout, &cells),
            false => {
                run.reject("", &format!("{} cells", layout.width), line);
                Ok(())
            }
        };
        self.layout = Some(layout);
        done
    }

    fn header(
        &mut self,
        run: &mut ImportRun<'_>,
        line: &str,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let all: Vec<(usize, Column)> = cells
            .iter()
            .enumerate()
            .filter_map(|(place, name)| Some((place, Column::parse(name)?)))
            .collect();
        let tag = all.first().map_or("", |it| it.1.tag.as_str()).to_owned();
        let of_tag = |suffix: &str| {
            let name = if tag.is_empty() { suffix.to_owned() } else { format!("{tag}/{suffix}") };
            cells.iter().position(|it| *it == name)
        };
        let Some(stamp) = of_tag("timestamp") else {
            let remedy = "keep all that collect() gives, its timestamp too";
            return Err(run.structure_error("a column TAG/timestamp", line, remedy));
        };
        let others: BTreeSet<&str> =
            all.iter().map(|it| it.1.tag.as_str()).filter(|it| *it != tag).collect();
        if !others.is_empty() {
            let names: Vec<&str> = others.into_iter().collect();
            run.warn(format!(
                "only `{tag}` is read; collections inside it are left out: {}",
                names.join(", ")
            ));
        }
        let strange: Vec<&str> =
            cells.iter().copied().filter(|it| is_in_strange_unit(it)).collect();
        if !strange.is_empty() {
            let names = strange.join("`, `");
            run.warn(format!("`{names}`: the unit does not fit what is measured; left out"));
        }
        let mut columns: BTreeMap<Subject, Vec<(usize, Column)>> = BTreeMap::new();
        for (place, column) in all.iter().filter(|it| it.1.tag == tag) {
            match column.subject() {
                Some(subject) => columns.entry(subject).or_default().push((*place, column.clone())),
                None => {
                    self.instances.insert(column.device.clone());
                }
            }
        }
        for own in columns.values_mut() {
            own.sort_by_key(|it| (it.1.metric, it.1.statistic));
        }
        let is_mean = |it: &(usize, Column)| it.1.statistic == Statistic::Mean;
        let has_last = columns.values().flatten().any(|it| !is_mean(it));
        let (line, width, duration) = (line.to_owned(), cells.len(), of_tag("duration (s)"));
        self.layout = Some(Layout { line, width, stamp, duration, columns, has_means: !has_last });
        self.means.clear();
        Ok(())
    }

    fn row(
        &mut self,
        run: &mut ImportRun<'_>,
        layout: &Layout,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let at = match epoch(cells[layout.stamp], EpochUnit::Seconds) {
            Ok(at) => at,
            Err(found) => {
                run.reject("timestamp", "seconds since 1970", &found);
                return Ok(());
            }
        };
        run.describe_source(|_| origin(layout))?;
        let duration = layout.duration.and_then(|it| number(cells[it]).ok().flatten());
        let seconds = duration.filter(|it| it.is_finite() && *it > 0.0);
        // The collector goes on where it covers more than the time since the row before.
        let goes_on = match (self.last, seconds) {
            (Some((last, Some(before))), Some(now)) => {
                let step = at.seconds_since(last);
                now > before
                    && now - before < step * (1.0 + CLEARED)
                    && now > step * (1.0 + CLEARED)
            }
            _ => false,
        };
        if !goes_on {
            self.means.clear();
        }
        for (subject, columns) in &layout.columns {
            self.subject(run, at, subject, columns, cells, (seconds, goes_on))?;
        }
        self.last = Some((at, seconds));
        Ok(())
    }

    fn subject(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        subject: &Subject,
        columns: &[(usize, Column)],
        cells: &[&str],
        (seconds, goes_on): (Option<f64>, bool),
    ) -> Result<(), ImportError> {
        let asked: MetricSet = columns.iter().map(|it| it.1.metric).collect();
        let mut read: Vec<(Metric, f64)> = Vec::new();
        let mut is_there = false;
        for (place, column) in columns {
            let value = match number(cells[*place]) {
                Ok(value) => value,
                Err(found) => {
                    run.reject(column.metric.key(), "a number", &found);
                    None
                }
            };
            let Some(value) = value.map(|it| it * column.factor) else { continue };
            is_there = true;
            if read.iter().any(|it| it.0 == column.metric) {
                continue;
            }
            let own = match column.statistic {
                Statistic::Last => Some(value),
                Statistic::Mean => self.of_step(subject, column.metric, value, seconds, goes_on),
            };
            read.extend(own.map(|it| (column.metric, it)));
        }
        if !is_there {
            return Ok(());
        }
        let gpu = subject.gpu().cloned().unwrap_or_else(|| GpuId::from_index(0));
        let index = columns.first().and_then(|it| it.1.index());
        self.devices.tell(run, Device { index, ..Device::named(gpu.clone()) })?;
        if let Some(pid) = columns.first().and_then(|it| it.1.pid) {
            self.programs.tell(run, &gpu, pid, None)?;
        }
        self.seen.row(run, at, subject, asked, &read)
    }

    /// The mean over the time since the row before; `None` where it cannot be told.
    fn of_step(
        &mut self,
        subject: &Subject,
        metric: Metric,
        mean: f64,
        seconds: Option<f64>,
        goes_on: bool,
    ) -> Option<f64> {
        let key = (subject.clone(), metric);
        let Some(seconds) = seconds else { return Some(mean) };
        let before = self.means.insert(key, Covered { mean, seconds });
        match before {
            _ if !goes_on => Some(mean),
            Some(before) if !self.entangled.contains(subject) => {
                let sum = mean * seconds - before.mean * before.seconds;
                let own = sum / (seconds - before.seconds);
                // Two numbers that are nearly equal leave a rest of rounding.
                Some(if own < 0.0 && own > -1e-6 * mean.abs().max(1.0) { 0.0 } else { own })
            }
            _ => {
                // It came while the collector was going on; its means begin nobody knows when.
                self.entangled.insert(subject.clone());
                None
            }
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.layout.is_none() && run.line > 0 {
            let expected = "a header with columns like `TAG/gpu:0/gpu_utilization (%)/mean`";
            let remedy = "keep the header that pandas writes";
            return Err(run.structure_error(expected, "none", remedy));
        }
        for subject in &self.entangled {
            let detail = "nvitop wrote means since it began, and this one came later: the means of single steps cannot be told".to_owned();
            let remedy = "call collector.clear() after each collect()";
            let kind = BlindSpotKind::TooCoarse;
            run.blind_spot(kind, Some(subject.clone()), None, detail, remedy)?;
        }
        if !self.instances.is_empty() {
            let names: Vec<&str> = self.instances.iter().map(String::as_str).collect();
            let detail = format!(
                "nvitop names MIG devices by numbers of its own, not by their instances; left out: {}",
                names.join(", ")
            );
            run.warn(detail.clone());
            let remedy = "record nvidia-smi beside it, which names instances: nvidia-smi -q -l 1";
            run.blind_spot(BlindSpotKind::Ambiguous, None, None, detail, remedy)?;
        }
        let entangled = self.entangled;
        self.seen.report_silence(run, |subject, metric| match entangled.contains(subject) {
            true => Silence {
                kind: BlindSpotKind::TooCoarse,
                detail: format!("{}: only means since nobody knows when", metric.spec().label),
                remedy: "call collector.clear() after each collect()".to_owned(),
            },
            false => Silence::unexplained(metric),
        })
    }
}

fn origin(layout: &Layout) -> Origin {
    let mean = Reading::WindowAverage { window: None };
    let metrics = layout.columns.values().flatten().map(|it| it.1.metric);
    let readings = metrics.filter(|it| it.spec().reading == Reading::Instant && layout.has_means);
    let readings = readings.map(|it| (it, mean)).collect();
    Origin { tool: "nvitop".to_owned(), clock: "UTC".to_owned(), readings, ..Origin::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, gpu, process, read};

    const MIB: f64 = 1_048_576.0;

    fn import(text: &str) -> Outcome {
        read(&Nvitop, text, &ImportOptions::default())
    }

    #[test]
    fn a_column_in_another_unit_is_converted_and_one_in_no_unit_that_fits_is_named() {
        let it = import(
            "a/timestamp,a/gpu:0/memory_used (GiB)/last,a/gpu:0/power_usage (mW)/last,a/gpu:0/temperature (MiB)/last\n1000,2,70000,40\n1001,2.5,71000,41\n",
        );
        let used = it.values(&gpu("gpu0"), Metric::FramebufferUsed);
        assert_eq!(used, [2.0 * 1024.0 * MIB, 2.5 * 1024.0 * MIB]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [70_000.0, 71_000.0]);
        let warnings = it.result.unwrap().warnings;
        let told = warnings.iter().find(|it| it.contains("temperature (MiB)"));
        assert!(told.is_some_and(|it| it.contains("left out")), "{warnings:?}");
    }

    #[test]
    fn a_name_of_a_column_says_tag_gpu_process_metric_and_statistic() {
        let parse = |it: &str| {
            Column::parse(it)
                .map(|it| (it.tag.clone(), it.index(), it.pid, it.metric, it.statistic))
        };
        assert_eq!(
            parse("a/b/cuda:0 (gpu:3)/memory_used (MiB)/mean"),
            Some(("a/b".to_owned(), Some(3), None, Metric::FramebufferUsed, Statistic::Mean))
        );
        assert_eq!(
            parse("run/pid:12/gpu:1/gpu_sm_utilization (%)/last"),
            Some(("run".to_owned(), Some(1), Some(12), Metric::GpuUtilization, Statistic::Last))
        );
        assert_eq!(
            parse("run/gpu:(0, 1)/memory_used (MiB)/mean"),
            Some(("run".to_owned(), None, None, Metric::FramebufferUsed, Statistic::Mean))
        );
        for other in [
            "run/host/cpu_percent (%)/mean",
            "run/gpu:0/memory_used (MiB)/max",
            "run/pid:12/host/host_memory (MiB)/mean",
            "run/timestamp",
            "run/gpu:0/unknown (%)/mean",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    const HEADER: &str = "time,r/gpu:0/gpu_utilization (%)/mean,r/gpu:0/gpu_utilization (%)/max,r/gpu:0/memory_used (MiB)/mean,r/gpu:0/power_usage (W)/mean,r/pid:7/gpu:0/gpu_sm_utilization (%)/mean,r/pid:7/gpu:0/gpu_memory (MiB)/mean,r/duration (s),r/timestamp\n";

    #[test]
    fn means_of_a_collector_that_was_cleared_are_those_of_the_step() {
        let text = format!(
            "{HEADER}x,10.0,99,512.0,70.5,,,2.0,1784019602.5\ny,50.0,99,1024.0,80.0,40.0,256,2.0,1784019604.5\n"
        );
        assert_eq!(Nvitop.recognise(text.as_bytes()), Likeness::Sure);
        let it = import(&text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [10.0, 50.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [512.0 * MIB, 1024.0 * MIB]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [70_500.0, 80_000.0]);
        assert_eq!(it.values(&process("gpu0", 7), Metric::GpuUtilization), [40.0]);
        assert_eq!(it.millis(&gpu("gpu0"), Metric::Power), [1_784_019_602_500, 1_784_019_604_500]);
        let source = &it.recording.outline.sources[0];
        let average = Reading::WindowAverage { window: None };
        assert_eq!(source.readings.get(&Metric::FramebufferUsed), Some(&average));
        assert_eq!(it.blind_spots(), [""; 0]);
    }

    #[test]
    fn means_since_the_beginning_are_taken_apart() {
        // 10 % for 2 s, 50 % for 2 s, 0 % for 2 s.
        let text = format!(
            "{HEADER}x,10,0,512,70,,,2,100\nx,30,0,512,70,40,256,4,102\nx,20,0,512,70,20,256,6,104\n"
        );
        let it = import(&text);
        let steps = it.values(&gpu("gpu0"), Metric::GpuUtilization);
        assert_eq!(steps, [10.0, 50.0, 0.0]);
        assert!(it.values(&process("gpu0", 7), Metric::FramebufferUsed).is_empty());
        assert_eq!(it.blind_spots()[0], "TooCoarse gpu0 pid 7 all");
    }

    #[test]
    fn the_last_sample_goes_before_the_mean() {
        let text = "r/gpu:0/gpu_utilization (%)/mean,r/gpu:0/gpu_utilization (%)/last,\"r/gpu:(0, 1)/memory_used (MiB)/mean\",r/duration (s),r/timestamp\n10,90,5,2,100\n20,80,5,4,102\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [90.0, 80.0]);
        assert!(it.recording.outline.sources[0].readings.is_empty());
        assert_eq!(it.blind_spots(), ["Ambiguous all all"]);
    }

    #[test]
    fn damage_costs_the_row_or_the_cell() {
        let text = format!(
            "junk\n{HEADER}x,10,0,512,70,,,2,100\nx,137,0,much,70,,,2,102\nx,1\nx,10,0,512,70,,,2,soon\n{HEADER}x,11,0,512,70,,,2,104\n"
        );
        let it = import(&text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [10.0, 11.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power).len(), 3);
        assert_eq!(it.summary().rejections.count(), 5);
        let stampless = HEADER.replace("r/timestamp", "r/stamp");
        assert!(import(&stampless).error().0.contains("TAG/timestamp"));
        assert_eq!(Nvitop.recognise(b"timestamp,gpu,power_w\n"), Likeness::No);
    }
}
