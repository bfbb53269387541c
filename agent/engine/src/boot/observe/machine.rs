//! Observes of the machine what builders of kops (1.32 and newer) must know.

use crate::boot::facts::BootFacts;
use crate::boot::observe::startup_taint;
use crate::context::Context;
use crate::ensure::files;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::EniCapacity;
use quake_model::fault::Fault;
use quake_model::phase::Phase;
use quake_model::ports::{Cloud, Disks, Files, Kernel, Metadata, Meter};
use quake_model::step::WriteFile;
use quake_node::builders::{Lifecycle, LoginUser, Machine, needs_eni_capacity};
use quake_node::config::current::NodeupConfig;
use quake_node::distribution::Distribution;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the metadata service may be silent. A guess: it has answered before.
const METADATA_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// How long EC2 may take to say what a type has. A guess: it is one small question.
const TYPE_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// Where it is kept what EC2 said of instance types: it never changes, and a reboot must not need EC2.
const TYPES: &str = "/var/lib/quake-agent/instance-types.json";

pub(super) async fn observe_machine<H: Metadata + Cloud + Files + Disks + Kernel + Meter>(
    context: &Context<'_, H>,
    config: &NodeupConfig,
    distribution: Distribution,
) -> Result<Machine, Fault> {
    let state = metadata(context, "autoscaling/target-lifecycle-state").await?;
    let mounts = context.host.list_mounts().await;
    let mounts = mounts.map_err(|error| to_fault(Operation::Mount, error))?;
    let passwd = files::text(context, "/etc/passwd").await?;
    Ok(Machine {
        public_ip: metadata(context, "public-ipv4").await?,
        ipv6: metadata(context, "ipv6").await?,
        lifecycle: Lifecycle::of_target_state(state.as_deref()),
        runs_resolved: is_there(context, "/run/systemd/resolve/resolv.conf").await?,
        has_bpf_filesystem: mounts
            .iter()
            .any(|mount| mount.target == "/sys/fs/bpf" && mount.filesystem == "bpf"),
        has_nvidia_gpu: config.nvidia.is_some() && is_there(context, "/proc/driver/nvidia").await?,
        eni_capacity: eni_capacity(context, config).await?,
        interfaces: interfaces(context).await?,
        login_users: login_users(&passwd, distribution),
        startup_taint: startup_taint::text(context),
    })
}

/// What the instance's type has for pods, where their number follows from it and nobody says it: asked once, and kept.
async fn eni_capacity<H: Cloud + Files + Meter>(
    context: &Context<'_, H>,
    config: &NodeupConfig,
) -> Result<Option<EniCapacity>, Fault> {
    if !needs_eni_capacity(config) {
        return Ok(None);
    }
    let instance_type = context.know(BootFacts::instance)?.instance_type;
    // A note that cannot be read is none.
    let mut kept: BTreeMap<String, EniCapacity> =
        serde_json::from_str(&files::text(context, TYPES).await?).unwrap_or_default();
    if let Some(capacity) = kept.get(&instance_type) {
        return Ok(Some(*capacity));
    }
    let wait = context.wait(Phase::Config, "config:instance-type", TYPE_DEADLINE);
    let ask = || async {
        let described = context.host.describe_type(&instance_type).await;
        described.map_err(|error| {
            to_fault(Operation::DescribeType, error).seen("instance-type", &instance_type)
        })
    };
    let capacity = context.retry(&wait, ask).await?;
    if !context.is_planning() {
        kept.insert(instance_type, capacity);
        let text = serde_json::to_string(&kept).unwrap_or_default();
        let file = WriteFile::plain(TYPES, 0o644, text);
        let written = context.host.write_file(&file).await;
        written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", TYPES))?;
    }
    Ok(Some(capacity))
}

async fn metadata<H: Metadata + Meter>(
    context: &Context<'_, H>,
    key: &str,
) -> Result<Option<String>, Fault> {
    let wait = context.wait(Phase::Config, "config:metadata", METADATA_DEADLINE);
    let read = || async {
        let read = context.host.read_metadata(key).await;
        read.map_err(|error| to_fault(Operation::ReadMetadata, error).seen("key", key))
    };
    context.retry(&wait, read).await
}

async fn is_there<H: Files>(context: &Context<'_, H>, path: &str) -> Result<bool, Fault> {
    let looked = context.host.look_file(path, 0).await;
    let found = looked.map_err(|error| to_fault(Operation::UseFile, error).seen("path", path))?;
    Ok(found.is_some())
}

/// Interfaces with a hardware address, beside the loopback.
async fn interfaces<H: Kernel>(
    context: &Context<'_, H>,
) -> Result<BTreeMap<String, String>, Fault> {
    let mac = context.know(BootFacts::instance)?.mac;
    let read = context.host.read_network().await;
    let network = read.map_err(|error| to_fault(Operation::ReadNetwork, error))?;
    let ours = network.links.into_iter().filter(|link| link.mac == mac);
    Ok(ours.map(|link| (link.name, link.mac)).collect())
}

fn login_users(passwd: &str, distribution: Distribution) -> BTreeMap<String, LoginUser> {
    let homes: BTreeMap<&str, &str> = passwd
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            Some((*fields.first()?, *fields.get(5)?))
        })
        .collect();
    let known = distribution.login_users().iter().filter_map(|name| {
        // Root is on every machine, be there a list of users or not.
        let home = homes.get(name).copied();
        let home = home.or((*name == "root").then_some("/root"))?;
        let user = LoginUser {
            name: (*name).to_owned(),
            home: home.to_owned(),
        };
        Some(((*name).to_owned(), user))
    });
    known.collect()
}
