//! Members of etcd that were asked with the node's own certificate, and which member is this node's.

use crate::checks::node::Node;
use quake_model::expected::{ExpectedClient, ExpectedMember};
use quake_model::facts::{MemberSeen, Unseen};
use quake_volumes::Slot;

/// The members of this node that can be asked, each with how.
pub(super) fn askable<'a>(
    node: &Node<'a>,
) -> Result<Vec<(&'a ExpectedMember, &'a ExpectedClient)>, Unseen> {
    let members = node.expected()?.etcd.iter();
    Ok(members
        .filter_map(|member| Some((member, member.client.as_ref()?)))
        .collect())
}

/// What the members of this node answered; those of other nodes are left out.
///
/// # Errors
///
/// `NotTaken` where none was asked, or why they could not be.
pub(super) fn own<'a>(node: &Node<'a>) -> Result<Vec<&'a MemberSeen>, Unseen> {
    let seen = node.survey().etcd.get()?.iter();
    let own: Vec<&MemberSeen> = seen.filter(|seen| seen.own).collect();
    match own.is_empty() {
        true => Err(Unseen::NotTaken("no member was asked".to_owned())),
        false => Ok(own),
    }
}

/// The host name of this node's own member: by the volume that this instance holds, else by its address in `/etc/hosts`.
pub(super) fn own_host<'a>(node: &Node<'a>, member: &'a ExpectedMember) -> Option<&'a str> {
    if let [only] = member.hosts.as_slice() {
        return Some(only);
    }
    let at = by_volume(node, member).or_else(|| by_group(node, member));
    let by_place = at.and_then(|at| member.hosts.get(at).map(String::as_str));
    by_place.or_else(|| by_address(node, member))
}

/// The place of the member whose volume this instance holds.
fn by_volume(node: &Node<'_>, member: &ExpectedMember) -> Option<usize> {
    let instance = node.record().ok()?.instance.as_ref()?;
    let volumes = node.survey().volumes.ok()?.iter();
    let mut slots = volumes
        .filter(|volume| volume.is_held_by(&instance.instance_id))
        .filter_map(|volume| Slot::of_tags(&volume.tags));
    let slot = slots.find(|slot| slot.etcd == member.cluster)?;
    member.members.iter().position(|name| *name == slot.member)
}

/// The place of the member that the instance group runs, where it runs one alone.
fn by_group(node: &Node<'_>, member: &ExpectedMember) -> Option<usize> {
    let own = &node.record().ok()?.spec.as_ref()?.instance_group;
    let mut of_group = (0..).zip(&member.groups).filter(|(_, group)| *group == own);
    match (of_group.next(), of_group.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

fn by_address<'a>(node: &Node<'a>, member: &'a ExpectedMember) -> Option<&'a str> {
    let address = &node.record().ok()?.instance.as_ref()?.private_ip;
    let text = node.text("/etc/hosts").ok()??;
    let of_line = |line: &'a str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let is_own = words.next() == Some(address.as_str());
        let own = words.find(|name| member.hosts.iter().any(|host| host == name));
        own.filter(|_| is_own)
    };
    text.lines().find_map(of_line)
}

/// How an operator asks the member: in the container of its pod, where the node's root is `/rootfs`.
pub(super) fn etcdctl(client: &ExpectedClient) -> String {
    let (ca, certificate, key) = (&client.ca, &client.certificate, &client.key);
    format!(
        "/opt/etcd-v<version>/etcdctl --endpoints={} --cacert=/rootfs{ca} --cert=/rootfs{certificate} --key=/rootfs{key}",
        client.url()
    )
}

/// Why a check of members that are asked does not concern this node.
pub(super) const NONE_ASKED: &str = "no member of etcd is asked on this node";
