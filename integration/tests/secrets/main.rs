//! Secrets are planted wherever they can come near the agent, in boots that succeed and in boots that fail in each
//! way; then everything that it shows is searched for them. What it renders for the node may hold them, for that is
//! its work; nothing else may.
//!
//! `QUAKE_SECRETS=FILE cargo test -p quake-integration --test secrets` takes the secrets of a list that others wrote,
//! too: JSON, of which each element has a `name`, a `value` and a `text` with the value in it.

mod boots;
mod inputs;
mod listed;
mod node;

use boots::{Expected, Shown, all_at_once, boot, serve_and_ask};
use inputs::{body_of_an_error, broken, signed_places, unlike};
use listed::{listed, seen_whole};
use node::Node;
use quake_integration::agent;
use quake_integration::http::Reply;
use quake_integration::planted::Planted;

/// What of the planted is seen in which of the shown.
fn seen(planted: &[Planted], shown: &[Shown]) -> Vec<String> {
    let mut seen = Vec::new();
    for planted in planted {
        for shown in shown.iter().filter(|shown| planted.is_seen_in(&shown.text)) {
            let line = shown.text.lines().find(|line| planted.is_seen_in(line));
            let line: String = line
                .unwrap_or("over several lines")
                .chars()
                .take(600)
                .collect();
            seen.push(format!(
                "{} is seen in {}: {line}",
                planted.name, shown.name
            ));
        }
    }
    seen
}

fn assert_unseen(planted: &[Planted], shown: &[Shown]) {
    let seen = seen(planted, shown);
    assert!(!planted.is_empty() && shown.len() >= 3, "{shown:?}");
    assert!(seen.is_empty(), "{}", seen.join("\n"));
}

#[test]
fn a_boot_to_the_end_shows_no_secret() {
    let node = Node::whole();
    let shown = boot(&node, Expected::Ready);
    assert_unseen(&node.planted, &shown);
}

#[test]
fn what_a_boot_renders_holds_its_secrets() {
    let node = Node::whole();
    boot(&node, Expected::Ready);
    // Else the other tests would search for what never came near the agent.
    for planted in node
        .planted
        .iter()
        .filter(|planted| node::is_rendered(planted))
    {
        assert!(
            node.renders(planted),
            "{} is nowhere on the node",
            planted.name
        );
    }
}

#[test]
fn the_endpoint_shows_no_secret_while_a_boot_waits_and_after() {
    let node = Node::whole();
    assert_unseen(&node.planted, &serve_and_ask(&node));
    let waiting = Node::with_mirror(|_| Reply::new(503, body_of_an_error().text));
    assert_unseen(&waiting.planted, &serve_and_ask(&waiting));
}

#[test]
fn a_plan_shows_no_secret_when_files_are_new_changed_or_gone() {
    let node = Node::whole();
    let new = node.plan();
    boot(&node, Expected::Ready);
    let same = node.plan();
    node.change_every_file();
    let changed = node.plan();
    assert!(changed.text.len() > same.text.len(), "{}", changed.text);
    assert_unseen(&node.planted, &[new, same, changed]);
}

#[test]
fn no_kind_of_failing_download_shows_a_secret() {
    let reported = body_of_an_error();
    let mut nodes = Vec::new();
    for status in [400, 401, 403, 404, 500, 503] {
        let body = reported.text.clone();
        nodes.push(Node::with_mirror(move |_| {
            Reply::new(status, body.clone()).with("x-amz-request-id", "1")
        }));
    }
    for location in signed_places() {
        nodes.push(Node::with_mirror(move |_| {
            Reply::new(302, "").with("location", &location)
        }));
    }
    nodes.push(Node::with_mirror(|_| Reply::new(200, "other bytes")));
    all_at_once(nodes, |node| {
        assert_unseen(&node.planted, &boot(&node, Expected::Failed));
    });
}

#[test]
fn no_kind_of_broken_input_shows_the_secrets_in_it() {
    all_at_once(broken(), |(name, node)| {
        let mut shown = boot(&node, Expected::Either);
        shown.extend(node.checks());
        shown.push(node.plan());
        let seen = seen(&node.planted, &shown);
        assert!(seen.is_empty(), "{name}: {}", seen.join("\n"));
    });
}

#[test]
fn an_environment_of_secrets_is_never_shown() {
    let node = Node::whole();
    for (name, value) in unlike() {
        let mut command = agent::command(&node.arguments());
        command.env(name, &value.text);
        let ended = agent::run_command(command);
        let shown = [
            Shown::new("stdout", ended.stdout),
            Shown::new("stderr", ended.stderr),
            Shown::new("ledger", node.ledger()),
        ];
        assert_unseen(&[value], &shown);
    }
}

#[test]
fn user_data_is_explained_without_its_secrets() {
    let node = Node::whole();
    let file = node.folder.path().join("user-data.sh");
    let text = node.user_data();
    std::fs::write(&file, &text.text).unwrap();
    let path = file.to_str().unwrap();
    for arguments in [
        vec!["user-data", "explain", path],
        vec!["user-data", "explain", path, "--output", "json"],
        vec!["check", path],
    ] {
        let ended = agent::run(&arguments);
        let shown = Shown::new("what is explained", ended.text());
        let mut planted = node.planted.clone();
        planted.push(text.clone());
        let seen = seen(&planted, &[shown]);
        assert!(seen.is_empty(), "{}", seen.join("\n"));
    }
}

#[test]
fn no_listed_secret_of_a_file_asset_is_shown() {
    let listed = listed();
    let node = Node::with_files(&listed);
    let mut shown = vec![node.plan()];
    shown.extend(boot(&node, Expected::Ready));
    let same = node.plan();
    node.change_every_file();
    let changed = node.plan();
    assert!(changed.text.len() > same.text.len(), "{}", changed.text);
    shown.extend([same, changed]);
    shown.extend(serve_and_ask(&node));
    // Else they never came near the agent.
    for planted in &listed {
        assert!(
            node.renders_text(&planted.text),
            "{} is nowhere on the node",
            planted.name
        );
    }
    let seen = seen_whole(&listed, &shown);
    assert!(seen.is_empty(), "{}", seen.join("\n"));
}

#[test]
fn no_listed_secret_that_a_mirror_answers_is_shown() {
    let seen = all_at_once(listed(), |planted| {
        let body = planted.text.clone();
        let node = Node::with_mirror(move |_| Reply::new(503, body.clone()));
        seen_whole(&[planted], &boot(&node, Expected::Failed))
    });
    let seen = seen.concat();
    assert!(seen.is_empty(), "{}", seen.join("\n"));
}

#[test]
fn a_search_for_whole_values_would_have_found_them() {
    let listed = listed();
    for planted in &listed {
        let quoted = serde_json::Value::from(planted.text.as_str()).to_string();
        for text in [planted.text.clone(), quoted] {
            let shown = Shown::new("its text", text);
            assert_eq!(
                seen_whole(std::slice::from_ref(planted), &[shown]).len(),
                1,
                "{}",
                planted.name
            );
        }
    }
}

#[test]
fn a_search_that_finds_nothing_would_have_found_it() {
    let planted = body_of_an_error();
    let shown = Shown::new("a sentence", format!("it said: {}", planted.text));
    assert_eq!(seen(&[planted], &[shown]).len(), 1);
}
