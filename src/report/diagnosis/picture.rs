//! The victim over its suspects, as a figure.

use crate::analysis::diagnosis_findings::{Diagnosis, Picture, PictureRow};
use crate::domain::time::TimeSpan;
use crate::report::block::Block;
use crate::report::figure::{Figure, SeriesColour, SuspectLane, SuspectsFigure};
use crate::report::influences::quantities::length;
use crate::report::wording::{clean, list, name, span};

/// Name of the picture, for files too.
const ID: &str = "suspects";

/// The picture of a diagnosis, to be drawn on its own.
pub fn picture(diagnosis: &Diagnosis) -> Figure {
    let Picture { from, bin_s, victim, suspects } = &diagnosis.picture;
    let bins = suspects.iter().map(|it| it.activity.len()).fold(victim.len(), usize::max);
    let micros = (bins as f64 * bin_s.max(0.0) * 1e6).round() as i64;
    let until = from.plus_micros(micros.max(1));
    let whole = TimeSpan::covering(*from, until.plus_micros(-1));
    let lane = |(rank, it): (usize, &PictureRow)| SuspectLane {
        name: clean(&it.suspect),
        colour: SeriesColour::Resident(rank),
        activity: it.activity.clone(),
        bursts: it.bursts.iter().filter_map(|it| it.overlap(whole)).collect(),
        is_guilty: it.is_guilty,
    };
    let window = diagnosis.window.overlap(whole).filter(|it| it.seconds() < 0.98 * whole.seconds());
    Figure::Suspects(SuspectsFigure {
        span: whole,
        victim: clean(&diagnosis.victim),
        metric: diagnosis.metric,
        bin_s: *bin_s,
        values: victim.clone(),
        window,
        lanes: suspects.iter().enumerate().map(lane).collect(),
    })
}

/// The picture with its caption.
pub(super) fn block(it: &Diagnosis) -> Block {
    let (victim, metric) = (name(&it.victim), it.metric.first_in_words());
    let guilty: Vec<String> =
        it.picture.suspects.iter().filter(|it| it.is_guilty).map(|it| name(&it.suspect)).collect();
    let caption = match guilty.as_slice() {
        [] => format!("{metric} of {victim}, and below it what its neighbours did meanwhile."),
        _ => format!("{metric} of {victim}; shaded through it: bursts of {}.", list(&guilty)),
    };
    let alt = format!(
        "{metric} of {victim} in {}, over the activity of {}. The window in question: {}.",
        if it.picture.bin_s > 0.0 {
            format!("bins of {}", length(it.picture.bin_s))
        } else {
            "bins".to_owned()
        },
        match it.picture.suspects.as_slice() {
            [] => "nobody".to_owned(),
            rows => list(&rows.iter().map(|it| name(&it.suspect)).collect::<Vec<_>>()),
        },
        span(it.window)
    );
    Block::Figure { id: ID.to_owned(), figure: picture(it), caption, key: key(it), alt }
}

fn key(it: &Diagnosis) -> String {
    let bin = length(it.picture.bin_s);
    format!(
        "One value for each {bin}. No line: not there, or not seen. Stamps of services are moved by their clock offset."
    )
}
