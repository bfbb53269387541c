//! Keys of subscribers of mobile networks: a SIM's key `K`, and the operator's `OP` or `OPc`, as lists and documents of cores have
//! them (srsRAN, Open5GS, OpenAirInterface).

use super::marks::Marks;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// Digits of such a key in base 16.
const DIGITS: usize = 32;

/// No line of a list is longer.
const LONGEST: usize = 512;

/// The field that says what the next one is, and names of members in JSON.
static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        ",opc,",
        ",op,",
        ",OPC,",
        ",OP,",
        ",OPc,",
        "\"k\"",
        "\"op\"",
        "\"opc\"",
        "\"k\\\"",
        "\"op\\\"",
        "\"opc\\\"",
        "'k'",
        "'op'",
        "'opc'",
    ])
});

pub(super) fn find_of_subscribers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, _, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        if mark.starts_with(',') {
            if at >= behind {
                behind = find_in_row(text, at, &mut found);
            }
        } else {
            found.extend(behind_name(text, from));
        }
    }
    apart(found)
}

/// Every key of a row, `name,mil,imsi,key,opc,key,…`, which names a subscriber and the kind of a key; returns where the row ends.
fn find_in_row(text: &str, at: usize, found: &mut Vec<Range<usize>>) -> usize {
    let is_of_row = |b: &&u8| b.is_ascii_graphic() && !b"\"'\\".contains(b);
    let near = &text.as_bytes()[at.saturating_sub(LONGEST)..at];
    let mut start = at - near.iter().rev().take_while(is_of_row).count();
    let rest = &text.as_bytes()[at..text.len().min(at + LONGEST)];
    let end = at + rest.iter().take_while(is_of_row).count();
    let row = &text[start..end];
    let is_subscriber =
        |field: &str| (14..=15).contains(&field.len()) && field.bytes().all(|b| b.is_ascii_digit());
    if !row.split(',').any(is_subscriber) {
        return end;
    }
    for field in row.split(',') {
        if field.len() == DIGITS && field.bytes().all(|b| b.is_ascii_hexdigit()) {
            found.push(start..start + field.len());
        }
        start += field.len() + 1;
    }
    end
}

/// `"k": "465B5CE8 B199B49F AA5F0A2E E238A6BC"`
fn behind_name(text: &str, from: usize) -> Option<Range<usize>> {
    const WIDEST: usize = 16;
    let near = &text.as_bytes()[from..text.len().min(from + 2 * DIGITS)];
    let gap = run(&near[..near.len().min(WIDEST)], |b| b" :\\\"'".contains(&b));
    let length = run(&near[gap..], |b| b.is_ascii_hexdigit() || b == b' ');
    let key = &near[gap..gap + length];
    let digits = key.iter().filter(|b| b.is_ascii_hexdigit()).count();
    let is_key = near[..gap].contains(&b':') && digits == DIGITS && key.last() != Some(&b' ');
    is_key.then_some(from + gap..from + gap + length)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn keys_of_subscribers_are_masked() {
        for (text, scrubbed) in [
            (
                "ue1,mil,001010123456789,00112233445566778899aabbccddeeff,opc,63bfa50ee6523365ff14c1f45f88737d,9001,000000001234,9,dynamic",
                "ue1,mil,001010123456789,***,opc,***,9001,000000001234,9,dynamic",
            ),
            (
                "{ \"k\" : \"465B5CE8 B199B49F AA5F0A2E E238A6BC\", \"amf\": \"8000\", \"opc\":\"E8ED289DEBA952E4283B54E88E6183CA\" }",
                "{ \"k\" : \"***\", \"amf\": \"8000\", \"opc\":\"***\" }",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_rows_and_members_stay() {
        for text in [
            "layer,tar,00112233445566778899aabbccddeeff,op,read",
            "{\"k\": \"app\", \"op\": \"replace\"}",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
