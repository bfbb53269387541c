//! Lists of clients and servers of RADIUS, an address and its secret on each line: `hostapd.radius_clients`, FreeRADIUS's old
//! `clients`, and `servers` of its clients.

use super::line::lines_from;
use super::manifest::said;
use super::marks::Marks;
use super::opaque::{is_odd, is_opaque};
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// No list has more lines.
const MOST_LINES: usize = 64;

/// No line of a list is longer.
const LONGEST_LINE: usize = 256;

/// What names a list: its file, or what a comment says of it. In the first ones a secret may have blanks.
static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "radius_clients",
        "RADIUS clients",
        "RADIUS client list",
        "raddb/clients",
        "raddb/server",
        "pam_radius_auth.conf",
        "radiusclient/servers",
        "radiusclient-ng/servers",
        "radcli/servers",
    ])
});

pub(super) fn find_in_radius(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, _, mark) in MARKS.places_in(text) {
        let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST_LINE))..at];
        let line = near.rsplit('\n').next().unwrap_or_default();
        // A sentence names them, too; one that heads a list is a comment.
        let is_head = !mark.starts_with("RADIUS ") || line.contains('#');
        if at >= behind && is_head {
            let has_blanks = mark.ends_with("clients") && !mark.starts_with("raddb");
            behind = find_in_list(text, at + mark.len(), has_blanks, &mut found);
        }
    }
    apart(found)
}

/// The secrets of the lines below, up to the first that is of no list; returns where they end.
fn find_in_list(text: &str, from: usize, has_blanks: bool, found: &mut Vec<Range<usize>>) -> usize {
    let mut end = from;
    for (number, line) in lines_from(text, from).take(MOST_LINES).enumerate() {
        let Some(whole) = text
            .get(line.clone())
            .filter(|whole| whole.len() <= LONGEST_LINE)
        else {
            return end;
        };
        let row = match number {
            // `file:12:10.0.0.1 secret`, of a search
            0 => whole.trim_start_matches(|c: char| {
                c == ':' || c.is_ascii_digit() && whole.starts_with(':')
            }),
            _ => &whole[said(whole)],
        };
        let row = row.trim().trim_end_matches(['"', ',']);
        let row = row.trim_start_matches(['#', ' ']);
        // The search's own number was taken with the address: it has digits and points alike.
        let inside = whole.rfind(row).unwrap_or_default();
        let is_comment = row.is_empty() || whole[..inside].contains('#');
        let start = line.start + inside;
        let place = secret_in(row, has_blanks);
        // A comment may tell of an address, or be a line that is not used.
        match place.filter(|place| !is_comment || is_secret(&row[place.clone()])) {
            Some(place) => found.push(start + place.start..start + place.end),
            None if number == 0 || is_comment => {}
            None => return end,
        }
        end = line.end;
    }
    end
}

/// `10.0.0.0/24 secret`, `radius.lan:1812 secret 3`
fn secret_in(row: &str, has_blanks: bool) -> Option<Range<usize>> {
    const OTHERS: [&str; 8] = ["dev", "via", "proto", "port", "from", "to", "is", "and"];
    let bytes = row.as_bytes();
    let place = run(bytes, |b| {
        b.is_ascii_alphanumeric() || b".:/-[]".contains(&b)
    });
    let gap = run(&bytes[place..], |b| b == b' ' || b == b'\t');
    let rest = row[place + gap..].trim_end();
    let first = rest.split([' ', '\t']).next()?;
    let is_number = first
        .bytes()
        .all(|b| b.is_ascii_digit() || b".:/".contains(&b));
    let length = if has_blanks { rest.len() } else { first.len() };
    let is_word = gap > 0 && length >= 3 && !is_number && !first.starts_with(['-', '=', '{']);
    if !is_word || OTHERS.contains(&first) {
        return None;
    }
    let is_known = is_address(&row[..place]) || row[..place].contains('.') && is_secret(first);
    is_known.then_some(place + gap..place + gap + length)
}

fn is_secret(word: &str) -> bool {
    is_odd(word) || is_opaque(word, true)
}

/// An address of either family, with what may stand behind it.
fn is_address(word: &str) -> bool {
    let signs = word.bytes().filter(|b| b".:".contains(b)).count();
    signs >= 2
        && word.bytes().any(|b| b.is_ascii_hexdigit())
        && word
            .bytes()
            .all(|b| b.is_ascii_hexdigit() || b".:/[]".contains(&b))
        && !word.ends_with(':')
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_of_clients_of_radius_are_masked() {
        for (text, scrubbed) in [
            (
                "# cat /etc/hostapd/radius_clients\n# the hall\n10.1.0.0/16 an owl in a tree\n2001:db8::/32\theron\n",
                "# cat /etc/hostapd/radius_clients\n# the hall\n10.1.0.0/16 ***\n2001:db8::/32\t***\n",
            ),
            (
                "==> /etc/raddb/clients <==\n#Client Name\tKey\n10.2.0.7  heronowl  hall\nnas.lan:1812 heron77x 3",
                "==> /etc/raddb/clients <==\n#Client Name\tKey\n10.2.0.7  ***  hall\nnas.lan:1812 *** 3",
            ),
            (
                "/etc/hostapd.radius_clients:10.1.0.9 an owl",
                "/etc/hostapd.radius_clients:10.1.0.9 ***",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_lines_of_addresses_stay() {
        for text in [
            "10.1.0.0/16 dev eth0 proto kernel",
            "two RADIUS clients\n10.1.0.0/16 dev eth0 proto kernel\n10.1.0.1 10.1.0.2",
            "radius_server_clients=/etc/hostapd.radius_clients\nssid=hall\n10.1.0.1 hall",
            "RADIUS clients:\n10.1.0.1 connected",
            "# RADIUS clients\n# 10.1.0.0/16 the hall\n10.1.0.1 - - [24/Nov/2026] GET /",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
