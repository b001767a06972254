//! Who sits where, as a table.

use crate::recommender::audit::Seat;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{missing, numbers, words};
use crate::report::wording::{count, list, name};

/// Tenants and processes of one place that are named.
const MOST_NAMED: usize = 4;

pub(super) fn table(seats: &[Seat]) -> Block {
    let columns = vec![
        words("Place"),
        words("Profile"),
        words("Tenants"),
        words("Processes"),
        numbers("Memory used"),
    ];
    let rows = seats.iter().map(row).collect();
    Block::Table(Table {
        caption: "GPUs and instances, with who is on them".to_owned(),
        columns,
        rows,
    })
}

fn row(it: &Seat) -> Vec<Cell> {
    let tenants: Vec<String> = it.tenants.iter().map(|it| name(it)).collect();
    let processes: Vec<String> = it.processes.iter().map(|it| it.pid.to_string()).collect();
    let memory = match (it.memory_used_mib, it.memory_total_mib) {
        (Some(used), Some(total)) => Cell::Quantity(format!("{used} of {total} MiB")),
        (None, Some(total)) => Cell::Quantity(format!("? of {total} MiB")),
        (Some(used), None) => Cell::Quantity(format!("{used} MiB")),
        (None, None) => missing("no file says it"),
    };
    vec![
        Cell::Name(name(place(it))),
        match &it.profile {
            Some(it) => Cell::Text(name(it)),
            None => missing("a whole GPU, or in no file"),
        },
        some(&tenants, "nobody is said to be there"),
        some(&processes, "no process is listed"),
        memory,
    ]
}

fn some(names: &[String], reason: &str) -> Cell {
    match names {
        [] => missing(reason),
        few if few.len() <= MOST_NAMED => Cell::Text(list(few)),
        many => {
            let more = count(many.len() - MOST_NAMED, "other", "others");
            Cell::Text(format!("{} and {more}", many[..MOST_NAMED].join(", ")))
        }
    }
}

/// The place without the profile, which has a column of its own.
fn place(it: &Seat) -> &str {
    let profile = it.profile.as_deref().map(|it| format!(" ({it})"));
    profile.and_then(|end| it.place.strip_suffix(&end)).unwrap_or(&it.place)
}
