//! Who a process belongs to.

use crate::domain::ident::{GpuId, ProcessKey};
use crate::domain::outline::Process;
use std::path::{Path, PathBuf};

/// Says who a process is and whom it belongs to.
///
/// Asked once for each process of each GPU, as soon as it is seen, for it may end at any moment.
pub trait Tenants {
    /// Everything that is known about a process besides its samples.
    fn describe(&mut self, gpu: &GpuId, process: ProcessKey) -> Process;
}

/// Knows the name of the program and no tenant.
#[derive(Debug)]
pub struct ProgramNames {
    proc: PathBuf,
}

impl ProgramNames {
    /// Reads names below `proc`, which is `/proc` but in tests.
    pub fn below(proc: &Path) -> Self {
        Self { proc: proc.to_owned() }
    }
}

impl Tenants for ProgramNames {
    fn describe(&mut self, gpu: &GpuId, process: ProcessKey) -> Process {
        let comm = self.proc.join(process.pid.to_string()).join("comm");
        let name = std::fs::read_to_string(comm).ok().map(|it| it.trim_end().to_owned());
        Process { gpu: gpu.clone(), process, name: name.filter(|it| !it.is_empty()), tenant: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_has_no_name_and_is_no_error() {
        let mut names = ProgramNames::below(Path::new("/proc"));
        let gpu = GpuId::from_index(0);
        let own = ProcessKey { pid: std::process::id(), started: None };
        assert!(names.describe(&gpu, own).name.is_some());
        let gone = ProcessKey { pid: u32::MAX, started: None };
        assert_eq!(names.describe(&gpu, gone).name, None);
    }
}
