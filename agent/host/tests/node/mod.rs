//! AWS as a node reaches it: an endpoint for its services, and a metadata service that says who it is.

use quake_host::aws::{Aws, AwsSettings, Calls, Environment};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_integration::http::{Reply, Request, Server};
use quake_integration::imds::Metadata;

/// AWS at `endpoint` for the instance of this id, and the metadata service, which answers for as long as it is kept.
pub(crate) fn aws_at(endpoint: &str, instance: &str) -> (Aws, Server) {
    let metadata = Metadata::new(instance, "");
    let imds = serve(move |request| metadata.answer(request));
    let calls = Calls::new();
    let lookup = |name: &str| (name == "AWS_ENDPOINT_URL").then(|| endpoint.to_owned());
    let settings = AwsSettings::from_lookup(Environment::Node, HttpSettings::default(), lookup);
    let requested = Imds::new(&MetadataEndpoint::At(imds.base()), calls.clone());
    (Aws::new(settings, requested, calls), imds)
}

/// Answers on a free port of loopback.
pub(crate) fn serve(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(answer).expect("loopback has free ports")
}
