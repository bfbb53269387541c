//! Which distribution a node runs, and where things are on it.
//!
//! The table is that of kops (`util/pkg/distributions`, v1.36.2 and the development of 1.37), less Container-Optimized OS,
//! which runs nowhere but in Google's cloud. A distribution that kops refuses is refused here too, by its name: half a node
//! on an unknown layout helps nobody.

use quake_model::facts::OsFacts;
use quake_model::fault::{Code, Fault};

/// How a distribution's software comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packaging {
    Deb,
    Rpm,
    /// With the image alone; `/usr` is read-only.
    Image,
}

/// Who makes a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Project {
    Debian,
    Ubuntu,
    AmazonLinux,
    Rhel,
    Rocky,
    CentOs,
    Fedora,
    Flatcar,
}

/// A supported distribution; its version is ordered by its numbers, and is 0 for Flatcar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    pub project: Project,
    /// The version's numbers, such as (24, 4) for 24.04.
    pub version: (u32, u32),
}

/// Versions that are supported as they stand: `ID`, project, `VERSION_ID`.
const EXACT: &[(&str, Project, &[&str])] = &[
    ("amzn", Project::AmazonLinux, &["2023"]),
    ("debian", Project::Debian, &["11", "12", "13"]),
    ("fedora", Project::Fedora, &["41", "42", "43", "44"]),
    (
        "ubuntu",
        Project::Ubuntu,
        &["22.04", "24.04", "25.10", "26.04"],
    ),
];

/// Versions of which only the major number counts, but which have a minor number, too. CentOS Stream has none and so is
/// refused, as kops does although its table has it.
const MAJOR: &[(&str, Project, &[u32])] = &[
    ("centos", Project::CentOs, &[9, 10]),
    ("rhel", Project::Rhel, &[8, 9, 10]),
    ("rocky", Project::Rocky, &[8, 9, 10]),
];

/// Where distributions keep certificates of public CAs. A path that is not there is made empty.
pub(crate) const CERTIFICATE_DIRECTORIES: [&str; 9] = [
    "/etc/ssl",
    "/etc/pki/tls",
    "/etc/pki/ca-trust",
    "/usr/share/ssl",
    "/usr/ssl",
    "/usr/lib/ssl",
    "/usr/local/openssl",
    "/var/ssl",
    "/etc/openssl",
];

impl Distribution {
    /// The distribution that `os-release` names.
    ///
    /// # Errors
    ///
    /// `identity.os-unsupported` with its id and version.
    pub fn identify(os: &OsFacts) -> Result<Self, Fault> {
        let version = numbers(&os.version);
        let exact = EXACT
            .iter()
            .find(|(id, _, versions)| *id == os.id && versions.contains(&&*os.version))
            .map(|(_, project, _)| (*project, version));
        let has_minor = os.version.contains('.');
        let major = MAJOR
            .iter()
            .find(|(id, _, majors)| *id == os.id && has_minor && majors.contains(&version.0))
            .map(|(_, project, _)| (*project, (version.0, 0)));
        let flatcar = (os.id == "flatcar").then_some((Project::Flatcar, (0, 0)));
        let found = exact.or(major).or(flatcar);
        found
            .map(|(project, version)| Self { project, version })
            .ok_or_else(|| unsupported(os))
    }

    /// How its software comes.
    pub fn packaging(self) -> Packaging {
        match self.project {
            Project::Debian | Project::Ubuntu => Packaging::Deb,
            Project::AmazonLinux
            | Project::Rhel
            | Project::Rocky
            | Project::CentOs
            | Project::Fedora => Packaging::Rpm,
            Project::Flatcar => Packaging::Image,
        }
    }

    /// Whether it is this project's, of this version or newer.
    pub fn is_at_least(self, project: Project, version: (u32, u32)) -> bool {
        self.project == project && self.version >= version
    }

    /// Whether kube-proxy must use nftables, the kernel having no working iptables: the Red Hat family from its tenth
    /// generation on, and Fedora.
    pub fn forces_nftables(self) -> bool {
        match self.project {
            Project::Rhel | Project::Rocky | Project::CentOs => self.version >= (10, 0),
            Project::Fedora => true,
            Project::Debian | Project::Ubuntu | Project::AmazonLinux | Project::Flatcar => false,
        }
    }

    /// Users that people log in as, in the order in which the first that exists is taken.
    pub fn login_users(self) -> &'static [&'static str] {
        match self.project {
            Project::Debian => &["admin", "root"],
            Project::Ubuntu => &["ubuntu", "root"],
            Project::AmazonLinux | Project::Rhel => &["ec2-user"],
            Project::Rocky => &["rocky"],
            Project::CentOs => &["centos"],
            Project::Fedora => &["fedora"],
            Project::Flatcar => &["core"],
        }
    }

    /// Whether its `/etc/resolv.conf` always names the stub of systemd-resolved, which pods cannot reach.
    pub fn always_resolves_through_stub(self) -> bool {
        matches!(self.project, Project::Ubuntu | Project::Flatcar)
    }

    /// `packaged` where software comes as packages, `read_only` where `/usr` is read-only.
    fn either(self, packaged: &'static str, read_only: &'static str) -> &'static str {
        match self.packaging() {
            Packaging::Deb | Packaging::Rpm => packaged,
            Packaging::Image => read_only,
        }
    }

    /// Where unit files go: where nodeup looks for them, so that either finds what the other wrote.
    pub fn units(self) -> &'static str {
        // `/lib` is a link to `/usr/lib` on each distribution with packages.
        self.either("/usr/lib/systemd/system", "/etc/systemd/system")
    }

    /// Where kubelet and its credential provider go.
    pub fn kubelet_programs(self) -> &'static str {
        self.either("/usr/local/bin", "/opt/kubernetes/bin")
    }

    /// Where kubectl, crictl and nerdctl go.
    pub fn operator_programs(self) -> &'static str {
        self.either("/usr/local/bin", "/opt/kops/bin")
    }

    /// Where out-of-tree volume plugins are.
    pub fn volume_plugins(self) -> &'static str {
        self.either(
            "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
            "/var/lib/kubelet/volumeplugins/",
        )
    }

    /// Whether containerd is the distribution's own and only configured.
    pub fn brings_containerd(self) -> bool {
        self.packaging() == Packaging::Image
    }

    /// Directories with certificates of public CAs, as pods mount them.
    pub fn certificate_directories(self) -> Vec<&'static str> {
        let mut paths = CERTIFICATE_DIRECTORIES.to_vec();
        if self.packaging() == Packaging::Image {
            // Nothing can be made below a read-only `/usr`; its own certificates are in another place.
            paths.retain(|path| path.starts_with("/etc/ssl") || path.starts_with("/etc/pki/"));
            paths.push("/usr/share/ca-certificates");
        }
        paths
    }
}

/// The first two numbers of a version; 0 where there is none.
fn numbers(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

fn unsupported(os: &OsFacts) -> Fault {
    let summary = format!("{} {} is not supported", os.id, os.version);
    Fault::new(Code::IdentityOsUnsupported, summary.replace("  ", " "))
        .seen("id", &os.id)
        .seen("version", &os.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify(id: &str, version: &str) -> Result<Distribution, Fault> {
        Distribution::identify(&OsFacts {
            id: id.to_owned(),
            version: version.to_owned(),
            like: Vec::new(),
        })
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let noble = identify("ubuntu", "24.04").expect("it is supported");
        assert!(noble.is_at_least(Project::Ubuntu, (22, 4)));
        assert!(!noble.is_at_least(Project::Ubuntu, (25, 10)));
        assert!(!noble.is_at_least(Project::Debian, (12, 0)));
    }

    #[test]
    fn a_distribution_that_is_not_supported_is_refused_by_its_name() {
        for (id, version) in [
            ("ubuntu", "20.04"),
            ("amzn", "2"),
            ("debian", "10"),
            ("centos", "10"),
            ("cos", "81"),
            ("arch", ""),
        ] {
            let fault = identify(id, version).expect_err("it is not in the table");
            assert_eq!(fault.code, Code::IdentityOsUnsupported);
            assert!(fault.summary.contains(id), "{fault}");
        }
    }

    #[test]
    fn only_kernels_without_iptables_force_nftables() {
        for (id, version, wanted) in [
            ("rhel", "9.4", false),
            ("rhel", "10.0", true),
            ("rocky", "10.0", true),
            ("centos", "9.1", false),
            ("fedora", "42", true),
            ("amzn", "2023", false),
            ("debian", "13", false),
            ("flatcar", "4152.2.0", false),
        ] {
            let found = identify(id, version).map(Distribution::forces_nftables);
            assert_eq!(found, Ok(wanted), "{id} {version}");
        }
    }
}
