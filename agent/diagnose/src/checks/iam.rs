//! Checks of what the node's role may do: one for each action that a role needs, each with the statement it lacks.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_model::facts::{PermissionSeen, Permitted, Unseen};
use quake_model::fault::Code;
use quake_model::iam::policy::{Request, policy};
use quake_model::iam::{Caller, GRANTS, Statement};
use quake_model::location::Location;

/// A check of permissions; all are made the same way.
macro_rules! permission {
    ($id:literal, $severity:ident, $judge:ident, $title:literal, $why:literal, $because:expr) => {
        Check {
            id: $id,
            title: $title,
            severity: Severity::$severity,
            tags: &["aws", "iam"],
            sources: &[Source::Permissions],
            because: $because,
            why: $why,
            remedy: "add the statement in the finding to the role's policy; quake-agent iam policy prints the whole policy",
            judge: $judge,
        }
    };
}

/// What explains that nothing is allowed at all: no credentials, or a clock by which every signature is refused.
const AS_ROLE: &[&str] = &["time.sync", "identity.profile"];

/// The same for policies that ask for the instance's tags.
const AS_TAGGED: &[&str] = &["time.sync", "identity.profile", "identity.tags"];

pub(super) const CHECKS: &[Check] = &[
    permission!(
        "iam.describe-instances",
        Critical,
        describe_instances,
        "the role may describe instances",
        "the agent uses it to read the instance's tags, and which instance has a volume",
        AS_ROLE
    ),
    permission!(
        "iam.describe-volumes",
        Critical,
        describe_volumes,
        "the role may describe volumes",
        "the agent uses it to find etcd's volumes",
        AS_ROLE
    ),
    permission!(
        "iam.attach-volume",
        Critical,
        attach_volume,
        "the role may attach the cluster's volumes to this instance",
        "without its volume an etcd member does not start; policies check the tags of both the volume and the instance",
        AS_TAGGED
    ),
    permission!(
        "iam.modify-attribute",
        Warning,
        modify_attribute,
        "the role may keep a volume when its instance is terminated",
        "a volume that was attached by hand may be deleted with the instance, and etcd's data with it",
        AS_TAGGED
    ),
    permission!(
        "iam.tag-volume",
        Warning,
        tag_volume,
        "the role may tag the cluster's volumes",
        "the tags say which cluster a volume's data belongs to, and that it was formatted",
        AS_ROLE
    ),
    permission!(
        "iam.state-store",
        Critical,
        state_store,
        "the role may read the cluster's objects in the state store",
        "the node's configuration, keys and certificates come from there",
        AS_ROLE
    ),
    permission!(
        "iam.autoscaling",
        Warning,
        autoscaling,
        "the role may report the node's state to its Auto Scaling group",
        "a node that cannot report its failure is not replaced, and a lifecycle hook waits until it times out",
        AS_ROLE
    ),
];

fn describe_instances(node: &Node<'_>) -> Result<Verdict, Unseen> {
    one_of(node, "ec2:DescribeInstances", Code::IdentityDescribeDenied)
}

fn describe_volumes(node: &Node<'_>) -> Result<Verdict, Unseen> {
    one_of(node, "ec2:DescribeVolumes", Code::StorageDescribeDenied)
}

fn attach_volume(node: &Node<'_>) -> Result<Verdict, Unseen> {
    one_of(node, "ec2:AttachVolume", Code::StorageAttachDenied)
}

fn modify_attribute(node: &Node<'_>) -> Result<Verdict, Unseen> {
    one_of(node, "ec2:ModifyInstanceAttribute", Code::StorageTagDenied)
}

fn tag_volume(node: &Node<'_>) -> Result<Verdict, Unseen> {
    one_of(node, "ec2:CreateTags", Code::StorageTagDenied)
}

fn state_store(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let base = node
        .expected()
        .map(|expected| expected.config_base.as_str());
    if node
        .expected()
        .is_ok_and(|it| !it.bootstrap_servers.is_empty())
    {
        return Verdict::skip(
            "kops-controller sends the configuration; the node reads no state store",
        );
    }
    if base.is_ok_and(|base| !base.is_empty() && !base.starts_with("s3://")) {
        return Verdict::skip("the state store is not in S3");
    }
    of_service(node, "s3:", Code::ConfigStoreDenied)
}

fn autoscaling(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let seen = node.survey().permissions.get()?;
    match seen
        .iter()
        .any(|one| one.action.starts_with("autoscaling:"))
    {
        true => of_service(node, "autoscaling:", Code::BootSignalDenied),
        false => Verdict::skip("no signals to an autoscaling group are asked for"),
    }
}

/// Judges one action of EC2, on nodes that need it.
fn one_of(node: &Node<'_>, action: &str, code: Code) -> Result<Verdict, Unseen> {
    if let Some(role) = node.role()
        && !needs(role, action)
    {
        return Verdict::skip(format!("a node of the role {role} does not need {action}"));
    }
    of_service(node, action, code)
}

/// Whether a node of this role ever calls an action.
fn needs(role: &str, action: &str) -> bool {
    let caller = caller_of(role);
    let mut grants = GRANTS.iter();
    grants.any(|grant| grant.actions.contains(&action) && grant.callers.contains(&caller))
}

fn caller_of(role: &str) -> Caller {
    match role {
        "control-plane" => Caller::ControlPlane,
        _ => Caller::Worker,
    }
}

/// Judges all that was tried whose action begins so: a refusal counts before what could not be found out.
fn of_service(node: &Node<'_>, action: &str, code: Code) -> Result<Verdict, Unseen> {
    let seen = node.survey().permissions.get()?;
    let tried = || seen.iter().filter(|one| one.action.starts_with(action));
    for one in tried() {
        if let Permitted::No { message } = &one.permitted {
            return denied(node, one, message, code);
        }
    }
    for one in tried() {
        if let Permitted::Unknown { why } = &one.permitted {
            let (action, resource) = (&one.action, &one.resource);
            return Err(Unseen::Failed(format!("{action} on {resource}: {why}")));
        }
    }
    let allowed: Vec<&str> = tried().map(|one| one.action.as_str()).collect();
    match allowed.is_empty() {
        true => Err(Unseen::NotTaken(format!("{action} was not tried"))),
        false => Verdict::ok(format!("{} allowed", allowed.join(", "))),
    }
}

fn denied(
    node: &Node<'_>,
    one: &PermissionSeen,
    message: &str,
    code: Code,
) -> Result<Verdict, Unseen> {
    let role = node
        .survey()
        .metadata
        .ok()
        .and_then(|seen| seen.role.clone());
    let role = role.map_or_else(
        || "the node's role".to_owned(),
        |role| format!("the role {role}"),
    );
    let (action, resource) = (&one.action, &one.resource);
    // What is denied in so many words, or has a limit above the policy, is not allowed by one statement more.
    let fix = if message.contains("explicit deny") {
        format!(
            "a policy denies {action} in so many words: find it among those of {role}, of the organization and of the resource, and take {resource} out of it"
        )
    } else if message.contains("no permissions boundary allows") {
        format!(
            "the permissions boundary of {role} does not allow it (aws iam get-role shows PermissionsBoundary; aws iam delete-role-permissions-boundary takes it away): add to that policy: {}",
            statement(node, one)
        )
    } else {
        format!("add to the policy of {role}: {}", statement(node, one))
    };
    Finding::new(format!("{role} may not {action} on {resource}"), fix)
        .coded(code)
        .seen("AWS said", message)
        .fail()
}

/// The missing statements as JSON: those of this very cluster where it is known.
fn statement(node: &Node<'_>, one: &PermissionSeen) -> String {
    let of_cluster = request(node).and_then(|request| policy(&request).ok());
    let fits = |statement: &Statement| statement.action.contains(&one.action);
    let statements: Vec<Statement> = of_cluster
        .map(|policy| policy.statement.into_iter().filter(fits).collect())
        .unwrap_or_default();
    let json = |statements: &[Statement]| serde_json::to_string(statements).unwrap_or_default();
    match (statements.is_empty(), &one.statement) {
        (false, _) => json(&statements),
        (true, Some(reported)) => reported.clone(),
        (true, None) => json(&[Statement::allow(&one.action, vec![one.resource.clone()])]),
    }
}

fn request(node: &Node<'_>) -> Option<Request> {
    let record = node.record().ok()?;
    let spec = record.spec.as_ref()?;
    let expected = node.expected().ok()?;
    let state_store: Location = expected.config_base.parse().ok()?;
    let instance = record.instance.as_ref()?;
    Some(Request {
        caller: caller_of(&spec.role),
        cluster: spec.cluster.clone(),
        state_store,
        region: Some(instance.region.clone()),
        account: Some(instance.account_id.clone()),
        partition: None,
        with_signals: false,
        with_repair: false,
        with_newer_kops: expected.is_of_current_kops(),
        zone: None,
        assets: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::fixtures::expected_of;
    use super::super::fixtures::{control_plane, metadata, says, worker};
    use super::*;
    use quake_model::facts::{Seen, Survey};

    fn seen(action: &str, permitted: Permitted) -> PermissionSeen {
        PermissionSeen {
            action: action.to_owned(),
            resource: "*".to_owned(),
            permitted,
            statement: None,
        }
    }

    fn no(message: &str) -> Permitted {
        Permitted::No {
            message: message.to_owned(),
        }
    }

    fn with(base: Survey, permissions: Vec<PermissionSeen>) -> Survey {
        Survey {
            permissions: Seen::Yes(permissions),
            metadata: Seen::Yes(metadata()),
            ..base
        }
    }

    /// The finding of a check that fails.
    fn finding(id: &str, survey: &Survey) -> Finding {
        let check = find(id).expect("it is in the table");
        match (check.judge)(&Node::new(survey)) {
            Ok(Verdict::Fail(finding)) => finding,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_action_is_judged_by_what_was_tried() {
        for (id, action, code) in [
            (
                "iam.describe-instances",
                "ec2:DescribeInstances",
                "identity.describe-denied",
            ),
            (
                "iam.describe-volumes",
                "ec2:DescribeVolumes",
                "storage.describe-denied",
            ),
            (
                "iam.attach-volume",
                "ec2:AttachVolume",
                "storage.attach-denied",
            ),
            (
                "iam.modify-attribute",
                "ec2:ModifyInstanceAttribute",
                "storage.tag-denied",
            ),
            ("iam.tag-volume", "ec2:CreateTags", "storage.tag-denied"),
            ("iam.state-store", "s3:GetObject", "config.store-denied"),
            (
                "iam.autoscaling",
                "autoscaling:SetInstanceHealth",
                "boot.signal-denied",
            ),
        ] {
            let said = |permitted| says(id, &with(control_plane(), vec![seen(action, permitted)]));
            assert_eq!(said(Permitted::Yes), format!("ok: {action} allowed"));
            let denied = said(no("You are not authorized"));
            assert!(
                denied.starts_with("fail: the role nodes.c.example.com may not "),
                "{denied}"
            );
            assert!(denied.ends_with(&format!("[{code}]")), "{denied}");
            let unknown = said(Permitted::Unknown {
                why: "no answer".to_owned(),
            });
            assert_eq!(unknown, format!("error: {action} on *: no answer"));
            assert!(says(id, &control_plane()).starts_with("skip: "));
            assert!(says(id, &with(control_plane(), Vec::new())).starts_with("skip: "));
        }
    }

    #[test]
    fn a_worker_needs_no_permission_of_the_control_plane() {
        let all = [
            "ec2:DescribeVolumes",
            "ec2:AttachVolume",
            "ec2:ModifyInstanceAttribute",
            "ec2:CreateTags",
        ];
        let survey = with(
            worker(),
            all.map(|action| seen(action, no("denied"))).into(),
        );
        for id in [
            "iam.describe-volumes",
            "iam.attach-volume",
            "iam.modify-attribute",
            "iam.tag-volume",
        ] {
            let said = says(id, &survey);
            assert!(
                said.starts_with("skip: a node of the role worker"),
                "{said}"
            );
        }
    }

    #[test]
    fn the_missing_statement_is_that_of_the_cluster() {
        let survey = with(
            control_plane(),
            vec![seen("ec2:AttachVolume", no("You are not authorized"))],
        );
        let fix = finding("iam.attach-volume", &survey).fix;
        for part in [
            r#""Sid":"QuakeAttachVolume""#,
            r#""arn:aws:ec2:us-west-2:111122223333:volume/*""#,
            r#""aws:ResourceTag/KubernetesCluster":["c.example.com"]"#,
        ] {
            assert!(fix.contains(part), "{part} is not in {fix}");
        }
        assert!(!fix.contains("DescribeVolumes"), "{fix}");
        let survey = with(worker(), vec![seen("s3:GetObject", no("Access Denied"))]);
        let fix = finding("iam.state-store", &survey).fix;
        let object = "arn:aws:s3:::state/c.example.com/cluster.spec";
        assert!(fix.contains(object), "{fix}");
    }

    #[test]
    fn an_explicit_denial_is_not_answered_with_a_statement() {
        let message = "User: x is not authorized to perform: s3:GetObject with an explicit deny in a service control policy";
        let survey = with(worker(), vec![seen("s3:GetObject", no(message))]);
        let fix = finding("iam.state-store", &survey).fix;
        assert!(!fix.contains("\"Allow\""), "{fix}");
    }

    #[test]
    fn what_a_boundary_does_not_allow_is_added_to_the_boundary() {
        let message = "User: x is not authorized to perform: s3:GetObject because no permissions boundary allows the s3:GetObject action";
        let survey = with(worker(), vec![seen("s3:GetObject", no(message))]);
        let fix = finding("iam.state-store", &survey).fix;
        assert!(
            fix.starts_with("the permissions boundary of the role "),
            "{fix}"
        );
    }

    #[test]
    fn a_state_store_that_is_no_bucket_needs_no_permission() {
        let mut survey = worker();
        expected_of(&mut survey).config_base = "file:///srv/state".to_owned();
        let said = says("iam.state-store", &survey);
        assert_eq!(said, "skip: the state store is not in S3");
    }
}
