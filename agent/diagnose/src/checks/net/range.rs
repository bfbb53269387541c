//! Ranges of IPv4 addresses, and which route takes a packet.

use std::fmt;
use std::net::Ipv4Addr;

/// A range such as `100.64.0.0/10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    base: u32,
    prefix: u8,
}

impl Range {
    /// The range that holds an address and has this many fixed bits.
    pub(super) fn new(address: Ipv4Addr, prefix: u8) -> Self {
        let prefix = prefix.min(32);
        Self {
            base: u32::from(address) & mask(prefix),
            prefix,
        }
    }

    /// Reads `10.0.0.0/8`, an address alone, or `default`.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text == "default" {
            return Some(Self { base: 0, prefix: 0 });
        }
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let prefix: u8 = prefix.parse().ok().filter(|prefix| *prefix <= 32)?;
        Some(Self::new(address.parse().ok()?, prefix))
    }

    /// How many bits are fixed.
    pub(super) fn prefix(self) -> u8 {
        self.prefix
    }

    /// Whether an address is in it.
    pub(super) fn holds(self, address: Ipv4Addr) -> bool {
        u32::from(address) & mask(self.prefix) == self.base
    }

    /// Whether the two have an address in common: then one of them is within the other.
    pub(super) fn overlaps(self, other: Self) -> bool {
        let common = mask(self.prefix.min(other.prefix));
        self.base & common == other.base & common
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.base), self.prefix)
    }
}

/// A route: where to, and over which interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) to: Range,
    pub(super) interface: String,
}

/// The route that a packet to this address takes: the narrowest.
pub(super) fn way_to(ways: &[Way], address: Ipv4Addr) -> Option<&Way> {
    let fitting = ways.iter().filter(|way| way.to.holds(address));
    fitting.max_by_key(|way| way.to.prefix)
}

/// Reads a line of `/proc/net/route` (proc(5)): hexadecimal numbers in the byte order of the machine, which is little
/// endian on both processors that the agent runs on. A route that refuses has the flag 0x200.
pub(super) fn read_kernel_route(line: &str) -> Option<Way> {
    const REJECT: u32 = 0x200;
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
    let (to, flags, mask) = (number(1)?, number(3)?, number(7)?);
    (flags & REJECT == 0).then(|| Way {
        to: Range::new(Ipv4Addr::from(to.swap_bytes()), mask.count_ones() as u8),
        interface: (*words.first().unwrap_or(&"")).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        Range::read(text).expect("a range")
    }

    #[test]
    fn two_ranges_overlap_where_one_holds_the_other() {
        for (a, b, wanted) in [
            ("100.64.0.0/10", "100.96.0.0/11", true),
            ("100.96.0.0/11", "100.64.0.0/13", false),
            ("172.17.0.0/16", "172.17.0.2", true),
            ("default", "10.0.0.0/8", true),
        ] {
            assert_eq!(range(a).overlaps(range(b)), wanted, "{a} {b}");
            assert_eq!(range(b).overlaps(range(a)), wanted, "{b} {a}");
        }
        assert_eq!(range("172.17.5.9/16").to_string(), "172.17.0.0/16");
        for text in ["fd00::/8", "10.0.0.0/33", "x"] {
            assert_eq!(Range::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_narrowest_route_takes_the_packet() {
        let lines = [
            "ens5\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0",
            "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
        ];
        let ways: Vec<Way> = lines.into_iter().filter_map(read_kernel_route).collect();
        for (address, interface) in [("172.17.0.2", "docker0"), ("10.0.0.2", "ens5")] {
            let found = way_to(&ways, address.parse().expect("an address"));
            assert_eq!(found.map(|way| way.interface.as_str()), Some(interface));
        }
    }
}
