//! A worker of a kops cluster whose user data is the kops CLI's, with nodeup's URL and hash pointed at the agent. What it is to be
//! it learns from a kops-controller that checks whose question it is, and it registers at an API server; after a reboot it asks
//! nobody for certificates.

use crate::reboot::{ENVIRONMENT, changed_by_reboot};
use quake_integration::ca::Ca;
use quake_integration::controller::{Controller, Served};
use quake_integration::machine::{Emulated, Golden, Kind, Lab, MachineBackend, ROUTER};
use quake_integration::node_api::NodeApi;
use quake_integration::skip::unless_missing;
use std::collections::BTreeMap;
use std::time::Duration;

const CLUSTER: &str = "minimal.example.com";
const GROUP: &str = "nodes";
const API: &str = "api.internal.minimal.example.com";
const NAME: &str = "kops-controller.internal.minimal.example.com";

/// What is found in every text that the machine tells of a boot.
const TOLD: &str = "{ journalctl -b --no-pager; cat /var/lib/quake-agent/boots/*; cat /var/log/cloud-init-output.log; }";

#[test]
fn kops_worker() {
    let Some(lab) = Lab::open("kops-worker", Kind::Emulated) else {
        return;
    };
    let Some(golden) = Golden::publish(lab.vpc(), "minimal-1.35") else {
        return;
    };
    let ca = Ca::open(&golden.ca_bundle().join("kubernetes-ca"));
    let Some(ca) = unless_missing(ca) else {
        return;
    };
    let facts = golden.launch(&lab, CLUSTER, GROUP);
    let served = Served {
        config: golden.config(GROUP).expect("the case has this group"),
        secrets: BTreeMap::from([("dockerconfig".to_owned(), "{\"auths\":{}}".to_owned())]),
        node: facts.instance.clone(),
        address: facts.address.to_string(),
        region: "us-east-1".to_owned(),
        signs: ["kubelet", "kubelet-server", "kube-proxy"]
            .map(str::to_owned)
            .into(),
        names: vec![format!("DNS:{NAME}")],
        rest: Duration::from_secs(3),
    };
    let listen = |port: u16| {
        let listener = lab.vpc().namespace().listen(&format!("{ROUTER}:{port}"));
        listener.expect("the port is free")
    };
    let name = format!("DNS:{API}");
    let api_server = NodeApi::start(listen(443), &ca, &[&name], "v1.35.0-alpha.1");
    let api_server = api_server.expect("it serves");
    let controller = Controller::start(listen(3988), ca, served).expect("it serves");
    let router = ROUTER.parse().expect("a literal");
    let names = [NAME, API].map(|name| (name.to_owned(), router));
    let reported = lab.vpc().publish_names(&names.into());
    reported.expect("names are told");
    let mut machine = golden.boot(&lab, &facts, lab.bare());
    becomes_a_worker(&machine, &controller);
    assert_eq!(api_server.nodes(), [facts.instance.as_str()]);
    let requests = lab.vpc().requests();
    let of_aws = requests.iter().filter(|line| line.starts_with("Aws "));
    assert_eq!(of_aws.count(), 0, "neither EC2 nor S3 is asked");
    let held = "sha256sum /var/lib/quake-agent/certificates/* /srv/kubernetes/* /var/lib/kubelet/kubeconfig 2>/dev/null || :";
    let before = machine.output(held);
    let changed = changed_by_reboot(&mut machine, &[]);
    // A timer or a module may be there before the agent looks.
    let lost = [ENVIRONMENT, "network:module/", "services:"];
    let is_lost = |step: &String| lost.iter().any(|begin| step.starts_with(begin));
    assert!(changed.contains(ENVIRONMENT), "{changed:?}");
    assert!(changed.iter().all(is_lost), "{changed:?}");
    assert_eq!(machine.output(held), before, "nothing is issued again");
    assert_eq!(controller.seen().len(), 1, "nobody is asked again");
}

fn becomes_a_worker(machine: &Emulated, controller: &Controller) {
    let ready = machine.becomes_ready(120);
    assert_eq!(ready, Ok(()), "{:?}", controller.refusals());
    assert_eq!(controller.refusals(), Vec::<String>::new());
    assert_eq!(controller.seen().len(), 1);
    for unit in ["containerd.service", "kubelet.service"] {
        let active = format!("systemctl is-active --quiet {unit}");
        assert!(machine.holds(&active), "{unit}");
    }
    for path in [
        "/var/lib/kubelet/kubeconfig",
        "/var/lib/kube-proxy/kubeconfig",
    ] {
        assert!(machine.holds(&format!("test -s {path}")), "{path}");
    }
    let proof = controller.seen()[0]
        .header("authorization")
        .map(str::to_owned);
    let proof = proof.and_then(|proof| Some(proof.get(60..100)?.to_owned()));
    let proof = proof.expect("a proof was sent");
    for secret in [
        proof.as_str(),
        "plantedSecretAccessKey",
        "plantedSessionToken",
    ] {
        let found = format!("{TOLD} | grep -cF -e '{secret}' || :");
        assert_eq!(machine.output(&found).trim(), "0", "it is not told");
    }
}
