//! Tables as HTML.

use crate::report::block::{Align, Cell, Column, Table};
use crate::report::render::html::card::badge;
use crate::report::render::html::marks;
use crate::report::render::html::terms::Terms;
use crate::report::render::reasons;
use crate::report::wording::{glued, shorten};
use maud::{Markup, html};

/// Longest name in a cell, in characters.
const LONGEST_NAME: usize = 40;

/// Words up to this long stay in one line, in characters.
const SHORT: usize = 22;

/// A table of more rows keeps its columns on a narrow screen.
const MOST_STACKED: usize = 24;

/// So many reasons for missing values are told below a table; all are in the cells.
const MOST_REASONS: usize = 4;

/// A table with its heading, and why values are missing.
pub(super) fn table(table: &Table, terms: &Terms<'_>) -> Markup {
    let reasons = reasons(table, MOST_REASONS);
    // On a telephone a short table becomes one record after the other; a long one keeps its columns
    // and scrolls, or a reader would scroll for minutes.
    let class = if stacks(table) { "table stacks" } else { "table" };
    html! {
        div class=(class) {
            // A caption inside would scroll away with the table.
            p.name aria-hidden="true" { (table.caption) }
            div.scroll tabindex="0" role="region" aria-label=(table.caption) {
                table aria-label=(table.caption) {
                    thead { tr { @for column in &table.columns { (head(column, terms)) } } }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (position, (column, value)) in
                                    table.columns.iter().zip(row).enumerate() {
                                    (cell(column, value, position == 0))
                                }
                            }
                        }
                    }
                }
            }
            @if !reasons.is_empty() {
                p.reasons { "— stands for no value: " (reasons.join("; ")) "." }
            }
        }
    }
}

fn stacks(table: &Table) -> bool {
    let has_room = match table.columns.len() {
        ..=2 => true,
        3 => !table.rows.iter().flatten().any(is_long),
        _ => false,
    };
    table.rows.len() <= MOST_STACKED && !has_room
}

/// Whether a cell needs a line of its own in a record.
fn is_long(cell: &Cell) -> bool {
    let most = match cell {
        Cell::Missing(_) => return false,
        Cell::Name(_) => LONGEST_NAME,
        _ => SHORT,
    };
    cell.plain().chars().count() > most
}

fn side(column: &Column) -> Option<&'static str> {
    (column.align == Align::Right).then_some("right")
}

fn head(column: &Column, terms: &Terms<'_>) -> Markup {
    html! {
        th scope="col" class=[side(column)] {
            (terms.marked(&column.title))
        }
    }
}

fn cell(column: &Column, value: &Cell, is_first: bool) -> Markup {
    let inside = inside(value);
    match is_first {
        true => {
            // A number alone does not say what it is; a name does.
            let of = side(column).map(|_| &column.title);
            html! { th scope="row" class=[side(column)] data-value=[value.rank()] data-of=[of] { (inside) } }
        }
        false => {
            let class = match (side(column), is_long(value)) {
                (Some(_), true) => Some("right long"),
                (None, true) => Some("long"),
                (side, false) => side,
            };
            html! { td class=[class] data-value=[value.rank()] data-of=(column.title) { (inside) } }
        }
    }
}

fn inside(value: &Cell) -> Markup {
    match value {
        Cell::Missing(reason) => html! {
            span.none title=(reason) { "—" span.unseen { " no value: " (reason) } }
        },
        Cell::Word(word) => badge(*word),
        Cell::Marked(mark, words) => marks::badge(*mark, words),
        Cell::Name(name) if name.chars().count() > LONGEST_NAME => html! {
            span title=(name) { (shorten(name, LONGEST_NAME)) }
        },
        Cell::Confidence(confidence) => html! {
            span.confidence {
                span.meter aria-hidden="true" {
                    span style={ "width:" (format!("{:.0}", 100.0 * confidence)) "%" } {}
                }
                (value.plain())
            }
        },
        Cell::Name(text) | Cell::Text(text) if text.chars().count() <= SHORT => html! {
            span.short { (glued(text)) }
        },
        Cell::Text(text) => html! { span.prose { (glued(text)) } },
        other => html! { (glued(&other.plain())) },
    }
}
