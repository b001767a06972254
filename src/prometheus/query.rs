//! What to ask for: parts of time and names of metrics, and how a question is written.

/// Points that Prometheus gives in one answer to `query_range`, at most.
///
/// Source: web/api/v1/api.go of Prometheus; Thanos and Mimir took it over.
pub const MOST_POINTS: u64 = 11_000;

/// Parts are not made shorter than this, in milliseconds.
pub(crate) const SHORTEST_MS: i64 = 60_000;

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Names of metrics.
    pub names: Vec<String>,
    /// Matchers that narrow it down, such as `namespace="ml"`; may be empty.
    pub selector: String,
    /// First millisecond since the epoch.
    pub from_ms: i64,
    /// First millisecond after it.
    pub until_ms: i64,
    /// Milliseconds between points that the server is to evaluate; `None` asks for raw samples.
    pub step_ms: Option<u64>,
    /// Length of a part in milliseconds.
    pub part_ms: i64,
}

/// One metric in one part of the time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Number of the part of the time, from 0.
    pub slice: usize,
    /// Place of the metric among the names.
    pub name: usize,
    /// First millisecond.
    pub from_ms: i64,
    /// First millisecond after it.
    pub until_ms: i64,
}

impl Order {
    /// Every part, in the order of time.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let length = self.part_ms.max(1);
        let starts = (0..)
            .map(move |it: i64| self.from_ms.saturating_add(it.saturating_mul(length)))
            .take_while(|it| *it < self.until_ms);
        starts.enumerate().flat_map(move |(slice, from_ms)| {
            let until_ms = from_ms.saturating_add(length).min(self.until_ms);
            (0..self.names.len()).map(move |name| Part { slice, name, from_ms, until_ms })
        })
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        let length = u64::try_from(self.until_ms.saturating_sub(self.from_ms)).unwrap_or(0);
        let slices = length.div_ceil(self.part_ms.max(1).unsigned_abs());
        usize::try_from(slices).unwrap_or(usize::MAX).saturating_mul(self.names.len())
    }

    /// Path and parameters of the question for a part.
    ///
    /// Raw samples are asked for as a range that ends a millisecond before the next part, so that
    /// none is in two parts: the range includes its end, and from Prometheus 3 on not its start.
    pub(crate) fn question(&self, part: &Part) -> (&'static str, Vec<(&'static str, String)>) {
        let name = self.names.get(part.name).map_or("", String::as_str);
        let series = selected(name, &self.selector);
        let last = part.until_ms - 1;
        // Thanos would answer from averages of minutes otherwise; others ignore it.
        let raw = ("max_source_resolution", "0s".to_owned());
        match self.step_ms {
            None => {
                let range = part.until_ms - part.from_ms;
                let query = format!("{series}[{range}ms]");
                ("/api/v1/query", vec![("query", query), ("time", seconds(last)), raw])
            }
            Some(step) => {
                let step = ("step", seconds(i64::try_from(step).unwrap_or(i64::MAX)));
                let (start, end) = (("start", seconds(part.from_ms)), ("end", seconds(last)));
                ("/api/v1/query_range", vec![("query", series), start, end, step, raw])
            }
        }
    }

    /// The longest part that stays under [`MOST_POINTS`]; a whole number of steps, so that the grid goes on.
    pub fn longest_part_ms(step_ms: u64) -> i64 {
        i64::try_from(step_ms.saturating_mul(MOST_POINTS - 1)).unwrap_or(i64::MAX)
    }
}

impl Part {
    /// The part in two; whole steps long where there are steps. `None` when it is short already.
    pub(crate) fn halves(&self, step_ms: Option<u64>) -> Option<(Part, Part)> {
        let step = step_ms.and_then(|it| i64::try_from(it).ok()).unwrap_or(1).max(1);
        let half = (self.until_ms - self.from_ms) / 2 / step * step;
        let middle_ms = self.from_ms + half;
        (half >= SHORTEST_MS.min(step * 2).max(1) && half >= SHORTEST_MS / 2).then(|| {
            (
                Part { until_ms: middle_ms, ..self.clone() },
                Part { from_ms: middle_ms, ..self.clone() },
            )
        })
    }
}

/// A metric narrowed down by matchers.
pub fn selected(name: &str, selector: &str) -> String {
    match selector.trim().trim_start_matches('{').trim_end_matches('}') {
        "" => name.to_owned(),
        matchers => format!("{name}{{{matchers}}}"),
    }
}

/// Milliseconds as seconds with a point, as the API reads them.
pub(crate) fn seconds(millis: i64) -> String {
    format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000))
}

/// Parameters as the part of an address behind the question mark.
pub(crate) fn encoded(parameters: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (key, value) in parameters {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(key);
        text.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    text.push(char::from(byte));
                }
                _ => text.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(step_ms: Option<u64>) -> Order {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let (from_ms, until_ms, part_ms) = (1_000, 3_601_000, 1_800_000);
        Order { names, selector: "ns=\"ml\"".to_owned(), from_ms, until_ms, step_ms, part_ms }
    }

    #[test]
    fn parts_cover_the_time_once_and_names_go_together() {
        let parts: Vec<Part> = order(None).parts().collect();
        assert_eq!((parts.len(), order(None).count()), (4, 4));
        assert_eq!((parts[0].slice, parts[1].slice, parts[2].slice), (0, 0, 1));
        assert_eq!((parts[0].until_ms, parts[2].from_ms), (1_801_000, 1_801_000));
        assert_eq!(parts[3].until_ms, 3_601_000);
    }

    #[test]
    fn raw_samples_are_asked_for_by_a_range_that_ends_before_the_next_part() {
        let order = order(None);
        let (path, parameters) = order.question(&order.parts().next().unwrap());
        assert_eq!(path, "/api/v1/query");
        let text = encoded(&parameters);
        assert!(
            text.starts_with("?query=a%7Bns%3D%22ml%22%7D%5B1800000ms%5D&time=1800.999&"),
            "{text}"
        );
    }

    #[test]
    fn a_step_that_is_given_is_asked_for_and_the_grid_goes_on_in_halves() {
        let order = order(Some(15_000));
        let part = order.parts().next().unwrap();
        let (path, parameters) = order.question(&part);
        assert_eq!((path, parameters[3].1.as_str()), ("/api/v1/query_range", "15.000"));
        let (first, second) = part.halves(Some(15_000)).unwrap();
        assert_eq!((first.until_ms - part.from_ms) % 15_000, 0);
        assert_eq!((first.until_ms, second.until_ms), (second.from_ms, part.until_ms));
        assert!(Order::longest_part_ms(15_000) / 15_000 < 11_000);
    }

    #[test]
    fn halving_ends() {
        let mut part = order(None).parts().next().unwrap();
        let mut times = 0;
        while let Some((first, _)) = part.halves(None) {
            (part, times) = (first, times + 1);
        }
        assert!((4..12).contains(&times), "{times}");
    }
}
