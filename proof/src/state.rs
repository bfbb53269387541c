//! One state of the model: what EC2 holds to be true, and what each machine has on disk, in the kernel and in mind.

use crate::config::{Config, Duplicate, Faults};
use crate::history::History;

/// A volume's attachment as EC2 shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shown {
    /// It has no tags yet.
    Untagged,
    Free,
    /// It is on its way to an instance.
    Attaching(u8),
    /// It is attached to an instance.
    Attached(u8),
    /// It is on its way off an instance.
    Detaching(u8),
}

impl Shown {
    /// The instance that holds it.
    pub fn holder(self) -> Option<u8> {
        match self {
            Self::Untagged | Self::Free => None,
            Self::Attaching(by) | Self::Attached(by) | Self::Detaching(by) => Some(by),
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Untagged => 0,
            Self::Free => 1,
            Self::Attaching(by) => 2 + 3 * by,
            Self::Attached(by) => 3 + 3 * by,
            Self::Detaching(by) => 4 + 3 * by,
        }
    }
}

/// An instance as EC2 shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// It is not shown yet.
    Absent,
    /// It runs, and its tags are not there yet.
    Untagged,
    Running,
    /// It is on its way down; its agent may still act.
    ShuttingDown,
    Terminated,
}

/// What is on a volume, for a slot by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    Blank,
    /// A filesystem whose UUID names the slot and the volume.
    Formatted(u8),
    /// One that has the marker too.
    Marked(u8),
}

/// A volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// What EC2 shows.
    pub shown: History<Shown>,
    pub content: Content,
}

/// Where an agent is within its pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// Before it: the next thing is to observe.
    Start,
    /// The intent is recorded; the volume is to be described once more. `fresh` where this pass made the intent.
    Recheck {
        volume: u8,
        /// Whether this pass made the intent.
        fresh: bool,
    },
    /// `AttachVolume` is to be called.
    Ask {
        volume: u8,
        /// Whether this pass made the intent.
        fresh: bool,
    },
    /// EC2 said `VolumeInUse`.
    Refused {
        volume: u8,
        /// Whether this pass made the intent.
        fresh: bool,
    },
    /// The device is to get a filesystem for a slot.
    Format {
        /// The volume that the device is.
        device: u8,
        slot: u8,
    },
    /// The device is to be mounted for a slot.
    Mount {
        /// The volume that the device is.
        device: u8,
        slot: u8,
    },
    /// The mounted filesystem is to get its marker.
    Mark {
        /// The volume that the device is.
        device: u8,
        slot: u8,
    },
}

/// An instance, its machine and its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// What EC2 shows.
    pub life: History<Life>,
    pub group: u8,
    /// Where its agent is.
    pub at: At,
    /// How often the pass called `AttachVolume`.
    pub requested: u8,
    /// The volume of the intent in its journal.
    pub intent: Option<u8>,
    /// A call that was given up and may still have its effect.
    pub in_flight: Option<u8>,
    /// The devices that are mounted, as bits.
    pub mounted: u8,
    /// Whether one of them is mounted for another's slot.
    pub misplaced: bool,
    /// Whether the kernel names devices against the order of their slots.
    pub swapped: bool,
}

impl Instance {
    /// A new instance: its journal is empty, and some readers do not see it yet.
    pub fn launched(group: u8, late_tags: bool) -> Self {
        let mut life = History::new(Life::Absent);
        life.set(match late_tags {
            true => Life::Untagged,
            false => Life::Running,
        });
        Self {
            life,
            group,
            at: At::Start,
            requested: 0,
            intent: None,
            in_flight: None,
            mounted: 0,
            misplaced: false,
            swapped: false,
        }
    }

    /// Whether its operating system runs.
    pub fn is_up(&self) -> bool {
        matches!(
            self.life.now(),
            Life::Untagged | Life::Running | Life::ShuttingDown
        )
    }

    /// Whether EC2 attaches volumes to it.
    pub fn is_running(&self) -> bool {
        matches!(self.life.now(), Life::Untagged | Life::Running)
    }

    /// Whether a device is mounted.
    pub fn has_mounted(&self, volume: usize) -> bool {
        self.mounted & (1 << volume) != 0
    }

    /// Ends the pass.
    pub fn end_pass(&mut self) {
        self.at = At::Start;
        self.requested = 0;
    }
}

/// One state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub volumes: Vec<Volume>,
    /// The instances, in the order of their launch.
    pub instances: Vec<Instance>,
    /// The faults that may still happen.
    pub faults: Faults,
}

impl State {
    /// The state in which a run begins.
    pub fn start(config: &Config) -> Self {
        let is_late = |volume| match config.duplicate {
            Duplicate::None | Duplicate::Persistent => false,
            Duplicate::Late => Some(volume) == config.duplicate_volume(),
            Duplicate::BothLate => Some(volume) == config.duplicate_volume() || volume == 0,
        };
        let volumes = (0..config.volumes()).map(|volume| Volume {
            shown: History::new(match is_late(volume) {
                true => Shown::Untagged,
                false => Shown::Free,
            }),
            content: Content::Blank,
        });
        let instances = config.instances.iter();
        Self {
            volumes: volumes.collect(),
            instances: instances
                .map(|group| Instance::launched(*group, config.late_tags))
                .collect(),
            faults: config.faults,
        }
    }

    /// Volumes whose device the kernel of an instance shows.
    pub fn devices(&self, agent: usize) -> impl DoubleEndedIterator<Item = usize> {
        let here = move |volume: &Volume| volume.shown.now() == Shown::Attached(agent as u8);
        let volumes = self.volumes.iter().enumerate();
        volumes
            .filter(move |(_, volume)| here(volume))
            .map(|(index, _)| index)
    }

    /// Volumes that EC2 holds to be at an instance, in truth.
    pub fn held_by(&self, agent: usize) -> impl Iterator<Item = usize> {
        let volumes = self.volumes.iter().enumerate();
        volumes
            .filter(move |(_, volume)| volume.shown.now().holder() == Some(agent as u8))
            .map(|(index, _)| index)
    }

    /// The state as bytes: equal exactly for states that behave equally from here on.
    pub fn encode(&self, stale: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        let faults = self.faults;
        bytes.extend([faults.crashes, faults.losses, faults.kills, faults.reboots]);
        for volume in &self.volumes {
            bytes.extend(volume.shown.readable(stale).iter().map(|it| it.code()));
            bytes.push(match volume.content {
                Content::Blank => 0,
                Content::Formatted(slot) => 1 + 2 * slot,
                Content::Marked(slot) => 2 + 2 * slot,
            });
        }
        for instance in &self.instances {
            bytes.extend(instance.life.readable(stale).iter().map(|it| *it as u8));
            let (step, first, second) = match instance.at {
                At::Start => (0, 0, 0),
                At::Recheck { volume, fresh } => (1, volume, u8::from(fresh)),
                At::Ask { volume, fresh } => (2, volume, u8::from(fresh)),
                At::Refused { volume, fresh } => (3, volume, u8::from(fresh)),
                At::Format { device, slot } => (4, device, slot),
                At::Mount { device, slot } => (5, device, slot),
                At::Mark { device, slot } => (6, device, slot),
            };
            let flags = u8::from(instance.misplaced) | u8::from(instance.swapped) << 1;
            let optional = |volume: Option<u8>| volume.map_or(0, |volume| volume + 1);
            bytes.extend([
                instance.group,
                step,
                first,
                second,
                instance.requested,
                flags,
            ]);
            bytes.push(optional(instance.intent));
            bytes.push(optional(instance.in_flight));
            bytes.push(instance.mounted);
        }
    }
}
