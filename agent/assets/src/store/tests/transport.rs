//! How bytes get here: in pieces, on from where they were cut off, past mirrors that stall or lie.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Bytes that no two pieces of share.
pub(super) fn varied(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words = length.div_ceil(8);
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| next().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// What a request asks for: first byte and, where it says so, the byte after the last.
fn range_of(seen: &Seen) -> Option<(usize, Option<usize>)> {
    let (from, until) = seen
        .header("range")?
        .strip_prefix("bytes=")?
        .split_once('-')?;
    let until = until.parse::<usize>().ok().map(|last| last + 1);
    Some((from.parse().ok()?, until))
}

/// Answers as a server that sends pieces does.
pub(super) fn piece(seen: &Seen, bytes: &[u8], tag: &str) -> Reply {
    let is_other = seen.header("if-range").is_some_and(|given| given != tag);
    let reply = match range_of(seen) {
        Some((from, until)) if from < bytes.len() && !is_other => {
            let until = until.unwrap_or(bytes.len()).min(bytes.len());
            let total = bytes.len();
            Reply::bytes(206, &bytes[from..until]).with(
                "content-range",
                &format!("bytes {from}-{}/{total}", until - 1),
            )
        }
        Some((_, _)) if !is_other => {
            Reply::text(416, "").with("content-range", &format!("bytes */{}", bytes.len()))
        }
        _ => Reply::bytes(200, bytes),
    };
    reply.with("etag", tag)
}

pub(super) fn ranges(server: &Server) -> Vec<Option<(usize, Option<usize>)>> {
    server.seen().iter().map(range_of).collect()
}

#[tokio::test]
async fn a_large_file_comes_in_pieces_and_a_small_one_by_one_request() {
    let large = varied((5 << 20) + 77);
    let served = large.clone();
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/small" => piece(seen, b"program", "\"1\""),
        _ => piece(seen, &served, "\"1\""),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let asset = plain(&large, vec![server.url("/large")]);
    fetch(&store, &asset).await.expect("the mirror is well");
    assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
    let mut requested: Vec<(usize, usize)> = ranges(&server)
        .into_iter()
        .map(|range| range.expect("each asks for a piece"))
        .map(|(from, until)| (from, until.expect("each has an end").min(large.len())))
        .collect();
    requested.sort_unstable();
    assert!(requested.len() > 4, "{requested:?}");
    let joined = requested.windows(2).all(|two| two[0].1 == two[1].0);
    assert!(
        joined && requested[0].0 == 0,
        "no byte twice: {requested:?}"
    );
    let small = plain(b"program", vec![server.url("/small")]);
    fetch(&store, &small).await.expect("the mirror is well");
    let lines = server.lines();
    let of_small = lines.iter().filter(|line| line.contains("small"));
    assert_eq!(of_small.count(), 1);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_goes_on_where_it_ended_for_archives_too() {
    let bytes = archive(&[("bin/bridge", &varied(3 << 20))]);
    for is_archive in [false, true] {
        let (served, cuts) = (bytes.clone(), AtomicUsize::new(0));
        let server = Server::start(move |seen| {
            let whole = piece(seen, &served, "\"1\"");
            match cuts.fetch_add(1, Ordering::Relaxed) {
                0 => whole.cut_in_half(),
                _ => whole,
            }
        })
        .await;
        let asset = if is_archive {
            archived(&bytes, vec![server.url("/cni.tgz")])
        } else {
            plain(&bytes, vec![server.url("/cni.tgz")])
        };
        let fixture = Fixture::new();
        let store = fixture.store(AssetSource::Fetch);
        let fetched = fetch(&store, &asset).await.expect("a cut heals");
        assert_eq!(fetched.failed_mirrors, Vec::<String>::new());
        assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
        let (_, first) = ranges(&server)[0].expect("a piece");
        let cut_at = first.expect("it has an end") / 2;
        let mut seen = server.seen().into_iter();
        let resumed = seen.find(|seen| range_of(seen).is_some_and(|(from, _)| from == cut_at));
        let resumed = resumed.expect("it goes on behind what came");
        assert_eq!(resumed.header("if-range"), Some("\"1\""));
    }
}

#[tokio::test]
async fn a_server_without_pieces_is_asked_again_for_the_whole_and_nothing_is_taken_twice() {
    let bytes = varied(1 << 20);
    let (served, requested) = (bytes.clone(), AtomicUsize::new(0));
    let server = Server::start(move |_| match requested.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::bytes(200, &served[..served.len() / 2]).declaring(served.len()),
        _ => Reply::bytes(200, &served),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let asset = plain(&bytes, vec![server.url("/kubelet")]);
    fetch(&store, &asset).await.expect("a cut heals");
    assert_eq!(server.lines().len(), 2);
}

#[tokio::test]
async fn what_a_killed_agent_got_is_not_fetched_again_unless_it_is_wrong() {
    let bytes = varied(4 << 20);
    let served = bytes.clone();
    let server = Server::start(move |seen| piece(seen, &served, "\"1\"")).await;
    let asset = plain(&bytes, vec![server.url("/kubelet")]);
    for is_wrong in [false, true] {
        let fixture = Fixture::new();
        let store = fixture.store(AssetSource::Fetch);
        let partial = store.layout.partial(&asset.digest);
        std::fs::create_dir_all(partial.parent().expect("it has one")).expect("ours");
        let mut half = bytes[..2 << 20].to_vec();
        half[7] ^= u8::from(is_wrong);
        std::fs::write(&partial, &half).expect("ours");
        let before = server.seen().len();
        fetch(&store, &asset).await.expect("the mirror is well");
        assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
        let requested = ranges(&server).split_off(before);
        let first = requested.first().copied().flatten().expect("a piece");
        assert_eq!(first.0, 2 << 20, "{requested:?}");
        assert_eq!(requested.contains(&None), is_wrong, "{requested:?}");
        assert!(!partial.exists());
    }
}

#[tokio::test]
async fn a_file_that_was_whole_when_the_agent_was_killed_costs_one_question() {
    let bytes = varied(2 << 20);
    let served = bytes.clone();
    let server = Server::start(move |seen| piece(seen, &served, "\"1\"")).await;
    let asset = plain(&bytes, vec![server.url("/kubelet")]);
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let partial = store.layout.partial(&asset.digest);
    std::fs::create_dir_all(partial.parent().expect("it has one")).expect("ours");
    std::fs::write(&partial, &bytes).expect("ours");
    fetch(&store, &asset).await.expect("nothing is lacking");
    assert_eq!(server.lines().len(), 1);
    assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
}

#[tokio::test]
async fn a_file_that_changes_under_the_fetch_is_begun_anew() {
    let bytes = varied(3 << 20);
    let (served, requested) = (bytes.clone(), AtomicUsize::new(0));
    let server = Server::start(
        move |seen| match requested.fetch_add(1, Ordering::Relaxed) {
            0 => {
                let old = vec![b'x'; 1 << 19];
                Reply::bytes(206, &old)
                    .with("content-range", "bytes 0-1048575/9000000")
                    .with("etag", "\"0\"")
                    .declaring(1 << 20)
            }
            _ => piece(seen, &served, "\"1\""),
        },
    )
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let asset = plain(&bytes, vec![server.url("/kubelet")]);
    fetch(&store, &asset).await.expect("the new one is right");
    assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
}

#[tokio::test]
async fn a_mirror_that_stalls_is_left_for_the_next_one() {
    let bytes = varied(3 << 20);
    let served = bytes.clone();
    let server = Server::start(move |seen| match seen.path.as_str() {
        // It answers, sends a little, and then nothing for ever.
        "/stalls/kubelet" => {
            let mut reply = piece(seen, &served, "\"a\"");
            if range_of(seen).is_some_and(|(from, _)| from == 0) {
                reply = Reply::bytes(206, &served[..1000])
                    .with("content-range", "bytes 0-1048575/3145728")
                    .declaring(1 << 20);
            }
            reply.hanging()
        }
        _ => piece(seen, &served, "\"b\""),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let urls = ["/stalls/kubelet", "/works/kubelet"].map(|path| server.url(path));
    let began = Instant::now();
    let fetched = fetch(&store, &plain(&bytes, urls.to_vec())).await;
    let fetched = fetched.expect("the second mirror is well");
    assert_eq!(fetched.url, server.url("/works/kubelet"));
    assert_eq!(
        fetched.failed_mirrors.len(),
        1,
        "{:?}",
        fetched.failed_mirrors
    );
    assert!(began.elapsed() < Duration::from_secs(15));
}

/// Answers well but for every seventh request, which fails in turn in each way there is.
fn flaky(bytes: Vec<u8>) -> impl Fn(&Seen) -> Reply + Send + Sync + 'static {
    let requested = AtomicUsize::new(0);
    move |seen| {
        let number = requested.fetch_add(1, Ordering::Relaxed) + 1;
        let well = piece(seen, &bytes, "\"1\"");
        match (number.is_multiple_of(7), number / 7 % 4) {
            (false, _) => well,
            (true, 0) => Reply::text(503, ""),
            (true, 1) => well.lying(),
            (true, 2) => well.cut_in_half(),
            (true, _) => well.cut_to_nothing(),
        }
    }
}

#[tokio::test]
async fn every_seventh_request_may_fail_in_any_way_and_the_bytes_are_right() {
    let bytes = archive(&[("bin/bridge", &varied(6 << 20)), ("bin/dhcp", &varied(999))]);
    let server = Server::start(flaky(bytes.clone())).await;
    for round in 0..12 {
        let fixture = Fixture::new();
        let store = fixture.store(AssetSource::Fetch);
        let urls = vec![server.url("/cni.tgz")];
        let asset = match round % 2 {
            0 => plain(&bytes, urls),
            _ => archived(&bytes, urls),
        };
        // A failure that can heal is the engine's to try again.
        let mut tries = 0;
        while let Err(error) = fetch(&store, &asset).await {
            assert_eq!(error.condition, Condition::Unreachable, "{error}");
            tries += 1;
            assert!(tries < 9, "{error}");
        }
        assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
        let left = fixture
            .files()
            .into_iter()
            .filter(|path| path.contains("partial/"));
        assert_eq!(left.count(), 0);
    }
}

/// Tries again what can heal: a machine whose disk is busy may be slow to open a connection.
async fn fetch_as_the_engine(
    store: &AssetStore,
    asset: &AssetSpec,
) -> Result<AssetFetched, PortError> {
    for _ in 0..2 {
        match fetch(store, asset).await {
            Err(error) if error.condition == Condition::Unreachable => println!("again: {error}"),
            fetched => return fetched,
        }
    }
    fetch(store, asset).await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_at_once_on_one_store_both_end_well() {
    let bytes = varied(3 << 20);
    let served = bytes.clone();
    let server = Server::start(move |seen| piece(seen, &served, "\"1\"")).await;
    let fixture = Fixture::new();
    let asset = plain(&bytes, vec![server.url("/kubelet")]);
    let packed = archive(&[("bin/bridge", &varied(1 << 20))]);
    let again = packed.clone();
    let other = Server::start(move |seen| piece(seen, &again, "\"1\"")).await;
    let unpacked = archived(&packed, vec![other.url("/cni.tgz")]);
    let (first, second) = (
        fixture.store(AssetSource::Fetch),
        fixture.store(AssetSource::Fetch),
    );
    let ended = tokio::join!(
        fetch_as_the_engine(&first, &asset),
        fetch_as_the_engine(&second, &asset),
        fetch_as_the_engine(&first, &unpacked),
        fetch_as_the_engine(&second, &unpacked),
    );
    for fetched in [ended.0, ended.1, ended.2, ended.3] {
        fetched.expect("neither is in the other's way");
    }
    for store in [&first, &second] {
        assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
        assert_eq!(store.prove(&key(&unpacked)).await, Ok(EntryState::Proven));
    }
}
