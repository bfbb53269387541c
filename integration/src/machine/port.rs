//! A shell inside an emulated machine, over a virtio port: no network, no keys, and it is there before both.
//! Each script is a line with a number of its own, and so is what came of it: an answer to a script that was given
//! up is told from the one that is awaited.

use super::backend::Ran;
use crate::waiting::wait_until;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The port's name, as the guest sees it.
pub(super) const NAME: &str = "quake.shell";

/// What answers inside.
pub(super) const PROGRAM: &str = include_str!("../../guest/shell.sh");

/// Its unit; a rule of udev starts it when the port appears.
pub(super) const UNIT: &str = include_str!("../../guest/quake-shell.service");

/// The rule.
pub(super) const RULE: &str = "SUBSYSTEM==\"virtio-ports\", ATTR{name}==\"quake.shell\", \
    SYMLINK+=\"virtio-ports/quake.shell\", TAG+=\"systemd\", ENV{SYSTEMD_WANTS}+=\"quake-shell.service\"\n";

/// The host's end of the port.
#[derive(Debug)]
pub(super) struct Port {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    requests: u64,
    line: Vec<u8>,
}

/// How long QEMU may take from a socket's file to listening on it.
const LISTENS: Duration = Duration::from_secs(20);

/// Connects to one of QEMU's sockets. Its file is there a moment before anything listens.
pub(super) fn connected(socket: &Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket);
    wait_until(LISTENS, || {
        let refused = stream
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused {
            stream = UnixStream::connect(socket);
        }
        !refused
    });
    stream
}

impl Port {
    /// Connects; what is asked before the guest is there waits for it.
    pub(super) fn connect(socket: &Path) -> Result<Self, String> {
        let wrong = |error: io::Error| format!("the guest's port at {}: {error}", socket.display());
        let writer = connected(socket).map_err(wrong)?;
        let reader = BufReader::new(writer.try_clone().map_err(wrong)?);
        Ok(Self {
            reader,
            writer,
            requests: 0,
            line: Vec::new(),
        })
    }

    /// Runs a script.
    pub(super) fn run(&mut self, script: &str, longest: Duration) -> Result<Ran, String> {
        self.requests += 1;
        let line = format!("{} {}\n", self.requests, STANDARD.encode(script));
        let end = Instant::now() + longest;
        let wrong = |error: io::Error| format!("the guest's shell: {error}");
        self.writer
            .set_write_timeout(Some(longest))
            .map_err(wrong)?;
        self.writer.write_all(line.as_bytes()).map_err(wrong)?;
        loop {
            let left = end
                .saturating_duration_since(Instant::now())
                .max(Duration::from_millis(1));
            self.writer.set_read_timeout(Some(left)).map_err(wrong)?;
            match self.reader.read_until(b'\n', &mut self.line) {
                Ok(0) => return Err("the guest's port was closed".to_owned()),
                Ok(_) if self.line.ends_with(b"\n") => {
                    let line = std::mem::take(&mut self.line);
                    if let Some(ran) = read(&String::from_utf8_lossy(&line), self.requests) {
                        return Ok(ran);
                    }
                }
                Ok(_) => {}
                Err(error) if is_silence(&error) && Instant::now() < end => {}
                Err(error) if is_silence(&error) => {
                    return Err(format!(
                        "the guest did not end {script:?} within {longest:?}"
                    ));
                }
                Err(error) => return Err(wrong(error)),
            }
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    [
        io::ErrorKind::WouldBlock,
        io::ErrorKind::TimedOut,
        io::ErrorKind::Interrupted,
    ]
    .contains(&error.kind())
}

/// Reads `number status output errors`, the last two in base64 with a letter before each, for they may be empty.
fn read(line: &str, number: u64) -> Option<Ran> {
    let mut words = line.split_whitespace();
    if words.next()?.parse() != Ok(number) {
        return None;
    }
    let status = words.next()?.parse().ok()?;
    let mut text = || {
        let bytes = STANDARD.decode(words.next()?.get(1..)?).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Some(Ran {
        status,
        stdout: text()?,
        stderr: text()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_another_script_is_none_to_this_one() {
        let line = "7 1 oaGk= e\n";
        assert_eq!(read(line, 8), None);
        let ran = Ran {
            status: 1,
            stdout: "hi".to_owned(),
            stderr: String::new(),
        };
        assert_eq!(read(line, 7), Some(ran));
    }
}
