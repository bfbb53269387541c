//! Distributions of machine images, by the names that images have: since which version kops does not run them, and whether they
//! start with cgroup v1.
//!
//! Removals: the table "Distros Support Matrix" of kops' `docs/operations/images.md` (v1.36.2). cgroup versions: what each
//! project ships by default, as systemd calls it `unified_cgroup_hierarchy`; Kubernetes' page "About cgroup v2" lists those
//! with v2.

use super::Minor;

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::preview) struct RemovedDistribution {
    pub(in crate::preview) name: &'static str,
    /// The parts of an image's name, lower case, of which one is in it.
    marks: &'static [&'static str],
    /// The first minor version of kops without it; `None` while kops runs it.
    pub(in crate::preview) removed: Option<Minor>,
    /// Whether its nodes start with cgroup v1.
    pub(in crate::preview) is_cgroup_v1: bool,
}

/// One row a line: the name, the marks, the first minor version of kops without it, and whether it starts with cgroup v1.
macro_rules! distributions {
    ($($name:literal [$($mark:literal)*] $removed:expr, $is_cgroup_v1:literal;)*) => {
        &[$(RemovedDistribution {
            name: $name,
            marks: &[$($mark),*],
            removed: $removed,
            is_cgroup_v1: $is_cgroup_v1,
        }),*]
    };
}

/// A mark that is part of another's comes after it.
const DISTRIBUTIONS: &[RemovedDistribution] = distributions! {
    "Amazon Linux 2" ["amzn2-ami" "amazonlinux-2-" "al2-ami"] Some(36), true;
    "Amazon Linux 2023" ["al2023"] None, false;
    "CentOS 7" ["centos-7" "centos linux 7"] Some(23), true;
    "CentOS 8" ["centos-8" "centos linux 8"] Some(23), true;
    "CoreOS" ["coreos-stable" "coreos-beta" "coreos-alpha"] Some(18), true;
    "Debian 8" ["debian-jessie" "debian-8" "-jessie-"] Some(18), true;
    "Debian 9" ["debian-stretch" "debian-9" "-stretch-"] Some(23), true;
    "Debian 10" ["debian-10" "debian-buster"] Some(36), true;
    "Debian 11" ["debian-11" "debian-bullseye"] None, false;
    "Debian 12" ["debian-12" "debian-bookworm"] None, false;
    "Debian 13" ["debian-13" "debian-trixie"] None, false;
    "kope.io's image" ["kope.io/"] Some(23), true;
    "RHEL 7" ["rhel-7"] Some(23), true;
    "RHEL 8" ["rhel-8"] None, true;
    "RHEL 9" ["rhel-9"] None, false;
    "Rocky 8" ["rocky-8"] None, true;
    "Rocky 9" ["rocky-9"] None, false;
    "Ubuntu 16.04" ["ubuntu-xenial" "16.04"] Some(20), true;
    "Ubuntu 18.04" ["ubuntu-bionic" "18.04"] Some(28), true;
    "Ubuntu 20.04" ["ubuntu-focal" "20.04"] Some(36), true;
    "Ubuntu 22.04" ["ubuntu-jammy" "22.04"] None, false;
    "Ubuntu 24.04" ["ubuntu-noble" "24.04"] None, false;
};

/// The distribution of an image, where its name says it; an id such as `ami-0a1b` says nothing.
pub(in crate::preview) fn distribution_of_image(
    image: &str,
) -> Option<&'static RemovedDistribution> {
    let image = image.to_ascii_lowercase();
    let mut all = DISTRIBUTIONS.iter();
    all.find(|row| row.marks.iter().any(|mark| image.contains(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_of_a_distribution_by_its_name() {
        for (image, name) in [
            (
                "099720109477/ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20230502",
                Some("Ubuntu 20.04"),
            ),
            (
                "099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20250115",
                Some("Ubuntu 24.04"),
            ),
            (
                "ssm:/aws/service/canonical/ubuntu/server/20.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
                Some("Ubuntu 20.04"),
            ),
            (
                "136693071363/debian-10-amd64-20240204-1647",
                Some("Debian 10"),
            ),
            (
                "136693071363/debian-12-amd64-20240201-1644",
                Some("Debian 12"),
            ),
            (
                "amazon/amzn2-ami-hvm-2.0.20220606.1-x86_64-gp2",
                Some("Amazon Linux 2"),
            ),
            (
                "137112412989/al2023-ami-2023.3.20240219.0-kernel-6.1-x86_64",
                Some("Amazon Linux 2023"),
            ),
            (
                "kope.io/k8s-1.8-debian-jessie-amd64-hvm-ebs-2018-02-08",
                Some("Debian 8"),
            ),
            (
                "309956199498/RHEL-8.6.0_HVM-20220503-x86_64-2-Hourly2-GP2",
                Some("RHEL 8"),
            ),
            ("ami-0123456789abcdef0", None),
        ] {
            let found = distribution_of_image(image).map(|row| row.name);
            assert_eq!(found, name, "{image}");
        }
    }
}
