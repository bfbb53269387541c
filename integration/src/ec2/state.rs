//! What moto has, changed into what EC2 would show: states that take time, and how everything looked before.

use super::form::tag_of;
use crate::random::Random;
use crate::xml::Element;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A volume of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    pub volume: String,
    pub instance: String,
    pub device: String,
}

/// An instance that ends.
#[derive(Debug, Clone, Copy)]
struct Ending {
    /// When its volumes begin to show `detaching`.
    detaches: Instant,
    /// When it is gone and they are free.
    gone: Instant,
    is_over: bool,
}

/// What there is, and how it looked.
#[derive(Debug, Default)]
pub(super) struct State {
    /// As moto shows them, by id.
    volumes: BTreeMap<String, Element>,
    instances: BTreeMap<String, Element>,
    /// Until when an attachment shows `attaching`, by volume.
    attaching: BTreeMap<String, Instant>,
    endings: BTreeMap<String, Ending>,
    /// Since when an instance's tags are shown.
    tags_shown: BTreeMap<String, Instant>,
    attached: Vec<Attached>,
    /// How each looked since when, oldest first.
    past_volumes: Past,
    past_instances: Past,
}

type Past = BTreeMap<String, Vec<(Instant, Element)>>;

impl State {
    /// Takes what moto shows.
    pub(super) fn load(&mut self, volumes: &Element, instances: &Element) {
        let by = |name: &'static str| {
            move |item: &Element| (item.text_of(name).to_owned(), item.clone())
        };
        self.volumes = volumes
            .set("volumeSet")
            .iter()
            .map(by("volumeId"))
            .collect();
        let reservations = instances.set("reservationSet").iter();
        let all = reservations.flat_map(|reservation| reservation.set("instancesSet"));
        self.instances = all.map(by("instanceId")).collect();
    }

    /// Does not show an instance's tags before this moment.
    pub(super) fn hide_tags(&mut self, instance: &str, until: Instant) {
        self.tags_shown.insert(instance.to_owned(), until);
    }

    /// Takes from an instance the tags that were not shown yet at this moment.
    pub(super) fn hide_late_tags(&self, instance: &mut Element, at: Option<Instant>) {
        let shown = self.tags_shown.get(instance.text_of("instanceId"));
        if shown.is_some_and(|since| at.is_none_or(|at| at < *since)) {
            instance.put(Element::of_children("tagSet", Vec::new()));
        }
    }

    /// Begins to end an instance.
    pub(super) fn end(&mut self, instance: &str, now: Instant, takes: Duration) {
        let ending = Ending {
            detaches: now + takes * 2 / 3,
            gone: now + takes,
            is_over: false,
        };
        self.endings.insert(instance.to_owned(), ending);
    }

    /// Instances that are gone since the last time this was asked.
    pub(super) fn gone(&mut self, now: Instant) -> Vec<String> {
        let over = self
            .endings
            .iter_mut()
            .filter(|(_, ending)| !ending.is_over && now >= ending.gone);
        over.map(|(id, ending)| {
            ending.is_over = true;
            id.clone()
        })
        .collect()
    }

    /// Who holds each volume.
    pub(super) fn holders(&self) -> BTreeMap<String, String> {
        let held = self.volumes.iter().flat_map(|(id, volume)| {
            let attachments = volume.set("attachmentSet").iter();
            attachments.map(move |a| (id.clone(), a.text_of("instanceId").to_owned()))
        });
        held.collect()
    }

    /// The attachment of a volume that has one.
    pub(super) fn held(&self, volume: &str) -> Option<Attached> {
        let attachment = self.volumes.get(volume)?.set("attachmentSet").first()?;
        Some(Attached {
            volume: volume.to_owned(),
            instance: attachment.text_of("instanceId").to_owned(),
            device: attachment.text_of("device").to_owned(),
        })
    }

    /// Every attach that was carried out.
    pub(super) fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// The value of a volume's tag.
    pub(super) fn tag_of(&self, volume: &str, key: &str) -> Option<String> {
        tag_of(self.volumes.get(volume)?, key)
    }

    /// Whether EC2 would attach this.
    ///
    /// # Errors
    ///
    /// Returns the code and the words of the refusal.
    pub(super) fn may_attach(&self, requested: &Attached) -> Result<(), (&'static str, String)> {
        let Attached {
            volume: id,
            instance,
            device,
        } = requested;
        let Some(volume) = self.volumes.get(id) else {
            let message = format!("The volume '{id}' does not exist.");
            return Err(("InvalidVolume.NotFound", message));
        };
        let Some(holder) = self.instances.get(instance) else {
            let message = format!("The instance ID '{instance}' does not exist");
            return Err(("InvalidInstanceID.NotFound", message));
        };
        let zone = volume.text_of("availabilityZone");
        let there = holder
            .child("placement")
            .map_or("", |it| it.text_of("availabilityZone"));
        if let Some(by) = volume.set("attachmentSet").first() {
            let message = format!(
                "{id} is already attached to an instance ({})",
                by.text_of("instanceId")
            );
            return Err(("VolumeInUse", message));
        }
        if volume.text_of("status") != "available" {
            let message = format!(
                "Volume {id} is in the '{}' state; 'available' is required.",
                volume.text_of("status")
            );
            return Err(("IncorrectState", message));
        }
        if self.endings.contains_key(instance) {
            let message = format!("Instance '{instance}' is not 'running'.");
            return Err(("IncorrectInstanceState", message));
        }
        if zone != there {
            let message = format!(
                "The volume '{id}' is not in the same availability zone as instance '{instance}'"
            );
            return Err(("InvalidVolume.ZoneMismatch", message));
        }
        let mut devices = holder.set("blockDeviceMapping").iter();
        if devices.any(|mapping| mapping.text_of("deviceName") == device) {
            let message = format!(
                "Invalid value '{device}' for unixDevice. Attachment point {device} is already in use"
            );
            return Err(("InvalidParameterValue", message));
        }
        Ok(())
    }

    /// Records an attach, which shows `attaching` until this moment.
    pub(super) fn attach(&mut self, done: Attached, shown: Instant) {
        self.attaching.insert(done.volume.clone(), shown);
        self.attached.push(done);
    }

    /// Keeps how everything looks now, where that is new.
    pub(super) fn remember(&mut self, now: Instant) {
        let volumes = self
            .volumes
            .values()
            .map(|volume| self.volume_now(volume, now));
        let volumes: Vec<Element> = volumes.collect();
        let instances = self.instances.values().map(|it| self.instance_now(it, now));
        let instances: Vec<Element> = instances.collect();
        remember(&mut self.past_volumes, "volumeId", volumes, now);
        remember(&mut self.past_instances, "instanceId", instances, now);
    }

    /// Shows a volume to no reader any more.
    pub(super) fn forget_volume(&mut self, volume: &str) {
        self.past_volumes.remove(volume);
    }

    /// Volumes as one reader is shown them, each up to `lag` ago.
    pub(super) fn volumes(&self, lag: Duration, random: &mut Random) -> Vec<Element> {
        shown(&self.past_volumes, lag, random)
    }

    /// Instances as one reader is shown them, each up to `lag` ago.
    pub(super) fn instances(&self, lag: Duration, random: &mut Random) -> Vec<Element> {
        shown(&self.past_instances, lag, random)
    }

    fn volume_now(&self, volume: &Element, now: Instant) -> Element {
        let mut shown = volume.clone();
        let id = volume.text_of("volumeId");
        let mut attachments = volume.set("attachmentSet").to_vec();
        for attachment in &mut attachments {
            let ending = self.endings.get(attachment.text_of("instanceId"));
            let state = match (ending, self.attaching.get(id)) {
                (Some(ending), _) if now >= ending.detaches => "detaching",
                (_, Some(until)) if now < *until => "attaching",
                _ => "attached",
            };
            attachment.put(Element::of_text("status", state));
        }
        if !attachments.is_empty() {
            shown.put(Element::of_text("status", "in-use"));
        }
        shown.put(Element::of_children("attachmentSet", attachments));
        shown
    }

    fn instance_now(&self, instance: &Element, now: Instant) -> Element {
        let mut shown = instance.clone();
        let id = instance.text_of("instanceId");
        if self.endings.get(id).is_some_and(|ending| !ending.is_over) {
            let state = vec![
                Element::of_text("code", "32"),
                Element::of_text("name", "shutting-down"),
            ];
            shown.put(Element::of_children("instanceState", state));
        }
        self.hide_late_tags(&mut shown, Some(now));
        shown
    }
}

fn remember(past: &mut Past, id: &str, looks: Vec<Element>, now: Instant) {
    for look in looks {
        let before = past.entry(look.text_of(id).to_owned()).or_default();
        if before.last().is_none_or(|(_, last)| *last != look) {
            before.push((now, look));
        }
    }
}

/// Half of all reads are of now, the others of a moment by chance. What did not exist then is not shown.
fn shown(past: &Past, lag: Duration, random: &mut Random) -> Vec<Element> {
    let now = Instant::now();
    let most = u64::try_from(lag.as_millis()).unwrap_or_default() * 2 + 1;
    let looks = past.values().filter_map(|looks| {
        let ago = random.below(most).saturating_sub(most / 2);
        let (_, look) = looks
            .iter()
            .rfind(|(since, _)| *since + Duration::from_millis(ago) <= now)?;
        Some(look.clone())
    });
    looks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two volumes and two instances, the first volume on the first instance.
    fn state() -> State {
        let volume = |id: &str, status: &str, zone: &str, holder: &str| {
            format!(
                "<item><volumeId>{id}</volumeId><status>{status}</status><availabilityZone>{zone}</availabilityZone><attachmentSet>{holder}</attachmentSet></item>"
            )
        };
        let held = "<item><instanceId>i-1</instanceId><status>attached</status></item>";
        let volumes = [
            volume("vol-1", "in-use", "z", held),
            volume("vol-2", "available", "z", ""),
            volume("vol-3", "creating", "z", ""),
            volume("vol-4", "available", "y", ""),
        ];
        let instance = |id: &str| {
            format!(
                "<item><instanceId>{id}</instanceId><placement><availabilityZone>z</availabilityZone></placement><instanceState><name>running</name></instanceState><blockDeviceMapping><item><deviceName>/dev/xvdba</deviceName></item></blockDeviceMapping></item>"
            )
        };
        let volumes = format!("<R><volumeSet>{}</volumeSet></R>", volumes.concat());
        let instances = format!(
            "<R><reservationSet><item><instancesSet>{}{}</instancesSet></item></reservationSet></R>",
            instance("i-1"),
            instance("i-2")
        );
        let mut state = State::default();
        let parse = |text: &str| Element::parse(text).unwrap();
        state.load(&parse(&volumes), &parse(&instances));
        state
    }

    #[test]
    fn each_attach_that_ec2_refuses_is_refused_with_its_code() {
        let mut state = state();
        state.end("i-1", Instant::now(), Duration::from_secs(9));
        for (volume, instance, device, code) in [
            ("vol-9", "i-2", "/dev/xvdbb", "InvalidVolume.NotFound"),
            ("vol-2", "i-9", "/dev/xvdbb", "InvalidInstanceID.NotFound"),
            ("vol-1", "i-2", "/dev/xvdbb", "VolumeInUse"),
            ("vol-3", "i-2", "/dev/xvdbb", "IncorrectState"),
            ("vol-2", "i-1", "/dev/xvdbb", "IncorrectInstanceState"),
            ("vol-4", "i-2", "/dev/xvdbb", "InvalidVolume.ZoneMismatch"),
            ("vol-2", "i-2", "/dev/xvdba", "InvalidParameterValue"),
        ] {
            let requested = Attached {
                volume: volume.to_owned(),
                instance: instance.to_owned(),
                device: device.to_owned(),
            };
            let refused = state.may_attach(&requested).map_err(|(code, _)| code);
            assert_eq!(refused, Err(code), "{requested:?}");
        }
    }

    #[test]
    fn an_ending_instance_keeps_its_volumes_until_it_is_gone() {
        let (mut state, now) = (state(), Instant::now());
        let look = |state: &State, at| {
            let volume = state.volume_now(&state.volumes["vol-1"], at);
            let attachment = volume.set("attachmentSet").first().cloned();
            let instance = state.instance_now(&state.instances["i-1"], at);
            let instance = instance.child("instanceState").cloned();
            let text = |it: Option<Element>, name: &str| it.map(|it| it.text_of(name).to_owned());
            (text(attachment, "status"), text(instance, "name"))
        };
        let shows = |attachment: &str, instance: &str| {
            (Some(attachment.to_owned()), Some(instance.to_owned()))
        };
        assert_eq!(look(&state, now), shows("attached", "running"));
        state.end("i-1", now, Duration::from_secs(9));
        assert_eq!(look(&state, now), shows("attached", "shutting-down"));
        let later = now + Duration::from_secs(7);
        assert_eq!(look(&state, later), shows("detaching", "shutting-down"));
        assert_eq!(state.gone(later), Vec::<String>::new());
        assert_eq!(state.gone(now + Duration::from_secs(9)), ["i-1"]);
        assert_eq!(
            state.gone(now + Duration::from_secs(9)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_reader_is_shown_nothing_that_is_older_than_the_lag() {
        let mut state = state();
        state.remember(Instant::now());
        let mut random = Random::seeded(1);
        assert_eq!(state.volumes(Duration::ZERO, &mut random).len(), 4);
        state
            .volumes
            .get_mut("vol-2")
            .unwrap()
            .put(Element::of_text("status", "in-use"));
        state.remember(Instant::now());
        let mut seen = |lag| {
            let shown = state.volumes(lag, &mut random);
            let second = shown.iter().find(|it| it.text_of("volumeId") == "vol-2");
            second.map(|it| it.text_of("status").to_owned())
        };
        assert_eq!(seen(Duration::ZERO).as_deref(), Some("in-use"));
        // Long before both looks it was not there; nothing else is ever shown.
        let all: std::collections::BTreeSet<_> =
            (0..50).map(|_| seen(Duration::from_secs(3600))).collect();
        assert!(
            all.contains(&None) && all.contains(&Some("in-use".to_owned())),
            "{all:?}"
        );
    }
}
