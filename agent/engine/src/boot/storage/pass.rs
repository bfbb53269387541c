//! One pass: everything that the choice needs, observed together.

use super::local::is_of;
use super::state::sorted;
use crate::boot::facts::BootFacts;
use crate::boot::observe::cloud::{describe_instances, describe_volumes};
use crate::boot::storage::identity::read_generation;
use crate::boot::storage::{StoragePorts, journal, local};
use crate::context::Context;
use futures_util::future::try_join3;
use quake_formats::tags::own_tags_seen;
use quake_model::facts::{
    Attachment, AttachmentState, DeviceFacts, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::fault::Fault;
use quake_model::ports::{Cloud, InstanceQuery, VolumeQuery};
use quake_model::spec::NodeSpec;
use quake_volumes::{AUTOSCALING_GROUP, LocalFacts, World, group_of, is_of_etcd};
use std::collections::BTreeSet;

/// What one pass observed.
pub(crate) struct Pass {
    /// The world as the choice takes it.
    pub(crate) world: World,
    /// Instances, with the device names in use.
    pub(crate) views: Vec<InstanceView>,
    /// Whether this instance's own tags say that it is of the cluster.
    pub(crate) own_tags_seen: bool,
}

pub(crate) async fn observe_pass<H: StoragePorts>(context: &Context<'_, H>) -> Result<Pass, Fault> {
    let spec = context.know(BootFacts::spec)?;
    let instance = context.know(BootFacts::instance)?;
    let ours = &instance.instance_id;
    let journal = journal::read(context).await?;
    let cluster_generation = read_generation(context).await?;
    let devices = local::devices(context).await?;
    let found = find_volumes(context, &spec.cluster, ours).await?;
    let volumes = sorted(shown_by_kernel(found, &devices, ours));
    let views = find_instances(context, &spec, &volumes, ours).await?;
    let own = views.iter().find(|view| view.instance_id == *ours);
    let own_tags_seen = own.is_some_and(|own| own_tags_seen(&own.tags, &spec.cluster));
    let here = volumes.iter().filter(|volume| volume.is_attached_to(ours));
    let here: Vec<&VolumeFacts> = here.collect();
    let verified =
        local::verified(context, &spec.cluster, &cluster_generation, &here, &devices).await;
    let settled = context.know_mut(|knowledge| {
        knowledge.storage.volumes.clone_from(&volumes);
        knowledge.storage.settling.see(&volumes);
        knowledge.storage.settling.is_settled()
    });
    let known = LocalFacts {
        cluster_generation,
        verified,
        intent: journal.member,
        settled: settled && own_tags_seen,
    };
    Ok(Pass {
        world: World::observed(&spec, &instance, volumes, &views, known),
        views,
        own_tags_seen,
    })
}

/// Asks wide, by either cluster tag and by what is attached here, so that near misses are seen too. What two
/// answers show differently stays as it is: the choice must know of it. Of what is elsewhere, volumes that have no
/// etcd tag are left out: pods' volumes move all the time, and a world with them is never twice the same.
async fn find_volumes<H: Cloud>(
    context: &Context<'_, H>,
    cluster: &str,
    ours: &str,
) -> Result<Vec<VolumeFacts>, Fault> {
    let owned = VolumeQuery::Tagged {
        key: format!("kubernetes.io/cluster/{cluster}"),
        value: "owned".to_owned(),
    };
    let attached = VolumeQuery::AttachedTo(ours.to_owned());
    let (mut named, owned, attached) = try_join3(
        look_cheaply(context, cluster),
        describe_volumes(context, &owned),
        describe_volumes(context, &attached),
    )
    .await?;
    let owned = owned.into_iter().filter(|it| is_of_etcd(&it.tags));
    for volume in owned.chain(attached) {
        if !named.contains(&volume) {
            named.push(volume);
        }
    }
    Ok(named)
}

/// The one call that shows all volumes that kops made for etcd, and any change of them.
pub(crate) async fn look_cheaply<H: Cloud>(
    context: &Context<'_, H>,
    cluster: &str,
) -> Result<Vec<VolumeFacts>, Fault> {
    let query = VolumeQuery::Tagged {
        key: quake_formats::tags::CLUSTER_TAG.to_owned(),
        value: cluster.to_owned(),
    };
    let mut found = describe_volumes(context, &query).await?;
    found.retain(|volume| is_of_etcd(&volume.tags));
    Ok(found)
}

/// Of the last whole pass, what [`look_cheaply`](look_cheaply) would have shown: to see whether anything changed.
pub(crate) fn cheaply_shown<H>(context: &Context<'_, H>, cluster: &str) -> Vec<VolumeFacts> {
    let volumes = context.know(|knowledge| knowledge.storage.volumes.clone());
    let tagged = volumes.into_iter().filter(|volume| {
        let named = volume.tags.get(quake_formats::tags::CLUSTER_TAG);
        named.is_some_and(|name| name == cluster) && is_of_etcd(&volume.tags)
    });
    sorted(tagged.collect())
}

/// This instance, the holders of volumes, and, where several members are open, the others of its group.
async fn find_instances<H: Cloud>(
    context: &Context<'_, H>,
    spec: &NodeSpec,
    volumes: &[VolumeFacts],
    ours: &str,
) -> Result<Vec<InstanceView>, Fault> {
    let attachments = volumes.iter().flat_map(|volume| &volume.attachments);
    let mut ids: BTreeSet<String> = attachments
        .map(|attachment| attachment.instance_id.clone())
        .collect();
    ids.insert(ours.to_owned());
    let query = InstanceQuery::Ids(ids.into_iter().collect());
    let mut views = describe_instances(context, &query).await?;
    let own = views.iter().find(|view| view.instance_id == ours);
    let group = own.and_then(|own| own.tags.get(AUTOSCALING_GROUP).cloned());
    if let Some(group) = group.filter(|_| has_several_members(spec)) {
        let query = InstanceQuery::Tagged {
            key: AUTOSCALING_GROUP.to_owned(),
            value: group,
        };
        for view in describe_instances(context, &query).await? {
            if views
                .iter()
                .all(|known| known.instance_id != view.instance_id)
            {
                views.push(view);
            }
        }
    }
    Ok(views)
}

/// Corrects EC2's view by the kernel's: a volume whose device is here is attached here, whatever a late answer says.
/// What EC2 itself shows of an attachment here stays as it is.
fn shown_by_kernel(
    mut volumes: Vec<VolumeFacts>,
    devices: &[DeviceFacts],
    ours: &str,
) -> Vec<VolumeFacts> {
    for volume in &mut volumes {
        let mut attachments = volume.attachments.iter();
        let is_shown = attachments.any(|attachment| attachment.instance_id == ours);
        let is_here = || {
            devices
                .iter()
                .any(|device| is_of(device, &volume.volume_id))
        };
        // Where several instances may have it, its device here proves nothing.
        if !is_shown && !volume.multi_attach && is_here() {
            volume.state = VolumeState::InUse;
            volume.attachments = vec![Attachment {
                instance_id: ours.to_owned(),
                device_name: String::new(),
                state: AttachmentState::Attached,
                since: None,
                delete_on_termination: false,
            }];
        }
    }
    volumes
}

/// Whether this node's group may run one of several members, so that its peers matter.
fn has_several_members(spec: &NodeSpec) -> bool {
    spec.etcd.iter().any(|cluster| {
        let members = cluster.members.iter();
        let ours = members.filter(|member| {
            let group = member.instance_group.as_ref();
            group.is_none_or(|group| *group == spec.instance_group)
        });
        cluster.members.is_empty() || ours.count() > 1
    })
}

/// Whether some volume is attached to a living instance of unknown group: its tags may only be late.
pub(crate) fn has_unknown_holder(world: &World, views: &[InstanceView]) -> bool {
    let is_attached = |id: &str| world.volumes.iter().any(|volume| volume.is_held_by(id));
    views.iter().any(|view| {
        let lives = view.state.is_alive();
        lives && group_of(&view.tags, &world.cluster).is_none() && is_attached(&view.instance_id)
    })
}
