//! Against an EC2 and a state store of others: from an operator's machine, and as a node.

use crate::document;
use quake_integration::agent::{self, Ended};
use quake_integration::http::{Reply, Server};
use quake_integration::imds::{Metadata, user_data};
use quake_integration::moto::Moto;
use quake_integration::node::{CLUSTER, EXAMPLE, kube_env};
use quake_integration::skip::{SetUpError, unless_missing};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// moto with the example's state store and duplicate volumes of its control plane.
struct Aws {
    moto: Moto,
    main: [String; 2],
}

const ZONE: &str = "us-east-1a";

impl Aws {
    fn start() -> Result<Self, SetUpError> {
        let moto = Moto::start()?;
        for name in ["cluster.spec", "instancegroup/control-plane"] {
            let path = PathBuf::from(EXAMPLE).join(name);
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
            let text = text.replace("us-test-1a", ZONE);
            for bucket in ["state", "quake-example-state"] {
                let put = moto.put_object(bucket, &format!("{CLUSTER}/{name}"), text.as_bytes());
                put.map_err(|error| error.to_string())?;
            }
        }
        let main = [create(&moto, "main"), create(&moto, "main")];
        create(&moto, "events");
        Ok(Self { moto, main })
    }

    fn run(&self, verb: &[&str]) -> Ended {
        let mut arguments = vec!["volumes"];
        arguments.extend(verb);
        arguments.extend(["--cluster", CLUSTER, "--state-store", "s3://state"]);
        arguments.extend(["--region", "us-east-1", "--output", "json"]);
        let mut command = agent::command(&arguments);
        command.env(
            "AWS_ENDPOINT_URL",
            format!("http://{}", self.moto.address()),
        );
        command.env("AWS_ACCESS_KEY_ID", "test");
        command.env("AWS_SECRET_ACCESS_KEY", "test");
        agent::run_command(command)
    }

    /// The decision about `main/a`.
    fn main(&self) -> Value {
        let explained = document(&self.run(&["explain"]));
        explained["decisions"][0]["decisions"]["main/a"].clone()
    }
}

fn create(moto: &Moto, etcd: &str) -> String {
    let etcd = format!("k8s.io/etcd/{etcd}");
    let tags = [
        ("KubernetesCluster", CLUSTER),
        ("k8s.io/role/master", "1"),
        (etcd.as_str(), "a/a"),
    ];
    let mut parameters = vec![
        ("AvailabilityZone".to_owned(), ZONE),
        ("Size".to_owned(), "20"),
        ("TagSpecification.1.ResourceType".to_owned(), "volume"),
    ];
    for (index, (key, value)) in tags.iter().enumerate() {
        let tag = format!("TagSpecification.1.Tag.{}", index + 1);
        parameters.push((format!("{tag}.Key"), key));
        parameters.push((format!("{tag}.Value"), value));
    }
    let pairs: Vec<(&str, &str)> = parameters.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    let answer = moto
        .call_ec2("CreateVolume", &pairs)
        .expect("moto makes volumes");
    let id = answer.split("<volumeId>").nth(1);
    let id = id.and_then(|rest| rest.split('<').next());
    id.expect("the answer has an id").to_owned()
}

#[test]
fn an_operator_resolves_a_conflict_by_tags_from_elsewhere() {
    let Some(aws) = unless_missing(Aws::start()) else {
        return;
    };
    let [first, second] = &aws.main;
    assert_eq!(
        aws.main()["code"],
        "E_DUPLICATE_VOLUMES",
        "{}",
        aws.run(&["explain"]).text()
    );
    let dry = aws.run(&["pin", first, "--slot", "main/a"]);
    assert_eq!(
        (dry.status, &document(&dry)["written"]),
        (0, &json!(false)),
        "{}",
        dry.text()
    );
    assert_eq!(
        aws.main()["code"],
        "E_DUPLICATE_VOLUMES",
        "a dry run writes nothing"
    );
    let pinned = aws.run(&["pin", first, "--slot", "main/a", "--yes"]);
    assert_eq!(
        (pinned.status, &document(&pinned)["written"]),
        (0, &json!(true)),
        "{}",
        pinned.text()
    );
    let chosen = aws.main();
    assert_eq!(
        (&chosen["code"], &chosen["volume"]),
        (&json!("OK_ATTACH"), &json!(first))
    );
    let refused = aws.run(&["pin", second, "--slot", "main/a", "--yes"]);
    assert_eq!(refused.status, 80, "{}", refused.text());
    assert!(
        refused.stderr.contains("storage.several-pins"),
        "{}",
        refused.stderr
    );
    let moved = aws.run(&[
        "pin",
        second,
        "--slot",
        "main/a",
        "--instead-of",
        first,
        "--yes",
    ]);
    assert_eq!(moved.status, 0, "{}", moved.text());
    assert_eq!(aws.main()["volume"], json!(second));
    let unpinned = aws.run(&["unpin", second, "--yes"]);
    assert_eq!(unpinned.status, 0, "{}", unpinned.text());
    assert_eq!(aws.main()["code"], "E_DUPLICATE_VOLUMES");
}

#[test]
fn a_duplicate_that_is_ignored_gives_way_until_it_counts_again() {
    let Some(aws) = unless_missing(Aws::start()) else {
        return;
    };
    let [first, second] = &aws.main;
    let ignored = aws.run(&["ignore", first, "--reason", "left over", "--yes"]);
    assert_eq!(ignored.status, 0, "{}", ignored.text());
    assert_eq!(
        aws.main()["volume"],
        json!(second),
        "it is the only one left"
    );
    let back = aws.run(&["unignore", first, "--yes"]);
    assert_eq!(back.status, 0, "{}", back.text());
    assert_eq!(aws.main()["code"], "E_DUPLICATE_VOLUMES");
}

#[test]
fn an_unknown_cluster_is_a_fault_that_names_where_it_was_looked_for() {
    let Some(aws) = unless_missing(Aws::start()) else {
        return;
    };
    let mut command = agent::command(&[
        "volumes",
        "list",
        "--cluster",
        "d.example",
        "--state-store",
        "s3://state",
    ]);
    command.env("AWS_ENDPOINT_URL", format!("http://{}", aws.moto.address()));
    command.env("AWS_ACCESS_KEY_ID", "test");
    command.env("AWS_SECRET_ACCESS_KEY", "test");
    let ended = agent::run_command(command);
    assert_eq!(ended.status, 78, "{}", ended.text());
    for part in [
        "config.cluster-spec-missing",
        "s3://state/d.example/cluster.spec",
        "fix: name the cluster",
    ] {
        assert!(ended.stderr.contains(part), "{part} in {}", ended.stderr);
    }
}

#[test]
fn a_node_explains_its_own_decision_from_its_user_data() {
    let Some(aws) = unless_missing(Aws::start()) else {
        return;
    };
    let instance = aws.moto.run_instance(&[("KubernetesCluster", CLUSTER)]);
    let instance = instance.expect("moto launches an instance");
    let read = |name: &str| {
        std::fs::read_to_string(Path::new(EXAMPLE).join(name)).expect("the example is there")
    };
    let text = user_data(
        &kube_env("control-plane", &[]),
        read("cluster.spec").trim_end(),
        read("instancegroup/control-plane").trim_end(),
    );
    let metadata = Metadata::new(&instance, &text);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let server = Server::on(listener, move |request| metadata.answer(request));
    let server = server.expect("the listener listens");
    let mut command = agent::command(&["volumes", "explain", "--output", "json"]);
    command.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.base());
    command.env("AWS_ENDPOINT_URL", format!("http://{}", aws.moto.address()));
    let ended = agent::run_command(command);
    assert_eq!(ended.status, 0, "{}", ended.text());
    let explained = document(&ended);
    let node = json!({"instanceGroup": "control-plane", "zone": ZONE, "instance": instance});
    let decided = &explained["decisions"];
    assert_eq!(
        (decided[0]["node"].clone(), decided.get(1)),
        (node, None),
        "{explained}"
    );
    assert_eq!(
        decided[0]["decisions"]["main/a"]["code"],
        "E_DUPLICATE_VOLUMES"
    );
}

#[test]
fn a_denied_call_and_a_silent_ec2_are_faults_of_their_classes() {
    let denied = "<Response><Errors><Error><Code>UnauthorizedOperation</Code>\
        <Message>You are not authorized</Message></Error></Errors><RequestID>r-1</RequestID></Response>";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let server = Server::on(listener, move |_| Reply::new(403, denied));
    let server = server.expect("the listener listens");
    let list = |endpoint: &str| {
        let mut command = agent::command(&["volumes", "list", "--cluster", CLUSTER]);
        command.env("AWS_ENDPOINT_URL", endpoint);
        command.env("AWS_ACCESS_KEY_ID", "test");
        command.env("AWS_SECRET_ACCESS_KEY", "test");
        agent::run_command(command)
    };
    let refused = list(&server.base());
    assert_eq!(refused.status, 77, "{}", refused.text());
    for part in ["storage.describe-denied", "ec2:DescribeVolumes"] {
        assert!(
            refused.stderr.contains(part),
            "{part} in {}",
            refused.stderr
        );
    }
    let silent = list("http://127.0.0.1:1");
    assert_eq!(silent.status, 75, "{}", silent.text());
    assert!(silent.stderr.contains("storage.cloud-unreachable"));
}
