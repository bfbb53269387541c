//! What is told from the first bytes, and what is said of bytes that are no archive.

use super::writer::{Tar, gzip, xz, zstd};
use super::{Yard, assert_refused, paths};
use crate::unpack::{dangerous, shown};
use quake_model::ports::Condition;
use std::io::{self, Read};

fn sample() -> Vec<u8> {
    let bytes: Vec<u8> = (0..700_000_u32)
        .flat_map(|n| (n / 3).to_le_bytes())
        .collect();
    Tar::new()
        .folder("bin/")
        .file("bin/tool", &bytes)
        .file("text", b"short")
        .end()
}

#[test]
fn an_archive_is_the_same_however_it_is_compressed() {
    let plain = sample();
    let expected = Yard::new().unpack(&plain).expect("it is honest");
    assert_eq!(paths(&expected), ["bin/tool", "text"]);
    assert_eq!(expected[0].size, 2_800_000);
    for (case, bytes) in [
        ("gzip", gzip(&plain)),
        ("xz", xz(&plain)),
        ("zstd", zstd(&plain)),
    ] {
        assert_eq!(Yard::new().unpack(&bytes).as_ref(), Ok(&expected), "{case}");
    }
}

#[test]
fn an_archive_may_be_compressed_in_pieces() {
    let plain = sample();
    let expected = Yard::new().unpack(&plain).expect("it is honest");
    let (a, b) = plain.split_at(1_000_001);
    for (case, compress) in [
        ("gzip", gzip as fn(&[u8]) -> Vec<u8>),
        ("xz", xz),
        ("zstd", zstd),
    ] {
        let bytes = [compress(a), compress(b""), compress(b)].concat();
        assert_eq!(Yard::new().unpack(&bytes).as_ref(), Ok(&expected), "{case}");
    }
    let skipped = [b"\x52\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(&plain)].concat();
    assert_eq!(
        Yard::new().unpack(&skipped),
        Ok(expected),
        "a zstd frame to be skipped"
    );
}

/// A stream that brings one byte at a time and counts them.
struct Slow<'a> {
    bytes: &'a [u8],
    read: &'a mut usize,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(1);
        self.bytes.read_exact(&mut buffer[..count])?;
        *self.read += count;
        Ok(count)
    }
}

#[test]
fn a_stream_is_read_to_its_end_however_it_comes_and_whatever_follows_the_archive() {
    let garbage = [7; 70_000];
    let archive = Tar::new().file("a", b"x").end();
    for (case, bytes) in [
        ("plain", archive.clone()),
        ("gzip", gzip(&archive)),
        ("zstd", zstd(&archive)),
    ] {
        let yard = Yard::new();
        let bytes = [bytes, garbage.to_vec()].concat();
        let mut read = 0;
        let slow = Slow {
            bytes: &bytes,
            read: &mut read,
        }
        .chain(io::empty());
        // One byte at a time never reports its end, so it ends by the length.
        let members = crate::unpack::unpack(slow.take(bytes.len() as u64), &yard.target());
        assert_eq!(
            paths(&members.expect("what follows the end is no part of it")),
            ["a"],
            "{case}"
        );
        assert_eq!(read, bytes.len(), "{case}");
    }
}

#[test]
fn an_archive_without_the_mark_of_its_end_is_taken() {
    let archive = Tar::new().file("a", b"x").open_end();
    assert_eq!(
        paths(
            &Yard::new()
                .unpack(&archive)
                .expect("some writers leave it out")
        ),
        ["a"]
    );
}

#[test]
fn an_archive_that_ends_early_is_refused() {
    let plain = sample();
    for (case, bytes) in [
        ("plain", plain.clone()),
        ("gzip", gzip(&plain)),
        ("xz", xz(&plain)),
        ("zstd", zstd(&plain)),
    ] {
        for part in [bytes.len() / 2, bytes.len() / 3] {
            assert_refused(case, &bytes[..part], "ends early");
        }
    }
    assert_refused("within a header", &plain[..700], "ends early");
}

#[test]
fn bytes_that_are_no_archive_are_named_for_what_they_look_like() {
    for (bytes, looks) in [
        (b"".as_slice(), "it looks like nothing at all"),
        (b"<html>no such key</html>", "it looks like an HTML page"),
        (b"\x7fELF\x02\x01\x01", "it looks like an ELF program"),
        (b"PK\x03\x04", "it looks like a zip archive"),
        (b"BZh91AY", "it looks like a bzip2 file"),
        (b"MZ\x90\xff", "it looks like unknown binary data"),
    ] {
        assert_refused(looks, bytes, looks);
        let long = [bytes, &[b' '; 2000]].concat();
        if !bytes.is_empty() {
            assert_refused(looks, &long, looks);
            let inside = looks.replace("it looks like ", "a gzip file of ");
            assert_refused(looks, &gzip(&long), &inside);
        }
    }
}

#[test]
fn a_damaged_archive_is_refused_by_the_name_of_its_compression() {
    let plain = sample();
    // The first block of each says here that it is of a kind that does not exist.
    for (name, mut bytes, at) in [
        ("gzip", gzip(&plain), 10),
        ("xz", xz(&plain), 200),
        ("zstd", zstd(&plain), 6),
    ] {
        bytes[at..at + 8].fill(0xff);
        assert_refused(name, &bytes, &format!("cannot be unpacked by {name}"));
    }
}

#[test]
fn a_zstd_window_of_more_than_128_mebibytes_is_refused() {
    let plain = Tar::new().file("a", b"x").end();
    let with_window = |log: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("it can be made");
        encoder.window_log(log).expect("it is within the format");
        io::copy(&mut plain.as_slice(), &mut encoder).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    };
    assert_eq!(
        paths(
            &Yard::new()
                .unpack(&with_window(27))
                .expect("it is the most")
        ),
        ["a"]
    );
    assert_refused("window", &with_window(28), "cannot be unpacked by zstd");
}

/// The CRC-32 of an xz header.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn an_xz_window_of_more_than_128_mebibytes_is_refused() {
    // The header of the first block: its size, flags, the filter with the size of its properties, the window.
    let with_window = |code: u8| {
        let mut bytes = xz(&Tar::new().file("a", b"x").end());
        bytes[16] = code;
        let end = 12 + usize::from(bytes[12]) * 4;
        let sum = crc32(&bytes[12..end]);
        bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
        bytes
    };
    let members = Yard::new().unpack(&with_window(30));
    assert_eq!(paths(&members.expect("128 MiB is the most")), ["a"]);
    assert_refused("192 MiB", &with_window(31), "cannot be unpacked by xz");
}

/// A stream that breaks off as a connection does.
struct Broken(Vec<u8>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the peer went away",
            ));
        }
        let count = buffer.len().min(self.0.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0.drain(..count);
        Ok(count)
    }
}

#[test]
fn a_stream_that_breaks_off_is_not_called_dangerous() {
    let plain = sample();
    for bytes in [plain.clone(), gzip(&plain), xz(&plain), zstd(&plain)] {
        for part in [0, 20, bytes.len() / 2, bytes.len()] {
            let yard = Yard::new();
            let stream = Broken(bytes[..part].to_vec());
            let error = crate::unpack::unpack(stream, &yard.target()).expect_err("it breaks");
            assert_eq!(error.condition, Condition::Io, "{error:?}");
            assert_eq!(error.causes, ["the peer went away"]);
        }
    }
}

#[test]
fn a_name_in_a_message_is_short_and_harmless() {
    assert_eq!(shown(b"a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
    let long = shown(&[b'x'; 5000]);
    assert!(long.ends_with("… (5000 bytes)"), "{long}");
    assert!(dangerous(long).summary.len() < 200);
}
