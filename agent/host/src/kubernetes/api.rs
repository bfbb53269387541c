//! Each method of the port as a request.

use super::api_error_redactor::ApiErrorRedactor;
use super::client::{CHANGE_LIMIT, ClusterClient, Whole};
use super::refusal::Attempt;
use super::served::{core_group, groups, kinds};
use futures_util::StreamExt;
use kube::api::{
    DeleteParams, DynamicObject, GetParams, ListParams, Patch, PatchParams, PostParams,
    Preconditions, WatchParams,
};
use kube::core::{ApiResource, Request, WatchEvent};
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::ports::{
    Change, ClusterApi, Condition, ObjectQuery, PortError, ServedGroup, Watched,
};
use quake_model::signal::ApiAccess;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// How many objects a page of a list has; what `kubectl` asks for.
const PAGE: u32 = 500;

/// How many pages a list may have: a server that gives the same page forever is broken.
const PAGES: usize = 1000;

/// How much longer than it was asked to a server may take to end a watch.
const MARGIN: Duration = Duration::from_secs(5);

impl ClusterApi for ClusterClient {
    async fn ask_version(&self, access: &ApiAccess) -> Result<String, PortError> {
        let attempt = plain_attempt(access, "its version");
        let answer = self.get(access, "/version", &attempt).await?;
        let version = answer.get("gitVersion").and_then(Value::as_str);
        version
            .map(str::to_owned)
            .ok_or_else(|| attempt.unreadable())
    }

    async fn list_groups(&self, access: &ApiAccess) -> Result<Vec<ServedGroup>, PortError> {
        let attempt = plain_attempt(access, "the groups it serves");
        let core = self.get(access, "/api", &attempt).await?;
        let core = core_group(&core).ok_or_else(|| attempt.unreadable())?;
        let others = self.get(access, "/apis", &attempt).await?;
        let others = groups(&others).ok_or_else(|| attempt.unreadable())?;
        Ok([core].into_iter().chain(others).collect())
    }

    async fn list_kinds(
        &self,
        access: &ApiAccess,
        group: &str,
        version: &str,
    ) -> Result<Vec<ServedKind>, PortError> {
        let path = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let attempt = plain_attempt(access, &format!("the kinds below {path}"));
        if ![group, version]
            .iter()
            .all(|word| is_segment(word) || word.is_empty())
        {
            return Err(attempt.impossible());
        }
        let answer = self.get(access, &path, &attempt).await?;
        kinds(&answer, group, version).ok_or_else(|| attempt.unreadable())
    }

    async fn get_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
    ) -> Result<Option<ClusterObject>, PortError> {
        let attempt = attempt_at(access, "a look at", place, None);
        let request = request_at(place, &attempt)?;
        let request = request.get(&place.name, &GetParams::default());
        let request = request.map_err(|_| attempt.impossible())?;
        match self.ask(access, request, &attempt).await {
            Ok(answer) => object_of(answer, &attempt).map(Some),
            Err(error) if error.condition == Condition::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list_cluster_objects(
        &self,
        access: &ApiAccess,
        query: &ObjectQuery,
    ) -> Result<Vec<ClusterObject>, PortError> {
        let what = format!("a list of {}", query.served.kind);
        let attempt = Attempt {
            redactor: ApiErrorRedactor::about(&query.served.kind.kind, None),
            ..plain_attempt(access, &what)
        };
        let request = request_for(&query.served, query.namespace.as_deref(), &attempt)?;
        let mut page = ListParams {
            label_selector: Some(query.labels.clone()).filter(|labels| !labels.is_empty()),
            field_selector: Some(query.fields.clone()).filter(|fields| !fields.is_empty()),
            ..ListParams::default().limit(PAGE)
        };
        let mut listed = Vec::new();
        for _ in 0..PAGES {
            let requested = request.list(&page).map_err(|_| attempt.impossible())?;
            let mut answer = self.ask(access, requested, &attempt).await?;
            take_items(&mut answer, &query.served, &mut listed)
                .ok_or_else(|| attempt.unreadable())?;
            let next = answer.pointer("/metadata/continue").and_then(Value::as_str);
            match next.filter(|next| !next.is_empty()) {
                Some(next) => page.continue_token = Some(next.to_owned()),
                None => return Ok(listed),
            }
        }
        Err(attempt.unreadable())
    }

    async fn change_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
        dry_run: bool,
    ) -> Result<ClusterObject, PortError> {
        let (verb, sent) = match change {
            Change::Apply { object, .. } => ("an apply of", object),
            Change::Merge { patch, .. } | Change::StrategicMerge { patch, .. } => {
                ("a patch of", patch)
            }
            Change::Create { object, .. } => ("the creation of", object),
            Change::Replace { object, .. } => ("the replacement of", object),
        };
        let attempt = attempt_at(access, verb, place, Some(sent));
        let request = request_at(place, &attempt)?;
        let request = change_request(&request, place, change, dry_run);
        let mut request = request.map_err(|_| attempt.impossible())?;
        request.extensions_mut().insert(Whole(CHANGE_LIMIT));
        let answer = self.ask(access, request, &attempt).await?;
        object_of(answer, &attempt)
    }

    async fn change_status(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
    ) -> Result<ClusterObject, PortError> {
        let sent = match change {
            Change::Apply { object, .. } | Change::Replace { object, .. } => object,
            Change::Merge { patch, .. } | Change::StrategicMerge { patch, .. } => patch,
            Change::Create { object, .. } => {
                let verb = "the creation of the status of";
                return Err(attempt_at(access, verb, place, Some(object)).impossible());
            }
        };
        let attempt = attempt_at(access, "a change of the status of", place, Some(sent));
        let request = request_at(place, &attempt)?;
        let request = status_request(&request, place, change);
        let mut request = request.map_err(|_| attempt.impossible())?;
        request.extensions_mut().insert(Whole(CHANGE_LIMIT));
        let answer = self.ask(access, request, &attempt).await?;
        object_of(answer, &attempt)
    }

    async fn delete_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        uid: Option<&str>,
    ) -> Result<(), PortError> {
        let attempt = attempt_at(access, "the deletion of", place, None);
        let options = DeleteParams {
            preconditions: uid.map(|uid| Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        let request = request_at(place, &attempt)?.delete(&place.name, &options);
        let mut request = request.map_err(|_| attempt.impossible())?;
        request.extensions_mut().insert(Whole(CHANGE_LIMIT));
        match self.ask(access, request, &attempt).await {
            Err(error) if error.condition != Condition::Missing => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn watch_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        resource_version: Option<&str>,
        limit: Duration,
    ) -> Result<Watched, PortError> {
        let attempt = attempt_at(access, "a watch of", place, None);
        let seconds = u32::try_from(limit.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX);
        let options = WatchParams::default()
            .fields(&format!("metadata.name={}", place.name))
            .timeout(seconds.max(1))
            .disable_bookmarks();
        let request = request_at(place, &attempt)?;
        let request = request.watch(&options, resource_version.unwrap_or_default());
        let mut request = request.map_err(|_| attempt.impossible())?;
        request.extensions_mut().insert(Whole(limit + MARGIN));
        let watching = async {
            let mut events = self.watch(access, request, &attempt).await?;
            match events.next().await {
                Some(Ok(WatchEvent::Error(status))) => Err(attempt.refused(&status, None)),
                Some(Ok(WatchEvent::Deleted(_))) => Ok(Watched::Deleted),
                Some(Ok(WatchEvent::Added(value) | WatchEvent::Modified(value))) => {
                    object_of(value, &attempt).map(Watched::Changed)
                }
                // A watch that breaks off is over, like one whose time has passed: whoever watches looks again.
                Some(Ok(WatchEvent::Bookmark(_)) | Err(_)) | None => Ok(Watched::Nothing),
            }
        };
        timeout(limit, watching)
            .await
            .unwrap_or(Ok(Watched::Nothing))
    }
}

impl ClusterClient {
    async fn get(
        &self,
        access: &ApiAccess,
        path: &str,
        attempt: &Attempt<'_>,
    ) -> Result<Value, PortError> {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|_| attempt.impossible())?;
        self.ask(access, request, attempt).await
    }
}

fn plain_attempt<'a>(access: &'a ApiAccess, what: &str) -> Attempt<'a> {
    Attempt {
        server: &access.server,
        what: format!("a question for {what}"),
        redactor: ApiErrorRedactor::default(),
    }
}

fn attempt_at<'a>(
    access: &'a ApiAccess,
    verb: &str,
    place: &ObjectPlace,
    sent: Option<&Value>,
) -> Attempt<'a> {
    Attempt {
        server: &access.server,
        what: format!("{verb} {place}"),
        redactor: ApiErrorRedactor::about(&place.served.kind.kind, sent),
    }
}

fn request_at(place: &ObjectPlace, attempt: &Attempt<'_>) -> Result<Request, PortError> {
    if !is_segment(&place.name) {
        return Err(attempt.impossible());
    }
    request_for(&place.served, place.namespace.as_deref(), attempt)
}

fn request_for(
    served: &ServedKind,
    namespace: Option<&str>,
    attempt: &Attempt<'_>,
) -> Result<Request, PortError> {
    let resource = ApiResource {
        group: served.kind.group.clone(),
        version: served.kind.version.clone(),
        api_version: served.kind.api_version(),
        kind: served.kind.kind.clone(),
        plural: served.plural.clone(),
    };
    let namespace = namespace.filter(|_| served.namespaced);
    if !namespace.is_none_or(is_segment) {
        return Err(attempt.impossible());
    }
    use kube::Resource as _;
    Ok(Request::new(DynamicObject::url_path(&resource, namespace)))
}

/// Whether a name can be one word of a URL's path, as names of objects are: a manifest's own may be anything.
fn is_segment(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !"/?#%\\\"<>".contains(c);
    !name.is_empty() && name != "." && name != ".." && name.chars().all(is_plain)
}

fn posted(manager: &str, dry_run: bool) -> PostParams {
    PostParams {
        dry_run,
        field_manager: Some(manager.to_owned()),
    }
}

fn change_request(
    request: &Request,
    place: &ObjectPlace,
    change: &Change,
    dry_run: bool,
) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
    match change {
        Change::Create { object, manager } => {
            request.create(&posted(manager, dry_run), object.to_string().into_bytes())
        }
        Change::Replace { object, manager } => {
            let object = object.to_string().into_bytes();
            request.replace(&place.name, &posted(manager, dry_run), object)
        }
        Change::Apply { .. } | Change::Merge { .. } | Change::StrategicMerge { .. } => {
            let (patch, options) = patch_of(change, dry_run);
            request.patch(&place.name, &options, &patch)
        }
    }
}

fn status_request(
    request: &Request,
    place: &ObjectPlace,
    change: &Change,
) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
    match change {
        Change::Create { object, manager } | Change::Replace { object, manager } => {
            let object = object.to_string().into_bytes();
            request.replace_subresource("status", &place.name, &posted(manager, false), object)
        }
        Change::Apply { .. } | Change::Merge { .. } | Change::StrategicMerge { .. } => {
            let (patch, options) = patch_of(change, false);
            request.patch_subresource("status", &place.name, &options, &patch)
        }
    }
}

/// A change that is no replacement, as a patch and its options.
fn patch_of(change: &Change, dry_run: bool) -> (Patch<&Value>, PatchParams) {
    let (patch, manager, force) = match change {
        Change::Apply {
            object,
            manager,
            force,
        } => (Patch::Apply(object), manager, *force),
        Change::StrategicMerge { patch, manager } => (Patch::Strategic(patch), manager, false),
        Change::Merge { patch, manager }
        | Change::Create {
            object: patch,
            manager,
        }
        | Change::Replace {
            object: patch,
            manager,
        } => (Patch::Merge(patch), manager, false),
    };
    let options = PatchParams {
        dry_run,
        force,
        field_manager: Some(manager.clone()),
        field_validation: None,
    };
    (patch, options)
}

fn object_of(answer: Value, attempt: &Attempt<'_>) -> Result<ClusterObject, PortError> {
    ClusterObject::new(answer).ok_or_else(|| attempt.unreadable())
}

/// Takes the objects out of a page. A server leaves out what they are of, which the list says.
fn take_items(page: &mut Value, served: &ServedKind, into: &mut Vec<ClusterObject>) -> Option<()> {
    let items = page.get_mut("items")?;
    // An empty list of some servers is `null`.
    let items = match items.take() {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        _ => return None,
    };
    for mut item in items {
        let fields = item.as_object_mut()?;
        fields.insert("apiVersion".to_owned(), served.kind.api_version().into());
        fields.insert("kind".to_owned(), served.kind.kind.clone().into());
        into.push(ClusterObject::new(item)?);
    }
    Some(())
}
