//! The configuration: user data, and what the state store has.

use super::{
    ALWAYS, NOTHING, Trial, ends_until_mended, launch_with, location, put_changed, strikes,
    waits_until_mended, warns_until_mended,
};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::{SimHost, example};

/// User data whose `kube_env.yaml` has `from` replaced.
fn launch_changed(host: &SimHost, from: &str, to: &str) {
    let text = example::kube_env("workers").expect("the example has workers");
    assert!(text.contains(from), "{from}");
    launch_with(host, &text.replace(from, to));
}

/// What the cluster's tool renders.
const LAUNCHED: fn(&SimHost) = |host| launch_changed(host, "", "");

/// What the cluster's tool writes.
const WRITTEN: fn(&SimHost) = |host| {
    for (location, text) in example::objects() {
        host.put_object(&location, text);
    }
};

const PIN: &str = "359c1f30d1aa90ba25041a702a6330da30bf99a0b117087a9b979bbd45029aae@";

/// User data that cannot be used.
const OF_THE_LAUNCH: [Trial; 9] = [
    (
        Code::ConfigUserDataUnusable,
        |host| host.change(|region| region.user_data = None),
        LAUNCHED,
    ),
    (
        Code::ConfigYamlSyntax,
        |host| launch_changed(host, "Assets:", "Assets: ["),
        LAUNCHED,
    ),
    (
        Code::ConfigMissingKey,
        |host| launch_changed(host, "InstanceGroupName: workers\n", ""),
        LAUNCHED,
    ),
    (
        Code::ConfigWrongType,
        |host| {
            launch_changed(
                host,
                "InstanceGroupName: workers",
                "InstanceGroupName: [workers]",
            );
        },
        LAUNCHED,
    ),
    (
        Code::ConfigRoleDisagrees,
        |host| launch_changed(host, "- _aws", "- _aws\n- _kubernetes_master"),
        LAUNCHED,
    ),
    (
        Code::ConfigAssetMalformed,
        |host| launch_changed(host, &format!("{PIN}https://"), &format!("{PIN}https:")),
        LAUNCHED,
    ),
    (
        Code::ConfigDigestRefused,
        |host| launch_changed(host, PIN, "d41d8cd98f00b204e9800998ecf8427e@"),
        LAUNCHED,
    ),
    (
        Code::ConfigLocationUnusable,
        |host| launch_changed(host, "ConfigBase: s3://", "ConfigBase: gs://"),
        LAUNCHED,
    ),
    (
        Code::ConfigUnsupported,
        |host| launch_changed(host, "Tags:", "CloudProvider: gce\nTags:"),
        LAUNCHED,
    ),
];

#[tokio::test(start_paused = true)]
async fn user_data_that_cannot_be_used_ends_the_boot_until_it_is_rendered_again() {
    ends_until_mended("workers", &OF_THE_LAUNCH).await;
}

/// Ten times ten times ten … of one entry.
fn bomb() -> String {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..8 {
        let before = format!("*a{}", level - 1);
        let row = [before.as_str(); 10].join(",");
        text.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    text
}

#[tokio::test(start_paused = true)]
async fn objects_that_cannot_be_used_end_the_boot_until_they_are_written_again() {
    ends_until_mended(
        "workers",
        &[
            (
                Code::ConfigClusterSpecMissing,
                |host| host.remove_object(&location("cluster.spec")),
                WRITTEN,
            ),
            (
                Code::ConfigInstanceGroupMissing,
                |host| host.remove_object(&location("instancegroup/workers")),
                WRITTEN,
            ),
            (
                Code::ConfigUnknownRole,
                |host| {
                    put_changed(host, "workers", |text| {
                        text.replace("role: Node", "role: Wizard")
                    });
                },
                WRITTEN,
            ),
            (
                Code::ConfigYamlTooLarge,
                |host| host.put_object(&location("cluster.spec"), bomb()),
                WRITTEN,
            ),
            (
                Code::ConfigObjectMalformed,
                |host| strikes(host, "read_object", ALWAYS, Condition::Malformed),
                NOTHING,
            ),
            (
                Code::ConfigBucketMissing,
                |host| strikes(host, "read_object", ALWAYS, Condition::Unknown),
                NOTHING,
            ),
            (
                Code::ConfigStoreDenied,
                |host| strikes(host, "read_object", ALWAYS, Condition::Denied),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_for_a_while_is_asked_again() {
    waits_until_mended(
        "workers",
        &[(
            Code::ConfigStoreUnreachable,
            |host| strikes(host, "read_object", 1..=5, Condition::Unreachable),
            NOTHING,
        )],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_node_can_do_without_is_warned_of_until_it_is_mended() {
    // Of the same bytes.
    const SHA1: &str = "4456cfebccb3629a08232219800486f1a47b2efd@";
    warns_until_mended(
        "workers",
        &[
            (
                Code::ConfigUnknownKey,
                |host| {
                    put_changed(host, "workers", |text| {
                        format!("{}\n  nodeLabel: typo\n", text.trim_end())
                    });
                },
                WRITTEN,
            ),
            (
                Code::ConfigWeakDigest,
                |host| launch_changed(host, PIN, SHA1),
                LAUNCHED,
            ),
            (
                Code::ConfigDrift,
                |host| {
                    let script = "#!/bin/bash\ncat > ig_spec.yaml << '__EOF'\nkubelet: {maxPods: 7}\n__EOF\n";
                    host.change(|region| {
                        let text = region.user_data.take().unwrap_or_default();
                        let text = String::from_utf8(text).expect("a script");
                        let rest = text.trim_start_matches("#!/bin/bash\n");
                        region.user_data = Some(format!("{script}{rest}").into_bytes());
                    });
                },
                LAUNCHED,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_user_data_names_is_missed_until_it_is_written() {
    const MANIFEST: &str = "manifests/etcd/main.yaml";
    warns_until_mended(
        "control-plane",
        &[(
            Code::ConfigObjectMissing,
            |host| {
                let text = example::kube_env("control-plane").expect("the example has it");
                let more = format!("etcdManifests:\n- {}\n", location(MANIFEST));
                launch_with(host, &format!("{text}{more}"));
            },
            |host| host.put_object(&location(MANIFEST), "kind: Pod\n"),
        )],
    )
    .await;
}
