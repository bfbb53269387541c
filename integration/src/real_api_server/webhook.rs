//! Admission webhooks that a real server asks.

use super::{PATIENCE, RealApiServer};
use crate::ca::Callers;
use crate::http::{Reply, Request, Server};
use crate::waiting::wait_until;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener};

/// Its name, as the server's refusals tell it.
pub(super) const NAME: &str = "policy.example.com";

const COLLECTION: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A webhook that a server asks; once it is dropped it does not answer, and [`RealApiServer::allow_all`] ends the asking.
#[derive(Debug)]
pub struct Webhook {
    _server: Server,
}

impl RealApiServer {
    /// Has a webhook refuse every object of this name in a group's resource, such as `apps` and `deployments`, for this reason.
    ///
    /// # Errors
    ///
    /// Says what failed.
    pub fn refuse(
        &self,
        (group, resource): (&str, &str),
        name: &str,
        why: &str,
    ) -> Result<Webhook, String> {
        let (name, why) = (name.to_owned(), why.to_owned());
        self.have_judged((group, resource), move |requested| {
            (requested == name).then(|| why.clone())
        })
    }

    /// Has a webhook asked for every object in a group's resource, and for every ConfigMap: why not, by the object's name.
    pub(super) fn have_judged(
        &self,
        (group, resource): (&str, &str),
        refusal: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Webhook, String> {
        let tls = self.ca.serve(&["IP:127.0.0.1"], Callers::Anybody)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.map_err(|error| error.to_string())?;
        let answer = move |request: &Request| judge(request, &refusal);
        let server = Server::by_tls(listener, tls, answer).map_err(|error| error.to_string())?;
        let url = format!("https://{}/", server.address());
        self.put(
            COLLECTION,
            &json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": { "name": NAME },
                "webhooks": [{
                    "name": NAME,
                    "clientConfig": { "url": url, "caBundle": STANDARD.encode(self.ca.certificate()?) },
                    "rules": [rule(group, resource), rule("", "configmaps")],
                    "sideEffects": "None", "timeoutSeconds": 30, "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                }],
            }),
        )?;
        // The server learns of its webhooks by a watch.
        let is_asked = || {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "is-asked" } });
            let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
            let _ = self.ask("POST", path, &map);
            !server.seen().is_empty()
        };
        if wait_until(PATIENCE, is_asked) {
            return Ok(Webhook { _server: server });
        }
        Err("the webhook is never asked".to_owned())
    }

    /// Asks no webhook any more.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the connection.
    pub fn allow_all(&self) -> Result<(), String> {
        let path = format!("{COLLECTION}/{NAME}");
        self.ask("DELETE", &path, &Value::Null).map(drop)
    }
}

fn rule(group: &str, resource: &str) -> Value {
    json!({ "apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": ["CREATE", "UPDATE"] })
}

fn judge(request: &Request, refusal: impl Fn(&str) -> Option<String>) -> Reply {
    let review: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let requested = &review["request"];
    let mut response = json!({ "uid": requested["uid"], "allowed": true });
    if let Some(why) = refusal(requested["name"].as_str().unwrap_or_default()) {
        response["allowed"] = false.into();
        response["status"] = json!({ "code": 403, "message": why });
    }
    let body = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
    Reply::new(200, body.to_string()).with("content-type", "application/json")
}
