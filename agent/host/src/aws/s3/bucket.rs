//! How a bucket is kept. Everything is read, and each question is asked once; a question that this role may not ask leaves
//! its fact open.

use super::S3;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::types::PublicAccessBlockConfiguration;
use quake_model::facts::BucketFacts;
use quake_model::location::Location;
use quake_model::ports::{Condition, PortError};
use std::error::Error;
use std::future::Future;

/// What S3 answers where a bucket has none of what was asked for.
const ABSENT: &[&str] = &[
    "NoSuchBucketPolicy",
    "NoSuchPublicAccessBlockConfiguration",
    "ServerSideEncryptionConfigurationNotFoundError",
];

/// The groups of grantees that are everybody, as their addresses end.
const EVERYBODY: &[&str] = &["/AllUsers", "/AuthenticatedUsers"];

impl S3 {
    /// Looks who may read a bucket, and whether it is encrypted.
    ///
    /// # Errors
    ///
    /// `Unknown` without the bucket, `Throttled`, `ClockSkew` or `Unreachable`. What is denied is a fact.
    pub async fn look_at_bucket(&self, location: &Location) -> Result<BucketFacts, PortError> {
        let name = location.bucket();
        let mut facts = BucketFacts {
            bucket: name.to_owned(),
            ..BucketFacts::default()
        };
        let [policy, grants, block, encryption] = BucketFacts::ACTIONS;
        let status = self
            .ask(policy, location, &mut facts, |client| {
                client.get_bucket_policy_status().bucket(name).send()
            })
            .await?;
        facts.policy_is_public = status.map(|status| {
            let status = status.and_then(|status| status.policy_status);
            status.and_then(|status| status.is_public).unwrap_or(false)
        });
        let list = self
            .ask(grants, location, &mut facts, |client| {
                client.get_bucket_acl().bucket(name).send()
            })
            .await?;
        facts.acl_is_public = list.map(|list| {
            let grants = list.and_then(|list| list.grants).unwrap_or_default();
            let groups = grants.iter().filter_map(|grant| grant.grantee()?.uri());
            let is_all = |group: &str| EVERYBODY.iter().any(|end| group.ends_with(end));
            groups.into_iter().any(is_all)
        });
        let blocked = self
            .ask(block, location, &mut facts, |client| {
                client.get_public_access_block().bucket(name).send()
            })
            .await?;
        facts.unblocked = blocked.map(|blocked| {
            unblocked(
                blocked
                    .and_then(|it| it.public_access_block_configuration)
                    .as_ref(),
            )
        });
        let encrypted = self
            .ask(encryption, location, &mut facts, |client| {
                client.get_bucket_encryption().bucket(name).send()
            })
            .await?;
        facts.encryption = encrypted.map(|encrypted| {
            let rules = encrypted.and_then(|it| it.server_side_encryption_configuration);
            let rules = rules.map(|it| it.rules).unwrap_or_default();
            let mut kinds = rules.iter().filter_map(|rule| {
                let default = rule.apply_server_side_encryption_by_default()?;
                Some(default.sse_algorithm().as_str().to_owned())
            });
            kinds.next().unwrap_or_default()
        });
        Ok(facts)
    }

    /// Asks one question: the answer, or that there is none of it; `None` where this role may not ask.
    async fn ask<'a, O, E, F, Sent>(
        &self,
        action: &'static str,
        location: &Location,
        facts: &mut BucketFacts,
        send: F,
    ) -> Result<Option<Option<O>>, PortError>
    where
        E: ProvideErrorMetadata + Error + 'static,
        F: Fn(Client) -> Sent + 'a,
        Sent: Future<Output = Result<O, SdkError<E, HttpResponse>>> + Send,
    {
        let (attempt, sent) = self.in_region((action, action), location, send).await?;
        let error = match sent {
            Ok(answer) => return Ok(Some(Some(answer))),
            Err(error) => error,
        };
        let code = error.as_service_error().and_then(|error| error.code());
        if code.is_some_and(|code| ABSENT.contains(&code)) {
            return Ok(Some(None));
        }
        let failed = self.aws.failed(&attempt, error).await;
        match failed.condition {
            Condition::Denied => {
                facts.denied.push(action.to_owned());
                Ok(None)
            }
            _ => Err(failed),
        }
    }
}

/// The settings of a public access block that are off.
fn unblocked(set: Option<&PublicAccessBlockConfiguration>) -> Vec<String> {
    type Setting = fn(&PublicAccessBlockConfiguration) -> Option<bool>;
    let settings: [(&str, Setting); 4] = [
        ("BlockPublicAcls", |set| set.block_public_acls),
        ("IgnorePublicAcls", |set| set.ignore_public_acls),
        ("BlockPublicPolicy", |set| set.block_public_policy),
        ("RestrictPublicBuckets", |set| set.restrict_public_buckets),
    ];
    let is_off = |(_, is_on): &&(&str, Setting)| !set.and_then(is_on).unwrap_or(false);
    let off = settings.iter().filter(is_off);
    off.map(|(name, _)| (*name).to_owned()).collect()
}
