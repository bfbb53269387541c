//! A metadata service and a state store that lie: each boot ends in its time, with a code, and takes nothing for true that it
//! could not use.

use quake_integration::agent::{self, Ended, run_command};
use quake_integration::http::{Reply, Request, Server};
use quake_integration::imds::{Metadata, user_data};
use quake_integration::namespace::{METADATA, Namespace};
use quake_integration::node::{EXAMPLE, kube_env};
use quake_integration::skip::{SetUpError, unless_missing};
use std::path::Path;
use std::sync::Arc;

const INSTANCE: &str = "i-0123456789abcdef0";

/// How long a boot may wait. It ends within this and what starting it takes.
const DEADLINE: &str = "4s";

/// How many boots at once.
const AT_ONCE: usize = 3;

/// Answers some requests, and leaves others to the honest server.
type Lie = fn(&Request) -> Option<Reply>;

/// What is lied about, the lie, and the code and exit status in which the boot must end.
type Row = (&'static str, Lie, &'static str, i32);

fn example(name: &str) -> String {
    std::fs::read_to_string(Path::new(EXAMPLE).join(name)).expect("the example is there")
}

/// Boots a worker whose metadata service and AWS tell these lies.
fn boot(of_metadata: Lie, of_aws: Lie) -> Result<Ended, SetUpError> {
    let namespace = Namespace::make()?;
    let wrong = |error: std::io::Error| SetUpError::Failed(error.to_string());
    let aws = move |request: &Request| of_aws(request).unwrap_or_else(|| honest(request));
    let listener = namespace.listen("127.0.0.1:0").map_err(wrong)?;
    let aws = Server::on(listener, aws).map_err(wrong)?;
    let group = example("instancegroup/workers");
    let text = user_data(
        &kube_env("workers", &[]),
        example("cluster.spec").trim_end(),
        group.trim_end(),
    );
    let metadata = Metadata::new(INSTANCE, &text);
    let metadata =
        move |request: &Request| of_metadata(request).unwrap_or_else(|| metadata.answer(request));
    let listener = namespace.listen(METADATA).map_err(wrong)?;
    let served = Server::on(listener, metadata).map_err(wrong)?;
    let root = tempfile::tempdir().map_err(wrong)?;
    let etc = root.path().join("etc");
    std::fs::create_dir_all(&etc).map_err(wrong)?;
    let system = "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n";
    std::fs::write(etc.join("os-release"), system).map_err(wrong)?;
    let shown = root.path().to_string_lossy().into_owned();
    let mut command = agent::command(&["boot", "--root", &shown]);
    command.args([
        "--simulate",
        "disks,kernel,units,probes",
        "--assets",
        "stub",
    ]);
    command.args([
        "--stand-in-credentials",
        "--output",
        "json",
        "--listen",
        "off",
    ]);
    command.args([
        "--exit-when-ready",
        "--deadline",
        DEADLINE,
        "--denied-grace",
        "1s",
    ]);
    command.arg("--no-boot-report");
    command.env("AWS_ENDPOINT_URL", aws.base());
    let ended = run_command(namespace.inside(&command));
    drop((served, aws));
    Ok(ended)
}

/// The objects of the example's state store, and an EC2 that shows the instance.
fn honest(request: &Request) -> Reply {
    let key = request.path().split_once("/demo.quake.example/");
    let object = key.and_then(|(_, name)| std::fs::read(Path::new(EXAMPLE).join(name)).ok());
    match object {
        Some(bytes) => Reply::new(200, bytes),
        None => Reply::new(
            404,
            "<Error><Code>NoSuchKey</Code><Message>no</Message></Error>",
        ),
    }
}

fn nothing(_: &Request) -> Option<Reply> {
    None
}

fn is(request: &Request, part: &str) -> bool {
    request.path().contains(part)
}

fn huge() -> Vec<u8> {
    vec![b'a'; 64 << 20]
}

const METADATA_LIES: [Row; 17] = [
    (
        "everything is a web page",
        |_| Some(Reply::new(200, "<html>sign in</html>")),
        "identity.imds-malformed",
        75,
    ),
    (
        "everything is moved to itself",
        |request| Some(Reply::new(302, "").with("location", &request.target)),
        "identity.imds-malformed",
        75,
    ),
    (
        "everything is moved elsewhere",
        |_| Some(Reply::new(302, "").with("location", "http://127.0.0.1:1/")),
        "identity.imds-malformed",
        75,
    ),
    (
        "every answer is 503",
        |_| Some(Reply::new(503, "")),
        "identity.imds-unreachable",
        75,
    ),
    (
        "every answer is nothing",
        |_| Some(Reply::nothing()),
        "identity.imds-unreachable",
        75,
    ),
    (
        "the token is empty",
        |request| is(request, "api/token").then(|| Reply::new(200, "")),
        "identity.imds-malformed",
        75,
    ),
    (
        "the token has a line break",
        |request| is(request, "api/token").then(|| Reply::new(200, "a\r\nx-evil: 1")),
        "identity.imds-malformed",
        75,
    ),
    (
        "the token is huge",
        |request| is(request, "api/token").then(|| Reply::new(200, huge())),
        "identity.imds-malformed",
        75,
    ),
    (
        "the document is no JSON",
        |request| {
            is(request, "instance-identity/document").then(|| Reply::new(200, "{\"region\": "))
        },
        "identity.imds-malformed",
        75,
    ),
    (
        "the document is empty",
        |request| is(request, "instance-identity/document").then(|| Reply::new(200, "{}")),
        "identity.imds-malformed",
        75,
    ),
    (
        "the document is huge",
        |request| is(request, "instance-identity/document").then(|| Reply::new(200, huge())),
        "identity.imds-malformed",
        75,
    ),
    (
        "the instance is a path",
        |request| {
            is(request, "instance-identity/document")
                .then(|| Reply::new(200, document("../../etc/cron.d/x", "us-east-1")))
        },
        "identity.imds-malformed",
        75,
    ),
    (
        "the region is a host",
        |request| {
            is(request, "instance-identity/document")
                .then(|| Reply::new(200, document(INSTANCE, "evil.example/")))
        },
        "identity.imds-malformed",
        75,
    ),
    (
        "user data are random bytes",
        |request| {
            is(request, "user-data")
                .then(|| Reply::new(200, (0..=255).cycle().take(4096).collect::<Vec<u8>>()))
        },
        "config.user-data-unusable",
        78,
    ),
    (
        "user data are huge",
        |request| is(request, "user-data").then(|| Reply::new(200, huge())),
        "identity.imds-malformed",
        75,
    ),
    (
        "user data inflate without an end",
        |request| is(request, "user-data").then(|| Reply::new(200, bomb())),
        "identity.imds-malformed",
        75,
    ),
    (
        "the credentials are no JSON",
        |request| is(request, "security-credentials/nodes").then(|| Reply::new(200, "<html>")),
        "config.store-unreachable",
        75,
    ),
];

const STORE_LIES: [Row; 9] = [
    (
        "every object is a web page",
        |_| Some(Reply::new(200, "<html>sign in</html>")),
        "config.wrong-type",
        78,
    ),
    (
        "every object is empty",
        |_| Some(Reply::new(200, "")),
        "config.missing-key",
        78,
    ),
    (
        "every object is huge",
        |_| Some(Reply::new(200, huge())),
        "config.object-malformed",
        78,
    ),
    (
        "every object is random bytes",
        |_| {
            Some(Reply::new(
                200,
                (0..=255).cycle().take(4096).collect::<Vec<u8>>(),
            ))
        },
        "config.yaml-syntax",
        78,
    ),
    (
        "every object is moved to itself",
        |request| Some(Reply::new(301, "").with("location", &request.target)),
        "config.store-unreachable",
        75,
    ),
    (
        "every object expands without an end",
        |_| Some(Reply::new(200, aliases())),
        "config.yaml-too-large",
        78,
    ),
    (
        "every answer is an error in no words",
        |_| Some(Reply::new(500, "")),
        "config.store-unreachable",
        75,
    ),
    (
        "every answer is an error of a proxy",
        |_| Some(Reply::new(407, "<html>who are you</html>")),
        "config.store-unreachable",
        75,
    ),
    (
        "every answer is nothing",
        |_| Some(Reply::nothing()),
        "config.store-unreachable",
        75,
    ),
];

fn document(instance: &str, region: &str) -> String {
    quake_integration::imds::identity_document(instance)
        .replace("\"us-east-1\"", &format!("\"{region}\""))
}

/// 256 MiB of zeros, compressed.
fn bomb() -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..256 {
        packed.write_all(&zeros).expect("memory takes it");
    }
    packed.finish().expect("memory takes it")
}

/// YAML whose aliases stand for 10^9 strings.
fn aliases() -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let ten = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{ten}]\n"));
    }
    text
}

/// What is wrong with how a boot ended, if anything is.
fn complaint((what, _, code, status): &Row, ended: &Ended) -> Option<String> {
    let text = ended.text();
    let summary = ended.stdout.lines().rev().find_map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        (value["schemaVersion"] == "quake-agent/summary/v1").then_some(value)
    });
    let found = summary.map(|summary| {
        summary["fault"]["code"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    });
    let found = found.unwrap_or_else(|| format!("no summary: {text}"));
    let is_well = found == *code && ended.status == *status && !text.contains("panicked");
    (!is_well).then(|| format!("{what}: {found} {}, not {code} {status}", ended.status))
}

fn check(rows: &'static [Row], lies: fn(&Row) -> (Lie, Lie)) {
    let rows = Arc::new(std::sync::Mutex::new(rows.iter()));
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let rows = Arc::clone(&rows);
            std::thread::spawn(move || {
                let mut complaints = Vec::new();
                loop {
                    let next = rows.lock().map(|mut rows| rows.next());
                    let Ok(Some(row)) = next else {
                        return complaints;
                    };
                    let (of_metadata, of_aws) = lies(row);
                    let Some(ended) = unless_missing(boot(of_metadata, of_aws)) else {
                        return complaints;
                    };
                    complaints.extend(complaint(row, &ended));
                }
            })
        })
        .collect();
    let complaints: Vec<String> = threads
        .into_iter()
        .flat_map(|thread| thread.join().expect("it does not panic"))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_lying_metadata_service_ends_a_boot_in_its_time_and_with_a_code() {
    check(&METADATA_LIES, |row| (row.1, nothing));
}

#[test]
fn a_lying_state_store_ends_a_boot_in_its_time_and_with_a_code() {
    check(&STORE_LIES, |row| (nothing, row.1));
}
