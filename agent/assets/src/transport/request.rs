//! One request for a file or a piece of it, and what its answer means.

use bytes::Bytes;
use quake_http::header::{ACCEPT_ENCODING, CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use quake_http::{Client, HeaderMap, Response, StatusCode, describe_failure, shown};
use quake_model::ports::{Condition, PortError};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The first byte.
    pub(crate) from: u64,
    /// The byte after the last; `None` for everything that follows.
    pub(crate) until: Option<u64>,
    /// The file's validator as it was when bytes before these were taken.
    pub(crate) validator: Option<String>,
}

impl Wanted {
    /// The whole file, without a range: some servers and proxies only ever send that right.
    pub(crate) fn everything() -> Self {
        Self {
            from: 0,
            until: None,
            validator: None,
        }
    }

    fn range(&self) -> Option<String> {
        match (self.from, self.until) {
            (0, None) => None,
            (from, None) => Some(format!("bytes={from}-")),
            (from, Some(until)) => Some(format!("bytes={from}-{}", until.saturating_sub(1))),
        }
    }
}

/// An answer whose bytes are still to come.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    url: String,
    /// How long the file is, where the server says.
    pub(crate) total: Option<u64>,
    /// What tells this file from a later one under the same name.
    pub(crate) validator: Option<String>,
    /// Whether the server sends pieces.
    pub(crate) is_piece: bool,
}

impl Answer {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// `Unreachable` when the mirror stops.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, PortError> {
        let chunk = self.response.chunk().await;
        chunk.map_err(|failure| describe_failure(&self.url, &failure))
    }
}

/// Asks a mirror.
///
/// # Errors
///
/// `Missing` for 404, `Denied` when the mirror refuses, else `Unreachable`.
pub(crate) async fn ask(client: &Client, url: &str, wanted: &Wanted) -> Result<Answer, PortError> {
    let mut request = client.get(url).header(ACCEPT_ENCODING, "identity");
    if let Some(range) = wanted.range() {
        request = request.header(RANGE, &range);
        if let Some(validator) = &wanted.validator {
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
        response,
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
    fn a_range_is_asked_for_only_where_it_is_one() {
        let wanted = |from, until| Wanted {
            from,
            until,
            validator: None,
        };
        assert_eq!(Wanted::everything().range(), None);
        assert_eq!(wanted(0, Some(8)).range().as_deref(), Some("bytes=0-7"));
        assert_eq!(wanted(8, None).range().as_deref(), Some("bytes=8-"));
    }

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
