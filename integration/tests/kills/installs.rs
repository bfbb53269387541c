//! `install`.

use crate::trial::{Command, words};
use std::path::Path;

fn installed(name: &str, kills: usize, more: &[&str], prepare: &(dyn Fn(&Path) + Sync)) {
    Command {
        name,
        kills,
        prepare,
        words: &|root| words(&[&["install", "--root", root], more].concat()),
    }
    .killed();
}

#[test]
fn an_installation() {
    installed("installation", 20, &[], &|_| {});
}

#[test]
fn an_installation_with_pages_and_completions() {
    installed("installation with extras", 20, &["--extras"], &|_| {});
}

#[test]
fn an_installation_over_an_older_one() {
    installed("installation over an older one", 20, &[], &|root| {
        for (folder, name) in [
            ("usr/local/bin", "quake-agent"),
            ("usr/local/lib/systemd/system", "quake-agent.service"),
        ] {
            let folder = root.join(folder);
            std::fs::create_dir_all(&folder).expect("the directory is ours");
            std::fs::write(folder.join(name), "older\n").expect("the directory is ours");
        }
    });
}
