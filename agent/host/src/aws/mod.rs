//! AWS: who may call, EC2, Auto Scaling, Route 53, S3, and what their refusals mean.

mod autoscaling;
mod clients;
mod connector;
mod ec2;
mod ec2_facts;
mod failure;
mod meter;
mod permission;
mod proof;
mod refusal;
mod route53;
mod route53_records;
mod s3;
mod settings;

pub use autoscaling::AutoScaling;
pub use clients::Aws;
pub use ec2::{DryRun, Ec2};
pub(crate) use failure::{outdated, parse_date};
pub use meter::Calls;
pub use route53::Route53;
pub use s3::S3;
pub use settings::{AwsSettings, CredentialSource, Environment, StoreKeys};

#[cfg(test)]
mod testing;
