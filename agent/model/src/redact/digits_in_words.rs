//! Words of letters of both cases with digits where no name has them: `Uu7sandpiper`, `isc7Juniperx`, `nsc_71Tarn`.

/// What stands before digits within names, in small letters: `Log4j`, `oauth2Proxy`, `X11forwarding`.
const BEFORE_DIGITS: &[&str] = &[
    "a", "aes", "amd", "arm", "argon", "asn", "auth", "av", "b", "base", "blake", "bn", "bz", "c",
    "cap", "cbb", "cgroup", "chacha", "class", "cloud", "centos", "debian", "redis", "rhel",
    "ubuntu", "crc", "curve", "d", "dhcp", "e", "ec", "ed", "encaps", "ens", "es", "eth", "f",
    "float", "fp", "g", "get", "gf", "gmt", "go", "gpl", "gplv", "gzip", "h", "hmac", "http", "i",
    "icmp", "id", "ike", "imap", "index", "int", "ip", "ipsec", "ipv", "iso", "java", "js", "json",
    "k", "key", "kops", "l", "level", "lib", "ln", "log", "lz", "m", "map", "md", "mgf", "mips",
    "mp", "msg", "n", "neo", "net", "nid", "node", "nvme", "o", "oauth", "obj", "oct", "p", "part",
    "path", "pbkdf", "perl", "php", "pkcs", "point", "pop", "post", "ppc", "pre", "py", "python",
    "q", "r", "rfc", "route", "rsa", "ruby", "rust", "s", "secp", "sd", "sha", "shifted",
    "siphash", "sm", "sn", "sql", "ssl", "st", "step", "str", "t", "tag", "tap", "tcp", "test",
    "tls", "toml", "ts", "tun", "txt", "u", "udp", "uint", "utc", "utf", "v", "vec", "ver", "vp",
    "w", "web", "win", "x", "xvd", "xxh", "yaml", "z", "zstd",
];

/// Whether a part of a word has digits among letters of both cases as names have not.
pub(super) fn has_digits_in_word(part: &str) -> bool {
    const LENGTHS: std::ops::RangeInclusive<usize> = 8..=24;
    let bytes = part.as_bytes();
    let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    is_mixed
        && LENGTHS.contains(&part.len())
        && !part.starts_with("0x")
        && (0..bytes.len()).any(|at| is_among_letters(bytes, at))
}

/// Whether digits that begin at this place stand among letters so.
fn is_among_letters(bytes: &[u8], at: usize) -> bool {
    let begins = bytes[at].is_ascii_digit() && at > 0 && !bytes[at - 1].is_ascii_digit();
    if !begins {
        return false;
    }
    let count = |bytes: &[u8], is: fn(&u8) -> bool| bytes.iter().take_while(|b| is(b)).count();
    let digits = count(&bytes[at..], u8::is_ascii_digit);
    let behind = &bytes[at + digits..];
    let small = count(behind, u8::is_ascii_lowercase);
    let capital = behind.first().is_some_and(u8::is_ascii_uppercase);
    let small_behind_capital = count(behind.get(1..).unwrap_or_default(), u8::is_ascii_lowercase);
    if matches!(bytes[at - 1], b'-' | b'_') {
        // `nsc_71Tarn`
        return digits <= 2 && capital && small_behind_capital >= 2;
    }
    let letters = bytes[..at]
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphabetic());
    let word = &bytes[at - letters.count()..at];
    let last = word.iter().rposition(u8::is_ascii_uppercase).unwrap_or(0);
    if word.is_empty() || is_of_name(word) || is_of_name(&word[last..]) {
        return false;
    }
    // `isc7Juniperx`, and `rm4nVaultX`
    let begins_small = word.iter().all(u8::is_ascii_lowercase);
    let one = behind.get(1..).unwrap_or_default();
    let is_split = small == 1
        && one.first().is_some_and(u8::is_ascii_uppercase)
        && count(&one[1..], u8::is_ascii_lowercase) >= 2;
    small >= 3 || begins_small && (is_split || capital && small_behind_capital >= 3)
}

fn is_of_name(word: &[u8]) -> bool {
    let mut known = BEFORE_DIGITS.iter();
    known.any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_words_that_people_choose_are_told_from_those_in_names() {
        for word in [
            "Mstr9kez",
            "nsc_71Tarn",
            "Uu7sandpiper",
            "isc7Juniperx",
            "rm4nVaultX",
        ] {
            assert!(has_digits_in_word(word), "{word}");
        }
        for name in [
            "Log4jLogger",
            "oauth2Proxy",
            "X11forwarding",
            "DataSourceEc2Local",
            "i-0123456789abcdef0",
            "Ed25519Key",
            "AssignIpv6Addresses",
            "Nodes-1a",
            "BN_bn2bin_padded",
            "EC2NodeClass",
            "TLSv1",
            "checkout-7f9c6d8b5d-mq4zt",
        ] {
            assert!(!has_digits_in_word(name), "{name}");
        }
    }
}
