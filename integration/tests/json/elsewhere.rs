//! Commands that ask servers: the cluster's API server, mirrors, EC2.

use crate::ground::Ground;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_apisim::ApiServer;
use quake_integration::api_server::ApiStandIn;
use quake_integration::http::{Reply, Request, Server};
use quake_integration::tree::sha256;

/// The channel of one add-on.
const CHANNEL: &str = "kind: Addons\nmetadata:\n  name: bootstrap\nspec:\n  addons:\n  \
    - id: k8s-1.12\n    manifest: limits.yaml\n    name: limit-range.addons.k8s.io\n    \
    selector:\n      k8s-addon: limit-range.addons.k8s.io\n";

const MANIFEST: &str = "apiVersion: v1\nkind: LimitRange\nmetadata:\n  name: limits\n  \
    namespace: default\nspec:\n  limits:\n  - defaultRequest:\n      cpu: 100m\n    type: Container\n";

pub(crate) fn addons_listed_planned_and_applied(ground: &Ground) {
    let server = ApiStandIn::plain(ApiServer::new("v1.35.0")).expect("loopback has a free port");
    ground.write("kubeconfig", &server.kubeconfig(None));
    ground.write("addons/channel.yaml", CHANNEL);
    ground.write("addons/limits.yaml", MANIFEST);
    for verb in ["list", "plan", "apply --all", "list"] {
        let at = "--kubeconfig {kubeconfig} --channel {addons/channel.yaml}";
        let ended = ground.run(&format!("addons {verb} {at}"));
        assert_eq!(ended.status, 0, "{verb}: {}", ended.text());
    }
}

pub(crate) fn seeds_built_bundled_and_loaded(ground: &Ground) {
    let mirror = Server::start(|_| Reply::new(200, "a tool")).expect("loopback has a free port");
    let line = format!("{}@{}/tool\n", sha256(b"a tool"), mirror.base());
    ground.write("list", &line);
    for root in ["empty", "loaded"] {
        std::fs::create_dir(ground.at(root)).expect("the directory is ours");
    }
    for (line, status) in [
        ("seed build --list {list} --root {image} --record", 0),
        ("seed show --list {list} --root {image}", 0),
        ("seed verify --root {image}", 0),
        (
            "seed bundle --list {list} --root {empty} --out {bundle.qb}",
            0,
        ),
        ("seed load {bundle.qb} --root {loaded}", 0),
        ("store list --root {image}", 0),
        ("store verify --root {image}", 0),
        ("store gc --root {image}", 0),
    ] {
        let ended = ground.run(line);
        assert_eq!(ended.status, status, "{line}: {}", ended.text());
    }
}

/// EC2 with two instances: one became ready, one did not.
fn ec2(request: &Request) -> Reply {
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let answer = if body.contains("Action=GetConsoleOutput") {
        let text = match body.contains("i-0aa") {
            true => {
                "quake-agent: READY instance=i-0aa cluster=c.example role=worker elapsed_ms=41234\r\n"
            }
            false => {
                "quake-agent: the boot failed in storage: two volumes\r\n\
                 quake-agent: FAILED code=storage.volume-conflict phase=storage exit=80\r\n"
            }
        };
        let text = STANDARD.encode(text);
        format!("<GetConsoleOutputResponse><output>{text}</output></GetConsoleOutputResponse>")
    } else {
        let items: String = ["i-0aa", "i-0bb"].map(instance).concat();
        format!(
            "<DescribeInstancesResponse><reservationSet><item><instancesSet>{items}</instancesSet>\
             </item></reservationSet></DescribeInstancesResponse>"
        )
    };
    Reply::new(200, answer).with("content-type", "text/xml")
}

fn instance(id: &str) -> String {
    format!(
        "<item><instanceId>{id}</instanceId><instanceType>m5.large</instanceType>\
         <imageId>ami-0a</imageId><privateDnsName>{id}.internal</privateDnsName>\
         <placement><availabilityZone>us-east-1a</availabilityZone></placement>\
         <instanceState><code>16</code><name>running</name></instanceState>\
         <launchTime>2026-11-20T08:00:00.000Z</launchTime><tagSet>\
         <item><key>KubernetesCluster</key><value>c.example</value></item>\
         <item><key>kops.k8s.io/instancegroup</key><value>nodes</value></item></tagSet></item>"
    )
}

pub(crate) fn fleets_read_from_reports_and_from_consoles(ground: &Ground) {
    let ended = ground.run("fleet --state-store {state}");
    assert_eq!(ended.status, 0, "{}", ended.text());
    let server = Server::start(ec2).expect("loopback has a free port");
    let variables = [
        ("AWS_ENDPOINT_URL", server.base()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
    ];
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let line = "fleet --from-console --cluster c.example";
    let ended = ground.run_with(line, &variables);
    assert_eq!(ended.status, 1, "one failed: {}", ended.text());
    let summary = ended.summary();
    assert_eq!(
        (&summary["ready"], &summary["failed"]),
        (&1.into(), &1.into()),
        "{summary}"
    );
}
