//! A name server whose answers a test writes byte by byte, over UDP and over TCP.

use quake_integration::namespace::Namespace;
use quake_integration::waiting::pause;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A query for the IPv4 addresses of a name.
pub(crate) const A: u16 = 1;

/// A record that names another name.
const CNAME: u16 = 5;

/// How long the header is.
const HEADER: usize = 12;

/// How often a server looks whether it has ended, and how long a client of TCP may be silent.
const LOOK: Duration = Duration::from_millis(200);

/// A question that was asked.
pub(crate) struct Query {
    id: [u8; 2],
    /// The name, the type and the class, as they came.
    question: Vec<u8>,
    /// Which records are asked for, such as [`A`].
    pub(crate) kind: u16,
    /// Whether it came over TCP.
    pub(crate) is_tcp: bool,
}

/// The datagrams that answer a query; over TCP each is one message.
pub(crate) type Answers = fn(&Query) -> Vec<Vec<u8>>;

impl Query {
    fn read(bytes: &[u8], is_tcp: bool) -> Option<Self> {
        let mut end = HEADER;
        while *bytes.get(end)? != 0 {
            end += usize::from(bytes[end]) + 1;
        }
        let kind = bytes.get(end + 1..end + 3)?;
        Some(Self {
            id: [*bytes.first()?, *bytes.get(1)?],
            question: bytes.get(HEADER..end + 5)?.to_vec(),
            kind: u16::from_be_bytes([kind[0], kind[1]]),
            is_tcp,
        })
    }

    /// An answer with this code and these records.
    pub(crate) fn answer(&self, code: u8, records: &[Vec<u8>]) -> Vec<u8> {
        let count = u16::try_from(records.len()).unwrap_or(u16::MAX);
        let mut bytes = self.id.to_vec();
        // A response; recursion was wanted, and is available.
        bytes.extend([0x81, 0x80 | code, 0, 1]);
        bytes.extend(count.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&self.question);
        bytes.extend(records.concat());
        bytes
    }

    /// An answer that gives these addresses; without any where others are asked for.
    pub(crate) fn addresses(&self, addresses: &[Ipv4Addr]) -> Vec<u8> {
        let records = addresses.iter().map(|it| record(A, &it.octets()));
        match self.kind {
            A => self.answer(0, &records.collect::<Vec<_>>()),
            _ => self.answer(0, &[]),
        }
    }

    /// An answer that says that the name is another one, encoded.
    pub(crate) fn alias(&self, of: &[u8]) -> Vec<u8> {
        self.answer(0, &[record(CNAME, of)])
    }
}

/// A record of the name in the question.
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xc0, 12];
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 60]);
    bytes.extend(u16::try_from(data.len()).unwrap_or(u16::MAX).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A running name server; it ends with its value.
pub(crate) struct Resolver {
    ended: Arc<AtomicBool>,
}

impl Resolver {
    /// Serves at this address of a namespace.
    pub(crate) fn start(
        namespace: &Namespace,
        address: Ipv4Addr,
        answers: Answers,
    ) -> io::Result<Self> {
        let address = format!("{address}:53");
        let datagrams = namespace.receive(&address)?;
        let listener = namespace.listen(&address)?;
        datagrams.set_read_timeout(Some(LOOK))?;
        listener.set_nonblocking(true)?;
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        std::thread::spawn(move || serve_datagrams(datagrams, answers, &flag));
        let flag = Arc::clone(&ended);
        std::thread::spawn(move || serve_streams(&listener, answers, &flag));
        Ok(Self { ended })
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

fn serve_datagrams(socket: UdpSocket, answers: Answers, ended: &AtomicBool) {
    let socket = Arc::new(socket);
    let mut bytes = [0; 4096];
    while !ended.load(Ordering::SeqCst) {
        let Ok((length, client)) = socket.recv_from(&mut bytes) else {
            continue;
        };
        let Some(query) = Query::read(&bytes[..length], false) else {
            continue;
        };
        let socket = Arc::clone(&socket);
        // One that is late keeps no other waiting. A client that is gone misses nothing.
        std::thread::spawn(move || {
            for answer in answers(&query) {
                let _ = socket.send_to(&answer, client);
            }
        });
    }
}

fn serve_streams(listener: &TcpListener, answers: Answers, ended: &AtomicBool) {
    while !ended.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((stream, _)) => drop(std::thread::spawn(move || serve_stream(stream, answers))),
            Err(_) => pause(LOOK),
        }
    }
}

/// Answers the queries of one connection until it ends.
fn serve_stream(mut stream: TcpStream, answers: Answers) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LOOK * 50))?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut bytes)?;
        let Some(query) = Query::read(&bytes, true) else {
            return Ok(());
        };
        for answer in answers(&query) {
            let length = u16::try_from(answer.len()).unwrap_or(u16::MAX);
            stream.write_all(&length.to_be_bytes())?;
            stream.write_all(&answer)?;
        }
    }
}

/// The lines of a `resolv.conf` that names these servers.
pub(crate) fn configuration(servers: &[Ipv4Addr]) -> String {
    servers
        .iter()
        .map(|server| format!("nameserver {server}\n"))
        .collect()
}
