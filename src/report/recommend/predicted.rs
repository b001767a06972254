//! What each way to share would do to the tenants of a device, as a picture and in words.

use crate::colocation::range::Range;
use crate::recommender::mechanism::{MechanismId, Predicted, Standing, mechanism};
use crate::recommender::verdict::Verdict;
use crate::report::block::Block;
use crate::report::figure::{Figure, SlowdownGroup, SlowdownRow, SlowdownsFigure, Whisker};
use crate::report::recommend::device::interval;
use crate::report::recommend::lead;
use crate::report::wording::{capitalised, clean, count, list, name, times};

/// So many tenants are drawn under each way, those with the worst p99 first.
const MOST_TENANTS: usize = 6;

/// One way to share with what was predicted under it.
struct Way<'a> {
    mechanism: MechanismId,
    /// `None` for the one that is proposed.
    standing: Option<Standing>,
    predicted: &'a [Predicted],
}

impl Way<'_> {
    fn title(&self) -> String {
        let standing = match self.standing {
            None => "proposed",
            Some(Standing::Possible) => "possible",
            Some(Standing::Open) => "open",
            Some(Standing::Refused) => "rejected",
        };
        format!("{} ({standing})", capitalised(mechanism(self.mechanism).title()))
    }

    /// The tenant with the worst p99; `None` where nothing was predicted.
    fn worst(&self) -> Option<(&Predicted, Range)> {
        let all = self.predicted.iter().filter_map(|it| Some((it, it.slowdown_p99_factor?)));
        all.reduce(|worst, it| if it.1.expected > worst.1.expected { it } else { worst })
    }
}

/// The picture of a device with its caption; `None` where fewer than two share, or nothing was predicted.
///
/// A GPU for each tenant is left out: nothing slows anybody there.
pub(crate) fn block(verdict: &Verdict, slug: &str) -> Option<Block> {
    if verdict.current.tenants < 2 {
        return None;
    }
    let chosen = verdict.chosen.iter().map(|it| Way {
        mechanism: it.mechanism,
        standing: None,
        predicted: &it.predicted,
    });
    let rejected = verdict.rejected.iter().map(|it| Way {
        mechanism: it.mechanism,
        standing: Some(it.standing),
        predicted: &it.predicted,
    });
    let ways: Vec<Way<'_>> = chosen
        .chain(rejected)
        .filter(|it| it.mechanism != MechanismId::Exclusive && it.worst().is_some())
        .collect();
    if ways.is_empty() {
        return None;
    }
    let most = ways.iter().map(|it| it.predicted.len()).max().unwrap_or(0);
    let see = caption(&ways);
    let left = match most.saturating_sub(MOST_TENANTS) {
        0 => String::new(),
        left => format!(
            " The {MOST_TENANTS} tenants with the worst p99 are drawn; {} not.",
            count(left, "other is", "others are")
        ),
    };
    Some(Block::Figure {
        id: format!("ways-{slug}"),
        alt: format!("Predicted slowdown of each tenant under each way to share. {see}"),
        caption: format!("{see}{left}"),
        key: "Predicted by replaying the recorded demands at many relative phases; 1x is alone. Line: the interval, which holds every assumption at both of its ends; an arrow: it goes on.".to_owned(),
        figure: Figure::Slowdowns(SlowdownsFigure {
            groups: ways.iter().map(group).collect(),
            limit: None,
        }),
    })
}

/// Who would have it worst under each way.
fn caption(ways: &[Way<'_>]) -> String {
    let told: Vec<String> = ways
        .iter()
        .filter_map(|it| {
            let (who, range) = it.worst()?;
            let way = lead::way(it.mechanism);
            let much = match range.has_useful_end() && !who.is_at_least {
                true => interval(range),
                false => format!("at least {}", times(range.low)),
            };
            Some(format!("{way} {much} for {}", name(&who.tenant)))
        })
        .collect();
    format!("Worst p99, as a multiple of that alone: {}.", list(&told))
}

fn group(way: &Way<'_>) -> SlowdownGroup {
    let mut tenants: Vec<&Predicted> = way.predicted.iter().collect();
    let p99 = |it: &Predicted| it.slowdown_p99_factor.map_or(f64::MIN, |it| it.expected);
    tenants.sort_by(|a, b| p99(b).total_cmp(&p99(a)));
    SlowdownGroup {
        name: way.title(),
        rows: tenants.into_iter().take(MOST_TENANTS).map(row).collect(),
    }
}

fn row(it: &Predicted) -> SlowdownRow {
    let whisker = |it: Range| Whisker { value: it.expected, low: it.low, high: it.high };
    SlowdownRow {
        name: clean(&it.tenant),
        p50: it.slowdown_p50_factor.map(whisker),
        p99: it.slowdown_p99_factor.map(whisker),
        is_at_least: it.is_at_least,
        note: match it.slowdown_p99_factor {
            Some(_) => String::new(),
            None => "nothing shows what it would ask for".to_owned(),
        },
    }
}
