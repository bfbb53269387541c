//! Mirrors that claim a length which is not the file's.

use super::transport::piece;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A first piece of a file of this length.
fn claiming(total: &str) -> Reply {
    Reply::bytes(206, b"x")
        .with("content-range", &format!("bytes 0-1048575/{total}"))
        .declaring(1 << 20)
}

/// An answer without a length, of this many bytes.
fn without_length(count: usize) -> Reply {
    let chunk = format!("{count:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(count));
    Reply::text(200, &chunk).chunked()
}

/// Fetches from a mirror of `wrong` answers first, and a good one second.
async fn fetched_past(wrong: impl Fn() -> Reply + Send + Sync + 'static) -> AssetFetched {
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/wrong" => wrong(),
        _ => Reply::text(200, "program"),
    })
    .await;
    let fixture = Fixture::new();
    let mut store = fixture.store(AssetSource::Fetch);
    store.shared.most_bytes = 8 << 20;
    let asset = plain(b"program", vec![server.url("/wrong"), server.url("/good")]);
    let fetched = fetch(&store, &asset).await.expect("the second is good");
    assert_eq!(fetched.url, server.url("/good"));
    fetched
}

#[tokio::test]
async fn a_mirror_that_claims_more_than_any_disk_has_is_blamed_and_the_next_one_used() {
    for total in ["9000000", "3000000000000000", "18446744073709551615"] {
        let fetched = fetched_past(move || claiming(total)).await;
        let [failed] = fetched.failed_mirrors.as_slice() else {
            panic!("{:?}", fetched.failed_mirrors);
        };
        let needed = format!("claims {total} bytes");
        assert!(
            failed.contains("/wrong") && failed.contains(&needed),
            "{failed}"
        );
    }
}

#[tokio::test]
async fn of_a_mirror_without_a_length_nothing_is_taken_while_another_one_knows_it() {
    let fetched = fetched_past(|| without_length(9 << 20)).await;
    assert_eq!(fetched.failed_mirrors, Vec::<String>::new());
}

#[tokio::test]
async fn an_honest_mirror_without_a_length_is_used_where_another_one_claims_too_little() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/short" => Reply::text(200, "pro"),
        _ => Reply::text(200, "7\r\nprogram\r\n0\r\n\r\n").chunked(),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let asset = plain(b"program", vec![server.url("/good"), server.url("/short")]);
    let fetched = fetch(&store, &asset).await.expect("the first is good");
    assert_eq!(fetched.url, server.url("/good"));
}

#[tokio::test]
async fn an_only_mirror_that_claims_too_much_is_named_with_its_claim() {
    let requested = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requested);
    let server = Server::start(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        claiming("3000000000000000")
    })
    .await;
    let fixture = Fixture::new();
    let asset = plain(b"program", vec![server.url("/kubelet")]);
    let error = fetch(&fixture.store(AssetSource::Fetch), &asset)
        .await
        .expect_err("no asset has so much");
    assert_eq!(error.condition, Condition::Impossible);
    let named = format!("{} claims 3000000000000000 bytes", server.url("/kubelet"));
    assert!(error.summary.contains(&named), "{error}");
    assert_eq!(requested.load(Ordering::Relaxed), 1);
    assert_eq!(fixture.files(), Vec::<String>::new());
}

#[tokio::test]
async fn an_only_mirror_whose_body_does_not_end_is_named_and_nothing_is_kept() {
    let server = Server::start(|_| without_length(9 << 20)).await;
    let fixture = Fixture::new();
    let mut store = fixture.store(AssetSource::Fetch);
    store.shared.most_bytes = 8 << 20;
    let asset = plain(b"program", vec![server.url("/kubelet")]);
    let error = fetch(&store, &asset).await.expect_err("it does not end");
    assert_eq!(error.condition, Condition::Impossible);
    assert!(
        error.summary.contains("sent more than 8388608 bytes"),
        "{error}"
    );
    assert!(error.summary.contains(&server.url("/kubelet")), "{error}");
    assert_eq!(fixture.files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_claim_beside_a_file_that_began_elsewhere_is_the_second_mirrors_failure() {
    let bytes = vec![b'p'; 2 << 20];
    let (served, cuts) = (bytes.clone(), AtomicUsize::new(0));
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/wrong" => claiming("3000000000000000"),
        _ => match cuts.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::bytes(200, &served).cut_in_half(),
            _ => Reply::bytes(200, &served),
        },
    })
    .await;
    let fixture = Fixture::new();
    let asset = plain(&bytes, vec![server.url("/good"), server.url("/wrong")]);
    let fetched = fetch(&fixture.store(AssetSource::Fetch), &asset).await;
    let fetched = fetched.expect("the first is good");
    assert_eq!(fetched.url, server.url("/good"));
    let requested = server
        .lines()
        .iter()
        .filter(|line| line.contains("good"))
        .count();
    assert_eq!(requested, 2, "{:?}", server.lines());
}

#[tokio::test]
async fn a_mirror_that_is_asked_alone_and_stalls_is_left_for_the_next_one() {
    let bytes = vec![b'p'; 2 << 20];
    let (served, requested) = (bytes.clone(), AtomicUsize::new(0));
    let server = Server::start(move |seen| match seen.path.as_str() {
        // Its first bytes are wrong, so that nobody knows whose fault the digest is.
        "/wrong" if requested.fetch_add(1, Ordering::Relaxed) == 0 => {
            Reply::bytes(200, b"wrong").declaring(served.len())
        }
        "/wrong" => Reply::bytes(200, b"wrong")
            .declaring(served.len())
            .hanging(),
        _ => piece(seen, &served, "\"1\""),
    })
    .await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    let asset = plain(&bytes, vec![server.url("/wrong"), server.url("/good")]);
    let limit = Duration::from_secs(30);
    let fetched = tokio::time::timeout(limit, fetch(&store, &asset)).await;
    let fetched = fetched.expect("in time").expect("the second is good");
    assert_eq!(fetched.url, server.url("/good"));
}
