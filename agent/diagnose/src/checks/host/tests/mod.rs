//! What the checks of the machine say of machines.

mod capacity;
mod disks;
mod limits;
mod modules;
mod security;
mod system;

use crate::checks::surveyed::{record, survey_with, tree};
use quake_model::expected::Expected;
use quake_model::facts::{Seen, Survey};

const KERNEL: (&str, &str) = ("/proc/sys/kernel/osrelease", "6.1.0-28-cloud-amd64\n");

/// A machine of a role that runs this Kubernetes.
fn machine(role: &str, kubernetes: &str, files: &[(&str, &str)]) -> Survey {
    let survey = survey_with(tree(files), KERNEL.0, KERNEL.1);
    Survey {
        record: Some(record(role, kubernetes)),
        ..survey
    }
}

fn expecting(mut survey: Survey, expected: Expected) -> Survey {
    if let Some(record) = &mut survey.record {
        record.expected = Some(expected);
    }
    survey
}

fn logged(mut survey: Survey, lines: &[&str]) -> Survey {
    survey.kernel_log = Seen::Yes(lines.iter().map(|line| (*line).to_owned()).collect());
    survey
}
