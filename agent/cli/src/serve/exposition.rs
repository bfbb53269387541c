//! Metrics as text, in the two formats that scrapers ask for.
//!
//! They differ where it matters: OpenMetrics (<https://prometheus.io/docs/specs/om/open_metrics_spec/>, 1.0) names a counter
//! without its `_total`, has a type for what only carries labels, and ends with `# EOF`; the text format 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>) has none of that.

use std::fmt::Write;

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// What a scraper gets that says `Accept: accepts`: OpenMetrics where it names that, without a weight of zero.
    pub(crate) fn accepted(accepts: &str) -> Self {
        let is_wanted = |range: &str| {
            let mut pieces = range.split(';').map(str::trim);
            let is_open = pieces.next() == Some("application/openmetrics-text");
            is_open && !pieces.any(|piece| matches!(piece, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        };
        match accepts.split(',').any(is_wanted) {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What a family counts or measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It goes up and down.
    Gauge,
    /// It only goes up; its name ends in `_total`.
    Counter,
    /// It is 1 and carries labels; its name ends in `_info`.
    Info,
}

/// All samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: Vec<(Labels, f64)>,
}

/// Names and values of labels; a name comes from this program, a value may come from anywhere.
type Labels = Vec<(&'static str, String)>;

impl Family {
    /// A family without samples; it is not shown until it has one.
    pub(crate) fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            name,
            kind,
            help,
            samples: Vec::new(),
        }
    }

    /// Adds the only sample of a family without labels.
    #[must_use]
    pub(crate) fn with(mut self, value: f64) -> Self {
        self.samples.push((Vec::new(), value));
        self
    }

    /// Adds a sample for the value of one label.
    #[must_use]
    pub(crate) fn with_label(
        self,
        label: &'static str,
        of: &(impl ToString + ?Sized),
        value: f64,
    ) -> Self {
        self.labelled(vec![(label, of.to_string())], value)
    }

    #[must_use]
    pub(crate) fn labelled(mut self, labels: Labels, value: f64) -> Self {
        self.samples.push((labels, value));
        self
    }

    /// The name its type is declared under.
    fn declared(&self, format: Format) -> &'static str {
        let shortened = match (format, self.kind) {
            (Format::OpenMetrics, Kind::Counter) => self.name.strip_suffix("_total"),
            (Format::OpenMetrics, Kind::Info) => self.name.strip_suffix("_info"),
            (Format::OpenMetrics, Kind::Gauge) | (Format::Text, _) => None,
        };
        shortened.unwrap_or(self.name)
    }

    fn kind_name(&self, format: Format) -> &'static str {
        match (self.kind, format) {
            (Kind::Counter, _) => "counter",
            (Kind::Info, Format::OpenMetrics) => "info",
            (Kind::Info, Format::Text) | (Kind::Gauge, _) => "gauge",
        }
    }
}

/// The families that have samples, in a format.
pub(crate) fn exposition(families: &[Family], format: Format) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let declared = family.declared(format);
        let _ = writeln!(text, "# HELP {declared} {}", family.help);
        let _ = writeln!(text, "# TYPE {declared} {}", family.kind_name(format));
        for (labels, value) in &family.samples {
            let _ = writeln!(text, "{}{} {value}", family.name, braced(labels));
        }
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn braced(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs = labels.iter();
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// A label's value as both formats want it.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> Vec<Family> {
        vec![
            Family::new("x_build_info", Kind::Info, "Who").with_label("version", "1", 1.0),
            Family::new("x_tries_total", Kind::Counter, "Tries").with_label("of", "a\"\\\n", 2.0),
            Family::new("x_left_seconds", Kind::Gauge, "ManagedSnapshot").with(0.5),
            Family::new("x_absent", Kind::Gauge, "Nothing"),
        ]
    }

    #[test]
    fn the_text_format_declares_each_family_under_the_name_of_its_samples() {
        let wanted = "# HELP x_build_info Who\n# TYPE x_build_info gauge\n\
            x_build_info{version=\"1\"} 1\n\
            # HELP x_tries_total Tries\n# TYPE x_tries_total counter\n\
            x_tries_total{of=\"a\\\"\\\\\\n\"} 2\n\
            # HELP x_left_seconds ManagedSnapshot\n# TYPE x_left_seconds gauge\nx_left_seconds 0.5\n";
        assert_eq!(exposition(&families(), Format::Text), wanted);
    }

    #[test]
    fn open_metrics_declares_counters_without_total_and_ends_with_eof() {
        let text = exposition(&families(), Format::OpenMetrics);
        for line in [
            "# TYPE x_build info\n",
            "\nx_build_info{version=\"1\"} 1\n",
            "# TYPE x_tries counter\n",
            "\nx_tries_total{",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.ends_with("\n# EOF\n"), "{text}");
    }

    #[test]
    fn a_scraper_gets_what_it_accepts() {
        // What Prometheus 2.42 sends, then what curl does.
        let scraper = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::accepted(scraper), Format::OpenMetrics);
        for other in [
            "*/*",
            "",
            "text/plain",
            "application/openmetrics-text; q=0, */*",
        ] {
            assert_eq!(Format::accepted(other), Format::Text, "{other}");
        }
    }
}
