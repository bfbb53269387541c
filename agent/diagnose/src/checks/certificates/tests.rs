//! Tests of the checks of keys and certificates.

use super::super::check::Verdict;
use super::super::fixtures::{
    control_plane, expected_of, reads, record_of, says, stands, stuck_in, worker,
};
use super::super::node::Node;
use super::{CA, dates};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::facts::{EntryKind, Survey};
use quake_model::phase::Phase;

macro_rules! certificate {
    ($name:literal) => {
        include_str!(concat!("../../../tests/certificates/", $name, ".pem"))
    };
}

const AUTHORITY: &str = certificate!("authority");
const OTHER: &str = certificate!("other-authority");
const CLIENT: &str = certificate!("client");
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

fn kubeconfig(ca: &str, client: &str) -> String {
    let (ca, client) = (STANDARD.encode(ca), STANDARD.encode(client));
    format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {ca}\n  name: local\n\
         users:\n- name: kubelet\n  user:\n    client-certificate-data: {client}\n    client-key-data: '***'\n"
    )
}

/// A worker with this CA and this client certificate.
fn with(ca: &str, client: &str) -> Survey {
    let mut survey = worker();
    reads(&mut survey, CA, AUTHORITY);
    reads(&mut survey, KUBECONFIG, &kubeconfig(ca, client));
    survey
}

#[test]
fn what_was_written_must_be_there() {
    let id = "certificates.present";
    let survey = with(AUTHORITY, CLIENT);
    assert!(says(id, &survey).starts_with("ok: "));
    let mut lost = survey.clone();
    lost.entries.remove(KUBECONFIG);
    assert_eq!(
        says(id, &lost),
        "fail: /var/lib/kubelet/kubeconfig is not there, or empty [credentials.missing]"
    );
    stands(
        &mut lost,
        "/var/lib/kubelet/bootstrap-kubeconfig",
        EntryKind::File,
        0o600,
        9,
    );
    assert!(says(id, &lost).starts_with("ok: "), "it is still to come");
    stands(&mut lost, CA, EntryKind::File, 0o644, 0);
    assert!(says(id, &lost).starts_with("fail: /srv/kubernetes/ca.crt is not"));
    let mut kops = lost.clone();
    expected_of(&mut kops).generation = Some(quake_model::spec::KopsGeneration::Current);
    assert!(says(id, &kops).starts_with("skip: nodes of this kops generation"));
    stuck_in(&mut lost, Phase::Files);
    assert!(says(id, &lost).starts_with("skip: "));
    let mut bastion = worker();
    record_of(&mut bastion)
        .spec
        .as_mut()
        .expect("it has one")
        .role = "bastion".to_owned();
    assert!(says(id, &bastion).starts_with("skip: "));
}

#[test]
fn keys_of_a_control_plane_are_missed_only_where_a_survey_would_name_them() {
    let mut survey = control_plane();
    expected_of(&mut survey).kubeconfig.clear();
    reads(&mut survey, CA, AUTHORITY);
    reads(&mut survey, "/srv/kubernetes/server.cert", CLIENT);
    assert!(says("certificates.present", &survey).starts_with("ok: "));
    survey.schema_version = "quake-agent/survey/v1".to_owned();
    assert_eq!(
        says("certificates.present", &survey),
        "fail: /srv/kubernetes/server.key is not there, or empty [credentials.missing]"
    );
}

#[test]
fn a_certificate_is_judged_by_the_clock_of_the_node() {
    let id = "certificates.dates";
    let said = |client: &str| says(id, &with(AUTHORITY, client));
    let part = "client-certificate-data of /var/lib/kubelet/kubeconfig";
    assert!(said(CLIENT).starts_with("ok: 3 of them; the first to end is client-certificate-data"));
    assert_eq!(
        said(certificate!("ended")),
        format!("fail: {part} ended at 2026-11-01T00:00:00.000Z")
    );
    assert_eq!(
        said(certificate!("ending")),
        format!("warn: {part} ends at 2026-12-10T00:00:00.000Z")
    );
    assert_eq!(
        said(certificate!("future")),
        format!("fail: {part} is not valid before 2027-01-01T00:00:00.000Z")
    );
    assert!(says(id, &worker()).starts_with("skip: no certificate"));
}

#[test]
fn of_many_certificates_alike_a_few_are_named_and_the_rest_counted() {
    let mut survey = with(AUTHORITY, CLIENT);
    for index in 0..12 {
        let path = format!("/srv/kubernetes/kube-apiserver/{index}.crt");
        reads(&mut survey, &path, certificate!("ended"));
    }
    let node = Node::new(&survey);
    let Ok(Verdict::Fail(finding)) = dates::judge(&node) else {
        panic!("twelve are expired");
    };
    let also: Vec<&str> = finding
        .evidence
        .iter()
        .filter(|one| one.name == "also")
        .map(|one| one.value.as_str())
        .collect();
    assert_eq!(also.len(), 4, "{also:?}");
    assert_eq!(also[3], "8 more");
}

#[test]
fn kubelets_own_serving_certificate_that_ended_is_a_warning() {
    let mut survey = with(AUTHORITY, CLIENT);
    reads(
        &mut survey,
        "/var/lib/kubelet/pki/kubelet.crt",
        certificate!("ended"),
    );
    let said = says("certificates.dates", &survey);
    assert!(
        said.starts_with("warn: /var/lib/kubelet/pki/kubelet.crt ended"),
        "{said}"
    );
}

#[test]
fn a_bundle_of_authorities_is_as_good_as_its_best() {
    let mut survey = with(AUTHORITY, CLIENT);
    reads(&mut survey, CA, &format!("{AUTHORITY}{OTHER}"));
    assert!(says("certificates.dates", &survey).starts_with("ok: "));
    assert!(says("certificates.authority", &survey).starts_with("ok: "));
}

#[test]
fn a_client_certificate_must_be_of_the_ca() {
    let id = "certificates.authority";
    assert_eq!(
        says(id, &with(AUTHORITY, CLIENT)),
        "ok: 1 of them issued by it"
    );
    let strange = says(id, &with(AUTHORITY, certificate!("strange")));
    assert_eq!(
        strange,
        "fail: client-certificate-data of /var/lib/kubelet/kubeconfig was issued by CN=somebody-else, which is not this cluster's CA"
    );
    let other = says(id, &with(OTHER, CLIENT));
    assert_eq!(
        other,
        "fail: /var/lib/kubelet/kubeconfig trusts another CA than /srv/kubernetes/ca.crt"
    );
    let mut earlier = with(AUTHORITY, CLIENT);
    reads(&mut earlier, CA, OTHER);
    reads(&mut earlier, KUBECONFIG, &kubeconfig(OTHER, CLIENT));
    let said = says(id, &earlier);
    assert!(
        said.ends_with("another CA of the same name, CN=kubernetes"),
        "{said}"
    );
    assert!(says(id, &worker()).starts_with("skip: no CA"));
    let mut masked = worker();
    reads(&mut masked, CA, AUTHORITY);
    reads(
        &mut masked,
        KUBECONFIG,
        "users:\n- name: kubelet\n  user:\n    client-certificate-data: '***'\n",
    );
    assert!(
        says(id, &masked).starts_with("skip: no certificate"),
        "what is masked is not judged"
    );
}

#[test]
fn keys_are_roots_alone() {
    let id = "certificates.modes";
    let mut survey = worker();
    assert!(says(id, &survey).starts_with("skip: the modes of a tree"));
    survey.schema_version = "quake-agent/survey/v1".to_owned();
    assert!(says(id, &survey).starts_with("skip: no private key"));
    stands(
        &mut survey,
        "/srv/kubernetes/server.key",
        EntryKind::File,
        0o600,
        9,
    );
    stands(
        &mut survey,
        "/srv/kubernetes/assets/own.key",
        EntryKind::File,
        0o440,
        9,
    );
    stands(
        &mut survey,
        "/var/lib/kubelet/pki/kubelet-client-current.pem",
        EntryKind::Link,
        0o777,
        9,
    );
    stands(
        &mut survey,
        "/srv/kubernetes/ca.crt",
        EntryKind::File,
        0o644,
        9,
    );
    assert_eq!(says(id, &survey), "ok: 2 of them");
    stands(&mut survey, KUBECONFIG, EntryKind::File, 0o644, 9);
    assert_eq!(
        says(id, &survey),
        "warn: /var/lib/kubelet/kubeconfig is readable by others than root"
    );
}
