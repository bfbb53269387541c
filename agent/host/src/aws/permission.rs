//! What to do about a denied call: the permission that is lacking, as exactly as the answer and the attempt
//! tell, and the statement of `quake-agent iam policy` that grants it.

use super::failure::Attempt;
use super::refusal::{Refusal, named_permission};
use quake_model::iam::{Grant, Reach, Statement, grant_of};

/// Stands for the cluster's name, which a call to AWS does not carry.
const CLUSTER: &str = "<cluster>";

/// How to get the permission that `refusal` says is lacking.
pub(super) fn remedy(attempt: &Attempt, refusal: &Refusal) -> String {
    let named = named_permission(&refusal.message);
    let (action, resources, key) = match named {
        Some((action, resource)) if action != attempt.action => {
            (action, vec![resource.to_owned()], key_of(resource))
        }
        Some((action, resource)) => (action, vec![resource.to_owned()], attempt.key.as_str()),
        None => (
            attempt.action,
            attempt.resources.clone(),
            attempt.key.as_str(),
        ),
    };
    let on = resources.join(" and ");
    if refusal.message.contains("explicit deny") {
        return format!(
            "a policy denies {action} on {on} explicitly, and no allowance outweighs it: change that policy"
        );
    }
    let mut text = format!("allow {action} on {on} for the role that signed the request");
    if action == "s3:GetObject" {
        let bucket = resources.first().map_or("", String::as_str);
        let bucket = bucket.split('/').next().unwrap_or_default();
        text.push_str(&format!(
            "; without s3:ListBucket on {bucket} S3 answers the same for an object that does not exist"
        ));
    }
    if refusal.message.to_ascii_lowercase().contains("kms") && !action.starts_with("kms:") {
        text.push_str("; the object is encrypted: allow kms:Decrypt on its key too");
    }
    text.push_str(&in_policy(
        action,
        grant_of(action, key),
        resources,
        attempt,
    ));
    text
}

/// The statement for the permission, and what of it stands in the agent's own policies.
fn in_policy(
    action: &str,
    grant: Option<&Grant>,
    resources: Vec<String>,
    attempt: &Attempt,
) -> String {
    let Some(grant) = grant else {
        let statement = written(&Statement::allow(action, resources));
        return format!(
            "; the statement, which `quake-agent iam policy` has not by default: {statement}"
        );
    };
    let prefixes = [format!("{}*", attempt.key)];
    let statements = grant.statements(CLUSTER, &resources, &prefixes);
    let statement = statements.first().map(written).unwrap_or_default();
    let sid = grant.sid;
    let tags = match grant.reach {
        Reach::Cluster(_) | Reach::OwnTags(_) | Reach::Groups => format!(
            "; with {sid} each must carry the tag KubernetesCluster={CLUSTER}, with {sid}Owned the tag kubernetes.io/cluster/{CLUSTER}=owned"
        ),
        Reach::Everything
        | Reach::Objects(_)
        | Reach::Bucket
        | Reach::Names(_)
        | Reach::Interfaces
        | Reach::Zone
        | Reach::Changes => String::new(),
    };
    format!("; statement {sid} of `quake-agent iam policy`: {statement}{tags}")
}

fn written(statement: &Statement) -> String {
    serde_json::to_string(statement).unwrap_or_default()
}

/// The key of an object's ARN; empty for other ARNs, which name no path.
fn key_of(resource: &str) -> &str {
    let object = resource.split_once(":::").map(|(_, object)| object);
    object
        .and_then(|object| object.split_once('/'))
        .map_or("", |(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(action: &'static str, resources: &[&str], key: &str) -> Attempt {
        Attempt {
            action,
            resources: resources.iter().map(|&resource| resource.into()).collect(),
            key: key.to_owned(),
            subject: "it".to_owned(),
            endpoint: "there".to_owned(),
        }
    }

    fn refusal(message: &str) -> Refusal {
        Refusal {
            code: "AccessDenied".to_owned(),
            message: message.to_owned(),
            status: 403,
            ..Refusal::default()
        }
    }

    #[test]
    fn a_denied_attachment_gets_its_statement_with_the_condition() {
        let requested = attempt("ec2:AttachVolume", &["arn:v/vol-1", "arn:instance/i-1"], "");
        let text = remedy(&requested, &refusal("You are not authorized"));
        let statement = r#"{"Sid":"QuakeAttachVolume","Effect":"Allow","Action":["ec2:AttachVolume"],"Resource":["arn:v/vol-1","arn:instance/i-1"],"Condition":{"StringEquals":{"aws:ResourceTag/KubernetesCluster":["<cluster>"]}}}"#;
        assert!(text.contains(statement), "{text}");
        assert!(text.contains("QuakeAttachVolumeOwned"), "{text}");
    }

    #[test]
    fn a_denied_object_and_a_denied_listing_get_their_statements() {
        let key = "c/pki/private/kubelet/keyset.yaml";
        let requested = attempt("s3:GetObject", &["arn:aws:s3:::b/c/pki"], key);
        let text = remedy(&requested, &refusal("Access Denied"));
        assert!(text.contains(r#"{"Sid":"QuakeReadCredentials","#), "{text}");
        let requested = attempt("s3:ListBucket", &["arn:aws:s3:::b"], "c/pki/issued/ca/");
        let text = remedy(&requested, &refusal("Access Denied"));
        let condition = r#""Condition":{"StringLike":{"s3:prefix":["c/pki/issued/ca/*"]}}"#;
        assert!(text.contains(condition), "{text}");
    }

    #[test]
    fn a_permission_the_agent_never_asks_for_is_written_without_a_sid() {
        let requested = attempt("s3:GetObject", &["arn:aws:s3:::b/c/cluster.spec"], "c/x");
        let text = "User: x is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:k because no identity-based policy allows it";
        let text = remedy(&requested, &refusal(text));
        assert!(
            text.starts_with("allow kms:Decrypt on arn:aws:kms:k for"),
            "{text}"
        );
        let statement =
            r#"{"Effect":"Allow","Action":["kms:Decrypt"],"Resource":["arn:aws:kms:k"]}"#;
        assert!(text.contains(statement), "{text}");
        assert!(!text.contains("statement Quake"), "{text}");
    }

    #[test]
    fn an_explicit_denial_is_not_answered_with_an_allowance() {
        let requested = attempt("s3:GetObject", &["arn:aws:s3:::b/k"], "k");
        let text = "User: x is not authorized to perform: s3:GetObject on resource: arn:aws:s3:::b/k with an explicit deny in a resource-based policy";
        let text = remedy(&requested, &refusal(text));
        assert!(!text.contains("\"Allow\""), "{text}");
        assert!(text.contains("s3:GetObject on arn:aws:s3:::b/k"), "{text}");
    }
}
