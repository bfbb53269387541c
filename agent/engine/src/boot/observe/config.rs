//! Finds out what the node is to be: user data, then the state store, lowered to one spec.

use crate::boot::ReportPlace;
use crate::boot::facts::BootFacts;
use crate::boot::observe::kops::observe_kops;
use crate::boot::observe::{ConfigPorts, objects, startup_taint};
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_formats::yaml::parse;
use quake_model::boot_report::ReportFolder;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::{Metadata, Meter, Objects};
use quake_node::config::current::is_boot_config;
use quake_node::config::legacy::{self, Document, Sources};
use quake_node::expected::expected;
use quake_node::node::Node;
use quake_node::user_data;
use std::sync::Arc;
use std::time::Duration;

/// `kube_env.yaml`, and the inline cluster and instance group where there are any.
type Documents = (Document, Option<Document>, Option<Document>);

pub(crate) async fn observe_config<H: ConfigPorts>(context: &Context<'_, H>) -> Result<(), Fault> {
    let documents = find_documents(context).await?;
    let kube_env = &documents.0;
    if is_boot_config(&parse(&kube_env.source, &kube_env.text)?) {
        return observe_kops(context, kube_env).await;
    }
    let sources = find_sources(context, documents).await?;
    let instance = context.know(BootFacts::instance)?;
    let mut lowered = legacy::lower(&sources, &instance)?;
    lowered.spec.kubelet.startup_taint = startup_taint::text(context);
    for fault in lowered.warnings {
        context.emitter.emit(Event::Warning { fault });
    }
    context.emitter.emit(Event::SpecKnown {
        cluster: lowered.spec.cluster.clone(),
        instance_group: lowered.spec.instance_group.clone(),
        role: lowered.spec.role.name().to_owned(),
        kubernetes: lowered.spec.kubernetes.to_string(),
        source: lowered.source,
        digest: lowered.digest,
    });
    let node = Node::Legacy(Arc::new(lowered.spec));
    let spec = node.spec(&context.know(BootFacts::known)?)?;
    startup_taint::check(context, &spec, &instance).await?;
    let expected = Box::new(expected(&spec, &instance));
    context.emitter.emit(Event::NodeExpected { expected });
    context.learn(|knowledge| {
        knowledge.spec = Some(Arc::new(spec));
        knowledge.node = Some(node);
    });
    Ok(())
}

/// `kube_env.yaml`, and the cluster and the instance group as they were at launch, where they came along.
async fn find_documents<H: Metadata + Objects + Meter>(
    context: &Context<'_, H>,
) -> Result<Documents, Fault> {
    let configuration = &context.request.configuration;
    let kube_env = match (&configuration.kube_env, &configuration.kube_env_at) {
        (Some(document), _) => document.clone(),
        (None, Some(location)) => read_kube_env(context, location).await?,
        (None, None) => return find_in_user_data(context).await,
    };
    Ok((
        kube_env,
        configuration.inline_cluster.clone(),
        configuration.inline_instance_group.clone(),
    ))
}

async fn read_kube_env<H: Objects + Meter>(
    context: &Context<'_, H>,
    location: &Location,
) -> Result<Document, Fault> {
    let read = read_optional(context, location.clone()).await?;
    read.ok_or_else(|| {
        let summary = "there is no boot configuration where the command line says";
        Fault::new(Code::ConfigObjectMissing, summary).seen("object", location)
    })
}

async fn find_sources<H: Objects + Meter>(
    context: &Context<'_, H>,
    (kube_env, inline_cluster, inline_instance_group): Documents,
) -> Result<Sources, Fault> {
    let configuration = &context.request.configuration;
    // Whatever is wrong with the rest: from here on the boot can say so where the cluster is.
    let reports = legacy::read_report_folder(&kube_env.source, &kube_env.text);
    let reports = reports.map(|folder| ReportFolder {
        config_base: configuration
            .config_base
            .clone()
            .unwrap_or(folder.config_base),
        ..folder
    });
    if let Some(folder) = reports {
        context.learn(|knowledge| knowledge.reports = ReportPlace::Folder(folder));
    }
    let (read, _) = legacy::read_kube_env(&kube_env.source, &kube_env.text)?;
    let base = configuration
        .config_base
        .clone()
        .unwrap_or_else(|| read.config_base.clone());
    let group = format!("instancegroup/{}", read.instance_group);
    let (cluster, instance_group) = tokio::try_join!(
        read_optional(context, base.join("cluster.spec")),
        read_optional(context, base.join(&group)),
    )?;
    Ok(Sources {
        kube_env,
        cluster,
        instance_group,
        inline_cluster,
        inline_instance_group,
    })
}

async fn find_in_user_data<H: Metadata + Meter>(
    context: &Context<'_, H>,
) -> Result<Documents, Fault> {
    let wait = context.wait(Phase::Config, "config:user-data", Duration::from_secs(120));
    let read = || async {
        let read = context.host.read_user_data().await;
        read.map_err(|error| to_fault(Operation::ReadMetadata, error))
    };
    let Some(bytes) = context.retry(&wait, read).await? else {
        let summary = "this instance has no user data";
        return Err(Fault::new(Code::ConfigUserDataUnusable, summary));
    };
    let found = user_data::find_documents(&bytes)?;
    let document = |name: &str, text: String| Document {
        source: format!("user-data/{name}"),
        text,
    };
    Ok((
        document("kube_env.yaml", found.kube_env),
        found
            .cluster_spec
            .map(|text| document("cluster_spec.yaml", text)),
        found.ig_spec.map(|text| document("ig_spec.yaml", text)),
    ))
}

/// Reads an object that may not exist.
async fn read_optional<H: Objects + Meter>(
    context: &Context<'_, H>,
    location: Location,
) -> Result<Option<Document>, Fault> {
    let object = objects::read_object(
        context,
        Phase::Config,
        Operation::ReadConfiguration,
        &location,
    )
    .await?;
    let Some(object) = object else {
        return Ok(None);
    };
    let source = location.to_string();
    let text = String::from_utf8(object.bytes).map_err(|error| {
        let summary = format!("{source} is not UTF-8 text");
        let at = error.utf8_error().valid_up_to();
        Fault::new(Code::ConfigYamlSyntax, summary)
            .seen("source", &source)
            .seen("byte", at)
    })?;
    Ok(Some(Document { source, text }))
}
