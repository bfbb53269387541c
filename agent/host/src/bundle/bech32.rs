//! Bech32, in which age writes its keys (BIP 173, without its limit of 90 characters).

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

const GENERATOR: [u32; 5] = [
    0x3b6a_57b2,
    0x2650_8e6d,
    0x1ea1_19fa,
    0x3d42_33dd,
    0x2a14_62b3,
];

/// What a checksum has in groups of five bits.
const CHECKSUM: usize = 6;

/// The bytes of a text that begins with this prefix; nothing when it is mistyped.
pub(super) fn decode(prefix: &str, text: &str) -> Option<Vec<u8>> {
    let lower = text.to_ascii_lowercase();
    if text != lower && text != text.to_ascii_uppercase() {
        return None;
    }
    let data = lower.strip_prefix(prefix)?.strip_prefix('1')?;
    let groups: Vec<u8> = data.bytes().map(group).collect::<Option<_>>()?;
    let high = prefix.bytes().map(|b| b >> 5);
    let low = prefix.bytes().map(|b| b & 31);
    let checked = high.chain([0]).chain(low).chain(groups.iter().copied());
    let content = groups.len().checked_sub(CHECKSUM)?;
    (polymod(checked) == 1).then(|| bytes_of(&groups[..content]))?
}

fn group(letter: u8) -> Option<u8> {
    let at = ALPHABET.iter().position(|known| *known == letter)?;
    u8::try_from(at).ok()
}

fn polymod(groups: impl Iterator<Item = u8>) -> u32 {
    groups.fold(1, |sum, group| {
        let top = sum >> 25;
        let shifted = ((sum & 0x01ff_ffff) << 5) ^ u32::from(group);
        let taps = GENERATOR.iter().enumerate();
        taps.filter(|(at, _)| top >> at & 1 == 1)
            .fold(shifted, |sum, (_, tap)| sum ^ tap)
    })
}

/// Groups of five bits as bytes; nothing if what is left over is a whole group, or not zero.
fn bytes_of(groups: &[u8]) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for group in groups {
        bits = (bits << 5 | u32::from(*group)) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    (count < 5 && bits & ((1 << count) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_specification_are_read() {
        // Valid and invalid texts of BIP 173.
        assert_eq!(decode("a", "A12UEL5L"), Some(vec![]));
        let letters = "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw";
        assert_eq!(decode("abcdef", letters).map(|bytes| bytes.len()), Some(20));
        for (prefix, wrong) in [
            ("a", "A1G7SGD8"),
            ("a", "a12uel5L"),
            ("x", "x1b4n0q5v"),
            ("li", "li1dgmt3"),
            ("age", "A12UEL5L"),
        ] {
            assert_eq!(decode(prefix, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn one_wrong_letter_is_noticed() {
        let right = "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw";
        for at in 7..right.len() {
            let mut wrong = right.as_bytes().to_vec();
            wrong[at] = if wrong[at] == b'q' { b'p' } else { b'q' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert_eq!(decode("abcdef", &wrong), None, "{wrong}");
        }
    }
}
