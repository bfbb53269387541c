//! What the outside is told once a boot has ended.

use super::boot_history::failures_before;
use super::running::Run;
use quake_engine::{Emitter, Signalled, Stop, Verdict, report_boot, signal_boot};
use quake_model::digest::{Algorithm, Digest};
use quake_model::signal::SignalConfig;
use std::io;
use std::time::Duration;

/// This process's own binary, even where its file was replaced meanwhile.
const OWN_BINARY: &str = "/proc/self/exe";

/// How long the API server may take that a node's own boot did not wait for: it may come up after its first workers.
const API_SERVER_DEADLINE: Duration = Duration::from_secs(600);

/// How long it may take where nobody stays to wait for it.
const PASSING_DEADLINE: Duration = Duration::from_secs(10);

/// Tells the outside how the boot ended, as far as it was asked to. The report is first: what follows may take the machine
/// away.
pub(super) async fn notify_ended(run: &Run, emitter: &Emitter, verdict: &Verdict, stop: Stop) {
    if run.report {
        let digest = own_digest().await.map(|digest| digest.to_string());
        let digest = digest.as_deref();
        // Boxed, as what it holds is nested too deeply for the compiler to lay out within the whole command.
        Box::pin(report_boot(
            &run.host,
            emitter,
            &run.request,
            verdict,
            digest,
        ))
        .await;
    }
    let config = SignalConfig {
        node_event: run.signals.node_event && !stays(run, emitter),
        ..run.signals.clone()
    };
    signal(run, emitter, &config, PASSING_DEADLINE, stop).await;
}

/// Leaves the event of a node that is ready, while the agent stays with it.
pub(super) async fn notify_api_server(run: &Run, emitter: &Emitter, stop: Stop) {
    let config = SignalConfig {
        node_event: run.signals.node_event,
        ..SignalConfig::default()
    };
    signal(run, emitter, &config, API_SERVER_DEADLINE, stop).await;
}

fn stays(run: &Run, emitter: &Emitter) -> bool {
    emitter.record().is_ready() && !run.request.exit_when_ready
}

async fn signal(
    run: &Run,
    emitter: &Emitter,
    config: &SignalConfig,
    deadline: Duration,
    stop: Stop,
) {
    if *config == SignalConfig::default() {
        return;
    }
    let signalled = Signalled {
        config,
        earlier: &failures_before(&run.root, &run.request.boot),
        event_deadline: deadline,
    };
    // Boxed for the same reason as the report.
    Box::pin(signal_boot(&run.host, emitter, signalled, stop)).await;
}

/// Digest over this binary; `None` where it cannot be read, which is no reason to tell nothing.
async fn own_digest() -> Option<Digest> {
    let hashed = tokio::task::spawn_blocking(|| digest_of(OWN_BINARY)).await;
    hashed.ok()?.ok()
}

fn digest_of(path: &str) -> io::Result<Digest> {
    use sha2::Digest as _;
    let mut hasher = sha2::Sha256::new();
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = io::Read::read(&mut file, &mut buffer)?;
        if length == 0 {
            return Ok(Digest::from_bytes(Algorithm::Sha256, &hasher.finalize()));
        }
        hasher.update(&buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_whole_file() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("binary");
        // Longer than what is read at once.
        std::fs::write(&path, vec![b'a'; 200_000]).expect("the directory is ours");
        let digest = digest_of(path.to_str().expect("a plain name"));
        use sha2::Digest as _;
        let whole = sha2::Sha256::digest(vec![b'a'; 200_000]);
        let whole = Digest::from_bytes(Algorithm::Sha256, &whole);
        assert_eq!(digest.ok(), Some(whole));
    }
}
