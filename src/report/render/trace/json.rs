//! The events of the Trace Event Format, one JSON object in a line each.
//!
//! Format: "Trace Event Format" of the Chromium project; phases M (names), X (a span with its
//! length), i (an instant) and C (a counter). Perfetto and `chrome://tracing` read it.

use crate::report::wording::clean;
use std::io::{self, Write};

/// A value among the arguments of an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Text from anywhere; it is cleaned when it is written.
    Text(String),
    /// A finite number; others are left out.
    Number(f64),
    /// A whole number.
    Whole(u64),
}

/// Named arguments of an event.
pub(crate) type Arguments = Vec<(&'static str, Value)>;

/// A span or an instant on one track.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    /// Microseconds from the origin.
    pub(crate) at_us: i64,
    /// Length in microseconds; `None` for an instant.
    pub(crate) length_us: Option<i64>,
    /// What people read on it.
    pub(crate) name: String,
    /// Kind, by which a viewer filters.
    pub(crate) category: &'static str,
    /// Everything else.
    pub(crate) arguments: Arguments,
}

/// Writes events one after the other.
#[derive(Debug)]
pub(crate) struct Events<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Events<W> {
    /// Begins the document; `head` are further members of the outer object, each a JSON value by its name.
    pub(crate) fn begin(mut out: W, head: &[(&str, String)]) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\n\"otherData\":{")?;
        for (position, (name, value)) in head.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(out, "{comma}\n {}:{}", text(name), text(value))?;
        }
        out.write_all(b"},\n\"traceEvents\":[")?;
        Ok(Self { out, is_first: true })
    }

    fn next(&mut self) -> io::Result<()> {
        let comma: &[u8] = if std::mem::take(&mut self.is_first) { b"\n" } else { b",\n" };
        self.out.write_all(comma)
    }

    /// Names a process and says where it stands.
    pub(crate) fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        self.describe("process_name", (pid, pid), &format!("\"name\":{}", text(name)))?;
        self.describe("process_sort_index", (pid, pid), &format!("\"sort_index\":{pid}"))
    }

    /// Names a track and says where it stands in its process.
    pub(crate) fn track(&mut self, (pid, tid): (u32, u32), name: &str) -> io::Result<()> {
        self.describe("thread_name", (pid, tid), &format!("\"name\":{}", text(name)))?;
        self.describe("thread_sort_index", (pid, tid), &format!("\"sort_index\":{tid}"))
    }

    fn describe(&mut self, what: &str, (pid, tid): (u32, u32), inside: &str) -> io::Result<()> {
        self.next()?;
        write!(
            self.out,
            "{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"ts\":0,\"name\":\"{what}\",\"args\":{{{inside}}}}}"
        )
    }

    /// A span or an instant on a track.
    pub(crate) fn mark(&mut self, (pid, tid): (u32, u32), mark: &Mark) -> io::Result<()> {
        self.next()?;
        let (at, name) = (mark.at_us, text(&mark.name));
        match mark.length_us {
            Some(length) => write!(
                self.out,
                "{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"dur\":{length}"
            )?,
            None => write!(
                self.out,
                "{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}"
            )?,
        }
        write!(self.out, ",\"cat\":\"{}\",\"name\":{name},\"args\":{{", mark.category)?;
        let mut comma = "";
        for (key, value) in &mark.arguments {
            let shown = match value {
                Value::Text(it) => text(it),
                Value::Number(it) if it.is_finite() => it.to_string(),
                Value::Number(_) => continue,
                Value::Whole(it) => it.to_string(),
            };
            write!(self.out, "{comma}\"{key}\":{shown}")?;
            comma = ",";
        }
        self.out.write_all(b"}}")
    }

    /// A value of a counter; `name` and `unit` are JSON already.
    pub(crate) fn counter(
        &mut self,
        pid: u32,
        (name, unit): (&str, &str),
        at_us: i64,
        value: &str,
    ) -> io::Result<()> {
        self.next()?;
        write!(
            self.out,
            "{{\"ph\":\"C\",\"pid\":{pid},\"tid\":{pid},\"ts\":{at_us},\"name\":{name},\"args\":{{{unit}:{value}}}}}"
        )
    }

    /// Ends the document.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}

/// Text as a JSON string, without control characters and direction marks.
pub(crate) fn text(text: &str) -> String {
    serde_json::Value::String(clean(text)).to_string()
}
