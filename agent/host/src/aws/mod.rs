//! AWS: who may call, EC2, S3, and what their refusals mean.

mod meter;

pub use meter::Calls;
