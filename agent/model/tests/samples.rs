//! Redaction, measured on samples of others: rules of public scanners come with texts that hold a secret, and with
//! texts that hold none. They are not kept here; `QUAKE_SECRET_SAMPLES` names a directory of them.
//!
//! Each line of each file is an object: `text`, `secret` (whether it holds one), `value` (the secret, if it is
//! known) and `from` (the set, and behind a colon the rule).

use quake_model::redact::scrub;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What became of the samples of one set.
#[derive(Debug, Default)]
struct Measured {
    secrets: usize,
    masked: usize,
    others: usize,
    changed: usize,
}

impl Measured {
    fn take(&mut self, sample: &Value) {
        let text = sample["text"].as_str().unwrap_or_default();
        let scrubbed = scrub(text);
        let is_masked = match sample["value"].as_str() {
            Some(value) => scrubbed.matches(value).count() < text.matches(value).count(),
            None => scrubbed != text,
        };
        match sample["secret"] == true {
            true => {
                self.secrets += 1;
                self.masked += usize::from(is_masked);
            }
            false => {
                self.others += 1;
                self.changed += usize::from(scrubbed != text);
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the samples are files of others")]
fn measure(directory: &Path) -> std::io::Result<BTreeMap<String, Measured>> {
    let mut sets: BTreeMap<String, Measured> = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        for line in std::fs::read_to_string(entry?.path())?.lines() {
            let sample: Value = serde_json::from_str(line)?;
            let from = sample["from"].as_str().unwrap_or("unnamed");
            let set = from.split(':').next().unwrap_or(from);
            sets.entry(set.to_owned()).or_default().take(&sample);
        }
    }
    Ok(sets)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment says where they are"
)]
fn samples_of_others_are_measured() {
    let Some(directory) = std::env::var_os("QUAKE_SECRET_SAMPLES") else {
        println!("skipped: QUAKE_SECRET_SAMPLES names no directory of samples");
        return;
    };
    let sets = measure(Path::new(&directory)).expect("the directory has samples");
    for (set, measured) in &sets {
        println!("{set}: {measured:?}");
    }
    let (secrets, masked) = sets.values().fold((0, 0), |(secrets, masked), set| {
        (secrets + set.secrets, masked + set.masked)
    });
    println!("{masked} of {secrets} secrets are masked");
    // What was once reached must not be lost; docs/operations.md has the figures.
    assert!(secrets > 0 && masked * 100 >= secrets * 75, "{sets:?}");
}
