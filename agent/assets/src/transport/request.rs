//! One request for a file or a piece of it, and what its answer means.

use crate::buckets::object_of;
use bytes::Bytes;
use quake_http::header::{ACCEPT_ENCODING, CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use quake_http::{Client, HeaderMap, Response, StatusCode, describe_failure, shown};
use quake_model::location::Location;
use quake_model::ports::{BucketReader, Condition, ObjectBytes, ObjectPiece, PortError};
use std::sync::Arc;

/// How mirrors are reached.
#[derive(Debug, Clone)]
pub(crate) struct Servers {
    /// For `http://` and `https://`.
    pub(crate) client: Client,
    /// For `s3://`; without it such a mirror is refused.
    pub(crate) buckets: Option<Arc<dyn BucketReader>>,
}

/// An answer whose bytes are still to come.
pub(crate) struct Answer {
    body: Body,
    url: String,
    /// How long the file is, where the server says.
    pub(crate) total: Option<u64>,
    /// What tells this file from a later one under the same name.
    pub(crate) validator: Option<String>,
    /// Whether the server sends pieces.
    pub(crate) is_piece: bool,
}

enum Body {
    Http(Response),
    Object(Box<dyn ObjectBytes>),
}

impl Answer {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// `Unreachable` when the mirror stops.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, PortError> {
        match &mut self.body {
            Body::Http(response) => {
                let chunk = response.chunk().await;
                chunk.map_err(|failure| describe_failure(&self.url, &failure))
            }
            Body::Object(bytes) => Ok(bytes.chunk().await?.map(Bytes::from)),
        }
    }
}

/// Asks a mirror.
///
/// # Errors
///
/// `Missing` for 404, `Denied` when the mirror refuses, else `Unreachable`; of a bucket also
/// what [`BucketReader::open_object`] says.
pub(crate) async fn ask(
    servers: &Servers,
    url: &str,
    wanted: &ObjectPiece,
) -> Result<Answer, PortError> {
    match object_of(url)? {
        Some(object) => ask_bucket(servers, url, &object, wanted).await,
        None => ask_server(&servers.client, url, wanted).await,
    }
}

async fn ask_bucket(
    servers: &Servers,
    url: &str,
    object: &Location,
    wanted: &ObjectPiece,
) -> Result<Answer, PortError> {
    let Some(buckets) = &servers.buckets else {
        let summary = format!("{}: this store reads no buckets", shown(url));
        return Err(PortError::new(Condition::Missing, summary));
    };
    let open = buckets.open_object(object, wanted).await?;
    Ok(Answer {
        body: Body::Object(open.bytes),
        url: url.to_owned(),
        total: open.total,
        validator: open.tag,
        is_piece: open.is_piece,
    })
}

async fn ask_server(client: &Client, url: &str, wanted: &ObjectPiece) -> Result<Answer, PortError> {
    let mut request = client.get(url).header(ACCEPT_ENCODING, "identity");
    if let Some(range) = wanted.range() {
        request = request.header(RANGE, &range);
        if let Some(validator) = &wanted.tag {
            request = request.header(IF_RANGE, validator);
        }
    }
    let sent = request.send().await;
    let response = sent.map_err(|failure| describe_failure(url, &failure))?;
    let headers = response.headers();
    let validator = validator(headers);
    let nothing_follows = response.status() == StatusCode::RANGE_NOT_SATISFIABLE
        && length_of(headers) == Some(wanted.from);
    if !nothing_follows {
        check_status(url, response.status())?;
    }
    let (total, is_piece) = match response.status() {
        StatusCode::RANGE_NOT_SATISFIABLE => (Some(wanted.from), true),
        StatusCode::PARTIAL_CONTENT => {
            let (from, total) = piece_of(headers, url)?;
            if from != wanted.from {
                let summary = format!(
                    "{} sent bytes from {from} on, asked for those from {} on",
                    shown(url),
                    wanted.from
                );
                return Err(PortError::new(Condition::Unreachable, summary));
            }
            (total, true)
        }
        _ => (response.content_length(), false),
    };
    Ok(Answer {
        body: Body::Http(response),
        url: url.to_owned(),
        total,
        validator,
        is_piece,
    })
}

/// A strong `ETag`, or the time of the last change; never taken for a digest.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let strong = text(ETAG).filter(|tag| !tag.starts_with("W/"));
    strong.or_else(|| text(LAST_MODIFIED)).map(str::to_owned)
}

/// The first byte of `Content-Range`, and the file's length.
fn piece_of(headers: &HeaderMap, url: &str) -> Result<(u64, Option<u64>), PortError> {
    let text = headers.get(CONTENT_RANGE).and_then(|it| it.to_str().ok());
    let read = text.and_then(read_content_range);
    read.ok_or_else(|| {
        let summary = format!("{} sent a piece and did not say which", shown(url));
        PortError::new(Condition::Unreachable, summary)
            .seen("content-range", text.unwrap_or("none"))
    })
}

/// The file's length as a refused range has it: `bytes */7`.
fn length_of(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    text.strip_prefix("bytes */")?.parse().ok()
}

/// RFC 9110, section 14.4: `bytes 0-6/7`, or `*` for a length that is not known.
fn read_content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (from, _) = range.split_once('-')?;
    let total = match total {
        "*" => None,
        digits => Some(digits.parse().ok()?),
    };
    Some((from.parse().ok()?, total))
}

fn check_status(url: &str, status: StatusCode) -> Result<(), PortError> {
    let condition = match status {
        status if status.is_success() => return Ok(()),
        StatusCode::NOT_FOUND | StatusCode::GONE => Condition::Missing,
        // What we have is longer than the file: the next try begins anew.
        StatusCode::RANGE_NOT_SATISFIABLE => Condition::Conflict,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Condition::Unreachable,
        status if status.is_client_error() => Condition::Denied,
        _ => Condition::Unreachable,
    };
    let summary = format!("{} answered {}", shown(url), status.as_u16());
    Err(PortError::new(condition, summary).seen("status", status.as_u16()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_read_as_the_standard_has_it() {
        assert_eq!(read_content_range("bytes 8-15/16"), Some((8, Some(16))));
        assert_eq!(read_content_range("bytes 8-15/*"), Some((8, None)));
        for text in ["", "bytes */16", "bytes 8-15", "lines 1-2/3", "bytes x-1/2"] {
            assert_eq!(read_content_range(text), None, "{text}");
        }
    }

    #[test]
    fn a_weak_tag_does_not_tell_two_files_apart() {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, "W/\"1\"".parse().expect("a value"));
        assert_eq!(validator(&headers), None);
        headers.insert(LAST_MODIFIED, "Sat, 21 Nov 2026".parse().expect("a value"));
        assert_eq!(validator(&headers).as_deref(), Some("Sat, 21 Nov 2026"));
        headers.insert(ETAG, "\"1\"".parse().expect("a value"));
        assert_eq!(validator(&headers).as_deref(), Some("\"1\""));
    }
}
