//! What precedes an entry to say more than its header can: GNU long names and pax records.

use super::bytes::Bytes;
use super::{dangerous, shown};
use quake_model::ports::PortError;

/// The most bytes one extension may have. Linux takes paths of 4 KiB; the rest is extended attributes.
const MAX_EXTENSION_BYTES: u64 = 1 << 20;

/// What extensions say of the entry that follows them.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) sparse: PaxSparse,
    has_records: bool,
}

/// The records of a sparse file in GNU's pax format 1.0, whose map stands in front of its bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PaxSparse {
    pub(super) major: Option<Vec<u8>>,
    pub(super) minor: Option<Vec<u8>>,
    pub(super) name: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
}

impl Extensions {
    /// Whether nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        let nothing = self.path.is_none() && self.link.is_none();
        nothing && !self.has_records
    }

    /// Takes the long name that GNU tar puts in front of an entry.
    ///
    /// # Errors
    ///
    /// `Unsafe` when the entry has one already: readers differ in which of two names they believe.
    pub(super) fn set_long_path(&mut self, bytes: &[u8]) -> Result<(), PortError> {
        set(&mut self.path, without_end(bytes), "path")
    }

    /// Takes the long target that GNU tar puts in front of a link.
    pub(super) fn set_long_link(&mut self, bytes: &[u8]) -> Result<(), PortError> {
        set(&mut self.link, without_end(bytes), "link target")
    }

    /// Takes the pax records of one entry.
    ///
    /// # Errors
    ///
    /// `Unsafe` when they are malformed, contradict each other, or are of a sparse format not taken here.
    pub(super) fn set_records(&mut self, bytes: &[u8]) -> Result<(), PortError> {
        if std::mem::replace(&mut self.has_records, true) {
            return Err(dangerous("describes an entry twice"));
        }
        for record in Records(bytes) {
            let (key, value) = record?;
            match key {
                b"path" => set(&mut self.path, value.to_vec(), "path")?,
                b"linkpath" => set(&mut self.link, value.to_vec(), "link target")?,
                b"size" => set(&mut self.size, decimal(value)?, "size")?,
                b"GNU.sparse.major" => set(&mut self.sparse.major, value.to_vec(), "format")?,
                b"GNU.sparse.minor" => set(&mut self.sparse.minor, value.to_vec(), "format")?,
                b"GNU.sparse.name" => set(&mut self.sparse.name, value.to_vec(), "name")?,
                b"GNU.sparse.realsize" => set(&mut self.sparse.size, decimal(value)?, "size")?,
                _ if is_sparse(key) => return Err(unknown_sparse(key)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Checks pax records for all entries: nothing that changes what an entry is may be among them.
///
/// # Errors
///
/// `Unsafe` when it is, or the records are malformed.
pub(super) fn check_global(bytes: &[u8]) -> Result<(), PortError> {
    for record in Records(bytes) {
        let (key, _) = record?;
        if matches!(key, b"path" | b"linkpath" | b"size") || is_sparse(key) {
            let key = shown(key);
            return Err(dangerous(format!("sets {key} for all its entries at once")));
        }
    }
    Ok(())
}

/// Reads an extension of `size` bytes.
///
/// # Errors
///
/// `Unsafe` when it is too long, and as [`Bytes::expected`].
pub(super) fn read_extension(bytes: &mut Bytes<'_>, size: u64) -> Result<Vec<u8>, PortError> {
    if size > MAX_EXTENSION_BYTES {
        return Err(dangerous(format!(
            "holds a name or a record of {size} bytes"
        )));
    }
    let mut extension = Vec::new();
    let mut left = size;
    while left > 0 {
        let some = bytes.expected(left)?;
        extension.extend_from_slice(some);
        left -= some.len() as u64;
    }
    Ok(extension)
}

fn set<T>(place: &mut Option<T>, value: T, what: &str) -> Result<(), PortError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(dangerous(format!("gives an entry a second {what}"))),
    }
}

/// Without the NULs that end it. One within stays, and is refused as a control character: what it hides
/// from one reader another reader sees.
fn without_end(mut bytes: &[u8]) -> Vec<u8> {
    while let Some(shorter) = bytes.strip_suffix(&[0]) {
        bytes = shorter;
    }
    bytes.to_vec()
}

fn is_sparse(key: &[u8]) -> bool {
    key.starts_with(b"GNU.sparse.") || key == b"SCHILY.realsize"
}

fn unknown_sparse(key: &[u8]) -> PortError {
    let key = shown(key);
    dangerous(format!(
        "holds a sparse file in a format that is not taken, with {key}"
    ))
}

/// A number in ASCII digits and nothing else.
fn decimal(value: &[u8]) -> Result<u64, PortError> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| digits);
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| dangerous(format!("gives the invalid size {}", shown(value))))
}

/// Pax records: a length in decimal that counts the whole record, a space, `key=value`, a newline.
/// The value may itself hold newlines, so only the length tells where a record ends.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), PortError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let Some((key, value, rest)) = split_record(self.0) else {
            self.0 = &[];
            return Some(Err(dangerous("holds a malformed pax record")));
        };
        self.0 = rest;
        Some(Ok((key, value)))
    }
}

/// Key, value and what follows.
fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(&bytes[..space]).ok()?).ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let pair = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    (equals > 0).then(|| (&pair[..equals], &pair[equals + 1..], rest))
}
