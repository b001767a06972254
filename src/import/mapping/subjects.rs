//! Whom a row of a mapped file is about; every subject is made once and then looked up.

use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::outline::{Device, MigInstance, Process};
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::gpu_names::{GpuNames, given, named};
use crate::import::mapping::Mapping;
use crate::import::mapping::cells::Cells;
use crate::import::mapping::decimal::plain_decimal;
use crate::import::mapping::layout::SubjectCells;
use crate::import::mapping::schema::{GpuKind, SubjectKind};
use crate::import::run::ImportRun;
use crate::import::smi::program::program_name;
use crate::import::text::cells::is_missing;
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many are remembered.
const MOST_KNOWN: usize = 1 << 14;
/// Ends every cell of a key, so that `a`, `bc` and `ab`, `c` are two.
const KEY_END: char = '\u{1f}';

/// Everyone that one row is about.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// The GPU; `None` where the file does not say.
    pub(crate) gpu: Option<GpuId>,
    /// The GPU or the MIG instance.
    pub(crate) device: Option<Subject>,
    /// The tenant.
    pub(crate) tenant: Option<Subject>,
    /// The process.
    pub(crate) process: Option<Subject>,
    /// Stamp of the row before.
    pub(crate) last: Option<Timestamp>,
}

impl Owners {
    /// The one of this kind.
    pub(crate) fn of(&self, kind: SubjectKind) -> Option<&Subject> {
        match kind {
            SubjectKind::Device => self.device.as_ref(),
            SubjectKind::Tenant => self.tenant.as_ref(),
            SubjectKind::Process => self.process.as_ref(),
        }
    }
}

/// A cell that names nobody, and what it should have held.
pub(crate) struct Nobody {
    /// Cell.
    pub(crate) position: usize,
    /// What it should have held.
    pub(crate) expected: &'static str,
}

/// Everyone that the rows of a file are about.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    key: String,
    known: BTreeMap<Rc<str>, usize>,
    owners: Vec<Owners>,
    keys: Vec<Rc<str>>,
    next: Vec<usize>,
    last: usize,
    names: GpuNames,
    /// Whether somebody may be given another number later.
    forgets: bool,
}

impl Subjects {
    /// Nobody yet. `forgets`: numbers may change after [`MOST_KNOWN`] of them.
    pub(crate) fn new(forgets: bool) -> Self {
        Self { forgets, ..Self::default() }
    }

    /// Number of everyone that the row is about; new ones are described to the sink.
    pub(crate) fn find(
        &mut self,
        mapping: &Mapping,
        at: &SubjectCells,
        cells: &Cells<'_>,
        run: &mut ImportRun<'_>,
    ) -> Result<Result<usize, Nobody>, ImportError> {
        // Files repeat their subjects in one order, so the one that came next last time is tried first.
        let guess = self.next.get(self.last).copied().unwrap_or_default();
        if self.keys.get(guess).is_some_and(|it| is_key(it, at, cells)) {
            self.last = guess;
            return Ok(Ok(guess));
        }
        self.key.clear();
        for position in key_cells(at) {
            self.key.push_str(cells.get(position));
            self.key.push(KEY_END);
        }
        if let Some(number) = self.known.get(self.key.as_str()).copied() {
            self.next[self.last] = number;
            self.last = number;
            return Ok(Ok(number));
        }
        let owners = match self.owners(mapping, at, cells, run)? {
            Ok(owners) => owners,
            Err(nobody) => return Ok(Err(nobody)),
        };
        if self.forgets && self.owners.len() >= MOST_KNOWN {
            self.forget();
        }
        let number = self.owners.len();
        self.owners.push(owners);
        let key: Rc<str> = Rc::from(self.key.as_str());
        self.keys.push(Rc::clone(&key));
        self.known.insert(key, number);
        self.next.push(number);
        self.next[self.last] = number;
        self.last = number;
        Ok(Ok(number))
    }

    /// Looks everybody up anew, as if no row had come yet: of millions of processes few come again.
    fn forget(&mut self) {
        self.known.clear();
        self.owners.clear();
        self.keys.clear();
        self.next.clear();
        self.last = 0;
    }

    /// Everyone of this number.
    pub(crate) fn get(&mut self, number: usize) -> &mut Owners {
        &mut self.owners[number]
    }

    fn owners(
        &mut self,
        mapping: &Mapping,
        at: &SubjectCells,
        cells: &Cells<'_>,
        run: &mut ImportRun<'_>,
    ) -> Result<Result<Owners, Nobody>, ImportError> {
        let device = match self.device(mapping, at, cells, run) {
            Ok(device) => device,
            Err(nobody) => return Ok(Err(nobody)),
        };
        let tenant = tenant(mapping, at, cells);
        let mut owners =
            Owners { gpu: device.as_ref().map(|it| it.gpu.clone()), ..Owners::default() };
        if let Some(device) = device {
            owners.device = Some(Subject::device(&device.gpu));
            if let Some(instance) = instance(&device.gpu, at, cells) {
                let Ok(instance) = instance else {
                    let position = at.instance.unwrap_or_default();
                    return Ok(Err(Nobody { position, expected: "a number of a GPU instance" }));
                };
                let profile = at.profile.map(|it| cells.get(it).to_owned());
                owners.device = Some(Subject::MigInstance { instance: instance.clone() });
                let tenants = tenant.iter().cloned().collect();
                run.fact(Fact::MigInstance(MigInstance { instance, profile, tenants }))?;
            }
            run.fact(Fact::Device(device))?;
        }
        if let (Some(position), Some(gpu)) = (at.pid, &owners.gpu) {
            let Some(pid) = whole(cells.get(position)) else {
                return Ok(Err(Nobody { position, expected: "a process id" }));
            };
            let (gpu, process) = (gpu.clone(), ProcessKey { pid, started: None });
            owners.process = Some(Subject::Process { gpu: gpu.clone(), process });
            let name = at.program.and_then(|it| program_name(cells.get(it)));
            run.fact(Fact::Process(Process { gpu, process, name, tenant: tenant.clone() }))?;
        }
        owners.tenant = tenant.map(|tenant| Subject::Tenant { gpu: owners.gpu.clone(), tenant });
        Ok(Ok(owners))
    }

    /// The GPU of a row; `Ok(None)` where the file is about tenants only.
    fn device(
        &mut self,
        mapping: &Mapping,
        at: &SubjectCells,
        cells: &Cells<'_>,
        run: &ImportRun<'_>,
    ) -> Result<Option<Device>, Nobody> {
        let cell = |it: Option<usize>| it.map(|it| cells.get(it)).filter(|it| !is_missing(it));
        let written = mapping.written.gpu.as_ref();
        let (host, model) = (cell(at.host), cell(at.model));
        let describe = |gpu: GpuId, index: Option<u32>| {
            let (host, model) = (host.map(str::to_owned), model.map(str::to_owned));
            Ok(Some(Device { index, host, model, ..Device::named(gpu) }))
        };
        let fixed = run.options.gpu.as_deref().or(written.and_then(|it| it.fixed.as_deref()));
        let Some(position) = at.gpu else {
            return match fixed {
                Some(name) => describe(given(name), name.parse().ok()),
                None if mapping.written.tenant.is_some() => Ok(None),
                None => describe(GpuId::from_index(0), Some(0)),
            };
        };
        let text = cells.get(position);
        let prefix = written.and_then(|it| it.prefix.as_deref()).unwrap_or_default();
        let text = text.strip_prefix(prefix).unwrap_or(text).trim_ascii();
        let kind = written.map(|it| it.kind).unwrap_or_default();
        let index = whole(text).filter(|_| kind != GpuKind::Uuid);
        if let Some(index) = index {
            return describe(self.names.by_index(host, index), Some(index));
        }
        if kind == GpuKind::Index {
            return Err(Nobody { position, expected: "the index of a GPU" });
        }
        match named(text).filter(|_| !is_missing(text)) {
            Some(gpu) => describe(gpu, None),
            None => Err(Nobody { position, expected: "an index or UUID of a GPU" }),
        }
    }
}

/// Cells that tell subjects apart.
fn key_cells(at: &SubjectCells) -> impl Iterator<Item = usize> {
    [at.gpu, at.host, at.tenant, at.pid, at.instance].into_iter().flatten()
}

/// Whether a key is that of a row; looks without putting the row's key together.
fn is_key(key: &str, at: &SubjectCells, cells: &Cells<'_>) -> bool {
    let mut rest = key;
    for position in key_cells(at) {
        let behind = rest.strip_prefix(cells.get(position));
        let Some(behind) = behind.and_then(|it| it.strip_prefix(KEY_END)) else { return false };
        rest = behind;
    }
    rest.is_empty()
}

fn tenant(mapping: &Mapping, at: &SubjectCells, cells: &Cells<'_>) -> Option<TenantId> {
    let written = mapping.written.tenant.as_ref()?;
    let named = at.tenant.map(|it| cells.get(it)).filter(|it| !it.is_empty());
    let name = named.or(written.fixed.as_deref()).or(written.when_empty.as_deref());
    name.map(TenantId::new)
}

/// The MIG instance of a row; `None` for the whole GPU, an error for a cell that is no number.
fn instance(
    gpu: &GpuId,
    at: &SubjectCells,
    cells: &Cells<'_>,
) -> Option<Result<MigInstanceId, ()>> {
    let cell = cells.get(at.instance?);
    if is_missing(cell) {
        return None;
    }
    Some(whole(cell).ok_or(()).map(|gpu_instance| MigInstanceId {
        gpu: gpu.clone(),
        gpu_instance,
        compute_instance: None,
        generation: 0,
    }))
}

/// A whole number, also as a table program with gaps in the column writes it: `7.0`.
fn whole(cell: &str) -> Option<u32> {
    let value = plain_decimal(cell.as_bytes(), 0)?;
    let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
    is_whole.then_some(value as u32)
}
