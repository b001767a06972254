//! From findings to verdicts: what `recommend`, `report`, `demo` and the text of `analyze` share, so that they cannot differ.

use crate::analysis::findings::DeviceFindings;
use crate::analysis::some_parts_at_a_time;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::progress::{during, in_parts};
use crate::cli::recommend_seen::{Watched, notes};
use crate::cli::results::{Results, parts_in_memory};
use crate::cluster::facts::NodeWords;
use crate::colocation::whatif::Options;
use crate::domain::outline::Outline;
use crate::domain::time::TimeSpan;
use crate::recommender::configuration::{Configuration, Decided, configuration};
use crate::recommender::decide::decide;
use crate::recommender::seen::{Scenery, situations_of};
use crate::recommender::situation::{Limits, Situation};
use crate::recommender::tenant_policy::TenantPolicies;
use crate::recommender::together::{Together, together};
use crate::recommender::told::take_over;
use crate::recommender::verdict::Verdict;
use crate::report::extent::Extent;
use crate::report::recommend::Recommendation;
use crate::storage::StoredRecording;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// What is weighed besides the findings.
#[derive(Debug)]
pub(crate) struct Weighing<'a> {
    /// Where the tenants' demands are read.
    pub(crate) recording: &'a StoredRecording,
    /// Name of the input, for what stands alone in it.
    pub(crate) file: &'a str,
    /// The part in question; `None` for everything.
    pub(crate) span: Option<TimeSpan>,
    /// What owners say.
    pub(crate) said: &'a TenantPolicies,
    /// What the node says of itself; `None` without files.
    pub(crate) words: Option<&'a NodeWords>,
    /// Limits of the cluster and the driver.
    pub(crate) limits: Limits,
    /// Whether it is also asked who would share if tenants could move, which takes seconds with many.
    pub(crate) asks_together: bool,
}

/// What to do with every device.
#[derive(Debug)]
pub(crate) struct Weighed {
    /// One verdict for each device, in the order of the findings.
    pub(crate) verdicts: Vec<Verdict>,
    /// Who would share if tenants could move; `None` where that was not asked, or on one device only.
    pub(crate) together: Option<Together>,
    /// Files to apply.
    pub(crate) configuration: Configuration,
    /// The part of the recording that was weighed; `None` for all of it.
    pub(crate) extent: Option<Extent>,
    /// What was done to the input, each in a sentence.
    pub(crate) notes: Vec<String>,
}

/// Decides about every device of a recording.
pub(crate) fn weigh(it: &Weighing<'_>, results: &Results) -> Result<Weighed, CliError> {
    let devices = &results.findings.devices;
    let watched = Watched::new(it.recording, it.file, it.span);
    let mut dark = Vec::new();
    let (mut situations, mut verdicts) = (Vec::new(), Vec::new());
    let mut is_told = false;
    // Who would share is asked of all tenants at once; else the work of few devices is held at a time.
    let at_once = if it.asks_together { devices.len() } else { rayon::current_num_threads() };
    in_parts("weighing", devices.len(), |done| -> Result<(), CliError> {
        for devices in devices.chunks(at_once.max(1)) {
            let mut part = part(it, results, (&watched, &mut dark), devices)?;
            is_told |= listen(&mut part, &results.outline, it.words);
            let verdict = |it| {
                let verdict = decide(it, &results.policy);
                done.one();
                verdict
            };
            verdicts.extend(part.par_iter().map(verdict).collect::<Vec<Verdict>>());
            if !it.asks_together {
                part.iter_mut().flat_map(|it| &mut it.tenants).for_each(|it| it.demand = None);
            }
            situations.extend(part);
        }
        Ok(())
    })?;
    if it.words.is_some() && !is_told {
        output::warning("what the node says is about no GPU of this recording");
    }
    warn_unused(it.said, &situations);
    let together = match it.asks_together {
        true => during("grouping", || together(&situations, &results.policy)),
        false => None,
    };
    let configuration = configuration(&decided(&results.outline, &situations, &verdicts));
    let extent = Extent::of(it.span, results.outline.span);
    Ok(Weighed { verdicts, together, configuration, extent, notes: notes(dark) })
}

/// Situations of some devices.
fn part(
    it: &Weighing<'_>,
    results: &Results,
    (watched, dark): (&Watched<'_>, &mut Vec<(usize, String)>),
    devices: &[DeviceFindings],
) -> Result<Vec<Situation>, CliError> {
    let mut seen = Vec::new();
    let most = parts_in_memory(it.recording, it.span);
    for found in some_parts_at_a_time(devices, most, |it| watched.on(&it.gpu)) {
        let found = found?;
        seen.extend(found.tenants);
        dark.extend(found.dark);
    }
    let scenery = Scenery {
        findings: &results.findings,
        outline: &results.outline,
        words: &results.suitability,
        seen: &seen,
        said: it.said,
        policy: &results.policy,
        limits: it.limits,
        options: Options::default(),
    };
    Ok(situations_of(&scenery, devices))
}

impl Weighed {
    /// The same for a report.
    pub(crate) fn recommendation<'a>(
        &'a self,
        title: &'a str,
        command: &'a str,
    ) -> Recommendation<'a> {
        Recommendation {
            title,
            verdicts: &self.verdicts,
            together: self.together.as_ref(),
            configuration: &self.configuration,
            extent: self.extent,
            notes: &self.notes,
            tool_version: env!("CARGO_PKG_VERSION"),
            command,
        }
    }
}

/// Takes over what the node says about each device; whether it is about any of them.
fn listen(situations: &mut [Situation], outline: &Outline, words: Option<&NodeWords>) -> bool {
    let Some(words) = words else { return false };
    let mut is_told = false;
    for it in situations.iter_mut() {
        let index = outline.device(&it.gpu).and_then(|it| it.index);
        is_told |= take_over(it, index, words);
    }
    is_told
}

/// Says which entries of the policy fit nobody: a name that was misspelt protects nobody.
fn warn_unused(said: &TenantPolicies, situations: &[Situation]) {
    let names: Vec<&str> =
        situations.iter().flat_map(|it| it.tenants.iter().map(|it| it.name.as_str())).collect();
    for pattern in said.unused(&names) {
        output::warning(&format!("the policy's tenant `{pattern}` is nobody in this recording"));
    }
}

fn decided<'a>(
    outline: &'a Outline,
    situations: &'a [Situation],
    verdicts: &'a [Verdict],
) -> Vec<Decided<'a>> {
    let one = |(situation, verdict): (&'a Situation, &'a Verdict)| {
        let device = outline.device(&situation.gpu);
        Decided {
            verdict,
            situation,
            host: device.and_then(|it| it.host.as_deref()),
            index: device.and_then(|it| it.index),
        }
    };
    situations.iter().zip(verdicts).map(one).collect()
}
