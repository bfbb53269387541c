//! Images that carry too much, and one that does not.

use super::{look_image, rule_names};
use std::path::Path;

fn image(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a scratch directory");
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(root.path())).expect("ours");
        std::fs::write(path, text).expect("ours");
    }
    root
}

fn broken(root: &Path) -> Vec<&'static str> {
    let findings = look_image(root, &[]);
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_clean_image_has_no_finding() {
    let root = image(&[
        ("etc/machine-id", "uninitialized\n"),
        ("etc/ssh/sshd_config", "x"),
        ("root/.ssh/authorized_keys", "# nobody\n"),
        ("var/lib/quake-agent/store/sha256/aa", "x"),
        ("var/lib/kubelet/config.yaml", "kind: KubeletConfiguration"),
        ("var/log/quake-agent.log", ""),
        ("var/log/syslog", "cron[1]: x"),
    ]);
    std::fs::create_dir_all(root.path().join("var/lib/cloud/instances")).expect("ours");
    std::fs::create_dir_all(root.path().join("var/lib/quake-agent/boots")).expect("ours");
    assert_eq!(look_image(root.path(), &[]), []);
}

#[test]
fn each_rule_finds_what_it_is_for_and_names_a_command_that_mends_it() {
    for (rule, path, text) in [
        ("ssh-host-key", "etc/ssh/ssh_host_ed25519_key", "x"),
        ("ssh-host-key", "etc/ssh/ssh_host_rsa_key.pub", "x"),
        (
            "machine-id",
            "etc/machine-id",
            "0123456789abcdef0123456789abcdef\n",
        ),
        ("machine-id", "var/lib/dbus/machine-id", "0123\n"),
        (
            "cloud-init",
            "var/lib/cloud/instances/i-0a/user-data.txt",
            "x",
        ),
        ("cloud-init", "var/lib/cloud/instance/user-data.txt", "x"),
        ("agent-state", "var/lib/quake-agent/boots/1.jsonl", "{}"),
        ("agent-state", "var/lib/quake-agent/volumes.json", "{}"),
        ("aws-credentials", "root/.aws/credentials", "x"),
        ("aws-credentials", "home/admin/.aws/config", "x"),
        ("node-credentials", "var/lib/kubelet/kubeconfig", "x"),
        (
            "node-credentials",
            "etc/kubernetes/pki/a.key",
            "-----BEGIN RSA PRIVATE KEY-----",
        ),
        (
            "node-credentials",
            "srv/kubernetes/any",
            "current-context: x",
        ),
        (
            "authorized-keys",
            "root/.ssh/authorized_keys",
            "ssh-ed25519 AAAA me",
        ),
        ("log", "var/log/quake-agent/boot.log", "x"),
        ("log", "var/log/syslog", "quake-agent[12]: ready"),
    ] {
        let root = image(&[(path, text)]);
        assert_eq!(broken(root.path()), [rule], "{path}");
        let finding = look_image(root.path(), &[]).remove(0);
        assert!(finding.remedy.contains(&*root.path().to_string_lossy()));
        let repaired = std::process::Command::new("sh")
            .args(["-c", &finding.remedy])
            .status();
        assert!(repaired.is_ok_and(|it| it.success()), "{}", finding.remedy);
        assert_eq!(broken(root.path()), Vec::<&str>::new(), "{path}");
    }
}

#[test]
fn what_is_allowed_is_not_found() {
    let root = image(&[("root/.ssh/authorized_keys", "ssh-ed25519 AAAA me")]);
    assert_eq!(look_image(root.path(), &["authorized-keys".to_owned()]), []);
    assert!(rule_names().contains(&"authorized-keys"));
}

#[test]
fn links_lead_to_where_they_would_in_the_image_and_never_out_of_it() {
    let root = image(&[
        ("var/home/admin/.aws/config", "x"),
        ("var/roothome/.ssh/authorized_keys", "ssh-ed25519 AAAA me"),
    ]);
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, root.path().join(path)).expect("ours");
    };
    link("/var/home", "home");
    link("../../../../../../../../../var/roothome", "root");
    // A loop is nothing, and no end without an end.
    link("srv", "srv");
    assert_eq!(broken(root.path()), ["aws-credentials", "authorized-keys"]);
}

#[test]
fn a_text_that_lies_across_two_portions_is_found() {
    let mut text = "x".repeat((256 << 10) - 5);
    text.push_str("quake-agent[1]: ready");
    let root = image(&[("var/log/syslog", &text)]);
    assert_eq!(broken(root.path()), ["log"]);
}
