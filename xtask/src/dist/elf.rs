//! Reads from an ELF file whether it needs anything of the machine it runs on.
//!
//! Two things in its program headers would: an interpreter (the dynamic linker), and a needed library.
//! A static position-independent executable has a dynamic section too, without needed libraries in it.
//! Offsets are those of the ELF-64 object file format, as in elf(5).

use std::fmt;

const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;

/// What an executable asks of the machine before it can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Linkage {
    has_interpreter: bool,
    needed_libraries: usize,
}

/// Why a file's linkage is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElfError {
    #[error("is no 64-bit little-endian ELF file")]
    NotElf,
    #[error("ends in the middle of its headers")]
    Truncated,
}

impl Linkage {
    /// Reads the program headers of an executable's bytes.
    ///
    /// # Errors
    ///
    /// Fails on other formats and on files that end too early.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ElfError> {
        // Magic, 64-bit, little-endian.
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return Err(ElfError::NotElf);
        }
        let table = number(bytes, 0x20, 8)?;
        let entry_size = number(bytes, 0x36, 2)?;
        let entries = number(bytes, 0x38, 2)?;
        let mut linkage = Self::default();
        for index in 0..entries {
            let header = table.saturating_add(index * entry_size);
            match number(bytes, header, 4)? {
                PT_INTERP => linkage.has_interpreter = true,
                PT_DYNAMIC => {
                    let start = number(bytes, header.saturating_add(0x08), 8)?;
                    let size = number(bytes, header.saturating_add(0x20), 8)?;
                    linkage.needed_libraries += count_needed(bytes, start, size)?;
                }
                _ => {}
            }
        }
        Ok(linkage)
    }

    /// Whether the file runs on a machine that has a kernel and nothing else.
    pub(super) fn is_static(self) -> bool {
        !self.has_interpreter && self.needed_libraries == 0
    }
}

impl fmt::Display for Linkage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interpreter = if self.has_interpreter { "an" } else { "no" };
        let libraries = self.needed_libraries;
        write!(f, "{interpreter} interpreter, {libraries} needed libraries")
    }
}

fn count_needed(bytes: &[u8], start: u64, size: u64) -> Result<usize, ElfError> {
    let mut needed = 0;
    for index in 0..size / 16 {
        match number(bytes, start.saturating_add(index * 16), 8)? {
            DT_NULL => break,
            DT_NEEDED => needed += 1,
            _ => {}
        }
    }
    Ok(needed)
}

/// The little-endian number of `length` bytes at `offset`.
fn number(bytes: &[u8], offset: u64, length: usize) -> Result<u64, ElfError> {
    let start = usize::try_from(offset).map_err(|_| ElfError::Truncated)?;
    let end = start.checked_add(length).ok_or(ElfError::Truncated)?;
    let field = bytes.get(start..end).ok_or(ElfError::Truncated)?;
    let fold = |value: u64, byte: &u8| (value << 8) | u64::from(*byte);
    Ok(field.iter().rev().fold(0, fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: usize = 0x40;
    const ENTRY: usize = 0x38;

    /// An ELF file with one program header per kind; the dynamic section holds the tags given.
    fn executable(kinds: &[u64], tags: &[u64]) -> Vec<u8> {
        let dynamic = HEADER + kinds.len() * ENTRY;
        let mut bytes = vec![0; dynamic];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[0x20] = 0x40;
        bytes[0x36] = 0x38;
        bytes[0x38] = u8::try_from(kinds.len()).expect("a few headers");
        for (index, kind) in kinds.iter().enumerate() {
            let header = HEADER + index * ENTRY;
            bytes[header..header + 8].copy_from_slice(&kind.to_le_bytes());
            bytes[header + 8..header + 16].copy_from_slice(&(dynamic as u64).to_le_bytes());
            let size = tags.len() as u64 * 16;
            bytes[header + 0x20..header + 0x28].copy_from_slice(&size.to_le_bytes());
        }
        for tag in tags {
            bytes.extend(tag.to_le_bytes());
            bytes.extend([0; 8]);
        }
        bytes
    }

    #[test]
    fn an_executable_without_interpreter_and_libraries_is_static() {
        let linkage = Linkage::read(&executable(&[1, PT_DYNAMIC], &[5, 6, DT_NULL]));
        assert_eq!(linkage.map(Linkage::is_static), Ok(true));
    }

    #[test]
    fn an_interpreter_makes_it_dynamic() {
        let linkage = Linkage::read(&executable(&[1, PT_INTERP], &[]));
        assert_eq!(linkage.map(Linkage::is_static), Ok(false));
    }

    #[test]
    fn a_needed_library_makes_it_dynamic() {
        let linkage = Linkage::read(&executable(&[PT_DYNAMIC], &[DT_NEEDED, DT_NEEDED, DT_NULL]));
        let expected = Linkage {
            has_interpreter: false,
            needed_libraries: 2,
        };
        assert_eq!(linkage, Ok(expected));
    }

    #[test]
    fn tags_after_the_end_of_the_dynamic_section_do_not_count() {
        let linkage = Linkage::read(&executable(&[PT_DYNAMIC], &[DT_NULL, DT_NEEDED]));
        assert_eq!(linkage.map(Linkage::is_static), Ok(true));
    }

    #[test]
    fn a_file_cut_short_is_an_error_and_no_panic() {
        let whole = executable(&[PT_DYNAMIC], &[DT_NEEDED, DT_NULL]);
        for length in 6..whole.len() - 16 {
            let cut = Linkage::read(&whole[..length]);
            assert_eq!(cut, Err(ElfError::Truncated), "{length}");
        }
    }

    #[test]
    fn this_very_test_is_read_as_it_was_linked() {
        let path = std::env::current_exe().expect("a test knows its own file");
        let bytes = std::fs::read(path).expect("a running program can be read");
        let linkage = Linkage::read(&bytes).expect("it is an ELF file");
        assert_eq!(linkage.is_static(), cfg!(target_feature = "crt-static"));
    }
}
