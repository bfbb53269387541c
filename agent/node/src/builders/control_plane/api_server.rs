//! kube-apiserver's pod, on the control plane and on nodes that run an API server alone.

use super::static_pod::{component_pod, pod_and_log, read_public_ca_bundle};
use super::{api_server_flags, sidecar};
use crate::builders::Context;
use crate::builders::legacy::StaticPod;
use crate::config::current::Section;
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;
use quake_model::item::Item;
use serde_json::{Value, json};

const NAME: &str = "kube-apiserver";

/// Where kube-apiserver is told of a webhook that knows who somebody is.
pub(in crate::builders) const AUTHENTICATION: &str = "/etc/kubernetes/authn.config";

/// The port of the sidecar that asks kube-apiserver for its health with a certificate, as kubelet cannot.
const HEALTHCHECK_PORT: i64 = 3990;

/// The port that kops' load balancers and kubeconfigs use.
const SECURE_PORT: i64 = 443;

/// kube-apiserver's manifest and its log.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.has_api_server() {
        return Ok(Vec::new());
    }
    let config = context.config.api_server.as_ref();
    let config = config.ok_or_else(|| context.missing("APIServerConfig"))?;
    let path = "APIServerConfig.KubeAPIServer";
    let section = config.section("KubeAPIServer");
    let section = section.ok_or_else(|| context.missing(path))?;

    let (mut pod, _) = component_pod(context, NAME, &section, path, "150m")?;
    let port = section.integer("securePort").unwrap_or(SECURE_PORT);
    let mut flags = api_server_flags::flags(context, config, &section);
    flags.set_default("secure-port", port.to_string());
    // kops' sorting would put them before the issuer that signs, which must be the first.
    let issuers = section.texts("additionalServiceAccountIssuers").into_iter();
    let issuers = issuers.map(|issuer| format!("--service-account-issuer={issuer}"));
    pod.annotations = annotations(context, config);
    let variables = section.node().items_of("env").iter();
    pod.environment.splice(0..0, variables.map(Yaml::to_json));
    let sidecar = sidecar::read(context)?;
    pod.probes = probes(sidecar.is_none().then_some(port));
    pod.sidecar = sidecar.unwrap_or_default();
    pod.ports = vec![("https", port)];
    mount(&mut pod, context, &section);
    Ok(pod_and_log(context, pod, &flags, issuers.collect()))
}

fn mount(pod: &mut StaticPod, context: &Context<'_>, section: &Section) {
    pod.write_log();
    read_public_ca_bundle(pod, context);
    pod.read("kubernetesca", &context.srv("ca.crt"));
    pod.read("srvkapi", &context.srv(NAME));
    pod.read("srvsshproxy", "/srv/sshproxy");
    // The log is rotated by renaming, which needs its directory and not just the file; `-` is standard output.
    let log = section.text("auditLogPath").filter(|path| *path != "-");
    if let Some(directory) = log.and_then(directory) {
        pod.write("auditlogpathdir", directory);
    }
    // The policy's neighbour is the configuration of the webhook that the log is sent to.
    if let Some(directory) = section.text("auditPolicyFile").and_then(directory) {
        pod.read("auditconfigdir", directory);
    }
    if context.authenticates_by("aws") || context.authenticates_by("kopeio") {
        pod.read("authn-config", AUTHENTICATION);
    }
}

fn directory(path: &str) -> Option<&str> {
    let (directory, _) = path.rsplit_once('/')?;
    Some(directory).filter(|directory| !directory.is_empty())
}

/// The names under which dns-controller publishes the node's addresses.
fn annotations(context: &Context<'_>, config: &Section) -> Vec<(&'static str, String)> {
    let mut annotations = vec![("kubectl.kubernetes.io/default-container", NAME.to_owned())];
    if context.config.has_no_dns() {
        return annotations;
    }
    let api = config.section("API");
    let api = api.as_ref();
    let balancer = api.and_then(|api| api.section("loadBalancer"));
    if !balancer.is_some_and(|balancer| balancer.is_set("useForInternalAPI")) {
        let name = context.api_internal_name();
        annotations.push(("dns.alpha.kubernetes.io/internal", name));
    }
    let published = api.filter(|api| api.has("dns"));
    if let Some(name) = published.and_then(|api| api.text("publicName")) {
        annotations.push(("dns.alpha.kubernetes.io/external", name.to_owned()));
    }
    annotations
}

/// The probes: of the sidecar, or of kube-apiserver itself at `port`.
fn probes(port: Option<i64>) -> Vec<(&'static str, Value)> {
    let get = |path: &str| match port {
        None => json!({"host": "127.0.0.1", "path": path, "port": HEALTHCHECK_PORT}),
        Some(port) => {
            json!({"host": "127.0.0.1", "path": path, "port": port, "scheme": "HTTPS"})
        }
    };
    let late = |timeout: u32, failures: u32| {
        json!({
            "httpGet": get("/livez"),
            "initialDelaySeconds": 10,
            "timeoutSeconds": timeout,
            "failureThreshold": failures,
            "periodSeconds": 10,
        })
    };
    let readiness = json!({
        "httpGet": get("/healthz"),
        "timeoutSeconds": 15,
        "failureThreshold": 3,
        "periodSeconds": 1,
    });
    vec![
        ("livenessProbe", late(15, 8)),
        ("readinessProbe", readiness),
        // etcd may have to be found, mounted and elected first: five minutes, as kops gives it.
        ("startupProbe", late(300, 30)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::control_plane::static_pod::tests::{arguments, pod};
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;

    fn sample(api_server: &str, rest: &str) -> Sample {
        let keys = format!(
            "APIServerConfig:\n  KubeAPIServer: {{image: i, securePort: 443, serviceAccountIssuer: \"https://a\"{api_server}}}\n{rest}"
        );
        Sample::control_plane(&keys)
    }

    fn with_healthcheck(manifest: &str) -> Sample {
        let keys = "staticManifests: [{key: kube-apiserver-healthcheck, path: manifests/h.yaml}]\n";
        let mut sample = sample("", keys);
        let location = "s3://bucket/c.example.com/manifests/h.yaml".parse();
        let location = location.expect("a literal location");
        sample.objects.manifests.insert(location, manifest.into());
        sample
    }

    /// Where the container's host path called `name` is, and whether it is only read.
    fn mounted<'a>(pod: &'a Value, name: &str) -> Option<(&'a str, bool)> {
        let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array()?;
        let mount = mounts.iter().find(|mount| mount["name"] == name)?;
        Some((mount["mountPath"].as_str()?, mount["readOnly"] == true))
    }

    #[test]
    fn a_sidecar_that_is_not_there_or_has_no_container_stops_the_boot() {
        for (sample, wanted) in [
            (with_healthcheck("spec: {}"), Code::ConfigObjectMalformed),
            (with_healthcheck("a: ["), Code::ConfigYamlSyntax),
        ] {
            let fault = sample.try_items(build).expect_err("nothing answers probes");
            assert_eq!(fault.code, wanted);
        }
        let mut sample = with_healthcheck("");
        sample.objects.manifests.clear();
        let fault = sample.try_items(build).expect_err("it was not read");
        assert_eq!(fault.code, Code::ConfigObjectMissing);
    }

    #[test]
    fn audit_logs_are_written_to_a_directory_and_policies_are_read() {
        let keys = ", auditLogPath: /var/log/audit/a.log, auditPolicyFile: /etc/audit/p.yaml";
        let found = pod(&sample(keys, ""), build, NAME);
        assert_eq!(
            mounted(&found, "auditlogpathdir"),
            Some(("/var/log/audit", false))
        );
        assert_eq!(
            mounted(&found, "auditconfigdir"),
            Some(("/etc/audit", true))
        );
        let keys = ", auditLogPath: \"-\", auditPolicyFile: /srv/kubernetes/kube-apiserver/p.yaml";
        let found = pod(&sample(keys, ""), build, NAME);
        assert_eq!(mounted(&found, "auditlogpathdir"), None);
        assert_eq!(mounted(&found, "auditconfigdir"), None);
    }

    #[test]
    fn the_webhook_of_an_authenticator_is_mounted_where_there_is_one() {
        for (authentication, wanted) in [
            ("{aws: {}}", Some((AUTHENTICATION, true))),
            ("{kopeio: {}}", Some((AUTHENTICATION, true))),
            ("{oidc: {clientID: c}}", None),
        ] {
            let rest = format!("  Authentication: {authentication}\n");
            let found = pod(&sample("", &rest), build, NAME);
            assert_eq!(mounted(&found, "authn-config"), wanted, "{authentication}");
        }
    }

    #[test]
    fn only_names_that_dns_controller_is_to_publish_are_annotated() {
        const INTERNAL: &str = "dns.alpha.kubernetes.io/internal";
        const EXTERNAL: &str = "dns.alpha.kubernetes.io/external";
        let balanced = "{publicName: a, loadBalancer: {useForInternalAPI: true}}";
        for (api, rest, internal, external) in [
            ("{dns: {}, publicName: a}", "", true, true),
            ("{publicName: a}", "", true, false),
            ("{loadBalancer: {class: Network}}", "", true, false),
            (balanced, "", false, false),
            (
                "{dns: {}, publicName: a}",
                "usesNoneDNS: true\n",
                false,
                false,
            ),
        ] {
            let rest = format!("  API: {api}\n{rest}");
            let found = pod(&sample("", &rest), build, NAME);
            let annotations = &found["metadata"]["annotations"];
            assert_eq!(annotations[INTERNAL] != Value::Null, internal, "{rest}");
            assert_eq!(annotations[EXTERNAL] != Value::Null, external, "{rest}");
        }
    }

    #[test]
    fn variables_of_the_configuration_come_before_those_of_the_proxy() {
        let keys = ", env: [{name: A, value: \"1\"}]";
        let proxy = "Networking: {egressProxy: {httpProxy: {host: p}}}\n";
        let found = pod(&sample(keys, proxy), build, NAME);
        let variables = &found["spec"]["containers"][0]["env"];
        assert_eq!(variables[0], json!({"name": "A", "value": "1"}));
        assert_eq!(
            variables[1],
            json!({"name": "http_proxy", "value": "http://p"})
        );
    }

    #[test]
    fn nothing_is_made_below_a_read_only_usr() {
        use crate::distribution::Project;
        let flatcar = sample("", "").on(Project::Flatcar, (0, 0));
        let found = pod(&flatcar, build, NAME);
        let volumes = found["spec"]["volumes"].as_array().expect("volumes").iter();
        let below: Vec<_> = volumes
            .filter_map(|volume| volume["hostPath"]["path"].as_str())
            .filter(|path| path.starts_with("/usr/"))
            .collect();
        assert_eq!(below, ["/usr/share/ca-certificates"]);
    }

    #[test]
    fn the_issuer_that_signs_comes_before_those_that_are_only_accepted() {
        let keys = ", additionalServiceAccountIssuers: [\"https://0\"], storageBackend: etcd3";
        let found = pod(&sample(keys, ""), build, NAME);
        let words = arguments(&found);
        let place = |word: &str| words.iter().position(|other| *other == word);
        let (signs, accepted) = (
            place("--service-account-issuer=https://a"),
            place("--service-account-issuer=https://0"),
        );
        assert!(signs.is_some() && signs < accepted, "{words:?}");
        assert_eq!(accepted, Some(words.len() - 1));
    }

    #[test]
    fn the_sidecar_is_asked_where_there_is_one_and_else_the_api_server_itself() {
        let alone = pod(&sample("", ""), build, NAME);
        let container = &alone["spec"]["containers"][0];
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let get = &container[probe]["httpGet"];
            assert_eq!(
                (&get["port"], &get["scheme"]),
                (&json!(443), &json!("HTTPS"))
            );
        }
        let manifest = "spec:\n  containers: [{name: healthcheck, image: h}]\n  volumes: [{name: v, emptyDir: {}}]\n";
        let beside = pod(&with_healthcheck(manifest), build, NAME);
        let containers = &beside["spec"]["containers"];
        assert_eq!(containers[0]["livenessProbe"]["httpGet"]["port"], 3990);
        assert_eq!(containers[1], json!({"name": "healthcheck", "image": "h"}));
        let volumes = beside["spec"]["volumes"].as_array().expect("volumes");
        assert_eq!(volumes.last(), Some(&json!({"name": "v", "emptyDir": {}})));
    }
}
