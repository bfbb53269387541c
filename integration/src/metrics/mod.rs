//! A linter of `/metrics`: the rules that `promtool check metrics` applies, and those of the two formats themselves.

mod families;
mod names;

pub use families::{Family, Format, Sample, read_families};

use std::collections::BTreeSet;

/// Everything that is amiss with an answer of `/metrics`; empty when it is fine.
pub fn lint(text: &str, format: Format) -> Vec<String> {
    let families = match read_families(text, format) {
        Ok(families) => families,
        Err(why) => return vec![why],
    };
    let mut amiss = Vec::new();
    for family in &families {
        amiss.extend(names::lint(family, format));
        amiss.extend(samples(family));
    }
    amiss
}

/// What is amiss with a family's samples as a whole.
fn samples(family: &Family) -> Vec<String> {
    let name = &family.name;
    let mut amiss = Vec::new();
    if family.samples.is_empty() {
        amiss.push(format!("{name} has no sample"));
    }
    let mut seen = BTreeSet::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        labels.sort();
        if labels.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            amiss.push(format!("{name} has a label twice"));
        }
        if !seen.insert((sample.name.clone(), labels)) {
            amiss.push(format!("{name} has a sample twice: {:?}", sample.labels));
        }
        let never_falls = family.kind == "counter";
        if never_falls && !(sample.value >= 0.0 && sample.value.is_finite()) {
            amiss.push(format!("{name} counts {}", sample.value));
        }
    }
    amiss
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: &str = "# HELP x_tries_total Tries\n# TYPE x_tries_total counter\n\
        x_tries_total{of=\"a\\\\ \\\"b\\\" \\n{,}\"} 1\nx_tries_total{of=\"b\"} 2\n\
        # HELP x_left_seconds Left\n# TYPE x_left_seconds gauge\nx_left_seconds 0.5\n\
        # HELP x_build_info Who\n# TYPE x_build_info gauge\nx_build_info{version=\"1\"} 1\n";

    const OPEN: &str = "# HELP x_tries Tries\n# TYPE x_tries counter\nx_tries_total 1\n\
        # HELP x_build Who\n# TYPE x_build info\nx_build_info{version=\"1\"} 1\n# EOF\n";

    #[test]
    fn what_keeps_the_rules_is_fine() {
        assert_eq!(lint(FINE, Format::Text), Vec::<String>::new());
        assert_eq!(lint(OPEN, Format::OpenMetrics), Vec::<String>::new());
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        let one =
            |name: &str, kind: &str| format!("# HELP {name} x\n# TYPE {name} {kind}\n{name} 1\n");
        let sampled = |sample: &str| format!("# HELP x x\n# TYPE x gauge\n{sample}\n");
        let table = [
            (one("xTries_total", "counter"), "snake"),
            (one("x_tries", "counter"), "_total"),
            (one("x_tries_total", "gauge"), "_total"),
            (one("x_time_milliseconds", "gauge"), "base unit"),
            (one("x_time_minutes", "gauge"), "base unit"),
            (one("x_kilobytes", "gauge"), "base unit"),
            (one("x_time_ms", "gauge"), "abbreviat"),
            (one("x_time_sec", "gauge"), "abbreviat"),
            (one("x_left_count", "gauge"), "_count"),
            (one("x_left_sum", "gauge"), "_sum"),
            (one("x_left_bucket", "gauge"), "_bucket"),
            (one("x_gauge_left", "gauge"), "type"),
            (one("x:left", "gauge"), "':'"),
            (one("x", "thing"), "type"),
            ("# TYPE x gauge\nx 1\n".to_owned(), "HELP"),
            ("# HELP x \n# TYPE x gauge\nx 1\n".to_owned(), "HELP"),
            ("# HELP x x\nx 1\n".to_owned(), "TYPE"),
            (format!("{0}{0}", one("x", "gauge")), "twice"),
            (
                format!("{}{}x 2\n", one("x", "gauge"), one("y", "gauge")),
                "x 2",
            ),
            ("x 1\n# HELP x x\n# TYPE x gauge\n".to_owned(), "x 1"),
            ("# HELP x x\n# TYPE x gauge\n".to_owned(), "no sample"),
            (sampled("x{a=\"1\"} 1\nx{a=\"1\"} 2"), "twice"),
            (sampled("x{a=\"1\",a=\"2\"} 1"), "twice"),
            (sampled("x{A=\"1\"} 1"), "label"),
            (sampled("x{__a=\"1\"} 1"), "label"),
            (sampled("x{le=\"1\"} 1"), "label"),
            (sampled("x{1a=\"1\"} 1"), "label"),
            (sampled("x{a=\"\\q\"} 1"), "escape"),
            (sampled("x{a=\"1} 1"), "x{a"),
            (sampled("x one"), "x one"),
            (sampled("\nx 1"), "empty"),
            (sampled("x 1").trim_end().to_owned(), "line end"),
            (format!("{}# EOF\n", sampled("x 1")), "EOF"),
        ];
        for (text, words) in table {
            let found = lint(&text, Format::Text);
            let is_found = found.iter().any(|one| one.contains(words));
            assert!(is_found, "{words:?} in {found:?} of {text}");
        }
    }

    #[test]
    fn open_metrics_has_rules_of_its_own() {
        let table = [
            (OPEN.replace("# EOF\n", ""), "EOF"),
            (format!("{OPEN}# EOF\n"), "EOF"),
            (
                OPEN.replace("TYPE x_tries ", "TYPE x_tries_total "),
                "x_tries",
            ),
            (
                OPEN.replace("x_build info", "x_build gauge"),
                "x_build_info",
            ),
            (OPEN.replace("x_tries_total 1", "x_tries 1"), "x_tries"),
            (OPEN.replace("\"} 1\n", "\"} 2\n"), "info"),
        ];
        for (text, words) in table {
            let found = lint(&text, Format::OpenMetrics);
            let is_found = found.iter().any(|one| one.contains(words));
            assert!(is_found, "{words:?} in {found:?} of {text}");
        }
    }
}
