//! What only the stand-in can be: old, losing answers, or asked by whom it does not know.

use crate::lab::Lab;
use crate::server::Server;
use quake_apisim::{Act, ApiServer, Establish, InjectedFault};

fn lab(case: &str, model: ApiServer) -> Option<Lab> {
    Lab::with_stand_in(case, model)
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again() {
    let mut model = ApiServer::new("v1.35.0");
    model.inject(InjectedFault::new(Act::LoseAnswer).writes().calls(4..=4));
    let Some(lab) = lab("ha", model) else { return };
    lab.reported(&["apply", "--all"], 0);
}

#[test]
fn a_definition_that_is_established_late_is_awaited() {
    let mut model = ApiServer::new("v1.35.0");
    model.establish(None, Establish::AfterReads(2));
    let Some(lab) = lab("privatecalico", model) else {
        return;
    };
    lab.reported(&["apply", "networking.projectcalico"], 0);
}

#[test]
fn a_server_that_cannot_apply_gets_patches() {
    let Some(lab) = lab("minimal-1.35", ApiServer::new("v1.15.12")) else {
        return;
    };
    let verb = ["apply", "limit-range", "kubelet-api.rbac"];
    lab.reported(&verb, 0);
    let writes = lab.server.writes();
    let notes = writes.iter();
    let notes = notes.filter(|written| *written == "Namespace/kube-system");
    assert_eq!((writes.len(), notes.count()), (4, 2), "{writes:?}");
    lab.reported(&verb, 0);
    assert_eq!(lab.server.writes(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_is_named_with_its_exit_status() {
    let Some(lab) = lab("minimal-1.35", ApiServer::new("v1.35.0")) else {
        return;
    };
    let unknown = lab.say(&["apply", "no-such-add-on"]);
    assert_eq!(unknown.status, 64, "{}", unknown.text());
    let is_helpful = unknown.stderr.contains("there are: aws-cloud-controller");
    assert!(is_helpful, "{}", unknown.text());

    lab.edit(
        "limit-range.addons.k8s.io/v1.5.0.yaml",
        "kind: LimitRange",
        "kond: LimitRange",
    );
    // Without a hash of its own, or the store would be taken to be being written.
    let hash = "manifestHash: 686cc69e559a1c6f5e8b94e38de54a575a25c432ed5ceec565244b965fb5f07f";
    lab.edit("bootstrap-channel.yaml", hash, "id: ''");
    let partly = lab.say(&["apply", "--all"]);
    assert_eq!(partly.status, 78, "{}", partly.text());
    let is_named = partly.stdout.contains("addons.manifest-invalid");
    assert!(is_named, "{}", partly.text());
    let listed = lab.reported(&["list"], 0);
    let addons = listed["addons"].as_array().expect("a list of add-ons");
    let waiting = addons.iter().filter(|addon| addon["state"] != "applied");
    let waiting: Vec<_> = waiting.map(|addon| addon["name"].as_str()).collect();
    assert_eq!(waiting, [Some("limit-range.addons.k8s.io")]);

    let Server::StandIn(server) = &lab.server else {
        return;
    };
    std::fs::write(lab.kubeconfig(), server.kubeconfig(None)).expect("ours");
    let nobody = lab.say(&["list"]);
    assert!([75, 77].contains(&nobody.status), "{}", nobody.text());
    std::fs::remove_file(lab.kubeconfig()).expect("ours");
    let nowhere = lab.say(&["list"]);
    assert_eq!(nowhere.status, 75, "{}", nowhere.text());
    let is_named = nowhere.stderr.contains("addons.api-unreachable");
    assert!(is_named, "{}", nowhere.text());
}
