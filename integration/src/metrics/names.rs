//! How metrics and labels are named: the rules of promtool's linter
//! (`prometheus/client_golang`, `prometheus/testutil/promlint`) and of <https://prometheus.io/docs/practices/naming/>.

use super::families::{Family, Format};

/// Units that have a base unit, and that unit.
const SCALED: &[(&str, &str)] = &[
    (
        "seconds",
        "milliseconds microseconds nanoseconds minutes hours days weeks",
    ),
    (
        "bytes",
        "bits kilobytes kibibytes megabytes mebibytes gigabytes gibibytes terabytes tebibytes",
    ),
    ("meters", "kilometers"),
    ("celsius", "kelvins fahrenheit"),
    ("ratio", "percent percents percentage"),
    ("grams", "kilograms"),
];

/// Abbreviations of units.
const ABBREVIATED: &[&str] = &[
    "s", "ms", "us", "ns", "sec", "secs", "min", "mins", "h", "hr", "hrs", "d", "b", "kb", "mb",
    "gb", "tb", "kib", "mib", "gib", "pct",
];

/// The types of metrics there are; none belongs into a name.
const TYPES: &[&str] = &[
    "counter",
    "gauge",
    "histogram",
    "summary",
    "untyped",
    "unknown",
    "stateset",
];

/// What is amiss with the names of a family.
pub(super) fn lint(family: &Family, format: Format) -> Vec<String> {
    let name = family.name.as_str();
    let mut amiss: Vec<String> = Vec::new();
    let mut say = |words: String| amiss.push(format!("{name}: {words}"));
    if !is_snake(name) {
        say("not in snake case, or with ':', which is for rules".to_owned());
    }
    let is_open_info = format == Format::OpenMetrics && family.kind == "info";
    if !is_open_info && !TYPES.contains(&family.kind.as_str()) {
        say(format!("no type: {:?}", family.kind));
    }
    match (format, family.kind.as_str(), name.ends_with("_total")) {
        (Format::Text, "counter", false) => say("a counter without _total".to_owned()),
        (Format::OpenMetrics, "counter", true) => say("_total in a counter's own name".to_owned()),
        (_, "counter", _) | (_, _, false) => {}
        (_, _, true) => say("_total, and no counter".to_owned()),
    }
    if format == Format::OpenMetrics && name.ends_with("_info") {
        say("_info in a family's own name".to_owned());
    }
    if matches!(family.kind.as_str(), "counter" | "gauge" | "info") {
        for suffix in ["_count", "_sum", "_bucket"] {
            if name.ends_with(suffix) {
                say(format!("{suffix} is for histograms"));
            }
        }
    }
    for piece in name.split('_') {
        if let Some((base, _)) = SCALED
            .iter()
            .find(|(_, scaled)| scaled.split(' ').any(|unit| unit == piece))
        {
            say(format!("{piece} instead of the base unit {base}"));
        }
        if ABBREVIATED.contains(&piece) {
            say(format!("the abbreviation {piece}"));
        }
        if TYPES.contains(&piece) {
            say(format!("the type {piece} in the name"));
        }
    }
    if family.kind == "info" && family.samples.iter().any(|sample| sample.value != 1.0) {
        say("an info that is not 1".to_owned());
    }
    for (label, _) in family.samples.iter().flat_map(|sample| &sample.labels) {
        if !is_snake(label)
            || label.starts_with("__")
            || matches!(label.as_str(), "le" | "quantile")
        {
            say(format!("the label {label:?}"));
        }
    }
    amiss
}

/// Lower case letters, digits and underscores, and no digit first.
fn is_snake(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit())
}
