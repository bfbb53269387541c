//! A mirror of assets that sends pieces of files, as real ones do, and misbehaves as a test tells it to.

use crate::http::{Reply, Request, Server};
use crate::node::{Mirrored, archive};
use crate::random::Random;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a mirror answers its nth request, counted from one.
pub type Manner = Box<dyn Fn(u64) -> Manners + Send + Sync>;

/// What becomes of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    Right,
    /// The connection ends without an answer.
    Reset,
    /// Half of the body comes, then the connection ends.
    Truncated,
    /// The server is not to be had.
    Unavailable,
    /// One byte is wrong.
    Lying,
    /// It comes slowly: 16 KiB after each such pause.
    Paced(Duration),
}

/// Serves `files` in pieces, each request in its manner.
///
/// # Errors
///
/// Returns the error of the listener.
pub fn start(files: Mirrored, manner: Manner) -> io::Result<Server> {
    Server::start(answering(files, manner))
}

/// How a mirror of `files` answers, each request in its manner.
pub fn answering(files: Mirrored, manner: Manner) -> impl Fn(&Request) -> Reply + Send + Sync {
    let requested = AtomicU64::new(0);
    move |request| {
        let number = requested.fetch_add(1, Ordering::SeqCst) + 1;
        match files.at(request.path()) {
            Some(bytes) => with_manners(piece(request, bytes), manner(number)),
            None => Reply::new(404, ""),
        }
    }
}

/// Every seventh request fails, each time in the next of all ways.
pub fn every_seventh_fails() -> Manner {
    let ways = [
        Manners::Reset,
        Manners::Truncated,
        Manners::Unavailable,
        Manners::Lying,
    ];
    Box::new(move |number| match (number % 7, number / 7) {
        (0, turn) => ways[usize::try_from(turn).unwrap_or_default() % ways.len()],
        _ => Manners::Right,
    })
}

/// Assets large enough to come in several pieces: two programs and an archive of plugins, of bytes that chance gives.
///
/// # Errors
///
/// Returns the error of the archive's writer.
pub fn large(mebibytes: usize) -> io::Result<Mirrored> {
    let mut random = Random::seeded(7);
    let mut bytes = |length: usize| -> Vec<u8> {
        let words = length.div_ceil(8);
        let mut bytes: Vec<u8> = (0..words)
            .flat_map(|_| random.next_number().to_le_bytes())
            .collect();
        bytes.truncate(length);
        bytes
    };
    let mebibyte = 1 << 20;
    let plugins = [
        ("bridge", bytes(mebibytes * mebibyte)),
        ("host-local", bytes(777)),
        ("loopback", bytes(mebibyte / 2)),
    ];
    let files = [
        (
            "/bin/linux/amd64/kubelet",
            bytes(mebibytes * mebibyte + 333),
        ),
        ("/bin/linux/amd64/kubectl", bytes(mebibyte)),
        (
            "/network-plugins/cni-plugins-amd64-v0.7.5.tgz",
            archive(&plugins)?,
        ),
    ];
    Ok(files.into_iter().collect())
}

/// The whole of a file, or the piece of it that a request asks for.
pub fn piece(request: &Request, bytes: &[u8]) -> Reply {
    let tag = "\"1\"";
    let reply = match range_of(request) {
        Some((from, until)) if from < bytes.len() => {
            let until = until.unwrap_or(bytes.len()).min(bytes.len());
            let range = format!("bytes {from}-{}/{}", until - 1, bytes.len());
            Reply::new(206, &bytes[from..until]).with("content-range", &range)
        }
        Some(_) => Reply::new(416, ""),
        None => Reply::new(200, bytes),
    };
    reply.with("etag", tag)
}

fn range_of(request: &Request) -> Option<(usize, Option<usize>)> {
    let range = request.header("range")?.strip_prefix("bytes=")?;
    let (from, last) = range.split_once('-')?;
    let last = last.parse::<usize>().ok();
    Some((from.parse().ok()?, last.map(|last| last + 1)))
}

fn with_manners(mut reply: Reply, manners: Manners) -> Reply {
    match manners {
        Manners::Right => reply,
        Manners::Reset => Reply::nothing(),
        Manners::Unavailable => Reply::new(503, ""),
        Manners::Truncated => {
            let length = reply.body.len();
            reply.body.truncate(length / 2);
            reply.with("content-length", &length.to_string())
        }
        Manners::Lying => {
            let middle = reply.body.len() / 2;
            if let Some(byte) = reply.body.get_mut(middle) {
                *byte ^= 1;
            }
            reply
        }
        Manners::Paced(pause) => Reply {
            pace: Some(pause),
            ..reply
        },
    }
}
