//! What the CLI makes of the clusters of kops' tests, as edits of a configuration of the corpus.

use serde_json::{Value, json};

/// Sets what is at a path, such as `a.b`.
fn set(document: &mut Value, path: &str, value: Value) {
    *at(document, path) = value;
}

fn at<'a>(document: &'a mut Value, path: &str) -> &'a mut Value {
    let keys = path.split('.');
    keys.fold(document, |section, key| &mut section[key])
}

/// Replaces `from` in every text of the document.
fn replace(document: &mut Value, from: &str, to: &str) {
    match document {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, from, to)),
        Value::Object(map) => map.values_mut().for_each(|value| replace(value, from, to)),
        _ => {}
    }
}

/// kubenet, whose routes are the cloud's.
pub(super) fn minimal(document: &mut Value) {
    set(
        document,
        "ControlPlaneConfig.KubeControllerManager.configureCloudRoutes",
        true.into(),
    );
}

/// The same with Kubernetes 1.35.0.
pub(super) fn latest(document: &mut Value) {
    minimal(document);
    let images = &mut document["APIServerConfig"];
    replace(images, "v1.35.0-alpha.1", "v1.35.0");
}

/// The same with images whose names say a processor.
pub(super) fn side_loaded(document: &mut Value) {
    minimal(document);
    for section in ["APIServerConfig", "ControlPlaneConfig"] {
        let images = &mut document[section];
        replace(images, ":v1.35.0-alpha.1", "-amd64:v1.35.0");
    }
}

const FLAGS: &str = "APIServerConfig.KubeAPIServer";

fn flags(document: &mut Value, values: Value) {
    latest(document);
    let section = at(document, FLAGS).as_object_mut();
    if let Value::Object(values) = values {
        section.expect("it is a section").extend(values);
    }
}

pub(super) fn audit(document: &mut Value) {
    flags(
        document,
        json!({
            "auditLogMaxAge": 10,
            "auditLogMaxBackups": 1,
            "auditLogMaxSize": 100,
            "auditLogPath": "/var/log/kube-apiserver-audit.log",
            "auditPolicyFile": "/etc/kubernetes/audit/policy-config.yaml",
            "auditWebhookBatchMaxWait": "5s",
            "auditWebhookConfigFile": "/etc/kubernetes/audit/webhook-config.yaml",
            "authenticationConfigFile": "/etc/kubernetes/authentication-config.yaml",
        }),
    );
}

pub(super) fn oidc(document: &mut Value) {
    flags(
        document,
        json!({
            "serviceAccountIssuer": "https://huh.com/multisaissuer.example.com",
            "serviceAccountJWKSURI": "https://huh.com/multisaissuer.example.com/openid/v1/jwks",
            "additionalServiceAccountIssuers":
                ["https://foobar.com", "https://aaa.com", "https://hello.com", "https://dorld.com"],
        }),
    );
    let oidc = json!({
        "clientID": "oidc-client",
        "groupsClaims": ["groupclaim1", "groupclaim2"],
        "groupsPrefix": "oidcgroup:",
        "issuerURL": "https://oidc-issuer.nonexistent",
        "requiredClaims": {"claim1": "value1", "claim2": "value2"},
        "usernameClaim": "user",
        "usernamePrefix": "oidc:",
    });
    set(
        document,
        "APIServerConfig.Authentication",
        json!({"oidc": oidc}),
    );
}

pub(super) fn envvars(document: &mut Value) {
    flags(
        document,
        json!({
            "env": [
                {
                    "name": "GOMEMLIMIT",
                    "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1"}},
                },
                {"name": "GOGC", "value": "50"},
            ],
        }),
    );
}

pub(super) fn awsiam(document: &mut Value) {
    latest(document);
    set(
        document,
        "APIServerConfig.Authentication",
        json!({"aws": {}}),
    );
}

pub(super) fn without_events(document: &mut Value) {
    latest(document);
    let section = at(document, FLAGS).as_object_mut();
    section
        .expect("it is a section")
        .remove("etcdServersOverrides");
    set(document, "EtcdClusterNames", json!(["main"]));
}

pub(super) fn containerd(document: &mut Value) {
    set(document, "UsesKubenet", true.into());
    set(document, "containerdConfig.version", "2.3.4".into());
    set(
        document,
        "containerdConfig.sandboxImage",
        "registry.k8s.io/pause:3.10.1".into(),
    );
}

pub(super) fn containerd_complex(document: &mut Value) {
    containerd(document);
    let key = |name: &str| {
        format!("plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.test-handler.{name}")
    };
    set(
        document,
        "containerdConfig.configAdditions",
        json!({
            (key("test_bool_false")): "false",
            (key("test_bool_true")): "true",
            (key("test_int")): 1,
            (key("test_intstr")): "1",
            (key("test_str")): "test",
        }),
    );
    set(
        document,
        "containerdConfig.registryMirrors",
        json!({
            "*": ["https://fallback.example.com"],
            "docker.io": ["https://registry-1.docker.io"],
            "registry.k8s.io": ["https://mirror.example.com", "https://backup.example.com"],
        }),
    );
}

pub(super) fn containerd_v3(document: &mut Value) {
    containerd(document);
    set(document, "containerdConfig.version", "2.1.6".into());
    set(document, "containerdConfig.selinuxEnabled", true.into());
    set(document, "containerdConfig.nri", json!({"enabled": true}));
    set(
        document,
        "containerdConfig.configAdditions",
        json!({
            "plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.test-handler.test_str": "test",
        }),
    );
    set(
        document,
        "containerdConfig.registryMirrors",
        json!({"docker.io": ["https://registry-1.docker.io"]}),
    );
}

pub(super) fn containerd_skipped(document: &mut Value) {
    containerd(document);
    set(document, "containerdConfig.skipInstall", true.into());
}
