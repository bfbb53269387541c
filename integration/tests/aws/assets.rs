//! A worker whose assets are in a private bucket: s3:// URLs, read with the role's credentials.

use crate::lab::{ASSETS, BUCKET, Lab, objects, programs};
use quake_integration::agent::{Ended, run_command};
use quake_integration::http::{Reply, Request};
use quake_integration::imds::{ACCESS_KEY_ID, SESSION_TOKEN};
use quake_integration::moto::Moto;
use quake_integration::node::CLUSTER;
use quake_integration::proxy::{Service, forward, refusal};
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is not real.
const SIMULATED: &str = "disks,kernel,units,probes";

/// A worker in a namespace with moto behind `answer`, which is given what is asked of the bucket of assets.
struct Private {
    lab: Lab,
    ended: Ended,
}

impl Private {
    /// Boots a worker with these pins; `None`, said aloud, where something is missing here.
    fn boot(
        pins: &[String],
        answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
        more: &[&str],
    ) -> Option<Self> {
        let moto = unless_missing(start())?;
        let address = moto.address();
        let lab = Lab::with_aws(move |request| {
            let is_asset = request.path().starts_with(&format!("/{ASSETS}/"));
            let own = is_asset.then(|| answer(request)).flatten();
            own.unwrap_or_else(|| forward(address, request))
        });
        let mut lab = unless_missing(lab)?;
        let cluster = format!("kubernetes.io/cluster/{CLUSTER}");
        let tags = [
            ("KubernetesCluster", CLUSTER),
            (cluster.as_str(), "owned"),
            ("k8s.io/role/node", "1"),
        ];
        let instance = moto.run_instance(&tags).expect("moto launches it");
        lab.add_instance(&instance, "workers", pins);
        let mut arguments = vec!["--exit-when-ready"];
        arguments.extend(more);
        let ended = run_command(lab.boot(SIMULATED, &arguments));
        let leaks = lab.leaks(&[&ended.stdout, &ended.stderr]);
        assert_eq!(leaks, Vec::<String>::new());
        Some(Self { lab, ended })
    }

    /// The status and the code of the fault it failed with.
    fn fault(&self) -> (i32, Value) {
        (self.ended.status, self.ended.summary()["fault"].clone())
    }

    fn is_ready(&self) {
        let summary = self.ended.summary();
        let found = (self.ended.status, &summary["result"]);
        assert_eq!(found, (0, &"ready".into()), "{}", self.ended.text());
    }
}

/// moto with a state store and a bucket of assets.
fn start() -> Result<Moto, SetUpError> {
    if !is_root() {
        let what = "network namespaces can be made by root alone";
        return Err(SetUpError::Missing(what.to_owned()));
    }
    let moto = Moto::start()?;
    let put = |bucket: &str, key: &str, bytes: &[u8]| {
        let put = moto.put_object(bucket, key, bytes);
        put.map_err(|error| error.to_string())
    };
    for (key, bytes) in objects(&["ca", "kubelet", "kube-proxy"]) {
        put(BUCKET, &key, &bytes)?;
    }
    for (path, bytes) in programs().all() {
        put(ASSETS, path.trim_start_matches('/'), bytes)?;
    }
    Ok(moto)
}

fn pins() -> Vec<String> {
    programs().pins(&format!("s3://{ASSETS}"))
}

fn denied() -> Reply {
    refusal(Service::S3, 403, "AccessDenied", "Access Denied")
}

/// The region that a request was signed for, by the role; `None` where it was not signed by it.
fn region_of(request: &Request) -> Option<&str> {
    let signed = request.header("authorization")?;
    let (_, scope) = signed.split_once(&format!("Credential={ACCESS_KEY_ID}/"))?;
    let is_whole = request.header("x-amz-security-token") == Some(SESSION_TOKEN);
    let mut parts = scope.split('/').skip(1);
    let region = parts.next()?;
    (is_whole && parts.next() == Some("s3")).then_some(region)
}

#[test]
fn assets_of_a_private_bucket_are_fetched_with_the_roles_credentials() {
    let only_signed = |request: &Request| match region_of(request) {
        Some("us-east-1") => None,
        _ => Some(denied()),
    };
    let Some(node) = Private::boot(&pins(), only_signed, &[]) else {
        return;
    };
    node.is_ready();
    let placed = std::fs::read(node.lab.root().join("usr/local/bin/kubelet"));
    let kubelet = programs();
    assert_eq!(
        placed.ok().as_deref(),
        kubelet.at("/bin/linux/amd64/kubelet")
    );
    let summary = node.ended.summary();
    let requested = summary["calls"]["s3-assets:GetObject"].as_u64();
    assert!(
        requested.is_some_and(|requested| requested >= 3),
        "{summary}"
    );
}

#[test]
fn a_bucket_of_assets_in_another_region_is_found_by_what_it_answers() {
    let elsewhere = |request: &Request| match region_of(request) {
        Some("eu-west-3") => None,
        Some(_) => {
            let moved = refusal(Service::S3, 301, "PermanentRedirect", "It is elsewhere.");
            Some(moved.with("x-amz-bucket-region", "eu-west-3"))
        }
        None => Some(denied()),
    };
    let Some(node) = Private::boot(&pins(), elsewhere, &[]) else {
        return;
    };
    node.is_ready();
}

#[test]
fn credentials_that_are_over_are_read_again_and_the_assets_come() {
    let requested = AtomicUsize::new(0);
    let first = move |_: &Request| {
        let is_first = requested.fetch_add(1, Ordering::SeqCst) == 0;
        is_first.then(|| refusal(Service::S3, 400, "ExpiredToken", "It has expired."))
    };
    let Some(node) = Private::boot(&pins(), first, &[]) else {
        return;
    };
    node.is_ready();
}

#[test]
fn an_asset_that_is_denied_names_the_action_and_the_object() {
    let more = ["--denied-grace", "1s"];
    let Some(node) = Private::boot(&pins(), |_| Some(denied()), &more) else {
        return;
    };
    let (status, fault) = node.fault();
    let code = (status, &fault["code"]);
    assert_eq!(code, (77, &"assets.forbidden".into()), "{fault}");
    let remedy = fault["remedy"].as_str().unwrap_or_default();
    let object = format!("allow s3:GetObject on arn:aws:s3:::{ASSETS}/");
    assert!(remedy.contains(&object), "{fault}");
    let policy = format!("quake-agent iam policy --assets s3://{ASSETS}");
    assert!(remedy.contains(&policy), "{fault}");
}

#[test]
fn an_asset_with_another_digest_is_refused_as_over_https() {
    let mut pins = pins();
    let (digest, url) = pins[0].split_once('@').expect("it is a pin");
    let url = url.to_owned();
    pins[0] = format!("{}@{url}", "0".repeat(digest.len()));
    let Some(node) = Private::boot(&pins, |_| None, &[]) else {
        return;
    };
    let (status, fault) = node.fault();
    let code = (status, &fault["code"]);
    assert_eq!(code, (78, &"assets.digest-mismatch".into()), "{fault}");
    assert!(fault.to_string().contains(&url), "{fault}");
}

#[test]
fn an_asset_that_is_not_in_the_bucket_is_not_found() {
    let mut pins = pins();
    pins[0].push_str("-of-nobody");
    let Some(node) = Private::boot(&pins, |_| None, &["--deadline", "5s"]) else {
        return;
    };
    let (_, fault) = node.fault();
    assert_eq!(fault["code"], "assets.not-found", "{fault}");
}
