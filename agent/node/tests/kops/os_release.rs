//! Every `os-release` of kops' tests is recognised or refused as kops does.

use crate::support::{base_name, conformance, folders};
use quake_model::facts::OsFacts;
use quake_model::fault::Code;
use quake_node::distribution::Distribution;
use std::fs;

/// Those that kops' table has. Container-Optimized OS, which it has too, runs nowhere but in Google's cloud.
const KNOWN: &str = "amazonlinux2023 debian11 debian12 debian13 flatcar rhel8 rhel9 rocky10 rocky8 rocky9 \
    ubuntu2204 ubuntu2404 ubuntu2510 ubuntu2604";

#[test]
fn every_distribution_is_recognised_or_refused_as_kops_does() {
    let Some(folder) = conformance("kops/os-release") else {
        return;
    };
    let mut known = Vec::new();
    for folder in folders(&folder) {
        let text = fs::read_to_string(folder.join("etc/os-release")).expect("the file is there");
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().trim_matches('"').to_owned()
        };
        let os = OsFacts {
            id: value("ID="),
            version: value("VERSION_ID="),
            like: Vec::new(),
        };
        match Distribution::identify(&os) {
            Ok(_) => known.push(base_name(&folder)),
            Err(fault) => {
                assert_eq!(fault.code, Code::IdentityOsUnsupported);
                assert!(fault.summary.contains(&os.id), "{fault}");
            }
        }
    }
    assert_eq!(known.join(" "), KNOWN);
}
