//! JSON objects in a row: one a line, printed over many lines, or in one list; damage costs the object it lies in.

use crate::domain::metric::{Dialect, Metric};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::seen::MetricSet;
use crate::import::text::cells::number;
use std::io::BufRead;

/// A value of JSON.
pub(crate) type Json = serde_json::Value;

/// Longest object that is read, in bytes: a snapshot of a host with many thousand processes fits.
const LONGEST: usize = 64 << 20;

/// How much of something that is no object is quoted, in bytes.
const QUOTED: usize = 100;

/// Objects of a text, one at a time; memory stays with the largest.
pub(crate) struct Objects<'a> {
    input: &'a mut dyn BufRead,
    /// Number of the line that is being read, from 1.
    line: u64,
    /// A first letter that belongs to the next object.
    pending: Option<u8>,
}

/// An object that is being read.
#[derive(Default)]
struct Object {
    bytes: Vec<u8>,
    /// Braces that are open.
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
    is_too_long: bool,
}

impl Object {
    /// Takes a byte; whether it was the last.
    fn take(&mut self, byte: u8) -> bool {
        if self.bytes.len() < LONGEST {
            self.bytes.push(byte);
        } else {
            self.is_too_long = true;
        }
        if self.is_in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.is_in_text = true,
            b'{' => self.depth += 1,
            b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0
    }

    fn start(&self) -> String {
        let end = self.bytes.len().min(QUOTED);
        String::from_utf8_lossy(&self.bytes[..end]).into_owned()
    }
}

impl<'a> Objects<'a> {
    /// The objects of a reader that stands at its start.
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, line: 1, pending: None }
    }

    /// The next object, and the run's line number moved to its start; `None` at the end.
    ///
    /// What stands between objects, and an object that is cut off or damaged, is rejected and left out. A brace at the
    /// start of a line begins a new object, whatever was open. Errors: the reader failed.
    pub(crate) fn next(&mut self, run: &mut ImportRun<'_>) -> Result<Option<Json>, ImportError> {
        loop {
            let Some(object) = self.gather(run)? else { return Ok(None) };
            if object.depth > 0 || object.is_too_long {
                run.reject("", "a whole JSON object", &object.start());
                continue;
            }
            match parsed(&object.bytes) {
                Some(it) => return Ok(Some(it)),
                None => run.reject("", "a JSON object", &object.start()),
            }
        }
    }

    /// Gathers the bytes of the next object; one that ends early has open braces.
    fn gather(&mut self, run: &mut ImportRun<'_>) -> Result<Option<Object>, ImportError> {
        let mut object = Object::default();
        let mut junk = Vec::new();
        let mut is_line_start = false;
        while let Some(byte) = self.byte(run)? {
            if object.depth == 0 {
                match byte {
                    b'{' => {
                        reject_junk(run, self.line, &mut junk);
                        run.line = self.line;
                        object.take(byte);
                    }
                    b'\n' => reject_junk(run, self.line, &mut junk),
                    // Marks of UTF-8, and what stands between the members of a list.
                    b' ' | b'\t' | b'\r' | b',' | b'[' | b']' | 0xef | 0xbb | 0xbf => {}
                    _ => junk.push(byte),
                }
            } else if is_line_start && byte == b'{' {
                self.pending = Some(byte);
                return Ok(Some(object));
            } else if object.take(byte) {
                return Ok(Some(object));
            }
            is_line_start = byte == b'\n';
            self.line += u64::from(is_line_start);
        }
        reject_junk(run, self.line, &mut junk);
        Ok((object.depth > 0).then_some(object))
    }

    fn byte(&mut self, run: &ImportRun<'_>) -> Result<Option<u8>, ImportError> {
        if let Some(byte) = self.pending.take() {
            return Ok(Some(byte));
        }
        loop {
            match self.input.fill_buf() {
                Ok(ready) => {
                    let byte = ready.first().copied();
                    self.input.consume(usize::from(byte.is_some()));
                    return Ok(byte);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(run.read_error(error)),
            }
        }
    }
}

fn reject_junk(run: &mut ImportRun<'_>, line: u64, junk: &mut Vec<u8>) {
    if !junk.is_empty() {
        junk.truncate(QUOTED);
        run.line = line;
        run.reject("", "a JSON object", &String::from_utf8_lossy(junk));
        junk.clear();
    }
}

/// Reads an object; the words for no number that Python writes are missing values.
fn parsed(bytes: &[u8]) -> Option<Json> {
    let text = String::from_utf8_lossy(bytes);
    let read = serde_json::from_str(&text);
    read.or_else(|_| serde_json::from_str(&without_python_numbers(&text))).ok()
}

/// `NaN`, `Infinity` and `-Infinity` outside of texts become `null`.
fn without_python_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut is_in_text, mut is_escaped) = (false, false);
    while let Some(letter) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].into_iter().find(|it| rest.starts_with(it));
        if let Some(word) = word.filter(|_| !is_in_text) {
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_text => is_escaped = true,
            '"' => is_in_text = !is_in_text,
            _ => {}
        }
        out.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    out
}

/// A member of an object: by its name, or else by a path of names with dots between them.
pub(crate) fn member<'a>(object: &'a Json, name: &str) -> Option<&'a Json> {
    object.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        member(object.get(first)?, rest)
    })
}

/// A member that is a text with anything in it.
pub(crate) fn text<'a>(object: &'a Json, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str().map(str::trim).filter(|it| !it.is_empty())
}

/// A member that is a whole number from 0 to 2³²−1.
pub(crate) fn whole(object: &Json, name: &str) -> Option<u32> {
    object.get(name)?.as_u64()?.try_into().ok()
}

/// Reads a number, also one that stands in a text; anything but a number or `null` is rejected.
pub(crate) fn reading(run: &mut ImportRun<'_>, name: &str, value: &Json) -> Option<f64> {
    let read = match value {
        Json::Null => Ok(None),
        Json::Number(it) => Ok(it.as_f64()),
        Json::String(it) => number(it),
        other => Err(other.to_string()),
    };
    read.unwrap_or_else(|found| {
        run.reject(name, "a number", &found);
        None
    })
}

/// What an object says in a dialect: the metrics that it has a member for, and those that have a reading.
///
/// Of two members for one metric the first with a reading wins.
pub(crate) fn readings(
    run: &mut ImportRun<'_>,
    dialect: Dialect,
    object: &Json,
) -> (MetricSet, Vec<(Metric, f64)>) {
    let (mut asked, mut readings) = (MetricSet::default(), Vec::new());
    for metric in Metric::all() {
        let names = metric.spec().names.iter().filter(|it| it.0 == dialect);
        for (_, name, factor) in names {
            let Some(value) = member(object, name) else { continue };
            asked.insert(metric);
            if let Some(value) = reading(run, name, value) {
                readings.push((metric, value * factor));
                break;
            }
        }
    }
    (asked, readings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::in_run;

    /// The member `a` and the line of every object, and how many places were rejected.
    fn objects(text: &str, buffer: usize) -> (Vec<(u64, f64)>, u64) {
        let mut input = std::io::BufReader::with_capacity(buffer, text.as_bytes());
        let mut objects = Objects::new(&mut input);
        in_run(&ImportOptions::default(), |run| {
            let mut all = Vec::new();
            while let Some(it) = objects.next(run).unwrap() {
                all.push((run.line, it["a"].as_f64().unwrap_or(f64::NAN)));
            }
            (all, run.rejection_count())
        })
    }

    #[test]
    fn lines_lists_and_printed_objects_give_the_same() {
        for (text, lines) in [
            ("{\"a\":1}\n{\"a\":2}\n", [1, 2]),
            ("\u{feff}[{\"a\":1},\n {\"a\":2}]", [1, 2]),
            ("{\n    \"a\": 1,\n    \"b\": {\"c\": \"}{\\\"\"}\n}\r\n\n{\"a\": 2}", [1, 6]),
            ("{\"a\":1}{\"a\":2}", [1, 1]),
        ] {
            for buffer in [1, 5, 100] {
                let (found, rejected) = objects(text, buffer);
                assert_eq!(found, [(lines[0], 1.0), (lines[1], 2.0)], "{text}");
                assert_eq!(rejected, 0, "{text}");
            }
        }
    }

    #[test]
    fn a_cut_or_damaged_object_costs_itself() {
        for (text, line) in [
            ("{\"a\":0,\"b\":\"cut\n{\"a\":7}", 2),
            ("{\"a\":0,\"b\":{\n{\"a\":7}", 2),
            ("{\"a\":0,,}\n{\"a\":7}", 2),
            ("Every 1s\n{\"a\":7}", 2),
            ("{\"a\":7}\n{\"a\":0", 1),
            ("{\"a\":7} and so on", 1),
        ] {
            assert_eq!(objects(text, 3), (vec![(line, 7.0)], 1), "{text}");
        }
    }

    #[test]
    fn words_of_python_for_no_number_are_missing_values_but_not_in_texts() {
        let read = parsed(br#"{"a": NaN, "b": -Infinity, "c": "NaN \" NaN"}"#).unwrap();
        assert!(read["a"].is_null() && read["b"].is_null());
        assert_eq!(read["c"], "NaN \" NaN");
    }

    #[test]
    fn a_member_is_found_by_name_or_path_and_null_is_no_reading() {
        let object: Json =
            serde_json::from_str(r#"{"x.y": 1, "z": {"w": "2 W"}, "n": null, "t": "many"}"#)
                .unwrap();
        in_run(&ImportOptions::default(), |run| {
            let mut read = |name: &str| reading(run, name, member(&object, name).unwrap());
            assert_eq!((read("x.y"), read("z.w"), read("n")), (Some(1.0), Some(2.0), None));
            assert_eq!((read("t"), read("z")), (None, None));
            assert_eq!(run.rejection_count(), 2);
        });
        assert!(member(&object, "z.q").is_none());
    }
}
