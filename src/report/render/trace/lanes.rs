//! Spans that overlap go onto tracks of their own.

use crate::report::render::trace::json::Mark;

/// Marks sorted by time and dealt onto as few tracks as there need to be.
///
/// On one track a span lies wholly inside another or beside it, as viewers demand. Instants stay on the first.
pub(crate) fn lanes(mut marks: Vec<Mark>) -> Vec<Vec<Mark>> {
    sort(&mut marks);
    let mut lanes: Vec<(Vec<Mark>, Vec<i64>)> = Vec::new();
    for mark in marks {
        let Some(length) = mark.length_us else {
            if lanes.is_empty() {
                lanes.push(Default::default());
            }
            lanes[0].0.push(mark);
            continue;
        };
        let end = mark.at_us.saturating_add(length);
        for (_, open) in &mut lanes {
            while open.last().is_some_and(|it| *it <= mark.at_us) {
                open.pop();
            }
        }
        let has_room = |open: &[i64]| open.last().is_none_or(|it| end <= *it);
        let place = lanes.iter().position(|it| has_room(&it.1)).unwrap_or_else(|| {
            lanes.push(Default::default());
            lanes.len() - 1
        });
        lanes[place].1.push(end);
        lanes[place].0.push(mark);
    }
    lanes.into_iter().map(|it| it.0).collect()
}

/// By start; of those that start together the longest first, so that the others lie inside it.
pub(crate) fn sort(marks: &mut [Mark]) {
    marks.sort_by(|a, b| {
        let length = |it: &Mark| it.length_us.unwrap_or(-1);
        a.at_us.cmp(&b.at_us).then(length(b).cmp(&length(a)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(at_us: i64, length_us: i64) -> Mark {
        let (name, arguments) = (format!("{at_us}+{length_us}"), Vec::new());
        Mark { at_us, length_us: Some(length_us), name, category: "test", arguments }
    }

    #[test]
    fn what_lies_inside_stays_on_the_track_and_what_overlaps_does_not() {
        let dealt = lanes(vec![span(5, 10), span(0, 10), span(2, 3), span(20, 1)]);
        let names: Vec<Vec<&str>> =
            dealt.iter().map(|it| it.iter().map(|it| it.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["0+10", "2+3", "20+1"], vec!["5+10"]]);
    }

    proptest! {
        #[test]
        fn on_every_track_spans_nest_and_none_is_lost(
            spans in prop::collection::vec((0_i64..100, 0_i64..30), 0..60),
        ) {
            let dealt = lanes(spans.iter().map(|it| span(it.0, it.1)).collect());
            prop_assert_eq!(dealt.iter().map(Vec::len).sum::<usize>(), spans.len());
            for track in dealt {
                let ends: Vec<(i64, i64)> =
                    track.iter().map(|it| (it.at_us, it.at_us + it.length_us.unwrap())).collect();
                for (position, outer) in ends.iter().enumerate() {
                    for inner in &ends[position + 1..] {
                        prop_assert!(outer.0 <= inner.0);
                        prop_assert!(inner.0 >= outer.1 || inner.1 <= outer.1, "{:?} {:?}", outer, inner);
                    }
                }
            }
        }
    }
}
