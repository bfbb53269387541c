//! The commands of `volumes`, on recorded output of the AWS CLI and on a recorded world.

use crate::ground::Ground;
use serde_json::{Value, json};

/// Every form that changes tags; a recording shows what would change.
const CHANGES: &[&str] = &[
    "pin vol-0aa --slot main/a",
    "unpin vol-0aa",
    "ignore vol-0bb --reason left",
    "unignore vol-0bb",
    "adopt vol-0aa --cluster-uid U",
    "wipe vol-0aa --slot main/a --i-know-this-is-empty",
];

/// A volume of `main/a` as `aws ec2 describe-volumes` prints it.
fn volume(id: &str) -> Value {
    let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
    json!({
        "VolumeId": id, "AvailabilityZone": "us-east-1a", "State": "available", "Size": 20,
        "CreateTime": "2020-01-03T10:11:12Z", "Attachments": [], "VolumeType": "gp2",
        "Tags": [
            tag("KubernetesCluster", "c.example"), tag("k8s.io/role/master", "1"),
            tag("k8s.io/etcd/main", "a/a"),
        ],
    })
}

pub(crate) fn listed_explained_and_changed(ground: &Ground) {
    let recording = json!({"Volumes": [volume("vol-0aa"), volume("vol-0bb")]});
    ground.write("volumes.json", &recording.to_string());
    for verb in ["list", "explain"].iter().chain(CHANGES) {
        let ended = ground.run(&format!("volumes {verb} --recorded {{volumes.json}}"));
        assert_eq!(ended.status, 0, "{verb}: {}", ended.text());
    }
    let world = json!([{
        "name": "free", "cluster": "c", "members": [], "volumes": [],
        "self": {"id": "i-1", "state": "running"},
        "expect": {"slots": {"main/a": {"action": "ATTACH", "code": "OK_ATTACH"}}},
    }]);
    ground.write("worlds.json", &world.to_string());
    let ended = ground.run("volumes explain --scenarios {worlds.json}");
    assert_eq!(ended.status, 1, "no volume is there: {}", ended.text());
}
