//! A cluster of several members, and instances that want to be one of them: real boots against EC2 as it behaves.

use crate::lab::{BUCKET, KEY, Lab};
use quake_integration::agent::{Ended, LIMIT, Running};
use quake_integration::ec2::{Ec2, Rules};
use quake_integration::imds::{Metadata, user_data};
use quake_integration::moto::Moto;
use quake_integration::node::{CLUSTER, EXAMPLE, kube_env};
use quake_integration::random::Random;
use quake_integration::skip::{SetUpError, is_root};
use quake_integration::waiting::wait_until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What is not real: disks show what EC2 shows attached, and the rest does not matter here.
pub(crate) const SIMULATED: &str = "disks,kernel,units,probes";

/// The most calls to EC2 that a boot may make.
pub(crate) const BUDGET: u64 = 400;

/// The zone of everything.
pub(crate) const ZONE: &str = "us-east-1a";

/// An instance group and the members that it runs.
pub(crate) type Group = (&'static str, &'static [&'static str]);

/// The cluster in its region.
pub(crate) struct Cluster {
    pub(crate) ec2: Arc<Ec2>,
    groups: Vec<Group>,
    spec: String,
}

impl Cluster {
    /// A cluster whose spec gives these groups their members, of `main` and of `events`; its state store is written.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub(crate) fn start(
        groups: &[Group],
        rules: Rules,
        random: Random,
    ) -> Result<Self, SetUpError> {
        Self::start_saying(groups, rules, random, |_| String::new())
    }

    /// The same with more in the cluster's spec, which may name what it makes at moto first.
    ///
    /// # Errors
    ///
    /// As [`Cluster::start`].
    pub(crate) fn start_saying(
        groups: &[Group],
        rules: Rules,
        random: Random,
        more: impl FnOnce(&Moto) -> String,
    ) -> Result<Self, SetUpError> {
        if !is_root() {
            let what = "network namespaces can be made by root alone";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        let moto = Moto::start()?;
        let spec = format!("\nspec:\n{}", more(&moto));
        let cluster = Self {
            spec: spec_of(groups).replacen("\nspec:\n", &spec, 1),
            ec2: Arc::new(Ec2::before(moto, rules, random)),
            groups: groups.to_vec(),
        };
        let put = |key: &str, text: &str| {
            let put = cluster.ec2.moto().put_object(BUCKET, key, text.as_bytes());
            put.map_err(|error| error.to_string())
        };
        put(&format!("{KEY}/cluster.spec"), &cluster.spec)?;
        for (group, _) in groups {
            put(&format!("{KEY}/instancegroup/{group}"), &group_of(group))?;
        }
        Ok(cluster)
    }

    /// Makes a free volume for every slot; their ids by slot.
    pub(crate) fn add_volumes(&self) -> BTreeMap<String, String> {
        let mut volumes = BTreeMap::new();
        for etcd in ["main", "events"] {
            for member in self.members() {
                volumes.insert(format!("{etcd}/{member}"), self.add_volume(etcd, member));
            }
        }
        volumes
    }

    /// Makes a free volume for a slot; its id.
    pub(crate) fn add_volume(&self, etcd: &str, member: &str) -> String {
        let owned = format!("kubernetes.io/cluster/{CLUSTER}");
        let (name, etcd_tag) = (
            format!("{member}.etcd-{etcd}.{CLUSTER}"),
            format!("k8s.io/etcd/{etcd}"),
        );
        let members = format!("{member}/{}", self.members().join(","));
        let tags = [
            ("Name", name.as_str()),
            ("KubernetesCluster", CLUSTER),
            (owned.as_str(), "owned"),
            ("k8s.io/role/master", "1"),
            (etcd_tag.as_str(), members.as_str()),
        ];
        self.ec2.create_volume(ZONE, &tags)
    }

    /// Launches an instance of a group, as its autoscaling group would.
    pub(crate) fn launch(&self, group: &str) -> Instance {
        self.launch_saying(group, "")
    }

    /// The same with more in its `kube_env.yaml`.
    pub(crate) fn launch_saying(&self, group: &str, more: &str) -> Instance {
        let owned = format!("kubernetes.io/cluster/{CLUSTER}");
        let name = format!("{group}.masters.{CLUSTER}");
        let tags = [
            ("Name", name.as_str()),
            ("KubernetesCluster", CLUSTER),
            (owned.as_str(), "owned"),
            ("k8s.io/role/master", "1"),
            ("kops.k8s.io/instancegroup", group),
            ("aws:autoscaling:groupName", name.as_str()),
        ];
        let id = self.ec2.launch(&tags);
        let (ec2, caller) = (Arc::clone(&self.ec2), id.clone());
        let lab = Lab::with_aws(move |request| ec2.answer(&caller, request));
        let mut lab = lab.expect("namespaces can be made by root");
        let address = self.ec2.address_of(&id);
        let (spec, group_spec) = (self.spec.trim_end(), group_of(group));
        let kube_env = kube_env(group, &[]) + more;
        let text = user_data(&kube_env, spec, group_spec.trim_end());
        let metadata = Metadata::new(&id, &text).at(&address);
        lab.add_metadata(move |request| metadata.answer(request));
        Instance {
            id,
            address,
            lab,
            ec2: Arc::clone(&self.ec2),
        }
    }

    /// The slots that each instance holds, by the truth and not by what readers are shown.
    pub(crate) fn held(&self, volumes: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
        let holders = self.ec2.holders();
        let mut held: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (slot, volume) in volumes {
            if let Some(instance) = holders.get(volume) {
                held.entry(instance.clone()).or_default().push(slot.clone());
            }
        }
        held
    }

    fn members(&self) -> Vec<&'static str> {
        self.groups
            .iter()
            .flat_map(|(_, members)| members.iter().copied())
            .collect()
    }
}

/// An instance of the cluster.
pub(crate) struct Instance {
    pub(crate) id: String,
    /// Its private address, in the metadata as in EC2.
    pub(crate) address: String,
    pub(crate) lab: Lab,
    ec2: Arc<Ec2>,
}

impl Instance {
    /// Boots it until it is ready or gives up.
    pub(crate) fn boot(&self, more: &[&str]) -> Running {
        let mut arguments = vec!["--assets", "stub", "--exit-when-ready"];
        arguments.extend(more);
        Running::start(self.lab.boot(SIMULATED, &arguments))
    }

    /// The summary of a boot that ends ready.
    pub(crate) fn ready(&self, boot: Running) -> Value {
        let ended = boot.end(LIMIT);
        let summary = ended.summary();
        assert_eq!(
            (ended.status, &summary["result"]),
            (0, &"ready".into()),
            "{}: {}",
            self.id,
            ended.text()
        );
        self.check_budget();
        summary
    }

    /// The fault of a boot that ends without being ready, and its status.
    pub(crate) fn refused(&self, boot: Running) -> (Ended, Value) {
        let ended = boot.end(LIMIT);
        let fault = ended.summary()["fault"].clone();
        self.check_budget();
        (ended, fault)
    }

    /// Stops a boot that waits.
    pub(crate) fn stop(&self, boot: Running) -> Ended {
        // One that has ended by itself shows it in its status.
        let _ = boot.terminate();
        let ended = boot.end(LIMIT);
        self.check_budget();
        ended
    }

    /// Gives this instance what its predecessor wrote to the volumes, but nothing of the machine.
    pub(crate) fn inherit(&self, predecessor: &Instance) {
        let path = "var/lib/quake-agent/rehearsal/region.json";
        let text = std::fs::read(predecessor.lab.root().join(path)).expect("it was booted");
        let mut region: Value = serde_json::from_slice(&text).expect("a region is JSON");
        region["mounts"] = Value::Array(Vec::new());
        region["volumes"] = Value::Array(Vec::new());
        region["units"] = Value::Object(serde_json::Map::new());
        let target = self.lab.root().join(path);
        std::fs::create_dir_all(target.parent().expect("it has one"))
            .expect("the directory is ours");
        std::fs::write(target, region.to_string()).expect("the directory is ours");
    }

    /// Prints its calls to EC2 and compares them with the budget.
    pub(crate) fn check_budget(&self) {
        let calls = self.ec2.calls(&self.id);
        let all: u64 = calls.values().sum();
        println!(
            "volumes: {}: {all} calls (budget {BUDGET}) {calls:?}",
            self.id
        );
        assert!(all <= BUDGET, "{} made {all} calls", self.id);
    }
}

/// Whether a boot shows, before `longest` has passed, that it waits with this code.
pub(crate) fn waits_with(boot: &mut Running, code: &str, longest: Duration) -> bool {
    let shown = format!("\"code\":\"{code}\"");
    let is_wait = |line: &str| line.contains("\"event\":\"waiting\"") && line.contains(&shown);
    wait_until(longest, || {
        boot.stdout().lines().any(is_wait) || boot.has_ended()
    }) && boot.stdout().lines().any(is_wait)
}

/// What a boot says of its volumes, a line for each try and step: what a reader of a failure needs.
pub(crate) fn story(stdout: &str) -> String {
    let mut lines = Vec::new();
    for line in stdout.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        if event["phase"] == "storage" {
            let (what, fault) = (&event["event"], &event["fault"]);
            let (step, code, summary) = (&event["step"], &fault["code"], &fault["summary"]);
            lines.push(format!(
                "{} ms {what} {step} {code} {summary}",
                event["elapsedMs"]
            ));
        }
    }
    lines.join("\n")
}

/// The example's cluster spec with other members.
fn spec_of(groups: &[Group]) -> String {
    let example = std::fs::read_to_string(Path::new(EXAMPLE).join("cluster.spec"));
    let only = "    - instanceGroup: control-plane\n      name: a\n";
    let mut members = String::new();
    for (group, names) in groups {
        for name in *names {
            members.push_str(&format!(
                "    - instanceGroup: {group}\n      name: {name}\n"
            ));
        }
    }
    example
        .expect("the example is there")
        .replace(only, &members)
}

/// The example's instance group under another name.
fn group_of(name: &str) -> String {
    let example = std::fs::read_to_string(Path::new(EXAMPLE).join("instancegroup/control-plane"));
    example
        .expect("the example is there")
        .replace("control-plane", name)
}
