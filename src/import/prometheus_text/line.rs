//! One line of the text exposition format.
//!
//! The crate `prometheus-parse` tells values and stamps apart. It cannot be given the whole line,
//! because it drops names with `:` (all of vLLM's), lines with `{}`, and labels whose value holds a
//! comma, `=` or `}`; it keeps the backslashes of escapes, and the blank in `{gpu="0", UUID="…"}`
//! becomes part of the label's name. So name and labels are read here.

use crate::domain::time::Timestamp;
use crate::import::text::stamp::{EpochUnit, epoch};
use prometheus_parse::LineInfo;
use std::borrow::Cow;

/// Whole numbers of this many digits count milliseconds; OpenMetrics' seconds have ten.
const MILLISECOND_DIGITS: usize = 12;

/// What a line turned out to be.
#[derive(Debug, PartialEq)]
pub(crate) enum PromLine<'a> {
    /// Nothing.
    Blank,
    /// Text after `#`: help, type, `EOF` or a remark.
    Comment(&'a str),
    /// A sample.
    Sample(Sample<'a>),
    /// Anything else.
    Broken,
}

/// One sample as it stands in the text.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    /// Name of the metric.
    pub(crate) name: &'a str,
    /// Labels, in the order of the text.
    pub(crate) labels: Labels<'a>,
    /// Name and labels as they stand there: what makes a sample the same as one before.
    pub(crate) identity: &'a str,
    /// The value.
    pub(crate) value: &'a str,
    /// The stamp behind the value; `None` where there is none.
    pub(crate) at: Option<Timestamp>,
}

/// Labels of one sample, unescaped.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Labels<'a>(Vec<(&'a str, Cow<'a, str>)>);

impl<'a> Labels<'a> {
    /// Labels that were read elsewhere.
    pub(crate) fn of(all: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(all.map(|(name, value)| (name, Cow::Borrowed(value))).collect())
    }

    /// The value of a label; `None` when it is missing or empty, which the format holds to be the same.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|it| it.0 == name);
        found.map(|it| it.1.as_ref()).filter(|it| !it.is_empty())
    }

    /// The first of several spellings of a label that has a value.
    pub(crate) fn any(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|it| self.get(it))
    }
}

/// Reads one line; `scratch` only lends its memory.
pub(crate) fn parse<'a>(line: &'a str, scratch: &mut String) -> PromLine<'a> {
    let line = line.trim();
    if line.is_empty() {
        return PromLine::Blank;
    }
    if let Some(comment) = line.strip_prefix('#') {
        return PromLine::Comment(comment.trim());
    }
    sample(line, scratch).map_or(PromLine::Broken, PromLine::Sample)
}

fn sample<'a>(line: &'a str, scratch: &mut String) -> Option<Sample<'a>> {
    let name_end = line.find(|it: char| !is_name_letter(it)).filter(|it| *it > 0)?;
    let (name, behind) = line.split_at(name_end);
    if name.starts_with(|it: char| it.is_ascii_digit())
        || !behind.starts_with(|it: char| it == '{' || it.is_whitespace())
    {
        return None;
    }
    let (labels, rest) = match behind.trim_start().strip_prefix('{') {
        Some(block) => labels(block)?,
        None => (Labels::default(), behind),
    };
    let identity = line[..line.len() - rest.len()].trim_end();
    scratch.clear();
    scratch.push_str("sample ");
    scratch.push_str(rest.trim());
    let LineInfo::Sample { value, timestamp, .. } = LineInfo::parse(scratch) else {
        return None;
    };
    let at = match timestamp {
        // An exemplar stands where a stamp could.
        None => None,
        Some(text) if text.starts_with('#') => None,
        Some(text) => Some(stamp(text)?),
    };
    let value = rest.trim_start().get(..value.len())?;
    Some(Sample { name, labels, identity, value, at })
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'
}

/// Milliseconds as Prometheus writes them, or seconds as OpenMetrics does.
fn stamp(text: &str) -> Option<Timestamp> {
    let digits = text.trim_start_matches('-').len();
    let is_milliseconds = !text.contains('.') && digits >= MILLISECOND_DIGITS;
    let unit = if is_milliseconds { EpochUnit::Milliseconds } else { EpochUnit::Seconds };
    epoch(text, unit).ok()
}

/// The labels up to the closing brace, and what stands behind it.
fn labels(block: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Vec::new();
    let mut rest = block;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((Labels(labels), behind));
        }
        let (name, behind) = rest.split_once('=')?;
        let quoted = behind.trim_start().strip_prefix('"')?;
        let end = closing_quote(quoted)?;
        labels.push((name.trim(), unescaped(&quoted[..end])));
        rest = &quoted[end + 1..];
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|letter| {
        let ends = letter == b'"' && !is_escaped;
        is_escaped = letter == b'\\' && !is_escaped;
        ends
    })
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('n') => plain.push('\n'),
                Some(it @ ('"' | '\\')) => plain.push(it),
                Some(it) => plain.extend(['\\', it]),
                None => plain.push('\\'),
            },
            (it, false) => plain.push(it),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> Sample<'_> {
        match parse(line, &mut String::new()) {
            PromLine::Sample(it) => it,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_blank_inside_the_braces_is_no_part_of_a_label() {
        let sample = read(r#"DCGM_FI_DEV_SM_CLOCK{gpu="0", UUID="GPU-1"} 139"#);
        assert_eq!((sample.name, sample.value), ("DCGM_FI_DEV_SM_CLOCK", "139"));
        assert_eq!(
            (sample.labels.get("gpu"), sample.labels.get("UUID")),
            (Some("0"), Some("GPU-1"))
        );
    }

    #[test]
    fn a_label_may_hold_every_sign_that_the_format_itself_uses() {
        let sample = read(r#"a{x="C:\\Program Files\\n",y="a,b=\"c\"} 7",z="\n\q"} 1.5e+09"#);
        assert_eq!(sample.labels.get("x"), Some(r"C:\Program Files\n"));
        assert_eq!(sample.labels.get("y"), Some(r#"a,b="c"} 7"#));
        assert_eq!(sample.labels.get("z"), Some("\n\\q"));
        assert_eq!(sample.value, "1.5e+09");
    }

    #[test]
    fn names_with_colons_and_samples_without_labels_are_read() {
        assert_eq!(read("vllm:num_requests_running 0.0").name, "vllm:num_requests_running");
        assert_eq!(read("up{} 1").value, "1");
        assert_eq!(read("up{a=\"\",} 1").labels.get("a"), None);
        assert_eq!(read("up {a=\"b\"} 1").labels.get("a"), Some("b"));
    }

    #[test]
    fn a_stamp_is_in_milliseconds_or_as_openmetrics_has_it_in_seconds() {
        let micros = |line| read(line).at.unwrap().as_micros();
        assert_eq!(micros("up 1 1767501539876"), 1_767_501_539_876_000);
        assert_eq!(micros("up 1 1767501539.876"), 1_767_501_539_876_000);
        assert_eq!(micros("up 1 1767501539"), 1_767_501_539_000_000);
        assert_eq!(read(r#"b{le="1"} 5 # {trace_id="x"} 0.67 1520879607.789"#).at, None);
    }

    #[test]
    fn what_is_no_sample_is_broken_and_never_a_guess() {
        for line in [
            "{",
            "a",
            "a{",
            "a{b}",
            "a{b=\"c\"",
            "a{b=\"c\"}",
            "a{b=c} 1",
            "1 2 x y",
            "a 1 2x",
            "gpu,util",
        ] {
            let found = parse(line, &mut String::new());
            assert_eq!(found, PromLine::Broken, "{line}");
        }
        assert_eq!(parse("# EOF", &mut String::new()), PromLine::Comment("EOF"));
        assert_eq!(parse(" ", &mut String::new()), PromLine::Blank);
    }

    proptest! {
        #[test]
        fn no_line_makes_the_reader_panic(line in r#"[a-z:{}"\\,=# 0-9é.]{0,60}"#) {
            let _ = parse(&line, &mut String::new());
        }

        #[test]
        fn an_ordinary_sample_means_the_same_to_the_crate(
            name in "[a-z_]{1,9}", label in "[a-z]{1,5}", text in "[a-z0-9 ./-]{1,9}",
            value in "[0-9]{1,5}(\\.[0-9]{1,3})?",
        ) {
            let line = format!("{name}{{{label}=\"{text}\"}} {value}");
            let ours = read(&line);
            let scrape = prometheus_parse::Scrape::parse(std::iter::once(Ok(line.clone()))).unwrap();
            prop_assert_eq!(ours.name, &scrape.samples[0].metric);
            prop_assert_eq!(ours.labels.get(&label), scrape.samples[0].labels.get(&label));
        }
    }
}
