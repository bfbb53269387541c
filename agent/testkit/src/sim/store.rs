//! The state store and the asset store, simulated.

use super::files::make_parents;
use super::{SimFile, SimHost};
use quake_model::digest::{Algorithm, Digest};
use quake_model::facts::{BucketFacts, EntryKind, Owner, Placed};
use quake_model::location::Location;
use quake_model::ports::{
    Arriving, AssetFetched, Assets, Condition, Object, Objects, PortError, ReportBytes,
    TaggedObject,
};
use quake_model::spec::AssetSpec;
use quake_model::step::Place;
use sha1::Digest as _;

impl SimHost {
    /// Puts an asset into the store, whatever its digest says; an archive is a list of base names, one a line.
    pub fn stock_asset(&self, asset: &Digest, bytes: impl Into<Vec<u8>>) {
        self.lock().store.insert(asset.clone(), bytes.into());
    }

    /// Makes a bucket that is kept so.
    pub fn put_bucket(&self, bucket: BucketFacts) {
        self.lock().buckets.insert(bucket.bucket.clone(), bucket);
    }

    /// Takes an asset out of the store, as a disk may.
    pub fn lose_asset(&self, asset: &Digest) {
        self.lock().store.remove(asset);
    }
}

impl SimHost {
    fn begin_read(&self) {
        let mut world = self.lock();
        world.waves += u32::from(world.reading == 0);
        world.reading += 1;
    }
}

impl Objects for SimHost {
    async fn read_object(&self, location: &Location) -> Result<Object, PortError> {
        self.begin_read();
        // Whoever reads several at once has begun with all before the first has come.
        tokio::task::yield_now().await;
        let takes = self.lock().read_takes;
        if !takes.is_zero() {
            // Nothing is awaited but the time.
            let _ = tokio::time::timeout(takes, std::future::pending::<()>()).await;
        }
        let read = self.call("read_object", |world| {
            world.count("s3:GetObject");
            let missing = || PortError::new(Condition::Missing, format!("there is no {location}"));
            let bytes = world
                .objects
                .get(&location.to_string())
                .cloned()
                .ok_or_else(missing)?;
            Ok(Object {
                location: location.clone(),
                bytes,
            })
        });
        let read = read.await;
        let mut world = self.lock();
        world.reading = world.reading.saturating_sub(1);
        read
    }

    async fn read_object_unless(
        &self,
        location: &Location,
        tag: Option<&str>,
    ) -> Result<Option<TaggedObject>, PortError> {
        self.call("read_object_unless", |world| {
            world.count("s3:GetObject");
            let missing = || PortError::new(Condition::Missing, format!("there is no {location}"));
            let found = world.objects.get(&location.to_string());
            let bytes = found.cloned().ok_or_else(missing)?;
            let found: String = sha2::Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            if tag == Some(&found) {
                return Ok(None);
            }
            let location = location.clone();
            Ok(Some(TaggedObject {
                object: Object { location, bytes },
                tag: Some(found),
            }))
        })
        .await
    }

    async fn list_objects(&self, location: &Location) -> Result<Vec<String>, PortError> {
        self.call("list_objects", |world| {
            world.count("s3:ListBucket");
            let prefix = format!("{location}/");
            let below = world
                .objects
                .keys()
                .filter_map(|key| key.strip_prefix(&prefix));
            let mut names: Vec<String> = below
                .filter_map(|rest| rest.split('/').next().map(str::to_owned))
                .collect();
            names.dedup();
            Ok(names)
        })
        .await
    }

    async fn look_at_bucket(&self, location: &Location) -> Result<BucketFacts, PortError> {
        self.call("look_at_bucket", |world| {
            BucketFacts::ACTIONS
                .iter()
                .for_each(|action| world.count(action));
            let name = location.bucket();
            let missing =
                || PortError::new(Condition::Unknown, format!("there is no bucket {name}"));
            world.buckets.get(name).cloned().ok_or_else(missing)
        })
        .await
    }

    async fn write_object(&self, object: &Object, _: &str) -> Result<(), PortError> {
        self.call("write_object", |world| {
            world.count("s3:PutObject");
            let place = object.location.to_string();
            world.objects.insert(place, object.bytes.clone());
            Ok(())
        })
        .await
    }
}

impl Assets for SimHost {
    async fn record_assets(&self, assets: &[AssetSpec]) -> Result<(), PortError> {
        // Nothing is collected here.
        let _ = assets;
        self.call("record_assets", |_| Ok(())).await
    }

    async fn has_asset(&self, asset: &AssetSpec) -> Result<bool, PortError> {
        self.call("has_asset", |world| {
            Ok(world.store.contains_key(&asset.digest))
        })
        .await
    }

    async fn fetch_asset(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, PortError> {
        let mut size = 0;
        let fetched = self
            .call("fetch_asset", |world| {
                let found = asset
                    .urls
                    .iter()
                    .find_map(|url| Some((url, world.upstream.get(url)?)));
                let Some((url, bytes)) = found else {
                    return Err(PortError::new(Condition::Missing, "404 on every mirror"));
                };
                let actual = digest_of(asset.digest.algorithm(), bytes);
                if actual != asset.digest {
                    let error = PortError::new(Condition::DigestMismatch, "the digests differ");
                    return Err(error
                        .seen("expected", &asset.digest)
                        .seen("actual", actual)
                        .seen("url", url));
                }
                size = bytes.len() as u64;
                let fetched = AssetFetched {
                    url: url.clone(),
                    bytes: size,
                    requests: 1,
                    failed_mirrors: Vec::new(),
                };
                let bytes = bytes.clone();
                world.store.insert(asset.digest.clone(), bytes);
                Ok(fetched)
            })
            .await?;
        report(Arriving {
            done: size,
            total: Some(size),
            slow: None,
        });
        Ok(fetched)
    }

    async fn list_members(&self, asset: &Digest) -> Result<Vec<String>, PortError> {
        self.call("list_members", |world| {
            let missing =
                || PortError::new(Condition::Missing, format!("{asset} is not in the store"));
            let bytes = world.store.get(asset).ok_or_else(missing)?;
            Ok(String::from_utf8_lossy(bytes)
                .lines()
                .map(str::to_owned)
                .collect())
        })
        .await
    }

    async fn look_placed(&self, place: &Place) -> Result<Placed, PortError> {
        self.call("look_placed", |world| {
            let wanted = member_bytes(world.store.get(&place.asset), place)?;
            Ok(match world.files.get(&place.path) {
                None => Placed::Absent,
                Some(found) if found.contents == wanted && found.mode == place.mode => Placed::Same,
                Some(_) => Placed::Different,
            })
        })
        .await
    }

    async fn place(&self, place: &Place) -> Result<(), PortError> {
        let now = self.micros();
        self.call("place", |world| {
            let contents = member_bytes(world.store.get(&place.asset), place)?;
            make_parents(world, &place.path, now);
            let owner = Owner::default();
            let placed = SimFile {
                kind: EntryKind::File,
                mode: place.mode,
                owner,
                contents,
                modified_us: now,
            };
            world.files.insert(place.path.clone(), placed);
            Ok(())
        })
        .await
    }
}

fn member_bytes(stored: Option<&Vec<u8>>, place: &Place) -> Result<Vec<u8>, PortError> {
    let missing =
        |what: &str| PortError::new(Condition::Missing, format!("{what} is not in the store"));
    let bytes = stored.ok_or_else(|| missing(&place.asset.to_string()))?;
    match &place.member {
        None => Ok(bytes.clone()),
        Some(member) => {
            let text = String::from_utf8_lossy(bytes);
            let found = text.lines().find(|line| line == member);
            found
                .map(|line| line.as_bytes().to_vec())
                .ok_or_else(|| missing(member))
        }
    }
}

fn digest_of(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    match algorithm {
        Algorithm::Sha1 => Digest::from_bytes(algorithm, &sha1::Sha1::digest(bytes)),
        Algorithm::Sha256 => Digest::from_bytes(algorithm, &sha2::Sha256::digest(bytes)),
        Algorithm::Sha512 => Digest::from_bytes(algorithm, &sha2::Sha512::digest(bytes)),
    }
}
