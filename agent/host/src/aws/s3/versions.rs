//! The versions of objects, where their bucket keeps them.

use super::{S3, prefix_of, read_answer};
use crate::aws::ec2_facts::instant;
use crate::aws::failure::Attempt;
use aws_sdk_s3::operation::list_object_versions::ListObjectVersionsOutput;
use quake_model::facts::ObjectVersion;
use quake_model::location::Location;
use quake_model::ports::{Condition, Object, PortError};

/// What IAM judges a list of versions by.
pub(super) const LIST: &str = "s3:ListBucketVersions";

/// The most pages of one list, each of at most 1,000 versions (S3's API reference, `ListObjectVersions`). A cluster's own
/// documents have some thousand versions.
const MOST_PAGES: usize = 50;

impl S3 {
    /// Lists all versions of the objects whose keys begin with `start` below a location: `pki/`, or the name of one object.
    ///
    /// # Errors
    ///
    /// As [`S3::list_objects`]; `Limit` where there are more than 50,000.
    pub async fn list_versions(
        &self,
        location: &Location,
        start: &str,
    ) -> Result<Vec<ObjectVersion>, PortError> {
        let prefix = format!("{}{start}", prefix_of(location));
        let mut versions = Vec::new();
        let (mut key, mut id) = (None, None);
        for _ in 0..MOST_PAGES {
            let (attempt, sent) = self
                .in_region((LIST, "s3:ListObjectVersions"), location, |client| {
                    let request = client.list_object_versions().bucket(location.bucket());
                    let request = request.prefix(&prefix).set_key_marker(key.clone());
                    request.set_version_id_marker(id.clone()).send()
                })
                .await?;
            let page = match sent {
                Ok(page) => page,
                Err(error) => {
                    let key = prefix.clone();
                    return Err(self.aws.failed(&Attempt { key, ..attempt }, error).await);
                }
            };
            versions.extend(in_page(location, &page));
            (key, id) = (page.next_key_marker, page.next_version_id_marker);
            if page.is_truncated != Some(true) || key.is_none() {
                return Ok(versions);
            }
        }
        let summary = format!(
            "s3://{}/{prefix} has more than {} versions of objects",
            location.bucket(),
            versions.len()
        );
        let error = PortError::new(Condition::Limit, summary);
        Err(error.remedied_by(
            "let a lifecycle rule of the bucket expire versions that are not current, or copy the state to a directory",
        ))
    }

    /// Reads one version of an object, of at most 16 MiB.
    ///
    /// # Errors
    ///
    /// As [`S3::read_object`].
    pub async fn read_version(&self, location: &Location, id: &str) -> Result<Object, PortError> {
        let (bucket, key) = (location.bucket(), location.key());
        let (attempt, sent) = self
            .in_region(
                ("s3:GetObjectVersion", "s3:GetObject"),
                location,
                |client| {
                    let request = client.get_object().bucket(bucket).key(key);
                    request.version_id(id).send()
                },
            )
            .await?;
        match sent {
            Ok(answer) => read_answer(location, &attempt, answer).await,
            Err(error) => Err(self.aws.failed(&attempt, error).await),
        }
    }
}

/// The versions of a page; a key of another bucket's shape is none of ours.
fn in_page<'a>(
    location: &'a Location,
    page: &'a ListObjectVersionsOutput,
) -> impl Iterator<Item = ObjectVersion> + 'a {
    let version = move |key: Option<&str>, id: Option<&str>, written, is_newest, is_deletion| {
        let url = format!("s3://{}/{}", location.bucket(), key?);
        Some(ObjectVersion {
            location: url.parse().ok()?,
            id: id.unwrap_or(ObjectVersion::UNKEPT).to_owned(),
            written: instant(written),
            is_deletion,
            is_newest: is_newest == Some(true),
        })
    };
    let kept = page.versions().iter().filter_map(move |it| {
        let written = it.last_modified();
        version(it.key(), it.version_id(), written, it.is_latest(), false)
    });
    let deleted = page.delete_markers().iter().filter_map(move |it| {
        let written = it.last_modified();
        version(it.key(), it.version_id(), written, it.is_latest(), true)
    });
    kept.chain(deleted)
}

#[cfg(test)]
mod tests;
