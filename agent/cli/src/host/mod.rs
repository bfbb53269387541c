//! Wires the real host: each part is the machine's own, or the simulated region's.

mod cluster;
mod forward;
mod kops;
mod machine;
mod mirror;
mod observer;
mod ports;

pub(crate) use observer::{Observer, StorePlace};

use crate::args::AssetMode;
use crate::simulated_parts::Part;
use quake_assets::readahead::{self, Noted, ReadingAhead};
use quake_assets::{AssetSettings, AssetSource, AssetStore, Buckets};
use quake_host::aws::{AutoScaling, Aws, AwsSettings, Calls, Ec2, Environment, Route53, S3};
use quake_host::bootstrap::KopsController;
use quake_host::images::RuntimeImages;
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_host::kubernetes::ClusterClient;
use quake_host::linux::{LinuxDisks, LinuxKernel, NodeFiles, OwnerPolicy};
use quake_host::objects::StateStore;
use quake_host::probes::HttpProbes;
use quake_host::systemd::Systemd;
use quake_http::HttpSettings;
use quake_model::ports::PortError;
use quake_testkit::SimHost;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A node's surroundings: real, but for the parts that are simulated.
pub(crate) struct NodeHost {
    imds: Imds,
    ec2: Ec2,
    autoscaling: AutoScaling,
    route53: Route53,
    controller: KopsController,
    objects: StateStore,
    assets: AssetStore,
    images: RuntimeImages,
    files: NodeFiles,
    disks: LinuxDisks,
    kernel: LinuxKernel,
    units: Systemd,
    probes: HttpProbes,
    cluster: ClusterClient,
    calls: Calls,
    sim: Option<Arc<SimHost>>,
    simulated: BTreeSet<Part>,
}

pub(crate) struct Wiring {
    /// Where the node's files are.
    pub(crate) root: PathBuf,
    /// Where the asset store is on this machine: [`STORE`] below the root.
    pub(crate) store: PathBuf,
    pub(crate) assets: AssetMode,
    /// Local files instead of downloads.
    pub(crate) assets_dir: Option<PathBuf>,
    /// Whether the store's assets are read again instead of trusted.
    pub(crate) verify_assets: bool,
    /// Where objects are read, if not in the buckets that are named.
    pub(crate) objects: StorePlace,
    /// The simulated region, where any part is simulated.
    pub(crate) sim: Option<Arc<SimHost>>,
    pub(crate) simulated: BTreeSet<Part>,
}

/// Where the asset store is, below the root.
pub(crate) const STORE: &str = "var/lib/quake-agent/store";

impl NodeHost {
    /// Wires a host; nothing is contacted or read yet.
    pub(crate) fn wire(wiring: Wiring) -> Self {
        let calls = Calls::new();
        let imds = Imds::new(&MetadataEndpoint::from_environment(), calls.clone());
        let on_node = !wiring.simulated.contains(&Part::Metadata);
        let environment = if on_node {
            Environment::Node
        } else {
            Environment::Elsewhere
        };
        let aws = Aws::new(
            AwsSettings::from_environment(environment),
            imds.clone(),
            calls.clone(),
        );
        let buckets = Buckets {
            reader: Some(Arc::new(S3::new(aws.clone()))),
            folder: wiring.objects.folder.clone(),
        };
        let objects = wiring.objects.store(&aws);
        let source = match (wiring.assets, wiring.assets_dir) {
            (AssetMode::Stub, None) => AssetSource::Stub,
            (AssetMode::Cache, None) => AssetSource::Cache,
            (_, Some(folder)) => AssetSource::Folder(folder),
            (AssetMode::Fetch, None) => AssetSource::Fetch,
        };
        let settings = AssetSettings {
            root: wiring.root.clone(),
            store: wiring.store,
            source,
            verify: wiring.verify_assets,
            http: HttpSettings::from_environment(),
            buckets,
        };
        Self {
            imds,
            ec2: Ec2::new(aws.clone()),
            autoscaling: AutoScaling::new(aws.clone()),
            route53: Route53::new(aws.clone()),
            controller: KopsController::new(aws),
            objects,
            assets: AssetStore::open(settings),
            images: RuntimeImages::new(),
            files: NodeFiles::new(wiring.root, OwnerPolicy::of_this_process()),
            disks: LinuxDisks::new(),
            kernel: LinuxKernel::new(),
            units: Systemd::new(),
            probes: HttpProbes::new(),
            cluster: ClusterClient::new(),
            calls,
            sim: wiring.sim,
            simulated: wiring.simulated,
        }
    }

    /// Marks assets that were fetched by this run as being on the disk, once they are.
    ///
    /// # Errors
    ///
    /// `Io` when the filesystem does not take it; a later boot then reads them once more.
    pub(crate) async fn settle_assets(&self) -> Result<(), PortError> {
        self.assets.settle().await
    }

    /// Begins to read ahead what boots from this store touch, if that was noted.
    pub(crate) fn begin_reading_ahead(&self, root: &Path) -> Option<ReadingAhead> {
        ReadingAhead::begin(root, self.assets.folder())
    }

    /// Whether the store asks for a note of what this boot touches.
    pub(crate) fn is_note_wanted(&self) -> bool {
        readahead::is_note_wanted(self.assets.folder())
    }

    /// Notes which parts of the store's files, and of those placed, are in memory.
    ///
    /// # Errors
    ///
    /// `Impossible` when the filesystem cannot tell, `NoSpace` or `Io`.
    pub(crate) async fn note_touched(
        &self,
        root: &Path,
        placed: Vec<PathBuf>,
    ) -> Result<Noted, PortError> {
        self.assets.note_touched(root, placed).await
    }

    /// The simulated region, if it stands for this part.
    fn simulates(&self, part: Part) -> Option<&SimHost> {
        self.sim
            .as_deref()
            .filter(|_| self.simulated.contains(&part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::digest::{Algorithm, Digest};
    use quake_model::item::User;
    use quake_model::location::Location;
    use quake_model::spec::{AssetKind, AssetSpec};
    use quake_testkit::contract;

    fn host(root: &Path, folder: &Path) -> NodeHost {
        NodeHost::wire(Wiring {
            root: root.to_owned(),
            store: root.join(STORE),
            assets: AssetMode::Fetch,
            assets_dir: Some(folder.to_owned()),
            verify_assets: false,
            objects: StorePlace {
                folder: Some(folder.to_owned()),
                moved: None,
            },
            sim: None,
            simulated: BTreeSet::new(),
        })
    }

    fn user() -> User {
        User {
            name: "etcd".to_owned(),
            uid: 901,
            home: "/".to_owned(),
            shell: "/sbin/nologin".to_owned(),
        }
    }

    const PASSWD: &str = "etcd:x:901:901::/:/sbin/nologin\n";
    const GROUP: &str = "etcd:x:901:\n";

    #[tokio::test]
    async fn a_user_and_its_group_are_both_there_whatever_a_killed_run_left() {
        for (passwd, group) in [("", ""), ("", GROUP), (PASSWD, ""), (PASSWD, GROUP)] {
            let root = tempfile::tempdir().expect("a temporary directory");
            let etc = root.path().join("etc");
            std::fs::create_dir(&etc).expect("the root is ours");
            std::fs::write(etc.join("passwd"), passwd).expect("the root is ours");
            std::fs::write(etc.join("group"), group).expect("the root is ours");
            let added = host(root.path(), root.path()).add_user(&user()).await;
            assert_eq!(added, Ok(()));
            let read = |name: &str| std::fs::read_to_string(etc.join(name)).unwrap();
            assert_eq!(
                (read("passwd").as_str(), read("group").as_str()),
                (PASSWD, GROUP)
            );
        }
    }

    /// The list of users decides whether the next run adds anything: it is written when all else is.
    #[tokio::test]
    async fn a_run_that_ends_at_either_list_leaves_the_user_to_the_next() {
        for blocked in ["group", "passwd"] {
            let root = tempfile::tempdir().expect("a temporary directory");
            let blocked = root.path().join("etc").join(blocked);
            std::fs::create_dir_all(&blocked).expect("the root is ours");
            let host = host(root.path(), root.path());
            assert!(host.add_user(&user()).await.is_err());
            let passwd = root.path().join("etc/passwd");
            assert!(!passwd.is_file(), "{blocked:?}");
            std::fs::remove_dir(&blocked).expect("the root is ours");
            assert_eq!(host.add_user(&user()).await, Ok(()));
            assert_eq!(std::fs::read_to_string(passwd).unwrap(), PASSWD);
            let group = root.path().join("etc/group");
            assert_eq!(std::fs::read_to_string(group).unwrap(), GROUP);
        }
    }

    #[tokio::test]
    async fn the_real_files_keep_the_contract() {
        let root = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(
            contract::files(&host(root.path(), root.path())).await,
            Ok(())
        );
    }

    #[tokio::test]
    async fn the_real_assets_keep_the_contract() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let mirror = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(mirror.path().join("tool"), "tool\n").expect("it can be written");
        let sha256 = |text: &str| {
            use sha2::Digest as _;
            Digest::from_bytes(Algorithm::Sha256, &sha2::Sha256::digest(text))
        };
        let pinned = AssetSpec {
            name: "tool".into(),
            digest: sha256("tool\n"),
            urls: vec!["https://mirror.example/tool".into()],
            kind: AssetKind::Plain,
        };
        let forged = AssetSpec {
            digest: sha256("other\n"),
            ..pinned.clone()
        };
        let host = host(root.path(), mirror.path());
        assert_eq!(contract::assets(&host, &pinned, &forged).await, Ok(()));
    }

    #[tokio::test]
    async fn the_real_objects_keep_the_contract() {
        let store = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(store.path().join("bucket/x/b")).expect("it can be made");
        std::fs::write(store.path().join("bucket/x/a"), "a").expect("it can be written");
        std::fs::write(store.path().join("bucket/x/b/c"), "c").expect("it can be written");
        let base: Location = "s3://bucket".parse().expect("a literal");
        let host = host(store.path(), store.path());
        assert_eq!(contract::objects(&host, &base).await, Ok(()));
        assert_eq!(contract::written_objects(&host, &base).await, Ok(()));
    }

    /// A loop device over a sparse file; detached and unmounted with its value.
    struct Loop {
        path: String,
        mount: PathBuf,
        _scratch: tempfile::TempDir,
    }

    impl Loop {
        /// Says why there can be none here.
        fn make() -> Result<Self, String> {
            let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
            let file = scratch.path().join("volume");
            let made = std::fs::File::create(&file).and_then(|file| file.set_len(64 << 20));
            made.map_err(|error| error.to_string())?;
            let mut losetup = std::process::Command::new("losetup");
            let output = losetup.args(["--find", "--show"]).arg(&file).output();
            let output = output.map_err(|error| error.to_string())?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
            Ok(Self {
                path: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
                mount: scratch.path().join("mount"),
                _scratch: scratch,
            })
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            let run = |program: &str, arguments: &[&str]| {
                // What is not mounted or attached any more is what is wanted.
                let _ = std::process::Command::new(program).args(arguments).output();
            };
            run("umount", &[&self.mount.to_string_lossy()]);
            run("losetup", &["--detach", &self.path]);
        }
    }

    #[tokio::test]
    async fn the_real_keys_keep_the_contract() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let host = host(root.path(), root.path());
        assert_eq!(contract::keys(&host).await, Ok(()));
    }

    #[tokio::test]
    async fn the_real_disks_keep_the_contract() {
        let device = match Loop::make() {
            Ok(device) => device,
            Err(reason) => {
                println!("skipped: no loop device can be made here: {reason}");
                return;
            }
        };
        let root = tempfile::tempdir().expect("a temporary directory");
        let host = host(root.path(), root.path());
        let devices = quake_model::ports::Disks::list_devices(&host).await;
        let devices = devices.expect("they are listed");
        let facts = devices.iter().find(|facts| facts.path == device.path);
        let facts = facts.expect("the kernel shows the loop device");
        let mount = device.mount.to_str().expect("a plain name");
        assert_eq!(contract::disks(&host, facts, mount).await, Ok(()));
    }
}
