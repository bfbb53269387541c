//! Looks at what others bring to a node: the runtime's answer, pods, the node's object, the pod network's configuration.
//! It only ever looks; what is late is told with what kubelet and the runtime say of it.

use crate::access::access_by;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::PodsSeen;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, Files, Probes, Units};
use quake_model::redact::scrub;
use quake_node::readiness::{CniProvider, PodNetwork, bringer, static_pod, with_kubelets_word};

const KUBELET: &str = "kubelet.service";

/// How many lines of kubelet's journal are read: a pull that is refused is told every few seconds, among much else.
const LINES: usize = 200;

/// The longest configuration of the pod network that is read.
const CONFIGURATION_BYTES: u64 = 64 << 10;

/// Asks the runtime for its version.
pub(crate) async fn runtime<H: Probes>(
    context: &Context<'_, H>,
    runtime: &str,
) -> Result<(), Fault> {
    let answer = context.host.ask_runtime().await;
    answer.map(drop).map_err(|error| {
        let mut why = error.summary;
        for cause in &error.causes {
            why = format!("{why}: {cause}");
        }
        let fault = Fault::new(
            Code::ReadyRuntimeSilent,
            format!("{runtime} does not answer"),
        );
        fault.seen("answer", why)
    })
}

/// Looks at a pod that kubelet runs from a file.
pub(crate) async fn pod<H: Units + Probes>(
    context: &Context<'_, H>,
    pod: &str,
) -> Result<(), Fault> {
    let seen = pods(context, &[pod]).await?;
    let Err(fault) = static_pod(pod, &seen) else {
        return Ok(());
    };
    Err(with_kubelets_word(fault, pod, &journal(context).await))
}

/// Whether a pod that kubelet runs from a file runs, and no word of why not.
pub(crate) async fn pod_runs<H: Probes>(context: &Context<'_, H>, pod: &str) -> bool {
    let seen = pods(context, &[pod]).await;
    seen.is_ok_and(|seen| static_pod(pod, &seen).is_ok())
}

/// Asks the API server for the node, with kubelet's own certificate.
pub(crate) async fn node<H: Files + Probes>(
    context: &Context<'_, H>,
    node: &str,
    kubeconfig: &str,
) -> Result<(), Fault> {
    let unregistered = |summary: String| Fault::new(Code::ReadyNodeUnregistered, summary);
    let Some(access) = access_by(context.host, kubeconfig).await else {
        let summary = format!("{kubeconfig} leads to no API server yet");
        return Err(unregistered(summary).seen("node", node));
    };
    let server = scrub(&access.server);
    let summary = match context.host.look_node(&access, node).await {
        Ok(Some(_)) => return Ok(()),
        Ok(None) => format!("the API server at {server} knows no node {node} yet"),
        Err(error) => {
            let what = match error.condition {
                Condition::Denied => {
                    format!("the API server at {server} refuses kubelet's certificate")
                }
                _ => format!("the API server at {server} cannot be reached from here yet"),
            };
            let mut fault = unregistered(what)
                .seen("node", node)
                .seen("answer", error.summary);
            for cause in error.causes {
                fault = fault.seen("because", cause);
            }
            return Err(fault);
        }
    };
    Err(unregistered(summary).seen("node", node))
}

/// Whether the API server of this host knows the node; `None` where another host's is asked.
pub(crate) async fn registered_here<H: Files + Probes>(
    context: &Context<'_, H>,
    node: &str,
    kubeconfig: &str,
) -> Option<bool> {
    let access = access_by(context.host, kubeconfig).await?;
    let is_here = access.server.starts_with("https://127.0.0.1");
    if !is_here {
        return None;
    }
    let looked = context.host.look_node(&access, node).await;
    Some(matches!(looked, Ok(Some(_))))
}

/// Looks at which configuration of the pod network counts, and returns what there is to warn of; while it is not the network's own, at who is late with it.
pub(crate) async fn pod_network<H: Files + Units + Probes>(
    context: &Context<'_, H>,
    directory: &str,
    word: &str,
) -> Result<Option<Fault>, Fault> {
    let fault = match judge_network(context, directory, word).await {
        Ok(doubt) => return Ok(doubt),
        Err(fault) => fault,
    };
    let network = PodNetwork { word, directory };
    // A file that is in the way is there whatever the pods do.
    if fault.code != Code::ReadyCniMissing {
        return Err(fault);
    }
    Err(match bringer(word) {
        CniProvider::Unknown => fault,
        CniProvider::Pods(names) => match pods(context, names).await {
            Ok(seen) => network.with_pods(fault, &seen, &journal(context).await),
            Err(_) => fault,
        },
        CniProvider::Runtime => network.with_range(fault, own_node(context).await.as_ref()),
    })
}

/// Looks at which configuration of the pod network counts, and at nothing else.
pub(crate) async fn judge_network<H: Files>(
    context: &Context<'_, H>,
    directory: &str,
    word: &str,
) -> Result<Option<Fault>, Fault> {
    let network = PodNetwork { word, directory };
    let listed = context.host.list_directory(directory).await;
    let names =
        listed.map_err(|error| to_fault(Operation::UseFile, error).seen("path", directory))?;
    let text = match network.winner(&names) {
        Some(winner) => text(context, &format!("{directory}/{winner}")).await,
        None => String::new(),
    };
    network.judge(&names, &text)?;
    Ok(network.doubt(&names))
}

/// The node's object, where the API server tells it.
async fn own_node<H: Files + Probes>(
    context: &Context<'_, H>,
) -> Option<quake_model::facts::NodeObject> {
    let spec = context.know(crate::boot::facts::BootFacts::spec).ok()?;
    let name = spec.kubelet.flag("hostname-override")?;
    let access = access_by(context.host, &spec.kubelet.kubeconfig_path).await?;
    context.host.look_node(&access, name).await.ok()?
}

async fn pods<H: Probes>(context: &Context<'_, H>, names: &[&str]) -> Result<PodsSeen, Fault> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let looked = context.host.look_pods(&names).await;
    looked.map_err(|error| {
        let fault = error.into_fault(Code::ReadyPodFailing);
        fault.seen("pods", names.join(", "))
    })
}

/// The last lines of kubelet's journal; none where there is no reader.
async fn journal<H: Units>(context: &Context<'_, H>) -> Vec<String> {
    let read = context.host.read_journal(KUBELET, LINES).await;
    read.unwrap_or_default()
}

async fn text<H: Files>(context: &Context<'_, H>, path: &str) -> String {
    let looked = context.host.look_file(path, CONFIGURATION_BYTES).await;
    let contents = looked.ok().flatten().and_then(|found| found.contents);
    String::from_utf8_lossy(&contents.unwrap_or_default()).into_owned()
}
