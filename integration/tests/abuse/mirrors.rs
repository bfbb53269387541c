//! A first mirror that misbehaves, and a good second one: whatever the first does, the node becomes ready.

use crate::node::{Node, undisturbed};
use crate::wire::{Answer, RawMirror, Wire};
use quake_integration::mirror::{self, Manners};
use quake_integration::node::Mirrored;
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Boots at once: each mostly waits.
const LANES: usize = 6;

/// The longest that one boot may take: a mirror that floods it costs much of a busy machine's time.
const LONGEST: Duration = Duration::from_secs(120);

const PAGE: &str = "<!DOCTYPE html><html><body>Sign in to the network</body></html>";

const ZEROS: &[u8] = &[0; 16 << 10];

/// A whole file under these headers.
fn whole(wire: &mut Wire, body: &[u8], headers: &[&str]) -> io::Result<()> {
    wire.head("200 OK", headers)?;
    wire.send(body)
}

/// The piece that was asked for, with the total that is claimed.
fn piece_of(wire: &mut Wire, file: &[u8], total: &str) -> io::Result<()> {
    let (from, until) = wire.requested(file);
    let range = format!("content-range: bytes {from}-{}/{total}", until.max(1) - 1);
    let length = format!("content-length: {}", until - from);
    wire.head("206 Partial Content", &[&range, &length])?;
    wire.send(&file[from..until])
}

/// The file with a byte wrong.
fn wrong(file: &[u8]) -> Vec<u8> {
    let mut wrong = file.to_vec();
    let middle = wrong.len() / 2;
    wrong[middle] ^= 1;
    wrong
}

fn status(wire: &mut Wire, status: &str, headers: &[&str]) -> io::Result<()> {
    let mut all = vec!["content-length: 0"];
    all.extend(headers);
    wire.head(status, &all)
}

/// Lengths in the head of a whole file.
const LENGTHS: &[(&str, Answer)] = &[
    ("a length of exabytes", |wire, _| {
        wire.head("200 OK", &["content-length: 9000000000000000000"])?;
        wire.send_for_ever(ZEROS)
    }),
    ("a length that an image could have", |wire, _| {
        wire.head("200 OK", &["content-length: 4000000000"])?;
        wire.send_for_ever(ZEROS)
    }),
    ("a length that is no number of 64 bits", |wire, _| {
        wire.head("200 OK", &["content-length: 99999999999999999999999"])?;
        wire.send_for_ever(ZEROS)
    }),
    ("a negative length", |wire, file| {
        whole(wire, file, &["content-length: -5"])
    }),
    ("a length in words", |wire, file| {
        whole(wire, file, &["content-length: many"])
    }),
    ("two lengths", |wire, file| {
        whole(wire, file, &["content-length: 5", "content-length: 7"])
    }),
    ("a length and a coding", |wire, _| {
        let headers = ["content-length: 5", "transfer-encoding: chunked"];
        whole(wire, b"3\r\nabc\r\n0\r\n\r\n", &headers)
    }),
    ("no length, and wrong bytes", |wire, file| {
        whole(wire, &wrong(file), &["connection: close"])
    }),
    ("too small a length", |wire, file| {
        let half = &file[..file.len() / 2];
        whole(wire, half, &[&format!("content-length: {}", half.len())])
    }),
    ("bytes behind the file", |wire, file| {
        let more = [file, b"more"].concat();
        whole(wire, &more, &[&format!("content-length: {}", more.len())])
    }),
    ("an empty file", |wire, _| status(wire, "200 OK", &[])),
    ("nothing at all", |wire, _| wire.head("204 No Content", &[])),
    ("a truncated file", |wire, file| {
        let length = format!("content-length: {}", file.len());
        whole(wire, &file[..file.len() / 2], &[&length])
    }),
    ("wrong bytes of the right length", |wire, file| {
        let length = format!("content-length: {}", file.len());
        whole(wire, &wrong(file), &[&length])
    }),
];

/// Answers to a request for a piece.
const PIECES: &[(&str, Answer)] = &[
    ("a total of exabytes", |wire, file| {
        piece_of(wire, file, "9000000000000000000")
    }),
    ("a total that an image could have", |wire, file| {
        piece_of(wire, file, "4000000000")
    }),
    ("too small a total", |wire, file| {
        piece_of(wire, file, "100")
    }),
    ("another total each time", |wire, file| {
        let total = file.len() + wire.number;
        piece_of(wire, file, &total.to_string())
    }),
    ("no total, and wrong bytes", |wire, file| {
        piece_of(wire, &wrong(file), "*")
    }),
    ("a total that is no number", |wire, file| {
        piece_of(wire, file, "many")
    }),
    ("another piece", |wire, file| {
        let range = format!("content-range: bytes 7-99/{}", file.len());
        wire.head("206 Partial Content", &[&range, "content-length: 93"])?;
        wire.send(&file[7..100])
    }),
    ("a piece that ends before it begins", |wire, file| {
        let range = format!("content-range: bytes 99-7/{}", file.len());
        status(wire, "206 Partial Content", &[&range])
    }),
    ("a piece without its place", |wire, file| {
        let length = format!("content-length: {}", file.len());
        wire.head("206 Partial Content", &[&length])?;
        wire.send(file)
    }),
    ("several pieces in one", |wire, _| {
        let kind = "content-type: multipart/byteranges; boundary=x";
        status(wire, "206 Partial Content", &[kind])
    }),
    ("pieces without an end", |wire, file| {
        let (from, _) = wire.requested(file);
        let range = format!("content-range: bytes {from}-{}/*", from + (1 << 40));
        wire.head("206 Partial Content", &[&range, "connection: close"])?;
        wire.send_for_ever(ZEROS)
    }),
    ("pieces of wrong bytes", |wire, file| {
        piece_of(wire, &wrong(file), &file.len().to_string())
    }),
    ("another tag each time", |wire, file| {
        let (tag, bytes) = (format!("etag: \"{}\"", wire.number), wrong(file));
        let (from, until) = wire.requested(file);
        let range = format!("content-range: bytes {from}-{}/{}", until - 1, file.len());
        let length = format!("content-length: {}", until - from);
        wire.head("206 Partial Content", &[&tag, &range, &length])?;
        wire.send(&bytes[from..until])
    }),
    ("416", |wire, _| {
        status(wire, "416 Range Not Satisfiable", &[])
    }),
    ("416 with a total of exabytes", |wire, _| {
        let range = "content-range: bytes */9000000000000000000";
        status(wire, "416 Range Not Satisfiable", &[range])
    }),
    ("416 as if all had come", |wire, _| {
        status(
            wire,
            "416 Range Not Satisfiable",
            &["content-range: bytes */0"],
        )
    }),
];

/// Statuses and redirects.
const STATUSES: &[(&str, Answer)] = &[
    ("304", |wire, _| wire.head("304 Not Modified", &[])),
    ("401", |wire, _| status(wire, "401 Unauthorized", &[])),
    ("404", |wire, _| status(wire, "404 Not Found", &[])),
    ("500", |wire, _| {
        status(wire, "500 Internal Server Error", &[])
    }),
    ("503 for a year", |wire, _| {
        status(wire, "503 Service Unavailable", &["retry-after: 31536000"])
    }),
    ("429 for a year", |wire, _| {
        status(wire, "429 Too Many Requests", &["retry-after: 31536000"])
    }),
    ("999", |wire, _| status(wire, "999 Whatever", &[])),
    ("another protocol", |wire, _| {
        let headers = ["connection: upgrade", "upgrade: websocket"];
        wire.head("101 Switching Protocols", &headers)?;
        wire.send_for_ever(ZEROS)
    }),
    ("a flood of interim answers", |wire, _| {
        wire.send_for_ever(b"HTTP/1.1 103 Early Hints\r\n\r\n")
    }),
    ("a redirect to itself", |wire, _| {
        let location = format!("location: {}", wire.path);
        status(wire, "302 Found", &[&location])
    }),
    ("a redirect to nowhere", |wire, _| {
        status(wire, "302 Found", &["location: http://127.0.0.1:1/x"])
    }),
    ("a redirect without a place", |wire, _| {
        status(wire, "302 Found", &[])
    }),
    ("a redirect to a file", |wire, _| {
        status(wire, "302 Found", &["location: file:///etc/passwd"])
    }),
    ("an error page with 200", |wire, _| {
        whole(
            wire,
            PAGE.as_bytes(),
            &[&format!("content-length: {}", PAGE.len())],
        )
    }),
];

/// What is no proper answer, or no answer.
const GARBAGE: &[(&str, Answer)] = &[
    ("a body without an end", |wire, _| {
        wire.head("200 OK", &["connection: close"])?;
        wire.send_for_ever(ZEROS)
    }),
    ("chunks without an end", |wire, _| {
        wire.head("200 OK", &["transfer-encoding: chunked"])?;
        wire.send_for_ever(b"4\r\nabcd\r\n")
    }),
    ("a broken chunk", |wire, _| {
        whole(wire, b"zz\r\nabc\r\n", &["transfer-encoding: chunked"])
    }),
    ("a chunk of exabytes", |wire, _| {
        wire.head("200 OK", &["transfer-encoding: chunked"])?;
        wire.send("7fffffffffffffff\r\n")?;
        wire.send_for_ever(ZEROS)
    }),
    ("a chunk of more than 64 bits", |wire, _| {
        wire.head("200 OK", &["transfer-encoding: chunked"])?;
        wire.send("ffffffffffffffffff\r\n")?;
        wire.send_for_ever(ZEROS)
    }),
    ("headers without an end", |wire, _| {
        wire.send("HTTP/1.1 200 OK\r\n")?;
        wire.send_for_ever(b"x-more: and more\r\n")
    }),
    ("a header without an end", |wire, _| {
        wire.send("HTTP/1.1 200 OK\r\nx-more: ")?;
        wire.send_for_ever(ZEROS)
    }),
    ("a header in a header", |wire, file| {
        let length = format!("content-length: {}", file.len());
        whole(wire, file, &["x-one: a\rx-two: b\0", &length])
    }),
    ("compressed, unasked", |wire, file| {
        let headers = ["content-encoding: gzip", "connection: close"];
        let bytes = [b"\x1f\x8b\x08\x00".as_slice(), file].concat();
        whole(wire, &bytes, &headers)
    }),
    ("a second answer behind the first", |wire, file| {
        let length = format!("content-length: {}", file.len());
        whole(wire, &wrong(file), &[&length])?;
        whole(wire, file, &[&length])
    }),
    ("a promise to keep the connection", |wire, file| {
        let length = format!("content-length: {}", file.len());
        whole(wire, &wrong(file), &[&length, "connection: keep-alive"])
    }),
    ("bytes without a head", |wire, file| wire.send(file)),
    ("another version", |wire, _| {
        wire.send("HTTP/7.0 200 OK\r\n\r\n")
    }),
    ("TLS in the clear", |wire, _| {
        wire.send(b"\x15\x03\x01\x00\x02\x02\x46")?;
        wire.send_for_ever(ZEROS)
    }),
    ("nothing but an end", |_, _| Ok(())),
    ("an end in the head", |wire, _| {
        wire.send("HTTP/1.1 200 OK\r\ncont")
    }),
    ("an end behind the head", |wire, file| {
        wire.head("200 OK", &[&format!("content-length: {}", file.len())])
    }),
    ("no answer", |wire, _| wire.hang()),
    ("a head and then nothing", |wire, file| {
        wire.head("200 OK", &[&format!("content-length: {}", file.len())])?;
        wire.hang()
    }),
    ("a byte every second", |wire, file| {
        wire.head("200 OK", &[&format!("content-length: {}", file.len())])?;
        wire.drip_for_ever(b"x", Duration::from_secs(1))
    }),
];

/// The scheme of a mirror that does not speak TLS.
const TLS: &[(&str, Answer)] = &[("no TLS where there should be", |wire, _| {
    wire.send_for_ever(ZEROS)
})];

#[test]
fn whatever_a_first_mirror_does_a_good_second_one_makes_the_node_ready() {
    let files = mirror::large(1).expect("memory takes it");
    let whole = undisturbed(&files);
    let good = mirror::start(files.clone(), Box::new(|_| Manners::Right)).expect("a free port");
    let plain = [LENGTHS, PIECES, STATUSES, GARBAGE].concat();
    let plain = plain
        .into_iter()
        .map(|(name, answer)| ("http", name, answer));
    let secured = TLS.iter().map(|(name, answer)| ("https", *name, *answer));
    let cases: Vec<_> = plain.chain(secured).collect();
    assert!(cases.len() >= 40, "{} are few", cases.len());
    let (began, count) = (Instant::now(), cases.len());
    let (waiting, found) = (Mutex::new(cases), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().pop();
                    let Some((scheme, name, answer)) = next else {
                        return;
                    };
                    let base = good.base();
                    let all = findings((scheme, answer), &base, &files, &whole);
                    let all = all.into_iter().map(|line| format!("{name}: {line}"));
                    found.lock().unwrap().extend(all);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    println!("abuse: {count} mirrors in {:.1?}", began.elapsed());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Boots with a mirror of this kind and a good one; all that is wrong then.
fn findings(
    (scheme, answer): (&str, Answer),
    good: &str,
    files: &Mirrored,
    whole: &Tree,
) -> Vec<String> {
    let bad = RawMirror::start(files.clone(), answer).expect("a free port");
    let base = format!("{scheme}://{}", bad.address());
    let node = Node::new(files, &[base, good.to_owned()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let ended = node.start(root.path()).end(LONGEST);
    if ended.status != 0 {
        return vec![format!("exit {}: {}", ended.status, ended.summary())];
    }
    let tree = Tree::of_node(root.path()).expect("the tree can be read");
    let mut findings = whole.differences(&tree);
    findings.extend(wrong_in_store(root.path()));
    findings
}

#[test]
fn an_only_mirror_that_claims_exabytes_is_named_with_its_claim_and_the_disk_is_not_blamed() {
    let files = mirror::large(1).expect("memory takes it");
    let claims: Answer = |wire, file| piece_of(wire, file, "9000000000000000000");
    let bad = RawMirror::start(files.clone(), claims).expect("a free port");
    let node = Node::new(&files, &[bad.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let ended = node.boot(root.path());
    assert_eq!(ended.status, 78, "{}", ended.text());
    let fault = &ended.summary()["fault"];
    assert_eq!(fault["code"], "assets.size-implausible", "{fault}");
    let summary = fault["summary"].as_str().unwrap_or_default();
    assert!(summary.contains(&bad.base()), "{summary}");
    assert!(
        summary.contains("claims 9000000000000000000 bytes"),
        "{summary}"
    );
}
