//! The cluster's API server, simulated: the model of `quake-apisim`, asked as a client of a real one asks.

use super::SimHost;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_apisim::{ApiServer, Outcome, Reply, Request, Watch, node_user};
use quake_model::cluster_object::{ClusterObject, ObjectKind, ObjectPlace, ServedKind};
use quake_model::ports::{
    Change, Clock, ClusterApi, Condition, ObjectQuery, PortError, ServedGroup, Watched,
};
use quake_model::signal::ApiAccess;
use serde_json::{Value, json};
use std::time::Duration;

/// How many objects a page of a list has.
const PAGE: &str = "100";

impl SimHost {
    /// Has this API server in its surroundings; without one nothing answers.
    #[must_use]
    pub fn with_cluster(self, server: ApiServer) -> Self {
        self.lock().cluster = Some(server);
        self
    }

    /// Looks into the cluster, or changes it, as someone outside would; `None` where there is none.
    pub fn cluster<T>(&self, look: impl FnOnce(&mut ApiServer) -> T) -> Option<T> {
        let seen = self.lock().cluster.as_mut().map(look);
        self.cluster_changed.notify_waiters();
        seen
    }

    async fn ask(&self, operation: &str, request: &Request) -> Result<Value, PortError> {
        match self.ask_once(operation, request).await? {
            Answer::Body(body) => Ok(body),
            Answer::Watch(_) => Err(malformed("the server streams")),
        }
    }

    async fn ask_once(&self, operation: &str, request: &Request) -> Result<Answer, PortError> {
        let now = self.now();
        let answered = self.call(operation, |world| {
            world.subject = format!("{} {}", request.method, request.path);
            if !request.query("dryRun").is_empty() {
                world.subject.push_str(" dry-run");
            }
            let server = world.cluster.as_mut().ok_or_else(nobody)?;
            match server.answer(request, now) {
                Outcome::Reply(reply) if reply.status < 300 => Ok(Answer::Body(reply.body)),
                Outcome::Reply(reply) => Err(refusal(request, &reply)),
                Outcome::Watch(watch) => Ok(Answer::Watch(watch)),
                Outcome::Refused | Outcome::Lost => Err(nobody()),
            }
        });
        let answered = answered.await;
        self.cluster_changed.notify_waiters();
        answered
    }

    /// What a watch sees next, and how long nothing but someone's change brings it more.
    fn look_on(&self, watch: &mut Watch) -> Result<(Vec<Value>, Option<Duration>), PortError> {
        let now = self.now();
        let mut world = self.lock();
        let server = world.cluster.as_mut().ok_or_else(nobody)?;
        let polled = server.poll(watch, now);
        Ok((polled.events, server.next_change(now)))
    }
}

enum Answer {
    Body(Value),
    Watch(Box<Watch>),
}

impl ClusterApi for SimHost {
    async fn ask_version(&self, _: &ApiAccess) -> Result<String, PortError> {
        let reported = self
            .ask("ask_version", &Request::new("GET", "/version"))
            .await?;
        Ok(text(&reported["gitVersion"]))
    }

    async fn list_groups(&self, _: &ApiAccess) -> Result<Vec<ServedGroup>, PortError> {
        let core = self
            .ask("list_groups", &Request::new("GET", "/api"))
            .await?;
        let others = self
            .ask("list_groups", &Request::new("GET", "/apis"))
            .await?;
        let mut groups = vec![ServedGroup {
            group: String::new(),
            versions: items(&core["versions"]).map(text).collect(),
        }];
        groups.extend(items(&others["groups"]).map(|group| {
            ServedGroup {
                group: text(&group["name"]),
                versions: items(&group["versions"])
                    .map(|version| text(&version["version"]))
                    .collect(),
            }
        }));
        Ok(groups)
    }

    async fn list_kinds(
        &self,
        _: &ApiAccess,
        group: &str,
        version: &str,
    ) -> Result<Vec<ServedKind>, PortError> {
        let request = Request::new("GET", &root(group, version));
        let reported = self.ask("list_kinds", &request).await?;
        let whole = items(&reported["resources"]).filter(|one| !text(&one["name"]).contains('/'));
        let kinds = whole.map(|one| ServedKind {
            kind: ObjectKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: text(&one["kind"]),
            },
            plural: text(&one["name"]),
            namespaced: one["namespaced"] == json!(true),
        });
        Ok(kinds.collect())
    }

    async fn get_object(
        &self,
        _: &ApiAccess,
        place: &ObjectPlace,
    ) -> Result<Option<ClusterObject>, PortError> {
        let found = self
            .ask("get_object", &Request::new("GET", &path(place)))
            .await;
        match found {
            Ok(found) => object(found).map(Some),
            Err(error) if error.condition == Condition::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list_cluster_objects(
        &self,
        _: &ApiAccess,
        query: &ObjectQuery,
    ) -> Result<Vec<ClusterObject>, PortError> {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let path = collection(&query.served, query.namespace.as_deref());
            let request = Request::new("GET", &path)
                .with_query("labelSelector", &query.labels)
                .with_query("fieldSelector", &query.fields)
                .with_query("limit", PAGE)
                .with_query("continue", &token);
            let list = self.ask("list_cluster_objects", &request).await?;
            for item in items(&list["items"]) {
                // Items of the server's own kinds do not say what they are.
                let mut item = item.clone();
                item["apiVersion"] = json!(query.served.kind.api_version());
                item["kind"] = json!(query.served.kind.kind);
                found.push(object(item)?);
            }
            token = text(&list["metadata"]["continue"]);
            if token.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn change_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
        dry_run: bool,
    ) -> Result<ClusterObject, PortError> {
        let mut request = request_of(place, change);
        if dry_run {
            request = request.with_query("dryRun", "All");
        }
        object(self.ask("change_object", &by(access, request)).await?)
    }

    async fn change_status(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
    ) -> Result<ClusterObject, PortError> {
        if matches!(change, Change::Create { .. }) {
            let why = "a status is not made";
            return Err(PortError::new(Condition::Malformed, why));
        }
        let mut request = by(access, request_of(place, change));
        request.path.push_str("/status");
        object(self.ask("change_status", &request).await?)
    }

    async fn delete_object(
        &self,
        _: &ApiAccess,
        place: &ObjectPlace,
        uid: Option<&str>,
    ) -> Result<(), PortError> {
        let mut options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        if let Some(uid) = uid {
            options["preconditions"] = json!({ "uid": uid });
        }
        let request = Request::new("DELETE", &path(place)).with_body("application/json", &options);
        match self.ask("delete_object", &request).await {
            Err(error) if error.condition != Condition::Missing => Err(error),
            _ => Ok(()),
        }
    }

    async fn watch_object(
        &self,
        _: &ApiAccess,
        place: &ObjectPlace,
        resource_version: Option<&str>,
        limit: Duration,
    ) -> Result<Watched, PortError> {
        let path = collection(&place.served, place.namespace.as_deref());
        let request = Request::new("GET", &path)
            .with_query("watch", "true")
            .with_query("fieldSelector", &format!("metadata.name={}", place.name))
            .with_query("resourceVersion", resource_version.unwrap_or_default());
        let mut watch = match self.ask_once("watch_object", &request).await? {
            Answer::Watch(watch) => *watch,
            Answer::Body(_) => return Err(malformed("the server does not stream")),
        };
        let end = tokio::time::Instant::now() + limit;
        loop {
            let mut changed = std::pin::pin!(self.cluster_changed.notified());
            changed.as_mut().enable();
            let (events, next) = self.look_on(&mut watch)?;
            if let Some(event) = events.first() {
                return watched(event, &request);
            }
            let until = next.map_or(end, |next| end.min(tokio::time::Instant::now() + next));
            let is_over = tokio::time::timeout_at(until, changed).await.is_err();
            if is_over && tokio::time::Instant::now() >= end {
                return Ok(Watched::Nothing);
            }
        }
    }
}

fn watched(event: &Value, request: &Request) -> Result<Watched, PortError> {
    let about = event["object"].clone();
    match event["type"].as_str() {
        Some("DELETED") => Ok(Watched::Deleted),
        Some("ERROR") => {
            let status = about["code"]
                .as_u64()
                .and_then(|code| u16::try_from(code).ok());
            let reply = Reply {
                status: status.unwrap_or(500),
                retry_after: None,
                body: about,
            };
            Err(refusal(request, &reply))
        }
        _ => object(about).map(Watched::Changed),
    }
}

fn request_of(place: &ObjectPlace, change: &Change) -> Request {
    let one = path(place);
    let (request, manager) = match change {
        Change::Apply {
            object,
            manager,
            force,
        } => {
            let request = Request::new("PATCH", &one);
            let request = request.with_body("application/apply-patch+yaml", object);
            let force = if *force { "true" } else { "false" };
            (request.with_query("force", force), manager)
        }
        Change::Merge { patch, manager } => {
            let request = Request::new("PATCH", &one);
            (
                request.with_body("application/merge-patch+json", patch),
                manager,
            )
        }
        Change::StrategicMerge { patch, manager } => {
            let request = Request::new("PATCH", &one);
            (
                request.with_body("application/strategic-merge-patch+json", patch),
                manager,
            )
        }
        Change::Create { object, manager } => {
            let all = collection(&place.served, place.namespace.as_deref());
            let request = Request::new("POST", &all);
            (request.with_body("application/json", object), manager)
        }
        Change::Replace { object, manager } => {
            let request = Request::new("PUT", &one);
            (request.with_body("application/json", object), manager)
        }
    };
    request.with_query("fieldManager", manager)
}

/// The request as the user of the certificate, where that is a node's; else an administrator asks.
fn by(access: &ApiAccess, mut request: Request) -> Request {
    if let Some(user) = node_of(&access.certificate) {
        request.user = user;
    }
    request
}

/// The user of a kubelet's certificate.
fn node_of(certificate: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(certificate);
    let body: String = text
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    node_user(&STANDARD.decode(body.trim()).ok()?)
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() {
        return format!("/api/{version}");
    }
    format!("/apis/{group}/{version}")
}

fn collection(served: &ServedKind, namespace: Option<&str>) -> String {
    let root = root(&served.kind.group, &served.kind.version);
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{}", served.plural),
        None => format!("{root}/{}", served.plural),
    }
}

fn path(place: &ObjectPlace) -> String {
    let collection = collection(&place.served, place.namespace.as_deref());
    format!("{collection}/{}", place.name)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn object(value: Value) -> Result<ClusterObject, PortError> {
    ClusterObject::new(value).ok_or_else(|| malformed("the answer is no object"))
}

fn malformed(what: &str) -> PortError {
    PortError::new(Condition::Malformed, what)
}

fn nobody() -> PortError {
    PortError::new(Condition::Unreachable, "the API server does not answer")
}

/// What a refusal means, by the table of the port.
fn refusal(request: &Request, reply: &Reply) -> PortError {
    let message = text(&reply.body["message"]);
    let by_webhook =
        message.contains("admission webhook") && message.contains("denied the request");
    // An apply that cannot be read by its types comes without a status of its own.
    let is_untyped = message.starts_with("failed to create typed patch object");
    let condition = match reply.status {
        _ if by_webhook || is_untyped => Condition::Malformed,
        401 | 403 => Condition::Denied,
        404 => Condition::Missing,
        409 | 410 => Condition::Conflict,
        415 => Condition::Impossible,
        429 => Condition::Throttled,
        500 if message.contains("failed calling webhook") => Condition::NotReady,
        400..500 => Condition::Malformed,
        _ => Condition::Unreachable,
    };
    let (method, status) = (&request.method, reply.status);
    let summary = format!(
        "the API server answered {method} {} with {status}",
        request.path
    );
    let mut error = PortError::new(condition, summary).seen("answer", message);
    if let Some(reason) = reply.body["reason"].as_str() {
        error = error.seen("reason", reason);
    }
    let causes = items(&reply.body["details"]["causes"]);
    for field in causes.filter_map(|cause| cause["field"].as_str()) {
        error = error.seen("field", field);
    }
    error
}
