//! Says what happened to a request that got no answer.

use hyper_util::client::legacy;
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use rustls::CertificateError;
use std::error::Error;
use std::fmt;
use std::io;
use url::Url;

/// What a library reports, whatever its type.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Why there is no answer, or no whole one. It never quotes the URL, which may sign the request.
#[derive(Debug)]
pub struct HttpFailure {
    kind: Kind,
    cause: Option<BoxError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The request cannot be made at all.
    Request,
    ConnectLate,
    Connect,
    /// Nothing came for as long as the limit says.
    Silent,
    /// The head of the answer did not come.
    Head,
    /// The answer's body broke off.
    Body,
    /// More redirects than are followed.
    Redirects,
    /// The answer is longer than what asked for it can take.
    TooLong,
}

impl HttpFailure {
    /// The request cannot be made, because of `cause`.
    pub(crate) fn request(cause: impl Into<BoxError>) -> Self {
        Self::new(Kind::Request, Some(cause.into()))
    }

    /// Nothing came in time.
    pub(crate) fn silent() -> Self {
        Self::new(Kind::Silent, None)
    }

    /// More redirects came than are followed.
    pub(crate) fn redirects() -> Self {
        Self::new(Kind::Redirects, None)
    }

    pub(crate) fn too_long() -> Self {
        Self::new(Kind::TooLong, None)
    }

    /// The head of the answer did not come.
    pub(crate) fn head(cause: legacy::Error) -> Self {
        let kind = match (cause.is_connect(), is_late(&cause)) {
            (true, true) => Kind::ConnectLate,
            (true, false) => Kind::Connect,
            (false, true) => Kind::Silent,
            (false, false) => Kind::Head,
        };
        Self::new(kind, Some(cause.into()))
    }

    pub(crate) fn body(cause: hyper::Error) -> Self {
        let kind = match is_late(&cause) {
            true => Kind::Silent,
            false => Kind::Body,
        };
        Self::new(kind, Some(cause.into()))
    }

    /// Whether a limit of time ended the wait.
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, Kind::ConnectLate | Kind::Silent)
    }

    /// Whether no connection was made.
    pub fn is_connect(&self) -> bool {
        matches!(self.kind, Kind::ConnectLate | Kind::Connect)
    }

    /// Whether the request could not even be made, which is its maker's mistake.
    pub fn is_request(&self) -> bool {
        self.kind == Kind::Request
    }

    /// Whether there is no connection because a certificate is not valid yet, or not any more, by this machine's clock:
    /// one of the two is wrong.
    pub fn is_of_dates(&self) -> bool {
        self.cause
            .as_deref()
            .is_some_and(|cause| is_outdated(cause))
    }

    /// Why the peer's certificate was not believed, in the library's words; `None` where the failure is another.
    pub fn distrust(&self) -> Option<String> {
        let cause = self.cause.as_deref()?;
        refused_certificate(cause).map(ToString::to_string)
    }

    /// What to do about a certificate that was refused; `None` where the failure is another.
    pub fn remedy(&self) -> Option<&'static str> {
        let why = refused_certificate(self.cause.as_deref()?)?;
        Some(match why {
            _ if self.is_of_dates() => {
                "compare the local time with the right one (date -u; chronyc tracking) and step the clock: chronyc makestep; if it is right, the server's certificate has expired or is not valid yet, and its owner must renew it"
            }
            CertificateError::UnknownIssuer => {
                "this host does not trust the CA of that server, which may be a proxy that inspects TLS: put the CA's certificate into a PEM file and name the file in AWS_CA_BUNDLE (on a node in /etc/default/quake-agent), or install it: update-ca-certificates"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server shows a certificate of another name: check the URL, DNS and the proxy; openssl s_client -connect <host>:443 </dev/null | openssl x509 -noout -subject -ext subjectAltName"
            }
            _ => {
                "look at the server's certificate and have its owner replace it: openssl s_client -connect <host>:443 </dev/null | openssl x509 -noout -text"
            }
        })
    }

    /// A certificate that is over, as a handshake reports it.
    #[cfg(any(test, feature = "testing"))]
    pub fn outdated() -> Self {
        let certificate = rustls::Error::InvalidCertificate(CertificateError::Expired);
        Self::new(Kind::Connect, Some(io::Error::other(certificate).into()))
    }

    fn new(kind: Kind, cause: Option<BoxError>) -> Self {
        Self { kind, cause }
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Request => "the request cannot be made",
            Kind::ConnectLate => "no connection was opened in time",
            Kind::Connect => "no connection could be opened",
            Kind::Silent => "nothing came in time",
            Kind::Head => "no answer came",
            Kind::Body => "the answer ended early",
            Kind::Redirects => "too many redirects",
            Kind::TooLong => "the answer is too long",
        })
    }
}

impl Error for HttpFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.cause.as_deref()?;
        Some(cause)
    }
}

/// What ends a try to connect.
#[derive(Debug)]
pub(crate) struct TimedOut;

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("operation timed out")
    }
}

impl Error for TimedOut {}

/// Whether time ran out: ours, or the kernel's for a connection whose peer is gone.
fn is_late(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let by_kernel = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
        if error.is::<TimedOut>() || by_kernel {
            return true;
        }
        next = error.source();
    }
    false
}

/// Whether a certificate was refused for its dates.
fn is_outdated(error: &(dyn Error + 'static)) -> bool {
    matches!(
        refused_certificate(error),
        Some(
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        )
    )
}

/// Why a certificate was refused. What the TLS library says is inside an error of the connection, which passes it over when
/// it names its source.
fn refused_certificate<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CertificateError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidCertificate(why)) = error.downcast_ref() {
            return Some(why);
        }
        let inside = error.downcast_ref().and_then(io::Error::get_ref);
        next = inside.map(|inside| inside as _).or_else(|| error.source());
    }
    None
}

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
pub fn is_after_connecting(failure: &HttpFailure) -> bool {
    failure.is_timeout() && !failure.is_connect()
}

/// The error of a request to `url` that was never answered, or whose answer ended early.
pub fn describe_failure(url: &str, failure: &HttpFailure) -> PortError {
    let place = shown(url);
    let what = match failure.kind {
        Kind::ConnectLate => "did not open a connection in time",
        Kind::Connect => "could not be connected to",
        Kind::Silent => "stopped answering",
        Kind::Body => "ended its answer early",
        Kind::Redirects => "redirects without an end",
        Kind::TooLong => "answered more than it should",
        Kind::Request | Kind::Head => "did not answer",
    };
    let error = PortError::new(Condition::Unreachable, format!("{place} {what}"))
        .because(failure.source().unwrap_or(failure));
    match failure.remedy() {
        Some(remedy) => error.remedied_by(remedy),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_certificate_is_told_with_what_helps() {
        use rustls::CertificateError::{BadSignature, NotValidForName, NotValidYet, UnknownIssuer};
        for (why, helps) in [
            (UnknownIssuer, "AWS_CA_BUNDLE"),
            (NotValidYet, "chronyc makestep"),
            (NotValidForName, "subjectAltName"),
            (BadSignature, "openssl x509"),
        ] {
            let error = rustls::Error::InvalidCertificate(why);
            let failure = HttpFailure::new(Kind::Connect, Some(io::Error::other(error).into()));
            let error = describe_failure("https://mirror.example/x", &failure);
            let remedy = error.remedy.unwrap_or_default();
            assert!(remedy.contains(helps), "{remedy}");
        }
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let failure = HttpFailure::new(Kind::Connect, Some(refused.into()));
        assert_eq!(describe_failure("https://m/x", &failure).remedy, None);
    }

    #[test]
    fn a_shown_url_carries_no_credential() {
        let url = "https://user:pa55@mirror/x/kubelet?X-Amz-Signature=abc#part";
        assert_eq!(shown(url), "https://mirror/x/kubelet");
    }

    #[test]
    fn a_connection_that_the_kernel_gave_up_is_late() {
        let gone = io::Error::from_raw_os_error(110);
        assert!(is_late(&gone) && is_late(&TimedOut));
        let refused = io::Error::from_raw_os_error(111);
        assert!(!is_late(&refused));
    }
}
