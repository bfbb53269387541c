//! Objects read in pieces, of any size: assets that are in a bucket.

use super::S3;
use crate::aws::failure::Attempt;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use aws_sdk_s3::primitives::ByteStream;
use quake_model::location::Location;
use quake_model::ports::{
    BucketReader, Condition, ObjectBytes, ObjectPiece, OpenObject, PortError, Reading,
};

/// What requests for pieces are counted as. An asset takes hundreds, and they are no part of the budget
/// of a boot's calls, as downloads over https are none.
const COUNTED: &str = "s3-assets:GetObject";

impl BucketReader for S3 {
    fn open_object<'a>(
        &'a self,
        location: &'a Location,
        piece: &'a ObjectPiece,
    ) -> Reading<'a, OpenObject> {
        Box::pin(self.open(location, piece))
    }
}

impl S3 {
    async fn open(
        &self,
        location: &Location,
        piece: &ObjectPiece,
    ) -> Result<OpenObject, PortError> {
        let (attempt, sent) = self
            .in_region(("s3:GetObject", COUNTED), location, |client| {
                get(&client, location, piece)
            })
            .await?;
        match sent {
            Ok(answer) => opened(location, piece, &attempt, answer),
            Err(error) if ends_before(&error, piece.from) => Ok(OpenObject {
                total: Some(piece.from),
                tag: piece.tag.clone(),
                is_piece: true,
                bytes: Box::new(Stream::new(location, &attempt, ByteStream::default())),
            }),
            Err(error) if is_other(&error) => {
                let summary = format!("{location} is not the object any more that it was");
                Err(PortError::new(Condition::Conflict, summary))
            }
            Err(error) => Err(of_asset(location, self.aws.failed(&attempt, error).await)),
        }
    }
}

/// Sends the request. Its tag stands in `If-Match`, for a piece of another object is of no use.
fn get(
    client: &Client,
    location: &Location,
    piece: &ObjectPiece,
) -> impl Future<Output = Result<GetObjectOutput, SdkError<GetObjectError, HttpResponse>>> + use<> {
    // Without a tag S3 gave the time of the last change, and `If-Match` takes none.
    let tag = piece.tag.as_ref().filter(|tag| tag.starts_with('"'));
    let request = client.get_object().bucket(location.bucket());
    let request = request.key(location.key()).set_range(piece.range());
    request.set_if_match(tag.cloned()).send()
}

fn opened(
    location: &Location,
    piece: &ObjectPiece,
    attempt: &Attempt,
    answer: GetObjectOutput,
) -> Result<OpenObject, PortError> {
    let range = answer.content_range().map(str::to_owned);
    let total = match &range {
        None => answer.content_length().and_then(|it| it.try_into().ok()),
        Some(range) => match read_range(range) {
            Some((from, total)) if from == piece.from => total,
            _ => {
                let summary = format!("{location} came from another byte than {}", piece.from);
                let error = PortError::new(Condition::Unreachable, summary);
                return Err(error.seen("content-range", range));
            }
        },
    };
    Ok(OpenObject {
        total,
        tag: answer.e_tag().map(str::to_owned),
        is_piece: range.is_some(),
        bytes: Box::new(Stream::new(location, attempt, answer.body)),
    })
}

/// The first byte and the object's length, of `bytes 0-6/7`.
fn read_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (from, _) = range.split_once('-')?;
    Some((from.parse().ok()?, total.parse().ok()))
}

/// Whether S3 says that the object has exactly `from` bytes: nothing follows.
fn ends_before(error: &SdkError<GetObjectError, HttpResponse>, from: u64) -> bool {
    let Some(answer) = error.raw_response() else {
        return false;
    };
    let named = answer.headers().get("content-range");
    let named = named.and_then(|range| range.strip_prefix("bytes */")?.parse().ok());
    let body = || {
        let body = String::from_utf8_lossy(answer.body().bytes()?).into_owned();
        let (_, rest) = body.split_once("<ActualObjectSize>")?;
        rest.split_once('<')?.0.parse().ok()
    };
    answer.status().as_u16() == 416 && named.or_else(body) == Some(from)
}

/// Whether the object has another tag, or is shorter than what came of it.
fn is_other(error: &SdkError<GetObjectError, HttpResponse>) -> bool {
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    matches!(status, Some(412 | 416)) && error.code() != Some("AccessDenied")
}

/// What a refusal means for an asset.
fn of_asset(location: &Location, error: PortError) -> PortError {
    match error.condition {
        // A request that S3 does not take, as of an object with a key of its owner (SSE-C), is no
        // damaged archive.
        Condition::Malformed => PortError {
            condition: Condition::Denied,
            ..error
        },
        Condition::Denied => with_policy(location, error),
        _ => error,
    }
}

/// A remedy that allows the object, with the command that prints the policy.
fn with_policy(location: &Location, error: PortError) -> PortError {
    let allows = |remedy: &&String| remedy.starts_with("allow s3:GetObject");
    let Some(remedy) = error.remedy.as_ref().filter(allows) else {
        return error;
    };
    let bucket = location.bucket();
    let remedy = format!("{remedy}; quake-agent iam policy --assets s3://{bucket} prints it");
    error.remedied_by(remedy)
}

/// The body of an answer.
struct Stream {
    subject: String,
    endpoint: String,
    body: ByteStream,
}

impl Stream {
    fn new(location: &Location, attempt: &Attempt, body: ByteStream) -> Self {
        Self {
            subject: location.to_string(),
            endpoint: attempt.endpoint.clone(),
            body,
        }
    }
}

impl ObjectBytes for Stream {
    fn chunk(&mut self) -> Reading<'_, Option<Vec<u8>>> {
        Box::pin(async {
            let Some(chunk) = self.body.next().await else {
                return Ok(None);
            };
            let chunk = chunk.map_err(|error| {
                let summary = format!("{} ended its answer early", self.subject);
                let error = PortError::new(Condition::Unreachable, summary).because(&error);
                error.seen("endpoint", &self.endpoint)
            })?;
            Ok(Some(chunk.into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::testing::{aws_at, s3_error};
    use quake_http::testing::{Reply, Seen};

    fn object() -> Location {
        "s3://assets/linux/kubelet".parse().expect("a literal")
    }

    fn piece(from: u64, until: u64) -> ObjectPiece {
        ObjectPiece {
            from,
            until: Some(until),
            tag: Some("\"one\"".to_owned()),
        }
    }

    async fn all(mut open: OpenObject) -> Result<Vec<u8>, PortError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = open.bytes.chunk().await? {
            bytes.extend(chunk);
        }
        Ok(bytes)
    }

    async fn fails(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> PortError {
        let (aws, _calls, _server) = aws_at(answer).await;
        let opened = S3::new(aws).open_object(&object(), &piece(4, 8)).await;
        opened.expect_err("it is refused")
    }

    #[tokio::test]
    async fn a_piece_is_asked_for_by_its_range_and_tag_and_signed() {
        let (aws, calls, server) = aws_at(|_| {
            let piece = Reply::text(206, "5678").with("etag", "\"one\"");
            piece.with("content-range", "bytes 4-7/10")
        })
        .await;
        let s3 = S3::new(aws);
        let open = s3.open_object(&object(), &piece(4, 8)).await;
        let open = open.expect("it is there");
        assert_eq!((open.total, open.is_piece), (Some(10), true));
        assert_eq!(open.tag.as_deref(), Some("\"one\""));
        assert_eq!(all(open).await, Ok(b"5678".to_vec()));
        let seen = server.seen();
        let request = seen.last().expect("it was asked");
        assert!(request.path.starts_with("/assets/linux/kubelet"));
        assert_eq!(request.header("range"), Some("bytes=4-7"));
        assert_eq!(request.header("if-match"), Some("\"one\""));
        assert_eq!(request.header("x-amz-security-token"), Some("t0ken"));
        let calls = quake_model::ports::Meter::calls(&calls);
        assert_eq!(calls["s3-assets:GetObject"], 1);
        assert!(!calls.contains_key("s3:GetObject"), "{calls:?}");
    }

    #[tokio::test]
    async fn a_whole_object_is_asked_for_without_a_range() {
        let (aws, _calls, server) = aws_at(|_| Reply::text(200, "1234567890")).await;
        let s3 = S3::new(aws);
        let open = s3.open_object(&object(), &ObjectPiece::default()).await;
        let open = open.expect("it is there");
        assert_eq!((open.total, open.is_piece), (Some(10), false));
        assert_eq!(all(open).await, Ok(b"1234567890".to_vec()));
        let seen = server.seen();
        assert_eq!(seen.last().and_then(|it| it.header("range")), None);
    }

    #[tokio::test]
    async fn a_bucket_of_another_region_is_followed_there() {
        let (aws, _calls, server) = aws_at(|seen| {
            let authorization = seen.header("authorization").unwrap_or_default();
            if authorization.contains("/eu-west-3/s3/") {
                Reply::text(200, "it")
            } else {
                s3_error(301, "PermanentRedirect").with("x-amz-bucket-region", "eu-west-3")
            }
        })
        .await;
        let s3 = S3::new(aws);
        for requests in [2, 3] {
            let open = s3.open_object(&object(), &ObjectPiece::default()).await;
            assert_eq!(all(open.expect("it is there")).await, Ok(b"it".to_vec()));
            let requested = server.seen().into_iter();
            let requested = requested.filter(|it| it.path.starts_with("/assets/"));
            assert_eq!(requested.count(), requests, "the region is asked for once");
        }
    }

    #[tokio::test]
    async fn a_refusal_names_the_action_the_object_and_the_policy() {
        let error = fails(|_| s3_error(403, "AccessDenied")).await;
        assert_eq!(error.condition, Condition::Denied);
        let remedy = error.remedy.expect("it has one");
        let allow = "allow s3:GetObject on arn:aws:s3:::assets/linux/kubelet for the role";
        assert!(remedy.starts_with(allow), "{remedy}");
        let policy = "quake-agent iam policy --assets s3://assets prints it";
        assert!(remedy.ends_with(policy), "{remedy}");
    }

    #[tokio::test]
    async fn each_refusal_has_its_condition() {
        for (status, code, condition) in [
            (404, "NoSuchKey", Condition::Missing),
            (404, "NoSuchBucket", Condition::Unknown),
            (400, "InvalidRequest", Condition::Denied),
            (412, "PreconditionFailed", Condition::Conflict),
            (416, "InvalidRange", Condition::Conflict),
            (503, "SlowDown", Condition::Throttled),
            (400, "ExpiredToken", Condition::Unreachable),
        ] {
            let error = fails(move |_| s3_error(status, code)).await;
            assert_eq!(error.condition, condition, "{error}");
        }
    }

    #[tokio::test]
    async fn an_object_that_has_come_whole_has_no_more() {
        let size = "<Error><Code>InvalidRange</Code><ActualObjectSize>4</ActualObjectSize></Error>";
        let (aws, _calls, _server) = aws_at(move |_| Reply::text(416, size)).await;
        let s3 = S3::new(aws);
        let open = s3.open_object(&object(), &piece(4, 8)).await;
        let open = open.expect("nothing follows");
        assert_eq!(open.total, Some(4));
        assert_eq!(all(open).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn bytes_from_another_place_are_not_taken() {
        let error = fails(|_| {
            let piece = Reply::text(206, "1234");
            piece.with("content-range", "bytes 0-3/10")
        })
        .await;
        assert_eq!(error.condition, Condition::Unreachable, "{error}");
    }
}
