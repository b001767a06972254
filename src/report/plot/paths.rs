//! Lines and shapes of an SVG in fewer letters: relative steps, and no points that change nothing.

/// The same drawing with its `polyline` and `polygon` elements as shorter `path` elements.
pub(super) fn compact(drawing: &str) -> String {
    let mut shorter = String::with_capacity(drawing.len() / 2);
    let mut rest = drawing;
    while let Some(start) = rest.find("<poly") {
        let (before, element) = rest.split_at(start);
        let Some(end) = element.find("/>").map(|it| it + 2) else { break };
        shorter.push_str(before);
        let (element, after) = element.split_at(end);
        match path(element) {
            Some(it) => shorter.push_str(&it),
            None => shorter.push_str(element),
        }
        rest = after;
    }
    shorter + rest
}

/// The element as a path; `None` when it is not what plotters writes.
fn path(element: &str) -> Option<String> {
    let (head, rest) = element.split_once(" points=\"")?;
    let (points, tail) = rest.split_once('"')?;
    let (name, attributes) = head.split_once(' ').unwrap_or((head, ""));
    let mut places = Vec::new();
    for pair in points.split_whitespace() {
        let (x, y) = pair.split_once(',')?;
        let place: (i64, i64) = (x.parse().ok()?, y.parse().ok()?);
        add(&mut places, place);
    }
    let close = if name == "<polygon" { "z" } else { "" };
    Some(format!("<path {attributes} d=\"{}{close}\"{tail}", steps(&places)))
}

/// Adds a place; the one before is forgotten when it lies on the way along one level or plumb line.
fn add(places: &mut Vec<(i64, i64)>, place: (i64, i64)) {
    if let [.., a, b] = places[..] {
        let between = |a: i64, b: i64, c: i64| (a <= b && b <= c) || (a >= b && b >= c);
        let is_level = a.1 == b.1 && b.1 == place.1 && between(a.0, b.0, place.0);
        let is_plumb = a.0 == b.0 && b.0 == place.0 && between(a.1, b.1, place.1);
        if is_level || is_plumb {
            places.pop();
        }
    }
    places.push(place);
}

/// The first place, then the steps to the others.
fn steps(places: &[(i64, i64)]) -> String {
    let mut text = String::new();
    let mut last = (0, 0);
    for (position, place) in places.iter().enumerate() {
        let (dx, dy) = (place.0 - last.0, place.1 - last.1);
        let lead = if position == 0 { "m" } else { gap(dx) };
        text.push_str(&format!("{lead}{dx}{}{dy}", gap(dy)));
        last = *place;
    }
    text
}

/// What parts a number from the one before: its sign does so already.
fn gap(number: i64) -> &'static str {
    if number < 0 { "" } else { " " }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_the_same_way_in_steps() {
        let line = r#"<text>a</text><polyline fill="none" points="10,5 13,2 20,9 "/><g/>"#;
        assert_eq!(compact(line), r#"<text>a</text><path fill="none" d="m10 5 3-3 7 7"/><g/>"#);
    }

    #[test]
    fn a_place_on_the_way_is_left_out_and_a_turn_back_is_kept() {
        let shape = r#"<polygon fill="red" points="0,0 4,0 9,0 9,3 9,7 2,7 5,7 "/>"#;
        assert_eq!(compact(shape), r#"<path fill="red" d="m0 0 9 0 0 7-7 0 3 0z"/>"#);
    }

    #[test]
    fn what_is_no_list_of_places_stays_as_it_is() {
        let odd = r#"<polygon points="a,b"/><polyline"#;
        assert_eq!(compact(odd), odd);
    }
}
