//! Identity, network, assets, credentials, files, services, and the boot as a whole.

use super::{
    ALWAYS, NOTHING, boot_of, ends_until_mended, location, node, strikes, waits_until_mended,
    warns_until_mended,
};
use crate::common::run;
use quake_engine::{Budget, CredentialSource, Request};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::region::Region;
use quake_testkit::{Script, SimHost, example};

/// A keypair as kops writes it; both texts are base64 of `stand-in`.
const KEYSET: &str = "kind: Keyset\nspec:\n  keys:\n  - id: \"1\"\n    publicMaterial: c3RhbmQtaW4=\n    privateMaterial: c3RhbmQtaW4=\n";

fn tag_again(region: &mut Region) {
    let cluster = example::CLUSTER;
    region.instances = Region::with_instance(region.instance.clone(), cluster).instances;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_knows_itself_late_goes_on_by_itself() {
    waits_until_mended(
        "workers",
        &[
            (
                Code::IdentityImdsUnreachable,
                |host| strikes(host, "read_instance", 1..=3, Condition::Unreachable),
                NOTHING,
            ),
            (
                Code::IdentityImdsMalformed,
                |host| strikes(host, "read_instance", 1..=3, Condition::Malformed),
                NOTHING,
            ),
            (
                Code::IdentityRoleMissing,
                |host| host.change(|region| region.role = None),
                |host| host.change(|region| region.role = Some("nodes".to_owned())),
            ),
            (
                Code::IdentityTagsPending,
                |host| host.change(|region| region.instances[0].tags.clear()),
                |host| host.change(tag_again),
            ),
            (
                Code::IdentityInstanceUnknown,
                |host| host.change(|region| region.instances.clear()),
                |host| host.change(tag_again),
            ),
            (
                Code::IdentityClockSkew,
                |host| strikes(host, "read_object", 1..=3, Condition::ClockSkew),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_may_not_know_itself_goes_on_once_it_may() {
    ends_until_mended(
        "workers",
        &[
            (
                Code::IdentityImdsDisabled,
                |host| strikes(host, "read_instance", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::IdentityDescribeDenied,
                |host| strikes(host, "describe_instances", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::IdentityOsUnknown,
                |host| strikes(host, "read_os", ALWAYS, Condition::Missing),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_kernel_that_refuses_what_the_node_needs_ends_the_boot_until_it_does_not() {
    ends_until_mended(
        "workers",
        &[
            (
                Code::NetworkSysctlRefused,
                |host| strikes(host, "write_sysctl", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::NetworkUnreadable,
                |host| strikes(host, "read_network", ALWAYS, Condition::Denied),
                NOTHING,
            ),
        ],
    )
    .await;
    warns_until_mended(
        "workers",
        &[(
            Code::NetworkModuleMissing,
            |host| host.lack_module("br_netfilter"),
            |host| {
                host.change(|region| region.modules.insert("br_netfilter".to_owned()));
            },
        )],
    )
    .await;
}

/// Puts what `kubelet`'s URL serves.
fn publish(host: &SimHost, bytes: Option<&str>) {
    let (url, own) = example::mirrors().swap_remove(0);
    host.serve(&url, bytes.unwrap_or(&own));
}

#[tokio::test(start_paused = true)]
async fn an_asset_that_is_not_what_was_pinned_is_fetched_once_it_is() {
    ends_until_mended(
        "workers",
        &[
            (
                Code::AssetsDigestMismatch,
                |host| publish(host, Some("<html>sign in</html>")),
                |host| publish(host, None),
            ),
            (
                Code::AssetsNotFound,
                |host| strikes(host, "fetch_asset", ALWAYS, Condition::Missing),
                NOTHING,
            ),
            (
                Code::AssetsForbidden,
                |host| strikes(host, "fetch_asset", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::AssetsArchiveUnsafe,
                |host| strikes(host, "fetch_asset", ALWAYS, Condition::Unsafe),
                NOTHING,
            ),
            (
                Code::AssetsMemberMissing,
                |host| strikes(host, "look_placed", ALWAYS, Condition::Missing),
                NOTHING,
            ),
            (
                Code::AssetsNoSpace,
                |host| strikes(host, "fetch_asset", ALWAYS, Condition::NoSpace),
                NOTHING,
            ),
            (
                Code::AssetsSizeImplausible,
                |host| strikes(host, "fetch_asset", ALWAYS, Condition::Impossible),
                NOTHING,
            ),
            (
                Code::AssetsStoreFailed,
                |host| strikes(host, "has_asset", ALWAYS, Condition::Io),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_does_not_answer_for_a_while_is_asked_again() {
    waits_until_mended(
        "workers",
        &[
            (
                Code::AssetsUnreachable,
                |host| strikes(host, "fetch_asset", 1..=5, Condition::Unreachable),
                NOTHING,
            ),
            (
                Code::AssetsStoreLocked,
                |host| strikes(host, "record_assets", 1..=3, Condition::NotReady),
                NOTHING,
            ),
            (
                Code::AssetsStoreLocked,
                |host| strikes(host, "fetch_asset", 1..=3, Condition::NotReady),
                NOTHING,
            ),
            (
                Code::ServicesBusUnreachable,
                |host| strikes(host, "look_unit", 1..=2, Condition::Unreachable),
                NOTHING,
            ),
            (
                Code::ServicesUnitFailed,
                |host| host.fail_starts("kubelet.service", 7),
                NOTHING,
            ),
            (
                Code::ReadyProbeFailing,
                |host| strikes(host, "probe", 1..=30, Condition::Unreachable),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_keypair_that_cannot_be_read_ends_the_boot_until_it_can() {
    ends_until_mended(
        "workers",
        &[
            (
                Code::CredentialsMalformed,
                |host| host.put_object(&location("pki/private/kubelet/keyset.yaml"), "spec: {}"),
                |host| host.put_object(&location("pki/private/kubelet/keyset.yaml"), KEYSET),
            ),
            (
                Code::CredentialsDenied,
                // The first two are the cluster spec and the instance group.
                |host| strikes(host, "read_object", 3..=1_000_000, Condition::Denied),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_keypair_that_is_missing_is_used_once_it_is_written() {
    let host = node("workers");
    let request = Request {
        credentials: CredentialSource::Store,
        ..boot_of("workers")
    };
    let (verdict, record) = run(&host, &request).await;
    let code = verdict.fault.map(|fault| fault.code);
    assert_eq!(
        (code, record.exit_status()),
        (Some(Code::CredentialsMissing), 78)
    );
    for name in ["ca", "kubelet", "kube-proxy"] {
        let folder = if name == "ca" { "issued" } else { "private" };
        host.put_object(
            &location(&format!("pki/{folder}/{name}/keyset.yaml")),
            KEYSET,
        );
    }
    host.next_boot(Script::default());
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_written_is_written_by_the_next_start() {
    const MANIFESTS: &str = "/etc/kubernetes/manifests";
    ends_until_mended(
        "workers",
        &[
            (
                Code::FilesWriteFailed,
                |host| strikes(host, "write_file", ALWAYS, Condition::Io),
                NOTHING,
            ),
            (
                Code::FilesNoSpace,
                |host| strikes(host, "write_file", ALWAYS, Condition::NoSpace),
                NOTHING,
            ),
            (
                Code::FilesOccupied,
                |host| host.put_file(MANIFESTS, "mine"),
                |host| host.remove_file(MANIFESTS),
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_systemd_does_not_know_or_finish_is_started_by_the_next_start() {
    ends_until_mended(
        "workers",
        &[
            (
                Code::ServicesUnitUnknown,
                |host| strikes(host, "start_unit", ALWAYS, Condition::Unknown),
                NOTHING,
            ),
            (
                Code::ServicesUnitStarting,
                |host| strikes(host, "start_unit", ALWAYS, Condition::TimedOut),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_spent_its_budget_is_completed_by_one_that_has_a_new_one() {
    let host = node("workers");
    let poor = Request {
        budget: Budget {
            imds: 60,
            s3: 3,
            ec2: 400,
            route53: 60,
        },
        ..boot_of("workers")
    };
    let (verdict, record) = run(&host, &poor).await;
    let code = verdict.fault.map(|fault| fault.code);
    assert_eq!(
        (code, record.exit_status()),
        (Some(Code::BootBudgetExceeded), 70)
    );
    host.next_boot(Script::default());
    let (verdict, _) = run(&host, &boot_of("workers")).await;
    assert_eq!(verdict.fault, None);
}
