//! Functions that the safe layer of the wrapper lacks or answers wrongly, called by the table.

use crate::sampler::nvml::return_code::check;
use crate::sampler::source::{
    Count, ListedProcess, ProcessList, ProcessSample, Refusal, RingSample,
};
use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlFieldValue_t, nvmlMemory_t, nvmlProcessInfo_t,
    nvmlProcessUtilizationInfo_v1_t, nvmlProcessUtilizationSample_t,
    nvmlProcessesUtilizationInfo_t, nvmlReturn_t, nvmlSample_t, nvmlValue_t,
};

/// Room for rows beyond those that the library announced: lists grow between two calls.
const SPARE: usize = 5;
/// How often a buffer that was too small is made larger.
const GROWTHS: usize = 3;
/// Entries of the largest ring that is known: process utilisation says 100, some drivers more.
const RING_ROOM: usize = 128;
/// Most rows that a buffer has room for: a driver that always wants more is refused.
const MOST_ROOM: usize = 8192;
/// `NVML_ERROR_INSUFFICIENT_SIZE`.
const TOO_SMALL: nvmlReturn_t = 7;

/// A handle of a board or an instance.
///
/// The library is documented to be thread safe, and a handle stays valid until it is shut down;
/// the owner of the handle keeps the library alive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handle(pub(super) nvmlDevice_t);

// SAFETY: the pointer is never followed here; the library that follows it is thread safe.
unsafe impl Send for Handle {}

/// Calls a function of the table; one that the library lacks is a refusal.
macro_rules! call {
    ($nvml:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $nvml.lib().$name.as_ref() {
            // SAFETY: the function has the signature of the header that the table was made from,
            // and every pointer is to a live value of the type that it asks for.
            Ok(function) => check(unsafe { function($($argument),*) }),
            Err(_) => Err(Refusal::NoFunction),
        }
    };
}
pub(super) use call;

/// A number that a function writes to its last argument.
pub(super) fn number<T: Default>(
    ask: impl FnOnce(&mut T) -> Result<(), Refusal>,
) -> Result<T, Refusal> {
    let mut value = T::default();
    ask(&mut value).map(|()| value)
}

/// Why the clock is below its highest; older drivers know the function by another name.
pub(super) fn throttle_reasons(nvml: &Nvml, device: Handle) -> Result<u64, Refusal> {
    let new =
        number(|it: &mut u64| call!(nvml, nvmlDeviceGetCurrentClocksEventReasons(device.0, it)));
    match new {
        Err(Refusal::NoFunction) => number(|it: &mut u64| {
            call!(nvml, nvmlDeviceGetCurrentClocksThrottleReasons(device.0, it))
        }),
        answer => answer,
    }
}

/// Total, free and used memory by the function that drivers before 510 have; used includes reserved.
pub(super) fn memory_v1(nvml: &Nvml, device: Handle) -> Result<(u64, u64, u64), Refusal> {
    let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
    call!(nvml, nvmlDeviceGetMemoryInfo(device.0, &mut memory))?;
    Ok((memory.total, memory.free, memory.used))
}

/// Rows of device memory that were taken out of use, corrected and uncorrected together.
pub(super) fn remapped_rows(nvml: &Nvml, device: Handle) -> Result<u32, Refusal> {
    let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
    call!(
        nvml,
        nvmlDeviceGetRemappedRows(
            device.0,
            &mut corrected,
            &mut uncorrected,
            &mut pending,
            &mut failed
        )
    )?;
    Ok(corrected + uncorrected)
}

/// A value as its type says.
fn count(value_type: u32, value: nvmlValue_t) -> Count {
    // SAFETY: the library says which member it wrote; all are plain numbers of at most 64 bits,
    // and the union was zeroed before, so every bit pattern is a value.
    unsafe {
        match value_type {
            0 => Count::Real(value.dVal),
            1 => Count::Narrow(value.uiVal),
            4 => Count::Real(value.sllVal as f64),
            5 => Count::Real(f64::from(value.siVal)),
            6 => Count::Real(f64::from(value.usVal)),
            _ => Count::Wide(value.ullVal),
        }
    }
}

/// Asks for several fields, each with its scope, in one call.
pub(super) fn fields(
    nvml: &Nvml,
    device: Handle,
    asked: &[(u32, u32)],
) -> Result<Vec<Result<Count, Refusal>>, Refusal> {
    let empty = |(id, scope): &(u32, u32)| nvmlFieldValue_t {
        fieldId: *id,
        scopeId: *scope,
        timestamp: 0,
        latencyUsec: 0,
        valueType: 0,
        nvmlReturn: 0,
        value: nvmlValue_t { ullVal: 0 },
    };
    let mut values: Vec<nvmlFieldValue_t> = asked.iter().map(empty).collect();
    let length = i32::try_from(values.len()).map_err(|_| Refusal::Invalid)?;
    call!(nvml, nvmlDeviceGetFieldValues(device.0, length, values.as_mut_ptr()))?;
    let answer =
        |it: &nvmlFieldValue_t| check(it.nvmlReturn).map(|()| count(it.valueType, it.value));
    Ok(values.iter().map(answer).collect())
}

/// Makes a buffer larger that was too small for what the library announced.
fn grow<T: Clone>(room: &mut Vec<T>, announced: u32, none: T) -> Result<(), Refusal> {
    let wanted = ((announced as usize).max(room.len()) + SPARE) * 2;
    if room.len() >= MOST_ROOM {
        return Err(Refusal::Other(TOO_SMALL));
    }
    room.resize(wanted.min(MOST_ROOM), none);
    Ok(())
}

/// Adds the samples of a ring, one call for each drain: the buffer is kept.
pub(super) fn samples(
    nvml: &Nvml,
    device: Handle,
    kind: u32,
    after_us: u64,
    room: &mut Vec<nvmlSample_t>,
    found: &mut Vec<RingSample>,
) -> Result<(), Refusal> {
    let none = nvmlSample_t { timeStamp: 0, sampleValue: nvmlValue_t { ullVal: 0 } };
    for _ in 0..=GROWTHS {
        if room.len() < RING_ROOM {
            room.resize(RING_ROOM, none);
        }
        let mut value_type = 0;
        let mut length = u32::try_from(room.len()).map_err(|_| Refusal::Invalid)?;
        let answer = call!(
            nvml,
            nvmlDeviceGetSamples(
                device.0,
                kind,
                after_us,
                &mut value_type,
                &mut length,
                room.as_mut_ptr()
            )
        );
        if answer == Err(Refusal::Other(TOO_SMALL)) {
            grow(room, 0, none)?;
            continue;
        }
        answer?;
        let rows = room.iter().take(length as usize);
        found.extend(rows.map(|it| RingSample {
            stamp_us: it.timeStamp,
            count: count(value_type, it.sampleValue),
        }));
        return Ok(());
    }
    Err(Refusal::Other(TOO_SMALL))
}

/// Buffers for process utilisation, kept from drain to drain.
#[derive(Default)]
pub(super) struct ProcessRooms {
    new: Vec<nvmlProcessUtilizationInfo_v1_t>,
    old: Vec<nvmlProcessUtilizationSample_t>,
    lacks_new: bool,
}

/// Adds what processes used; the function of driver 550 and later first, which knows more engines.
pub(super) fn process_samples(
    nvml: &Nvml,
    device: Handle,
    after_us: u64,
    rooms: &mut ProcessRooms,
    found: &mut Vec<ProcessSample>,
) -> Result<(), Refusal> {
    if !rooms.lacks_new {
        match process_samples_new(nvml, device, after_us, &mut rooms.new, found) {
            Err(Refusal::NoFunction) => rooms.lacks_new = true,
            answer => return answer,
        }
    }
    process_samples_old(nvml, device, after_us, &mut rooms.old, found)
}

fn process_samples_new(
    nvml: &Nvml,
    device: Handle,
    after_us: u64,
    room: &mut Vec<nvmlProcessUtilizationInfo_v1_t>,
    found: &mut Vec<ProcessSample>,
) -> Result<(), Refusal> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let none: nvmlProcessUtilizationInfo_v1_t = unsafe { std::mem::zeroed() };
    let size = size_of::<nvmlProcessesUtilizationInfo_t>() as u32;
    for _ in 0..=GROWTHS {
        if room.len() < RING_ROOM {
            room.resize(RING_ROOM, none);
        }
        let mut info = nvmlProcessesUtilizationInfo_t {
            version: size | (1 << 24),
            processSamplesCount: u32::try_from(room.len()).map_err(|_| Refusal::Invalid)?,
            lastSeenTimeStamp: after_us,
            procUtilArray: room.as_mut_ptr(),
        };
        match call!(nvml, nvmlDeviceGetProcessesUtilizationInfo(device.0, &mut info)) {
            Err(Refusal::Other(TOO_SMALL)) => {
                grow(room, info.processSamplesCount, none)?;
            }
            answer => {
                answer?;
                let rows = room.iter().take(info.processSamplesCount as usize);
                found.extend(rows.map(|it| ProcessSample {
                    stamp_us: it.timeStamp,
                    pid: it.pid,
                    sm: it.smUtil,
                    memory: it.memUtil,
                    encoder: it.encUtil,
                    decoder: it.decUtil,
                    jpeg: Some(it.jpgUtil),
                    ofa: Some(it.ofaUtil),
                }));
                return Ok(());
            }
        }
    }
    Err(Refusal::Other(TOO_SMALL))
}

fn process_samples_old(
    nvml: &Nvml,
    device: Handle,
    after_us: u64,
    room: &mut Vec<nvmlProcessUtilizationSample_t>,
    found: &mut Vec<ProcessSample>,
) -> Result<(), Refusal> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let none: nvmlProcessUtilizationSample_t = unsafe { std::mem::zeroed() };
    for _ in 0..=GROWTHS {
        if room.len() < RING_ROOM {
            room.resize(RING_ROOM, none);
        }
        let mut length = u32::try_from(room.len()).map_err(|_| Refusal::Invalid)?;
        let answer = call!(
            nvml,
            nvmlDeviceGetProcessUtilization(device.0, room.as_mut_ptr(), &mut length, after_us)
        );
        if answer == Err(Refusal::Other(TOO_SMALL)) {
            grow(room, length, none)?;
            continue;
        }
        answer?;
        found.extend(room.iter().take(length as usize).map(|it| ProcessSample {
            stamp_us: it.timeStamp,
            pid: it.pid,
            sm: it.smUtil,
            memory: it.memUtil,
            encoder: it.encUtil,
            decoder: it.decUtil,
            jpeg: None,
            ofa: None,
        }));
        return Ok(());
    }
    Err(Refusal::Other(TOO_SMALL))
}

/// One call that fills a list of processes.
type Fill = unsafe extern "C" fn(nvmlDevice_t, *mut u32, *mut nvmlProcessInfo_t) -> nvmlReturn_t;

/// The function that fills a list; the one of older drivers has rows of the same form.
fn filler(library: &NvmlLib, list: ProcessList) -> Result<Fill, Refusal> {
    let (new, old) = match list {
        ProcessList::Compute => (
            library.nvmlDeviceGetComputeRunningProcesses_v3.as_ref(),
            library.nvmlDeviceGetComputeRunningProcesses_v2.as_ref(),
        ),
        ProcessList::Graphics => (
            library.nvmlDeviceGetGraphicsRunningProcesses_v3.as_ref(),
            library.nvmlDeviceGetGraphicsRunningProcesses_v2.as_ref(),
        ),
        ProcessList::Mps => (
            library.nvmlDeviceGetMPSComputeRunningProcesses_v3.as_ref(),
            library.nvmlDeviceGetMPSComputeRunningProcesses_v2.as_ref(),
        ),
    };
    new.or(old).copied().map_err(|_| Refusal::NoFunction)
}

/// Adds the processes of a list.
///
/// The list may grow between the call that asks for its length and the one that fetches it, so
/// there is room to spare, and a buffer that is too small all the same is made larger.
pub(super) fn processes(
    nvml: &Nvml,
    device: Handle,
    list: ProcessList,
    room: &mut Vec<nvmlProcessInfo_t>,
    found: &mut Vec<ListedProcess>,
) -> Result<(), Refusal> {
    let fill = filler(nvml.lib(), list)?;
    let none =
        nvmlProcessInfo_t { pid: 0, usedGpuMemory: 0, gpuInstanceId: 0, computeInstanceId: 0 };
    for _ in 0..=GROWTHS {
        if room.len() < RING_ROOM {
            room.resize(RING_ROOM, none);
        }
        let mut length = u32::try_from(room.len()).map_err(|_| Refusal::Invalid)?;
        // SAFETY: the buffer has as many rows as `length` says.
        let answer = check(unsafe { fill(device.0, &mut length, room.as_mut_ptr()) });
        if answer == Err(Refusal::Other(TOO_SMALL)) {
            grow(room, length, none)?;
            continue;
        }
        answer?;
        found.extend(room.iter().take(length as usize).map(|it| ListedProcess {
            pid: it.pid,
            memory: Count::Wide(it.usedGpuMemory),
            gpu_instance: (it.gpuInstanceId != u32::MAX).then_some(it.gpuInstanceId),
        }));
        return Ok(());
    }
    Err(Refusal::Other(TOO_SMALL))
}
