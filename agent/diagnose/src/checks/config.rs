//! Checks of what the node was told to be: its user data, the state store, and what the boot read in them.
//!
//! Whether a document can be read is for the boot to say, with the line and the column: its faults and warnings are
//! laid over these checks, so most of them only look whether the boot came so far.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::controller;
use super::node::Node;
use quake_model::facts::USER_DATA_LIMIT_BYTES as LIMIT_BYTES;
use quake_model::facts::{ReachSeen, Reached, Unseen};
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "config.user-data",
        title: "the user data exists, is complete and not too large",
        severity: Severity::Critical,
        tags: &["user-data"],
        sources: &[Source::Metadata, Source::Files],
        because: &["identity.metadata"],
        why: "it has the node's configuration; if it is cut off, the configuration is wrong or missing",
        remedy: "render it again, and check it before a launch: quake-agent user-data explain FILE",
        judge: user_data,
    },
    Check {
        id: "config.store",
        title: "the state store can be reached",
        severity: Severity::Critical,
        tags: &["network", "s3"],
        sources: &[Source::Reach, Source::Files],
        because: &[
            "dns.resolvers",
            "dns.names",
            "net.routes",
            "net.proxy",
            "net.host-policy",
            "net.state-store",
            "dns.hosts-file",
            "time.sync",
        ],
        why: "the node's configuration, keys and certificates come from there",
        remedy: "check routes, DNS and proxies to the endpoint; an S3 gateway endpoint works without NAT",
        judge: store,
    },
    Check {
        id: "config.spec",
        title: "the node's configuration was read and is valid",
        severity: Severity::Critical,
        tags: &["spec"],
        sources: &[Source::Files],
        because: &[
            "identity.metadata",
            "identity.profile",
            "iam.state-store",
            "config.user-data",
            "config.store",
            "time.sync",
        ],
        why: "without it the node does not know its role, its versions and its flags",
        remedy: "correct the document at this line and column; test it without a node: quake-agent check FILE",
        judge: spec,
    },
    Check {
        id: "config.copies",
        title: "the state store has the configuration that the instance was launched with",
        severity: Severity::Warning,
        tags: &["spec"],
        sources: &[Source::Files],
        because: &[],
        why: "a reboot applies the store's present configuration, which no launch has tested",
        remedy: "review these fields; roll the instance group to launch nodes with the new configuration",
        judge: drift,
    },
    Check {
        id: "config.keys",
        title: "every key of the configuration is known",
        severity: Severity::Warning,
        tags: &["spec"],
        sources: &[Source::Files],
        because: &[],
        why: "the agent does not know this key; it is often a typing error, and the setting has no effect",
        remedy: "correct or remove these keys",
        judge: keys,
    },
];

fn user_data(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let read = node.record().ok().and_then(|record| record.spec.as_ref());
    if let Some(spec) = read.filter(|spec| !spec.source.contains("user-data")) {
        return Verdict::skip(format!("the configuration is from {}", spec.source));
    }
    let seen = node.survey().metadata.get()?;
    let code = Code::ConfigUserDataUnusable;
    let Some(user_data) = &seen.user_data else {
        return Finding::new(
            "the instance has no user data",
            "name it in the launch template or the launch configuration, and launch a new instance: kops update cluster --yes, then roll the instance group",
        )
        .coded(code)
        .fail();
    };
    let bytes = user_data.bytes;
    let Some(problem) = user_data.problems.first() else {
        return Verdict::ok(format!("{bytes} of at most {LIMIT_BYTES} bytes"));
    };
    let mut finding = Finding::new(
        problem,
        "render it again; before a launch: quake-agent user-data explain FILE",
    )
    .seen(
        "size",
        format_args!("{bytes} of at most {LIMIT_BYTES} bytes"),
    );
    for other in &user_data.problems[1..] {
        finding = finding.seen("also", other);
    }
    // What a boot came up with is no reason not to come up.
    match read {
        Some(_) => finding.warn(),
        None => finding.coded(code).fail(),
    }
}

fn store(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = node.expected().ok();
    if expected.is_some_and(|it| it.config_base.starts_with("file:")) {
        return Verdict::skip("the state store is a directory of this machine");
    }
    if expected.is_some_and(|it| !it.bootstrap_servers.is_empty()) {
        return controller::judge(node);
    }
    let reach = node.survey().reach.get()?;
    let tried: Vec<&ReachSeen> = reach
        .iter()
        .filter(|it| it.purpose == "state-store")
        .collect();
    let is_open = |it: &&&ReachSeen| matches!(it.result, Reached::Connected { .. });
    if let Some(open) = tried.iter().find(is_open) {
        return Verdict::ok(format!(
            "{}:{} after {} ms",
            open.host, open.port, open.took_ms
        ));
    }
    if expected.is_some_and(|it| it.proxied) {
        return Verdict::skip("it is reached by way of a proxy");
    }
    let Some(first) = tried.first() else {
        return Err(Unseen::NotTaken("no connection to it was tried".to_owned()));
    };
    let what = outcome(&first.result);
    let mut finding = Finding::new(
        format!(
            "the state store cannot be reached: {}:{} {what}",
            first.host, first.port
        ),
        format!(
            "look at the route, the security group and the endpoint policy: curl -v https://{}/",
            first.host
        ),
    )
    .coded(Code::ConfigStoreUnreachable);
    for one in tried {
        finding = finding.seen(
            "connection",
            format_args!("{}:{} {}", one.host, one.port, outcome(&one.result)),
        );
    }
    finding.fail()
}

/// What came of a connection, after the name of its host.
pub(super) fn outcome(reached: &Reached) -> String {
    match reached {
        Reached::Connected { .. } => "answers".to_owned(),
        Reached::Refused => "refuses connections".to_owned(),
        Reached::TimedOut => "does not answer".to_owned(),
        Reached::Unreachable { why } => format!("cannot be reached: {why}"),
        Reached::NoAddress => "has no address".to_owned(),
    }
}

fn spec(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let Some(spec) = &node.record()?.spec else {
        return Verdict::skip("the boot has not come so far as to read it");
    };
    let (role, group, version) = (&spec.role, &spec.instance_group, &spec.kubernetes);
    let (cluster, source) = (&spec.cluster, &spec.source);
    Verdict::ok(format!(
        "{role} of {group} in {cluster}, Kubernetes {version}, from {source}"
    ))
}

fn drift(node: &Node<'_>) -> Result<Verdict, Unseen> {
    warned_of(node, Code::ConfigDrift, "it says the same")
}

fn keys(node: &Node<'_>) -> Result<Verdict, Unseen> {
    warned_of(node, Code::ConfigUnknownKey, "all are known")
}

/// All that the boot warned of under this code, in one finding.
fn warned_of(node: &Node<'_>, code: Code, well: &str) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    if !node.has_done(Phase::Config) {
        return Verdict::skip("the boot has not come so far as to read the configuration");
    }
    let warnings: Vec<&Fault> = record
        .warnings
        .iter()
        .filter(|it| it.code == code)
        .collect();
    let Some((first, others)) = warnings.split_first() else {
        return Verdict::ok(well);
    };
    let mut finding = Finding::new(&first.summary, first.remedy_text()).coded(code);
    finding.evidence.extend(first.evidence.iter().cloned());
    for other in others {
        finding = finding.seen("also", &other.summary);
    }
    finding.warn()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{expected_of, metadata, record_of, says, stuck_in, worker};
    use super::super::{all, judge};
    use super::*;
    use quake_model::facts::{Seen, Survey, UserDataSeen};

    fn with_user_data(base: Survey, user_data: Option<UserDataSeen>) -> Survey {
        let mut seen = metadata();
        seen.user_data = user_data;
        Survey {
            metadata: Seen::Yes(seen),
            ..base
        }
    }

    #[test]
    fn user_data_must_be_there_and_whole() {
        let user_data = |problems: &[&str]| {
            let problems = problems.iter().map(|text| (*text).to_owned()).collect();
            Some(UserDataSeen {
                bytes: 9000,
                problems,
            })
        };
        let mut young = worker();
        stuck_in(&mut young, Phase::Config);
        record_of(&mut young).spec = None;
        let said =
            |base: &Survey, seen| says("config.user-data", &with_user_data(base.clone(), seen));
        assert_eq!(
            said(&young, user_data(&[])),
            "ok: 9000 of at most 16384 bytes"
        );
        assert_eq!(
            said(&young, None),
            "fail: the instance has no user data [config.user-data-unusable]"
        );
        assert_eq!(
            said(&young, user_data(&["it is cut short", "no kube_env.yaml"])),
            "fail: it is cut short [config.user-data-unusable]"
        );
        assert_eq!(said(&worker(), user_data(&["odd"])), "warn: odd");
        let mut other = worker();
        record_of(&mut other)
            .spec
            .as_mut()
            .expect("it has one")
            .source = "/etc/node.yaml".into();
        assert_eq!(
            said(&other, None),
            "skip: the configuration is from /etc/node.yaml"
        );
        assert!(says("config.user-data", &young).starts_with("skip: "));
    }

    #[test]
    fn the_state_store_is_reached_directly_or_by_a_proxy() {
        let with = |result: Reached| Survey {
            reach: Seen::Yes(vec![ReachSeen {
                purpose: "state-store".to_owned(),
                host: "state.s3.us-west-2.amazonaws.com".to_owned(),
                port: 443,
                result,
                took_ms: 7,
            }]),
            ..worker()
        };
        let said = says("config.store", &with(Reached::Connected { tls: None }));
        assert_eq!(said, "ok: state.s3.us-west-2.amazonaws.com:443 after 7 ms");
        for (reached, what) in [
            (Reached::Refused, "refuses connections"),
            (Reached::TimedOut, "does not answer"),
            (Reached::NoAddress, "has no address"),
            (
                Reached::Unreachable {
                    why: "no route".into(),
                },
                "cannot be reached: no route",
            ),
        ] {
            let mut survey = with(reached);
            let said = says("config.store", &survey);
            assert!(
                said.ends_with(&format!(":443 {what} [config.store-unreachable]")),
                "{said}"
            );
            expected_of(&mut survey).proxied = true;
            assert!(says("config.store", &survey).starts_with("skip: "));
        }
        let none = Survey {
            reach: Seen::Yes(Vec::new()),
            ..worker()
        };
        assert!(says("config.store", &none).starts_with("skip: "));
        assert!(says("config.store", &worker()).starts_with("skip: "));
    }

    #[test]
    fn a_configuration_that_was_read_names_the_role() {
        let mut survey = worker();
        let said = says("config.spec", &survey);
        assert_eq!(
            said,
            "ok: worker of nodes in c.example.com, Kubernetes 1.15.12, from user-data/kube_env.yaml"
        );
        record_of(&mut survey).spec = None;
        assert!(says("config.spec", &survey).starts_with("skip: "));
        survey.record = None;
        assert!(says("config.spec", &survey).starts_with("skip: "));
    }

    #[test]
    fn a_document_that_the_boot_could_not_read_fails_with_its_line_and_column() {
        let mut survey = worker();
        stuck_in(&mut survey, Phase::Config);
        let record = record_of(&mut survey);
        record.spec = None;
        record.state = quake_model::record::BootState::Failed;
        let fault = Fault::new(Code::ConfigYamlSyntax, "cluster.spec is not YAML")
            .seen("line", 12)
            .seen("column", 3);
        record.fault = Some(fault);
        let report = judge(all(), &survey);
        let first = report.findings().next().expect("it is found");
        assert_eq!(first.check.id, "config.spec");
        let finding = first.finding.as_ref().expect("it failed");
        let line = finding.evidence.iter().find(|it| it.name == "line");
        assert_eq!(line.map(|it| it.value.as_str()), Some("12"));
    }

    #[test]
    fn warnings_of_the_boot_are_one_finding_with_all_of_them() {
        let mut survey = worker();
        assert_eq!(says("config.keys", &survey), "ok: all are known");
        assert_eq!(says("config.copies", &survey), "ok: it says the same");
        let warnings = &mut record_of(&mut survey).warnings;
        warnings.push(Fault::new(
            Code::ConfigUnknownKey,
            "spec.kubelett is not known",
        ));
        warnings.push(Fault::new(
            Code::ConfigUnknownKey,
            "spec.dokcer is not known",
        ));
        warnings.push(Fault::new(Code::ConfigDrift, "kubelet.maxPods changed"));
        assert_eq!(
            says("config.keys", &survey),
            "warn: spec.kubelett is not known [config.unknown-key]"
        );
        assert_eq!(
            says("config.copies", &survey),
            "warn: kubelet.maxPods changed [config.drift]"
        );
        let report = judge(all(), &survey);
        let keys = report.checks.iter().find(|it| it.check.id == "config.keys");
        let finding = keys.and_then(|it| it.finding.as_ref()).expect("it warns");
        assert!(
            finding
                .evidence
                .iter()
                .any(|it| it.value.contains("dokcer"))
        );
        stuck_in(&mut survey, Phase::Config);
        assert!(says("config.keys", &survey).starts_with("skip: "));
    }
}
