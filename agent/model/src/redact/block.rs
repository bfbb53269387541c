//! Lines that belong to a name because they stand deeper than it.

use super::line::{Margin, blanks};

/// Where a name stands, which tells the lines that belong to it from those that do not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) margin: Margin,
    pub(super) column: usize,
}

impl Column {
    /// What the line says if it stands deeper.
    pub(super) fn deeper<'text>(&self, line: &'text [u8]) -> Option<&'text [u8]> {
        let inner = &line[self.margin.length_in(line)?.min(line.len())..];
        let column = blanks(inner);
        (column > self.column).then(|| &inner[column..])
    }

    /// What the line says if it stands as deep.
    pub(super) fn level<'text>(&self, line: &'text [u8]) -> Option<&'text [u8]> {
        let inner = &line[self.margin.length_in(line)?.min(line.len())..];
        let column = blanks(inner);
        (column == self.column).then(|| &inner[column..])
    }
}

/// The lines after a header that stand deeper than its name, without the last line break.
pub(super) fn length_of_block(bytes: &[u8], column: Column) -> usize {
    let (mut at, mut length) = (0, 0);
    for (number, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        at += line.len();
        let said = line.trim_ascii_end();
        // The first is what remains of the header's own line.
        let blank = number == 0
            || said.is_empty()
            || column
                .margin
                .length_in(said)
                .is_some_and(|margin| margin >= said.len());
        if !blank && column.deeper(said).is_none() {
            break;
        }
        length = if blank {
            length
        } else {
            at - (line.len() - said.len())
        };
    }
    length
}
