//! protokube, by which kops before 1.36 applies add-ons and labels the control plane's nodes (`nodeup/pkg/model/protokube.go`,
//! v1.35.0): a program of kops' own, from the assets, that a unit keeps running.

use super::channels::{KUBECONFIG, kubeconfig};
use crate::builders::Context;
use crate::config::EgressProxy;
use quake_formats::unit_text::UnitText;
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, Item};

/// Where kops puts its programs; not on the path of units.
const PROGRAMS: &str = "/opt/kops/bin";

/// What protokube and the tool that it starts are told beside their flags.
const ENVIRONMENT: &str = "/etc/sysconfig/protokube";

/// Whether this cluster's add-ons are protokube's to apply.
pub(super) fn is_wanted(context: &Context<'_>) -> bool {
    let config = context.config;
    config.channels_manifest.is_none() && !config.channels.is_empty()
}

/// The two programs, their kubeconfig and settings, and the unit.
///
/// # Errors
///
/// `config.unsupported` for clusters whose nodes find each other by gossip, on nodes of any role: protokube carries that on
/// workers, too, and kops took it away.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if context.config.whole.is_set("usesLegacyGossip") {
        let summary = "nodes of this cluster find each other by gossip, which this agent does not carry and kops has not \
                       since 1.37";
        return Err(Fault::new(Code::ConfigUnsupported, summary)
            .seen("source", &context.config.source)
            .seen("path", "usesLegacyGossip"));
    }
    if !context.is_control_plane() || !is_wanted(context) {
        return Ok(Vec::new());
    }
    let [order, kubeconfig] = kubeconfig(context)?;
    let unit = context.unit("protokube.service", unit(context));
    let mut items = vec![order, kubeconfig];
    for name in ["protokube", "channels"] {
        items.push(context.place(name, &format!("{PROGRAMS}/{name}"))?);
    }
    items.push(Item::File(File::plain(ENVIRONMENT, environment(context))));
    items.push(Item::Unit(unit.reading([
        ENVIRONMENT.to_owned(),
        format!("{PROGRAMS}/protokube"),
    ])));
    Ok(items)
}

fn environment(context: &Context<'_>) -> String {
    let mut lines = vec![
        ("KUBECONFIG", KUBECONFIG.to_owned()),
        ("AWS_REGION", context.instance.region.clone()),
    ];
    let proxy = context.config.network.egress_proxy.as_ref();
    lines.extend(proxy.into_iter().flat_map(EgressProxy::variables));
    if context.distribution.brings_containerd() {
        // Where nothing can be put beside the system's own programs, kops' tools are found here alone.
        let path = format!("{PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin");
        lines.push(("PATH", path));
    }
    let lines = lines.into_iter();
    lines
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect()
}

/// The flags, sorted as kops sorts them.
fn flags(context: &Context<'_>) -> String {
    let cluster = &context.config.cluster;
    let mut flags = vec![
        "--bootstrap-master-node-labels=true".to_owned(),
        format!("--channels={}", context.config.channels.join(",")),
        "--cloud=aws".to_owned(),
        format!("--cluster-id={cluster}"),
        "--containerized=false".to_owned(),
        format!("--dns-internal-suffix=.internal.{cluster}"),
        "--master=true".to_owned(),
        format!("--node-name={}", context.node_name),
        "--v=4".to_owned(),
    ];
    let zone = context.config.whole.text("DNSZone");
    flags.extend(zone.map(|zone| match zone.contains('.') {
        true => format!("--zone={zone}"),
        false => format!("--zone=*/{zone}"),
    }));
    flags.join(" ")
}

/// nodeup's unit, which also takes what it was installed with: the endpoint and the keys of a store of the operator's own are
/// there, and in no file of ours.
fn unit(context: &Context<'_>) -> String {
    UnitText::new()
        .section("Unit")
        .set("Description", "Apply the cluster's add-ons")
        .section("Service")
        .set("EnvironmentFile", "-/etc/sysconfig/kops-configuration")
        .set("EnvironmentFile", ENVIRONMENT)
        .set(
            "ExecStart",
            &format!("{PROGRAMS}/protokube {}", flags(context)),
        )
        .set("Restart", "always")
        .set("RestartSec", "3s")
        .set("StartLimitInterval", "0")
        .section("Install")
        .set("WantedBy", "multi-user.target")
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const DIGEST: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn sample(keys: &str) -> Sample {
        let asset = |name: &str, digit: &str| {
            let digest = DIGEST.replacen('a', digit, 1);
            format!("{digest}@https://files.example.com/{name}")
        };
        Sample::control_plane(&format!(
            "channels: [s3://b/c/addons/bootstrap-channel.yaml]\nCAs: {{kubernetes-ca: a}}\nDNSZone: Z1\n\
             KeypairIDs: {{kubernetes-ca: \"1\"}}\nAssets: {{amd64: [\"{}\", \"{}\"]}}\n{keys}",
            asset("protokube", "b"),
            asset("channels", "c"),
        ))
    }

    #[test]
    fn a_control_plane_of_kops_before_1_36_runs_protokube() {
        let sample = sample("");
        let subjects = sample.subjects(build);
        for program in ["protokube", "channels"] {
            assert!(
                subjects.contains(&format!("{PROGRAMS}/{program}")),
                "{subjects:?}"
            );
        }
        assert!(subjects.contains(&KUBECONFIG.to_owned()), "{subjects:?}");
        let text = sample.file(build, "/usr/lib/systemd/system/protokube.service");
        let wanted = "--bootstrap-master-node-labels=true --channels=s3://b/c/addons/bootstrap-channel.yaml --cloud=aws ";
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains("--v=4 --zone=*/Z1\n"), "{text}");
        let environment = sample.file(build, ENVIRONMENT);
        assert!(environment.starts_with("KUBECONFIG=/var/lib/kops/kubeconfig\nAWS_REGION="));
        assert!(!environment.contains("proxy"), "{environment}");
    }

    #[test]
    fn a_proxy_is_protokubes_too() {
        let keys =
            "Networking: {egressProxy: {httpProxy: {host: p, port: 3128}, excludes: \"a,b\"}}\n";
        let text = sample(keys).file(build, ENVIRONMENT);
        assert!(
            text.contains("https_proxy=http://p:3128\nNO_PROXY=a,b\n"),
            "{text}"
        );
    }

    #[test]
    fn newer_control_planes_and_workers_run_none() {
        let newer = sample("channelsManifest: s3://b/c/kops-channels.yaml\n");
        assert_eq!(newer.items(build), []);
        assert_eq!(Sample::worker("channels: [s3://b/c]\n").items(build), []);
    }

    #[test]
    fn gossip_is_refused_on_nodes_of_any_role() {
        for sample in [
            Sample::worker("usesLegacyGossip: true\n"),
            sample("usesLegacyGossip: true\n"),
        ] {
            let fault = sample.try_items(build).expect_err("it is refused");
            assert_eq!(fault.code, Code::ConfigUnsupported);
            assert!(fault.summary.contains("gossip"), "{fault:?}");
        }
    }
}
