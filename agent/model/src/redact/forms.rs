//! Secrets in forms of single programs: records of psql, parameters of Systems Manager, lists of a user and a secret, settings of
//! a second factor, what somebody typed as strace shows it, bytes of a key as Go prints them.

use super::directive::nth_quoted;
use super::form_values::{
    codes_of_card, find_in_peers, in_brackets, key_of_stream, pin_of_mailbox, rejected_login,
    result_behind, third_of_row, value_of_registry, value_within,
};
use super::handed::line_below;
use super::label::Form;
use super::marks::Marks;
use super::name::tells;
use super::opaque::{is_odd, is_opaque};
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// What begins a list of a user and a secret, and what is before a secret in forms of their own.
static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "auth' => [",
        "auth\": [",
        "auth: [",
        "auth=[",
        "auth = [",
        "login' => [",
        "credentials' => [",
        "credentials\": [",
        "credentials = [",
        "auth': (",
        "auth\": (",
        "auth=(",
        "auth = (",
        "Worker(",
        "New value: ",
        "REG_SZ",
        "PASSWORD(",
        "PASSPHRASE(",
        "CPIN=",
        "Login incorrect",
        "bgp_peers",
        "OPENROWSET(",
        "remote(",
        "remoteSecure(",
        "mysql(",
        "postgresql(",
        "random_password\"",
        "<Value>",
        "KEY FOUND! [ ",
        "rtmp://",
        "rtmps://",
        " => ",
        "_key\":{\"key\":\"",
        "_key\": {\"key\": \"",
        "ey: [",
        "ey = [",
        "ey=[",
        "ey\": [",
        "ey\":[",
        "\" RATE_LIMIT",
        "unicodePwd::",
        "PresharedKey:",
        "PrivateKey:",
        "TOTP_AUTH",
        "-[ RECORD",
        "assword",
        "SecureString",
    ])
});

/// The word behind a mark, to its quote or its blank.
fn word_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 1024;
    let start = from + usize::from(text[from..].starts_with(' '));
    let rest = &text.as_bytes()[start..];
    let length = run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_graphic() && !b"\"'\\".contains(&b)
    });
    let word = &text[start..start + length];
    let is_secret = is_opaque(word, true) || word.len() >= 16 && !word.contains(':');
    (is_secret && length < LONGEST).then_some(start..start + length)
}

/// `PresharedKey:&[155 89 …]`, the bytes of a key as Go prints them.
fn bytes_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const FEWEST: usize = 16;
    const LONGEST: usize = 512;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let open = near.find('[').filter(|open| *open <= 2)? + 1;
    let numbers = near[open..].split(']').next()?;
    let mut each = numbers
        .split([' ', ','])
        .filter(|number| !number.is_empty());
    let are_bytes = each.clone().all(|number| number.parse::<u8>().is_ok());
    let is_key = are_bytes && each.nth(FEWEST - 1).is_some();
    is_key.then(|| from + open..from + open + numbers.len())
}

/// `'auth' => [ 'user', 'secret' ]`
fn second_of_pair(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 256;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let quote = near.chars().find(|c| !c.is_whitespace())?;
    let mut parts = near.split(quote);
    let user = parts.by_ref().take(2).map(|part| part.len() + 1);
    let start: usize = user.sum();
    let between = parts.next()?;
    let secret = parts.next()?.trim_end_matches('\\');
    let is_pair = matches!(quote, '"' | '\'') && between.trim() == ",";
    let begin = from + start + between.len() + 1;
    (is_pair && is_odd_or_signed(secret)).then(|| begin..begin + secret.len())
}

/// Whether a word reads as a password: digits and letters, and whatever signs.
pub(super) fn is_odd_or_signed(word: &str) -> bool {
    let has_digit = word.bytes().any(|b| b.is_ascii_digit());
    is_odd(word) || word.len() >= 8 && has_digit && !word.contains([' ', '/'])
}

/// The key of a second factor, which is the line above its settings.
fn word_above(text: &str, at: usize) -> Option<Range<usize>> {
    const LENGTHS: std::ops::RangeInclusive<usize> = 16..=64;
    const NEAR: usize = 160;
    let from = at.saturating_sub(NEAR);
    let near = &text.as_bytes()[from..at];
    let end = near.iter().rposition(u8::is_ascii_alphanumeric)? + 1;
    let is_base32 = |b: &&u8| b.is_ascii_uppercase() || b"234567".contains(b);
    let length = near[..end].iter().rev().take_while(is_base32).count();
    LENGTHS
        .contains(&length)
        .then(|| from + end - length..from + end)
}

/// Codes that each replace a second factor once, a line for each.
fn find_codes(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const MOST: usize = 10;
    let below = (1..=MOST).map_while(|number| line_below(text, from, number));
    found.extend(below.take_while(|place| {
        place.len() == 8 && text[place.clone()].bytes().all(|b| b.is_ascii_digit())
    }));
}

/// `read(4, "value\n", 256)`, as strace shows what somebody typed where a program asked for a password.
fn read_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 160;
    const FARTHEST: usize = 768;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let prompt = near.find('"').unwrap_or(near.len());
    // A terminal is set between the prompt and what is typed: that may take some lines.
    let is_prompt =
        near[..prompt].trim_end_matches('\\').ends_with([':', ' ']) && prompt < NEAR / 2;
    let near = match is_prompt {
        true => &text[from..text.floor_char_boundary(from + FARTHEST)],
        false => near,
    };
    let read = near.find(" read(").or_else(|| near.find("\nread("))? + " read(".len();
    let digits = run(&near.as_bytes()[read..], |b| {
        b.is_ascii_digit() || b"</>".contains(&b) || b.is_ascii_lowercase()
    });
    let value = near[read + digits..].strip_prefix(", ")?;
    let value = value.trim_start_matches('\\').strip_prefix('"')?;
    let start = from + near.len() - value.len();
    let rest = &text.as_bytes()[start..];
    let rest = &rest[..rest.len().min(NEAR)];
    let length = run(rest, |b| {
        (b.is_ascii_graphic() || b == b' ') && !b"\"\\".contains(&b)
    });
    // Farther on, and where it has blanks, only a line that ends is what was typed; what is read of a file is more.
    let behind = &rest[length..];
    let is_line = behind.starts_with(b"\\n\"") || behind.starts_with(b"\\\\n\\\"");
    let is_typed = is_line || read < NEAR && !rest[..length].contains(&b' ');
    (length >= 4 && length < rest.len() && is_typed).then_some(start..start + length)
}

/// `key | value`, a column of a record that psql shows with a line for each.
fn find_in_record(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const MOST: usize = 64;
    const LONGEST: usize = 8 << 10;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let mut start = from;
    for line in near.split_inclusive('\n').take(MOST) {
        if let Some((name, value)) = line.split_once(" | ") {
            let name = name
                .trim_end()
                .rsplit([' ', '"'])
                .next()
                .unwrap_or_default();
            let said = value.trim_end_matches(|c: char| c.is_whitespace() || "\",".contains(c));
            let form = tells(name.as_bytes());
            let is_secret =
                form.is_some_and(Form::is_sure) || form.is_some() && is_opaque(said, true);
            if is_secret && !said.is_empty() && !said.contains(' ') {
                let begin = start + line.len() - value.len();
                found.push(begin..begin + said.len());
            }
        }
        start += line.len();
    }
}

/// The value of a parameter of Systems Manager, in JSON or in a table.
fn value_of_parameter(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 256;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let name = near.find("Value")? + "Value".len();
    let gap = run(&near.as_bytes()[name..], |b| b" \t|:\"\\".contains(&b));
    let start = from + name + gap;
    let rest = &text.as_bytes()[start..];
    let length = run(&rest[..rest.len().min(NEAR)], |b| {
        b.is_ascii_graphic() && !b"\"\\|".contains(&b)
    });
    // One that is longer is found by its kind, or not at all: half of it would be left.
    (gap > 0 && (4..NEAR).contains(&length)).then_some(start..start + length)
}

pub(super) fn find_in_forms(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        match mark {
            "TOTP_AUTH" => find_codes(text, from, &mut found),
            "\" RATE_LIMIT" => found.extend(word_above(text, at)),
            "-[ RECORD" => find_in_record(text, from, &mut found),
            "assword" => found.extend(read_behind(text, from)),
            "SecureString" => found.extend(value_of_parameter(text, from)),
            "New value: " | "unicodePwd::" | "_key\":{\"key\":\"" | "_key\": {\"key\": \"" => {
                found.extend(word_behind(text, from));
            }
            "REG_SZ" => found.extend(value_of_registry(text, at, from)),
            "PASSWORD(" | "PASSPHRASE(" => found.extend(in_brackets(text, from)),
            // Of functions of ClickHouse: server, database, table, user, secret.
            "remote(" | "remoteSecure(" | "mysql(" | "postgresql(" => {
                let near = &text[from..text.floor_char_boundary(from + 512)];
                let fifth = nth_quoted(near.split('\n').next().unwrap_or_default(), 4);
                found.extend(fifth.map(|place| from + place.start..from + place.end));
            }
            "random_password\"" => found.extend(result_behind(text, from)),
            "<Value>" => found.extend(value_within(text, at, from)),
            "KEY FOUND! [ " => {
                let near = &text[from..text.floor_char_boundary(from + 128)];
                found.extend(near.find(" ]").map(|end| from..from + end));
            }
            "rtmp://" | "rtmps://" => found.extend(key_of_stream(text, from)),
            "Login incorrect" => found.extend(rejected_login(text, from)),
            "bgp_peers" => find_in_peers(text, from, &mut found),
            "CPIN=" => codes_of_card(text, from, &mut found),
            "OPENROWSET(" => found.extend(third_of_row(text, from)),
            " => " => found.extend(pin_of_mailbox(text, at, from)),
            "ey: [" | "ey = [" | "ey=[" | "ey\": [" | "ey\":[" => {
                found.extend(bytes_behind(text, from - 1));
            }
            "PresharedKey:" | "PrivateKey:" => found.extend(bytes_behind(text, from)),
            _ => found.extend(second_of_pair(text, from)),
        }
    }
    apart(found)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    const MASKED: &[(&str, &str)] = &[
        (
            "# cat /home/ops/.google_authenticator\n5UHGCCBWBJUNMCOUOGD4W5IQDJ\n\" TOTP_AUTH",
            "# cat /home/ops/.google_authenticator\n***\n\" TOTP_AUTH",
        ),
        (
            "-[ RECORD 1 ]-+---\nid | 31\nkey           | bb1cbe5ad9f7079ee10bf5ecac79d06f\nok | t",
            "-[ RECORD 1 ]-+---\nid | 31\nkey           | ***\nok | t",
        ),
        (
            "DefaultPassword    REG_SZ    an owl\r\n",
            "DefaultPassword    REG_SZ    ***\r\n",
        ),
        ("USRPRF(A) PASSWORD(OWL4Q9)", "USRPRF(A) PASSWORD(***)"),
        (
            "OPENROWSET('X', 'H';'sa';'owl', 'S')",
            "OPENROWSET('X', 'H';'sa';'***', 'S')",
        ),
        ("1204 => 840371,A Name,a@b", "1204 => ***,A Name,a@b"),
        ("rtmp://h/live2/p6vp-5g44-adgk", "rtmp://h/live2/***"),
        ("KEY FOUND! [ an owl ]", "KEY FOUND! [ *** ]"),
        (
            "worker.Worker(\"deb\", \"an-owl-4\")",
            "worker.Worker(\"deb\", \"***\")",
        ),
        (
            "network_key: [212, 14, 97, 3, 181, 66, 240, 9, 123, 54, 201, 88, 17, 160, 35, 79]",
            "network_key: [***]",
        ),
        (
            "AT+CPIN=\"48210937\",\"0000\"\nOK",
            "AT+CPIN=\"***\",\"***\"\nOK",
        ),
        (
            "remote('h:9', 'd', 't', 'u', 'owl')",
            "remote('h:9', 'd', 't', 'u', '***')",
        ),
        (
            "<Password>\n  <Value>owl</Value>",
            "<Password>\n  <Value>***</Value>",
        ),
        ("\" TOTP_AUTH\n15541729\n15541730", "\" TOTP_AUTH\n***\n***"),
        (
            "write(4, \"password for a: \", 28) = 28\nread(4, \"hunter\\n\", 256) = 7",
            "write(4, \"password for a: \", 28) = 28\nread(4, \"***\\n\", 256) = 7",
        ),
        (
            "write(2, \"Password: \", 10) = 10\nJan 02 03:04:05 h strace[7]: ioctl(0, TCGETS, {B38400 opost isig icanon echo ...}) = 0\nJan 02 03:04:05 h strace[7]: ioctl(0, TCSETSW, {B38400 opost isig icanon -echo ...}) = 0\nJan 02 03:04:05 h strace[7]: read(0, \"an owl\\n\", 511) = 7",
            "write(2, \"Password: \", 10) = 10\nJan 02 03:04:05 h strace[7]: ioctl(0, TCGETS, {B38400 opost isig icanon echo ...}) = 0\nJan 02 03:04:05 h strace[7]: ioctl(0, TCSETSW, {B38400 opost isig icanon -echo ...}) = 0\nJan 02 03:04:05 h strace[7]: read(0, \"***\\n\", 511) = 7",
        ),
        (
            "'auth': ('svc_sync', 'wQ5]nettle(Dra7'), 's': 1",
            "'auth': ('***', '***'), 's': 1",
        ),
        (
            "Password for the [a] user successfully reset.\nNew value: q*DOrrhlkmW=Yclmg",
            "Password for the [a] user successfully reset.\nNew value: ***",
        ),
        (
            "PresharedKey:&[155 89 155 25 165 41 64 137 79 248 226 154 218 168 99 218]",
            "PresharedKey:***",
        ),
        (
            "'auth' => [\n  'rt_user',\n  'hunter2x'\n]",
            "'auth' => [\n  'rt_user',\n  '***'\n]",
        ),
        (
            "CCKT2SLZQYDP2IFHOPQ4HN2UCX\n\" RATE_LIMIT 3 30",
            "***\n\" RATE_LIMIT 3 30",
        ),
        (
            "-[ RECORD 1 ]-+---\nid | 31\npassword | hunter",
            "-[ RECORD 1 ]-+---\nid | 31\npassword | ***",
        ),
        (
            "||  Type  |  SecureString  ||\n||  Value  |  hunter  ||",
            "||  Type  |  SecureString  ||\n||  Value  |  ***  ||",
        ),
        (
            "Login incorrect (pap): [ann/Krokus-Wiese71] (from client",
            "Login incorrect (pap): [ann/***] (from client",
        ),
        (
            "- name: bgp_peers\n  value: \"10.0.0.1:65000:owl:false\"",
            "- name: bgp_peers\n  value: \"10.0.0.1:65000:***:false\"",
        ),
    ];

    #[test]
    fn secrets_in_such_forms_are_masked() {
        for (text, scrubbed) in MASKED {
            assert_eq!(scrub(text), *scrubbed);
            assert_eq!(scrub(scrubbed), *scrubbed);
        }
    }

    #[test]
    fn what_looks_like_such_a_form_stays() {
        for text in [
            "password authentication failed thread(12) msg=\"connection closed\"",
            "Old value: 10.0.0.1, New value: 169.254.169.123",
        ] {
            assert_eq!(scrub(text), text);
        }
    }

    #[test]
    fn a_value_that_is_cut_within_a_letter_is_read() {
        let text = format!("password: \nread(4, \"a{}", "\u{e9}".repeat(100));
        assert_eq!(scrub(&scrub(&text)), scrub(&text));
    }
}
