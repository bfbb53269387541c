//! Settings of the kernel that an error names, and the files that set them.

use super::{Texts, words};

/// What keys of sysctl begin with.
const AREAS: &[&str] = &["net", "kernel", "vm", "fs", "user"];

/// What other names of the same form end with: those of files of sources, hosts and units.
const OTHERS: &[&str] = &[
    "go", "com", "org", "io", "conf", "service", "slice", "socket", "mount",
];

/// Where files that set keys are (sysctl.d(5)).
const FOLDERS: &[&str] = &[
    "/etc/sysctl.d/",
    "/run/sysctl.d/",
    "/usr/local/lib/sysctl.d/",
    "/usr/lib/sysctl.d/",
    "/etc/sysctl.conf",
];

/// The file that the agent and kops write themselves.
const OWN: &str = "/99-k8s-general.conf";

/// The key of sysctl that a word is: `net.ipv4.ip_forward`, also of `/proc/sys/net/ipv4/ip_forward`.
fn key(word: &str) -> Option<String> {
    let of_file = word.strip_prefix("/proc/sys/");
    let key = of_file.unwrap_or(word).replace('/', ".");
    let parts: Vec<&str> = key.split('.').collect();
    let is_part = |part: &&str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        !part.is_empty() && part.chars().all(plain)
    };
    let least = if parts.first() == Some(&"net") { 3 } else { 2 };
    // Those of `user` are all limits; other words of this form are names.
    let is_limit = parts.get(1).is_some_and(|part| part.starts_with("max_"));
    let is_key = AREAS.contains(parts.first()?)
        && parts.len() >= least
        && parts.iter().all(is_part)
        && (of_file.is_some() || !word.contains('/'))
        && (parts.first() != Some(&"user") || is_limit)
        && !parts.last().is_some_and(|last| OTHERS.contains(last));
    is_key.then_some(key)
}

/// The value that an error asks for, after the key: `to be set to 0 or 1`, `must be 1`.
fn wanted<'a>(error: &'a str, word: &str) -> Option<&'a str> {
    const ASKING: &[&str] = &[
        "set to ",
        "must be ",
        "should be ",
        "at least ",
        "expected value: ",
    ];
    let (_, after) = error.split_once(word)?;
    let rest = ASKING.iter().find_map(|words| after.split_once(words))?.1;
    let value = words(rest).next()?;
    value
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(value)
}

/// The file that sets a key, and to what. Of several the one that is read last counts.
fn file<'a>(key: &str, texts: &'a Texts) -> Option<(&'a str, &'a str)> {
    let is_of_sysctl = |path: &str| FOLDERS.iter().any(|folder| path.starts_with(folder));
    let value = |text: &'a str| {
        let mut lines = text.lines().rev();
        lines.find_map(|line| {
            let (name, value) = line.trim().trim_start_matches('-').split_once('=')?;
            (name.trim().replace('/', ".") == key).then_some(value.trim())
        })
    };
    let found = texts.iter().filter(|(path, _)| is_of_sysctl(path));
    let found = found.filter_map(|(path, text)| Some((path.as_str(), value(text.ok()?)?)));
    // They are read in the order of their names, wherever they are.
    found.max_by_key(|(path, _)| path.rsplit('/').next())
}

/// What to do about a setting that an error names.
pub(super) fn remedy(error: &str, texts: &Texts) -> Option<String> {
    let (word, key) = words(error).find_map(|word| Some((word, key(word)?)))?;
    let set = match wanted(error, word) {
        Some(value) => format!("sysctl -w {key}={value}"),
        None => format!("sysctl {key} shows it; sysctl -w {key}=VALUE sets it"),
    };
    Some(match file(&key, texts) {
        Some((path, value)) => {
            format!("{set}; {path} sets it to {value} at every start: correct it there")
        }
        None => format!(
            "{set}, and write it to a file of /etc/sysctl.d that is read last; grep -r {key} /etc/sysctl.d /usr/lib/sysctl.d shows what sets it"
        ),
    })
}

/// Which collected file sets what a remedy names: a setting of a unit, or a key of sysctl other than to what it asks for.
pub(in crate::checks) fn setter(fix: &str, texts: &Texts) -> Option<String> {
    of_sysctl(fix, texts)
        .or_else(|| of_unit(fix, texts))
        .or_else(|| of_resolver(fix, texts))
        .or_else(|| of_tables(fix, texts))
        .or_else(|| of_clock(fix, texts))
}

/// The hardware clock that a file of chrony names, where a remedy takes such a line out.
fn of_clock(fix: &str, texts: &Texts) -> Option<String> {
    const LINE: &str = "refclock PHC";
    if !fix.contains("refclock") {
        return None;
    }
    let mut files = texts
        .iter()
        .filter(|(path, _)| path.starts_with("/etc/chrony"));
    files.find_map(|(path, text)| {
        let mut lines = text.ok()?.lines().map(str::trim);
        let line = lines.find(|line| line.starts_with(LINE))?;
        Some(format!("{path} has the line {line}"))
    })
}

/// The tables of nftables that a file of the host loads, where a remedy removes such.
fn of_tables(fix: &str, texts: &Texts) -> Option<String> {
    const FILES: [&str; 2] = ["/etc/nftables.conf", "/etc/sysconfig/nftables.conf"];
    if !fix.contains("nft delete table") {
        return None;
    }
    let mut files = FILES.iter();
    files.find_map(|path| {
        let lines = texts.get(*path)?.ok()?.lines();
        // A file may declare a table, delete it and then write it: it is one table.
        let mut deleted: Vec<String> = Vec::new();
        for name in lines.filter_map(|line| line.trim().strip_prefix("table ")) {
            let name = name.split(['{', ';']).next().unwrap_or(name).trim();
            let command = format!("nft delete table {name}");
            if !deleted.contains(&command) {
                deleted.push(command);
            }
        }
        (!deleted.is_empty()).then(|| format!("{path} loads such: {}", deleted.join("; ")))
    })
}

/// A remedy that turns DNSSEC off in the file that turns it on: what a drop-in sets counts, whatever the main file has.
pub(in crate::checks) fn with_resolver(fix: &str, texts: &Texts) -> Option<String> {
    let said = of_resolver(fix, texts)?;
    let path = said.split(' ').next()?;
    Some(fix.replace(
        "DNSSEC=no in /etc/systemd/resolved.conf;",
        &format!("DNSSEC=no in {path};"),
    ))
}

/// The file of systemd-resolved that turns on what a remedy turns off (resolved.conf(5), `DNSSEC=`).
fn of_resolver(fix: &str, texts: &Texts) -> Option<String> {
    const KEY: &str = "DNSSEC=";
    if !fix.contains("DNSSEC=no") {
        return None;
    }
    let own = texts.iter().rev();
    let mut own = own.filter(|(path, _)| path.starts_with("/etc/systemd/resolved.conf"));
    own.find_map(|(path, text)| {
        let mut lines = text.ok()?.lines().map(str::trim);
        let line = lines.find(|line| {
            let value = line.strip_prefix(KEY);
            value.is_some_and(|value| !matches!(value, "no" | "false" | ""))
        })?;
        Some(format!("{path} sets {line}"))
    })
}

/// Where files of units are that someone wrote for this host.
const UNITS: &[&str] = &["/etc/systemd/system/", "/run/systemd/system/"];

/// The file of a unit that has a setting which a remedy names, such as `MountFlags=slave`.
fn of_unit(fix: &str, texts: &Texts) -> Option<String> {
    let is_setting = |word: &&str| {
        word.split_once('=').is_some_and(|(name, value)| {
            name.len() > 3
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(|c| c.is_ascii_alphabetic())
                && !value.is_empty()
        })
    };
    let is_mark = |c: char| c.is_whitespace() || ";,()".contains(c);
    let mut settings = fix.split(is_mark).filter(is_setting);
    settings.find_map(|setting| {
        let mut of_units = texts.iter().filter(|(path, _)| {
            UNITS.iter().any(|folder| path.starts_with(folder)) && !fix.contains(path.as_str())
        });
        let has = |text: &str| text.lines().any(|line| line.trim() == setting);
        let (path, _) = of_units.find(|(_, text)| text.ok().is_some_and(|text| has(text)))?;
        Some(format!("{path} sets {setting}"))
    })
}

/// The file that sets a key of sysctl which a remedy names.
fn of_sysctl(fix: &str, texts: &Texts) -> Option<String> {
    if !fix.contains("sysctl") {
        return None;
    }
    let keys = words(fix).filter_map(key);
    let mut found = keys.filter_map(|key| {
        let (path, value) = file(&key, texts)?;
        let asks = [
            format!("-w {key}={value}"),
            format!("echo '{key} = {value}'"),
        ];
        let is_in_fix = fix.contains(path) || asks.iter().any(|setting| fix.contains(setting));
        (!is_in_fix && !path.ends_with(OWN)).then(|| format!("{path} sets {key} = {value}"))
    });
    found.next()
}
