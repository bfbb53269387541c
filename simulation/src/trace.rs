//! What happened, line by line: a digest always, the lines themselves where somebody reads them.

use std::fmt::{self, Write};

/// FNV-1a, 64 bits.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// What happened in one world.
#[derive(Debug, Clone)]
pub struct Trace {
    digest: u64,
    lines: Option<String>,
    /// The line under way; kept for its memory.
    line: String,
}

impl Trace {
    /// A trace that keeps its lines, or only their digest.
    pub fn new(keeps: bool) -> Self {
        Self {
            digest: BASIS,
            lines: keeps.then(String::new),
            line: String::new(),
        }
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, arguments: fmt::Arguments<'_>) {
        self.line.clear();
        // Writing into a string does not fail.
        let _ = self.line.write_fmt(arguments);
        self.digest = digest(self.digest, self.line.as_bytes());
        if let Some(lines) = &mut self.lines {
            lines.push_str(&self.line);
            lines.push('\n');
        }
    }

    /// The digest of all lines.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The lines, where they were kept.
    pub fn lines(&self) -> &str {
        self.lines.as_deref().unwrap_or_default()
    }
}

fn digest(from: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(from, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// The digest of a file's bytes, eight at a time.
pub(crate) fn digest_of(bytes: &[u8]) -> u64 {
    let start = BASIS ^ bytes.len() as u64;
    bytes.chunks(8).fold(start, |sum, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        (sum ^ u64::from_le_bytes(word))
            .wrapping_mul(PRIME)
            .rotate_left(23)
    })
}
