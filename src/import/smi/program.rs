//! Names of programs without their folders and arguments, which may hold secrets.

use crate::domain::ident::{GpuId, ProcessKey, TenantId};
use crate::domain::outline::Process;
use crate::domain::sink::Fact;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::text::cells::is_missing;
use std::collections::BTreeMap;

/// So many processes are remembered to have been described.
const MOST_TOLD: usize = 1 << 14;

/// The programs behind the process ids of a file.
#[derive(Debug, Default)]
pub struct Programs {
    told: BTreeMap<(GpuId, u32), (Option<String>, Option<TenantId>)>,
}

impl Programs {
    /// Describes a process when it is new, and again when its id was given to another program.
    pub fn tell(
        &mut self,
        run: &mut ImportRun<'_>,
        gpu: &GpuId,
        pid: u32,
        name: Option<String>,
    ) -> Result<(), ImportError> {
        self.tell_with_tenant(run, gpu, pid, name, None)
    }

    /// The same where the source says whose process it is.
    pub fn tell_with_tenant(
        &mut self,
        run: &mut ImportRun<'_>,
        gpu: &GpuId,
        pid: u32,
        name: Option<String>,
        tenant: Option<TenantId>,
    ) -> Result<(), ImportError> {
        let (key, told) = ((gpu.clone(), pid), (name.clone(), tenant.clone()));
        if self.told.get(&key) == Some(&told) {
            return Ok(());
        }
        if self.told.len() >= MOST_TOLD {
            // To describe one again changes nothing.
            self.told.clear();
        }
        self.told.insert(key, told);
        let process = ProcessKey { pid, started: None };
        run.fact(Fact::Process(Process { gpu: gpu.clone(), process, name, tenant }))
    }
}

/// The bare name of the program that a command line or path starts.
///
/// `/usr/bin/python3 serve.py --key=…` becomes `python3`, and `C:\Program Files\A B\c d.exe -x`
/// becomes `c d.exe`. `None` when the source says that it has no name.
pub fn program_name(command: &str) -> Option<String> {
    let text = command.trim().trim_matches('"');
    if is_missing(text) || text == "[Not Found]" {
        return None;
    }
    let is_windows = text.contains('\\') || text.as_bytes().get(1) == Some(&b':');
    let path = match end_of_exe(text) {
        Some(end) => &text[..end],
        None if is_windows => text.split(" -").next().unwrap_or(text),
        None => text.split_whitespace().next().unwrap_or(text),
    };
    let name = path.rsplit(['/', '\\']).find(|it| !it.is_empty()).unwrap_or(path);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The name in a column that holds names cut short, never arguments: blanks belong to it.
pub fn short_name(cell: &str) -> Option<String> {
    let text = cell.trim();
    if text.contains(['/', '\\']) {
        return program_name(text);
    }
    (!is_missing(text)).then(|| text.to_owned())
}

/// Where the first `.exe` that ends a word ends.
fn end_of_exe(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    lower
        .match_indices(".exe")
        .map(|it| it.0 + 4)
        .find(|end| lower[*end..].chars().next().is_none_or(|it| it.is_whitespace() || it == '"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bare_name_of_a_program_is_kept() {
        for (command, name) in [
            ("/root/tools/train", "train"),
            ("./burn", "burn"),
            ("python3 serve.py --api-key=secret", "python3"),
            ("/opt/my app/python", "my"),
            (r"C:\Program Files\Some Vendor\Some App.exe", "Some App.exe"),
            (r"C:\Users\someone\bin\ffmpeg.EXE -i C:\secret.mp4", "ffmpeg.EXE"),
            (r"C:\tools\serve --key=secret", "serve"),
            ("VLLM::EngineCore", "VLLM::EngineCore"),
        ] {
            assert_eq!(program_name(command).as_deref(), Some(name), "{command}");
        }
    }

    #[test]
    fn a_program_without_a_name_has_none() {
        for command in ["", "-", "[Not Found]", "[Insufficient Permissions]", "N/A"] {
            assert_eq!(program_name(command), None, "{command}");
            assert_eq!(short_name(command), None, "{command}");
        }
    }

    #[test]
    fn a_name_that_was_cut_short_keeps_its_blanks() {
        assert_eq!(short_name(" Some Overlay.exe").as_deref(), Some("Some Overlay.exe"));
        assert_eq!(short_name("LongNameThatWas").as_deref(), Some("LongNameThatWas"));
    }
}
