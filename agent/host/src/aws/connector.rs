//! The agent's own HTTP client as the SDK takes it: for EC2, S3, and whatever else asks for credentials.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use quake_http::{Client, HttpFailure, Limits, into_body};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The client, and what was made of it for each set of limits that the SDK asks for.
#[derive(Debug)]
pub(super) struct SdkClient {
    client: Client,
    made: Mutex<HashMap<Limits, SharedHttpConnector>>,
}

impl SdkClient {
    /// Requests of the SDK go over the connections of `client`.
    pub(super) fn new(client: Client) -> Self {
        let made = Mutex::default();
        Self { client, made }
    }

    fn limits(&self, settings: &HttpConnectorSettings) -> Limits {
        let ours = self.client.limits();
        Limits {
            connect: settings.connect_timeout().unwrap_or(ours.connect),
            silence: settings.read_timeout().or(ours.silence),
            whole: None,
        }
    }
}

impl HttpClient for SdkClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let limits = self.limits(settings);
        // A connector is whole at every moment, so a panic elsewhere cannot have left it half-made.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let connector = made
            .entry(limits)
            .or_insert_with(|| SharedHttpConnector::new(SdkConnector(self.client.limited(limits))));
        connector.clone()
    }
}

#[derive(Debug)]
struct SdkConnector(Client);

impl HttpConnector for SdkConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client = self.0.clone();
        HttpConnectorFuture::new(async move {
            let user = |error| ConnectorError::user(Box::new(error));
            let request = request.try_into_http1x().map_err(user)?;
            let answer = client.dispatch(request.map(into_body)).await;
            let answer = answer.map_err(connector_error)?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(Box::new(error), None))
        })
    }
}

/// The failure in the SDK's classes.
fn connector_error(failure: HttpFailure) -> ConnectorError {
    let class = match &failure {
        failure if failure.is_timeout() => ConnectorError::timeout,
        failure if failure.is_connect() => ConnectorError::io,
        failure if failure.is_request() => ConnectorError::user,
        // A connection that closed under the request.
        _ => |source| ConnectorError::other(source, Some(ErrorKind::TransientError)),
    };
    class(failure.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
    use http_body_util::BodyExt;
    use quake_http::testing::{Reply, Server, closed_port};
    use quake_http::{HttpSettings, ProxySettings};
    use std::time::Duration;

    fn connector_under(settings: &HttpSettings, read: Duration) -> SharedHttpConnector {
        let client = SdkClient::new(settings.build_client().expect("the settings are valid"));
        let settings = HttpConnectorSettings::builder().read_timeout(read).build();
        let components = RuntimeComponentsBuilder::for_tests().build();
        client.http_connector(&settings, &components.expect("those of tests are whole"))
    }

    fn connector(read: Duration) -> SharedHttpConnector {
        connector_under(&HttpSettings::default(), read)
    }

    fn request(url: &str) -> HttpRequest {
        let request = http::Request::get(url).body(SdkBody::empty());
        HttpRequest::try_from(request.expect("the url is one")).expect("nothing odd is in it")
    }

    #[tokio::test]
    async fn a_body_comes_in_pieces_and_whole() {
        let server = Server::start(|_| Reply::bytes(200, &[7; 300_000])).await;
        let connector = connector(Duration::from_secs(5));
        let answer = connector.call(request(&server.url("/object"))).await;
        let answer = answer.expect("it answers");
        assert_eq!(answer.status().as_u16(), 200);
        let body = answer.into_body().collect().await.expect("it is whole");
        assert_eq!(body.to_bytes().len(), 300_000);
    }

    #[tokio::test]
    async fn silence_is_a_timeout_and_a_closed_port_is_a_matter_of_the_network() {
        let server = Server::start(|_| Reply::text(200, "").declaring(9).hanging()).await;
        let limit = Duration::from_millis(50);
        let quiet = closed_port().await;
        let error = connector(limit).call(request(&quiet)).await;
        assert!(error.expect_err("nobody listens").is_io());
        let answer = connector(limit).call(request(&server.url("/"))).await;
        let body = answer.expect("its head comes").into_body().collect().await;
        let error = body.expect_err("its body does not");
        let failure = error.downcast_ref::<HttpFailure>().expect("it is ours");
        assert!(failure.is_timeout(), "{failure}");
        let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let address = mute.as_ref().expect("a free port").local_addr();
        let url = format!("http://{}/", address.expect("it is bound"));
        let error = connector(limit).call(request(&url)).await;
        assert!(error.expect_err("it never answers").is_timeout());
    }

    #[tokio::test]
    async fn each_scheme_has_its_own_proxy_and_the_instances_services_none() {
        let proxy = Server::start(|_| Reply::text(200, "from the proxy")).await;
        let direct = Server::start(|_| Reply::text(200, "direct")).await;
        let proxies = [
            ("http_proxy", proxy.url("").replace("//", "//user:pa55@")),
            ("https_proxy", closed_port().await),
        ];
        let settings = HttpSettings {
            proxy: ProxySettings::from_lookup(|name| {
                let found = proxies.iter().find(|(key, _)| *key == name);
                found.map(|(_, url)| url.clone())
            }),
            ca_bundle: None,
        };
        let connector = connector_under(&settings, Duration::from_secs(5));
        for (url, expected) in [
            ("http://s3.example/bucket".to_owned(), "from the proxy"),
            (direct.url("/latest/meta-data"), "direct"),
        ] {
            let answer = connector.call(request(&url)).await.expect("it answers");
            let body = answer.into_body().collect().await.expect("it is whole");
            assert_eq!(body.to_bytes(), expected.as_bytes(), "{url}");
        }
        let seen = proxy.seen();
        let reported = seen.iter().map(|seen| seen.header("proxy-authorization"));
        assert_eq!(reported.collect::<Vec<_>>(), [Some("Basic dXNlcjpwYTU1")]);
    }
}
