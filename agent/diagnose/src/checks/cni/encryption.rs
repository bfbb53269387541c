//! An agent that finds no WireGuard in the kernel: FIPS mode forbids it, and each kernel since 5.6 may have it.

use crate::checks::host::kernel_version;
use crate::checks::node::Node;

/// What Cilium says of it (cilium/cilium, `pkg/wireguard/agent/agent.go`).
const SIGN: &str = "ireGuard not supported by the Linux kernel";

/// The first kernel that has WireGuard (Linux 5.6, `drivers/net/wireguard`).
const FIRST: (u32, u32) = (5, 6);

/// What an agent's last words about WireGuard mean on this node, what to do, and what was seen of the kernel.
pub(super) fn wireguard(node: &Node<'_>, line: &str) -> Option<(String, String, String)> {
    if !line.contains(SIGN) {
        return None;
    }
    let release = node.sysctl("kernel.osrelease").ok().flatten();
    let of_release = release.map_or(String::new(), |release| format!(" {release}"));
    const OTHERWISE: &str = "or encrypt with IPsec, or not: spec.networking.cilium.encryptionType: ipsec with the secret cilium-ipsec-keys, or enableEncryption: false (kops edit cluster)";
    if let Some(sign) = fips(node) {
        return Some((
            format!(
                "encryption with WireGuard is on, and the kernel{of_release} is in FIPS mode ({sign}), which forbids WireGuard's ciphers: ChaCha20, Poly1305 and Curve25519 are not approved"
            ),
            format!(
                "use an image without FIPS mode for this instance group (fips=1 is on its kernel's command line; a newer kernel does not help), {OTHERWISE}"
            ),
            sign.to_owned(),
        ));
    }
    let version = release.and_then(kernel_version)?;
    if version < FIRST {
        return None;
    }
    let release = of_release.trim().to_owned();
    Some((
        format!(
            "encryption with WireGuard is on, and the kernel {release}, which is new enough for it, does not load its module"
        ),
        format!(
            "modprobe wireguard says why: a package of modules that is not installed (linux-modules-extra-{release}, kernel-modules-core), a line in /etc/modprobe.d that forbids it, or a kernel without CONFIG_WIREGUARD; {OTHERWISE}"
        ),
        release,
    ))
}

/// What shows that the kernel is in FIPS mode.
fn fips(node: &Node<'_>) -> Option<&'static str> {
    let is_on = node.sysctl("crypto.fips_enabled").ok().flatten() == Some("1");
    if is_on {
        return Some("/proc/sys/crypto/fips_enabled is 1");
    }
    let line = node.text("/proc/cmdline").ok().flatten()?;
    let mut words = line.split_whitespace();
    let is_given = words.any(|word| word == "fips=1");
    is_given.then_some("fips=1 in /proc/cmdline")
}

#[cfg(test)]
mod tests {
    use super::wireguard;
    use crate::checks::node::Node;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_kernel_in_fips_mode_forbids_wireguard_and_a_newer_one_does_not_help() {
        let line = "failed to initialize WireGuard agent: WireGuard not supported by the Linux kernel (netlink: operation not supported)";
        for (release, fips, says) in [
            ("5.14.0-570.12.1.el9_6.x86_64", "1", Some("FIPS mode")),
            ("5.14.0-570.12.1.el9_6.x86_64", "0", Some("new enough")),
            ("5.4.0-1", "0", None),
        ] {
            let mut node = Sample::worker();
            node.text("/proc/sys/kernel/osrelease", release);
            node.text("/proc/sys/crypto/fips_enabled", fips);
            let found = wireguard(&Node::new(&node.survey), line);
            let means = found.as_ref().map(|(means, ..)| means.as_str());
            match says {
                Some(says) => assert!(means.is_some_and(|it| it.contains(says)), "{found:?}"),
                None => assert_eq!(found, None),
            }
            assert_eq!(wireguard(&Node::new(&node.survey), "other"), None);
        }
    }
}
