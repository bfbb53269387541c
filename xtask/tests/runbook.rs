//! The runbook keeps up with the catalogue: a section for each code and for nothing else, found from the index, whose
//! `Tried by:` names what really is in the tree and really is about the code.

use quake_model::fault::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What every section says, in this order.
const PARTS: [&str; 5] = [
    "- **Look:** ",
    "- **Do",
    "- **Safe:** ",
    "- **Fixed when:** ",
    "- Tried by: ",
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

fn is_below(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    let read = std::fs::read_to_string(path);
    assert!(read.is_ok(), "{}: {read:?}", path.display());
    read.unwrap_or_default()
}

/// Every file below a folder with this ending, by its path from the root, and its text.
fn files_below(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("the folder is there");
        for path in entries.map(|entry| entry.expect("it can be listed").path()) {
            if path.is_dir() {
                folders.push(path);
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
        for part in text.split("\n## ").skip(1) {
            let (heading, body) = part.split_once('\n').expect("a section has a body");
            found.push((file.clone(), heading.to_owned(), body.to_owned()));
        }
    }
    found
}

/// The names in a section's last line, with their tiers.
fn tried_by(body: &str) -> Vec<(String, String)> {
    let line = body.lines().find_map(|line| line.strip_prefix(PARTS[4]));
    let groups = line.unwrap_or_default().split("; ");
    let named = groups.filter_map(|group| group.split_once(": "));
    named
        .flat_map(|(tier, names)| {
            let names = names.split('`').skip(1).step_by(2);
            names.map(move |name| (tier.to_owned(), name.to_owned()))
        })
        .collect()
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
fn every_section_says_what_is_seen_and_done_and_is_short() {
    for (_, heading, body) in sections() {
        assert!(body.contains("**You see** "), "{heading}");
        let places = PARTS.map(|part| body.find(part));
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{heading}: {places:?}"
        );
        assert!(body.contains('`'), "{heading} has no command");
        let own = body.split("\n<a id=").next().unwrap_or_default();
        let lines = own.lines().filter(|line| !line.is_empty()).count();
        assert!(lines <= 12, "{heading} has {lines} lines");
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
    assert_eq!(index.matches("](runbook/").count(), Code::ALL.len() + 1);
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
fn what_tried_a_section_is_there_in_its_tier_and_about_the_code() {
    let mut sources = files_below("agent", ".rs");
    sources.extend(files_below("integration", ".rs"));
    for (_, heading, body) in sections() {
        let variant = format!("Code::{:?}", Code::from_name(&heading));
        let quoted = format!("{heading}\"");
        let is_about = |text: &str| {
            let whole = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
            let typed = text.split(&variant).skip(1).any(whole);
            typed || text.contains(&quoted) || text.contains(&format!("code={heading} "))
        };
        let named = tried_by(&body);
        assert!(!named.is_empty(), "{heading}: nobody tried it");
        let mut about = 0;
        for (tier, name) in named {
            let (_, below) = *TIERS
                .iter()
                .find(|(known, _)| *known == tier)
                .unwrap_or_else(|| panic!("{heading}: the tier {tier}"));
            let text = match name.strip_prefix("integration/cases/") {
                Some(_) => read(&root().join(&name).join("case.json")),
                None => {
                    let test = format!("fn {name}(");
                    let mut files = sources.iter();
                    let found = files.find(|(path, text)| {
                        let is_higher = tier == "namespace"
                            && TIERS[4..].iter().any(|(_, other)| is_below(path, other));
                        is_below(path, below) && !is_higher && text.contains(&test)
                    });
                    let (_, text) =
                        found.unwrap_or_else(|| panic!("{heading}: no {name} below {below:?}"));
                    text.clone()
                }
            };
            about += usize::from(is_about(&text));
        }
        assert!(about > 0, "{heading}: none of what is named mentions it");
    }
}
