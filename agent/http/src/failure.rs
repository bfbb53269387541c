//! Says what happened to a request that got no answer.

use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use reqwest::{Error, Url};

/// The URL without its user information and query, which may sign it.
pub fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else {
        return scrub(url);
    };
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for URLs that cannot have user information, which then have none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// Whether the peer accepted the connection and then stayed silent.
pub fn is_after_connecting(error: &Error) -> bool {
    error.is_timeout() && !error.is_connect()
}

/// The error of a request to `url` that was never answered, or whose answer ended early.
pub fn describe_failure(url: &str, error: Error) -> PortError {
    let place = shown(url);
    let what = match &error {
        error if error.is_connect() && error.is_timeout() => "did not open a connection in time",
        error if error.is_connect() => "could not be connected to",
        error if error.is_timeout() => "stopped answering",
        error if error.is_body() || error.is_decode() => "ended its answer early",
        error if error.is_redirect() => "redirects without an end",
        _ => "did not answer",
    };
    PortError::new(Condition::Unreachable, format!("{place} {what}")).because(&error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_carries_no_credential() {
        let url = "https://user:pa55@mirror/x/kubelet?X-Amz-Signature=abc#part";
        assert_eq!(shown(url), "https://mirror/x/kubelet");
    }
}
