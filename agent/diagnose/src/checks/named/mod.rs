//! What to do about an error line of a program that ended: by what the line names, be it a permission, two versions, a setting
//! of the kernel, a flag, a file or a unit.

mod files;
mod kops;
mod settings;
#[cfg(test)]
mod tests;

pub(super) use kops::place;
pub(super) use settings::{setter, with_resolver};

use super::innermost::{innermost, is_in_line};
use quake_model::facts::Seen;
use std::collections::BTreeMap;

/// The texts of files that were collected, by path.
pub(super) type Texts = BTreeMap<String, Seen<String>>;

/// What a remedy begins with that leaves everything to the line.
const GENERIC: &[&str] = &[
    "the line says which; fix that, then: ",
    "the line's end says why; fix that, then: ",
    "the line says why; ",
];

/// What a remedy begins with that leaves a flag to the line.
const FLAG: &str = "take the flag that the line names out of";

/// A remedy of a known line, with what to do about what the line names where the remedy leaves that to the line.
pub(super) fn completed(fix: &str, line: &str, program: &str, texts: &Texts) -> String {
    if !is_in_line(fix) {
        return fix.to_owned();
    }
    let Some(named) = remedy(&innermost(line), program, texts) else {
        return fix.to_owned();
    };
    if fix.starts_with(FLAG) && named.contains("--") {
        return format!("{named}; then roll the group");
    }
    match GENERIC.iter().find_map(|words| fix.strip_prefix(words)) {
        // What restarts another program is of no use to this one.
        Some(rest) if rest.contains(program) => format!("{named}; then: {rest}"),
        Some(_) => named,
        None => format!("{named}; {fix}"),
    }
}

/// What to do about the error that a program ended with; `None` where it names nothing that can be acted on.
pub(super) fn remedy(error: &str, program: &str, texts: &Texts) -> Option<String> {
    permission(error)
        .or_else(|| versions(error, program))
        .or_else(|| settings::remedy(error, texts))
        .or_else(|| kops::of_flag(error, program))
        .or_else(|| files::remedy(error, program, texts))
        .or_else(|| unit(error, program))
}

/// The words of an error, without the marks around them.
fn words(error: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| {
        matches!(
            c,
            '"' | '\'' | '`' | '(' | ')' | '[' | ']' | ',' | ';' | '<' | '>'
        )
    };
    let split = error.split(move |c: char| c.is_whitespace() || is_mark(c) || c == '=');
    split
        .map(|word| word.trim_end_matches(['.', ':', '!', '?']))
        .filter(|word| !word.is_empty())
}

/// An action of IAM that a role may not do.
fn permission(error: &str) -> Option<String> {
    let (_, rest) = error.split_once("not authorized to perform: ")?;
    let action = words(rest).next()?;
    let role = error.split_once(":assumed-role/").map(|(_, rest)| rest);
    let role = role.and_then(|rest| rest.split('/').next());
    Some(match role {
        Some(role) => {
            format!("allow {action} to the role {role} (additionalPolicies in kops edit cluster)")
        }
        None => format!(
            "allow {action} to the role of the node (additionalPolicies in kops edit cluster)"
        ),
    })
}

/// Two programs of which one is too old for the other.
fn versions(error: &str, program: &str) -> Option<String> {
    const DOCKER: &str = "apt-cache madison docker-ce, or yum --showduplicates list docker-ce, shows versions; hold it (apt-mark hold, yum versionlock)";
    let number = |before: &str| {
        let (_, rest) = error.split_once(before)?;
        let number = words(rest).next()?;
        number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(number)
    };
    if let (Some(own), Some(least)) = (
        number("client version ").filter(|_| error.contains("is too old")),
        number("inimum supported API version is "),
    ) {
        return Some(format!(
            "docker is too new for this {program}: it answers no client below API {least}, and {program} speaks {own}; put back the docker that the cluster spec names (docker.version), which still answers API {own}; {DOCKER}; or raise kubernetesVersion"
        ));
    }
    if let (Some(own), Some(most)) = (
        number("client API version: "),
        number("server API version: "),
    ) {
        return Some(format!(
            "docker is too old for this {program}: it speaks API {most}, and {program} wants {own}; install the docker that the cluster spec names (docker.version); {DOCKER}"
        ));
    }
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part));
    let is_version = |word: &&str| {
        let word = word.trim_start_matches('v');
        // Four numbers are an address.
        let numbers = word.split('.').count();
        (2..=3).contains(&numbers) && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let found: Vec<&str> = words(error).filter(is_version).take(2).collect();
    let old = says(&[
        "too old",
        "inimum supported",
        "minimum version",
        "or newer",
        "or later",
    ]);
    let new = says(&[
        "too new",
        "newer than",
        "not supported by this version",
        "maximum supported",
    ]);
    match found.as_slice() {
        [one, other] if old || new => Some(format!(
            "of {one} and {other}, which the line names, one program is too {} for the other: compare both with the versions in kops edit cluster, put back what was upgraded past them, or raise what was left behind",
            if old { "old" } else { "new" }
        )),
        _ => None,
    }
}

/// A unit of systemd, other than the program's own.
fn unit(error: &str, program: &str) -> Option<String> {
    const KINDS: &[&str] = &[".service", ".socket", ".mount"];
    let is_unit = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        KINDS
            .iter()
            .any(|kind| name.len() > kind.len() && name.ends_with(kind))
            && name.split('.').next() != Some(program)
    };
    let name = words(error).find(is_unit)?.rsplit('/').next()?;
    Some(format!(
        "systemctl status {name}; journalctl -b -u {name}; start it, or take out what asks for it"
    ))
}
