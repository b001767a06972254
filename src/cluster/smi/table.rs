//! `nvidia-smi` without options: three tables in one text.

use crate::cluster::facts::{GpuFacts, GpuKey, GpuProcess, MigDevice, NodeWords, Origin};
use crate::cluster::smi::query::{compute_mode, switch};
use crate::cluster::text::{count, lines, mebibytes, said};

/// Which of the tables a row stands in.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Gpus,
    MigDevices,
    Processes { has_instances: bool },
}

/// Reads GPUs, MIG devices and processes with their instances.
///
/// Names that the table had no room for end in `...` and are kept so.
pub fn read(file: &str, text: &str) -> NodeWords {
    let mut words = NodeWords::default();
    let mut part = Part::Gpus;
    for line in lines(text) {
        let origin = Origin::new(file, line.number);
        let Some(inner) = line.text.trim().strip_prefix('|') else { continue };
        if inner.trim_start().starts_with("MIG devices:") {
            part = Part::MigDevices;
        } else if inner.trim_start().starts_with("Processes:") {
            part = Part::Processes { has_instances: false };
        } else if let Part::Processes { .. } = part
            && inner.contains("PID")
        {
            part = Part::Processes { has_instances: inner.contains("GI") };
        } else if begins_with_number(inner) && !line.text.trim_end().ends_with('|') {
            words.unread(origin, format!("`{}` ends before its row does", line.text.trim()));
        } else {
            row(&mut words, part, inner, origin);
        }
    }
    name_gpus(&mut words);
    words
}

fn begins_with_number(inner: &str) -> bool {
    inner.split_whitespace().next().is_some_and(|it| it.parse::<u32>().is_ok())
}

fn row(words: &mut NodeWords, part: Part, inner: &str, origin: Origin) {
    let cells: Vec<&str> = inner.trim_end_matches('|').split('|').map(str::trim).collect();
    match part {
        Part::Gpus => gpu_row(words, &cells, origin),
        Part::MigDevices => {
            if let Some(device) = mig_row(&cells, origin) {
                words.mig_devices.push(device);
            }
        }
        Part::Processes { has_instances } if begins_with_number(inner) => {
            match process_row(cells[0], has_instances, &origin) {
                Some(process) => words.processes.push(process),
                None => words.unread(origin, format!("`{}` is no process", cells[0])),
            }
        }
        Part::Processes { .. } => {}
    }
}

/// A GPU takes three rows: names; memory and compute mode; MIG mode.
fn gpu_row(words: &mut NodeWords, cells: &[&str], origin: Origin) {
    let [left, middle, right, ..] = cells else { return };
    if begins_with_number(left) && middle.contains(':') {
        let (index, name) = left.split_once(char::is_whitespace).unwrap_or((left, ""));
        let name = name.trim().rsplit_once(char::is_whitespace).map_or("", |it| it.0);
        let bus_id = middle.split_whitespace().next();
        let gpu = GpuKey::new(count(index), None, bus_id);
        let name = said(name).map(str::to_owned);
        words.gpus.push(GpuFacts { name, ..GpuFacts::new(gpu, origin) });
        return;
    }
    let Some(gpu) = words.gpus.last_mut() else { return };
    if let Some((used, total)) = middle.split_once('/') {
        gpu.memory_used_mib = mebibytes(used);
        gpu.memory_total_mib = mebibytes(total);
        let mode = right.split_once(char::is_whitespace).map_or(*right, |it| it.1);
        gpu.compute_mode = compute_mode(mode.trim());
    } else if left.is_empty() && middle.is_empty() {
        // A star means that the mode changes with the next reset.
        let current = switch(right.trim_end_matches('*'));
        gpu.is_mig_on = current;
        gpu.is_mig_pending = current.map(|it| it != right.ends_with('*'));
    }
}

/// `GPU GI CI Dev | used / total | SMs …`; the row below it, about BAR1, begins with no number.
fn mig_row(cells: &[&str], origin: Origin) -> Option<MigDevice> {
    let [ids, memory, processors, ..] = cells else { return None };
    let ids: Option<Vec<u32>> = ids.split_whitespace().map(count).collect();
    let [gpu, gpu_instance, compute_instance, index] = ids?.try_into().ok()?;
    let (used, total) = memory.split_once('/')?;
    let mut device = MigDevice::new(GpuKey::new(Some(gpu), None, None), origin);
    device.index = Some(index);
    device.gpu_instance = Some(gpu_instance);
    device.compute_instance = Some(compute_instance);
    device.memory_used_mib = mebibytes(used);
    device.memory_total_mib = mebibytes(total);
    device.multiprocessors = processors.split_whitespace().next().and_then(count);
    Some(device)
}

/// `GPU GI CI PID Type Name Memory`, on drivers before MIG without `GI CI`; a name may hold blanks.
fn process_row(content: &str, has_instances: bool, origin: &Origin) -> Option<GpuProcess> {
    let words: Vec<&str> = content.split_whitespace().collect();
    let (gpu, rest) = words.split_first()?;
    let (instances, rest) = rest.split_at_checked(if has_instances { 2 } else { 0 })?;
    let (pid, rest) = rest.split_first()?;
    let gpu = GpuKey::new(Some(count(gpu)?), None, None);
    let mut process = GpuProcess::new(gpu, pid.parse().ok()?, origin.clone());
    process.gpu_instance = instances.first().and_then(|it| count(it));
    process.compute_instance = instances.get(1).and_then(|it| count(it));
    if let Some((kind, rest)) = rest.split_first() {
        process.kind = said(kind).map(str::to_owned);
        let (name, memory) = match rest.split_last() {
            Some((last, name)) if last.ends_with("MiB") || said(last).is_none() => (name, *last),
            _ => (rest, ""),
        };
        process.name = said(&name.join(" ")).map(str::to_owned);
        process.memory_mib = mebibytes(memory);
    }
    Some(process)
}

/// Gives devices and processes all names of their GPU.
fn name_gpus(words: &mut NodeWords) {
    let keys: Vec<GpuKey> = words.gpus.iter().map(|it| it.gpu.clone()).collect();
    let whole = |key: &mut GpuKey| {
        if let Some(it) = keys.iter().find(|it| it.index == key.index) {
            *key = it.clone();
        }
    };
    words.mig_devices.iter_mut().for_each(|it| whole(&mut it.gpu));
    words.processes.iter_mut().for_each(|it| whole(&mut it.gpu));
}
