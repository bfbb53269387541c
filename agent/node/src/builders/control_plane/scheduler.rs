//! kube-scheduler's pod and its configuration.

use super::static_pod::{control_plane_pod, pod_and_log};
use crate::builders::Context;
use crate::builders::legacy::variable;
use crate::config::current::Section;
use quake_formats::yaml_text;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};
use serde_json::{Number, json};

const NAME: &str = "kube-scheduler";

/// Its directory, with its kubeconfig and its configuration.
const HOME: &str = "/var/lib/kube-scheduler";

/// Its configuration, which the cluster brings as a file asset.
const CONFIG: &str = "/var/lib/kube-scheduler/config.yaml";

/// kube-scheduler's manifest, its log, and its configuration where the cluster brings none.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.is_control_plane() {
        return Ok(Vec::new());
    }
    let (mut pod, mut flags, section) = control_plane_pod(context, NAME, "KubeScheduler")?;
    flags.set("config", CONFIG);
    // A scheduler that starts before the API server waits for it rather than refuse its clients for ever.
    flags.set("authentication-tolerate-lookup-failure", "false");
    flags.set("authentication-skip-lookup", "false");
    let most = section.text("maxPersistentVolumes");
    pod.environment
        .extend(most.map(|most| variable("KUBE_MAX_PD_VOLS", most)));
    pod.live_at("/healthz", 10259, true, 15);
    pod.read("varlibkubescheduler", HOME);
    pod.read("srvscheduler", &context.srv(NAME));
    pod.write_log();
    let mut items = pod_and_log(context, pod, &flags, Vec::new());
    let mut assets = context.config.file_assets.iter();
    if assets.all(|asset| asset.text("path") != Some(CONFIG)) {
        let file = File::plain(CONFIG, configuration(&section)).mode(0o400);
        items.push(Item::File(file));
    }
    Ok(items)
}

/// How it reaches the API server, and how often.
fn configuration(section: &Section) -> String {
    let mut connection = json!({"kubeconfig": format!("{HOME}/kubeconfig")});
    if let Some(burst) = section.integer("burst").filter(|burst| *burst != 0) {
        connection["burst"] = json!(burst);
    }
    if let Some(rate) = section.decimal("qps") {
        connection["qps"] = json!(rate.parse::<Number>().ok());
    }
    yaml_text::document(&json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::control_plane::static_pod::tests::pod as read_back;
    use crate::builders::sample::Sample;

    fn sample(section: &str, keys: &str) -> Sample {
        let text = format!("ControlPlaneConfig:\n  KubeScheduler: {{image: i{section}}}\n{keys}");
        Sample::control_plane(&text)
    }

    #[test]
    fn how_often_it_asks_stands_in_its_configuration() {
        let made = sample(", qps: 1500m, burst: 7", "").file(build, CONFIG);
        assert!(made.ends_with("  burst: 7\n  qps: 1.5\n"), "{made}");
    }

    #[test]
    fn the_most_volumes_of_a_node_are_told_by_a_variable() {
        let found = read_back(&sample(", maxPersistentVolumes: 39", ""), build, NAME);
        let variables = &found["spec"]["containers"][0]["env"];
        assert_eq!(
            *variables,
            json!([{"name": "KUBE_MAX_PD_VOLS", "value": "39"}])
        );
    }

    #[test]
    fn a_configuration_is_made_only_where_the_cluster_brings_none() {
        let made = sample("", "").file(build, CONFIG);
        assert_eq!(
            made,
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             clientConnection:\n  kubeconfig: /var/lib/kube-scheduler/kubeconfig\n"
        );
        let assets = format!("FileAssets: [{{name: c, path: {CONFIG}, content: x}}]\n");
        assert_eq!(sample("", &assets).find(build, CONFIG), None);
    }
}
