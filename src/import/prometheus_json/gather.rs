//! From series to rows: holds what belongs together, merges it, settles whose it is, and passes it on.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{ProcessKey, Subject, TenantId};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Process;
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::import::error::ImportError;
use crate::import::prometheus_json::answer::{Hole, Piece, RawSeries, Remark};
use crate::import::prometheus_json::merge::{Samples, merge};
use crate::import::prometheus_json::places::Places;
use crate::import::prometheus_json::services::Services;
use crate::import::prometheus_json::unfit::Unfit;
use crate::import::prometheus_json::watch::Watch;
use crate::import::prometheus_text::cards::{Cards, Details, described};
use crate::import::prometheus_text::contended::{Pairs, ScrapedPairs};
use crate::import::prometheus_text::line::Labels;
use crate::import::prometheus_text::owner::{Card, Meaning, Owner, Part};
use crate::import::prometheus_text::owner::{card, meaning, owner, profile, tool};
use crate::import::prometheus_text::shapes::{ScrapedShapes, Shapes};
use crate::import::prometheus_text::share::{Placed, settle};
use crate::import::prometheus_text::unseen::{Unseen, tell_unmeasured};
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::run::unknown_names::UnknownNames;
use crate::import::smi::program::program_name;
use std::collections::{BTreeMap, BTreeSet};

/// Samples that are held before they are passed on although nobody said that a slice is complete: 64 MiB.
const MOST_HELD: usize = 4 << 20;

/// Whose readings of which quantity; the profile is that of a MIG instance.
type Key = (Metric, Owner, Option<String>);

/// A reading whose subject stands in a list.
type Numbered = (Timestamp, usize, Metric, f64);

/// Takes series and gives rows.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    held: BTreeMap<Key, Vec<Samples>>,
    held_samples: usize,
    services: Services,
    cards: Cards,
    masked: BTreeSet<u32>,
    tools: BTreeSet<&'static str>,
    told: BTreeSet<Subject>,
    unknown: UnknownNames,
    unseen: Unseen,
    unfit: Unfit,
    /// Parts of shapes by the scrape that they came from.
    scraped: BTreeMap<Timestamp, ScrapedShapes>,
    shapes: Shapes,
    /// Sums of pairs of tenants by the scrape that they came from.
    scraped_pairs: BTreeMap<Timestamp, ScrapedPairs>,
    pairs: Pairs,
    watch: Watch,
    step_ms: Option<u64>,
    is_described: bool,
}

impl Gatherer {
    /// Takes one part of the input.
    pub(crate) fn take(
        &mut self,
        piece: Piece,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        match piece {
            Piece::Series(series) => return self.series(&series, run),
            Piece::Refusal(text) => run.reject("error", "an answer with data", &text),
            Piece::Warning(text) => run.warn(format!("the server warned: {text}")),
            Piece::Remark(Remark { is_slice_end, step_ms, hole }) => {
                self.step_ms = step_ms.or(self.step_ms);
                if let Some(hole) = hole {
                    tell_hole(hole, run)?;
                }
                if is_slice_end {
                    self.settle_shapes();
                    return self.pass_on(run);
                }
            }
            Piece::End => run.line += 1,
        }
        match self.held_samples + self.services.held_samples() > MOST_HELD {
            true => self.pass_on(run),
            false => Ok(()),
        }
    }

    fn series(&mut self, series: &RawSeries, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let Some(name) = series.labels.get("__name__").filter(|it| !it.is_empty()) else {
            run.reject("__name__", "a series with a name; functions of PromQL drop it", "");
            return Ok(());
        };
        if let Some(odd) = &series.odd {
            run.reject(name, "a number", odd);
        }
        if series.has_native_histograms {
            self.unfit.native_histograms.insert(name.clone());
        }
        let step = self.step_ms;
        self.unfit.note_grid(series, step);
        if self.services.take(name, series) {
            return Ok(());
        }
        let labels = self.unfit.labels(&series.labels);
        let labels = Labels::of(labels.iter().map(|it| (it.0.as_str(), it.1.as_str())));
        match meaning(name) {
            Meaning::Unknown | Meaning::Cumulative => self.unknown.add(name),
            Meaning::Aside => {}
            Meaning::Shape => self.shape(name, series, &labels, run),
            Meaning::Contended => self.contended(name, series, &labels, run),
            Meaning::Began => {
                for (at, seconds) in series.samples.iter().filter(|it| it.1.is_finite()) {
                    self.scraped_pairs.entry(*at).or_default().began(&labels, *seconds);
                }
            }
            Meaning::CardInfo => {
                let (card, details) = described(&labels);
                self.describe(&card, &details, run)?;
            }
            Meaning::CardIndex => {
                let index = series.samples.last().map(|it| it.1 as u32);
                self.describe(&Card { index, ..card(&labels) }, &Details::default(), run)?;
            }
            Meaning::MigMode => {
                let is_mig = series.samples.last().map(|it| it.1 == 1.0);
                let details = Details { is_mig, ..Details::default() };
                self.describe(&card(&labels), &details, run)?;
            }
            Meaning::ProcessInfo => self.process(&labels, run)?,
            Meaning::Quantity(dialect, metric, factor) => {
                self.tools.insert(tool(dialect));
                self.quantity(series, &labels, (dialect, metric, factor), run)?;
            }
        }
        Ok(())
    }

    /// Keeps a part of shapes until a slice of time is complete.
    fn shape(
        &mut self,
        name: &str,
        series: &RawSeries,
        labels: &Labels<'_>,
        run: &mut ImportRun<'_>,
    ) {
        let owner = match owner(Dialect::Cotenant, labels) {
            Ok(owner) => owner,
            Err(expected) => return run.reject(name, expected, "none"),
        };
        self.tools.insert(tool(Dialect::Cotenant));
        for (at, value) in series.samples.iter().filter(|it| it.1.is_finite()) {
            let scrape = self.scraped.entry(*at).or_default();
            scrape.entry(owner.clone()).or_default().take(name, labels, *value);
        }
    }

    /// Keeps the sums of a pair of tenants until a slice of time is complete.
    fn contended(
        &mut self,
        name: &str,
        series: &RawSeries,
        labels: &Labels<'_>,
        run: &mut ImportRun<'_>,
    ) {
        self.tools.insert(tool(Dialect::Cotenant));
        for (at, value) in &series.samples {
            let scrape = self.scraped_pairs.entry(*at).or_default();
            if let Err(expected) = scrape.take(labels, *value) {
                return run.reject(name, expected, "none");
            }
        }
    }

    /// Turns whole scrapes of shapes into what grew between them, and into means that series can show.
    fn settle_shapes(&mut self) {
        let mut pairs = std::mem::take(&mut self.scraped_pairs);
        for (at, scrape) in std::mem::take(&mut self.scraped) {
            pairs.entry(at).or_default().shows(scrape.keys().filter_map(Owner::card));
            for (owner, metric, value) in self.shapes.settle(at, scrape) {
                let held = self.held.entry((metric, owner, None)).or_default();
                match held.first_mut() {
                    Some(samples) => samples.push((at, value)),
                    None => held.push(vec![(at, value)]),
                }
            }
        }
        pairs.into_iter().for_each(|it| self.pairs.settle(it.0, it.1));
    }

    fn describe(
        &mut self,
        card: &Card,
        details: &Details,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        self.masked.extend(card.index.filter(|_| card.is_masked));
        match self.cards.gpu(card, &self.masked, run)? {
            Some(gpu) => self.cards.describe(&gpu, card, details, run),
            None => Ok(()),
        }
    }

    fn process(&mut self, labels: &Labels<'_>, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let Some(Ok(pid)) = labels.get("pid").map(str::parse) else { return Ok(()) };
        let Some(gpu) = self.cards.gpu(&card(labels), &self.masked, run)? else { return Ok(()) };
        let process = ProcessKey { pid, started: None };
        if self.told.insert(Subject::Process { gpu: gpu.clone(), process }) {
            let name = labels.get("process_name").and_then(program_name);
            let tenant = labels.get("process_tenant").map(TenantId::new);
            run.fact(Fact::Process(Process { gpu, process, name, tenant }))?;
        }
        Ok(())
    }

    fn quantity(
        &mut self,
        series: &RawSeries,
        labels: &Labels<'_>,
        (dialect, metric, factor): (Dialect, Metric, f64),
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        let owner = match owner(dialect, labels) {
            Ok(
                Owner::Card { card, .. } | Owner::Share { card, .. } | Owner::Process { card, .. },
            ) if card.is_nameless() && run.options.gpu.is_none() => {
                run.reject(metric.key(), "a label that names the GPU", "none");
                return Ok(());
            }
            Ok(owner) => owner,
            Err(expected) => {
                run.reject(metric.key(), expected, "none");
                return Ok(());
            }
        };
        if let Owner::Card { card, part, .. } = &owner {
            let text = |key: &str| labels.get(key).map(str::to_owned);
            let model =
                text("modelName").or_else(|| text("gpu").filter(|_| dialect == Dialect::AllSmi));
            let is_mig = (*part != Part::Whole).then_some(true);
            let details = Details { model, driver: text("DCGM_FI_DRIVER_VERSION"), is_mig };
            self.describe(card, &details, run)?;
        }
        // Ours are named by a family of their own, which may come later.
        if matches!(owner, Owner::Process { .. }) && dialect != Dialect::Cotenant {
            self.process(labels, run)?;
        }
        let mut samples: Samples = Vec::with_capacity(series.samples.len());
        for (at, value) in series.samples.iter().filter(|it| it.1.is_finite()) {
            let value = value * factor;
            match metric.is_plausible(value) {
                true => samples.push((*at, value)),
                false => {
                    let (least, greatest) = metric.spec().range;
                    let unit = metric.spec().unit.symbol();
                    let expected = format!("{least} to {greatest} {unit}");
                    run.reject(metric.key(), expected.trim_end(), &value.to_string());
                }
            }
        }
        if samples.is_empty() {
            self.unseen.silent.insert(metric);
            return Ok(());
        }
        self.unseen.measured.insert(metric);
        self.held_samples += samples.len();
        let profile = profile(labels).map(str::to_owned);
        self.held.entry((metric, owner, profile)).or_default().push(samples);
        Ok(())
    }

    /// Passes on what is held, in time order.
    fn pass_on(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let held = std::mem::take(&mut self.held);
        self.held_samples = 0;
        self.describe_source(run)?;
        let mut places = Places::default();
        let mut rows: Vec<Numbered> = Vec::new();
        let mut shared: Vec<Placed> = Vec::new();
        let has_pods = held.keys().any(|it| matches!(it.1, Owner::Card { pod: Some(_), .. }));
        for ((metric, owner, profile), all) in held {
            let merged = merge(all);
            if merged.is_doubled {
                self.unfit.doubled.insert((metric, owner.clone()));
            }
            let Some((place, pod)) =
                self.cards.place(&owner, profile.as_deref(), &self.masked, run)?
            else {
                run.reject(metric.key(), "a GPU with a UUID or an index", "a masked UUID");
                continue;
            };
            if let (Subject::Device { gpu }, Metric::GpuUtilization) = (&place, metric) {
                self.unseen.utilised.insert(gpu.clone());
            }
            let template = Placed { at: Timestamp::from_micros(0), place, pod, metric, value: 0.0 };
            if has_pods && template.needs_its_neighbours() {
                let placed = |(at, value)| Placed { at, value, ..template.clone() };
                shared.extend(merged.samples.into_iter().map(placed));
            } else {
                let number = places.number(template.place);
                rows.extend(merged.samples.iter().map(|it| (it.0, number, metric, it.1)));
            }
        }
        self.unfit.note_pods(&shared);
        let settled = settle(shared);
        self.unseen.has_own_shares |= !settled.measured.is_empty();
        tell_unmeasured(settled.unmeasured, &mut self.told, run)?;
        for ((at, subject), readings) in settled.rows {
            let number = places.number(subject);
            rows.extend(readings.into_iter().map(|it| (at, number, it.0, it.1)));
        }
        for (at, tenant, readings) in self.services.readings() {
            let number = places.number(Subject::Tenant { gpu: None, tenant });
            rows.extend(readings.into_iter().map(|it| (at, number, it.0, it.1)));
        }
        self.give(rows, &places, run)
    }

    /// Gives rows to the run; of old and new names of one field the first one stays.
    fn give(
        &mut self,
        mut rows: Vec<Numbered>,
        places: &Places,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        rows.sort_by_key(|it| (it.0, it.1, it.2));
        rows.dedup_by_key(|it| (it.0, it.1, it.2));
        let mut readings: Vec<(Metric, f64)> = Vec::new();
        for row in rows.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)) {
            let Some(subject) = row.first().and_then(|it| places.all.get(it.1)) else { continue };
            readings.clear();
            readings.extend(row.iter().map(|it| (it.2, it.3)));
            self.watch.row(row[0].0, subject, &readings);
            run.row(row[0].0, subject, &readings)?;
        }
        Ok(())
    }

    fn describe_source(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if std::mem::replace(&mut self.is_described, true) {
            return Ok(());
        }
        self.tools.extend(self.services.tools());
        let mut tools = self.tools.iter();
        let tool = match (tools.next(), tools.next()) {
            (Some(only), None) => only,
            _ => "prometheus",
        };
        let clock = match self.step_ms {
            Some(1..) => "UTC, as the server was asked",
            _ => "UTC, as the server stamped its scrapes",
        };
        let (tool, clock) = (tool.to_owned(), clock.to_owned());
        let readings = self.shapes.readings();
        run.describe_source(|_| Origin { tool, clock, readings, ..Origin::default() })
    }

    /// Passes on the rest, and says what could not be seen.
    pub(crate) fn finish(mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.settle_shapes();
        self.pass_on(run)?;
        let shapes = std::mem::take(&mut self.shapes);
        shapes.report(run, |owner, run| {
            Ok(self.cards.place(owner, None, &self.masked, run)?.map(|it| it.0))
        })?;
        let pairs = std::mem::take(&mut self.pairs);
        pairs.report(run, |card, run| self.cards.gpu(card, &self.masked, run))?;
        self.unknown.warning().into_iter().for_each(|it| run.warn(it));
        self.unseen.report(&self.cards, run)?;
        self.services.report(run)?;
        self.unfit.report(run)?;
        self.watch.report(run)
    }
}

fn tell_hole(hole: Hole, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
    let at = |millis: i64| Timestamp::from_micros(millis.saturating_mul(1000));
    let detail = format!("the server did not give {}: {}", hole.names, hole.reason);
    run.warn(detail.clone());
    run.fact(Fact::BlindSpot(BlindSpot {
        kind: BlindSpotKind::Gap,
        subject: None,
        metric: None,
        span: TimeSpan::new(at(hole.from_ms), at(hole.until_ms)),
        detail,
        remedy: "run the same command again; what is there is not asked for twice".to_owned(),
    }))
}
