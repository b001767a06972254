//! What each suspect and each look-alike did in the window.

use crate::analysis::diagnosis_findings::{Picture, PictureRow, Slowness, Suspicion};
use crate::analysis::influence::Scene;
use crate::analysis::influence::findings::{
    Influence, InfluenceVerdict, LookAlike, LookAlikeState,
};
use crate::analysis::influence::signal::in_own_unit;
use crate::analysis::influence::study::Study;
use crate::analysis::influence::trial::bursts_of;
use crate::domain::shares::{change, share};
use crate::domain::time::TimeSpan;
use crate::stats::quantile::quantiles;

/// Most bins that are drawn.
const MOST_BINS: usize = 1_200;
/// Most suspects that are drawn.
const MOST_ROWS: usize = 5;
/// Most bursts that are marked.
const MOST_BURSTS: usize = 400;
/// Shortest time that is drawn to either side of the window, in seconds.
const LEAST_MARGIN_S: f64 = 60.0;
/// Part of the window in which a look-alike must be there to explain it.
const LEAST_SHARE: f64 = 0.05;

/// How slow the victim was in the window against the rest.
pub(crate) fn slowness(study: &Study, window: TimeSpan, has_rest: bool) -> Slowness {
    let side = |is_inside: bool| -> Vec<f64> {
        (0..study.grid.bins)
            .filter(|it| window.contains(study.grid.start_of(*it)) == is_inside)
            .map(|it| study.whole_harm[it])
            .filter(|it| it.is_finite())
            .collect()
    };
    let (inside, outside) = (side(true), if has_rest { side(false) } else { Vec::new() });
    let levels = |values: &[f64]| quantiles(values, &[0.5, 0.95]);
    let own = |harm: f64| in_own_unit(study.metric, harm, study.grid.step_s());
    let (now, normal) = (levels(&inside), levels(&outside));
    Slowness {
        window_p50: now.as_ref().map(|it| own(it[0])),
        window_p95: now.as_ref().map(|it| own(it[1])),
        normal_p50: normal.as_ref().map(|it| own(it[0])),
        normal_p95: normal.as_ref().map(|it| own(it[1])),
        change_ratio: now.zip(normal).map(|it| (it.0[0] - it.1[0]).exp_m1()),
        window_bins: inside.len() as u64,
        normal_bins: outside.len() as u64,
    }
}

/// Every suspect with its part in the window, the most suspicious first.
pub(crate) fn suspicions(
    scene: &Scene<'_>,
    study: &Study,
    influences: Vec<Influence>,
    window: TimeSpan,
    has_rest: bool,
) -> Vec<Suspicion> {
    let mut all: Vec<Suspicion> = influences
        .into_iter()
        .map(|influence| suspicion(scene, study, influence, window, has_rest))
        .collect();
    all.sort_by(|a, b| {
        let explained = |it: &Suspicion| it.explained_ratio.unwrap_or(f64::NEG_INFINITY);
        let p = |it: &Suspicion| it.influence.p_granger.unwrap_or(1.0);
        // Whoever was shown and is not at work in this window comes after those who are.
        let is_idle = |it: &Suspicion| it.is_idle_in_window;
        (is_idle(a).cmp(&is_idle(b)))
            .then(a.influence.verdict.cmp(&b.influence.verdict))
            .then(explained(b).total_cmp(&explained(a)))
            .then(p(a).total_cmp(&p(b)))
            .then_with(|| a.suspect.cmp(&b.suspect))
    });
    for (place, it) in all.iter_mut().enumerate() {
        it.rank = place as u64 + 1;
    }
    all
}

fn suspicion(
    scene: &Scene<'_>,
    study: &Study,
    influence: Influence,
    window: TimeSpan,
    has_rest: bool,
) -> Suspicion {
    let place =
        study.suspects.iter().position(|it| scene.cast[*it].subject == influence.suspect_subject);
    let activity = place.map(|it| study.activities[it].as_slice()).unwrap_or_default();
    // What a load does is told over its life, as everywhere; what it did to the victim over the window.
    let life = place.and_then(|it| scene.cast[study.suspects[it]].span());
    let is_alive = |bin: usize| life.is_none_or(|it| is_in_life(study, it, bin));
    let mean = |is_inside: bool, values: &dyn Fn(usize) -> Option<f64>| {
        let seen: Vec<f64> = (0..activity.len())
            .filter(|it| window.contains(study.grid.start_of(*it)) == is_inside)
            .filter_map(values)
            .collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
    };
    let level = |bin: usize| Some(activity[bin]).filter(|it| it.is_finite() && is_alive(bin));
    let on = bursts_of(activity).unwrap_or_default();
    let in_burst = |bin: usize| on.get(bin).copied().flatten().map(|it| f64::from(u8::from(it)));
    let (now, normal) = (mean(true, &level), mean(false, &level).filter(|_| has_rest));
    let on_now = mean(true, &in_burst);
    let on_normal = if has_rest { mean(false, &in_burst) } else { Some(0.0) };
    let is_shown = influence.verdict <= InfluenceVerdict::Likely;
    let explained_ratio = influence
        .effect_ratio
        .filter(|_| is_shown)
        .zip(on_now.zip(on_normal))
        .map(|(effect, (now, normal))| (effect.ln_1p() * (now - normal)).exp_m1());
    let bursts = (on_now, on_normal.filter(|_| has_rest));
    let sentence = sentence(&influence, bursts, explained_ratio, has_rest);
    Suspicion {
        rank: 0,
        suspect: influence.suspect.clone(),
        influence,
        window_activity_ratio: now,
        normal_activity_ratio: normal,
        explained_ratio,
        is_idle_in_window: has_rest && is_shown && on_now.is_some_and(|it| it <= 0.0),
        sentence,
    }
}

/// Whether a bin lies between the first and the last sign of a load.
fn is_in_life(study: &Study, life: TimeSpan, bin: usize) -> bool {
    let from = study.grid.start_of(bin);
    let until = from.plus_micros(study.grid.step_us);
    until > life.from() && from < life.until()
}

fn sentence(
    influence: &Influence,
    (on_now, on_normal): (Option<f64>, Option<f64>),
    explained: Option<f64>,
    has_rest: bool,
) -> String {
    let bursts = match (on_now, on_normal) {
        (Some(now), Some(normal)) if now <= 0.0 => {
            format!(
                "in no burst in this window, and in one for {} of the other time",
                share(normal)
            )
        }
        (Some(now), Some(normal)) => {
            format!(
                "in a burst for {} of the window, {} of the other time",
                share(now),
                share(normal)
            )
        }
        (Some(now), None) => format!("in a burst for {} of the time", share(now)),
        _ => "its bursts cannot be told from its gaps".to_owned(),
    };
    let effect = match (influence.effect_ratio, influence.effect_low, influence.effect_high) {
        (Some(effect), Some(low), Some(high)) => format!(
            "The victim is {} slower in its bursts (95 %: {} to {})",
            share(effect),
            share(low),
            share(high)
        ),
        (Some(effect), ..) => format!("The victim is {} slower in its bursts", share(effect)),
        _ => "Its effect cannot be measured".to_owned(),
    };
    match influence.verdict {
        InfluenceVerdict::NotShown => format!(
            "No influence was shown; one of {} or more would have been found in four of five cases; {bursts}",
            influence.mde_ratio.map_or("unknown size".to_owned(), share)
        ),
        InfluenceVerdict::CannotTell => format!(
            "Cannot tell: {}; {bursts}",
            influence.reasons.first().map_or("", |it| it.split_once(": ").map_or(it, |it| it.1))
        ),
        _ if has_rest && on_now.is_some_and(|it| it <= 0.0) => {
            format!("Not at work in this window: {bursts}. {effect}, at other times")
        }
        _ => match explained.filter(|it| has_rest || it.abs() >= 0.005) {
            Some(explained) => {
                format!("{effect}; {bursts}, which alone makes {}", change(explained))
            }
            None => format!("{effect}; {bursts}"),
        },
    }
}

/// Look-alikes as they were in the window: one that was found at other times only is ruled out for this one.
pub(crate) fn look_alikes_in(scene: &Scene<'_>, study: &Study, window: TimeSpan) -> Vec<LookAlike> {
    let all = study.look_alikes.iter().chain(&scene.copies.look_alikes);
    let mut found: Vec<LookAlike> = all
        .cloned()
        .map(|mut it| {
            if it.state == LookAlikeState::Found && !it.spans.is_empty() {
                let inside: f64 = it
                    .spans
                    .iter()
                    .filter_map(|span| span.overlap(window))
                    .map(TimeSpan::seconds)
                    .sum();
                let part = inside / window.seconds();
                if part < LEAST_SHARE {
                    it.state = LookAlikeState::RuledOut;
                    it.sentence = format!("not in this window; at other times: {}", it.sentence);
                } else {
                    it.sentence =
                        format!("{} ({} of this window)", it.sentence, share(part.min(1.0)));
                }
            }
            it
        })
        .collect();
    found.sort_by_key(|it| it.state as u8);
    found
}

/// The victim over the suspects around the window.
pub(crate) fn picture(
    scene: &Scene<'_>,
    study: &Study,
    suspects: &[Suspicion],
    window: TimeSpan,
) -> Picture {
    let margin = (window.seconds().max(LEAST_MARGIN_S) * 1e6) as i64;
    let shown =
        TimeSpan::covering(window.from().plus_micros(-margin), window.until().plus_micros(margin));
    let bins: Vec<usize> =
        (0..study.grid.bins).filter(|it| shown.contains(study.grid.start_of(*it))).collect();
    let (first, count) = (bins.first().copied().unwrap_or(0), bins.len());
    let width = count.div_ceil(MOST_BINS).max(1);
    let chunks = || {
        (0..count.div_ceil(width))
            .map(move |it| first + it * width..(first + (it + 1) * width).min(first + count))
    };
    let own = |harm: f64| in_own_unit(study.metric, harm, study.grid.step_s());
    let victim = chunks()
        .map(|bins| {
            let seen = bins.map(|it| study.whole_harm[it]).filter(|it| it.is_finite());
            // The worst of several bins: an average would hide what the picture is for.
            seen.reduce(f64::max).map(own)
        })
        .collect();
    let rows = suspects.iter().take(MOST_ROWS).filter_map(|it| {
        let place = study
            .suspects
            .iter()
            .position(|place| scene.cast[*place].subject == it.influence.suspect_subject)?;
        let activity = &study.activities[place];
        let life = scene.cast[study.suspects[place]].span();
        let mean = |bins: std::ops::Range<usize>| {
            let there = bins.filter(|it| life.is_none_or(|life| is_in_life(study, life, *it)));
            let seen: Vec<f64> = there.map(|it| activity[it]).filter(|it| it.is_finite()).collect();
            (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
        };
        Some(PictureRow {
            suspect: it.suspect.clone(),
            activity: chunks().map(mean).collect(),
            bursts: bursts(study, activity, shown),
            is_guilty: it.influence.verdict <= InfluenceVerdict::Likely && !it.is_idle_in_window,
        })
    });
    Picture {
        from: study.grid.start_of(first),
        bin_s: study.grid.step_s() * width as f64,
        victim,
        suspects: rows.collect(),
    }
}

fn bursts(study: &Study, activity: &[f64], shown: TimeSpan) -> Vec<TimeSpan> {
    let on = bursts_of(activity).unwrap_or_default();
    let (mut bursts, mut from) = (Vec::new(), None);
    for bin in 0..=on.len() {
        let is_on = on.get(bin).copied().flatten() == Some(true);
        match (from, is_on) {
            (None, true) => from = Some(bin),
            (Some(first), false) => {
                let span = TimeSpan::new(study.grid.start_of(first), study.grid.start_of(bin));
                bursts.extend(span.and_then(|it| it.overlap(shown)));
                from = None;
            }
            _ => {}
        }
    }
    bursts.truncate(MOST_BURSTS);
    bursts
}
