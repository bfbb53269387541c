//! What the checks of the network say of nodes.

mod links;
mod reach;
mod settings;

use crate::checks::surveyed::{record, survey_with, tree};
use quake_model::expected::{Expected, ExpectedNetwork};
use quake_model::facts::Survey;

const RELEASE: (&str, &str) = ("/proc/sys/kernel/osrelease", "6.1.0\n");

fn node(role: &str, network: &str, files: &[(&str, &str)]) -> Survey {
    let mut record = record(role, "1.27.3");
    record.expected = Some(Expected {
        network: ExpectedNetwork {
            name: network.into(),
            ..ExpectedNetwork::default()
        },
        kubelet_flags: vec!["cluster-dns=fd00:10:96::a".into()],
        runtime: "containerd".into(),
        static_pods: vec!["kube-proxy".into()],
        no_proxy: vec!["169.254.169.254".into(), ".k8s.example.com".into()],
        ..Expected::default()
    });
    Survey {
        record: Some(record),
        ..survey_with(tree(files), RELEASE.0, RELEASE.1)
    }
}
