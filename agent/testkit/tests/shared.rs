//! Machines that share a region, and what stands between one and its agent.

use quake_model::facts::InstanceFacts;
use quake_model::ports::{Cloud, Condition, Files, Objects, PortError, VolumeQuery};
use quake_model::step::WriteFile;
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, Region, example_instance};
use quake_testkit::{Called, Fate, Interference, Machine, SharedRegion, SimHost, Timing, When};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const EPOCH: Timestamp = Timestamp(1_700_000_000_000);

fn instance(id: &str) -> InstanceFacts {
    InstanceFacts {
        instance_id: id.to_owned(),
        ..example_instance("us-test-1a")
    }
}

fn shared() -> SharedRegion {
    let mut region = Region::with_instance(instance("i-0a"), "c.example.com");
    let slot = EtcdSlot {
        volume_id: "vol-0aa",
        etcd: "main",
        member: "a",
        members: &["a"],
        created: EPOCH,
        encrypted: false,
    };
    region.add_etcd_volume("c.example.com", &slot);
    let objects = BTreeMap::from([("s3://b/key".to_owned(), b"text".to_vec())]);
    SharedRegion::new(region, objects, None)
}

fn machine(id: &str, region: &SharedRegion) -> SimHost {
    let own = Region::with_instance(instance(id), "c.example.com");
    SimHost::new(own, Timing::default(), EPOCH).sharing(region)
}

#[tokio::test(start_paused = true)]
async fn what_one_machine_does_to_the_region_the_other_sees_and_its_files_are_its_own() {
    let region = shared();
    let [one, other] = ["i-0a", "i-0b"].map(|id| machine(id, &region));
    let attached = one.attach_volume("vol-0aa", "i-0a", "/dev/xvdba").await;
    assert_eq!(attached, Ok(()));
    let query = VolumeQuery::Ids(vec!["vol-0aa".to_owned()]);
    let seen = other.describe_volumes(&query).await.expect("EC2 answers");
    assert_eq!(seen[0].attachments[0].instance_id, "i-0a");
    let refused = other.attach_volume("vol-0aa", "i-0b", "/dev/xvdba").await;
    assert_eq!(
        refused.map_err(|error| error.condition),
        Err(Condition::Conflict)
    );
    let key = "s3://b/key".parse().expect("a literal");
    assert!(other.read_object(&key).await.is_ok());
    one.put_file("/etc/one", "1");
    assert!(other.tree().is_empty());
}

/// Lets each call take a second, and strikes the second one.
#[derive(Default)]
struct Slow(Mutex<Vec<String>>);

impl Interference for Slow {
    fn fate(&self, operation: &str) -> Fate {
        let lost = PortError::new(Condition::TimedOut, "lost");
        Fate {
            before: Duration::from_secs(1),
            strike: (operation == "write_file").then_some((lost, When::After)),
            ..Fate::default()
        }
    }

    fn before(&self, _: &str, _: &mut Machine<'_>) {}

    fn after(&self, called: &Called<'_>, machine: &mut Machine<'_>) {
        let is_there = machine.file(called.subject).is_some();
        let line = format!("{} {} {is_there}", called.operation, called.subject);
        let mut seen = self.0.lock().expect("no other holder panics");
        seen.push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_lost_after_the_effect_and_the_effect_is_seen() {
    let slow = Arc::new(Slow::default());
    let region = Region::with_instance(instance("i-0a"), "c.example.com");
    let interference: Arc<dyn Interference> = Arc::<Slow>::clone(&slow);
    let host = SimHost::new(region, Timing::default(), EPOCH).interfered_by(interference);
    let began = Instant::now();
    let file = WriteFile::plain("/etc/one", 0o644, "1");
    let written = host.write_file(&file).await;
    assert_eq!(
        written.map_err(|error| error.condition),
        Err(Condition::TimedOut)
    );
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    let seen = slow.0.lock().expect("no other holder panics").clone();
    assert_eq!(seen, ["write_file /etc/one true"]);
    assert!(host.tree().contains_key("/etc/one"));
}
