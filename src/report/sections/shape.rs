//! The shape of each load beside its mean, and what the sampling allows to be said.

use crate::analysis::findings::{BurstProfile, SubjectFindings};
use crate::domain::units::Seconds;
use crate::recommender::suitability::SharingWord;
use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::figure::{DutyBar, Figure, SeriesColour};
use crate::report::sections::by_shape::in_one_sentence;
use crate::report::sections::{Section, device_heading, gathered, title};
use crate::report::view::{DeviceView, UNFOLDED_DEVICES, places, profile, why_no_profile};
use crate::report::wording::{capitalised, clean, name, percent as in_percent, sentence, stopped};
use std::collections::BTreeSet;

/// So many subjects are drawn as bars.
const MOST_BARS: usize = 8;
/// Means that differ by less count as the same, and shares of full time that differ by more as not the same.
const ALIKE: f64 = 0.05;
const APART: f64 = 0.05;
/// Loads of a lower mean are not compared.
const LEAST_MEAN: f64 = 0.1;

/// Shapes.
pub(super) struct Shape;

impl Section for Shape {
    fn id(&self) -> &'static str {
        "shape"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = places(input);
        if devices.is_empty() {
            return Vec::new();
        }
        let why = "A load that is spread evenly leaves the rest free at any moment; one that takes the whole \
                   device in bursts makes everyone else wait for as long as a burst lasts.";
        let mut blocks =
            vec![title(self, "Why: the shape, not the average"), Block::Text(why.to_owned())];
        blocks.extend(same_mean(&devices).map(Block::Text));
        blocks.extend(in_one_sentence(&devices).map(Block::Text));
        let parts = devices.iter().map(|device| {
            let mut mine = vec![device_heading(self, &device.slug, &device.name)];
            mine.extend(of_device(device));
            (format!("{}: shape", device.name), mine)
        });
        blocks.extend(gathered(parts.collect(), UNFOLDED_DEVICES));
        blocks
    }
}

/// A subject with its profile and its colour.
pub(super) type Shaped<'a> = (&'a SubjectFindings, &'a BurstProfile, SeriesColour);

/// Everybody on a device whose activity has a shape.
pub(super) fn shaped<'a>(device: &DeviceView<'a>) -> Vec<Shaped<'a>> {
    let own = device.own.into_iter().map(|it| (it, SeriesColour::Device));
    let residents = device.residents.iter().enumerate();
    let everyone = own.chain(residents.map(|(rank, it)| (*it, SeriesColour::Resident(rank))));
    everyone.filter_map(|(it, colour)| Some((it, profile(it)?, colour))).collect()
}

fn of_device(device: &DeviceView<'_>) -> Vec<Block> {
    let shaped = shaped(device);
    if shaped.is_empty() {
        return vec![Block::Text(no_shape(device))];
    }
    let mut blocks: Vec<Block> = resolution(device).into_iter().collect();
    blocks.extend(duty_bars(device, &shaped));
    blocks
}

/// Two loads of one mean that differ most in how long they fill the device; `None` where none do.
fn same_mean(devices: &[DeviceView<'_>]) -> Option<String> {
    let loads: Vec<(&SubjectFindings, &BurstProfile)> = devices
        .iter()
        .flat_map(|it| it.residents.iter().copied())
        .filter_map(|it| Some((it, profile(it)?)))
        .collect();
    let mut best: Option<(f64, &SubjectFindings, &SubjectFindings)> = None;
    for (place, (one, steady)) in loads.iter().enumerate() {
        for (other, bursty) in loads.iter().skip(place + 1) {
            let apart = bursty.duty.at_95_pct - steady.duty.at_95_pct;
            let is_alike = (steady.mean_ratio - bursty.mean_ratio).abs() <= ALIKE
                && steady.mean_ratio.min(bursty.mean_ratio) >= LEAST_MEAN;
            if is_alike && apart.abs() >= APART && best.is_none_or(|it| apart.abs() > it.0) {
                let (calm, wild) = if apart > 0.0 { (*one, *other) } else { (*other, *one) };
                best = Some((apart.abs(), calm, wild));
            }
        }
    }
    let (_, calm, wild) = best?;
    let (calm_shape, wild_shape) = (profile(calm)?, profile(wild)?);
    Some(format!(
        "{} and {} have nearly the same mean, {} and {}, and not the same shape: {} fills the device for {} of the time, {} for {}.",
        name(&calm.label),
        name(&wild.label),
        in_percent(calm_shape.mean_ratio),
        in_percent(wild_shape.mean_ratio),
        name(&wild.label),
        in_percent(wild_shape.duty.at_95_pct),
        name(&calm.label),
        in_percent(calm_shape.duty.at_95_pct)
    ))
}

/// Why nothing can be said about the shape of anything here.
fn no_shape(device: &DeviceView<'_>) -> String {
    let reasons: BTreeSet<&str> = device.everyone().map(|it| why_no_profile(it.whole())).collect();
    if reasons.iter().all(|it| *it == why_no_profile(None)) {
        return format!(
            "No activity metric was recorded for {} or for anything on it, so nothing can be said \
             about its shape.",
            device.name
        );
    }
    format!(
        "The activity of {} has too few samples, so nothing can be said about its shape.",
        device.name
    )
}

/// What the sampling allows to be said about the device.
fn resolution(device: &DeviceView<'_>) -> Option<Block> {
    let resolution = &device.own.and_then(profile)?.resolution;
    let mut text = capitalised(&stopped(&sentence(&resolution.sentence)));
    let is_open = device.verdict.is_some_and(|it| it.word == SharingWord::CannotTell);
    if let Some(interval) = resolution.needed_interval_s.filter(|_| is_open) {
        text.push_str(&format!(" Sampling every {} would settle it.", Seconds(interval)));
    }
    Some(Block::Text(text))
}

fn duty_bars(device: &DeviceView<'_>, shaped: &[Shaped<'_>]) -> Option<Block> {
    let bar = |(subject, profile, _): &Shaped<'_>| DutyBar {
        name: clean(&subject.label),
        duty: profile.duty,
        mean_ratio: profile.mean_ratio,
    };
    let bars: Vec<DutyBar> = shaped.iter().take(MOST_BARS).map(bar).collect();
    let fullest = bars.iter().max_by(|a, b| a.duty.at_95_pct.total_cmp(&b.duty.at_95_pct))?;
    let full = in_percent(fullest.duty.at_95_pct);
    let see = if fullest.duty.at_95_pct > 0.0 {
        let mean = in_percent(fullest.mean_ratio);
        let hides = if fullest.mean_ratio < 0.6 { ", which hides it" } else { "" };
        let name = name(&fullest.name);
        format!("{name} fills the device for {full} of the time; its mean is {mean}{hides}.")
    } else if device.leaves_room() {
        "Nobody fills the device: a newcomer would find room at any moment.".to_owned()
    } else {
        let highest = bars.iter().max_by(|a, b| a.mean_ratio.total_cmp(&b.mean_ratio))?;
        let mean = in_percent(highest.mean_ratio);
        format!(
            "No sample reaches 95 %; the highest mean is {mean}, that of {}.",
            name(&highest.name)
        )
    };
    Some(Block::Figure {
        id: format!("duty-{}", device.slug),
        caption: see.clone(),
        key: "Bars: how much of the time a load is at or above a level. Orange: full.".to_owned(),
        alt: format!("Bars of the share of time at 5, 50 and 95 % on {}. {see}", device.name),
        figure: Figure::DutyBars(bars),
    })
}
