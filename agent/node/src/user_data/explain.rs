//! Says what a blob of user data is: how it is wrapped, what it delivers, what the agent would read in it, and what is
//! wrong with it. Nothing of its text is shown but names, URLs without their queries, and digests.

mod content;
mod script;

use super::{
    LIMIT_BYTES, MOST_LAYERS, NEAR_LIMIT_BYTES, cloud_config, decode, find_documents, mime,
};
use quake_model::fault::{Code, Fault};
use quake_model::redact::scrub;

/// Takes a gzip layer off.
pub type Unpack<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>, String>;

/// What a blob is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    pub size_bytes: usize,
    /// The size that EC2 limits: that of the blob, of what it stands for if it is base64.
    pub launch_bytes: usize,
    /// Its layers and parts, in the order they are met.
    pub layers: Vec<Layer>,
    /// What its scripts would fetch.
    pub fetches: Vec<Fetch>,
    /// What the agent would read in it.
    pub reads: Option<Reading>,
    /// What is wrong with it, and what may be.
    pub problems: Vec<Problem>,
}

impl Explanation {
    /// Whether something is wrong for certain.
    pub fn is_broken(&self) -> bool {
        let wrong = |problem: &Problem| problem.weight == Weight::Wrong;
        self.problems.iter().any(wrong)
    }
}

/// A wrapper, a part or the innermost content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// How many layers are around it.
    pub depth: usize,
    /// What it is, such as `gzip` or `shell script that delivers quake-agent`.
    pub form: String,
    pub size_bytes: usize,
}

/// A file that a script fetches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The program, and its architecture where the script tells them apart.
    pub name: String,
    /// From where, in order; without queries.
    pub urls: Vec<String>,
    /// The digest it must have, where the script pins one.
    pub digest: Option<String>,
}

/// What the agent would read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub form: String,
    pub documents: Vec<String>,
    /// Where the cluster's objects are, or who is asked for the node's configuration.
    pub config_base: String,
    /// The cluster's name, where it is given.
    pub cluster: Option<String>,
    pub instance_group: String,
    /// How many files are pinned; `None` where the node's configuration pins them, as since kops 1.22.
    pub assets: Option<usize>,
}

/// How sure a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// A node would not come up with it, or not as it says.
    Wrong,
    Doubtful,
}

/// Something that is wrong, or may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub weight: Weight,
    pub what: String,
    pub fix: String,
}

/// Explains a blob; `unpack` takes gzip layers off.
pub fn explain(bytes: &[u8], unpack: Unpack<'_>) -> Explanation {
    let mut walk = Walk {
        said: Explanation {
            size_bytes: bytes.len(),
            launch_bytes: bytes.len(),
            ..Explanation::default()
        },
        unpack,
    };
    if bytes.trim_ascii().is_empty() {
        walk.wrong(
            "it is empty",
            "launch with the output of `quake-agent user-data render`",
        );
        return walk.said;
    }
    walk.look(bytes, None, 0);
    walk.judge_size();
    walk.read(bytes);
    walk.said
}

/// The explanation while it is made.
struct Walk<'a> {
    said: Explanation,
    unpack: Unpack<'a>,
}

impl Walk<'_> {
    fn wrong(&mut self, what: impl Into<String>, fix: impl Into<String>) {
        self.add(Weight::Wrong, what, fix);
    }

    fn doubtful(&mut self, what: impl Into<String>, fix: impl Into<String>) {
        self.add(Weight::Doubtful, what, fix);
    }

    fn add(&mut self, weight: Weight, what: impl Into<String>, fix: impl Into<String>) {
        let problem = Problem {
            weight,
            what: scrub(&what.into()),
            fix: fix.into(),
        };
        if !self.said.problems.contains(&problem) {
            self.said.problems.push(problem);
        }
    }

    /// What the agent only warns of is doubtful.
    fn fault(&mut self, fault: &Fault) {
        let weight = match fault.code {
            Code::ConfigUnknownKey | Code::ConfigWeakDigest => Weight::Doubtful,
            _ => Weight::Wrong,
        };
        let source = fault.evidence_named("source").unwrap_or_default();
        let place = match (fault.evidence_named("line"), fault.evidence_named("column")) {
            (Some(line), Some(column)) => format!(" ({source} line {line}, column {column})"),
            _ => String::new(),
        };
        let what = format!("{}: {}{place}", fault.code, fault.summary);
        self.add(weight, what, fault.remedy_text());
    }

    fn layer(&mut self, depth: usize, form: impl Into<String>, bytes: &[u8]) {
        self.said.layers.push(Layer {
            depth,
            form: form.into(),
            size_bytes: bytes.len(),
        });
    }

    fn look(&mut self, bytes: &[u8], kind: Option<&str>, depth: usize) {
        if depth > MOST_LAYERS {
            self.wrong("it is wrapped too often", "wrap the script once");
        } else if bytes.starts_with(&[0x1f, 0x8b]) {
            self.look_in_gzip(bytes, depth);
        } else if let Some(message) = mime::read(bytes) {
            self.look_in_message(bytes, message, depth);
        } else if cloud_config::is_one(bytes, kind) {
            self.look_in_cloud_config(bytes, depth);
        } else if let Some(decoded) = self.base64(bytes) {
            self.look_in_base64(bytes, &decoded, depth);
        } else {
            self.look_at_content(bytes, kind, depth);
        }
    }

    /// A script may be base64 by accident only when it is a single word.
    fn base64(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let is_text = bytes.trim_ascii_start().starts_with(b"#");
        (!is_text).then(|| decode(bytes)).flatten()
    }

    fn look_in_gzip(&mut self, bytes: &[u8], depth: usize) {
        self.layer(depth, "gzip", bytes);
        match (self.unpack)(bytes) {
            Ok(unpacked) => self.look(&unpacked, None, depth + 1),
            Err(why) => self.wrong(
                format!("the gzip cannot be unpacked: {why}"),
                "it was cut short or changed as text on its way: pass it as a binary file (`fileb://` for the AWS CLI)",
            ),
        }
    }

    fn look_in_base64(&mut self, bytes: &[u8], decoded: &[u8], depth: usize) {
        self.layer(depth, "base64", bytes);
        if depth == 0 {
            self.said.launch_bytes = decoded.len();
            self.doubtful(
                "it is base64: right for the EC2 API and a launch template, which take one layer off; wrong as what an instance sees",
                "give the AWS CLI and the console the text itself, for they encode it; nothing on an instance decodes a second layer",
            );
        }
        if !decoded.starts_with(&[0x1f, 0x8b]) && self.base64(decoded).is_some() {
            self.wrong(
                "it is base64 twice",
                "encode it once, or leave that to the tool that launches",
            );
        }
        self.look(decoded, None, depth + 1);
    }

    fn look_in_message(&mut self, bytes: &[u8], message: mime::Message, depth: usize) {
        let form = match message.parts.len() {
            1 => "MIME message with one part".to_owned(),
            parts => format!("MIME message with {parts} parts"),
        };
        self.layer(depth, form, bytes);
        if !message.is_whole {
            self.wrong(
                "the MIME message is cut short: the line that ends it is missing",
                "render it again, and see that it stays below EC2's limit",
            );
        }
        for part in message.parts {
            let kind = &part.kind;
            if let Some(encoding) = part.undecodable {
                self.layer(depth + 1, format!("part {kind}"), &part.body);
                self.wrong(
                    format!("the part {kind} cannot be decoded as {encoding}"),
                    "render the message again",
                );
                continue;
            }
            self.look(&part.body, Some(kind), depth + 1);
        }
    }

    fn look_in_cloud_config(&mut self, bytes: &[u8], depth: usize) {
        self.layer(depth, "cloud-config", bytes);
        let written = match cloud_config::written_files(bytes) {
            Ok(written) => written,
            Err(fault) => {
                self.fault(&fault);
                return;
            }
        };
        for file in written.files {
            let Some(content) = file.content else {
                let form = format!("file {}, not read", scrub(&file.path));
                self.layer(depth + 1, form, b"");
                continue;
            };
            if !content.starts_with(b"#!") {
                let form = format!("file {}", scrub(&file.path));
                self.layer(depth + 1, form, &content);
                continue;
            }
            self.look(&content, None, depth + 1);
            let is_run = written.commands.iter().any(|it| it.contains(&file.path));
            if script::is_ours(&String::from_utf8_lossy(&content)) && !is_run {
                self.wrong(
                    "the cloud-config writes the delivery script and does not run it: it is cut off, or its `runcmd` was replaced",
                    "render it again; cloud-init joins the lists of several parts only where they say so (`merge_how`)",
                );
            }
        }
    }

    fn judge_size(&mut self) {
        let size = self.said.launch_bytes;
        let fix = "compress it (`user-data render --gzip`), or move what is not the agent's to the image or the state store";
        if size > LIMIT_BYTES {
            self.wrong(
                format!("it has {size} bytes, and EC2 takes {LIMIT_BYTES} before base64"),
                fix,
            );
        } else if size > NEAR_LIMIT_BYTES {
            self.doubtful(
                format!("it has {size} of the {LIMIT_BYTES} bytes that EC2 takes before base64"),
                fix,
            );
        }
    }

    /// Reads it as the agent does, which sees it without its outermost gzip.
    fn read(&mut self, bytes: &[u8]) {
        let unpacked = if bytes.starts_with(&[0x1f, 0x8b]) {
            (self.unpack)(bytes)
        } else {
            Ok(bytes.to_vec())
        };
        let Ok(unpacked) = unpacked else {
            return;
        };
        match find_documents(&unpacked) {
            Ok(documents) => self.read_documents(documents),
            Err(fault) => self.fault(&fault),
        }
    }
}
