//! What a name server answers that lies, or is troubled, about the name of a mirror.

use crate::resolver::{A, Answers, Query};
use quake_integration::waiting::pause;
use std::net::Ipv4Addr;
use std::time::Duration;

/// A network that swallows what is sent to it.
const DEAD: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
const LINK_LOCAL: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// What a name server does, and the code and exit status of a boot whose only mirror it names.
pub(crate) type Row = (&'static str, Answers, &'static str, i32);

/// What no name server should do.
pub(crate) const LIES: &[Row] = &[
    ("no answer", |_| Vec::new(), "assets.unreachable", 75),
    (
        "a format error",
        |query| vec![query.answer(1, &[])],
        "assets.unreachable",
        75,
    ),
    (
        "SERVFAIL",
        |query| vec![query.answer(2, &[])],
        "assets.unreachable",
        75,
    ),
    (
        "NXDOMAIN",
        |query| vec![query.answer(3, &[])],
        "assets.unreachable",
        75,
    ),
    (
        "REFUSED",
        |query| vec![query.answer(5, &[])],
        "assets.unreachable",
        75,
    ),
    (
        "no address",
        |query| vec![query.answer(0, &[])],
        "assets.unreachable",
        75,
    ),
    (
        "an empty datagram",
        |_| vec![Vec::new()],
        "assets.unreachable",
        75,
    ),
    ("a datagram cut short", cut_short, "assets.unreachable", 75),
    (
        "garbage",
        |_| vec![vec![0xff; 512]],
        "assets.unreachable",
        75,
    ),
    (
        "garbage behind the right header",
        garbage,
        "assets.unreachable",
        75,
    ),
    (
        "more records than there are",
        too_few,
        "assets.unreachable",
        75,
    ),
    (
        "a name that points at itself",
        pointer,
        "assets.unreachable",
        75,
    ),
    (
        "another query's answer",
        other_query,
        "assets.unreachable",
        75,
    ),
    (
        "another question's answer",
        other_question,
        "assets.unreachable",
        75,
    ),
    (
        "an alias of itself",
        |query| vec![query.alias(&[0xc0, 12])],
        "assets.unreachable",
        75,
    ),
    ("aliases without an end", endless, "assets.unreachable", 75),
    ("an answer after long", late, "assets.unreachable", 75),
    ("for ever more by TCP", truncated, "assets.unreachable", 75),
    (
        "1,000 dead addresses",
        |query| vec![dead(query)],
        "assets.unreachable",
        75,
    ),
    (
        "1,000 dead addresses by TCP",
        dead_by_tcp,
        "assets.unreachable",
        75,
    ),
    (
        "a port of loopback without a listener",
        |query| loopback(query, 9),
        "assets.unreachable",
        75,
    ),
    (
        "a web page on loopback",
        |query| loopback(query, 1),
        "assets.digest-mismatch",
        78,
    ),
    (
        "the metadata service",
        |query| vec![query.addresses(&[LINK_LOCAL])],
        "assets.forbidden",
        77,
    ),
];

/// What a name server may do: the mirror is found.
pub(crate) const TROUBLES: &[(&str, Answers)] = &[
    ("nothing for IPv6", |query| match query.kind {
        A => right(query),
        _ => Vec::new(),
    }),
    ("SERVFAIL for IPv6", |query| match query.kind {
        A => right(query),
        _ => vec![query.answer(2, &[])],
    }),
    (
        "a lost datagram behind which TCP works",
        |query| match query.is_tcp {
            true => right(query),
            false => truncated(query),
        },
    ),
    ("forged answers before the right one", |query| {
        [other_query(query), right(query)].concat()
    }),
    ("dead addresses before the right one", |query| {
        vec![query.addresses(&[DEAD, DEAD, MIRROR])]
    }),
];

/// Where the mirror that is named is, in the namespace.
pub(crate) const MIRROR: Ipv4Addr = Ipv4Addr::new(127, 0, 3, 1);

/// The address of the mirror.
pub(crate) fn right(query: &Query) -> Vec<Vec<u8>> {
    vec![query.addresses(&[MIRROR])]
}

/// An address of loopback.
fn loopback(query: &Query, last: u8) -> Vec<Vec<u8>> {
    vec![query.addresses(&[Ipv4Addr::from(u32::from(LOOPBACK) - 1 + u32::from(last))])]
}

fn cut_short(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.addresses(&[MIRROR]);
    bytes.truncate(20);
    vec![bytes]
}

fn garbage(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.addresses(&[MIRROR]);
    bytes.truncate(12);
    bytes.extend([0xaa; 500]);
    vec![bytes]
}

fn too_few(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.addresses(&[MIRROR]);
    bytes[6..8].copy_from_slice(&[0xff, 0xff]);
    vec![bytes]
}

/// The question's name is a pointer at itself.
fn pointer(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.answer(0, &[]);
    bytes.truncate(12);
    bytes.extend([0xc0, 12, 0, 1, 0, 1]);
    vec![bytes]
}

/// An address of loopback, under another number than the query's.
fn other_query(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.addresses(&[LOOPBACK]);
    bytes[0] ^= 0x55;
    vec![bytes]
}

fn other_question(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.addresses(&[LOOPBACK]);
    bytes[13] ^= 1;
    vec![bytes]
}

/// The name is one with a further label.
fn endless(query: &Query) -> Vec<Vec<u8>> {
    vec![query.alias(&[1, b'a', 0xc0, 12])]
}

fn late(query: &Query) -> Vec<Vec<u8>> {
    pause(Duration::from_secs(12));
    right(query)
}

/// Says that there is more by TCP.
fn truncated(query: &Query) -> Vec<Vec<u8>> {
    let mut bytes = query.answer(0, &[]);
    bytes[2] |= 2;
    vec![bytes]
}

fn dead(query: &Query) -> Vec<u8> {
    let first = u32::from(DEAD);
    let addresses = (first..first + 1_000).map(Ipv4Addr::from);
    query.addresses(&addresses.collect::<Vec<_>>())
}

fn dead_by_tcp(query: &Query) -> Vec<Vec<u8>> {
    match query.is_tcp {
        true => vec![dead(query)],
        false => truncated(query),
    }
}
