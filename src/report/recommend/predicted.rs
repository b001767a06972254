//! What each way to share would do to the tenants of a device, as a picture and in words.

use crate::colocation::range::Range;
use crate::domain::units::Seconds;
use crate::recommender::mechanism::{MechanismId, Predicted, Standing, mechanism};
use crate::recommender::verdict::Verdict;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{measure, missing, numbers, words};
use crate::report::figure::{Figure, SlowdownGroup, SlowdownRow, SlowdownsFigure, Whisker};
use crate::report::recommend::device::interval;
use crate::report::recommend::lead;
use crate::report::wording::{capitalised, chance, clean, count, list, name, percent, times};

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

/// The picture of a device with its caption, and the numbers behind it; nothing where nothing was predicted.
///
/// A GPU for each tenant is left out: nothing slows anybody there. One tenant in a part of a device is not.
pub(crate) fn blocks(verdict: &Verdict, slug: &str) -> Vec<Block> {
    let ways = ways(verdict);
    match picture(&ways, slug) {
        None => Vec::new(),
        Some(picture) => {
            let summary = "Each way in numbers".to_owned();
            let table = Block::Table(table(&ways, &clean(&verdict.label)));
            vec![picture, Block::Details { summary, blocks: vec![table] }]
        }
    }
}

/// The ways of which something was predicted, the proposed one first.
fn ways(verdict: &Verdict) -> Vec<Way<'_>> {
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
    chosen
        .chain(rejected)
        .filter(|it| it.mechanism != MechanismId::Exclusive && it.worst().is_some())
        .collect()
}

fn picture(ways: &[Way<'_>], slug: &str) -> Option<Block> {
    if ways.is_empty() {
        return None;
    }
    let most = ways.iter().map(|it| it.predicted.len()).max().unwrap_or(0);
    let see = caption(ways);
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

/// Every number that reasons quote of a way, tenant by tenant.
fn table(ways: &[Way<'_>], label: &str) -> Table {
    let rows = ways.iter().flat_map(|way| way.predicted.iter().map(|it| numbers_of(way, it)));
    Table {
        caption: format!(
            "{label}, each way in numbers: latency over that alone and extra time for the same work, with their intervals, and the chance that memory runs out within a day"
        ),
        columns: vec![
            words("Way"),
            words("Tenant"),
            numbers("p50"),
            numbers("p99"),
            numbers("p99 itself"),
            numbers("Extra time"),
            numbers("Runs out"),
        ],
        rows: rows.collect(),
    }
}

fn numbers_of(way: &Way<'_>, it: &Predicted) -> Vec<Cell> {
    let factor = |range: Option<Range>| match range {
        Some(range) if range.has_useful_end() && !it.is_at_least => {
            measure(interval(range), range.expected)
        }
        Some(range) => measure(format!("≥ {}", times(range.low)), range.low),
        None => missing("it was not predicted"),
    };
    let seconds = match it.latency_p99_s {
        Some(range) => measure(
            format!("{} ({}–{})", Seconds(range.expected), Seconds(range.low), Seconds(range.high)),
            range.expected,
        ),
        None => missing("no requests of it were recorded"),
    };
    let extra = match it.extra_time_ratio {
        Some(range) => measure(
            format!("{} ({}–{})", percent(range.expected), percent(range.low), percent(range.high)),
            range.expected,
        ),
        None => missing("it was not predicted"),
    };
    vec![
        Cell::Text(way.title()),
        Cell::Name(name(&it.tenant)),
        factor(it.slowdown_p50_factor),
        factor(it.slowdown_p99_factor),
        seconds,
        extra,
        match it.out_of_memory_day_ratio {
            Some(ratio) => Cell::Quantity(chance(ratio)),
            None => missing("memory was not recorded, or not often enough"),
        },
    ]
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
