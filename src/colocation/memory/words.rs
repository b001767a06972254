//! A forecast in sentences.

use crate::colocation::memory::forecast::is_too_much;
use crate::colocation::memory::{
    ForecastBasis, MemoryDemand, MemoryForecast, MemoryQuestion, Phases,
};
use crate::domain::shares::share;
use crate::domain::units::{MemoryBytes, Seconds};

fn amount(bytes: f64) -> String {
    MemoryBytes::from_f64(bytes.max(0.0)).map_or_else(|| "unknown".to_owned(), |it| it.to_string())
}

/// A chance for people: never 0 % for what may happen.
pub(super) fn chance(ratio: f64) -> String {
    match 100.0 * ratio {
        it if it <= 0.0 => "none".to_owned(),
        it if it > 99.9 => "above 99.9 %".to_owned(),
        _ => share(ratio),
    }
}

/// The answer in one sentence.
pub(super) fn sentence(question: &MemoryQuestion<'_>, found: &MemoryForecast) -> String {
    let (room, peaks) = (amount(found.room_bytes), amount(found.sum_of_peaks_bytes));
    let last = found.risks.last();
    let risk = last.map_or_else(String::new, |it| {
        let ratio = it.risk_ratio.map_or_else(|| "unknown".to_owned(), chance);
        format!("; chance of running out within {}: {ratio}", Seconds(it.horizon_s))
    });
    let least = if found.is_lower_limit { "at least " } else { "" };
    let rate = match found.crossings_per_h {
        it if it >= 1.0 => format!("{it:.0} times an hour"),
        it if it * 24.0 >= 1.0 => format!("{:.0} times a day", it * 24.0),
        it if it > 0.0 => format!("once in {}", Seconds(3600.0 / it)),
        _ => "never".to_owned(),
    };
    match found.basis {
        ForecastBasis::Blind => format!(
            "cannot tell: memory was sampled every {}, and peaks between samples were missed; peaks that were seen add up to {peaks} of {room}",
            Seconds(question.demands.iter().map(|it| it.interval_s).fold(0.0, f64::max))
        ),
        ForecastBasis::AlwaysFits => {
            format!("peaks add up to {peaks} of {room}: it fits even if all of them peak at once")
        }
        ForecastBasis::Limits => {
            let is_above = |it: &MemoryDemand| it.limit_bytes < Some(it.stairs.peak());
            let above = question.demands.iter().filter(|it| it.limit_bytes.is_some());
            let above = match above.clone().any(is_above) {
                true => ", or stay at peaks above them",
                false => "",
            };
            format!(
                "as seen it may fit, but not when tenants grow to their configured limits{above}{risk}"
            )
        }
        ForecastBasis::MeasuredPhase => format!(
            "peaks add up to {peaks} of {room}, but the tenants keep fixed distances in time and ran out {} in {}{risk}",
            times(question),
            Seconds(question.measured.map_or(0.0, |it| it.seen_s))
        ),
        ForecastBasis::IndependentPhases | ForecastBasis::WorseOfBoth
            if is_too_much(found.crossings_per_h, found.over_ratio) =>
        {
            format!(
                "it does not fit: most of the time, and without any peak, more than {room} is held"
            )
        }
        ForecastBasis::IndependentPhases | ForecastBasis::WorseOfBoth => {
            format!(
                "peaks add up to {peaks} of {room} and meet {least}{rate} at random phases{risk}"
            )
        }
    }
}

fn times(question: &MemoryQuestion<'_>) -> String {
    match question.measured.map_or(0, |it| it.crossings) {
        0 => "at no time".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}

/// What the answer leaves out.
pub(super) fn caveats(question: &MemoryQuestion<'_>, found: &MemoryForecast) -> Vec<String> {
    let mut caveats = Vec::new();
    if found.room_is_upper_limit {
        caveats.push("a part of what the driver and hidden processes hold is not known: there may be less room".to_owned());
    }
    if found.is_lower_limit && found.basis != ForecastBasis::Blind {
        caveats.push("peaks lasted no longer than one sample of the tenants: some were missed, and the chance is at least the one that is told".to_owned());
    }
    let keeping: Vec<String> = question
        .demands
        .iter()
        .filter(|it| it.keeps_what_it_takes)
        .map(|it| format!("`{}`", it.label))
        .collect();
    if !keeping.is_empty() {
        caveats.push(format!(
            "{} gave nothing back within a life and counts with its peak all the time; it may grow further",
            keeping.join(", ")
        ));
    }
    let last = found.risks.last();
    if let (Some(Phases::Fixed), Some(risk)) = (found.phases, last) {
        caveats.push(format!(
            "if a clock moves so that phases become random, the chance within {} is {}",
            Seconds(risk.horizon_s),
            chance(risk.independent_ratio)
        ));
    }
    if found.phases == Some(Phases::Unknown) {
        caveats.push(
            "too few bursts were seen to tell whether one clock drives several tenants".to_owned(),
        );
    }
    let is_certain = found.basis == ForecastBasis::AlwaysFits;
    if found.phases.is_none() && question.demands.len() > 1 && !is_certain {
        caveats.push("they were never recorded together: one clock or one upstream for several of them would change the answer".to_owned());
    }
    if found.basis != ForecastBasis::AlwaysFits
        && found.crossings_per_h == 0.0
        && found.over_ratio == 0.0
    {
        caveats.push(
            "growth that was not seen yet (caches, longer requests) is in no number here"
                .to_owned(),
        );
    }
    for it in &found.beyond_own_cap {
        caveats.push(format!(
            "`{}` would want more than its own cap {:.1} times an hour: its allocation fails, and nobody else's",
            it.label, it.per_h
        ));
    }
    caveats
}
