//! What is looked at on a node that may be repaired, and which symptom each finding is.

use quake_formats::pem::certificates;
use quake_model::certificates::CertificateDates;
use quake_model::facts::{ClockFacts, HostHealth};
use quake_model::repair::Symptom;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::Condition;
use quake_model::time::Timestamp;
use std::collections::BTreeSet;

/// A filesystem of which less than one part of so many is free is full. kubelet evicts pods at a tenth, so what has less
/// than this cannot be helped by eviction.
const FULL: u64 = 100;

/// How far off a clock may be, in microseconds. AWS refuses requests at five minutes, leases of Kubernetes last 40 seconds.
const CLOCK_OFF_US: u64 = 60_000_000;

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What made the node ready and a new instance would have again.
    pub conditions: Vec<Condition>,
    /// Of a node that is a member of etcd.
    pub etcd: Option<EtcdSubject>,
}

/// What is looked at on a member of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdSubject {
    /// How many members there are; zero where the spec does not say.
    pub members: usize,
    /// What holds while this member answers: its own health check, else its pod and the health check of the API server, which
    /// asks it.
    pub witnesses: Vec<Condition>,
}

/// What is looked at on this node; `None` on one that runs no part of the cluster.
pub fn subject(spec: &NodeSpec) -> Option<Subject> {
    let mut conditions = spec.ready_conditions.clone();
    conditions.retain(|it| symptom_of(it).is_some());
    let is_part = spec.role != Role::Bastion && !conditions.is_empty();
    is_part.then(|| Subject {
        conditions,
        etcd: etcd_subject(spec),
    })
}

fn etcd_subject(spec: &NodeSpec) -> Option<EtcdSubject> {
    let members = spec.etcd.iter().map(|cluster| cluster.members.len());
    let members = members.max()?;
    let witnesses = witnesses(&spec.ready_conditions);
    Some(EtcdSubject { members, witnesses })
}

fn witnesses(conditions: &[Condition]) -> Vec<Condition> {
    let is_own = |it: &&Condition| symptom_of(it) == Some(Symptom::EtcdMember);
    let is_check = |it: &&Condition| matches!(it, Condition::Healthy { .. });
    let is_api = |it: &&Condition| matches!(it, Condition::Healthy { component, .. } if component == "kube-apiserver");
    let own = conditions.iter().filter(is_own);
    let checks: Vec<Condition> = own.clone().filter(is_check).cloned().collect();
    // A pod of etcd-manager runs beside a member that does not answer, too.
    match conditions.iter().find(is_api) {
        Some(api) if checks.is_empty() => own.chain([api]).cloned().collect(),
        _ => checks,
    }
}

/// The symptom of a condition that does not hold; `None` where it is none, or not this node's alone.
pub fn symptom_of(condition: &Condition) -> Option<Symptom> {
    match condition {
        Condition::RuntimeAnswers { .. } => Some(Symptom::Runtime),
        Condition::Healthy { component, .. } if component == "kubelet" => Some(Symptom::Kubelet),
        Condition::Healthy { component, .. } if component.starts_with("etcd") => {
            Some(Symptom::EtcdMember)
        }
        Condition::PodRuns { pod } if pod.starts_with("etcd") => Some(Symptom::EtcdMember),
        Condition::CniConfigured { .. } | Condition::PodNetwork { .. } => Some(Symptom::PodNetwork),
        Condition::UnitActive { unit, .. } => unit_symptom(unit),
        Condition::Healthy { .. }
        | Condition::PodRuns { .. }
        | Condition::OwnTags { .. }
        | Condition::NodeRegistered { .. }
        | Condition::NamesInSync { .. } => None,
    }
}

/// The symptom of a step whose condition is lost, as the resident agent names it.
pub fn symptom_of_step(step: &str) -> Option<Symptom> {
    match step.strip_prefix("services:") {
        Some(unit) => unit_symptom(unit),
        None => (step == "ready:cni").then_some(Symptom::PodNetwork),
    }
}

fn unit_symptom(unit: &str) -> Option<Symptom> {
    match unit {
        "kubelet.service" => Some(Symptom::Kubelet),
        "containerd.service" | "docker.service" => Some(Symptom::Runtime),
        _ => None,
    }
}

/// The symptoms of the host itself. `first` is what was seen when the node became ready: errors that the kernel had counted
/// then are older than the node.
pub fn host_symptoms(first: &HostHealth, now: &HostHealth) -> BTreeSet<Symptom> {
    let mut symptoms = BTreeSet::new();
    for filesystem in &now.filesystems {
        let space = &filesystem.space;
        let is_short = |free: u64, all: u64| all > 0 && free.saturating_mul(FULL) < all;
        if space.read_only {
            symptoms.insert(Symptom::DiskReadOnly);
        }
        if is_short(space.bytes_free, space.bytes) || is_short(space.inodes_free, space.inodes) {
            symptoms.insert(Symptom::DiskFull);
        }
        let mut before = first.filesystems.iter();
        let before = before.find(|before| before.space.path == space.path);
        let before = before.and_then(|before| before.errors).unwrap_or(0);
        if filesystem.errors.is_some_and(|errors| errors > before) {
            symptoms.insert(Symptom::DiskErrors);
        }
    }
    if now.clock.as_ref().is_some_and(is_off) {
        symptoms.insert(Symptom::Clock);
    }
    symptoms
}

/// A clock that nothing keeps in step is no symptom by itself: it is off only where that was measured.
fn is_off(clock: &ClockFacts) -> bool {
    let ahead = clock.ahead_of_server_ms.map(|ms| ms.unsigned_abs() * 1000);
    let offset = clock.offset_us.map(i64::unsigned_abs);
    ahead.max(offset) > Some(CLOCK_OFF_US)
}

/// Whether a certificate of the node has expired.
pub fn has_expired(dates: &[CertificateDates], now: Timestamp) -> bool {
    dates.iter().any(|certificate| certificate.ends < now)
}

/// Whether all CAs of a bundle have expired: then no certificate of any node is valid, and a new instance gets none.
pub fn cas_have_expired(bundle: &str, now: Timestamp) -> bool {
    let cas = certificates(bundle);
    let has_expired = |ca: &x509_cert::Certificate| {
        let ends = ca.tbs_certificate.validity.not_after.to_unix_duration();
        ends.as_millis() < u128::from(now.0)
    };
    !cas.is_empty() && cas.iter().all(has_expired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::facts::{FilesystemHealth, SpaceFacts};

    type Change = fn(&mut FilesystemHealth);

    fn host(change: impl FnOnce(&mut FilesystemHealth)) -> HostHealth {
        let mut filesystem = FilesystemHealth {
            space: SpaceFacts {
                path: "/".to_owned(),
                bytes: 1000,
                bytes_free: 10,
                inodes: 0,
                inodes_free: 0,
                read_only: false,
            },
            errors: Some(3),
        };
        change(&mut filesystem);
        HostHealth {
            filesystems: vec![filesystem],
            clock: None,
        }
    }

    #[test]
    fn a_filesystem_is_read_only_or_full_or_has_new_errors() {
        let first = host(|_| {});
        assert_eq!(host_symptoms(&first, &first), BTreeSet::new());
        let table: [(Symptom, Change); 4] = [
            (Symptom::DiskReadOnly, |it| it.space.read_only = true),
            (Symptom::DiskFull, |it| it.space.bytes_free = 9),
            (Symptom::DiskFull, |it| it.space.inodes = 1),
            (Symptom::DiskErrors, |it| it.errors = Some(4)),
        ];
        for (symptom, change) in table {
            let found = host_symptoms(&first, &host(change));
            assert_eq!(found, BTreeSet::from([symptom]), "{symptom}");
        }
    }

    #[test]
    fn a_clock_is_a_symptom_only_where_it_was_measured_to_be_off() {
        let clock = |offset_us, ahead_of_server_ms| HostHealth {
            filesystems: Vec::new(),
            clock: Some(ClockFacts {
                synchronized: false,
                offset_us,
                max_error_us: None,
                ahead_of_server_ms,
            }),
        };
        let is_off = |health: &HostHealth| !host_symptoms(health, health).is_empty();
        assert!(!is_off(&clock(None, None)));
        assert!(!is_off(&clock(Some(-59_000_000), Some(60_000))));
        assert!(is_off(&clock(Some(-61_000_000), None)));
        assert!(is_off(&clock(None, Some(61_000))));
    }

    #[test]
    fn a_pod_of_etcd_manager_is_no_witness_of_its_member_without_the_api_server() {
        let healthy = |component: &str| Condition::Healthy {
            component: component.to_owned(),
            url: String::new(),
        };
        let pod = || Condition::PodRuns {
            pod: "etcd-manager-main".to_owned(),
        };
        let (kubelet, api, etcd) = (
            healthy("kubelet"),
            healthy("kube-apiserver"),
            healthy("etcd-main"),
        );
        let of = |conditions: &[&Condition]| {
            let conditions: Vec<Condition> = conditions.iter().copied().cloned().collect();
            witnesses(&conditions)
        };
        assert_eq!(of(&[&kubelet, &pod(), &api]), [pod(), api.clone()]);
        assert_eq!(of(&[&kubelet, &etcd, &api]), [etcd]);
        assert_eq!(of(&[&kubelet, &api]), [api]);
        assert_eq!(of(&[&kubelet, &pod()]), []);
    }

    #[test]
    fn each_condition_that_another_instance_would_meet_is_a_symptom() {
        let healthy = |component: &str| Condition::Healthy {
            component: component.to_owned(),
            url: String::new(),
        };
        let pod = |pod: &str| Condition::PodRuns {
            pod: pod.to_owned(),
        };
        let table = [
            (healthy("kubelet"), Some(Symptom::Kubelet)),
            (healthy("etcd-main"), Some(Symptom::EtcdMember)),
            (pod("etcd-manager-main"), Some(Symptom::EtcdMember)),
            (healthy("kube-apiserver"), None),
            (pod("kube-apiserver"), None),
        ];
        for (condition, symptom) in table {
            assert_eq!(symptom_of(&condition), symptom, "{condition:?}");
        }
        for (step, symptom) in [
            ("services:docker.service", Some(Symptom::Runtime)),
            ("services:kubelet.service", Some(Symptom::Kubelet)),
            ("ready:cni", Some(Symptom::PodNetwork)),
            ("storage:mount/main/a", None),
        ] {
            assert_eq!(symptom_of_step(step), symptom, "{step}");
        }
    }
}
