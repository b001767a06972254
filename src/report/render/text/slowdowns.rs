//! Slowdowns out of characters: `o` for the median and `◆` for the p99 on their intervals.

use crate::report::figure::{SlowdownRow, SlowdownsFigure, Whisker};
use crate::report::render::text::figures::{axis, room, row};
use crate::report::render::text::style::{Pen, Style};

/// Slowdowns that the axis may end at.
const ENDS: [f64; 9] = [2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e6];

/// One line for each tenant under each way to share.
pub(super) fn slowdowns(pen: &mut Pen, figure: &SlowdownsFigure) {
    let columns = room(pen);
    let most = figure.most();
    let end = ENDS.into_iter().find(|it| *it >= most).unwrap_or(1e6);
    for group in &figure.groups {
        pen.paragraph("  ", &group.name, Style::Plain);
        for it in &group.rows {
            let number = match it.p99 {
                Some(p99) => format!("{:.2}x", p99.value),
                None => "—".to_owned(),
            };
            row(pen, &format!("  {}", it.name), &line(it, columns, end), &number);
        }
    }
    axis(pen, "1x", &format!("{end}x"), "p99");
    pen.paragraph("  ", "o median, ◆ p99, ─ the interval of p99; logarithmic", Style::Faint);
}

fn line(it: &SlowdownRow, columns: usize, end: f64) -> String {
    let last = columns.saturating_sub(1);
    let place = |value: f64| {
        let share = (value.max(1.0).ln() / end.ln()).clamp(0.0, 1.0);
        (share * last as f64).round() as usize
    };
    let mut letters = vec!['·'; columns.max(1)];
    if let Some(Whisker { low, high, .. }) = it.p99 {
        letters[place(low)..=place(high).max(place(low))].fill('─');
    }
    for (point, sign) in [(it.p50, 'o'), (it.p99, '◆')] {
        if let Some(point) = point {
            letters[place(point.value)] = sign;
        }
    }
    letters.into_iter().collect()
}
