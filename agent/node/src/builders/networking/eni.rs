//! What keeps the distribution's own network services off the interfaces, addresses, routes and rules that a pod network
//! makes on the instance (`nodeup/pkg/model/networking/eni_networking.go`, kops v1.36.2 and later).
//!
//! Each service was made for hosts whose every address is the host's own: it gives pods' addresses to the host, or takes
//! away what it did not make itself. Which rows a network needs is [`rows`]; a row does nothing on distributions without its
//! service. Restarts of systemd-networkd are paid after all packages are installed (ADR 0017).

use crate::builders::Context;
use crate::config::current::Provider;
use crate::distribution::{Distribution, Project};
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, Item, Reaction};

/// A row: the file on this distribution, if any.
type Row = fn(&Context<'_>) -> Result<Option<File>, Fault>;

/// The files of the rows that this node's network needs.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let rows = rows(&context.config.network.provider).iter();
    let files = rows.filter_map(|row| row(context).transpose());
    files.map(|file| file.map(Item::File)).collect()
}

fn rows(provider: &Provider) -> &'static [Row] {
    match provider {
        Provider::AmazonVpc => &[
            policy_routes,
            foreign_routes,
            hardware_addresses,
            secondary_interfaces,
            network_hotplug,
            ifupdown_helper,
            cloud_setup,
        ],
        Provider::Cilium { eni: true } => &[
            policy_routes,
            foreign_routes,
            hardware_addresses,
            secondary_interfaces,
            network_hotplug,
        ],
        Provider::Cilium { eni: false } => &[foreign_routes, network_hotplug],
        Provider::Unnamed
        | Provider::Calico { .. }
        | Provider::Cni { .. }
        | Provider::Flannel
        | Provider::KubeRouter
        | Provider::Kindnet => &[],
    }
}

/// Whether systemd-networkd of the distribution manages the instance's interfaces.
fn runs_networkd(distribution: Distribution) -> bool {
    distribution.is_at_least(Project::Ubuntu, (22, 4))
        || distribution.is_at_least(Project::Debian, (12, 0))
        || distribution.project == Project::AmazonLinux
}

/// A file that systemd-networkd reads at its start.
fn read_by_networkd(path: &str, text: &str) -> File {
    File::plain(path, text).then(restart_networkd())
}

fn restart_networkd() -> Reaction {
    Reaction::RestartUnit("systemd-networkd.service".to_owned())
}

fn run(command: &str) -> Reaction {
    Reaction::Run(command.split(' ').map(str::to_owned).collect())
}

/// Only a shell knows what there is.
fn shell(script: &str) -> Reaction {
    Reaction::Run(["sh", "-c", script].map(str::to_owned).into())
}

/// amazon-ec2-net-utils asks the metadata every minute for the addresses of each interface, and makes those of pods the
/// host's. An empty file in the place of its rules keeps it off interfaces to come. What runs already is stopped, its
/// templates are masked, since instances may be enabled, and what they wrote is removed.
fn policy_routes(context: &Context<'_>) -> Result<Option<File>, Fault> {
    const TEXT: &str = "# Written by quake-agent; changes are lost at the next boot.\n\
                        # Stands for the rules of the same name in /usr/lib: pods' addresses must not become the host's.\n";
    if context.distribution.project != Project::AmazonLinux {
        return Ok(None);
    }
    let file = File::plain("/etc/udev/rules.d/99-vpc-policy-routes.rules", TEXT)
        .then(Reaction::ReloadUdev)
        .then(run("systemctl stop refresh-policy-routes@*.timer refresh-policy-routes@*.service policy-routes@*.service"))
        .then(run("systemctl mask refresh-policy-routes@.timer refresh-policy-routes@.service policy-routes@.service"))
        .then(shell("rm -f /run/systemd/network/*/ec2net_alias.conf"))
        // It forgets the addresses that it read there.
        .then(restart_networkd());
    Ok(Some(file))
}

/// systemd-networkd removes routes and rules that it did not make.
fn foreign_routes(context: &Context<'_>) -> Result<Option<File>, Fault> {
    const TEXT: &str = "# Written by quake-agent; changes are lost at the next boot.\n\
                        # Routes and rules of pods are made by their network, and must stay.\n\
                        [Network]\n\
                        ManageForeignRoutes=no\n\
                        ManageForeignRoutingPolicyRules=no\n";
    const PATH: &str = "/usr/lib/systemd/networkd.conf.d/40-disable-manage-foreign-routes.conf";
    let is_wanted = runs_networkd(context.distribution);
    Ok(is_wanted.then(|| read_by_networkd(PATH, TEXT)))
}

/// systemd gives a new interface another hardware address than its driver did, while the pod network already uses it
/// (amazon-vpc-cni-k8s issues 2103 and 2839, kops issue 16255). Names are made as systemd makes them by itself.
fn hardware_addresses(context: &Context<'_>) -> Result<Option<File>, Fault> {
    const TEXT: &str = "# Written by quake-agent; changes are lost at the next boot.\n\
                        # Interfaces of pods keep the hardware addresses that their network gave them.\n\
                        [Match]\n\
                        OriginalName=*\n\
                        \n\
                        [Link]\n\
                        NamePolicy=keep kernel database onboard slot path\n\
                        AlternativeNamesPolicy=database onboard slot path\n\
                        MACAddressPolicy=none\n";
    let is_wanted = runs_networkd(context.distribution);
    Ok(is_wanted.then(|| read_by_networkd("/etc/systemd/network/99-default.link", TEXT)))
}

/// systemd-networkd runs DHCP on secondary interfaces and makes routes by them that contradict those of pods
/// (amazon-vpc-cni-k8s issue 3524). Ubuntu has netplan, which names the primary interface alone.
///
/// Interfaces have no names that tell the primary one, so all of the ENA driver but that are left alone. 75 comes after the
/// files for single interfaces (10, 70) and before Amazon Linux's for all (80); the first that fits counts.
fn secondary_interfaces(context: &Context<'_>) -> Result<Option<File>, Fault> {
    let distribution = context.distribution;
    let is_wanted = distribution.project == Project::AmazonLinux
        || distribution.is_at_least(Project::Debian, (12, 0));
    if !is_wanted {
        return Ok(None);
    }
    let text = format!(
        "# Written by quake-agent; changes are lost at the next boot.\n\
         # Every interface but the primary one belongs to pods. By its property and not its name: a name that is\n\
         # excluded fits another of the same interface's names.\n\
         [Match]\n\
         Driver=ena\n\
         Property=!INTERFACE={}\n\
         \n\
         [Link]\n\
         Unmanaged=yes\n",
        primary_interface(context)?
    );
    Ok(Some(read_by_networkd(
        "/etc/systemd/network/75-eni-secondary.network",
        &text,
    )))
}

/// cloud-init configures the network anew when an interface is attached (kops issue 17881).
fn network_hotplug(context: &Context<'_>) -> Result<Option<File>, Fault> {
    // The text of nodeup's file with its remark: of two agents that take turns on a node, neither writes it anew.
    const TEXT: &str = "# Disable cloud-init network hotplug to prevent interference with CNI ENI management.\n\
                        # See: https://github.com/kubernetes/kops/issues/17881\n\
                        updates:\n\
                        \x20 network:\n\
                        \x20   when: [boot-new-instance]\n";
    let distribution = context.distribution;
    let is_wanted = distribution.is_at_least(Project::Ubuntu, (24, 4))
        || distribution.is_at_least(Project::Debian, (12, 0));
    let path = "/etc/cloud/cloud.cfg.d/99-disable-network-hotplug.cfg";
    Ok(is_wanted.then(|| File::plain(path, TEXT)))
}

/// Debian 11's helper of ifupdown runs DHCP on every new interface called `en*`, also on the `eni*` that are pods' own, and
/// takes them down when nobody answers. No package owns its rules, so they can be replaced.
fn ifupdown_helper(context: &Context<'_>) -> Result<Option<File>, Fault> {
    const TEXT: &str = "# Written by quake-agent; changes are lost at the next boot.\n\
                        # For interfaces of the instance (ens*) and not for those of pods (eni*).\n\
                        SUBSYSTEM==\"net\", ACTION==\"add\", ENV{INTERFACE}==\"eth*|ens*\", \
                        RUN+=\"/etc/network/cloud-ifupdown-helper\"\n";
    let distribution = context.distribution;
    let is_wanted = distribution.project == Project::Debian && distribution.version == (11, 0);
    let file = File::plain("/etc/udev/rules.d/75-cloud-ifupdown.rules", TEXT);
    Ok(is_wanted.then(|| file.then(Reaction::ReloadUdev)))
}

/// RHEL 9's nm-cloud-setup makes rules for each address of an interface, pods' among them, that win over those of the pod
/// network. The file only remembers that it was turned off.
fn cloud_setup(context: &Context<'_>) -> Result<Option<File>, Fault> {
    const TEXT: &str = "# Written by quake-agent: nm-cloud-setup is turned off, for it takes pods' addresses for the host's.\n";
    let distribution = context.distribution;
    let is_wanted = distribution.project == Project::Rhel && distribution.version == (9, 0);
    let file = File::plain("/etc/kops/nm-cloud-setup-disabled", TEXT)
        // A pattern, which may fit nothing: not every image has the package.
        .then(run("systemctl stop nm-cloud-setup.*"))
        .then(run("systemctl mask nm-cloud-setup.service nm-cloud-setup.timer"))
        // To bring a connection up again drops what was added to it since it came up.
        .then(shell("nmcli -t -f UUID connection show --active | while read -r id; do nmcli connection up uuid \"$id\"; done"));
    Ok(is_wanted.then_some(file))
}

/// The name of the physical interface that has the address the metadata gives the primary one. Another one taken for it would
/// cut the node off, so two or none is a fault.
fn primary_interface<'a>(context: &Context<'a>) -> Result<&'a str, Fault> {
    let (machine, mac) = (context.machine, &context.instance.mac);
    let fitting = machine.interfaces.iter();
    let fitting = fitting.filter(|(_, found)| found.eq_ignore_ascii_case(mac));
    let names: Vec<&str> = fitting.map(|(name, _)| name.as_str()).collect();
    let [name] = names[..] else {
        let seen: Vec<&str> = machine.interfaces.keys().map(String::as_str).collect();
        let summary = format!("{} physical interfaces have the address {mac}", names.len());
        return Err(Fault::new(Code::NetworkUnreadable, summary)
            .seen("mac", mac)
            .seen("interfaces", seen.join(" ")));
    };
    Ok(name)
}

#[cfg(test)]
mod tests;
