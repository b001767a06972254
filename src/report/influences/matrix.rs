//! The influences of one device as a matrix: suspects against victims, the worst metric in each cell.

use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::{Influence, InfluenceVerdict};
use crate::domain::ident::Subject;
use crate::report::block::Block;
use crate::report::figure::{Figure, MatrixCell, MatrixFigure};
use crate::report::influences::grouping::{Group, ends, grouped};
use crate::report::influences::quantities::{change, finite, share};
use crate::report::influences::wording::{in_words, is_shown, mark};
use crate::report::wording::{clean, count};

/// So many suspects and so many victims are drawn, those with the firmest influences first.
const MOST: usize = 10;
/// So many influences are told to those who cannot see the picture.
const MOST_TOLD: usize = 5;

/// The matrix over the whole recording; `None` when nothing was tested over it.
pub(crate) fn block(pairs: &[Influence], slug: &str, name: &str) -> Option<Block> {
    let groups: Vec<Group<'_>> =
        grouped(pairs).into_iter().filter(|it| it.head.scope == Scope::Whole).collect();
    if groups.is_empty() {
        return None;
    }
    let (suspects, suspects_left) = most(&groups, |it| ends(it.head).0);
    let (victims, victims_left) = most(&groups, |it| ends(it.head).1);
    let is_narrow = MatrixFigure::is_narrow(victims.len());
    let label = |wanted: &Subject| {
        let named = groups.iter().find_map(|it| match ends(it.head) {
            (suspect, _) if suspect == wanted => Some(&it.head.suspect),
            (_, victim) if victim == wanted => Some(&it.head.victim),
            _ => None,
        });
        named.map_or_else(|| wanted.to_string(), |it| clean(it))
    };
    let cell = |suspect: &Subject, victim: &Subject| {
        let group = groups.iter().find(|it| ends(it.head) == (suspect, victim))?;
        Some(cell(group.head, is_narrow))
    };
    let figure = MatrixFigure {
        suspects: suspects.iter().map(|it| label(it)).collect(),
        victims: victims.iter().map(|it| label(it)).collect(),
        cells: suspects
            .iter()
            .map(|suspect| victims.iter().map(|victim| cell(suspect, victim)).collect())
            .collect(),
    };
    Some(Block::Figure {
        id: format!("influences-{slug}"),
        caption: caption(&groups, suspects_left.max(victims_left)),
        key: key(is_narrow),
        alt: alt(&groups, name),
        figure: Figure::Matrix(figure),
    })
}

fn key(is_narrow: bool) -> String {
    let bound = if is_narrow { " ≤: what was not shown could hide up to so much." } else { "" };
    format!(
        "Cell: change of the victim while the suspect bursts, in the metric that suffers most.\
         {bound} Framed and empty: not tested."
    )
}

/// Subjects in the order of the firmest influence, the first `MOST`; and how many are left out.
fn most<'a>(
    groups: &'a [Group<'a>],
    of: impl Fn(&'a Group<'a>) -> &'a Subject,
) -> (Vec<&'a Subject>, usize) {
    let mut found: Vec<&Subject> = Vec::new();
    for subject in groups.iter().map(of) {
        if !found.contains(&subject) {
            found.push(subject);
        }
    }
    let left = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    (found, left)
}

fn cell(it: &Influence, is_narrow: bool) -> MatrixCell {
    let metric = it.metric.in_words();
    let (value, note) = match it.verdict {
        InfluenceVerdict::CannotTell => (String::new(), metric),
        InfluenceVerdict::NotShown => match finite(it.mde_ratio) {
            Some(ratio) if is_narrow => (format!("≤ {}", share(ratio)), metric),
            Some(ratio) => (format!("up to {}", share(ratio)), format!("could hide, {metric}")),
            None if is_narrow => (String::new(), metric),
            None => (String::new(), "any size could hide".to_owned()),
        },
        _ => match finite(it.effect_ratio) {
            Some(ratio) => (change(it.metric, ratio), metric),
            None => (String::new(), format!("size unknown, {metric}")),
        },
    };
    MatrixCell { mark: mark(it.verdict), value, note }
}

fn caption(groups: &[Group<'_>], left_out: usize) -> String {
    let number = groups.iter().filter(|it| is_shown(it.head.verdict)).count();
    let tested = count(groups.len(), "pair of tenants", "pairs of tenants");
    let found = match number {
        0 => format!("No influence was shown among {tested}."),
        1 => format!("One influence was shown among {tested}."),
        it => format!("{it} influences were shown among {tested}."),
    };
    if left_out == 0 {
        found
    } else {
        format!("{found} The first {MOST} are drawn, all are in the table.")
    }
}

fn alt(groups: &[Group<'_>], name: &str) -> String {
    let told: Vec<String> = groups.iter().take(MOST_TOLD).map(|it| in_words(it.head)).collect();
    format!("Who slows whom on {name}. {}.", told.join(". ").replace('`', ""))
}
