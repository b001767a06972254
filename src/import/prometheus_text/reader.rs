//! From samples to rows: collects a scrape, places its readings, and passes them on.

use crate::domain::ident::{ProcessKey, Subject, TenantId};
use crate::domain::metric::{Dialect, Metric, Unit};
use crate::domain::outline::Process;
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::prometheus_text::cards::{Cards, Details, described};
use crate::import::prometheus_text::contended::{Pairs, ScrapedPairs};
use crate::import::prometheus_text::line::Sample;
use crate::import::prometheus_text::owner::{Card, Meaning, Owner, Part};
use crate::import::prometheus_text::owner::{card, meaning, owner, profile, tool};
use crate::import::prometheus_text::scrape::{Row, Scrape};
use crate::import::prometheus_text::shapes::Shapes;
use crate::import::prometheus_text::share::{Placed, settle};
use crate::import::prometheus_text::unseen::{Unseen, tell_unmeasured};
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::run::unknown_names::UnknownNames;
use crate::import::smi::program::program_name;
use crate::import::text::cells::number;
use crate::import::text::clock::RowClock;
use std::collections::{BTreeMap, BTreeSet};

/// How many meanings of names are kept; a file with more names pays for looking them up.
const REMEMBERED_NAMES: usize = 10_000;

/// Collects a scrape, places its readings, and passes them on.
pub(crate) struct Reader {
    scrape: Scrape,
    meanings: BTreeMap<String, Meaning>,
    cards: Cards,
    dialect: Option<Dialect>,
    clock: RowClock<()>,
    told: BTreeSet<Subject>,
    unknown: UnknownNames,
    unseen: Unseen,
    shapes: Shapes,
    pairs: Pairs,
    /// Whether the text lists one series after the other, as a dump of a database does.
    is_listed: bool,
    /// Readings of such a text that wait for those of the same instant.
    waiting: Vec<Placed>,
}

impl Reader {
    /// A reader that has seen no sample yet.
    pub(crate) fn new(run: &ImportRun<'_>) -> Self {
        Self {
            scrape: Scrape::default(),
            meanings: BTreeMap::new(),
            cards: Cards::default(),
            dialect: None,
            clock: RowClock::new(run, None),
            told: BTreeSet::new(),
            unknown: UnknownNames::default(),
            unseen: Unseen::default(),
            shapes: Shapes::default(),
            pairs: Pairs::default(),
            is_listed: false,
            waiting: Vec::new(),
        }
    }

    /// Takes one sample; one that comes again ends the scrape before it.
    pub(crate) fn sample(
        &mut self,
        sample: &Sample<'_>,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        if self.scrape.repeats(sample.identity) {
            self.is_listed |= sample.at.is_some() && self.scrape.ends_with(sample.identity);
            self.end_scrape(run)?;
        }
        self.scrape.note(sample.identity);
        match self.meaning(sample.name) {
            Meaning::Unknown => self.unknown.add(sample.name),
            Meaning::Aside => {}
            Meaning::Shape => self.shape(sample, run),
            Meaning::Contended => self.contended(sample, run),
            Meaning::Began => self.began(sample),
            Meaning::Cumulative if self.unseen.cumulative.len() >= REMEMBERED_NAMES => {}
            Meaning::Cumulative => {
                self.unseen.cumulative.insert(sample.name.to_owned());
            }
            Meaning::CardInfo => {
                self.scrape.cards.insert(described(&sample.labels));
            }
            Meaning::CardIndex => {
                let index = sample.value.parse().ok();
                let card = Card { index, ..card(&sample.labels) };
                self.scrape.cards.insert((card, Details::default()));
            }
            Meaning::MigMode => {
                let is_mig = number(sample.value).ok().flatten().map(|it| it == 1.0);
                let details = Details { is_mig, ..Details::default() };
                self.scrape.cards.insert((card(&sample.labels), details));
            }
            Meaning::ProcessInfo => self.process(sample, run),
            Meaning::Quantity(dialect, metric, factor) => {
                self.dialect.get_or_insert(dialect);
                self.reading(sample, dialect, metric, factor, run);
            }
        }
        Ok(())
    }

    /// Ends the scrape, and stamps the next one by the text of a remark.
    pub(crate) fn begin_scrape_at(
        &mut self,
        stamp: &str,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        self.end_scrape(run)?;
        match self.clock.reader.text(stamp) {
            Ok(at) => self.scrape.at = Some(at),
            Err(found) => run.reject("", "a stamp like 2026-01-31T12:00:00Z", &found),
        }
        Ok(())
    }

    fn meaning(&mut self, name: &str) -> Meaning {
        if let Some(known) = self.meanings.get(name) {
            return *known;
        }
        let found = meaning(name);
        if self.meanings.len() < REMEMBERED_NAMES {
            self.meanings.insert(name.to_owned(), found);
        }
        found
    }

    /// Keeps a part of a shape until the scrape is whole.
    fn shape(&mut self, sample: &Sample<'_>, run: &mut ImportRun<'_>) {
        match (owner(Dialect::Cotenant, &sample.labels), sample.value.parse::<f64>()) {
            (Ok(owner), Ok(value)) => {
                self.dialect.get_or_insert(Dialect::Cotenant);
                let shape = self.scrape.shapes.entry(owner).or_default();
                shape.take(sample.name, &sample.labels, value);
                self.scrape.shape_at = sample.at.or(self.scrape.shape_at);
            }
            (Err(expected), _) => run.reject(sample.name, expected, sample.identity),
            (_, Err(_)) => run.reject(sample.name, "a number", sample.value),
        }
    }

    /// Keeps the sum of a pair of tenants until the scrape is whole.
    fn contended(&mut self, sample: &Sample<'_>, run: &mut ImportRun<'_>) {
        let Ok(value) = sample.value.parse::<f64>() else {
            return run.reject(sample.name, "a number", sample.value);
        };
        self.dialect.get_or_insert(Dialect::Cotenant);
        let mut one = ScrapedPairs::default();
        if let Err(expected) = one.take(&sample.labels, value) {
            return run.reject(sample.name, expected, sample.identity);
        }
        self.keep_pairs(sample.at, one);
    }

    fn began(&mut self, sample: &Sample<'_>) {
        if let Ok(seconds) = sample.value.parse::<f64>() {
            let mut one = ScrapedPairs::default();
            one.began(&sample.labels, seconds);
            self.keep_pairs(sample.at, one);
        }
    }

    /// In a text that lists one series after the other every sample stands at its own instant.
    fn keep_pairs(&mut self, at: Option<Timestamp>, one: ScrapedPairs) {
        match at {
            Some(at) if self.is_listed => self.pairs.wait(at, one),
            _ => {
                self.scrape.shape_at = at.or(self.scrape.shape_at);
                self.scrape.pairs.join(one);
            }
        }
    }

    fn settle_pairs(&mut self, at: Option<Timestamp>, scrape: &mut Scrape) {
        let mut pairs = std::mem::take(&mut scrape.pairs);
        match at {
            Some(at) if self.is_listed => self.pairs.wait(at, pairs),
            Some(at) => {
                pairs.shows(scrape.shapes.keys().filter_map(Owner::card));
                self.pairs.settle(at, pairs);
            }
            None => {}
        }
    }

    fn process(&mut self, sample: &Sample<'_>, run: &mut ImportRun<'_>) {
        match sample.labels.get("pid").map(str::parse) {
            Some(Ok(pid)) => {
                let name = sample.labels.get("process_name").and_then(program_name);
                self.scrape.processes.insert((card(&sample.labels), pid), name);
            }
            _ => run.reject(sample.name, "a whole number as label `pid`", sample.identity),
        }
    }

    fn reading(
        &mut self,
        sample: &Sample<'_>,
        dialect: Dialect,
        metric: Metric,
        factor: f64,
        run: &mut ImportRun<'_>,
    ) {
        let value = match value(sample.value) {
            Ok(Some(value)) => value * factor,
            Ok(None) => {
                self.unseen.silent.insert(metric);
                return;
            }
            Err(found) => return run.reject(sample.name, "a number", &found),
        };
        if !metric.is_plausible(value) {
            let (least, greatest) = metric.spec().range;
            let unit = metric.spec().unit;
            let symbol = if unit == Unit::Ratio { "" } else { unit.symbol() };
            let expected = format!("{least} to {greatest} {symbol}");
            return run.reject(sample.name, expected.trim_end(), &value.to_string());
        }
        let owner = match owner(dialect, &sample.labels) {
            Ok(
                Owner::Card { card, .. } | Owner::Share { card, .. } | Owner::Process { card, .. },
            ) if card.is_nameless() && run.options.gpu.is_none() => {
                return run.reject(sample.name, "a label that names the GPU", sample.identity);
            }
            Ok(owner) => owner,
            Err(expected) => return run.reject(sample.name, expected, sample.identity),
        };
        if let Owner::Card { card, part, .. } = &owner {
            let has_instances = *part != Part::Whole;
            let details = Details {
                model: sample.labels.get("modelName").map(str::to_owned),
                driver: sample.labels.get("DCGM_FI_DRIVER_VERSION").map(str::to_owned),
                is_mig: has_instances.then_some(true),
            };
            self.scrape.cards.insert((card.clone(), details));
        }
        if let (Owner::Process { card, pid }, name) = (&owner, sample.labels.get("process_name")) {
            self.scrape.processes.insert((card.clone(), *pid), name.and_then(program_name));
        }
        let profile = profile(&sample.labels).map(str::to_owned);
        self.unseen.measured.insert(metric);
        self.scrape.rows.push(Row { owner, profile, at: sample.at, metric, value });
    }

    /// Passes the scrape on and begins the next one.
    pub(crate) fn end_scrape(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut scrape = std::mem::take(&mut self.scrape);
        if scrape.rows.is_empty() && scrape.shapes.is_empty() {
            self.settle_pairs(scrape.at.or(scrape.shape_at), &mut scrape);
            // A remark with the stamp may be followed by an `# EOF` of the scrape before it.
            self.scrape.at = scrape.at.filter(|_| scrape.is_empty());
            return Ok(());
        }
        let at = self.stamp(&scrape, run)?.or(scrape.shape_at);
        self.settle_pairs(at, &mut scrape);
        let shapes = std::mem::take(&mut scrape.shapes);
        for (owner, metric, value) in at.map_or(Vec::new(), |it| self.shapes.settle(it, shapes)) {
            scrape.rows.push(Row { owner, profile: None, at, metric, value });
        }
        let tool = self.dialect.map_or("", tool);
        let readings = self.shapes.readings();
        run.describe_source(|options| Origin { readings, ..self.clock.origin(options, tool) })?;
        let masked = scrape.masked();
        for (card, details) in &scrape.cards {
            if let Some(gpu) = self.cards.gpu(card, &masked, run)? {
                self.cards.describe(&gpu, card, details, run)?;
            }
        }
        self.name_processes(&scrape, &masked, run)?;
        let mut placed = Vec::with_capacity(scrape.rows.len());
        for row in scrape.rows {
            let at = row.at.or(at);
            let (Some(at), Some((place, pod))) = (at, self.place(&row, &masked, run)?) else {
                run.reject(row.metric.key(), "a GPU with a UUID or an index", "a masked UUID");
                continue;
            };
            if let (Subject::Device { gpu }, Metric::GpuUtilization) = (&place, row.metric) {
                self.unseen.utilised.insert(gpu.clone());
            }
            placed.push(Placed { at, place, pod, metric: row.metric, value: row.value });
        }
        if self.is_listed {
            self.waiting.extend(placed.extract_if(.., |it| it.needs_its_neighbours()));
        }
        self.pass_on(placed, run)
    }

    /// The stamp of samples that carry none; `None` when all of them do.
    fn stamp(
        &mut self,
        scrape: &Scrape,
        run: &mut ImportRun<'_>,
    ) -> Result<Option<Timestamp>, ImportError> {
        let is_bare = scrape.rows.iter().any(|it| it.at.is_none())
            || (scrape.shape_at.is_none() && !scrape.shapes.is_empty());
        if scrape.at.is_some() || !is_bare {
            return Ok(scrape.at);
        }
        let at = self.clock.make(run, (), |_| false)?;
        self.unseen.made_stamps += 1;
        Ok(Some(at))
    }

    fn name_processes(
        &mut self,
        scrape: &Scrape,
        masked: &BTreeSet<u32>,
        run: &mut ImportRun<'_>,
    ) -> Result<(), ImportError> {
        let measured: BTreeSet<&Owner> = scrape.rows.iter().map(|it| &it.owner).collect();
        for ((card, pid), name) in &scrape.processes {
            let Some(gpu) = self.cards.gpu(card, masked, run)? else { continue };
            let process = ProcessKey { pid: *pid, started: None };
            let subject = Subject::Process { gpu: gpu.clone(), process };
            if !measured.contains(&Owner::Process { card: card.clone(), pid: *pid }) {
                self.unseen.without_memory.insert(subject.clone());
            }
            if self.told.insert(subject) {
                let name = name.clone();
                run.fact(Fact::Process(Process { gpu, process, name, tenant: None }))?;
            }
        }
        Ok(())
    }

    /// Where a reading belongs, and the pod whose labels are on it; `None` when nothing names a GPU.
    fn place(
        &mut self,
        row: &Row,
        masked: &BTreeSet<u32>,
        run: &mut ImportRun<'_>,
    ) -> Result<Option<(Subject, Option<TenantId>)>, ImportError> {
        self.cards.place(&row.owner, row.profile.as_deref(), masked, run)
    }

    fn pass_on(&mut self, placed: Vec<Placed>, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let settled = settle(placed);
        self.unseen.has_own_shares |= !settled.measured.is_empty();
        tell_unmeasured(settled.unmeasured, &mut self.told, run)?;
        for ((at, subject), mut readings) in settled.rows {
            // Old and new names of one field may stand side by side.
            readings.dedup_by_key(|it| it.0);
            if readings.iter().any(|it| it.0 == Metric::FramebufferUsed) {
                self.unseen.without_memory.remove(&subject);
            }
            run.row(at, &subject, &readings)?;
        }
        Ok(())
    }

    /// Passes the last scrape on, and says what could not be seen.
    pub(crate) fn finish(mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.end_scrape(run)?;
        let waiting = std::mem::take(&mut self.waiting);
        self.pass_on(waiting, run)?;
        self.unknown.warning().into_iter().for_each(|it| run.warn(it));
        self.unseen.report(&self.cards, run)?;
        let shapes = std::mem::take(&mut self.shapes);
        shapes.report(run, |owner, run| {
            Ok(self.cards.place(owner, None, &BTreeSet::new(), run)?.map(|it| it.0))
        })?;
        let pairs = std::mem::take(&mut self.pairs);
        pairs.report(run, |card, run| self.cards.gpu(card, &BTreeSet::new(), run))?;
        self.clock.report_assumptions(run)
    }
}

/// Reads a value; infinities are no reading.
fn value(text: &str) -> Result<Option<f64>, String> {
    match text.to_ascii_lowercase().as_str() {
        "+inf" | "-inf" | "inf" => Ok(None),
        _ => number(text),
    }
}
