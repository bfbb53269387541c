//! An answer: its head, and its body as it comes.

use super::body::AnswerBody;
use super::failure::HttpFailure;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;

/// An answer whose body is still to come. Dropped before its end, it closes its connection.
#[derive(Debug)]
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    length: Option<u64>,
    body: AnswerBody,
}

impl Response {
    pub(crate) fn new(answer: http::Response<AnswerBody>) -> Self {
        let (head, body) = answer.into_parts();
        Self {
            status: head.status,
            headers: head.headers,
            length: body.size_hint().exact(),
            body,
        }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// How many bytes the body has in all; `None` where the server does not say.
    pub fn content_length(&self) -> Option<u64> {
        self.length
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns how the body broke off.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpFailure> {
        loop {
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            // What is no data are trailers, which nobody here reads.
            if let Ok(bytes) = frame?.into_data() {
                return Ok(Some(bytes));
            }
        }
    }

    /// The first `limit` bytes of the body, or all of it where it is shorter.
    ///
    /// # Errors
    ///
    /// As [`Response::chunk`].
    pub async fn start(mut self, limit: usize) -> Result<Vec<u8>, HttpFailure> {
        let mut start = Vec::new();
        while start.len() < limit {
            let Some(chunk) = self.chunk().await? else {
                break;
            };
            start.extend_from_slice(&chunk);
        }
        start.truncate(limit);
        Ok(start)
    }

    /// The body as text of at most `limit` bytes; what is not UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// As [`Response::chunk`], and when there is more than `limit`.
    pub async fn text(self, limit: usize) -> Result<String, HttpFailure> {
        let bytes = self.start(limit.saturating_add(1)).await?;
        if bytes.len() > limit {
            return Err(HttpFailure::too_long());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
