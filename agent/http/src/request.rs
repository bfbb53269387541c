//! A request in the making, and how redirects are followed.

use super::body::AnswerBody;
use super::client::{Client, USER_AGENT, no_body, whole_body};
use super::failure::HttpFailure;
use super::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, COOKIE, HeaderName, LOCATION, PROXY_AUTHORIZATION, USER_AGENT as AGENT,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;
use url::Url;

/// A request that was not sent yet.
#[derive(Debug)]
pub struct RequestBuilder {
    client: Client,
    method: Method,
    target: Result<Url, HttpFailure>,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl RequestBuilder {
    pub(crate) fn new(client: Client, method: Method, url: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(AGENT, HeaderValue::from_static(USER_AGENT));
        let target = Url::parse(url)
            .map_err(HttpFailure::request)
            .map(|mut url| {
                if let Some(authorization) = take_user(&mut url) {
                    headers.insert(AUTHORIZATION, authorization);
                }
                url
            });
        Self {
            client,
            method,
            target,
            headers,
            body: None,
        }
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets a header. One that cannot be sent makes the request fail.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_ref().as_bytes());
        match (name, HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            (Err(error), _) => self.target = Err(HttpFailure::request(error)),
            (_, Err(error)) => self.target = Err(HttpFailure::request(error)),
        }
        self
    }

    /// Sends it, and follows redirects as far as the client does. The headers go along, except that credentials never
    /// go to another host. A redirect from https to http is followed: what is fetched is pinned by digest.
    ///
    /// # Errors
    ///
    /// Returns why no answer came.
    pub async fn send(self) -> Result<Response, HttpFailure> {
        let (mut url, mut method, mut headers) = (self.target?, self.method, self.headers);
        let mut body = self.body;
        let ends = self.client.limits().ends();
        for _ in 0..=self.client.redirects() {
            let mut request = http::Request::new(body.clone().map_or_else(no_body, whole_body));
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.as_str().parse().map_err(HttpFailure::request)?;
            *request.headers_mut() = headers.clone();
            let answer = self.client.dispatch_until(request, ends).await?;
            let next = match self.client.redirects() {
                0 => None,
                _ => redirect_of(&answer, &url),
            };
            let Some(next) = next else {
                return Ok(Response::new(answer));
            };
            if answer.status() == StatusCode::SEE_OTHER {
                (method, body) = (Method::GET, None);
            }
            if next.origin() != url.origin() {
                for name in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                    headers.remove(name);
                }
            }
            url = next;
        }
        Err(HttpFailure::redirects())
    }
}

/// Where an answer sends its client on to; `None` when it is no redirect, or one that leads nowhere.
fn redirect_of(answer: &http::Response<AnswerBody>, from: &Url) -> Option<Url> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.headers().get(LOCATION)?.to_str().ok()?;
    let mut next = from.join(location).ok()?;
    if !matches!(next.scheme(), "http" | "https") {
        return None;
    }
    // What a server writes into its answer are not credentials of ours.
    let _ = take_user(&mut next);
    Some(next)
}

/// A part of a URL without its percent-encoding.
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Takes user information out of the URL, in the form in which it is sent.
fn take_user(url: &mut Url) -> Option<HeaderValue> {
    let user = percent_decoded(url.username());
    let password = url.password().map(percent_decoded);
    if user.is_empty() && password.is_none() {
        return None;
    }
    // Both fail only for URLs that cannot have user information.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let pair = format!("{user}:{}", password.unwrap_or_default());
    let mut value =
        HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}
