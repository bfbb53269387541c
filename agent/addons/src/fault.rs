//! What a failure of an add-on is called.

use super::channel::Addon;
use super::manifest::sha256_of_text;
use quake_model::addon::AddonVersion;
use quake_model::cluster_object::{ObjectKind, ObjectPlace};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::{Condition, PortError};

/// The fault of a change, or of a look, at one object that did not succeed. The object is evidence `object`.
pub fn fault_of_change(place: &ObjectPlace, error: PortError) -> Fault {
    let code = code_of(error.condition);
    let mut fault = error.into_fault(code).seen("object", place);
    let named = place.to_string();
    if !fault.summary.contains(&named) {
        fault.summary = format!("{named}: {}", fault.summary);
    }
    fault
}

/// The fault of a question to the API server that is about no object.
pub fn fault_of_api(error: PortError) -> Fault {
    let code = match code_of(error.condition) {
        // Where no object is spoken of, none was refused: what the server said is not understood.
        Code::AddonsObjectRefused | Code::AddonsObjectConflict | Code::AddonsWebhookSilent => {
            Code::AddonsApiUnreachable
        }
        code => code,
    };
    error.into_fault(code)
}

fn code_of(condition: Condition) -> Code {
    match condition {
        Condition::Missing | Condition::Unknown => Code::AddonsKindUnserved,
        Condition::Denied | Condition::Unsafe => Code::AddonsApiDenied,
        Condition::Throttled | Condition::Limit => Code::AddonsThrottled,
        Condition::ClockSkew => Code::IdentityClockSkew,
        Condition::Exhausted => Code::BootResourcesExhausted,
        Condition::Conflict => Code::AddonsObjectConflict,
        Condition::Malformed
        | Condition::Impossible
        | Condition::Occupied
        | Condition::DigestMismatch => Code::AddonsObjectRefused,
        Condition::NotReady => Code::AddonsWebhookSilent,
        Condition::Unreachable | Condition::TimedOut | Condition::Io | Condition::NoSpace => {
            Code::AddonsApiUnreachable
        }
    }
}

/// The fault of a channel or a manifest that cannot be read from where it is. The location is evidence `source`.
pub fn fault_of_read(location: &Location, error: PortError) -> Fault {
    let code = match error.condition {
        Condition::ClockSkew => Code::IdentityClockSkew,
        Condition::Exhausted => Code::BootResourcesExhausted,
        _ => Code::AddonsChannelUnreadable,
    };
    error.into_fault(code).seen("source", location)
}

/// The fault of a manifest that is not the one whose hash the channel names.
pub fn mismatch(addon: &Addon, bytes: &[u8]) -> Fault {
    let found = sha256_of_text(String::from_utf8_lossy(bytes).trim());
    let wanted = &addon.version.manifest_hash;
    let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
    let summary = format!(
        "{} has the hash {}, and the channel names {}",
        addon.manifest,
        short(&found),
        short(wanted)
    );
    Fault::new(Code::AddonsManifestMismatch, summary)
        .seen("source", &addon.manifest)
        .seen("addon", &addon.name)
}

/// The fault of a kind that the API server does not serve.
pub fn unserved(kind: &ObjectKind, name: &str) -> Fault {
    let summary = format!("{kind} is not served, and {name} is one");
    Fault::new(Code::AddonsKindUnserved, summary).seen("object", format!("{}/{name}", kind.kind))
}

/// The fault of a definition whose kind is not served after `waited_seconds`, or never will be: then `said` is why, in the
/// server's words.
pub fn not_established(definition: &ObjectPlace, waited_seconds: u64, said: Option<&str>) -> Fault {
    let summary = match said {
        Some(said) => format!("{definition}: {said}"),
        None => format!("{definition}: not established within {waited_seconds} s"),
    };
    Fault::new(Code::AddonsCrdNotEstablished, summary).seen("object", definition)
}

/// The fault of an object that could not be removed.
pub fn prune_failed(place: &ObjectPlace, error: PortError) -> Fault {
    let fault = error
        .into_fault(Code::AddonsPruneFailed)
        .seen("object", place);
    Fault {
        summary: format!("{place} could not be removed: {}", fault.summary),
        ..fault
    }
}

/// The fault of applying when another node holds the lease.
pub fn lease_lost(lease: &str, holder: &str) -> Fault {
    let summary = format!("the lease {lease} is held by {holder}");
    Fault::new(Code::AddonsLeaseLost, summary).seen("holder", holder)
}

/// The fault of an add-on that somebody else noted in another version while it was applied.
pub fn contested(addon: &Addon, other: Option<&AddonVersion>) -> Fault {
    let other = other.map_or("another version".to_owned(), |other| {
        format!("the version {other}")
    });
    let summary = format!(
        "somebody else applied {} in {other} at the same time, so the cluster has objects of both versions",
        addon.name
    );
    let fix = "wait a minute: the note is removed, so the agent that holds the lease applies the add-on again; or run quake-agent addons apply again";
    Fault::new(Code::AddonsObjectConflict, summary)
        .remedied_by(fix)
        .seen("version", &addon.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::sample;
    use quake_model::cluster_object::ServedKind;
    use quake_model::fault::Class;

    fn place() -> ObjectPlace {
        ObjectPlace {
            served: ServedKind {
                kind: ObjectKind::from_version("apps/v1", "Deployment"),
                plural: "deployments".to_owned(),
                namespaced: true,
            },
            namespace: Some("kube-system".to_owned()),
            name: "coredns".to_owned(),
        }
    }

    #[test]
    fn each_condition_of_the_port_has_a_name() {
        for (condition, code, class) in [
            (
                Condition::Unreachable,
                Code::AddonsApiUnreachable,
                Class::NotYet,
            ),
            (Condition::Denied, Code::AddonsApiDenied, Class::Denied),
            (
                Condition::Throttled,
                Code::AddonsThrottled,
                Class::Transient,
            ),
            (Condition::Missing, Code::AddonsKindUnserved, Class::NotYet),
            (
                Condition::Conflict,
                Code::AddonsObjectConflict,
                Class::Conflict,
            ),
            (
                Condition::Malformed,
                Code::AddonsObjectRefused,
                Class::Invalid,
            ),
            (
                Condition::NotReady,
                Code::AddonsWebhookSilent,
                Class::Transient,
            ),
            (
                Condition::Impossible,
                Code::AddonsObjectRefused,
                Class::Invalid,
            ),
            (Condition::Unsafe, Code::AddonsApiDenied, Class::Denied),
            (Condition::ClockSkew, Code::IdentityClockSkew, Class::NotYet),
        ] {
            let fault = fault_of_change(&place(), PortError::new(condition, "it was not taken"));
            assert_eq!((fault.code, fault.class()), (code, class));
            assert_eq!(
                fault.summary,
                "Deployment/kube-system/coredns: it was not taken"
            );
            assert_eq!(
                fault.evidence_named("object"),
                Some("Deployment/kube-system/coredns")
            );
        }
    }

    #[test]
    fn what_cannot_be_read_names_its_place() {
        let location = "s3://b/c".parse().expect("a literal");
        let fault = fault_of_read(
            &location,
            PortError::new(Condition::Denied, "s3:GetObject answered AccessDenied"),
        );
        assert_eq!(fault.code, Code::AddonsChannelUnreadable);
        assert_eq!(fault.evidence_named("source"), Some("s3://b/c"));
    }

    #[test]
    fn a_definition_that_is_not_established_shows_the_servers_words() {
        let said = not_established(&place(), 60, Some("\"as\" is already in use"));
        assert_eq!(
            said.summary,
            "Deployment/kube-system/coredns: \"as\" is already in use"
        );
        let waited = not_established(&place(), 60, None);
        assert!(
            waited.summary.ends_with("not established within 60 s"),
            "{waited}"
        );
        assert_eq!(waited.class(), Class::NotYet);
    }

    #[test]
    fn what_could_not_be_removed_is_named() {
        let fault = prune_failed(
            &place(),
            PortError::new(Condition::Unreachable, "it answered 500"),
        );
        assert_eq!(
            fault.summary,
            "Deployment/kube-system/coredns could not be removed: it answered 500"
        );
        assert_eq!(
            fault.evidence_named("object"),
            Some("Deployment/kube-system/coredns")
        );
    }

    #[test]
    fn a_lease_that_is_lost_names_its_holder() {
        let fault = lease_lost("kube-system/quake-agent", "i-0f9e8d");
        assert_eq!(
            fault.summary,
            "the lease kube-system/quake-agent is held by i-0f9e8d"
        );
    }

    #[test]
    fn a_server_that_refuses_a_question_refuses_no_object() {
        let fault = fault_of_api(PortError::new(Condition::Malformed, "/version is no JSON"));
        assert_eq!(fault.code, Code::AddonsApiUnreachable);
    }

    #[test]
    fn a_mismatch_shows_both_hashes() {
        let mut addon = sample("a");
        addon.version.manifest_hash = "c89f00f91983d51347e920cada21c0d4".to_owned();
        let fault = mismatch(&addon, b"other");
        assert!(
            fault
                .summary
                .ends_with("has the hash d9298a10d1b0, and the channel names c89f00f91983"),
            "{fault}"
        );
    }
}
