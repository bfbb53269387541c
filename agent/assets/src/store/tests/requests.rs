//! How many requests files take, by the speed of their server.

use super::transport::{piece, ranges, varied};
use super::*;

/// How often a count is made that depends on the speed of this machine: another program may have its processors for a
/// while.
const TRIES: usize = 3;

#[tokio::test]
async fn a_fast_mirror_is_asked_for_large_pieces_and_a_slow_one_for_small_ones() {
    for (bytes_per_second, mebibytes, largest) in [
        (None, 150, 8),
        (Some(48 << 20), 100, 8),
        (Some(1 << 20), 6, 1),
    ] {
        let bytes = varied((mebibytes << 20) + 77);
        // Before the speed is known one for each connection, and at the end what is left is shared out among them.
        let most = 1 + 6 + mebibytes / largest + 18;
        let mut sizes = sizes_of_pieces(&bytes, bytes_per_second).await;
        for _ in 1..TRIES {
            if sizes.len() > most {
                sizes = sizes_of_pieces(&bytes, bytes_per_second).await;
            }
        }
        assert!(sizes.len() <= most, "{} of {most}: {sizes:?}", sizes.len());
        assert!(sizes.iter().all(|size| *size <= largest << 20), "{sizes:?}");
    }
}

/// Fetches a file from a server of this speed, and says how many bytes each request asked for.
async fn sizes_of_pieces(bytes: &[u8], bytes_per_second: Option<usize>) -> Vec<usize> {
    let served = bytes.to_vec();
    let server = Server::start(move |seen| {
        let reply = piece(seen, &served, "\"1\"");
        match bytes_per_second {
            Some(rate) => reply.paced(rate),
            None => reply,
        }
    })
    .await;
    let asset = plain(bytes, vec![server.url("/images.tar")]);
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let fetched = fetch(&store, &asset).await.expect("the mirror is well");
    assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
    let requested = ranges(&server);
    assert_eq!(fetched.requests, requested.len() as u64);
    let sizes = requested.iter().flatten().map(|(from, until)| {
        let until = until.expect("each has an end").min(bytes.len());
        until - from
    });
    let sizes: Vec<usize> = sizes.collect();
    assert_eq!(sizes.iter().sum::<usize>(), bytes.len(), "no byte twice");
    let kept = fixture.files();
    assert!(
        kept.iter().all(|path| !path.contains("staging/")),
        "{kept:?}"
    );
    sizes
}

#[tokio::test]
async fn the_files_of_a_node_take_one_request_each_and_one_for_each_8_mib() {
    let mebibytes = [67, 56, 45, 12, 8, 4];
    let files = mebibytes.map(|mebibytes| varied((mebibytes << 20) + 77));
    // Before the speed is known, and at the end, pieces are smaller.
    let ideal: usize = mebibytes.iter().map(|mebibytes| 1 + mebibytes / 8).sum();
    let most = ideal as u64 + 12;
    let mut requests = requests_for(&files).await;
    for _ in 1..TRIES {
        if requests > most {
            requests = requests_for(&files).await;
        }
    }
    assert!(requests <= most, "{requests} of {most}");
}

/// Fetches files together, and says how many requests that took.
async fn requests_for(files: &[Vec<u8>]) -> u64 {
    let served = files.to_vec();
    let server = Server::start(move |seen| {
        let number = seen.path.trim_start_matches('/').parse::<usize>();
        let bytes = &served[number.expect("a number is asked for")];
        piece(seen, bytes, "\"1\"")
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let assets = files.iter().enumerate();
    let assets: Vec<_> = assets
        .map(|(number, bytes)| plain(bytes, vec![server.url(&format!("/{number}"))]))
        .collect();
    let fetched = futures_util::future::join_all(assets.iter().map(|asset| fetch(&store, asset)));
    let fetched = fetched.await.into_iter();
    let requests = fetched.map(|fetched| fetched.expect("the mirror is well").requests);
    let requests = requests.sum();
    assert_eq!(requests, server.seen().len() as u64);
    requests
}
