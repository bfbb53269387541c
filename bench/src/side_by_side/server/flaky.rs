//! A server that misbehaves on purpose: every seventh request goes wrong, each time in another way.
//!
//! It speaks plain http, one thread for each connection, with ranges and keep-alive.

use super::log::Traffic;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Each request whose number this divides goes wrong.
const EVERY: u64 = 7;

/// A client that says nothing for so long is let go.
const SILENCE: Duration = Duration::from_secs(30);

/// Headers longer than this are nobody's here.
const MOST_HEADERS: usize = 100;

/// What is done to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Well,
    /// The connection is reset after the first bytes.
    Reset,
    /// 503.
    Unavailable,
    /// The length is right and the connection is closed at half of it.
    Truncated,
    /// The length is right and the bytes are not.
    Lying,
}

/// What is done to the request of this number, counted from one.
fn treatment(number: u64) -> Treatment {
    if !number.is_multiple_of(EVERY) {
        return Treatment::Well;
    }
    match number / EVERY % 4 {
        1 => Treatment::Reset,
        2 => Treatment::Unavailable,
        3 => Treatment::Truncated,
        _ => Treatment::Lying,
    }
}

#[derive(Debug, Default)]
struct Counters {
    /// Decides which request goes wrong; set anew for each run.
    turn: AtomicU64,
    requests: AtomicU64,
    connections: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
    ends: AtomicBool,
}

/// The running server; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Flaky {
    /// Where it listens, on 127.0.0.1.
    pub(crate) port: u16,
    counters: Arc<Counters>,
}

impl Flaky {
    /// Starts it over the files below `served`.
    ///
    /// # Errors
    ///
    /// Fails when nothing can be listened on.
    pub(crate) fn start(served: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let counters = Arc::new(Counters::default());
        let (shared, served) = (Arc::clone(&counters), served.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.ends.load(Ordering::Relaxed) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (shared, served) = (Arc::clone(&shared), served.clone());
                // A client that goes away is the client's affair.
                std::thread::spawn(move || {
                    let _ = converse(stream, &served, &shared);
                });
            }
        });
        Ok(Self { port, counters })
    }

    /// Begins a run: its third request goes wrong, and every seventh from there, so that no subject is spared
    /// because it asks seldom; the round decides how the first goes wrong.
    pub(crate) fn begin(&self, round: usize) {
        let turn = EVERY * round as u64 + EVERY - 3;
        self.counters.turn.store(turn, Ordering::Relaxed);
    }

    /// What was asked so far.
    pub(crate) fn traffic(&self) -> Traffic {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            requests: read(&self.counters.requests),
            connections: read(&self.counters.connections),
            bytes: read(&self.counters.bytes),
            refused: read(&self.counters.refused),
        }
    }
}

impl Drop for Flaky {
    fn drop(&mut self) {
        self.counters.ends.store(true, Ordering::Relaxed);
        // The listener wakes for one more connection and sees that it is to end.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

struct FileRequest {
    path: PathBuf,
    range: Option<(u64, Option<u64>)>,
}

fn converse(stream: TcpStream, served: &Path, counters: &Counters) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(requested) = read_request(&mut reader, served)? {
        counters.requests.fetch_add(1, Ordering::Relaxed);
        let number = counters.turn.fetch_add(1, Ordering::Relaxed) + 1;
        let treatment = treatment(number);
        if treatment != Treatment::Well {
            counters.refused.fetch_add(1, Ordering::Relaxed);
        }
        if treatment == Treatment::Unavailable {
            write!(
                stream,
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
            )?;
            continue;
        }
        let Ok(file) = File::open(&requested.path) else {
            write!(
                stream,
                "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
            )?;
            continue;
        };
        answer(&mut stream, &file, requested.range, treatment, counters)?;
        if matches!(treatment, Treatment::Reset | Treatment::Truncated) {
            return Ok(());
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead, served: &Path) -> io::Result<Option<FileRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let Some(path) = line.split(' ').nth(1).and_then(|path| below(served, path)) else {
        return Ok(None);
    };
    let mut range = None;
    for _ in 0..MOST_HEADERS {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            return Ok(Some(FileRequest { path, range }));
        }
        if let Some(requested) = header.strip_prefix("range:") {
            range = parse_range(requested);
        }
    }
    Ok(None)
}

/// A path below the served directory; nothing that climbs out of it.
fn below(served: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path.strip_prefix('/')?);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| served.join(relative))
}

/// `bytes=FIRST-` or `bytes=FIRST-LAST`; other forms are answered with everything (RFC 9110, 14.2).
fn parse_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let last = match last {
        "" => None,
        digits => Some(digits.parse().ok()?),
    };
    Some((first.parse().ok()?, last))
}

fn answer(
    stream: &mut TcpStream,
    file: &File,
    range: Option<(u64, Option<u64>)>,
    treatment: Treatment,
    counters: &Counters,
) -> io::Result<()> {
    let size = file.metadata()?.len();
    let (first, end) = match range {
        Some((first, last)) if first < size => (
            first,
            last.map_or(size, |last| size.min(last.saturating_add(1))),
        ),
        _ => (0, size),
    };
    let length = end.saturating_sub(first);
    let head = if length < size {
        let last = end.saturating_sub(1);
        format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{size}\r\n")
    } else {
        "HTTP/1.1 200 OK\r\n".to_owned()
    };
    write!(
        stream,
        "{head}ETag: \"bench-{size}\"\r\nAccept-Ranges: bytes\r\nContent-Length: {length}\r\n\r\n"
    )?;
    let stop = match treatment {
        Treatment::Reset => first + length.min(65_536),
        Treatment::Truncated => first + length / 2,
        Treatment::Well | Treatment::Lying | Treatment::Unavailable => end,
    };
    let lie = (treatment == Treatment::Lying).then(|| first + length / 2);
    send(stream, file, (first, stop), lie, counters)?;
    if treatment == Treatment::Reset {
        let now = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(stream, sockopt::Linger, &now)?;
    }
    Ok(())
}

/// Sends `file[first..stop]`, with the byte at `lie` changed.
fn send(
    stream: &mut TcpStream,
    file: &File,
    (first, stop): (u64, u64),
    lie: Option<u64>,
    counters: &Counters,
) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    let mut at = first;
    while at < stop {
        let wanted = usize::try_from(stop - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = file.read_at(&mut buffer[..wanted], at)?;
        if count == 0 {
            return Ok(());
        }
        let changed = lie.and_then(|lie| usize::try_from(lie.checked_sub(at)?).ok());
        if let Some(byte) = changed.and_then(|place| buffer[..count].get_mut(place)) {
            *byte ^= 0xff;
        }
        stream.write_all(&buffer[..count])?;
        counters.bytes.fetch_add(count as u64, Ordering::Relaxed);
        at += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn ask(port: u16, headers: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
        write!(stream, "GET /file HTTP/1.1\r\n{headers}\r\n").expect("it reads");
        // A reset may come before this and before the end; what came until then counts.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    #[test]
    fn every_seventh_request_goes_wrong_in_turn() {
        let wrong: Vec<_> = (1..=28)
            .map(treatment)
            .filter(|treatment| *treatment != Treatment::Well)
            .collect();
        let turns = [
            Treatment::Reset,
            Treatment::Unavailable,
            Treatment::Truncated,
            Treatment::Lying,
        ];
        assert_eq!(wrong, turns);
    }

    #[test]
    fn a_range_is_answered_with_its_bytes_and_the_seventh_request_is_cut() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        std::fs::write(folder.path().join("file"), [b'x'; 300_000]).expect("it is ours");
        let server = Flaky::start(folder.path()).expect("loopback is there");
        let part = ask(server.port, "Range: bytes=10-19\r\n");
        assert!(part.starts_with(b"HTTP/1.1 206") && part.ends_with(b"\r\n\r\nxxxxxxxxxx"));
        for _ in 0..5 {
            assert!(ask(server.port, "").len() > 300_000);
        }
        assert!(ask(server.port, "").len() < 300_000);
        assert_eq!(server.traffic().requests, 7);
        assert_eq!(server.traffic().refused, 1);
        server.begin(5);
        let sizes = [(); 3].map(|()| ask(server.port, "").len());
        assert!(sizes[1] > 300_000 && sizes[2] < 300_000, "{sizes:?}");
    }

    #[test]
    fn a_path_never_leaves_the_served_folder() {
        let served = Path::new("/served");
        assert_eq!(below(served, "/a/b"), Some("/served/a/b".into()));
        assert_eq!(below(served, "/../etc/passwd"), None);
        assert_eq!(below(served, "//etc/passwd"), None);
    }
}
