//! Objects of buckets, wherever their buckets are.
//!
//! A bucket is in one region, and S3 refuses requests signed for another: the answer names the right one.
//! The agent starts with its own region, follows such an answer, and remembers it. It never asks for a
//! bucket's location, which nodes are rarely allowed to.

mod bucket;
mod pieces;
mod versions;

use super::clients::Aws;
use super::failure::Attempt;
use crate::objects::{MAX_OBJECT_BYTES, too_large};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use quake_model::facts::BucketFacts;
use quake_model::iam::partition_of;
use quake_model::location::Location;
use quake_model::ports::{Condition, Object, PortError, TaggedObject};
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

/// How often a bucket's region may be corrected: once by a redirect, once more by an endpoint that knew
/// less than the next.
const MAX_MOVES: usize = 2;

/// S3. Clones share what was learnt about buckets.
#[derive(Debug, Clone)]
pub struct S3 {
    aws: Aws,
    regions: Arc<Mutex<HashMap<String, String>>>,
}

impl S3 {
    /// S3 as `aws` reaches it.
    pub fn new(aws: Aws) -> Self {
        Self {
            aws,
            regions: Arc::default(),
        }
    }

    /// Reads one object of at most 16 MiB.
    ///
    /// # Errors
    ///
    /// `Missing` without the object, `Unknown` without the bucket, `Denied`, `Throttled`, `ClockSkew`,
    /// `Unreachable`, or `Malformed` when it is larger.
    pub async fn read_object(&self, location: &Location) -> Result<Object, PortError> {
        let read = self.read_object_unless(location, None).await?;
        let read = read.map(|tagged| tagged.object);
        read.ok_or_else(|| {
            let summary = format!("S3 says that {location} is unchanged, which was not asked");
            PortError::new(Condition::Unreachable, summary)
        })
    }

    /// Reads one object of at most 16 MiB unless its `ETag` is still this one; `None` when it is.
    ///
    /// # Errors
    ///
    /// As [`S3::read_object`].
    pub async fn read_object_unless(
        &self,
        location: &Location,
        tag: Option<&str>,
    ) -> Result<Option<TaggedObject>, PortError> {
        let (bucket, key) = (location.bucket(), location.key());
        let (attempt, sent) = self
            .in_region(("s3:GetObject", "s3:GetObject"), location, |client| {
                let request = client.get_object().bucket(bucket).key(key);
                request.set_if_none_match(tag.map(str::to_owned)).send()
            })
            .await?;
        if tag.is_some() && sent.as_ref().is_err_and(is_unchanged) {
            return Ok(None);
        }
        let answer = self.aws.answer(&attempt, sent).await?;
        let tag = answer.e_tag().map(str::to_owned);
        let object = read_answer(location, &attempt, answer).await?;
        Ok(Some(TaggedObject { object, tag }))
    }

    /// Lists the names directly below a location, sorted, without trailing slashes.
    ///
    /// # Errors
    ///
    /// As [`S3::read_object`], without `Missing`.
    pub async fn list_objects(&self, location: &Location) -> Result<Vec<String>, PortError> {
        let prefix = prefix_of(location);
        let (mut names, mut token) = (BTreeSet::new(), None::<String>);
        loop {
            let (attempt, sent) = self
                .in_region(("s3:ListBucket", "s3:ListObjectsV2"), location, |client| {
                    let request = client.list_objects_v2().bucket(location.bucket());
                    let request = request.prefix(&prefix).delimiter("/");
                    request.set_continuation_token(token.clone()).send()
                })
                .await?;
            let page = self.aws.answer(&attempt, sent).await?;
            let keys = page.contents().iter().filter_map(|object| object.key());
            let folders = page
                .common_prefixes()
                .iter()
                .filter_map(|folder| folder.prefix());
            let below = keys
                .chain(folders)
                .filter_map(|key| key.strip_prefix(&prefix));
            let named = below.map(|name| name.trim_end_matches('/'));
            names.extend(named.filter(|name| !name.is_empty()).map(str::to_owned));
            token = page
                .next_continuation_token
                .filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(names.into_iter().collect());
            }
        }
    }

    /// Writes one object. Who may read it is the bucket's own affair, and so is its encryption: nothing is asked for.
    ///
    /// # Errors
    ///
    /// As [`S3::read_object`], without `Missing`.
    pub async fn write_object(&self, object: &Object, content_type: &str) -> Result<(), PortError> {
        let location = &object.location;
        let (attempt, sent) = self
            .in_region(("s3:PutObject", "s3:PutObject"), location, |client| {
                let request = client.put_object().bucket(location.bucket());
                let body = ByteStream::from(object.bytes.clone());
                let request = request.key(location.key()).content_type(content_type);
                request.body(body).send()
            })
            .await?;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    /// Sends a request to the bucket's region as far as it is known, and where S3 says it is if it is
    /// elsewhere. IAM judges it by `action`, and it is counted as `operation`.
    async fn in_region<'a, O, E, F, Sent>(
        &self,
        (action, operation): (&'static str, &'static str),
        location: &Location,
        send: F,
    ) -> Result<(Attempt, Result<O, SdkError<E, HttpResponse>>), PortError>
    where
        F: Fn(Client) -> Sent + 'a,
        Sent: Future<Output = Result<O, SdkError<E, HttpResponse>>> + Send,
    {
        let bucket = location.bucket();
        let mut moves = 0;
        loop {
            let region = self.region_of(bucket).await?;
            let client = self.aws.s3(&region).await?;
            self.aws.count(operation);
            let sent = send(client).await;
            let moved = sent.as_ref().err().and_then(other_region);
            match moved.filter(|moved| *moved != region && moves < MAX_MOVES) {
                Some(moved) => {
                    tracing::debug!(bucket, from = %region, to = %moved, "the bucket is elsewhere");
                    self.regions().insert(bucket.to_owned(), moved);
                    moves += 1;
                }
                None => return Ok((self.attempt(action, location, &region), sent)),
            }
        }
    }

    async fn region_of(&self, bucket: &str) -> Result<String, PortError> {
        let known = self.regions().get(bucket).cloned();
        match known {
            Some(region) => Ok(region),
            None => self.aws.store_region().await,
        }
    }

    fn regions(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt(&self, action: &'static str, location: &Location, region: &str) -> Attempt {
        let bucket = format!("arn:{}:s3:::{}", partition_of(region), location.bucket());
        Attempt {
            action,
            resources: vec![match action {
                "s3:ListBucket" | versions::LIST => bucket,
                action if BucketFacts::ACTIONS.contains(&action) => bucket,
                _ => format!("{bucket}/{}", location.key()),
            }],
            key: match action {
                "s3:ListBucket" => prefix_of(location),
                _ => location.key().to_owned(),
            },
            subject: location.to_string(),
            endpoint: self.aws.endpoint("s3", region),
        }
    }
}

/// What the keys below a location begin with.
fn prefix_of(location: &Location) -> String {
    match location.key() {
        "" => String::new(),
        key => format!("{key}/"),
    }
}

/// The region S3 names in an answer that says the bucket is elsewhere.
fn other_region<E>(error: &SdkError<E, HttpResponse>) -> Option<String> {
    let response = error.raw_response()?;
    if !matches!(response.status().as_u16(), 301 | 307 | 400 | 403) {
        return None;
    }
    let named = response
        .headers()
        .get("x-amz-bucket-region")
        .map(str::to_owned);
    let named = named.or_else(|| {
        let body = String::from_utf8_lossy(response.body().bytes()?).into_owned();
        let (_, rest) = body.split_once("<Region>")?;
        rest.split_once("</Region>")
            .map(|(region, _)| region.to_owned())
    });
    named.filter(|region| is_region(region))
}

/// Whether a text can be a region: it becomes part of the host that signed requests are sent to.
fn is_region(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (5..=32).contains(&text.len()) && text.bytes().all(allowed)
}

/// Whether S3 says that the object is the one whose tag was named: 304, which the SDK takes for a failure.
fn is_unchanged<E>(error: &SdkError<E, HttpResponse>) -> bool {
    let answer = error.raw_response();
    answer.is_some_and(|answer| answer.status().as_u16() == 304)
}

/// Reads what was answered, unless it is larger than any object of a state store.
async fn read_answer(
    location: &Location,
    attempt: &Attempt,
    answer: GetObjectOutput,
) -> Result<Object, PortError> {
    let length = answer.content_length().unwrap_or(0);
    if u64::try_from(length).is_ok_and(|length| length > MAX_OBJECT_BYTES) {
        return Err(too_large(location));
    }
    let (mut bytes, mut body) = (Vec::new(), answer.body);
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| {
            let summary = format!("{location} ended early, after {} bytes", bytes.len());
            PortError::new(Condition::Unreachable, summary)
                .because(&error)
                .seen("endpoint", &attempt.endpoint)
        })?;
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > MAX_OBJECT_BYTES {
            return Err(too_large(location));
        }
    }
    Ok(Object {
        location: location.clone(),
        bytes,
    })
}

#[cfg(test)]
mod tests;
