//! A program under watch: its processor time, its memory, and what it wrote.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// Ticks of the process clock in a second.
const TICKS_PER_S: f64 = 100.0;

/// What a program has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Processor time, user and system together, all threads, seconds.
    pub(crate) seconds: f64,
    /// Memory now, MiB.
    pub(crate) memory: f64,
    /// Most memory so far, MiB.
    pub(crate) peak: f64,
    /// Bytes that went to the disk.
    pub(crate) written: f64,
}

fn field(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|it| it.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(f64::NAN)
}

/// Processor time of all threads that live, to the nanosecond; `None` where the kernel does not count it.
///
/// Ticks of the process clock miss, or count whole, what is shorter than one of them: every look is.
fn exact_seconds(id: u32) -> Option<f64> {
    let threads = std::fs::read_dir(Path::new("/proc").join(id.to_string()).join("task")).ok()?;
    let spent = |folder: std::path::PathBuf| -> Option<f64> {
        let text = std::fs::read_to_string(folder.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let all: Vec<f64> = threads.flatten().filter_map(|it| spent(it.path())).collect();
    let nanoseconds: f64 = all.iter().sum();
    (nanoseconds > 0.0).then_some(nanoseconds / 1e9)
}

/// What a program has used so far; it must be alive.
pub(crate) fn usage(id: u32) -> Usage {
    let read = |file: &str| {
        let text = std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join(file));
        text.unwrap_or_else(|it| panic!("program {id} is gone: {it}"))
    };
    let (stat, status, io) = (read("stat"), read("status"), read("io"));
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks = ticks.map(|it| it.parse().unwrap_or(f64::NAN)).sum::<f64>() / TICKS_PER_S;
    Usage {
        seconds: exact_seconds(id).unwrap_or(ticks),
        memory: field(&status, "VmRSS:") / 1024.0,
        peak: field(&status, "VmHWM:") / 1024.0,
        written: field(&io, "write_bytes:"),
    }
}

/// What a program used over a while.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched {
    /// Processor time over time passed; 1 is one core.
    pub(crate) share: f64,
    /// Processor time, seconds.
    pub(crate) seconds: f64,
    /// At the end of the while.
    pub(crate) end: Usage,
    /// Memory, once a second.
    pub(crate) memory: Vec<f64>,
}

/// Watches a program for some time, after it has had time to start.
pub(crate) fn watch(child: &Child, starts: Duration, lasts: Duration) -> Watched {
    std::thread::sleep(starts);
    let (begin, from) = (std::time::Instant::now(), usage(child.id()));
    let mut memory = vec![from.memory];
    while begin.elapsed() < lasts {
        std::thread::sleep(Duration::from_secs(1).min(lasts.saturating_sub(begin.elapsed())));
        memory.push(usage(child.id()).memory);
    }
    let end = usage(child.id());
    let seconds = end.seconds - from.seconds;
    Watched { share: seconds / begin.elapsed().as_secs_f64(), seconds, end, memory }
}
