//! Many processes of a recording read as few: those of one program that followed each other are one.
//!
//! What the readings of a process mean shows from some thirty samples on, and nobody can judge about a thousand tenants of
//! two samples each. Nothing changes on disk.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::processes::Followers;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::time::{TimeSpan, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many processes of a GPU are told apart, each by itself.
const MOST_APART: usize = 64;
/// A process that was there for this part of the time stays apart: of those there are this many for each that is there at once.
const STAYS_PART: f64 = 16.0;

/// Under whom the readings of a subject count, for those that count under another.
pub(crate) type Renamed = BTreeMap<Subject, Subject>;

/// Puts processes that followed each other under the name of the first, on GPUs with very many; changes the outline so.
///
/// `lives` are the spans of readings, any number for each subject. On each GPU a process takes the lane that was left last, of
/// those of its program and tenant, which makes as few lanes as processes were ever there at once. One that was there for long
/// is somebody of its own: a service that was restarted is not one of the jobs before it.
pub(crate) fn together<'a>(
    outline: &mut Outline,
    lives: impl Iterator<Item = (&'a Subject, TimeSpan)>,
) -> Renamed {
    let mut of_gpu: BTreeMap<&GpuId, BTreeMap<ProcessKey, TimeSpan>> = BTreeMap::new();
    for (subject, span) in lives {
        if let Subject::Process { gpu, process } = subject {
            let life = of_gpu.entry(gpu).or_default().entry(*process).or_insert(span);
            *life = life.hull(span);
        }
    }
    let mut renamed = Renamed::new();
    let mut told = Vec::new();
    for (gpu, lives) in of_gpu.into_iter().filter(|it| it.1.len() > MOST_APART) {
        let after = lives.keys().map(|it| outline.followed.after(gpu, *it));
        let count = after.fold(lives.len() as u64, u64::saturating_add);
        let lines = lives.len();
        let successors = successors(outline, gpu, lives);
        if !successors.is_empty() {
            told.push(in_line(outline, gpu, (count, lines), &successors));
        }
        for (process, first) in successors {
            let subject = |process| Subject::Process { gpu: gpu.clone(), process };
            renamed.insert(subject(process), subject(first));
        }
    }
    if !renamed.is_empty() {
        rename(outline, &renamed);
        outline.blind_spots.extend(told);
    }
    renamed
}

/// The same of a recording in memory.
pub fn with_processes_in_line(mut recording: Recording) -> Recording {
    let spans = |trace: &Trace| trace.series.values().filter_map(Series::span).collect::<Vec<_>>();
    let lives = recording
        .traces
        .iter()
        .flat_map(|(subject, trace)| spans(trace).into_iter().map(move |span| (subject, span)));
    let renamed = together(&mut recording.outline, lives);
    let mut lines: BTreeMap<Subject, Vec<Trace>> = BTreeMap::new();
    for (subject, first) in renamed {
        let line = lines.entry(first).or_default();
        line.extend(recording.traces.remove(&subject));
    }
    for (first, mut line) in lines {
        line.extend(recording.traces.remove(&first));
        recording.traces.insert(first, one_after_the_other(line));
    }
    recording
}

/// The series of processes that were there at no time together.
fn one_after_the_other(line: Vec<Trace>) -> Trace {
    let mut joined = Trace::default();
    let mut parts: BTreeMap<Metric, Vec<Series>> = BTreeMap::new();
    for trace in line {
        joined.sources.extend(trace.sources);
        for (metric, series) in trace.series {
            parts.entry(metric).or_default().push(series);
        }
    }
    for (metric, mut parts) in parts {
        parts.sort_by_key(Series::span);
        let times = parts.iter().flat_map(|it| it.times().iter().copied()).collect();
        let mut values = Vec::new();
        parts.iter().for_each(|it| it.each(0..it.len(), |value| values.push(value)));
        joined.series.extend(Series::compact(Arc::new(times), values).map(|it| (metric, it)));
    }
    joined
}

fn in_line(
    outline: &Outline,
    gpu: &GpuId,
    (count, lines): (u64, usize),
    successors: &[(ProcessKey, ProcessKey)],
) -> BlindSpot {
    let is_owned = |it: &(ProcessKey, ProcessKey)| program(outline, gpu, it.0).1.is_some();
    let remedy = match successors.iter().all(is_owned) {
        true => "",
        false => {
            "record who they belong to, such as containers or jobs: processes count by tenant then"
        }
    };
    BlindSpot {
        kind: BlindSpotKind::Ambiguous,
        subject: Some(Subject::device(gpu)),
        metric: None,
        span: None,
        detail: format!(
            "{count} processes are read as {}: those of one program and tenant that followed each other are one load, `+N` says how many came after the one that is named",
            lines - successors.len()
        ),
        remedy: remedy.to_owned(),
    }
}

/// A program and whose it is, whichever of the descriptions of a process says so.
fn program<'a>(
    outline: &'a Outline,
    gpu: &GpuId,
    process: ProcessKey,
) -> (Option<&'a str>, Option<&'a TenantId>) {
    let all = || outline.processes.all_of(gpu, process);
    (all().find_map(|it| it.name.as_deref()), all().find_map(|it| it.tenant.as_ref()))
}

/// The first process of the lane of each process that is not the first itself.
fn successors(
    outline: &Outline,
    gpu: &GpuId,
    lives: BTreeMap<ProcessKey, TimeSpan>,
) -> Vec<(ProcessKey, ProcessKey)> {
    let whole = lives.values().copied().reduce(TimeSpan::hull);
    let long_s = whole.map_or(f64::INFINITY, |it| it.seconds() / STAYS_PART);
    // One that others stand behind already is a line, however long.
    let is_line = |process: ProcessKey| outline.followed.after(gpu, process) > 0;
    let short = lives.into_iter().filter(|it| it.1.seconds() < long_s || is_line(it.0));
    let mut by_start: Vec<(TimeSpan, ProcessKey)> =
        short.map(|(process, life)| (life, process)).collect();
    by_start.sort_unstable();
    let mut lanes: BTreeMap<_, BTreeSet<(Timestamp, ProcessKey)>> = BTreeMap::new();
    let mut found = Vec::new();
    for (life, process) in by_start {
        let lanes = lanes.entry(program(outline, gpu, process)).or_default();
        // A span ends just after its last reading.
        let none = ProcessKey { pid: u32::MAX, started: Some(Timestamp::from_micros(i64::MAX)) };
        let left = lanes.range(..=(life.from(), none)).next_back().copied();
        let first = match left {
            Some(lane) => {
                lanes.remove(&lane);
                found.push((process, lane.1));
                lane.1
            }
            None => process,
        };
        lanes.insert((life.until(), first));
    }
    found
}

fn rename(outline: &mut Outline, renamed: &Renamed) {
    for (subject, first) in renamed {
        let (Subject::Process { gpu, process }, Subject::Process { process: first, .. }) =
            (subject, first)
        else {
            continue;
        };
        let count = outline.followed.after(gpu, *process).saturating_add(1);
        outline.followed.add(Followers { gpu: gpu.clone(), process: *first, count });
    }
    let is_renamed = |gpu: &GpuId, process: ProcessKey| {
        renamed.contains_key(&Subject::Process { gpu: gpu.clone(), process })
    };
    outline.followed.retain(|gpu, process| !is_renamed(gpu, process));
    outline.processes.retain(|it| !is_renamed(&it.gpu, it.process));
    outline.subjects.retain(|it| !renamed.contains_key(it));
    for spot in &mut outline.blind_spots {
        if let Some(first) = spot.subject.as_ref().and_then(|it| renamed.get(it)) {
            spot.subject = Some(first.clone());
        }
    }
    let mut spots = Vec::new();
    for spot in std::mem::take(&mut outline.blind_spots) {
        if !spots.contains(&spot) {
            spots.push(spot);
        }
    }
    outline.blind_spots = spots;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::outline::Process;
    use crate::domain::time::Timestamp;

    fn subject(pid: u32) -> Subject {
        let process = ProcessKey { pid, started: None };
        Subject::Process { gpu: GpuId::from_index(0), process }
    }

    fn life(from: i64, last: i64) -> TimeSpan {
        let at = Timestamp::from_micros;
        TimeSpan::covering(at(from * 1_000_000), at(last * 1_000_000))
    }

    fn outline(names: impl Iterator<Item = (u32, &'static str)>) -> Outline {
        let mut outline = Outline::default();
        for (pid, name) in names {
            let it = subject(pid);
            let Subject::Process { gpu, process } = it.clone() else { continue };
            let name = Some(name.to_owned());
            outline.processes.push(Process { gpu, process, name, tenant: None });
            outline.subjects.push(it);
        }
        outline
    }

    #[test]
    fn of_very_many_those_of_one_program_that_follow_each_other_are_one() {
        let name = |pid: u32| if pid.is_multiple_of(2) { "even" } else { "odd" };
        let mut outline = outline((0..1000).map(|pid| (pid, name(pid))));
        let pids: Vec<Subject> = (0..1000).map(subject).collect();
        // Four at a time, of which each two are of one program.
        let lives =
            pids.iter().zip(0_i64..).map(|(it, pid)| (it, life(pid / 4 * 3, pid / 4 * 3 + 2)));
        let renamed = together(&mut outline, lives);
        assert_eq!(renamed.len(), 996);
        assert_eq!(outline.subjects, [0, 1, 2, 3].map(subject));
        assert_eq!(outline.processes.len(), 4);
        let labels: Vec<String> = outline.subjects.iter().map(|it| outline.label(it)).collect();
        assert_eq!(labels[0], "even (pid 0 +249)");
        let spot = &outline.blind_spots[0].detail;
        assert!(spot.starts_with("1000 processes are read as 4: "), "{spot}");
        assert_eq!(labels[3], "odd (pid 3 +249)");
    }

    #[test]
    fn few_and_those_at_once_stay_apart() {
        let mut few = outline((0..64).map(|pid| (pid, "job")));
        let before = few.clone();
        let pids: Vec<Subject> = (0..100).map(subject).collect();
        let lives = pids[..64].iter().zip(0..).map(|(it, pid)| (it, life(pid, pid)));
        assert!(together(&mut few, lives).is_empty());
        assert_eq!(few, before);
        let mut crowd = outline((0..100).map(|pid| (pid, "job")));
        let lives = pids.iter().map(|it| (it, life(0, 9)));
        assert!(together(&mut crowd, lives).is_empty());
    }

    #[test]
    fn those_of_two_tenants_stay_apart_also_where_a_later_description_says_whose_they_are() {
        let mut outline = outline((0..200).map(|pid| (pid, "python3")));
        let pids: Vec<Subject> = (0..200).map(subject).collect();
        for (it, pid) in pids.iter().zip(0..) {
            let Subject::Process { gpu, process } = it.clone() else { continue };
            let tenant = Some(TenantId::new(if pid % 2 == 0 { "even" } else { "odd" }));
            outline.processes.push(Process { gpu, process, name: None, tenant });
        }
        outline.followed.add(Followers {
            gpu: GpuId::from_index(0),
            process: ProcessKey { pid: 7, started: None },
            count: 5,
        });
        let lives = pids.iter().zip(0..).map(|(it, pid)| (it, life(pid * 10, pid * 10 + 8)));
        together(&mut outline, lives);
        assert_eq!(outline.subjects, [0, 1].map(subject));
        let spot = &outline.blind_spots[0];
        assert!(spot.detail.starts_with("205 processes are read as 2: "), "{}", spot.detail);
        assert_eq!(spot.remedy, "");
    }

    #[test]
    fn one_that_stays_is_not_one_of_those_before_it() {
        let mut outline = outline((0..200).map(|pid| (pid, "python3")));
        let pids: Vec<Subject> = (0..200).map(subject).collect();
        // A hundred jobs after each other; a service that begins after half of them; a hundred beside it.
        let lives = pids.iter().zip(0..).map(|(it, pid)| match pid {
            100 => (it, life(1000, 1900)),
            _ => (it, life(pid * 10, pid * 10 + 8)),
        });
        together(&mut outline, lives);
        let labels: Vec<String> = outline.subjects.iter().map(|it| outline.label(it)).collect();
        assert_eq!(labels, ["python3 (pid 0 +198)", "python3 (pid 100)"]);
    }

    #[test]
    fn in_memory_the_series_of_those_in_line_are_one() {
        let outline = outline((0..100).map(|pid| (pid, "job")));
        let trace = |pid: i64| {
            let times = (0..3).map(|it| Timestamp::from_micros((pid * 3 + it) * 1_000_000));
            let series = Series::new(Arc::new(times.collect()), vec![pid as f64; 3]).unwrap();
            let power = (Metric::Power, series.cut(life(pid * 3, pid * 3)));
            Trace { series: [(Metric::GpuUtilization, series), power].into(), ..Trace::default() }
        };
        let traces = (0..100).map(|pid| (subject(pid), trace(i64::from(pid)))).collect();
        let read = with_processes_in_line(Recording { outline, traces });
        assert_eq!(read.outline.subjects, [subject(0)]);
        assert_eq!(read.traces.len(), 1);
        let busy = read.series(&subject(0), Metric::GpuUtilization).unwrap();
        let expected: Vec<f64> = (0..300).map(|it| f64::from(it / 3)).collect();
        assert_eq!(busy.values(), expected);
        let power = read.series(&subject(0), Metric::Power).unwrap();
        assert_eq!(power.values(), (0..100).map(f64::from).collect::<Vec<_>>());
        assert_eq!(power.times()[99].as_micros(), 297_000_000);
    }

    #[test]
    fn one_whose_rows_lie_in_several_segments_lives_through_all_of_them() {
        let mut outline = outline((0..100).map(|pid| (pid, "job")));
        let pids: Vec<Subject> = (0..100).map(subject).collect();
        let each = pids.iter().zip(0..).map(|(it, pid)| (it, life(pid, pid)));
        let again = [(&pids[0], life(100, 100))];
        let renamed = together(&mut outline, each.chain(again));
        assert_eq!(outline.subjects, [0, 1].map(subject));
        assert!(renamed.values().all(|it| *it == pids[1]));
    }
}
