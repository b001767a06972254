//! Samples with their stamps as OpenMetrics 1.0, for `promtool tsdb create-blocks-from openmetrics`.
//!
//! Names and labels are those of `cotenant serve`, so that `cotenant import` reads them back. One
//! family follows the other, one series after the other, each in time order; what was not measured
//! is left out.
//!
//! Source: OpenMetrics 1.0 (prometheus/OpenMetrics, `specification/OpenMetrics.md`).

use crate::domain::ident::Subject;
use crate::domain::metric::{Dialect, Metric, Precision};
use crate::domain::outline::Outline;
use crate::domain::series::Series;
use crate::domain::shape_families::{HW_ID, HW_INDEX, MIG_INSTANCE, TENANT};
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::wording::clean;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Label of a MIG compute instance's number.
const MIG_COMPUTE_INSTANCE: &str = "mig_compute_instance";
/// Label of the layout that a MIG instance's number belongs to, where numbers came again.
const MIG_GENERATION: &str = "mig_generation";
/// Label of a process id.
const PID: &str = "pid";
/// Label of the start of a process, in seconds since 1970.
const STARTED: &str = "process_start_seconds";

/// Units that end the name of a family and are stated.
const UNITS: [&str; 7] = ["ratio", "bytes", "watts", "joules", "hertz", "celsius", "seconds"];

/// How a metric is called, and what its values are divided by.
struct Family {
    name: &'static str,
    is_counter: bool,
    factor: f64,
}

impl Family {
    fn of(metric: Metric) -> Option<Self> {
        let ours = metric.spec().names.iter().find(|it| it.0 == Dialect::Cotenant)?;
        let name = ours.1.strip_suffix("_total");
        Some(Self { name: name.unwrap_or(ours.1), is_counter: name.is_some(), factor: ours.2 })
    }

    fn unit(&self) -> Option<&'static str> {
        let is_rate = self.name.ends_with("_per_second");
        UNITS.into_iter().find(|it| !is_rate && self.name.ends_with(it))
    }
}

/// The labels of every subject, unlike each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubjectLabels(BTreeMap<Subject, String>);

impl SubjectLabels {
    /// The labels of the subjects of a recording, without braces.
    ///
    /// Names are cleaned of control characters and direction marks; of two that are then the same
    /// the second gets a label `duplicate`.
    pub fn of(outline: &Outline) -> Self {
        let mut taken = BTreeSet::new();
        let mut all = BTreeMap::new();
        for subject in &outline.subjects {
            let labels = subject_labels(outline, subject);
            let mut unlike = labels.clone();
            let mut number = 2;
            while !taken.insert(unlike.clone()) {
                unlike = labels.clone() + &format!(",duplicate=\"{number}\"");
                number += 1;
            }
            all.insert(subject.clone(), unlike);
        }
        Self(all)
    }

    fn get(&self, subject: &Subject) -> &str {
        self.0.get(subject).map_or("", String::as_str)
    }
}

fn subject_labels(outline: &Outline, subject: &Subject) -> String {
    let mut labels = Labels::default();
    if let Some(gpu) = subject.gpu() {
        labels = labels.with(HW_ID, gpu.as_str());
        let index = outline.device(gpu).and_then(|it| it.index);
        labels = labels.with(HW_INDEX, &index.map(|it| it.to_string()).unwrap_or_default());
    }
    let labels = match subject {
        Subject::Device { .. } => labels,
        Subject::MigInstance { instance } => {
            let compute = instance.compute_instance.map(|it| it.to_string()).unwrap_or_default();
            let generation = Some(instance.generation).filter(|it| *it > 0);
            labels
                .with(MIG_INSTANCE, &instance.gpu_instance.to_string())
                .with(MIG_COMPUTE_INSTANCE, &compute)
                .with(MIG_GENERATION, &generation.map(|it| it.to_string()).unwrap_or_default())
        }
        Subject::Process { process, .. } => {
            let started = process.started.map(stamp).unwrap_or_default();
            labels.with(PID, &process.pid.to_string()).with(STARTED, &started)
        }
        Subject::Tenant { tenant, .. } => labels.with(TENANT, tenant.as_str()),
    };
    labels.0
}

#[derive(Debug, Clone, Default)]
struct Labels(String);

impl Labels {
    /// Adds a label; one without a value is the same as none.
    fn with(mut self, name: &str, value: &str) -> Self {
        if value.is_empty() {
            return self;
        }
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(name);
        self.0.push_str("=\"");
        for letter in clean(value).chars() {
            match letter {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                it => self.0.push(it),
            }
        }
        self.0.push('"');
        self
    }
}

/// A text under way.
#[derive(Debug)]
pub struct OpenMetricsWriter<W> {
    out: W,
}

impl<W: Write> OpenMetricsWriter<W> {
    /// Begins a text with who is who in that part of the time.
    ///
    /// Errors: those of `out`.
    pub fn begin(out: W, outline: &Outline, shown: TimeSpan) -> io::Result<Self> {
        let mut writer = Self { out };
        let stamps = ends(shown);
        let gpus: Vec<String> = outline.devices.iter().map(gpu_info).collect();
        writer.info("cotenant_gpu", "What is known about a GPU.", &gpus, &stamps)?;
        let instances: Vec<String> = outline
            .mig_instances
            .iter()
            .map(|it| {
                let subject = Subject::MigInstance { instance: it.instance.clone() };
                let labels = Labels(subject_labels(outline, &subject));
                labels.with("mig_profile", it.profile.as_deref().unwrap_or_default()).0
            })
            .collect();
        let help = "What is known about a MIG instance.";
        writer.info("cotenant_mig_instance", help, &instances, &stamps)?;
        let processes: Vec<String> = outline
            .processes
            .iter()
            .map(|it| {
                let subject = Subject::Process { gpu: it.gpu.clone(), process: it.process };
                let tenant = it.tenant.as_ref().map(|it| it.as_str()).unwrap_or_default();
                Labels(subject_labels(outline, &subject))
                    .with("process_name", it.name.as_deref().unwrap_or_default())
                    .with("process_tenant", tenant)
                    .0
            })
            .collect();
        let help = "What is known about a process, and whose it is.";
        writer.info("cotenant_process", help, &processes, &stamps)?;
        Ok(writer)
    }

    fn info(
        &mut self,
        name: &str,
        help: &str,
        all: &[String],
        stamps: &[Timestamp],
    ) -> io::Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "# TYPE {name} info\n# HELP {name} {help}")?;
        let unlike: BTreeSet<&String> = all.iter().collect();
        for labels in unlike {
            for at in stamps {
                writeln!(self.out, "{name}_info{{{labels}}} 1 {}", stamp(*at))?;
            }
        }
        Ok(())
    }

    /// Begins the family of a metric; its series follow.
    ///
    /// Errors: those of the output.
    pub fn family(&mut self, metric: Metric) -> io::Result<()> {
        let Some(family) = Family::of(metric) else { return Ok(()) };
        let (name, kind) = (family.name, if family.is_counter { "counter" } else { "gauge" });
        writeln!(self.out, "# TYPE {name} {kind}")?;
        if let Some(unit) = family.unit() {
            writeln!(self.out, "# UNIT {name} {unit}")?;
        }
        writeln!(self.out, "# HELP {name} {}", metric.spec().meaning.replace('\\', "\\\\"))
    }

    /// The samples of one subject, in the family that was begun last.
    ///
    /// Errors: those of the output.
    pub fn series(
        &mut self,
        metric: Metric,
        subject: &Subject,
        labels: &SubjectLabels,
        series: &Series,
    ) -> io::Result<()> {
        let Some(family) = Family::of(metric) else { return Ok(()) };
        let ending = if family.is_counter { "_total" } else { "" };
        let labels = match labels.get(subject) {
            "" => String::new(),
            some => format!("{{{some}}}"),
        };
        let head = format!("{}{ending}{labels}", family.name);
        for (position, at) in series.times().iter().enumerate() {
            let value = in_base_unit(metric, series.value(position), family.factor);
            writeln!(self.out, "{head} {value} {}", stamp(*at))?;
        }
        Ok(())
    }

    /// Ends the text.
    ///
    /// Errors: those of the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"# EOF\n")?;
        self.out.flush()
    }
}

/// First and last instant, so that whoever asks at either end finds what is known.
fn ends(shown: TimeSpan) -> Vec<Timestamp> {
    let mut ends = vec![shown.from(), shown.until().plus_micros(-1)];
    ends.dedup();
    ends
}

fn gpu_info(it: &crate::domain::outline::Device) -> String {
    let mig = it.is_mig.map(|it| if it { "on" } else { "off" });
    Labels::default()
        .with(HW_ID, it.gpu.as_str())
        .with(HW_INDEX, &it.index.map(|it| it.to_string()).unwrap_or_default())
        .with("hw_type", "gpu")
        .with("hw_model", it.model.as_deref().unwrap_or_default())
        .with("hw_driver_version", it.driver.as_deref().unwrap_or_default())
        .with("host", it.host.as_deref().unwrap_or_default())
        .with("mig", mig.unwrap_or_default())
        .0
}

/// A stamp in seconds with six digits behind the point.
///
/// Prometheus multiplies by 1000 and cuts: where the nearest 64-bit float lies below the
/// millisecond, a quarter of a microsecond more, which is less than we know, keeps it there.
fn stamp(at: Timestamp) -> String {
    let micros = at.as_micros();
    let (seconds, below) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    if micros < 0 && below > 0 {
        let micros = micros.unsigned_abs();
        return format!("-{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    }
    let text = format!("{seconds}.{below:06}");
    let millis = text.parse::<f64>().map(|it| (it * 1000.0) as i64);
    if millis == Ok(micros.div_euclid(1000)) { text } else { text + "25" }
}

/// A value in the base unit of its family, with the digits that were stored and no others.
fn in_base_unit(metric: Metric, value: f64, factor: f64) -> f64 {
    let scaled = |it: f64| if factor < 1.0 { it * (1.0 / factor).round() } else { it / factor };
    match metric.spec().precision {
        Precision::Whole => scaled(value),
        Precision::Single => {
            let stored: f64 = (value as f32).to_string().parse().unwrap_or(value);
            let digits = format!("{:.8e}", scaled(stored));
            digits.parse().unwrap_or(stored)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{GpuId, TenantId};
    use crate::domain::outline::Device;
    use std::sync::Arc;

    fn written(outline: &Outline, samples: &[(Metric, Subject, Series)]) -> String {
        let mut bytes = Vec::new();
        let span = TimeSpan::covering(Timestamp::from_micros(0), Timestamp::from_micros(1));
        let mut writer = OpenMetricsWriter::begin(&mut bytes, outline, span).unwrap();
        let labels = SubjectLabels::of(outline);
        for (metric, subject, series) in samples {
            writer.family(*metric).unwrap();
            writer.series(*metric, subject, &labels, series).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn series(samples: &[(i64, f64)]) -> Series {
        let times = samples.iter().map(|it| Timestamp::from_micros(it.0)).collect();
        Series::new(Arc::new(times), samples.iter().map(|it| it.1).collect()).unwrap()
    }

    #[test]
    fn families_are_named_counted_and_measured_in_base_units() {
        let gpu = GpuId::from_index(0);
        let device = Device { index: Some(0), ..Device::named(gpu.clone()) };
        let subject = Subject::device(&gpu);
        let outline = Outline {
            devices: vec![device],
            subjects: vec![subject.clone()],
            ..Outline::default()
        };
        let at = 1_767_225_600_500_000;
        let samples = [
            (Metric::GpuUtilization, subject.clone(), series(&[(at, 37.2_f32.into())])),
            (Metric::Energy, subject.clone(), series(&[(at, 1_234_567.0)])),
            (Metric::SmClock, subject, series(&[(at, 1980.0), (at + 1, 1980.0)])),
        ];
        assert_eq!(
            written(&outline, &samples),
            "# TYPE cotenant_gpu info\n\
             # HELP cotenant_gpu What is known about a GPU.\n\
             cotenant_gpu_info{hw_id=\"gpu0\",hw_index=\"0\",hw_type=\"gpu\"} 1 0.000000\n\
             cotenant_gpu_info{hw_id=\"gpu0\",hw_index=\"0\",hw_type=\"gpu\"} 1 0.000001\n\
             # TYPE cotenant_gpu_utilization_ratio gauge\n\
             # UNIT cotenant_gpu_utilization_ratio ratio\n\
             # HELP cotenant_gpu_utilization_ratio Share of the driver's sample window in which at least one kernel ran; says nothing of how many SMs it used.\n\
             cotenant_gpu_utilization_ratio{hw_id=\"gpu0\",hw_index=\"0\"} 0.372 1767225600.500000\n\
             # TYPE cotenant_energy_joules counter\n\
             # UNIT cotenant_energy_joules joules\n\
             # HELP cotenant_energy_joules Energy since the driver was loaded.\n\
             cotenant_energy_joules_total{hw_id=\"gpu0\",hw_index=\"0\"} 1234.567 1767225600.500000\n\
             # TYPE cotenant_sm_clock_hertz gauge\n\
             # UNIT cotenant_sm_clock_hertz hertz\n\
             # HELP cotenant_sm_clock_hertz Clock of the SMs.\n\
             cotenant_sm_clock_hertz{hw_id=\"gpu0\",hw_index=\"0\"} 1980000000 1767225600.500000\n\
             cotenant_sm_clock_hertz{hw_id=\"gpu0\",hw_index=\"0\"} 1980000000 1767225600.500001\n\
             # EOF\n"
        );
    }

    #[test]
    fn every_metric_has_a_family_whose_unit_ends_its_name() {
        let mut names = BTreeSet::new();
        for metric in Metric::all() {
            let family =
                Family::of(metric).unwrap_or_else(|| panic!("{} has no name", metric.key()));
            assert!(names.insert(family.name), "{} stands twice", family.name);
            assert_eq!(
                family.is_counter,
                metric.spec().reading == crate::domain::source::Reading::Counter,
                "{}",
                family.name
            );
            assert!(family.factor == 1.0 || family.unit().is_some(), "{}", family.name);
        }
    }

    #[test]
    fn names_cannot_leave_their_quotes_and_stay_apart_when_they_look_alike() {
        let tenant = |name: &str| Subject::Tenant { gpu: None, tenant: TenantId::new(name) };
        let subjects = vec![tenant("a\u{202e}b"), tenant("a\"} 1\n\\"), tenant("ab")];
        let labels =
            SubjectLabels::of(&Outline { subjects: subjects.clone(), ..Outline::default() });
        assert_eq!(labels.get(&subjects[1]), r#"tenant="a\"} 1 \\""#);
        let both: BTreeSet<&str> = [0, 2].map(|it| labels.get(&subjects[it])).into();
        assert_eq!(both, BTreeSet::from(["tenant=\"ab\"", "tenant=\"ab\",duplicate=\"2\""]));
    }

    #[test]
    fn a_stamp_stays_in_its_millisecond_when_a_server_cuts_it() {
        for millis in 1_767_225_600_000_i64..1_767_225_601_000 {
            let text = stamp(Timestamp::from_micros(millis * 1000));
            assert_eq!((text.parse::<f64>().unwrap() * 1000.0) as i64, millis, "{text}");
        }
        assert_eq!(stamp(Timestamp::from_micros(-1_500_000)), "-1.500000");
    }
}
