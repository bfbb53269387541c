//! The volumes of a control plane of kops 1.32 and newer, whose etcd-manager attaches what EC2 lists first: real boots against
//! moto, and the stand-in for etcd-manager before and after them, in every order of the answer.

use crate::lab::Lab;
use crate::members::{SIMULATED, ZONE};
use quake_integration::agent::run_command;
use quake_integration::ec2::{Ec2, Rules};
use quake_integration::etcd_manager::{self, Pods, Taken};
use quake_integration::imds::Metadata;
use quake_integration::moto::Moto;
use quake_integration::random::Random;
use quake_integration::skip::{SetUpError, conformance, is_root, unless_missing};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const CASE: &str = "minimal-1.35";
const CLUSTER: &str = "minimal.example.com";
const GROUP: &str = "master-us-test-1a";

/// Where a boot with simulated disks keeps them.
const REGION: &str = "var/lib/quake-agent/rehearsal/region.json";

/// A cluster of kops whose control plane runs these members, in its region.
struct Cluster {
    ec2: Arc<Ec2>,
    members: &'static [&'static str],
    kube_env: String,
}

impl Cluster {
    /// `None`, with the reason printed, where something is missing here.
    fn start(members: &'static [&'static str]) -> Option<Self> {
        let case = conformance("kops")?.join("cases").join(CASE);
        unless_missing(Self::from_case(&case, members))
    }

    fn from_case(case: &Path, members: &'static [&'static str]) -> Result<Self, SetUpError> {
        if !is_root() {
            let what = "network namespaces can be made by root alone";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        let wrong = |error: std::io::Error| SetUpError::Failed(error.to_string());
        let moto = Moto::start()?;
        let store = case.join("statestore/tests");
        moto.put_folder("tests", CLUSTER, &store.join(CLUSTER))
            .map_err(wrong)?;
        let name = format!("{CLUSTER}/cluster-completed.spec");
        let mut spec = std::fs::read_to_string(store.join(&name)).map_err(wrong)?;
        if *members != ["a"] {
            spec = etcd_manager::with_members(&spec, GROUP, members);
        }
        moto.put_object("tests", &name, spec.as_bytes())
            .map_err(wrong)?;
        let kube_env = case.join(format!("boot/{GROUP}/kube_env.yaml"));
        Ok(Self {
            ec2: Arc::new(Ec2::before(
                moto,
                Rules::default(),
                Random::from_environment(),
            )),
            members,
            kube_env: std::fs::read_to_string(kube_env).map_err(wrong)?,
        })
    }

    /// A free volume for each member of each etcd cluster: their members by their ids.
    fn add_volumes(&self) -> BTreeMap<String, String> {
        let mut volumes = BTreeMap::new();
        for etcd in ["main", "events"] {
            for member in self.members {
                let wanted = (etcd, *member, self.members);
                let id = etcd_manager::add_volume(&self.ec2, ZONE, CLUSTER, wanted);
                volumes.insert(id, (*member).to_owned());
            }
        }
        volumes
    }

    fn launch(&self) -> String {
        let owned = format!("kubernetes.io/cluster/{CLUSTER}");
        self.ec2.launch(&[
            ("KubernetesCluster", CLUSTER),
            (owned.as_str(), "owned"),
            ("k8s.io/role/control-plane", "1"),
            ("kops.k8s.io/instancegroup", GROUP),
        ])
    }

    /// Where this instance runs.
    fn lab_of(&self, instance: &str) -> Lab {
        let (ec2, caller) = (Arc::clone(&self.ec2), instance.to_owned());
        let lab = Lab::with_aws(move |request| ec2.answer(&caller, request));
        let mut lab = lab.expect("namespaces can be made by root");
        let user_data = format!(
            "#!/bin/bash\n\ncat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\n{}\n__EOF_KUBE_ENV\n",
            self.kube_env.trim_end()
        );
        let address = self.ec2.address_of(instance);
        let metadata = Metadata::new(instance, &user_data).at(&address);
        lab.add_metadata(move |request| metadata.answer(request));
        lab
    }

    /// What each pod of etcd-manager holds after a boot, by its etcd cluster: `main` and `events`.
    fn boot(&self, lab: &Lab, instance: &str) -> [String; 2] {
        let arguments = ["--assets", "stub", "--exit-when-ready", "--no-boot-report"];
        let ended = run_command(lab.boot(SIMULATED, &arguments));
        let summary = ended.summary();
        assert_eq!(
            (ended.status, &summary["result"]),
            (0, &"ready".into()),
            "{}",
            ended.text()
        );
        for etcd in ["main", "events"] {
            let name = format!("etc/kubernetes/manifests/etcd-{etcd}-{GROUP}.manifest");
            assert!(lab.root().join(&name).is_file(), "{name}");
        }
        ["main", "events"].map(|etcd| {
            let key = format!("k8s.io/etcd/{etcd}");
            let held = self.ec2.holders().into_iter();
            let held: Vec<String> = held
                .filter(|(id, by)| by == instance && self.ec2.tag_of(id, &key).is_some())
                .map(|(id, _)| id)
                .collect();
            let [held] = held.try_into().expect("one volume is attached");
            held
        })
    }

    /// What etcd-manager does on this instance in each order of these volumes.
    fn etcd_manager(
        &self,
        instance: &str,
        volumes: &[&str],
        more: &[&str],
    ) -> Vec<etcd_manager::Outcome> {
        let endpoint = format!("http://{}", self.ec2.moto().address());
        let pods = Pods {
            endpoint: &endpoint,
            cluster: CLUSTER,
            instance,
            zone: ZONE,
        };
        pods.run(volumes, &[&["--every-order"], more].concat())
    }

    /// Asserts that etcd-manager finds these volumes attached and mounted, and takes nothing, in each order of `volumes`.
    fn takes_nothing(
        &self,
        (lab, instance): (&Lab, &str),
        volumes: &[&str],
        [main, events]: &[String; 2],
    ) {
        let region = lab.root().join(REGION);
        let region = region
            .to_str()
            .expect("a temporary directory has a plain name");
        let attached = self.ec2.volumes_of(instance);
        let [outcome] = self
            .etcd_manager(instance, volumes, &["--disks", region])
            .try_into()
            .expect("there is one outcome");
        assert_eq!(outcome.orders, (1..=volumes.len()).product::<usize>());
        assert_eq!(
            [outcome.main, outcome.events],
            [Taken::found(main), Taken::found(events)]
        );
        assert_eq!(self.ec2.volumes_of(instance), attached);
    }
}

fn ids(volumes: &BTreeMap<String, String>) -> Vec<&str> {
    volumes.keys().map(String::as_str).collect()
}

#[test]
fn of_two_volumes_with_the_same_tags_etcd_manager_takes_none_after_the_agent() {
    let Some(cluster) = Cluster::start(&["a"]) else {
        return;
    };
    let mut volumes = cluster.add_volumes();
    let instance = cluster.launch();
    let lab = cluster.lab_of(&instance);
    let held = cluster.boot(&lab, &instance);
    volumes.extend(cluster.add_volumes());
    cluster.takes_nothing((&lab, &instance), &ids(&volumes), &held);
    // The same volumes on an instance without the agent.
    cluster.ec2.terminate(&instance);
    assert!(quake_integration::waiting::wait_until(
        std::time::Duration::from_secs(30),
        || cluster.ec2.holders().is_empty()
    ));
    let bare = cluster.launch();
    let released = ["--disks", "none", "--release"];
    let outcomes = cluster.etcd_manager(&bare, &ids(&volumes), &released);
    let orders: Vec<usize> = outcomes.iter().map(|outcome| outcome.orders).collect();
    assert_eq!(orders, [6, 6, 6, 6], "{outcomes:?}");
}

#[test]
fn of_three_members_in_one_group_etcd_manager_splits_none_after_the_agent() {
    let Some(cluster) = Cluster::start(&["a", "b", "c"]) else {
        return;
    };
    let volumes = cluster.add_volumes();
    let bare = cluster.launch();
    let released = ["--disks", "none", "--release"];
    let outcomes = cluster.etcd_manager(&bare, &ids(&volumes), &released);
    assert_eq!(outcomes.len(), 9, "{outcomes:?}");
    let splits = etcd_manager::splits(&outcomes, |id| volumes[id].clone());
    assert_eq!(splits, 480);
    cluster.ec2.terminate(&bare);
    let instance = cluster.launch();
    let lab = cluster.lab_of(&instance);
    let held = cluster.boot(&lab, &instance);
    assert_eq!(
        volumes[&held[0]], volumes[&held[1]],
        "one member, and whole"
    );
    cluster.takes_nothing((&lab, &instance), &ids(&volumes), &held);
}
