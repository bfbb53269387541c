//! Finds out what the node is to be: user data, then the state store, lowered to one spec.

use crate::boot::ReportPlace;
use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_formats::yaml::parse;
use quake_model::boot_report::ReportFolder;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::{Condition, Host, Object};
use quake_node::config::current::is_boot_config;
use quake_node::config::legacy::{self, Document, Sources};
use quake_node::expected::expected;
use quake_node::node::Node;
use quake_node::user_data;
use std::sync::Arc;
use std::time::Duration;

/// How long the state store may be silent or throttle one object. A guess.
const OBJECT_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// `kube_env.yaml`, and the inline cluster and instance group where there are any.
type Documents = (Document, Option<Document>, Option<Document>);

impl<H: Host> Context<'_, H> {
    pub(crate) async fn observe_config(&self) -> Result<(), Fault> {
        let documents = self.find_documents().await?;
        let kube_env = &documents.0;
        if is_boot_config(&parse(&kube_env.source, &kube_env.text)?) {
            return self.observe_kops(kube_env).await;
        }
        let sources = self.find_sources(documents).await?;
        let instance = self.know(BootFacts::instance)?;
        let lowered = legacy::lower(&sources, &instance)?;
        for fault in lowered.warnings {
            self.emitter.emit(Event::Warning { fault });
        }
        self.emitter.emit(Event::SpecKnown {
            cluster: lowered.spec.cluster.clone(),
            instance_group: lowered.spec.instance_group.clone(),
            role: lowered.spec.role.name().to_owned(),
            kubernetes: lowered.spec.kubernetes.to_string(),
            source: lowered.source,
            digest: lowered.digest,
        });
        let node = Node::Legacy(Arc::new(lowered.spec));
        let spec = node.spec(&self.know(BootFacts::known)?)?;
        let expected = Box::new(expected(&spec, &instance));
        self.emitter.emit(Event::NodeExpected { expected });
        self.learn(|knowledge| {
            knowledge.spec = Some(Arc::new(spec));
            knowledge.node = Some(node);
        });
        Ok(())
    }

    /// `kube_env.yaml`, and the cluster and the instance group as they were at launch, where they came along.
    async fn find_documents(&self) -> Result<Documents, Fault> {
        let configuration = &self.request.configuration;
        let kube_env = match (&configuration.kube_env, &configuration.kube_env_at) {
            (Some(document), _) => document.clone(),
            (None, Some(location)) => self.read_kube_env(location).await?,
            (None, None) => return self.find_in_user_data().await,
        };
        Ok((
            kube_env,
            configuration.inline_cluster.clone(),
            configuration.inline_instance_group.clone(),
        ))
    }

    async fn read_kube_env(&self, location: &Location) -> Result<Document, Fault> {
        let read = self.read_optional(location.clone()).await?;
        read.ok_or_else(|| {
            let summary = "there is no boot configuration where the command line says";
            Fault::new(Code::ConfigObjectMissing, summary).seen("object", location)
        })
    }

    async fn find_sources(
        &self,
        (kube_env, inline_cluster, inline_instance_group): Documents,
    ) -> Result<Sources, Fault> {
        let configuration = &self.request.configuration;
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
            self.learn(|knowledge| knowledge.reports = ReportPlace::Folder(folder));
        }
        let (read, _) = legacy::read_kube_env(&kube_env.source, &kube_env.text)?;
        let base = configuration
            .config_base
            .clone()
            .unwrap_or_else(|| read.config_base.clone());
        let group = format!("instancegroup/{}", read.instance_group);
        let (cluster, instance_group) = tokio::try_join!(
            self.read_optional(base.join("cluster.spec")),
            self.read_optional(base.join(&group)),
        )?;
        Ok(Sources {
            kube_env,
            cluster,
            instance_group,
            inline_cluster,
            inline_instance_group,
        })
    }

    async fn find_in_user_data(&self) -> Result<Documents, Fault> {
        let wait = self.wait(Phase::Config, "config:user-data", Duration::from_secs(120));
        let read = || async {
            let read = self.host.read_user_data().await;
            read.map_err(|error| to_fault(Operation::ReadMetadata, error))
        };
        let Some(bytes) = self.retry(&wait, read).await? else {
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
    async fn read_optional(&self, location: Location) -> Result<Option<Document>, Fault> {
        let object = self
            .read_object(Phase::Config, Operation::ReadConfiguration, &location)
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

    /// Reads an object, trying as long as its fault may heal; `None` when there is no such object.
    pub(crate) async fn read_object(
        &self,
        phase: Phase,
        attempted: Operation,
        location: &Location,
    ) -> Result<Option<Object>, Fault> {
        let wait = self.wait(phase, &format!("{phase}:{location}"), OBJECT_DEADLINE);
        let attempt = || async {
            match self.host.read_object(location).await {
                Ok(object) => Ok(Some(object)),
                Err(error) if error.condition == Condition::Missing => Ok(None),
                Err(error) => Err(to_fault(attempted, error).seen("object", location)),
            }
        };
        self.retry(&wait, attempt).await
    }

    /// Lists the names directly below a location, trying as long as its fault may heal.
    pub(crate) async fn list_names(
        &self,
        phase: Phase,
        attempted: Operation,
        location: &Location,
    ) -> Result<Vec<String>, Fault> {
        let wait = self.wait(phase, &format!("{phase}:{location}"), OBJECT_DEADLINE);
        let attempt = || async {
            let listed = self.host.list_objects(location).await;
            listed.map_err(|error| to_fault(attempted, error).seen("prefix", location))
        };
        self.retry(&wait, attempt).await
    }
}
