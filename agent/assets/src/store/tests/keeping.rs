//! What is in the store after a fetch, and whether a later boot believes it.

use super::*;

#[tokio::test]
async fn a_fetched_file_is_in_the_store_under_its_digest() {
    let server = Server::start(|_| Reply::text(200, "program")).await;
    let fixture = Fixture::new();
    let asset = plain(
        b"program",
        vec![server.url("/v1/kubelet?x-amz-signature=s3cr3t")],
    );
    let store = fixture.store(AssetSource::Fetch);
    let seen = std::sync::Mutex::new(Vec::new());
    let report = |arriving: Arriving<'_>| {
        let mut seen = seen.lock().expect("ours");
        seen.push((arriving.done, arriving.total));
    };
    let fetched = store
        .fetch_asset(&asset, &report)
        .await
        .expect("the mirror is well");
    assert_eq!((fetched.url, fetched.bytes), (server.url("/v1/kubelet"), 7));
    assert_eq!(seen.lock().expect("ours").last(), Some(&(7, Some(7))));
    let hex = asset.digest.hex();
    let base = format!("var/lib/store/sha256/{hex}");
    let stamp = format!("{base}.stamp");
    assert_eq!(
        fixture.files(),
        [base.clone(), format!("{base}.json"), stamp]
    );
    assert_eq!(store.has_asset(&asset).await, Ok(true));
    let place = place_at("/usr/local/bin/kubelet", &asset, None);
    store.place(&place).await.expect("nothing is in the way");
    assert_eq!(store.look_placed(&place).await, Ok(Placed::Same));
    let placed = std::fs::read(fixture.root.path().join("usr/local/bin/kubelet"));
    assert_eq!(placed.expect("it was placed"), b"program");
}

#[tokio::test]
async fn what_an_earlier_try_left_is_not_behind_the_bytes_of_a_file_of_this_machine() {
    let fixture = Fixture::new();
    let asset = plain(b"program", Vec::new());
    let partial = format!("var/lib/store/partial/sha256-{}", asset.digest.hex());
    let partial = fixture.root.path().join(partial);
    std::fs::create_dir_all(partial.parent().expect("it has one")).expect("ours");
    std::fs::write(&partial, "what is longer than the program").expect("ours");
    let store = fixture.store(AssetSource::Fetch);
    let kept = store.ingest(&asset, "file:///kubelet", b"program".as_slice());
    assert_eq!(kept.await, Ok(7));
    assert!(!partial.exists(), "it was moved to its place");
    assert_eq!(store.prove(&key(&asset)).await, Ok(EntryState::Proven));
}

#[tokio::test]
async fn assets_pinned_with_each_algorithm_are_accepted() {
    let server = Server::start(|_| Reply::text(200, "program")).await;
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    for algorithm in [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512] {
        let mut asset = plain(b"program", vec![server.url("/kubelet")]);
        asset.digest = digest_of(algorithm, b"program".as_slice()).expect("memory reads");
        fetch(&store, &asset).await.expect("the digest is right");
        assert_eq!(store.has_asset(&asset).await, Ok(true));
    }
}

#[tokio::test]
async fn an_archive_is_unpacked_and_its_members_are_found_by_their_names() {
    let bytes = archive(&[
        ("bin/loopback", b"lo"),
        ("bin/bridge", b"br"),
        ("README", b"r"),
    ]);
    let asset_bytes = bytes.clone();
    let server = Server::start(move |_| Reply::bytes(200, &bytes)).await;
    let asset = archived(&asset_bytes, vec![server.url("/cni-plugins.tgz")]);
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    fetch(&store, &asset).await.expect("the archive is honest");
    assert_eq!(store.has_asset(&asset).await, Ok(true));
    let members = store.list_members(&asset.digest).await;
    assert_eq!(
        members,
        Ok(vec!["README".into(), "bridge".into(), "loopback".into()])
    );
    let place = place_at("/opt/cni/bin/bridge", &asset, Some("bridge"));
    store.place(&place).await.expect("nothing is in the way");
    let placed = std::fs::read(fixture.root.path().join("opt/cni/bin/bridge"));
    assert_eq!(placed.expect("it was placed"), b"br");
    let absent = place_at("/opt/cni/bin/dhcp", &asset, Some("dhcp"));
    let error = store
        .look_placed(&absent)
        .await
        .expect_err("the archive has none");
    assert_eq!(error.condition, Condition::Missing);
    assert_eq!(fixture.staged(), 0, "the archive itself is gone");
}

#[tokio::test]
async fn what_a_killed_agent_left_is_removed_when_the_store_is_opened() {
    let fixture = Fixture::new();
    let staging = fixture.root.path().join("var/lib/store/staging");
    std::fs::create_dir_all(staging.join("77-1/files")).expect("ours");
    std::fs::write(staging.join("77-0"), "half").expect("ours");
    fixture.store(AssetSource::Fetch);
    assert_eq!(fixture.files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_file_changed_in_place_is_no_longer_in_the_store_and_is_replaced() {
    let server = Server::start(|_| Reply::text(200, "program")).await;
    let (fixture, asset) = (
        Fixture::new(),
        plain(b"program", vec![server.url("/kubelet")]),
    );
    let store = fixture.store(AssetSource::Fetch);
    fetch(&store, &asset).await.expect("the mirror is well");
    let place = place_at("/usr/bin/kubelet", &asset, None);
    store.place(&place).await.expect("nothing is in the way");
    let placed = fixture.root.path().join("usr/bin/kubelet");
    let mut open = std::fs::OpenOptions::new();
    let mut file = open.write(true).open(&placed).expect("ours");
    file.write_all(b"PROGRAM").expect("ours");
    // The kernel's clock for files is coarse; a change a moment after the fetch could share its tick.
    let later = std::time::SystemTime::now() + Duration::from_secs(1);
    file.set_modified(later).expect("ours");
    assert_eq!(store.has_asset(&asset).await, Ok(false));
    fetch(&store, &asset).await.expect("the mirror is well");
    assert_eq!(store.look_placed(&place).await, Ok(Placed::Different));
}

#[tokio::test]
async fn a_file_whose_manifest_is_gone_is_verified_by_its_bytes() {
    let server = Server::start(|_| Reply::text(200, "program")).await;
    let (fixture, asset) = (
        Fixture::new(),
        plain(b"program", vec![server.url("/kubelet")]),
    );
    let store = fixture.store(AssetSource::Fetch);
    fetch(&store, &asset).await.expect("the mirror is well");
    let file = store.layout.file(&asset.digest);
    std::fs::remove_file(store.layout.file_manifest(&asset.digest)).expect("ours");
    assert_eq!(store.has_asset(&asset).await, Ok(true));
    std::fs::write(&file, "PROGRAM").expect("ours");
    assert_eq!(store.has_asset(&asset).await, Ok(false));
}

#[tokio::test]
async fn an_archive_with_a_changed_or_missing_file_is_fetched_anew() {
    let bytes = archive(&[("bridge", b"br"), ("dhcp", b"dh")]);
    let served = bytes.clone();
    let server = Server::start(move |_| Reply::bytes(200, &served)).await;
    let asset = archived(&bytes, vec![server.url("/cni.tgz")]);
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Fetch);
    fetch(&store, &asset).await.expect("the archive is honest");
    let inside = archive_files(&store.layout.archive(&asset.digest)).join("dhcp");
    std::fs::remove_file(inside).expect("ours");
    assert_eq!(store.has_asset(&asset).await, Ok(false));
    fetch(&store, &asset)
        .await
        .expect("a damaged archive is replaced");
    assert_eq!(store.has_asset(&asset).await, Ok(true));
    assert_eq!(fixture.staged(), 0, "the damaged one is gone");
}

#[tokio::test]
async fn an_open_of_a_settled_store_writes_nothing() {
    let server = Server::start(|_| Reply::text(200, "program")).await;
    let (fixture, asset) = (
        Fixture::new(),
        plain(b"program", vec![server.url("/kubelet")]),
    );
    fetch(&fixture.store(AssetSource::Fetch), &asset)
        .await
        .expect("the mirror is well");
    let folder = fixture.root.path().join("var/lib/store");
    let times = || -> Vec<_> {
        let paths = [
            folder.clone(),
            folder.join("sha256"),
            folder.join("staging"),
        ];
        let modified = paths
            .iter()
            .map(|path| path.metadata().and_then(|it| it.modified()));
        modified.map(|time| time.expect("ours")).collect()
    };
    let before = times();
    let store = fixture.store(AssetSource::Fetch);
    assert_eq!(store.has_asset(&asset).await, Ok(true));
    assert_eq!(times(), before);
}
