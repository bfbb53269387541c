//! Signatures of everything that a device may carry and that must not be overwritten.
//!
//! One table of magic bytes, and a few whose place depends on the device's size or that need a second
//! look. Places are from each format's own headers and from libblkid's documentation of them (util-linux
//! 2.38). A wrong entry here can only cost a boot, never data: a device without a signature must still be
//! proven blank.

use super::image::Ends;

/// Whether a signature is a filesystem's, or of something below filesystems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It can be mounted, by someone.
    Filesystem,
    /// A table, a member of an array, a crypt header, swap, a database.
    Other,
}

/// A signature that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: &'static str,
    pub(super) role: Role,
}

/// Where magic bytes stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    /// At any of these offsets from the start.
    Head(&'static [u64]),
    /// At any of these distances before the end.
    Tail(&'static [u64]),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Magic {
    pub(super) name: &'static str,
    pub(super) role: Role,
    pub(super) at: At,
    pub(super) bytes: &'static [u8],
}

const fn filesystem(name: &'static str, at: &'static [u64], bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        role: Role::Filesystem,
        at: At::Head(at),
        bytes,
    }
}

const fn other(name: &'static str, at: &'static [u64], bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        role: Role::Other,
        at: At::Head(at),
        bytes,
    }
}

const fn other_at_end(name: &'static str, at: &'static [u64], bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        role: Role::Other,
        at: At::Tail(at),
        bytes,
    }
}

/// Ends of the first page for every page size of Linux, less the ten bytes of swap's magic.
const SWAP_AT: &[u64] = &[0xff6, 0x1ff6, 0x3ff6, 0x7ff6, 0xfff6];
/// LUKS2 keeps its second header at one of these (LUKS2 on-disk format, 2.1).
const LUKS2_SECOND_AT: &[u64] = &[
    0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000, 0x10_0000, 0x20_0000, 0x40_0000,
];
/// Sectors 0 to 3, any of which may hold LVM's label; the type stands 24 bytes into it.
const LVM2_AT: &[u64] = &[24, 536, 1048, 1560];

/// Magic bytes of four and more, which do not occur by chance.
pub(super) const MAGICS: &[Magic] = &[
    filesystem("xfs", &[0], b"XFSB"),
    filesystem("btrfs", &[0x1_0040], b"_BHRfS_M"),
    filesystem(
        "bcachefs",
        &[4120],
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    filesystem("f2fs", &[1024], b"\x10\x20\xf5\xf2"),
    filesystem("jfs", &[0x8000], b"JFS1"),
    filesystem("reiserfs", &[0x2034, 0x1_0034], b"ReIsEr"),
    filesystem("reiser4", &[0x1_0000], b"ReIsEr4"),
    filesystem("ocfs2", &[1024, 2048, 4096, 8192], b"OCFSV2"),
    filesystem("gfs2", &[0x1_0000], b"\x01\x16\x19\x70"),
    filesystem("ufs", &[0x255c, 0x1_055c], b"\x54\x19\x01\x00"),
    filesystem("hfs-plus", &[1024], b"H+\x00\x04"),
    filesystem("apfs", &[32], b"NXSB"),
    filesystem("squashfs", &[0], b"hsqs"),
    filesystem("squashfs", &[0], b"sqsh"),
    filesystem("erofs", &[1024], b"\xe2\xe1\xf5\xe0"),
    filesystem("cramfs", &[0], b"\x45\x3d\xcd\x28"),
    filesystem("romfs", &[0], b"-rom1fs-"),
    filesystem("iso9660", &[0x8001], b"CD001"),
    filesystem("udf", &[0x8001], b"BEA01"),
    filesystem("fat", &[54], b"FAT12   "),
    filesystem("fat", &[54], b"FAT16   "),
    filesystem("fat", &[82], b"FAT32   "),
    filesystem("exfat", &[3], b"EXFAT   "),
    filesystem("ntfs", &[3], b"NTFS    "),
    filesystem("refs", &[3], b"ReFS\0\0\0\0"),
    filesystem("vmfs", &[0x10_0000], b"\x0d\xd0\x01\xc0"),
    other("luks", &[0], b"LUKS\xba\xbe"),
    other("luks", LUKS2_SECOND_AT, b"SKUL\xba\xbe"),
    other("lvm2", LVM2_AT, b"LVM2 001"),
    other("lvm1", &[0], b"HM\x01\x00"),
    other("lvm1", &[0], b"HM\x02\x00"),
    other("md-raid", &[0, 4096], b"\xfc\x4e\x2b\xa9"),
    other("swap", SWAP_AT, b"SWAP-SPACE"),
    other("swap", SWAP_AT, b"SWAPSPACE2"),
    other("hibernation", SWAP_AT, b"S1SUSPEND\0"),
    other("hibernation", SWAP_AT, b"S2SUSPEND\0"),
    other("hibernation", SWAP_AT, b"LINHIB0001"),
    other("gpt", &[512, 4096], b"EFI PART"),
    other_at_end("gpt", &[512, 4096], b"EFI PART"),
    other("bitlocker", &[3], b"-FVE-FS-"),
    other(
        "bcache",
        &[4120],
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    other("ceph-bluestore", &[0], b"bluestore block device"),
    other("dm-verity", &[0], b"verity\0\0"),
    other("dm-integrity", &[0], b"integrt\0"),
    other("vdo", &[0], b"dmvdo001"),
    other("stratis", &[516], b"!Stra0tis\x86\xff\x02^\x41rh"),
    other_at_end("drbd", &[4036], b"\x83\x74\x02\x6b"),
    other_at_end("drbd", &[4036], b"\x83\x74\x02\x6c"),
    other_at_end("drbd", &[4036], b"\x83\x74\x02\x6d"),
];

/// Finds every signature but ext's, each name once, in the table's order.
pub(super) fn find_signatures(ends: &Ends) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut add = |name: &'static str, role: Role| {
        if found.iter().all(|known| known.name != name) {
            found.push(Found { name, role });
        }
    };
    for magic in MAGICS.iter().filter(|magic| is_there(ends, magic)) {
        add(magic.name, magic.role);
    }
    if has_md_at_end(ends) {
        add("md-raid", Role::Other);
    }
    if has_zfs_label(ends) {
        add("zfs", Role::Other);
    }
    if has_nilfs2(ends) {
        add("nilfs2", Role::Filesystem);
    }
    // FAT, exFAT, NTFS and BitLocker end their first sector as a partition table does, and GPT puts one
    // before itself; so it counts only where nothing else was found.
    if found.is_empty() && ends.has(510, b"\x55\xaa") {
        found.push(Found {
            name: "mbr",
            role: Role::Other,
        });
    }
    found
}

/// Whether the first sector holds a partition table with a partition in it, whatever else is there.
pub(super) fn has_partition(ends: &Ends) -> bool {
    let entries = ends.at(446, 64).unwrap_or_default();
    ends.has(510, b"\x55\xaa") && entries.iter().any(|byte| *byte != 0)
}

fn is_there(ends: &Ends, magic: &Magic) -> bool {
    match magic.at {
        At::Head(offsets) => offsets.iter().any(|offset| ends.has(*offset, magic.bytes)),
        At::Tail(distances) => distances.iter().any(|distance| {
            let offset = ends.size().checked_sub(*distance);
            offset.is_some_and(|offset| ends.has(offset, magic.bytes))
        }),
    }
}

/// Linux RAID's superblocks at the end: 1.0, and 0.90 in either byte order.
fn has_md_at_end(ends: &Ends) -> bool {
    let size = ends.size();
    // Between 8 and 12 KiB before the end, on a boundary of 4 KiB.
    let one_zero = (size / 512)
        .checked_sub(16)
        .map(|sector| (sector & !7) * 512);
    // The last whole 64 KiB.
    let ninety = (size & !0xffff).checked_sub(0x1_0000);
    one_zero.is_some_and(|offset| ends.has(offset, b"\xfc\x4e\x2b\xa9"))
        || ninety.is_some_and(|offset| {
            ends.has(offset, b"\xfc\x4e\x2b\xa9") || ends.has(offset, b"\xa9\x2b\x4e\xfc")
        })
}

/// ZFS keeps four labels of 256 KiB, two at each end; the second half of a label is a ring of 128
/// uberblocks, each starting with a magic in the byte order of the machine that wrote it.
fn has_zfs_label(ends: &Ends) -> bool {
    const LABEL: u64 = 256 << 10;
    let end = ends.size() & !(LABEL - 1);
    let labels = [
        Some(0),
        Some(LABEL),
        end.checked_sub(2 * LABEL),
        end.checked_sub(LABEL),
    ];
    labels.into_iter().flatten().any(|label| {
        (0..128)
            .map(|slot| label + LABEL / 2 + slot * 1024)
            .any(|uberblock| {
                ends.has(uberblock, b"\x0c\xb1\xba\0\0\0\0\0")
                    || ends.has(uberblock, b"\0\0\0\0\0\xba\xb1\x0c")
            })
    })
}

/// nilfs2's magic is two bytes, so its revision before it must fit too; the second superblock is in the
/// last whole 4 KiB but one.
fn has_nilfs2(ends: &Ends) -> bool {
    let second = (ends.size() >> 12).checked_sub(1).map(|block| block << 12);
    [Some(1024), second].into_iter().flatten().any(|offset| {
        // The revision level is 2, the minor one 0.
        ends.has(offset, b"\x02\0\0\0\0\0\x34\x34")
    })
}
