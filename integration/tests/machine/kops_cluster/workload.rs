//! What the cluster is for: pods on two nodes that reach each other and a Service.

use super::members::{KUBECTL, Members};
use quake_integration::machine::{Container, MachineBackend, WORKLOAD};

const WEB: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: TOLERATIONS
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: web}}
      containers:
      - name: web
        image: IMAGE
        command: ["/bin/sh", "-c", "hostname > /tmp/index.html; exec httpd -f -p 8080 -h /tmp"]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
"#;

/// Which nodes the pods may run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pods {
    OnWorkers,
    /// On a control plane, too.
    Anywhere,
}

/// Asks by HTTP from within a pod; what is answered has these words. A static busybox cannot look names up,
/// for which its wget asks the C library.
fn from_pod(pod: &str, place: &str, words: &str) -> String {
    let request = r"printf 'GET / HTTP/1.0\r\n\r\n'";
    format!(
        r#"{KUBECTL} exec {pod} -- /bin/sh -c "{request} | nc -w 5 {place}" 2>&1 | grep {words}"#
    )
}

fn reaches(machine: &Container, request: &str, what: &str) {
    let reached = machine.comes_true(request, 60);
    let last = machine.run(request, machine.second() * 10);
    assert!(reached, "{what} is reached by {request}: {last:?}");
}

/// A pod runs on each of two nodes, each reaches the other and the Service, and so do the workers.
pub(super) fn runs(members: &Members<'_>, pods_run: Pods) {
    let machine = &members.master().machine;
    let tolerations = match pods_run {
        Pods::OnWorkers => "[]",
        Pods::Anywhere => "[{operator: Exists}]",
    };
    let web = WEB
        .replace("IMAGE", WORKLOAD)
        .replace("TOLERATIONS", tolerations);
    machine.output(&format!("{KUBECTL} apply -f - <<'EOF'\n{web}EOF"));
    let rolled_out = format!("{KUBECTL} rollout status deployment/web --timeout=1s");
    let runs = machine.comes_true(&rolled_out, 180);
    assert!(
        runs,
        "{}",
        machine.output(&format!(
            "{KUBECTL} describe pods; {KUBECTL} get events -A | tail -n 30"
        ))
    );
    let fields = "{range .items[*]}{.metadata.name} {.spec.nodeName}{\"\\n\"}{end}";
    let listed = members.kubectl(&format!(
        "get pods -l app=web --field-selector=status.phase=Running -o jsonpath='{fields}'"
    ));
    let pods: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    assert_eq!(pods.len(), 2, "{listed}");
    assert_ne!(pods[0][1], pods[1][1], "they are on two nodes");
    let service = members.kubectl("get service web -o jsonpath='{.spec.clusterIP}'");
    for (own, other) in [(0, 1), (1, 0)] {
        let (pod, peer) = (pods[own][0], pods[other][0]);
        // A pod whose node was restarted gets another address.
        let address = format!("$({KUBECTL} get pod {peer} -o jsonpath='{{.status.podIP}}')");
        let request = from_pod(pod, &format!("{address} 8080"), peer);
        reaches(machine, &request, peer);
        let request = from_pod(pod, &format!("{service} 80"), "web-");
        reaches(machine, &request, "the Service");
    }
    for worker in &members.workers {
        let request = format!("curl -sf -m 5 http://{service}/ | grep -q web-");
        assert!(
            worker.machine.comes_true(&request, 30),
            "a worker reaches the Service"
        );
    }
    members.note("a Deployment runs on two nodes, and its pods reach each other and the Service");
}
