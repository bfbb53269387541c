//! A fetch that is dropped at any moment: nothing torn is under a final name, and the next fetch ends well.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// At how many moments each kind of asset is given up.
const MOMENTS: usize = 24;

/// Fetches `asset`, and gives up after this many reports; whether it had ended before.
async fn give_up_after(store: &AssetStore, asset: &AssetSpec, reports: usize) -> bool {
    let (seen, reached) = (AtomicUsize::new(0), Notify::new());
    let report = |_: Arriving<'_>| {
        if seen.fetch_add(1, Ordering::Relaxed) >= reports {
            reached.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = reached.notified() => false,
        fetched = store.fetch_asset(asset, &report) => fetched.is_ok(),
    }
}

#[test]
fn a_fetch_dropped_at_any_moment_leaves_nothing_torn_and_the_next_one_ends_well() {
    let member: Vec<u8> = (0..3_000_000_u32).map(|it| (it * 7 % 251) as u8).collect();
    let packed = archive(&[("bin/bridge", &member), ("bin/dhcp", b"dh")]);
    let mut ended_early = 0;
    for (bytes, is_archive) in [(member.clone(), false), (packed, true)] {
        for moment in 0..MOMENTS {
            let (fixture, runtime) = (Fixture::new(), Runtime::new().expect("threads"));
            let served = bytes.clone();
            let server = runtime.block_on(Server::start(move |_| Reply::bytes(200, &served)));
            let asset = if is_archive {
                archived(&bytes, vec![server.url("/a")])
            } else {
                plain(&bytes, vec![server.url("/a")])
            };
            let store = fixture.store(AssetSource::Fetch);
            let ended = runtime.block_on(give_up_after(&store, &asset, moment));
            ended_early += usize::from(!ended);
            for key in runtime.block_on(store.keys()).expect("ours") {
                let state = runtime.block_on(store.prove(&key)).expect("ours");
                assert_eq!(state, EntryState::Proven, "given up after {moment}");
            }
            runtime
                .block_on(fetch(&store, &asset))
                .expect("the mirror is well");
            let state = runtime.block_on(store.prove(&key(&asset)));
            assert_eq!(state, Ok(EntryState::Proven), "given up after {moment}");
            drop(store);
            // Ending the runtime waits for the writers' threads.
            drop((server, runtime));
            assert_eq!(fixture.staged(), 0, "given up after {moment}");
        }
    }
    assert!(ended_early > MOMENTS, "only {ended_early} were given up");
}
