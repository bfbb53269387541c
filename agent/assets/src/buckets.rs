//! Assets of buckets: which object an `s3://` URL names, and where it is read.

use quake_http::{percent_decoded, shown};
use quake_model::location::Location;
use quake_model::ports::{BucketReader, Condition, PortError};
use std::path::PathBuf;
use std::sync::Arc;

/// How `s3://` URLs are read. The default reads none of them.
#[derive(Debug, Clone, Default)]
pub struct Buckets {
    /// Reads objects from their buckets.
    pub reader: Option<Arc<dyn BucketReader>>,
    /// A directory that stands for buckets, as in a rehearsal: `s3://bucket/key` is
    /// `<directory>/bucket/key`, or `<directory>/key` for a copy of one bucket's contents. A bucket that
    /// has no directory there is read where it is.
    pub folder: Option<PathBuf>,
}

impl Buckets {
    /// The files of this machine that stand for a URL; `None` where its bucket does, or for
    /// another kind of URL.
    pub(super) fn files(&self, url: &str) -> Option<Vec<PathBuf>> {
        let folder = self.folder.as_ref()?;
        let object = object_of(url).ok()??;
        let bucket = folder.join(object.bucket());
        let files = vec![bucket.join(object.key()), folder.join(object.key())];
        let is_here = bucket.is_dir() || files.iter().any(|path| path.is_file());
        is_here.then_some(files)
    }
}

/// The object that an `s3://` URL names; `None` for another kind of URL. kops writes keys
/// percent-encoded, as in every URL.
///
/// # Errors
///
/// `Missing` when it names no object.
pub(crate) fn object_of(url: &str) -> Result<Option<Location>, PortError> {
    if !url.starts_with("s3://") {
        return Ok(None);
    }
    let object = percent_decoded(url).parse::<Location>();
    match object {
        Ok(object) if !object.key().is_empty() => Ok(Some(object)),
        _ => {
            let summary = format!("{} names no object of a bucket", shown(url));
            Err(PortError::new(Condition::Missing, summary))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssetSettings, AssetSource, AssetStore};
    use quake_http::HttpSettings;
    use quake_model::digest::{Algorithm, Digest};
    use quake_model::ports::{Assets as _, ObjectBytes, ObjectPiece, OpenObject, Reading};
    use quake_model::spec::{AssetKind, AssetSpec};
    use sha2::Digest as _;
    use std::sync::{Mutex, PoisonError};

    /// A bucket of one object, whose answers end early: each has at most this many bytes.
    #[derive(Debug)]
    struct Short {
        object: Vec<u8>,
        most: usize,
        requested: Mutex<Vec<ObjectPiece>>,
    }

    struct Once(Option<Vec<u8>>);

    impl ObjectBytes for Once {
        fn chunk(&mut self) -> Reading<'_, Option<Vec<u8>>> {
            let bytes = self.0.take();
            Box::pin(async move { Ok(bytes) })
        }
    }

    impl BucketReader for Short {
        fn open_object<'a>(
            &'a self,
            location: &'a Location,
            piece: &'a ObjectPiece,
        ) -> Reading<'a, OpenObject> {
            assert_eq!(location.to_string(), "s3://assets/linux/kubelet");
            let mut requested = self
                .requested
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            requested.push(piece.clone());
            let total = self.object.len();
            let until = piece.until.map_or(total, |it| (it as usize).min(total));
            let from = piece.from as usize;
            let bytes = self.object[from..until.min(from + self.most)].to_vec();
            let open = OpenObject {
                total: Some(total as u64),
                tag: Some("\"one\"".to_owned()),
                is_piece: true,
                bytes: Box::new(Once(Some(bytes))),
            };
            Box::pin(async move { Ok(open) })
        }
    }

    fn store(root: &tempfile::TempDir, buckets: Buckets) -> AssetStore {
        AssetStore::open(AssetSettings {
            root: root.path().to_owned(),
            store: root.path().join("store"),
            source: AssetSource::Fetch,
            verify: false,
            http: HttpSettings::default(),
            buckets,
        })
    }

    fn kubelet(bytes: &[u8]) -> AssetSpec {
        let sum = sha2::Sha256::digest(bytes);
        AssetSpec {
            name: "kubelet".to_owned(),
            digest: Digest::from_bytes(Algorithm::Sha256, &sum),
            urls: vec!["s3://assets/linux/kubelet".to_owned()],
            kind: AssetKind::Plain,
        }
    }

    #[tokio::test]
    async fn an_object_is_fetched_in_pieces_and_on_from_where_an_answer_ended() {
        let root = tempfile::tempdir().expect("a scratch directory");
        let object: Vec<u8> = (0..3_000_000_u32).map(|it| (it % 251) as u8).collect();
        let bucket = Arc::new(Short {
            object: object.clone(),
            most: 400_000,
            requested: Mutex::default(),
        });
        let buckets = Buckets {
            reader: Some(bucket.clone()),
            folder: None,
        };
        let store = store(&root, buckets);
        let asset = kubelet(&object);
        let fetched = store.fetch_asset(&asset, &|_| {}).await;
        let fetched = fetched.expect("it is whole in the end");
        assert_eq!(fetched.bytes, 3_000_000);
        assert_eq!(fetched.url, "s3://assets/linux/kubelet");
        assert_eq!(std::fs::read(store.file(&asset.digest)).ok(), Some(object));
        let requested = bucket.requested.lock().expect("nobody panicked");
        assert!(
            requested.iter().any(|piece| piece.from == 400_000),
            "{requested:?}"
        );
        let tagged = requested.iter().skip(1).all(|piece| piece.tag.is_some());
        assert!(
            tagged,
            "all but the first are of the same object: {requested:?}"
        );
    }

    #[tokio::test]
    async fn a_store_that_reads_no_buckets_says_so() {
        let root = tempfile::tempdir().expect("a scratch directory");
        let store = store(&root, Buckets::default());
        let error = store.fetch_asset(&kubelet(b""), &|_| {}).await;
        let error = error.expect_err("nobody reads buckets");
        assert_eq!(error.condition, Condition::Missing);
        assert!(error.summary.contains("reads no buckets"), "{error}");
    }

    #[test]
    fn an_object_is_named_by_its_bucket_and_its_decoded_key() {
        let object = |url: &str| object_of(url).map(|found| found.map(|it| it.to_string()));
        assert_eq!(object("https://b/k"), Ok(None));
        let found = object("s3://b/a%20b/v1+x/kubelet");
        assert_eq!(found, Ok(Some("s3://b/a b/v1+x/kubelet".to_owned())));
        for url in ["s3://b", "s3://b/", "s3:///k", "s3://b/a/%2e%2e/k"] {
            let error = object(url).expect_err(url);
            assert_eq!(error.condition, Condition::Missing, "{url}");
        }
    }

    #[test]
    fn a_folder_stands_for_the_buckets_it_has_and_for_no_others() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        std::fs::create_dir(folder.path().join("assets")).expect("ours");
        std::fs::write(folder.path().join("kubectl"), "").expect("ours");
        let buckets = Buckets {
            folder: Some(folder.path().to_owned()),
            ..Buckets::default()
        };
        let first = |url: &str| Some(buckets.files(url)?.remove(0));
        let kubelet = folder.path().join("assets/kubelet");
        assert_eq!(first("s3://assets/kubelet"), Some(kubelet));
        assert!(
            first("s3://other/kubectl").is_some(),
            "a copy of its contents"
        );
        assert_eq!(first("s3://other/kubelet"), None);
        assert_eq!(first("https://assets/kubelet"), None);
        assert_eq!(Buckets::default().files("s3://assets/kubelet"), None);
    }
}
