//! User data explained.

use quake_node::user_data::LIMIT_BYTES;
use quake_node::user_data::explain::{Explanation, Problem, Weight};
use serde_json::{Value, json};
use std::fmt::Write;

/// For people: form, size, what it delivers, what the agent reads, what is wrong.
pub(crate) fn explanation_text(said: &Explanation) -> String {
    let mut text = String::from("form:\n");
    for layer in &said.layers {
        let indent = "  ".repeat(layer.depth + 1);
        let _ = writeln!(text, "{indent}{}, {} bytes", layer.form, layer.size_bytes);
    }
    let _ = writeln!(
        text,
        "size: {} of the {LIMIT_BYTES} bytes that EC2 takes before base64",
        said.launch_bytes
    );
    for fetch in &said.fetches {
        let _ = writeln!(text, "fetches: {}", fetch.name);
        for url in &fetch.urls {
            let _ = writeln!(text, "  from {url}");
        }
        let digest = fetch
            .digest
            .as_deref()
            .unwrap_or("no digest: it is not verified");
        let _ = writeln!(text, "  {digest}");
    }
    match &said.reads {
        None => text.push_str("the agent reads: nothing it can use\n"),
        Some(reads) => {
            let _ = writeln!(
                text,
                "the agent reads: {} ({})",
                reads.documents.join(", "),
                reads.form
            );
            if let Some(cluster) = &reads.cluster {
                let _ = writeln!(text, "  cluster: {cluster}");
            }
            let _ = writeln!(text, "  instance group: {}", reads.instance_group);
            let _ = match reads.config_base.strip_prefix("asked of ") {
                Some(server) => {
                    writeln!(text, "  configuration: asked of kops-controller, {server}")
                }
                None => writeln!(text, "  state store: {}", reads.config_base),
            };
            let _ = match reads.assets {
                Some(assets) => writeln!(text, "  pinned assets: {assets}"),
                None => writeln!(text, "  pinned assets: those of the node's configuration"),
            };
        }
    }
    for problem in &said.problems {
        let _ = writeln!(text, "{}: {}", label(problem), problem.what);
        let _ = writeln!(text, "  fix: {}", problem.fix);
    }
    if said.problems.is_empty() {
        text.push_str("nothing is wrong with it\n");
    }
    text
}

pub(crate) fn explanation_json(said: &Explanation) -> Value {
    let layers = said.layers.iter().map(
        |layer| json!({ "depth": layer.depth, "form": layer.form, "sizeBytes": layer.size_bytes }),
    );
    let fetches = said
        .fetches
        .iter()
        .map(|fetch| json!({ "name": fetch.name, "urls": fetch.urls, "digest": fetch.digest }));
    let reads = said.reads.as_ref().map(|reads| {
        json!({
            "form": reads.form,
            "documents": reads.documents,
            "configBase": reads.config_base,
            "cluster": reads.cluster,
            "instanceGroup": reads.instance_group,
            "assets": reads.assets,
        })
    });
    let problems = said.problems.iter().map(
        |problem| json!({ "severity": label(problem), "what": problem.what, "remedy": problem.fix }),
    );
    json!({
        "schemaVersion": "quake-agent/user-data/v1",
        "sizeBytes": said.size_bytes,
        "launchBytes": said.launch_bytes,
        "limitBytes": LIMIT_BYTES,
        "layers": layers.collect::<Vec<_>>(),
        "fetches": fetches.collect::<Vec<_>>(),
        "reads": reads,
        "problems": problems.collect::<Vec<_>>(),
        "broken": said.is_broken(),
    })
}

fn label(problem: &Problem) -> &'static str {
    match problem.weight {
        Weight::Wrong => "error",
        Weight::Doubtful => "warning",
    }
}
