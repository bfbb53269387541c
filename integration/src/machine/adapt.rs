//! A state store of kops' own tests, made fit for programs that ask AWS: the region is one that exists, and
//! of the add-ons those are left whose programs can be given.

/// The region of kops' tests, which AWS does not have.
const OF_TESTS: &str = "us-test-1";

/// The add-ons that need no program but kops' own.
const ADDONS: &[&str] = &[
    "kops-controller.addons.k8s.io",
    "kubelet-api.rbac.addons.k8s.io",
    "limit-range.addons.k8s.io",
    "storage-aws.addons.k8s.io",
];

const CHANNEL: &str = "/addons/bootstrap-channel.yaml";

/// A text with the region of the machines.
pub(super) fn region(text: &str) -> String {
    // Names of instance groups end with the zone, and stay: volumes and paths have them.
    text.replace(
        &format!("Region\":\"{OF_TESTS}"),
        &format!("Region\":\"{}", super::REGION),
    )
    .replace(
        &format!("value: {OF_TESTS}\n"),
        &format!("value: {}\n", super::REGION),
    )
}

/// A file of the store, by its name there.
pub(super) fn file(name: &str, text: &str) -> String {
    match name.ends_with(CHANNEL) {
        true => channel(text),
        false => region(text),
    }
}

fn channel(text: &str) -> String {
    let mut items = text.split("\n  - ");
    let mut kept = items.next().unwrap_or_default().to_owned();
    for item in items {
        let mut lines = item.lines().map(str::trim);
        let name = lines.find_map(|line| line.strip_prefix("name: "));
        if name.is_some_and(|name| ADDONS.contains(&name)) {
            kept.push_str("\n  - ");
            kept.push_str(item);
        }
    }
    kept.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_channel_the_addons_are_left_that_can_run() {
        let addon = |name: &str| format!("  - id: a\n    name: {name}\n    needs: x\n");
        let head = "spec:\n  addons:\n";
        let kept = addon("kops-controller.addons.k8s.io");
        let text = [head, &addon("coredns.addons.k8s.io"), &kept].concat();
        assert_eq!(
            file("b/addons/bootstrap-channel.yaml", &text),
            format!("{head}{kept}")
        );
    }

    #[test]
    fn the_region_is_replaced_where_a_program_reads_it() {
        let text = "value: us-test-1\nzone: us-test-1a\n{\"Region\":\"us-test-1\"}";
        let changed = "value: us-east-1\nzone: us-test-1a\n{\"Region\":\"us-east-1\"}";
        assert_eq!(file("b/addons/a.yaml", text), changed);
    }
}
