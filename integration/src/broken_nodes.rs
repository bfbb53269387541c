//! Trees of broken and of healthy nodes, put together from the layers in `broken-nodes/` (its README tells of them).

mod expect;

pub use expect::Expect;

use quake_model::pattern::matches;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where the layers are.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/broken-nodes");

/// The document of a captured tree.
const DOCUMENT: &str = "quake-agent-survey.json";

/// Where the ledgers are in a tree.
const BOOTS: &str = "var/lib/quake-agent/boots";

/// What a case's `case.json` says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The situation, for the reader.
    pub about: String,
    /// The node it was before.
    pub base: String,
    /// What has to be found.
    pub expect: Expect,
    /// Paths and patterns that the node lost.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Permission bits, in octal.
    #[serde(default)]
    pub modes: BTreeMap<String, String>,
    /// What became of the boot.
    #[serde(default)]
    pub boot: Value,
    #[serde(default)]
    pub units: Map<String, Value>,
    #[serde(default)]
    pub probes: Map<String, Value>,
    /// A merge patch over the survey.
    #[serde(default)]
    pub survey: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    #[expect(dead_code, reason = "it is for the reader")]
    about: String,
    /// The base that it is laid over, where it is a variant of one.
    #[serde(default)]
    like: Option<String>,
    /// Paths and patterns that it has not, of what that one has.
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    units: Map<String, Value>,
    #[serde(default)]
    survey: Value,
}

/// The names of the directories in a directory of layers, sorted, without `base` itself.
///
/// # Errors
///
/// Says what cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "base" && name != "machine")
        .collect();
    names.sort();
    Ok(names)
}

/// Reads a case.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn read_case(name: &str) -> Result<Case, String> {
    read_json(&Path::new(FOLDER).join(name).join("case.json"))
}

/// Writes a healthy node below `root`.
///
/// # Errors
///
/// Says what is wrong with its layers.
pub fn write_base(base: &str, root: &Path) -> Result<(), String> {
    let survey = layers(base, root)?;
    write_document(root, &survey)
}

/// Writes a broken node below `root`.
///
/// # Errors
///
/// Says what is wrong with its layers.
pub fn write_case(name: &str, case: &Case, root: &Path) -> Result<(), String> {
    let mut survey = layers(&case.base, root)?;
    for pattern in &case.remove {
        remove(root, pattern, &mut survey)?;
    }
    rewrite_boot(root, &case.boot)?;
    copy(&Path::new(FOLDER).join(name).join("tree"), root)?;
    for (path, mode) in &case.modes {
        let bits = u32::from_str_radix(mode, 8).map_err(|error| format!("{path}: {error}"))?;
        survey["entries"][path]["mode"] = bits.into();
        let file = below(root, path);
        if file.exists() {
            fs::set_permissions(&file, fs::Permissions::from_mode(bits)).map_err(text)?;
        }
    }
    patch_list(
        &mut survey["units"]["value"],
        "name",
        &case.units,
        absent_unit,
    );
    patch_list(
        &mut survey["probes"]["value"],
        "component",
        &case.probes,
        |_| Value::Null,
    );
    merge(&mut survey, &case.survey);
    write_document(root, &survey)
}

fn layers(base: &str, root: &Path) -> Result<Value, String> {
    let bases = Path::new(FOLDER).join("base");
    let own: Base = read_json(&bases.join(base).join("base.json"))?;
    let mut survey: Value = match &own.like {
        Some(other) if other == base => return Err(format!("{base} is laid over itself")),
        Some(other) => layers(other, root)?,
        None => {
            copy(&bases.join("machine/tree"), root)?;
            read_json(&bases.join("machine/survey.json"))?
        }
    };
    for pattern in &own.remove {
        remove(root, pattern, &mut survey)?;
    }
    copy(&bases.join(base).join("tree"), root)?;
    patch_list(
        &mut survey["units"]["value"],
        "name",
        &own.units,
        absent_unit,
    );
    merge(&mut survey, &own.survey);
    Ok(survey)
}

fn write_document(root: &Path, survey: &Value) -> Result<(), String> {
    let document = serde_json::to_string_pretty(survey).map_err(text)?;
    fs::write(root.join(DOCUMENT), document).map_err(text)
}

/// A merge patch (RFC 7396); nothing at all changes nothing.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            *target = patch.clone();
        }
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Some(fields) = target.as_object_mut() {
                fields.remove(key);
            }
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

/// Patches the members of a list that are called so; one that is not there is added, `null` becomes what is absent.
fn patch_list(
    list: &mut Value,
    key: &str,
    patches: &Map<String, Value>,
    absent: impl Fn(&str) -> Value,
) {
    let Some(list) = list.as_array_mut() else {
        return;
    };
    for (name, patch) in patches {
        let at = list.iter().position(|one| one[key] == name.as_str());
        let absent = absent(name);
        match (at, patch.is_null()) {
            (Some(at), true) if absent.is_null() => {
                list.remove(at);
            }
            (Some(at), true) => list[at] = absent,
            (Some(at), false) => merge(&mut list[at], patch),
            (None, _) => {
                let mut one = if absent.is_object() {
                    absent
                } else {
                    json!({ key: name })
                };
                merge(&mut one, patch);
                list.push(one);
            }
        }
    }
}

/// A unit that systemd does not know.
fn absent_unit(name: &str) -> Value {
    json!({
        "name": name, "found": false, "active": "inactive", "sub_state": "dead", "enabled": false,
        "installable": false, "needs_reload": false, "restarts": 0, "active_since_us": 0,
        "result": "success", "main_started_us": 0, "main_ended": null,
    })
}

/// Changes what the ledger of the base tells.
fn rewrite_boot(root: &Path, boot: &Value) -> Result<(), String> {
    if boot.is_null() {
        return Ok(());
    }
    let boots = root.join(BOOTS);
    if boot == "none" {
        return fs::remove_dir_all(boots).map_err(text);
    }
    let mut files = fs::read_dir(&boots).map_err(text)?;
    let ledger = files
        .next()
        .ok_or("the base has no ledger")?
        .map_err(text)?
        .path();
    let lines = fs::read_to_string(&ledger).map_err(text)?;
    let events: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
    let events = rewritten(events.map_err(text)?, boot)?;
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    fs::write(ledger, lines.join("\n") + "\n").map_err(text)
}

fn rewritten(mut events: Vec<Value>, boot: &Value) -> Result<Vec<Value>, String> {
    let mut added = Vec::new();
    let warnings = boot["warnings"].as_array().cloned().unwrap_or_default();
    for fault in warnings {
        added.push(json!({ "event": "warning", "fault": fault }));
    }
    if let Some(lost) = boot.get("lost") {
        let mut lost = lost.clone();
        lost["event"] = "condition-lost".into();
        added.push(lost);
    }
    for (key, is_end) in [("failed", true), ("waiting", false)] {
        let Some(of) = boot.get(key) else { continue };
        let phase = of["phase"].as_str().ok_or("a phase is named")?;
        let start = |event: &Value| event["event"] == "phase-planned" && event["phase"] == phase;
        let at = events
            .iter()
            .position(start)
            .ok_or("the base has no such phase")?;
        // What other phases did meanwhile is as may be.
        events.truncate(at + 1);
        if is_end {
            added.push(json!({ "event": "phase-failed", "phase": phase, "fault": of["fault"] }));
            added.push(json!({ "event": "boot-failed", "phase": phase, "fault": of["fault"] }));
        } else {
            let step = of["step"].as_str().unwrap_or(phase);
            added.push(json!({
                "event": "waiting", "phase": phase, "step": step, "attempt": 3,
                "retry_in_ms": 4000, "deadline_in_ms": 500_000, "fault": of["fault"],
            }));
        }
    }
    // Warnings precede the end of the boot, losses follow it.
    let last = events.last().cloned().ok_or("the base's ledger is empty")?;
    let ended = last["event"] == "boot-ready" && boot.get("lost").is_none();
    if ended {
        events.pop();
        added.push(last.clone());
    }
    for mut event in added {
        event["seq"] = (events.len() + 1).into();
        event["at"] = last["at"].clone();
        event["elapsed_ms"] = last["elapsed_ms"].clone();
        events.push(event);
    }
    Ok(events)
}

/// Removes what a path or pattern names, from the tree and from the survey's entries.
fn remove(root: &Path, pattern: &str, survey: &mut Value) -> Result<(), String> {
    let (folder, last) = pattern.rsplit_once('/').ok_or("a path is absolute")?;
    let mut found = false;
    for entry in fs::read_dir(below(root, folder))
        .into_iter()
        .flatten()
        .flatten()
    {
        if matches(last, &entry.file_name().to_string_lossy()) {
            let path = entry.path();
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.map_err(text)?;
            found = true;
        }
    }
    if let Some(entries) = survey["entries"].as_object_mut() {
        let before = entries.len();
        entries.retain(|path, _| {
            let inside = path
                .strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/'));
            !inside.is_some_and(|rest| matches(last, rest.split('/').next().unwrap_or_default()))
        });
        found |= entries.len() < before;
    }
    found
        .then_some(())
        .ok_or(format!("{pattern} removes nothing"))
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(text)?;
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.map_err(text)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(|error| format!("{}: {error}", source.display()))?;
        }
    }
    Ok(())
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
