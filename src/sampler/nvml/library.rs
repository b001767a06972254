//! Finding and opening the library, and the boards behind it.

use crate::domain::ident::GpuId;
use crate::sampler::nvml::device::NvmlGpu;
use crate::sampler::nvml::raw::Handle;
use crate::sampler::nvml::return_code::of_wrapper;
use crate::sampler::source::{GpuHost, GpuSource, Identity, Refusal};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// Where the library lies: by the linker's search, under WSL2, under NixOS, without its version.
const CANDIDATES: &[&str] = &[
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    "libnvidia-ml.so",
];

/// The library may take its time, with a broken persistence daemon half a minute.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no driver to talk to.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No library of this name can be loaded.
    #[error("cannot load the driver's library {path}: {reason}")]
    Load {
        /// What was looked for.
        path: String,
        /// What the loader said.
        reason: String,
    },
    /// The file is no such library.
    #[error("{path} is no NVML: it lacks `{symbol}`")]
    NotNvml {
        /// What was loaded.
        path: String,
        /// What it lacks.
        symbol: String,
    },
    /// The library refuses to start.
    #[error("the driver's library {path} does not start: {refusal}")]
    Start {
        /// What was loaded.
        path: String,
        /// What it answered.
        refusal: Refusal,
    },
    /// The library does not answer.
    #[error("the driver's library {path} has not answered within {} s", PATIENCE.as_secs())]
    Silent {
        /// What was loaded.
        path: String,
    },
}

impl OpenError {
    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Load { .. } => "install the NVIDIA driver, name its library with --nvml-library, or analyse a recording made elsewhere; in a container, ask the runtime for the `utility` capability".to_owned(),
            Self::NotNvml { .. } => "give --nvml-library the path of libnvidia-ml.so.1".to_owned(),
            Self::Start { refusal: Refusal::DriverReplaced, .. } => {
                "the driver was updated: reboot, or unload and load the kernel module".to_owned()
            }
            Self::Start { refusal: Refusal::DriverGone, .. } => {
                "load the driver with `modprobe nvidia`; if there is no GPU here, analyse a recording made elsewhere".to_owned()
            }
            Self::Start { refusal: Refusal::NoPermission, .. } => {
                "allow access to /dev/nvidiactl and /dev/nvidia*".to_owned()
            }
            Self::Start { .. } => "see whether `nvidia-smi` works, and what `dmesg` says".to_owned(),
            Self::Silent { .. } => {
                "see whether `nvidia-smi` answers; a broken nvidia-persistenced can hold it up".to_owned()
            }
        }
    }
}

/// A GPU that is there but cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable {
    /// Its index.
    pub index: u32,
    /// Why not.
    pub refusal: Refusal,
}

/// The driver's library, loaded and started; shut down when the last user lets go.
pub struct Library {
    nvml: Arc<Nvml>,
    path: String,
    /// Boards in the order of their indices.
    pub gpus: Vec<Identity>,
    /// Boards that cannot be opened.
    pub unreachable: Vec<Unreachable>,
}

impl Library {
    /// Opens this library, or the first that is found, and looks who is there.
    ///
    /// Errors: there is none, it refuses to start, or it does not answer in time.
    pub fn open(path: Option<&Path>) -> Result<Self, OpenError> {
        let path = path.map(Path::to_owned);
        let name = path.as_ref().map_or(CANDIDATES[0].to_owned(), |it| it.display().to_string());
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = done.send(open_first(path));
        });
        is_done.recv_timeout(PATIENCE).unwrap_or(Err(OpenError::Silent { path: name }))
    }

    /// What was loaded.
    pub fn path(&self) -> &str {
        &self.path
    }
}

fn open_first(path: Option<PathBuf>) -> Result<Library, OpenError> {
    if let Some(path) = path {
        return open_at(&path);
    }
    let mut first = None;
    for candidate in CANDIDATES {
        match open_at(Path::new(candidate)) {
            Err(error @ OpenError::Load { .. }) => first = first.or(Some(error)),
            answer => return answer,
        }
    }
    Err(first.unwrap_or(OpenError::Silent { path: CANDIDATES[0].to_owned() }))
}

fn open_at(path: &Path) -> Result<Library, OpenError> {
    let name = path.display().to_string();
    let nvml = match Nvml::builder().lib_path(path.as_os_str()).init() {
        Ok(nvml) => Arc::new(nvml),
        Err(NvmlError::LibloadingError(it)) => {
            let reason = std::error::Error::source(&it).map_or(it.to_string(), ToString::to_string);
            return Err(OpenError::Load { path: name, reason });
        }
        Err(NvmlError::FailedToLoadSymbol(_)) => {
            return Err(OpenError::NotNvml { path: name, symbol: "nvmlInit_v2".to_owned() });
        }
        Err(error) => return Err(OpenError::Start { path: name, refusal: of_wrapper(error) }),
    };
    let start = |it| OpenError::Start { path: name.clone(), refusal: of_wrapper(it) };
    let count = nvml.device_count().map_err(start)?;
    let (mut gpus, mut unreachable) = (Vec::new(), Vec::new());
    for index in 0..count {
        match nvml.device_by_index(index).map_err(of_wrapper) {
            Ok(device) => gpus.push(identity(&device, index)),
            Err(refusal) => unreachable.push(Unreachable { index, refusal }),
        }
    }
    Ok(Library { nvml, path: name, gpus, unreachable })
}

fn identity(device: &Device<'_>, index: u32) -> Identity {
    Identity {
        gpu: device.uuid().map_or(GpuId::from_index(index), GpuId::new),
        index,
        model: device.name().ok(),
        bus_id: device.pci_info().ok().map(|it| it.bus_id),
        is_mig: device.mig_mode().ok().map(|it| it.current == 1),
    }
}

impl GpuHost for Library {
    fn driver(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    fn open(&self, identity: &Identity) -> Result<Box<dyn GpuSource>, Refusal> {
        let device = match identity.gpu.as_str().starts_with("GPU-") {
            true => self.nvml.device_by_uuid(identity.gpu.as_str()),
            false => self.nvml.device_by_index(identity.index),
        }
        .map_err(of_wrapper)?;
        // A board may have another index or layout than before.
        let index = device.index().unwrap_or(identity.index);
        let identity = match identity.model {
            Some(_) => {
                let is_mig = device.mig_mode().ok().map(|it| it.current == 1);
                Identity { index, is_mig, ..identity.clone() }
            }
            // It could not be asked who it is when the recording began.
            None => self::identity(&device, index),
        };
        // SAFETY: the handle is only passed to the library that it comes from, which the source keeps.
        let handle = Handle(unsafe { device.handle() });
        Ok(Box::new(NvmlGpu::new(&self.nvml, handle, identity)))
    }
}
