//! The API of EC2 Auto Scaling, as far as a node has something to tell its group.

use super::clients::Aws;
use super::failure::Attempt;
use quake_model::iam::partition_of;
use quake_model::ports::{Condition, PortError};
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
        match request.instance_ids(instance_id).send().await {
            Ok(answer) => {
                let found = answer.auto_scaling_instances().first();
                let group = found.and_then(|found| found.auto_scaling_group_name());
                Ok(group.map(str::to_owned))
            }
            Err(error) => Err(self.aws.failed(&attempt, error).await),
        }
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
        match request.should_respect_grace_period(false).send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.aws.failed(&attempt, error).await),
        }
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
        match request.send().await {
            Ok(answer) => {
                let mut hooks = answer.lifecycle_hooks().iter();
                Ok(hooks.any(|found| found.lifecycle_hook_name() == Some(hook)))
            }
            Err(error) => match self.aws.failed(&attempt, error).await {
                error if error.condition == Condition::Missing => Ok(false),
                error => Err(error),
            },
        }
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
        match request.lifecycle_action_result(result).send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.aws.failed(&attempt, error).await),
        }
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

#[cfg(test)]
mod tests;
