//! What the model of an API server keeps, in the words of a real one.

mod applies;
mod definitions;
mod fault_injection;
mod selects;
mod watches;
mod writes;

use quake_apisim::{ApiServer, Outcome, Reply, Request};
use quake_model::time::Timestamp;
use serde_json::{Value, json};

/// A server and what its clock says.
struct Cluster {
    server: ApiServer,
    now: Timestamp,
}

const SYSTEM: &str = "/api/v1/namespaces/kube-system/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/kube-system/deployments";

impl Cluster {
    fn new() -> Self {
        Self::for_version("v1.35.0")
    }

    fn for_version(version: &str) -> Self {
        Self {
            server: ApiServer::new(version),
            now: Timestamp(1_800_000_000_000),
        }
    }

    fn outcome(&mut self, request: &Request) -> Outcome {
        self.now = Timestamp(self.now.0 + 1000);
        self.server.answer(request, self.now)
    }

    #[expect(
        clippy::panic,
        reason = "what was asked for in a test and did not come is its failure"
    )]
    fn ask(&mut self, request: &Request) -> Reply {
        match self.outcome(request) {
            Outcome::Reply(reply) => reply,
            other => panic!("no reply: {other:?}"),
        }
    }

    fn get(&mut self, target: &str) -> Reply {
        self.ask(&Request::new("GET", target))
    }

    fn send(&mut self, method: &str, target: &str, body: &Value) -> Reply {
        let request = Request::new(method, target).with_body("application/json", body);
        self.ask(&request.with_query("fieldManager", "someone"))
    }

    fn merge(&mut self, target: &str, patch: &Value) -> Reply {
        let request =
            Request::new("PATCH", target).with_body("application/merge-patch+json", patch);
        self.ask(&request.with_query("fieldManager", "kubectl"))
    }

    fn apply(&mut self, target: &str, object: &Value, manager: &str) -> Reply {
        self.ask(&applying(target, object, manager))
    }
}

fn applying(target: &str, object: &Value, manager: &str) -> Request {
    let request = Request::new("PATCH", target).with_body("application/apply-patch+yaml", object);
    request.with_query("fieldManager", manager)
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

fn deployment(containers: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "dns" },
        "spec": {
            "selector": { "matchLabels": { "app": "dns" } },
            "template": { "metadata": { "labels": { "app": "dns" } }, "spec": { "containers": containers } },
        },
    })
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The status, the reason and the message of a refusal.
fn refusal(reply: &Reply) -> (u16, &str, &str) {
    (
        reply.status,
        text(&reply.body, "/reason"),
        text(&reply.body, "/message"),
    )
}
