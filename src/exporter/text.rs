//! The text formats: OpenMetrics 1.0 and the older one of Prometheus.

use std::fmt::Write;

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0, which ends with `# EOF`.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
}

impl Format {
    /// The format that a client asks for by its header `Accept`; the older one where it does not say.
    pub fn accepted(header: &str) -> Self {
        match header.to_ascii_lowercase().contains("application/openmetrics-text") {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// The value of the header `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The kind of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// Longest value of a label, in characters; longer ones are cut.
const LONGEST_LABEL: usize = 200;

/// Labels of a sample, written once and used for many: without braces.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LabelText(String);

impl LabelText {
    /// Adds a label; one without a value is the same as none.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if value.is_empty() {
            return self;
        }
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(name);
        self.0.push_str("=\"");
        for letter in value.chars().take(LONGEST_LABEL) {
            match letter {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                it if it.is_control() => self.0.push(' '),
                it => self.0.push(it),
            }
        }
        self.0.push('"');
        self
    }
}

/// A text under way; the samples of a family follow its heading.
#[derive(Debug)]
pub(crate) struct Text {
    format: Format,
    text: String,
    name: &'static str,
    kind: Kind,
}

impl Text {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, text: String::new(), name: "", kind: Kind::Gauge }
    }

    /// Begins a family; `name` has no ending of its kind.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, unit: &str, help: &str) {
        (self.name, self.kind) = (name, kind);
        let (ending, word) = match (kind, self.format) {
            (Kind::Counter, Format::OpenMetrics) => ("", "counter"),
            (Kind::Counter, Format::Prometheus) => ("_total", "counter"),
            (Kind::Info, Format::OpenMetrics) => ("", "info"),
            (Kind::Info, Format::Prometheus) => ("_info", "gauge"),
            (Kind::Gauge, _) => ("", "gauge"),
            (Kind::Histogram, _) => ("", "histogram"),
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.text, "# HELP {name}{ending} {help}");
        let _ = writeln!(self.text, "# TYPE {name}{ending} {word}");
        if self.format == Format::OpenMetrics && !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
    }

    /// A sample of the family.
    pub(crate) fn sample(&mut self, labels: &LabelText, value: f64) {
        let ending = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.line(ending, labels, value);
    }

    /// A histogram of the family: counts of each class, bounds of all but the last, and the sum.
    pub(crate) fn histogram(
        &mut self,
        labels: &LabelText,
        counts: &[f64],
        bounds: &[f64],
        sum: f64,
    ) {
        let mut total = 0.0;
        for (class, count) in counts.iter().enumerate() {
            total += count;
            let le = bounds.get(class).map_or("+Inf".to_owned(), f64::to_string);
            self.line("_bucket", &labels.clone().with("le", &le), total);
        }
        self.line("_sum", labels, sum);
        self.line("_count", labels, total);
    }

    fn line(&mut self, ending: &str, labels: &LabelText, value: f64) {
        let Self { text, name, .. } = self;
        let _ = match labels.0.as_str() {
            "" => write!(text, "{name}{ending} "),
            labels => write!(text, "{name}{ending}{{{labels}}} "),
        };
        // Sums of seconds and shares: nanoseconds are enough, and digits of rounding are noise.
        let rounded = (value * 1e9).round() / 1e9;
        let value = if rounded.is_finite() && value.abs() < 1e6 { rounded } else { value };
        let _ = writeln!(text, "{value}");
    }

    /// The whole text.
    pub(crate) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_named_as_each_format_wants_it() {
        let text = |format| {
            let mut text = Text::new(format);
            text.family("a_seconds", Kind::Counter, "seconds", "Time.");
            text.sample(&LabelText::default().with("x", "1"), 1.5);
            text.finish()
        };
        assert_eq!(
            text(Format::OpenMetrics),
            "# HELP a_seconds Time.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total{x=\"1\"} 1.5\n# EOF\n"
        );
        assert_eq!(
            text(Format::Prometheus),
            "# HELP a_seconds_total Time.\n# TYPE a_seconds_total counter\na_seconds_total{x=\"1\"} 1.5\n"
        );
    }

    #[test]
    fn no_name_leaves_its_quotes() {
        let labels = LabelText::default().with("tenant", "a\"} 1\nb\\c\u{7}d").with("empty", "");
        assert_eq!(labels.0, r#"tenant="a\"} 1\nb\\c d""#);
        assert_eq!(LabelText::default().with("x", &"é".repeat(999)).0.chars().count(), 204);
    }

    #[test]
    fn a_histogram_counts_up_to_each_bound() {
        let mut text = Text::new(Format::Prometheus);
        text.family("h", Kind::Histogram, "", "H.");
        text.histogram(&LabelText::default(), &[1.0, 2.0, 3.0], &[0.1, 0.5], 2.25);
        let lines: Vec<&str> = text.text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "h_bucket{le=\"0.1\"} 1",
                "h_bucket{le=\"0.5\"} 3",
                "h_bucket{le=\"+Inf\"} 6",
                "h_sum 2.25",
                "h_count 6"
            ]
        );
    }

    #[test]
    fn a_client_that_asks_for_openmetrics_gets_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        assert_eq!(Format::accepted("*/*"), Format::Prometheus);
    }
}
