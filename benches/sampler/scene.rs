//! What the simulated driver plays for benches of the sampler: busy boards, each with eight processes.

use cotenant_nvml_sim::{Staged, stage};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command};

/// Processes on each board.
pub(crate) const PROCESSES: usize = 8;

/// Loads that take turns: a server, bursts, a trainer's steady load, and a few small ones.
const LOADS: [&str; 4] = [
    "{ server = { per_second = 6, work_ms = 12, vary = { lognormal = 0.3 }, host_ms = 4 } }",
    "{ on-off = { on_ms = 2000, off_ms = 6000, vary = { lognormal = 0.6 } } }",
    "{ on-off = { on_ms = 300, off_ms = 1200, vary = { lognormal = 0.5 } } }",
    "{ steady = { busy_ms = 1, period_ms = 20 } }",
];

/// Programs that stand for those on the boards, so that `/proc` has them; ended when dropped.
pub(crate) struct Programs(Vec<Child>);

impl Programs {
    /// Starts so many programs that do nothing.
    pub(crate) fn start(count: usize) -> Self {
        let program = |_| Command::new("sleep").arg("3600").spawn().expect("sleep is there");
        Self((0..count).map(program).collect())
    }

    /// Their ids.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.0.iter().map(Child::id).collect()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for program in &mut self.0 {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// A board by its key in the simulator's table, and what the scenario calls it.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    /// Key of the board.
    pub(crate) key: &'static str,
    /// Short name for tables.
    pub(crate) name: &'static str,
}

/// Has performance counters.
pub(crate) const H100: Model = Model { key: "h100", name: "H100" };
/// Has none.
pub(crate) const A100: Model = Model { key: "a100-80", name: "A100" };

/// What the boards do.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Story {
    /// A scenario: lifelike numbers, of which the simulator keeps all in the memory of the program.
    Lifelike,
    /// A trace: full rings, but numbers that hardly change, so that it is kept in a few megabytes.
    Small,
}

/// Puts the library into `folder`, where it plays this many boards for this long.
pub(crate) fn put(
    folder: &Path,
    model: Model,
    gpus: usize,
    ids: &[u32],
    seconds: f64,
    story: Story,
) -> Staged {
    std::fs::create_dir_all(folder).expect("a folder");
    let processes = ids.len() / gpus;
    let mut plan = "calls_file = \"calls.json\"\nprocess_rows = \"averaged\"\n".to_owned();
    match story {
        Story::Lifelike => {
            let path = folder.join("scenario.toml");
            std::fs::write(&path, scenario_of(gpus, processes, seconds)).expect("written");
            writeln!(plan, "scenario = {:?}\n[pids]", path.display().to_string()).expect("taken");
            for (place, id) in ids.iter().enumerate() {
                writeln!(plan, "tenant-{place} = {id}").expect("a string takes it");
            }
        }
        Story::Small => {
            let path = folder.join("trace.csv");
            std::fs::write(&path, trace_of(gpus, ids, seconds)).expect("written");
            plan.push_str("trace = \"trace.csv\"\n");
        }
    }
    for _ in 0..gpus {
        writeln!(plan, "[[gpu]]\nboard = \"{}\"", model.key).expect("a string takes it");
    }
    let staged = stage(folder, &plan).unwrap_or_else(|it| {
        panic!("{it}: {:?}", std::error::Error::source(&it).map(ToString::to_string))
    });
    // Programs that look for the driver by its name find it here.
    for name in ["libnvidia-ml.so", "libnvidia-ml.so.1"] {
        let _ = std::fs::remove_file(folder.join(name));
        std::os::unix::fs::symlink(&staged.library, folder.join(name)).expect("a link");
    }
    staged
}

fn trace_of(gpus: usize, ids: &[u32], seconds: f64) -> String {
    let mut text = "t_s,gpu,pid,quantity,value\n".to_owned();
    let processes = ids.len() / gpus;
    for tenth in 0..(seconds * 10.0) as usize {
        let at = tenth as f64 / 10.0;
        for gpu in 0..gpus {
            let mut row = |quantity: &str, pid: &str, value: usize| {
                writeln!(text, "{at},{gpu},{pid},{quantity},{value}").expect("a string takes it");
            };
            row("power-milliwatts", "", 300_000 + tenth * 37 % 90_000);
            let place = gpu * processes + tenth % processes;
            let pid = ids[place].to_string();
            if tenth < processes {
                row("gpu-util-percent", "", 60);
                row("mem-util-percent", "", 30);
                row("process-fb-used-bytes", &pid, 2_000_000_000);
            }
            // Half as often as there are drains, so that each of them finds every process.
            row("process-sm-util-percent", &pid, 10 + tenth % 7);
        }
    }
    text
}

fn scenario_of(gpus: usize, processes: usize, seconds: f64) -> String {
    let mut text = format!(
        "name = \"watched\"\ndescription = \"Busy boards for the overhead of watching.\"\nseed = 7\n\
         duration_s = {seconds}\ncounterfactuals = false\n[observe]\nservices = false\n"
    );
    for _ in 0..gpus {
        text.push_str(
            "[[devices]]\nname = \"NVIDIA\"\nsms = 132\nmemory_mib = 81559\nidle_w = 70\n\
             cap_w = 700\nsm_clock_mhz = 1980\nmem_clock_mhz = 2619\npcie_gb_s = 64\n\
             sharing = { time-slicing = { fluid = true } }\n",
        );
    }
    for place in 0..gpus * processes {
        writeln!(
            text,
            "[[tenants]]\nname = \"tenant-{place}\"\ndevice = {}\nmemory_mib = {}\npower_w = {}\n\
             bandwidth = 0.4\npcie_rx_gb_s = 1.5\npcie_tx_gb_s = 0.5\nload = {}",
            place / processes,
            2000 + 700 * (place % processes),
            150 + 20 * (place % processes),
            LOADS[place % LOADS.len()],
        )
        .expect("a string takes it");
    }
    text
}
