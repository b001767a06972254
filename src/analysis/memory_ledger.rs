//! Who held how much device memory at every instant: one grid for a device and all that lives on it.

use crate::analysis::counted_memory::raise_to_counts;
use crate::analysis::memory_accounts::{Account, Accounts, accounts, largest, others, tenants_of};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::stats::quantile::quantile;

/// A sample stands for this many intervals at most; then nothing is known.
const LONGEST_HOLD: f64 = 2.5;
/// Most tenants that are kept apart, those with the highest peaks; the others are one.
pub(crate) const MOST_MEMBERS: usize = 24;
/// Most bins of all members together while they are compared; of more only those with the highest peaks are laid out.
const MOST_CELLS: usize = 32_000_000;
/// Most bins of a grid: a day at ten samples a second has fewer.
const MOST_BINS: i64 = 4_000_000;
/// Reserves above this share of the memory are no reserves, but readings that do not belong together.
const LARGEST_RESERVE: f64 = 0.2;
/// The device has to be sampled this much more often than tenants to show what they do between samples.
const FINER: f64 = 0.6;
/// Part of its last level that must have come free where a silent member counts as gone.
const CAME_FREE: f64 = 0.5;

/// Tenant of memory that no visible process holds, as the sampler calls it.
pub(crate) const GHOST: &str = "ghost";
/// Tenant of an MPS server whose clients are hidden, as the sampler calls it.
pub(crate) const MPS_SERVER: &str = "MPS server (clients hidden)";

/// Who held how much at every instant; not a number where it was not seen.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Whose memory it is: the device, or an instance of it.
    pub(crate) space: Subject,
    /// Short name of it.
    pub(crate) label: String,
    /// Start of the first bin.
    pub(crate) from: Timestamp,
    /// Length of a bin, in microseconds.
    pub(crate) step_us: i64,
    /// Everybody who held memory, the highest peak first.
    pub(crate) members: Vec<Member>,
    /// In use as the device says, bin by bin, in bytes; empty when it never said.
    pub(crate) used: Vec<f64>,
    /// Time between two of the device's own samples, in seconds.
    pub(crate) used_interval_s: Option<f64>,
    /// Memory that there is, in bytes.
    pub(crate) total_bytes: Option<f64>,
    /// What the driver keeps for itself, in bytes.
    pub(crate) reserved_bytes: Option<f64>,
}

/// One tenant, or a process of no tenant.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Short name.
    pub(crate) label: String,
    /// The same as a subject.
    pub(crate) subject: Subject,
    /// Bytes held in each bin: 0 when it was not there, not a number when it was not seen.
    pub(crate) bytes: Vec<f64>,
    /// Time between two samples, in seconds.
    pub(crate) interval_s: f64,
}

impl Ledger {
    /// One ledger for the device, or one for each MIG instance; none where no memory was recorded.
    pub(crate) fn all(gpu: &GpuId, part: &Recording, span: Option<TimeSpan>) -> Vec<Ledger> {
        let outline = &part.outline;
        let instances: Vec<&Subject> = part
            .traces
            .keys()
            .filter(|it| matches!(it, Subject::MigInstance { .. }) && it.gpu() == Some(gpu))
            .collect();
        if instances.is_empty() {
            let accounts = accounts(gpu, part, |_| true);
            return Ledger::of(Subject::device(gpu), accounts, part, span).into_iter().collect();
        }
        instances
            .into_iter()
            .filter_map(|space| {
                let tenants = tenants_of(space, outline);
                let accounts = accounts(gpu, part, |it| tenants.contains(&it));
                Ledger::of(space.clone(), accounts, part, span)
            })
            .collect()
    }

    fn of(
        space: Subject,
        accounts: Accounts<'_>,
        part: &Recording,
        span: Option<TimeSpan>,
    ) -> Option<Ledger> {
        let of_space = |metric| part.series(&space, metric);
        let used = of_space(Metric::FramebufferUsed);
        let series = || accounts.values().flat_map(|it| it.1.iter().copied()).chain(used);
        let seen = series().filter_map(Series::span).reduce(TimeSpan::hull)?;
        let seen = span.map_or(Some(seen), |it| it.overlap(seen))?;
        let interval = |it: &Series| it.typical_interval().map(|it| it.as_micros() as i64);
        let least = (seen.until().micros_since(seen.from()) / MOST_BINS).max(1);
        let step_us = series().filter_map(interval).min()?.max(least);
        let bins = (seen.until().micros_since(seen.from()) / step_us + 1) as usize;
        let grid = Grid { from: seen.from(), step_us, bins };
        let accounts = match accounts.len().saturating_mul(bins) > MOST_CELLS {
            true => largest(accounts, &space),
            false => accounts,
        };
        let total = of_space(Metric::FramebufferTotal).and_then(Series::highest);
        let mut ledger = Ledger {
            label: part.outline.label(&space),
            from: grid.from,
            step_us,
            members: accounts.into_iter().filter_map(|it| grid.member(it)).collect(),
            used: used.map(|it| grid.filled(&[it])).unwrap_or_default(),
            used_interval_s: used.and_then(interval).map(|it| it as f64 / 1e6),
            total_bytes: total,
            reserved_bytes: reserved(part, &space, total),
            space,
        };
        ledger.tell_absence();
        raise_to_counts(&mut ledger, part);
        ledger.keep_the_largest();
        Some(ledger)
    }

    /// Bins of the grid.
    pub(crate) fn bins(&self) -> usize {
        self.members.first().map_or(self.used.len(), |it| it.bytes.len())
    }

    /// Length of a bin, in seconds.
    pub(crate) fn step_s(&self) -> f64 {
        self.step_us as f64 / 1e6
    }

    /// Start of a bin.
    pub(crate) fn at(&self, bin: usize) -> Timestamp {
        self.from.plus_micros(self.step_us.saturating_mul(bin as i64))
    }

    /// The bin that holds an instant; `None` outside.
    pub(crate) fn bin_of(&self, at: Timestamp) -> Option<usize> {
        let bin = usize::try_from(at.micros_since(self.from).div_euclid(self.step_us)).ok()?;
        (bin < self.bins()).then_some(bin)
    }

    /// What all members held together in a bin; `None` where one of them was not seen.
    pub(crate) fn sum(&self, bin: usize) -> Option<f64> {
        let sum: f64 = self.members.iter().map(|it| it.bytes[bin]).sum();
        (sum.is_finite() && !self.members.is_empty()).then_some(sum)
    }

    /// What the device says is in use, in bytes; `None` where it says nothing.
    pub(crate) fn used_at(&self, bin: usize) -> Option<f64> {
        self.used.get(bin).copied().filter(|it| it.is_finite())
    }

    /// Whether the device was sampled so much more often than tenants that it shows what they do between samples.
    pub(crate) fn is_device_finer(&self) -> bool {
        let slowest = self.members.iter().map(|it| it.interval_s).fold(0.0, f64::max);
        self.used_interval_s.is_some_and(|it| it <= FINER * slowest)
    }

    /// In use, in bytes: the greater of what the device says and what all members held together.
    ///
    /// Rows of tenants that are older than the device's do not count beside it.
    pub(crate) fn in_use(&self, bin: usize) -> Option<f64> {
        match self.used_at(bin) {
            Some(used) if self.is_device_finer() => Some(used),
            used => used.into_iter().chain(self.sum(bin)).reduce(f64::max),
        }
    }

    /// Memory that tenants can have at all, in bytes: what there is less the driver's reserve, where that is known.
    pub(crate) fn capacity_bytes(&self) -> Option<f64> {
        Some(self.total_bytes? - self.reserved_bytes.unwrap_or(0.0))
    }

    /// Where a member's silence means that it was not there, its bytes become 0.
    ///
    /// It was not there where the device was sampled and what it has in use leaves no room for it;
    /// where the device's use is unknown, where others were seen.
    fn tell_absence(&mut self) {
        let bins = self.bins();
        let mut last: Vec<f64> = self
            .members
            .iter()
            .map(|it| it.bytes.iter().copied().find(|it| it.is_finite()).unwrap_or(0.0))
            .collect();
        for bin in 0..bins {
            let seen = |it: &&Member| it.bytes[bin].is_finite();
            let others: f64 = self.members.iter().filter(seen).map(|it| it.bytes[bin]).sum();
            let is_anyone_seen = self.members.iter().any(|it| it.bytes[bin].is_finite());
            let used = self.used.get(bin).copied().filter(|it| it.is_finite());
            for (member, last) in self.members.iter_mut().zip(&mut last) {
                let value = member.bytes[bin];
                if value.is_finite() {
                    *last = value;
                    continue;
                }
                let is_gone = match used {
                    Some(used) => used - others < CAME_FREE * *last,
                    None => is_anyone_seen,
                };
                if is_gone {
                    member.bytes[bin] = 0.0;
                }
            }
        }
    }

    fn keep_the_largest(&mut self) {
        let peak =
            |it: &Member| it.bytes.iter().copied().filter(|it| it.is_finite()).fold(0.0, f64::max);
        let mut ranked: Vec<(f64, Member)> =
            std::mem::take(&mut self.members).into_iter().map(|it| (peak(&it), it)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.label.cmp(&b.1.label)));
        let mut members: Vec<Member> = ranked.into_iter().map(|it| it.1).collect();
        if members.len() > MOST_MEMBERS {
            let rest = members.split_off(MOST_MEMBERS - 1);
            members.extend(together(&rest, &self.space));
        }
        self.members = members;
    }
}

/// Many small members as one.
fn together(rest: &[Member], space: &Subject) -> Option<Member> {
    let (label, subject) = others(rest.len(), space);
    let first = rest.first()?;
    let sum = |bin: usize| rest.iter().map(|it| it.bytes[bin]).sum();
    Some(Member {
        subject,
        label,
        bytes: (0..first.bytes.len()).map(sum).collect(),
        interval_s: rest.iter().map(|it| it.interval_s).fold(0.0, f64::max),
    })
}

/// What the driver keeps for itself: as it says, or what is neither used nor free.
fn reserved(part: &Recording, space: &Subject, total: Option<f64>) -> Option<f64> {
    let median = |metric| {
        let series = part.series(space, metric)?;
        quantile(&series.part(0..series.len()), 0.5)
    };
    let total = total?;
    let found = median(Metric::FramebufferReserved).or_else(|| {
        let (used, free) = (
            part.series(space, Metric::FramebufferUsed)?,
            part.series(space, Metric::FramebufferFree)?,
        );
        if used.times() != free.times() {
            return None;
        }
        let rest = (0..used.len()).map(|it| total - used.value(it) - free.value(it));
        quantile(&rest.collect::<Vec<f64>>(), 0.5)
    })?;
    (0.0..=LARGEST_RESERVE * total).contains(&found).then_some(found)
}

/// Even bins.
struct Grid {
    from: Timestamp,
    step_us: i64,
    bins: usize,
}

impl Grid {
    fn member(&self, (label, (subject, series)): (String, Account<'_>)) -> Option<Member> {
        let interval = |it: &&Series| it.typical_interval().map(|it| it.as_seconds());
        let interval_s = series.iter().filter_map(interval).reduce(f64::max)?;
        let bytes = self.filled(&series);
        bytes.iter().any(|it| it.is_finite()).then_some(Member {
            label,
            subject,
            bytes,
            interval_s,
        })
    }

    /// Greatest sample of each bin, held until the next one; series of several processes are added up.
    fn filled(&self, series: &[&Series]) -> Vec<f64> {
        let mut bytes = vec![f64::NAN; self.bins];
        let usual = series.iter().filter_map(|it| it.typical_interval()).map(|it| it.as_micros());
        let usual = usual.max().unwrap_or(self.step_us as u64);
        for it in series {
            let own = it.typical_interval().map_or(usual, |it| it.as_micros()) as i64;
            self.add(it, own.max(1), &mut bytes);
        }
        bytes
    }

    fn add(&self, series: &Series, interval_us: i64, bytes: &mut [f64]) {
        let longest = (interval_us as f64 * LONGEST_HOLD) as i64;
        let place = |at: Timestamp| at.micros_since(self.from).div_euclid(self.step_us);
        let mut add = |bin: i64, value: f64| {
            if let Some(slot) = usize::try_from(bin).ok().and_then(|it| bytes.get_mut(it)) {
                *slot = if slot.is_finite() { *slot + value } else { value };
            }
        };
        // Of a bin: its place, the greatest value in it, and the last sample.
        let mut open: Option<(i64, f64, (i64, f64))> = None;
        let mut close = |(bin, greatest, (last_us, last)): (i64, f64, (i64, f64)),
                         next: Option<(i64, i64)>| {
            add(bin, greatest);
            let held = place(Timestamp::from_micros(last_us).plus_micros(interval_us - 1));
            let until = match next {
                Some((at_us, next)) if at_us.saturating_sub(last_us) <= longest => next,
                Some((_, next)) => held.min(next - 1) + 1,
                None => held + 1,
            };
            (bin + 1..until.min(self.bins as i64)).for_each(|it| add(it, last));
        };
        let mut times = series.times().iter();
        series.each(0..series.len(), |value| {
            let Some(at) = times.next() else { return };
            let sample = (at.as_micros(), value);
            // A stamp in the same bin needs no division.
            let start_us = |bin: i64| self.from.plus_micros(bin.saturating_mul(self.step_us));
            match &mut open {
                Some((bin, greatest, last)) if *at < start_us(bin.saturating_add(1)) => {
                    *greatest = greatest.max(value);
                    *last = sample;
                }
                _ => {
                    let bin = place(*at);
                    let before = open.replace((bin, value.max(0.0), sample));
                    before.into_iter().for_each(|it| close(it, Some((sample.0, bin))));
                }
            }
        });
        open.into_iter().for_each(|it| close(it, None));
    }
}
