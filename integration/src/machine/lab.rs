//! What a case stands on: what this machine can boot, the base system, a network, and a directory for the evidence.

use super::backend::MachineBackend;
use super::base::{Base, IMAGES, UNITS, sorted};
use super::cluster::{Cluster, endpoint_drop_in};
use super::evidence::Evidence;
use super::hardware::Hardware;
use super::layer::Layer;
use super::metadata::Facts;
use super::nspawn::Container;
use super::probe;
use super::qemu::Emulated;
use super::vpc::Vpc;
use crate::ec2::Rules;
use crate::skip::{SetUpError, unless_missing};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Bakes the agent and its units into an unprovisioned machine; what comes after ` -- ` goes to `seed build`.
pub const BAKE: &str = "/root/provision.sh --agent /root/quake-agent --units /root/units";

/// What the machines of a case are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Containers with an init of their own.
    Containers,
    Emulated,
}

/// The surroundings of one case.
#[derive(Debug)]
pub struct Lab {
    case: String,
    begun: Instant,
    vpc: Arc<Vpc>,
    base: Base,
    evidence: Arc<Evidence>,
}

impl Lab {
    /// Environment for a case of the machine tier; `None`, said aloud, where this machine lacks what its machines need.
    ///
    /// # Panics
    ///
    /// When setting up fails for any other reason.
    #[track_caller]
    pub fn open(case: &str, kind: Kind) -> Option<Self> {
        Self::with("machine", case, kind, Rules::default())
    }

    /// The same for a tier, and with rules of EC2.
    ///
    /// # Panics
    ///
    /// As [`Lab::open`].
    #[track_caller]
    pub fn with(tier: &str, case: &str, kind: Kind, rules: Rules) -> Option<Self> {
        unless_missing(Self::make(tier, case, kind, rules))
    }

    fn make(tier: &str, case: &str, kind: Kind, rules: Rules) -> Result<Self, SetUpError> {
        probe::containers()?;
        let begun = Instant::now();
        let base = Base::get()?;
        if kind == Kind::Emulated {
            probe::emulator(&base)?;
        }
        Ok(Self {
            case: case.to_owned(),
            begun,
            vpc: Arc::new(Vpc::make(rules)?),
            base,
            evidence: Arc::new(Evidence::begin(tier, case)?),
        })
    }

    /// The network and its services.
    pub fn vpc(&self) -> &Arc<Vpc> {
        &self.vpc
    }

    /// The base system.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// What is kept of the case.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The example cluster in this region.
    ///
    /// # Panics
    ///
    /// When it cannot be published.
    pub fn cluster(&self) -> Cluster {
        self.cluster_with(|spec| spec)
    }

    /// The same with a spec that differs.
    ///
    /// # Panics
    ///
    /// When it cannot be published.
    pub fn cluster_with(&self, change: impl FnOnce(String) -> String) -> Cluster {
        Cluster::publish(&self.vpc, &self.base, change).expect("the example can be published")
    }

    /// What lies over the base system of a machine without the agent: how units reach this region's AWS, and etcd
    /// where its image has it.
    pub fn bare(&self) -> Layer {
        Layer::new()
            .file(
                "/etc/systemd/system/quake-agent.service.d/50-region.conf",
                0o644,
                endpoint_drop_in(),
            )
            .link("/usr/local/bin/etcd", "/usr/bin/etcd")
    }

    /// The same with the agent, as the provisioning step of images installs it.
    ///
    /// # Panics
    ///
    /// When the provisioning step fails.
    pub fn baked(&self) -> Layer {
        let agent = self
            .base
            .agent()
            .expect("the agent is built before its tests");
        let provisioned = self.base.provisioned(&agent);
        self.bare()
            .over(provisioned.expect("the provisioning step succeeds"))
    }

    /// The same without the agent, and what an image's recipe starts from in `/root`: the agent, its units, and the
    /// provisioning step, which [`BAKE`] runs.
    ///
    /// # Panics
    ///
    /// When the agent is not built.
    pub fn unprovisioned(&self) -> Layer {
        let agent = self
            .base
            .agent()
            .expect("the agent is built before its tests");
        let script = Path::new(IMAGES).join("provision.sh");
        let mut layer = self.bare().copy("/root/quake-agent", 0o755, &agent).copy(
            "/root/provision.sh",
            0o755,
            &script,
        );
        for unit in sorted(Path::new(UNITS)) {
            let name = unit.file_name().unwrap_or_default().to_string_lossy();
            layer = layer.copy(&format!("/root/units/{name}"), 0o644, &unit);
        }
        layer
    }

    /// A worker of the example cluster, as a container that is booted. Cases that change the cluster, or ask for the
    /// instance, launch it themselves.
    ///
    /// # Panics
    ///
    /// When the cluster cannot be published, or it does not boot.
    pub fn worker(&self, layer: Layer) -> Container {
        self.container(&self.cluster().launch("workers"), layer)
    }

    /// A container that is this instance, booted.
    ///
    /// # Panics
    ///
    /// When it does not boot.
    pub fn container(&self, facts: &Facts, layer: Layer) -> Container {
        let built = Container::build(&self.vpc, facts, layer, &self.evidence);
        let mut machine = built.expect("a container can be built");
        machine.start().expect("a container boots");
        machine
    }

    /// An emulated machine that is this instance, booted as far as its shell.
    ///
    /// # Panics
    ///
    /// When it does not boot.
    pub fn emulated(&self, facts: &Facts, layer: Layer, hardware: Hardware) -> Emulated {
        let built = Emulated::build(&self.vpc, facts, layer, hardware, &self.evidence);
        let mut machine = built.expect("a machine can be built");
        machine.start().expect("a machine boots");
        machine
    }

    /// How long the case takes so far, in seconds.
    pub fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.evidence
            .write("asked.txt", &self.vpc.requests().join("\n"));
        println!(
            "{}: {:.1} s; evidence in {}",
            self.case,
            self.elapsed(),
            self.evidence.folder().display()
        );
    }
}
