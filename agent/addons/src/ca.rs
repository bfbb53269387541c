//! The CA of an add-on that asks for one (`needsPKI`): a key and its certificate in a Secret, and an issuer of
//! cert-manager that signs with them what the add-on's pods and webhooks serve by.
//!
//! Both are made where they are not there, and never changed: whoever trusts the CA has a copy of its certificate
//! (kubernetes/kops `channels/pkg/channels/addon.go` and `channel_version.go`, v1.36.2). Neither has labels, so no rule of
//! `prune` finds them.

use super::channel::Addon;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::cluster_object::{ObjectKind, ObjectPlace, ServedKind};
use quake_model::fault::{Code, Fault};
use quake_model::redact::Secret;
use serde_json::{Value, json};

/// Where both are, whatever namespace the add-on notes its version in.
const NAMESPACE: &str = "kube-system";

/// The kind of issuers, in the version that kops asks for.
const ISSUER: (&str, &str) = ("cert-manager.io/v1", "Issuer");

/// How many objects a CA is.
pub const CA_OBJECTS: usize = 2;

/// Where the CA's key and certificate are.
pub fn ca_place(addon: &Addon) -> ObjectPlace {
    ObjectPlace {
        served: ServedKind::in_namespace("v1", "Secret", "secrets"),
        namespace: Some(NAMESPACE.to_owned()),
        name: secret_name(addon),
    }
}

fn secret_name(addon: &Addon) -> String {
    format!("{}-ca", addon.name)
}

/// The kind of the CA's issuer.
pub fn issuer_kind() -> ObjectKind {
    ObjectKind::from_version(ISSUER.0, ISSUER.1)
}

/// Where the issuer is, on a server that serves its kind so.
pub fn issuer_place(addon: &Addon, served: ServedKind) -> ObjectPlace {
    ObjectPlace {
        served,
        namespace: Some(NAMESPACE.to_owned()),
        name: addon.name.clone(),
    }
}

/// The issuer, as it is named to an operator: `Issuer/kube-system/<name>`.
pub fn issuer_shown(addon: &Addon) -> String {
    format!("{}/{NAMESPACE}/{}", ISSUER.1, addon.name)
}

/// The Secret of a new authority: PEM of its certificate and its key.
pub fn ca_secret(addon: &Addon, certificate: &str, key: &Secret<String>) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret_name(addon), "namespace": NAMESPACE},
        "type": "kubernetes.io/tls",
        "data": {
            "tls.crt": STANDARD.encode(certificate),
            "tls.key": STANDARD.encode(key.expose()),
        },
    })
}

/// The issuer that signs with the CA.
pub fn issuer(addon: &Addon) -> Value {
    json!({
        "apiVersion": ISSUER.0,
        "kind": ISSUER.1,
        "metadata": {"name": addon.name, "namespace": NAMESPACE},
        "spec": {"ca": {"secretName": secret_name(addon)}},
    })
}

/// The fault of an add-on whose issuer cannot be made yet, for the API server does not know issuers.
pub fn issuer_unserved(addon: &Addon) -> Fault {
    let (name, kind) = (&addon.name, issuer_kind());
    let summary = format!("{name} needs an {kind}, and that is not served");
    Fault::new(Code::AddonsIssuerUnserved, summary)
        .seen("addon", name)
        .seen("object", issuer_shown(addon))
}

#[cfg(test)]
mod tests {
    use super::super::channel::sample;
    use super::*;
    use quake_model::cluster_object::ClusterObject;
    use quake_model::fault::Class;

    const NAME: &str = "eks-pod-identity-webhook.addons.k8s.io";

    #[test]
    fn the_secret_is_a_tls_secret_beside_the_issuer_that_names_it() {
        let addon = Addon {
            namespace: "other".to_owned(),
            ..sample(NAME)
        };
        let key = Secret::new("KEY".to_owned());
        let secret = ca_secret(&addon, "CERTIFICATE", &key);
        let place = ca_place(&addon);
        let wanted = "Secret/kube-system/eks-pod-identity-webhook.addons.k8s.io-ca";
        assert_eq!(place.to_string(), wanted);
        assert_eq!(secret["metadata"]["name"], place.name.as_str());
        assert_eq!(secret["type"], "kubernetes.io/tls");
        let data = json!({"tls.crt": "Q0VSVElGSUNBVEU=", "tls.key": "S0VZ"});
        assert_eq!(secret["data"], data);
        let issuer = issuer(&addon);
        assert_eq!(issuer["spec"]["ca"]["secretName"], place.name.as_str());
        let issuer = ClusterObject::new(issuer).expect("an object");
        assert_eq!(issuer.kind(), issuer_kind());
        assert_eq!(issuer.namespace(), Some("kube-system"));
        assert_eq!(issuer_shown(&addon), format!("Issuer/kube-system/{NAME}"));
    }

    #[test]
    fn neither_has_a_label_that_prune_could_find() {
        let addon = sample(NAME);
        let key = Secret::new(String::new());
        for object in [ca_secret(&addon, "", &key), issuer(&addon)] {
            assert_eq!(object["metadata"].get("labels"), None);
        }
    }

    #[test]
    fn an_issuer_that_is_not_served_is_waited_for_and_named() {
        let fault = issuer_unserved(&sample(NAME));
        assert_eq!(fault.class(), Class::NotYet);
        assert_eq!(fault.evidence_named("addon"), Some(NAME));
    }
}
