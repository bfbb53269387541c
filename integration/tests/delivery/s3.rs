//! The binary comes from S3, signed as the instance's role; the metadata service is at its real address.

use crate::fixtures::Fixture;
use crate::signature::check;
use quake_integration::agent::{Ended, run_command};
use quake_integration::http::{Reply, Request, Server};
use quake_integration::imds::{ACCESS_KEY_ID, Metadata, SECRET_ACCESS_KEY, SESSION_TOKEN, TOKEN};
use quake_integration::namespace::{METADATA, Namespace};
use quake_integration::skip::unless_missing;
use std::sync::{Arc, Mutex, PoisonError};

const URL: &str = "s3://quake-releases/v1/quake-agent";

/// An instance with a metadata service and S3.
struct Instance {
    servers: Vec<Server>,
    namespace: Namespace,
    endpoint: String,
    /// Secrets that stood on a command line while a request was answered.
    on_command_lines: Arc<Mutex<Vec<String>>>,
}

impl Instance {
    /// `None`, said aloud, where no namespace can be made.
    fn start(
        fixture: &Fixture,
        metadata: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Option<Self> {
        let namespace = unless_missing(Namespace::make())?;
        let program = fixture.program.clone();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let listen = |address| {
            namespace
                .listen(address)
                .expect("the address is on loopback")
        };
        let s3 = Server::on(listen("127.0.0.1:0"), move |request| {
            noted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(secrets_on_command_lines());
            match check(request, SECRET_ACCESS_KEY) {
                Err(why) => Reply::new(403, why),
                Ok(()) if request.header("x-amz-security-token") != Some(SESSION_TOKEN) => {
                    Reply::new(400, "another token")
                }
                Ok(()) if request.path() == "/quake-releases/v1/quake-agent" => {
                    Reply::new(200, program.clone())
                }
                Ok(()) => Reply::new(404, ""),
            }
        })
        .expect("the listener listens");
        let metadata = Server::on(listen(METADATA), metadata).expect("the listener listens");
        let endpoint = s3.base();
        Some(Self {
            servers: vec![s3, metadata],
            namespace,
            endpoint,
            on_command_lines: seen,
        })
    }

    fn run(&self, fixture: &Fixture, script: &str) -> Ended {
        let mut command = fixture.command(&["sh"], script);
        command.env("AWS_ENDPOINT_URL", &self.endpoint);
        // Credentials of a proxy's making must not reach the metadata service or be believed.
        command
            .env("http_proxy", "http://127.0.0.1:1")
            .env("no_proxy", "127.0.0.1");
        run_command(self.namespace.inside(&command))
    }
}

/// What `ps` would show of the planted secrets.
fn secrets_on_command_lines() -> Vec<String> {
    let processes = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| holds_a_secret(line)).collect()
}

fn holds_a_secret(text: &str) -> bool {
    let secrets = [ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN, TOKEN];
    secrets.iter().any(|secret| text.contains(secret))
}

#[test]
fn the_binary_comes_from_s3_signed_as_the_role_and_no_secret_is_shown() {
    for region in [&["--binary-region", "us-east-1"][..], &[]] {
        let fixture = Fixture::new();
        let metadata = Metadata::new("i-0123456789abcdef0", "");
        let Some(instance) = Instance::start(&fixture, move |request| metadata.answer(request))
        else {
            return;
        };
        let digest = quake_integration::tree::sha256(&fixture.program);
        let script = fixture.script_with(&[URL], &[&digest], region);
        let ended = instance.run(&fixture, &script);
        fixture.assert_delivered(&ended);
        assert!(fixture.verdict().contains(&format!("from={URL} ")));
        let requested = instance.servers[0].seen();
        let authorization = requested[0].header("authorization").unwrap_or_default();
        assert!(
            authorization.contains("/us-east-1/s3/aws4_request"),
            "{authorization}"
        );
        assert!(!holds_a_secret(&ended.text()), "{}", ended.text());
        let shown = instance
            .on_command_lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert!(shown.is_empty(), "{shown:?}");
    }
}

#[test]
fn an_instance_without_a_role_is_told_so() {
    let fixture = Fixture::impatient();
    let metadata = Metadata::new("i-0123456789abcdef0", "");
    let answer = move |request: &Request| match request.path().contains("/iam/") {
        true => Reply::new(404, ""),
        false => metadata.answer(request),
    };
    let Some(instance) = Instance::start(&fixture, answer) else {
        return;
    };
    let ended = instance.run(&fixture, &fixture.script(&[URL]));
    fixture.assert_failed(&ended, 77, &format!("no-role from={URL} "));
    assert!(instance.servers[0].seen().is_empty());
}

#[test]
fn metadata_that_is_switched_off_is_told_from_a_missing_role() {
    let fixture = Fixture::impatient();
    let Some(instance) = Instance::start(&fixture, |_| Reply::new(403, "")) else {
        return;
    };
    let ended = instance.run(&fixture, &fixture.script(&[URL]));
    fixture.assert_failed(&ended, 75, "metadata-unreachable");
}

#[test]
fn an_object_that_the_role_may_not_read_is_denied() {
    let fixture = Fixture::impatient();
    let metadata = Metadata::new("i-0123456789abcdef0", "");
    let answer = move |request: &Request| {
        let reply = metadata.answer(request);
        let text =
            String::from_utf8_lossy(&reply.body).replace(SECRET_ACCESS_KEY, "another/secret");
        Reply {
            body: text.into_bytes(),
            ..reply
        }
    };
    let Some(instance) = Instance::start(&fixture, answer) else {
        return;
    };
    let ended = instance.run(&fixture, &fixture.script(&[URL]));
    fixture.assert_failed(&ended, 77, &format!("denied from={URL} "));
}
