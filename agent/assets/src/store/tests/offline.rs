//! Stores that do not ask mirrors: directories, caches and placeholders.

use super::*;

#[tokio::test]
async fn a_folder_stands_in_for_the_network() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().expect("a scratch directory");
    for path in ["release/v1/kubelet", "mirror.example/v2/kubelet", "kubectl"] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it is below")).expect("ours");
        std::fs::write(path, "program").expect("ours");
    }
    let store = fixture.store(AssetSource::Folder(folder.path().to_owned()));
    for url in [
        "https://mirror.example/release/v1/kubelet",
        "https://mirror.example/v2/kubelet",
        "https://mirror.example/anywhere/kubectl",
    ] {
        let fetched = fetch(&store, &plain(b"program", vec![url.to_owned()])).await;
        assert_eq!(fetched.map(|fetched| fetched.url), Ok(url.to_owned()));
    }
    let absent = plain(b"program", vec!["https://mirror.example/absent".to_owned()]);
    let error = fetch(&store, &absent).await.expect_err("no file stands in");
    assert_eq!(error.condition, Condition::Missing);
}

#[tokio::test]
async fn a_file_url_is_read_from_this_machine() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = folder.path().join("kubelet");
    std::fs::write(&path, "program").expect("ours");
    let asset = plain(b"program", vec![format!("file://{}", path.display())]);
    let fetched = fetch(&fixture.store(AssetSource::Fetch), &asset).await;
    assert_eq!(fetched.map(|fetched| fetched.bytes), Ok(7));
}

#[tokio::test]
async fn a_store_told_to_stay_off_the_network_asks_nobody() {
    let server = Server::start(|_| Reply::text(200, "program")).await;
    let (fixture, asset) = (
        Fixture::new(),
        plain(b"program", vec![server.url("/kubelet")]),
    );
    let error = fetch(&fixture.store(AssetSource::Cache), &asset)
        .await
        .expect_err("it is empty");
    assert_eq!(error.condition, Condition::Missing);
    assert_eq!(server.lines(), Vec::<String>::new());
    fetch(&fixture.store(AssetSource::Fetch), &asset)
        .await
        .expect("the mirror is well");
    assert_eq!(
        fixture.store(AssetSource::Cache).has_asset(&asset).await,
        Ok(true)
    );
}

/// How many bytes the files of an asset have.
async fn size_of(store: &AssetStore, asset: &AssetSpec) -> u64 {
    let listed = store.list().await.expect("it can be read");
    let entry = listed.iter().find(|entry| entry.digest == asset.digest);
    let manifest = &entry.expect("it is there").manifest;
    let archive = archive_files(&store.layout.archive(&asset.digest));
    let size = |file: &Member| {
        let path = match asset.kind {
            AssetKind::Plain => store.layout.file(&asset.digest),
            AssetKind::Archive => archive.join(&file.path),
        };
        path.metadata().expect("it is there").len()
    };
    manifest.files.iter().map(size).sum()
}

#[tokio::test]
async fn a_placeholder_is_never_taken_for_a_verified_asset() {
    let fixture = Fixture::new();
    let stubs = fixture.store(AssetSource::Stub);
    let kubelet = plain(b"program", vec!["https://h/kubelet".to_owned()]);
    let cni = archived(
        b"archive",
        vec!["https://h/network-plugins/cni.tgz".to_owned()],
    );
    for asset in [&kubelet, &cni] {
        assert_eq!(stubs.has_asset(asset).await, Ok(false));
        let fetched = fetch(&stubs, asset).await;
        let fetched = fetched.expect("a placeholder needs nothing");
        assert_eq!(fetched.bytes, size_of(&stubs, asset).await);
        assert_eq!(stubs.has_asset(asset).await, Ok(true));
        assert_eq!(
            fixture.store(AssetSource::Fetch).has_asset(asset).await,
            Ok(false)
        );
    }
    let members = stubs
        .list_members(&cni.digest)
        .await
        .expect("it was unpacked");
    assert!(members.contains(&"host-local".to_owned()), "{members:?}");
    let place = place_at("/usr/bin/kubelet", &kubelet, None);
    stubs.place(&place).await.expect("nothing is in the way");
    let placed = std::fs::read_to_string(fixture.root.path().join("usr/bin/kubelet"));
    assert!(placed.expect("it was placed").contains("placeholder"));
    assert!(
        fixture
            .files()
            .iter()
            .any(|path| path.starts_with("var/lib/store-stub/"))
    );
}

#[tokio::test]
async fn placing_from_an_empty_store_is_missing() {
    let fixture = Fixture::new();
    let store = fixture.store(AssetSource::Cache);
    let asset = plain(b"program", Vec::new());
    for member in [None, Some("bridge")] {
        let place = place_at("/usr/bin/kubelet", &asset, member);
        let error = store
            .place(&place)
            .await
            .expect_err("nothing is in the store");
        assert_eq!(error.condition, Condition::Missing);
    }
    let error = store
        .list_members(&asset.digest)
        .await
        .expect_err("nothing is in the store");
    assert_eq!(error.condition, Condition::Missing);
}
