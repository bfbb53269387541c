//! What is seen of the others: the API server, the group or the control plane, and the notes of the peers.

use super::{Repair, RepairPorts, Seen, cause_of};
use crate::access::access_by;
use quake_model::facts::InstanceView;
use quake_model::health_note::PastRepair;
use quake_model::ports::{Condition, InstanceQuery};
use quake_model::repair::{GroupMember, GroupView, MemberState, SharedCause};
use quake_node::repair::{Member, Population, RECURS_WITHIN, Situation, cas_have_expired, peer_of};
use quake_volumes::CONTROL_PLANE_TAGS;
use std::collections::BTreeSet;
use std::time::Duration;

/// The tag by which EC2 shows the group of an instance (EC2 Auto Scaling user guide, read 2026-11).
const GROUP_TAG: &str = "aws:autoscaling:groupName";

/// How long after its launch an instance counts as away: it may be in service to its group long before it is a node. A guess.
const BOOTS_FOR: Duration = Duration::from_secs(20 * 60);

impl<H: RepairPorts> Repair<'_, H> {
    /// Fills in what is seen of the others. What cannot be seen at all, because nothing names it, stays `None`.
    pub(super) async fn see_others(&mut self, situation: &mut Situation) -> Seen<()> {
        self.api_server_answers().await?;
        let Some(notes) = &self.notes else {
            situation.population = self.population().await?;
            return Ok(());
        };
        let host = self.context.host;
        let names = notes.names(host).await?;
        situation.population = self.population().await?;
        let Some(population) = &situation.population else {
            return Ok(());
        };
        let others = population
            .members
            .iter()
            .map(|member| member.instance.clone());
        let others: Vec<String> = others.filter(|id| *id != self.identity.instance).collect();
        let read = notes.read(host, &names, &others).await?;
        let now = host.now();
        let said: Vec<_> = read.iter().filter_map(|note| peer_of(note, now)).collect();
        if let Some(etcd) = &mut situation.etcd {
            etcd.healthy_others = said.iter().filter(|(_, answers)| *answers).count();
        }
        situation.peers = Some(said.into_iter().filter_map(|(peer, _)| peer).collect());
        let past: Vec<PastRepair> = names
            .iter()
            .filter_map(|name| PastRepair::parse(name))
            .collect();
        self.requested |= past
            .iter()
            .any(|past| past.instance == self.identity.instance);
        situation.requested = self.requested;
        let within = u128::from(now.0).saturating_sub(RECURS_WITHIN.as_millis());
        let recent = past
            .into_iter()
            .filter(|past| u128::from(past.at.0) >= within);
        situation.repairs = recent.map(|past| past.symptoms).collect();
        Ok(())
    }

    /// Whether the API server answers, whatever it answers. A control plane asks its own, which says nothing of others; its
    /// peers' notes and etcd's quorum stand for it.
    async fn api_server_answers(&self) -> Seen<()> {
        let identity = &self.identity;
        let Some(access) = access_by(self.context.host, &identity.kubeconfig).await else {
            return Err(SharedCause::ApiServer);
        };
        let bundle = String::from_utf8_lossy(&access.ca_bundle);
        if cas_have_expired(&bundle, self.context.host.now()) {
            return Err(SharedCause::ClusterCa);
        }
        if access.server.starts_with("https://127.0.0.1") {
            return Ok(());
        }
        match self.context.host.look_node(&access, &identity.node).await {
            Err(error) if error.condition == Condition::Unreachable => {
                Err(cause_of(&error, SharedCause::ApiServer))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn population(&self) -> Seen<Option<Population>> {
        let own = &self.identity.instance;
        let names = match self.subject.etcd {
            Some(_) => self.control_plane_groups().await?,
            None => {
                let ids = InstanceQuery::Ids(vec![own.clone()]);
                groups_of(&self.instances(&ids).await?)
            }
        };
        let described = self.context.host.describe_groups(&names).await;
        let groups = described.map_err(|error| cause_of(&error, SharedCause::Cloud))?;
        let is_own = |group: &&GroupView| group.members.iter().any(|it| it.instance_id == *own);
        let Some(own_group) = groups.iter().find(is_own) else {
            return Ok(None);
        };
        let desired = groups.iter().map(|group| group.desired).sum::<usize>();
        let members = self.subject.etcd.as_ref().map_or(0, |etcd| etcd.members);
        Ok(Some(Population {
            desired: desired.max(members),
            suspended: own_group.suspended.clone(),
            members: groups
                .iter()
                .flat_map(|group| &group.members)
                .map(member)
                .collect(),
        }))
    }

    async fn control_plane_groups(&self) -> Seen<Vec<String>> {
        let query = InstanceQuery::Tagged {
            key: quake_formats::tags::CLUSTER_TAG.to_owned(),
            value: self.identity.cluster.clone(),
        };
        let views = self.instances(&query).await?;
        let is_control_plane = |view: &InstanceView| {
            let mut keys = CONTROL_PLANE_TAGS.iter();
            view.state.is_alive() && keys.any(|key| view.tags.contains_key(*key))
        };
        let control_plane: Vec<InstanceView> = views.into_iter().filter(is_control_plane).collect();
        Ok(groups_of(&control_plane))
    }

    /// Counts instances that were launched lately as away.
    pub(super) async fn without_young(&self, population: &mut Population) -> Seen<()> {
        let ids = population
            .members
            .iter()
            .map(|member| member.instance.clone());
        let views = self.instances(&InstanceQuery::Ids(ids.collect())).await?;
        let now = self.context.host.now();
        for member in &mut population.members {
            let view = views
                .iter()
                .find(|view| view.instance_id == member.instance);
            let is_settled = view.is_some_and(|view| {
                let age = u128::from(now.millis_since(view.launched));
                view.state.is_alive() && age >= BOOTS_FOR.as_millis()
            });
            member.is_there &= is_settled;
        }
        Ok(())
    }

    async fn instances(&self, query: &InstanceQuery) -> Seen<Vec<InstanceView>> {
        let described = self.context.host.describe_instances(query).await;
        described.map_err(|error| cause_of(&error, SharedCause::Cloud))
    }
}

fn groups_of(views: &[InstanceView]) -> Vec<String> {
    let names = views.iter().filter_map(|view| view.tags.get(GROUP_TAG));
    let names: BTreeSet<&String> = names.collect();
    names.into_iter().cloned().collect()
}

fn member(member: &GroupMember) -> Member {
    Member {
        instance: member.instance_id.clone(),
        zone: member.zone.clone(),
        is_there: member.healthy && member.state == MemberState::InService,
    }
}
