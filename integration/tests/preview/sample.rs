//! The sample of docs/operations.md is what the agent prints.

use crate::stores::{Pair, edit_file};
use quake_integration::agent;
use quake_integration::documents::{read, section};

#[test]
fn the_sample_of_the_documents_is_what_is_printed() {
    let pair = Pair::of_kops_legacy();
    edit_file(&pair.new.join("cluster.spec"), &|text| {
        text.replace("clusterCIDR: 100.96.0.0/11", "clusterCIDR: 10.96.0.0/11")
    });
    let [old, new] = [&pair.old, &pair.new].map(|path| path.to_str().expect("a plain path"));
    let ended = agent::run(&["preview", old, new, "--instance-group", "workers"]);
    let shown = ended
        .stdout
        .replace(old, "./before")
        .replace(new, "./after");
    let text = read("docs/operations.md").expect("the documents are beside");
    let section = section(&text, "Preview a change before the roll").expect("it has the section");
    assert!(section.contains(&shown), "{shown}");
}
