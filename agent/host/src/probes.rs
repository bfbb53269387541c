//! What runs on the node: health checks over loopback, the runtime and its pods; and the node in its cluster.

use crate::survey::{ask_version, look_at_host, look_at_node, read_pods};
use quake_http::{ApiServerTrust, Client, HttpFailure, Response, Url, build_loopback_client};
use quake_model::facts::{HostHealth, NodeObject, PodsSeen, ProbeFacts};
use quake_model::ports::{Condition, PortError, Probes};
use quake_model::redact::scrub;
use quake_model::signal::ApiAccess;
use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// How long a component may take to answer the agent, its body included; kubelet's own probes allow one second.
const DEADLINE: Duration = Duration::from_secs(2);

/// How much of an answer's body is kept, in bytes.
const BODY_START: usize = 256;

/// Asks components for their health over HTTP and HTTPS.
///
/// Certificates are not verified: a component's certificate names the node, not loopback, and whoever can
/// answer on loopback is on the node already. For the same reason no other host is ever asked.
#[derive(Debug, Clone)]
pub struct HttpProbes {
    client: Client,
    deadline: Duration,
}

impl HttpProbes {
    /// Makes the client. No proxy sees, or answers, what is asked of loopback; no redirect leads off the node; and no
    /// resolver gives `localhost` another address.
    pub fn new() -> Self {
        Self::with_deadline(DEADLINE)
    }

    /// As [`HttpProbes::new`], for somebody who chose how long a component may take to answer.
    pub fn with_deadline(deadline: Duration) -> Self {
        let client = build_loopback_client(deadline);
        Self { client, deadline }
    }
}

impl Default for HttpProbes {
    fn default() -> Self {
        Self::new()
    }
}

impl Probes for HttpProbes {
    async fn probe(&self, url: &str) -> ProbeFacts {
        match self.ask(url).await {
            Ok(answer) => answer,
            Err(reason) => ProbeFacts::Silent {
                reason: scrub(&reason),
            },
        }
    }

    async fn ask_runtime(&self) -> Result<String, PortError> {
        ask_version().await
    }

    async fn look_pods(&self, names: &[String]) -> Result<PodsSeen, PortError> {
        let names = names.to_vec();
        let looked = tokio::task::spawn_blocking(move || {
            read_pods(Path::new("/"), &|pod| is_called(pod, &names))
        });
        let ended = looked.await;
        ended.unwrap_or_else(|error| Err(PortError::new(Condition::Io, error.to_string())))
    }

    async fn look_host(&self) -> Result<HostHealth, PortError> {
        let health = look_at_host(Path::new("/")).await;
        if health.filesystems.is_empty() {
            return Err(PortError::new(
                Condition::Io,
                "no filesystem of the host can be looked at",
            ));
        }
        Ok(health)
    }

    async fn look_node(
        &self,
        access: &ApiAccess,
        name: &str,
    ) -> Result<Option<NodeObject>, PortError> {
        let trust = (!access.ca_bundle.is_empty()).then(|| ApiServerTrust {
            ca_bundle: &access.ca_bundle,
            certificate: &access.certificate,
            key: access.key.expose(),
        });
        look_at_node(&access.server, trust, name).await
    }
}

/// Whether a pod is called so, or begins with it and a dash.
fn is_called(pod: &str, names: &[String]) -> bool {
    names.iter().any(|name| {
        let rest = pod.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

impl HttpProbes {
    async fn ask(&self, url: &str) -> Result<ProbeFacts, String> {
        let url: Url = url
            .parse()
            .map_err(|error| format!("{url:?} is not a URL: {error}"))?;
        if !is_loopback(&url) {
            return Err(format!("{url} is not on loopback, and is not asked"));
        }
        let mut response = self
            .client
            .get(url.as_str())
            .send()
            .await
            .map_err(|failure| reason_of(&failure, self.deadline))?;
        let status = response.status().as_u16();
        let body = start_of_body(&mut response).await;
        Ok(ProbeFacts::Answered { status, body })
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The first bytes of the body, as far as they come: the status is the answer, the body only explains it.
async fn start_of_body(response: &mut Response) -> String {
    let mut start = Vec::new();
    while start.len() < BODY_START {
        match response.chunk().await {
            Ok(Some(chunk)) => start.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    start.truncate(BODY_START);
    scrub(&String::from_utf8_lossy(&start))
}

/// The innermost cause, which alone says something of the component.
fn reason_of(failure: &HttpFailure, deadline: Duration) -> String {
    if failure.is_timeout() {
        return format!("no answer within {} s", deadline.as_secs_f64());
    }
    let mut cause: &dyn Error = failure;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// A component that gives every caller this answer.
    async fn component(answer: String) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut requested = [0; 1024];
                let _ = stream.read(&mut requested).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        port
    }

    async fn probe(url: &str) -> ProbeFacts {
        HttpProbes::new().probe(url).await
    }

    #[tokio::test]
    async fn an_answer_is_its_status_and_the_start_of_its_body() {
        let body = "x".repeat(1000);
        let answer = format!("HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n{body}");
        let port = component(answer).await;
        for host in ["127.0.0.1", "localhost"] {
            let facts = probe(&format!("http://{host}:{port}/healthz")).await;
            assert_eq!(
                facts,
                ProbeFacts::Answered {
                    status: 500,
                    body: "x".repeat(256)
                }
            );
        }
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_is_not_followed() {
        let answer =
            "HTTP/1.1 302 Found\r\nLocation: http://198.51.100.1/\r\nContent-Length: 0\r\n\r\n";
        let port = component(answer.to_owned()).await;
        let facts = probe(&format!("http://127.0.0.1:{port}/")).await;
        assert_eq!(
            facts,
            ProbeFacts::Answered {
                status: 302,
                body: String::new()
            }
        );
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_is_silent_with_the_reason() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let ProbeFacts::Silent { reason } = probe(&format!("http://127.0.0.1:{port}/")).await
        else {
            panic!("nobody listens there");
        };
        assert!(reason.to_lowercase().contains("refused"), "{reason}");
    }

    #[tokio::test]
    async fn no_other_host_is_ever_asked() {
        for url in [
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://127.0.0.1@198.51.100.1/",
            "not a url",
        ] {
            let ProbeFacts::Silent { reason } = probe(url).await else {
                panic!("{url} was asked");
            };
            assert!(
                reason.contains("loopback") || reason.contains("not a URL"),
                "{reason}"
            );
        }
    }

    #[test]
    fn loopback_is_known_in_both_families() {
        for url in [
            "https://127.0.0.1:10250/healthz",
            "http://[::1]/",
            "http://127.9.9.9/",
        ] {
            assert!(is_loopback(&url.parse().expect("a literal")), "{url}");
        }
    }
}
