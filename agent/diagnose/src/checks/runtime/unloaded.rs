//! A containerd that runs without the plugin that serves kubelet: why the plugin did not load, by containerd's own journal.

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::innermost::quoted;
use crate::checks::node::Node;
use crate::checks::quote::quote;

/// How containerd answers what none of its plugins serves.
const UNSERVED: &str = "unknown service runtime.v1";

/// How containerd begins.
const BEGIN: &str = "starting containerd";

/// How a plugin of it says that another one, on which it depends, did not load.
const OF_ANOTHER: &str = "unable to load CRI";

/// Where the files of its configuration are.
const FOLDER: &str = "/etc/containerd/";

/// The finding where containerd answers so and its journal says why; `None` elsewhere.
pub(super) fn finding(node: &Node<'_>, unit: &str, error: &str) -> Option<Finding> {
    if !error.contains(UNSERVED) {
        return None;
    }
    let journal = node.journal(unit);
    let begun = journal.iter().rposition(|line| line.contains(BEGIN));
    let mut failed: Vec<&str> = journal[begun.unwrap_or_default()..]
        .iter()
        .map(String::as_str)
        .filter(|line| line.contains("failed to load plugin") && line.contains(".cri"))
        .collect();
    // A plugin that only waits for another one does not say why.
    failed.sort_by_key(|line| line.contains(OF_ANOTHER));
    let line = failed.first()?;
    let why = why(line)?;
    let files = files(node, &why);
    let fix = match files.as_slice() {
        [] => format!(
            "correct it in /etc/containerd/config.toml or what it imports (containerd config dump shows the whole); then: systemctl restart {unit}"
        ),
        files => format!(
            "correct {}; containerd config dump shows the whole; then: systemctl restart {unit}",
            files.join(" or ")
        ),
    };
    let finding = Finding::new(
        format!("{unit} runs without the plugin that serves kubelet, which did not load: {why}"),
        fix,
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, QUOTED))
            .seen("answer", error),
    )
}

/// The value of `error="..."`, of which containerd 1 writes `error=word` where it has no blanks.
fn why(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("error=")?;
    let text = match rest.strip_prefix('"') {
        Some(rest) => quoted(rest),
        None => rest.split(' ').next()?,
    };
    Some(text.replace('\\', ""))
}

/// The files of the configuration that have the keys that an error quotes, each with its keys.
fn files(node: &Node<'_>, why: &str) -> Vec<String> {
    let is_key = |word: &&str| {
        word.len() > 2
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    let keys: Vec<&str> = why
        .split(['`', '"'])
        .skip(1)
        .step_by(2)
        .filter(is_key)
        .collect();
    let texts = node.survey().texts.iter();
    let own = texts.filter(|(path, _)| path.starts_with(FOLDER) && path.ends_with(".toml"));
    own.filter_map(|(path, text)| {
        let text = text.ok()?;
        let there: Vec<&str> = keys
            .iter()
            .copied()
            .filter(|key| text.contains(key))
            .collect();
        (!there.is_empty()).then(|| format!("{} in {path}", there.join(" and ")))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use crate::checks::node_sample::Sample;

    #[test]
    fn the_plugin_that_did_not_load_says_why_and_its_files_are_named() {
        let mut node = Sample::worker();
        node.text(
            "/etc/containerd/conf.d/20-mirror.toml",
            "[plugins.\"io.containerd.cri.v1.images\".registry.mirrors.x]\n",
        );
        let failed = |id: &str, why: &str| {
            format!(
                "time=\"2026-11-21T03:20:00Z\" level=warning msg=\"failed to load plugin\" error=\"{why}\" id={id} type=x"
            )
        };
        let own =
            "invalid cri image config: `mirrors` cannot be set when `config_path` is provided";
        let other = format!("unable to load CRI image service plugin dependency: {own}");
        let lines = [
            failed("io.containerd.grpc.v1.cri", "an earlier start"),
            "level=info msg=\"starting containerd\" version=v2.2.4".to_owned(),
            failed("io.containerd.grpc.v1.cri", &other),
            failed("io.containerd.cri.v1.images", own),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        node.journal("containerd.service", &lines);
        node.runtime().error = Some(
            "rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"
                .to_owned(),
        );
        let report = node.judge("runtime.alive");
        let finding = report.finding.expect("it fails");
        assert!(
            finding.summary.contains(&format!("did not load: {own}")),
            "{}",
            finding.summary
        );
        assert!(
            finding
                .fix
                .contains("mirrors in /etc/containerd/conf.d/20-mirror.toml"),
            "{}",
            finding.fix
        );
    }
}
