//! The server: a request in, what comes of it out.

use crate::crds::{self, Establish, Establishing};
use crate::discovery;
use crate::failure::Failure;
use crate::fault_injection::{Act, Called, InjectedFault, failure};
use crate::journal::{Entry, Journal};
use crate::kinds::{Kind, built_in};
use crate::query::{Place, Target, place};
use crate::request::{Reply, Request, Verb};
use crate::store::Store;
use crate::verbs;
use crate::watch::Watch;
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// The namespaces that every cluster has.
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// An API server.
#[derive(Debug, Clone)]
pub struct ApiServer {
    pub(crate) version: String,
    pub(crate) minor: u32,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) shelves: Store,
    pub(crate) establishing: Establishing,
    injected: Vec<InjectedFault>,
    journal: Journal,
}

/// What comes of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    Reply(Reply),
    /// A stream of changes: [`ApiServer::poll`] has them.
    Watch(Box<Watch>),
    /// None: the connection is closed, and nothing was done.
    Refused,
    /// None: it was done, and the connection is closed.
    Lost,
}

pub(crate) struct ParsedRequest<'a> {
    pub(crate) request: &'a Request,
    pub(crate) verb: Verb,
    pub(crate) target: &'a Target,
    pub(crate) dry_run: bool,
    pub(crate) now: Timestamp,
}

impl ApiServer {
    /// A server of this version, such as `v1.35.0`, with the namespaces of a new cluster.
    pub fn new(version: &str) -> Self {
        let minor = version.split('.').nth(1);
        let minor = minor.and_then(|minor| minor.parse().ok()).unwrap_or(35);
        let mut server = Self {
            version: version.to_owned(),
            minor,
            kinds: built_in(minor),
            shelves: Store::default(),
            establishing: Establishing::default(),
            injected: Vec::new(),
            journal: Journal::default(),
        };
        for name in NAMESPACES {
            let made = Request::new("POST", "/api/v1/namespaces").with_body(
                "application/json",
                &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
            );
            server.answer(&made, Timestamp(0));
        }
        server.journal.clear();
        server
    }

    /// Says when definitions are established; `name` is one, or all when it is `None`.
    pub fn establish(&mut self, name: Option<&str>, when: Establish) {
        match name {
            Some(name) => {
                let by_name = &mut self.establishing.by_name;
                by_name.insert(name.to_owned(), when);
            }
            None => self.establishing.default = when,
        }
    }

    /// Adds trouble. Of several that strike a call, the first does.
    pub fn inject(&mut self, inject: InjectedFault) {
        self.injected.push(inject);
    }

    /// Ends all trouble.
    pub fn end_troubles(&mut self) {
        self.injected.clear();
    }

    /// What it was asked so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Forgets what it was asked so far.
    pub fn clear_journal(&mut self) {
        self.journal.clear();
    }

    /// Forgets all changes so far, as a compaction does: whoever watches from before has to look again.
    pub fn compact(&mut self) {
        self.shelves.forget();
    }

    /// The version of its last change.
    pub fn resource_version(&self) -> u64 {
        self.shelves.version()
    }

    /// An object as it is kept: `object("Deployment", "kube-system", "coredns")`; the namespace is empty without one.
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let kind = self.kinds.iter().find(|one| one.kind == kind)?;
        let key = (namespace.to_owned(), name.to_owned());
        self.shelves.get(&kind.shelf(), &key)
    }

    /// Changes an object behind the back of everybody: it has no new version, and no watch sees it.
    pub fn edit(
        &mut self,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) {
        let shelf = self.kinds.iter().find(|one| one.kind == kind);
        let shelf = shelf.map(Kind::shelf).unwrap_or_default();
        let key = (namespace.to_owned(), name.to_owned());
        if let Some(object) = self.shelves.get_mut(&shelf, &key) {
            change(object);
        }
    }

    /// All objects of a kind.
    pub fn objects(&self, kind: &str) -> Vec<&Value> {
        let shelf = self.kinds.iter().find(|one| one.kind == kind);
        let shelf = shelf.map(Kind::shelf).unwrap_or_default();
        self.shelves
            .all(&shelf, None)
            .map(|(_, object)| object)
            .collect()
    }

    /// How long until time alone changes something; `None` when it does not.
    pub fn next_change(&self, now: Timestamp) -> Option<Duration> {
        self.establishing.next(now)
    }

    /// Answers a request that comes now.
    pub fn answer(&mut self, request: &Request, now: Timestamp) -> Outcome {
        self.settle(now);
        let before = self.shelves.version();
        let place = place(&self.kinds, &request.path);
        let target = match &place {
            Ok(Place::Objects(target)) => Some(target),
            _ => None,
        };
        let verb = verb(request, target);
        let mut entry = self.entry(request, verb, target, now);
        let called = Called {
            verb,
            kind: target.map(|target| &target.kind),
            namespace: entry.namespace.as_deref(),
            name: entry.name.as_deref(),
            user: &request.user,
        };
        let struck: Vec<bool> = self
            .injected
            .iter_mut()
            .map(|inject| inject.strikes(&called, now))
            .collect();
        let act = struck.iter().position(|struck| *struck);
        let act = act.map(|at| self.injected[at].act().clone());
        let refusal = act.as_ref().and_then(|act| failure(act, &called));
        let outcome = match (&act, refusal) {
            (Some(Act::Refuse), _) => Outcome::Refused,
            (_, Some(refusal)) => Outcome::Reply(refusal.into()),
            _ => self.serve(request, verb, place, now),
        };
        // What a definition brings at once, it brings with this call.
        self.settle(now);
        entry.wrote = verb.is_write() && self.shelves.version() != before;
        let outcome = match act {
            Some(Act::LoseAnswer) => Outcome::Lost,
            _ => outcome,
        };
        entry.code = match &outcome {
            Outcome::Reply(reply) => Some(reply.status),
            Outcome::Watch(_) => Some(200),
            Outcome::Refused | Outcome::Lost => None,
        };
        self.journal.add(entry);
        outcome
    }

    fn entry(
        &self,
        request: &Request,
        verb: Verb,
        target: Option<&Target>,
        now: Timestamp,
    ) -> Entry {
        // A new object's name is in its body alone.
        let body = || request.json().ok();
        let name = target.and_then(|target| target.name.clone()).or_else(|| {
            let body = Some(verb)
                .filter(|verb| *verb == Verb::Create)
                .and_then(|_| body())?;
            Some(body.pointer("/metadata/name")?.as_str()?.to_owned())
        });
        let kind = target.map(|target| target.kind.kind.clone());
        Entry {
            at: now,
            verb,
            kind: kind.unwrap_or_else(|| request.path.clone()),
            namespace: target.and_then(|target| target.namespace.clone()),
            name,
            manager: if verb.is_write() {
                request.manager()
            } else {
                String::new()
            },
            dry_run: self.is_dry_run(request),
            code: None,
            wrote: false,
        }
    }

    /// Servers before 1.12 know nothing of it, and do what they are asked (kubernetes.io, API concepts: beta since 1.13).
    fn is_dry_run(&self, request: &Request) -> bool {
        self.minor >= 12 && request.query("dryRun") == "All"
    }

    fn serve(
        &mut self,
        request: &Request,
        verb: Verb,
        place: Result<Place, Failure>,
        now: Timestamp,
    ) -> Outcome {
        let found = match place {
            Ok(Place::Objects(target)) => {
                let parsed = ParsedRequest {
                    request,
                    verb,
                    target: &target,
                    dry_run: self.is_dry_run(request),
                    now,
                };
                if verb == Verb::Watch {
                    return match Watch::begin(self, &parsed) {
                        Ok(watch) => Outcome::Watch(Box::new(watch)),
                        Err(failure) => Outcome::Reply(failure.into()),
                    };
                }
                self.serve_objects(&parsed)
            }
            Ok(_) if request.method != "GET" => Err(Failure::not_allowed()),
            Ok(place) => self
                .discovered(&place)
                .map(|body| Reply::with_body(200, body)),
            Err(failure) => Err(failure),
        };
        Outcome::Reply(found.unwrap_or_else(Reply::from))
    }

    fn discovered(&self, place: &Place) -> Result<Value, Failure> {
        Ok(match place {
            Place::Version => discovery::version(&self.version, self.minor),
            Place::Health => json!("ok"),
            Place::CoreVersions => discovery::core(),
            Place::Groups => discovery::groups(&self.kinds),
            Place::Group(group) => discovery::group(&self.kinds, group)?,
            Place::Kinds(group, version) => discovery::kinds(&self.kinds, group, version)?,
            Place::Objects(_) => return Err(Failure::unknown_path()),
        })
    }

    fn serve_objects(&mut self, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
        match parsed.verb {
            Verb::Discover | Verb::Watch => Err(Failure::not_allowed()),
            Verb::Get => verbs::get(self, parsed),
            Verb::List => verbs::list(self, parsed),
            Verb::Create => verbs::create(self, parsed),
            Verb::Update => verbs::update(self, parsed),
            Verb::Apply => verbs::apply(self, parsed),
            Verb::Patch => verbs::patch(self, parsed),
            Verb::Delete => verbs::delete(self, parsed),
            Verb::DeleteCollection => verbs::delete_collection(self, parsed),
        }
    }

    /// Establishes the definitions whose time has come.
    pub(crate) fn settle(&mut self, now: Timestamp) {
        for name in self.establishing.due(now) {
            let key = (String::new(), name);
            let Some(definition) = self.shelves.get(crds::SHELF, &key) else {
                continue;
            };
            let mut definition = definition.clone();
            definition["status"] = crds::settled_status(&definition, &stamp(now), true);
            self.learn(&definition);
            self.shelves.put(crds::SHELF, &key, definition);
        }
    }

    /// Serves the kinds of a definition, and no longer those that it brought before.
    pub(crate) fn learn(&mut self, definition: &Value) {
        self.unlearn(definition);
        self.kinds.extend(crds::kinds(definition));
    }

    /// Serves the kinds of a definition no longer.
    pub(crate) fn unlearn(&mut self, definition: &Value) {
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let plural = definition.pointer("/spec/names/plural");
        let plural = plural.and_then(Value::as_str).unwrap_or_default();
        self.kinds
            .retain(|kind| !(kind.custom && kind.group == group && kind.plural == plural));
    }
}

/// An instant as objects have it: to the second.
pub(crate) fn stamp(now: Timestamp) -> String {
    let whole = Timestamp(now.0 / 1000 * 1000).to_string();
    whole.replace(".000Z", "Z")
}

fn verb(request: &Request, target: Option<&Target>) -> Verb {
    let Some(target) = target else {
        return Verb::Discover;
    };
    let is_one = target.name.is_some();
    match (request.method.as_str(), is_one) {
        ("GET", _) if request.has_flag("watch") => Verb::Watch,
        ("GET", true) => Verb::Get,
        ("GET", false) => Verb::List,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) if request.content_type.starts_with("application/apply-patch") => Verb::Apply,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::Delete,
        ("DELETE", false) => Verb::DeleteCollection,
        _ => Verb::Discover,
    }
}
