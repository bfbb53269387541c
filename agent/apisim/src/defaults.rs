//! What the server puts into objects where nothing is said (`pkg/apis/*/v1/defaults.go`, 1.35): of the kinds of add-ons, and
//! as far as whoever compares what it asked for with what is there will meet it. Nobody holds these fields.

use crate::kinds::Kind;
use serde_json::{Map, Value, json};

pub(crate) fn fill(kind: &Kind, object: &mut Value, is_new: bool) {
    if kind.custom {
        return;
    }
    match kind.kind.as_str() {
        "Namespace" => namespace(object, is_new),
        "Deployment" => deployment(object, is_new),
        "DaemonSet" => daemon_set(object, is_new),
        "Pod" => {
            pod(below(object, "spec"));
            first_status(object, is_new, json!({ "phase": "Pending" }));
        }
        "Service" => service(object, is_new),
        "Secret" => set(object, "type", json!("Opaque")),
        "StorageClass" => {
            set(object, "reclaimPolicy", json!("Delete"));
            set(object, "volumeBindingMode", json!("Immediate"));
        }
        "CSIDriver" => {
            let spec = below(object, "spec");
            put(spec, "attachRequired", json!(true));
            put(spec, "podInfoOnMount", json!(false));
            put(spec, "storageCapacity", json!(false));
            put(spec, "fsGroupPolicy", json!("ReadWriteOnceWithFSType"));
            put(spec, "requiresRepublish", json!(false));
            put(spec, "volumeLifecycleModes", json!(["Persistent"]));
        }
        "ClusterRoleBinding" | "RoleBinding" => {
            let group = json!("rbac.authorization.k8s.io");
            put(below(object, "roleRef"), "apiGroup", group.clone());
            let subjects = object["subjects"].as_array_mut().into_iter().flatten();
            for subject in subjects.filter_map(Value::as_object_mut) {
                if subject
                    .get("kind")
                    .is_some_and(|kind| kind != "ServiceAccount")
                {
                    put(subject, "apiGroup", group.clone());
                }
            }
        }
        _ => {}
    }
}

fn namespace(object: &mut Value, is_new: bool) {
    set(object, "spec", json!({ "finalizers": ["kubernetes"] }));
    first_status(object, is_new, json!({ "phase": "Active" }));
    let name = object["metadata"]["name"].clone();
    let labels = below(&mut object["metadata"], "labels");
    labels.insert("kubernetes.io/metadata.name".to_owned(), name);
}

fn deployment(object: &mut Value, is_new: bool) {
    let spec = below(object, "spec");
    put(spec, "replicas", json!(1));
    put(
        spec,
        "strategy",
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": "25%" } }),
    );
    put(spec, "revisionHistoryLimit", json!(10));
    put(spec, "progressDeadlineSeconds", json!(600));
    template(spec);
    first_status(object, is_new, json!({}));
}

fn daemon_set(object: &mut Value, is_new: bool) {
    let spec = below(object, "spec");
    put(
        spec,
        "updateStrategy",
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1, "maxSurge": 0 } }),
    );
    put(spec, "revisionHistoryLimit", json!(10));
    template(spec);
    let none = json!({
        "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
    });
    first_status(object, is_new, none);
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        put(object, name, value);
    }
}

fn put(object: &mut Map<String, Value>, name: &str, value: Value) {
    object.entry(name.to_owned()).or_insert(value);
}

/// The map of this name, made where there is none.
fn below<'o>(object: &'o mut Value, name: &str) -> &'o mut Map<String, Value> {
    if !object[name].is_object() {
        object[name] = json!({});
    }
    object[name].as_object_mut().expect("it was just made one")
}

fn first_status(object: &mut Value, is_new: bool, status: Value) {
    if is_new && object.get("status").is_none() {
        object["status"] = status;
    }
}

fn template(spec: &mut Map<String, Value>) {
    let template = spec.entry("template").or_insert_with(|| json!({}));
    if template.is_object() {
        pod(below(template, "spec"));
    }
}

fn pod(spec: &mut Map<String, Value>) {
    put(spec, "restartPolicy", json!("Always"));
    put(spec, "dnsPolicy", json!("ClusterFirst"));
    put(spec, "terminationGracePeriodSeconds", json!(30));
    put(spec, "securityContext", json!({}));
    put(spec, "schedulerName", json!("default-scheduler"));
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        put(spec, "serviceAccount", account);
    }
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for found in containers.into_iter().flatten() {
            container(found);
        }
    }
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten() {
        for (source, mode) in [("configMap", 420), ("secret", 420), ("projected", 420)] {
            if volume[source].is_object() {
                put(below(volume, source), "defaultMode", json!(mode));
            }
        }
        if volume["hostPath"].is_object() {
            put(below(volume, "hostPath"), "type", json!(""));
        }
    }
}

fn container(found: &mut Value) {
    let image = found["image"].as_str().unwrap_or_default();
    let is_latest = image.ends_with(":latest")
        || !image
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .contains([':', '@']);
    let pull = if is_latest { "Always" } else { "IfNotPresent" };
    let Some(container) = found.as_object_mut() else {
        return;
    };
    put(container, "imagePullPolicy", json!(pull));
    put(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    put(container, "terminationMessagePolicy", json!("File"));
    put(container, "resources", json!({}));
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        set(port, "protocol", json!("TCP"));
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get_mut(probe) else {
            continue;
        };
        for (name, value) in [
            ("timeoutSeconds", 1),
            ("periodSeconds", 10),
            ("successThreshold", 1),
            ("failureThreshold", 3),
        ] {
            set(probe, name, json!(value));
        }
        if probe["httpGet"].is_object() {
            put(below(probe, "httpGet"), "scheme", json!("HTTP"));
            put(below(probe, "httpGet"), "path", json!("/"));
        }
    }
    let env = container.get_mut("env").and_then(Value::as_array_mut);
    for variable in env.into_iter().flatten() {
        if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef") {
            set(field, "apiVersion", json!("v1"));
        }
    }
}

fn service(object: &mut Value, is_new: bool) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let last = u32::from_str_radix(
        uid.get(uid.len().saturating_sub(4)..).unwrap_or_default(),
        16,
    );
    let last = last.unwrap_or_default();
    let spec = below(object, "spec");
    put(spec, "type", json!("ClusterIP"));
    put(spec, "sessionAffinity", json!("None"));
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        set(port, "protocol", json!("TCP"));
        let target = port["port"].clone();
        set(port, "targetPort", target);
    }
    if spec.get("type") != Some(&json!("ExternalName")) {
        put(
            spec,
            "clusterIP",
            json!(format!("100.64.{}.{}", last / 256, last % 256)),
        );
        let address = spec.get("clusterIP").cloned().unwrap_or_default();
        put(spec, "clusterIPs", json!([address]));
        put(spec, "ipFamilies", json!(["IPv4"]));
        put(spec, "ipFamilyPolicy", json!("SingleStack"));
        put(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    first_status(object, is_new, json!({ "loadBalancer": {} }));
}
