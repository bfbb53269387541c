//! Scripts: which tool wrote one, what it fetches, and whether all of it is there.

use super::{Fetch, Walk};
use quake_model::redact::scrub;

/// How our own script is known: by how its second line begins.
const OURS: &str = "\n# Fetches, proves, installs and starts quake-agent.";
/// Its last line, without which it does nothing.
const OUR_LAST_LINE: &str = "deliver";
/// The line that begins the function which the last line calls. Cut behind its name, it looks like the last one.
const OUR_FUNCTION: &str = "deliver() {";

impl Walk<'_> {
    pub(super) fn look_at_script(&mut self, text: &str, depth: usize) {
        let form = form_of(text);
        self.layer(depth, form, text.as_bytes());
        if text.contains('\r') {
            self.wrong(
                "its lines end in CR LF: the kernel looks for an interpreter whose name ends in a carriage return",
                "write it with LF alone, as by `dos2unix`, and launch again",
            );
        }
        if let Some((line, marker)) = open_here_document(text) {
            self.wrong(
                format!("the script is cut off in the here-document that line {line} begins ({marker} is missing)"),
                "render it again, and see that it stays below EC2's limit",
            );
        } else if is_ours(text) && !starts_delivery(text) {
            self.wrong(
                "the delivery script is cut off: its last line, which starts it, is missing",
                "render it again, and see that it stays below EC2's limit",
            );
        }
        if is_ours(text) {
            self.said.fetches.extend(our_fetches(text));
        } else {
            self.said.fetches.extend(nodeup_fetches(text));
        }
    }
}

/// Whether a script is the one that [`render`](crate::user_data::render) makes, or the beginning of one.
pub(super) fn is_ours(text: &str) -> bool {
    text.contains(OURS)
}

/// Whether a script of ours reaches the line that starts it, with what that line calls before it.
fn starts_delivery(text: &str) -> bool {
    let is_defined = text.lines().any(|line| line == OUR_FUNCTION);
    is_defined && text.trim_end().lines().last() == Some(OUR_LAST_LINE)
}

/// What wrote a script. `NODEUP_URL` was split by architecture, and the boot configuration got its keys, in kops 1.19
/// (`pkg/model/resources/nodeup.go` and `pkg/apis/nodeup/config.go` of that tag).
fn form_of(text: &str) -> &'static str {
    let first = |name: &str| text.lines().any(|line| line.starts_with(name));
    if is_ours(text) {
        "shell script that delivers quake-agent"
    } else if ["NodeupConfigHash:", "ConfigServer:", "InstanceGroupRole:"]
        .into_iter()
        .any(first)
        || first("NODEUP_URL_AMD64=")
    {
        "shell script of kops 1.19 or newer, with a boot configuration"
    } else if first("NODEUP_URL=") || text.contains("cat > kube_env.yaml <<") {
        "shell script of kops 1.8 to 1.18"
    } else {
        "shell script"
    }
}

/// The value of `NAME=value` at the start of a line, without its quotes; shell that is to be run is none.
fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.strip_prefix(name)?.strip_prefix('=')
    })?;
    let value = value.trim_end_matches('\r').trim_matches(['\'', '"']);
    (!value.is_empty() && !value.contains('$')).then_some(value)
}

fn our_fetches(text: &str) -> Vec<Fetch> {
    let urls: Vec<&str> = setting(text, "urls")
        .unwrap_or_default()
        .split(' ')
        .collect();
    let of = |arch: &str| {
        let digest = setting(text, arch)?;
        Some(Fetch {
            name: format!("quake-agent for {arch}"),
            urls: urls
                .iter()
                .map(|url| shown(&url.replace("{arch}", arch)))
                .collect(),
            digest: Some(format!("sha256:{}", scrub(digest))),
        })
    };
    ["amd64", "arm64"].into_iter().filter_map(of).collect()
}

fn nodeup_fetches(text: &str) -> Vec<Fetch> {
    let of = |(suffix, name): (&str, &str)| {
        let urls = setting(text, &format!("NODEUP_URL{suffix}"))?;
        let digest = setting(text, &format!("NODEUP_HASH{suffix}"));
        Some(Fetch {
            name: name.to_owned(),
            urls: urls.split(',').map(shown).collect(),
            digest: digest.map(scrub),
        })
    };
    let kinds = [
        ("", "nodeup"),
        ("_AMD64", "nodeup for amd64"),
        ("_ARM64", "nodeup for arm64"),
    ];
    kinds.into_iter().filter_map(of).collect()
}

/// A URL without what may be secret: the query signs, the user information names.
fn shown(url: &str) -> String {
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    scrub(bare)
}

/// The line and the marker of a here-document that does not end. Only plain redirections count: `<<` within quotes or
/// arithmetic, of which the scripts of kops have none, would be taken for one.
fn open_here_document(text: &str) -> Option<(usize, &str)> {
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some((before, after)) = line.split_once("<<") else {
            continue;
        };
        if before.trim_start().starts_with('#')
            || after.starts_with(['<', '=', ' ']) && before.contains("((")
        {
            continue;
        }
        let after = after.trim_start_matches('-').trim_start();
        let end = after.find([' ', '\t', '\r', ';', '>', '|', ')']);
        let marker = &after[..end.unwrap_or(after.len())];
        let marker = marker.trim_matches(['\'', '"', '\\']);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if marker.is_empty() || !marker.chars().all(plain) {
            continue;
        }
        let ends = |(_, line): (usize, &str)| {
            line.trim_start_matches('\t').trim_end_matches('\r') == marker
        };
        if !lines.by_ref().any(ends) {
            return Some((index + 1, marker));
        }
    }
    None
}
