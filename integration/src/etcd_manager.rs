//! What etcd-manager would do with the volumes of a kops cluster: the stand-in for its volume flow, and what it printed.

use crate::agent::{clean, run_command};
use crate::ec2::Ec2;
use crate::machine::program;
use serde::Deserialize;
use std::process::Command;

/// The stand-in, a program for Python 3.
pub const PROGRAM: &str = include_str!("../guest/etcd_manager.py");

/// What it looks for, and where it runs.
#[derive(Debug, Clone, Copy)]
pub struct Pods<'a> {
    /// Where EC2 is.
    pub endpoint: &'a str,
    /// The name of the cluster, `minimal.example.com`.
    pub cluster: &'a str,
    /// The instance it runs on.
    pub instance: &'a str,
    /// The zone of that instance.
    pub zone: &'a str,
}

/// What the pod of one etcd cluster did: ids of volumes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Taken {
    /// What etcd runs on, where it found any.
    pub volume: Option<String>,
    pub attached: Option<String>,
    pub formatted: Option<String>,
    pub mounted: Option<String>,
}

impl Taken {
    /// What a pod does that finds its volume attached and mounted.
    pub fn found(volume: &str) -> Self {
        Self {
            volume: Some(volume.to_owned()),
            attached: None,
            formatted: None,
            mounted: None,
        }
    }
}

/// One outcome, and how many orders of EC2's answer led to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Outcome {
    /// How many orders.
    pub orders: usize,
    /// What the pod of `main` did.
    pub main: Taken,
    /// What the pod of `events` did.
    pub events: Taken,
}

impl Pods<'_> {
    /// The stand-in's arguments for these volumes; `more` are its switches.
    pub fn arguments(&self, volumes: &[&str], more: &[&str]) -> Vec<String> {
        let order = volumes.join(",");
        let named = [
            ("--endpoint", self.endpoint),
            ("--cluster", self.cluster),
            ("--instance", self.instance),
            ("--zone", self.zone),
            ("--order", &order),
        ];
        let named = named.iter().flat_map(|(name, value)| [*name, *value]);
        named
            .chain(more.iter().copied())
            .map(str::to_owned)
            .collect()
    }

    /// Runs the stand-in on this machine.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn run(&self, volumes: &[&str], more: &[&str]) -> Vec<Outcome> {
        let python = program("python3").expect("moto is a program for Python");
        let mut command = Command::new(python);
        clean(&mut command);
        command.args(["-c", PROGRAM]);
        command.args(self.arguments(volumes, more));
        let ended = run_command(command);
        assert_eq!(ended.status, 0, "{}", ended.text());
        outcomes(&ended.stdout)
    }
}

/// What the stand-in printed.
///
/// # Panics
///
/// When it is anything else.
pub fn outcomes(printed: &str) -> Vec<Outcome> {
    let read = |line| serde_json::from_str(line);
    let outcomes: Result<Vec<Outcome>, _> = printed.lines().map(read).collect();
    outcomes.expect("a line of JSON for each outcome")
}

/// In how many orders the two etcd clusters of one node run as different members, where the name of a member is what `member`
/// says of its volume.
pub fn splits(outcomes: &[Outcome], member: impl Fn(&str) -> String) -> usize {
    let of = |taken: &Taken| taken.volume.as_deref().map(&member);
    let split = outcomes
        .iter()
        .filter(|outcome| of(&outcome.main) != of(&outcome.events));
    split.map(|outcome| outcome.orders).sum()
}

/// Makes a free volume as kops makes it for one of these members of an etcd cluster; its id.
pub fn add_volume(
    ec2: &Ec2,
    zone: &str,
    cluster: &str,
    (etcd, member, members): (&str, &str, &[&str]),
) -> String {
    let owned = format!("kubernetes.io/cluster/{cluster}");
    let (name, tag) = (
        format!("{member}.etcd-{etcd}.{cluster}"),
        format!("k8s.io/etcd/{etcd}"),
    );
    let members = format!("{member}/{}", members.join(","));
    let tags = [
        ("Name", name.as_str()),
        ("KubernetesCluster", cluster),
        (owned.as_str(), "owned"),
        ("k8s.io/role/master", "1"),
        ("k8s.io/role/control-plane", "1"),
        (tag.as_str(), members.as_str()),
    ];
    ec2.create_volume_as(zone, "true", &tags)
}

/// The cluster's spec, as kops completed it, with these members of one instance group in place of its only one.
///
/// # Panics
///
/// When it has no such member.
pub fn with_members(spec: &str, group: &str, members: &[&str]) -> String {
    let member = |name: &&str| {
        format!("    - encryptedVolume: true\n      instanceGroup: {group}\n      name: {name}\n")
    };
    let changed = spec.replace(
        &member(&"a"),
        &members.iter().map(member).collect::<String>(),
    );
    assert_ne!(changed, spec, "member a is in this group");
    changed
}
