//! The machine, as the report names it: its parts and its tools, never its name or its paths.

use crate::failure::capture;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// What the figures were measured on.
#[derive(Debug)]
pub(crate) struct Machine {
    lines: Vec<(&'static str, String)>,
}

impl Machine {
    /// Looks around; `work` is where the targets are, `server` what nginx says of itself.
    pub(crate) fn look(work: &Path, server: &str, network: &str) -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let first = |program: &str, words: &[&str]| {
            let said = capture(Command::new(program).args(words)).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).into_owned();
            said.lines().next().unwrap_or("not installed").to_owned()
        };
        let filesystem = capture(Command::new("stat").args(["-f", "-c", "%T"]).arg(work));
        let filesystem = filesystem.unwrap_or_default();
        Self {
            lines: vec![
                (
                    "processors",
                    format!("{count} x {}", field("/proc/cpuinfo", "model name")),
                ),
                ("memory", field("/proc/meminfo", "MemTotal")),
                ("kernel", first("uname", &["-s", "-r", "-m"])),
                ("system", system()),
                (
                    "filesystem",
                    String::from_utf8_lossy(&filesystem).trim().to_owned(),
                ),
                ("network", network.to_owned()),
                ("server", server.to_owned()),
                ("curl", first("curl", &["--version"])),
                ("tar", first("tar", &["--version"])),
                ("sha256sum", first("sha256sum", &["--version"])),
                ("aria2c", first("aria2c", &["--version"])),
            ],
        }
    }

    /// Adds the table.
    pub(crate) fn render(&self, text: &mut String) {
        text.push_str("| | |\n|---|---|\n");
        for (name, value) in &self.lines {
            let _ = writeln!(text, "| {name} | {value} |");
        }
    }
}

fn system() -> String {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches('"').to_owned()
}

fn field(path: &str, name: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':'));
    value
        .map_or("unknown", |(_, value)| value.trim())
        .to_owned()
}
