//! The `kube_env.yaml` that `user-data render` delivers: one that is given, or one that the state store makes.

use crate::args::user_data::RenderArguments;
use crate::commands::node_document_in;
use crate::commands::running::{document, fail, usage};
use crate::commands::state_store::{
    Generation, Refused, StoredCluster, Wanted, look, older_kube_env, read_ca, say_assumptions,
};
use crate::output;
use crate::render::fault_text;
use quake_formats::yaml::parse;
use quake_model::fault::{Class, Fault};
use quake_model::location::{Location, Scheme};
use quake_node::config::current::{Origin, is_boot_config, read_boot_config};
use quake_node::config::legacy::{Document, read_kube_env};

/// What the agent is to read: the document that is given, or one that names where everything is.
pub(super) async fn kube_env(arguments: &RenderArguments) -> Result<String, u8> {
    if let Some(file) = &arguments.kube_env {
        return given(arguments, node_document_in(document(file)?)?);
    }
    let (Some(store), Some(group)) = (&arguments.state_store, &arguments.instance_group) else {
        return Err(usage(
            "name --state-store and --instance-group, or --kube-env",
        ));
    };
    let wanted = Wanted {
        store,
        cluster: arguments.cluster.as_deref(),
        region: None,
    };
    match look(wanted).await {
        Ok(Some(cluster)) if cluster.generation == Generation::Current => {
            of_group(&cluster, group).await
        }
        Ok(_) => older(arguments, store, group),
        Err(Refused::Fault(fault)) if may_be_elsewhere(&fault) => {
            output::error_text(fault_text("warning", &fault));
            output::error_line(
                "warning: so the cluster is taken for one of kops 1.8 to 1.15; of kops 1.32 and newer its state store must \
                 be readable here",
            );
            older(arguments, store, group)
        }
        Err(refused) => Err(refused.say()),
    }
}

/// Whether a store that cannot be read here may well be read by the instance.
fn may_be_elsewhere(fault: &Fault) -> bool {
    matches!(fault.class(), Class::Denied | Class::Transient)
}

/// The boot configuration of a group of kops 1.32 and newer.
async fn of_group(cluster: &StoredCluster, group: &str) -> Result<String, u8> {
    let group = cluster.group(group).await?;
    let ca = read_ca(cluster.objects(), &cluster.base).await;
    let ca = ca.map_err(|fault| fail(&fault))?;
    let ca = ca.map(|bundle| bundle.certificates());
    let derived = cluster.derive(&group, ca.as_deref())?;
    if let Some(why) = derived.unfit_for_launch {
        return Err(usage(&format!(
            "{why}: name the user data of the group's launch template instead, with --kube-env FILE"
        )));
    }
    say_assumptions(&derived.assumptions);
    Ok(derived.text)
}

/// A document of kops 1.8 to 1.15 that names where everything is.
fn older(arguments: &RenderArguments, store: &str, group: &str) -> Result<String, u8> {
    let base = config_base(store, arguments.cluster.as_deref())?;
    let text = older_kube_env(&base, group);
    read_older(arguments, "the command line", text)
}

fn given(arguments: &RenderArguments, found: Document) -> Result<String, u8> {
    let root = parse(&found.source, &found.text).map_err(|fault| fail(&fault))?;
    match is_boot_config(&root) {
        true => read_newer(arguments, found),
        false => read_older(arguments, &found.source, found.text),
    }
}

fn read_newer(arguments: &RenderArguments, found: Document) -> Result<String, u8> {
    let Document { source, text } = found;
    let (boot, findings) = read_boot_config(&source, &text).map_err(|fault| fail(&fault))?;
    warn(&findings);
    if let Some(cluster) = arguments.cluster.as_ref().filter(|it| **it != boot.cluster) {
        let other = &boot.cluster;
        return Err(usage(&format!("{source} is of {other}, not of {cluster}")));
    }
    match &boot.origin {
        Origin::Store(base) => agrees(arguments, &source, base, &boot.instance_group)?,
        // A worker asks kops-controller, and reads no state store.
        Origin::Server(_) | Origin::Nowhere => {
            agrees_on_group(arguments, &source, &boot.instance_group)?;
        }
    }
    Ok(text)
}

fn read_older(arguments: &RenderArguments, source: &str, text: String) -> Result<String, u8> {
    let (read, findings) = read_kube_env(source, &text).map_err(|fault| fail(&fault))?;
    warn(&findings);
    agrees(arguments, source, &read.config_base, &read.instance_group)?;
    if read.assets.is_empty() {
        output::error_line(
            "warning: no assets are pinned, so the image must hold the programs of Kubernetes; kops 1.8 to 1.15 \
             pins them in its own user data: --kube-env THAT",
        );
    }
    Ok(text)
}

fn warn(findings: &[Fault]) {
    for finding in findings {
        output::error_text(fault_text("warning", finding));
    }
}

/// Whether the document is of the state store and the group that the command line names.
fn agrees(
    arguments: &RenderArguments,
    source: &str,
    read: &Location,
    group: &str,
) -> Result<(), u8> {
    // A directory is a copy, and says nothing of where the instance reads.
    let named = arguments.state_store.as_deref();
    let named = named.filter(|store| store.contains("://"));
    let base = named.map(|store| config_base(store, arguments.cluster.as_deref()));
    if let Some(base) = base.transpose()?.filter(|base| base != read) {
        return Err(usage(&format!(
            "{source} reads {read}, and --state-store is {base}"
        )));
    }
    agrees_on_group(arguments, source, group)
}

fn agrees_on_group(arguments: &RenderArguments, source: &str, read: &str) -> Result<(), u8> {
    match arguments.instance_group.as_deref() {
        Some(group) if group != read => Err(usage(&format!(
            "{source} is of the instance group {read}, not {group}"
        ))),
        _ => Ok(()),
    }
}

/// The cluster's directory as the instance reaches it.
fn config_base(store: &str, cluster: Option<&str>) -> Result<Location, u8> {
    let store = store.parse::<Location>();
    let store = store.map_err(|error| usage(&format!("--state-store: {error}")))?;
    let base = match cluster {
        Some(cluster) if store.key().rsplit('/').next() != Some(cluster) => store.join(cluster),
        Some(_) | None => store,
    };
    match base.scheme() {
        Scheme::Memfs => Err(usage("no instance reaches memfs://")),
        Scheme::S3 if base.key().is_empty() => Err(usage(&format!(
            "{base} is the state store of several: name the --cluster"
        ))),
        Scheme::S3 | Scheme::File => Ok(base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_store_of_several_clusters_needs_the_name_of_one() {
        assert!(config_base("s3://bucket", None).is_err());
        assert!(config_base("memfs://b/c", Some("c")).is_err());
        for (store, cluster) in [
            ("s3://b/c", None),
            ("s3://b", Some("c")),
            ("s3://b/c", Some("c")),
        ] {
            let base = config_base(store, cluster).map(|base| base.to_string());
            assert_eq!(base, Ok("s3://b/c".to_owned()));
        }
    }
}
