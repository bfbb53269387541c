//! Passwords of Amazon's registries, which kubelet has a program ask for.

use super::CREDENTIAL_PROVIDERS;
use crate::builders::{Context, processor};
use quake_model::fault::Fault;
use quake_model::item::{File, Item};

/// The program, whose name in kubelet's configuration must be its file's.
const NAME: &str = "ecr-credential-provider";

/// Names of Amazon's registries: of its public partition, of China's, of those that FIPS binds, and of an isolated one
/// (`nodeup/pkg/model/kubelet.go`, kops v1.36.2).
const REGISTRIES: &[&str] = &[
    "*.dkr.ecr.*.amazonaws.com",
    "*.dkr.ecr.*.amazonaws.com.cn",
    "*.dkr.ecr-fips.*.amazonaws.com",
    "*.dkr.ecr.us-iso-east-1.c2s.ic.gov",
];

/// Whether kubelet asks a program for these passwords. Before Kubernetes 1.27 kops ships none: kubelet
/// asks ECR by itself (`UseExternalKubeletCredentialProvider`, `pkg/apis/kops/model`, kops v1.31.0).
pub(super) fn is_used(context: &Context<'_>) -> bool {
    context.config.kubernetes.at_least(1, 27)
}

/// The program and when kubelet calls it.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !is_used(context) {
        return Ok(Vec::new());
    }
    let asset = format!("{NAME}-linux-{}", processor(&context.instance.architecture));
    let path = format!("{}/{NAME}", context.distribution.kubelet_programs());
    let program = context.place(&asset, &path)?;
    let config = File::plain(CREDENTIAL_PROVIDERS, configuration(context));
    Ok(vec![program, Item::File(config)])
}

fn configuration(context: &Context<'_>) -> String {
    let containerd = &context.config.containerd;
    let mut images = REGISTRIES.to_vec();
    // A mirror may be a pull-through cache of Amazon's. kubelet knows images by the names in pods, which are those of the
    // registries that are mirrored.
    if containerd.is_set("useECRCredentialsForMirrors") {
        images.extend(containerd.lists("registryMirrors").into_keys());
    }
    // In the form of nodeup's writer: going over to the agent and back changes nothing.
    let quoted = |image: &&str| {
        if image.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            format!("  - {image}\n")
        } else {
            format!("  - '{}'\n", image.replace('\'', "''"))
        }
    };
    let images: String = images.iter().map(quoted).collect();
    format!(
        "apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- apiVersion: credentialprovider.kubelet.k8s.io/v1
  args:
  - get-credentials
  defaultCacheDuration: 12h0m0s
  env:
  - name: AWS_REGION
    value: {}
  matchImages:
{images}  name: {NAME}
",
        context.instance.region
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::kubelet::{KUBELET_ENVIRONMENT, kubelet_environment};
    use crate::builders::sample::Sample;
    use serde_json::Value;

    const DIGEST: &str = "8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";

    fn sample(keys: &str) -> Sample {
        let asset = format!("{DIGEST}@https://a/{NAME}-linux-amd64");
        Sample::worker(&format!("Assets: {{amd64: [\"{asset}\"]}}\n{keys}"))
    }

    fn images(keys: &str) -> Vec<String> {
        let text = sample(keys).file(build, CREDENTIAL_PROVIDERS);
        let read: Value = serde_saphyr::from_str(&text).expect("it is YAML");
        let images = read["providers"][0]["matchImages"].as_array();
        let images = images.map_or(&[][..], Vec::as_slice);
        images
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_program_is_called_by_the_name_that_kubelet_looks_for() {
        let items = sample("").items(build);
        assert_eq!(items[0].subject(), format!("/usr/local/bin/{NAME}"));
    }

    #[test]
    fn kubelet_older_than_1_27_has_no_program_to_call() {
        for (minor, is_used) in [(25, false), (26, false), (27, true), (36, true)] {
            let mut node = sample("");
            node.config.kubernetes.minor = minor;
            let items = node.items(build);
            assert_eq!(!items.is_empty(), is_used, "1.{minor}");
            let arguments = node.file(kubelet_environment::build, KUBELET_ENVIRONMENT);
            let is_named = arguments.contains("--image-credential-provider");
            assert_eq!(is_named, is_used, "1.{minor}");
        }
    }

    #[test]
    fn mirrors_get_passwords_only_where_that_is_asked_for() {
        let mirrors = "registryMirrors: {quay.io: [\"https://m\"], docker.io: [\"https://m\"]}";
        let without = images(&format!("containerdConfig: {{{mirrors}}}\n"));
        assert_eq!(without, REGISTRIES);
        let with = images(&format!(
            "containerdConfig: {{useECRCredentialsForMirrors: true, {mirrors}}}\n"
        ));
        assert_eq!(with[REGISTRIES.len()..], ["docker.io", "quay.io"]);
    }
}
