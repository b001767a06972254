//! What the day left: arms with their truth, the requests of each server, the spells of the neighbour.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Spells of a neighbour that are less far apart belong to one block of its schedule, in seconds.
const SAME_BLOCK_S: f64 = 0.4;

/// Every arm that was played.
#[derive(Debug)]
pub(crate) struct Results {
    /// In order of their begin.
    pub(crate) arms: Vec<Arm>,
}

/// One arm.
#[derive(Debug)]
pub(crate) struct Arm {
    /// Its name.
    pub(crate) name: String,
    /// What was played, as `truth.json` says it.
    pub(crate) truth: Value,
    /// Folder with the recording and the logs.
    pub(crate) folder: PathBuf,
}

/// A request of a server; times in seconds since the begin of the arm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// When it arrived.
    pub(crate) arrival_s: f64,
    /// From arrival to answer.
    pub(crate) latency_s: f64,
}

impl Results {
    /// Unpacks every `*.tar.gz` of `packed` into `folder`, which is made anew, and reads all arms.
    pub(crate) fn unpacked(packed: &Path, folder: &Path) -> Result<Self, String> {
        let _ = std::fs::remove_dir_all(folder);
        let told = |it: std::io::Error| format!("{}: {it}", folder.display());
        std::fs::create_dir_all(folder).map_err(told)?;
        for pack in packs(packed) {
            let unpacked = Command::new("tar").arg("xzf").arg(&pack).arg("-C").arg(folder).output();
            let output = unpacked.map_err(|it| format!("tar: {it}"))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{}: {}", pack.display(), said.trim()));
            }
        }
        Self::read(folder)
    }

    /// Reads `PACK/ARM/truth.json` of every arm.
    fn read(folder: &Path) -> Result<Self, String> {
        let mut arms = Vec::new();
        for arm in entries(folder).iter().flat_map(|it| entries(it)) {
            let path = arm.join("truth.json");
            let text =
                std::fs::read_to_string(&path).map_err(|it| format!("{}: {it}", path.display()))?;
            let truth: Value =
                serde_json::from_str(&text).map_err(|it| format!("{}: {it}", path.display()))?;
            let name = truth["arm"].as_str().unwrap_or_default().to_owned();
            arms.push(Arm { name, truth, folder: arm });
        }
        arms.sort_by_key(|it| it.truth["begin_us"].as_i64());
        Ok(Self { arms })
    }

    /// The arm of this name.
    pub(crate) fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|it| it.name == name)
    }

    /// Whether tenants were stand-ins on the CPU, so that nothing was measured.
    pub(crate) fn is_rehearsal(&self) -> bool {
        self.arms.iter().any(|it| it.truth["is_stand_in"] == true)
    }
}

/// Packs of a folder, in order of their names.
pub(crate) fn packs(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|it| it.to_string_lossy().ends_with(".tar.gz")).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    found.sort();
    found
}

impl Arm {
    /// The recording of this arm; `None` where nobody recorded.
    pub(crate) fn recording(&self) -> Option<PathBuf> {
        let path = self.folder.join("recording");
        path.is_dir().then_some(path)
    }

    /// What a role did in this arm.
    pub(crate) fn part(&self, role: &str) -> Option<&Value> {
        self.truth["parts"].get(role)
    }

    /// Names in a list of the truth, such as `innocent`.
    pub(crate) fn names(&self, key: &str) -> Vec<&str> {
        self.truth[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Length, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.truth["seconds"].as_f64().unwrap_or_default()
    }

    /// Rows of a CSV file of this arm: cells as numbers, an empty one as `None`.
    pub(crate) fn rows(&self, file: &str) -> Vec<Vec<Option<f64>>> {
        let text = std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let cells = |line: &str| line.split(',').map(|it| it.parse().ok()).collect();
        text.lines().skip(1).map(cells).collect()
    }

    /// Seconds since the begin of the arm.
    pub(crate) fn second(&self, at_us: f64) -> f64 {
        (at_us - self.truth["begin_us"].as_f64().unwrap_or_default()) / 1e6
    }

    /// Answered requests of a server, in order of arrival.
    pub(crate) fn requests(&self, role: &str) -> Vec<Request> {
        let of_row = |row: Vec<Option<f64>>| {
            let (arrival_us, end_us) = (row.first().copied()??, row.get(2).copied()??);
            let latency_s = (end_us - arrival_us) / 1e6;
            Some(Request { arrival_s: self.second(arrival_us), latency_s })
        };
        self.rows(&format!("{role}.csv")).into_iter().filter_map(of_row).collect()
    }

    /// Busy spells of the neighbour as they happened.
    pub(crate) fn spells(&self) -> Vec<(f64, f64)> {
        let of_row = |row: Vec<Option<f64>>| {
            let (begin_us, end_us) = (row.get(2).copied()??, row.get(3).copied()??);
            Some((self.second(begin_us), self.second(end_us)))
        };
        self.rows("neighbour.csv").into_iter().filter_map(of_row).collect()
    }

    /// When the neighbour's schedule ran: the blocks in which it came and went, or the whole arm.
    pub(crate) fn present(&self) -> Vec<(f64, f64)> {
        let has_blocks = self.part("neighbour").is_some_and(|it| it["block_s"].is_number());
        if !has_blocks {
            return vec![(0.0, self.seconds())];
        }
        let mut blocks: Vec<(f64, f64)> = Vec::new();
        for (begin, end) in self.spells() {
            match blocks.last_mut() {
                Some(last) if begin - last.1 < SAME_BLOCK_S => last.1 = end,
                _ => blocks.push((begin, end)),
            }
        }
        blocks
    }
}

/// Whether an instant lies in one of the spells.
pub(crate) fn is_inside(spells: &[(f64, f64)], at: f64) -> bool {
    spells.iter().any(|it| it.0 <= at && at < it.1)
}
