//! MIME messages as cloud-init reads them: the parts of a multipart, decoded.

/// The most parts read of one message; cloud-init's own messages have a handful.
const MOST_PARTS: usize = 64;
/// The most bytes of headers before the first part.
const MOST_HEADERS: usize = 64 << 10;

pub(super) struct Message {
    /// Its parts, in order.
    pub(super) parts: Vec<Part>,
    /// Whether the line that ends it is there.
    pub(super) is_whole: bool,
}

pub(super) struct Part {
    /// Its media type, such as `text/x-shellscript`.
    pub(super) kind: String,
    /// Its content, decoded; empty where the encoding is not known or does not decode.
    pub(super) body: Vec<u8>,
    /// The encoding, where it is not known or the content does not decode.
    pub(super) undecodable: Option<String>,
}

/// Reads a multipart message; `None` for bytes that are none.
///
/// Line ends may be LF or CRLF, and the parts may be encoded in base64 or quoted-printable.
pub(super) fn read(bytes: &[u8]) -> Option<Message> {
    let (headers, body) = split_headers(bytes)?;
    let content_type = header(&headers, "content-type")?;
    if !content_type.to_ascii_lowercase().starts_with("multipart/") {
        return None;
    }
    let boundary = parameter(content_type, "boundary")?;
    let (parts, is_whole) = split_parts(body, &boundary);
    Some(Message {
        parts: parts.into_iter().map(read_part).collect(),
        is_whole,
    })
}

type Headers = Vec<(String, String)>;

/// The headers up to the first empty line, folded lines joined, and what follows.
fn split_headers(bytes: &[u8]) -> Option<(Headers, &[u8])> {
    let mut headers: Headers = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if at > MOST_HEADERS {
            return None;
        }
        at += line.len();
        let text = std::str::from_utf8(line).ok()?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            if headers.is_empty() {
                continue;
            }
            return Some((headers, &bytes[at..]));
        }
        if text.starts_with([' ', '\t']) {
            let (_, value) = headers.last_mut()?;
            value.push(' ');
            value.push_str(text.trim());
        } else if !(headers.is_empty() && text.starts_with("From ")) {
            let (name, value) = text.split_once(':')?;
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return None;
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    None
}

fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str())
}

/// A parameter of a header, such as `boundary` of `multipart/mixed; boundary="x"`.
fn parameter(value: &str, name: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|piece| {
        let (key, value) = piece.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let named = key.trim().eq_ignore_ascii_case(name) && !value.is_empty();
        named.then(|| value.to_owned())
    })
}

/// The parts, and whether the line that ends the message is there.
fn split_parts<'a>(body: &'a [u8], boundary: &str) -> (Vec<&'a [u8]>, bool) {
    let delimiter = format!("--{boundary}");
    let last = format!("{delimiter}--");
    let mut parts = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        let ends = text == last.as_bytes();
        if ends || text == delimiter.as_bytes() {
            if let Some(start) = start {
                parts.push(&body[start..at]);
            }
            start = (!ends).then_some(at + line.len());
            if ends || parts.len() >= MOST_PARTS {
                return (parts, ends);
            }
        }
        at += line.len();
    }
    // A message that lost its end still has its last part.
    parts.extend(start.map(|start| &body[start..]));
    (parts, false)
}

fn read_part(bytes: &[u8]) -> Part {
    let empty = bytes.strip_prefix(b"\r\n").or(bytes.strip_prefix(b"\n"));
    let (headers, body) = match empty {
        Some(body) => (Vec::new(), body),
        None => split_headers(bytes).unwrap_or_else(|| (Vec::new(), bytes)),
    };
    let kind = header(&headers, "content-type").unwrap_or("text/plain");
    let encoding = header(&headers, "content-transfer-encoding").unwrap_or("7bit");
    let multipart = kind.to_ascii_lowercase().starts_with("multipart/");
    let decoded = if multipart {
        // The part is a message itself; its headers belong to it.
        Some(bytes.to_vec())
    } else {
        decode(body, encoding)
    };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    Part {
        kind: kind.to_owned(),
        undecodable: decoded.is_none().then(|| encoding.to_owned()),
        body: decoded.unwrap_or_default(),
    }
}

fn decode(body: &[u8], encoding: &str) -> Option<Vec<u8>> {
    match encoding.to_ascii_lowercase().as_str() {
        "base64" => super::from_base64(body),
        "quoted-printable" => Some(decode_quoted_printable(body)),
        "7bit" | "8bit" | "binary" => Some(body.to_vec()),
        _ => None,
    }
}

fn decode_quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((byte, tail)) = rest.split_first() {
        rest = match (byte, tail) {
            (b'=', [b'\r', b'\n', tail @ ..] | [b'\n', tail @ ..]) => tail,
            (b'=', [high, low, tail @ ..]) => {
                match (digit(*high), digit(*low)) {
                    (Some(high), Some(low)) => {
                        decoded.push(high * 16 + low);
                        tail
                    }
                    // Not an escape: what is written is what is meant.
                    _ => {
                        decoded.push(b'=');
                        &rest[1..]
                    }
                }
            }
            _ => {
                decoded.push(*byte);
                tail
            }
        };
    }
    decoded
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}
