//! The two servers that the cases are run against, and the same trouble for both.

use quake_apisim::{Act, ApiServer, Establish, InjectedFault, Request, Verb};
use quake_integration::api_server::ApiStandIn;
use quake_integration::ca::Ca;
use quake_integration::real_api_server::{RealApiServer, Throttled, Webhook};
use quake_integration::skip::unless_missing;
use quake_model::time::Timestamp;
use serde_json::{Value, json};

pub(crate) enum Server {
    StandIn(ApiStandIn),
    Real(Box<RealApiServer>),
}

/// What holds a webhook of a real server up.
pub(crate) struct Refusal {
    _webhook: Option<Webhook>,
}

/// What a real server has no room by.
pub(crate) struct Full(Option<Throttled>);

/// The stand-in's clock is not of interest to what is made by hand.
const THEN: Timestamp = Timestamp(1);

impl Server {
    pub(crate) fn stand_in(model: ApiServer) -> Option<Self> {
        let ca = unless_missing(Ca::new())?;
        unless_missing(ApiStandIn::by_tls(model, ca)).map(Self::StandIn)
    }

    pub(crate) fn real() -> Option<Self> {
        let server = unless_missing(RealApiServer::start())?;
        Some(Self::Real(Box::new(server)))
    }

    pub(crate) fn kubeconfig(&self) -> String {
        match self {
            Self::StandIn(server) => {
                let client = server.client("/O=system:masters/CN=kops");
                server.kubeconfig(Some(&client.expect("a certificate")))
            }
            Self::Real(server) => server.kubeconfig(),
        }
    }

    /// What was written since this was asked last.
    pub(crate) fn writes(&self) -> Vec<String> {
        match self {
            Self::StandIn(server) => server.cluster(|model| {
                let writes = model.journal().writes();
                model.clear_journal();
                writes
            }),
            Self::Real(server) => server.writes().expect("the log can be read"),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        match self {
            Self::StandIn(server) => {
                let answer = server.cluster(|model| model.answer(&Request::new("GET", path), THEN));
                let quake_apisim::Outcome::Reply(answer) = answer else {
                    return None;
                };
                (answer.status == 200).then_some(answer.body)
            }
            Self::Real(server) => server.get(path),
        }
    }

    /// Makes an object, as someone else; it is not among [`Server::writes`].
    pub(crate) fn put(&self, collection: &str, object: &Value) {
        match self {
            Self::StandIn(server) => {
                let request =
                    Request::new("POST", collection).with_body("application/json", object);
                server.cluster(|model| {
                    model.answer(&request, THEN);
                    model.clear_journal();
                });
            }
            Self::Real(server) => {
                server.put(collection, object).expect("it is made");
            }
        }
    }

    /// Has an admission webhook refuse every deployment of this name for this reason.
    pub(crate) fn refuse_deployment(&self, name: &str, why: &str) -> Refusal {
        let webhook = match self {
            Self::StandIn(server) => {
                let deny = Act::Deny {
                    webhook: "policy.example.com".to_owned(),
                    code: 403,
                    why: why.to_owned(),
                };
                let inject = InjectedFault::new(deny).verb(Verb::Apply);
                let inject = inject.kind("Deployment").name(name);
                server.cluster(|model| model.inject(inject));
                None
            }
            Self::Real(server) => {
                let webhook = server.refuse(("apps", "deployments"), name, why);
                Some(webhook.expect("the webhook is made"))
            }
        };
        Refusal { _webhook: webhook }
    }

    /// The refusal is over.
    pub(crate) fn allow(&self, refusal: Refusal) {
        match self {
            Self::StandIn(server) => server.cluster(ApiServer::end_troubles),
            Self::Real(server) => server.allow_all().expect("it is removed"),
        }
        drop(refusal);
    }

    /// The definition of Calico's pools is taken, and never established.
    pub(crate) fn never_establish_pools(&self) {
        match self {
            Self::StandIn(server) => server.cluster(|model| {
                model.establish(Some("ippools.crd.projectcalico.org"), Establish::Never);
            }),
            // Another has the name of its kind.
            Self::Real(_) => self.put(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                &json!({
                    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": { "name": "others.crd.projectcalico.org" },
                    "spec": {
                        "group": "crd.projectcalico.org", "scope": "Cluster",
                        "names": { "plural": "others", "kind": "IPPool" },
                        "versions": [{
                            "name": "v1", "served": true, "storage": true,
                            "schema": { "openAPIV3Schema": { "type": "object" } },
                        }],
                    },
                }),
            ),
        }
    }

    /// Answers `429 Too Many Requests` to some that ask, or until [`Server::let_through`].
    pub(crate) fn throttle(&self) -> Full {
        Full(match self {
            Self::StandIn(server) => {
                server.cluster(|model| {
                    model.inject(InjectedFault::new(Act::Throttle(1)).calls(1..=3));
                });
                None
            }
            Self::Real(server) => Some(server.throttle().expect("it has no room")),
        })
    }

    pub(crate) fn let_through(&self, full: Full) {
        if let (Self::Real(server), Some(full)) = (self, full.0) {
            server.let_through(full).expect("it has room again");
        }
    }

    pub(crate) fn take_down(&self) {
        match self {
            Self::StandIn(server) => server.take_down(),
            Self::Real(server) => server.take_down(),
        }
    }

    pub(crate) fn bring_back(&self) {
        match self {
            Self::StandIn(server) => server.bring_back().expect("its port is free"),
            Self::Real(server) => server.bring_back().expect("it comes back"),
        }
    }
}
