//! How soon after this machine's own things are as they must be the node is ready.

use crate::common::{machine, request, run};
use crate::kops::{conformance, node};
use quake_engine::Request;
use quake_model::ports::{Condition, Meter};
use quake_testkit::{Script, SimHost, Timing};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Boots, has `come` done `after` the start, and returns how long after that the node is ready.
async fn ready_after(
    host: &Arc<SimHost>,
    request: &Request,
    after: Duration,
    come: impl Fn(&SimHost),
) -> Duration {
    let comes = async {
        passes(after).await;
        come(host);
        Instant::now()
    };
    let boots = async {
        let (verdict, _) = run(host, request).await;
        assert_eq!(verdict.fault, None, "{after:?}");
        Instant::now()
    };
    let (came, ready) = tokio::join!(comes, boots);
    assert!(ready >= came, "{after:?}: it was ready before");
    ready - came
}

#[expect(
    clippy::disallowed_methods,
    reason = "the world changes while the agent waits; the clock is paused"
)]
async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Moments that are spread over a wait, its beginning and its late part.
fn moments() -> impl Iterator<Item = Duration> {
    (0..6_u64).map(|seed| Duration::from_millis(5_000 + seed * seed * 3_977))
}

/// A node whose component does not answer its health check until `moment`; how long after that it is ready.
async fn ready_after_answer(root: &Path, group: &str, url: &str, moment: Duration) -> Duration {
    let (host, request) = node(root, "minimal-1.35", group);
    host.silence(url);
    ready_after(&host, &request, moment, |host| host.answer_again(url)).await
}

const AT_ONCE: Duration = Duration::from_millis(300);

#[tokio::test(start_paused = true)]
async fn a_worker_is_ready_at_most_300_ms_after_its_kubelet_answers() {
    let Some(root) = conformance() else { return };
    let kubelet = "http://127.0.0.1:10248/healthz";
    for moment in moments() {
        let late = ready_after_answer(&root, "nodes", kubelet, moment).await;
        assert!(late <= AT_ONCE, "{moment:?}: {late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_is_ready_at_most_300_ms_after_its_api_server_answers() {
    let Some(root) = conformance() else { return };
    let api_server = "http://127.0.0.1:3990/livez";
    for moment in moments() {
        let late = ready_after_answer(&root, "master-us-test-1a", api_server, moment).await;
        assert!(late <= AT_ONCE, "{moment:?}: {late:?}");
    }
}

/// What the runtime makes of its template, as soon as kubelet says which range the pods have.
const NETWORK: &str = "/etc/cni/net.d/10-containerd-net.conflist";

fn without_network(root: &Path) -> (Arc<SimHost>, Request) {
    let (host, request) = node(root, "minimal-1.35", "nodes");
    host.remove_file(NETWORK);
    (host, request)
}

#[tokio::test(start_paused = true)]
async fn a_node_is_ready_at_the_moment_its_pod_network_is_configured() {
    let Some(root) = conformance() else { return };
    for moment in moments() {
        let (host, request) = without_network(&root);
        let late = ready_after(&host, &request, moment, |host| host.put_file(NETWORK, "{}")).await;
        assert!(late <= Duration::from_millis(10), "{moment:?}: {late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_cannot_be_watched_is_looked_at_all_the_same() {
    let Some(root) = conformance() else { return };
    for moment in moments() {
        let (host, request) = without_network(&root);
        let strike = crate::common::strike("watch_directory", 1..=9999, Condition::NoSpace);
        host.next_boot(Script::new(vec![strike]));
        let late = ready_after(&host, &request, moment, |host| host.put_file(NETWORK, "{}")).await;
        assert!(late <= Duration::from_millis(500), "{moment:?}: {late:?}");
    }
}

/// One look of each kind for each change, and one at its end: not one for each file that is written there.
#[tokio::test(start_paused = true)]
async fn a_program_that_writes_there_without_end_makes_few_looks() {
    let Some(root) = conformance() else { return };
    let (host, request) = without_network(&root);
    let before = {
        let (host, request) = without_network(&root);
        let last = |host: &SimHost| host.put_file(NETWORK, "{}");
        ready_after(&host, &request, Duration::from_secs(20), last).await;
        host.port_calls_of("list_directory")
    };
    let writes = async {
        for turn in 0..10_000_u32 {
            passes(Duration::from_millis(2)).await;
            host.put_file("/etc/cni/net.d/10-x.tmp", turn.to_string());
        }
        host.put_file(NETWORK, "{}");
    };
    let (_, (verdict, _)) = tokio::join!(writes, run(&host, &request));
    assert_eq!(verdict.fault, None);
    let more = host.port_calls_of("list_directory") - before;
    assert!(more <= 220, "{more} looks in 20 s");
}

const VOLUMES: [&str; 2] = ["vol-0aa", "vol-0bb"];

fn held_volumes() -> (Arc<SimHost>, Request) {
    let host = machine("control-plane", Timing::default());
    VOLUMES.iter().for_each(|volume| host.hold_device(volume));
    (Arc::new(host), request("control-plane"))
}

/// After the storage phase the units of this node, which have no health check, must stay up for two seconds.
#[tokio::test(start_paused = true)]
async fn a_device_is_taken_at_the_moment_another_program_is_done_with_it() {
    let (free, request) = held_volumes();
    VOLUMES.iter().for_each(|volume| free.free_device(volume));
    assert_eq!(run(&free, &request).await.0.fault, None);
    for moment in moments() {
        let (host, request) = held_volumes();
        let free_all = |host: &SimHost| {
            VOLUMES.iter().for_each(|volume| host.free_device(volume));
        };
        let late = ready_after(&host, &request, moment, free_all).await;
        let most = AT_ONCE + Duration::from_millis(2_010);
        assert!(late <= most, "{moment:?}: {late:?}");
        let ec2 = "ec2:DescribeVolumes";
        assert_eq!(host.calls().get(ec2), free.calls().get(ec2), "{moment:?}");
    }
}

/// A look costs a call, and a device may be late for minutes.
#[tokio::test(start_paused = true)]
async fn a_device_that_comes_late_is_waited_for_without_asking_ec2() {
    let calls = async |device_after| {
        let timing = Timing {
            device_after,
            ..Timing::default()
        };
        let host = Arc::new(machine("control-plane", timing));
        let (verdict, _) = run(&host, &request("control-plane")).await;
        assert_eq!(verdict.fault, None, "{device_after}");
        host.calls().values().sum::<u64>()
    };
    let (prompt, late) = (calls(0).await, calls(200).await);
    assert!(late <= prompt + 20, "{prompt} calls, and {late} if late");
}
