//! Databases page by page: whole, damaged and hostile.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const PAGE: usize = 512;

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

fn header(id: u64, flags: u16, count: u16, overflow: u32) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put(&mut page, 0, &id.to_le_bytes());
    put(&mut page, 8, &flags.to_le_bytes());
    put(&mut page, 10, &count.to_le_bytes());
    put(&mut page, 12, &overflow.to_le_bytes());
    page
}

fn meta(id: u64, root: u64, pages: u64) -> Vec<u8> {
    let mut page = header(id, META, 0, 0);
    put(&mut page, HEADER, &MAGIC.to_le_bytes());
    put(&mut page, HEADER + 4, &VERSION.to_le_bytes());
    put(&mut page, HEADER + 8, &(PAGE as u32).to_le_bytes());
    put(&mut page, HEADER + 16, &root.to_le_bytes());
    put(&mut page, HEADER + 40, &pages.to_le_bytes());
    // The second meta page is the newer one.
    put(&mut page, HEADER + 48, &id.to_le_bytes());
    let sum = checksum(&page[HEADER..HEADER + 56]);
    put(&mut page, HEADER + 56, &sum.to_le_bytes());
    page
}

fn leaf(id: u64, key: &[u8], overflow: u32) -> Vec<u8> {
    let mut page = header(id, LEAF, 1, overflow);
    put(&mut page, HEADER + 4, &(ELEMENT as u32).to_le_bytes());
    put(&mut page, HEADER + 8, &(key.len() as u32).to_le_bytes());
    put(&mut page, HEADER + ELEMENT, key);
    page
}

/// Two meta pages, of which the newer one has a branch of two leaves as its root.
fn database() -> Vec<Vec<u8>> {
    let mut branch = header(2, BRANCH, 2, 0);
    put(&mut branch, HEADER + 8, &3_u64.to_le_bytes());
    put(&mut branch, HEADER + ELEMENT + 8, &4_u64.to_le_bytes());
    vec![
        meta(0, 3, 5),
        meta(1, 2, 5),
        branch,
        leaf(3, b"first", 0),
        leaf(4, b"second", 0),
    ]
}

fn keys(pages: &[Vec<u8>]) -> Result<Vec<String>, Broken> {
    let bytes = pages.concat();
    let database = Database::open(&bytes, bytes.len() as u64)?;
    let mut keys = Vec::new();
    let root = Bucket::Tree(database.root);
    database.visit(&root, &mut |key, _, _| {
        keys.push(String::from_utf8_lossy(key).into_owned());
        Ok(())
    })?;
    Ok(keys)
}

fn broken(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> String {
    let mut pages = database();
    change(&mut pages);
    keys(&pages).expect_err("it is broken").to_string()
}

#[test]
fn the_leaves_below_a_branch_are_read_in_their_order() {
    assert_eq!(
        keys(&database()),
        Ok(vec!["first".to_owned(), "second".to_owned()])
    );
    let mut damaged = database();
    damaged[1][HEADER + 56] ^= 1;
    assert_eq!(
        keys(&damaged),
        Ok(vec!["first".to_owned()]),
        "of the older meta page"
    );
    let mut long = database();
    long[3] = leaf(3, b"first", 1);
    assert_eq!(
        keys(&long).map(|keys| keys.len()),
        Ok(2),
        "up to the last page"
    );
}

#[test]
fn what_is_wrong_with_a_page_is_named() {
    let neither = broken(|pages| pages[2] = header(2, META, 0, 0));
    assert_eq!(neither, "page 2 is neither branch nor leaf");
    let other = broken(|pages| pages[3][0] = 9);
    assert_eq!(other, "page 3 says it is another page");
    let beyond = broken(|pages| pages[4] = leaf(4, b"second", 1));
    assert_eq!(beyond, "page 4 is beyond its end");
    let circle = broken(|pages| put(&mut pages[2], HEADER + 8, &2_u64.to_le_bytes()));
    assert_eq!(circle, "its pages form a circle");
    let short = broken(|pages| pages.truncate(4));
    assert_eq!(short, "it should have 2560 bytes and has 2048");
}

#[test]
fn a_page_is_looked_for_within_the_pages_that_the_database_says_it_has() {
    // The second meta page is the last page of the file, and the newer one.
    let two = broken(|pages| *pages = vec![meta(0, 3, 2), meta(1, 2, 2)]);
    assert_eq!(two, "page 2 is beyond its end");
    let outside = broken(|pages| {
        put(&mut pages[2], HEADER + 8, &5_u64.to_le_bytes());
        pages.push(leaf(9, b"of no page", 0));
    });
    assert_eq!(outside, "page 5 is beyond its end");
}

#[test]
fn a_meta_page_of_another_kind_does_not_count_beside_a_good_one() {
    for (at, what) in [(8, "flags"), (HEADER, "magic"), (HEADER + 4, "version")] {
        let mut pages = database();
        let page = &mut pages[1];
        page[at] ^= 0xff;
        let sum = checksum(&page[HEADER..HEADER + 56]);
        put(page, HEADER + 56, &sum.to_le_bytes());
        assert_eq!(keys(&pages), Ok(vec!["first".to_owned()]), "{what}");
    }
}

#[test]
fn a_plain_value_is_no_bucket_whatever_its_key() {
    for (flags, is_bucket) in [(0, false), (BUCKET, true), (BUCKET << 1, false)] {
        let mut pages = database();
        put(&mut pages[3], HEADER, &flags.to_le_bytes());
        put(&mut pages[3], HEADER + 12, &8_u32.to_le_bytes());
        let bytes = pages.concat();
        let database = Database::open(&bytes, bytes.len() as u64).expect("it is whole");
        let found = database.bucket(b"first").expect("it is whole");
        assert_eq!(found.is_some(), is_bucket, "{flags}");
    }
}

/// A database whose root says that it overflows into so many pages, which are not there.
struct Overflowing {
    pages: u32,
    most_read: AtomicUsize,
}

impl SnapshotBytes for Overflowing {
    fn length(&self) -> u64 {
        u64::MAX
    }

    fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        self.most_read.fetch_max(length, Ordering::Relaxed);
        let page = match offset / PAGE as u64 {
            id @ 0..=1 => meta(id, 2, u64::from(u32::MAX)),
            id => header(id, LEAF, 0, self.pages),
        };
        page.get(..length).map(<[u8]>::to_vec)
    }
}

#[test]
fn no_more_than_a_gibibyte_is_ever_read_at_once() {
    let longest = u32::try_from(LONGEST_RUN / PAGE as u64).expect("it fits");
    for (pages, is_read) in [(longest - 1, true), (longest, false), (u32::MAX, false)] {
        let bytes = Overflowing {
            pages,
            most_read: AtomicUsize::new(0),
        };
        let database = Database::open(&bytes, u64::MAX).expect("its meta pages are whole");
        let root = Bucket::Tree(database.root);
        let broken = database.visit(&root, &mut |_, _, _| Ok(()));
        let broken = broken.expect_err("the pages are not there");
        assert_eq!(broken.to_string(), "page 2 is beyond its end");
        let most_read = bytes.most_read.load(Ordering::Relaxed) as u64;
        assert!(most_read <= LONGEST_RUN, "{pages}: {most_read}");
        assert_eq!(most_read == LONGEST_RUN, is_read, "{pages}");
    }
}

#[test]
fn a_meta_page_counts_that_is_whole_and_of_this_format() {
    let spoiled = |at: usize| {
        broken(|pages| {
            for page in &mut pages[..2] {
                page[at] ^= 0xff;
                let sum = checksum(&page[HEADER..HEADER + 56]);
                put(page, HEADER + 56, &sum.to_le_bytes());
            }
        })
    };
    assert_eq!(spoiled(8), "it has no valid meta page");
    assert_eq!(spoiled(HEADER + 4), "it has no valid meta page");
    assert_eq!(spoiled(HEADER), "it is not a bbolt database");
    assert_eq!(spoiled(HEADER + 9), "it is not a bbolt database");
}
