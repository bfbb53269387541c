//! The smallest system that reaches userspace: an initramfs of one program, which says so and restarts. It tells
//! whether a kernel really runs under an accelerator, which the accelerator's device node does not.

/// What the program writes to the console.
pub(super) const WORDS: &str = "quake: userspace runs\n";

/// Where the program is loaded.
const BASE: u64 = 0x40_0000;

/// The lengths of an ELF header and of one program header (System V ABI, "Object Files").
const HEADERS: u64 = 64 + 56;

/// x86-64 machine code: `write(1, words, 22)`, then `reboot(RESTART)`, then a loop. The words follow it.
const CODE: [u8; 51] = [
    0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1 (write)
    0xbf, 0x01, 0x00, 0x00, 0x00, // mov edi, 1
    0x48, 0x8d, 0x35, 0x22, 0x00, 0x00, 0x00, // lea rsi, [rip + 0x22]
    0xba, 0x16, 0x00, 0x00, 0x00, // mov edx, 22
    0x0f, 0x05, // syscall
    0xb8, 0xa9, 0x00, 0x00, 0x00, // mov eax, 169 (reboot)
    0xbf, 0xad, 0xde, 0xe1, 0xfe, // mov edi, 0xfee1dead
    0xbe, 0x69, 0x19, 0x12, 0x28, // mov esi, 0x28121969
    0xba, 0x67, 0x45, 0x23, 0x01, // mov edx, 0x01234567 (restart)
    0x45, 0x31, 0xd2, // xor r10d, r10d
    0x0f, 0x05, // syscall
    0xeb, 0xfe, // jmp to itself
];

/// The initramfs.
pub(super) fn initramfs() -> Vec<u8> {
    let mut archive = Vec::new();
    member(&mut archive, "dev", 0o040_755, (0, 0), &[]);
    member(&mut archive, "dev/console", 0o020_600, (5, 1), &[]);
    member(&mut archive, "init", 0o100_755, (0, 0), &program());
    member(&mut archive, "TRAILER!!!", 0, (0, 0), &[]);
    archive
}

/// A static ELF program of one segment.
fn program() -> Vec<u8> {
    let length = HEADERS + (CODE.len() + WORDS.len()) as u64;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    elf.resize(16, 0);
    let half = |elf: &mut Vec<u8>, value: u16| elf.extend(value.to_le_bytes());
    let word = |elf: &mut Vec<u8>, value: u32| elf.extend(value.to_le_bytes());
    let long = |elf: &mut Vec<u8>, value: u64| elf.extend(value.to_le_bytes());
    half(&mut elf, 2); // executable
    half(&mut elf, 62); // x86-64
    word(&mut elf, 1);
    long(&mut elf, BASE + HEADERS); // entry
    long(&mut elf, 64); // program headers
    long(&mut elf, 0);
    word(&mut elf, 0);
    // Lengths of the header, of a program header and how many; there are no sections.
    for value in [64, 56, 1, 0, 0, 0] {
        half(&mut elf, value);
    }
    word(&mut elf, 1); // to be loaded
    word(&mut elf, 5); // readable and executable
    for value in [0, BASE, BASE, length, length, 0x1000] {
        long(&mut elf, value);
    }
    elf.extend(CODE);
    elf.extend(WORDS.as_bytes());
    elf
}

/// Appends a member in the kernel's archive format (`Documentation/driver-api/early-userspace/buffer-format.rst`).
fn member(archive: &mut Vec<u8>, name: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
    let lengths = (contents.len() as u32, name.len() as u32 + 1);
    let fields = [
        1, mode, 0, 0, 1, 0, lengths.0, 0, 0, device.0, device.1, lengths.1, 0,
    ];
    archive.extend(b"070701");
    for field in fields {
        archive.extend(format!("{field:08x}").into_bytes());
    }
    archive.extend(name.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend(contents);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    let padded = archive.len().next_multiple_of(4);
    archive.resize(padded, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_runs_up_to_its_words_on_this_processor() {
        if !cfg!(target_arch = "x86_64") {
            return crate::skip::skipped("this processor is no x86-64");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("init");
        // The restart is replaced by an exit: this machine is not to be restarted.
        let mut program = program();
        let restart = program
            .windows(5)
            .position(|at| at == &CODE[24..29])
            .unwrap();
        program[restart + 1] = 60;
        std::fs::write(&path, program).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let output = std::process::Command::new(&path).output().unwrap();
        assert_eq!(output.stdout, WORDS.as_bytes());
    }

    #[test]
    fn members_begin_at_multiples_of_four() {
        let archive = initramfs();
        assert_eq!(archive.len() % 4, 0);
        let found = archive.windows(6).enumerate();
        let heads: Vec<usize> = found
            .filter(|(_, at)| at == b"070701")
            .map(|(i, _)| i)
            .collect();
        assert_eq!(heads.len(), 4);
        assert!(heads.iter().all(|head| head % 4 == 0), "{heads:?}");
    }
}
