//! The files that a cloud-config writes (cloud-init's documentation, module "Write Files").

use super::from_base64;
use quake_formats::yaml::{Yaml, as_text, parse};
use quake_model::fault::Fault;

/// What a cloud-config does, as far as it matters here.
pub(super) struct Written {
    /// The files that it writes, in order.
    pub(super) files: Vec<WrittenFile>,
    /// The commands that it runs, each with its arguments joined.
    pub(super) commands: Vec<String>,
}

/// A file that cloud-init would write.
pub(super) struct WrittenFile {
    pub(super) path: String,
    /// What; `None` where it is compressed, which nothing here unpacks.
    pub(super) content: Option<Vec<u8>>,
}

/// Whether cloud-init takes these bytes for a cloud-config: by the type that a message gives, else by the first line.
pub(super) fn is_one(bytes: &[u8], kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("text/cloud-config"))
        || first_line(bytes) == b"#cloud-config"
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.split(|byte| *byte == b'\n').next();
    line.unwrap_or_default().trim_ascii_end()
}

/// Reads a cloud-config.
pub(super) fn written_files(bytes: &[u8]) -> Result<Written, Fault> {
    let root = parse("cloud-config", as_text("cloud-config", bytes)?)?;
    let files = root.items_of("write_files").iter();
    let commands = root.items_of("runcmd").iter();
    Ok(Written {
        files: files.filter_map(written_file).collect(),
        commands: commands.map(command).collect(),
    })
}

/// A command is a text for the shell or a list of words.
fn command(entry: &Yaml) -> String {
    let words = entry.items().iter().filter_map(Yaml::text);
    let words: Vec<&str> = words.chain(entry.text()).collect();
    words.join(" ")
}

fn written_file(entry: &Yaml) -> Option<WrittenFile> {
    let text = entry.text_of("content").unwrap_or_default();
    let content = match entry.text_of("encoding") {
        Some(name) if name.starts_with("gz") => None,
        Some("b64" | "base64") => from_base64(text.as_bytes()),
        Some(_) | None => Some(text.as_bytes().to_vec()),
    };
    Some(WrittenFile {
        path: entry.text_of("path")?.to_owned(),
        content,
    })
}
