//! What a node of kops (1.32 and newer) has of its distribution and of its disks: packages, users, volumes, files of others.

use crate::common::{failing_boot, run, strike};
use crate::kops::{conformance, node, warnings, worker_with};
use crate::kops_items::writes;
use quake_model::facts::DeviceContents;
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::{Script, SimHost};

fn with(keys: &'static str) -> impl Fn(&str) -> String {
    move |config| format!("{config}{keys}")
}

const PACKAGE: &str = "packages:\n- nfs-common\n";

#[tokio::test(start_paused = true)]
async fn a_lock_of_another_is_waited_for_and_its_holder_named() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(PACKAGE));
    host.hold_packages("unattended-upgr (process 812)", 5);
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
    assert!(host.region().packages.contains("nfs-common"));
    let (host, request) = worker_with(&root, &with(PACKAGE));
    host.hold_packages("unattended-upgr (process 812)", u32::MAX);
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::AssetsPackagesLocked);
    let holder = fault.evidence_named("holder");
    assert_eq!(holder, Some("unattended-upgr (process 812)"));
}

#[tokio::test(start_paused = true)]
async fn a_package_that_no_source_has_is_not_tried_again() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(PACKAGE));
    host.lack_package("nfs-common");
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::AssetsPackageUnknown);
    assert_eq!(host.port_calls_of("install_packages"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_package_that_does_not_install_ends_the_boot_unless_the_node_can_do_without() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(PACKAGE));
    host.next_boot(Script::new(vec![strike(
        "install_packages",
        1..=999,
        Condition::Io,
    )]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::AssetsPackagesFailed);
    assert!(
        host.port_calls_of("install_packages") > 1,
        "it is tried again"
    );
}

const GVISOR: &str = "GVisor:\n  enabled: true\n";
const KEYRING: &str = "/etc/apt/keyrings/gvisor.asc";
const LIST: &str = "/etc/apt/sources.list.d/gvisor.list";

#[tokio::test(start_paused = true)]
async fn a_source_is_there_before_its_packages_and_its_key_is_pinned_by_the_first_read() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(GVISOR));
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert!(host.region().packages.contains("runsc"));
    let list = host.tree().remove(LIST).expect("the list is there");
    let list = String::from_utf8_lossy(&list).into_owned();
    assert!(list.contains(&format!("[signed-by={KEYRING}]")), "{list}");
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), []);
    // A key that somebody changed is not the one that was trusted.
    host.put_file(KEYRING, "another");
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(host.port_calls_of("fetch_keyring"), 1);
    let (host, request) = worker_with(&root, &with(GVISOR));
    host.next_boot(Script::new(vec![strike(
        "fetch_keyring",
        1..=1,
        Condition::Malformed,
    )]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::AssetsKeyringUnusable);
}

/// A control plane, which makes four users.
fn control_plane(root: &std::path::Path) -> (std::sync::Arc<SimHost>, quake_engine::Request) {
    node(root, "minimal-1.35", "master-us-test-1a")
}

#[tokio::test(start_paused = true)]
async fn a_user_whose_number_is_anothers_is_refused() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    host.put_file("/etc/passwd", "somebody:x:10011:10011::/:/bin/sh\n");
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::AssetsUserRefused);
}

#[tokio::test(start_paused = true)]
async fn lists_of_users_that_are_locked_are_waited_for() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    host.next_boot(Script::new(vec![strike(
        "make_user",
        1..=3,
        Condition::Conflict,
    )]));
    assert_eq!(run(&host, &request).await.0.fault, None);
    let (host, request) = control_plane(&root);
    host.next_boot(Script::new(vec![strike(
        "make_user",
        1..=999,
        Condition::Conflict,
    )]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::AssetsUserFailed);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_fails_is_owed_until_it_succeeds() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &str::to_owned);
    host.fail_commands("sysctl", 1);
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::FilesReactionFailed);
    assert_eq!(fault.evidence_named("command"), Some("sysctl --system"));
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    let ran = host
        .commands()
        .into_iter()
        .filter(|words| words[0] == "sysctl");
    assert_eq!(ran.count(), 1);
    let pending = host.tree().remove("/var/lib/quake-agent/owed.json");
    assert_eq!(pending.as_deref(), Some(&b"[]"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_login_user_has_its_kubeconfig_in_a_folder_of_its_own() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    host.put_file("/etc/passwd", "admin:x:1000:1000::/home/admin:/bin/bash\n");
    host.put_file("/etc/group", "admin:x:1000:\n");
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
    for path in ["/home/admin/.kube", "/home/admin/.kube/config"] {
        let found = quake_model::ports::Files::look_file(host.as_ref(), path, 0).await;
        let found = found.expect("it looks").expect("it is there");
        assert_eq!((found.owner.uid, found.owner.gid), (1000, 1000), "{path}");
    }
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), []);
}

const VOLUME: &str = "VolumeMounts:\n- device: /dev/nvme1n1\n  path: /var/lib/data\n  filesystem: xfs\n  mountOptions:\n  - noatime\n";

#[tokio::test(start_paused = true)]
async fn a_blank_volume_is_formatted_once_and_mounted() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(VOLUME));
    host.plug_device("/dev/nvme1n1", DeviceContents::Blank);
    assert_eq!(run(&host, &request).await.0.fault, None);
    let mounts = host.region().mounts;
    assert!(mounts.iter().any(|mount| mount.target == "/var/lib/data"));
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), []);
    // After a reboot nothing is mounted, and the filesystem is used as it is.
    host.change(|region| region.mounts.clear());
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), [("mount_volume", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_volume_with_something_on_it_is_never_formatted() {
    let Some(root) = conformance() else { return };
    let ext4 = DeviceContents::Filesystem {
        name: "ext4".to_owned(),
        uuid: None,
        label: None,
        size_bytes: None,
    };
    let lvm = DeviceContents::Signature {
        name: "LVM".to_owned(),
    };
    let bytes = DeviceContents::Unsigned { offset: 512 };
    for (contents, code) in [
        (ext4, Code::StorageFilesystemUnusable),
        (lvm, Code::StorageDeviceNotBlank),
        (bytes, Code::StorageDeviceNotBlank),
    ] {
        let (host, request) = worker_with(&root, &with(VOLUME));
        host.plug_device("/dev/nvme1n1", contents.clone());
        let (fault, _) = failing_boot(&host, &request).await;
        assert_eq!(fault.code, code, "{contents}");
        assert_eq!(host.port_calls_of("format_device"), 0);
        assert_eq!(host.plugged_device("/dev/nvme1n1"), Some(contents));
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_whose_device_does_not_come_is_missing_by_name() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(VOLUME));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::StorageDeviceMissing);
    assert_eq!(fault.evidence_named("device"), Some("/dev/nvme1n1"));
}

const ASSET: &str = "FileAssets:\n- name: unit\n  path: /etc/systemd/system/ours.service\n  content: \"[Service]\"\n";

#[tokio::test(start_paused = true)]
async fn a_unit_file_of_the_operators_is_read_by_systemd() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &with(ASSET));
    assert_eq!(run(&host, &request).await.0.fault, None);
    let unit = host.region().units.remove("ours.service");
    let unit = unit.expect("its file was written");
    assert!(!unit.needs_reload && !unit.enabled, "{unit:?}");
}

#[tokio::test(start_paused = true)]
async fn the_runtime_runs_while_kops_controller_is_still_asked_for_certificates() {
    let Some(root) = conformance() else { return };
    // A second certificate that only the configuration tells of, so that kops-controller is asked again.
    let keys = "Networking:\n  kubeRouter: {}\n";
    let edit = move |config: &str| {
        let start = config.find("Networking:\n").expect("it has a network");
        let rest = &config[start + "Networking:\n".len()..];
        let end = rest
            .lines()
            .take_while(|line| line.starts_with(' '))
            .map(|line| line.len() + 1)
            .sum::<usize>();
        format!("{}{keys}{}", &config[..start], &rest[end..])
    };
    let (host, request) = worker_with(&root, &edit);
    let silent = strike("ask_bootstrap", 2..=9999, Condition::Unreachable);
    host.next_boot(Script::new(vec![silent]));
    let (fault, record) = failing_boot(&host, &request).await;
    assert!(host.port_calls_of("ask_bootstrap") > 1, "{fault}");
    let runtime = host.region().units.remove("containerd.service");
    let runtime = runtime.expect("it was started");
    assert_eq!(runtime.active, quake_model::facts::ActiveState::Active);
    assert!(!host.tree().contains_key("/var/lib/kubelet/kubelet.conf"));
    assert!(warnings(&record).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_does_not_start_early_is_started_with_the_rest() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &str::to_owned);
    host.next_boot(Script::new(vec![strike(
        "run_jobs",
        1..=2,
        Condition::Unreachable,
    )]));
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
}

/// A script in which all assets but the runtime's come late.
fn late_downloads() -> Script {
    Script::new(vec![strike("fetch_asset", 3..=6, Condition::Unreachable)])
}

/// Images that were pulled while assets were downloaded.
fn early_pulls(record: &quake_model::record::Record) -> Vec<&str> {
    let steps = record.steps.iter();
    steps
        .filter_map(|done| done.step.strip_prefix("assets:pulled-image/"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn images_of_static_pods_and_sandboxes_are_pulled_while_the_rest_is_downloaded() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "master-us-test-1a");
    host.next_boot(late_downloads());
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    let pulled = host.region().pulled;
    for part in [
        "/kube-apiserver:",
        "/etcd-manager",
        "/kube-proxy:",
        "/pause:",
    ] {
        assert!(
            pulled.iter().any(|name| name.contains(part)),
            "{part}: {pulled:?}"
        );
    }
    assert_eq!(early_pulls(&record).len(), pulled.len());

    host.next_boot(late_downloads());
    let (_, record) = run(&host, &request).await;
    assert_eq!(early_pulls(&record), [""; 0], "they are there");
}

#[tokio::test(start_paused = true)]
async fn an_image_that_cannot_be_pulled_early_is_left_to_kubelet() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let refused = strike("pull_image", 1..=9999, Condition::Denied);
    let late = strike("fetch_asset", 3..=6, Condition::Unreachable);
    host.next_boot(Script::new(vec![late, refused]));
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
    assert_eq!(early_pulls(&record), [""; 0]);
    assert!(host.port_calls_of("pull_image") > 0, "it was tried");
}
