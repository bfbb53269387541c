//! What an API server refuses, and what comes of it. The promises of the port are the contract suite's.

mod contract_suite;
mod requests;
mod stand_in;

use super::ClusterClient;
use quake_http::testing::{Reply, Server, closed_port};
use quake_model::cluster_object::{ObjectKind, ObjectPlace, ServedKind};
use quake_model::ports::{Change, ClusterApi, Condition, PortError};
use quake_model::redact::Secret;
use quake_model::signal::ApiAccess;
use serde_json::{Value, json};

fn access(server: String) -> ApiAccess {
    ApiAccess {
        server,
        ca_bundle: Vec::new(),
        certificate: Vec::new(),
        key: Secret::new(Vec::new()),
    }
}

fn served(api_version: &str, kind: &str, plural: &str) -> ServedKind {
    ServedKind {
        kind: ObjectKind::from_version(api_version, kind),
        plural: plural.to_owned(),
        namespaced: true,
    }
}

fn place(kind: &str, plural: &str) -> ObjectPlace {
    ObjectPlace {
        served: served("v1", kind, plural),
        namespace: Some("kube-system".to_owned()),
        name: "one".to_owned(),
    }
}

fn object(kind: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "one", "namespace": "kube-system"}})
}

fn apply(object: Value) -> Change {
    Change::Apply {
        object,
        manager: "quake-agent".to_owned(),
        force: true,
    }
}

fn status(code: u16, reason: &str, message: &str, details: &Value) -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message, "details": details})
    .to_string()
}

/// What an apply comes to when the server answers so.
async fn refused(code: u16, body: String) -> PortError {
    let server = Server::start(move |_| Reply::text(code, &body)).await;
    let change = apply(object("ConfigMap"));
    let place = place("ConfigMap", "configmaps");
    let client = ClusterClient::new();
    let changed = client
        .change_object(&access(server.url("/")), &place, &change, false)
        .await;
    changed.expect_err("it is no success")
}

fn seen<'a>(error: &'a PortError, name: &str) -> Vec<&'a str> {
    let named = error.evidence.iter().filter(|seen| seen.name == name);
    named.map(|seen| seen.value.as_str()).collect()
}

const HOOK: &str = "admission webhook \"v.example\" denied the request: no";

/// Status, reason and message of an answer, and what it means.
const REFUSALS: &[(u16, &str, &str, Condition)] = &[
    (401, "Unauthorized", "Unauthorized", Condition::Denied),
    (
        403,
        "Forbidden",
        "configmaps \"one\" is forbidden: User \"x\" cannot patch",
        Condition::Denied,
    ),
    (403, "Forbidden", HOOK, Condition::Malformed),
    (400, "", HOOK, Condition::Malformed),
    (500, "InternalError", HOOK, Condition::Malformed),
    (
        422,
        "Invalid",
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        Condition::Malformed,
    ),
    (
        403,
        "Forbidden",
        "unable to create new content in namespace x because it is being terminated",
        Condition::NotReady,
    ),
    (
        404,
        "NotFound",
        "namespaces \"kube-system\" not found",
        Condition::Missing,
    ),
    (
        409,
        "Conflict",
        "Apply failed with 1 conflict",
        Condition::Conflict,
    ),
    (
        409,
        "AlreadyExists",
        "configmaps \"one\" already exists",
        Condition::Conflict,
    ),
    (
        410,
        "Expired",
        "too old resource version: 1 (2)",
        Condition::Conflict,
    ),
    (
        400,
        "BadRequest",
        "strict decoding error",
        Condition::Malformed,
    ),
    (
        413,
        "RequestEntityTooLarge",
        "limit is 3145728",
        Condition::Malformed,
    ),
    (
        422,
        "Invalid",
        "ConfigMap \"one\" is invalid",
        Condition::Malformed,
    ),
    (
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format",
        Condition::Impossible,
    ),
    (
        405,
        "MethodNotAllowed",
        "the server does not allow this method",
        Condition::Impossible,
    ),
    (
        429,
        "TooManyRequests",
        "too many requests, please try again later",
        Condition::Throttled,
    ),
    (
        429,
        "TooManyRequests",
        "The apiserver is shutting down, please try again later.",
        Condition::NotReady,
    ),
    (
        500,
        "InternalError",
        "Internal error occurred: failed calling webhook \"v.example\": connection refused",
        Condition::NotReady,
    ),
    (
        500,
        "InternalError",
        "Internal error occurred: failed calling admission webhook \"v.example\": EOF",
        Condition::NotReady,
    ),
    (
        500,
        "InternalError",
        "conversion webhook for x failed: EOF",
        Condition::NotReady,
    ),
    (
        500,
        "InternalError",
        "etcdserver: request timed out",
        Condition::Unreachable,
    ),
    (
        503,
        "ServiceUnavailable",
        "the server is currently unable to handle the request",
        Condition::Unreachable,
    ),
    (
        504,
        "Timeout",
        "request did not complete within the allotted timeout",
        Condition::Unreachable,
    ),
];

#[tokio::test]
async fn each_refusal_is_the_condition_that_the_port_promises() {
    for (code, reason, message, expected) in REFUSALS {
        let error = refused(*code, status(*code, reason, message, &json!({}))).await;
        assert_eq!(error.condition, *expected, "{code} {message}");
        assert_eq!(seen(&error, "answer"), [*message]);
        let reasons = Vec::from_iter(Some(*reason).filter(|reason| !reason.is_empty()));
        assert_eq!(seen(&error, "reason"), reasons);
        assert!(error.summary.contains(&code.to_string()), "{error}");
        let named = error
            .summary
            .contains("an apply of ConfigMap/kube-system/one");
        assert!(named, "{error}");
    }
}

#[tokio::test]
async fn the_fields_of_a_refusal_are_named_and_when_to_come_back() {
    let details = json!({"causes": [
        {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using apps/v1", "field": ".spec.x"},
        {"reason": "FieldManagerConflict", "message": "conflict with \"helm\"", "field": ".spec.y"},
    ], "retryAfterSeconds": 3});
    let error = refused(409, status(409, "Conflict", "Apply failed", &details)).await;
    assert_eq!(seen(&error, "field"), [".spec.x", ".spec.y"]);
    assert_eq!(seen(&error, "retry-after"), ["3 s"]);
}

#[tokio::test]
async fn what_a_proxy_says_in_the_servers_stead_is_told_by_its_status() {
    let error = refused(503, "<html>no healthy upstream</html>".to_owned()).await;
    assert_eq!(error.condition, Condition::Unreachable);
    assert_eq!(seen(&error, "answer"), ["<html>no healthy upstream</html>"]);
    let garbage = refused(200, "<html>sign in</html>".to_owned()).await;
    assert_eq!(garbage.condition, Condition::Unreachable);
    assert!(!format!("{garbage:?}").contains("sign in"), "{garbage:?}");
}

#[tokio::test]
async fn nothing_of_a_secret_is_in_what_is_told() {
    let planted = "hunter2-hunter2";
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"},
        "data": {"token": "aHVudGVyMi1odW50ZXIy"}, "stringData": {"password": planted}});
    for (code, message) in [
        (
            403,
            format!("admission webhook \"x\" denied the request: {planted} is weak"),
        ),
        (
            422,
            format!(
                "Secret \"one\" is invalid: data[token]: Invalid value: \"{planted}\": too weak"
            ),
        ),
        (
            400,
            format!(
                "Secret in version \"v1\" cannot be handled as a Secret: error found in #10 byte of ...|{planted}|..."
            ),
        ),
        (
            500,
            format!("something about {planted} and aHVudGVyMi1odW50ZXIy"),
        ),
        (200, format!("not json: {planted}")),
    ] {
        let details = json!({"causes": [{"field": "data[token]", "message": message}]});
        let body = match code {
            200 => message.clone(),
            code => status(code, "Invalid", &message, &details),
        };
        let server = Server::start(move |_| Reply::text(code, &body)).await;
        let client = ClusterClient::new();
        let (access, place) = (access(server.url("")), place("Secret", "secrets"));
        let change = apply(secret.clone());
        let changed = client.change_object(&access, &place, &change, false).await;
        let reported = format!("{:?}", changed.expect_err("it is refused"));
        for planted in ["hunter2", "aHVudGVy"] {
            assert!(!reported.contains(planted), "{reported}");
        }
    }
}

#[tokio::test]
async fn silence_a_closed_port_and_an_access_that_is_none_are_told_apart() {
    let client = ClusterClient::new();
    let closed = client.ask_version(&access(closed_port().await)).await;
    assert_eq!(
        closed.map_err(|error| error.condition),
        Err(Condition::Unreachable)
    );
    let hanging = Server::start(|_| Reply::text(200, "{").declaring(9).cut_in_half()).await;
    let cut = client.ask_version(&access(hanging.url(""))).await;
    assert_eq!(
        cut.map_err(|error| error.condition),
        Err(Condition::Unreachable)
    );
    for server in ["https://127.0.0.1:1", "unix:///socket", ""] {
        let none = client.ask_version(&access(server.to_owned())).await;
        let condition = none.map_err(|error| error.condition);
        assert_eq!(condition, Err(Condition::Malformed), "{server}");
    }
}
