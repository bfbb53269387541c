//! A server on loopback, or on any listener, that answers as a test tells it to. It ends with its value.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a client may be silent within a request.
const SILENCE: Duration = Duration::from_secs(20);

/// A request, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The first header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The status; zero closes the connection without a word.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Lets this pass between pieces of the body, where a slow server is wanted.
    pub pace: Option<Duration>,
}

impl Reply {
    /// A status with a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            body: body.into(),
            ..Self::default()
        }
    }

    /// No answer at all: the connection ends.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The same with a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    listener: TcpListener,
    ended: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Request>>>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on a free port of loopback.
    ///
    /// # Errors
    ///
    /// Returns the error of the listener.
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> io::Result<Self> {
        Self::on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, answer)
    }

    /// Serves on this listener, which may be of another network namespace.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn on(
        listener: TcpListener,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::by_client(listener, move |_, request| answer(request))
    }

    /// Serves on this listener; what is answered depends on the client's address too.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn by_client(
        listener: TcpListener,
        answer: impl Fn(IpAddr, &Request) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::over(listener, |stream| Ok(Box::new(stream)), answer)
    }

    /// Serves on this listener over TLS.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn by_tls(
        listener: TcpListener,
        config: Arc<rustls::ServerConfig>,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::by_tls_and_client(listener, config, move |_, request| answer(request))
    }

    /// The same; what is answered depends on the client's address too.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn by_tls_and_client(
        listener: TcpListener,
        config: Arc<rustls::ServerConfig>,
        answer: impl Fn(IpAddr, &Request) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let begin = move |stream| -> io::Result<Box<dyn Stream>> {
            let tls = rustls::ServerConnection::new(Arc::clone(&config));
            let tls = tls.map_err(io::Error::other)?;
            Ok(Box::new(rustls::StreamOwned::new(tls, stream)))
        };
        Self::over(listener, begin, answer)
    }

    fn over(
        listener: TcpListener,
        begin: impl Fn(TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync + 'static,
        answer: impl Fn(IpAddr, &Request) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::default();
        let (accepting, flag, list) =
            (listener.try_clone()?, Arc::clone(&ended), Arc::clone(&seen));
        let (answer, begin) = (Arc::new(answer), Arc::new(begin));
        let accepting = std::thread::spawn(move || {
            while let Ok((stream, client)) = accepting.accept() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                let (answer, list) = (Arc::clone(&answer), Arc::clone(&list));
                let begin = Arc::clone(&begin);
                // A client that goes away in the middle is no failure of the server.
                std::thread::spawn(move || {
                    let answer = |request: &Request| answer(client.ip(), request);
                    let opened = stream.set_read_timeout(Some(SILENCE));
                    drop(opened.and_then(|()| serve(begin(stream)?, &answer, &list)));
                });
            }
        });
        Ok(Self {
            address,
            listener,
            ended,
            seen,
            accepting: Some(accepting),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, without a slash at the end.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Shutting a listening socket down wakes its accept, also where no connection could reach it.
        if let Ok(listener) = self.listener.try_clone() {
            let _ = TcpStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
        }
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// A connection, be it in the clear or not.
pub(crate) trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

fn serve(
    mut stream: Box<dyn Stream>,
    answer: &(dyn Fn(&Request) -> Reply + Send + Sync),
    seen: &Mutex<Vec<Request>>,
) -> io::Result<()> {
    let Some(request) = read_request(&mut stream)? else {
        return Ok(());
    };
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request.clone());
    let reply = answer(&request);
    if reply.status == 0 {
        return Ok(());
    }
    let is_head = request.method == "HEAD";
    write_reply(stream, &reply, is_head)
}

/// The next request of a connection; `None` at its end.
pub(crate) fn read_request(stream: &mut dyn Stream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .and_then(|text| text.parse().ok());
    if let Some(length) = length {
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body)?;
    }
    Ok(Some(request))
}

fn write_reply(mut stream: Box<dyn Stream>, reply: &Reply, is_head: bool) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Told\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !reply
        .headers
        .iter()
        .any(|(name, _)| name == "content-length")
    {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    if is_head {
        return stream.flush();
    }
    let piece = if reply.pace.is_some() {
        16 << 10
    } else {
        1 << 20
    };
    for bytes in reply.body.chunks(piece) {
        stream.write_all(bytes)?;
        if let Some(pace) = reply.pace {
            crate::waiting::pause(pace);
        }
    }
    stream.flush()
}
