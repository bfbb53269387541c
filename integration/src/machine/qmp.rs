//! QEMU's monitor, as much of it as devices need: a line of JSON each way (QEMU's "QMP Reference Manual").

use super::port::connected;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the monitor may take to answer, and a guest to let a device go.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection. The monitor has one client at a time, so each use makes its own.
#[derive(Debug)]
pub(super) struct Monitor {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    /// Events that came while an answer was awaited.
    events: Vec<Value>,
}

impl Monitor {
    /// Connects, and says that no extension is wanted.
    pub(super) fn connect(socket: &Path) -> Result<Self, String> {
        let wrong =
            |error: std::io::Error| format!("QEMU's monitor at {}: {error}", socket.display());
        let writer = connected(socket).map_err(wrong)?;
        writer.set_read_timeout(Some(PATIENCE)).map_err(wrong)?;
        let reader = BufReader::new(writer.try_clone().map_err(wrong)?);
        let mut monitor = Self {
            reader,
            writer,
            events: Vec::new(),
        };
        monitor.read()?;
        monitor.ask("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Runs a command.
    pub(super) fn ask(&mut self, command: &str, arguments: &Value) -> Result<(), String> {
        let line = json!({"execute": command, "arguments": arguments});
        writeln!(self.writer, "{line}").map_err(|error| format!("{command}: {error}"))?;
        loop {
            let answer = self.read()?;
            if !answer["error"].is_null() {
                return Err(format!("{command}: {}", answer["error"]["desc"]));
            }
            if !answer["return"].is_null() {
                return Ok(());
            }
            self.events.push(answer);
        }
    }

    /// Waits until a device has gone.
    pub(super) fn wait_gone(&mut self, device: &str) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let event = match self.events.pop() {
                Some(event) => event,
                None => self.read()?,
            };
            if event["event"] == "DEVICE_DELETED" && event["data"]["device"] == device {
                return Ok(());
            }
        }
        Err(format!("the guest keeps {device}"))
    }

    fn read(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        match read {
            Ok(0) => Err("QEMU's monitor went away".to_owned()),
            Ok(_) => serde_json::from_str(&line).map_err(|error| format!("{line}: {error}")),
            Err(error) => Err(format!("QEMU's monitor: {error}")),
        }
    }
}
