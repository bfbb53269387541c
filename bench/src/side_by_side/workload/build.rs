//! Makes a workload's files once, and finds them again the next time.

use super::archive::{Archive, Hashing};
use super::pool::Pool;
use super::{Asset, Content, Kind, Recipe, Workload, recipe};
use crate::failure::BenchError;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// Counts up when the same recipe makes other bytes, so that old files are made anew.
const VERSION: u32 = 4;

/// The level of a release's archives.
const LEVEL: u32 = 6;

/// The level of the huge archive, which would take minutes at the usual one.
const FAST: u32 = 2;

/// The workload of this name below `served`, made if it is not there.
///
/// # Errors
///
/// Fails when there is no such workload, or its files cannot be written.
pub(crate) fn prepare(served: &Path, name: &str, seed: u64) -> Result<Workload, BenchError> {
    let folder = served.join(format!("{name}-seed{seed}-v{VERSION}"));
    let list = folder.join("manifest.json");
    if let Some(made) = read(&list).filter(is_whole) {
        return Ok(made);
    }
    let (role, recipes) =
        recipe(name).ok_or_else(|| BenchError::Unfit(format!("there is no workload {name:?}")))?;
    println!("making {name} below {}", folder.display());
    std::fs::create_dir_all(&folder).map_err(BenchError::path(&folder))?;
    let mut pool = Pool::open(seed)?;
    let mut assets = Vec::new();
    for recipe in &recipes {
        assets.push(make(&folder, &mut pool, recipe)?);
    }
    let made = Workload {
        name: name.to_owned(),
        role,
        assets,
        folder,
    };
    let text = serde_json::to_string_pretty(&made).map_err(|source| BenchError::Document {
        what: list.display().to_string(),
        source,
    })?;
    std::fs::write(&list, text).map_err(BenchError::path(&list))?;
    Ok(made)
}

fn read(list: &Path) -> Option<Workload> {
    serde_json::from_slice(&std::fs::read(list).ok()?).ok()
}

fn is_whole(made: &Workload) -> bool {
    made.assets.iter().all(|asset| {
        let found = std::fs::metadata(made.folder.join(&asset.name));
        found.is_ok_and(|found| found.len() == asset.size)
    })
}

fn make(folder: &Path, pool: &mut Pool, recipe: &Recipe) -> Result<Asset, BenchError> {
    let (Recipe::Plain { name, .. } | Recipe::Archive { name, .. } | Recipe::Growing { name, .. }) =
        recipe;
    let path = folder.join(name);
    let file = File::create(&path).map_err(BenchError::path(&path))?;
    let file = BufWriter::with_capacity(1 << 20, file);
    let made = match recipe {
        Recipe::Plain { size, .. } => make_plain(file, name, pool.cut(*size)),
        Recipe::Archive { members, size, .. } => make_archive(file, name, pool, (members, *size)),
        Recipe::Growing {
            member_size,
            packed_size,
            ..
        } => make_growing(file, name, pool, (*member_size, *packed_size)),
    };
    made.map_err(BenchError::path(&path))
}

fn make_plain(mut file: BufWriter<File>, name: &str, bytes: impl Read) -> io::Result<Asset> {
    let mut hashed = Hashing::new(bytes);
    io::copy(&mut hashed, &mut file)?;
    file.flush()?;
    let (size, sha256) = hashed.finish();
    let content = Content {
        path: name.to_owned(),
        size,
        sha256: sha256.clone(),
    };
    Ok(asset(name, Kind::Plain, (size, sha256), vec![content]))
}

fn make_archive(
    file: BufWriter<File>,
    name: &str,
    pool: &mut Pool,
    (members, size): (&[String], u64),
) -> io::Result<Asset> {
    let mut archive = Archive::new(file, LEVEL);
    for (member, size) in members.iter().zip(shares(size, members.len())) {
        archive.add(member, size, pool.cut(size))?;
    }
    finished(name, archive)
}

fn make_growing(
    file: BufWriter<File>,
    name: &str,
    pool: &mut Pool,
    (member_size, packed_size): (u64, u64),
) -> io::Result<Asset> {
    let mut archive = Archive::new(file, FAST);
    let mut count = 0_u32;
    while archive.packed() < packed_size {
        let member = format!("huge/part-{count:03}");
        archive.add(&member, member_size, pool.cut(member_size))?;
        count += 1;
    }
    finished(name, archive)
}

fn finished(name: &str, archive: Archive<BufWriter<File>>) -> io::Result<Asset> {
    let (size, sha256, members) = archive.finish()?;
    Ok(asset(name, Kind::TarGz, (size, sha256), members))
}

fn asset(name: &str, kind: Kind, wire: (u64, String), contents: Vec<Content>) -> Asset {
    Asset {
        name: name.to_owned(),
        kind,
        size: wire.0,
        sha256: wire.1,
        contents,
    }
}

/// Splits a size into unequal parts, as programs are: from half the mean to one and a half times it.
fn shares(size: u64, count: usize) -> Vec<u64> {
    let count = count as u64;
    let mut parts: Vec<u64> = (0..count)
        .map(|number| size * (count + 2 * number) / (count * (2 * count - 1)))
        .collect();
    if let Some(last) = parts.last_mut() {
        *last = 0;
    }
    let rest = size - parts.iter().sum::<u64>();
    if let Some(last) = parts.last_mut() {
        *last = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_unequal_and_add_up() {
        for (size, count) in [(129_600_000, 20), (95_000_000, 8), (7, 1), (100, 3)] {
            let parts = shares(size, count);
            assert_eq!(parts.iter().sum::<u64>(), size, "{parts:?}");
            assert_eq!(parts.len(), count);
        }
        let parts = shares(95_000_000, 8);
        assert!(parts[0] < parts[7] && parts[7] < 4 * parts[0], "{parts:?}");
    }
}
