//! The folder in which a download lies until it is whole: what was asked for, and a file for each part.

use crate::cli::error::CliError;
use crate::cli::progress::{Estimate, Live, pause};
use crate::prometheus::{Order, Part, Problem, Shelf};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// File that says what was asked for.
const PLAN: &str = "plan.json";

/// What was asked for, and what is to be got of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The question, as the command knows it again.
    pub(crate) asked: String,
    order: Order,
}

impl Plan {
    /// A plan for a question.
    pub(crate) fn new(asked: String, order: &Order) -> Self {
        Self { asked, order: order.clone() }
    }

    /// What is to be got.
    pub(crate) fn order(&self) -> Order {
        self.order.clone()
    }

    fn to_json(&self) -> Value {
        let Order { names, selector, from_ms, until_ms, step_ms, part_ms } = &self.order;
        json!({
            "asked": self.asked, "names": names, "selector": selector, "from_ms": from_ms,
            "until_ms": until_ms, "step_ms": step_ms, "part_ms": part_ms,
        })
    }

    fn from_json(json: &Value) -> Option<Self> {
        let names = json["names"].as_array()?.iter().map(|it| it.as_str().map(str::to_owned));
        let order = Order {
            names: names.collect::<Option<Vec<String>>>()?,
            selector: json["selector"].as_str()?.to_owned(),
            from_ms: json["from_ms"].as_i64()?,
            until_ms: json["until_ms"].as_i64()?,
            step_ms: json["step_ms"].as_u64(),
            part_ms: json["part_ms"].as_i64()?,
        };
        Some(Self { asked: json["asked"].as_str()?.to_owned(), order })
    }
}

/// Parts in a folder.
#[derive(Debug)]
pub(crate) struct Parts {
    folder: PathBuf,
    live: Live,
    estimate: Estimate,
    bytes: usize,
}

impl Parts {
    /// The folder, made if need be; what an earlier run noted as missing is forgotten.
    pub(crate) fn open(folder: &Path) -> Result<Self, CliError> {
        let failed = |it: std::io::Error| CliError::file(folder, "making", &it);
        std::fs::create_dir_all(folder).map_err(failed)?;
        for entry in std::fs::read_dir(folder).map_err(failed)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".hole.json")
                || name.ends_with(".torn.json")
                || name.ends_with(".new")
            {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        let (live, estimate) = (Live::new(), Estimate::default());
        Ok(Self { folder: folder.to_owned(), live, estimate, bytes: 0 })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was asked for before; `None` in a new folder.
    pub(crate) fn plan(&self) -> Result<Option<Plan>, CliError> {
        let path = self.folder.join(PLAN);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CliError::file(&path, "reading", &error)),
        };
        let plan = serde_json::from_str(&text).ok().and_then(|it| Plan::from_json(&it));
        plan.map(Some).ok_or_else(|| {
            let message = format!("{}: is no plan of a download", path.display());
            CliError::usage(message, "remove that folder; everything is asked for again")
        })
    }

    /// Keeps what was asked for.
    pub(crate) fn keep_plan(&self, plan: &Plan) -> Result<(), CliError> {
        let path = self.folder.join(PLAN);
        write(&path, &plan.to_json().to_string())
            .map_err(|it| CliError::file(&path, "writing", &it))
    }

    /// Takes the line of progress away.
    pub(crate) fn end_progress(&mut self) {
        self.live.end();
    }

    /// Removes the folder, as far as it holds nothing else.
    pub(crate) fn remove(&self) {
        let of_ours = |it: &PathBuf| it.extension().is_some_and(|it| it == "json");
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        // What cannot be removed is only in the way of the next download, which says so.
        for path in entries.map(|it| it.path()).filter(of_ours) {
            let _ = std::fs::remove_file(path);
        }
        let _ = std::fs::remove_dir(&self.folder);
    }

    /// Everything that is there as one text, in the order of time, with what the importer has to know in between.
    pub(crate) fn reader(&self, order: &Order) -> Chain {
        let step = order.step_ms.unwrap_or(0);
        let mut pieces =
            VecDeque::from([Piece::Text(format!("{{\"cotenant\":{{\"step_ms\":{step}}}}}\n"))]);
        let mut slice = 0;
        for part in order.parts() {
            if part.slice != slice {
                slice = part.slice;
                pieces
                    .push_back(Piece::Text("{\"cotenant\":{\"is_slice_end\":true}}\n".to_owned()));
            }
            for kind in ["json", "torn.json", "hole.json"] {
                let path = self.path(&part, kind);
                pieces.extend(path.exists().then_some(Piece::File(path)));
            }
        }
        Chain { pieces, present: Box::new(std::io::empty()) }
    }

    fn path(&self, part: &Part, kind: &str) -> PathBuf {
        self.folder.join(format!("{:06}-{:04}.{kind}", part.slice, part.name))
    }
}

impl Shelf for Parts {
    fn has(&self, part: &Part) -> bool {
        self.path(part, "json").exists()
    }

    fn put(&mut self, part: &Part, body: &str, is_whole: bool) -> std::io::Result<()> {
        self.bytes += body.len();
        write(&self.path(part, if is_whole { "json" } else { "torn.json" }), body)
    }

    fn hole(&mut self, part: &Part, name: &str, reason: &str) -> std::io::Result<()> {
        let path = self.path(part, "hole.json");
        let mut text = std::fs::read_to_string(&path).unwrap_or_default();
        let hole = json!({
            "names": name, "from_ms": part.from_ms, "until_ms": part.until_ms, "reason": reason,
        });
        text.push_str(&json!({ "cotenant": { "hole": hole } }).to_string());
        text.push('\n');
        write(&path, &text)
    }

    fn pause(&mut self, length: Duration, problem: &Problem) {
        self.live.info(format!("the server: {problem}; asking again in {length:.1?}"));
        pause(length);
    }

    fn progress(&mut self, done: usize, all: usize) {
        let left = self.estimate.left(done, all);
        let left = left
            .map(|it| format!(", about {} left", crate::domain::units::Seconds(it.as_secs_f64())));
        let mib = self.bytes as f64 / f64::from(1 << 20);
        self.live.say(format!("{done} of {all} parts, {mib:.1} MiB{}", left.unwrap_or_default()));
    }
}

/// Writes a file under another name first, so that it is whole or not there.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    std::fs::write(&name, text)?;
    std::fs::rename(&name, path)
}

#[derive(Debug)]
enum Piece {
    Text(String),
    File(PathBuf),
}

/// Pieces read one after the other; no more than one file is open.
pub(crate) struct Chain {
    pieces: VecDeque<Piece>,
    present: Box<dyn Read>,
}

impl Read for Chain {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.present.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.present = match self.pieces.pop_front() {
                None => return Ok(0),
                Some(Piece::Text(text)) => Box::new(Cursor::new(text.into_bytes())),
                Some(Piece::File(path)) => Box::new(File::open(path)?),
            };
        }
    }
}
