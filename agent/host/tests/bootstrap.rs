//! The client of kops-controller, against a stand-in that checks its proofs as the real one and STS would.

use quake_host::aws::{Aws, AwsSettings, Calls, Environment};
use quake_host::bootstrap::KopsController;
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_integration::ca::Ca;
use quake_integration::controller::{Controller, Served, Turn, Version};
use quake_integration::http::{Reply, Server};
use quake_integration::imds::{
    ACCESS_KEY_ID, Metadata, ROLE, SECRET_ACCESS_KEY, SESSION_TOKEN, identity_document,
};
use quake_integration::skip::unless_missing;
use quake_model::ports::{
    Bootstrap, BootstrapServer, Condition, Keys, MadeKey, Meter as _, PortError, SignatureKind,
    TokenVersion,
};
use quake_model::redact::Secret;
use quake_testkit::contract;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const BODY: &[u8] =
    br#"{"apiVersion":"bootstrap.kops.k8s.io/v1alpha1","certs":{},"includeNodeConfig":true}"#;

/// The host as far as it asks kops-controller.
struct Host(KopsController);

impl Bootstrap for Host {
    async fn prove_instance(
        &self,
        body: &[u8],
        version: TokenVersion,
    ) -> Result<Secret<String>, PortError> {
        self.0.prove_instance(body, version).await
    }

    async fn ask_bootstrap(
        &self,
        server: &BootstrapServer,
        proof: &Secret<String>,
        body: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        self.0.ask_bootstrap(server, proof, body).await
    }
}

impl Keys for Host {
    async fn make_key(&self) -> Result<MadeKey, PortError> {
        quake_host::keys::make_key()
    }

    async fn public_key(&self, key: &Secret<String>) -> Result<Vec<u8>, PortError> {
        quake_host::keys::public_key(key)
    }

    async fn sign(
        &self,
        key: &Secret<String>,
        kind: SignatureKind,
        message: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        quake_host::keys::sign(key, kind, message)
    }

    async fn verify(
        &self,
        public: &[u8],
        kind: SignatureKind,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), PortError> {
        quake_host::keys::verify(public, kind, message, signature)
    }
}

/// A worker, and the kops-controller of its cluster.
struct Lab {
    host: Host,
    calls: Calls,
    metadata: Server,
    controller: Controller,
    server: BootstrapServer,
}

impl Lab {
    /// One whose metadata service gives this as the role's secret key; `None`, said aloud, where openssl is missing.
    fn open_with(secret: &str) -> Option<Self> {
        let ca = unless_missing(Ca::new())?;
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let served = Served {
            config: "ClusterName: c.example\n".to_owned(),
            secrets: BTreeMap::from([("dockerconfig".to_owned(), "{}".to_owned())]),
            node: "i-0123456789abcdef0".to_owned(),
            address: "10.0.0.10".to_owned(),
            region: "us-east-1".to_owned(),
            signs: ["kubelet", "kubelet-server"].map(str::to_owned).into(),
            names: ["DNS:kops-controller.internal.c.example", "DNS:localhost"]
                .map(str::to_owned)
                .into(),
            rest: Duration::ZERO,
        };
        let ca_bundle = ca.certificate().expect("it was made");
        let controller = Controller::start(listener, ca, served).expect("it serves");
        let server = BootstrapServer {
            url: format!("https://localhost:{}/", controller.address().port()),
            tls_server_name: None,
            ca_bundle,
        };
        let role = format!("meta-data/iam/security-credentials/{ROLE}");
        let credentials = format!(
            r#"{{"Code":"Success","AccessKeyId":"{ACCESS_KEY_ID}","SecretAccessKey":"{secret}","Token":"{SESSION_TOKEN}","Expiration":"2099-01-01T00:00:00Z"}}"#
        );
        let metadata = Metadata::with([
            (
                "dynamic/instance-identity/document".to_owned(),
                identity_document("i-0123456789abcdef0").into_bytes(),
            ),
            (
                "meta-data/iam/security-credentials/".to_owned(),
                ROLE.as_bytes().to_vec(),
            ),
            (role, credentials.into_bytes()),
        ]);
        let metadata = Server::start(move |request| metadata.answer(request));
        let metadata = metadata.expect("loopback has free ports");
        let calls = Calls::new();
        let imds = Imds::new(&MetadataEndpoint::At(metadata.base()), calls.clone());
        // What is set for an S3-compatible store is not the region of the proof.
        let set = |name: &str| (name == "S3_REGION").then(|| "elsewhere-1".to_owned());
        let settings = AwsSettings::from_lookup(Environment::Node, HttpSettings::default(), set);
        let aws = Aws::new(settings, imds, calls.clone());
        Some(Self {
            host: Host(KopsController::new(aws)),
            calls,
            metadata,
            controller,
            server,
        })
    }

    fn open() -> Option<Self> {
        Self::open_with(SECRET_ACCESS_KEY)
    }

    async fn proof(&self) -> Secret<String> {
        let proof = self.host.prove_instance(BODY, TokenVersion::V2).await;
        proof.expect("it is proven")
    }

    /// Asks honestly.
    async fn ask(&self) -> Result<Vec<u8>, PortError> {
        self.ask_at(&self.server).await
    }

    async fn ask_at(&self, server: &BootstrapServer) -> Result<Vec<u8>, PortError> {
        let proof = self.proof().await;
        self.host.ask_bootstrap(server, &proof, BODY).await
    }

    async fn error_at(&self, server: &BootstrapServer) -> PortError {
        self.ask_at(server).await.expect_err("it is refused")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_kops_controller_keeps_the_contract() {
    let Some(lab) = Lab::open() else { return };
    let kept = contract::bootstrap(&lab.host, &lab.server).await;
    assert_eq!(kept, Ok(()), "{:?}", lab.controller.refusals());
    assert_eq!(lab.controller.refusals(), ["incorrect SHA"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_costs_one_token_and_three_reads_of_metadata_however_often_it_is_made() {
    let Some(lab) = Lab::open() else { return };
    for _ in 0..3 {
        lab.ask().await.expect("it is answered");
    }
    let seen = lab.metadata.seen();
    let tokens = seen.iter().filter(|request| request.method == "PUT");
    assert_eq!((tokens.count(), seen.len()), (1, 4));
    let calls = lab.calls.calls();
    assert_eq!(
        calls.get("kops-controller:Bootstrap"),
        Some(&3),
        "{calls:?}"
    );
    let seen = lab.controller.seen();
    let kind = seen[0].header("content-type");
    assert_eq!(kind, Some("application/json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_version_of_the_proof_is_signed_as_the_server_and_sts_check_it() {
    for (known, made, other) in [
        (Version::V1, TokenVersion::V1, TokenVersion::V2),
        (Version::V2, TokenVersion::V2, TokenVersion::V1),
    ] {
        let Some(lab) = Lab::open() else { return };
        lab.controller.take_only(known);
        let proof = lab.host.prove_instance(BODY, made).await;
        let proof = proof.expect("it is proven");
        let answer = lab.host.ask_bootstrap(&lab.server, &proof, BODY).await;
        let refusals = lab.controller.refusals();
        assert!(answer.is_ok(), "{made:?}: {refusals:?}");
        assert_eq!(lab.controller.accepted(), [known]);
        let proof = lab.host.prove_instance(BODY, other).await;
        let proof = proof.expect("it is proven");
        let refused = lab.host.ask_bootstrap(&lab.server, &proof, BODY).await;
        let refused = refused.expect_err("the server does not know this version");
        assert_eq!(refused.condition, Condition::Denied, "{other:?}");
        assert_eq!(lab.controller.refusals(), ["not this verifier"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_with_another_secret_is_denied() {
    let Some(lab) = Lab::open_with("anotherSecret/0123456789abcdefghijklmnop") else {
        return;
    };
    let error = lab.ask().await.expect_err("it is refused");
    assert_eq!(error.condition, Condition::Denied);
    assert_eq!(lab.controller.refusals(), ["another signature"]);
    assert!(
        error
            .summary
            .ends_with("answered 403: failed to verify token"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_has_its_condition() {
    let Some(lab) = Lab::open() else { return };
    let elsewhere = Reply::new(302, "").with("location", "https://elsewhere.invalid/");
    let hour_off =
        Reply::new(403, "failed to verify token").with("date", "Sat, 21 Nov 2020 03:22:17 GMT");
    for (reply, condition) in [
        (Reply::new(403, "failed to verify token"), Condition::Denied),
        (hour_off, Condition::ClockSkew),
        (
            Reply::new(409, "node already registered"),
            Condition::Conflict,
        ),
        (Reply::new(500, "internal error"), Condition::NotReady),
        (Reply::new(503, ""), Condition::NotReady),
        (Reply::new(404, "404 page not found"), Condition::NotReady),
        (Reply::new(429, ""), Condition::Throttled),
        (
            Reply::new(400, "failed to build node config"),
            Condition::NotReady,
        ),
        (
            Reply::new(400, "failed to issue \"kube-proxy\": key name not enabled"),
            Condition::Malformed,
        ),
        (
            Reply::new(400, "unexpected APIVersion"),
            Condition::Impossible,
        ),
        (elsewhere, Condition::NotReady),
        (
            Reply::new(200, vec![b'x'; (4 << 20) + 1]),
            Condition::NotReady,
        ),
        (Reply::nothing(), Condition::Unreachable),
    ] {
        let status = reply.status;
        lab.controller.turn([Turn::Reply(reply)]);
        let error = lab.ask().await.expect_err("it is no answer");
        assert_eq!(error.condition, condition, "{status}: {error}");
    }
    assert!(lab.ask().await.is_ok(), "and then it answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_given_up_after_fifteen_seconds() {
    let Some(lab) = Lab::open() else { return };
    lab.controller.turn([Turn::Hang(Duration::from_secs(25))]);
    let began = Instant::now();
    let error = lab.ask().await.expect_err("nothing comes");
    assert_eq!(error.condition, Condition::Unreachable, "{error}");
    assert!((14..20).contains(&began.elapsed().as_secs()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_believed_by_the_clusters_ca_and_its_name_alone() {
    let Some(lab) = Lab::open() else { return };
    let by_address = BootstrapServer {
        url: lab.server.url.replace("localhost", "127.0.0.1"),
        ..lab.server.clone()
    };
    let error = lab.error_at(&by_address).await;
    assert_eq!(error.condition, Condition::Unsafe, "{error}");
    let reported = "the certificate is for kops-controller.internal.c.example, localhost, and not for 127.0.0.1";
    assert!(error.summary.contains(reported), "{error}");
    let named = |name: &str| BootstrapServer {
        tls_server_name: Some(name.to_owned()),
        ..by_address.clone()
    };
    let right = named("kops-controller.internal.c.example");
    assert!(lab.ask_at(&right).await.is_ok());
    let error = lab
        .error_at(&named("kops-controller.internal.other.example"))
        .await;
    assert_eq!(error.condition, Condition::Unsafe, "{error}");

    let stranger = unless_missing(Ca::new()).expect("openssl is there");
    let distrusted = BootstrapServer {
        ca_bundle: stranger.certificate().expect("it was made"),
        ..lab.server.clone()
    };
    let error = lab.error_at(&distrusted).await;
    assert_eq!(error.condition, Condition::Unsafe, "{error}");
    // Both have the name of every cluster's CA.
    let keys: Vec<&str> = error
        .summary
        .split("CN=kubernetes-ca (key ")
        .skip(1)
        .collect();
    assert_eq!(keys.len(), 2, "{error}");
    assert_ne!(keys[0].get(..16), keys[1].get(..16), "{error}");
    let requested = lab.controller.seen().len();
    assert_eq!(requested, 1, "nothing is sent to whom is not believed");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_error_shows_what_was_sent() {
    let Some(lab) = Lab::open() else { return };
    lab.controller.turn([Turn::Echo]);
    let proof = lab.proof().await;
    let requested = lab.host.ask_bootstrap(&lab.server, &proof, BODY).await;
    let error = format!("{:?} {proof:?}", requested.expect_err("it is refused"));
    let token = proof.expose().trim_start_matches("x-aws-sts-v2 ");
    for secret in [
        &token[..40],
        ACCESS_KEY_ID,
        SECRET_ACCESS_KEY,
        SESSION_TOKEN,
    ] {
        assert!(!error.contains(secret), "{error}");
    }
    assert!(error.contains("403"), "{error}");
}
