//! The text exposition format of Prometheus, one line at a time.
//!
//! The crate `prometheus-parse` reads values; names and labels are read here, because it drops
//! names with `:` and labels whose value holds a comma, `=` or `}`.

use prometheus_parse::LineInfo;

/// Which of several series of one name: its labels, in order.
pub(crate) type Labels = Vec<(String, String)>;

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: Labels,
    pub(crate) value: f64,
}

/// Names of everything in a text, each as often as it stands there.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    whole_lines(text).filter_map(|it| Some(split_name(it)?.0))
}

/// Whether a text is all that the server wrote, for a connection that closes may close early.
pub(crate) fn is_whole(text: &str, is_open_metrics: bool) -> bool {
    match is_open_metrics {
        true => text.trim_end().lines().last() == Some("# EOF"),
        false => text.ends_with('\n'),
    }
}

/// The samples of a text whose names are wanted; lines that are none are left out.
pub(crate) fn samples<'a>(
    text: &'a str,
    is_wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Sample<'a>> {
    let mut scratch = String::new();
    whole_lines(text).filter_map(move |line| {
        let (name, rest) = split_name(line).filter(|it| is_wanted(it.0))?;
        let (labels, rest) = match rest.trim_start().strip_prefix('{') {
            Some(block) => labels(block)?,
            None => (Vec::new(), rest),
        };
        Some(Sample { name, labels, value: value(rest, &mut scratch)? })
    })
}

/// Lines that end: a connection that broke leaves half a number, which looks like a whole one.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let end = text.rfind('\n').map_or(0, |it| it + 1);
    text.get(..end).unwrap_or_default().lines().map(str::trim).filter(|it| !it.starts_with('#'))
}

fn split_name(line: &str) -> Option<(&str, &str)> {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == ':';
    let end = line.find(|it| !is_letter(it)).filter(|it| *it > 0)?;
    let (name, rest) = line.split_at(end);
    let follows = rest.starts_with(|it: char| it == '{' || it.is_whitespace());
    (follows && !name.starts_with(|it: char| it.is_ascii_digit())).then_some((name, rest))
}

/// The value in front of a stamp or an exemplar; `None` where it is none, while NaN is one.
fn value(rest: &str, scratch: &mut String) -> Option<f64> {
    scratch.clear();
    scratch.push_str("sample ");
    scratch.push_str(rest.trim());
    let LineInfo::Sample { value, .. } = LineInfo::parse(scratch) else { return None };
    value.parse().ok()
}

/// The labels up to the closing brace, in order, and what stands behind it.
fn labels(block: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    let mut rest = block;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(behind) = rest.strip_prefix('}') {
            labels.sort();
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_once('=')?;
        let quoted = behind.trim_start().strip_prefix('"')?;
        let (text, behind) = quoted_text(quoted)?;
        labels.push((name.trim().to_owned(), text));
        rest = behind;
    }
}

/// The text up to the closing quote, unescaped, and what stands behind the quote.
fn quoted_text(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, quoted.get(at + 1..)?)),
            '\\' => match letters.next()?.1 {
                'n' => text.push('\n'),
                it @ ('"' | '\\') => text.push(it),
                it => text.extend(['\\', it]),
            },
            it => text.push(it),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_parse::Value;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<Sample<'_>> {
        samples(text, |_| true).collect()
    }

    #[test]
    fn names_labels_and_values_are_read() {
        let text = "# HELP a b\nvllm:x_bucket{le=\"+Inf\", model=\"a,b=\\\"}\\\"\"} 1.5e+3 # {t=\"1\"} 7\nup 1 1767501539876\n";
        let found = all(text);
        let labels = [("le", "+Inf"), ("model", "a,b=\"}\"")].map(|it| (it.0.into(), it.1.into()));
        assert_eq!(
            found[0],
            Sample { name: "vllm:x_bucket", labels: labels.into(), value: 1500.0 }
        );
        assert_eq!((found[1].name, found[1].value), ("up", 1.0));
        assert_eq!(names(text).collect::<Vec<_>>(), ["vllm:x_bucket", "up"]);
    }

    #[test]
    fn half_a_line_at_the_end_is_no_sample() {
        assert_eq!(all("a 1\nb 12").len(), 1);
        assert_eq!(all("b 12").len(), 0);
    }

    #[test]
    fn only_the_mark_of_its_end_makes_an_answer_whole() {
        assert!(is_whole("a 1\n", false) && !is_whole("a 1\nb 12", false));
        assert!(is_whole("a 1\n# EOF\n", true) && is_whole("a 1\n# EOF", true));
        assert!(!is_whole("a 1\n", true) && !is_whole("a 1\n# EO", true));
    }

    #[test]
    fn what_is_no_number_is_no_sample() {
        assert!(all("a NaN\n")[0].value.is_nan());
        for line in ["a x", "a{b=\"c\" 1", "1a 1", "a", "{b=\"c\"} 1", "<html>"] {
            assert_eq!(all(&format!("{line}\n")), [], "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z:{}\"\\\\,=# 0-9é\n.+-]{0,80}") {
            let _ = all(&text);
        }

        #[test]
        fn an_ordinary_sample_means_the_same_to_the_crate(
            name in "[a-z_]{1,9}", label in "[a-z]{1,5}", text in "[a-z0-9 ./-]{1,9}",
            value in "[0-9]{1,5}(\\.[0-9]{1,3})?",
        ) {
            let line = format!("{name}{{{label}=\"{text}\"}} {value}\n");
            let scrape = prometheus_parse::Scrape::parse(std::iter::once(Ok(line.clone()))).unwrap();
            let theirs = &scrape.samples[0];
            let ours = &all(&line)[0];
            prop_assert_eq!(ours.name, &theirs.metric);
            prop_assert_eq!(Value::Untyped(ours.value), theirs.value.clone());
            prop_assert_eq!(Some(ours.labels[0].1.as_str()), theirs.labels.get(&label));
        }
    }
}
