//! The API of EC2 Auto Scaling, as far as a node has something to tell its group.

use super::clients::Aws;
use super::failure::Attempt;
use aws_sdk_autoscaling::types::{AutoScalingGroup, Instance, LifecycleState};
use quake_model::iam::partition_of;
use quake_model::ports::{Condition, PortError};
use quake_model::repair::{GroupMember, GroupView, MemberState};
use quake_model::signal::{HookCompletion, HookResult};

/// Auto Scaling of the region.
#[derive(Debug, Clone)]
pub struct AutoScaling {
    aws: Aws,
}

impl AutoScaling {
    /// Auto Scaling as `aws` reaches it.
    pub fn new(aws: Aws) -> Self {
        Self { aws }
    }

    /// Looks which group an instance is in.
    ///
    /// # Errors
    ///
    /// As `Signals::find_group`.
    pub async fn find_group(&self, instance_id: &str) -> Result<Option<String>, PortError> {
        let action = "autoscaling:DescribeAutoScalingInstances";
        let attempt = self.attempt(action, "*", instance_id).await?;
        let client = self.aws.autoscaling().await?;
        self.aws.count(action);
        let request = client.describe_auto_scaling_instances();
        let sent = request.instance_ids(instance_id).send().await;
        let answer = self.aws.answer(&attempt, sent).await?;
        let found = answer.auto_scaling_instances().first();
        let group = found.and_then(|found| found.auto_scaling_group_name());
        Ok(group.map(str::to_owned))
    }

    /// Tells the group of an instance that it is unhealthy. A grace period is for instances that may yet become healthy,
    /// so it is not respected.
    ///
    /// # Errors
    ///
    /// As `Signals::set_unhealthy`.
    pub async fn set_unhealthy(&self, instance_id: &str) -> Result<(), PortError> {
        let action = "autoscaling:SetInstanceHealth";
        let attempt = self.attempt(action, "any", instance_id).await?;
        let client = self.aws.autoscaling().await?;
        self.aws.count(action);
        let request = client
            .set_instance_health()
            .instance_id(instance_id)
            .health_status("Unhealthy");
        let sent = request.should_respect_grace_period(false).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    /// Looks whether a group has a lifecycle hook of this name.
    ///
    /// # Errors
    ///
    /// As `Signals::has_hook`.
    pub async fn has_hook(&self, group: &str, hook: &str) -> Result<bool, PortError> {
        let action = "autoscaling:DescribeLifecycleHooks";
        let attempt = self.attempt(action, "*", group).await?;
        let client = self.aws.autoscaling().await?;
        self.aws.count(action);
        // All of the group's, fifty at most: one that is asked for by a name it does not have fails the request.
        let request = client
            .describe_lifecycle_hooks()
            .auto_scaling_group_name(group);
        match self.aws.answer(&attempt, request.send().await).await {
            Ok(answer) => {
                let mut hooks = answer.lifecycle_hooks().iter();
                Ok(hooks.any(|found| found.lifecycle_hook_name() == Some(hook)))
            }
            Err(error) if error.condition == Condition::Missing => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Describes groups with their instances.
    ///
    /// # Errors
    ///
    /// As `Signals::describe_groups`.
    pub async fn describe_groups(&self, names: &[String]) -> Result<Vec<GroupView>, PortError> {
        // Without a name Auto Scaling would show every group of the account.
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let action = "autoscaling:DescribeAutoScalingGroups";
        let attempt = self.attempt(action, "*", &names.join(", ")).await?;
        let client = self.aws.autoscaling().await?;
        self.aws.count(action);
        let request = client
            .describe_auto_scaling_groups()
            .set_auto_scaling_group_names(Some(names.to_vec()));
        let answer = self.aws.answer(&attempt, request.send().await).await?;
        Ok(answer.auto_scaling_groups().iter().map(view).collect())
    }

    /// Completes the action of a lifecycle hook.
    ///
    /// # Errors
    ///
    /// As `Signals::complete_hook`.
    pub async fn complete_hook(&self, completion: &HookCompletion) -> Result<(), PortError> {
        let action = "autoscaling:CompleteLifecycleAction";
        let subject = format!("{} at {}", completion.instance_id, completion.hook);
        let attempt = self.attempt(action, &completion.group, &subject).await?;
        let client = self.aws.autoscaling().await?;
        self.aws.count(action);
        let result = match completion.result {
            HookResult::Continue => "CONTINUE",
            HookResult::Abandon => "ABANDON",
        };
        let request = client
            .complete_lifecycle_action()
            .auto_scaling_group_name(&completion.group)
            .lifecycle_hook_name(completion.hook.as_str())
            .instance_id(&completion.instance_id);
        let sent = request.lifecycle_action_result(result).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    /// An attempt on a group, on `any`, or on `*` for what knows no resources.
    async fn attempt(
        &self,
        action: &'static str,
        group: &str,
        subject: &str,
    ) -> Result<Attempt, PortError> {
        let region = self.aws.region().await?;
        let partition = partition_of(&region);
        let name = if group == "any" { "*" } else { group };
        let arn = format!(
            "arn:{partition}:autoscaling:{region}:*:autoScalingGroup:*:autoScalingGroupName/{name}"
        );
        let resource = if group == "*" { "*".to_owned() } else { arn };
        Ok(Attempt {
            action,
            resources: vec![resource],
            key: String::new(),
            subject: subject.to_owned(),
            endpoint: self.aws.endpoint("autoscaling", &region),
        })
    }
}

fn view(group: &AutoScalingGroup) -> GroupView {
    let suspended = group.suspended_processes().iter();
    let suspended = suspended.filter_map(|process| process.process_name());
    GroupView {
        name: group
            .auto_scaling_group_name()
            .unwrap_or_default()
            .to_owned(),
        desired: usize::try_from(group.desired_capacity().unwrap_or_default()).unwrap_or_default(),
        members: group.instances().iter().map(member).collect(),
        suspended: suspended.map(str::to_owned).collect(),
    }
}

fn member(instance: &Instance) -> GroupMember {
    let state = match instance.lifecycle_state() {
        Some(LifecycleState::InService) => MemberState::InService,
        Some(LifecycleState::EnteringStandby | LifecycleState::Standby) => MemberState::Standby,
        Some(
            LifecycleState::Pending | LifecycleState::PendingWait | LifecycleState::PendingProceed,
        ) => MemberState::Pending,
        // Terminating, detached, of a warm pool, or a state of a newer Auto Scaling: not in service.
        _ => MemberState::Leaving,
    };
    GroupMember {
        instance_id: instance.instance_id().unwrap_or_default().to_owned(),
        zone: instance.availability_zone().unwrap_or_default().to_owned(),
        state,
        healthy: instance
            .health_status()
            .is_some_and(|it| it.eq_ignore_ascii_case("healthy")),
    }
}

#[cfg(test)]
mod tests;
