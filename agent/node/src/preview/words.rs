//! Flags and settings out of a node's files: the words of units, environment files and static pods, and the values of the
//! configuration files of Kubernetes' components. Files that may not be shown are not looked into.

use super::side::Settings;
use super::view::{Aspect, FileKind, NodeView, Rows};
use crate::kernel_settings::settings;
use crate::pod::containers;
use quake_formats::yaml::{Yaml, parse};

/// Programs whose flags are compared, wherever they stand among the words of a pod.
pub(super) const COMPONENTS: &[&str] = &[
    "etcd",
    "etcd-manager",
    "kops-controller",
    "kube-apiserver",
    "kube-apiserver-healthcheck",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "protokube",
];

/// Where environment files of units are.
const ENVIRONMENT: &str = "/etc/sysconfig/";

/// The flags, settings, images and sysctls that the files of a node have.
pub(super) fn rows(view: &NodeView) -> Rows {
    let mut rows = Rows::new();
    let files = view.files.iter();
    let files = files.filter(|(_, file)| file.kind == FileKind::File);
    for (path, _) in files {
        let Some(text) = view.text(path) else {
            continue;
        };
        if let Some(program) = path.strip_prefix(ENVIRONMENT) {
            environment(&mut rows, program, &text);
        } else if path.ends_with(".service") {
            unit(&mut rows, path, &text);
        } else if path.starts_with("/etc/sysctl.d/") || path == "/etc/sysctl.conf" {
            sysctls(&mut rows, &text);
        } else if has_kind(&text) {
            document(&mut rows, path, &text);
        }
    }
    rows
}

fn has_kind(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("kind:") || line.contains("\"kind\""))
}

fn put(rows: &mut Rows, aspect: Aspect, name: String, value: &str) {
    let at = (aspect, name);
    match rows.get_mut(&at) {
        // A flag may stand more than once.
        Some(known) if known != value => {
            known.push(' ');
            known.push_str(value);
        }
        Some(_) => {}
        None => drop(rows.insert(at, value.to_owned())),
    }
}

fn flags<'a>(rows: &mut Rows, program: &str, words: impl Iterator<Item = &'a str>) {
    for word in words.filter(|word| word.starts_with("--") && word.len() > 2) {
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        put(rows, Aspect::Flag, format!("{program} {name}"), value);
    }
}

/// `DAEMON_ARGS="--v=2 …"`, as systemd reads it.
fn environment(rows: &mut Rows, program: &str, text: &str) {
    for line in text.lines().map(str::trim) {
        if let Some((_, value)) = line.split_once('=') {
            let words = split(&unquoted(value));
            flags(rows, program, words.iter().map(String::as_str));
        }
    }
}

fn unit(rows: &mut Rows, path: &str, text: &str) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.trim_end_matches(".service");
    let joined = text.replace("\\\n", " ");
    let starts = joined
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ExecStart="));
    for start in starts {
        let words = split(start);
        flags(rows, name, words.iter().map(String::as_str));
    }
}

fn sysctls(rows: &mut Rows, text: &str) {
    for (key, value) in settings(text) {
        rows.insert((Aspect::Sysctl, key.to_owned()), value.to_owned());
    }
}

fn document(rows: &mut Rows, path: &str, text: &str) {
    let Ok(root) = parse(path, text) else {
        return;
    };
    let kind = root.text_of("kind").unwrap_or_default();
    match kind {
        "Pod" => pod(rows, &root),
        // A kubeconfig.
        "Config" => {}
        kind if kind.ends_with("Configuration") || kind.ends_with("Config") => {
            for (name, value) in Settings::of(&root).iter() {
                put(rows, Aspect::Setting, format!("{kind} {name}"), value);
            }
        }
        _ => {}
    }
}

fn pod(rows: &mut Rows, root: &Yaml) {
    let Some(spec) = root.get("spec") else {
        return;
    };
    let pod = root.get("metadata").and_then(|it| it.text_of("name"));
    let pod = pod.unwrap_or_default();
    for container in containers(spec) {
        let name = container.text_of("name").unwrap_or(pod);
        if let Some(image) = container.text_of("image") {
            put(rows, Aspect::Image, format!("{pod}/{name}"), image);
        }
        let words = ["command", "args"]
            .iter()
            .flat_map(|key| container.items_of(key));
        let words: Vec<String> = words
            .filter_map(Yaml::text)
            .flat_map(|text| text.split_whitespace().map(bare))
            .collect();
        let (program, from) = program(name, &words);
        flags(rows, program, words.iter().skip(from).map(String::as_str));
    }
}

/// The program that a container runs, and where its flags begin: what stands before them is of what wraps it.
fn program<'a>(container: &'a str, words: &'a [String]) -> (&'a str, usize) {
    let base = |word: &'a str| word.rsplit('/').next().unwrap_or(word);
    let found = words.iter().enumerate().rev().find_map(|(at, word)| {
        let known = COMPONENTS.contains(&base(word)) && !word.starts_with('-');
        known.then(|| (base(word), at + 1))
    });
    found.unwrap_or((container, 0))
}

/// A word of a shell's line without the quotes around it.
fn bare(word: &str) -> String {
    word.trim_matches(['"', '\'', ';', '\\']).to_owned()
}

/// The value of a variable of an environment file, without its quotes.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let Some(inner) = inner else {
        return value.to_owned();
    };
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

/// Words, as systemd splits them: quotes keep white space, and are taken away.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => word.extend(characters.next()),
            (it, Some(open)) if it == open => quote = None,
            ('"' | '\'', None) => quote = Some(character),
            (it, None) if it.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (it, _) => word.push(it),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preview::view::NodeView;
    use quake_model::item::{File, Item, Source};

    fn rows_of(path: &str, text: &str) -> Vec<(String, String)> {
        let mut spec = crate::preview::sample::node("1.34.0");
        spec.items = vec![Item::File(File::plain(path, text))];
        let view = NodeView::new(&spec);
        let rows = view.rows.into_iter();
        let wanted = [Aspect::Flag, Aspect::Setting, Aspect::Sysctl, Aspect::Image];
        rows.filter(|((aspect, _), _)| wanted.contains(aspect))
            .map(|((_, name), value)| (name, value))
            .collect()
    }

    #[test]
    fn words_are_read_from_each_kind_of_file() {
        let pod = "kind: Pod\nmetadata: {name: kube-apiserver}\nspec:\n  containers:\n  - name: kube-apiserver\n    \
                   image: r/kube-apiserver:v1\n    command: [/go-runner]\n    args: [--log-file=/x, /usr/local/bin/kube-apiserver, --v=2]\n";
        let shell = "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    command: [/bin/sh, -c, \
                     'mkfifo /tmp/pipe; exec /usr/local/bin/kube-proxy --v=2 > /tmp/pipe 2>&1']\n";
        for (path, text, wanted) in [
            (
                "/etc/sysconfig/kubelet",
                "DAEMON_ARGS=\"--v=2 \\\"--node-labels=a=b c\\\"\"\nHOME=\"/root\"\n",
                vec![("kubelet --node-labels", "a=b c"), ("kubelet --v", "2")],
            ),
            (
                "/etc/systemd/system/protokube.service",
                "[Service]\nExecStart=/usr/bin/protokube --dns=aws-route53 \\\n  --master\n",
                vec![
                    ("protokube --dns", "aws-route53"),
                    ("protokube --master", "true"),
                ],
            ),
            (
                "/etc/kubernetes/manifests/kube-apiserver.manifest",
                pod,
                vec![
                    ("kube-apiserver --v", "2"),
                    ("kube-apiserver/kube-apiserver", "r/kube-apiserver:v1"),
                ],
            ),
            ("/etc/x.manifest", shell, vec![("kube-proxy --v", "2")]),
            (
                "/etc/sysctl.d/99.conf",
                "# a = b\nnet.ipv4.ip_forward=1\nvm.max_map_count = 5\n",
                vec![("net.ipv4.ip_forward", "1"), ("vm.max_map_count", "5")],
            ),
            (
                "/var/lib/kubelet/kubelet.conf",
                "kind: KubeletConfiguration\ncgroupDriver: systemd\n",
                vec![
                    ("KubeletConfiguration cgroupDriver", "systemd"),
                    ("KubeletConfiguration kind", "KubeletConfiguration"),
                ],
            ),
        ] {
            let found = rows_of(path, text);
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(found, wanted, "{path}");
        }
    }

    #[test]
    fn a_file_that_may_not_be_shown_is_not_read() {
        let mut spec = crate::preview::sample::node("1.34.0");
        let secret = File::secret("/etc/sysconfig/kubelet", Source::bytes("A=\"--token=x\"\n"));
        spec.items = vec![Item::File(secret)];
        let view = NodeView::new(&spec);
        assert_eq!(view.rows_of(Aspect::Flag).count(), 0);
    }
}
