//! The runbook keeps up with the catalogue: a section for each code and for nothing else, found
//! from the index. The page of its tests has a row for each code. These tests exist and name the
//! code.

use quake_model::fault::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The parts of a section, in this order.
const PARTS: [&str; 6] = [
    "\n*",
    "\n**Symptom:** ",
    "\n- **Look:**",
    "\n- **Do:**",
    "\n- **Safe:** ",
    "\n- **Fixed when:** ",
];

/// How many words a section may have.
const MOST_WORDS: usize = 200;

/// The page that explains the others: it has no section of a code.
const GUIDE: &str = "docs/runbook/README.md";

/// The page with a row of tests for each code.
const TESTS_PAGE: &str = "docs/testing/runbook.md";

/// Words that an operator types into a search, each with a code whose symptom must have it.
const EVERYDAY_WORDS: [(&str, &str); 20] = [
    ("expired", "addons.api-denied"),
    ("CA", "config.controller-untrusted"),
    ("retry", "config.store-unreachable"),
    ("evicted", "files.no-space"),
    ("cgroup", "services.unit-failed"),
    ("OOM", "ready.pod-failing"),
    ("disk full", "assets.no-space"),
    ("permission denied", "files.write-failed"),
    ("AccessDenied", "config.store-denied"),
    ("timeout", "boot.phase-timed-out"),
    ("DNS", "config.controller-unregistered"),
    ("proxy", "assets.unreachable"),
    ("clock skew", "identity.clock-skew"),
    ("throttled", "dns.throttled"),
    ("checksum", "assets.digest-mismatch"),
    ("CrashLoopBackOff", "ready.pod-failing"),
    ("NotReady", "ready.cni-missing"),
    ("duplicate volume", "storage.volume-conflict"),
    ("mount", "storage.mount-failed"),
    ("lock", "assets.packages-locked"),
];

/// Where the tests of a tier are.
const TIERS: [(&str, &[&str]); 6] = [
    ("plan", DECISIONS),
    ("host", &["agent/host/"]),
    ("engine", &["agent/engine/"]),
    ("namespace", &["integration/"]),
    ("machine", &["integration/tests/machine/"]),
    ("fleet", &["integration/tests/fleet/"]),
];

/// The crates of decisions.
const DECISIONS: &[&str] = &[
    "agent/addons/",
    "agent/diagnose/",
    "agent/formats/",
    "agent/model/",
    "agent/node/",
    "agent/volumes/",
];

fn is_below(path: &str, directories: &[&str]) -> bool {
    directories.iter().any(|it| path.starts_with(it))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    let read = std::fs::read_to_string(path);
    assert!(read.is_ok(), "{}: {read:?}", path.display());
    read.unwrap_or_default()
}

/// Every file below a directory with this ending, by its path from the root, and its text.
fn files_below(directory: &str, ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root().join(directory)];
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory).expect("the directory is there");
        for path in entries.map(|entry| entry.expect("it can be listed").path()) {
            if path.is_dir() {
                directories.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let name = path.strip_prefix(root()).expect("it is below the root");
                found.insert(name.to_string_lossy().into_owned(), read(&path));
            }
        }
    }
    found
}

/// The sections of the runbook: the file, the heading and the text below it.
fn sections() -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (file, text) in files_below("docs/runbook", ".md") {
        if file == GUIDE {
            continue;
        }
        for part in text.split("\n## ").skip(1) {
            let (heading, body) = part.split_once('\n').expect("a section has a body");
            let own = body.split("\n<a id=").next().unwrap_or_default();
            found.push((file.clone(), heading.to_owned(), own.to_owned()));
        }
    }
    found
}

/// The text between two parts of a section.
fn between<'a>(body: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(begin)?;
    Some(rest.split_once(end)?.0)
}

/// The words of a text in lower case, with a space around each.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    format!(" {} ", words.join(" "))
}

/// A row of the page of tests.
struct Row {
    code: String,
    link: String,
    /// The tests, each with its tier.
    tests: Vec<(String, String)>,
}

/// The row in a line, where it is the row of a code.
fn row_of(line: &str) -> Option<Row> {
    let cells = line.strip_prefix("| [")?.strip_suffix(" |")?;
    let (named, tests) = cells.split_once(") | ")?;
    let (code, link) = named.split_once("](")?;
    Some(Row {
        code: code.to_owned(),
        link: link.to_owned(),
        tests: tests_of(tests),
    })
}

fn rows() -> Vec<Row> {
    let page = read(&root().join(TESTS_PAGE));
    page.lines().filter_map(row_of).collect()
}

/// The names in a cell of tests, with their tiers.
fn tests_of(cell: &str) -> Vec<(String, String)> {
    let named = cell.split("; ").filter_map(|group| group.split_once(": "));
    named
        .flat_map(|(tier, names)| {
            let names = names.split('`').skip(1).step_by(2);
            names.map(move |name| (tier.to_owned(), name.to_owned()))
        })
        .collect()
}

/// The text of a test or case below this directory, where it exists.
fn text_of(
    sources: &BTreeMap<String, String>,
    tier: &str,
    below: &[&str],
    name: &str,
) -> Option<String> {
    if name.starts_with("integration/cases/") {
        return Some(read(&root().join(name).join("case.json")));
    }
    let test = format!("fn {name}(");
    let is_higher = |path: &str| {
        let mut others = TIERS.iter().skip(4);
        tier == "namespace" && others.any(|(_, other)| is_below(path, other))
    };
    let mut files = sources.iter();
    let found = files
        .find(|(path, text)| is_below(path, below) && !is_higher(path) && text.contains(&test));
    found.map(|(_, text)| text.clone())
}

/// Whether a source or a case names the code.
fn names_code(text: &str, code: &str) -> bool {
    let variant = format!("Code::{:?}", Code::from_name(code));
    let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_typed = text.split(&variant).skip(1).any(is_whole);
    let quoted = format!("{code}\"");
    is_typed || text.contains(&quoted) || text.contains(&format!("code={code} "))
}

#[test]
fn every_code_has_one_section_in_the_file_of_its_area_and_no_other_has_one() {
    let mut codes: Vec<String> = Code::ALL.iter().map(ToString::to_string).collect();
    let mut headings = Vec::new();
    for (file, heading, _) in sections() {
        let area = heading.split('.').next().unwrap_or_default();
        assert_eq!(file, format!("docs/runbook/{area}.md"), "{heading}");
        headings.push(heading);
    }
    codes.sort();
    headings.sort();
    assert_eq!(headings, codes);
}

#[test]
fn every_section_has_its_parts_in_order_and_is_short() {
    for (_, heading, body) in sections() {
        let places = PARTS.map(|part| body.find(part));
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{heading}: {places:?}"
        );
        assert!(body.contains('`'), "{heading} has no command");
        let words = body.split_whitespace().count();
        assert!(words <= MOST_WORDS, "{heading} has {words} words");
    }
}

#[test]
fn every_section_begins_with_the_class_and_the_exit_status_of_its_code() {
    for (_, heading, body) in sections() {
        let class = Code::from_name(&heading).entry().class;
        let first = body.trim_start().lines().next().unwrap_or_default();
        assert!(
            first.starts_with(&format!("*{class}")),
            "{heading}: {first}"
        );
        let status = format!("exit {}", class.exit_status());
        assert!(
            first.contains(&status) || first.contains("; a warning"),
            "{heading}: {first}"
        );
    }
}

#[test]
fn everyday_words_are_in_the_symptoms_where_an_operator_searches_them() {
    let sections = sections();
    for (word, code) in EVERYDAY_WORDS {
        let mut all = sections.iter();
        let section = all.find(|(_, heading, _)| heading == code);
        let (_, _, body) = section.unwrap_or_else(|| panic!("{code} has no section"));
        let symptom = between(body, PARTS[1], PARTS[2]).unwrap_or_default();
        assert!(
            plain(symptom).contains(&plain(word)),
            "{code}: no {word} in its symptom: {symptom}"
        );
    }
}

#[test]
fn the_index_leads_from_the_anchor_of_each_code_to_its_section() {
    let index = read(&root().join("docs/operations.md"));
    let runbook = files_below("docs/runbook", ".md");
    for code in Code::ALL {
        let name = code.to_string();
        let (anchor, area) = (name.replace('.', "-"), code.area());
        let class = code.entry().class;
        let line =
            format!("- <a id=\"{anchor}\"></a>[{name}](runbook/{area}.md#{anchor}) ({class})\n");
        assert_eq!(index.matches(&line).count(), 1, "{line}");
        let section = format!("\n<a id=\"{anchor}\"></a>\n\n## {name}\n");
        let text = &runbook[&format!("docs/runbook/{area}.md")];
        assert_eq!(text.matches(&section).count(), 1, "{section}");
    }
    let lines = index.lines().filter(|line| line.starts_with("- <a id=\""));
    let lines = lines.filter(|line| line.contains("](runbook/"));
    assert_eq!(lines.count(), Code::ALL.len());
}

#[test]
fn every_link_of_the_runbook_leads_to_an_anchor() {
    let mut files = files_below("docs/runbook", ".md");
    let index = "docs/operations.md";
    files.insert(index.to_owned(), read(&root().join(index)));
    let anchors = |text: &str| -> BTreeSet<String> {
        let ids = text.split("<a id=\"").skip(1);
        let ids = ids.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
        let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        ids.chain(headings.map(|heading| heading.to_lowercase().replace(' ', "-")))
            .collect()
    };
    for (file, text) in files.iter().filter(|(file, _)| *file != index) {
        for link in text.split("](").skip(1) {
            let target = link.split(')').next().unwrap_or_default();
            let Some((path, anchor)) = target.split_once('#') else {
                continue;
            };
            let aim = match (path, path.strip_prefix("../")) {
                ("", _) => file.clone(),
                (_, Some(above)) => format!("docs/{above}"),
                (beside, None) => format!("docs/runbook/{beside}"),
            };
            let there = files.get(&aim).map(|text| anchors(text));
            assert!(
                there.is_some_and(|there| there.contains(anchor)),
                "{file}: {target}"
            );
        }
    }
}

#[test]
fn every_code_has_one_row_of_tests_that_links_to_its_section() {
    let mut codes: Vec<String> = Code::ALL.iter().map(ToString::to_string).collect();
    let mut found = Vec::new();
    for row in rows() {
        let area = row.code.split('.').next().unwrap_or_default();
        let anchor = row.code.replace('.', "-");
        assert_eq!(row.link, format!("../runbook/{area}.md#{anchor}"));
        found.push(row.code);
    }
    codes.sort();
    found.sort();
    assert_eq!(found, codes);
}

#[test]
fn the_tests_of_a_row_are_in_their_tier_and_one_names_the_code() {
    let mut sources = files_below("agent", ".rs");
    sources.extend(files_below("integration", ".rs"));
    for Row { code, tests, .. } in rows() {
        assert!(!tests.is_empty(), "{code} has no test");
        let mut about = 0;
        for (tier, name) in tests {
            let mut tiers = TIERS.iter();
            let known = tiers.find(|(known, _)| *known == tier);
            let (_, below) = *known.unwrap_or_else(|| panic!("{code}: the tier {tier}"));
            let text = text_of(&sources, &tier, below, &name);
            let text = text.unwrap_or_else(|| panic!("{code}: no {name} below {below:?}"));
            about += usize::from(names_code(&text, &code));
        }
        assert!(about > 0, "{code}: none of its tests names it");
    }
}
