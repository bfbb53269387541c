//! The health of the components on this machine, all asked at once.

use crate::probes::HttpProbes;
use futures_util::future::join_all;
use quake_model::facts::{ProbeSeen, Seen};
use quake_model::ports::Probes;
use std::time::Duration;

/// Asks components for their health, and ends within `deadline`; `expected` has each as its name, a blank, and the URL.
/// A component that does not answer is an answer, too.
pub async fn look_at_probes(expected: &[String], deadline: Duration) -> Seen<Vec<ProbeSeen>> {
    let probes = HttpProbes::with_deadline(deadline);
    let named = expected.iter().filter_map(|probe| probe.split_once(' '));
    let requested = named.map(|(component, url)| {
        let probes = &probes;
        async move {
            ProbeSeen {
                component: component.to_owned(),
                url: url.to_owned(),
                answer: probes.probe(url).await,
            }
        }
    });
    Seen::Yes(join_all(requested).await)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_http::testing::{Reply, Server, closed_port};
    use quake_model::facts::ProbeFacts;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn every_component_is_asked_and_silence_is_an_answer() {
        let server = Server::start(|_| Reply::text(500, "[-]etcd failed")).await;
        let closed = closed_port().await;
        let expected = [
            format!("kube-apiserver {}", server.url("/healthz")),
            format!("kubelet {closed}/healthz"),
            "no-url".to_owned(),
        ];
        let seen = look_at_probes(&expected, Duration::from_secs(2)).await;
        let seen = seen.ok().expect("it never fails");
        assert_eq!(seen.len(), 2);
        let wanted = ProbeFacts::Answered {
            status: 500,
            body: "[-]etcd failed".to_owned(),
        };
        assert_eq!(
            (seen[0].component.as_str(), &seen[0].answer),
            ("kube-apiserver", &wanted)
        );
        assert!(
            matches!(seen[1].answer, ProbeFacts::Silent { .. }),
            "{seen:?}"
        );
    }

    #[tokio::test]
    async fn a_component_has_the_time_that_was_chosen() {
        let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = silent.local_addr().expect("an address");
        let expected = [format!("kubelet http://{address}/healthz")];
        let seen = look_at_probes(&expected, Duration::from_millis(100)).await;
        let seen = seen.ok().expect("it never fails");
        let reason = "no answer within 0.1 s".to_owned();
        assert_eq!(seen[0].answer, ProbeFacts::Silent { reason });
    }
}
