//! A real server that has no room for its operator.
//!
//! A priority level without seats still lets one request in while none is there (seen with 1.36), so one must stay inside: it
//! waits for a webhook.

use super::{OPERATOR, PATIENCE, RealApiServer};
use crate::http::send_by_tls;
use crate::waiting::wait_until;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The object whose making takes its time.
const SLOW: &str = "takes-its-time";

const FLOW: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

/// The operator is answered `429 Too Many Requests` until this is ended, and for 30 seconds at most.
#[derive(Debug)]
pub struct Throttled {
    is_over: Arc<AtomicBool>,
    inside: Option<JoinHandle<()>>,
}

impl RealApiServer {
    /// Has no room for the operator any more, as a server whose queues are full.
    ///
    /// # Errors
    ///
    /// Says what failed.
    pub fn throttle(&self) -> Result<Throttled, String> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, ended) = (Arc::clone(&is_over), Arc::clone(&is_over));
        let webhook = self.have_judged(("", "secrets"), move |name| {
            if name == SLOW {
                wait_until(PATIENCE, || over.load(Ordering::SeqCst));
            }
            None
        })?;
        self.put(&format!("{FLOW}/prioritylevelconfigurations"), &level())?;
        self.put(&format!("{FLOW}/flowschemas"), &schema())?;
        let is_known = || {
            let schema = self.get(&format!("{FLOW}/flowschemas/{OPERATOR}"));
            schema.is_some_and(|schema| schema["status"]["conditions"][0]["status"] == "False")
        };
        if !wait_until(PATIENCE, is_known) {
            return Err("the server does not take its schema up".to_owned());
        }
        let (address, tls) = (self.address, self.operators_tls()?);
        let inside = std::thread::spawn(move || {
            let path = "/api/v1/namespaces/default/secrets?dryRun=All";
            let slow =
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": SLOW } });
            let json = [("content-type", "application/json")];
            let body = slow.to_string();
            // It may find no room itself.
            wait_until(PATIENCE, || {
                let server = (address, &tls);
                let _ = send_by_tls(server, "POST", path, &json, body.as_bytes());
                ended.load(Ordering::SeqCst)
            });
            drop(webhook);
        });
        let throttled = Throttled {
            is_over,
            inside: Some(inside),
        };
        let is_reported = || {
            let answer = self.as_operator("/api/v1/namespaces");
            answer.is_ok_and(|answer| answer.status == 429)
        };
        if wait_until(PATIENCE, is_reported) {
            return Ok(throttled);
        }
        Err("it goes on answering".to_owned())
    }

    /// Has room again.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the connection.
    pub fn let_through(&self, throttled: Throttled) -> Result<(), String> {
        drop(throttled);
        self.allow_all()?;
        for path in ["flowschemas", "prioritylevelconfigurations"] {
            self.ask("DELETE", &format!("{FLOW}/{path}/{OPERATOR}"), &Value::Null)?;
        }
        Ok(())
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // It has nothing to say.
        let _ = self.inside.take().map(JoinHandle::join);
    }
}

fn level() -> Value {
    json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": { "name": OPERATOR },
        "spec": { "type": "Limited", "limited": {
            "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": { "type": "Reject" },
        } },
    })
}

fn schema() -> Value {
    let resources = json!({
        "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
    });
    json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": { "name": OPERATOR },
        "spec": {
            "matchingPrecedence": 2,
            "priorityLevelConfiguration": { "name": OPERATOR },
            "rules": [{
                "subjects": [{ "kind": "User", "user": { "name": OPERATOR } }],
                "resourceRules": [resources],
                "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
            }],
        },
    })
}
