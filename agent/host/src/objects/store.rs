//! Finds the place a location means, and reads it there.

use super::folder::{list_directory, read_file, write_file};
use super::past::{Past, unchangeable};
use crate::aws::S3;
use quake_model::facts::BucketFacts;
use quake_model::location::{Location, Scheme};
use quake_model::ports::{Condition, Object, Objects, PortError, TaggedObject};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state store of a cluster. `file://` is read from this machine's files, always.
///
/// With a directory (a rehearsal, or a copy of a store taken along), every bucket is a directory in it:
/// `s3://bucket/key` and `memfs://bucket/key` are `<directory>/bucket/key`, or `<directory>/key` for a copy of
/// one bucket's contents. No request leaves the machine then.
///
/// A copy of a cluster's directory may lie elsewhere than its documents say: [`StateStore::moved`] reads it there.
#[derive(Debug, Clone)]
pub struct StateStore {
    buckets: Buckets,
    moved: Option<Moved>,
    pub(super) past: Option<Arc<Past>>,
}

/// A cluster's directory that lies elsewhere than its documents say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Where the documents say it is.
    pub from: Location,
    pub to: Location,
}

#[derive(Debug, Clone)]
enum Buckets {
    S3(S3),
    Folder(PathBuf),
}

/// Where a location's object may be.
pub(super) enum Place<'a> {
    Bucket(&'a S3),
    /// One of these paths of this machine.
    Paths(Vec<PathBuf>),
}

impl StateStore {
    /// A store whose buckets are those of S3.
    pub fn with_s3(s3: S3) -> Self {
        Self {
            buckets: Buckets::S3(s3),
            moved: None,
            past: None,
        }
    }

    /// A store whose buckets are directories below `folder`.
    pub fn with_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            buckets: Buckets::Folder(folder.into()),
            moved: None,
            past: None,
        }
    }

    /// The same store, in which a cluster's directory is read where it lies.
    #[must_use]
    pub fn moved(self, moved: Option<Moved>) -> Self {
        Self { moved, ..self }
    }

    /// The same store, in which a cluster's directory is read as it was.
    #[must_use]
    pub fn at(self, past: Option<Arc<Past>>) -> Self {
        Self { past, ..self }
    }

    /// Where a location's object is, which is elsewhere in a cluster's directory that was moved.
    pub(super) fn actual(&self, location: &Location) -> Location {
        let moved = self.moved.as_ref();
        let found = moved.and_then(|moved| Some(moved.to.join(location.below(&moved.from)?)));
        found.unwrap_or_else(|| location.clone())
    }

    pub(super) fn place(&self, location: &Location) -> Result<Place<'_>, PortError> {
        match (location.scheme(), &self.buckets) {
            (Scheme::File, _) => Ok(Place::Paths(vec![Path::new("/").join(location.key())])),
            (Scheme::S3, Buckets::S3(s3)) => Ok(Place::Bucket(s3)),
            (Scheme::Memfs, Buckets::S3(_)) => Err(unserved(location)),
            (Scheme::S3 | Scheme::Memfs, Buckets::Folder(folder)) if folder.is_dir() => {
                let named = folder.join(location.bucket()).join(location.key());
                Ok(Place::Paths(vec![named, folder.join(location.key())]))
            }
            (Scheme::S3 | Scheme::Memfs, Buckets::Folder(folder)) => {
                let summary = format!(
                    "the directory {} of the store does not exist",
                    folder.display()
                );
                Err(PortError::new(Condition::Unknown, summary))
            }
        }
    }
}

impl Objects for StateStore {
    async fn read_object(&self, location: &Location) -> Result<Object, PortError> {
        let location = &self.actual(location);
        match (self.place(location)?, &self.past) {
            (Place::Bucket(s3), Some(past)) => past.read(s3, location).await,
            (Place::Bucket(s3), None) => s3.read_object(location).await,
            (Place::Paths(paths), _) => read_file(location, &paths).await,
        }
    }

    async fn read_object_unless(
        &self,
        location: &Location,
        tag: Option<&str>,
    ) -> Result<Option<TaggedObject>, PortError> {
        let location = &self.actual(location);
        match (self.place(location)?, &self.past) {
            (Place::Bucket(s3), Some(past)) => {
                let object = past.read(s3, location).await?;
                Ok(Some(TaggedObject { object, tag: None }))
            }
            (Place::Bucket(s3), None) => s3.read_object_unless(location, tag).await,
            (Place::Paths(paths), _) => {
                let object = read_file(location, &paths).await?;
                let found = tag_of(&object.bytes);
                let tagged = TaggedObject {
                    object,
                    tag: Some(found.clone()),
                };
                Ok(Some(tagged).filter(|_| tag != Some(&found)))
            }
        }
    }

    async fn list_objects(&self, location: &Location) -> Result<Vec<String>, PortError> {
        let location = &self.actual(location);
        match (self.place(location)?, &self.past) {
            (Place::Bucket(_), Some(past)) => past.list(location),
            (Place::Bucket(s3), None) => s3.list_objects(location).await,
            (Place::Paths(paths), _) => list_directory(location, &paths).await,
        }
    }

    async fn look_at_bucket(&self, location: &Location) -> Result<BucketFacts, PortError> {
        let location = &self.actual(location);
        match self.place(location)? {
            Place::Bucket(s3) => s3.look_at_bucket(location).await,
            Place::Paths(_) => {
                let summary = format!("{location} is a directory, and no bucket");
                Err(PortError::new(Condition::Impossible, summary))
            }
        }
    }

    async fn write_object(&self, object: &Object, content_type: &str) -> Result<(), PortError> {
        let object = Object {
            location: self.actual(&object.location),
            bytes: object.bytes.clone(),
        };
        match self.place(&object.location)? {
            Place::Bucket(_) if self.past.is_some() => Err(unchangeable(&object.location)),
            Place::Bucket(s3) => s3.write_object(&object, content_type).await,
            Place::Paths(paths) => write_file(&object, &paths).await,
        }
    }
}

/// What tells a file's bytes from others, for files have no tags.
fn tag_of(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unserved(location: &Location) -> PortError {
    let summary =
        format!("{location} is in a store of test data, and no directory was given for it");
    PortError::new(Condition::Unknown, summary)
        .remedied_by("name the directory that holds the store's files, or use an s3:// location")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        text.parse().expect("a literal")
    }

    fn write(folder: &Path, path: &str, contents: &[u8]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("it is below the directory")).expect("ours");
        std::fs::write(path, contents).expect("ours");
    }

    async fn read(store: &StateStore, text: &str) -> Result<Vec<u8>, Condition> {
        let read = store.read_object(&location(text)).await;
        read.map(|object| object.bytes)
            .map_err(|error| error.condition)
    }

    #[tokio::test]
    async fn a_file_is_read_again_only_once_it_has_changed() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "b/channel", b"one");
        let store = StateStore::with_folder(folder.path());
        let place = location("s3://b/channel");
        let first = store.read_object_unless(&place, None).await;
        let first = first.expect("it is there").expect("it is new");
        let tag = first.tag.as_deref();
        let again = store.read_object_unless(&place, tag).await;
        assert_eq!(again.expect("it is there"), None);
        write(folder.path(), "b/channel", b"two");
        let changed = store.read_object_unless(&place, tag).await;
        let changed = changed.expect("it is there").expect("it changed");
        assert_eq!(changed.object.bytes, b"two");
    }

    #[tokio::test]
    async fn a_bucket_is_a_folder_or_the_folder_itself() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "bucket/c.example/cluster.spec", b"named");
        write(folder.path(), "c.example/config", b"bare");
        let store = StateStore::with_folder(folder.path());
        for scheme in ["s3", "memfs"] {
            let spec = read(&store, &format!("{scheme}://bucket/c.example/cluster.spec")).await;
            let config = read(&store, &format!("{scheme}://bucket/c.example/config")).await;
            assert_eq!(
                (spec, config),
                (Ok(b"named".to_vec()), Ok(b"bare".to_vec()))
            );
        }
    }

    #[tokio::test]
    async fn a_moved_cluster_is_read_and_written_where_it_lies_and_others_where_they_are() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "copy/pki/key", b"moved");
        write(folder.path(), "bucket/other/key", b"not moved");
        let to = Location::file(&folder.path().join("copy").to_string_lossy());
        let from = location("s3://bucket/c.example");
        let store = StateStore::with_folder(folder.path()).moved(Some(Moved { from, to }));
        let pki = read(&store, "s3://bucket/c.example/pki/key").await;
        assert_eq!(pki, Ok(b"moved".to_vec()));
        let other = read(&store, "s3://bucket/other/key").await;
        assert_eq!(other, Ok(b"not moved".to_vec()));
        let names = store.list_objects(&location("s3://bucket/c.example")).await;
        assert_eq!(names, Ok(vec!["pki".to_owned()]));
        let object = Object {
            location: location("s3://bucket/c.example/reports/a"),
            bytes: b"list".to_vec(),
        };
        assert_eq!(store.write_object(&object, "text/plain").await, Ok(()));
        assert!(folder.path().join("copy/reports/a").is_file());
    }

    #[tokio::test]
    async fn a_file_location_is_read_from_this_machine() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "spec", b"here");
        let store = StateStore::with_folder("/nowhere");
        let url = format!("file://{}/spec", folder.path().display());
        assert_eq!(read(&store, &url).await, Ok(b"here".to_vec()));
        assert_eq!(
            read(&store, &format!("{url}/below")).await,
            Err(Condition::Missing)
        );
    }

    #[tokio::test]
    async fn an_absent_object_a_directory_and_an_absent_folder_are_told_apart() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "b/pki/ca/keyset.yaml", b"");
        let store = StateStore::with_folder(folder.path());
        assert_eq!(
            read(&store, "s3://b/pki/nothing").await,
            Err(Condition::Missing)
        );
        assert_eq!(read(&store, "s3://b/pki").await, Err(Condition::Missing));
        let absent = StateStore::with_folder(folder.path().join("absent"));
        assert_eq!(read(&absent, "s3://b/pki").await, Err(Condition::Unknown));
    }

    #[tokio::test]
    async fn names_are_listed_sorted_and_without_slashes() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        for path in [
            "b/pki/zeta/1.crt",
            "b/pki/alpha/keyset.yaml",
            "b/pki/middle",
        ] {
            write(folder.path(), path, b"");
        }
        let store = StateStore::with_folder(folder.path());
        let names = store.list_objects(&location("s3://b/pki")).await;
        assert_eq!(
            names,
            Ok(vec!["alpha".into(), "middle".into(), "zeta".into()])
        );
        let none = store.list_objects(&location("s3://b/other")).await;
        assert_eq!(none, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn an_object_is_written_where_its_bucket_is() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "bucket/c.example/cluster.spec", b"named");
        let store = StateStore::with_folder(folder.path());
        for (url, path) in [
            (
                "s3://bucket/c.example/reports/a",
                "bucket/c.example/reports/a",
            ),
            ("s3://other/c.example/reports/a", "c.example/reports/a"),
        ] {
            let object = Object {
                location: location(url),
                bytes: b"list".to_vec(),
            };
            let written = store.write_object(&object, "text/plain").await;
            assert_eq!(written, Ok(()));
            let found = std::fs::read(folder.path().join(path));
            assert_eq!(found.ok().as_deref(), Some(b"list".as_slice()), "{url}");
            assert_eq!(read(&store, url).await, Ok(b"list".to_vec()));
        }
    }

    #[tokio::test]
    async fn an_object_is_not_written_over_a_folder_and_leaves_nothing_then() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        write(folder.path(), "b/reports/a/below", b"");
        let store = StateStore::with_folder(folder.path());
        let object = Object {
            location: location("s3://b/reports/a"),
            bytes: b"list".to_vec(),
        };
        let refused = store.write_object(&object, "text/plain").await;
        assert_eq!(refused.map_err(|error| error.condition), Err(Condition::Io));
        let names = store.list_objects(&location("s3://b/reports")).await;
        assert_eq!(names, Ok(vec!["a".to_owned()]));
    }

    #[tokio::test]
    async fn a_file_that_no_configuration_can_be_is_not_read_into_memory() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("huge");
        let file = std::fs::File::create(&path).expect("ours");
        file.set_len(64 << 20)
            .expect("a sparse file takes no space");
        let url = format!("file://{}", path.display());
        let store = StateStore::with_folder("/nowhere");
        assert_eq!(read(&store, &url).await, Err(Condition::Malformed));
    }
}
