//! Turns an SDK error into a port error: one function for every operation.

use super::clients::Aws;
use super::permission::remedy;
use super::refusal::{Refusal, split_encoded};
use crate::clock::SystemClock;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use quake_http::HttpFailure;
use quake_model::ports::{Clock, Condition, PortError};
use quake_model::time::Timestamp;
use std::error::Error;

/// What was attempted, to be named in its failure.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// The IAM action, such as `ec2:AttachVolume`.
    pub(super) action: &'static str,
    /// The resources that IAM judges it by: ARNs, or `*`.
    pub(super) resources: Vec<String>,
    /// The key or the prefix in the bucket; empty outside S3.
    pub(super) key: String,
    /// What it was about, for a person, such as `volume vol-1`.
    pub(super) subject: String,
    pub(super) endpoint: String,
}

/// The port error of an operation that did not succeed.
pub(super) fn port_error<E>(attempt: &Attempt, error: &SdkError<E, HttpResponse>) -> PortError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if let Some(cause) = inside::<PortError>(error) {
        return without_credentials(attempt, cause);
    }
    let described = match error.raw_response() {
        Some(response) => {
            let reported = error.as_service_error().map(ProvideErrorMetadata::meta);
            let refusal = Refusal {
                code: reported
                    .and_then(|meta| meta.code())
                    .unwrap_or_default()
                    .to_owned(),
                message: reported
                    .and_then(|meta| meta.message())
                    .unwrap_or_default()
                    .to_owned(),
                status: response.status().as_u16(),
                answered: response.headers().get("date").and_then(parse_date),
                received: SystemClock.now(),
            };
            let request = reported.and_then(|meta| meta.extra("aws_request_id"));
            let request = request
                .map(str::to_owned)
                .or_else(|| request_in_body(response));
            refused(attempt, &refusal).seen("request-id", request.as_deref().unwrap_or("none"))
        }
        None => silent(attempt, error),
    };
    described
        .seen("action", attempt.action)
        .seen("endpoint", &attempt.endpoint)
}

/// Whether AWS called the credentials expired.
pub(super) fn is_expired<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    let code = error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code);
    let refusal = Refusal {
        code: code.unwrap_or_default().to_owned(),
        ..Refusal::default()
    };
    refusal.is_of_expired_credentials()
}

/// The error of this type that stopped the request: a [`PortError`] is that of our own credentials provider, an
/// [`HttpFailure`] that of our own client.
fn inside<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn without_credentials(attempt: &Attempt, cause: &PortError) -> PortError {
    let summary = format!("{} has no credentials to sign with", attempt.action);
    // A role that is not there yet is not an object that is not there.
    let condition = match cause.condition {
        Condition::Missing => Condition::Denied,
        // Nor are credentials that cannot be read an object that cannot be.
        Condition::Malformed => Condition::Unreachable,
        condition => condition,
    };
    let mut error = PortError::new(condition, summary).because(cause);
    error.causes.extend(cause.causes.iter().cloned());
    error.evidence.extend(cause.evidence.iter().cloned());
    let remedy = cause.remedy.clone();
    error.remedied_by(remedy.unwrap_or_else(|| {
        "attach an instance profile to the instance or its launch template".to_owned()
    }))
}

fn silent<E>(attempt: &Attempt, error: &SdkError<E, HttpResponse>) -> PortError
where
    E: Error + 'static,
{
    let what = match error {
        SdkError::TimeoutError(_) => "was not answered in time",
        SdkError::ConstructionFailure(_) => "could not be made",
        _ => "was not answered",
    };
    let summary = format!("{} for {} {what}", attempt.action, attempt.subject);
    let described = match inside::<HttpFailure>(error) {
        Some(failure) if failure.is_of_dates() => outdated(&summary),
        Some(failure) => {
            let error = PortError::new(Condition::Unreachable, summary);
            match failure.remedy() {
                Some(remedy) => error.remedied_by(remedy),
                None => error,
            }
        }
        None => PortError::new(Condition::Unreachable, summary),
    };
    error
        .source()
        .map_or(described.clone(), |source| described.because(source))
}

/// A clock that is off by years finds no certificate valid, and no request gets as far as a signature.
pub(crate) fn outdated(summary: &str) -> PortError {
    let summary = format!("{summary}: by the local clock its certificate is not valid today");
    PortError::new(Condition::ClockSkew, summary)
        .seen("local-time", SystemClock.now())
        .remedied_by("compare the local time with the right one and step the clock: chronyc makestep; if it is right, the endpoint's certificate must be renewed")
}

fn refused(attempt: &Attempt, refusal: &Refusal) -> PortError {
    let condition = match refusal.condition() {
        // Of Auto Scaling it is a thing that is not there; Route 53 says it of a request that it cannot read.
        Condition::Missing
            if refusal.code == "ValidationError" && attempt.action.starts_with("route53:") =>
        {
            Condition::Malformed
        }
        condition => condition,
    };
    let (text, encoded) = split_encoded(&refusal.message);
    let mut summary = format!(
        "{} for {} answered {}",
        attempt.action, attempt.subject, refusal.status
    );
    for part in [refusal.code.as_str(), text] {
        if !part.is_empty() {
            summary = format!("{summary}: {part}");
        }
    }
    let error = PortError::new(condition, summary)
        .seen("status", refusal.status)
        .seen("error code", &refusal.code);
    match condition {
        Condition::Denied if refusal.is_of_key() => without_key(refusal, error),
        Condition::Limit => error.remedied_by(limit(&refusal.code)),
        Condition::Denied => denied(attempt, refusal, error, encoded),
        Condition::ClockSkew => skewed(refusal, error),
        Condition::Unreachable if refusal.is_of_expired_credentials() => error.remedied_by(
            "wait: the next attempt reads new credentials; if it lasts, check the clock",
        ),
        _ => error,
    }
}

fn denied(
    attempt: &Attempt,
    refusal: &Refusal,
    error: PortError,
    encoded: Option<&str>,
) -> PortError {
    let own = match refusal.code.as_str() {
        "InvalidObjectState" => Some("the object is archived: restore it to the standard class"),
        "InvalidAccessKeyId"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidToken" => Some(
            "the credentials are not known to this endpoint: check which ones are used and for which partition",
        ),
        "OptInRequired" | "Blocked" => Some("the account may not use this service or region"),
        _ => None,
    };
    let error = error.remedied_by(own.map_or_else(|| remedy(attempt, refusal), str::to_owned));
    match encoded {
        Some(encoded) => error.seen("encoded-authorization-message", encoded).seen(
            "decode",
            "aws sts decode-authorization-message --encoded-message <it>",
        ),
        None => error,
    }
}

/// What is encrypted and whose key KMS or the key's policy withholds. The key may be disabled or deleted too, and
/// the answer does not always tell; the evidence `kms` marks it among what is denied.
fn without_key(refusal: &Refusal, error: PortError) -> PortError {
    error.seen("kms", &refusal.code).remedied_by(
        "see that the key is enabled, and that its policy lets the role that signed the request use it: kms:Decrypt for an object, kms:CreateGrant and kms:Decrypt for a volume",
    )
}

fn limit(code: &str) -> &'static str {
    match code {
        "AttachmentLimitExceeded" => {
            "the instance type takes no more volumes: detach one, or use a larger type"
        }
        "TagLimitExceeded" => "remove tags of the volume that nothing needs",
        _ => "raise the account's quota, or release what nothing needs",
    }
}

fn skewed(refusal: &Refusal, error: PortError) -> PortError {
    let error = error.seen("local-time", refusal.received);
    let Some(answered) = refusal.answered else {
        return error;
    };
    let (local, server) = (refusal.received.0, answered.0);
    let side = if local < server { "behind" } else { "ahead of" };
    let seconds = local.abs_diff(server) / 1000;
    let mut error = error
        .seen("server-time", answered)
        .seen("skew-seconds", seconds);
    error.summary = format!(
        "the local clock is {seconds} s {side} AWS: {}",
        error.summary
    );
    error
}

/// The request's id as EC2 writes it into its errors, for answers that a proxy stripped of their headers.
fn request_in_body(response: &HttpResponse) -> Option<String> {
    let body = String::from_utf8_lossy(response.body().bytes()?).into_owned();
    let (_, rest) = body.split_once("<RequestID>")?;
    rest.split_once('<').map(|(id, _)| id.to_owned())
}

/// Reads an HTTP date (RFC 9110, 5.6.7), whose form is also one of RFC 2822.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    let parsed = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text);
    let millis = parsed.ok()?.as_millisecond();
    u64::try_from(millis).ok().map(Timestamp)
}

impl Aws {
    /// The answer to one attempt, or what its failure means.
    pub(super) async fn answer<T, E>(
        &self,
        attempt: &Attempt,
        sent: Result<T, SdkError<E, HttpResponse>>,
    ) -> Result<T, PortError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match sent {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(attempt, error).await),
        }
    }

    /// What the failure of one attempt means. Credentials that are over are asked for anew by the next.
    pub(super) async fn failed<E>(
        &self,
        attempt: &Attempt,
        error: SdkError<E, HttpResponse>,
    ) -> PortError
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        if is_expired(&error) {
            self.forget_credentials().await;
        }
        let failed = port_error(attempt, &error);
        if failed.condition == Condition::Throttled {
            self.count_throttled(attempt.action);
        }
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_s3::operation::get_object::GetObjectError;
    use aws_smithy_runtime_api::client::result::ConnectorError;

    fn attempt() -> Attempt {
        Attempt {
            action: "s3:GetObject",
            resources: vec!["arn:aws:s3:::bucket/key".to_owned()],
            key: "key".to_owned(),
            subject: "s3://bucket/key".to_owned(),
            endpoint: "s3.us-west-2.amazonaws.com".to_owned(),
        }
    }

    fn refusal(code: &str, message: &str) -> Refusal {
        Refusal {
            code: code.to_owned(),
            message: message.to_owned(),
            status: 403,
            ..Refusal::default()
        }
    }

    #[test]
    fn the_remedy_names_the_exact_action_and_resource() {
        let error = refused(&attempt(), &refusal("AccessDenied", "Access Denied"));
        let remedy = error.remedy.expect("denied has a remedy");
        assert!(
            remedy.contains("allow s3:GetObject on arn:aws:s3:::bucket/key"),
            "{remedy}"
        );
        assert!(
            remedy.contains("s3:ListBucket on arn:aws:s3:::bucket S3"),
            "{remedy}"
        );
    }

    #[test]
    fn a_key_that_cannot_be_used_is_told_apart_from_a_lacking_permission() {
        let error = refused(&attempt(), &refusal("CustomerKeyHasBeenRevoked", "revoked"));
        assert_eq!(error.condition, Condition::Denied);
        let names: Vec<&str> = error.evidence.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["status", "error code", "kms"]);
        let error = refused(&attempt(), &refusal("UnauthorizedOperation", "no"));
        assert!(error.evidence.iter().all(|piece| piece.name != "kms"));
    }

    #[test]
    fn a_certificate_that_is_over_blames_the_clock_and_no_other_failure_to_connect_does() {
        let fails = |cause: Box<dyn Error + Send + Sync>| {
            let failure = ConnectorError::io(cause);
            let error: SdkError<GetObjectError, HttpResponse> = SdkError::dispatch_failure(failure);
            port_error(&attempt(), &error)
        };
        let error = fails(HttpFailure::outdated().into());
        assert_eq!(error.condition, Condition::ClockSkew);
        assert!(
            error.summary.contains("by the local clock its certificate"),
            "{error}"
        );
        let error = fails("no route to host".into());
        assert_eq!(error.condition, Condition::Unreachable);
    }

    #[test]
    fn a_wrong_clock_is_told_with_both_times_and_the_skew() {
        let answered = parse_date("Sat, 21 Nov 2026 03:22:17 GMT").expect("an HTTP date");
        let refusal = Refusal {
            answered: Some(answered),
            received: Timestamp(answered.0 - 1_023_000),
            ..refusal("RequestTimeTooSkewed", "The difference is too large.")
        };
        let error = refused(&attempt(), &refusal);
        assert_eq!(error.condition, Condition::ClockSkew);
        assert!(
            error
                .summary
                .starts_with("the local clock is 1023 s behind AWS"),
            "{error}"
        );
        let value = |name: &str| {
            let piece = error.evidence.iter().find(|piece| piece.name == name);
            piece.map(|piece| piece.value.as_str())
        };
        assert_eq!(value("server-time"), Some("2026-11-21T03:22:17.000Z"));
        assert_eq!(value("local-time"), Some("2026-11-21T03:05:14.000Z"));
    }
}
