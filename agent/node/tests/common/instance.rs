//! The instance of the tests.

use quake_model::facts::InstanceFacts;

/// An instance in us-test-1a, whose facts all expectations share.
pub(crate) fn instance() -> InstanceFacts {
    InstanceFacts {
        instance_id: "i-0123456789abcdef0".into(),
        instance_type: "m5.large".into(),
        zone: "us-test-1a".into(),
        region: "us-test-1".into(),
        account_id: "123456789012".into(),
        image_id: "ami-1".into(),
        private_ip: "10.0.0.10".into(),
        local_hostname: "ip-10-0-0-10.us-test-1.compute.internal".into(),
        mac: "02:00:00:00:00:01".into(),
        architecture: "x86_64".into(),
    }
}
