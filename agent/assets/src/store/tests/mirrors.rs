//! Every way in which mirrors answer, and what a failed fetch leaves: nothing.

use super::*;

/// The error of fetching `bytes` from one mirror with this answer; nothing may be left of it.
async fn failure(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> PortError {
    let (fixture, server) = (Fixture::new(), Server::start(answer).await);
    let asset = plain(b"program", vec![server.url("/kubelet")]);
    let store = fixture.store(AssetSource::Fetch);
    let error = fetch(&store, &asset)
        .await
        .expect_err("the mirror is no good");
    assert_eq!(fixture.files(), Vec::<String>::new(), "{error}");
    assert_eq!(store.has_asset(&asset).await, Ok(false));
    error
}

#[tokio::test]
async fn a_wrong_digest_names_both_digests_the_size_and_what_the_bytes_look_like() {
    let page = "<!DOCTYPE html><html>blocked</html>";
    let error = failure(move |_| Reply::text(200, page)).await;
    assert_eq!(error.condition, Condition::DigestMismatch);
    let actual = sha256(page.as_bytes()).to_string();
    let expected = sha256(b"program").to_string();
    assert!(error.summary.contains("an HTML page"), "{error}");
    for needed in [
        actual,
        expected,
        page.len().to_string(),
        "/kubelet".to_owned(),
    ] {
        let reported = error
            .evidence
            .iter()
            .any(|piece| piece.value.contains(&needed));
        assert!(reported, "{needed} is missing in {:?}", error.evidence);
    }
}

#[tokio::test]
async fn the_same_wrong_bytes_on_two_mirrors_cast_doubt_on_the_pin() {
    let server = Server::start(|_| Reply::text(200, "republished")).await;
    let asset = plain(
        b"program",
        vec![server.url("/a/kubelet"), server.url("/b/kubelet")],
    );
    let fixture = Fixture::new();
    let error = fetch(&fixture.store(AssetSource::Fetch), &asset)
        .await
        .expect_err("both differ");
    assert!(
        error
            .remedy
            .is_some_and(|remedy| remedy.contains("pinned digest is probably wrong"))
    );
    assert_eq!(error.causes.len(), 2);
}

#[tokio::test]
async fn the_next_mirror_is_tried_after_each_kind_of_failure() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/1/kubelet" => Reply::text(404, ""),
        "/2/kubelet" => Reply::text(200, "something else"),
        "/3/kubelet" => Reply::text(200, "prog").declaring(7),
        "/4/kubelet" => Reply::text(503, ""),
        _ => Reply::text(200, "program"),
    })
    .await;
    let mut urls: Vec<_> = (1..=5)
        .map(|n| server.url(&format!("/{n}/kubelet")))
        .collect();
    urls.insert(0, format!("{}/kubelet", closed_port().await));
    urls.insert(0, "ftp://mirror/kubelet".to_owned());
    let fixture = Fixture::new();
    let fetched = fetch(&fixture.store(AssetSource::Fetch), &plain(b"program", urls)).await;
    let fetched = fetched.expect("the last mirror is well");
    assert_eq!(
        fetched.failed_mirrors.len(),
        6,
        "{:?}",
        fetched.failed_mirrors
    );
    assert_eq!(fetched.url, server.url("/5/kubelet"));
}

#[tokio::test]
async fn each_answer_of_a_mirror_has_its_condition() {
    for (status, condition) in [
        (404, Condition::Missing),
        (410, Condition::Missing),
        (401, Condition::Denied),
        (403, Condition::Denied),
        (408, Condition::Unreachable),
        (429, Condition::Unreachable),
        (500, Condition::Unreachable),
        (503, Condition::Unreachable),
    ] {
        let error = failure(move |_| Reply::text(status, "")).await;
        assert_eq!(error.condition, condition, "{status}");
        assert!(error.summary.contains(&status.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_early_can_heal() {
    let error = failure(|_| Reply::text(200, "prog").declaring(7)).await;
    assert_eq!(error.condition, Condition::Unreachable);
}

#[tokio::test]
async fn of_several_conditions_the_one_that_can_heal_wins() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/missing" => Reply::text(404, ""),
        "/denied" => Reply::text(403, ""),
        "/wrong" => Reply::text(200, "something else"),
        _ => Reply::text(500, ""),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    for (paths, condition) in [
        (
            vec!["/missing", "/busy", "/denied", "/wrong"],
            Condition::Unreachable,
        ),
        (vec!["/missing", "/wrong", "/denied"], Condition::Denied),
        (vec!["/missing", "/wrong"], Condition::DigestMismatch),
        (vec!["/missing", "/missing"], Condition::Missing),
    ] {
        let asset = plain(
            b"program",
            paths.iter().map(|path| server.url(path)).collect(),
        );
        let error = fetch(&store, &asset).await.expect_err("no mirror is well");
        assert_eq!(error.condition, condition, "{paths:?}");
    }
}

#[tokio::test]
async fn a_dangerous_archive_leaves_nothing_and_no_other_mirror_is_asked() {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Link);
    header.set_size(0);
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    builder
        .append_data(&mut header, "kubelet", b"".as_slice())
        .expect("memory takes it");
    let encoder = builder.into_inner().expect("memory takes it");
    let bytes = encoder.finish().expect("memory takes it");
    let served = bytes.clone();
    let server = Server::start(move |_| Reply::bytes(200, &served)).await;
    let asset = archived(&bytes, vec![server.url("/1"), server.url("/2")]);
    let fixture = Fixture::new();
    let error = fetch(&fixture.store(AssetSource::Fetch), &asset)
        .await
        .expect_err("a hard link");
    assert_eq!(error.condition, Condition::Unsafe);
    assert_eq!(server.lines(), ["GET /1"]);
    assert_eq!(fixture.files(), Vec::<String>::new());
}

#[test]
fn an_interrupted_fetch_leaves_nothing() {
    let fixture = Fixture::new();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        // From 1 MiB on a file is kept, to be resumed.
        let start = vec![b'x'; (1 << 20) - 1];
        let server = Server::start(move |_| Reply::bytes(200, &start).declaring(2 << 20).hanging());
        let server = server.await;
        let asset = plain(b"program", vec![server.url("/kubelet")]);
        let store = fixture.store(AssetSource::Fetch);
        let arrived = tokio::sync::Notify::new();
        let report = |arriving: Arriving<'_>| {
            if arriving.done > 1 << 19 {
                arrived.notify_one();
            }
        };
        tokio::select! {
            result = store.fetch_asset(&asset, &report) => panic!("it cannot end: {result:?}"),
            () = arrived.notified() => {}
        }
    });
    // Ending the runtime waits for the writer's thread, as the end of the agent does.
    drop(runtime);
    assert_eq!(fixture.files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_silent_mirror_does_not_hold_back_other_assets() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/silent" => Reply::text(200, "").declaring(7).hanging(),
        _ => Reply::text(200, "program"),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let silent = plain(b"program", vec![server.url("/silent")]);
    let well = plain(b"program", vec![server.url("/kubelet")]);
    let limit = Duration::from_secs(20);
    tokio::select! {
        result = fetch(&store, &silent) => panic!("it cannot end: {result:?}"),
        result = tokio::time::timeout(limit, fetch(&store, &well)) => {
            assert!(result.is_ok_and(|fetched| fetched.is_ok()));
        }
    }
}
