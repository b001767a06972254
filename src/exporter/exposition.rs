//! The sink that counts shapes, and the page that shows them.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::contended::{OTHER_TENANT, OTHERS};
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::shape::{HEIGHT_BOUNDS, LENGTH_BOUNDS_S, LEVELS, Slot};
use crate::domain::shape_families::{
    ACTIVITY_METRIC, FAMILIES, HW_ID, HW_INDEX, LEVEL, Layout, MIG_INSTANCE, TENANT, label_of,
};
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::exporter::card::{Card, Part, Readings, nobody};
use crate::exporter::gauges::PLAIN;
use crate::exporter::limits::Limits;
use crate::exporter::own::Own;
use crate::exporter::text::{Format, Kind, LabelText, Text};
use crate::exporter::track::Track;
use std::collections::{BTreeMap, BTreeSet};

/// Blind spots that are told apart at most.
const MOST_BLIND_SPOTS: usize = 1000;

/// Counts what a sampler sees, and shows the counts.
///
/// Nothing is forgotten at a scrape: two scrapes, however far apart, give by difference what happened between them.
#[derive(Debug, Default)]
pub struct Exposition {
    limits: Limits,
    sources: BTreeMap<SourceId, Readings>,
    cards: BTreeMap<GpuId, Card>,
    blind_spots: BTreeSet<(Option<GpuId>, BlindSpotKind, String)>,
    rows: u64,
    own: Own,
}

impl Exposition {
    /// Nothing seen yet, with room for so many names.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes what the exporter knows about itself.
    pub fn set_own(&mut self, own: Own) {
        self.own = own;
    }

    /// Whether anything was seen of a GPU yet.
    pub fn is_ready(&self) -> bool {
        self.cards.values().any(|it| it.now_us > 0)
    }

    fn card(&mut self, gpu: &GpuId) -> &mut Card {
        let limits = self.limits;
        let new = || Card::new(Device::named(gpu.clone()), limits);
        self.cards.entry(gpu.clone()).or_insert_with(new)
    }

    /// Everything as text; the same counts give the same bytes.
    pub fn render(&self, format: Format) -> String {
        let mut text = Text::new(format);
        self.describe(&mut text);
        let subjects = self.subjects();
        activity_facts(&subjects, &mut text);
        for family in FAMILIES {
            let kind = match family.layout {
                Layout::Counter(_) | Layout::LevelCounter(_) => Kind::Counter,
                _ => Kind::Histogram,
            };
            text.family(family.name, kind, family.unit, family.help);
            for subject in &subjects {
                show(family.layout, subject, &mut text);
            }
        }
        self.plain(&mut text);
        self.contention(&mut text);
        self.blind_spots(&mut text);
        self.own.show(self.rows, &mut text);
        text.finish()
    }

    fn describe(&self, text: &mut Text) {
        text.family("cotenant_gpu", Kind::Info, "", "A GPU, its model, driver and host.");
        for card in self.cards.values() {
            let device = &card.device;
            let of = |it: &Option<String>| it.clone().unwrap_or_default();
            let labels = labels(card)
                .with("hw_type", "gpu")
                .with("hw_model", &of(&device.model))
                .with("hw_driver_version", &of(&device.driver))
                .with("host", &of(&device.host))
                .with("mig", device.is_mig.map_or("", |it| if it { "on" } else { "off" }));
            text.sample(&labels, 1.0);
        }
        text.family(
            "cotenant_tenant",
            Kind::Info,
            "",
            "A tenant of a GPU; namespace, pod and container where its name has them.",
        );
        for card in self.cards.values() {
            for name in card.tenants.keys() {
                let labels = labels(card).with(TENANT, name);
                let parts: Vec<&str> = name.split('/').collect();
                let labels = match parts[..] {
                    [namespace, pod, container] => labels
                        .with("tenant_namespace", namespace)
                        .with("tenant_pod", pod)
                        .with("tenant_container", container),
                    _ => labels,
                };
                text.sample(&labels, 1.0);
            }
        }
        text.family("cotenant_mig_instance", Kind::Info, "", "A MIG instance and its profile.");
        for card in self.cards.values() {
            for (number, (profile, _)) in &card.instances {
                let labels = labels(card).with(MIG_INSTANCE, &number.to_string());
                text.sample(&labels.with("profile", profile.as_deref().unwrap_or("")), 1.0);
            }
        }
    }

    /// Everybody who has a shape, with labels.
    fn subjects(&self) -> Vec<Shown<'_>> {
        let mut all = Vec::new();
        for card in self.cards.values() {
            let of_part = |part: &'_ Part| part.activity.as_ref().map(|it| it.0);
            let parts = std::iter::once((labels(card), &card.whole)).chain(
                card.instances
                    .iter()
                    .map(|it| (labels(card).with(MIG_INSTANCE, &it.0.to_string()), &it.1.1)),
            );
            for (labels, part) in parts {
                if let (Some(metric), Some((_, track))) = (of_part(part), part.activity.as_ref()) {
                    all.push(Shown { labels, metric, track });
                }
            }
            let metric = Metric::GpuUtilization;
            all.extend(card.tenants.iter().map(|(name, tenant)| Shown {
                labels: labels(card).with(TENANT, name),
                metric,
                track: &tenant.track,
            }));
        }
        all.retain(|it| it.track.interval_s().is_some());
        all
    }

    fn plain(&self, text: &mut Text) {
        for plain in PLAIN {
            text.family(plain.name, plain.kind, plain.unit, plain.metric.spec().meaning);
            for card in self.cards.values() {
                let now = card.now_us;
                let mut show = |labels: &LabelText, value: Option<f64>| {
                    if let Some(value) = value {
                        text.sample(labels, value * plain.factor);
                    }
                };
                show(&labels(card), card.whole.value(plain.metric, now));
                for (number, (_, part)) in &card.instances {
                    let labels = labels(card).with(MIG_INSTANCE, &number.to_string());
                    show(&labels, part.value(plain.metric, now));
                }
                if plain.metric == Metric::FramebufferUsed {
                    for (name, tenant) in &card.tenants {
                        show(&labels(card).with(TENANT, name), tenant.memory_bytes(now));
                    }
                }
            }
        }
    }

    fn contention(&self, text: &mut Text) {
        let help = "Time in which two tenants of one GPU were both busy at 5 % or more.";
        text.family("cotenant_contended_seconds", Kind::Counter, "seconds", help);
        for card in self.cards.values() {
            for (first, second, seconds) in card.contention.pairs() {
                let labels = labels(card).with(TENANT, first).with(OTHER_TENANT, second);
                text.sample(&labels, seconds);
            }
        }
        let help = "Tenants and pairs that had no place of their own and are counted as `other`.";
        text.family("cotenant_folded_names", Kind::Counter, "", help);
        for card in self.cards.values() {
            text.sample(&labels(card).with("kind", "tenant"), card.folded as f64);
            text.sample(&labels(card).with("kind", "pair"), card.contention.folded as f64);
        }
    }

    fn blind_spots(&self, text: &mut Text) {
        let help =
            "What could not be seen since the start, by kind; the log says each in a sentence.";
        text.family("cotenant_blind_spots", Kind::Gauge, "", help);
        let mut counts: BTreeMap<(Option<&GpuId>, BlindSpotKind), u32> = BTreeMap::new();
        for (gpu, kind, _) in &self.blind_spots {
            *counts.entry((gpu.as_ref(), *kind)).or_default() += 1;
        }
        for ((gpu, kind), count) in counts {
            let of_card = gpu.and_then(|it| self.cards.get(it)).map(labels).unwrap_or_default();
            text.sample(&of_card.with("kind", word(kind)), f64::from(count));
        }
    }

    fn spot(&mut self, it: BlindSpot) {
        let gpu = it.subject.as_ref().and_then(Subject::gpu).cloned();
        let key = it.metric.map_or(it.detail, |it| it.key().to_owned());
        if self.blind_spots.len() < MOST_BLIND_SPOTS {
            self.blind_spots.insert((gpu, it.kind, key));
        }
    }
}

/// Somebody who has a shape.
struct Shown<'a> {
    labels: LabelText,
    metric: Metric,
    track: &'a Track,
}

fn labels(card: &Card) -> LabelText {
    let index = card.device.index.map(|it| it.to_string()).unwrap_or_default();
    LabelText::default().with(HW_ID, card.device.gpu.as_str()).with(HW_INDEX, &index)
}

fn activity_facts(subjects: &[Shown<'_>], text: &mut Text) {
    let help = "Which metric stands for the activity of a GPU, an instance or a tenant.";
    text.family("cotenant_activity", Kind::Info, "", help);
    for it in subjects {
        text.sample(&it.labels.clone().with(ACTIVITY_METRIC, it.metric.key()), 1.0);
    }
    let help = "Typical time between two samples of activity.";
    text.family("cotenant_activity_interval_seconds", Kind::Gauge, "seconds", help);
    for it in subjects {
        it.track.interval_s().into_iter().for_each(|value| text.sample(&it.labels, value));
    }
    let help = "Time that a sample of activity averages over; the driver's usual one where it does not say.";
    text.family("cotenant_activity_window_seconds", Kind::Gauge, "seconds", help);
    for it in subjects {
        it.track.window_s().into_iter().for_each(|value| text.sample(&it.labels, value));
    }
}

fn show(layout: Layout, it: &Shown<'_>, text: &mut Text) {
    let sums = &it.track.sums;
    let of_level = |level: usize| it.labels.clone().with(LEVEL, &label_of(LEVELS[level]));
    match layout {
        Layout::Counter(slot) => text.sample(&it.labels, sums.get(slot)),
        Layout::LevelCounter(slot) => {
            (0..LEVELS.len()).for_each(|it| text.sample(&of_level(it), sums.get(slot(it))));
        }
        Layout::Heights(of, sum) => {
            let counts: Vec<f64> = (0..=HEIGHT_BOUNDS.len()).map(|it| sums.get(of(it))).collect();
            // Who holds memory that nobody lists has no histogram of it.
            if of(0) != Slot::Memory(0) || counts.iter().any(|it| *it > 0.0) {
                text.histogram(&it.labels, &counts, &HEIGHT_BOUNDS, sums.get(sum));
            }
        }
        Layout::Lengths(of, sum) => {
            let counts: Vec<f64> = (0..=LENGTH_BOUNDS_S.len()).map(|it| sums.get(of(it))).collect();
            text.histogram(&it.labels, &counts, &LENGTH_BOUNDS_S, sums.get(sum));
        }
        Layout::LevelLengths => {
            for level in 0..LEVELS.len() {
                let seconds = sums.get(Slot::BurstSeconds(level));
                let counts = sums.bursts(level);
                text.histogram(&of_level(level), &counts, &LENGTH_BOUNDS_S, seconds);
            }
        }
    }
}

fn word(kind: BlindSpotKind) -> &'static str {
    match kind {
        BlindSpotKind::NotReported => "not_reported",
        BlindSpotKind::NotRecorded => "not_recorded",
        BlindSpotKind::HiddenByMig => "hidden_by_mig",
        BlindSpotKind::TooCoarse => "too_coarse",
        BlindSpotKind::Gap => "gap",
        BlindSpotKind::Rejected => "rejected",
        BlindSpotKind::ClockAssumed => "clock_assumed",
        BlindSpotKind::Ambiguous => "ambiguous",
        BlindSpotKind::TooShort => "too_short",
    }
}

impl Sink for Exposition {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        self.rows += 1;
        let meant = self.sources.get(&source).cloned().unwrap_or_default();
        let at_us = at.as_micros();
        match subject {
            Subject::Device { gpu } => self.card(gpu).take(at_us, readings, &meant),
            Subject::MigInstance { instance } => {
                let card = self.card(&instance.gpu);
                card.now_us = card.now_us.max(at_us);
                let (_, part) = card.instances.entry(instance.gpu_instance).or_default();
                readings.iter().for_each(|it| part.take(at_us, it.0, it.1, &meant));
            }
            Subject::Process { gpu, process } => {
                self.card(gpu).take_process(*process, at_us, readings);
            }
            // What services say about themselves has its own exporters.
            Subject::Tenant { .. } => {}
        }
        Ok(())
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        match fact {
            Fact::Device(device) => self.card(&device.gpu.clone()).device.complete_from(&device),
            Fact::MigInstance(it) => {
                let card = self.card(&it.instance.gpu);
                let known = card.instances.entry(it.instance.gpu_instance).or_default();
                known.0 = known.0.take().or(it.profile);
            }
            Fact::Process(it) => {
                // Whoever belongs to nobody goes by its own name, and has a place as others have one.
                let tenant = it.tenant.filter(|it| !it.is_unattributed());
                let tenant = tenant.map(|it| it.as_str().to_owned()).or(it.name);
                let tenant = tenant.filter(|it| it != OTHERS && it != TenantId::UNATTRIBUTED);
                self.card(&it.gpu).own(it.process, tenant.unwrap_or_else(|| nobody(it.process)));
            }
            Fact::Source(it) => {
                self.sources.insert(it.id, it.readings);
            }
            Fact::BlindSpot(it) => self.spot(it),
            Fact::Phase(_) | Fact::Shape(_) | Fact::Contended(_) | Fact::Follower(_) => {}
        }
        Ok(())
    }
}
