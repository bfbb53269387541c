//! Checks of who this instance is, and in whose name it may ask.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_formats::tags::{own_tag_keys, own_tags_seen};
use quake_model::facts::{InstanceView, Seen, Unseen};
use quake_model::fault::Code;
use quake_model::ports::Condition;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "identity.metadata",
        title: "the instance metadata service answers",
        severity: Severity::Critical,
        tags: &["aws", "metadata"],
        sources: &[Source::Metadata],
        because: &[
            "net.drops",
            "net.links",
            "net.managers",
            "net.routes",
            "net.proxy",
        ],
        why: "it gives the node its instance id, its user data and its credentials",
        remedy: "check the route to 169.254.169.254, that no proxy or firewall blocks it, and that it is enabled for the instance",
        judge: metadata,
    },
    Check {
        id: "identity.profile",
        title: "the instance has a role with valid credentials",
        severity: Severity::Critical,
        tags: &["aws", "iam"],
        sources: &[Source::Metadata],
        because: &["dns.resolvers", "identity.metadata", "time.sync"],
        why: "without a role the agent can neither read the state store nor attach volumes",
        remedy: "attach an instance profile to the instance and to its launch template",
        judge: profile,
    },
    Check {
        id: "identity.instance",
        title: "the records on this host belong to this instance",
        severity: Severity::Critical,
        tags: &["image"],
        sources: &[Source::Files, Source::Metadata],
        because: &[],
        why: "records from an image belong to another instance, and hide that nothing ran on this one",
        remedy: "start the agent here, and clean the image before it is made: quake-agent seed verify",
        judge: instance,
    },
    Check {
        id: "identity.tags",
        title: "the instance has the tags of its cluster",
        severity: Severity::Critical,
        tags: &["aws", "tags"],
        sources: &[Source::Files, Source::Volumes],
        because: &["identity.profile"],
        why: "kubelet's cloud provider reads them once at its start, and strict IAM policies require them",
        remedy: "tag the instance, and let its Auto Scaling group propagate the tags at launch",
        judge: tags,
    },
];

/// One read of the metadata service takes about a millisecond; from here on something stands in its way.
const SLOW_MS: u64 = 1000;

fn metadata(node: &Node<'_>) -> Result<Verdict, Unseen> {
    match &node.survey().metadata {
        Seen::Yes(seen) if seen.took_ms >= SLOW_MS => Finding::new(
            format!("the metadata service took {} ms for one read", seen.took_ms),
            "look for a proxy or a packet filter before it: curl -w '%{time_total}' http://169.254.169.254/; iptables -t nat -S | grep 169.254",
        )
        .warn(),
        Seen::Yes(seen) => {
            let (instance, took) = (&seen.instance, seen.took_ms);
            let (id, kind, zone) = (&instance.instance_id, &instance.instance_type, &instance.zone);
            Verdict::ok(format!("{id}, {kind} in {zone}, after {took} ms"))
        }
        Seen::TimedOut(millis) => {
            let code = Code::IdentityImdsUnreachable;
            let summary = format!("the metadata service did not answer in {millis} ms");
            Finding::new(summary, code.entry().remedy).coded(code).fail()
        }
        Seen::Failed(why) => {
            let code = code_of(why.condition);
            Finding::new(&why.text, unanswered(node, code)).coded(code).fail()
        }
        unseen => unseen.get().and_then(|_| Verdict::skip("it was not asked")),
    }
}

/// The fault of a failed read, as a boot has it. EC2 answers 403 while the service is turned off.
fn code_of(condition: Condition) -> Code {
    match condition {
        Condition::Denied => Code::IdentityImdsDisabled,
        Condition::Malformed => Code::IdentityImdsMalformed,
        _ => Code::IdentityImdsUnreachable,
    }
}

fn unanswered(node: &Node<'_>, code: Code) -> String {
    let id = own_id(node).map_or("<id>", |(id, _)| id);
    match code {
        Code::IdentityImdsDisabled => code.entry().remedy.replace("<id>", id),
        code => code.entry().remedy.to_owned(),
    }
}

fn profile(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let seen = node.survey().metadata.get()?;
    let id = &seen.instance.instance_id;
    let Some(role) = &seen.role else {
        return Finding::new(
            format!("{id} has no role"),
            format!("aws ec2 associate-iam-instance-profile --instance-id {id} --iam-instance-profile Name=<profile>; and name it in the launch template"),
        )
        .coded(Code::IdentityRoleMissing)
        .fail();
    };
    if let Some(why) = &seen.credentials_problem {
        return Finding::new(
            format!("the role {role} has no credentials: {why}"),
            format!("let ec2.amazonaws.com assume {role}: its trust policy must allow sts:AssumeRole, and the instance profile must hold it"),
        )
        .fail();
    }
    match seen.credentials_end {
        Some(end) if end <= node.taken() => Finding::new(
            format!("the credentials of the role {role} ended at {end}"),
            "compare the clock with the right time (chronyc tracking); if it is right, the metadata service hands out old credentials: stop and start the instance",
        )
        .seen("local time", node.taken())
        .fail(),
        Some(end) => Verdict::ok(format!("{role}, until {end}")),
        None => Verdict::ok(role.clone()),
    }
}

fn instance(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    let Some(recorded) = &record.instance else {
        return Verdict::skip("the boot has not come so far as to know its instance");
    };
    let Some((own, source)) = own_id(node) else {
        let why = "nothing that was looked at names this instance".to_owned();
        return Err(Unseen::NotTaken(why));
    };
    if recorded.instance_id == own {
        return Verdict::ok(format!("{own}, by {source}"));
    }
    Finding::new(
        format!(
            "the latest boot recorded here is of {}, and this is {own}",
            recorded.instance_id
        ),
        "systemctl restart quake-agent.service; and leave the record out of the image: rm -r /var/lib/quake-agent/boots before it is made",
    )
    .seen("recorded", format_args!("{} at {}", recorded.instance_id, record.started))
    .seen("this instance", format_args!("{own}, by {source}"))
    .fail()
}

/// Where an instance of the Nitro system shows its id to its own kernel.
const ASSET_TAG: &str = "/sys/devices/virtual/dmi/id/board_asset_tag";

/// The link that cloud-init makes at each boot to what it keeps for this instance.
const CLOUD_INIT: &str = "/var/lib/cloud/instance";

/// This instance's id, and who says so.
pub(super) fn own_id<'a>(node: &Node<'a>) -> Option<(&'a str, &'static str)> {
    let survey = node.survey();
    let metadata = survey.metadata.ok();
    let metadata = metadata.map(|seen| (seen.instance.instance_id.as_str(), "its metadata"));
    let board = || {
        let text = node.text(ASSET_TAG).ok().flatten()?.trim();
        text.starts_with("i-").then_some((text, "its board"))
    };
    let link = || {
        let entry = survey.entries.get(CLOUD_INIT)?;
        let last = entry.target.as_deref()?.trim_end_matches('/').rsplit('/');
        let last = last.into_iter().next()?;
        last.starts_with("i-").then_some((last, "cloud-init"))
    };
    metadata.or_else(board).or_else(link)
}

fn tags(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    let (Some(spec), Some(instance)) = (&record.spec, &record.instance) else {
        return Verdict::skip("the boot has not come so far as to know its cluster");
    };
    if !needs_tags(node) {
        return Verdict::skip("nothing on this node reads the instance's tags");
    }
    let id = &instance.instance_id;
    let views = node.survey().instances.get()?;
    let Some(own) = views.iter().find(|view| view.instance_id == *id) else {
        return Finding::new(
            format!("EC2 does not show {id}"),
            format!("wait a minute; then look whether region and account are right: aws ec2 describe-instances --instance-ids {id}"),
        )
        .coded(Code::IdentityInstanceUnknown)
        .fail();
    };
    if own_tags_seen(&own.tags, &spec.cluster) {
        return Verdict::ok(format!("{id} is tagged for {}", spec.cluster));
    }
    untagged(own, &spec.cluster)
}

/// Whether kubelet's cloud provider, or the policy of volumes, rests on the instance's own tags.
fn needs_tags(node: &Node<'_>) -> bool {
    let flags = node.expected().map(|expected| &expected.kubelet_flags);
    node.is_control_plane()
        || flags.is_ok_and(|flags| flags.iter().any(|flag| flag == "cloud-provider=aws"))
}

fn untagged(own: &InstanceView, cluster: &str) -> Result<Verdict, Unseen> {
    let (id, keys) = (&own.instance_id, own_tag_keys(cluster));
    let seen: Vec<&str> = own.tags.keys().map(String::as_str).collect();
    Finding::new(
        format!("{id} carries none of the tags {}", keys.join(", ")),
        format!("aws ec2 create-tags --resources {id} --tags Key=KubernetesCluster,Value={cluster}; and set PropagateAtLaunch for it on the autoscaling group; then: systemctl restart kubelet.service"),
    )
    .coded(Code::IdentityTagsPending)
    .seen("tags seen", if seen.is_empty() { "none".to_owned() } else { seen.join(", ") })
    .fail()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{
        CLUSTER, TAKEN, expected_of, metadata, reads, record_of, says, worker,
    };
    use super::*;
    use quake_model::facts::{EntryFacts, EntryKind, InstanceState, LookError, Owner, Survey};
    use quake_model::ports::PortError;
    use quake_model::time::Timestamp;

    #[test]
    fn the_metadata_service_fails_by_what_it_answers() {
        let failed =
            |condition, why: &str| Seen::Failed(LookError::from(&PortError::new(condition, why)));
        let url = "http://169.254.169.254/latest/api/token";
        for (seen, said) in [
            (
                Seen::Yes(metadata()),
                "ok: i-0a, m5.large in us-west-2a, after 2 ms",
            ),
            (
                Seen::TimedOut(1500),
                "fail: the metadata service did not answer in 1500 ms [identity.imds-unreachable]",
            ),
            (
                failed(Condition::Denied, &format!("{url} answered 403")),
                "fail: http://169.254.169.254/latest/api/token answered 403 [identity.imds-disabled]",
            ),
            (
                failed(
                    Condition::Malformed,
                    "it answered something that is not a token",
                ),
                "fail: it answered something that is not a token [identity.imds-malformed]",
            ),
            (
                failed(Condition::Unreachable, "no route to host"),
                "fail: no route to host [identity.imds-unreachable]",
            ),
            (Seen::NotTaken("offline".to_owned()), "skip: offline"),
        ] {
            let survey = Survey {
                metadata: seen,
                ..worker()
            };
            assert_eq!(says("identity.metadata", &survey), said);
        }
    }

    #[test]
    fn a_slow_metadata_service_is_a_warning() {
        let mut seen = metadata();
        seen.took_ms = 1200;
        let survey = Survey {
            metadata: Seen::Yes(seen),
            ..worker()
        };
        let said = says("identity.metadata", &survey);
        assert_eq!(said, "warn: the metadata service took 1200 ms for one read");
    }

    #[test]
    fn a_role_counts_only_with_credentials_in_force() {
        let with = |change: fn(&mut quake_model::facts::MetadataSeen)| {
            let mut seen = metadata();
            change(&mut seen);
            let survey = Survey {
                metadata: Seen::Yes(seen),
                ..worker()
            };
            says("identity.profile", &survey)
        };
        assert!(with(|_| ()).starts_with("ok: nodes.c.example.com, until "));
        assert_eq!(
            with(|seen| seen.role = None),
            "fail: i-0a has no role [identity.role-missing]"
        );
        let ended = with(|seen| seen.credentials_end = Some(Timestamp(TAKEN.0 - 1)));
        assert!(ended.contains(" ended at "), "{ended}");
        let refused = with(|seen| seen.credentials_problem = Some("AssumeRoleDenied".to_owned()));
        assert!(
            refused.contains("no credentials: AssumeRoleDenied"),
            "{refused}"
        );
        assert_eq!(
            says("identity.profile", &worker()),
            "skip: nothing recorded it"
        );
    }

    #[test]
    fn a_record_of_another_instance_is_told_by_metadata_board_or_cloud_init() {
        let mut survey = worker();
        assert!(says("identity.instance", &survey).starts_with("skip: "));
        let link = EntryFacts {
            kind: EntryKind::Link,
            mode: 0o777,
            owner: Owner::default(),
            size: 0,
            modified: TAKEN,
            target: Some("/var/lib/cloud/instances/i-0a".to_owned()),
        };
        survey.entries.insert(CLOUD_INIT.to_owned(), link);
        assert_eq!(
            says("identity.instance", &survey),
            "ok: i-0a, by cloud-init"
        );
        reads(&mut survey, ASSET_TAG, "i-0b\n");
        assert_eq!(
            says("identity.instance", &survey),
            "fail: the latest boot recorded here is of i-0a, and this is i-0b"
        );
        survey.metadata = Seen::Yes(metadata());
        assert_eq!(
            says("identity.instance", &survey),
            "ok: i-0a, by its metadata"
        );
        record_of(&mut survey).instance = None;
        assert!(says("identity.instance", &survey).starts_with("skip: the boot has not come"));
    }

    #[test]
    fn tags_matter_where_something_reads_them() {
        let mut survey = worker();
        assert_eq!(says("identity.tags", &survey), "skip: nothing recorded it");
        let mut own = InstanceView {
            private_ip: String::new(),
            instance_id: "i-0a".to_owned(),
            state: InstanceState::Running,
            launched: TAKEN,
            zone: "us-west-2a".to_owned(),
            tags: std::collections::BTreeMap::new(),
            device_names: Vec::new(),
        };
        survey.instances = Seen::Yes(Vec::new());
        assert!(says("identity.tags", &survey).ends_with("[identity.instance-unknown]"));
        survey.instances = Seen::Yes(vec![own.clone()]);
        let said = says("identity.tags", &survey);
        assert!(
            said.starts_with("fail: i-0a carries none of the tags"),
            "{said}"
        );
        let mut foreign = survey.clone();
        expected_of(&mut foreign).kubelet_flags.clear();
        assert!(says("identity.tags", &foreign).starts_with("skip: "));
        own.tags
            .insert("KubernetesCluster".to_owned(), CLUSTER.to_owned());
        survey.instances = Seen::Yes(vec![own]);
        assert_eq!(
            says("identity.tags", &survey),
            "ok: i-0a is tagged for c.example.com"
        );
    }
}
