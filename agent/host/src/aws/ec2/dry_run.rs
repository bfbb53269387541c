//! Whether the role may do what a node does, by EC2's own dry runs: EC2 judges the request and does nothing.
//!
//! EC2 answers `DryRunOperation` to who may and `UnauthorizedOperation` to who may not (EC2 API reference, "Common
//! query parameters", `DryRun`). Whatever else it answers says nothing about the permission.

use super::Ec2;
use crate::aws::refusal::split_encoded;
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::types::{
    EbsInstanceBlockDeviceSpecification, InstanceBlockDeviceMappingSpecification, Tag,
};
use quake_model::facts::Permitted;
use quake_model::ports::PortError;

/// The tag that a dry run names: one that policies let the agent write. It is never written.
const TAG: &str = "quake.io/dry-run";

/// What is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRun {
    DescribeInstances,
    DescribeVolumes,
    AttachVolume {
        volume_id: String,
        instance_id: String,
    },
    /// Keep a volume when its instance is terminated.
    KeepVolume {
        instance_id: String,
        /// The device name it is attached under.
        device_name: String,
    },
    TagVolume {
        volume_id: String,
    },
}

impl DryRun {
    /// The action as IAM spells it.
    pub fn action(&self) -> &'static str {
        match self {
            Self::DescribeInstances => "ec2:DescribeInstances",
            Self::DescribeVolumes => "ec2:DescribeVolumes",
            Self::AttachVolume { .. } => "ec2:AttachVolume",
            Self::KeepVolume { .. } => "ec2:ModifyInstanceAttribute",
            Self::TagVolume { .. } => "ec2:CreateTags",
        }
    }

    /// What it is tried on, in a word.
    pub fn resource(&self) -> String {
        match self {
            Self::DescribeInstances | Self::DescribeVolumes => "*".to_owned(),
            Self::AttachVolume {
                volume_id,
                instance_id,
            } => format!("{volume_id} and {instance_id}"),
            Self::KeepVolume { instance_id, .. } => instance_id.clone(),
            Self::TagVolume { volume_id } => volume_id.clone(),
        }
    }
}

impl Ec2 {
    /// Asks EC2 whether the role may do this; nothing is done.
    pub async fn try_dry(&self, run: &DryRun) -> Permitted {
        self.send_dry(run).await.unwrap_or_else(|error| {
            let causes = error.causes.iter().map(|cause| format!(": {cause}"));
            let why = format!("{}{}", error.summary, causes.collect::<String>());
            Permitted::Unknown { why }
        })
    }

    async fn send_dry(&self, run: &DryRun) -> Result<Permitted, PortError> {
        let client = self.aws.ec2().await?;
        self.aws.count(run.action());
        match run {
            DryRun::DescribeInstances => {
                let sent = client.describe_instances().dry_run(true).send().await;
                self.judge_dry(run, sent).await
            }
            DryRun::DescribeVolumes => {
                let sent = client.describe_volumes().dry_run(true).send().await;
                self.judge_dry(run, sent).await
            }
            DryRun::AttachVolume {
                volume_id,
                instance_id,
            } => {
                let request = client.attach_volume().dry_run(true).device("/dev/xvdzz");
                let request = request.volume_id(volume_id).instance_id(instance_id);
                self.judge_dry(run, request.send().await).await
            }
            DryRun::KeepVolume {
                instance_id,
                device_name,
            } => {
                let ebs = EbsInstanceBlockDeviceSpecification::builder();
                let mapping = InstanceBlockDeviceMappingSpecification::builder()
                    .device_name(device_name)
                    .ebs(ebs.delete_on_termination(false).build());
                let request = client.modify_instance_attribute().dry_run(true);
                let request = request.instance_id(instance_id);
                let sent = request.block_device_mappings(mapping.build()).send().await;
                self.judge_dry(run, sent).await
            }
            DryRun::TagVolume { volume_id } => {
                let tag = Tag::builder().key(TAG).value("").build();
                let request = client.create_tags().dry_run(true).resources(volume_id);
                self.judge_dry(run, request.tags(tag).send().await).await
            }
        }
    }

    async fn judge_dry<T, E>(
        &self,
        run: &DryRun,
        sent: Result<T, SdkError<E, HttpResponse>>,
    ) -> Result<Permitted, PortError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        // EC2 never does what is only tried; where something else plays it, an answer is leave enough.
        let Err(error) = sent else {
            return Ok(Permitted::Yes);
        };
        let reported = error.as_service_error().map(ProvideErrorMetadata::meta);
        match reported.and_then(|meta| meta.code()) {
            // A volume that is attached already is refused only to who may attach one.
            Some("DryRunOperation" | "VolumeInUse") => Ok(Permitted::Yes),
            Some("UnauthorizedOperation") => {
                let message = reported.and_then(|meta| meta.message()).unwrap_or_default();
                let message = split_encoded(message).0.to_owned();
                Ok(Permitted::No { message })
            }
            _ => {
                let attempt = self.attempt(run.action(), run.resource()).await?;
                Err(self.aws.failed(&attempt, error).await)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::testing::{aws_at, ec2_error};

    async fn answered(status: u16, code: &'static str) -> Permitted {
        let answer =
            move |_: &_| ec2_error(status, code, "Encoded authorization failure message: x");
        let (aws, _calls, _server) = aws_at(answer).await;
        let run = DryRun::TagVolume {
            volume_id: "vol-1".to_owned(),
        };
        Ec2::new(aws).try_dry(&run).await
    }

    #[tokio::test]
    async fn only_ec2s_two_words_for_it_say_whether_it_is_allowed() {
        assert_eq!(answered(412, "DryRunOperation").await, Permitted::Yes);
        assert_eq!(answered(400, "VolumeInUse").await, Permitted::Yes);
        let denied = answered(403, "UnauthorizedOperation").await;
        assert_eq!(
            denied,
            Permitted::No {
                message: String::new()
            }
        );
        for (status, code) in [
            (503, "RequestLimitExceeded"),
            (400, "InvalidVolume.NotFound"),
        ] {
            let unknown = answered(status, code).await;
            assert!(
                matches!(unknown, Permitted::Unknown { .. }),
                "{code}: {unknown:?}"
            );
        }
    }

    #[tokio::test]
    async fn every_try_says_that_it_is_one() {
        let (volume_id, instance_id) = ("vol-1".to_owned(), "i-1".to_owned());
        let runs = [
            DryRun::DescribeInstances,
            DryRun::DescribeVolumes,
            DryRun::AttachVolume {
                volume_id: volume_id.clone(),
                instance_id: instance_id.clone(),
            },
            DryRun::KeepVolume {
                instance_id,
                device_name: "/dev/xvdba".to_owned(),
            },
            DryRun::TagVolume { volume_id },
        ];
        for run in runs {
            let action = run
                .action()
                .strip_prefix("ec2:")
                .map(|name| format!("Action={name}&"));
            let action = action.unwrap_or_default();
            let answer = move |seen: &quake_http::testing::Seen| {
                let is_dry = seen.body.contains(&action) && seen.body.contains("DryRun=true");
                ec2_error(412, if is_dry { "DryRunOperation" } else { "NotDry" }, "")
            };
            let (aws, _calls, _server) = aws_at(answer).await;
            assert_eq!(Ec2::new(aws).try_dry(&run).await, Permitted::Yes, "{run:?}");
        }
    }
}
