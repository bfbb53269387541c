//! EC2 as it behaves, before a server that only has its API: moto answers each call at once and lets every
//! one succeed. Here an attach is refused where EC2 refuses it and takes its time, an instance that ends keeps its
//! volumes for a while, reads lag behind writes, answers come in pages, and calls are throttled, denied or never
//! answered. The words of the refusals are those of EC2's API reference ("Error codes", read 2026-11).

mod form;
mod launch;
mod names;
mod pages;
mod plugs;
mod state;

use crate::ec2::form::Form;
use crate::ec2::pages::Pages;
use crate::ec2::plugs::Machines;
use crate::ec2::state::State;
use crate::http::{Reply, Request};
use crate::moto::Moto;
use crate::proxy::{Service, forward, refusal, slow_down};
use crate::random::Random;
use crate::waiting::pause;
use crate::xml::Element;
use crate::zones;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use form::pairs;
pub use plugs::Plugs;
pub use state::Attached;

/// How unlike moto EC2 is.
#[derive(Debug, Clone)]
pub struct Rules {
    /// How long an attach shows `attaching`.
    pub attach_takes: Duration,
    /// How long an instance shows `shutting-down`; the last third its volumes show `detaching`.
    pub ending_takes: Duration,
    /// The most that what is read may be old, for each volume and instance of an answer by chance.
    pub lag: Duration,
    /// How long an instance's tags are not shown after its launch.
    pub tags_after: Duration,
    /// How much longer they are not shown to other instances.
    pub peers_after: Duration,
    /// The most volumes on a page; an answer of several pages repeats one of them.
    pub page: usize,
    /// Of a hundred calls so many are throttled.
    pub throttled: u64,
    /// Of a hundred attaches that were carried out so many get no answer.
    pub lost: u64,
    /// An action that the instances' role may not do.
    pub denied: Option<&'static str>,
    /// So many requests to Route 53 are throttled, the first ones of all instances.
    pub names_throttled: u64,
    /// Whether the instances' role may not change records.
    pub names_denied: bool,
}

impl Default for Rules {
    /// Nothing fails and nothing lags.
    fn default() -> Self {
        Self {
            attach_takes: Duration::from_millis(300),
            ending_takes: Duration::from_secs(3),
            lag: Duration::ZERO,
            tags_after: Duration::ZERO,
            peers_after: Duration::ZERO,
            page: 500,
            throttled: 0,
            lost: 0,
            denied: None,
            names_throttled: 0,
            names_denied: false,
        }
    }
}

/// EC2, and S3 as moto has it.
#[derive(Debug)]
pub struct Ec2 {
    moto: Moto,
    rules: Rules,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    random: Random,
    pages: Pages,
    calls: BTreeMap<String, BTreeMap<String, u64>>,
    /// Calls of `AttachVolume` that were throttled, refused or done, and when.
    asks: Vec<(Instant, String)>,
    machines: Machines,
    /// Requests to Route 53 so far.
    names_asked: u64,
}

impl Ec2 {
    /// EC2 before this server.
    pub fn before(moto: Moto, rules: Rules, random: Random) -> Self {
        let inner = Inner {
            state: State::default(),
            random,
            pages: Pages::default(),
            calls: BTreeMap::new(),
            asks: Vec::new(),
            machines: Machines::default(),
            names_asked: 0,
        };
        Self {
            moto,
            rules,
            inner: Mutex::new(inner),
        }
    }

    /// The server behind, for what a test arranges.
    pub fn moto(&self) -> &Moto {
        &self.moto
    }

    /// Has devices appear in these machines when volumes are attached, and go when they are detached.
    pub fn plug_into(&self, machines: Arc<dyn Plugs>) {
        self.inner().machines.become_those_of(machines);
    }

    /// Makes a volume of 20 GiB with these tags; its id.
    pub fn create_volume(&self, zone: &str, tags: &[(&str, &str)]) -> String {
        self.create_volume_as(zone, "false", tags)
    }

    /// Makes a free volume that is encrypted or not, `true` or `false`; its id.
    pub fn create_volume_as(&self, zone: &str, encrypted: &str, tags: &[(&str, &str)]) -> String {
        let mut parameters = vec![
            ("AvailabilityZone".to_owned(), zone),
            ("Size".to_owned(), "20"),
            ("Encrypted".to_owned(), encrypted),
            ("TagSpecification.1.ResourceType".to_owned(), "volume"),
        ];
        for (index, (name, value)) in tags.iter().enumerate() {
            let tag = format!("TagSpecification.1.Tag.{}", index + 1);
            parameters.push((format!("{tag}.Key"), name));
            parameters.push((format!("{tag}.Value"), value));
        }
        let made = self.call("CreateVolume", &parameters);
        made.text_of("volumeId").to_owned()
    }

    /// Writes a tag at once.
    pub fn tag(&self, resource: &str, key: &str, value: &str) {
        let parameters = [
            ("ResourceId.1".to_owned(), resource),
            ("Tag.1.Key".to_owned(), key),
            ("Tag.1.Value".to_owned(), value),
        ];
        self.call("CreateTags", &parameters);
    }

    /// Begins to end an instance; its volumes are free once it is gone.
    pub fn terminate(&self, instance: &str) {
        let mut inner = self.inner();
        let now = Instant::now();
        inner.state.end(instance, now, self.rules.ending_takes);
        self.observe(&mut inner, true);
    }

    /// Attaches a free volume, as an operator would; EC2 shows it attached, and its device is there when the instance boots.
    pub fn attach_by_hand(&self, volume: &str, instance: &str, device: &str) {
        let parameters = [
            ("VolumeId".to_owned(), volume),
            ("InstanceId".to_owned(), instance),
            ("Device".to_owned(), device),
        ];
        self.call("AttachVolume", &parameters);
        let machines = self.inner().machines.reported();
        let held = self.inner().state.held(volume);
        if let (Some(held), Some(machines)) = (held, machines) {
            machines.plug(&held);
        }
    }

    /// The volumes of an instance now, with their device names.
    pub fn volumes_of(&self, instance: &str) -> Vec<Attached> {
        let mut inner = self.inner();
        self.observe(&mut inner, false);
        let state = &inner.state;
        let held = state.holders().into_iter().filter(|(_, by)| by == instance);
        held.filter_map(|(volume, _)| state.held(&volume)).collect()
    }

    /// Who holds each volume now, whatever readers are shown: those that are attaching and detaching too.
    pub fn holders(&self) -> BTreeMap<String, String> {
        let mut inner = self.inner();
        self.observe(&mut inner, false);
        inner.state.holders()
    }

    /// Every attach that was carried out, in their order.
    pub fn attached(&self) -> Vec<Attached> {
        self.inner().state.attached().to_vec()
    }

    /// When an instance asked for a volume, whatever came of it.
    pub fn asks(&self, instance: &str) -> Vec<Instant> {
        let inner = self.inner();
        let own = inner.asks.iter().filter(|(_, by)| by == instance);
        own.map(|(at, _)| *at).collect()
    }

    /// Calls of one instance to EC2, by action.
    pub fn calls(&self, instance: &str) -> BTreeMap<String, u64> {
        let inner = self.inner();
        inner.calls.get(instance).cloned().unwrap_or_default()
    }

    /// The value of a volume's tag now.
    pub fn tag_of(&self, volume: &str, key: &str) -> Option<String> {
        let mut inner = self.inner();
        self.observe(&mut inner, true);
        inner.state.tag_of(volume, key)
    }

    /// Answers a request of this instance.
    pub fn answer(&self, instance: &str, request: &Request) -> Reply {
        if request.target.starts_with(zones::API) {
            return self.answer_names(request);
        }
        if Service::new(request) == Service::S3 {
            return forward(self.moto.address(), request);
        }
        let form = Form::read(&request.body);
        let action = form.get("Action").to_owned();
        let mut inner = self.inner();
        let calls = inner.calls.entry(instance.to_owned()).or_default();
        *calls.entry(action.clone()).or_default() += 1;
        if action == "AttachVolume" {
            inner.asks.push((Instant::now(), instance.to_owned()));
        }
        if inner.random.below(100) < self.rules.throttled {
            return slow_down(Service::Ec2);
        }
        if self.rules.denied == Some(action.as_str()) {
            return denied();
        }
        self.observe(&mut inner, false);
        match action.as_str() {
            "DescribeVolumes" => self.describe_volumes(&mut inner, &form),
            "DescribeInstances" => self.describe_instances(&mut inner, &form, instance),
            "AttachVolume" => self.attach(&mut inner, &form, request),
            _ => {
                let reply = forward(self.moto.address(), request);
                self.observe(&mut inner, true);
                reply
            }
        }
    }

    fn describe_volumes(&self, inner: &mut Inner, form: &Form) -> Reply {
        let token = form.get("NextToken");
        if token.is_empty() {
            let mut found = inner.state.volumes(self.rules.lag, &mut inner.random);
            found.retain(|volume| form.admits(volume));
            let again = inner.state.volumes(self.rules.lag, &mut inner.random);
            inner
                .pages
                .begin(found, &again, self.rules.page, &mut inner.random);
        }
        let Some((page, next)) = inner.pages.take(token) else {
            let message = format!("The token {token} is unknown");
            return refusal(Service::Ec2, 400, "InvalidParameterValue", &message);
        };
        let mut answer = vec![Element::of_children("volumeSet", page)];
        answer.extend(next.map(|token| Element::of_text("nextToken", &token)));
        done("DescribeVolumes", answer)
    }

    fn describe_instances(&self, inner: &mut Inner, form: &Form, reader: &str) -> Reply {
        let mut found = inner.state.instances(self.rules.lag, &mut inner.random);
        let peers = found
            .iter_mut()
            .filter(|instance| instance.text_of("instanceId") != reader);
        let late = Instant::now().checked_sub(self.rules.peers_after);
        peers.for_each(|peer| inner.state.hide_late_tags(peer, late));
        found.retain(|instance| form.admits(instance));
        pages::shuffle(&mut found, &mut inner.random);
        let reservation = |instance| {
            Element::of_children(
                "item",
                vec![Element::of_children("instancesSet", vec![instance])],
            )
        };
        let reservations = found.into_iter().map(reservation).collect();
        done(
            "DescribeInstances",
            vec![Element::of_children("reservationSet", reservations)],
        )
    }

    fn attach(&self, inner: &mut Inner, form: &Form, request: &Request) -> Reply {
        let requested = Attached {
            volume: form.get("VolumeId").to_owned(),
            instance: form.get("InstanceId").to_owned(),
            device: form.get("Device").to_owned(),
        };
        if let Err((code, message)) = inner.state.may_attach(&requested) {
            return refusal(Service::Ec2, 400, code, &message);
        }
        let reply = forward(self.moto.address(), request);
        let shown = Instant::now() + self.rules.attach_takes;
        if let Some(machines) = inner.machines.reported() {
            let (attached, takes) = (requested.clone(), self.rules.attach_takes);
            std::thread::spawn(move || {
                pause(takes);
                machines.plug(&attached);
            });
        }
        inner.state.attach(requested, shown);
        self.observe(inner, true);
        if inner.random.below(100) < self.rules.lost {
            return Reply::nothing();
        }
        reply
    }

    /// Calls moto for the test itself.
    fn call(&self, action: &str, parameters: &[(String, &str)]) -> Element {
        let mut inner = self.inner();
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let answer = self.moto.call_ec2(action, &parameters);
        let answer = answer.expect("moto does what a test arranges");
        self.observe(&mut inner, true);
        Element::parse(&answer).expect("moto answers in XML")
    }

    /// Lets time have its effects, and remembers what is to be seen now.
    fn observe(&self, inner: &mut Inner, has_changed: bool) {
        let now = Instant::now();
        let gone = inner.state.gone(now);
        for instance in &gone {
            let ended = self
                .moto
                .call_ec2("TerminateInstances", &[("InstanceId.1", instance)]);
            ended.expect("moto ends it");
        }
        if has_changed || !gone.is_empty() {
            let of = |action: &str| {
                let answer = self.moto.call_ec2(action, &[]);
                Element::parse(&answer.expect("moto describes")).expect("moto answers in XML")
            };
            inner
                .state
                .load(&of("DescribeVolumes"), &of("DescribeInstances"));
        }
        inner.state.remember(now);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// EC2's answer to what it has done.
fn done(action: &str, answer: Vec<Element>) -> Reply {
    let mut response = Element::of_children(&format!("{action}Response"), answer);
    response.attributes = " xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"".to_owned();
    let body = format!("<?xml version=\"1.0\"?>\n{}", response.write());
    Reply::new(200, body).with("content-type", "text/xml;charset=UTF-8")
}

fn denied() -> Reply {
    let message = "You are not authorized to perform this operation. Encoded authorization failure message: 4EncodedMessage";
    refusal(Service::Ec2, 403, "UnauthorizedOperation", message)
}
