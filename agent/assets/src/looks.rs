//! Guesses from its first bytes what a file is, to explain a wrong digest.

/// How many bytes a guess needs.
pub(super) const HEAD_BYTES: usize = 64;

/// What bytes that begin like `head` look like, for a person.
pub(super) fn describe_bytes(head: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(head)
        .trim_start()
        .to_ascii_lowercase();
    match head {
        [] => "nothing at all",
        [0x1f, 0x8b, ..] => "a gzip file",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF program",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "a zstd file",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "an xz file",
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => "a bzip2 file",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        _ if text.starts_with("<!doctype html") || text.starts_with("<html") => "an HTML page",
        _ if text.starts_with("<?xml") => "an XML document, as S3 sends with an error",
        _ if text.starts_with("#!") => "a script",
        _ if text.starts_with('{') => "a JSON document",
        _ if head.is_ascii() => "plain text",
        _ => "unknown binary data",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_page_is_recognised_whatever_stands_before_it() {
        assert_eq!(describe_bytes(b"\n <!DOCTYPE html><html>"), "an HTML page");
        assert_eq!(describe_bytes(b"\x7fELF\x02\x01"), "an ELF program");
        assert_eq!(describe_bytes(b"\x1f\x8b\x08"), "a gzip file");
        assert_eq!(describe_bytes(b""), "nothing at all");
    }
}
