//! A mirror whose answers a test writes byte by byte.

use quake_integration::node::Mirrored;
use quake_integration::waiting::pause;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest that a connection is held open.
const LONGEST: Duration = Duration::from_secs(60);

/// Writes an answer; the file is the one that was asked for.
pub(crate) type Answer = fn(&mut Wire, &[u8]) -> io::Result<()>;

/// A connection whose request was read.
pub(crate) struct Wire {
    stream: TcpStream,
    /// The number of the request, from 0.
    pub(crate) number: usize,
    /// The path that was asked for.
    pub(crate) path: String,
    range: Option<(usize, Option<usize>)>,
}

/// A running mirror; it ends with its value.
pub(crate) struct RawMirror {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Wire {
    fn read(stream: TcpStream, number: usize) -> io::Result<Self> {
        stream.set_read_timeout(Some(LONGEST))?;
        stream.set_write_timeout(Some(LONGEST))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut range = None;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some(requested) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
                let (from, last) = requested.trim().split_once('-').unwrap_or((requested, ""));
                let until = last.parse::<usize>().ok().map(|last| last + 1);
                range = from.parse().ok().map(|from| (from, until));
            }
        }
        Ok(Self {
            stream,
            number,
            path,
            range,
        })
    }

    /// The first byte that was asked for, and the one behind the last.
    pub(crate) fn requested(&self, file: &[u8]) -> (usize, usize) {
        let (from, until) = self.range.unwrap_or((0, None));
        let until = until.unwrap_or(file.len()).min(file.len());
        (from.min(until), until)
    }

    /// Writes text or bytes.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Writes a status and these header lines, and the end of the head.
    pub(crate) fn head(&mut self, status: &str, headers: &[&str]) -> io::Result<()> {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        self.send(format!("HTTP/1.1 {status}\r\n{headers}\r\n"))
    }

    /// Writes this for ever, which ends when the agent closes the connection.
    pub(crate) fn send_for_ever(&mut self, bytes: &[u8]) -> io::Result<()> {
        loop {
            self.stream.write_all(bytes)?;
        }
    }

    /// Writes this slowly for ever.
    pub(crate) fn drip_for_ever(&mut self, bytes: &[u8], between: Duration) -> io::Result<()> {
        loop {
            self.stream.write_all(bytes)?;
            pause(between);
        }
    }

    /// Keeps the connection open until the agent closes it.
    pub(crate) fn hang(&mut self) -> io::Result<()> {
        let coming = Read::by_ref(&mut self.stream);
        io::copy(&mut coming.take(1 << 20), &mut io::sink()).map(|_| ())
    }
}

impl RawMirror {
    /// Serves the files of `files` on a free port of loopback, in the way of `answer`.
    pub(crate) fn start(files: Mirrored, answer: Answer) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let (flag, count) = (Arc::clone(&ended), AtomicUsize::new(0));
        let files = Arc::new(files);
        let accepting = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                let number = count.fetch_add(1, Ordering::SeqCst);
                let files = Arc::clone(&files);
                // Whatever becomes of the connection is the agent's business.
                std::thread::spawn(move || {
                    let read = Wire::read(stream, number);
                    drop(read.and_then(|mut wire| {
                        let file = files.at(&wire.path).unwrap_or_default().to_vec();
                        answer(&mut wire, &file)
                    }));
                });
            }
        });
        Ok(Self {
            address,
            ended,
            accepting: Some(accepting),
        })
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, without a slash at the end.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for RawMirror {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // A connection wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}
