//! Whole command lines over a small recording: no panic, a documented exit code, and every refusal says what to do.
//!
//! The options come from the program's own `--help`, so that a new one is tried without a change here.

#![no_main]

use cotenant::storage::{Mode, RecordingWriter};
use cotenant_fuzz::{Choices, command, folder, inside, write_small};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// Commands that end by themselves.
const COMMANDS: [&str; 14] = [
    "analyze",
    "diagnose",
    "whatif",
    "recommend",
    "plan",
    "audit",
    "report",
    "export",
    "import",
    "doctor",
    "explain",
    "completions",
    "man",
    "demo",
];

/// Options that wait, or that take another place than the folder of the target.
const LEFT_OUT: [&str; 8] = [
    "--watch",
    "--prometheus",
    "--threads",
    "--token-file",
    "--basic-auth-file",
    "--ca-file",
    "--scenario",
    "--nvml-library",
];

/// Values that mean something to one option or another.
const VALUES: [&str; 66] = [
    "r",
    "smi.csv",
    "other",
    "policy.toml",
    "blocks.csv",
    "profiles.toml",
    "learnt.csv",
    "hardware.toml",
    "node.txt",
    "plan.yaml",
    "chat",
    "train",
    "python3",
    "load",
    "GPU-1/chat",
    "chat=0.4",
    "train=50",
    "chat=20%",
    "chat=10GiB",
    "train=2g",
    "chat=1g.10gb",
    "p99=50ms",
    "mean=2",
    "100W",
    "0",
    "1",
    "-1",
    "3",
    "7",
    "80",
    "400",
    "1e308",
    "NaN",
    "inf",
    "1s",
    "90s",
    "10ms",
    "2h",
    "7d",
    "-2h",
    "0s",
    "1us",
    "10s..20s",
    "5s..",
    "..5s",
    "2026-01-01T00:00:10Z",
    "2026-01-01",
    "00:00:12",
    "23:59",
    "UTC",
    "Europe/Berlin",
    "1920x1080",
    "1x1",
    "10x10",
    "9999x9999",
    "list",
    "all",
    "r#chat",
    "r#train",
    "timestamp,utilization.gpu",
    "latency_p99_s",
    "gpu_utilization",
    "p99",
    "NVIDIA H100 80GB HBM3",
    "A100-SXM4-40GB",
    "",
];

/// Names of places to write to, inside the folder.
const PLACES: [&str; 10] = [
    "out", "out.html", "out.json", "out.txt", "out.csv", "out.svg", "out.png", "out/", "out.pdf",
    "out.yaml",
];

const POLICY: &str = "least_samples = 3
[[tenant]]
name = \"chat\"
class = \"latency-sensitive\"
latency = { quantile = \"p99\", limit_ms = 100 }
";
const BLOCKS: &str = "# suspect: train
from,until,suspect_runs
0s,10s,yes
10s,20s,no
20s,30s,yes
";
const PROFILES: &str = "[[tenant]]
name = \"new\"
requests_per_s = 12
service_ms = 18
";
const LEARNT: &str =
    "gpu,mechanism,tenant,other,tenant_util,tenant_mem_util,other_util,other_mem_util,slowdown
NVIDIA H100 80GB HBM3,mps,a,b,50,10,40,10,1.2
NVIDIA H100 80GB HBM3,mps,a,c,50,10,90,10,1.9
";
const HARDWARE: &str = "currency = \"USD\"
[[gpu]]
model = \"H100\"
count = 3
price_per_hour = 2.5
";

/// Files that commands read; the table is made.
const FILES: [(&str, &str); 8] = [
    ("smi.csv", ""),
    ("policy.toml", POLICY),
    ("blocks.csv", BLOCKS),
    ("profiles.toml", PROFILES),
    ("learnt.csv", LEARNT),
    ("hardware.toml", HARDWARE),
    ("node.txt", include_str!("../../../fixtures/cluster/smi-query/node-a.txt")),
    ("plan.yaml", include_str!("../../../fixtures/cluster/mig-parted-config/layouts.yaml")),
];

/// An option, whether it takes a value, and the words that it knows.
#[derive(Debug)]
struct Known {
    name: String,
    has_value: bool,
    writes: bool,
    words: Vec<String>,
}

static KNOWN: OnceLock<Vec<Vec<Known>>> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let known = KNOWN.get_or_init(|| {
        prepare();
        COMMANDS.iter().map(|it| options_of(it)).collect()
    });
    let mut choices = Choices::new(bytes);
    let which = usize::from(choices.byte()) % COMMANDS.len();
    let line = line(COMMANDS[which], &known[which], &mut choices);
    std::env::set_current_dir(folder()).expect("the folder is there");
    let answer = command(&line);
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.code == 0 || !said.is_empty() || !answer.stdout.is_empty(), "{line:?}");
    assert!(!said.contains("RUST_BACKTRACE"), "{line:?}: {said}");
    clear();
});

/// Removes what the command wrote, so that the next finds what the first found.
fn clear() {
    let stay = ["r", "other", "stdout", "stderr"];
    for entry in std::fs::read_dir(folder()).expect("the folder is there").flatten() {
        let name = entry.file_name();
        let stays = stay.iter().chain(FILES.iter().map(|it| &it.0)).any(|it| name == **it);
        match entry.file_type() {
            _ if stays => {}
            Ok(it) if it.is_dir() => {
                let _ = std::fs::remove_dir_all(entry.path());
            }
            _ => {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// The files that commands read.
fn prepare() {
    for (name, from_s) in [("r", 0), ("other", 100)] {
        let mut writer =
            RecordingWriter::open(&inside(name), Mode::Create).expect("a place to write");
        write_small(&mut writer, from_s, 40);
        writer.finish().expect("it is written");
    }
    let mut table = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n".to_owned();
    for second in 0..30 {
        table += &format!("2026/01/01 00:00:{second:02}.000, 0, {} %, 100 MiB\n", second * 3);
    }
    for (name, text) in FILES {
        let text = if text.is_empty() { table.as_str() } else { text };
        std::fs::write(folder().join(name), text).expect("a file can be written");
    }
}

/// Reads what a command says of its options.
fn options_of(name: &str) -> Vec<Known> {
    let help = command([name, "-h", "--width", "100"]).stdout;
    let help = String::from_utf8(help).expect("help is UTF-8");
    let help = help.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut all = Vec::new();
    for entry in help.split("\n").collect::<Vec<_>>().join(" ").split(" --").skip(1) {
        let end = entry.find(|it: char| !it.is_ascii_lowercase() && it != '-');
        let (word, rest) = entry.split_at(end.unwrap_or(entry.len()));
        let option = format!("--{word}");
        if word.is_empty() || LEFT_OUT.contains(&option.as_str()) {
            continue;
        }
        let value = rest.strip_prefix(" <").and_then(|it| it.split('>').next());
        let words = rest.split("[possible values: ").nth(1).and_then(|it| it.split(']').next());
        let words = words.map(|it| it.split(", ").map(str::to_owned).collect());
        let writes = value.is_some_and(|it| it.contains("FOLDER"))
            || ["--out", "--output", "--figure-out", "--png", "--plan-experiment"]
                .contains(&option.as_str());
        let words = words.unwrap_or_default();
        all.push(Known { name: option, has_value: value.is_some(), writes, words });
    }
    assert!(!all.is_empty(), "{name} has options");
    all
}

fn line(command: &str, known: &[Known], choices: &mut Choices<'_>) -> Vec<String> {
    let mut line = vec![command.to_owned()];
    match command {
        "explain" => line.push(word(choices)),
        "completions" => line.push((*choices.one(&["bash", "fish", "zsh", "x"])).to_owned()),
        "doctor" | "man" => {}
        "demo" => line.push("--list".to_owned()),
        "whatif" => line.extend(["r#chat".to_owned(), "r#train".to_owned()]),
        "audit" => line.extend(["--node".to_owned(), "node.txt".to_owned()]),
        "diagnose" => line.extend(["r".to_owned(), "--victim".to_owned(), "chat".to_owned()]),
        "import" => line.push("smi.csv".to_owned()),
        "export" => {
            line.extend(["r".to_owned(), "--to".to_owned()]);
            line.push((*choices.one(&["trace", "openmetrics", "csv"])).to_owned());
        }
        _ => line.push((*choices.one(&["r", "smi.csv", "other"])).to_owned()),
    }
    while !choices.is_empty() && line.len() < 16 {
        match choices.byte() {
            0..=15 => line.push(word(choices)),
            _ => option(known, &mut line, choices),
        }
    }
    line
}

fn option(known: &[Known], line: &mut Vec<String>, choices: &mut Choices<'_>) {
    let option = choices.one(known);
    line.push(option.name.clone());
    if !option.has_value {
        return;
    }
    let is_odd = choices.byte() % 16 == 0;
    line.push(match (option.writes, option.words.is_empty(), is_odd) {
        (true, _, _) => (*choices.one(&PLACES)).to_owned(),
        (false, false, false) => choices.one(&option.words).clone(),
        (false, true, false) => (*choices.one(&VALUES)).to_owned(),
        (false, _, true) => word(choices),
    });
}

/// A text that leads nowhere else: no folder, no standard input.
fn word(choices: &mut Choices<'_>) -> String {
    let text = choices.text().replace(['/', '\\'], "_");
    if matches!(text.as_str(), "-" | "." | "..") || text.starts_with("--") {
        "x".to_owned()
    } else {
        text
    }
}
