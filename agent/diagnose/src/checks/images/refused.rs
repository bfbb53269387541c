//! Images that the runtime has and that kubelet does not take: since Kubernetes 1.33 (feature `KubeletEnsureSecretPulledImages`,
//! on by default since 1.35) it may want to see a pod's credentials for what is there already.

use super::has;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::kubelet_config::{kubelet_setting, kubelet_texts, running_minor};
use crate::checks::logs::{age_ms, is_late};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines;
use quake_formats::image_pull::{image_in, is_pull};
use quake_formats::yaml::parse;
use quake_model::facts::Unseen;
use std::collections::BTreeSet;

/// The key of kubelet's configuration that says of which images (kubelet.config.k8s.io/v1beta1).
const POLICY: &str = "imagePullCredentialsVerificationPolicy";

/// Where kubelet keeps which images it pulled itself, and with which credentials (`pkg/kubelet/images/pullmanager`).
const RECORDS: &str = "/var/lib/kubelet/image_manager/pulled";

/// Kubernetes of which kubelet looks at credentials of images that are there, where nothing is said of the feature.
const SINCE: u32 = 35;

/// The feature that lets it look.
const FEATURE: &str = "KubeletEnsureSecretPulledImages";

/// How kubelet and containerd say that an image was taken.
const TAKEN: &[&str] = &[
    "Successfully pulled image",
    "already present on machine",
    "returns image reference",
];

/// What kubelet says of an image that it may not pull and does not take (`pkg/kubelet/images/image_manager.go`).
const NEVER: &[&str] = &["with pull policy of Never", "ErrImageNeverPull"];

/// The finding where kubelet wants to pull, or misses, what the runtime's own list has.
pub(super) fn refused(node: &Node<'_>, there: &[String]) -> Option<Result<Verdict, Unseen>> {
    let policy = policy(node);
    let verifies = policy.as_ref().is_some_and(|(_, policy)| {
        matches!(
            policy.as_str(),
            "AlwaysVerify" | "NeverVerifyAllowlistedImages"
        )
    });
    let lines = lines(node, there, verifies);
    let images: BTreeSet<&str> = lines.iter().map(|(image, _)| *image).collect();
    let first = lines.first().map(|(image, _)| *image)?;
    let more = match images.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let what = format!("kubelet does not take {first}{more}, which the runtime has");
    let finding = match &policy {
        Some((file, policy)) if verifies => of_policy(&what, file, policy, &images),
        _ if looks(node) => of_secret(&what),
        _ => Finding::new(
            format!("{what}: it came after kubelet looked, or it is for another processor"),
            format!("crictl inspecti {first} shows its platform; kubectl delete pod lets kubelet look again"),
        )
        .by(Certainty::Possible),
    };
    let records = node.list(RECORDS).len();
    let finding = match records {
        0 => finding,
        count => finding.seen("records", format_args!("{RECORDS} has {count}")),
    };
    let listed = images.into_iter().collect::<Vec<_>>().join(", ");
    let finding = finding.seen("the runtime has", listed);
    let mut kinds = BTreeSet::new();
    let shown = lines.iter().filter(|(_, line)| kinds.insert(kind(line)));
    let finding = shown.take(MOST).fold(finding, |finding, (_, line)| {
        finding.seen("journal", quote(line, 300))
    });
    // A policy of the node holds for every image that came with it.
    Some(match verifies {
        true => finding.fail(),
        false => finding.warn(),
    })
}

/// How many lines are quoted.
const MOST: usize = 5;

/// The kinds of lines of which one is quoted: what is known of it, and what logs it.
fn kind(line: &str) -> (&'static str, bool) {
    let known = log_lines::find(line).map_or("", |row| row.means);
    (known, line.starts_with("time="))
}

/// The policy that kubelet has, and the file that says so.
fn policy(node: &Node<'_>) -> Option<(String, String)> {
    let mut texts = kubelet_texts(node).into_iter();
    texts.find_map(|(path, text)| {
        let parsed = parse(&path, text).ok()?;
        let policy = parsed.text_of(POLICY)?.to_owned();
        Some((path, policy))
    })
}

/// Whether kubelet looks at credentials of images that are there, with no policy of its own.
fn looks(node: &Node<'_>) -> bool {
    let flag = kubelet_setting(node, "feature-gates", "featureGates").unwrap_or_default();
    let texts = kubelet_texts(node).into_iter().map(|(_, text)| text);
    let lines = texts.flat_map(str::lines).chain(flag.split(','));
    let mut gates = lines.filter_map(|line| {
        let (_, value) = line.split_once(FEATURE)?;
        let value = value.trim_matches(|c: char| !c.is_alphanumeric());
        value.split(|c: char| !c.is_alphanumeric()).next()
    });
    match gates.next_back() {
        Some(value) => value == "true",
        None => running_minor(node).is_some_and(|minor| minor >= SINCE),
    }
}

/// Whether a later line tells that kubelet or the runtime took an image.
fn was_taken(node: &Node<'_>, image: &str, refusal: &str) -> bool {
    let units = ["kubelet.service", "containerd.service"];
    units.iter().any(|unit| {
        let journal = node.journal(unit);
        let at = journal.iter().rposition(|line| line == refusal);
        journal.iter().enumerate().any(|(place, line)| {
            let tells =
                TAKEN.iter().any(|words| line.contains(words)) && image_in(line) == Some(image);
            tells
                && match at {
                    Some(at) => place > at,
                    None => age_ms(line, node)
                        .zip(age_ms(refusal, node))
                        .is_some_and(|(taken, refused)| taken < refused),
                }
        })
    })
}

/// The late lines, the latest first, in which kubelet misses an image of the runtime's list, or pulls one although it is there.
fn lines<'a>(node: &Node<'a>, there: &[String], verifies: bool) -> Vec<(&'a str, &'a str)> {
    let units = ["kubelet.service", "containerd.service"];
    let all = units
        .iter()
        .flat_map(|unit| node.journal(unit).iter().rev());
    let is_refusal =
        |line: &str| NEVER.iter().any(|words| line.contains(words)) || verifies && is_pull(line);
    let own = all.filter(|line| is_refusal(line) && is_late(line, node));
    let mut found: Vec<(&str, &str)> = own
        .filter_map(|line| Some((image_in(line)?, line.as_str())))
        .filter(|(image, line)| has(there, image) && !was_taken(node, image, line))
        .collect();
    // That it may not pull what is there says most plainly that it does not take it.
    found.sort_by_key(|(_, line)| !NEVER.iter().any(|words| line.contains(words)));
    found
}

/// kubelet is told to see credentials even for images that it did not pull.
fn of_policy(what: &str, file: &str, policy: &str, images: &BTreeSet<&str>) -> Finding {
    let folders: BTreeSet<String> = images.iter().filter_map(|image| folder(image)).collect();
    let list = folders.into_iter().collect::<Vec<_>>().join(", ");
    let why = match policy {
        "AlwaysVerify" => {
            "it did not pull them itself, so that it has no record of their credentials"
        }
        _ => "preloadedImagesVerificationAllowlist does not name them",
    };
    Finding::new(
        format!("{what}: {POLICY} is {policy} in {file}, and {why}"),
        format!(
            "set {POLICY}: NeverVerifyPreloadedImages (the default) in {file}, or NeverVerifyAllowlistedImages with preloadedImagesVerificationAllowlist: [{list}]; then: systemctl restart kubelet.service; for good in spec.kubelet of the cluster spec, or wherever {file} comes from; the images and the registry are not the cause"
        ),
    )
    .by(Certainty::Likely)
}

/// The images beside this one, as kubelet's list takes them: `registry.example/team/*`.
fn folder(image: &str) -> Option<String> {
    let (folder, _) = image.rsplit_once('/')?;
    Some(format!("{folder}/*"))
}

/// By default kubelet wants credentials for what it pulled with those of another pod.
fn of_secret(what: &str) -> Finding {
    Finding::new(
        format!("{what}: it was pulled with credentials that this pod does not have"),
        format!(
            "give the pod the imagePullSecrets with which the image was pulled; {POLICY}: NeverVerify in kubelet's configuration turns the question off; the image need not be imported again"
        ),
    )
    .by(Certainty::Likely)
    .or_else("the image came after kubelet looked, or is for another processor: crictl inspecti shows it")
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const IMAGE: &str = "images.example/platform/app:1";

    fn node(policy: &str, line: &str) -> Sample {
        let mut node = Sample::worker();
        node.runtime().images = Some(vec![IMAGE.to_owned()]);
        node.text("/var/lib/kubelet/config.yaml", policy);
        node.journal("kubelet.service", &[line]);
        node
    }

    #[test]
    fn an_image_that_is_there_is_refused_for_want_of_a_record() {
        let never = format!(
            r#""Error syncing pod" err="failed with ErrImageNeverPull: \"Container image \\\"{IMAGE}\\\" is not present with pull policy of Never\"""#
        );
        let pull = format!(r#""Failed to pull image" err="no such host" image="{IMAGE}""#);
        let always = "imagePullCredentialsVerificationPolicy: AlwaysVerify\n";
        let default = "kind: KubeletConfiguration\n";
        for (policy, line, status, words) in [
            (always, &never, Status::Fail, "Policy is AlwaysVerify"),
            (always, &pull, Status::Fail, "NeverVerifyPreloadedImages"),
            (default, &never, Status::Warn, "came after kubelet looked"),
        ] {
            node(policy, line).assert("images.pull", status, words);
        }
        let default = node("kind: KubeletConfiguration\n", &pull);
        default.assert("images.pull", Status::Ok, "no pull");
        let taken = format!(r#""Successfully pulled image" image="{IMAGE}""#);
        let mut later = node(always, &never);
        later.journal("kubelet.service", &[&never, &taken]);
        assert!(!later.judge("images.pull").note.contains("does not take"));
        let gate = "featureGates:\n  KubeletEnsureSecretPulledImages: true\n";
        let gated = node(gate, &never);
        gated.assert("images.pull", Status::Warn, "pulled with credentials");
        let mut absent = node(always, &never);
        absent.runtime().images = Some(Vec::new());
        assert!(!absent.judge("images.pull").note.contains("does not take"));
    }
}
