//! The console output of instances.

use super::Ec2;
use aws_sdk_ec2::error::ProvideErrorMetadata;
use quake_model::ports::{Condition, ConsoleAge, Consoles, PortError};

/// The action as IAM spells it.
const ACTION: &str = "ec2:GetConsoleOutput";

/// What EC2 answers where an instance has no latest output (GetConsoleOutput, EC2 API reference, 2026-11).
const NOT_ON_NITRO: &str = "UnsupportedOperation";

impl Consoles for Ec2 {
    async fn read_console(&self, instance_id: &str, age: ConsoleAge) -> Result<String, PortError> {
        let resources = [("instance", instance_id)];
        let subject = format!("the console of {instance_id}");
        let attempt = self.attempt_on(ACTION, &resources, subject).await?;
        let client = self.aws.ec2().await?;
        self.aws.count(ACTION);
        let request = client.get_console_output().instance_id(instance_id);
        let request = match age {
            ConsoleAge::Latest => request.latest(true),
            ConsoleAge::Kept => request,
        };
        let error = match request.send().await {
            Ok(answer) => return Ok(answer.output.unwrap_or_default()),
            Err(error) => error,
        };
        let code = error
            .as_service_error()
            .and_then(ProvideErrorMetadata::code);
        let is_unsupported = age == ConsoleAge::Latest && code == Some(NOT_ON_NITRO);
        let error = self.aws.failed(&attempt, error).await;
        let condition = match error.condition {
            _ if is_unsupported => Condition::Impossible,
            // This is no instance that asks about itself: one that is not there is gone.
            Condition::NotReady => Condition::Missing,
            condition => condition,
        };
        Err(PortError { condition, ..error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::testing::{aws_at, ec2_error};
    use quake_http::testing::Reply;
    use quake_model::ports::Meter;

    fn output(text: &str) -> Reply {
        let body = format!(
            "<GetConsoleOutputResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><instanceId>i-1</instanceId><timestamp>2026-11-21T03:22:17.000Z</timestamp>{text}</GetConsoleOutputResponse>"
        );
        Reply::text(200, &body)
    }

    #[tokio::test]
    async fn output_comes_as_it_is_sent_and_none_is_empty() {
        let (aws, calls, _server) = aws_at(|seen| {
            if seen.body.contains("Latest=true") {
                output("<output>YWJj\nZGVm</output>")
            } else {
                output("<output/>")
            }
        })
        .await;
        let ec2 = Ec2::new(aws);
        let latest = ec2.read_console("i-1", ConsoleAge::Latest).await;
        assert_eq!(latest.expect("there is some"), "YWJj\nZGVm");
        let kept = ec2.read_console("i-1", ConsoleAge::Kept).await;
        assert_eq!(kept.expect("there is none"), "");
        assert_eq!(calls.calls()[ACTION], 2);
    }

    #[tokio::test]
    async fn a_refusal_says_what_can_be_done_about_it() {
        for (status, code, wanted) in [
            (400, "UnsupportedOperation", Condition::Impossible),
            (400, "InvalidInstanceID.NotFound", Condition::Missing),
            (403, "UnauthorizedOperation", Condition::Denied),
            (503, "RequestLimitExceeded", Condition::Throttled),
        ] {
            let (aws, _calls, _server) = aws_at(move |_| ec2_error(status, code, "no")).await;
            let read = Ec2::new(aws).read_console("i-1", ConsoleAge::Latest).await;
            let error = read.expect_err(code);
            assert_eq!(error.condition, wanted, "{code}");
            assert!(error.summary.contains(ACTION), "{error}");
        }
    }
}
