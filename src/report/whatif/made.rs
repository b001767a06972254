//! How the answer was made: what each way to share was taken to be.

use crate::colocation::phases::Meeting;
use crate::colocation::range::Range;
use crate::colocation::share::Mechanism;
use crate::colocation::slices::name_of;
use crate::domain::units::Seconds;
use crate::report::whatif::{Scene, Tuning, WhatIf, factor};
use crate::report::wording::{capitalised, list, name, percent as share_of, sentence, stopped};

/// One sentence for each way and each setting.
pub(super) fn sentences(input: &WhatIf<'_>) -> Vec<String> {
    let mut all: Vec<String> = input.scenes.iter().map(|it| scene(input, it)).collect();
    all.extend(input.scenes.iter().flat_map(|it| &it.notes).map(|it| told(it)));
    all.push(match input.options.meeting {
        Meeting::AnyPhase => "Relative phases are random: each replay begins every tenant somewhere in its own trace.".to_owned(),
        Meeting::AsRecorded => "Phases are kept as they were recorded.".to_owned(),
    });
    if let Some(cap) = input.options.power {
        all.push(format!(
            "The power cap of {:.0} W is shared whatever else is ({:.0} W when nothing runs); a tenant of unknown power draws none.",
            cap.cap_w, cap.idle_w
        ));
    }
    all.extend(input.notes.iter().map(|it| told(it)));
    all.push(
        "Intervals hold what a finite trace leaves to chance, and every assumption at both of its ends; they are no confidence intervals of the mechanism itself."
            .to_owned(),
    );
    all
}

fn told(text: &str) -> String {
    stopped(&capitalised(&sentence(text)))
}

fn scene(input: &WhatIf<'_>, it: &Scene) -> String {
    match it.mechanism {
        Mechanism::Exclusive => "Exclusive: each has a GPU of its own.".to_owned(),
        Mechanism::TimeSlicing { quantum_s, switch_s } => {
            let source = match it.tuning {
                Tuning::Given => "as given, the rest from published measurements of other hosts",
                Tuning::Usual => "not measured here; --quantum and --switch take measured ones",
            };
            let (turn, loss) = (seconds(quantum_s), seconds(switch_s));
            format!("Time slicing: turns of {turn}, and {loss} lost at each change; {source}.")
        }
        Mechanism::Mps { floor } => format!(
            "MPS: company costs everybody {} (median and ends of published pairs), besides SMs and bandwidth that there are not enough of{}.",
            percent(floor),
            limits(input, it)
        ),
        Mechanism::Mig => mig(input, it),
    }
}

fn limits(input: &WhatIf<'_>, scene: &Scene) -> String {
    let given = input.parties.iter().zip(&scene.terms);
    let shares: Vec<String> = given
        .filter_map(|(party, terms)| {
            let share = terms.thread_share?;
            Some(format!("{} {}", name(&party.name), share_of(share)))
        })
        .collect();
    match shares.is_empty() {
        true => ", without thread percentages".to_owned(),
        false => format!(", with thread percentages {}", list(&shares)),
    }
}

fn mig(input: &WhatIf<'_>, scene: &Scene) -> String {
    let given = input.parties.iter().zip(&scene.terms);
    let slices: Vec<String> = given
        .filter_map(|(party, terms)| {
            Some(format!("{} {}", name(&party.name), name_of(terms.slice?)?))
        })
        .collect();
    if slices.is_empty() {
        return "MIG: no set of instances holds them all.".to_owned();
    }
    let how = match scene.is_chosen {
        true => "the legal split with the lowest worst p99",
        false => "as given",
    };
    format!("MIG: {}; {how}.", list(&slices))
}

fn seconds(it: Range) -> String {
    match it.is_exact() {
        true => Seconds(it.expected).to_string(),
        false => format!("{} ({} to {})", Seconds(it.expected), Seconds(it.low), Seconds(it.high)),
    }
}

fn percent(it: Range) -> String {
    let of = |value: f64| format!("{:.0}", 100.0 * value);
    match it.is_exact() {
        true => format!("{} %", factor(100.0 * it.expected)),
        false => format!("{} % ({} to {})", of(it.expected), of(it.low), of(it.high)),
    }
}
