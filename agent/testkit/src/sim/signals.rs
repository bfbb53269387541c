//! Auto Scaling groups and an API server, simulated.

use super::SimHost;
use crate::region::{GroupState, Region};
use quake_model::ports::{Condition, PortError, Signals};
use quake_model::repair::{GroupMember, GroupView, MemberState};
use quake_model::signal::{ApiAccess, HookCompletion, HookResult, NodeEvent};

impl Signals for SimHost {
    async fn find_group(&self, instance_id: &str) -> Result<Option<String>, PortError> {
        self.call("find_group", |world| {
            world.count("autoscaling:DescribeAutoScalingInstances");
            let mut groups = world.region.groups.iter();
            let group = groups.find(|group| group.members.contains(instance_id));
            Ok(group.map(|group| group.name.clone()))
        })
        .await
    }

    async fn set_unhealthy(&self, instance_id: &str) -> Result<(), PortError> {
        self.call("set_unhealthy", |world| {
            world.count("autoscaling:SetInstanceHealth");
            let mut groups = world.region.groups.iter_mut();
            let group = groups.find(|group| group.members.contains(instance_id));
            let group = group.ok_or_else(|| missing(&format!("group of {instance_id}")))?;
            group.unhealthy.insert(instance_id.to_owned());
            Ok(())
        })
        .await
    }

    async fn complete_hook(&self, completion: &HookCompletion) -> Result<(), PortError> {
        self.call("complete_hook", |world| {
            world.count("autoscaling:CompleteLifecycleAction");
            let mut groups = world.region.groups.iter_mut();
            let group = groups.find(|group| group.name == completion.group);
            let group = group.ok_or_else(|| missing(&format!("group {}", completion.group)))?;
            let hooks = group.waiting.get_mut(&completion.instance_id);
            let hook = completion.hook.as_str();
            if !hooks.is_some_and(|hooks| hooks.remove(hook)) {
                return Err(missing(&format!("launch that waits at {hook}")));
            }
            let result = match completion.result {
                HookResult::Continue => "CONTINUE",
                HookResult::Abandon => "ABANDON",
            };
            group.completed.push(format!("{hook}={result}"));
            Ok(())
        })
        .await
    }

    async fn describe_groups(&self, names: &[String]) -> Result<Vec<GroupView>, PortError> {
        self.call("describe_groups", |world| {
            world.count("autoscaling:DescribeAutoScalingGroups");
            let groups = world.region.groups.iter();
            let named = groups.filter(|group| names.contains(&group.name));
            Ok(named.map(|group| view(&world.region, group)).collect())
        })
        .await
    }

    async fn has_hook(&self, group: &str, hook: &str) -> Result<bool, PortError> {
        self.call("has_hook", |world| {
            world.count("autoscaling:DescribeLifecycleHooks");
            let mut groups = world.region.groups.iter();
            let found = groups.find(|found| found.name == group);
            Ok(found.is_some_and(|group| {
                let start = format!("{hook}=");
                group.waiting.values().any(|hooks| hooks.contains(hook))
                    || group.completed.iter().any(|done| done.starts_with(&start))
            }))
        })
        .await
    }

    async fn post_node_event(&self, _: &ApiAccess, event: &NodeEvent) -> Result<(), PortError> {
        self.call("post_node_event", |world| {
            let json = String::from_utf8_lossy(&event.json).into_owned();
            let events = &mut world.region.node_events;
            events.entry(event.name.clone()).or_insert(json);
            Ok(())
        })
        .await
    }
}

fn view(region: &Region, group: &GroupState) -> GroupView {
    let zone = |id: &String| {
        let mut known = region.instances.iter();
        let known = known.find(|view| view.instance_id == *id);
        known.map(|view| view.zone.clone()).unwrap_or_default()
    };
    let member = |id: &String| GroupMember {
        instance_id: id.clone(),
        zone: zone(id),
        state: match group.leaving.contains(id) {
            true => MemberState::Leaving,
            false => MemberState::InService,
        },
        healthy: !group.unhealthy.contains(id),
    };
    GroupView {
        name: group.name.clone(),
        desired: group.desired.unwrap_or(group.members.len()),
        members: group.members.iter().map(member).collect(),
        suspended: group.suspended.clone(),
    }
}

fn missing(what: &str) -> PortError {
    PortError::new(Condition::Missing, format!("there is no {what}"))
}
