//! kops-channels: the pod that applies the cluster's add-ons and labels the control plane's nodes.

use super::protokube;
use super::static_pod::{host_label, manifest_path};
use crate::builders::Context;
use crate::builders::keys::container_user;
use quake_formats::yaml;
use quake_formats::yaml_text;
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, Item, Subject};
use quake_model::step::Contents;
use serde_json::{Value, json};

/// The user that the pod runs as; its number is fixed in the pod.
const USER: &str = "kops-channels";
const USER_ID: u32 = 10013;

const HOME: &str = "/var/lib/kops";

/// Where whoever applies add-ons finds its kubeconfig.
pub(super) const KUBECONFIG: &str = "/var/lib/kops/kubeconfig";

/// The user, its kubeconfig, and the pod as the state store has it.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.is_control_plane() || protokube::is_wanted(context) {
        return Ok(Vec::new());
    }
    let [order, kubeconfig] = kubeconfig(context)?;
    let manifest = File::plain(&manifest_path(USER), manifest(context)?);
    Ok(vec![
        container_user(USER, USER_ID, HOME),
        order,
        kubeconfig.map_file(|file| file.owned_by(USER)),
        Item::File(manifest),
    ])
}

/// The certificate of whoever applies add-ons, and the kubeconfig around it.
pub(super) fn kubeconfig(context: &Context<'_>) -> Result<[Item; 2], Fault> {
    let subject = Subject::named("kops").with_organization("system:masters");
    context.kubeconfig("kops", subject, KUBECONFIG)
}

/// The pod's bytes. Whether containers are labelled for SELinux only the instance group knows, so that is added here.
fn manifest(context: &Context<'_>) -> Result<Contents, Fault> {
    let location = context.config.channels_manifest.as_ref();
    let location = location.ok_or_else(|| unsupported(context))?;
    let bytes = context.objects.manifest(location)?;
    let Some(label) = host_label(context) else {
        return Ok(Contents(bytes.to_vec()));
    };
    let mut pod = yaml::parse_bytes(&location.to_string(), bytes)?.to_json();
    let spec = pod.get_mut("spec").and_then(Value::as_object_mut);
    let security = spec.map(|spec| spec.entry("securityContext").or_insert_with(|| json!({})));
    let security = security.and_then(Value::as_object_mut);
    let security = security.ok_or_else(|| {
        let summary = format!("{location} is no pod");
        Fault::new(Code::ConfigObjectMalformed, summary).seen("object", location)
    })?;
    security.insert("seLinuxOptions".to_owned(), label);
    Ok(yaml_text::document(&pod).into())
}

fn unsupported(context: &Context<'_>) -> Fault {
    let summary = "neither channelsManifest nor channels is given: without add-ons no node ever becomes ready";
    Fault::new(Code::ConfigUnsupported, summary)
        .seen("source", &context.config.source)
        .seen("path", "channelsManifest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::control_plane::static_pod::tests::pod;
    use crate::builders::sample::Sample;

    const MANIFEST: &str = "# kept\nspec:\n  dnsPolicy: Default\n";

    fn sample(keys: &str) -> Sample {
        let text = format!(
            "channelsManifest: s3://b/c/kops-channels.yaml\nCAs: {{kubernetes-ca: CA}}\n\
             KeypairIDs: {{kubernetes-ca: \"1\"}}\n{keys}"
        );
        let mut sample = Sample::control_plane(&text);
        let location = sample.config.channels_manifest.clone();
        let location = location.expect("it is given");
        sample.objects.manifests.insert(location, MANIFEST.into());
        sample
    }

    #[test]
    fn the_pod_is_the_state_stores_byte_for_byte() {
        let text = sample("").file(build, &manifest_path(USER));
        assert_eq!(text, MANIFEST);
    }

    #[test]
    fn the_pod_may_read_the_host_where_containers_are_labelled() {
        let found = sample("containerdConfig: {selinuxEnabled: true}\n");
        let found = pod(&found, build, USER);
        assert_eq!(found["spec"]["dnsPolicy"], "Default");
        let options = &found["spec"]["securityContext"]["seLinuxOptions"];
        assert_eq!(options["type"], "spc_t");
        let mut broken = sample("containerdConfig: {selinuxEnabled: true}\n");
        for manifest in broken.objects.manifests.values_mut() {
            *manifest = b"spec: 1".to_vec();
        }
        let fault = broken.try_items(build).expect_err("no pod");
        assert_eq!(fault.code, Code::ConfigObjectMalformed);
    }

    #[test]
    fn the_kubeconfig_is_read_by_the_pods_user_alone() {
        let file = sample("")
            .file_at(build, KUBECONFIG)
            .expect("a kubeconfig is made");
        assert_eq!((file.owner.user.as_str(), file.mode), (USER, 0o400));
        assert!(
            sample("")
                .subjects(build)
                .contains(&"user/kops-channels".to_owned())
        );
    }

    #[test]
    fn a_cluster_that_applies_add_ons_otherwise_is_refused() {
        let text = "CAs: {kubernetes-ca: a}\nKeypairIDs: {kubernetes-ca: \"1\"}\n";
        let fault = Sample::control_plane(text).try_items(build);
        assert_eq!(
            fault.expect_err("no manifest").code,
            Code::ConfigUnsupported
        );
        assert_eq!(Sample::worker("").items(build), []);
    }
}
