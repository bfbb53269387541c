//! The state store, the asset store and the clock.

use super::PortError;
use crate::digest::Digest;
use crate::facts::{BucketFacts, Placed};
use crate::location::Location;
use crate::spec::AssetSpec;
use crate::step::Place;
use crate::time::Timestamp;
use std::future::Future;

/// One object of a state store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Where it is.
    pub location: Location,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// One object with the word by which its store tells this version of it from others: S3's ETag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedObject {
    pub object: Object,
    /// Its store's word; `None` where the store gave none, and the object is read anew each time.
    pub tag: Option<String>,
}

/// The cluster's state store.
pub trait Objects {
    /// Reads one object.
    ///
    /// # Errors
    ///
    /// `Missing` when there is no such object, `Unknown` when there is no such bucket or directory,
    /// `Denied` (naming the exact action and resource in its remedy), `Throttled`, `ClockSkew` or
    /// `Unreachable`.
    fn read_object(
        &self,
        location: &Location,
    ) -> impl Future<Output = Result<Object, PortError>> + Send;

    /// Reads one object unless it still is the one of this tag; `None` when it is. Either way it is one request.
    ///
    /// # Errors
    ///
    /// As [`Objects::read_object`].
    fn read_object_unless(
        &self,
        location: &Location,
        tag: Option<&str>,
    ) -> impl Future<Output = Result<Option<TaggedObject>, PortError>> + Send;

    /// Lists the names directly below a location, sorted; empty when there are none.
    ///
    /// # Errors
    ///
    /// As [`Objects::read_object`], without `Missing`.
    fn list_objects(
        &self,
        location: &Location,
    ) -> impl Future<Output = Result<Vec<String>, PortError>> + Send;

    /// Writes one object, whole: a reader sees what was there before or all of this. What HTTP calls its bytes is
    /// `content_type`.
    ///
    /// # Errors
    ///
    /// As [`Objects::read_object`], without `Missing`; `NoSpace` or `Io` in a directory.
    fn write_object(
        &self,
        object: &Object,
        content_type: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Looks who may read the bucket of a location, and whether it encrypts. Nothing is changed; what this role may not ask is
    /// a fact of the answer.
    ///
    /// # Errors
    ///
    /// `Unknown` when there is no such bucket, `Impossible` of a directory, `Throttled`, `ClockSkew` or `Unreachable`.
    fn look_at_bucket(
        &self,
        location: &Location,
    ) -> impl Future<Output = Result<BucketFacts, PortError>> + Send;
}

/// How far a fetch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arriving<'a> {
    /// Bytes received so far.
    pub done: u64,
    /// Bytes in all, where known.
    pub total: Option<u64>,
    /// The mirror that holds the fetch up, where there is no other one to ask.
    pub slow: Option<SlowMirror<'a>>,
}

/// A mirror that gives too few bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowMirror<'a> {
    /// Its URL, without user and query.
    pub url: &'a str,
    pub bytes_per_second: u64,
}

/// Called as bytes arrive, and while too few do.
pub type ReportBytes<'a> = &'a (dyn Fn(Arriving<'_>) + Send + Sync);

/// What a fetch did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetFetched {
    /// The URL the bytes came from.
    pub url: String,
    pub bytes: u64,
    /// How many requests this attempt took; 0 where nothing was asked.
    pub requests: u64,
    /// Mirrors that failed before, as one line each.
    pub failed_mirrors: Vec<String>,
}

/// The content-addressed store of assets.
pub trait Assets {
    /// Notes which assets this boot names, so that what no boot names any more can be told apart. Nothing is
    /// written where the last boot named the same.
    ///
    /// # Errors
    ///
    /// `NoSpace` or `Io`.
    fn record_assets(
        &self,
        assets: &[AssetSpec],
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Looks whether the asset is in the store, verified, and unpacked if it is an archive.
    ///
    /// # Errors
    ///
    /// `Io` when the store cannot be read.
    fn has_asset(&self, asset: &AssetSpec) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Fetches the asset into the store: mirrors in order, hashed while it streams, renamed into place
    /// only under its digest; an archive is unpacked beside it. Nothing of a failed fetch remains.
    ///
    /// # Errors
    ///
    /// `DigestMismatch`, `Missing` (404 on every mirror), `Denied`, `Unsafe`, `NoSpace`, `Io`, or
    /// `Unreachable`; with several mirrors, the condition that can heal wins.
    fn fetch_asset(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> impl Future<Output = Result<AssetFetched, PortError>> + Send;

    /// Lists the base names of an unpacked archive's regular files, sorted.
    ///
    /// # Errors
    ///
    /// `Missing` when the asset is not in the store, or is no archive.
    fn list_members(
        &self,
        asset: &Digest,
    ) -> impl Future<Output = Result<Vec<String>, PortError>> + Send;

    /// Compares what stands at a path with the file of the store that belongs there.
    ///
    /// # Errors
    ///
    /// `Missing` when the store does not hold the file, `Io` when either cannot be read.
    fn look_placed(&self, place: &Place) -> impl Future<Output = Result<Placed, PortError>> + Send;

    /// Puts a file of the store at a path, atomically.
    ///
    /// # Errors
    ///
    /// `Missing`, `NoSpace`, `Occupied` (a directory stands there) or `Io`.
    fn place(&self, place: &Place) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// The wall clock.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Timestamp;
}
