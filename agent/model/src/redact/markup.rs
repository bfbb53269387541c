//! A name that tells of a secret and its value, in notations that put something between them: elements of XML, the arguments of
//! a call, JSON that is encoded for a URL.

use super::calls::of_call;
use super::harmless::{is_plain, is_reference};
use super::marks::Marks;
use super::name::tells;
use super::opaque::is_odd;
use super::quote::{backslashes_before, closed};
use super::shape::{apart, run};
use super::value::is_secret;
use std::ops::Range;
use std::sync::LazyLock;

/// No value in such a place is longer.
pub(super) const LONGEST: usize = 512;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "\">",
        "</key>",
        "('",
        "(\"",
        "( '",
        "( \"",
        "(\\\"",
        "]=>",
        "<Value>",
        ",<<\\\"",
        "%22%3A%22",
        "%22%3a%22",
        " | ",
        "response=",
        "sha256=",
        "sha512=",
        "sha1=",
        "\";s:",
        "\\\";s:",
        ",\"",
        ",\\\"",
        ",<<\"",
        ", <<\"",
        ", <<\\\"",
        "&quot;:&quot;",
        "&#34;:&#34;",
        "&gt;",
        "&#61;",
        "<![CDATA[",
        "\" \"",
        "' '",
        "\", \"",
        "', '",
        "\\\" \\\"",
        "\\\", \\\"",
        "variable \"",
        "variable \\\"",
    ])
});

pub(super) fn find_in_markup(text: &str) -> Vec<Range<usize>> {
    let found = MARKS
        .places_in(text)
        .filter_map(|(at, _, mark)| match mark {
            "\">" => of_attribute(text, at),
            "</key>" => of_list(text, at),
            "\";s:" | "\\\";s:" => of_serialized(text, at, at + mark.len()),
            "(\\\"" => of_call(text, at, at + 1),
            "]=>" => of_dump(text, at, at + mark.len()),
            "<Value>" => beside_tag(text, at, at + mark.len()),
            ",\"" | ",\\\"" | ",<<\"" | ",<<\\\"" | ", <<\"" | ", <<\\\"" => {
                of_tuple(text, at, at + mark.len())
            }
            "&quot;:&quot;" | "&#34;:&#34;" | "&gt;" | "&#61;" => {
                of_entities(text, at, at + mark.len())
            }
            "\" \"" | "' '" | "\", \"" | "', '" => of_words(text, at, at + mark.len() - 1),
            "\\\" \\\"" | "\\\", \\\"" => of_words(text, at, at + mark.len() - 2),
            "<![CDATA[" => of_data(text, at, at + mark.len()),
            "variable \"" | "variable \\\"" => of_variable(text, at + mark.len()),
            " | " => of_cell(text, at, at + mark.len()),
            "sha256=" | "sha512=" | "sha1=" => of_signature(text, at, at + mark.len()),
            "response=" => of_digest(text, at, at + mark.len()),
            "%22%3A%22" | "%22%3a%22" => of_encoded(text, at, at + mark.len()),
            _ => of_call(text, at, at + mark.len() - 1),
        });
    let found = found.filter(|place| {
        let words = &text[place.clone()];
        !words.is_empty() && !is_plain(words) && !is_reference(words)
    });
    apart(found.collect())
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte)
}

/// The name that ends here, which is no longer than names are.
pub(super) fn name_before(bytes: &[u8], end: usize) -> &[u8] {
    let near = &bytes[end.saturating_sub(96)..end];
    let length = near.iter().rev().take_while(|b| is_name(**b)).count();
    &near[near.len() - length..]
}

/// A value, if it is a secret beside this name: one word, and no path.
pub(super) fn beside(text: &str, name: &[u8], value: Range<usize>) -> Option<Range<usize>> {
    let is_name = !name.iter().any(|b| b"/ ".contains(b));
    let form = tells(name).filter(|_| is_name)?;
    is_secret(text.get(value.clone())?, form).then_some(value)
}

/// How much comes before the next tag.
fn content(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[start..];
    let length = run(&rest[..rest.len().min(LONGEST)], |b| {
        !b"<>\n\r".contains(&b)
    });
    rest[length..]
        .starts_with(b"</")
        .then_some(start..start + length)
}

/// `<entry key="name">value</entry>`
fn of_attribute(text: &str, quote: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let quote_end = quote + 2;
    let quote = quote - backslashes_before(bytes, quote);
    let name = name_before(bytes, quote);
    let before = &bytes[..quote - name.len()];
    let is_named = [
        b"key=\"".as_slice(),
        b"name=\"",
        b"id=\"",
        b"key=\\\"",
        b"name=\\\"",
    ];
    let is_named = is_named.iter().any(|sign| before.ends_with(sign));
    let value = content(text, quote_end)?;
    let named = beside(text, name, value.clone()).filter(|_| is_named);
    named.or_else(|| beside(text, tag_before(bytes, quote)?, value))
}

/// The name of the tag that ends here, without what stands before a colon in it.
fn tag_before(bytes: &[u8], end: usize) -> Option<&[u8]> {
    const LONGEST_TAG: usize = 160;
    let near = &bytes[end.saturating_sub(LONGEST_TAG)..end];
    let tag = &near[near.iter().rposition(|b| b"<>".contains(b))?..];
    let tag = tag.strip_prefix(b"<")?;
    let name = &tag[..run(tag, |b| b.is_ascii_alphanumeric() || b"_-.:".contains(&b))];
    name.rsplit(|b| *b == b':').next()
}

/// `<name><![CDATA[value]]></name>`
fn of_data(text: &str, at: usize, start: usize) -> Option<Range<usize>> {
    let tag = tag_before(text.as_bytes(), at.checked_sub(1)?)?;
    let near = &text[start..text.floor_char_boundary(start + LONGEST)];
    beside(text, tag, start..start + near.find("]]>")?)
}

/// `"name";s:12:"value";`, as PHP writes it.
fn of_serialized(text: &str, name: usize, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let said = name_before(bytes, name);
    let digits = run(&bytes[from..], |b| b.is_ascii_digit());
    let start = from + digits + usize::from(bytes.get(from + digits) == Some(&b':'));
    let inner = closed(&bytes[start..])?;
    beside(text, said, start + inner.start..start + inner.end)
}

/// `{name,"value"}`, as Erlang writes it.
fn of_tuple(text: &str, name: usize, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let said = name_before(bytes, name);
    let is_tuple = bytes[..name - said.len()].ends_with(b"{");
    let rest = &bytes[start..bytes.len().min(start + LONGEST)];
    let length = run(rest, |b| !b"\"\\\n".contains(&b));
    let ends = rest[length..].iter().find(|b| **b != b'\\') == Some(&b'"');
    (is_tuple && ends).then(|| beside(text, said, start..start + length))?
}

/// `&quot;name&quot;:&quot;value&quot;`, `&lt;name&gt;value&lt;`, `name&#61;value`
fn of_entities(text: &str, name: usize, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = &bytes[start..bytes.len().min(start + LONGEST)];
    let length = run(rest, |b| b.is_ascii_graphic() && !b"&<>\"'\\".contains(&b));
    beside(text, name_before(bytes, name), start..start + length)
}

/// `"name" "value"`, `'name', 'value'`: words of a command that a log shows.
fn of_words(text: &str, name: usize, quote: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 8;
    let bytes = text.as_bytes();
    let near = &bytes[quote..text.floor_char_boundary(quote + LONGEST)];
    let inner = closed(near)?;
    let value = beside(
        text,
        name_before(bytes, name),
        quote + inner.start..quote + inner.end,
    )?;
    let words = &text[value.clone()];
    (words.len() >= SHORTEST && is_odd(words)).then_some(value)
}

/// `variable "name" { default = "value" }`
fn of_variable(text: &str, name: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let length = run(&bytes[name..bytes.len().min(name + 96)], is_name);
    let from = name + length;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let block = near.split('}').next().unwrap_or_default();
    let at = block.find("default")?;
    let sign = at + block[at..].find('=')? + 1;
    let start = from + sign + run(&block.as_bytes()[sign..], |b| b == b' ');
    let inner = closed(&bytes[start..])?;
    let value = start + inner.start..start + inner.end;
    beside(text, &bytes[name..from], value)
}

/// `<key>name</key><string>value</string>`
fn of_list(text: &str, end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = &bytes[end + "</key>".len()..];
    let gap = run(&rest[..rest.len().min(64)], |b| b.is_ascii_whitespace());
    let tag = b"<string>";
    let is_text = rest[gap..].starts_with(tag);
    let value = is_text.then(|| content(text, end + "</key>".len() + gap + tag.len()))??;
    beside(text, name_before(bytes, end), value)
}

/// `| name | value |`
fn of_cell(text: &str, name: usize, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    tells(name_before(bytes, name)).filter(|form| form.is_sure())?;
    let rest = &bytes[start..];
    let length = run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_graphic() && !b"|\"\\".contains(&b)
    });
    let is_last = rest[length..].starts_with(b" |");
    (is_last && is_odd(&text[start..start + length])).then_some(start..start + length)
}

/// `response="value"` of a digest (RFC 7616).
fn of_digest(text: &str, at: usize, start: usize) -> Option<Range<usize>> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    let bytes = text.as_bytes();
    let start = start
        + run(&bytes[start..bytes.len().min(start + 4)], |b| {
            b"\\\"".contains(&b)
        });
    let length = run(&bytes[start..bytes.len().min(start + 130)], |b| {
        b.is_ascii_hexdigit()
    });
    (near.contains("Digest ") && length >= 32).then_some(start..start + length)
}

/// `X-Hub-Signature-256: sha256=value`
fn of_signature(text: &str, at: usize, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = bytes[at.saturating_sub(24)..at].to_ascii_lowercase();
    let rest = &bytes[start..bytes.len().min(start + 130)];
    let length = run(rest, |b| b.is_ascii_hexdigit());
    let is_signed = near.windows(9).any(|nine| nine == b"signature");
    (is_signed && length >= 32).then_some(start..start + length)
}

/// `%22name%22%3A%22value%22`
fn of_encoded(text: &str, name: usize, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = &text[start..text.floor_char_boundary(start + LONGEST)];
    let end = near
        .find("%22")
        .or_else(|| near.find(|c: char| c.is_ascii_whitespace() || "&\"'".contains(c)));
    let value = start..start + end.unwrap_or(near.len());
    beside(text, name_before(bytes, name), value)
}

/// `["name"]=>`, and on the next line `string(5) "value"`
fn of_dump(text: &str, name: usize, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let quote = bytes[..name].ends_with(b"\"");
    let end = name - usize::from(quote);
    let end = end - backslashes_before(bytes, end);
    let near = &text[start..text.floor_char_boundary(start + LONGEST)];
    let at = near.find("string(").filter(|at| *at < 64)?;
    let open = at + near[at..].find('"')?;
    let open = open - backslashes_before(near.as_bytes(), open);
    let inner = closed(&near.as_bytes()[open..])?;
    beside(
        text,
        name_before(bytes, end),
        start + open + inner.start..start + open + inner.end,
    )
}

/// `<name><Value>value</Value>`
fn beside_tag(text: &str, at: usize, start: usize) -> Option<Range<usize>> {
    let tag = tag_before(text.as_bytes(), at.checked_sub(1)?)?;
    beside(text, tag, content(text, start)?)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn values_of_such_notations_are_masked() {
        for (text, scrubbed) in [
            (
                "<entry key=\"smtp.password\">hunter</entry>",
                "<entry key=\"smtp.password\">***</entry>",
            ),
            (
                "<key>Password</key>\n  <string>hunter</string>",
                "<key>Password</key>\n  <string>***</string>",
            ),
            (
                "define( 'DB_PASSWORD', 'hunter' );",
                "define( 'DB_PASSWORD', '***' );",
            ),
            (
                "db.auth(\"admin\", \"hunter2\")",
                "db.auth(\"admin\", \"***\")",
            ),
            (
                "\"SET\" \"requirepass\" \"hunter.22\"",
                "\"SET\" \"requirepass\" \"***\"",
            ),
            (
                "'x-api-key', 'hunter.22' 'x-id', 'b'",
                "'x-api-key', '***' 'x-id', 'b'",
            ),
            (
                "p=%7B%22password%22%3A%22hunter%22%7D",
                "p=%7B%22password%22%3A%22***%22%7D",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_elements_and_calls_stay() {
        for text in [
            "<entry key=\"smtp.host\">mail1.local</entry>",
            "<key>Label</key><string>com.app1</string>",
            "f('token', 'b', 'c')",
            "login('user",
            "[\"password\", \"user\"] and 'token', 'names'",
            "f('/etc/passwd', 'root')",
            "f('wait for cred', 'a1b2c3')",
            "&lt;key&gt;=&lt;value&gt;",
            "x('a1b2c3', 'd4e5f6')",
            "%22password%22%3A%22",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
