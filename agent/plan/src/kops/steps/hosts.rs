//! `/etc/hosts`: the lines between two marks are the agent's, all else is kept as it is found.

use quake_model::item::Item;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, WriteFile};
use std::collections::BTreeMap;

const PATH: &str = "/etc/hosts";
const BEGIN: &str = "# Begin host entries managed by kops - do not edit";
const END: &str = "# End host entries managed by kops";

/// Writes the file with the block of this node's names; `None` where it has none, and the file holds no block.
pub(super) fn write(spec: &NodeSpec, found: &[u8]) -> Option<Action> {
    let text = String::from_utf8_lossy(found);
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in &spec.items {
        if let Item::HostRecord(record) = item {
            names.entry(&record.address).or_default().push(&record.name);
        }
    }
    if names.is_empty() && !text.contains(BEGIN) {
        return None;
    }
    Some(Action::WriteFile(WriteFile::plain(
        PATH,
        0o644,
        with_block(&text, &names),
    )))
}

fn with_block(text: &str, names: &BTreeMap<&str, Vec<&str>>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_ours = false;
    for line in text.lines() {
        match line.trim() {
            BEGIN => is_ours = true,
            END => is_ours = false,
            _ if is_ours => {}
            _ => lines.push(line.to_owned()),
        }
    }
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    if !names.is_empty() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(BEGIN.to_owned());
        lines.extend(
            names
                .iter()
                .map(|(address, names)| format!("{address}\t{}", names.join(" "))),
        );
        lines.push(END.to_owned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_kept_and_the_block_is_replaced() {
        let names = BTreeMap::from([("127.0.0.1", vec!["api.internal.c", "api.c"])]);
        let once = with_block("127.0.0.1 localhost\n", &names);
        let wanted =
            format!("127.0.0.1 localhost\n\n{BEGIN}\n127.0.0.1\tapi.internal.c api.c\n{END}\n");
        assert_eq!(once, wanted);
        assert_eq!(with_block(&once, &names), once, "twice is as once");
        let none = with_block(&once, &BTreeMap::new());
        assert_eq!(none, "127.0.0.1 localhost\n");
    }
}
