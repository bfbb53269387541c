//! Reads a bbolt database, the format of etcd's snapshots: pages, branches, leaves and buckets
//! (go.etcd.io/bbolt v1.3.10, page.go, db.go, bucket.go). Every number in it is checked before it
//! is followed, because the file may be truncated, corrupt or hostile.

use quake_model::ports::SnapshotBytes;
use std::fmt;

/// Why a file is not a readable database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken(pub(super) String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const HEADER: usize = 16;
const ELEMENT: usize = 16;
const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const META: u16 = 0x04;
const BUCKET: u32 = 0x01;

/// The largest page of any machine that Go runs on, and the smallest.
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 512..=65_536;

/// A B+tree of 2⁴⁸ pages of two elements is no deeper. bbolt has no limit of its own.
const DEEPEST: usize = 48;

/// The longest run of overflow pages that is read at once, in bytes: etcd refuses requests of more
/// than 1.5 MiB by default, and nobody sets that limit to a gigabyte.
const LONGEST_RUN: u64 = 1 << 30;

/// A database, and where its tree begins.
pub(super) struct Database<'a> {
    bytes: &'a dyn SnapshotBytes,
    page_size: u64,
    /// How many pages the database says it has.
    pages: u64,
    root: u64,
}

/// A bucket: a tree of its own, or a page within its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bucket {
    Tree(u64),
    Inline(Vec<u8>),
}

/// What is called for each key and value of a leaf.
type Visit<'v> = &'v mut dyn FnMut(&[u8], &[u8], bool) -> Result<(), Broken>;

impl<'a> Database<'a> {
    /// Opens the database in the first `length` bytes.
    pub(super) fn open(bytes: &'a dyn SnapshotBytes, length: u64) -> Result<Self, Broken> {
        let page_size = find_page_size(bytes)?;
        let metas = [0, page_size].map(|at| read_meta(bytes, at));
        let newest = metas
            .into_iter()
            .flatten()
            .max_by_key(|meta| meta.transaction);
        let meta = newest.ok_or_else(|| Broken("it has no valid meta page".to_owned()))?;
        if meta.pages.saturating_mul(page_size) > length {
            let (says, has) = (meta.pages.saturating_mul(page_size), length);
            return Err(Broken(format!("it should have {says} bytes and has {has}")));
        }
        Ok(Self {
            bytes,
            page_size,
            pages: meta.pages,
            root: meta.root,
        })
    }

    /// The bucket of this name at the top; `None` where there is none.
    pub(super) fn bucket(&self, name: &[u8]) -> Result<Option<Bucket>, Broken> {
        let mut found = None;
        self.visit(&Bucket::Tree(self.root), &mut |key, value, is_bucket| {
            if is_bucket && key == name {
                found = Some(read_bucket(value)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Visits every key of a bucket, in their order.
    pub(super) fn visit(&self, bucket: &Bucket, visit: Visit<'_>) -> Result<(), Broken> {
        match bucket {
            Bucket::Inline(page) => visit_leaf(page, visit),
            Bucket::Tree(root) => {
                // Each page is of one place in one tree: more visits than pages are a circle.
                let mut left = self.pages;
                self.visit_page(*root, DEEPEST, &mut left, visit)
            }
        }
    }

    fn visit_page(
        &self,
        id: u64,
        depth: usize,
        left: &mut u64,
        visit: Visit<'_>,
    ) -> Result<(), Broken> {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| Broken("its pages form a circle".to_owned()))?;
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| Broken("its pages are nested too deeply".to_owned()))?;
        let page = self.page(id)?;
        let flags = u16_at(&page, 8)?;
        if flags & LEAF != 0 {
            return visit_leaf(&page, visit);
        }
        if flags & BRANCH == 0 {
            return Err(Broken(format!("page {id} is neither branch nor leaf")));
        }
        for index in 0..usize::from(u16_at(&page, 10)?) {
            let child = u64_at(&page, HEADER + index * ELEMENT + 8)?;
            self.visit_page(child, depth, left, visit)?;
        }
        Ok(())
    }

    /// A page with those that it overflows into.
    fn page(&self, id: u64) -> Result<Vec<u8>, Broken> {
        let missing = || Broken(format!("page {id} is beyond its end"));
        if id >= self.pages {
            return Err(missing());
        }
        let offset = id.checked_mul(self.page_size).ok_or_else(missing)?;
        let header = self.bytes.read(offset, HEADER).ok_or_else(missing)?;
        if u64_at(&header, 0)? != id {
            return Err(Broken(format!("page {id} says it is another page")));
        }
        let run = u64::from(u32_at(&header, 12)?).saturating_add(1);
        let within = id.checked_add(run).is_some_and(|end| end <= self.pages);
        let length = run.saturating_mul(self.page_size);
        if !within || length > LONGEST_RUN {
            return Err(missing());
        }
        let length = usize::try_from(length).map_err(|_| missing())?;
        self.bytes.read(offset, length).ok_or_else(missing)
    }
}

fn visit_leaf(page: &[u8], visit: Visit<'_>) -> Result<(), Broken> {
    for index in 0..usize::from(u16_at(page, 10)?) {
        let at = HEADER + index * ELEMENT;
        let flags = u32_at(page, at)?;
        let [position, key, value] = [4, 8, 12].map(|field| u32_at(page, at + field));
        let (position, key, value) = (size(position?), size(key?), size(value?));
        let outside = || Broken("a key is outside of its page".to_owned());
        let from = at.checked_add(position).ok_or_else(outside)?;
        let middle = from.checked_add(key).ok_or_else(outside)?;
        let end = middle.checked_add(value).ok_or_else(outside)?;
        let (Some(key), Some(value)) = (page.get(from..middle), page.get(middle..end)) else {
            return Err(outside());
        };
        visit(key, value, flags & BUCKET != 0)?;
    }
    Ok(())
}

fn read_bucket(value: &[u8]) -> Result<Bucket, Broken> {
    match u64_at(value, 0)? {
        0 => Ok(Bucket::Inline(value.get(16..).unwrap_or_default().to_vec())),
        root => Ok(Bucket::Tree(root)),
    }
}

struct Meta {
    root: u64,
    pages: u64,
    transaction: u64,
}

/// The first meta page names the size of all; the second one stands where the first says, or at the
/// place of a page of the usual size if the first is damaged.
fn find_page_size(bytes: &dyn SnapshotBytes) -> Result<u64, Broken> {
    let stated = |at: u64| {
        let page = bytes.read(at, HEADER + 64)?;
        let is_meta = u32_at(&page, HEADER).ok()? == MAGIC;
        let size = u32_at(&page, HEADER + 8).ok()?;
        (is_meta && PAGE_SIZES.contains(&size) && size.is_power_of_two()).then_some(u64::from(size))
    };
    let found = stated(0).or_else(|| stated(4096));
    found.ok_or_else(|| Broken("it is not a bbolt database".to_owned()))
}

fn read_meta(bytes: &dyn SnapshotBytes, at: u64) -> Option<Meta> {
    let page = bytes.read(at, HEADER + 64)?;
    let meta = page.get(HEADER..)?;
    let sound = u16_at(&page, 8).ok()? & META != 0
        && u32_at(meta, 0).ok()? == MAGIC
        && u32_at(meta, 4).ok()? == VERSION
        && u64_at(meta, 56).ok()? == checksum(meta.get(..56)?);
    let read = |offset| u64_at(meta, offset).ok();
    sound.then_some(())?;
    Some(Meta {
        root: read(16)?,
        pages: read(40)?,
        transaction: read(48)?,
    })
}

/// FNV-1a of 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Broken> {
    let found = bytes.get(at..at.saturating_add(N));
    let found = found.and_then(|found| found.try_into().ok());
    found.ok_or_else(|| Broken("a page ends too early".to_owned()))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Broken> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Broken> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Broken> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests;
