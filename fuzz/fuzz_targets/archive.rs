//! Whatever the bytes: unpacking ends, writes below its folder alone, and reports exactly what it wrote.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quake_fuzz::unpack_archive;
use quake_model::ports::Condition;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// What even the smallest archive may unpack to. No input here is large enough for more.
const MOST_BYTES: u64 = 64 << 20;

fuzz_target!(|bytes: &[u8]| {
    let yard = tempfile::tempdir().expect("TMPDIR takes it");
    let target = yard.path().join("target");
    std::fs::create_dir(&target).expect("ours");
    std::fs::write(yard.path().join("outside"), "untouched").expect("ours");
    // How the bytes are cut into reads must change nothing that is seen.
    let (a, b) = bytes.split_at(bytes.len() / 3);
    let unpacked = unpack_archive(a.chain(b), &target);
    let mut found = BTreeMap::new();
    look(&target, Path::new(""), &mut found);
    assert!(found.values().sum::<u64>() <= MOST_BYTES);
    match unpacked {
        Ok(members) => {
            let count = members.len();
            let members: BTreeMap<_, _> = members.into_iter().collect();
            assert_eq!(count, members.len(), "a name came twice");
            assert_eq!(members, found);
        }
        Err(error) => assert_eq!(error.condition, Condition::Unsafe, "{error:?}"),
    }
    let outside: Vec<_> = std::fs::read_dir(yard.path()).expect("ours").collect();
    assert_eq!(outside.len(), 2, "something stands outside");
    let secret = std::fs::read(yard.path().join("outside"));
    assert_eq!(secret.expect("ours"), b"untouched");
});

/// All files below `folder` with their sizes; nothing but files and folders may be there.
fn look(folder: &Path, inner: &Path, found: &mut BTreeMap<String, u64>) {
    for entry in std::fs::read_dir(folder).expect("a directory") {
        let entry = entry.expect("readable");
        let name = inner.join(entry.file_name());
        let metadata = entry.metadata().expect("it was listed");
        if metadata.is_dir() {
            look(&entry.path(), &name, found);
        } else {
            assert!(metadata.is_file(), "{name:?} is no file");
            let name = name.to_str().expect("names are text");
            found.insert(name.to_owned(), metadata.len());
        }
    }
}
