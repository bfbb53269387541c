//! The kinds that an API server of one version serves of itself. The versions in which each came and went are those of the
//! Kubernetes API reference and its deprecation guide (kubernetes.io/docs/reference/using-api/deprecation-guide, 2026-11).

/// A kind in one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Its group; empty for the core's.
    pub group: String,
    pub version: String,
    pub kind: String,
    /// The word of its URLs.
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    /// Whether its objects are in a namespace.
    pub namespaced: bool,
    /// Whether it has a status that is written apart.
    pub has_status: bool,
    /// Whether a definition brought it.
    pub custom: bool,
}

impl Kind {
    /// The group and version as one word.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// How messages name its objects: `configmaps`, `deployments.apps`.
    pub fn resource(&self) -> String {
        if self.group.is_empty() {
            return self.plural.clone();
        }
        format!("{}.{}", self.plural, self.group)
    }

    /// Where its objects are kept, which is one place for all versions, and for the groups that it moved between.
    pub(crate) fn shelf(&self) -> String {
        let group = match (self.group.as_str(), self.plural.as_str()) {
            ("extensions", "ingresses" | "networkpolicies") => "networking.k8s.io",
            ("extensions", "podsecuritypolicies") => "policy",
            ("extensions", _) => "apps",
            ("", "events") => "events.k8s.io",
            (group, _) => group,
        };
        format!("{}.{group}", self.plural)
    }
}

/// The table of them: group, kind, plural, short word, whether in namespaces and with a status, and the versions, each from one
/// minor of 1.x until before another. The first version of each is the server's favourite. `-` is nothing.
const TABLE: &str = "\
- Namespace namespaces ns whole,status v1:0-
- Node nodes no whole,status v1:0-
- Pod pods po namespaced,status v1:0-
- Service services svc namespaced,status v1:0-
- ServiceAccount serviceaccounts sa namespaced v1:0-
- ConfigMap configmaps cm namespaced v1:0-
- Secret secrets - namespaced v1:0-
- Endpoints endpoints ep namespaced v1:0-
- Event events ev namespaced v1:0-
- LimitRange limitranges limits namespaced v1:0-
- ResourceQuota resourcequotas quota namespaced,status v1:0-
- PersistentVolume persistentvolumes pv whole,status v1:0-
- PersistentVolumeClaim persistentvolumeclaims pvc namespaced,status v1:0-
- PodTemplate podtemplates - namespaced v1:0-
- ReplicationController replicationcontrollers rc namespaced,status v1:0-
extensions Deployment deployments deploy namespaced,status v1beta1:1-16
extensions DaemonSet daemonsets ds namespaced,status v1beta1:1-16
extensions ReplicaSet replicasets rs namespaced,status v1beta1:2-16
extensions Ingress ingresses ing namespaced,status v1beta1:1-22
extensions NetworkPolicy networkpolicies netpol namespaced v1beta1:3-16
extensions PodSecurityPolicy podsecuritypolicies psp whole v1beta1:3-16
apps Deployment deployments deploy namespaced,status v1:9- v1beta2:8-16 v1beta1:6-16
apps DaemonSet daemonsets ds namespaced,status v1:9- v1beta2:8-16
apps ReplicaSet replicasets rs namespaced,status v1:9- v1beta2:8-16
apps StatefulSet statefulsets sts namespaced,status v1:9- v1beta2:8-16 v1beta1:5-16
apps ControllerRevision controllerrevisions - namespaced v1:9- v1beta2:8-16
rbac.authorization.k8s.io ClusterRole clusterroles - whole v1:8- v1beta1:6-22
rbac.authorization.k8s.io ClusterRoleBinding clusterrolebindings - whole v1:8- v1beta1:6-22
rbac.authorization.k8s.io Role roles - namespaced v1:8- v1beta1:6-22
rbac.authorization.k8s.io RoleBinding rolebindings - namespaced v1:8- v1beta1:6-22
policy PodDisruptionBudget poddisruptionbudgets pdb namespaced,status v1:21- v1beta1:4-25
policy PodSecurityPolicy podsecuritypolicies psp whole v1beta1:10-25
storage.k8s.io StorageClass storageclasses sc whole v1:6- v1beta1:4-22
storage.k8s.io CSIDriver csidrivers - whole v1:18- v1beta1:14-22
storage.k8s.io CSINode csinodes - whole v1:17- v1beta1:14-22
storage.k8s.io VolumeAttachment volumeattachments - whole,status v1:13- v1beta1:10-22
coordination.k8s.io Lease leases - namespaced v1:14- v1beta1:12-22
admissionregistration.k8s.io MutatingWebhookConfiguration mutatingwebhookconfigurations - whole v1:16- v1beta1:9-22
admissionregistration.k8s.io ValidatingWebhookConfiguration validatingwebhookconfigurations - whole v1:16- v1beta1:9-22
admissionregistration.k8s.io ValidatingAdmissionPolicy validatingadmissionpolicies - whole,status v1:30-
admissionregistration.k8s.io ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - whole v1:30-
apiextensions.k8s.io CustomResourceDefinition customresourcedefinitions crd whole,status v1:16- v1beta1:7-22
apiregistration.k8s.io APIService apiservices - whole,status v1:10- v1beta1:7-22
autoscaling HorizontalPodAutoscaler horizontalpodautoscalers hpa namespaced,status v2:23- v1:2-
batch Job jobs - namespaced,status v1:2-
batch CronJob cronjobs cj namespaced,status v1:21- v1beta1:8-25
networking.k8s.io NetworkPolicy networkpolicies netpol namespaced v1:7-
networking.k8s.io Ingress ingresses ing namespaced,status v1:19- v1beta1:14-22
networking.k8s.io IngressClass ingressclasses - whole v1:19- v1beta1:18-22
scheduling.k8s.io PriorityClass priorityclasses pc whole v1:14- v1beta1:11-22
node.k8s.io RuntimeClass runtimeclasses - whole v1:20- v1beta1:14-25
discovery.k8s.io EndpointSlice endpointslices - namespaced v1:21- v1beta1:17-25
flowcontrol.apiserver.k8s.io FlowSchema flowschemas - whole,status v1:29-
flowcontrol.apiserver.k8s.io PriorityLevelConfiguration prioritylevelconfigurations - whole,status v1:29-
";

/// The kinds that version 1.`minor` serves of itself.
pub(crate) fn built_in(minor: u32) -> Vec<Kind> {
    let rows = TABLE.lines().map(|row| row.split(' ').collect::<Vec<_>>());
    let kinds = rows.flat_map(|row| {
        let [group, kind, plural, short, marks, versions @ ..] = row.as_slice() else {
            return Vec::new();
        };
        let served = versions.iter().filter_map(|version| {
            let (version, time) = version.split_once(':')?;
            let (since, until) = time.split_once('-')?;
            let is_served = since.parse().is_ok_and(|since: u32| since <= minor)
                && until.parse().map_or(true, |until: u32| minor < until);
            is_served.then_some(version)
        });
        let unless_none = |word: &&str| Some((*word).to_owned()).filter(|word| word != "-");
        let served = served.map(|version| Kind {
            group: unless_none(group).unwrap_or_default(),
            version: version.to_owned(),
            kind: (*kind).to_owned(),
            plural: (*plural).to_owned(),
            singular: kind.to_lowercase(),
            short: unless_none(short).into_iter().collect(),
            namespaced: marks.starts_with("namespaced"),
            has_status: marks.ends_with("status"),
            custom: false,
        });
        served.collect()
    });
    kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serves(minor: u32, api_version: &str, kind: &str) -> bool {
        let kinds = built_in(minor);
        let mut found = kinds.iter();
        found.any(|one| one.api_version() == api_version && one.kind == kind)
    }

    #[test]
    fn a_version_serves_the_kinds_of_its_time() {
        assert!(serves(8, "extensions/v1beta1", "Deployment"));
        assert!(!serves(8, "apps/v1", "Deployment"));
        assert!(!serves(35, "extensions/v1beta1", "Deployment"));
        assert!(!serves(13, "coordination.k8s.io/v1", "Lease"));
        assert!(serves(35, "policy/v1", "PodDisruptionBudget"));
        assert!(!serves(35, "policy/v1beta1", "PodDisruptionBudget"));
    }
}
