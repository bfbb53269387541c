//! A network of a test's own, and what instances find in it: the metadata service at its address, AWS, a mirror of
//! assets, DHCP and DNS. No route leaves it. Everything ends with its value.

use super::aws_names::Sessions;
use super::metadata::Facts;
use super::names::Names;
use crate::api_server::ApiStandIn;
use crate::ec2::{Attached, Ec2, Plugs, Rules};
use crate::http::{Reply, Request, Server};
use crate::imds::Metadata;
use crate::moto::Moto;
use crate::namespace::Namespace;
use crate::random::Random;
use crate::skip::SetUpError;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use tempfile::TempDir;

/// The router of the network, which is also its name server.
pub const ROUTER: &str = "172.20.0.1";

/// AWS, as instances reach it: EC2 and S3.
pub const AWS: &str = "http://172.20.0.1";

/// The mirror of assets, as instances reach it.
pub const MIRROR: &str = "http://172.20.0.1:8000";

/// The bridge in the namespace.
const BRIDGE: &str = "br0";

/// Its hardware address.
const ADDRESS: &str = "06:00:ac:14:00:01";

/// The first and the last number of an instance: `172.20.1.N`.
const NUMBERS: std::ops::RangeInclusive<u8> = 10..=60;

/// The size of every volume, in bytes.
const VOLUME_BYTES: u64 = 20 << 30;

/// The address of the instance of this number.
fn address_of(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(172, 20, 1, number)
}

/// What instances ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Metadata,
    /// EC2 and S3.
    Aws,
    Mirror,
}

/// What a test does to a request instead of what would come of it; `None` lets it pass.
pub type Interposed = Arc<dyn Fn(IpAddr, &Request) -> Option<Reply> + Send + Sync>;

/// Where a machine takes devices.
pub(super) trait Bay: Send + Sync {
    /// The device of this volume appears; its bytes are those of this file.
    fn plug(&self, attached: &Attached, backing: &Path) -> Result<(), String>;

    /// It goes.
    fn unplug(&self, attached: &Attached) -> Result<(), String>;
}

/// The network.
pub struct Vpc {
    // Dropped in this order: nothing listens in a namespace that is gone.
    _servers: Vec<Server>,
    names: Names,
    region: Arc<Region>,
    pub(super) api_server: OnceLock<Result<ApiStandIn, SetUpError>>,
    pub(super) namespace: Arc<Namespace>,
    scratch: TempDir,
}

impl std::fmt::Debug for Vpc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vpc")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// What the services know.
pub(super) struct Region {
    ec2: Arc<Ec2>,
    volumes: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    instances: BTreeMap<IpAddr, (Facts, Arc<Metadata>)>,
    bays: BTreeMap<String, Weak<dyn Bay>>,
    interposed: BTreeMap<Place, Interposed>,
    files: BTreeMap<String, Arc<Vec<u8>>>,
    /// Everything asked of the services, a line each.
    requests: Vec<String>,
    pub(super) sessions: Sessions,
    /// How many instances were launched, or are being.
    launched: u8,
}

impl Vpc {
    /// A network with nothing in it but its services; EC2 keeps these rules.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub fn make(rules: Rules) -> Result<Self, SetUpError> {
        let namespace = Arc::new(Namespace::bare()?);
        namespace.ip(&[
            "link",
            "add",
            BRIDGE,
            // Of its own: else it would take the lowest of its ports' addresses, and change it as these come and go;
            // machines would send to the old one until their neighbour entry ends.
            "address",
            ADDRESS,
            "type",
            "bridge",
            "forward_delay",
            "0",
            "mcast_snooping",
            "0",
        ])?;
        for address in ["172.20.0.1/16", "169.254.169.254/32"] {
            namespace.ip(&["address", "add", address, "dev", BRIDGE])?;
        }
        namespace.ip(&["link", "set", BRIDGE, "up"])?;
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let names = Names::serve(&namespace, BRIDGE, NUMBERS.map(address_of), scratch.path())?;
        let ec2 = Arc::new(Ec2::before(
            Moto::start()?,
            rules,
            Random::from_environment(),
        ));
        let volumes = scratch.path().join("volumes");
        std::fs::create_dir(&volumes).map_err(|error| error.to_string())?;
        let region = Arc::new(Region {
            ec2: Arc::clone(&ec2),
            volumes,
            inner: Mutex::default(),
        });
        ec2.plug_into(Arc::new(Hypervisor(Arc::downgrade(&region))));
        let mut servers = Vec::new();
        for (place, address) in [
            (Place::Metadata, "169.254.169.254:80"),
            (Place::Aws, "172.20.0.1:80"),
            (Place::Mirror, "172.20.0.1:8000"),
        ] {
            let wrong = |error: std::io::Error| format!("nothing can listen at {address}: {error}");
            let region = Arc::clone(&region);
            let listener = namespace.listen(address).map_err(wrong)?;
            let answer =
                move |client: IpAddr, request: &Request| region.answer(place, client, request);
            servers.push(Server::by_client(listener, answer).map_err(wrong)?);
        }
        Ok(Self {
            _servers: servers,
            names,
            region,
            api_server: OnceLock::new(),
            namespace,
            scratch,
        })
    }

    /// EC2, and what is behind it.
    pub fn ec2(&self) -> &Arc<Ec2> {
        &self.region.ec2
    }

    pub(super) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Its namespace, in which it is the bridge.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Where machines keep what ends with the network.
    pub(super) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Joins an interface of the namespace to the network.
    pub(super) fn join(&self, interface: &str) -> Result<(), String> {
        self.namespace
            .ip(&["link", "set", interface, "master", BRIDGE, "up"])
    }

    /// Launches an instance with these tags and user data; EC2 shows it running, but nothing boots yet.
    ///
    /// # Panics
    ///
    /// When there are more than fifty.
    pub fn launch(&self, tags: &[(&str, &str)], user_data: &[u8]) -> Facts {
        let number = {
            let mut inner = self.region.inner();
            let number = NUMBERS.start() + inner.launched;
            inner.launched += 1;
            number
        };
        assert!(
            NUMBERS.contains(&number),
            "there are addresses for fifty instances"
        );
        let address = address_of(number);
        let shown = address.to_string();
        let instance = self.ec2().launch_at(tags, Some(&shown));
        let mut inner = self.region.inner();
        let facts = Facts { instance, address };
        let session = inner.sessions.token(&facts.instance);
        let service = Arc::new(facts.service(user_data, &session));
        inner
            .instances
            .insert(address.into(), (facts.clone(), service));
        facts
    }

    /// Gives an instance other user data.
    pub fn set_user_data(&self, facts: &Facts, user_data: &[u8]) {
        let mut inner = self.region.inner();
        let session = inner.sessions.token(&facts.instance);
        let service = Arc::new(facts.service(user_data, &session));
        let known = (facts.clone(), service);
        inner.instances.insert(facts.address.into(), known);
    }

    /// Has the mirror serve a file at this path, such as `/quake-agent`.
    pub fn serve(&self, path: &str, contents: Vec<u8>) {
        let files = &mut self.region.inner().files;
        files.insert(path.to_owned(), Arc::new(contents));
    }

    /// What the mirror serves at this path.
    pub fn served(&self, path: &str) -> Option<Arc<Vec<u8>>> {
        self.region.inner().files.get(path).cloned()
    }

    /// Asks this before anything else is done with a request, from now on.
    pub fn interpose(
        &self,
        place: Place,
        with: impl Fn(IpAddr, &Request) -> Option<Reply> + Send + Sync + 'static,
    ) {
        self.region.inner().interposed.insert(place, Arc::new(with));
    }

    /// Lets requests pass again.
    pub fn pass(&self, place: Place) {
        self.region.inner().interposed.remove(&place);
    }

    /// Has the name server know these names and no others.
    ///
    /// # Errors
    ///
    /// Says why they cannot be told to it.
    pub fn publish_names(&self, names: &BTreeMap<String, Ipv4Addr>) -> Result<(), String> {
        self.names.publish(names)
    }

    /// The address of an instance that was launched.
    pub fn address(&self, instance: &str) -> Option<Ipv4Addr> {
        let inner = self.region.inner();
        let mut known = inner.instances.values();
        let (facts, _) = known.find(|(facts, _)| facts.instance == instance)?;
        Some(facts.address)
    }

    /// Everything that was asked of the services so far, a line each: place, client, method, target, status.
    pub fn requests(&self) -> Vec<String> {
        self.region.inner().requests.clone()
    }

    /// The bytes of a volume, which outlive the instances that it was attached to.
    pub fn backing(&self, volume: &str) -> PathBuf {
        self.region.backing(volume)
    }

    /// Has the devices of an instance's volumes appear here: those that it has already, and any that come.
    pub(super) fn dock(&self, instance: &str, bay: &Arc<dyn Bay>) {
        self.region
            .inner()
            .bays
            .insert(instance.to_owned(), Arc::downgrade(bay));
        for attached in self.ec2().volumes_of(instance) {
            // An instance's root is none of the volumes that were made.
            if self.region.backing(&attached.volume).is_file() {
                self.region.plug(&attached);
            }
        }
    }

    /// An instance has no machine any more.
    pub(super) fn undock(&self, instance: &str) {
        self.region.inner().bays.remove(instance);
    }
}

impl Region {
    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn backing(&self, volume: &str) -> PathBuf {
        self.volumes.join(volume)
    }

    fn bay(&self, instance: &str) -> Option<Arc<dyn Bay>> {
        self.inner().bays.get(instance).and_then(Weak::upgrade)
    }

    pub(super) fn answer(&self, place: Place, client: IpAddr, request: &Request) -> Reply {
        let reply = self.decide(place, client, request);
        self.note_request(&format!("{place:?}"), client, request, reply.status);
        reply
    }

    pub(super) fn note_request(&self, place: &str, client: IpAddr, request: &Request, status: u16) {
        let (method, target) = (&request.method, &request.target);
        let line = format!("{place} {client} {method} {target} {status}");
        self.inner().requests.push(line);
    }

    fn decide(&self, place: Place, client: IpAddr, request: &Request) -> Reply {
        let interposed = self.inner().interposed.get(&place).cloned();
        if let Some(reply) = interposed.and_then(|with| with(client, request)) {
            return reply;
        }
        let known = self.inner().instances.get(&client).cloned();
        let Some((facts, metadata)) = known else {
            return Reply::new(403, "no instance has this address");
        };
        match place {
            Place::Metadata => metadata.answer(request),
            Place::Aws => self.ec2.answer(&facts.instance, request),
            Place::Mirror => {
                let file = self.inner().files.get(request.path()).cloned();
                file.map_or_else(
                    || Reply::new(404, ""),
                    |file| crate::mirror::piece(request, &file),
                )
            }
        }
    }
}

/// What EC2 tells of attachments. EC2 ends with the region, so it does not hold it.
struct Hypervisor(Weak<Region>);

impl Plugs for Hypervisor {
    fn plug(&self, attached: &Attached) {
        if let Some(region) = self.0.upgrade() {
            region.plug(attached);
        }
    }

    fn unplug(&self, attached: &Attached) {
        if let Some(region) = self.0.upgrade() {
            region.unplug(attached);
        }
    }
}

impl Region {
    fn plug(&self, attached: &Attached) {
        let backing = self.backing(&attached.volume);
        if !backing.exists() {
            let made = std::fs::File::create(&backing).and_then(|file| file.set_len(VOLUME_BYTES));
            made.expect("the directory is ours");
        }
        if let Some(bay) = self.bay(&attached.instance) {
            self.note("plugged", attached, bay.plug(attached, &backing));
        }
    }

    fn unplug(&self, attached: &Attached) {
        if let Some(bay) = self.bay(&attached.instance) {
            self.note("unplugged", attached, bay.unplug(attached));
        }
    }

    fn note(&self, what: &str, attached: &Attached, done: Result<(), String>) {
        let reported = done.map_or_else(|error| format!(": {error}"), |()| String::new());
        let line = format!(
            "{what} {} in {}{reported}",
            attached.volume, attached.instance
        );
        self.inner().requests.push(line);
    }
}
