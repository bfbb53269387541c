//! Add-ons are looked after beside a boot, and let go of when it ends without a node.

use crate::addons::ACCESS;
use crate::addons_pruned::{MANIFEST, channel, is_noted};
use crate::common::{machine, request};
use quake_apisim::ApiServer;
use quake_engine::{Emitter, Request, StopHandle, boot, stop_signal};
use quake_model::fault::Code;
use quake_model::ports::Clock;
use quake_node::addon_mode::KUBECONFIG;
use quake_testkit::{SimHost, Timing};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The channel of the example cluster.
pub(crate) const OWN_CHANNEL: &str =
    "s3://quake-example-state/demo.quake.example/addons/bootstrap-channel.yaml";

fn holder(host: &SimHost) -> String {
    let lease = host.cluster(|server| {
        let lease = server.object("Lease", "kube-system", "quake-agent");
        lease.cloned().unwrap_or_default()
    });
    let lease: Value = lease.unwrap_or_default();
    let holder = lease["spec"]["holderIdentity"].as_str();
    holder.unwrap_or("nobody ever").to_owned()
}

/// A booting control plane whose components become healthy after so many probes.
pub(crate) fn booting(healthy_after: u32) -> Arc<SimHost> {
    let timing = Timing {
        healthy_after,
        ..Timing::default()
    };
    let host = machine("control-plane", timing).with_cluster(ApiServer::new("v1.15.12"));
    host.put_object(OWN_CHANNEL, channel(""));
    host.put_object(&OWN_CHANNEL.replace("bootstrap-channel", "one"), MANIFEST);
    host.put_file(KUBECONFIG, ACCESS);
    Arc::new(host)
}

/// Stops a boot once its agent holds the lease.
async fn stops(host: &SimHost, handle: StopHandle) {
    for _ in 0..600 {
        if is_noted(host) {
            break;
        }
        passes(Duration::from_secs(1)).await;
    }
    assert_eq!(
        holder(host),
        "i-0123456789abcdef0",
        "it acts during the boot"
    );
    handle.stop("the test is over");
}

#[expect(
    clippy::disallowed_methods,
    reason = "the world is looked at while the agent boots; the clock is paused"
)]
pub(crate) async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_is_stopped_or_fails_gives_the_lease_back() {
    let host = booting(u32::MAX);
    let clock = Arc::clone(&host);
    let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
    let (handle, stop) = stop_signal();
    let request = request("control-plane");
    let booting = boot(host.as_ref(), &emitter, &request, stop);
    let (verdict, ()) = tokio::join!(booting, stops(&host, handle));
    let code = verdict.fault.map(|fault| fault.code);
    assert_eq!(
        (code, holder(&host).as_str()),
        (Some(Code::BootInterrupted), "")
    );
    // The phase that waits for its components has a deadline.
    let (_handle, stop) = stop_signal();
    let failed = boot(host.as_ref(), &emitter, &request, stop).await;
    let code = failed.fault.map(|fault| fault.code);
    assert_eq!(
        (code, holder(&host).as_str()),
        (Some(Code::ReadyProbeFailing), "")
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_ready_keeps_the_lease_only_where_somebody_stays() {
    for (exit_when_ready, wanted) in [(false, "i-0123456789abcdef0"), (true, "")] {
        let host = booting(12);
        let clock = Arc::clone(&host);
        let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
        let (_handle, stop) = stop_signal();
        let request = Request {
            exit_when_ready,
            ..request("control-plane")
        };
        let verdict = boot(host.as_ref(), &emitter, &request, stop).await;
        assert_eq!(verdict.fault, None);
        assert!(emitter.record().is_ready());
        assert!(is_noted(&host), "it acted during the boot");
        assert_eq!(holder(&host), wanted, "it ends: {exit_when_ready}");
    }
}
