//! Settings of the kernel that a step leaves, for them to be looked at again: those that are set, and those of a file that
//! `sysctl --system` reads.

use quake_model::step::{Action, Step};

/// Where files of settings are (sysctl.d(5)).
const FILES: &str = "/etc/sysctl.d/";

/// Below it the kernel has a file for each setting.
const BELOW: &str = "/proc/sys/";

/// Keys and values that a step leaves.
pub fn settings_of(step: &Step) -> Vec<(String, String)> {
    match &step.action {
        Action::SetSysctl { key, value, .. } => vec![(key.clone(), value.clone())],
        Action::WriteFile(file) if file.path.starts_with(FILES) => {
            let text = String::from_utf8_lossy(&file.contents.0);
            let settings = settings(&text);
            // The kernel shows several numbers with one blank between them.
            let settings = settings.map(|(key, value)| {
                let words: Vec<&str> = value.split_whitespace().collect();
                (key.to_owned(), words.join(" "))
            });
            settings.collect()
        }
        _ => Vec::new(),
    }
}

/// Keys and values of a file of settings.
pub fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with(['#', ';']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim(), value.trim()))
}

/// The file of a setting. Of a key's two separators the first is the one between its parts (sysctl(8)).
pub fn path_of(key: &str) -> String {
    let first = key.chars().find(|c| matches!(c, '.' | '/'));
    if first != Some('.') {
        return format!("{BELOW}{key}");
    }
    let swapped = key.chars().map(|c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    format!("{BELOW}{}", swapped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::phase::Phase;
    use quake_model::step::{Need, WriteFile};

    #[test]
    fn a_step_leaves_what_it_sets_or_what_its_file_says() {
        let of = |action| settings_of(&Step::new(Phase::Files, action));
        let set = Action::SetSysctl {
            key: "net.ipv4.ip_forward".to_owned(),
            value: "1".to_owned(),
            need: Need::Required,
        };
        let forward = ("net.ipv4.ip_forward".to_owned(), "1".to_owned());
        assert_eq!(of(set), std::slice::from_ref(&forward));
        let text = "# a = b\n; c = d\nnet.ipv4.ip_forward=1\nnet.ipv4.tcp_wmem =  4096\t87380 1\n";
        let file = |path: &str| Action::WriteFile(WriteFile::plain(path, 0o644, text));
        let wmem = ("net.ipv4.tcp_wmem".to_owned(), "4096 87380 1".to_owned());
        assert_eq!(of(file("/etc/sysctl.d/99-k8s.conf")), [forward, wmem]);
        assert_eq!(of(file("/etc/default/kubelet")), []);
    }

    #[test]
    fn the_first_separator_of_a_key_is_the_one_between_its_parts() {
        for (key, path) in [
            ("net.ipv4.ip_forward", "/proc/sys/net/ipv4/ip_forward"),
            (
                "net/ipv4/conf/eth0.1/rp_filter",
                "/proc/sys/net/ipv4/conf/eth0.1/rp_filter",
            ),
            (
                "net.ipv4.conf.eth0/1.rp_filter",
                "/proc/sys/net/ipv4/conf/eth0.1/rp_filter",
            ),
        ] {
            assert_eq!(path_of(key), path);
        }
    }
}
